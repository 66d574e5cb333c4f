//! What the words of a sentence make of the relation that it states.

use repro_receipt::source::codes;
use repro_report::outcome::{Outcome, Verdict};

use crate::evaluate::functions::fixed;
use crate::evaluate::order;
use crate::page::{Mood, Sentence};

codes! {
    NOT_A_FACT = "sentence::not-a-fact", "it says what should be or what a word means", "nothing to do: only facts are checked";
    PREMISE = "sentence::premise", "a refutation would need a premise that the text does not state", "see the premise";
    NO_MEANING = "sentence::no-meaning", "a word of the sentence has no agreed meaning", "say how much, in numbers";
    READINGS_DIFFER = "sentence::readings-differ", "the sentence holds in one reading and not in another", "say which is meant";
}

/// Words of degree that state no number.
const VAGUE: &[&str] = &[
    "dramatically",
    "sharply",
    "substantially",
    "considerably",
    "massively",
    "vastly",
    "hugely",
    "drastically",
    "greatly",
    "far",
    "much",
    "modestly",
    "slightly",
    "markedly",
    "strikingly",
    "similar",
    "comparable",
];

/// What the words of a sentence add to its relation.
pub fn worded(outcome: Outcome, sentence: &Sentence, premise: Option<&str>) -> Outcome {
    if sentence.mood != Mood::Fact {
        let what = match sentence.mood {
            Mood::Norm => "it says what should be",
            _ => "it says what a word means",
        };
        let reason = match outcome.verdict {
            Verdict::Verified => format!("{what}; here it is so"),
            _ => format!("{what}; here: {}", outcome.reason),
        };
        return Outcome::unchecked(&NOT_A_FACT, reason).giving(outcome.recomputed);
    }
    if outcome.verdict == Verdict::Refuted
        && let Some(premise) = premise
    {
        let reason = format!("wrong if {premise}: {}", outcome.reason);
        return Outcome::inconclusive(&PREMISE, reason)
            .giving(outcome.recomputed)
            .within(outcome.rule, outcome.tolerance);
    }
    let vague = VAGUE.iter().find(|word| {
        let own = |part: &str| part.eq_ignore_ascii_case(word);
        sentence.quote.split(|c: char| !c.is_alphanumeric()).any(own)
    });
    match vague {
        Some(word)
            if outcome.verdict == Verdict::Verified
                || outcome.verdict == Verdict::Refuted && outcome.rule == fixed::NEARLY =>
        {
            let held = match outcome.verdict {
                Verdict::Verified => "it holds as stated".to_owned(),
                _ => outcome.reason.clone(),
            };
            let reason = format!("{held}; \"{word}\" has no agreed meaning");
            Outcome::inconclusive(&NO_MEANING, reason)
                .giving(outcome.recomputed)
                .within(outcome.rule, outcome.tolerance)
        }
        _ => outcome,
    }
}

/// What a sentence with several readings comes to: all of them, none of them, or undecided.
pub fn readings(parts: Vec<(String, Outcome)>) -> Outcome {
    let decided = |verdict| parts.iter().all(|(_, part)| part.verdict == verdict);
    let given: Vec<_> = parts.iter().map(|(_, part)| part.recomputed.clone()).collect();
    let given = given.join("; ");
    if decided(Verdict::Verified) {
        return Outcome::verified().giving(given);
    }
    let each: Vec<_> = parts
        .iter()
        .map(|(label, part)| match part.verdict {
            Verdict::Verified => format!("yes by `{label}`"),
            Verdict::Refuted => format!("no by `{label}` ({})", part.reason),
            _ => format!("open by `{label}` ({})", part.reason),
        })
        .collect();
    let reason = each.join("; ");
    match decided(Verdict::Refuted) {
        true => Outcome::refuted(&order::WRONG_WAY, reason).giving(given),
        false => Outcome::inconclusive(&READINGS_DIFFER, reason).giving(given),
    }
}
