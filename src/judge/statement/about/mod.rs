//! What words say that a number is about, against what its evidence is about: a step, a unit, a split, a horizon, a quantity.
//!
//! Evidence of another step neither bears out nor contradicts a sentence: it is bound to the wrong thing. Only
//! what both sides state is held against each other.

mod beside;
mod changes;
pub mod horizons;
pub mod matched;
pub mod quantities;
mod runs;
pub mod sides;
mod splits;
mod statistics;
pub mod steps;
pub mod units;

use std::borrow::Cow;
use std::rc::Rc;

use repro_claim::Expression;
use repro_receipt::source::{Code, codes};
use repro_report::outcome::{Outcome, Verdict};

use crate::value::Leaf;
use horizons::NamedData;
use matched::RunCost;
use steps::SaidSteps;
use units::BoundLoss;

codes! {
    OTHER_STEP = "about::other-step", "the evidence is of another step than the words", "name the step: `moe.loss @ 512`";
    OTHER_UNIT = "about::other-unit", "the words give a value another unit than the evidence has", "convert it: nats / (bytes * ln(2)); a share is (a - b) / a";
    OTHER_SPLIT = "about::other-split", "the words are about training text and the evidence about validation text, or the other way", "bind it to the losses that the words name";
    OTHER_QUANTITY = "about::other-quantity", "the words name another quantity than the expression gives", "bind it to what the words name: `active(run)`, `total(run)`, `run.tokens_seen`";
    UNSAID_CHOICE = "about::unsaid-choice", "the number is that of the best or the worst run, and no word says so", "say it (\"the best seed\"), or bind the mean";
    OTHER_STATISTIC = "about::other-statistic", "the words call the number another statistic than the expression gives", "bind it by the function that the words name: `sd`, `se`, `ci95`, `p`";
    NOT_MATCHED = "about::not-matched", "the words say that something is equal between the runs, and it is not", "compare runs at which it is equal, or say what is";
    OTHER_RUNS = "about::other-runs", "the number is of other runs than the words say", "bind the runs that the words name: `min(a.loss)`, `max(a.loss)`, `mean(a.loss)`";
    OTHER_ORDER = "about::other-order", "the words name both sides of a relation in the opposite order", "turn the relation round, or the sentence";
    OTHER_CHANGE = "about::other-change", "the words make another thing of the percentage than the expression computes", "bind it with `percent_below(a, b)`, `percent_above(a, b)`, or as a difference";
    DENIED = "about::denied", "the text denies the words right before them", "quote the whole sentence";
    BEYOND_DATA = "about::beyond-data", "a run counts more tokens than the data that its receipt names have", "correct the receipt's data, or its horizon";
}

/// The words of a sentence or cell, with the names of its row and column.
#[derive(Debug, Clone, Copy)]
pub struct Words<'w> {
    /// The words.
    pub quote: &'w str,
    /// Where they stand.
    pub place: &'w str,
    /// The head of the column, or the name of the field, of a cell.
    pub head: Option<&'w str>,
    /// The words before them in the text.
    pub before: &'w str,
    /// The words behind them in the text.
    pub behind: &'w str,
    /// Where the number stands in the quote that is held against evidence; none of a relation.
    pub number: Option<(usize, usize)>,
}

/// Phrases that deny what comes behind them.
const DENIALS: &[&str] = &[
    "not true that",
    "untrue that",
    "false that",
    "not the case that",
    "wrong that",
    "wrong to say that",
    "myth that",
    "no evidence that",
    "nobody says that",
    "cannot be said that",
    "not so that",
];

impl Words<'_> {
    /// Whether they name any step.
    pub fn name_steps(&self) -> bool {
        !SaidSteps::of(self.quote).numbers.is_empty()
    }

    /// Whether they name a step.
    pub fn name_step(&self, step: u64) -> bool {
        let place = spoken(self.place);
        [self.quote, &place].into_iter().any(|text| SaidSteps::of(text).numbers.contains(&step))
    }
}

