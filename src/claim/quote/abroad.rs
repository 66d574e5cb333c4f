//! Numbers as other countries write them: `1.234.567`, `1.234,56`, `6 150,5`, `12,34,567`. English readers may read them
//! otherwise or in parts, so that they are whole and never read surely.

use std::ops::Range;

use num_rational::BigRational;
use repro_exact::decimal::{Printed, Unit};

use super::{run, starts_with_digit};
use crate::words::words;

/// The number that begins at `at`, if it is written so that an English reader would part it.
pub(super) fn read(text: &str, at: usize) -> Option<(Range<usize>, Printed)> {
    if text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/".contains(c)) {
        return None;
    }
    let rest = &text[at..];
    let (length, digits) =
        with_points(rest).or_else(|| with_spaces(rest)).or_else(|| of_india(rest))?;
    let goes_on = rest[length..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        || rest[length..].starts_with(['.', ',', '-', '/']) && starts_with_digit(rest, length + 1);
    let value: BigRational = Printed::parse(&digits).ok()?.value().clone();
    let span = at..at + length;
    let printed = Printed::in_words(&text[span.clone()], value, Unit::Plain);
    (!goes_on).then_some((span, printed))
}

/// `1.234.567`, `1.234,56`.
fn with_points(text: &str) -> Option<(usize, String)> {
    let (mut length, groups) = in_groups(text, ".", 3)?;
    let mut digits = text[..length].replace('.', "");
    if let Some(decimals) = decimals(text, length) {
        digits = format!("{digits}.{}", &text[length + 1..decimals]);
        length = decimals;
    } else if groups < 2 {
        return None;
    }
    (!text.starts_with('0')).then_some((length, digits))
}

/// `6 150,5`.
fn with_spaces(text: &str) -> Option<(usize, String)> {
    let digits = run(text, |c| c.is_ascii_digit());
    let (length, _) = in_groups(text, words().start_of("sign.spaces", &text[digits..])?, 3)?;
    let decimals = decimals(text, length)?;
    let digits: String = text[..length].chars().filter(char::is_ascii_digit).collect();
    Some((decimals, format!("{digits}.{}", &text[length + 1..decimals])))
}

/// `12,34,567`.
fn of_india(text: &str) -> Option<(usize, String)> {
    let (length, _) = in_groups(text, ",", 2)?;
    let last = text[length..].strip_prefix(',')?;
    let is_group = run(last, |c| c.is_ascii_digit()) == 3 && run(text, |c| c.is_ascii_digit()) < 3;
    let length = length + 4;
    is_group.then(|| (length, text[..length].replace(',', "")))
}

/// The length of up to three digits with groups of so many behind them, and how many groups there are.
fn in_groups(text: &str, separator: &str, size: usize) -> Option<(usize, usize)> {
    let mut length = run(text, |c| c.is_ascii_digit());
    let is_first = (1..=3).contains(&length);
    let mut groups = 0;
    while let Some(rest) = text[length..].strip_prefix(separator)
        && run(rest, |c| c.is_ascii_digit()) == size
    {
        length += separator.len() + size;
        groups += 1;
    }
    (is_first && groups > 0).then_some((length, groups))
}

/// Where the digits behind a comma end; none where a space or another point follows.
fn decimals(text: &str, at: usize) -> Option<usize> {
    let digits = run(text[at..].strip_prefix(',')?, |c| c.is_ascii_digit());
    (digits > 0).then_some(at + 1 + digits)
}

/// Whether a number is one side of a comma that may be a decimal one: `1,5` and no list of more.
pub(super) fn may_have_a_decimal_comma(text: &str, span: &Range<usize>) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || ",.".contains(c);
    let before = text[..span.start].len() - text[..span.start].trim_end_matches(is_part).len();
    let start = span.start - before;
    let token = text[start..start + run(&text[start..], is_part)].trim_end_matches([',', '.']);
    let Some((whole, decimals)) = token.split_once(',') else { return false };
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_listed = text[..start].ends_with(['(', '[', '{', ',', '_', '=']);
    is_digits(whole) && is_digits(decimals) && decimals.len() != 3 && !is_listed
}

#[cfg(test)]
mod tests {
    use super::super::{ItemKind, items};

    #[test]
    fn numbers_of_other_countries_are_whole_and_never_sure() {
        for (text, number, value) in [
            ("has 1.234.567 parameters", "1.234.567", "1234567"),
            ("costs 1.234,56 euros", "1.234,56", "123456/100"),
            ("weighs 6 150,5 kg", "6 150,5", "61505/10"),
            ("weighs 6\u{a0}150,5 kg", "6\u{a0}150,5", "61505/10"),
            ("of 12,34,567 people.", "12,34,567", "1234567"),
        ] {
            let found = items(text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].text(text), number);
            assert!(found[0].is_unclear, "{text}");
            let ItemKind::Number(number) = &found[0].kind else { panic!("{text}") };
            assert_eq!(*number.value(), value.parse().unwrap(), "{text}");
        }
        let unclear =
            |text: &str| items(text).iter().map(|item| item.is_unclear).collect::<Vec<_>>();
        assert_eq!(unclear("a loss of 1,70"), [true; 2]);
        for text in [
            "1,209,352",
            "1.5",
            "seeds (1,2)",
            "1,2,3",
            "x = [0.9,0.95]",
            "12,345",
            "1.702, 5",
            "6 150, 5",
        ] {
            assert!(!unclear(text).contains(&true), "{text}");
        }
        for text in ["version 1.2.3", "0.123.456", "at 192.168.1.1", "v1.234.567"] {
            assert!(items(text).is_empty(), "{text}");
        }
    }
}
