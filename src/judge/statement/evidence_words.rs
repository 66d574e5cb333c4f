//! Words and dates of a text against those of evidence.
//!
//! Only a name that stands alone is refuted by another one. A sentence around a name may say anything about it, so
//! that it is borne out only where the rest of it says nothing else, and is open otherwise.

use std::ops::Range;

use repro_receipt::source::codes;
use repro_report::outcome::Outcome;

use crate::evaluate::order;
use crate::moment::{self, DateAgreement};
use crate::names::{self, Likeness};
use crate::value::{EvidenceWords, Quantity};

codes! {
    OTHER_TEXT = "value::other-words", "the evidence says something else", "correct the text or the expression";
    AMONG_OTHERS = "value::among-other-words", "the evidence has words that the sentence may mean otherwise", "quote only the words that the evidence has";
}

/// Words around a name that say no more than that it is so.
const SAYS_NOTHING_ELSE: &[&str] = &[
    "a", "an", "all", "are", "at", "both", "by", "each", "every", "from", "has", "have", "in",
    "is", "it", "its", "model", "models", "of", "on", "our", "ran", "run", "runs", "the", "their",
    "they", "this", "to", "train", "trained", "training", "use", "used", "uses", "using", "was",
    "we", "were", "with",
];
/// Words for one kind of field: "commit" in a text, and `source_revision` in the evidence.
const KINDS: &[&[&str]] = &[
    &["commit", "revision", "hash", "sha", "sha256", "digest"],
    &["dtype", "precision", "arithmetic"],
    &["version", "release", "v"],
    &["split", "splits", "evaluation", "evaluated", "eval"],
    &["tokenizer", "tokeniser", "tokenization", "tokenized"],
    &["optimizer", "optimiser", "optim", "optimized", "optimised"],
    &["schedule", "scheduler"],
    &["cpu", "processor", "hardware"],
    &["gpu", "device", "hardware"],
    &["attn", "attention", "backend"],
    &["act", "activation", "nonlinearity", "feed"],
    &["model", "family", "type", "architecture"],
];

/// What the text says.
#[derive(Debug, Clone, Copy)]
pub struct ClaimedWords<'w> {
    /// Its words.
    pub words: &'w str,
    /// Whether they are a number that stands among other words: "32-bit floats".
    pub is_among_others: bool,
    /// The date that they are, in figures.
    pub date: Option<&'w str>,
}

/// What the words of a text come to against what the evidence has; each piece of it must have them.
pub fn judged(claimed: ClaimedWords, evidence: &[EvidenceWords]) -> Outcome {
    let outcomes = evidence.iter().map(|found| (found.text.clone(), against(claimed, found)));
    let shown: Vec<_> = evidence.iter().map(|words| words.text.as_str()).collect();
    let shown = shown.join("; ");
    order::all(outcomes.collect()).giving(shown).within("same", "the same words")
}

fn against(claimed: ClaimedWords, found: &EvidenceWords) -> Outcome {
    if let Some((day, moment)) = claimed.date.zip(moment::seconds(&found.text)) {
        return dated(day, &moment, &found.text);
    }
    let evidence_has = || format!("the evidence has \"{}\"", found.text);
    let places = match names::likeness(claimed.words, &found.text) {
        Likeness::Same => return Outcome::verified(),
        likeness => {
            let places = names::places(claimed.words, &found.text);
            let is_one_word = names::simple(claimed.words).split_whitespace().count() == 1;
            match likeness {
                Likeness::Other if is_one_word && places.is_empty() && !claimed.is_among_others => {
                    return Outcome::refuted(&OTHER_TEXT, evidence_has());
                }
                Likeness::Perhaps if is_one_word && places.is_empty() => {
                    return Outcome::inconclusive(&names::MAY_BE_ONE, evidence_has());
                }
                _ if places.is_empty() => {
                    return Outcome::inconclusive(&OTHER_TEXT, evidence_has());
                }
                _ => places,
            }
        }
    };
    let topic = topic(found);
    let says_nothing = |word: &str| {
        SAYS_NOTHING_ELSE.contains(&word) || topic.iter().any(|one| is_of_kind(word, one))
    };
    match beside(claimed.words, &places).into_iter().find(|word| !says_nothing(word)) {
        None => Outcome::verified(),
        Some(other) => {
            let reason = format!("{}, and the words say more: \"{other}\"", evidence_has());
            Outcome::inconclusive(&AMONG_OTHERS, reason)
        }
    }
}

/// Whether some words are a name that the evidence has, which holds these bytes of them.
pub fn is_in_name(words: &str, bytes: &Range<usize>, evidence: &[EvidenceWords]) -> bool {
    let holds = |place: &Range<usize>| {
        place.start <= bytes.start && bytes.end <= place.end && place != bytes
    };
    evidence.iter().all(|found| names::places(words, &found.text).iter().any(holds))
}

/// A date of the text against a number, which is read as its second.
pub fn on_date(date: &str, number: &Quantity) -> Outcome {
    let outcome = dated(date, &number.interval, &format!("second {}", number.shown()));
    outcome.giving(number.shown()).within("exact", "its second in UTC")
}

