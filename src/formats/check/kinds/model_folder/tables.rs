//! Card tables, and name normalization.

use std::ops::Range;

use repro_claim::table::{PrintedCell, cells, is_rule};

/// A table: its header, and its rows with their line numbers.
#[derive(Debug)]
pub struct CardTable {
    pub head: Vec<PrintedCell>,
    pub rows: Vec<(usize, Vec<PrintedCell>)>,
}

impl CardTable {
    /// The cells below the header with the row label and the column label.
    pub fn cells(&self) -> impl Iterator<Item = TableCell<'_>> {
        self.rows.iter().flat_map(|(line, row)| {
            let label = row.first().map_or("", |cell| &*cell.text);
            std::iter::zip(&self.head, row).skip(1).map(move |(head, cell)| TableCell {
                row: label,
                column: &head.text,
                cell,
                line: *line,
            })
        })
    }
}

/// A cell with its labels.
#[derive(Debug, Clone, Copy)]
pub struct TableCell<'t> {
    pub row: &'t str,
    pub column: &'t str,
    pub cell: &'t PrintedCell,
    pub line: usize,
}

/// The tables of a card.
pub fn tables(text: &str) -> Vec<CardTable> {
    let mut all: Vec<CardTable> = Vec::new();
    let (mut at, mut is_inside) = (0, false);
    for (line, whole) in text.split_inclusive('\n').enumerate() {
        let row = cells(whole, at);
        at += whole.len();
        let was_inside = std::mem::replace(&mut is_inside, row.is_some());
        let Some(row) = row.filter(|row| !is_rule(row)) else { continue };
        match all.last_mut().filter(|_| was_inside) {
            Some(table) => table.rows.push((line + 1, row)),
            None => all.push(CardTable { head: row, rows: Vec::new() }),
        }
    }
    all
}

/// Normalizes a name for comparison: letters and digits, without the owner before a slash, markup and link targets.
pub fn name(text: &str) -> String {
    let text = match text.split_once('[').and_then(|(_, rest)| rest.split_once("](")) {
        Some((words, _)) => words,
        None => text,
    };
    let last = text.rsplit('/').next().unwrap_or(text);
    last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The only number in a cell and its range in the text: `**84.1**`, `84.1%`; none for `84.1 (5-shot)`.
pub fn number(cell: &PrintedCell) -> Option<(&str, Range<usize>)> {
    let bare = cell.text.trim_matches(['*', '_', '`', ' ', '%', '\\']);
    let start = cell.span.start + cell.text.find(bare)?;
    let is_number =
        bare.chars().all(|c| c.is_ascii_digit() || c == '.') && bare.parse::<f64>().is_ok();
    is_number.then_some((bare, start..start + bare.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_parted_by_other_lines() {
        let text = "|a|b|\n|-|-|\n|x|**1.5**|\n\n| c | d |\n|:-:|---|\n| y | 2 (5-shot) |\n| z | 3% |\ntext\n";
        let tables = tables(text);
        let told: Vec<_> = tables
            .iter()
            .flat_map(CardTable::cells)
            .map(|of| (of.row, of.column, number(of.cell).map(|(text, _)| text), of.line))
            .collect();
        assert_eq!(
            told,
            [("x", "b", Some("1.5"), 3), ("y", "d", None, 7), ("z", "d", Some("3"), 8)]
        );
        let (_, span) = number(&tables[0].rows[0].1[1]).unwrap();
        assert_eq!(&text[span], "1.5");
    }

    #[test]
    fn names_are_compared_by_their_letters() {
        assert_eq!(name("[**My-Model 7B**](https://x/y)"), "mymodel7b");
        assert_eq!(name("owner/My_Model-7b"), "mymodel7b");
    }
}
