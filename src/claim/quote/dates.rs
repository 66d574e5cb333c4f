//! Days and moments: `2026-01-09 02:08:10`, "9 January 2026", "Jan 9, 2026".

use super::{belongs_to_a_name, is_boundary};
use crate::words::words;

/// The shortest form of a month: "Jan".
const SHORTEST_MONTH: usize = 3;

/// The end of the date that begins with the digit or letter at `at`, and the date as `2026-01-09` or
/// `2026-01-09 02:08:10`.
pub(super) fn read(text: &str, at: usize) -> Option<(usize, String)> {
    let date = standard(text, at).or_else(|| in_english(text, at));
    date.filter(|(end, _)| is_boundary(text, *end) && !belongs_to_a_name(text, at))
}

/// `2026-01-09`, with or without a time.
fn standard(text: &str, at: usize) -> Option<(usize, String)> {
    let shape = |at: usize, shape: &str| {
        let part = text.get(at..at + shape.len())?;
        let fits = std::iter::zip(part.chars(), shape.chars()).all(|(c, wanted)| match wanted {
            '0' => c.is_ascii_digit(),
            wanted => c == wanted,
        });
        fits.then_some(at + shape.len())
    };
    let day = shape(at, "0000-00-00")?;
    let mut times = words().list("date.times").iter();
    let end = times.find_map(|time| shape(day, time)).unwrap_or(day);
    Some((end, text[at..end].to_owned()))
}

/// "9 January 2026" or "January 9, 2026".
fn in_english(text: &str, at: usize) -> Option<(usize, String)> {
    let day_first = || {
        let (day, rest) = day(text, at)?;
        let (month, rest) = month(text, spaces(text, rest)?)?;
        Some((day, month, rest))
    };
    let month_first = || {
        let (month, rest) = month(text, at)?;
        let (day, rest) = day(text, spaces(text, rest)?)?;
        Some((day, month, rest))
    };
    let (day, month, rest) = day_first().or_else(month_first)?;
    let (year, end) = year(text, spaces(text, comma(text, rest))?)?;
    Some((end, format!("{year}-{month:02}-{day:02}")))
}

/// A day of a month, also "9th".
fn day(text: &str, at: usize) -> Option<(u32, usize)> {
    let digits = digits(text, at);
    let day = text[at..at + digits].parse().ok().filter(|day| (1..=31).contains(day))?;
    let end = at + digits;
    let ordinal = words().start_of("number.ordinals", &text[end..]).map_or(0, str::len);
    Some((day, end + ordinal))
}

/// A month by its capitalised name, also "Jan" and "Jan."; its number from 1.
fn month(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let length = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let word = &rest[..length];
    let is_capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    let word = word.to_ascii_lowercase();
    let is_month =
        |name: &String| name.starts_with(&word) || (word == "sept" && name.starts_with("sep"));
    let is_long_enough = is_capital && length >= SHORTEST_MONTH;
    let months = words().list("date.months");
    let index = months.iter().position(is_month).filter(|_| is_long_enough)?;
    let end = at + length;
    let dotted = rest[length..].starts_with('.') && word != months[index];
    Some((index + 1, if dotted { end + 1 } else { end }))
}

/// A year of four digits.
fn year(text: &str, at: usize) -> Option<(&str, usize)> {
    let digits = digits(text, at);
    let year = &text[at..at + digits];
    (digits == 4 && year.starts_with(['1', '2'])).then_some((year, at + digits))
}

fn digits(text: &str, at: usize) -> usize {
    text[at..].bytes().take_while(u8::is_ascii_digit).count()
}

fn comma(text: &str, at: usize) -> usize {
    if text[at..].starts_with(',') { at + 1 } else { at }
}

/// Where spaces end, of which there is one at least.
fn spaces(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].trim_start_matches([' ', '\n', '\u{a0}']);
    let end = text.len() - rest.len();
    (end > at).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn dates_are_read_in_figures_and_in_english() {
        let found = |text: &str| read(text, 0).map(|(end, date)| (date, text[..end].to_owned()));
        for (text, standard, written) in [
            ("2026-01-09 02:08:10 UTC", "2026-01-09 02:08:10", "2026-01-09 02:08:10"),
            ("9 January 2026.", "2026-01-09", "9 January 2026"),
            ("January 9, 2026, at", "2026-01-09", "January 9, 2026"),
            ("Sept. 30th 2025", "2025-09-30", "Sept. 30th 2025"),
            ("12 Mar 2026", "2026-03-12", "12 Mar 2026"),
        ] {
            assert_eq!(found(text), Some((standard.to_owned(), written.to_owned())), "{text}");
        }
        for text in [
            "9 january 2026",
            "32 May 2026",
            "May 2026",
            "9 Janus 2026",
            "March 9, 20263",
            "3 Ma 2026",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
