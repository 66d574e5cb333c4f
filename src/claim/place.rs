//! Where a quote stands in a text.

use std::ops::Range;

use crate::quote;
use crate::seen::{HIDDEN, has_no_width};
use crate::spelling::PlainSpelling;
use crate::table::{self, PrintedCell, PrintedTable};

/// Every place of `quote`; a run of white space matches any other, so that a quote may cross lines. Where the
/// text has it in no such place, other quotation marks and dashes and the marks of emphasis make no difference.
pub fn of_quote(text: &str, quote: &str) -> Vec<Range<usize>> {
    let mut found = as_spelled(text, quote);
    if found.is_empty() {
        found = as_read(text, quote);
    }
    found.retain(|place| !cuts_a_number(text, place) && !parts_an_item(text, place));
    found
}

/// Whether a stretch of a text ends or begins inside what is read as one number there: "329,280" of
/// "329,280\nmillion". A mark of money or of nearness alone may be left out.
fn parts_an_item(text: &str, place: &Range<usize>) -> bool {
    /// So much around an end shows how a number is read.
    const AROUND: usize = 80;
    let parts = |at: usize| {
        let start = boundary(text, at.saturating_sub(AROUND));
        let end = boundary(text, (at + AROUND).min(text.len()));
        let at = at - start;
        let near = &text[start..end];
        quote::items(near).iter().any(|item| {
            let is_inside = item.span.start < at && at < item.span.end;
            is_inside && !near[item.span.start..at].trim_end_matches(['$', '+']).is_empty()
        })
    };
    let inside = text[place.clone()].trim_matches(|c: char| c.is_whitespace());
    let ends_with_digit = inside.ends_with(|c: char| c.is_ascii_digit());
    let begins_with_digit = inside.starts_with(|c: char| c.is_ascii_digit());
    begins_with_digit && parts(place.start) || ends_with_digit && parts(place.end)
}

/// Whether a stretch of a text begins or ends inside a number, or leaves out its sign or unit.
fn cuts_a_number(text: &str, place: &Range<usize>) -> bool {
    let inside = &text[place.clone()];
    let (before, after) = (&text[..place.start], &text[place.end..]);
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let begins = digit(inside.chars().next()) && {
        let mut back = before.chars().rev();
        match back.next() {
            Some(c) if c.is_ascii_digit() => true,
            Some('.' | ',') => digit(back.next()),
            // A sign, and not the dash of a range or a name.
            Some('-' | '+' | '\u{2212}') => {
                back.next().is_none_or(|c| !c.is_alphanumeric() && c != ')')
            }
            _ => false,
        }
    };
    let ends = digit(inside.chars().next_back()) && {
        let mut next = after.chars();
        match next.next() {
            Some(c) if c.is_ascii_digit() => true,
            Some('%' | '\u{2030}' | '^') => true,
            Some('.' | ',') => digit(next.next()),
            Some('e' | 'E') => {
                next.next().is_some_and(|c| c.is_ascii_digit() || matches!(c, '+' | '-'))
            }
            Some('k' | 'K' | 'M' | 'B' | 'T') => next.next().is_none_or(|c| !c.is_alphanumeric()),
            _ => false,
        }
    };
    begins || ends
}

/// Whether a bar between two cells would part a number from its sign, its exponent or its unit.
fn parts_a_number(left: &str, right: &str) -> bool {
    const SIZES: [&str; 6] = ["thousand", "million", "billion", "trillion", "percent", "hundred"];
    let (left, right) = (left.trim(), right.trim());
    let sign = left.ends_with(['-', '+', '\u{2212}', '\u{2013}'])
        && right.starts_with(|c: char| c.is_ascii_digit());
    let mut next = right.chars();
    let unit = match (next.next(), next.next()) {
        (Some('%' | '\u{2030}' | '^'), _) => true,
        (Some('e' | 'E'), Some(c)) => c.is_ascii_digit() || matches!(c, '+' | '-'),
        (Some('k' | 'K' | 'M' | 'B' | 'T'), None) => true,
        _ => SIZES.iter().any(|size| right.to_ascii_lowercase().starts_with(size)),
    };
    sign || left.ends_with(|c: char| c.is_ascii_digit()) && unit
}

