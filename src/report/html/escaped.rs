//! Escapes input text for a page: it opens no tag, ends no attribute, and hides nothing.

use std::borrow::Cow;

use crate::visible::push;

/// Text inside an element or an attribute; line ends and tabs stay.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_graphic() && !"&<>\"'".contains(c) || " \n\t".contains(c);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            // What blanks a hidden byte of a text stands for nothing.
            '\0' | '\r' => {}
            '\n' | '\t' => shown.push(c),
            c => push(&mut shown, c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_open_no_tag_and_end_no_attribute() {
        assert_eq!(
            escaped("<b onclick='x'>\"&amp;\u{202e}\r\n"),
            "&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;amp;\\u{202e}\n"
        );
        assert_eq!(escaped("0.5 ± é"), "0.5 ± é");
    }
}