/// What words are held against.
pub struct Evidence<'e> {
    /// Everything that was read.
    pub leaves: &'e [Rc<Leaf>],
    /// The expressions that read it, and the bodies of the formulas that they use.
    pub expressions: &'e [&'e Expression],
    /// What a number of the quote is bound to; none of a relation.
    pub number: Option<&'e Expression>,
    /// The number of the quote that may be a loss.
    pub loss: Option<BoundLoss<'e>>,
    /// Whether a name is that of a formula.
    pub is_formula: &'e dyn Fn(&str) -> bool,
    /// The last step at which a bundle was evaluated.
    pub last_step: &'e dyn Fn(&str) -> Option<u64>,
    /// What is compared, without what only adjusts a test.
    pub compared: &'e [Rc<Leaf>],
    /// Whether a name stands for mixtures alone, or for dense models alone.
    pub is_mixture: sides::IsMixture<'e>,
    /// What a bundle had cost at a step, or at its last one.
    pub course_of: &'e dyn Fn(&str, Option<u64>) -> Option<RunCost>,
    /// The data that the receipt of a bundle names.
    pub data_of: &'e dyn Fn(&str) -> Option<NamedData>,
}

/// Why words and evidence are about different things.
pub type Mismatch = Option<(&'static Code, String)>;

/// An outcome, or that its evidence is about something else.
pub fn checked(outcome: Outcome, words: Words, evidence: &Evidence<'_>) -> Outcome {
    if outcome.verdict == Verdict::Unchecked {
        return outcome;
    }
    let place = spoken(words.place);
    let words = Words { place: &place, ..words };
    let is_verified = outcome.verdict == Verdict::Verified;
    let verified = evidence.number.filter(|_| is_verified);
    let other = denied(words)
        .or_else(|| steps::other(words, evidence.leaves, evidence.last_step))
        .or_else(|| other_unit(words, evidence))
        .or_else(|| splits::other(words, evidence.leaves))
        .or_else(|| evidence.number.and_then(|number| quantities::other(words, number)))
        .or_else(|| {
            let relations = evidence.number.is_none().then_some(evidence.expressions);
            let relations = relations.filter(|_| is_verified)?;
            let other = relations.iter().find_map(|one| quantities::other_result(words, one));
            quantities::other_fixed(words, relations).or(other)
        })
        .or_else(|| evidence.number.and_then(|number| changes::other(words, number)))
        .or_else(|| {
            verified.and_then(|_| runs::other(words, evidence.expressions, evidence.leaves))
        })
        .or_else(|| verified.and_then(|number| statistics::other(words, number)))
        .or_else(|| {
            is_verified.then(|| matched::other(words, evidence.compared, evidence.course_of))?
        })
        .or_else(|| {
            verified.and_then(|_| sides::other_kind(words, evidence.compared, evidence.course_of))
        })
        .or_else(|| {
            let is_mixture = evidence.is_mixture;
            let relations = evidence.expressions.iter().filter(|_| evidence.number.is_none());
            let mut stated = relations.copied().chain(evidence.number);
            is_verified
                .then(|| stated.find_map(|one| sides::other_order(words, one, is_mixture)))?
        })
        .or_else(|| horizons::beyond(evidence.leaves, evidence.data_of));
    match other {
        None => outcome,
        Some((code, reason)) => Outcome::inconclusive(code, reason).with_evidence_of(outcome),
    }
}

/// The words of a place: those of the members that a pointer names.
fn spoken(place: &str) -> Cow<'_, str> {
    match place.starts_with('/') {
        true => Cow::Owned(place.replace(['/', '_'], " ")),
        false => Cow::Borrowed(place),
    }
}

/// Whether the text denies the words right before them.
fn denied(words: Words) -> Mismatch {
    let before = words.before.to_lowercase();
    let before = before.split_whitespace().collect::<Vec<_>>().join(" ");
    let phrase = DENIALS.iter().find(|phrase| before.contains(*phrase))?;
    Some((&DENIED, format!("the text denies it: \"{phrase}\"")))
}

fn other_unit(words: Words, evidence: &Evidence<'_>) -> Mismatch {
    let Evidence { leaves, expressions, is_formula, .. } = evidence;
    match &evidence.loss {
        Some(loss) => {
            let converts = expressions.iter().any(|one| units::converts(one));
            let other = units::other_than(loss, words, converts, leaves);
            // Whether it is one takes a second evaluation, which few words ask for.
            other.filter(|_| (loss.is_loss)())
        }
        None if evidence.number.is_none() => {
            let may_convert = expressions.iter().any(|one| units::may_convert(one, is_formula));
            if may_convert { None } else { units::other(words, leaves) }
        }
        None => None,
    }
}
