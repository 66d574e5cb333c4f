//! The numbers of a text, in the order in which they stand there.
//!
//! A number is a run of digits that is not part of a name: `9536-step` holds one, `bf16`, `MoE-64`,
//! `#420`, `0003` and `10th` hold none, and neither does the `1. ` of a list. Small counts in words (`two` to `twelve`) and `half`, `twice`,
//! `double` are numbers too. Behind `±` stands a number of its own. A date is an item without a value.

use std::ops::Range;

use repro_exact::decimal::{Bound, Printed};

/// A number of a text, or a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteItem {
    /// Where it stands in the text, in bytes, without the words before it.
    pub span: Range<usize>,
    /// What it is.
    pub kind: ItemKind,
    /// What the words before it say.
    pub hedge: Option<Hedge>,
}

/// What an item of a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// A number.
    Number(Printed),
    /// The number behind `±`.
    Spread(Printed),
    /// A day, with or without a time.
    Date(String),
}

/// What the words before a number make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hedge {
    /// It is near: "about", "roughly", `~`.
    About,
    /// It is a limit: "at least", `<`.
    Limit(Bound),
    /// It is a limit, or a count that something runs over: "over three seeds", "under two budgets".
    LimitOrCount(Bound),
}

impl QuoteItem {
    /// Its digits as they stand in the text.
    pub fn text<'a>(&self, of: &'a str) -> &'a str {
        of.get(self.span.clone()).unwrap_or_default()
    }

    /// Whether it is written in digits, and not in words.
    pub fn is_in_digits(&self, of: &str) -> bool {
        self.text(of).contains(|c: char| c.is_ascii_digit())
    }
}

/// Words before a number; longer ones stand before those that they begin or end with.
const HEDGES: &[(&str, Hedge)] = &[
    ("~", Hedge::About),
    ("≈", Hedge::About),
    ("about", Hedge::About),
    ("approximately", Hedge::About),
    ("approx.", Hedge::About),
    ("approx", Hedge::About),
    ("around", Hedge::About),
    ("roughly", Hedge::About),
    ("nearly", Hedge::About),
    ("almost", Hedge::About),
    (">=", Hedge::Limit(Bound::AtLeast)),
    ("≥", Hedge::Limit(Bound::AtLeast)),
    ("at least", Hedge::Limit(Bound::AtLeast)),
    ("no less than", Hedge::Limit(Bound::AtLeast)),
    ("<=", Hedge::Limit(Bound::AtMost)),
    ("≤", Hedge::Limit(Bound::AtMost)),
    ("at most", Hedge::Limit(Bound::AtMost)),
    ("up to", Hedge::Limit(Bound::AtMost)),
    ("no more than", Hedge::Limit(Bound::AtMost)),
    (">", Hedge::Limit(Bound::Above)),
    ("more than", Hedge::Limit(Bound::Above)),
    ("above", Hedge::Limit(Bound::Above)),
    ("over", Hedge::LimitOrCount(Bound::Above)),
    ("<", Hedge::Limit(Bound::Below)),
    ("less than", Hedge::Limit(Bound::Below)),
    ("fewer than", Hedge::Limit(Bound::Below)),
    ("below", Hedge::Limit(Bound::Below)),
    ("under", Hedge::LimitOrCount(Bound::Below)),
    ("sub-", Hedge::Limit(Bound::Below)),
];

/// Numbers in words. "One" is a pronoun more often than a number.
const WORDS: &[&str] = &[
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "half", "twice", "double",
];

const SUFFIXES: &[&str] =
    &["million", "billion", "trillion", "Ki", "Mi", "Gi", "Ti", "k", "K", "M", "B", "T"];
const UNITS: &[&str] = &["percentage points", "percentage point", "percent", "pp"];
const SPREADS: &[&str] = &["±", "+/-", "+-"];

