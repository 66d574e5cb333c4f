//! Where a value was read: the step, the split, the arm.

use std::collections::BTreeSet;
use std::ops::Range;

use repro_claim::locator::Locator;
use repro_claim::quote::{ItemKind, items};
use repro_exact::decimal::grouped;
use repro_receipt::bundle::Origin;
use repro_report::meaning::{Lint, LintKind};

use super::super::arms::ClaimArm;
use super::super::provenance::TextSplit;
use super::{LintedClaim, label_parts, lint};
use crate::lexicon::{lexicon, place_of};

/// A value of another step than the words name, or of an earlier step that no word names.
pub(super) fn step(claim: &LintedClaim<'_>) -> Option<Lint> {
    let found = &claim.provenance.steps;
    if found.is_empty() {
        return None;
    }
    let mut said = said_of_number(claim);
    if said.is_empty() {
        said = claim.head.map(said_steps).unwrap_or_default();
    }
    let list = |steps: &BTreeSet<u64>| {
        let words: Vec<_> = steps.iter().map(|step| grouped(&step.to_string())).collect();
        words.join(", ")
    };
    if !said.is_empty() && said.is_disjoint(found) {
        let message = format!(
            "the text names step {}, and the value is of step {}",
            list(&said),
            list(found)
        );
        return lint(LintKind::Step, message);
    }
    if claim.provenance.is_at_end && said.is_empty() {
        let (word, _) =
            lexicon().find("step.midway", &format!("{} {}", claim.before(), claim.behind()))?;
        let list = list(found);
        let message =
            format!("the text says \"{word}\", and the value is of the last step, {list}");
        return lint(LintKind::Step, message);
    }
    if claim.provenance.is_at_end || !said.is_empty() {
        return None;
    }
    if lexicon().has("step.last", claim.lower) {
        let message =
            format!("the text names the last step, and the value is of step {}", list(found));
        return lint(LintKind::Step, message);
    }
    let moves = ["direction.grows", "direction.shrinks"]
        .iter()
        .any(|list| lexicon().has(list, claim.lower));
    let is_range = claim.items.iter().any(|item| item.range_end.is_some());
    if moves
        || is_range
        || lexicon().has("step.early", claim.lower)
        || lexicon().has("step.early", &claim.context.to_lowercase())
    {
        return None;
    }
    // A head, a row, the place or another number of the sentence may name it.
    let around = [claim.head, claim.row, Some(claim.context), Some(claim.quote)];
    let digits = |text: &str| text.replace([',', '_', '\u{a0}', '\u{2009}'], "");
    let around: String = around.into_iter().flatten().map(digits).collect::<Vec<_>>().join(" ");
    let is_named = found.iter().any(|step| place_of(&around, &step.to_string()).is_some());
    // Shares, trends and rows of a course have steps of their own kind.
    let is_course =
        claim.row.is_some_and(|row| row.trim().starts_with(|c: char| c.is_ascii_digit()));
    let has_share = around.contains('%') || found.len() > 1 || is_course;
    if is_named || has_share {
        return None;
    }
    lint(
        LintKind::Step,
        format!("the value is of step {}, before the end, and no word says so", list(found)),
    )
}

/// The steps that the quote names, without those that go with another number: "2.11 after 242 steps".
fn said_of_number(claim: &LintedClaim<'_>) -> BTreeSet<u64> {
    let said = said_step_items(claim.quote);
    let is_step = |place: &Range<usize>| said.iter().any(|(_, one)| one == place);
    let values = || claim.items.iter().map(|item| &item.span).filter(|place| !is_step(place));
    let is_of_another = |place: &Range<usize>| {
        let Some(before) = values().rfind(|one| one.end <= place.start) else { return false };
        let between = claim.lower.get(before.end..place.start).unwrap_or_default();
        let is_link = |word: &str| {
            ["step.at", "step.words"]
                .iter()
                .any(|list| lexicon().words(list).iter().any(|one| one == word))
        };
        claim.number.as_ref().is_some_and(|number| number != before)
            && between.split_whitespace().all(|word| is_link(word.trim_start_matches('(')))
    };
    let own = said.iter().filter(|(_, place)| !is_of_another(place));
    own.map(|(step, _)| *step).collect()
}

/// The steps that a text names.
fn said_steps(quote: &str) -> BTreeSet<u64> {
    said_step_items(quote).into_iter().map(|(step, _)| step).collect()
}

