//! Where a value was read: the step and the split.

use std::collections::BTreeSet;
use std::ops::Range;

use repro_claim::Expression;
use repro_claim::quote::{QuoteItem, items};
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::{grouped, nearest_f64};

use super::super::provenance::{TextSplit, quantity_of};
use super::{LintedClaim, Mention};
use crate::lexicon::{lexicon, place_of};

/// How far a step may lie from the part of the training that the words name.
const PART_WITHIN: f64 = 0.12;

/// A value of another step than the words name, or of an earlier step that no word names.
pub(super) fn step(claim: &LintedClaim<'_>) -> Option<String> {
    let found = &claim.provenance.steps;
    if found.is_empty() {
        return None;
    }
    if let Some(part) = said_part(claim) {
        return of_another_part(claim, part);
    }
    // "At step 967 it has 1.80; it ends at 1.70": the words nearest to the number decide.
    if claim.provenance.is_at_end && lexicon().has("step.last", claim.before()) {
        return None;
    }
    let mut said = said_of_number(claim);
    if said.is_empty() {
        let head = claim.head.unwrap_or_default();
        let head = said_step_items(head, &items(head));
        said = head.into_iter().map(|step| step.name).collect();
    }
    let steps = listed(found);
    if !said.is_empty() {
        let fact = format!("but the value is from step {steps}");
        return said
            .is_disjoint(found)
            .then(|| format!("the text mentions step {}, {fact}", listed(&said)));
    }
    let near = format!("{} {}", claim.before(), claim.behind_itself());
    if let Some((words, step)) = said_checkpoint(claim, &near)
        && !found.contains(&step)
    {
        return Some(format!(
            "the text contains \"{words}\", which is step {step}, but the value is from {steps}"
        ));
    }
    if claim.provenance.is_at_end {
        let near = format!("{} {}", claim.before(), claim.behind());
        let (word, _) = lexicon().find("step.midway", &near)?;
        let is_of_loss = !claim.provenance.units.is_empty();
        return is_of_loss.then(|| {
            format!("the text contains \"{word}\", but the value is from the last step, {steps}")
        });
    }
    if said_checkpoint(claim, claim.lower).is_some_and(|(_, step)| found.contains(&step)) {
        return None;
    }
    if lexicon().has("step.last", claim.lower) {
        return Some(format!(
            "the text mentions the last step, but the value is from step {steps}"
        ));
    }
    let moves = ["direction.grows", "direction.shrinks", "step.early"];
    if lexicon().has_any(&moves, claim.lower)
        || claim.items.iter().any(|item| item.range_end.is_some())
        || lexicon().has("step.early", &claim.context.to_lowercase())
    {
        return None;
    }
    // A head, a row, the place or another number of the sentence may name it.
    let around = [claim.head, claim.row, Some(claim.context), Some(claim.quote)];
    let around = around.into_iter().flatten().map(ungrouped).collect::<Vec<_>>().join(" ");
    let is_named = found.iter().any(|step| place_of(&around, &step.to_string()).is_some());
    // Shares, trends and rows of a course have steps of their own kind.
    let is_course =
        claim.row.is_some_and(|row| row.trim().starts_with(|c: char| c.is_ascii_digit()));
    let has_share = around.contains('%') || found.len() > 1 || is_course;
    // "After 1,357,824 tokens" names the step by what was seen until then.
    if is_named || has_share || claim.siblings.iter().any(|tree| counts_course_at(tree, found)) {
        return None;
    }
    Some(format!("the value is from step {steps}, before the end, but no word indicates that"))
}

/// A value of one step, of which the words speak for the whole training: "at no point in training".
pub(super) fn throughout(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
    let own = grouped(&claim.provenance.only_step()?.to_string());
    let (word, _) = lexicon().find("step.throughout", claim.lower)?;
    Some(format!("the text contains \"{word}\", but the value is from step {own} only"))
}

