//! A normalized text: digits of other scripts become digits, zero-width characters and tags inside numbers are removed, and
//! entities are replaced by their characters. Each byte is mapped to its origin.

use std::ops::Range;

use crate::markup::{Tag, entity};
use crate::seen::has_no_width;
use crate::spelling::PlainSpelling;
use crate::words::words;

const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉";

/// The normalized form of a text.
pub(super) fn read(text: &str) -> PlainSpelling {
    let mut reader = Reader { plain: PlainSpelling::default(), digits: "0123456789" };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        at += reader.step(&text[at..], c, at);
    }
    reader.plain
}

struct Reader {
    plain: PlainSpelling,
    /// The digits of the line, or those above or below it.
    digits: &'static str,
}

impl Reader {
    /// Reads the start of the text, and returns its length.
    fn step(&mut self, rest: &str, c: char, at: usize) -> usize {
        let tag = if c == '<' { self.tag(rest) } else { None };
        if let Some((length, spoken)) = tag {
            self.plain.push(spoken, at..at + length);
            return length;
        }
        let entity = if c == '&' { entity(rest) } else { None };
        let (length, sign) = entity.unwrap_or((c.len_utf8(), c));
        self.sign(sign, at..at + length);
        length
    }

    /// Appends one character of the text.
    fn sign(&mut self, c: char, from: Range<usize>) {
        if has_no_width(c) {
            return;
        }
        let spoken = match c {
            _ if let Some(digit) = digit(c) => self.digits.chars().nth(digit as usize).unwrap_or(c),
            '．' | '٫' | '\u{2024}' => '.',
            '，' | '٬' => ',',
            '％' | '٪' | '﹪' => '%',
            '＋' => '+',
            '-' | '−' if self.digits == RAISED => '⁻',
            c => c,
        };
        self.plain.push(spoken.encode_utf8(&mut [0; 4]), from);
    }

    /// The length of an inline tag, and its replacement.
    fn tag(&mut self, rest: &str) -> Option<(usize, &'static str)> {
        let tag = Tag::read(rest)?;
        // A spread in small print is one: `1.70<sub>±0.01</sub>`, `1.70<br><sub>(±0.01)</sub>`.
        let is_before_a_spread = is_a_spread(&rest[tag.length..]);
        let spoken = match tag.name.as_str() {
            "br" if is_before_a_spread => " ",
            name @ ("sup" | "sub") => {
                self.digits = match name {
                    _ if tag.is_closing || is_before_a_spread => "0123456789",
                    "sup" => RAISED,
                    _ => LOWERED,
                };
                ""
            }
            name if words().is_in("html.inline", name) => "",
            _ => return None,
        };
        Some((tag.length, spoken))
    }
}

/// Whether a text begins with a spread, in small print or not.
fn is_a_spread(text: &str) -> bool {
    const SMALL: [&str; 3] = ["<sub>", "<sup>", "<small>"];
    let bare = SMALL.iter().find_map(|tag| text.strip_prefix(tag)).unwrap_or(text);
    let bare = bare.trim_start_matches(['(', ' ', '$']);
    bare.starts_with("&plusmn;") || words().start_of("sign.spreads", bare).is_some()
}

/// The digit that a sign is, in any script.
pub(super) fn digit(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let mut zeros = words().list("sign.zeros").iter().filter_map(|zero| zero.chars().next());
    zeros.find_map(|zero| u32::from(c).checked_sub(u32::from(zero)).filter(|place| *place < 10))
}
