//! A number written in digits: sign, groups, decimals, powers, suffix and unit.
//!
//! The result is passed to [`Printed`] in its plainest spelling, and keeps its original text.

use std::ops::Range;
use std::sync::OnceLock;

use num_bigint::BigInt;
use num_rational::BigRational;
use repro_core::decimal::{Printed, Unit};

use super::{begins_with, is_boundary, run, starts_with_digit, word_end};
use crate::words::words;

/// The format of a number.
#[derive(Debug, Clone)]
pub(super) struct Written {
    /// Its position.
    pub(super) span: Range<usize>,
    /// Its value, with suffix and unit.
    pub(super) printed: Printed,
    /// The factor of its suffix.
    pub(super) scale: Option<BigRational>,
}

/// A factor after a number.
struct Suffix {
    word: &'static str,
    factor: BigRational,
}

fn suffixes() -> &'static [Suffix] {
    static SUFFIXES: OnceLock<Vec<Suffix>> = OnceLock::new();
    let of_power = |(power, list): (&str, &'static [String])| {
        let (base, exponent) = power.split_once('^')?;
        let base = BigRational::from_integer(base.parse().ok()?);
        let factor = base.pow(exponent.parse().ok()?);
        Some(list.iter().map(move |word| Suffix { word, factor: factor.clone() }))
    };
    SUFFIXES.get_or_init(|| words().lists("suffix").filter_map(of_power).flatten().collect())
}

/// The factor of a suffix.
pub(super) fn factor_of_suffix(word: &str) -> Option<BigRational> {
    let found = suffixes().iter().find(|suffix| suffix.word == word);
    found.map(|suffix| suffix.factor.clone())
}

/// Reads the number whose digits begin at `at`.
pub(super) fn read(text: &str, at: usize) -> Option<Written> {
    let (start, is_negative) = sign(text, at);
    let sign = if is_negative { "-" } else { "" };
    let mantissa_end = mantissa_end(text, at);
    let mantissa: String =
        text[at..mantissa_end].chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    let (end, core) = match power(text, at, mantissa_end, &mantissa) {
        Some(found) => found,
        None => (mantissa_end, mantissa),
    };
    let printed = Printed::parse(&format!("{sign}{core}")).ok()?;
    let mut written = Written { span: start..end, printed, scale: None };
    // "Five hundred thousand" has two words of size.
    while let Some((end, factor)) = suffix(text, start, written.span.end, written.scale.is_some()) {
        written.span.end = end;
        written.printed = written.printed.times(&factor);
        written.scale = Some(written.scale.map_or(factor.clone(), |scale| scale * factor));
    }
    if let Some((end, unit)) = unit(text, start, written.span.end) {
        written.span.end = end;
        written.printed = written.printed.in_unit(unit);
    }
    let shown = &text[written.span.clone()];
    written.printed = written.printed.shown_as(shown);
    Some(written)
}

impl Written {
    /// The number as an uncertainty in brackets: `(13)` after `1.702` is 0.013.
    pub(super) fn in_last_digits(&self, text: &str) -> Option<Written> {
        let at = self.span.end + 1;
        let digits = run(text[self.span.end..].strip_prefix('(')?, |c| c.is_ascii_digit());
        let end = at + digits;
        let closes = text[end..].starts_with(')') && is_boundary(text, end + 1);
        let decimals = run(text[self.span.clone()].split('.').nth(1)?, |c| c.is_ascii_digit());
        if !closes || !(1..=decimals.max(2)).contains(&digits) {
            return None;
        }
        let digits = Printed::parse(&text[at..end]).ok()?;
        let printed = digits.times(self.printed.last_place()).in_unit(self.printed.unit());
        Some(Self { span: at..end, printed, scale: None })
    }

    /// The number with a suffix or unit that a different number states for both.
    pub(super) fn sharing(&self, other: &Self) -> Self {
        let mut shared = self.clone();
        if let (None, Some(scale)) = (&self.scale, &other.scale) {
            shared.printed = shared.printed.times(scale);
            shared.scale = Some(scale.clone());
        }
        if self.printed.unit() == Unit::Plain {
            shared.printed = shared.printed.in_unit(other.printed.unit());
        }
        shared
    }
}