/// The items of `text` in their order.
pub fn items(text: &str) -> Vec<QuoteItem> {
    let mut items = Vec::new();
    let mut at = 0;
    while let Some(here) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let next = at + here.len_utf8();
        if here.is_ascii_digit() || (here == '.' && starts_with_digit(text, next)) {
            at = read_digits(text, at, &mut items);
        } else if here == '\\' {
            // A command of TeX ends with its letters: `\approx20` holds a number.
            at = next + run(&text[next..], |c| c.is_ascii_alphabetic());
        } else if here.is_ascii_alphabetic() && starts_word(text, at) {
            let end = word_end(text, at);
            let word = &text[at..end];
            if WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
                && let Ok(printed) = Printed::parse(word)
            {
                items.push(item(text, at..end, ItemKind::Number(printed)));
            }
            // `v0.1` goes on behind its dot; a sentence does not.
            let name = word.contains(|c: char| c.is_ascii_digit());
            at = if name { name_end(text, end) } else { end };
        } else {
            at = next;
        }
    }
    items
}

/// Reads what begins with the digit at `at`, and returns where reading goes on.
fn read_digits(text: &str, at: usize, items: &mut Vec<QuoteItem>) -> usize {
    if let Some(end) = date(text, at) {
        items.push(item(text, at..end, ItemKind::Date(text[at..end].to_owned())));
        return end;
    }
    let mut end = number_end(text, at);
    if belongs_to_a_name(text, at)
        || is_a_name(&text[at..end], &text[end..])
        || is_a_list_mark(&text[..at], &text[end..])
    {
        return name_end(text, end);
    }
    let start = sign_start(text, at);
    let mut printed = Printed::parse(&text[start..end]);
    if printed.is_err() {
        end = at + run(&text[at..], |c| c.is_ascii_digit());
        printed = Printed::parse(&text[start..end]);
    }
    let Ok(printed) = printed else { return end };
    // `±` and its number; both share suffix and unit.
    let (sign, after) = spread_sign(text, end);
    if sign && starts_with_digit(text, after) {
        let spread_end = number_end(text, after);
        if let Ok(both) = Printed::parse(&text[start..spread_end])
            && let Some(spread) = both.spread().cloned()
        {
            items.push(item(text, start..end, ItemKind::Number(both)));
            items.push(QuoteItem {
                span: after..spread_end,
                kind: ItemKind::Spread(spread),
                hedge: None,
            });
            return spread_end;
        }
    }
    items.push(item(text, start..end, ItemKind::Number(printed)));
    end
}

fn item(text: &str, span: Range<usize>, kind: ItemKind) -> QuoteItem {
    let hedge = match kind {
        ItemKind::Number(_) => hedge(&text[..span.start]),
        _ => None,
    };
    QuoteItem { span, kind, hedge }
}

/// What the words at the end of `before` say about the number that follows.
fn hedge(before: &str) -> Option<Hedge> {
    let trimmed = before.trim_end().trim_end_matches('$');
    let ends = |word: &str| {
        let start = trimmed.len().checked_sub(word.len())?;
        let tail = trimmed.get(start..)?;
        let head = trimmed.get(..start)?;
        let whole = !word.starts_with(|c: char| c.is_alphabetic())
            || !head.ends_with(|c: char| c.is_alphanumeric());
        (tail.eq_ignore_ascii_case(word) && whole).then_some(())
    };
    HEDGES.iter().find(|(word, _)| ends(word).is_some()).map(|(_, hedge)| *hedge)
}

/// The end of the number that begins at `at`, with suffix and unit.
fn number_end(text: &str, at: usize) -> usize {
    let mut end = at + run(&text[at..], |c| c.is_ascii_digit());
    if end > at {
        end = groups_end(text, at, end);
    }
    if text[end..].starts_with('.') && starts_with_digit(text, end + 1) {
        end += 1 + run(&text[end + 1..], |c| c.is_ascii_digit());
    }
    end = exponent_end(text, end).or_else(|| power_end(text, end)).unwrap_or(end);
    end = suffix_end(text, end).unwrap_or(end);
    unit_end(text, end).unwrap_or(end)
}

