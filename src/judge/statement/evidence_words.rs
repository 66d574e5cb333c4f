//! Words and dates of a text against those of evidence.
//!
//! Only a name that stands alone is refuted by another one. A sentence around a name may say anything about it, so
//! that it is borne out only where the rest of it says nothing else, and is open otherwise.

use repro_receipt::source::codes;
use repro_report::outcome::Outcome;

use crate::evaluate::order;
use crate::moment::{self, DateAgreement};
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
/// Names of one thing.
const SYNONYMS: &[&[&str]] = &[
    &["float32", "fp32", "f32", "single precision"],
    &["bfloat16", "bf16"],
    &["float16", "fp16", "f16", "half precision"],
    &["true", "yes", "tied", "✓", "✔", "✅"],
    &["false", "no", "untied", "✗", "✘", "❌"],
];
/// So many digits of a digest are enough to tell it from others.
const SHORTEST_DIGEST: usize = 7;

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
    let (said, has) = (simple(claimed.words), simple(&found.text));
    let evidence_has = || format!("the evidence has \"{}\"", found.text);
    if are_same(&said, &has) {
        return Outcome::verified();
    }
    let names = names_of(&has);
    let Some(rest) = names.iter().find_map(|name| without(&said, name)) else {
        let is_one_word = !said.contains(' ') && !claimed.is_among_others;
        let is_part = without(&has, &said).is_some();
        return match is_one_word && !is_part {
            true => Outcome::refuted(&OTHER_TEXT, evidence_has()),
            false => Outcome::inconclusive(&OTHER_TEXT, evidence_has()),
        };
    };
    let topic = topic(found);
    let says_nothing =
        |word: &&str| SAYS_NOTHING_ELSE.contains(word) || topic.iter().any(|one| one == word);
    match rest.iter().find(|word| !says_nothing(&word.as_str())) {
        None => Outcome::verified(),
        Some(other) => {
            let reason = format!("{}, and the words say more: \"{other}\"", evidence_has());
            Outcome::inconclusive(&AMONG_OTHERS, reason)
        }
    }
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

/// Words in lower case, without emphasis, code marks and needless white space.
fn simple(text: &str) -> String {
    let marks = |c: char| matches!(c, '*' | '`' | '"' | '“' | '”' | '\'');
    let words = text.split_whitespace().map(|word| word.trim_matches(marks).to_lowercase());
    let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    words.trim_end_matches(['.', ',', ';', ':', '!']).to_owned()
}

/// The names of what is found, itself first.
fn names_of(found: &str) -> Vec<&str> {
    let same = SYNONYMS.iter().find(|names| names.contains(&found));
    std::iter::once(found).chain(same.into_iter().flat_map(|names| names.iter().copied())).collect()
}

fn are_same(said: &str, has: &str) -> bool {
    names_of(has).contains(&said) || is_short_digest(said, has)
}

/// Whether the words are the first digits of a digest.
fn is_short_digest(said: &str, has: &str) -> bool {
    let said = said.trim_end_matches(['…', '.']);
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    said.len() >= SHORTEST_DIGEST && is_hex(said) && is_hex(has) && has.starts_with(said)
}

/// The words around a name that stands in some words; none where it does not stand there.
fn without(words: &str, name: &str) -> Option<Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() {
        return None;
    }
    let at = words.match_indices(name).map(|(at, _)| at).find(|&at| {
        !words[..at].ends_with(is_part) && !words[at + name.len()..].starts_with(is_part)
    })?;
    // A sign that joins words makes another name of them: "non-softmax".
    let joined = |c: char| c == '-' || c == '/';
    if words[..at].ends_with(joined) || words[at + name.len()..].starts_with(joined) {
        return None;
    }
    let rest = [&words[..at], &words[at + name.len()..]];
    let words = rest.into_iter().flat_map(|part| part.split(|c: char| !is_part(c)));
    Some(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
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
        assert_eq!(of("55897e", "55897eef4dcfb5682507"), "value::other-words!");
    }

    #[test]
    fn a_sentence_around_a_name_must_say_nothing_else() {
        assert_eq!(of("trained in float32", "float32"), "verified");
        assert_eq!(of("We used AdamW.", "adamw"), "verified");
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
