//! Lints: words of a quote against the provenance of its fact, mechanically. A lint never changes a verdict.
//!
//! Each lint is one function of the slice `ALL`: what the text says against what the fact has, where they differ. The
//! words that they know are those of the lexicon. What a sentence means remains the judgement of its author and of
//! reviewers.

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
use repro_claim::quote::QuoteItem;
use repro_report::meaning::{Lint, LintKind, Reading};

use super::nouns::Scope;
use super::provenance::Provenance;
use crate::arms::ClaimArm;
use crate::lexicon::{lexicon, place_of, plain_words};
use crate::value::Quantity;

/// A claim as its lints see it.
pub struct LintedClaim<'c> {
    /// The words of the quote.
    pub quote: &'c str,
    /// The same in lower case.
    pub lower: &'c str,
    /// The head of the column, of a cell.
    pub head: Option<&'c str>,
    /// The first cell of the row, of a cell.
    pub row: Option<&'c str>,
    /// The head above that cell.
    pub row_head: Option<&'c str>,
    /// The place of the quote and the sentence around it.
    pub context: &'c str,
    /// The whole text, where it is available, in lower case.
    pub text: Option<&'c str>,
    /// The numbers of the quote.
    pub items: &'c [QuoteItem],
    /// The number that is judged; none of a relation.
    pub number: Option<&'c QuoteItem>,
    /// The reading that the post declares for it.
    pub declared: Option<Reading>,
    /// The expressions, without the formulas that they use.
    pub trees: &'c [&'c Expression],
    /// The same with the formulas that they use, but for those over plain numbers.
    pub with_formulas: &'c [&'c Expression],
    /// Every relation and binding of the statement.
    pub siblings: &'c [&'c Expression],
    /// The numbers of the quote that are bound, each with its expression.
    pub bound: &'c [(&'c QuoteItem, &'c Expression)],
    /// Where the value comes from.
    pub provenance: &'c Provenance,
    /// The meanings of names.
    pub scope: &'c Scope<'c>,
    /// The values.
    pub given: &'c [Quantity],
    /// The other arms of the post that the value might be of, once a lint has asked for them.
    pub others: OnceCell<Vec<Arc<ClaimArm>>>,
}

/// A name where it stands.
struct Mention<N> {
    name: N,
    place: Range<usize>,
}

/// A check that compares words and provenance; where they differ, its message.
type LintCheck = fn(&LintedClaim<'_>) -> Option<String>;

/// Every lint in its order: of one kind only the first that finds something counts. Coherence is judged for a whole
/// column.
const ALL: &[(LintKind, LintCheck)] = &[
    (LintKind::Direction, direction::direction),
    (LintKind::Direction, direction::pair),
    (LintKind::Direction, direction::numbers),
    (LintKind::Direction, direction::trend),
    (LintKind::Direction, direction::change),
    (LintKind::Direction, direction::unsaid_order),
    (LintKind::Direction, naming::denied),
    (LintKind::Direction, naming::denied_number),
    (LintKind::Quantity, quantity::quantity),
    (LintKind::Quantity, quantity::scope),
    (LintKind::Quantity, quantity::unit),
    (LintKind::Quantity, quantity::time),
    (LintKind::Quantity, naming::unsaid),
    (LintKind::Quantity, quantity::constant),
    (LintKind::Quantity, fields::field),
    (LintKind::Quantity, quantity::rate),
    (LintKind::Quantity, shares::base),
    (LintKind::Step, sources::row),
    (LintKind::Step, sources::step),
    (LintKind::Step, partners::step),
    (LintKind::Step, sources::throughout),
    (LintKind::Split, sources::split),
    (LintKind::Statistic, statistic::statistic),
    (LintKind::Statistic, statistic::spread),
    (LintKind::Statistic, statistic::selection),
    (LintKind::Arm, arms::row),
    (LintKind::Arm, arms::arm),
    (LintKind::Arm, partners::arm),
    (LintKind::Arm, arms::alone),
    (LintKind::Count, counting::runs),
    (LintKind::Count, counting::seeds),
    (LintKind::Count, counting::every_arm),
    (LintKind::Count, counting::every),
    (LintKind::Count, counting::predicate),
    (LintKind::Test, significance::test),
    (LintKind::Test, significance::interval),
    (LintKind::Test, significance::significance),
    (LintKind::Test, significance::equality),
    (LintKind::Limit, counting::limit),
    (LintKind::Limit, counting::side),
    (LintKind::Limit, counting::declared),
];

/// The lints of a claim, with the answer of its author.
pub fn of(claim: &LintedClaim<'_>, answer: Option<&String>) -> Vec<Lint> {
    let mut found: Vec<Lint> = Vec::new();
    for (kind, check) in ALL {
        if found.last().is_none_or(|last| last.kind != *kind)
            && let Some(message) = check(claim)
        {
            found.push(Lint { kind: *kind, message, answer: answer.cloned() });
        }
    }
    found
}

/// Whether one of the this many bytes before a place begins a word that denies what follows.
fn denies_before(text: &str, at: usize, within: usize) -> bool {
    let start = (at.saturating_sub(within)..=at).find(|start| text.is_char_boundary(*start));
    lexicon().has("direction.denies", text.get(start.unwrap_or(at)..at).unwrap_or_default())
}

fn first_words(text: &str, count: usize) -> String {
    text.split_whitespace().take(count).collect::<Vec<_>>().join(" ")
}

fn last_words(text: &str, count: usize) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words[words.len().saturating_sub(count)..].join(" ")
}

impl LintedClaim<'_> {
    /// The words that may name what a number is: the quote, and the head of its column.
    fn words(&self) -> String {
        match self.head {
            Some(head) => format!("{} | {}", self.lower, head.to_lowercase()),
            None => self.lower.to_owned(),
        }
    }

    /// The same with what stands around the quote.
    fn words_around(&self) -> String {
        format!("{} {}", self.words(), self.context.to_lowercase())
    }

    /// Those behind the number, up to the next number or the end of the clause.
    fn behind(&self) -> &str {
        let Some(number) = self.number.map(|item| &item.span) else { return "" };
        let next = self.items.iter().map(|item| item.span.start).find(|start| *start >= number.end);
        let end = next.unwrap_or(self.lower.len()).min(self.lower.len());
        let clause = self.lower.get(number.end..end).unwrap_or_default();
        clause.split([';', '|', '\n']).next().unwrap_or_default()
    }

    /// The same, up to the comma before the words of the next number.
    fn behind_itself(&self) -> &str {
        let behind = self.behind();
        let end = self.number.map_or(0, |number| number.span.end) + behind.len();
        let has_next = self.items.iter().any(|item| item.span.start == end);
        behind.split_once(',').filter(|_| has_next).map_or(behind, |(own, _)| own)
    }

    /// Those before the number, from the last number or the start of the clause on.
    fn before(&self) -> &str {
        let Some(number) = self.number.map(|item| &item.span) else { return "" };
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
        self.number?.span.start.checked_sub(self.before().len())
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
        let Some(number) = self.number.map(|item| &item.span) else { return "" };
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
        // "Dense" is not a name among several dense arms.
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

    /// The names that the text and the receipts use for one arm and no other.
    fn called<'a>(
        &self,
        arm: &'a ClaimArm,
        others: &[&ClaimArm],
    ) -> impl Iterator<Item = &'a String> {
        arm.calls.iter().filter(|name| !others.iter().any(|other| other.calls.contains(name)))
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