/// Groups of three digits behind one kind of separator.
fn groups_end(text: &str, start: usize, end: usize) -> usize {
    let Some(separator) = text[end..].chars().next() else { return end };
    let separates = matches!(separator, ',' | '_' | '\u{2009}' | '\u{202f}' | '\u{a0}');
    if !separates || end - start > 3 || text[start..].starts_with('0') {
        return end;
    }
    let mut last = end;
    while let Some(rest) = text[last..].strip_prefix(separator) {
        if run(rest, |c| c.is_ascii_digit()) != 3 {
            break;
        }
        last += separator.len_utf8() + 3;
    }
    // `1,209,5` is a list, whatever it means.
    match text[last..].strip_prefix(separator) {
        Some(rest) if separator != ',' && rest.starts_with(|c: char| c.is_ascii_digit()) => end,
        _ => last,
    }
}

fn exponent_end(text: &str, end: usize) -> Option<usize> {
    let rest = text[end..].strip_prefix(['e', 'E'])?;
    let sign = run(rest, |c| matches!(c, '+' | '-' | '−')).min(3);
    let digits = run(rest.get(sign..)?, |c| c.is_ascii_digit());
    let last = end + 1 + sign + digits;
    (digits > 0 && is_boundary(text, last)).then_some(last)
}

/// `×10^3`, `x 10⁻³`.
fn power_end(text: &str, end: usize) -> Option<usize> {
    let rest = text[end..].trim_start();
    let rest = rest.strip_prefix(['×', 'x'])?.trim_start().strip_prefix("10")?;
    let superscript = |c: char| "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".contains(c);
    let length = match rest.strip_prefix('^') {
        Some(power) => {
            let sign = usize::from(power.starts_with('-'));
            1 + sign + run(&power[sign..], |c| c.is_ascii_digit())
        }
        None => run(rest, superscript),
    };
    (length > 1).then(|| text.len() - rest.len() + length)
}

fn suffix_end(text: &str, end: usize) -> Option<usize> {
    let space = space_width(text, end);
    let rest = &text[end + space..];
    let suffix = SUFFIXES.iter().find(|suffix| rest.starts_with(**suffix))?;
    let last = end + space + suffix.len();
    is_boundary(text, last).then_some(last)
}

fn unit_end(text: &str, end: usize) -> Option<usize> {
    let space = space_width(text, end);
    let rest = &text[end + space..];
    if rest.starts_with('%') {
        return Some(end + space + 1);
    }
    let word = |unit: &&&str| {
        let last = end + space + unit.len();
        rest.get(..unit.len()).is_some_and(|next| next.eq_ignore_ascii_case(unit))
            && is_boundary(text, last)
    };
    if let Some(unit) = UNITS.iter().find(word) {
        return Some(end + space + unit.len());
    }
    // `1.7x` is so many times; `8 x 384` is a product.
    let times = text[end..].chars().next().filter(|c| matches!(c, '×' | 'x'))?;
    let last = end + times.len_utf8();
    is_boundary(text, last).then_some(last)
}

/// The width of one space at `at`, or 0.
fn space_width(text: &str, at: usize) -> usize {
    let first = text[at..].chars().next();
    first
        .filter(|c| matches!(c, ' ' | '\u{2009}' | '\u{202f}' | '\u{a0}'))
        .map_or(0, char::len_utf8)
}

/// Where `±` ends and its number begins, if it comes next.
fn spread_sign(text: &str, end: usize) -> (bool, usize) {
    let rest = text[end..].trim_start();
    let Some(sign) = SPREADS.iter().find(|sign| rest.starts_with(**sign)) else {
        return (false, end);
    };
    (true, text.len() - rest[sign.len()..].trim_start().len())
}

