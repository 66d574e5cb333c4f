//! JSON as Python writes it with two blanks for each level, which is what is hashed of items.

use std::fmt::Write;

use repro_receipt::source::{Kind as NodeKind, Node, Value};

/// The text of `json.dumps(value, indent=2)`, with what is not ASCII as it is or escaped. Numbers keep their digits.
pub fn dumps(node: Node<'_>, escapes: bool) -> String {
    let mut text = String::new();
    write(node.value(), 0, escapes, &mut text);
    text
}

fn write(value: &Value, level: usize, escapes: bool, to: &mut String) {
    let line = |level: usize, to: &mut String| {
        to.push('\n');
        to.extend(std::iter::repeat_n("  ", level));
    };
    match &value.kind {
        NodeKind::Null => to.push_str("null"),
        NodeKind::Bool(truth) => to.push_str(if *truth { "true" } else { "false" }),
        NodeKind::Number(digits) => to.push_str(digits),
        NodeKind::Text(text) => quote(text, escapes, to),
        NodeKind::Array(items) if items.is_empty() => to.push_str("[]"),
        NodeKind::Object(members) if members.is_empty() => to.push_str("{}"),
        NodeKind::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                to.push(if at == 0 { '[' } else { ',' });
                line(level + 1, to);
                write(item, level + 1, escapes, to);
            }
            line(level, to);
            to.push(']');
        }
        NodeKind::Object(members) => {
            for (at, member) in members.iter().enumerate() {
                to.push(if at == 0 { '{' } else { ',' });
                line(level + 1, to);
                quote(&member.key, escapes, to);
                to.push_str(": ");
                write(&member.value, level + 1, escapes, to);
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
    use repro_receipt::source::{Document, Source};

    #[test]
    fn values_are_written_as_python_writes_them() {
        let text = "{\"a\":[1.50,{},[]],\"b\":{\"é\":null,\"c\":\"\\u0001\\n\\\"😀\"}}";
        let document = Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap();
        let plain = "{\n  \"a\": [\n    1.50,\n    {},\n    []\n  ],\n  \"b\": {\n    \"é\": null,\n    \
                     \"c\": \"\\u0001\\n\\\"😀\"\n  }\n}";
        assert_eq!(dumps(document.root(), false), plain);
        let escaped = plain.replace('é', "\\u00e9").replace('😀', "\\ud83d\\ude00");
        assert_eq!(dumps(document.root(), true), escaped);
    }
}
