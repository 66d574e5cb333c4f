//! How many runs a fact is of, whether the words speak of each, and limits that the relation does not have.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use repro_claim::Expression;
use repro_claim::quote::QuoteItem;
use repro_claim::syntax::{ExpressionKind, RelationOperator};
use repro_core::decimal::Printed;
use repro_report::meaning::Reading;
use repro_report::outcome::EvidenceRef;

use super::statistic::said_in;
use super::{LintedClaim, denies_before, plain_words};
use crate::arms::{ClaimArm, counted_runs};
use crate::lexicon::{lexicon, place_of};
use crate::value::LeafKind;

/// How far before a limit a denial is looked for, in bytes.
const DENIED: usize = 24;

/// A number of runs in the words that the fact does not have.
pub(super) fn runs(claim: &LintedClaim<'_>) -> Option<String> {
    let groups = claim.provenance.arms.iter().filter(|arm| arm.runs.is_group);
    let sizes: Vec<usize> = groups.map(|arm| arm.runs.bundles.len()).collect();
    let all = claim.provenance.runs.len();
    if all == 0 {
        return None;
    }
    // A list of single runs says nothing about how many there are of each, nor does one run that is named.
    let names_one = ["seed", "run"].iter().any(|noun| place_of(claim.lower, noun).is_some());
    let is_listed = sizes.is_empty() && (all > 1 || names_one);
    let values = claim.bound.iter().filter(|(_, tree)| !tree.is_call_of("count")).count();
    for item in claim.items {
        // What is bound has a verdict of its own.
        if claim.number == Some(item) {
            continue;
        }
        let Some((count, noun)) = said_of_runs(claim, item) else { continue };
        // "3.33, 3.34 and 3.35 for the three seeds": one value for each.
        let is_one_of = all == 1 && values == count;
        if !is_listed && !is_one_of && !sizes.contains(&count) && all != count {
            let said = item.text(claim.quote);
            let found = counted_runs(sizes.first().copied().unwrap_or(all));
            return Some(format!("the text mentions {said} {noun}, but the value is from {found}"));
        }
    }
    quantified(claim, &sizes)
}

/// A number of runs that the words call one of seeds, where several runs have the same seed.
pub(super) fn seeds(claim: &LintedClaim<'_>) -> Option<String> {
    let (count, _) = said_of_runs(claim, claim.number?)?;
    if !plain_words(claim.behind()).take(3).any(|word| lexicon().is_in("count.seeds", word)) {
        return None;
    }
    let arms = claim.provenance.arms.iter();
    let seeds: BTreeSet<u64> = arms.flat_map(|arm| &arm.runs.seeds).copied().collect();
    let seeds = Some(seeds.len()).filter(|seeds| *seeds > 0 && *seeds < count)?;
    Some(format!("the text mentions {count} seeds, but these {count} runs have only {seeds}"))
}

/// The number of runs that a number of the words is, and the word behind it.
fn said_of_runs<'c>(claim: &LintedClaim<'c>, item: &QuoteItem) -> Option<(usize, &'c str)> {
    let count = item.number()?.as_f64();
    let behind = claim.lower.get(item.span.end..).unwrap_or_default();
    let is_noun = |word: &str| lexicon().is_in("count.runs", word);
    let mut words = plain_words(behind);
    let first = words.next().unwrap_or_default();
    // One word may stand between: "six random seeds".
    let is_of_runs =
        is_noun(first) || lexicon().is_in("guard.span", first) && words.next().is_some_and(is_noun);
    let before = claim.lower.get(..item.span.start).unwrap_or_default().trim_end();
    // "Five of six seeds" has two numbers of its own.
    let part = before.strip_suffix(" of").map(|rest| rest.trim_end().trim_end_matches(" out"));
    let of_number =
        part.is_some_and(|rest| claim.items.iter().any(|item| rest.len() == item.span.end));
    let is_part = of_number || behind.trim_start().starts_with("of ");
    let is_count = is_of_runs && !is_part && count >= 2.0 && count.fract() == 0.0;
    is_count.then_some((count as usize, first))
}

/// "All nine" over another number of things.
fn quantified(claim: &LintedClaim<'_>, sizes: &[usize]) -> Option<String> {
    let listed = claim.trees.iter().find_map(|tree| longest_list(tree));
    let arms = claim.provenance.arms.len();
    let fits = |count: usize| {
        sizes.contains(&count)
            || listed == Some(count)
            || arms == count
            || claim.provenance.runs.len() == count
    };
    let numbers = lexicon().words("count.numbers").iter().map(|word| format!("all {word}"));
    let mut said = (2..).zip(numbers).filter(|(_, all)| place_of(claim.lower, all).is_some());
    let (_, phrase) = said.find(|(count, _)| !fits(*count))?;
    let found = listed.or(sizes.first().copied()).unwrap_or(arms);
    Some(format!("the text contains \"{phrase}\", but the fact is about {found}"))
}

