//! The check that a JSON document of a bundle stands there in the one RFC 8785 spelling.

use serde_json::{Map, Number, Value as Json};

use super::NOT_CANONICAL;
use crate::digest::first_difference;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

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

    proptest::proptest! {
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
