//! JSON as Python writes it with an indent of 2, which is the form that item hashes use.

use std::fmt::Write;

use repro_core::source::{Kind as NodeKind, Node, Value};

use crate::check::stated::bare_word;

/// How a text is written.
#[derive(Debug, Clone, Copy)]
struct Style {
    /// Non-ASCII characters are escaped.
    escapes: bool,
    /// Strings that may be words for non-finite numbers are written as such words.
    has_words: bool,
}

/// The possible outputs of `json.dumps(value, indent=2)`: older versions may have escaped non-ASCII characters, and the
/// loose reader returns `NaN` as a string. Numbers keep their digits.
pub fn readings(node: Node<'_>) -> [String; 4] {
    let all = [(false, true), (true, true), (false, false), (true, false)];
    all.map(|(escapes, has_words)| {
        let mut text = String::new();
        write(node.value(), 0, Style { escapes, has_words }, &mut text);
        text
    })
}

/// The first of these outputs, for values that are not hashed.
pub fn dumps(node: Node<'_>) -> String {
    let [text, ..] = readings(node);
    text
}

/// The number of strings that may be words for non-finite numbers.
pub fn words(node: Node<'_>) -> usize {
    fn of(value: &Value) -> usize {
        match &value.kind {
            NodeKind::Text(text) => usize::from(bare_word(text).is_some()),
            NodeKind::Array(items) => items.iter().map(of).sum(),
            NodeKind::Object(members) => members.iter().map(|member| of(&member.value)).sum(),
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => 0,
        }
    }
    of(node.value())
}

fn write(value: &Value, level: usize, style: Style, to: &mut String) {
    let line = |level: usize, to: &mut String| {
        to.push('\n');
        to.extend(std::iter::repeat_n("  ", level));
    };
    match &value.kind {
        NodeKind::Null => to.push_str("null"),
        NodeKind::Bool(truth) => to.push_str(if *truth { "true" } else { "false" }),
        NodeKind::Number(digits) => to.push_str(digits),
        NodeKind::Text(text) => match bare_word(text).filter(|_| style.has_words) {
            Some(word) => to.push_str(word),
            None => quote(text, style.escapes, to),
        },
        NodeKind::Array(items) if items.is_empty() => to.push_str("[]"),
        NodeKind::Object(members) if members.is_empty() => to.push_str("{}"),
        NodeKind::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                to.push(if at == 0 { '[' } else { ',' });
                line(level + 1, to);
                write(item, level + 1, style, to);
            }
            line(level, to);
            to.push(']');
        }
        NodeKind::Object(members) => {
            for (at, member) in members.iter().enumerate() {
                to.push(if at == 0 { '{' } else { ',' });
                line(level + 1, to);
                quote(&member.key, style.escapes, to);
                to.push_str(": ");
                write(&member.value, level + 1, style, to);
            }
            line(level, to);
            to.push('}');
        }
    }
}

fn quote(text: &str, escapes: bool, to: &mut String) {
    to.push('"');
    for character in text.chars() {
        match character {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\u{8}' => to.push_str("\\b"),
            '\u{c}' => to.push_str("\\f"),
            _ if character < ' ' || escapes && !character.is_ascii() => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(to, "\\u{unit:04x}");
                }
            }
            _ => to.push(character),
        }
    }
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    #[test]
    fn values_are_written_as_python_writes_them() {
        let text = "{\"a\":[1.50,{},[]],\"b\":{\"é\":null,\"c\":\"\\u0001\\n\\\"😀\"}}";
        let document = Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap();
        let plain = "{\n  \"a\": [\n    1.50,\n    {},\n    []\n  ],\n  \"b\": {\n    \"é\": null,\n    \
                     \"c\": \"\\u0001\\n\\\"😀\"\n  }\n}";
        let escaped = plain.replace('é', "\\u00e9").replace('😀', "\\ud83d\\ude00");
        let both = [plain.to_owned(), escaped];
        assert_eq!(readings(document.root()), [both.clone(), both].concat()[..]);
    }

    #[test]
    fn words_for_no_number_may_be_strings() {
        let source = Source::new("t.json", b"[NaN, -Infinity]".to_vec()).unwrap();
        let document = Document::parse_loose_json(source).unwrap();
        let [words, _, strings, _] = readings(document.root());
        assert_eq!(words, "[\n  NaN,\n  -Infinity\n]");
        assert_eq!(strings, "[\n  \"N\",\n  \"-Infini\"\n]");
        assert_eq!(super::words(document.root()), 2);
    }
}