/// Words about each run, over a mean or a test of means.
pub(super) fn every(claim: &LintedClaim<'_>) -> Option<String> {
    let words = claim.lower;
    let said = said_of_each(claim, words, "count.runs")?;
    let compares = claim.number.is_none() && claim.trees.iter().all(|tree| tree.is_relation());
    let is_of_means = claim.provenance.calls_any(lexicon().words("count.of_all"))
        || compares && claim.provenance.arms.iter().any(|arm| arm.runs.is_group);
    // "Over all seeds" is what a mean runs over.
    let before = words[..said.start].trim_end();
    let mut over = lexicon().words("count.over").iter();
    let is_over = claim.number.is_some() && over.any(|word| before.ends_with(word.as_str()));
    // "None of our seeds gets to the mean of 1.70" says that it is one.
    let says_mean = !said_in(claim.before(), |term| term.name == "mean").is_empty();
    let is_of_each = claim.provenance.calls_any(lexicon().words("count.of_each"));
    if is_of_each || !is_of_means || is_over || says_mean {
        return None;
    }
    let said = &words[said];
    Some(format!("the text contains \"{said}\", but the fact is about a mean"))
}

/// Words about each one of several runs or lanes, of which the statement has their number alone: "all nine lanes reached
/// the target" over a count of nine.
pub(super) fn predicate(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
    let (counts, others): (Vec<&Expression>, Vec<_>) =
        claim.siblings.iter().partition(|tree| tree.is_call_of("count"));
    let is_setting = |tree: &Expression| {
        matches!(tree.kind, ExpressionKind::Field(..) | ExpressionKind::Number(_))
    };
    if counts.is_empty() || !others.into_iter().all(is_setting) {
        return None;
    }
    let said = ["count.runs", "count.arms"]
        .iter()
        .find_map(|nouns| said_of_each(claim, claim.lower, nouns))?;
    let (word, _) = lexicon().find("count.outcomes", claim.lower)?;
    let said = &claim.lower[said];
    Some(format!("the text contains \"{word}\" about {said}, but only their number is bound"))
}

/// A number of one arm, of which the words say that every arm has it: a measured one, or a setting that another arm has
/// otherwise.
pub(super) fn every_arm(claim: &LintedClaim<'_>) -> Option<String> {
    let [arm] = claim.provenance.arms.as_slice() else { return None };
    let said = said_of_each(claim, claim.before(), "count.arms")?;
    let is_measured = claim.scope.leaves.iter().all(|leaf| leaf.kind != LeafKind::Setting);
    let is_peer = |other: &&Arc<ClaimArm>| {
        arm.is_beside(other)
            && (is_measured
                || arm.runs.budget == other.runs.budget && has_other_setting(claim, other))
    };
    let other = claim.others().iter().find(is_peer)?;
    let said = &claim.before()[said];
    let message = if is_measured {
        format!("the text contains \"{said}\", but the value is from {}", arm.label)
    } else {
        format!("the text contains \"{said}\", but {} has a different value", other.label)
    };
    Some(message)
}

/// Whether another arm has another number where the setting of a claim was read.
fn has_other_setting(claim: &LintedClaim<'_>, other: &ClaimArm) -> bool {
    let number = |bundle: &str, evidence: &EvidenceRef| {
        let document = claim.scope.library.bundle(bundle)?.document(&evidence.file).ok()?;
        let node = document.root().at(&evidence.pointer).ok()?;
        Some(Printed::parse(node.printed().ok()?).ok()?.in_ones())
    };
    let differs = |evidence: &EvidenceRef| {
        let own = number(&evidence.bundle, evidence);
        let mut theirs = other.runs.bundles.iter().filter_map(|bundle| number(bundle, evidence));
        own.is_some_and(|own| theirs.any(|one| one != own))
    };
    claim.scope.leaves.iter().filter_map(|leaf| leaf.evidence.as_ref()).any(differs)
}

/// Where the words speak of each one of a list of nouns: "every seed", "all six runs", "each of our MoE-16 runs".
fn said_of_each(claim: &LintedClaim<'_>, words: &str, nouns: &str) -> Option<Range<usize>> {
    let lexicon = lexicon();
    let is_between = |word: &str| {
        ["count.between", "arm.dense", "arm.sparse"].iter().any(|list| lexicon.is_in(list, word))
            || lexicon.is_in("count.numbers", word)
            || word.bytes().all(|byte| byte.is_ascii_digit())
            || claim.provenance.arms.iter().any(|arm| arm.parts.iter().any(|part| part == word))
    };
    lexicon.words("count.every").iter().find_map(|every| {
        let start = place_of(words, every)?;
        let mut end = start.end;
        loop {
            let behind = words[end..].trim_start();
            let word = behind.split(|c: char| !c.is_alphanumeric()).next()?;
            end = words.len() - behind.len() + word.len();
            match word {
                "" => return None,
                noun if lexicon.is_in(nouns, noun) => return Some(start.start..end),
                other if !is_between(other) => return None,
                _ => {}
            }
        }
    })
}

