//! What the words of a sentence make of the relation that it states.

use repro_receipt::source::{Code, codes};
use repro_report::outcome::{Outcome, Verdict};

use super::spoken::{BEYOND_PRINT, IN_EACH_BIT, REPLAYED, RUNS, STEPS, SpokenWords};
use crate::evaluate::functions::fixed;
use crate::evaluate::order;
use crate::page::{Mood, Sentence};

codes! {
    NOT_A_FACT = "sentence::not-a-fact", "it says what should be or what a word means", "nothing to do: only facts are checked";
    PREMISE = "sentence::premise", "a refutation would need a premise that the text does not state", "see the premise";
    NO_MEANING = "sentence::no-meaning", "a word of the sentence has no agreed meaning", "say how much, in numbers";
    NOT_TESTED = "sentence::not-tested", "the words say that it is significant, and the relation does not test it", "say it by a test: `significant(p(a, b))`, or `a.loss < b.loss` between groups";
    NOT_EQUAL = "sentence::not-equality", "what is not significant, or nearly the same, is not said to be equal by that", "say `equivalent(a, b, margin)`, or that the difference is not significant";
    MORE_THAN_PRINTED = "sentence::more-than-printed", "an order of prints says nothing of each seed, of each step or of the noise", "compare the groups, `a.loss < b.loss`, or count: `how_many(a.loss < b.loss) = count(a)`";
    MORE_THAN_FIXED = "sentence::more-than-fixed", "some fields are the same, and the words say that all are", "quote the words that name these fields";
    NOT_REPLAYED = "sentence::not-replayed", "the words say that runs were executed again, and the relation executes nothing", "say it by `replayed(run, '967..977')`";
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
    "clearly",
    "decisively",
    "overwhelmingly",
    "crushes",
    "dominates",
    "destroys",
    "useless",
    "orders of magnitude",
    "state of the art",
    "state-of-the-art",
    "hands down",
    "similar",
    "comparable",
];

/// "Far" among other words, where it is no degree.
const NO_DEGREE: &[&str] = &["so far", "thus far", "as far as", "how far"];

/// Words for all that could differ between runs.
const EVERYTHING: &[&str] = &[
    "everything",
    "all else",
    "all other",
    "every other",
    "all hyperparameters",
    "all settings",
    "every hyperparameter",
    "every setting",
    "all things",
    "in every respect",
    "in all respects",
];

/// What the relations of a sentence make of its words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stated {
    /// It is denied that something is significant.
    pub denies_significance: bool,
    /// A relation or a number of the sentence is a test.
    pub has_test: bool,
    /// It orders prints, and no extremes of runs.
    pub orders_prints: bool,
    /// The sentence orders prints of several steps.
    pub has_steps: bool,
    /// A relation of the sentence executes runs again.
    pub replays: bool,
    /// It holds two things to be one.
    pub is_equality: bool,
    /// It says that some fields are the same in several runs.
    pub fixes_fields: bool,
}

/// A relation that holds, unless the words say more than it does: significance without a test, equality by closeness,
/// each seed by a print.
pub fn overstated(outcome: Outcome, quote: &str, stated: Stated) -> Outcome {
    if outcome.verdict != Verdict::Verified {
        return outcome;
    }
    let words = SpokenWords::of(quote);
    let objection = untested(&outcome, &words, stated)
        .or_else(|| unequal(&outcome, &words, stated))
        .or_else(|| unprinted(&words, stated))
        .or_else(|| unreplayed(&words, stated))
        .or_else(|| unfixed(&words, stated));
    match objection {
        Some((code, reason)) => Outcome::inconclusive(code, reason).with_evidence_of(outcome),
        None => outcome,
    }
}

/// What is wrong with a relation that holds.
type Objection = Option<(&'static Code, &'static str)>;

/// Words that say that something is significant, over a relation that does not say so.
fn untested(outcome: &Outcome, words: &SpokenWords, stated: Stated) -> Objection {
    let (affirmed, denied) = words.significance();
    match () {
        () if outcome.rule != TEST && affirmed => Some((
            &NOT_TESTED,
            "the words say that it is significant, and the relation makes no test",
        )),
        () if outcome.rule != TEST && denied && !stated.has_test => {
            Some((&NOT_TESTED, "the words say that it is not significant, and nothing tests it"))
        }
        () if outcome.rule == TEST && denied && !affirmed && !stated.denies_significance => Some((
            &NOT_TESTED,
            "the words say that it is not significant, and the relation that it is",
        )),
        () if stated.denies_significance && affirmed && !denied => Some((
            &NOT_TESTED,
            "the words say that it is significant, and the relation that it is not",
        )),
        () => None,
    }
}

/// Words that say that two things are one, over a relation by which they are close, or not told apart.
fn unequal(outcome: &Outcome, words: &SpokenWords, stated: Stated) -> Objection {
    let is_close = outcome.rule == fixed::NEARLY;
    let is_said = match is_close {
        true => words.equalities().next().is_some(),
        // "They do not differ significantly" says no more than the test.
        false if words.significance().1 => false,
        false => stated.denies_significance && words.equalities().any(|at| !words.is_condition(at)),
    };
    let reason = "it holds as closeness, or within noise, and the words say that it is equal";
    (is_said && !words.is_approximate()).then_some((&NOT_EQUAL, reason))
}

/// Words that say more than an order of prints.
fn unprinted(words: &SpokenWords, stated: Stated) -> Objection {
    let says_each = || words.says_of_each(RUNS) || !stated.has_steps && words.says_of_each(STEPS);
    let is_more = stated.orders_prints && (words.are_said(BEYOND_PRINT) || says_each());
    let reason = "only the printed numbers are in this order, and the words say more";
    is_more.then_some((&MORE_THAN_PRINTED, reason))
}

/// Words that say that runs were executed again, over a relation that executes nothing.
fn unreplayed(words: &SpokenWords, stated: Stated) -> Objection {
    let is_said = words.are_said(REPLAYED) || !stated.is_equality && words.are_said(IN_EACH_BIT);
    let reason = "the words say that runs were executed again, and the relation executes none";
    (is_said && !stated.replays).then_some((&NOT_REPLAYED, reason))
}

/// Words that say that everything is the same, over a relation of some fields.
fn unfixed(words: &SpokenWords, stated: Stated) -> Objection {
    let reason = "only some fields are compared, and the words say that all are the same";
    (stated.fixes_fields && words.are_said(EVERYTHING)).then_some((&MORE_THAN_FIXED, reason))
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
    let words = SpokenWords::of(&sentence.quote);
    let vague = VAGUE.iter().find(|word| words.is_degree(word, NO_DEGREE));
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
