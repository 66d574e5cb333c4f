//! Numbers in words: counts to ninety-nine, fractions, "twofold", "half a million".
//!
//! "One" and "a" are numbers only before a fraction or a power of ten. A fraction in words is "about" by itself.

use num_rational::BigRational;
use repro_exact::decimal::{Printed, Unit};

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

/// Reads the number in words that begins at `at`.
pub(super) fn read(text: &str, at: usize) -> Option<Written> {
    let end = word_end(text, at);
    let word = text[at..end].to_ascii_lowercase();
    one_in(text, at, &word, end)
        .or_else(|| one_percent(text, at, &word, end))
        .or_else(|| fraction(text, at, &word, end))
        .or_else(|| multiple(text, at, &word, end))
        .or_else(|| count(text, at, &word, end))
}

/// The next word behind a space or a dash.
fn next(text: &str, end: usize) -> Option<(usize, String)> {
    let rest = text[end..].strip_prefix([' ', '-', '\u{a0}'])?;
    let at = text.len() - rest.len();
    let last = word_end(text, at);
    (last > at).then(|| (last, text[at..last].to_ascii_lowercase()))
}

fn whole(number: usize) -> BigRational {
    BigRational::from_integer(number.into())
}

fn inexact(text: &str, at: usize, end: usize, value: BigRational, unit: Unit) -> Written {
    let printed = Printed::in_words(&text[at..end], value, unit);
    Written { span: at..end, printed, scale: None }
}

/// "One in three", "one out of three".
fn one_in(text: &str, at: usize, word: &str, end: usize) -> Option<Written> {
    let rest = text[end..].strip_prefix(" in ").or_else(|| text[end..].strip_prefix(" out of "))?;
    let bottom = text.len() - rest.len();
    let last = word_end(text, bottom);
    let bottom = small(&text[bottom..last].to_ascii_lowercase()).filter(|bottom| *bottom > 1)?;
    let goes_on = text[last..].starts_with('-')
        || next(text, last).is_some_and(|(_, word)| factor_of(&word).is_some());
    let value = BigRational::new(1.into(), bottom.into());
    (word == "one" && !goes_on).then(|| inexact(text, at, last, value, Unit::Plain))
}

/// "two thirds", "a quarter of", "half a million", "a third of a million".
fn fraction(text: &str, at: usize, word: &str, end: usize) -> Option<Written> {
    let (end, value) = if word == "half" {
        (end, BigRational::new(1.into(), 2.into()))
    } else {
        let top = match word {
            "a" | "one" => 1,
            _ => small(word).filter(|top| (2..10).contains(top))?,
        };
        let (last, part) = next(text, end)?;
        let single = part.strip_suffix('s').filter(|_| top > 1).unwrap_or(&part);
        let bottom = words().position("number.parts", single)? + 3;
        // A third run is no fraction, and "two third runs" is none.
        let is_part = match word {
            "a" => match next(text, last) {
                Some((_, word)) => words().is_in("number.of_a_part", &word),
                None => is_said_of_something(&text[..at]),
            },
            "one" => true,
            _ => part.ends_with('s'),
        };
        if !is_part {
            return None;
        }
        (last, BigRational::new(top.into(), bottom.into()))
    };
    // "of a million", "a million"
    let mut last = end;
    for word in ["of", "a"] {
        if let Some((after, next)) = next(text, last)
            && next == word
        {
            last = after;
        }
    }
    let part = || inexact(text, at, end, value.clone(), Unit::Plain);
    Some(of_something(text, at, last, &value).unwrap_or_else(part))
}

/// So many of the size or percent that stands next: "half a million", "half a percent", "two and a half percent".
fn of_something(text: &str, at: usize, end: usize, value: &BigRational) -> Option<Written> {
    if let Some((last, word)) = next(text, end)
        && let Some(size) = size_of(&word)
    {
        return Some(inexact(text, at, last, value * size, Unit::Plain));
    }
    let (last, tenths, unit) = written::unit(text, at, end)?;
    let value = value * BigRational::new(tenths.into(), 10.into());
    let is_percent = matches!(unit, Unit::Percent | Unit::Points);
    is_percent.then(|| inexact(text, at, last, value, unit))
}

