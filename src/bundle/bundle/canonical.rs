//! Checks that a JSON document of a bundle has the RFC 8785 spelling.

use std::cmp::Ordering;
use std::ops::Range;

use serde_json::{Map, Number, Value as Json};

use super::NOT_CANONICAL;
use repro_core::digest::{NotCanonical, canonical};
use repro_core::source::{Document, Error, Kind, Member, Value};

/// The value as `serde_json` has it; numbers become the nearest float or an exact integer.
pub fn to_json(value: &Value) -> Json {
    match &value.kind {
        Kind::Null => Json::Null,
        Kind::Bool(truth) => Json::Bool(*truth),
        Kind::Number(text) => number(text),
        Kind::Text(text) => Json::String(text.to_string()),
        Kind::Array(items) => Json::Array(items.iter().map(to_json).collect()),
        Kind::Object(members) => Json::Object(
            members.iter().map(|m| (m.key.to_string(), to_json(&m.value))).collect::<Map<_, _>>(),
        ),
    }
}

fn number(text: &str) -> Json {
    let integer = text.parse::<i64>().map(Number::from).ok();
    let float = || text.parse::<f64>().ok().and_then(Number::from_f64);
    // Strict sources hold finite numbers only, so the last resort is never reached by them.
    integer.or_else(float).map_or_else(|| Json::String(text.to_owned()), Json::Number)
}

/// Checks one document: canonical text and a line feed.
pub fn check(document: &Document) -> Result<(), Error> {
    let source = &document.source;
    let Some(line) = source.text().strip_suffix('\n') else {
        let end = source.text().len();
        let place = source.place(end..end);
        return Err(NOT_CANONICAL.at(place, "a line feed at the end", "none"));
    };
    spelled(document, line)
}

/// Checks one line of a log, which is given without its line feed.
pub fn check_line(document: &Document) -> Result<(), Error> {
    spelled(document, document.source.text())
}

/// Checks that `line`, the text of the document, is its value's one spelling.
fn spelled(document: &Document, line: &str) -> Result<(), Error> {
    let source = &document.source;
    let mut spelling = Spelling { line: line.as_bytes(), at: 0 };
    let read = spelling.value(&document.root).and_then(|()| spelling.end());
    match read {
        Ok(()) => Ok(()),
        Err(Fault::Differs(offset)) => {
            let rest = line.as_bytes().get(offset..).unwrap_or_default();
            let start = rest.get(..rest.len().min(160)).unwrap_or_default();
            let found: String = String::from_utf8_lossy(start).chars().take(40).collect();
            Err(NOT_CANONICAL.at(
                source.place(offset..offset + 1),
                "sorted keys, no spaces and the shortest numbers",
                format!("`{}`", found.escape_debug()),
            ))
        }
        Err(Fault::Unwritable(span, error)) => Err(NOT_CANONICAL.at(
            source.place(span),
            "a value that canonical JSON allows",
            error.to_string(),
        )),
    }
}

/// A text that is read beside the value that it spells; nothing is built but one scalar at a time.
struct Spelling<'a> {
    line: &'a [u8],
    at: usize,
}

/// Why a text is not canonical.
enum Fault {
    /// From this offset on it is another text.
    Differs(usize),
    /// The value in this range has no canonical text.
    Unwritable(Range<usize>, NotCanonical),
}