fn dated(date: &str, moment: &repro_exact::decimal::Interval, shown: &str) -> Outcome {
    let evidence_has = || format!("the evidence has {shown}");
    match moment::agreement(date, moment) {
        None => Outcome::refuted(&OTHER_TEXT, format!("\"{date}\" is no date")),
        Some(DateAgreement::Same) => Outcome::verified(),
        Some(DateAgreement::Coarse) => Outcome::inconclusive(
            &order::COARSE,
            format!("{}, which is no one moment", evidence_has()),
        ),
        Some(DateAgreement::OtherZone) => Outcome::inconclusive(
            &OTHER_TEXT,
            format!("{}, which is as far away as time zones are", evidence_has()),
        ),
        Some(DateAgreement::Other) => Outcome::refuted(&OTHER_TEXT, evidence_has()),
    }
}

/// The words beside the places of a name.
fn beside(words: &str, places: &[Range<usize>]) -> Vec<String> {
    let mut rest = String::new();
    let mut at = 0;
    for place in places {
        rest.push_str(&words[at..place.start]);
        rest.push(' ');
        at = place.end;
    }
    rest.push_str(&words[at..]);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = rest.split(|c: char| !is_part(c)).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Whether a word says no more of a field than what kind of field it is.
fn is_of_kind(word: &str, topic: &str) -> bool {
    word == topic || KINDS.iter().any(|kind| kind.contains(&word) && kind.contains(&topic))
}

/// What the field of the evidence is called, in words.
fn topic(found: &EvidenceWords) -> Vec<String> {
    let pointers = found.leaves.iter().filter_map(|leaf| leaf.evidence.as_ref());
    let words = pointers.flat_map(|one| one.pointer.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{ClaimedWords, judged};
    use crate::value::EvidenceWords;

    fn of(words: &str, found: &str) -> String {
        let evidence = EvidenceWords { text: found.to_owned(), leaves: Vec::new() };
        let dates = repro_claim::quote::items(words);
        let date = dates.iter().find_map(|item| match &item.kind {
            repro_claim::quote::ItemKind::Date(date) => Some(date.as_str()),
            _ => None,
        });
        let outcome = judged(ClaimedWords { words, is_among_others: false, date }, &[evidence]);
        outcome.code.map_or(outcome.verdict.word(), |code| code.id).to_owned()
            + if outcome.code.is_some() && outcome.verdict.word() == "refuted" { "!" } else { "" }
    }

    #[test]
    fn a_name_that_stands_alone_is_the_name_or_another() {
        assert_eq!(of("AdamW", "AdamW"), "verified");
        assert_eq!(of("`adamw`", "AdamW"), "verified");
        assert_eq!(of("Muon", "AdamW"), "value::other-words!");
        assert_eq!(of("Adam", "AdamW"), "value::other-words!");
        assert_eq!(of("fp32", "float32"), "verified");
        assert_eq!(of("bf16", "float32"), "value::other-words!");
        assert_eq!(of("yes", "true"), "verified");
        assert_eq!(of("✗", "true"), "value::other-words!");
        assert_eq!(of("55897ee", "55897eef4dcfb5682507"), "verified");
        assert_eq!(of("55897e", "55897eef4dcfb5682507"), "value::perhaps-same-name");
        assert_eq!(of("12345ef", "55897eef4dcfb5682507"), "value::other-words!");
        assert_eq!(of("clean", "false"), "value::perhaps-same-name");
        assert_eq!(of("v0.1.0", "0.1.0"), "verified");
        assert_eq!(of("v0.1.1", "0.1.0"), "value::other-words!");
        assert_eq!(of("`portable-f32/1`", "portable-f32/1"), "verified");
        assert_eq!(of("`portable-f32/2`", "portable-f32/1"), "value::other-words!");
    }

    #[test]
    fn a_sentence_around_a_name_must_say_nothing_else() {
        assert_eq!(of("trained in float32", "float32"), "verified");
        assert_eq!(of("We used AdamW.", "adamw"), "verified");
        assert_eq!(of("We use GPT-2.", "gpt2"), "verified");
        assert_eq!(of("Trained with warmup-stable-decay (WSD).", "wsd"), "verified");
        for words in [
            "not trained in float32",
            "Muon instead of AdamW",
            "faster than AdamW",
            "a non-softmax gate",
        ] {
            let found = words.contains("float32").then_some("float32");
            let found = found.unwrap_or(if words.contains("AdamW") { "adamw" } else { "softmax" });
            assert!(!of(words, found).ends_with('!') && of(words, found) != "verified", "{words}");
        }
    }

    #[test]
    fn a_day_has_its_moments() {
        let moment = "2026-01-09 02:08:10";
        assert_eq!(of("2026-01-09", moment), "verified");
        assert_eq!(of("9 January 2026", moment), "verified");
        assert_eq!(of("2026-01-09 02:08", moment), "verified");
        assert_eq!(of("2026-01-09 02:08:11", moment), "value::other-words!");
        assert_eq!(of("January 8, 2026", moment), "value::other-words");
        assert_eq!(of("January 7, 2026", moment), "value::other-words!");
        assert_eq!(of("2026-01-09 02:08:10", "2026-01-09"), "order::too-coarse");
    }
}
