//! Decoys: facts that are altered so that they no longer fit their words. Whoever approves one has not looked.

use repro_core::digest::Digest;
use repro_report::outcome::{ClaimReport, Verdict};

use super::session::fact_of;
use crate::lexicon::lexicon;

/// Of so many facts that are shown, one is altered.
pub const PERIOD: u64 = 12;
/// An altered fact, shown instead of the real one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoy {
    /// The altered sentence.
    pub sentence: String,
    /// The altered part.
    pub altered: &'static str,
}

/// Decides which facts of a session are altered, and how.
#[derive(Debug)]
pub struct DecoyPlan {
    seed: String,
}

impl DecoyPlan {
    /// The plan of a seed: the same seed gives the same session.
    pub fn new(seed: impl Into<String>) -> Self {
        Self { seed: seed.into() }
    }

    /// Whether the fact that is shown after so many others is to be altered. Which one of a dozen it is, nobody can count.
    pub fn is_due(&self, shown: u64) -> bool {
        shown % PERIOD == self.draw("place", shown / PERIOD, PERIOD)
    }

    /// A number below `bound`.
    pub fn draw(&self, what: &str, at: u64, bound: u64) -> u64 {
        let digest = Digest::of(format!("{}\n{what}\n{at}", self.seed).as_bytes());
        u64::from(digest.head()) % bound.max(1)
    }

    /// A claim's fact, altered; none if it has nothing that could be. Only facts that fit their words are altered: then nothing
    /// but the alteration is wrong. `arms` are the names of the post.
    pub fn alter(&self, claim: &ClaimReport, arms: &[&str], at: u64) -> Option<Decoy> {
        if claim.outcome.verdict != Verdict::Verified {
            return None;
        }
        let sentence = fact_of(claim);
        let is_limit = claim.meaning.readings.iter().any(|token| token.reading.is_limit());
        let digit = (!is_limit).then(|| self.other_digit(&sentence, at)).flatten();
        let decoys = [
            ("a digit", digit),
            ("the direction", exchanged(&sentence, "decoy.directions")),
            ("the statistic", exchanged(&sentence, "decoy.statistics")),
            ("the arm", self.other_arm(&sentence, arms, at)),
        ];
        let known: Vec<_> = decoys
            .into_iter()
            .filter_map(|(altered, sentence)| Some(Decoy { sentence: sentence?, altered }))
            .filter(|decoy| decoy.sentence != sentence)
            .collect();
        let index = self.draw("how", at, known.len() as u64);
        known.into_iter().nth(usize::try_from(index).ok()?)
    }

    /// Another first digit of the value, which no rounding explains.
    fn other_digit(&self, sentence: &str, at: u64) -> Option<String> {
        let value = sentence.rfind(": ")? + 2;
        let place = value + sentence[value..].find(|c: char| ('1'..='9').contains(&c))?;
        let old = sentence[place..].chars().next()?.to_digit(10)?;
        let shift = 1 + u32::try_from(self.draw("digit", at, 7)).ok()?;
        let new = (old - 1 + shift) % 9 + 1;
        Some(format!("{}{new}{}", &sentence[..place], &sentence[place + 1..]))
    }

    fn other_arm(&self, sentence: &str, arms: &[&str], at: u64) -> Option<String> {
        let inside = arms.iter().find(|arm| word(sentence, arm).is_some())?;
        let others: Vec<_> = arms.iter().filter(|arm| word(sentence, arm).is_none()).collect();
        let other = usize::try_from(self.draw("arm", at, others.len() as u64)).ok()?;
        replaced(sentence, inside, others.get(other)?)
    }
}

/// The sentence with the first word that is found of some pairs exchanged for its partner.
fn exchanged(sentence: &str, pairs: &str) -> Option<String> {
    let mut pairs = lexicon().words(pairs).iter().filter_map(|pair| pair.split_once('/'));
    pairs.find_map(|(a, b)| replaced(sentence, a, b).or_else(|| replaced(sentence, b, a)))
}

fn replaced(sentence: &str, from: &str, to: &str) -> Option<String> {
    let at = word(sentence, from)?;
    Some(format!("{}{to}{}", &sentence[..at], &sentence[at + from.len()..]))
}

/// Where a whole word stands.
fn word(sentence: &str, wanted: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || "_-.<>=".contains(c);
    let mut places = sentence.match_indices(wanted).map(|(at, _)| at);
    places.find(|at| {
        let before = sentence[..*at].chars().next_back();
        let behind = sentence[at + wanted.len()..].chars().next();
        !wanted.is_empty() && !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_dozen_is_altered() {
        for seed in ["1", "2", "x"] {
            let plan = DecoyPlan::new(seed);
            let due: Vec<_> = (0..120).filter(|shown| plan.is_due(*shown)).collect();
            assert_eq!(due.len(), 10);
            assert!(due.iter().enumerate().all(|(at, shown)| shown / PERIOD == at as u64));
        }
        let places = |seed: &str| {
            let plan = DecoyPlan::new(seed);
            (0..120).filter(|shown| plan.is_due(*shown)).collect::<Vec<_>>()
        };
        assert_ne!(places("1"), places("2"));
    }

    #[test]
    fn what_is_altered_no_longer_fits() {
        let plan = DecoyPlan::new("1");
        let digit = plan.other_digit("loss of moe, step 1,209: 1.7243 nats/token", 3).unwrap();
        assert!(digit.starts_with("loss of moe, step 1,209: "), "{digit}");
        assert!(!digit.contains(": 1.7"), "{digit}");
        assert_eq!(plan.other_digit("no value", 1), None);
        let of = |text: &str, pairs| exchanged(text, pairs);
        assert_eq!(of("(moe lower)", "decoy.directions").as_deref(), Some("(moe higher)"));
        assert_eq!(of("moe < dense", "decoy.directions").as_deref(), Some("moe > dense"));
        assert_eq!(of("mean loss", "decoy.statistics").as_deref(), Some("median loss"));
        assert_eq!(of("meaning", "decoy.statistics"), None);
        let arm = plan.other_arm("loss of moe: 1.7", &["moe", "dense"], 1);
        assert_eq!(arm.as_deref(), Some("loss of dense: 1.7"));
    }
}