/// A limit in the words that the relation does not have: "above 200" over a relation with 0.
pub(super) fn limit(claim: &LintedClaim<'_>) -> Option<String> {
    if claim.number.is_some() || claim.provenance.functions.contains("quoted") {
        return None;
    }
    let relations = claim.trees.iter().filter(|tree| tree.is_relation());
    let sides = relations.flat_map(|tree| tree.parts());
    let constants: Vec<_> = sides.filter_map(Expression::constant).collect();
    if constants.is_empty() {
        return None;
    }
    let item = claim.items.iter().find(|item| {
        let before = claim.lower.get(..item.span.start).unwrap_or_default();
        lexicon().limit_behind(before.trim_end()).is_some()
    })?;
    let value = item.number()?.in_ones();
    if constants.contains(&value) {
        return None;
    }
    Some(format!(
        "the text has the limit \"{}\", but the relation has a different one",
        item.text(claim.quote)
    ))
}

/// Words that put a limit on the other side than the relation does: "below 1.5" over a value that is larger.
pub(super) fn side(claim: &LintedClaim<'_>) -> Option<String> {
    claim.trees.iter().find_map(|tree| {
        let ExpressionKind::Relation(first, rest) = &tree.kind else { return None };
        let [(operator, second)] = rest.as_slice() else { return None };
        let (item, operator) = match limit_of(claim, second) {
            Some(item) => (item, *operator),
            None => (limit_of(claim, first)?, operator.turned()),
        };
        let before = claim.lower.get(..item.span.start)?.trim_end();
        let (reading, word) = lexicon().limit_behind(before)?;
        // "Improves over 1.7" is no limit, and "is not below 1.7" is one on the other side.
        let start = before.len() - word.len();
        if !are_opposite(operator, reading)
            || lexicon().is_in("guard.runs_over", word)
            || denies_before(before, start, DENIED)
        {
            return None;
        }
        let said = item.text(claim.quote);
        let sign = operator.sign();
        Some(format!("the text contains \"{word} {said}\", but the relation is `{sign}`"))
    })
}

/// The number of the quote that a side of a relation is: by its place, `quoted(1)`, or by its value.
fn limit_of<'c>(claim: &LintedClaim<'c>, side: &Expression) -> Option<&'c QuoteItem> {
    let mut numbers = claim.items.iter().filter_map(|item| Some((item, item.number()?)));
    let found = match &side.kind {
        ExpressionKind::Call(name, arguments) if name == "quoted" => {
            let place: usize = arguments.first()?.value.to_string().parse().ok()?;
            numbers.nth(place.checked_sub(1)?)
        }
        _ => {
            let value = side.constant()?;
            numbers.find(|(_, number)| number.in_ones() == value)
        }
    };
    found.map(|(item, _)| item)
}

/// Whether a value that a relation puts on one side of a limit is put on the other by the words before it.
fn are_opposite(operator: RelationOperator, reading: Reading) -> bool {
    use RelationOperator::{Greater, GreaterOrEqual, Less, LessOrEqual};
    match reading {
        Reading::Below | Reading::AtMost => matches!(operator, Greater | GreaterOrEqual),
        Reading::Above | Reading::AtLeast => matches!(operator, Less | LessOrEqual),
        _ => false,
    }
}

/// The length of the longest list of an expression.
fn longest_list(tree: &Expression) -> Option<usize> {
    let lists = tree.all().filter_map(|part| match &part.kind {
        ExpressionKind::List(items) => Some(items.len()),
        _ => None,
    });
    lists.max()
}

/// A limit or an approximation that the post declares, and that no word of the quote states.
pub(super) fn declared(claim: &LintedClaim<'_>) -> Option<String> {
    let reading = claim.declared.filter(|reading| {
        reading.is_limit() || matches!(reading, Reading::About | Reading::Nominal)
    })?;
    let is_said = match reading {
        Reading::Nominal => lexicon().has("nominal.words", claim.lower),
        // Any word of a limit, in a clause that denies it perhaps.
        _ => {
            let alike = lexicon().readings.iter().filter(|one| {
                one.reading == reading || one.reading.is_limit() && reading.is_limit()
            });
            let own = alike.flat_map(|one| one.before.iter().chain(&one.behind));
            let lists = lexicon().words("limit.lists").iter().filter(|_| reading.is_limit());
            let others = lists.flat_map(|list| lexicon().words(list));
            // The hyphen of "held-out" is no word of a limit.
            let mut words = own.chain(others.filter(|word| word.contains(char::is_alphabetic)));
            words.any(|word| place_of(claim.lower, &word.to_lowercase()).is_some())
        }
    };
    if is_said {
        return None;
    }
    Some(format!(
        "the number is declared as `{}`, but no word in the text indicates that",
        reading.word()
    ))
}
