//! Strict JSON. `serde_json` checks the grammar; the place of each value is where its raw text lies.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{
    DEPTH_CAP, DUPLICATE_KEY, INEXACT_INTEGER, Kind, Member, NOT_FINITE, Refusal, SYNTAX, Source,
    TOO_DEEP, Value,
};

/// Every integer up to this one is the same in every reader of JSON.
const EXACT_INTEGERS: u64 = 1 << 53;

/// Parses the one document that stands in `range`.
pub fn parse(source: &Source, range: Range<usize>) -> Result<Value, Refusal> {
    let text = &source.text()[range.clone()];
    let raw: &RawValue =
        serde_json::from_str(text).map_err(|error| grammar(source, range.start, text, &error))?;
    Reader { source }.value(raw, 0)
}

/// Parses one document a line.
pub fn parse_lines(source: &Source) -> Result<Value, Refusal> {
    let text = source.text();
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if !line.ends_with('\n') {
            return Err(SYNTAX.at(
                source.place(start..end),
                "a line feed at the end of the last line",
                "a torn line",
            ));
        }
        lines.push(parse(source, start..end - 1)?);
        start = end;
    }
    Ok(Value { kind: Kind::Array(lines), span: 0..text.len() })
}

/// Turns the grammar's complaint about `text`, which begins at `start`, into a refusal with its place.
fn grammar(source: &Source, start: usize, text: &str, error: &serde_json::Error) -> Refusal {
    let line_start = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    let at = (start + line_start + error.column().saturating_sub(1)).min(source.text().len());
    let message = error.to_string();
    let found = message.split(" at line ").next().unwrap_or(&message).to_owned();
    SYNTAX.at(source.place(at..at + 1), "JSON", found)
}

struct Reader<'a> {
    source: &'a Source,
}

impl<'a> Reader<'a> {
    fn value(&self, raw: &'a RawValue, depth: usize) -> Result<Value, Refusal> {
        let text = raw.get();
        let span = self.span(text);
        if depth > DEPTH_CAP {
            return Err(TOO_DEEP.at(
                self.source.place(span),
                format!("at most {DEPTH_CAP} levels"),
                "more",
            ));
        }
        let kind = match text.as_bytes().first() {
            Some(b'{') => self.object(self.shallow::<Members>(text)?, depth)?,
            Some(b'[') => {
                let items: Items = self.shallow(text)?;
                Kind::Array(
                    items
                        .0
                        .into_iter()
                        .map(|item| self.value(item, depth + 1))
                        .collect::<Result<_, _>>()?,
                )
            }
            Some(b'"') => Kind::Text(self.shallow::<String>(text)?.into()),
            Some(b't') => Kind::Bool(true),
            Some(b'f') => Kind::Bool(false),
            Some(b'n') => Kind::Null,
            _ => Kind::Number(self.number(text)?.into()),
        };
        Ok(Value { kind, span })
    }

    fn object(&self, members: Members<'a>, depth: usize) -> Result<Kind, Refusal> {
        let mut seen = HashSet::with_capacity(members.0.len());
        let mut read = Vec::with_capacity(members.0.len());
        for (raw_key, raw_value) in members.0 {
            let key: Box<str> = self.shallow::<String>(raw_key.get())?.into();
            let key_span = self.span(raw_key.get());
            if !seen.insert(key.clone()) {
                let place = self.source.place(key_span);
                return Err(DUPLICATE_KEY.at(place, "each key once", format!("`{key}` again")));
            }
            read.push(Member { key, key_span, value: self.value(raw_value, depth + 1)? });
        }
        Ok(Kind::Object(read))
    }

    fn number<'t>(&self, text: &'t str) -> Result<&'t str, Refusal> {
        let place = || self.source.place(self.span(text));
        if !text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(NOT_FINITE.at(place(), "a finite number", format!("`{text}`")));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let integer = digits.bytes().all(|b| b.is_ascii_digit());
        if integer && !digits.parse::<u64>().is_ok_and(|value| value <= EXACT_INTEGERS) {
            return Err(INEXACT_INTEGER.at(place(), "an integer within 2^53", format!("`{text}`")));
        }
        Ok(text)
    }

    /// One level of `text`; what lies below stays raw.
    fn shallow<T: Deserialize<'a>>(&self, text: &'a str) -> Result<T, Refusal> {
        serde_json::from_str(text)
            .map_err(|error| grammar(self.source, self.span(text).start, text, &error))
    }

    /// The range of `part`, which is a slice of the source's text.
    fn span(&self, part: &str) -> Range<usize> {
        let start = part.as_ptr() as usize - self.source.text().as_ptr() as usize;
        start..start + part.len()
    }
}

/// The members of an object, duplicates included.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);
/// The elements of a list.
struct Items<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    members.push(entry);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Items<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut sequence: A,
            ) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = sequence.next_element()? {
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}

#[cfg(test)]
mod tests {
    use crate::source::{Document, Kind, Refusal, Source};

    fn refuse(text: &str) -> Refusal {
        Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap_err()
    }

    #[test]
    fn every_value_knows_its_place() {
        let text = "{\"a\": [1, 2.50],\n \"ü\": {\"b\": \"x\"}}";
        let document = Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap();
        let b = document.root().at("/ü/b").unwrap();
        assert_eq!((b.place().line, b.place().column), (2, 13));
        assert_eq!(b.place().pointer, "/ü/b");
        let number = document.root().at("/a/1").unwrap();
        assert_eq!(number.value().kind, Kind::Number("2.50".into()));
    }

    #[test]
    fn what_readers_disagree_on_is_refused() {
        for (text, code) in [
            (r#"{"a":1,"a":2}"#, "source::duplicate-key"),
            (r#"{"a":1,"\u0061":2}"#, "source::duplicate-key"),
            ("1e999", "source::not-finite"),
            ("NaN", "source::syntax"),
            ("Infinity", "source::syntax"),
            ("9007199254740993", "source::inexact-integer"),
            ("{} {}", "source::syntax"),
            ("", "source::syntax"),
            ("[1,]", "source::syntax"),
            ("01", "source::syntax"),
            ("+1", "source::syntax"),
            ("// c\n1", "source::syntax"),
            ("\"\\ud800\"", "source::syntax"),
            ("\"a\nb\"", "source::syntax"),
        ] {
            assert_eq!(refuse(text).code.id, code, "{text}");
        }
        assert_eq!(refuse(&"[".repeat(100_000)).code.id, "source::syntax");
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(refuse(&nested).code.id, "source::too-deep");
        assert!(Source::new("t", b"\xef\xbb\xbf{}".to_vec()).is_err());
        assert!(Source::new("t", b"\xff\xfe{\0}\0".to_vec()).is_err());
    }

    #[test]
    fn a_complaint_points_at_its_character() {
        let refusal = refuse("{\n  \"a\": nuk\n}");
        assert_eq!((refusal.place.line, refusal.place.excerpt.as_str()), (2, "  \"a\": nuk"));
    }

    proptest::proptest! {
        /// Whatever the text is, reading it ends, and a success agrees with the reference reader.
        #[test]
        fn any_text_is_read_or_refused(text in r#"[\[\]{}:,"\\a-f0-9eE.+\-unltrs \n]{0,40}"#) {
            if let Ok(document) = Document::parse_json(Source::new("t", text.clone().into()).unwrap()) {
                serde_json::from_str::<serde_json::Value>(&text).unwrap();
                proptest::prop_assert!(document.root.span.end <= text.len());
            }
        }
    }
}