/// Every place of a quote, however its signs are spelled. Its words must all be there, and only what stands around
/// the longest of them is read: a text may be long, and its quotes many.
fn as_read(text: &str, quote: &str) -> Vec<Range<usize>> {
    /// A word at more places is no help.
    const MOST_PLACES: usize = 64;
    let plain = PlainSpelling::of(quote).text;
    let words = || plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    // Signs that nobody sees may stand inside words.
    let is_whole = !text.contains(|c| has_no_width(c) && c != HIDDEN);
    if is_whole && words().any(|word| !text.contains(word)) {
        return Vec::new();
    }
    let longest = words().max_by_key(|word| word.len()).unwrap_or_default();
    let starts = text.match_indices(longest).take(MOST_PLACES + 1).map(|(at, _)| at);
    let starts: Vec<_> = starts.collect();
    if longest.is_empty() || !is_whole || starts.len() > MOST_PLACES {
        return PlainSpelling::of(text).places(quote);
    }
    // Emphasis and spaces may make it longer in the text.
    let around = 3 * quote.len() + 200;
    let mut found = Vec::new();
    for at in starts {
        let start = boundary(text, at.saturating_sub(around));
        let end = boundary(text, (at + around).min(text.len()));
        let places = PlainSpelling::of(&text[start..end]).places(quote);
        found.extend(places.into_iter().map(|place| start + place.start..start + place.end));
    }
    if found.is_empty() && text.contains(HIDDEN) {
        // The address of a link may be as long as it likes.
        return PlainSpelling::of(text).places(quote);
    }
    found.sort_by_key(|place| (place.start, place.end));
    found.dedup();
    found
}

/// Every place of a quote with the same signs.
fn as_spelled(text: &str, quote: &str) -> Vec<Range<usize>> {
    let words: Vec<&str> = quote.split_whitespace().collect();
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let whole = |start: usize| {
        let mut end = start + first.len();
        for word in rest {
            let gap = text[end..].trim_start();
            let skipped = text.len() - gap.len();
            if skipped == end || !gap.starts_with(word) {
                return None;
            }
            end = skipped + word.len();
        }
        Some(start..end)
    };
    text.match_indices(first).filter_map(|(start, _)| whole(start)).collect()
}

/// The last beginning of a character up to `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// The same where bars part what a page runs together: `1,209 | 2,476` stands in "1,2092,476". A part of a
/// line of cells stands there as it is.
pub fn of_parted_quote(text: &str, quote: &str) -> Vec<Range<usize>> {
    if !quote.contains('|') {
        return of_quote(text, quote);
    }
    let line = format!("|{quote}|");
    let cells = table::cells(&line, 0).unwrap_or_default();
    let parts = |pair: &[PrintedCell]| parts_a_number(&pair[0].text, &pair[1].text);
    let found = match cells.windows(2).any(parts) {
        true => Vec::new(),
        false => of_row(text, &cells),
    };
    if found.is_empty() { of_quote(text, quote) } else { found }
}

/// Every place of a line of a table: as a line of cells, or, where a page was copied without its
/// lines, as the texts of the cells one behind the other with nothing but white space between them.
pub fn of_row(text: &str, row: &[PrintedCell]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if table::cells(line, at).is_some_and(|cells| table::same(&cells, row)) {
            found.push(at..at + line.trim_end().len());
        }
        at += line.len();
    }
    if !found.is_empty() {
        return found;
    }
    let ends = |cells: Vec<Range<usize>>| Some(cells.first()?.start..cells.last()?.end);
    squeezed(text, row).into_iter().filter_map(ends).collect()
}

/// Where the lines of a printed table stand in one table of a text, cell by cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedTable {
    /// The cells of its head.
    pub head: Vec<Range<usize>>,
    /// The cells of each row; none of a row that this table does not have.
    pub rows: Vec<Option<Vec<Range<usize>>>>,
}

