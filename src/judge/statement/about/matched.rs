//! What words say is equal between runs, against what the runs have: "at equal tokens", "with matched active parameters".

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Mismatch, NOT_MATCHED, Words};
use crate::value::Leaf;

/// So much more on one side is no longer equal.
const NEARLY: f64 = 1.02;
/// So many words may stand between "equal" and what is.
const REACH: usize = 4;
/// Words by which something is equal.
const EQUAL: &[&str] = &["equal", "same", "identical", "equivalent"];
/// Words behind which what is equal is a condition of the sentence, not what it says.
const UNDER: &[&str] = &["at", "with", "for", "under", "on", "given", "of"];
/// Words that deny it.
const DENIED: &[&str] = &["not", "never", "without", "nor", "neither", "almost", "nearly"];
/// Words between them and "equal".
const ARTICLES: &[&str] = &["the", "an", "a", "exactly", "very"];

/// What a run had cost when it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunCost {
    /// The step.
    pub steps: u64,
    /// The tokens that it had seen.
    pub tokens: u64,
    /// All its parameters, and those of one token.
    pub parameters: Option<(u64, u64)>,
}

/// What may be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Tokens,
    Steps,
    Active,
    Total,
    Compute,
}

impl Held {
    const ALL: [(Self, &'static [&'static str]); 5] = [
        (Self::Tokens, &["token", "tokens"]),
        (Self::Steps, &["step", "steps"]),
        (Self::Active, &["active", "activated"]),
        (Self::Total, &["total", "stored"]),
        (Self::Compute, &["compute", "flop", "flops"]),
    ];

    fn of(self, course: RunCost) -> Option<f64> {
        let (total, active) = course.parameters.unzip();
        match self {
            Self::Tokens => Some(course.tokens as f64),
            Self::Steps => Some(course.steps as f64),
            Self::Active => active.map(|count| count as f64),
            Self::Total => total.map(|count| count as f64),
            Self::Compute => active.map(|count| count as f64 * course.tokens as f64),
        }
    }
}

/// Whether the words say that something is equal between the runs that were read, and it is not.
pub fn other(
    words: Words,
    compared: &[Rc<Leaf>],
    course_of: &dyn Fn(&str, Option<u64>) -> Option<RunCost>,
) -> Mismatch {
    let (held, word) = said(words.quote)?;
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    for leaf in compared {
        let Some(evidence) = &leaf.evidence else { continue };
        let course = course_of(&evidence.bundle, leaf.step);
        let Some(value) = course.and_then(|course| held.of(course)) else { continue };
        found.insert(evidence.bundle.clone(), value);
    }
    let by_value = |a: &(&String, &f64), b: &(&String, &f64)| a.1.total_cmp(b.1);
    let (least, greatest) = (found.iter().min_by(by_value)?, found.iter().max_by(by_value)?);
    if *greatest.1 <= least.1 * NEARLY {
        return None;
    }
    let reason = format!(
        "the words say equal {word}, and `{}` has {} where `{}` has {}",
        greatest.0, greatest.1, least.0, least.1
    );
    Some((&NOT_MATCHED, reason))
}

/// Whether a text says that something is equal between runs.
pub fn is_said(text: &str) -> bool {
    said(text).is_some()
}

/// What a text says to be equal, in its own word; nothing where it names no one thing, or a ratio.
fn said(text: &str) -> Option<(Held, &'static str)> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut all = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| EQUAL.contains(word)) {
        let before = words[..at].iter().rev().find(|word| !ARTICLES.contains(word));
        let denied = words[at.saturating_sub(3)..at].iter().any(|word| DENIED.contains(word));
        if denied || !before.is_some_and(|word| UNDER.contains(word)) {
            continue;
        }
        let next = &words[at + 1..(at + 1 + REACH).min(words.len())];
        let named = |word: &&str| {
            let known = Held::ALL.iter().find(|(_, names)| names.contains(word));
            known.and_then(|(held, names)| Some((*held, *names.iter().find(|name| *name == word)?)))
        };
        let Some(place) = next.iter().position(|word| named(word).is_some()) else { continue };
        let is_ratio = words[at + 1 + place..].iter().take(3).any(|word| *word == "per");
        all.extend(named(&next[place]).filter(|_| !is_ratio));
    }
    match all.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, said};

    #[test]
    fn words_say_what_is_equal() {
        let held = |text: &str| said(text).map(|(held, _)| held);
        assert_eq!(held("At equal tokens the mixture is better"), Some(Held::Tokens));
        assert_eq!(held("at the same number of steps"), Some(Held::Steps));
        assert_eq!(held("with equal active parameters"), Some(Held::Active));
        assert_eq!(held("trained on the same training tokens"), Some(Held::Tokens));
        assert_eq!(held("almost the same tokens per active parameter"), None);
        assert_eq!(held("the same tokens per active parameter"), None);
        assert_eq!(held("not at equal tokens"), None);
        assert_eq!(held("tokens for each active parameter are equal to half a step"), None);
        assert_eq!(held("the same recipe"), None);
        assert_eq!(held("at equal tokens and at equal steps"), None);
    }
}