/// Whether an expression is how far a run had come at one of these steps: `run.tokens_seen @ 663`.
fn counts_course_at(tree: &Expression, steps: &BTreeSet<u64>) -> bool {
    let ExpressionKind::At(of, step) = &tree.kind else { return false };
    let counts = quantity_of(of).is_some_and(|term| lexicon().is_in("step.course", &term.name));
    counts && steps.iter().any(|own| own.to_string() == step.to_string())
}

/// Steps in words: `242, 1,209`.
fn listed(steps: &BTreeSet<u64>) -> String {
    let words: Vec<_> = steps.iter().map(|step| grouped(&step.to_string())).collect();
    words.join(", ")
}

/// A text whose numbers have no separators.
fn ungrouped(text: &str) -> String {
    text.replace([',', '_', '\u{a0}', '\u{2009}'], "")
}

/// A row that is headed by another step than that of its value.
pub(super) fn row(claim: &LintedClaim<'_>) -> Option<String> {
    let own = claim.provenance.only_step()?;
    let head = claim.row_head?.to_lowercase();
    let is_step = lexicon().is_in("step.words", head.trim());
    let row = ungrouped(claim.row.filter(|_| is_step)?);
    let said: u64 = row.trim().parse().ok().filter(|said| *said != own)?;
    let [said, own] = [said, own].map(|step| grouped(&step.to_string()));
    Some(format!("the row is for step {said}, but the value is from step {own}"))
}

/// The part of the training at which the words put a number: "halfway", "one fifth of the way".
fn said_part(claim: &LintedClaim<'_>) -> Option<f64> {
    let number = &claim.number?.span;
    let is_part = |item: &&QuoteItem| {
        let behind = claim.lower.get(item.span.end..).unwrap_or_default().trim_start();
        lexicon().words("step.parts").iter().any(|word| behind.starts_with(word.as_str()))
    };
    // What stands before another value is said of that one.
    let values = claim.bound.iter().map(|(other, _)| other).filter(|other| !is_part(other));
    let before = values.map(|other| other.span.end).filter(|end| *end <= number.start);
    let start = before.max().unwrap_or(0);
    let others = claim.items.iter().filter(|item| item.span != *number && item.span.start >= start);
    let counted = others.filter(is_part).find_map(|item| {
        let share = nearest_f64(&item.number()?.in_ones());
        (0.0..1.0).contains(&share).then_some(share)
    });
    let before = claim.lower.get(start..number.start).unwrap_or_default();
    let mut near = [before, claim.behind_itself()].into_iter();
    counted.or_else(|| near.any(|text| lexicon().has("step.half", text)).then_some(0.5))
}

/// The lint of a step that lies at another part of the training than the words say.
fn of_another_part(claim: &LintedClaim<'_>, said: f64) -> Option<String> {
    let own = claim.provenance.only_step()?;
    let last = claim.provenance.last_step.filter(|last| *last > 0)?;
    let is = own as f64 / last as f64;
    if (said - is).abs() < PART_WITHIN {
        return None;
    }
    let [own, last] = [own, last].map(|step| grouped(&step.to_string()));
    Some(format!("the words place it at {said} of training, but it is step {own} of {last}"))
}

/// The steps that the quote names, without those that go with another number: "2.11 after 242 steps".
fn said_of_number(claim: &LintedClaim<'_>) -> BTreeSet<u64> {
    let said = said_step_items(claim.quote, claim.items);
    let is_step = |item: &&QuoteItem| said.iter().any(|step| step.place == item.span);
    let is_of_another = |place: &Range<usize>| {
        let values = claim.items.iter().filter(|item| !is_step(item));
        let Some(before) = values.rev().find(|item| item.span.end <= place.start) else {
            return false;
        };
        let between = claim.lower.get(before.span.end..place.start).unwrap_or_default();
        let is_link =
            |word: &str| lexicon().is_in("step.at", word) || lexicon().is_in("step.words", word);
        claim.number.is_some_and(|number| number != before)
            && between.split_whitespace().all(|word| is_link(word.trim_start_matches('(')))
    };
    let own = said.iter().filter(|step| !is_of_another(&step.place));
    own.map(|step| step.name).collect()
}

