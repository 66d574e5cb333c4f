//! Tables as they are printed: lines of cells between `|`, or marked up.

mod marked_up;

use std::iter::Peekable;
use std::ops::Range;

use crate::seen::HIDDEN;
use crate::spelling;

/// A cell: its text without the space around it, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedCell {
    /// What it holds.
    pub text: String,
    /// Where that stands in the text that the table was read from, in bytes.
    pub span: Range<usize>,
}

impl PrintedCell {
    /// The same cell of a text that begins so much later.
    fn shifted(mut self, by: usize) -> Self {
        self.span = self.span.start + by..self.span.end + by;
        self
    }
}

/// A table: the line of its head, and its other lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedTable {
    /// The first line.
    pub head: Vec<PrintedCell>,
    /// The other lines.
    pub rows: Vec<Vec<PrintedCell>>,
}

impl PrintedTable {
    /// Reads a table that stands alone in a text; none where there are no two lines of cells.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = lines(text).filter(|(_, line)| !line.trim().is_empty()).peekable();
        let table = Self::read(&mut lines)?;
        lines.next().is_none().then_some(table)
    }

    /// The table of a longer text whose head has these cells, if there is just one.
    pub fn find(text: &str, head: &[PrintedCell]) -> Result<Self, usize> {
        // A head that is spelled so goes before one that is only read so.
        let as_spelled = |a: &[PrintedCell], b: &[PrintedCell]| {
            a.len() == b.len() && std::iter::zip(a, b).all(|(a, b)| a.text == b.text)
        };
        match Self::find_by(text, head, as_spelled) {
            Err(0) => Self::find_by(text, head, same),
            found => found,
        }
    }

    fn find_by(
        text: &str,
        head: &[PrintedCell],
        same: impl Fn(&[PrintedCell], &[PrintedCell]) -> bool,
    ) -> Result<Self, usize> {
        let mut found = Self::all_with(text, head, same);
        let count = found.len();
        found.pop().filter(|_| count == 1).ok_or(count)
    }

    /// Every table of a longer text whose head has these cells.
    pub fn all_with(
        text: &str,
        head: &[PrintedCell],
        same: impl Fn(&[PrintedCell], &[PrintedCell]) -> bool,
    ) -> Vec<Self> {
        let mut found = Vec::new();
        let all: Vec<_> = lines(text).collect();
        for (index, (start, line)) in all.iter().enumerate() {
            if cells(line, *start).is_some_and(|line| same(&line, head)) {
                found.extend(Self::read(&mut all.iter().copied().skip(index).peekable()));
            }
        }
        for mut rows in marked_up::tables(text) {
            let Some(at) = rows.iter().position(|row| same(row, head)) else { continue };
            let mut rows = rows.split_off(at).into_iter();
            let Some(head) = rows.next() else { continue };
            let rows: Vec<_> = rows.filter(|row| row.len() == head.len()).collect();
            found.extend((!rows.is_empty()).then_some(Self { head, rows }));
        }
        found
    }

    /// The line whose first cells are these, parted by `|` where there are several, if there is just one.
    pub fn row(&self, label: &str) -> Option<usize> {
        self.row_by(label, |cell, part| cell == part).or_else(|| self.row_by(label, spelling::same))
    }

    fn row_by(&self, label: &str, same: impl Fn(&str, &str) -> bool) -> Option<usize> {
        let parts: Vec<_> = label.split('|').map(str::trim).collect();
        let fits = |(_, row): &(usize, &Vec<PrintedCell>)| {
            row.len() >= parts.len()
                && std::iter::zip(row.iter(), &parts).all(|(cell, part)| same(&cell.text, part))
        };
        let mut rows = self.rows.iter().enumerate().filter(fits);
        let at = rows.next()?.0;
        rows.next().is_none().then_some(at)
    }

    /// The table that begins with the next line and ends before the first that is none of its lines.
    fn read<'a>(lines: &mut Peekable<impl Iterator<Item = (usize, &'a str)>>) -> Option<Self> {
        let mut next = || {
            let (start, line) = lines.peek().copied()?;
            let cells = cells(line, start)?;
            lines.next();
            Some(cells)
        };
        let mut rows = std::iter::from_fn(&mut next);
        let head = rows.next()?;
        let rows: Vec<_> = rows.filter(|row| !is_rule(row)).collect();
        (!rows.is_empty()).then_some(Self { head, rows })
    }
}