/// The steps that a text names, with their numbers: "step 242", "after 242 steps", "@ 484".
pub(super) fn said_step_items(quote: &str) -> Vec<(u64, Range<usize>)> {
    let lower = quote.to_lowercase();
    let mut steps = Vec::new();
    let mut was_step = false;
    for item in items(quote) {
        let ItemKind::Number(printed) = &item.kind else { continue };
        let before = lower[..item.span.start]
            .trim_end_matches(|c: char| c.is_whitespace() || "*_`=:".contains(c));
        let behind = lower[item.span.end..]
            .trim_start_matches(|c: char| c.is_whitespace() || "*_`-".contains(c));
        let starts = |list: &str, text: &str| {
            lexicon()
                .words(list)
                .iter()
                .any(|word| place_of(text, word).is_some_and(|place| place.start == 0))
        };
        let ends = |list: &str, text: &str| {
            lexicon().words(list).iter().any(|word| {
                text.strip_suffix(word.as_str())
                    .is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
            })
        };
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let lead = before[..before.len() - word.len()].trim_end();
        let is_listed =
            was_step && (matches!(word, "," | "and" | "to" | "or") || before.ends_with(','));
        let is_named = ends("step.words", before) && !ends("step.elsewhere", lead)
            || before.ends_with('@')
            || is_listed;
        let is_counted = starts("step.words", behind) && ends("step.at", before);
        was_step = is_named;
        if is_named || is_counted {
            let value = printed.as_f64();
            if value >= 0.0 && value.fract() == 0.0 && value < 1e15 {
                steps.push((value as u64, item.span.clone()));
            }
        }
    }
    steps
}

/// A training loss that the words call held out, or the other way.
pub(super) fn split(claim: &LintedClaim<'_>) -> Option<Lint> {
    let [own] = claim.provenance.splits.iter().collect::<Vec<_>>()[..] else { return None };
    let near = match claim.number {
        Some(_) => format!("{} {}", claim.before(), claim.behind()),
        None => claim.lower.to_owned(),
    };
    let says = |list: &str, text: &str| lexicon().has(list, text);
    let of_text = |text: &str| match (says("split.training", text), says("split.held_out", text)) {
        (true, false) => Some(TextSplit::Training),
        (false, true) => Some(TextSplit::HeldOut),
        _ => None,
    };
    let head = claim.head.map(str::to_lowercase).unwrap_or_default();
    let said = of_text(&near).or_else(|| of_text(&head)).filter(|said| said != own)?;
    lint(LintKind::Split, format!("the text says {}, and the value is {}", said.word(), own.word()))
}

/// A value of another arm than the words name.
pub(super) fn arm(claim: &LintedClaim<'_>) -> Option<Lint> {
    let own: Vec<&ClaimArm> = claim.provenance.arms.iter().collect();
    if own.is_empty() {
        return None;
    }
    if let Some(lint) = row_of_another(claim, &own) {
        return Some(lint);
    }
    let clause = match claim.number {
        Some(_) => claim.lower.split([';', '\n']).find(|part| {
            let from = part.as_ptr() as usize - claim.lower.as_ptr() as usize;
            claim
                .number
                .as_ref()
                .is_some_and(|number| number.start >= from && number.end <= from + part.len())
        })?,
        None => claim.lower,
    };
    // A second arm is often what the first is compared with.
    let compares =
        lexicon().has("arm.compares", clause) || claim.items.len() > 1 && claim.number.is_some();
    if compares {
        return None;
    }
    // What a formula is given may be any part of an arm.
    let page = claim.scope.page;
    let has_parts =
        claim.provenance.functions.iter().any(|name| {
            page.formulas.get(name).is_some_and(|formula| !formula.parameters.is_empty())
        });
    if has_parts {
        return None;
    }
    let others: Vec<ClaimArm> = claim
        .scope
        .page
        .names
        .iter()
        .filter(|(label, _)| !own.iter().any(|arm| arm.label == **label))
        .filter(|(_, (locator, _))| is_alike(claim, locator))
        .map(|(label, (locator, _))| ClaimArm::new(label.clone(), locator))
        .collect();
    let mine: BTreeSet<String> = own.iter().flat_map(|arm| label_parts(arm)).collect();
    let is_named = |arm: &&ClaimArm| {
        let theirs: BTreeSet<String> = label_parts(arm).into_iter().collect();
        let mut extra = theirs.difference(&mine).peekable();
        let aliases = claim.scope.page.aliases.get(&arm.label);
        let is_called = aliases
            .into_iter()
            .flatten()
            .any(|alias| place_of(clause, &alias.to_lowercase()).is_some());
        // "long budget" names `long.moe` beside `moe`; of other names all parts have to stand there.
        is_called || extra.peek().is_some() && extra.all(|part| place_of(clause, part).is_some())
    };
    let names_own = |arm: &ClaimArm| {
        let parts: BTreeSet<String> = label_parts(arm).into_iter().collect();
        // What both names share, the task of `cloze.moe` and `cloze.dense`, tells only arms of one kind apart.
        let is_named = |own: &&ClaimArm| {
            let library = claim.scope.library;
            let is_alike = own.is_mixture(library) == arm.is_mixture(library);
            let others: &[&ClaimArm] = if is_alike { &[] } else { &[arm] };
            claim.mention(own, others, clause).is_some()
        };
        parts.is_subset(&mine) || !own.iter().any(is_named)
    };
    if let Some(named) =
        others.iter().find(|arm| is_named(arm) && (adds_to(arm, &mine) || names_own(arm)))
    {
        return lint(
            LintKind::Arm,
            format!("the text names {}, and the value is of {}", named.label, labels(&own)),
        );
    }
    kind_of_another(claim, &own, clause)
}