impl PlacedTable {
    /// A table of the text itself.
    pub fn itself(table: &PrintedTable) -> Self {
        let rows = table.rows.iter().map(|row| Some(spans(row))).collect();
        Self { head: spans(&table.head), rows }
    }

    fn count(&self) -> usize {
        self.rows.iter().flatten().count()
    }
}

/// The table of a text that has the head of a printed one, and the most of its rows; none where no table has its
/// head. Where a page was copied without its lines, the rows stand behind the head.
pub fn of_table(text: &str, printed: &PrintedTable) -> Option<PlacedTable> {
    let with_lines = PrintedTable::all_with(text, &printed.head, table::same);
    let found = with_lines.iter().map(|table| placed_in(table, printed));
    let found: Vec<_> = match with_lines.is_empty() {
        true => squeezed(text, &printed.head)
            .into_iter()
            .map(|head| placed_behind(text, head, printed))
            .collect(),
        false => found.collect(),
    };
    let most = found.iter().map(PlacedTable::count).max()?;
    found.into_iter().find(|table| table.count() == most)
}

fn spans(row: &[PrintedCell]) -> Vec<Range<usize>> {
    row.iter().map(|cell| cell.span.clone()).collect()
}

/// The rows of a printed table in a table of the text, each in a line of its own.
fn placed_in(table: &PrintedTable, printed: &PrintedTable) -> PlacedTable {
    let mut taken = vec![false; table.rows.len()];
    let mut place = |wanted: &Vec<PrintedCell>| {
        let mut rows = table.rows.iter().enumerate();
        let (at, row) = rows.find(|(at, row)| !taken[*at] && table::same(row, wanted))?;
        taken[at] = true;
        Some(spans(row))
    };
    let rows = printed.rows.iter().map(&mut place).collect();
    PlacedTable { head: spans(&table.head), rows }
}

/// The rows of a printed table behind a head whose table lost its lines.
fn placed_behind(text: &str, head: Vec<Range<usize>>, printed: &PrintedTable) -> PlacedTable {
    let cells = printed.rows.iter().flatten().map(|cell| cell.text.len() + 1);
    // Some rows may be left out, and no page is between a head and its rows.
    let reach = 2000 + 8 * cells.sum::<usize>();
    let start = head.last().map_or(0, |cell| cell.end);
    let end = boundary(text, (start + reach).min(text.len()));
    let shifted = |cells: Vec<Range<usize>>| {
        cells.into_iter().map(|cell| start + cell.start..start + cell.end)
    };
    let place = |row: &Vec<PrintedCell>| {
        squeezed(&text[start..end], row).into_iter().next().map(|cells| shifted(cells).collect())
    };
    let rows = printed.rows.iter().map(place).collect();
    PlacedTable { head, rows }
}

