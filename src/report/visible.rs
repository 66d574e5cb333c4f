//! Makes untrusted text safe to display: characters that a terminal or a browser would obey or hide are written
//! out, so a report shows exactly what the input contains.

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
    // Only strings have these signs.
    let text = without_marks(text, "\\u0023");
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

/// The strings that CI systems take for the start of a command anywhere in a line: GitHub Actions, Azure Pipelines.
const COMMAND_MARKS: [&str; 2] = ["##[", "##vso["];

/// A text in which no log of a CI system finds a command: GitHub Actions reads `::error::` at the start of any line, whatever
/// printed it. `number_sign` and `colon` stand for the first sign of what would be one.
pub fn inert(text: String, number_sign: &str, colon: &str) -> String {
    let text = without_marks(text, number_sign);
    if !text.lines().any(|line| line.trim_start().starts_with("::")) {
        return text;
    }
    let mut inert = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        match bare.strip_prefix(':').filter(|rest| rest.starts_with(':')) {
            Some(rest) => {
                inert.push_str(&line[..line.len() - bare.len()]);
                inert.push_str(colon);
                inert.push_str(rest);
            }
            None => inert.push_str(line),
        }
    }
    inert
}

fn without_marks(text: String, number_sign: &str) -> String {
    COMMAND_MARKS.iter().fold(text, |text, mark| match text.contains(mark) {
        true => text.replace(mark, &format!("{number_sign}{}", &mark[1..])),
        false => text,
    })
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
    fn no_log_finds_a_command() {
        let of = |text: &str| inert(text.to_owned(), "&#35;", "&#58;");
        assert_eq!(
            of("a\n::error::x\n \t::add-mask::y\n"),
            "a\n&#58;:error::x\n \t&#58;:add-mask::y\n"
        );
        assert_eq!(of("a ##[error]b ##vso[task.x]"), "a &#35;#[error]b &#35;#vso[task.x]");
        assert_eq!(of("value::differs :: x\n# a\n"), "value::differs :: x\n# a\n");
        let value = serde_json::json!({"##[a": "##vso[b\n::c"});
        let escaped = escaped_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(!escaped.contains("##"), "{escaped}");
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
