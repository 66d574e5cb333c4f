//! Lints: words of a quote against the provenance of its fact, mechanically. A lint never changes a verdict.
//!
//! Each lint is one function of the slice `ALL`, which runs in its order; the words that they know are those of the
//! lexicon. What a sentence means remains the judgement of its author and of reviewers.

mod arms;
mod counting;
mod direction;
mod fields;
mod naming;
mod partners;
mod quantity;
mod shares;
mod significance;
mod sources;
mod statistic;

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use repro_claim::Expression;
use repro_claim::quote::{ItemKind, QuoteItem};
use repro_core::decimal::Printed;
use repro_report::meaning::{Lint, LintKind, Reading};

use super::nouns::Scope;
use super::provenance::Provenance;
use crate::arms::ClaimArm;
use crate::lexicon::{lexicon, place_of, plain_words};
use crate::value::Quantity;

/// A claim as its lints see it.
#[derive(Clone)]
pub struct LintedClaim<'c> {
    /// The words of the quote.
    pub quote: &'c str,
    /// The same in lower case.
    pub lower: &'c str,
    /// The head of the column, of a cell.
    pub head: Option<&'c str>,
    /// The first cell of the row, of a cell.
    pub row: Option<&'c str>,
    /// What stands above that cell.
    pub row_head: Option<&'c str>,
    /// The place of the quote and the sentence around it.
    pub context: &'c str,
    /// The whole text, where it is at hand, in lower case.
    pub text: Option<&'c str>,
    /// The numbers of the quote.
    pub items: &'c [QuoteItem],
    /// The number that is judged; none of a relation.
    pub number: Option<Range<usize>>,
    /// Whether it stands behind ±.
    pub is_spread: bool,
    /// The reading that the post declares for it.
    pub declared: Option<Reading>,
    /// The expressions, without the formulas that they use.
    pub trees: &'c [&'c Expression],
    /// The same with the formulas that they use.
    pub with_formulas: &'c [&'c Expression],
    /// Every relation and binding of the statement.
    pub siblings: &'c [&'c Expression],
    /// The numbers of the quote that are bound, each with its expression.
    pub bound: &'c [(&'c QuoteItem, &'c Expression)],
    /// Where the value comes from.
    pub provenance: &'c Provenance,
    /// What names stand for.
    pub scope: &'c Scope<'c>,
    /// The values.
    pub given: &'c [Quantity],
    /// The other arms of the post that the value might be of, once a lint has asked for them.
    pub others: OnceCell<Vec<Arc<ClaimArm>>>,
}

/// A check that compares words and provenance.
type LintCheck = fn(&LintedClaim<'_>) -> Option<Lint>;

/// Every lint in the order in which a trace shows them. Coherence is judged for a whole column.
pub const ALL: &[(&str, LintCheck)] = &[
    ("direction", direction::direction),
    ("direction: pair", direction::pair),
    ("direction: numbers", direction::numbers),
    ("direction: trend", direction::trend),
    ("direction: change", direction::change),
    ("direction: order", direction::unsaid_order),
    ("direction: denial", naming::denied),
    ("direction: denied number", naming::denied_number),
    ("quantity", quantity::quantity),
    ("quantity: scope", quantity::scope),
    ("quantity: unit", quantity::unit),
    ("quantity: time", quantity::time),
    ("quantity: name", naming::unsaid),
    ("quantity: constant", quantity::constant),
    ("quantity: field", fields::field),
    ("quantity: rate", quantity::rate),
    ("quantity: base", shares::base),
    ("step", sources::step),
    ("step: pair", partners::step),
    ("step: throughout", sources::throughout),
    ("split", sources::split),
    ("statistic", statistic::statistic),
    ("statistic: spread", statistic::spread),
    ("statistic: selection", statistic::selection),
    ("arm", arms::arm),
    ("arm: pair", partners::arm),
    ("arm: alone", arms::alone),
    ("count", counting::runs),
    ("count: seeds", counting::seeds),
    ("count: every", counting::every),
    ("count: predicate", counting::predicate),
    ("test", significance::test),
    ("test: interval", significance::interval),
    ("test: significance", significance::significance),
    ("test: equality", significance::equality),
    ("limit", counting::limit),
    ("limit: side", counting::side),
    ("limit: declared", counting::declared),
];

/// The lints of a claim.
pub fn of(claim: &LintedClaim<'_>) -> Vec<Lint> {
    let mut found: Vec<Lint> = Vec::new();
    for (_, check) in ALL {
        if let Some(lint) = check(claim)
            && !found.iter().any(|known| known.kind == lint.kind)
        {
            found.push(lint);
        }
    }
    found
}

/// Whether one of the so many bytes before a place begins a word that denies what follows.
fn denies_before(text: &str, at: usize, within: usize) -> bool {
    let start = (at.saturating_sub(within)..=at).find(|start| text.is_char_boundary(*start));
    lexicon().has("direction.denies", text.get(start.unwrap_or(at)..at).unwrap_or_default())
}

/// The number that an item of a quote is; none of a date or a spread.
fn number_of(item: &QuoteItem) -> Option<&Printed> {
    match &item.kind {
        ItemKind::Number(printed) => Some(printed),
        _ => None,
    }
}

fn first_words(text: &str, count: usize) -> String {
    text.split_whitespace().take(count).collect::<Vec<_>>().join(" ")
}

fn last_words(text: &str, count: usize) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words[words.len().saturating_sub(count)..].join(" ")
}

fn lint(kind: LintKind, message: String) -> Option<Lint> {
    Some(Lint { kind, message, answer: None })
}