/// A plus or minus before the digits, where it is no dash between two things.
fn sign_start(text: &str, at: usize) -> usize {
    let before = &text[..at];
    let before = before.strip_suffix('$').unwrap_or(before);
    let Some(head) = before.strip_suffix(['-', '−', '+']) else { return before.len() };
    let free = head
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || "([{=:,|<>~≈±`\"'*/".contains(c));
    if free && !head.trim_end().ends_with('±') { head.len() } else { before.len() }
}

/// Whether the digits at `at` go on a name: `bf16`, `MoE-64`, `#420`, `v0.1`.
fn belongs_to_a_name(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let command = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if command.ends_with('\\') && command.len() < before.len() {
        return false;
    }
    let mut back = before.chars().rev();
    match back.next() {
        Some(c) if c.is_alphabetic() || c == '_' || c == '#' => true,
        // A dash between digits is a range; `sub-25M` is a limit.
        Some('-') => back.next().is_some_and(char::is_alphabetic) && !before.ends_with("sub-"),
        Some('.') => back.next().is_some_and(|c| c.is_alphanumeric()),
        _ => false,
    }
}

/// Whether digits are a name by themselves: `0003`, `10th`, `1.2.3`.
fn is_a_name(digits: &str, rest: &str) -> bool {
    let whole = digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let ordinal = ["st", "nd", "rd", "th"]
        .iter()
        .any(|ending| rest.starts_with(ending) && is_boundary(rest, ending.len()));
    let version = rest.starts_with('.') && digits.contains('.') && starts_with_digit(rest, 1);
    (whole && digits.starts_with('0')) || ordinal || version
}

/// Whether digits count the entries of a list or the sections of a text: `1. ` at the start of a line.
fn is_a_list_mark(before: &str, rest: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    let starts = line.chars().all(|c| c.is_whitespace() || c == '#');
    starts && rest.strip_prefix(['.', ')']).is_some_and(|rest| rest.starts_with(' '))
}

/// The end of `YYYY-MM-DD`, with a time behind it where there is one.
fn date(text: &str, at: usize) -> Option<usize> {
    let shape = |at: usize, shape: &str| {
        let part = text.get(at..at + shape.len())?;
        let fits = std::iter::zip(part.chars(), shape.chars()).all(|(c, wanted)| match wanted {
            '0' => c.is_ascii_digit(),
            wanted => c == wanted,
        });
        fits.then_some(at + shape.len())
    };
    let day = shape(at, "0000-00-00")?;
    let time = ["T00:00:00Z", " 00:00:00Z", "T00:00:00", " 00:00:00", " 00:00", "T00:00"];
    let end = time.iter().find_map(|time| shape(day, time)).unwrap_or(day);
    (is_boundary(text, end) && !belongs_to_a_name(text, at)).then_some(end)
}

