//! Untrusted text made safe to look at: what a terminal or a browser would obey or hide is written
//! out instead, so a report shows what stands in the input and nothing else.

/// `text` on one line, with every control and invisible character written as `\u{…}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        push(&mut shown, c);
    }
    shown
}

/// Like [`visible`] for running text, in which line ends and tabs are only spaces.
pub(super) fn prose(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.replace("\r\n", " ").chars() {
        push(&mut shown, if matches!(c, '\n' | '\t') { ' ' } else { c });
    }
    shown
}

/// A JSON text in which hidden characters of its strings are escapes: the same document, and nothing in it acts on a
/// terminal that shows it.
pub fn escaped_json(text: String) -> String {
    if !text.chars().any(|c| hidden(c) && c != '\n') {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        // Line feeds stand between values; controls below 32 are escapes already.
        if hidden(c) && c != '\n' {
            let units = c.encode_utf16(&mut [0; 2]).to_vec();
            escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// At most `limit` characters of `text`, the last one an ellipsis where some are missing.
pub fn clipped(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Appends `c`, written out where it is not safe to show.
pub(super) fn push(shown: &mut String, c: char) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        c if hidden(c) => shown.extend(c.escape_unicode()),
        c => shown.push(c),
    }
}

/// Controls, format characters (bidi overrides among them), fillers without a glyph, odd line ends,
/// and the code points that XML refuses.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{fffe}' | '\u{ffff}' | '\u{110bd}' | '\u{110cd}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        assert_eq!(visible("a\u{1b}[31mb\r\n"), "a\\u{1b}[31mb\\r\\n");
        assert_eq!(visible("\u{202e}gpj\u{9b}"), "\\u{202e}gpj\\u{9b}");
        assert_eq!(visible("0.0758 ± 0.0021 é 表"), "0.0758 ± 0.0021 é 表");
    }

    #[test]
    fn a_json_text_stays_the_same_document() {
        let value = serde_json::json!({"a": "\u{202e}gpj\u{9b}\n\u{e0001}", "b": ["é 表 ±", 1]});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escaped_json(text);
        assert!(
            escaped.contains("\\u202egpj\\u009b") && escaped.contains("\\udb40\\udc01"),
            "{escaped}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }

    #[test]
    fn line_ends_of_running_text_are_spaces() {
        assert_eq!(prose("one\r\ntwo\nthree\rfour"), "one two three\\rfour");
    }

    #[test]
    fn clipping_says_that_it_clipped() {
        assert_eq!(clipped("abc", 3), "abc");
        assert_eq!(clipped("äbcd", 3), "äb…");
    }
}
