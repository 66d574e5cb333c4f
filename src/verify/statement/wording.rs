//! Premises, moods and the several meanings of a sentence.

use repro_core::source::{Error, codes};
use repro_report::outcome::{Outcome, Verdict};

use crate::evaluate::functions::fixed;
use crate::evaluate::noise::DISAGREE;
use crate::evaluate::order;
use crate::lexicon::{Vocabulary, lexicon, place_of};
use crate::page::{Mood, Sentence};

codes! {
    NOT_A_FACT = "sentence::not-a-fact", "advice or definition", "nothing to do: only facts are checked";
    PREMISE = "sentence::premise", "a refutation needs a premise that the text does not state", "decide whether the text means the premise";
    NO_MEANING = "sentence::no-threshold", "a word of degree has no stated threshold", "state the amount in numbers";
    READINGS_DIFFER = "sentence::readings-differ", "the sentence is true in one reading and not in another", "state which reading is meant";
}

/// The first word of degree of a quote, which states no number.
fn degree<'l>(lexicon: &'l Vocabulary, quote: &str) -> Option<&'l str> {
    let mut lower = quote.to_lowercase();
    for phrase in lexicon.words("degree.except") {
        lower = lower.replace(phrase.as_str(), " ");
    }
    let words = lexicon.words("degree.words").iter();
    words.map(String::as_str).find(|word| place_of(&lower, word).is_some())
}

/// The effect of a sentence's wording on the outcome of its relation.
pub fn worded(outcome: Outcome, sentence: &Sentence, premise: Option<&str>) -> Outcome {
    let what = match sentence.mood {
        Mood::Fact => "",
        Mood::Norm => "it states what should be",
        Mood::Definition => "it defines a word",
    };
    if !what.is_empty() {
        let reason = match outcome.verdict {
            Verdict::Verified => format!("{what}; true here"),
            _ => format!("{what}; here: {}", outcome.reason),
        };
        let unchecked = Outcome::unchecked(&NOT_A_FACT, reason).giving(outcome.recomputed);
        return unchecked.measuring(outcome.measured);
    }
    let outcome = resting_on(outcome, premise);
    let held = match outcome.verdict {
        Verdict::Verified => "true as stated",
        Verdict::Refuted if outcome.rule == fixed::NEARLY => &outcome.reason,
        _ => return outcome,
    };
    let Some(word) = degree(lexicon(), &sentence.quote) else { return outcome };
    let reason = format!("{held}; \"{word}\" has no agreed meaning");
    Outcome::inconclusive(&NO_MEANING, reason).with_evidence_of(outcome)
}

/// The outcome of a claim whose number two implementations compute differently; any other error belongs to the post.
pub fn undecidable(error: Error) -> Result<Outcome, Error> {
    if error.code.id != DISAGREE.id {
        return Err(error);
    }
    Ok(Outcome::inconclusive(&DISAGREE, error.found.clone()))
}

/// The outcome of a refutation that rests on an unstated premise.
pub fn resting_on(outcome: Outcome, premise: Option<&str>) -> Outcome {
    let Some(premise) = premise.filter(|_| outcome.verdict == Verdict::Refuted) else {
        return outcome;
    };
    let reason = format!(
        "false under a premise that the text does not state ({premise}): {}",
        outcome.reason
    );
    outcome.undecided(&PREMISE, reason)
}

/// The outcome of a sentence with several readings: all true, none true, or undecided.
pub fn readings(parts: Vec<(String, Outcome)>) -> Outcome {
    let decided = |verdict| parts.iter().all(|(_, part)| part.verdict == verdict);
    let given: Vec<_> = parts.iter().map(|(_, part)| part.recomputed.clone()).collect();
    let given = given.join("; ");
    let measured: Vec<_> = parts.iter().flat_map(|(_, part)| part.measured.clone()).collect();
    if decided(Verdict::Verified) {
        return Outcome::verified().giving(given).measuring(measured);
    }
    // What several readings come to is said once.
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for (label, part) in &parts {
        let what = match part.verdict {
            Verdict::Verified => "true".to_owned(),
            Verdict::Refuted => format!("wrong ({})", part.reason),
            _ => format!("open ({})", part.reason),
        };
        let label = format!("`{label}`");
        match told.iter_mut().find(|(known, _)| *known == what) {
            Some((_, labels)) => labels.push(label),
            None => told.push((what, vec![label])),
        }
    }
    let told =
        told.iter().map(|(what, labels)| format!("{what} if it means {}", labels.join(" or ")));
    let reason = told.collect::<Vec<_>>().join("; ");
    let outcome = if decided(Verdict::Refuted) {
        Outcome::refuted(&order::WRONG_WAY, reason)
    } else {
        Outcome::inconclusive(&READINGS_DIFFER, reason)
    };
    outcome.giving(given).measuring(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::NOT_COMPUTABLE;
    use repro_core::source::{Code, Location};

    #[test]
    fn only_what_two_implementations_dispute_leaves_a_claim_open() {
        let error = |code: &'static Code| code.at(Location::file("p.toml"), "a p", "0.5, or not");
        let open = undecidable(error(&DISAGREE)).unwrap();
        assert_eq!(
            (open.verdict, open.code.unwrap().id),
            (Verdict::Inconclusive, "stats::disagree")
        );
        assert!(undecidable(error(&NOT_COMPUTABLE)).is_err());
    }
}