/// Whether a name of the post may be an arm as the own one is: it has a field that was read.
fn is_alike(claim: &LintedClaim<'_>, locator: &Locator) -> bool {
    let library = claim.scope.library;
    let Some(bundle) = locator.bundles.first().and_then(|name| library.bundle(name)) else {
        return false;
    };
    let is_run = bundle.origin() == Origin::Emitted;
    let has_fact = || {
        claim.provenance.fields.iter().any(|field| {
            let id = locator.path.iter().chain([field]).cloned().collect::<Vec<_>>().join(".");
            bundle.fact(&id).is_some()
        })
    };
    let names = &claim.scope.page.names;
    let is_of_file =
        |arm: &ClaimArm| names.get(&arm.label).is_some_and(|(own, _)| own.file.is_some());
    let is_config = locator.file.is_some() && claim.provenance.arms.iter().all(is_of_file);
    is_run || is_config || has_fact()
}

/// Whether a name has every part of the own ones and more.
fn adds_to(arm: &ClaimArm, mine: &BTreeSet<String>) -> bool {
    let theirs: BTreeSet<String> = label_parts(arm).into_iter().collect();
    !mine.is_empty() && mine.is_subset(&theirs)
}

/// A row whose first cell is the name of another arm.
fn row_of_another(claim: &LintedClaim<'_>, own: &[&ClaimArm]) -> Option<Lint> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let row = plain(claim.row?);
    let is_own = own
        .iter()
        .map(|arm| plain(&arm.label))
        .any(|label| label.contains(&row) || row.contains(&label));
    let other = claim.scope.page.names.keys().find(|label| plain(label) == row)?;
    if is_own || row.is_empty() {
        return None;
    }
    lint(LintKind::Arm, format!("the row is that of {other}, and the value is of {}", labels(own)))
}

/// A dense model that the words call a mixture, or the other way.
fn kind_of_another(claim: &LintedClaim<'_>, own: &[&ClaimArm], clause: &str) -> Option<Lint> {
    if own.iter().any(|arm| label_parts(arm).iter().any(|part| place_of(clause, part).is_some())) {
        return None;
    }
    let mut kinds = own.iter().map(|arm| arm.is_mixture(claim.scope.library));
    let first = kinds.next()??;
    if kinds.any(|kind| kind != Some(first)) {
        return None;
    }
    let is_part = |place: std::ops::Range<usize>| {
        let next =
            clause[place.end..].split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        next.is_some_and(|next| lexicon().words("arm.dense_parts").iter().any(|part| part == next))
    };
    let dense = lexicon().find("arm.dense", clause).filter(|(_, place)| !is_part(place.clone()));
    let sparse = lexicon().find("arm.sparse", clause);
    let word = match (dense, sparse, first) {
        (Some((word, _)), None, true) | (None, Some((word, _)), false) => word,
        _ => return None,
    };
    let kind = if first { "a mixture" } else { "a dense model" };
    lint(LintKind::Arm, format!("the text says \"{word}\", and {} is {kind}", labels(own)))
}

fn labels(arms: &[&ClaimArm]) -> String {
    arms.iter().map(|arm| arm.label.as_str()).collect::<Vec<_>>().join(", ")
}
