//! Strict JSON. `serde_json` checks the grammar; the place of each value is where its raw text lies.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{
    DEPTH_CAP, DUPLICATE_KEY, INEXACT_INTEGER, Kind, Member, NOT_FINITE, Refusal, SYNTAX, Source,
    TOO_DEEP, TOO_MANY_VALUES, VALUE_CAP, Value,
};

/// Every integer up to this one is the same in every reader of JSON.
const EXACT_INTEGERS: u64 = 1 << 53;

/// Parses the one document that stands in `range`.
pub fn parse(source: &Source, range: Range<usize>) -> Result<Value, Refusal> {
    bounded(source, range.clone())?;
    read(source, range)
}

fn read(source: &Source, range: Range<usize>) -> Result<Value, Refusal> {
    let text = &source.text()[range.clone()];
    let raw: &RawValue =
        serde_json::from_str(text).map_err(|error| grammar(source, range.start, text, &error))?;
    Reader { source }.value(raw)
}

/// Parses one document a line.
pub fn parse_lines(source: &Source) -> Result<Value, Refusal> {
    let text = source.text();
    bounded(source, 0..text.len())?;
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
        lines.push(read(source, start..end - 1)?);
        start = end;
    }
    Ok(Value { kind: Kind::Array(lines), span: 0..text.len() })
}

/// Refuses a text that nests too deep or holds too many values, before anything is built from it.
fn bounded(source: &Source, range: Range<usize>) -> Result<(), Refusal> {
    let (mut values, mut depth) = (1, 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    let bytes = source.text().as_bytes().get(range.clone()).unwrap_or_default();
    for (at, byte) in bytes.iter().enumerate() {
        let here = || source.place(range.start + at..range.start + at + 1);
        match byte {
            // No string goes on in another line; a text that tries is refused by the grammar.
            b'\n' => {
                (quoted, escaped) = (false, false);
                values += usize::from(depth == 0);
            }
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => {
                depth += 1;
                values += 1;
                if depth > DEPTH_CAP {
                    let expected = format!("at most {DEPTH_CAP} levels");
                    return Err(TOO_DEEP.at(here(), expected, "more"));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if values > VALUE_CAP {
            let expected = format!("at most {VALUE_CAP} values");
            return Err(TOO_MANY_VALUES.at(here(), expected, "more"));
        }
    }
    Ok(())
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
    fn value(&self, raw: &'a RawValue) -> Result<Value, Refusal> {
        let text = raw.get();
        let span = self.span(text);
        let kind = match text.as_bytes().first() {
            Some(b'{') => self.object(self.shallow::<Members>(text)?)?,
            Some(b'[') => {
                let items: Items = self.shallow(text)?;
                let mut read = Vec::with_capacity(items.0.len());
                for item in items.0 {
                    read.push(self.value(item)?);
                }
                Kind::Array(read)
            }
            Some(b'"') => Kind::Text(self.shallow::<String>(text)?.into()),
            Some(b't') => Kind::Bool(true),
            Some(b'f') => Kind::Bool(false),
            Some(b'n') => Kind::Null,
            _ => Kind::Number(self.number(text)?.into()),
        };
        Ok(Value { kind, span })
    }

    fn object(&self, members: Members<'a>) -> Result<Kind, Refusal> {
        let mut seen = HashSet::with_capacity(members.0.len());
        let mut read = Vec::with_capacity(members.0.len());
        for (raw_key, raw_value) in members.0 {
            let key: Arc<str> = self.shallow::<String>(raw_key.get())?.into();
            let key_span = self.span(raw_key.get());
            if !seen.insert(key.clone()) {
                let place = self.source.place(key_span);
                return Err(DUPLICATE_KEY.at(place, "each key once", format!("`{key}` again")));
            }
            read.push(Member { key, key_span, value: self.value(raw_value)? });
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
    use crate::source::{DEPTH_CAP, Document, Kind, Refusal, Source, VALUE_CAP};

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
        assert_eq!(refuse(&"[".repeat(100_000)).code.id, "source::too-deep");
        assert_eq!(refuse(&"{\"a\":".repeat(100_000)).code.id, "source::too-deep");
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(refuse(&nested).code.id, "source::too-deep");
        assert!(Source::new("t", b"\xef\xbb\xbf{}".to_vec()).is_err());
        assert!(Source::new("t", b"\xff\xfe{\0}\0".to_vec()).is_err());
    }

    #[test]
    fn depth_and_values_are_bounded_before_anything_is_built() {
        let parse = |text: &str| Document::parse_json(Source::new("t.json", text.into()).unwrap());
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        parse(&deep(DEPTH_CAP)).unwrap();
        let refusal = refuse(&deep(DEPTH_CAP + 1));
        assert_eq!((refusal.code.id, refusal.place.column), ("source::too-deep", DEPTH_CAP + 1));
        // Signs inside a string are no structure.
        parse(&format!("\"\\\"{}\"", "[{,".repeat(VALUE_CAP))).unwrap();
        let many = |values: usize| format!("[{}1]", "1,".repeat(values - 2));
        assert_eq!(parse(&many(VALUE_CAP)).unwrap().root().items().unwrap().len(), VALUE_CAP - 1);
        let refusal = refuse(&many(VALUE_CAP + 1));
        assert_eq!(refusal.code.id, "source::too-many-values");
        assert_eq!((refusal.place.line, refusal.place.column), (1, 2 * VALUE_CAP - 1));
        let lines = |count: usize| Source::new("t.jsonl", "[1]\n".repeat(count).into()).unwrap();
        Document::parse(lines(1000)).unwrap();
        let refusal = Document::parse(lines(VALUE_CAP)).unwrap_err();
        assert_eq!(refusal.code.id, "source::too-many-values");
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
