//! nanochat pages as lines: sections below `## NAME` with entries `- key: value` and table rows.

use std::ops::Range;
use std::sync::Arc;

use jiff::civil::DateTime;
use repro_claim::relation::{PrintedRange, RelationNumber};
use repro_claim::table::{PrintedCell, cells};
use repro_core::source::Source;

use crate::check::stated::{Digits, StatedRow};

/// Units that can follow a number.
const UNITS: &[&str] = &["%", "MiB", "m", "/hour"];

/// `key: value`, with or without a dash before it.
#[derive(Debug, Clone)]
pub struct PageEntry<'t> {
    pub key: &'t str,
    /// The location of its value.
    pub span: Range<usize>,
}

/// The text below a second-level heading; the text above the first heading has no name.
#[derive(Debug, Default)]
pub struct PageSection<'t> {
    pub name: &'t str,
    pub entries: Vec<PageEntry<'t>>,
    /// Table rows, each with the last third-level heading above it.
    pub lines: Vec<(&'t str, Vec<PrintedCell>)>,
}

/// The sections of a page.
pub fn sections(text: &str) -> Vec<PageSection<'_>> {
    let mut all = vec![PageSection::default()];
    let (mut at, mut below) = (0, "");
    for whole in text.split_inclusive('\n') {
        let (start, line) = (at, whole.trim_end());
        at += whole.len();
        if let Some(name) = line.strip_prefix("## ") {
            all.push(PageSection { name: name.trim(), ..PageSection::default() });
            below = "";
        } else if let Some(name) = line.strip_prefix("### ") {
            below = name.trim();
        } else if let Some(section) = all.last_mut() {
            match cells(line, start) {
                Some(cells) => section.lines.push((below, cells)),
                None => section.entries.extend(entry(line, start)),
            }
        }
    }
    all
}

/// A colon ends a key unless a space precedes it: `Tokens : Params ratio: 20.0`.
fn entry(line: &str, start: usize) -> Option<PageEntry<'_>> {
    let bare = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
    let is_end = |(at, _): &(usize, &str)| !bare.get(..*at).unwrap_or_default().ends_with(' ');
    let (colon, _) = bare.match_indices(':').find(is_end)?;
    let (key, value) = (bare.get(..colon)?, bare.get(colon + 1..)?);
    let value_start = line.len() - value.trim_start().len();
    let is_key = !key.is_empty() && !key.starts_with(['#', '`', '<']);
    is_key.then(|| PageEntry { key, span: start + value_start..start + line.len() })
}

impl<'t> PageSection<'t> {
    /// The last value of a key, as printed.
    pub fn value(&self, text: &'t str, key: &str) -> Option<&'t str> {
        let entry = self.entries.iter().rev().find(|entry| entry.key == key)?;
        text.get(entry.span.clone())
    }
}

/// Records the value of an entry under its key, converted to a formula name.
pub fn state(row: &mut StatedRow, prefix: &str, entry: &PageEntry<'_>, source: &Arc<Source>) {
    let span = number_in(source.text(), entry.span.clone());
    row.print(format!("{prefix}{}", name(entry.key)), source, span, Digits::Rounded);
}

/// Converts a key to a formula name: `MFU %` is `mfu`, `Tokens : Params ratio` is `tokens_params_ratio`.
pub fn name(key: &str) -> String {
    let lower = key.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// The range of the number in a value, without currency sign and unit; the whole value if it is not a number.
pub fn number_in(text: &str, span: Range<usize>) -> Range<usize> {
    let value = text.get(span.clone()).unwrap_or_default();
    let bare = value.strip_prefix('$').unwrap_or(value);
    let digits = UNITS.iter().find_map(|unit| bare.strip_suffix(unit)).unwrap_or(bare);
    let plain = digits.replace(',', "");
    if !digits.ends_with(|c: char| c.is_ascii_digit()) || plain.parse::<f64>().is_err() {
        return span;
    }
    let start = span.start + (value.len() - bare.len());
    start..start + digits.len()
}

/// Records a printed timestamp as seconds.
pub fn read_time(row: &mut StatedRow, seconds: &str, stated: &str) {
    let Some(printed) = row.text(stated).map(str::to_owned) else { return };
    let Ok(time) = printed.trim().parse::<DateTime>() else { return };
    let since = time.duration_since(DateTime::ZERO).as_secs() as f64;
    row.quote(seconds, stated, PrintedRange::of(since), &printed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_as_sections_and_entries() {
        let text = "Made: 1\n## One two\ntimestamp: 2025-10-20 10:00:01\n\n- Tokens : Params ratio: 20.0\n\
            - note: a: b\n### Below\n| a | b |\n";
        let all = sections(text);
        assert_eq!(all.iter().map(|section| section.name).collect::<Vec<_>>(), ["", "One two"]);
        let told = |section: &PageSection<'_>| -> Vec<(String, String)> {
            let of = |entry: &PageEntry<'_>| (name(entry.key), text[entry.span.clone()].to_owned());
            section.entries.iter().map(of).collect()
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(told(&all[0]), [pair("made", "1")]);
        assert_eq!(
            told(&all[1]),
            [
                pair("timestamp", "2025-10-20 10:00:01"),
                pair("tokens_params_ratio", "20.0"),
                pair("note", "a: b"),
            ]
        );
        assert_eq!(all[1].lines[0].0, "Below");
        assert_eq!(all[1].value(text, "note"), Some("a: b"));
    }

    #[test]
    fn numbers_lose_their_units_and_texts_do_not() {
        let number = |text: &str| text[number_in(text, 0..text.len())].to_owned();
        assert_eq!(number("$24.00/hour"), "24.00");
        assert_eq!(number("75422.02MiB"), "75422.02");
        assert_eq!(number("172.57m"), "172.57");
        assert_eq!(number("48.04%"), "48.04");
        assert_eq!(number("560,988,160"), "560,988,160");
        assert_eq!(number("3h35m"), "3h35m");
        assert_eq!(number("None"), "None");
    }

    #[test]
    fn times_become_seconds() {
        let source = Arc::new(Source::new("x.md", b"2025-11-11 09:15:44 never".to_vec()).unwrap());
        let mut row = StatedRow::default();
        row.print("from", &source, 0..19, Digits::Rounded);
        row.print("to", &source, 20..25, Digits::Rounded);
        read_time(&mut row, "seconds", "from");
        read_time(&mut row, "none", "to");
        assert_eq!(row.number("seconds").map(|seconds| seconds % 60.0), Some(44.0));
        assert!(row.cell("none").is_none());
    }
}