/// Whether no word goes on at `at`.
fn is_boundary(text: &str, at: usize) -> bool {
    !text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whether a word begins at `at`.
fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Where the word at `at` ends.
fn word_end(text: &str, at: usize) -> usize {
    at + run(&text[at..], |c| c.is_alphanumeric() || c == '_')
}

/// Where a name that goes on at `at` ends; dots and dashes inside it belong to it.
fn name_end(text: &str, at: usize) -> usize {
    let mut end = word_end(text, at);
    while let Some(rest) = text[end..].strip_prefix(['.', '-'])
        && rest.starts_with(|c: char| c.is_alphanumeric())
    {
        end = word_end(text, end + 1);
    }
    end
}

fn starts_with_digit(text: &str, at: usize) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The length in bytes of the characters at the start that fit.
fn run(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<&str> {
        items(text).iter().map(|item| item.text(text)).collect()
    }

    #[test]
    fn numbers_are_found_in_order() {
        for (text, numbers) in [
            ("slice under totalDN = 8", &["8"][..]),
            ("headline rows at 20% of horizon", &["20%"]),
            ("Tokens at 20%bpbCORE", &["20%"]),
            ("on the same 9536-step, 4.9996B-token June-style family", &["9536", "4.9996B"]),
            ("(K + shared) * moe_inter_dim = 8 x 384 = 3072", &["8", "384", "3072"]),
            ("MoE-64 in bf16, d10 and `#420`, 0003, top-2 on H100", &[]),
            (
                "1.5786 ± 0.0025 over three seeds, 4.5% below",
                &["1.5786", "0.0025", "three", "4.5%"],
            ),
            ("4.5% ± 0.2", &["4.5%", "0.2"]),
            ("[-0.0007, 0.0310]", &["-0.0007", "0.0310"]),
            ("checkpoints={2%,5%,10%,20%}", &["2%", "5%", "10%", "20%"]),
            ("0.257→0.457", &["0.257", "0.457"]),
            ("8320–9536 and 12-16", &["8320", "9536", "12", "16"]),
            ("p=0.003; t = -6.9", &["0.003", "-6.9"]),
            ("$1.25 an hour, 1.7x, 1.7 × and 1.7×10^3", &["$1.25", "1.7x", "1.7", "1.7×10^3"]),
            ("γ = 4,999,610,368 / 190,532,352.", &["4,999,610,368", "190,532,352"]),
            ("the 10th of 1,2,3", &["1", "2", "3"]),
            ("version 1.2.3, v0.1, MoE-64-12, 0003-0005 and #4.5", &[]),
            ("Published 2026-03-14, 2026-03-03T16:15:00Z", &["2026-03-14", "2026-03-03T16:15:00Z"]),
            ("Two of the three; one is twice as large", &["Two", "three", "twice"]),
            ("5 Models, 5 M, 16 kB, 250ms", &["5", "5 M", "16", "250"]),
            ("50 trillion tokens, 1.5 million, 3 millions", &["50 trillion", "1.5 million", "3"]),
            (r"\(r_a^{**}\approx20\%\), \zeta^2 L^3", &["20", "2", "3"]),
            ("1e-7 and 3.2E+4, 1.1e20", &["1e-7", "3.2E+4", "1.1e20"]),
            ("24 percent, 1.5 percentage points", &["24 percent", "1.5 percentage points"]),
            ("| 0.43 | .5 |", &["0.43", ".5"]),
            ("## 3. Results\n  1. 20 seeds\n2) 30, 4. 5", &["20", "30", "4", "5"]),
        ] {
            assert_eq!(texts(text), numbers, "{text}");
        }
    }

    #[test]
    fn words_before_a_number_are_read() {
        for (text, hedge) in [
            ("about twice", Some(Hedge::About)),
            ("~3", Some(Hedge::About)),
            ("at least 0.5", Some(Hedge::Limit(Bound::AtLeast))),
            ("p < 0.01", Some(Hedge::Limit(Bound::Below))),
            ("sub-25M", Some(Hedge::Limit(Bound::Below))),
            (r"x\approx20", Some(Hedge::About)),
            ("up to 7x", Some(Hedge::Limit(Bound::AtMost))),
            ("over three seeds", Some(Hedge::LimitOrCount(Bound::Above))),
            ("the cover 3", None),
            ("is 3", None),
        ] {
            let items = items(text);
            assert_eq!(items.first().map(|item| item.hedge), Some(hedge), "{text}");
        }
    }

    #[test]
    fn a_spread_shares_the_unit() {
        let items = items("4.5 ± 0.2%");
        let ItemKind::Spread(spread) = &items[1].kind else { panic!("{items:?}") };
        assert_eq!(spread.unit(), repro_exact::decimal::Unit::Percent);
    }

    proptest! {
        #[test]
        fn items_stand_apart_and_in_order(text in "[-+±a-cxkM%0-9., #_e²×\u{a0}]{0,40}") {
            let mut last = 0;
            for item in items(&text) {
                prop_assert!(item.span.start >= last && item.span.end > item.span.start);
                prop_assert!(text.get(item.span.clone()).is_some());
                last = item.span.end;
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = items(&text);
        }
    }
}
