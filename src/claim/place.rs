//! Where a quote stands in a text.

use std::ops::Range;

use crate::table::{self, PrintedCell};

/// Every place of `quote`; a run of white space matches any other, so that a quote may cross lines.
pub fn of_quote(text: &str, quote: &str) -> Vec<Range<usize>> {
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

/// The same where bars part what a page runs together: `1,209 | 2,476` stands in "1,2092,476". A part of a
/// line of cells stands there as it is.
pub fn of_parted_quote(text: &str, quote: &str) -> Vec<Range<usize>> {
    if !quote.contains('|') {
        return of_quote(text, quote);
    }
    let line = format!("|{quote}|");
    let found = table::cells(&line, 0).map(|cells| of_row(text, &cells)).unwrap_or_default();
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

/// The same, cell by cell; a cell without text is an empty place.
pub fn cells_of_row(text: &str, row: &[PrintedCell]) -> Vec<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(cells) = table::cells(line, at).filter(|cells| table::same(cells, row)) {
            found.push(cells.into_iter().map(|cell| cell.span).collect());
        }
        at += line.len();
    }
    if found.is_empty() { squeezed(text, row) } else { found }
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
        assert_eq!(cells_of_row(flat, &row), [[5..10, 10..21, 21..26]]);
        assert_eq!(cells_of_row(pipes, &row), [[3..8, 9..20, 21..26]]);
    }
}