/// The start of the number including its sign or dollar, and whether it is negative.
fn sign(text: &str, at: usize) -> (usize, bool) {
    let before = &text[..at];
    let bare = before.strip_suffix('$').unwrap_or(before);
    if let Some(head) = bare.strip_suffix('+')
        && is_free(head)
    {
        return (head.len(), false);
    }
    for sign in words().list("sign.minus") {
        if let Some(head) = bare.strip_suffix(sign.as_str())
            && is_free(head)
            // "1.2 –1.5" is a range however it is spaced.
            && !(sign == "–" && head.trim_end().ends_with(|c: char| c.is_ascii_digit() || c == '%'))
        {
            return (head.len(), true);
        }
    }
    let spaced = bare.trim_end();
    if spaced.len() < bare.len()
        && let Some(sign) = words().end_of("number.spaced_minus", spaced)
        && let head = &spaced[..spaced.len() - sign.len()]
        && belongs_to_what_follows(head)
    {
        return (head.len(), true);
    }
    let start = if before.len() > bare.len() && is_money(text, at) { bare.len() } else { at };
    (start, false)
}

/// Whether a sign after these characters is not a dash between two things.
fn is_free(head: &str) -> bool {
    head.chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || "([{=:,|<>~≈±`\"'*/$_;".contains(c))
        && !head.trim_end().ends_with('±')
}

/// Whether a minus with a space after it is a sign instead of a subtraction.
fn belongs_to_what_follows(head: &str) -> bool {
    let head = head.trim_end();
    let word = head.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    head.is_empty()
        || head.ends_with(['=', ':', '(', '[', '|', ','])
        || words().is_in("number.before_minus", &word.to_ascii_lowercase())
}

/// Whether the `$` before `at` means dollars: it neither opens nor closes mathematics.
fn is_money(text: &str, at: usize) -> bool {
    /// A line may have no end, and be all money.
    const FAR: usize = 4000;
    let far = at.saturating_sub(FAR);
    let line = text.as_bytes()[far..at - 1].iter().rposition(|byte| *byte == b'\n');
    let dollars = text.as_bytes()[line.map_or(far, |end| far + end)..at - 1].iter();
    let opened = dollars.filter(|byte| **byte == b'$').count() % 2 == 1;
    let rest = super::behind(text, at).lines().next().unwrap_or_default();
    let closes = rest.find('$').is_some_and(|close| !starts_with_digit(rest, close + 1));
    !opened && !closes
}

/// The end of digits, their groups and decimals.
fn mantissa_end(text: &str, at: usize) -> usize {
    let mut end = at + run(&text[at..], |c| c.is_ascii_digit());
    if end > at {
        end = groups_end(text, at, end);
    }
    if text[end..].starts_with('.') && starts_with_digit(text, end + 1) {
        end += 1 + run(&text[end + 1..], |c| c.is_ascii_digit());
    }
    end
}

/// Groups of three digits after one kind of separator.
fn groups_end(text: &str, start: usize, end: usize) -> usize {
    let Some(separator) = words().start_of("sign.separators", &text[end..]) else { return end };
    if end - start > 3 || text[start..].starts_with('0') {
        return end;
    }
    let mut last = end;
    while let Some(rest) = text[last..].strip_prefix(separator) {
        if run(rest, |c| c.is_ascii_digit()) != 3 {
            break;
        }
        last += separator.len() + 3;
    }
    let goes_on = text[last..]
        .strip_prefix(separator)
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    match separator {
        // `1,209,5` is a list, whatever it means.
        "," => last,
        // A row of numbers is not a number; `12 500` after a name or a number may be two.
        " " if goes_on || !stands_alone(text, start, last) => end,
        _ if goes_on => end,
        _ => last,
    }
}

