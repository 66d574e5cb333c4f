//! Characters around a number that change its value: a root, a power, a decimal comma.

use std::ops::Range;

use super::written::raised;
use super::{NEAR, before};
use crate::sentence::first_bytes;
use crate::words::words;

/// Characters that change the display order of the line.
const OTHER_ORDER: [char; 5] = ['\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}'];

/// Whether a number is part of a formula, or continues with characters that are not read with it.
pub(super) fn are_part_of_more(text: &str, span: &Range<usize>) -> bool {
    let before = before(text, span.start);
    let line = before.rsplit('\n').next().unwrap_or_default();
    words().end_of("sign.functions", before).is_some()
        || OTHER_ORDER.iter().any(|sign| line.contains(*sign))
        || goes_on(&text[span.clone()], &text[span.end..])
        || may_have_a_decimal_comma(text, span)
}

/// Whether a power or fraction after a number was not read with it: `1.7^2`, `6²`, `6½`, `6‰`. `^1^` is a footnote, and so
/// is a superscript digit after groups of digits.
fn goes_on(number: &str, rest: &str) -> bool {
    let is_power = rest.starts_with('^') && raised(rest).is_some();
    let is_sign = |c: char| !c.is_ascii() && c.is_numeric() || matches!(c, '⁻' | '‰');
    is_power || rest.starts_with(is_sign) && !number.contains(',')
}

/// Whether a number is one side of a comma that may be a decimal one: `1,5`, `1.234,56`, and no list of more.
fn may_have_a_decimal_comma(text: &str, span: &Range<usize>) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || ",.".contains(c);
    // Only the neighborhood is read: a text may be one list of a million numbers.
    let head = before(text, span.start);
    let start = span.start - (head.len() - head.trim_end_matches(is_part).len());
    let rest = first_bytes(&text[start..], 2 * NEAR);
    let token = &rest[..rest.len() - rest.trim_start_matches(is_part).len()];
    let Some((whole, decimals)) = token.trim_end_matches([',', '.']).split_once(',') else {
        return false;
    };
    let is_listed = text[..start].ends_with(['(', '[', '{', ',', '_', '=']);
    let are_decimals = decimals.len() != 3 && decimals.bytes().all(|byte| byte.is_ascii_digit());
    !whole.is_empty() && !decimals.is_empty() && are_decimals && !is_listed
}
