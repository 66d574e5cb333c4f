//! A text as it is read aloud: digits of other scripts are digits, signs without width and tags inside a number
//! are nothing, and entities are what they stand for. Each byte knows where it comes from.

use std::ops::Range;

use super::behind;
use crate::markup::{Tag, entity};
use crate::seen::has_no_width;
use crate::spelling::PlainSpelling;
use crate::words::words;

const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉";

/// What a text is when it is read, and where each byte of that comes from.
#[derive(Default)]
pub(super) struct Aloud {
    pub(super) plain: PlainSpelling,
    /// Stretches of the original that are not read surely.
    unsure: Vec<Range<usize>>,
}

impl Aloud {
    pub(super) fn of(text: &str) -> Self {
        let mut reader = Reader { text, aloud: Self::default(), shift: Shift::None };
        let mut at = 0;
        while at < text.len() {
            at = reader.step(at);
        }
        reader.aloud
    }

    /// Whether a stretch of the original holds something that is not read surely.
    pub(super) fn is_unsure(&self, original: &Range<usize>) -> bool {
        // They stand in order beside each other.
        let begun = self.unsure.partition_point(|part| part.start < original.end);
        self.unsure[..begun].last().is_some_and(|part| original.start < part.end)
    }
}

/// Whether digits stand on the line.
#[derive(Clone, Copy, PartialEq)]
enum Shift {
    None,
    Up,
    Down,
}

struct Reader<'t> {
    text: &'t str,
    aloud: Aloud,
    shift: Shift,
}

impl Reader<'_> {
    /// Reads what stands at `at`, and returns where reading goes on.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let Some(c) = rest.chars().next() else { return self.text.len() };
        let end = at + c.len_utf8();
        match c {
            '<' => {
                if let Some((length, spoken)) = self.tag(rest) {
                    self.aloud.plain.push(spoken, at..at + length);
                    return at + length;
                }
            }
            '&' => {
                if let Some((length, sign)) = entity(rest) {
                    self.sign(sign, at..at + length);
                    return at + length;
                }
            }
            '*' => {
                if let Some(length) = self.bold(at) {
                    return at + length;
                }
            }
            '\u{202d}' | '\u{202e}' | '\u{2066}'..='\u{2068}' => {
                // What follows is shown in another order, to the end of the line.
                if self.is_doubted(at) {
                    self.sign(c, at..end);
                    return end;
                }
                let line = rest.find('\n').map_or(self.text.len(), |line| at + line);
                self.aloud.unsure.push(at..line);
            }
            _ => {}
        }
        self.sign(c, at..end);
        end
    }

    /// Whether a place is part of what is not read surely anyway.
    fn is_doubted(&self, at: usize) -> bool {
        self.aloud.unsure.last().is_some_and(|last| last.end > at)
    }

    /// Says one sign of the text.
    fn sign(&mut self, c: char, from: Range<usize>) {
        if has_no_width(c) {
            return;
        }
        if let Some((digit, is_sure)) = digit(c) {
            if !is_sure && !self.is_doubted(from.start) {
                self.aloud.unsure.push(from.clone());
            }
            let spoken = match self.shift {
                Shift::None => char::from_digit(digit, 10),
                Shift::Up => RAISED.chars().nth(digit as usize),
                Shift::Down => LOWERED.chars().nth(digit as usize),
            };
            let spoken = spoken.unwrap_or(c);
            return self.aloud.plain.push(spoken.encode_utf8(&mut [0; 4]), from);
        }
        let spoken = match c {
            '．' | '٫' | '\u{2024}' => '.',
            '，' | '٬' => ',',
            '％' | '٪' | '﹪' => '%',
            '＋' => '+',
            '-' | '−' if self.shift == Shift::Up => '⁻',
            c => c,
        };
        self.aloud.plain.push(spoken.encode_utf8(&mut [0; 4]), from);
    }

    /// The length of a tag that parts nothing, and what it says.
    fn tag(&mut self, rest: &str) -> Option<(usize, &'static str)> {
        let tag = Tag::read(rest)?;
        // A spread in small print is one: `1.70<sub>±0.01</sub>`, `1.70<br><sub>(±0.01)</sub>`.
        let is_before_a_spread = is_a_spread(&rest[tag.length..]);
        let spoken = match tag.name.as_str() {
            "br" if is_before_a_spread => " ",
            "sup" | "sub" if tag.is_closing || is_before_a_spread => {
                self.shift = Shift::None;
                ""
            }
            "sup" => {
                self.shift = Shift::Up;
                ""
            }
            "sub" => {
                self.shift = Shift::Down;
                ""
            }
            name if words().is_in("html.deleted", name) => "~~",
            name if words().is_in("html.inline", name) => "",
            _ => return None,
        };
        Some((tag.length, spoken))
    }

    /// The length of marks of bold print inside a number: `1.**70**`.
    fn bold(&self, at: usize) -> Option<usize> {
        let rest = self.text[at..].strip_prefix("**")?;
        let in_number = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit() || c == '.');
        let before = self.text[..at].chars().next_back();
        let is_inside = in_number(before) && in_number(rest.chars().next());
        // On the same line, and not far away.
        let has_other = || {
            let ahead = behind(self.text, at + 2).lines().next();
            let back = super::before(self.text, at).rsplit('\n').next();
            ahead.is_some_and(|line| line.contains("**"))
                || back.is_some_and(|line| line.contains("**"))
        };
        (is_inside && has_other()).then_some(2)
    }
}

/// Whether a text begins with a spread, in small print or not.
fn is_a_spread(text: &str) -> bool {
    const SMALL: [&str; 3] = ["<sub>", "<sup>", "<small>"];
    let bare = SMALL.iter().find_map(|tag| text.strip_prefix(tag)).unwrap_or(text);
    let bare = bare.trim_start_matches(['(', ' ', '$']);
    bare.starts_with("&plusmn;") || words().start_of("sign.spreads", bare).is_some()
}

/// The digit that a sign is, and whether that is sure.
pub(super) fn digit(c: char) -> Option<(u32, bool)> {
    if c.is_ascii() {
        return c.to_digit(10).map(|digit| (digit, true));
    }
    // The place of a sign behind the first of a row of so many.
    let place = |firsts: &str, count: u32| {
        let firsts = words().list(firsts).iter().filter_map(|first| first.chars().next());
        let mut places = firsts.filter_map(|first| u32::from(c).checked_sub(u32::from(first)));
        places.find(|place| *place < count)
    };
    let sure = place("sign.zeros", 10).map(|digit| (digit, true));
    sure.or_else(|| place("sign.ornaments", 9).map(|place| (place + 1, false)))
}

/// The number in a circle, brackets or with a full stop that a sign is.
pub(super) fn ornament(text: &str) -> Option<u32> {
    let mut signs = text.chars();
    let (digit, is_sure) = digit(signs.next()?)?;
    (!is_sure && signs.next().is_none()).then_some(digit)
}
