//! Words and dates of a text against those of evidence.
//!
//! Only a name that stands alone is refuted by a different one. A sentence that has the name of the evidence holds;
//! a lint marks it where its words deny the name.

use std::ops::Range;

use repro_core::source::codes;
use repro_report::outcome::Outcome;

use crate::evaluate::order;
use crate::moment::{self, DateAgreement};
use crate::names::{self, Likeness};
use crate::value::{EvidenceWords, Quantity};

codes! {
    OTHER_TEXT = "value::different-words", "the evidence has different words", "correct the text or the expression";
}

/// The words in the text.
#[derive(Debug, Clone, Copy)]
pub struct ClaimedWords<'w> {
    /// Its words.
    pub words: &'w str,
    /// Whether they are a number that stands among other words: "32-bit floats".
    pub is_among_others: bool,
    /// The date that they are, in figures.
    pub date: Option<&'w str>,
}

/// The outcome of comparing words in the text with the evidence; each piece of evidence must have them.
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
    let likeness = names::likeness(claimed.words, &found.text);
    let stands_among = !names::places(claimed.words, &found.text).is_empty();
    if likeness == Likeness::Same || stands_among {
        return Outcome::verified();
    }
    let is_one_word = names::simple(claimed.words).split_whitespace().count() == 1;
    match likeness {
        Likeness::Other if is_one_word && !claimed.is_among_others => {
            Outcome::refuted(&OTHER_TEXT, evidence_has())
        }
        Likeness::Perhaps if is_one_word => {
            Outcome::inconclusive(&names::MAY_BE_ONE, evidence_has())
        }
        _ => Outcome::inconclusive(&OTHER_TEXT, evidence_has()),
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

fn dated(date: &str, moment: &repro_core::decimal::Interval, shown: &str) -> Outcome {
    let evidence_has = || format!("the evidence has {shown}");
    match moment::agreement(date, moment) {
        None => Outcome::refuted(&OTHER_TEXT, format!("\"{date}\" is not a date")),
        Some(DateAgreement::Same) => Outcome::verified(),
        Some(DateAgreement::Coarse) => Outcome::inconclusive(
            &order::COARSE,
            format!("{}, which is not a single moment", evidence_has()),
        ),
        Some(DateAgreement::OtherZone) => Outcome::inconclusive(
            &OTHER_TEXT,
            format!("{}, which is a whole time zone offset away", evidence_has()),
        ),
        Some(DateAgreement::Other) => Outcome::refuted(&OTHER_TEXT, evidence_has()),
    }
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
        assert_eq!(of("Muon", "AdamW"), "value::different-words!");
        assert_eq!(of("Adam", "AdamW"), "value::different-words!");
        assert_eq!(of("fp32", "float32"), "verified");
        assert_eq!(of("bf16", "float32"), "value::different-words!");
        assert_eq!(of("yes", "true"), "verified");
        assert_eq!(of("✗", "true"), "value::different-words!");
        assert_eq!(of("55897ee", "55897eef4dcfb5682507"), "verified");
        assert_eq!(of("55897e", "55897eef4dcfb5682507"), "value::ambiguous-name");
        assert_eq!(of("12345ef", "55897eef4dcfb5682507"), "value::different-words!");
        assert_eq!(of("clean", "false"), "value::ambiguous-name");
        assert_eq!(of("v0.1.0", "0.1.0"), "verified");
        assert_eq!(of("v0.1.1", "0.1.0"), "value::different-words!");
        assert_eq!(of("`portable-f32/1`", "portable-f32/1"), "verified");
        assert_eq!(of("`portable-f32/2`", "portable-f32/1"), "value::different-words!");
    }

    #[test]
    fn a_sentence_that_has_the_name_holds() {
        assert_eq!(of("trained in float32", "float32"), "verified");
        assert_eq!(of("We used AdamW.", "adamw"), "verified");
        assert_eq!(of("We use GPT-2.", "gpt2"), "verified");
        assert_eq!(of("Trained with warmup-stable-decay (WSD).", "wsd"), "verified");
        assert_eq!(of("We used Muon throughout.", "adamw"), "value::different-words");
    }

    #[test]
    fn a_day_has_its_moments() {
        let moment = "2026-01-09 02:08:10";
        assert_eq!(of("2026-01-09", moment), "verified");
        assert_eq!(of("9 January 2026", moment), "verified");
        assert_eq!(of("2026-01-09 02:08", moment), "verified");
        assert_eq!(of("2026-01-09 02:08:11", moment), "value::different-words!");
        assert_eq!(of("January 8, 2026", moment), "value::different-words");
        assert_eq!(of("January 7, 2026", moment), "value::different-words!");
        assert_eq!(of("2026-01-09 02:08:10", "2026-01-09"), "order::too-coarse");
    }
}
