//! Numbers in words: counts to ninety-nine, fractions, "twofold", "half a million".
//!
//! "One" and "a" are numbers only before a fraction, a size or a percentage. A fraction in words means "about".

use std::ops::Range;

use num_rational::BigRational;
use repro_core::decimal::{Printed, Unit};

use super::word_end;
use super::written::{self, Written, factor_of};
use crate::words::words;

/// Whether a word alone may be a number, or the first of one.
pub(super) fn may_be_one(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let whole = word.strip_suffix("fold").unwrap_or(&word);
    small(whole).is_some()
        || matches!(whole, "half" | "dozen")
        || words().pair("multiple", whole).is_some()
        || factor_of(whole).is_some_and(|_| whole.len() > 2)
}

/// A count of the unit that follows.
struct Amount {
    value: BigRational,
    /// The end of its words.
    end: usize,
    /// Whether it is an exact count.
    is_exact: bool,
    /// Whether it is a number only before a size or a percentage.
    is_article: bool,
}

/// Reads the number in words at `at`: the count, its size and its unit.
pub(super) fn read(text: &str, at: usize) -> Option<Written> {
    let end = word_end(text, at);
    let word = text[at..end].to_ascii_lowercase();
    if let Some(times) = times(&word) {
        return Some(inexact(text, at..end, whole(times), Unit::Times));
    }
    if word == "one"
        && let Some(found) = one_in(text, at, end)
    {
        return Some(found);
    }
    let Amount { value, mut end, is_exact, is_article } = amount(text, at, &word, end)?;
    // A fraction may be followed by a size: "half a million", "a third of a million".
    let mut behind = end;
    for joint in ["of", "a"].iter().filter(|_| !is_exact && !is_article) {
        let joined = next(text, behind).filter(|(_, next)| next == joint);
        behind = joined.map_or(behind, |(last, _)| last);
    }
    let size = next(text, behind).and_then(|(last, word)| Some((last, size_of(&word)?)));
    if let Some((last, size)) = size {
        let span = at..last;
        if !is_exact || is_article {
            return Some(inexact(text, span, value * size, Unit::Plain));
        }
        let printed = counted(&value)?.times(&size).shown_as(&text[span.clone()]);
        return Some(Written { span, printed, scale: Some(size) });
    }
    let mut unit = Unit::Plain;
    match written::unit(text, at, behind) {
        Some((last, percent @ (Unit::Percent | Unit::Points))) if word != "a" || !is_article => {
            (end, unit) = (last, percent);
        }
        _ if is_article => return None,
        _ => {}
    }
    if !is_exact {
        return Some(inexact(text, at..end, value, unit));
    }
    let printed = counted(&value)?.in_unit(unit).shown_as(&text[at..end]);
    Some(Written { span: at..end, printed, scale: None })
}

/// "Two", "twenty-five", "half", "two thirds", "two and a half", "a".
fn amount(text: &str, at: usize, word: &str, mut end: usize) -> Option<Amount> {
    let half = BigRational::new(1.into(), 2.into());
    let mut value = match word {
        "half" => half.clone(),
        "dozen" => whole(12),
        "a" | "one" => whole(1),
        // `zero-shot` is a name.
        "zero" if text[end..].starts_with('-') => return None,
        count => whole(small(count)?),
    };
    if words().is_in("number.tens", word)
        && let Some((last, next)) = next(text, end)
        && let Some(ones) = small(&next).filter(|ones| (1..10).contains(ones))
    {
        (end, value) = (last, value + whole(ones));
    }
    if let Some((end, bottom)) = part(text, at, word, end) {
        let value = value / whole(bottom);
        return Some(Amount { value, end, is_exact: false, is_article: false });
    }
    if word != "a"
        && let Some(rest) = text[end..].strip_prefix(" and a half")
    {
        let (value, end) = (value + half, text.len() - rest.len());
        return Some(Amount { value, end, is_exact: false, is_article: false });
    }
    let is_exact = !matches!(word, "half" | "dozen");
    Some(Amount { value, end, is_exact, is_article: matches!(word, "a" | "one") })
}

/// A count as printed in digits.
fn counted(count: &BigRational) -> Option<Printed> {
    Printed::parse(&count.to_integer().to_string()).ok()
}

/// "twice", "double", "fivefold".
fn times(word: &str) -> Option<usize> {
    let times = words().pair("multiple", word).and_then(|times| times.parse().ok());
    times.or_else(|| word.strip_suffix("fold").and_then(small))
}

/// "One in three", "one out of three".
fn one_in(text: &str, at: usize, end: usize) -> Option<Written> {
    let rest = text[end..].strip_prefix(" in ").or_else(|| text[end..].strip_prefix(" out of "))?;
    let bottom = text.len() - rest.len();
    let last = word_end(text, bottom);
    let bottom = small(&text[bottom..last].to_ascii_lowercase()).filter(|bottom| *bottom > 1)?;
    let goes_on = text[last..].starts_with('-')
        || next(text, last).is_some_and(|(_, word)| factor_of(&word).is_some());
    let value = BigRational::new(1.into(), bottom.into());
    (!goes_on).then(|| inexact(text, at..last, value, Unit::Plain))
}

/// The fraction, and the end of its word: "two thirds", "a quarter of". "A third run" and "two third runs" contain no
/// fraction.
fn part(text: &str, at: usize, count: &str, end: usize) -> Option<(usize, usize)> {
    let (last, part) = next(text, end)?;
    let is_part = match count {
        "a" => match next(text, last) {
            Some((_, word)) => words().is_in("number.of_a_part", &word),
            None => is_said_of_something(&text[..at]),
        },
        "one" => true,
        _ => part.ends_with('s') && small(count).is_some_and(|count| (2..10).contains(&count)),
    };
    let single = if matches!(count, "a" | "one") { &part } else { part.trim_end_matches('s') };
    let bottom = words().position("number.parts", single).filter(|_| is_part)?;
    Some((last, bottom + 3))
}

/// Whether "a third" at the end of a clause is a fraction of something instead of an ordinal.
fn is_said_of_something(before: &str) -> bool {
    let word = before.split_whitespace().last().unwrap_or_default();
    words().is_in("number.before_a_part", &word.to_ascii_lowercase())
}

/// The size of a word that can follow a fraction: "half a million", "half a dozen".
fn size_of(word: &str) -> Option<BigRational> {
    if word == "dozen" { Some(whole(12)) } else { factor_of(word) }
}

/// The next word after a space or a dash.
fn next(text: &str, end: usize) -> Option<(usize, String)> {
    let rest = text[end..].strip_prefix([' ', '-', '\u{a0}'])?;
    let at = text.len() - rest.len();
    let last = word_end(text, at);
    (last > at).then(|| (last, text[at..last].to_ascii_lowercase()))
}

fn whole(number: usize) -> BigRational {
    BigRational::from_integer(number.into())
}

fn inexact(text: &str, span: Range<usize>, value: BigRational, unit: Unit) -> Written {
    let printed = Printed::in_words(&text[span.clone()], value, unit);
    Written { span, printed, scale: None }
}

/// A count in one word, except "one".
fn small(word: &str) -> Option<usize> {
    if let Some(tens) = words().position("number.tens", word) {
        return Some(10 * (tens + 2));
    }
    words().position("number.counts", word).filter(|count| *count != 1)
}
