//! Signs around a number that make another number of it: a root, a power, a logarithm, another base.

use std::ops::Range;

use super::begins_with;
use super::written::vulgar;
use crate::words::words;

/// Whether a number is a part of a formula, or goes on in signs that are not read with it.
pub(super) fn are_part_of_a_formula(text: &str, span: &Range<usize>) -> bool {
    let before = &text[..span.start];
    let rest = &text[span.end..];
    let functions = words().list("sign.functions").iter();
    functions
        .map(String::as_str)
        .any(|sign| before.ends_with(sign) && !is_inside_a_word(before, sign))
        || is_exponent(before)
        || goes_on(&text[span.clone()], rest)
}

/// Whether letters of a word stand before a sign that begins with a letter: "the dialog 5".
fn is_inside_a_word(before: &str, sign: &str) -> bool {
    sign.starts_with(|c: char| c.is_ascii_alphabetic())
        && before[..before.len() - sign.len()].ends_with(char::is_alphanumeric)
}

/// Whether a number is the power to which `e` or a number is raised.
fn is_exponent(before: &str) -> bool {
    let bare = before.trim_end_matches(['{', '(']);
    let Some(base) = bare.strip_suffix('^') else { return false };
    base.ends_with(|c: char| c.is_ascii_digit())
        || base.strip_suffix('e').is_some_and(|head| !head.ends_with(char::is_alphanumeric))
}

/// Whether signs behind a number belong to it and were not read.
fn goes_on(number: &str, rest: &str) -> bool {
    let is_decimal = number.contains('.');
    let mut signs = rest.chars();
    let first = signs.next().unwrap_or(' ');
    let then_digit = signs.next().is_some_and(|c| c.is_ascii_digit() || "{(-−".contains(c));
    // `^1^` is a note.
    let is_note = || rest[1..].trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('^');
    match first {
        '\'' | '’' => then_digit,
        '^' => then_digit && !is_note(),
        // `1.7_{016}` goes on below the line.
        '_' => then_digit && rest.starts_with("_{"),
        sign if "⁰¹²³⁴⁵⁶⁷⁸⁹⁻".contains(sign) => is_decimal,
        sign if vulgar(sign).is_some() => true,
        _ => {
            let rest = rest.trim_start();
            words().list("sign.bases").iter().any(|base| begins_with(rest, base))
        }
    }
}
