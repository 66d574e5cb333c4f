//! A text as it is read aloud: digits of other scripts are digits, signs without width and tags inside a number
//! are nothing, and entities are what they stand for. Each byte knows where it comes from.

use std::ops::Range;

use super::behind;
use crate::seen::has_no_width;

/// Tags that part nothing: `1.<b>7</b>` is one number.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "big", "bdi", "code", "data", "em", "font", "i", "ins", "kbd", "mark",
    "nobr", "output", "q", "small", "span", "strong", "time", "tt", "u", "var", "wbr",
];
/// Tags whose content is crossed out.
const DELETED: &[&str] = &["del", "s", "strike"];
/// Entities that are read as a sign; others stay as they are.
const ENTITIES: &[(&str, &str)] = &[
    ("shy", ""),
    ("zwj", ""),
    ("zwnj", ""),
    ("ZeroWidthSpace", ""),
    ("NoBreak", ""),
    ("ensp", " "),
    ("emsp", " "),
    ("hairsp", " "),
    ("numsp", " "),
    ("frac12", "½"),
    ("half", "½"),
    ("frac14", "¼"),
    ("frac34", "¾"),
    ("sup1", "¹"),
    ("sup2", "²"),
    ("sup3", "³"),
    ("percnt", "%"),
    ("permil", "‰"),
    ("times", "×"),
    ("period", "."),
    ("comma", ","),
    ("plus", "+"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("approx", "≈"),
];
/// The zeros of scripts whose ten digits stand in a row.
const ZEROS: &[u32] = &[
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66,
    0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1FBF0,
];
/// The ones of digits in circles, brackets and with a full stop: those before ten are read, and never surely.
const ORNAMENTS: &[u32] = &[0x2460, 0x2474, 0x2488, 0x24F5, 0x2776, 0x2780, 0x278A];
const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉";

/// What a text is when it is read, and where each byte of that comes from.
pub(super) struct Aloud {
    pub(super) text: String,
    /// The byte of the original at which the sign of each byte begins and ends; none where nothing differs.
    from: Option<Vec<(u32, u32)>>,
    /// Stretches of the original that are not read surely.
    unsure: Vec<Range<usize>>,
}

impl Aloud {
    pub(super) fn of(text: &str) -> Self {
        if text.bytes().all(|byte| byte.is_ascii() && !b"<&*\0".contains(&byte)) {
            return Self { text: text.to_owned(), from: None, unsure: Vec::new() };
        }
        let mut reader = Reader {
            text,
            aloud: Self {
                text: String::with_capacity(text.len()),
                from: Some(Vec::with_capacity(text.len())),
                unsure: Vec::new(),
            },
            shift: Shift::None,
        };
        let mut at = 0;
        while at < text.len() {
            at = reader.step(at);
        }
        reader.aloud
    }

    /// The stretch of the original that a stretch of what is read comes from.
    pub(super) fn original(&self, span: &Range<usize>) -> Range<usize> {
        let Some(from) = &self.from else { return span.clone() };
        let start = from.get(span.start).map_or(0, |(start, _)| *start as usize);
        let end = span.end.checked_sub(1).and_then(|last| from.get(last));
        start..end.map_or(start, |(_, end)| *end as usize)
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
                    self.say(spoken, at..at + length);
                    return at + length;
                }
            }
            '&' => {
                if let Some((length, spoken)) = entity(rest) {
                    let from = at..at + length;
                    spoken.chars().for_each(|c| self.sign(c, from.clone()));
                    return from.end;
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
            return self.say(spoken.unwrap_or(c).encode_utf8(&mut [0; 4]), from);
        }
        let spoken = match c {
            '.' | '．' | '٫' | '\u{2024}' => '.',
            '，' | '٬' => ',',
            '％' | '٪' | '﹪' => '%',
            '＋' => '+',
            '-' | '−' if self.shift == Shift::Up => '⁻',
            c => c,
        };
        self.say(spoken.encode_utf8(&mut [0; 4]), from);
    }

    fn say(&mut self, spoken: &str, from: Range<usize>) {
        self.aloud.text.push_str(spoken);
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        if let Some(list) = &mut self.aloud.from {
            list.resize(self.aloud.text.len(), (place(from.start), place(from.end)));
        }
    }

    /// The length of a tag that parts nothing, and what it says.
    fn tag(&mut self, rest: &str) -> Option<(usize, &'static str)> {
        let inner = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
        let closes = inner.len() + 1 < rest.len();
        let name = inner.find(|c: char| !c.is_ascii_alphanumeric())?;
        let end = inner.find(['>', '<', '\n']).filter(|end| inner[*end..].starts_with('>'))?;
        let length = rest.len() - inner.len() + end + 1;
        let goes_on = inner[name..end].trim_matches(['\0', ' ', '/']);
        let name = inner[..name].to_ascii_lowercase();
        if !goes_on.is_empty() && !goes_on.contains('=') {
            return None;
        }
        match name.as_str() {
            // A spread in small print is one: `1.70<sub>±0.01</sub>`, `1.70<br><sub>(±0.01)</sub>`.
            "br" if is_a_spread(&rest[length..]) => Some((length, " ")),
            "sup" | "sub" => {
                self.shift = match (closes, name.as_str()) {
                    (true, _) => Shift::None,
                    _ if is_a_spread(&rest[length..]) => Shift::None,
                    (false, "sup") => Shift::Up,
                    (false, _) => Shift::Down,
                };
                Some((length, ""))
            }
            name if DELETED.contains(&name) => Some((length, "~~")),
            name if INLINE.contains(&name) => Some((length, "")),
            _ => None,
        }
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
    ["±", "+/-", "&plusmn;", "\\pm"].iter().any(|sign| bare.starts_with(sign))
}

/// The digit that a sign is, and whether that is sure.
pub(super) fn digit(c: char) -> Option<(u32, bool)> {
    if c.is_ascii() {
        return c.to_digit(10).map(|digit| (digit, true));
    }
    let at = |zeros: &[u32], first: u32, count: u32| {
        zeros.iter().find_map(|zero| {
            u32::from(c)
                .checked_sub(*zero)
                .filter(|digit| *digit < count)
                .map(|digit| digit + first)
        })
    };
    let sure = at(ZEROS, 0, 10).map(|digit| (digit, true));
    sure.or_else(|| at(ORNAMENTS, 1, 9).map(|digit| (digit, false)))
}

/// The number in a circle, brackets or with a full stop that a sign is.
pub(super) fn ornament(text: &str) -> Option<u32> {
    let mut signs = text.chars();
    let (digit, is_sure) = digit(signs.next()?)?;
    (!is_sure && signs.next().is_none()).then_some(digit)
}

/// The length of an entity, and what it says; none of those that the rules of numbers know by name.
fn entity(rest: &str) -> Option<(usize, String)> {
    let end = rest.bytes().take(20).position(|byte| byte == b';')?;
    let name = &rest[1..end];
    let spoken = match name.strip_prefix('#') {
        Some(code) => {
            let hex = code.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| code.parse(), |hex| u32::from_str_radix(hex, 16)).ok()?;
            char::from_u32(code)?.to_string()
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1.to_owned(),
    };
    Some((end + 1, spoken))
}
