//! Days and moments: `2026-01-09 02:08:10`, "9 January 2026", "Jan 9, 2026".

use super::{belongs_to_a_name, is_boundary, run};
use crate::sentence::first_bytes;
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
    /// The maximum length of a date.
    const LONGEST: usize = 40;
    let near = first_bytes(&text[at..], LONGEST);
    let parts = near.split_inclusive(char::is_whitespace).map(str::trim_end);
    let mut parts = parts.filter(|part| !part.is_empty());
    let (first, second, year) = (parts.next()?, parts.next()?.trim_end_matches(','), parts.next()?);
    let (day, month) = day(first).zip(month(second)).or_else(|| day(second).zip(month(first)))?;
    let year = &year[..run(year, |c| c.is_ascii_digit())];
    let start = year.as_ptr() as usize - text.as_ptr() as usize;
    let is_year = year.len() == 4 && year.starts_with(['1', '2']);
    is_year.then(|| (start + year.len(), format!("{year}-{month:02}-{day:02}")))
}

/// A day of a month, also "9th".
fn day(word: &str) -> Option<u32> {
    let (digits, behind) = word.split_at(run(word, |c| c.is_ascii_digit()));
    let is_day = behind.is_empty() || words().is_in("number.ordinals", behind);
    digits.parse().ok().filter(|day| is_day && (1..=31).contains(day))
}

/// A month by its capitalized name, also "Jan" and "Jan."; its number from 1.
fn month(word: &str) -> Option<usize> {
    if word.len() < SHORTEST_MONTH || !word.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let bare = word.trim_end_matches('.').to_lowercase();
    let bare = if bare == "sept" { "sep" } else { &bare };
    let months = words().list("date.months");
    let index =
        months.iter().position(|name| bare.len() >= SHORTEST_MONTH && name.starts_with(bare));
    index.map(|index| index + 1)
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