/// The cells of a line; none where it does not begin with `|`.
pub fn cells(line: &str, start: usize) -> Option<Vec<PrintedCell>> {
    let trimmed = line.trim_end();
    let inner = trimmed.trim_start().strip_prefix('|')?;
    let mut at = start + trimmed.len() - inner.len();
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let mut cells = Vec::new();
    for part in inner.split('|') {
        cells.push(cell(line, at - start..at - start + part.len()).shifted(start));
        at += part.len() + 1;
    }
    Some(cells)
}

/// The cell in a stretch of a text, without the space around it and what nobody sees in it.
fn cell(text: &str, inside: Range<usize>) -> PrintedCell {
    let part = &text[inside.clone()];
    let bare = part.trim_start();
    let start = inside.end - bare.len();
    let bare = bare.trim_end();
    PrintedCell { text: bare.replace(HIDDEN, ""), span: start..start + bare.len() }
}

/// The column that a head names: by its text, or, where several have one text, by text and number, `loss #2`.
pub fn column(head: &[PrintedCell], label: &str) -> Option<usize> {
    let numbered =
        label.rsplit_once(" #").and_then(|(text, number)| Some((text, number.parse().ok()?)));
    let (text, number): (&str, usize) = numbered.unwrap_or((label, 1));
    // A head that is spelled so goes before one that is only read so.
    let as_spelled = head.iter().any(|cell| cell.text == text);
    let fits = |cell: &PrintedCell| match as_spelled {
        true => cell.text == text,
        false => spelling::same(&cell.text, text),
    };
    let mut named = head.iter().enumerate().filter(|(_, cell)| fits(cell));
    let found = named.nth(number.checked_sub(1)?)?.0;
    // Without a number the text must name one column.
    (numbered.is_some() || named.next().is_none()).then_some(found)
}

/// Whether two lines have the same cells, however their signs are spelled.
pub fn same(a: &[PrintedCell], b: &[PrintedCell]) -> bool {
    a.len() == b.len() && std::iter::zip(a, b).all(|(a, b)| spelling::same(&a.text, &b.text))
}

/// Whether a line is the rule below a head: `|---|:--:|`.
fn is_rule(row: &[PrintedCell]) -> bool {
    row.iter()
        .all(|cell| cell.text.contains('-') && cell.text.chars().all(|c| matches!(c, '-' | ':')))
}

/// The lines of a text with the place where each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "Before.\n\n| arm | loss |\n|---|---:|\n| `moe` | 1.70 |\n| é | -- |\n\nAfter | it.\n";

    fn texts(row: &[PrintedCell]) -> Vec<&str> {
        row.iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn a_table_is_found_by_its_head() {
        let head = cells("|arm|  loss |", 0).unwrap();
        let table = PrintedTable::find(TEXT, &head).unwrap();
        assert_eq!(texts(&table.head), ["arm", "loss"]);
        assert_eq!(table.rows.len(), 2);
        let cell = &table.rows[0][1];
        assert_eq!(&TEXT[cell.span.clone()], "1.70");
        assert_eq!(PrintedTable::find(TEXT, &cells("| arm |", 0).unwrap()), Err(0));
        let twice = format!("{TEXT}{TEXT}");
        assert_eq!(PrintedTable::find(&twice, &head), Err(2));
    }

    #[test]
    fn a_line_is_named_by_its_first_cells() {
        let table = PrintedTable::parse("| a | b |\n| 1 | x |\n| 1 | y |\n| 2 | x |").unwrap();
        let of = |label: &str| table.row(label);
        assert_eq!((of("2"), of("1 | y"), of("1|x")), (Some(2), Some(1), Some(0)));
        assert_eq!((of("1"), of("3"), of("2 | x | z")), (None, None, None));
    }

    #[test]
    fn columns_of_one_name_are_numbered() {
        let head = cells("| a | share | b | share |", 0).unwrap();
        let of = |label: &str| column(&head, label);
        assert_eq!((of("a"), of("share #1"), of("share #2")), (Some(0), Some(1), Some(3)));
        assert_eq!(
            (of("share"), of("share #3"), of("share #0"), of("c")),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_table_alone_is_a_whole_text() {
        let table = PrintedTable::parse("\n| a | b |\n\n| 1 | 2 |\n| 3 | |\n").unwrap();
        assert_eq!(texts(&table.rows[1]), ["3", ""]);
        for text in ["", "| a |", "a | b\nc | d", "| a |\n| 1 |\nand more"] {
            assert_eq!(PrintedTable::parse(text), None, "{text}");
        }
    }
}
