//! What words say that a number is about, against what its evidence is about: a step, a unit, a split.
//!
//! Evidence of another step neither bears out nor contradicts a sentence: it is bound to the wrong thing. Only
//! what both sides state is held against each other.

use std::collections::BTreeSet;
use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};
use repro_receipt::source::{Code, codes};
use repro_report::outcome::{Outcome, Verdict};

use crate::value::{Leaf, LeafKind};

codes! {
    OTHER_STEP = "about::other-step", "the evidence is of another step than the words", "name the step: `moe.loss @ 512`";
    OTHER_UNIT = "about::other-unit", "the words are in bits and the evidence in nats, or the other way", "convert it: nats / (bytes * ln(2))";
    OTHER_SPLIT = "about::other-split", "the words are about training text and the evidence about validation text", "bind it to the losses of the training steps";
}

/// The words of a sentence or cell, with the names of its row and column.
#[derive(Debug, Clone, Copy)]
pub struct Words<'w> {
    /// The words.
    pub quote: &'w str,
    /// Where they stand.
    pub place: &'w str,
}

impl Words<'_> {
    /// Whether they name a step.
    pub fn name_step(&self, step: u64) -> bool {
        [self.quote, self.place].into_iter().any(|text| steps(text).contains(&step))
    }
}

/// An outcome, or that its evidence is about something else.
pub fn checked(
    outcome: Outcome,
    words: Words,
    expressions: &[&Expression],
    is_formula: &dyn Fn(&str) -> bool,
    leaves: &[Rc<Leaf>],
) -> Outcome {
    if outcome.verdict == Verdict::Unchecked {
        return outcome;
    }
    let other = other_step(words, leaves)
        .or_else(|| {
            let converts = expressions.iter().any(|one| converts(one, is_formula));
            if converts { None } else { other_unit(words, leaves) }
        })
        .or_else(|| other_split(words, leaves));
    match other {
        None => outcome,
        Some((code, reason)) => Outcome::inconclusive(code, reason)
            .giving(outcome.recomputed)
            .measuring(outcome.measured)
            .within(outcome.rule, outcome.tolerance),
    }
}

type Mismatch = Option<(&'static Code, String)>;

fn other_step(words: Words, leaves: &[Rc<Leaf>]) -> Mismatch {
    let mut said = steps(words.quote);
    if said.is_empty() {
        said = steps(words.place);
    }
    let mut found = BTreeSet::new();
    for leaf in leaves {
        found.extend(leaf.step);
        found.extend(leaf.quote.iter().flat_map(|quote| steps(quote)));
    }
    if said.is_empty() || found.is_empty() || !said.is_disjoint(&found) {
        return None;
    }
    let list =
        |steps: &BTreeSet<u64>| steps.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let reason = format!(
        "the words are about step {}, the evidence about step {}",
        list(&said),
        list(&found)
    );
    Some((&OTHER_STEP, reason))
}

/// The numbers behind the word "step".
fn steps(text: &str) -> BTreeSet<u64> {
    let words: Vec<_> = text
        .split(|c: char| c.is_whitespace() || matches!(c, '=' | ':' | '-' | '(' | ')' | '|' | ';'))
        .filter(|word| !word.is_empty())
        .collect();
    let pairs = words.windows(2).filter(|pair| pair[0].eq_ignore_ascii_case("step"));
    let number = |word: &str| {
        let word = word.trim_end_matches(['.', ',']);
        word.replace([',', '_'], "").parse().ok()
    };
    pairs.filter_map(|pair| number(pair[1])).collect()
}

/// The unit of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LossUnit {
    Bits,
    Nats,
}

fn other_unit(words: Words, leaves: &[Rc<Leaf>]) -> Mismatch {
    let said = unit_of_words(words.quote).or_else(|| unit_of_words(words.place))?;
    let mut found = leaves.iter().filter_map(|leaf| unit_of_leaf(leaf));
    let first = found.next()?;
    if first == said || found.any(|other| other != first) {
        return None;
    }
    let name = |unit| match unit {
        LossUnit::Bits => "bits",
        LossUnit::Nats => "nats",
    };
    let reason = format!("the words are in {}, the evidence in {}", name(said), name(first));
    Some((&OTHER_UNIT, reason))
}

fn unit_of_words(text: &str) -> Option<LossUnit> {
    let lower = text.to_ascii_lowercase();
    let has = |word: &str| lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|one| one == word);
    match (has("bpb") || has("bits"), has("nats") || has("nat")) {
        (true, false) => Some(LossUnit::Bits),
        (false, true) => Some(LossUnit::Nats),
        _ => None,
    }
}

/// The unit of what a run recorded. A loss that is only typed may be in any.
fn unit_of_leaf(leaf: &Leaf) -> Option<LossUnit> {
    let pointer = &leaf.evidence.as_ref()?.pointer;
    match pointer.rsplit('/').next()? {
        "bpb" => Some(LossUnit::Bits),
        "loss" | "nats" if leaf.kind == LeafKind::Recorded => Some(LossUnit::Nats),
        _ => None,
    }
}

/// Whether an expression may turn one unit into another: by a factor, a logarithm or a formula of the post.
fn converts(expression: &Expression, is_formula: &dyn Fn(&str) -> bool) -> bool {
    let mut found = false;
    expression.each(&mut |part| {
        found |= match &part.kind {
            ExpressionKind::Arithmetic(operator, ..) => {
                matches!(operator, ArithmeticOperator::Multiply | ArithmeticOperator::Divide)
            }
            ExpressionKind::Call(name, _) | ExpressionKind::Name(name) => {
                is_formula(name) || matches!(name.as_str(), "ln" | "exp")
            }
            _ => false,
        };
    });
    found
}

fn other_split(words: Words, leaves: &[Rc<Leaf>]) -> Mismatch {
    let lower = words.quote.to_ascii_lowercase();
    let on_training =
        ["training loss", "train loss", "training bpb"].iter().any(|one| lower.contains(one));
    let evaluated = |leaf: &&Rc<Leaf>| {
        leaf.evidence.as_ref().is_some_and(|one| one.file.starts_with("data/evaluation/"))
    };
    let leaf = leaves.iter().find(evaluated).filter(|_| on_training)?;
    let file = leaf.evidence.as_ref().map_or("", |one| one.file.as_str());
    Some((
        &OTHER_SPLIT,
        format!("the words are about training text, `{file}` about validation text"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_behind_their_word() {
        let found = |text| steps(text).into_iter().collect::<Vec<_>>();
        assert_eq!(found("at step 7,563 / loss 3.2625; step=12, step 0x1"), [12, 7563]);
        assert_eq!(found("9536-step run, 3 steps 4"), Vec::<u64>::new());
    }

    #[test]
    fn units_of_words() {
        assert_eq!(unit_of_words("1.21 bpb"), Some(LossUnit::Bits));
        assert_eq!(unit_of_words("nats per token"), Some(LossUnit::Nats));
        assert_eq!(unit_of_words("bits, from nats"), None);
        assert_eq!(unit_of_words("a rabbit"), None);
    }
}
