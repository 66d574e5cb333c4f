//! Transcribed facts: what a person read in a publication, each with its document and place.

use std::collections::HashSet;

use super::record::{field, record};
use super::{BAD_FACT, DUPLICATE_FACT, TRANSCRIPTION_DIFFERS};
use repro_core::source::{Document, Error};

/// The file that holds them.
pub const FACTS: &str = "data/facts.json";

record! {
    /// One value as it is printed somewhere.
    Fact {
        /// Its name in this bundle.
        id: String,
        /// The value as printed.
        value: String,
        /// The unit.
        unit: Option<String>,
        /// Where it stands.
        at: Citation,
        /// A remark for readers.
        note: Option<String>,
    }
}

record! {
    /// A document and a place in it.
    Citation {
        /// The id of the document.
        source: String,
        /// The place, in words.
        place: String,
        /// The words of the document around the value.
        quote: Option<String>,
    }
}

impl Fact {
    /// The pointer to its value, by its id: it stays true when the file grows.
    pub fn pointer(&self) -> String {
        format!("/facts/id={}/value", self.id)
    }
}

/// The id of the fact whose [`Fact::pointer`] this is.
pub fn fact_id(pointer: &str) -> Option<&str> {
    pointer.strip_prefix("/facts/id=")?.strip_suffix("/value")
}

/// Reads `facts.json`.
pub fn parse(document: &Document) -> Result<Vec<Fact>, Error> {
    let root = document.root();
    root.only(&["facts"])?;
    root.required("facts")?;
    let facts: Vec<Fact> = field(root, "facts")?;
    let mut seen = HashSet::new();
    for (fact, node) in facts.iter().zip(root.required("facts")?.items()?) {
        let id = node.required("id")?;
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        let shown = || format!("`{}`", fact.id.chars().take(80).collect::<String>());
        if fact.id.is_empty() || !fact.id.bytes().all(plain) {
            let expected = "an id of `a`-`z`, `0`-`9`, `.`, `_`, `-`";
            return Err(BAD_FACT.at(id.place(), expected, shown()));
        }
        if !seen.insert(fact.id.as_str()) {
            return Err(DUPLICATE_FACT.at(
                id.place(),
                "each id once",
                format!("{} again", shown()),
            ));
        }
        let at = node.required("at")?;
        for (key, text) in [("source", &fact.at.source), ("place", &fact.at.place)] {
            if text.trim().is_empty() {
                let place = at.required(key)?.place();
                return Err(BAD_FACT.at(place, "the document and the place", "an empty string"));
            }
        }
        if let Some(quote) = &fact.at.quote
            && !prints(quote, &fact.value)
        {
            let expected = format!("a value that its quote contains, \"{quote}\"");
            let found = format!("\"{}\"", fact.value);
            return Err(TRANSCRIPTION_DIFFERS.at(node.required("value")?.place(), expected, found));
        }
    }
    Ok(facts)
}

/// Whether words hold a value as a whole, apart from white space: `1.5` is not in "loss 11.52". Where a page runs its
/// cells together, as in "75633.26250.0518", nothing marks the end of a number, and any place will do.
fn prints(words: &str, value: &str) -> bool {
    let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_digit = |c: char| c.is_ascii_digit();
    let (words, value) = (spaced(words), spaced(value));
    if !words.contains(' ') {
        return words.contains(&value);
    }
    words.match_indices(&value).any(|(at, _)| {
        let (before, after) = (&words[..at], &words[at + value.len()..]);
        let before = before.strip_suffix('.').unwrap_or(before);
        let after = after.strip_prefix('.').unwrap_or(after);
        let cuts_before = value.starts_with(is_digit) && before.ends_with(is_digit);
        let cuts_after = value.ends_with(is_digit) && after.starts_with(is_digit);
        !cuts_before && !cuts_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::Source;

    fn read(text: &str) -> Result<Vec<Fact>, Error> {
        parse(&Document::parse_json(Source::new("facts.json", text.into()).unwrap()).unwrap())
    }

    #[test]
    fn a_fact_keeps_its_printed_digits_and_its_place() {
        let facts = read(
            r#"{"facts":[{"id":"loss.moe-64","value":"2.310","unit":"nats","at":{"source":"post","place":"table 1","quote":"loss 2.310"}},
                {"id":"b","value":"~1","at":{"source":"log","place":"line 3"},"note":"rounded"}]}"#,
        )
        .unwrap();
        assert_eq!(facts.len(), 2);
        assert_eq!(facts[0].value, "2.310");
        assert_eq!(facts[0].at.quote.as_deref(), Some("loss 2.310"));
        assert_eq!((facts[1].unit.as_deref(), facts[1].note.as_deref()), (None, Some("rounded")));
    }

    #[test]
    fn a_value_stands_in_its_quote_as_a_whole() {
        for (quote, value) in [
            ("loss 2.310", "2.310"),
            ("at {2%,5%,10%}", "5%"),
            ("nearly\n 200 models", "nearly 200"),
            ("ends at 3.5.", "3.5"),
            ("[1,2,3]", "2"),
            ("75633.26250.0518", "3.2625"),
        ] {
            assert!(prints(quote, value), "{quote} {value}");
        }
        for (quote, value) in [
            ("loss 2.310", "2.301"),
            ("loss 2.310", "2.31"),
            ("loss 12.310", "2.310"),
            ("loss 2.310", "310"),
        ] {
            assert!(!prints(quote, value), "{quote} {value}");
        }
        let differs = r#"{"facts":[{"id":"a","value":"2.301","at":{"source":"s","place":"p","quote":"loss 2.310"}}]}"#;
        assert_eq!(read(differs).unwrap_err().code.id, "bundle::transcription-differs");
    }

    #[test]
    fn facts_without_a_source_or_with_strange_ids_are_refused() {
        for (text, code) in [
            (
                r#"{"facts":[{"id":"A","value":"1","at":{"source":"s","place":"p"}}]}"#,
                "bundle::bad-fact",
            ),
            (
                r#"{"facts":[{"id":"","value":"1","at":{"source":"s","place":"p"}}]}"#,
                "bundle::bad-fact",
            ),
            (
                r#"{"facts":[{"id":"a","value":"1","at":{"source":"s","place":" "}}]}"#,
                "bundle::bad-fact",
            ),
            (r#"{"facts":[{"id":"a","value":"1","at":{"source":"s"}}]}"#, "source::missing-field"),
            (r#"{"facts":[{"id":"a","value":"1"}]}"#, "source::missing-field"),
            (
                r#"{"facts":[{"id":"a","value":1,"at":{"source":"s","place":"p"}}]}"#,
                "source::wrong-type",
            ),
            (
                r#"{"facts":[{"id":"a","value":"1","at":{"source":"s","place":"p","page":"3"}}]}"#,
                "source::unknown-field",
            ),
            (
                r#"{"facts":[{"id":"a","value":"1","at":{"source":"s","place":"p"}},{"id":"a","value":"1","at":{"source":"s","place":"p"}}]}"#,
                "bundle::duplicate-fact",
            ),
            ("{}", "source::missing-field"),
            ("[]", "source::wrong-type"),
        ] {
            assert_eq!(read(text).unwrap_err().code.id, code, "{text}");
        }
    }
}