impl LintedClaim<'_> {
    /// The words that may name what a number is: the quote, and the head of its column.
    fn words(&self) -> String {
        match self.head {
            Some(head) => format!("{} | {}", self.lower, head.to_lowercase()),
            None => self.lower.to_owned(),
        }
    }

    /// Those behind the number, up to the next number or the end of the clause.
    fn behind(&self) -> &str {
        let Some(number) = &self.number else { return "" };
        let next = self.items.iter().map(|item| item.span.start).find(|start| *start >= number.end);
        let end = next.unwrap_or(self.lower.len()).min(self.lower.len());
        let clause = self.lower.get(number.end..end).unwrap_or_default();
        clause.split([';', '|', '\n']).next().unwrap_or_default()
    }

    /// The same, up to the comma before the words of the next number.
    fn behind_itself(&self) -> &str {
        let behind = self.behind();
        let end = self.number.as_ref().map_or(0, |number| number.end) + behind.len();
        let has_next = self.items.iter().any(|item| item.span.start == end);
        behind.split_once(',').filter(|_| has_next).map_or(behind, |(own, _)| own)
    }

    /// Those before the number, from the last number or the start of the clause on.
    fn before(&self) -> &str {
        let Some(number) = &self.number else { return "" };
        let ends = self.items.iter().map(|item| item.span.end);
        let start = ends.filter(|end| *end <= number.start).max().unwrap_or(0);
        let clause = self.lower.get(start..number.start).unwrap_or_default();
        let clause = clause.rsplit([';', '|', '\n']).next().unwrap_or_default();
        // "34.1 at best, 32.3 in the median": what stands before a comma is of the other number.
        match clause.rsplit_once(',') {
            Some((_, own)) if own.contains(char::is_alphabetic) || start > 0 => own,
            _ => clause,
        }
    }

    /// Where the words before the number begin in the quote.
    fn before_start(&self) -> Option<usize> {
        self.number.as_ref()?.start.checked_sub(self.before().len())
    }

    /// Whether the words before the number go on from another one, and are said of that: "78 passed of 892".
    fn goes_on_from_a_number(&self) -> bool {
        let Some(start) = self.before_start() else { return false };
        let is_parted = self.before().contains([',', ';', ':', '(', '|'])
            || plain_words(self.before()).any(|word| lexicon().is_in("beside.breaks", word));
        !is_parted && self.items.iter().any(|item| item.span.end == start)
    }

    /// The words before the number; they go on over a number of runs: "averaged over six seeds, it is".
    fn before_with_runs(&self) -> &str {
        let Some(number) = &self.number else { return "" };
        let mut before = self.items.iter().filter(|item| item.span.end <= number.start).rev();
        match before.next() {
            // Before the first number of a sentence a comma ends nothing: "in its best seed, dense has".
            None => return self.lower.get(..number.start).unwrap_or_default(),
            Some(item) if !self.counts_runs(item) => return self.before(),
            _ => {}
        }
        let start = before.find(|item| !self.counts_runs(item)).map_or(0, |item| item.span.end);
        self.lower.get(start..number.start).unwrap_or_default()
    }

    /// Whether a number is one of runs: "six seeds".
    fn counts_runs(&self, item: &QuoteItem) -> bool {
        let behind = self.lower.get(item.span.end..).unwrap_or_default();
        let clause = behind.split(['(', ')', ',', ';', '.', ':', '|']).next().unwrap_or_default();
        // One word may stand between: "six random seeds", "six mixture runs".
        plain_words(clause).take(2).any(|word| lexicon().is_in("count.runs", word))
    }

    /// Where a text in lower case mentions an arm: by its name, its declared aliases, or its kind of model.
    fn mention(&self, arm: &ClaimArm, others: &[&ClaimArm], text: &str) -> Option<Range<usize>> {
        let names = self.names_of(arm, others);
        names.iter().filter_map(|name| place_of(text, name)).min_by_key(|place| place.start)
    }

    /// The other arms of the post that the value might be of: its names, and the lanes of its documents.
    fn others(&self) -> &[Arc<ClaimArm>] {
        self.others.get_or_init(|| arms::others(self))
    }

    /// The words for an arm that no other one has.
    fn names_of(&self, arm: &ClaimArm, others: &[&ClaimArm]) -> Vec<String> {
        // "Dense" is no name among several dense arms.
        let is_of = |other: &ClaimArm, part: &String| {
            other.parts.contains(part) || other.kind_words().contains(part)
        };
        let own = arm.parts.iter();
        let own = own.filter(|part| !others.iter().any(|other| is_of(other, part)));
        let mut names: Vec<String> = own.flat_map(|part| spellings(part)).collect();
        names.extend(self.called(arm, others).cloned());
        let kind = arm.kind_words();
        if others.iter().all(|other| other.kind_words() != kind) {
            names.extend(kind.iter().cloned());
        }
        names
    }

    /// What the text and the receipts of its runs call an arm, and no other one.
    fn called<'a>(
        &self,
        arm: &'a ClaimArm,
        others: &[&ClaimArm],
    ) -> impl Iterator<Item = &'a String> {
        arm.calls.iter().filter(|name| !others.iter().any(|other| other.calls.contains(name)))
    }

    /// Where a part of a name stands in a text.
    fn place_of_part(&self, text: &str, part: &str) -> Option<Range<usize>> {
        spellings(part).iter().find_map(|name| place_of(text, name))
    }
}

/// A part of a name as texts may write it: `moe16` is "MoE-16".
fn spellings(part: &str) -> Vec<String> {
    let mut spellings = vec![part.to_owned()];
    let digits = part.find(|c: char| c.is_ascii_digit()).filter(|at| *at > 0);
    if let Some((word, number)) = digits.and_then(|at| part.split_at_checked(at)) {
        spellings.extend([format!("{word}-{number}"), format!("{word} {number}")]);
    }
    spellings
}
