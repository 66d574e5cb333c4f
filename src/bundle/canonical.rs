//! The check that a JSON document of a bundle stands there in the one RFC 8785 spelling.

use std::ops::Range;

use serde_json::{Map, Number, Value as Json};

use super::NOT_CANONICAL;
use crate::digest::{canonical, first_difference};
use crate::source::{Document, Kind, Refusal, Value};

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
pub fn check(document: &Document) -> Result<(), Refusal> {
    let source = &document.source;
    let Some(line) = source.text().strip_suffix('\n') else {
        let end = source.text().len();
        let place = source.place(end..end);
        return Err(NOT_CANONICAL.at(place, "a line feed at the end", "none"));
    };
    spelled(document, line)
}

/// Checks one line of a log, which is given without its line feed.
pub fn check_line(document: &Document) -> Result<(), Refusal> {
    spelled(document, document.source.text())
}

/// Checks that `line`, the text of the document, is its value's one spelling.
fn spelled(document: &Document, line: &str) -> Result<(), Refusal> {
    let (source, node) = (&document.source, document.root());
    // Nearly every text is, and that is seen without writing it anew.
    if node.value().span == (0..line.len()) && plainly(line, node.value()) {
        return Ok(());
    }
    match first_difference(line, &to_json(node.value())) {
        Ok(None) => Ok(()),
        Ok(Some(offset)) => {
            let found: String =
                String::from_utf8_lossy(line.as_bytes().get(offset..).unwrap_or_default())
                    .chars()
                    .take(40)
                    .collect();
            Err(NOT_CANONICAL.at(
                source.place(offset..offset + 1),
                "keys in order, no spaces and the shortest numbers",
                format!("`{}`", found.escape_debug()),
            ))
        }
        Err(error) => {
            Err(NOT_CANONICAL.at(node.place(), "a value with canonical text", error.to_string()))
        }
    }
}

/// Whether `value`, which was read from `text`, stands there in its one spelling, as far as that is seen
/// without writing it: nothing between the parts but their marks, keys in order, no escapes, and numbers
/// that come out as they are.
fn plainly(text: &str, value: &Value) -> bool {
    let mut at = value.span.start + 1;
    match &value.kind {
        Kind::Null | Kind::Bool(_) => true,
        Kind::Number(digits) => shortest(digits),
        Kind::Text(_) => unescaped(text, &value.span),
        Kind::Array(items) => {
            let inside = items.iter().all(|item| {
                let next = item.span.start == at && plainly(text, item);
                at = item.span.end + 1;
                next
            });
            inside && value.span.end == at.max(value.span.start + 2)
        }
        Kind::Object(members) => {
            let mut last: Option<&str> = None;
            let inside = members.iter().all(|member| {
                let next = member.key_span.start == at
                    && member.value.span.start == member.key_span.end + 1
                    && last.is_none_or(|last| before(last, &member.key))
                    && unescaped(text, &member.key_span)
                    && plainly(text, &member.value);
                at = member.value.span.end + 1;
                last = Some(&*member.key);
                next
            });
            inside && value.span.end == at.max(value.span.start + 2)
        }
    }
}

/// Whether the string that stands in `span` needs no escapes: what must be escaped cannot stand bare.
fn unescaped(text: &str, span: &Range<usize>) -> bool {
    text.as_bytes().get(span.clone()).is_some_and(|bytes| memchr::memchr(b'\\', bytes).is_none())
}

/// Whether a key comes before another: the order is that of UTF-16.
fn before(first: &str, second: &str) -> bool {
    if first.is_ascii() || second.is_ascii() {
        return first < second;
    }
    first.encode_utf16().lt(second.encode_utf16())
}

/// Whether a number is written as the canonical writer would.
fn shortest(digits: &str) -> bool {
    let bytes = digits.strip_prefix('-').unwrap_or(digits).as_bytes();
    let few = (1..16).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit);
    if few && (bytes.first() != Some(&b'0') || digits == "0") {
        return true;
    }
    canonical(&number(digits)).is_ok_and(|text| text == digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use serde_json::json;

    fn json(text: &str) -> Result<(), Refusal> {
        check(&Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap())
    }

    #[test]
    fn one_spelling_passes() {
        json("{\"a\":[1,0.5,1e-7,1e+21,-3],\"b\":\"é\\n\"}\n").unwrap();
        for (text, column) in [
            ("{\"a\":1}", 8),
            ("{\"a\":1}\n\n", 8),
            (" {\"a\":1}\n", 1),
            ("{\"b\":1,\"a\":1}\n", 3),
            ("{\"a\":1.0}\n", 7),
            ("{\"a\":1e-07}\n", 9),
            ("{\"a\":-0}\n", 6),
            ("{\"a\":\"\\u0041\"}\n", 7),
            ("{\"a\":1}\r\n", 8),
            ("{\"a\":1e16}\n", 1),
        ] {
            let refusal = json(text).unwrap_err();
            assert_eq!(refusal.code.id, "bundle::not-canonical", "{text:?}");
            assert_eq!(refusal.place.column, column, "{text:?} {refusal}");
        }
    }

    #[test]
    fn what_is_plain_is_seen_without_writing_it() {
        let plain = |text: &str| {
            let source = Source::new("t.json", text.into()).unwrap();
            plainly(text, &Document::parse_json(source).unwrap().root)
        };
        for value in [
            json!([]),
            json!({}),
            json!([[], {}, "", null, true]),
            json!({"a": [1, -1, 0, 0.5, 1e-7, 1e21, 999_999_999_999_999_u64], "b": {"c": "é\u{7f}"}}),
            json!({"": 0, "\u{e000}": 1, "a": [{"x": 9_007_199_254_740_992_u64}]}),
            json!({"\u{1f600}": 1, "\u{fb33}": 2}),
        ] {
            let text = canonical(&value).unwrap();
            assert!(plain(&text), "{text}");
        }
        for text in [
            "[ ]",
            "{ }",
            "[1 ]",
            "[1, 2]",
            "{\"a\" :1}",
            "{\"a\": 1}",
            "{\"a\":1 }",
            "{\"b\":1,\"a\":2}",
            "{\"\u{fb33}\":1,\"\u{1f600}\":2}",
            "\"\\u0041\"",
            "-0",
            "1.0",
            "1e3",
            "9007199254740993.0",
        ] {
            assert!(!plain(text), "{text}");
        }
    }

    proptest::proptest! {
        /// What is seen to be plain is what the canonical writer writes.
        #[test]
        fn plain_text_is_canonical_text(text in r#"[\[\]{}:,"\\a-c0-2e.\- ]{0,14}"#) {
            let source = Source::new("t.json", text.clone().into_bytes()).unwrap();
            if let Ok(document) = Document::parse_json(source) {
                let root = &document.root;
                if root.span == (0..text.len()) && plainly(&text, root) {
                    proptest::prop_assert_eq!(canonical(&to_json(root)).unwrap(), text);
                }
            }
        }

        /// What the canonical writer writes passes, and says the same.
        #[test]
        fn canonical_text_passes(number in proptest::num::f64::NORMAL, key in "\\PC{0,6}") {
            let value = serde_json::json!({ key: [number] });
            if let Ok(text) = crate::digest::canonical(&value) {
                let source = Source::new("t.json", format!("{text}\n").into_bytes()).unwrap();
                let document = Document::parse_json(source).unwrap();
                proptest::prop_assert!(check(&document).is_ok());
                proptest::prop_assert_eq!(crate::digest::canonical(&to_json(&document.root)).unwrap(), text);
            }
        }
    }
}