impl Spelling<'_> {
    fn value(&mut self, value: &Value) -> Result<(), Fault> {
        match &value.kind {
            Kind::Array(items) => {
                self.says("[")?;
                for (index, item) in items.iter().enumerate() {
                    self.says(if index == 0 { "" } else { "," })?;
                    self.value(item)?;
                }
                self.says("]")
            }
            Kind::Object(members) => {
                if members.is_sorted_by(|a, b| order(a, b).is_lt()) {
                    return self.object(members);
                }
                let mut sorted: Vec<&Member> = members.iter().collect();
                sorted.sort_by(|a, b| order(a, b));
                self.object(sorted)
            }
            Kind::Text(text) => self.text(text, &value.span),
            // Integers within 2^53, which a strict source keeps to, are spelled in one way.
            Kind::Number(text) if is_integer(text) => self.says(text),
            Kind::Number(_) | Kind::Null | Kind::Bool(_) => {
                self.scalar(&to_json(value), &value.span)
            }
        }
    }

    fn object<'m>(&mut self, sorted: impl IntoIterator<Item = &'m Member>) -> Result<(), Fault> {
        self.says("{")?;
        for (index, member) in sorted.into_iter().enumerate() {
            self.says(if index == 0 { "" } else { "," })?;
            self.text(&member.key, &member.key_span)?;
            self.says(":")?;
            self.value(&member.value)?;
        }
        self.says("}")
    }

    fn text(&mut self, text: &str, span: &Range<usize>) -> Result<(), Fault> {
        // Without escapes it stands here as it must: the grammar lets nothing pass that needs one.
        if self.at == span.start && span.len() == text.len() + 2 {
            self.at = span.end;
            return Ok(());
        }
        if text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\' | 0x7f)) {
            return self.scalar(&Json::String(text.to_owned()), span);
        }
        self.says("\"")?;
        self.says(text)?;
        self.says("\"")
    }

    fn scalar(&mut self, value: &Json, span: &Range<usize>) -> Result<(), Fault> {
        let text = canonical(value).map_err(|error| Fault::Unwritable(span.clone(), error))?;
        self.says(&text)
    }

    fn says(&mut self, wanted: &str) -> Result<(), Fault> {
        let rest = self.line.get(self.at..).unwrap_or_default();
        if rest.starts_with(wanted.as_bytes()) {
            self.at += wanted.len();
            return Ok(());
        }
        let common = rest.iter().zip(wanted.as_bytes()).take_while(|(a, b)| a == b).count();
        Err(Fault::Differs(self.at + common))
    }

    fn end(&self) -> Result<(), Fault> {
        if self.at == self.line.len() { Ok(()) } else { Err(Fault::Differs(self.at)) }
    }
}

/// The order of RFC 8785, by UTF-16 units; that of the bytes is the same in ASCII.
fn order(a: &Member, b: &Member) -> Ordering {
    if a.key.is_ascii() && b.key.is_ascii() {
        return a.key.cmp(&b.key);
    }
    a.key.encode_utf16().cmp(b.key.encode_utf16())
}

/// Whether a number is written in digits alone, perhaps behind a sign; there is no negative zero.
pub(super) fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text != "-0" && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::Source;

    fn json(text: &str) -> Result<(), Error> {
        check(&Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap())
    }

    #[test]
    fn one_spelling_passes() {
        json("{\"a\":[1,0.5,1e-7,1e+21,-3],\"b\":\"é\\n\",\"c\":\"\u{7f}\"}\n").unwrap();
        for (text, column) in [
            ("{\"a\":1}", 8),
            ("{\"a\":1}\n\n", 8),
            (" {\"a\":1}\n", 1),
            ("{\"b\":1,\"a\":1}\n", 3),
            ("{\"a\":1.0}\n", 7),
            ("{\"a\":1e-07}\n", 9),
            ("{\"a\":-0}\n", 6),
            ("{\"a\":\"\\u0041\"}\n", 7),
            ("{\"a\":\"\\u007f\"}\n", 7),
            ("{\"a\":1}\r\n", 8),
            ("{\"a\":1e16}\n", 6),
            ("{\"a\":1e16 }\n", 6),
            ("{\"\u{1f600}\":1,\"b\":1}\n", 3),
            ("{\"\u{fb33}\":1,\"\u{1f600}\":2}\n", 3),
        ] {
            let error = json(text).unwrap_err();
            assert_eq!(error.code.id, "bundle::not-canonical", "{text:?}");
            assert_eq!(error.place.column, column, "{text:?} {error}");
        }
    }

    proptest::proptest! {
        /// What the canonical writer writes passes, and says the same.
        #[test]
        fn canonical_text_passes(number in proptest::num::f64::NORMAL, key in "\\PC{0,6}") {
            let value = serde_json::json!({ key: [number] });
            if let Ok(text) = repro_core::digest::canonical(&value) {
                let source = Source::new("t.json", format!("{text}\n").into_bytes()).unwrap();
                let document = Document::parse_json(source).unwrap();
                proptest::prop_assert!(check(&document).is_ok());
                proptest::prop_assert_eq!(repro_core::digest::canonical(&to_json(&document.root)).unwrap(), text);
            }
        }
    }
}