/// The places of cells whose characters follow each other when white space is left out.
fn squeezed(text: &str, row: &[PrintedCell]) -> Vec<Vec<Range<usize>>> {
    let characters =
        |cell: &PrintedCell| cell.text.chars().filter(|c| !c.is_whitespace()).collect();
    let cells: Vec<Vec<char>> = row.iter().map(characters).collect();
    let Some(first) = cells.iter().flatten().next() else { return Vec::new() };
    let whole = |start: usize| {
        let mut rest = text[start..].char_indices().filter(|(_, c)| !c.is_whitespace());
        let mut end = start;
        let mut spans = Vec::with_capacity(cells.len());
        for cell in &cells {
            let mut span = end..end;
            for (index, c) in cell.iter().enumerate() {
                let (at, found) = rest.next()?;
                if found != *c {
                    return None;
                }
                end = start + at + c.len_utf8();
                span = if index == 0 { start + at..end } else { span.start..end };
            }
            spans.push(span);
        }
        Some(spans)
    };
    text.match_indices(*first).filter_map(|(start, _)| whole(start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_may_cross_lines() {
        let text = "the loss is\n  3.28 here; the loss is 3.28\tthere";
        let found = of_quote(text, "loss is 3.28");
        assert_eq!(found.len(), 2);
        assert_eq!(&text[found[0].clone()], "loss is\n  3.28");
        assert!(of_quote(text, "loss is3.28").is_empty());
        assert!(of_quote(text, "  ").is_empty());
        assert!(of_quote(text, "there is").is_empty());
    }

    #[test]
    fn the_spelling_of_signs_does_not_count() {
        let text = "the model’s loss is **3.28**";
        let found = of_quote(text, "model's loss is 3.28");
        assert_eq!(&text[found[0].clone()], "model’s loss is **3.28");
        assert!(of_quote(text, "model's loss is 3.29").is_empty());
    }

    #[test]
    fn a_quote_cuts_no_number() {
        assert!(of_quote("a loss of 1.75", "a loss of 1.7").is_empty());
        assert!(of_quote("a loss of -1.75", "1.75").is_empty());
        assert!(of_quote("12% less", "12").is_empty());
        assert!(of_quote("3.5e5 tokens", "3.5").is_empty());
        assert_eq!(of_quote("steps 9-11, run-3.", "11").len(), 1);
        assert_eq!(of_quote("it is 3.", "it is 3").len(), 1);
        assert_eq!(of_quote("8 x 384 = 3072", "8 x 384").len(), 1);
        assert!(of_quote("has 329,280\nmillion", "has 329,280").is_empty());
        assert!(of_quote("has 329,280 **million**", "has 329,280").is_empty());
        assert!(of_quote("is 1.7\u{200b}095", "is 1.7").is_empty());
        assert_eq!(of_quote("is 1.7\u{200b}095", "is 1.7095").len(), 1);
        assert_eq!(of_quote("paid $1.25 an hour", "1.25 an hour").len(), 1);
        assert!(of_parted_quote("is -1.7", "is - | 1.7").is_empty());
        assert!(of_parted_quote("is 1.7%", "is 1.7 | %").is_empty());
    }

    #[test]
    fn bars_part_what_a_page_runs_together() {
        assert_eq!(of_parted_quote("x 1,2092,476", "1,209 | 2,476"), vec![2..12]);
        assert_eq!(of_parted_quote("loss is 3", "loss is 3"), vec![0..9]);
    }

    #[test]
    fn a_row_is_found_with_and_without_its_lines() {
        let row = table::cells("| Dense | 190,532,352 | 26.24 |", 0).unwrap();
        let pipes = "x\n|Dense|190,532,352|26.24|\n";
        assert_eq!(of_row(pipes, &row), vec![2..pipes.len() - 1]);
        let flat = "ModelDense190,532,35226.24MoE";
        assert_eq!(of_row(flat, &row), vec![5..26]);
        assert!(of_row("Dense190,532,352 26.25", &row).is_empty());
        assert_eq!(squeezed(flat, &row), [[5..10, 10..21, 21..26]]);
    }

    #[test]
    fn a_printed_table_stands_below_its_head() {
        let printed = PrintedTable::parse("| arm | loss |\n| a | 1 |\n| b | 2 |").unwrap();
        let found = |text: &str| of_table(text, &printed).map(|table| table.rows);
        let text = "| arm | loss |\n|--|--|\n| b | 2 |\n| a | 1 |\n";
        assert_eq!(found(text), Some(vec![Some(vec![35..36, 39..40]), Some(vec![25..26, 29..30])]));
        assert_eq!(found("| loss | arm |\n| a | 1 |\n| b | 2 |\n"), None);
        let apart = "| arm | loss |\n| a | 1 |\n\n| arm | gap |\n| b | 2 |\n";
        assert_eq!(found(apart), Some(vec![Some(vec![17..18, 21..22]), None]));
        assert_eq!(found("Arm loss\narm loss\na\n1\nb\n2").map(|rows| rows.len()), Some(2));
        assert_eq!(found("a 1 b 2 arm loss"), Some(vec![None, None]));
    }
}