/// The steps that a text names, with their numbers: "step 242", "after 242 steps", "@ 484".
pub(super) fn said_step_items(quote: &str, items: &[QuoteItem]) -> Vec<Mention<u64>> {
    let lower = quote.to_lowercase();
    let mut steps = Vec::new();
    let mut was_step = false;
    for item in items {
        let Some(printed) = item.number() else { continue };
        let before = lower[..item.span.start]
            .trim_end_matches(|c: char| c.is_whitespace() || "*_`=:".contains(c));
        let behind = lower[item.span.end..]
            .trim_start_matches(|c: char| c.is_whitespace() || "*_`-".contains(c));
        let ends = |list: &str, text: &str| {
            lexicon().words(list).iter().any(|word| {
                text.strip_suffix(word.as_str())
                    .is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
            })
        };
        let mut words = lexicon().words("step.words").iter();
        let has_noun =
            words.any(|word| place_of(behind, word).is_some_and(|place| place.start == 0));
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let lead = before[..before.len() - word.len()].trim_end();
        let is_listed =
            was_step && (matches!(word, "," | "and" | "to" | "or") || before.ends_with(','));
        let is_named = ends("step.words", before) && !ends("step.elsewhere", lead)
            || before.ends_with('@')
            || is_listed;
        let is_counted = has_noun && ends("step.at", before);
        was_step = is_named;
        if is_named || is_counted {
            let value = printed.as_f64();
            if value >= 0.0 && value.fract() == 0.0 && value < 1e15 {
                steps.push(Mention { name: value as u64, place: item.span.clone() });
            }
        }
    }
    steps
}

/// A loss of another split than the words name.
pub(super) fn split(claim: &LintedClaim<'_>) -> Option<String> {
    let [own] = claim.provenance.splits.iter().copied().collect::<Vec<_>>()[..] else {
        return None;
    };
    let words = match claim.number {
        Some(_) => [claim.before_with_runs(), claim.behind_itself()],
        None => [claim.lower, ""],
    };
    let head = claim.head.map(str::to_lowercase).unwrap_or_default();
    let mut near = words.into_iter().chain([head.as_str()]);
    let said = near.find_map(split_in)?;
    // Development text is held out of training too.
    let is_other = match (said, own) {
        (TextSplit::HeldOut, TextSplit::Development) => {
            lexicon().has("split.not_development", claim.lower)
        }
        _ => said != own,
    };
    let message = format!("the text states {}, but the value is {}", said.word(), own.word());
    Some(message).filter(|_| is_other)
}

/// The one split that a text in lower case names.
fn split_in(text: &str) -> Option<TextSplit> {
    let lists = [
        ("split.training", TextSplit::Training),
        ("split.development", TextSplit::Development),
        ("split.held_out", TextSplit::HeldOut),
    ];
    let mut said = lists.into_iter().filter(|(list, _)| lexicon().has(list, text));
    let (_, first) = said.next()?;
    said.next().is_none().then_some(first)
}

/// The checkpoint that some words name by its number, and these words: "its second evaluation".
fn said_checkpoint(claim: &LintedClaim<'_>, words: &str) -> Option<(String, u64)> {
    let nouns = lexicon().words("step.evaluations");
    let numbered = lexicon().words("step.ordinals").iter().zip(&claim.provenance.checkpoints);
    let mut named = numbered.flat_map(|(ordinal, step)| {
        nouns.iter().map(move |noun| (format!("{ordinal} {noun}"), *step))
    });
    named.find(|(phrase, _)| place_of(words, phrase).is_some())
}