/// Whether digits with spaces between them look like one number.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].trim_end();
    let rest = &text[end..];
    !before.ends_with(|c: char| c.is_ascii_digit() || c == '%')
        && !rest.starts_with(|c: char| c.is_alphanumeric() || "-_/^×".contains(c))
        && !rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
        && !starts_with_digit(rest, 1)
}

/// The end and the plain spelling of a number with a power: `1e-7`, `4×10⁻³`, `10^{-8}`, `2¹⁹`.
fn power(text: &str, at: usize, end: usize, mantissa: &str) -> Option<(usize, String)> {
    if let Some(last) = exponent_end(text, end) {
        return Some((last, format!("{mantissa}{}", text[end..last].replace('−', "-"))));
    }
    let rest = text[end..].trim_start();
    let times = words().behind("sign.times", rest);
    if let Some(ten) = times.and_then(|rest| rest.trim_start().strip_prefix("10"))
        && let Some((length, exponent)) = raised(ten)
    {
        return Some((text.len() - ten.len() + length, format!("{mantissa}e{exponent}")));
    }
    let base: u32 = text[at..end].parse().ok().filter(|base| (2..10_000).contains(base))?;
    let (length, exponent) = raised(&text[end..])?;
    // A superscript digit after a count may be a footnote.
    let is_power = text[end..].starts_with('^') || matches!(base, 2 | 10);
    match base {
        _ if !is_power => None,
        10 => Some((end + length, format!("1e{exponent}"))),
        2.. if (0..=64).contains(&exponent) => {
            let value = BigInt::from(base).pow(exponent.unsigned_abs());
            Some((end + length, value.to_string()))
        }
        _ => None,
    }
}

/// The length and value of an exponent: `^-3`, `^{-3}`, `^(3)`, `⁻³`; `^1^` is a footnote.
pub(super) fn raised(text: &str) -> Option<(usize, i32)> {
    const SMALL: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let Some(rest) = text.strip_prefix('^') else {
        let length = run(text, |c| SMALL.contains(c) || c == '⁻');
        // Small digits as plain ones.
        let plain = |c: char| match SMALL.chars().position(|small| small == c) {
            Some(digit) => char::from(b'0' + digit as u8),
            None => '-',
        };
        return Some((length, text[..length].chars().map(plain).collect::<String>().parse().ok()?));
    };
    let open = rest.starts_with(['{', '(']);
    let inside = if open { &rest[1..] } else { rest };
    let unsigned = inside.strip_prefix(['-', '−']).unwrap_or(inside);
    let digits = run(unsigned, |c| c.is_ascii_digit());
    let value: i32 = unsigned[..digits].parse().ok()?;
    let after = &unsigned[digits..];
    let closes = !open || after.starts_with(['}', ')']);
    if !closes || (!open && after.starts_with('^')) {
        return None;
    }
    let length = text.len() - after.len() + usize::from(open);
    Some((length, if unsigned.len() < inside.len() { -value } else { value }))
}

fn exponent_end(text: &str, end: usize) -> Option<usize> {
    let rest = text[end..].strip_prefix(['e', 'E'])?;
    let sign = run(rest, |c| matches!(c, '+' | '-' | '−')).min(3);
    let digits = run(rest.get(sign..)?, |c| c.is_ascii_digit());
    let last = end + 1 + sign + digits;
    (digits > 0 && is_boundary(text, last)).then_some(last)
}

/// Whether a suffix counts operations: `TFLOPs`.
pub(super) fn is_of_operations(suffix: &str) -> bool {
    suffix.to_ascii_lowercase().contains("flop")
}

/// The factor of a word such as "million" that is all of `word`.
pub(super) fn factor_of(word: &str) -> Option<BigRational> {
    factor_of_suffix(word).filter(|_| words().is_in("number.sizes", word))
}

