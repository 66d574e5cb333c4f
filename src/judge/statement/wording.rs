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
    NOT_TESTED = "sentence::not-tested", "the words say that it is significant, and the relation does not test it", "say it by a test: `significant(p(a, b))`, or `a.loss < b.loss` between groups";
    NOT_EQUAL = "sentence::not-equality", "what is not significant, or nearly the same, is not said to be equal by that", "say `equivalent(a, b, margin)`, or that the difference is not significant";
    READINGS_DIFFER = "sentence::readings-differ", "the sentence holds in one reading and not in another", "say which is meant";
}

/// The rule of statistical tests.
const TEST: &str = "test";

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

/// Words that say that a test was made.
const TESTED: &[&str] = &["significant", "significantly", "statistically"];
/// Words that say that two things are one.
const EQUAL: &[&str] =
    &["identical", "identically", "exactly", "same", "equal", "equally", "no difference"];

/// A relation that holds, unless the words say more than it does: significance without a test, equality by closeness.
pub fn overstated(outcome: Outcome, quote: &str, says_no_more_than_noise: bool) -> Outcome {
    if outcome.verdict != Verdict::Verified {
        return outcome;
    }
    let lower = quote.to_lowercase();
    let words: Vec<_> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let spaced = format!(" {} ", words.join(" "));
    let has = |list: &[&str]| list.iter().any(|word| spaced.contains(&format!(" {word} ")));
    let is_of_digits =
        spaced.contains(" significant digits ") || spaced.contains(" significant figures ");
    if has(TESTED) && !is_of_digits && outcome.rule != TEST {
        let reason = "the words say that it is significant, and the relation makes no test";
        return Outcome::inconclusive(&NOT_TESTED, reason).with_evidence_of(outcome);
    }
    let is_close = outcome.rule == fixed::NEARLY;
    let is_approximate =
        has(&["almost", "nearly", "about", "roughly", "approximately", "practically"]);
    if has(EQUAL) && !is_approximate && (says_no_more_than_noise || is_close) {
        let reason = "it holds as closeness, or within noise, and the words say that it is equal";
        return Outcome::inconclusive(&NOT_EQUAL, reason).with_evidence_of(outcome);
    }
    outcome
}

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
        let unchecked = Outcome::unchecked(&NOT_A_FACT, reason).giving(outcome.recomputed);
        return unchecked.measuring(outcome.measured);
    }
    let outcome = resting_on(outcome, premise);
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
            Outcome::inconclusive(&NO_MEANING, reason).with_evidence_of(outcome)
        }
        _ => outcome,
    }
}

/// What a refutation is worth that rests on a premise which the text does not state.
pub fn resting_on(outcome: Outcome, premise: Option<&str>) -> Outcome {
    let Some(premise) = premise.filter(|_| outcome.verdict == Verdict::Refuted) else {
        return outcome;
    };
    let reason =
        format!("wrong on a premise that the text does not state ({premise}): {}", outcome.reason);
    let method = outcome.method;
    Outcome { method, ..Outcome::inconclusive(&PREMISE, reason).with_evidence_of(outcome) }
}

/// What a sentence with several readings comes to: all of them, none of them, or undecided.
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
            Verdict::Verified => "it holds".to_owned(),
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
    let outcome = match decided(Verdict::Refuted) {
        true => Outcome::refuted(&order::WRONG_WAY, reason),
        false => Outcome::inconclusive(&READINGS_DIFFER, reason),
    };
    outcome.giving(given).measuring(measured)
}