/// The size of a word of which there may be a part: "half a million", "half a dozen".
fn size_of(word: &str) -> Option<BigRational> {
    if word == "dozen" { Some(whole(12)) } else { factor_of(word) }
}

/// Whether "a third" at the end of a clause is so much of something, and no third one.
fn is_said_of_something(before: &str) -> bool {
    let word = before.split_whitespace().last().unwrap_or_default();
    words().is_in("number.before_a_part", &word.to_ascii_lowercase())
}

/// "twice", "double", "triple", "fivefold", "a million", "a dozen".
fn multiple(text: &str, at: usize, word: &str, end: usize) -> Option<Written> {
    let times = words().pair("multiple", word).and_then(|times| times.parse().ok());
    let times = times.or_else(|| word.strip_suffix("fold").and_then(small));
    if let Some(times) = times {
        return Some(inexact(text, at, end, whole(times), Unit::Times));
    }
    if word == "dozen" {
        return Some(inexact(text, at, end, whole(12), Unit::Plain));
    }
    if !matches!(word, "a" | "one") {
        return None;
    }
    if let Some(rest) = text[end..].strip_prefix(" and a half").filter(|_| word == "one") {
        return Some(and_a_half(text, at, 1, text.len() - rest.len()));
    }
    let (last, next) = next(text, end)?;
    Some(inexact(text, at, last, size_of(&next)?, Unit::Plain))
}

/// "two", "twenty-five", "two hundred", "four million".
fn count(text: &str, at: usize, word: &str, end: usize) -> Option<Written> {
    let mut number = small(word)?;
    let mut end = end;
    let behind = next(text, end);
    if words().is_in("number.tens", word)
        && let Some((last, next)) = &behind
        && let Some(ones) = small(next).filter(|ones| (1..10).contains(ones))
    {
        number += ones;
        end = *last;
    } else if word == "zero" && text[end..].starts_with('-') {
        // `zero-shot` is a name.
        return None;
    }
    if let Some(rest) = text[end..].strip_prefix(" and a half") {
        return Some(and_a_half(text, at, number, text.len() - rest.len()));
    }
    let printed = Printed::parse(&number.to_string()).ok()?;
    let plain = Written { span: at..end, printed: printed.shown_as(&text[at..end]), scale: None };
    let size = next(text, end).and_then(|(last, word)| Some((last, size_of(&word)?)));
    let Some((last, factor)) = size else { return Some(in_percent(text, plain)) };
    let printed = plain.printed.times(&factor).shown_as(&text[at..last]);
    Some(Written { span: at..last, printed, scale: Some(factor) })
}

/// "One percent": before a unit, "one" is a number.
fn one_percent(text: &str, at: usize, word: &str, end: usize) -> Option<Written> {
    let printed = Printed::parse("1").ok().filter(|_| word == "one")?;
    let number = Written { span: at..end, printed, scale: None };
    Some(in_percent(text, number)).filter(|number| number.span.end > end)
}

/// "Sixty-three percent".
fn in_percent(text: &str, number: Written) -> Written {
    match written::unit(text, number.span.start, number.span.end) {
        Some((end, _, unit @ (Unit::Percent | Unit::Points))) => {
            let span = number.span.start..end;
            let printed = number.printed.in_unit(unit).shown_as(&text[span.clone()]);
            Written { span, printed, ..number }
        }
        _ => number,
    }
}

/// "two and a half", "two and a half million".
fn and_a_half(text: &str, at: usize, number: usize, end: usize) -> Written {
    let value = whole(number) + BigRational::new(1.into(), 2.into());
    let alone = || inexact(text, at, end, value.clone(), Unit::Plain);
    of_something(text, at, end, &value).unwrap_or_else(alone)
}

/// A count in one word; "one" is none.
fn small(word: &str) -> Option<usize> {
    if let Some(tens) = words().position("number.tens", word) {
        return Some(10 * (tens + 2));
    }
    words().position("number.counts", word).filter(|count| *count != 1)
}