/// The size after a number, or only a word of it: "329,280 **million**", `1.3B`.
fn suffix(text: &str, start: usize, end: usize, only_words: bool) -> Option<(usize, BigRational)> {
    let behind = |at: usize| {
        let last = word_end(text, at);
        Some((last, text.get(at..last)?))
    };
    let (near, letters) = behind(letter_gap(text, start, end))?;
    if let Some(factor) = factor_of_suffix(letters).filter(|_| !only_words && letters.len() <= 3) {
        return Some((near, factor));
    }
    let (last, word) = behind(word_gap(text, end))?;
    // "Three millions" is the same number as "three million", and `TFLOP` is one of them.
    let word = word.to_ascii_lowercase();
    let is_amount = !is_of_operations(&word) || !only_words && !text[last..].starts_with("/s");
    let word = word.strip_suffix('s').unwrap_or(&word);
    let factor = factor_of_suffix(word).filter(|_| is_amount && word.len() > 3)?;
    Some((last, factor))
}

pub(super) fn unit(text: &str, start: usize, end: usize) -> Option<(usize, Unit)> {
    let at = word_gap(text, end);
    let rest = &text[at..];
    if let Some(sign) = words().start_of("unit.percent_signs", rest) {
        return Some((at + sign.len(), Unit::Percent));
    }
    for (list, unit) in [("unit.points", Unit::Points), ("unit.percent", Unit::Percent)] {
        let is_next =
            |word: &&String| begins_with(rest, word) && is_boundary(text, at + word.len());
        if let Some(word) = words().list(list).iter().find(is_next) {
            return Some((at + word.len(), unit));
        }
    }
    // `1.7x` is a factor; `8 x 384` is a product.
    if let Some(rest) = text[end..].strip_prefix("\\times")
        && (rest.is_empty() || rest.starts_with(['$', '}']))
    {
        return Some((text.len() - rest.len(), Unit::Times));
    }
    let fold = text[end..].trim_start_matches(['-', '\u{2011}', ' ']);
    if let Some(rest) = fold.strip_prefix("fold")
        && is_boundary(rest, 0)
    {
        return Some((text.len() - rest.len(), Unit::Times));
    }
    let end = end + closed_emphasis(text, start, end);
    let times = text[end..].chars().next().filter(|c| matches!(c, '×' | 'x'))?;
    let last = end + times.len_utf8();
    is_boundary(text, last).then_some((last, Unit::Times))
}

/// The possible start of a word that belongs to a number: after emphasis, a dash, spaces or a line break.
fn word_gap(text: &str, end: usize) -> usize {
    const MARKS: [char; 3] = ['*', '_', '`'];
    // The word may be part of a link.
    const OPENED: [char; 4] = ['*', '_', '`', '['];
    let rest = text[end..].trim_start_matches(MARKS);
    let dash = rest.strip_prefix(['-', '\u{2011}', '\u{2010}']).unwrap_or(rest);
    let (mut next, mut lines) = (dash, 0);
    loop {
        let width = space_width(next, 0);
        let is_line = next.starts_with(['\n', '\r', '\t']);
        lines += usize::from(next.starts_with('\n'));
        if lines > 1 || width == 0 && !is_line {
            break;
        }
        next = &next[width.max(1)..];
        // A quotation goes on with its mark.
        next = next.strip_prefix("> ").filter(|_| lines == 1 && is_line).unwrap_or(next);
    }
    let next = next.trim_start_matches(OPENED);
    if lines > 1 { end } else { text.len() - next.len() }
}

/// The possible start of a letter that belongs to a number: after one space, or the end of its emphasis.
fn letter_gap(text: &str, start: usize, end: usize) -> usize {
    let end = end + closed_emphasis(text, start, end);
    end + space_width(text, end)
}

/// The width of the marks that close the emphasis of a number alone: `**1.3**B`.
fn closed_emphasis(text: &str, start: usize, end: usize) -> usize {
    let marks = |c: char| c == '*' || c == '_';
    let before = &text[..start];
    let opened = before.len() - before.trim_end_matches(marks).len();
    let closes = run(&text[end..], marks);
    if opened == closes { closes } else { 0 }
}

/// The width of one space at `at`, or 0.
fn space_width(text: &str, at: usize) -> usize {
    words().start_of("sign.unit_spaces", &text[at..]).map_or(0, str::len)
}
