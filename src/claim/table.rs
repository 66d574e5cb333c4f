//! Tables as they are printed: lines of cells between `|`, or marked up.

mod marked_up;

use std::collections::HashMap;
use std::ops::{Deref, Range};

use crate::seen::HIDDEN;
use crate::spelling;

/// A cell: its text without surrounding space, and the position of that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedCell {
    /// Its text.
    pub text: String,
    /// Its position in the text of the table, in bytes.
    pub span: Range<usize>,
}

impl PrintedCell {
    /// A cell without a position in a text.
    pub fn alone(text: String) -> Self {
        Self { text, span: 0..0 }
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
    /// Parses a text that consists of a table; none without at least two lines of cells.
    pub fn parse(text: &str) -> Option<Self> {
        let lines: Vec<_> = lines(text).filter(|(_, line)| !line.trim().is_empty()).collect();
        let cells: Option<Vec<_>> = cells_of_lines(&lines).into_iter().collect();
        let mut rows = cells?.into_iter();
        let head = rows.next()?;
        let rows: Vec<_> = rows.filter(|row| !is_rule(row)).collect();
        (!rows.is_empty()).then_some(Self { head, rows })
    }
}

/// A table, and its lines by row name.
#[derive(Debug)]
pub struct NamedTable {
    table: PrintedTable,
    /// The lines by their normalized first cells.
    by_first: HashMap<String, Vec<usize>>,
    /// The lines with an empty first cell, by the cell above that they belong to.
    by_group: HashMap<String, Vec<usize>>,
}

impl Deref for NamedTable {
    type Target = PrintedTable;

    fn deref(&self) -> &PrintedTable {
        &self.table
    }
}

impl NamedTable {
    /// Indexes a table.
    pub fn of(table: PrintedTable) -> Self {
        let mut by_first: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_group: HashMap<String, Vec<usize>> = HashMap::new();
        let mut group = None;
        for (index, row) in table.rows.iter().enumerate() {
            let first = read_alike(row.first().map_or("", |cell| cell.text.as_str()));
            match &group {
                Some(group) if first.is_empty() => {
                    by_group.entry(String::clone(group)).or_default().push(index);
                }
                _ => group = Some(first.clone()),
            }
            by_first.entry(first).or_default().push(index);
        }
        Self { table, by_first, by_group }
    }

    /// The line with these first cells, separated by `|`, if there is exactly one. Empty cells below a cell have the same
    /// meaning as that cell.
    pub fn row(&self, label: &str) -> Option<usize> {
        let parts: Vec<_> = label.split('|').map(str::trim).collect();
        let first = read_alike(parts[0]);
        let near =
            |rows: &'_ HashMap<String, Vec<usize>>| rows.get(&first).cloned().unwrap_or_default();
        // The lines with this name, and the number of its parts that come from a line above.
        let own = near(&self.by_first).into_iter().map(|index| (index, 0));
        let grouped = near(&self.by_group).into_iter().map(|index| (index, 1));
        let lines: Vec<_> = own.chain(grouped.filter(|_| parts.len() > 1)).collect();
        let only = |same: fn(&str, &str) -> bool| {
            let fits = |(index, skipped): &&(usize, usize)| {
                let row = &self.table.rows[*index];
                let mut pairs = std::iter::zip(row, &parts).skip(*skipped);
                row.len() >= parts.len() && pairs.all(|(cell, part)| same(&cell.text, part))
            };
            let mut found = lines.iter().filter(fits);
            found.next().filter(|_| found.next().is_none()).map(|(index, _)| *index)
        };
        // A name with the exact spelling takes precedence over one that only matches after normalization.
        only(|cell, part| cell == part).or_else(|| only(spelling::same))
    }

    /// The table with only that line, below the line that explains its empty cells.
    pub fn alone(&self, label: &str) -> PrintedTable {
        let own = self.row(label);
        let has_name = |at: &usize| {
            self.rows[*at].first().is_some_and(|cell| !read_alike(&cell.text).is_empty())
        };
        let above = own.and_then(|own| (0..=own).rev().find(has_name));
        let rows = above.filter(|above| Some(*above) != own).into_iter().chain(own);
        let rows = rows.map(|at| self.rows[at].clone()).collect();
        PrintedTable { head: self.head.clone(), rows }
    }
}

/// The maximum number of tables with the same head: a head with more occurrences is not a head.
pub(crate) const MOST_HEADS: usize = 8;

/// A line of cells.
#[derive(Debug)]
pub struct TableLine {
    /// Its cells.
    pub cells: Vec<PrintedCell>,
    /// Its position, without trailing space.
    pub span: Range<usize>,
}

/// Lines of cells below each other.
#[derive(Debug)]
struct TableBlock {
    lines: Vec<TableLine>,
    /// Whether it is HTML or TeX, in which cells over several columns or rows shift others.
    is_marked_up: bool,
}

/// A table in a text: the lines below its head.
#[derive(Debug, Clone, Copy)]
pub struct TableBelow<'l> {
    lines: &'l TableLines,
    block: usize,
    at: usize,
}

impl<'l> TableBelow<'l> {
    fn block(self) -> &'l TableBlock {
        &self.lines.blocks[self.block]
    }

    /// Its head.
    pub fn head(self) -> &'l [PrintedCell] {
        &self.block().lines[self.at].cells
    }

    fn is_row(self, line: &TableLine) -> bool {
        match self.block().is_marked_up {
            true => line.cells.len() == self.head().len(),
            false => !is_rule(&line.cells),
        }
    }

    fn rows(self) -> impl Iterator<Item = &'l TableLine> {
        self.block().lines[self.at + 1..].iter().filter(move |line| self.is_row(line))
    }

    /// The rows with the normalized text `key`, in order.
    pub(crate) fn rows_read_as(self, key: &str) -> impl Iterator<Item = &'l TableLine> + use<'l> {
        let places = self.lines.by_cells.get(key).map_or(&[][..], Vec::as_slice);
        let first = places.partition_point(|place| *place <= (self.block, self.at));
        let below = places[first..].iter().take_while(move |(block, _)| *block == self.block);
        let lines = below.map(move |(_, at)| &self.block().lines[*at]);
        lines.filter(move |line| self.is_row(line))
    }

    fn copied(self) -> PrintedTable {
        let rows = self.rows().map(|row| row.cells.clone()).collect();
        PrintedTable { head: self.head().to_vec(), rows }
    }
}

/// All lines of cells of a text, found by their cells, and its tables that are marked up.
#[derive(Debug)]
pub struct TableLines {
    blocks: Vec<TableBlock>,
    /// The block and position of each line, by its normalized cells.
    by_cells: HashMap<String, Vec<(usize, usize)>>,
}

impl TableLines {
    /// Splits a text into lines of cells.
    pub fn of(text: &str) -> Self {
        let mut blocks: Vec<TableBlock> = Vec::new();
        let mut was_cells = false;
        let lines: Vec<_> = lines(text).collect();
        for ((start, line), cells) in std::iter::zip(&lines, cells_of_lines(&lines)) {
            let goes_on = std::mem::replace(&mut was_cells, cells.is_some());
            let Some(cells) = cells else { continue };
            let line = TableLine { cells, span: *start..start + line.trim_end().len() };
            match blocks.last_mut().filter(|_| goes_on) {
                Some(block) => block.lines.push(line),
                None => blocks.push(TableBlock { lines: vec![line], is_marked_up: false }),
            }
        }
        for rows in marked_up::tables(text) {
            let lines = rows.into_iter().map(|cells| TableLine { cells, span: 0..0 }).collect();
            blocks.push(TableBlock { lines, is_marked_up: true });
        }
        let mut by_cells: HashMap<String, Vec<_>> = HashMap::new();
        for (number, block) in blocks.iter().enumerate() {
            for (at, line) in block.lines.iter().enumerate() {
                by_cells.entry(key(&line.cells)).or_default().push((number, at));
            }
        }
        Self { blocks, by_cells }
    }

    /// The lines with these cells, after normalization.
    pub fn same_as(&self, row: &[PrintedCell]) -> impl Iterator<Item = &TableLine> {
        let placed = self.places(row).filter(|place| !place.block().is_marked_up);
        placed.map(|place| &place.block().lines[place.at])
    }

    fn places(&self, row: &[PrintedCell]) -> impl Iterator<Item = TableBelow<'_>> {
        let near = self.by_cells.get(&key(row)).map_or(&[][..], Vec::as_slice);
        let placed =
            near.iter().map(|(block, at)| TableBelow { lines: self, block: *block, at: *at });
        placed.filter(|place| same(place.head(), row))
    }

    /// The one table whose head has these cells, or the number of such tables, up to the limit.
    pub fn table(&self, head: &[PrintedCell]) -> Result<PrintedTable, usize> {
        let is_spelled_so =
            |table: &TableBelow| std::iter::zip(table.head(), head).all(|(a, b)| a.text == b.text);
        let mut found: Vec<_> = self.tables(head).take(MOST_HEADS).collect();
        // A head with the exact spelling takes precedence over one that only matches after normalization.
        if found.iter().any(is_spelled_so) {
            found.retain(is_spelled_so);
        }
        match found.len() {
            1 => Ok(found.remove(0).copied()),
            others => Err(others),
        }
    }

    /// All tables whose head has these cells, after normalization.
    pub fn tables(&self, head: &[PrintedCell]) -> impl Iterator<Item = TableBelow<'_>> {
        self.places(head).filter(|table| table.rows().next().is_some())
    }
}

/// The normalized cells of a line, by which equal lines are found.
pub(crate) fn key(row: &[PrintedCell]) -> String {
    let mut key = String::new();
    for cell in row {
        key.push_str(&read_alike(&cell.text));
        key.push('\n');
    }
    key
}

/// The normalized text: texts that differ only in the spelling of characters are equal.
fn read_alike(text: &str) -> String {
    spelling::PlainSpelling::of(text).text.trim().to_owned()
}

/// The cells of each line. A table needs no outer bars if the second line is a rule.
fn cells_of_lines(lines: &[(usize, &str)]) -> Vec<Option<Vec<PrintedCell>>> {
    let mut all: Vec<_> = lines.iter().map(|(start, line)| cells(line, *start)).collect();
    let mut at = 1;
    while at < lines.len() {
        let bare = |at: usize| lines.get(at).and_then(|(start, line)| bare_cells(line, *start));
        let (head, rule) = (bare(at - 1), bare(at));
        let is_table = all[at].as_ref().is_none_or(|_| all[at - 1].is_none())
            && matches!((&head, &rule), (Some(head), Some(rule)) if is_rule(rule) && head.len() == rule.len());
        if is_table {
            all[at - 1] = head;
            while let Some(row) = bare(at) {
                all[at] = Some(row);
                at += 1;
            }
        }
        at += 1;
    }
    all
}

/// The cells of a line without outer bars; none if no bar separates two.
fn bare_cells(line: &str, start: usize) -> Option<Vec<PrintedCell>> {
    line.contains('|').then(|| split(line, start))
}

/// The cells of the head of a table, with bars around them or without.
pub fn head(line: &str) -> Option<Vec<PrintedCell>> {
    bare_cells(line, 0)
}

/// The cells of a line; none if it does not start with `|`.
pub fn cells(line: &str, start: usize) -> Option<Vec<PrintedCell>> {
    line.trim_start().starts_with('|').then(|| split(line, start))
}

/// The cells of a line, with bars around them or without.
fn split(line: &str, start: usize) -> Vec<PrintedCell> {
    let trimmed = line.trim_end();
    let inner = trimmed.trim_start().strip_prefix('|').unwrap_or(trimmed);
    let mut at = trimmed.len() - inner.len();
    let mut cells = Vec::new();
    for part in inner.strip_suffix('|').unwrap_or(inner).split('|') {
        let PrintedCell { text, span } = cell(line, at..at + part.len());
        cells.push(PrintedCell { text, span: start + span.start..start + span.end });
        at += part.len() + 1;
    }
    cells
}

/// The cell in a part of a text, without surrounding space and hidden parts.
fn cell(text: &str, inside: Range<usize>) -> PrintedCell {
    let part = &text[inside.clone()];
    let bare = part.trim_start();
    let start = inside.end - bare.len();
    let bare = bare.trim_end();
    PrintedCell { text: bare.replace(HIDDEN, ""), span: start..start + bare.len() }
}

/// The column with a name: by its text or, if several have the same text, by text and number, `loss #2`.
pub fn column(head: &[PrintedCell], label: &str) -> Option<usize> {
    let numbered =
        label.rsplit_once(" #").and_then(|(text, number)| Some((text, number.parse().ok()?)));
    let (text, number): (&str, usize) = numbered.unwrap_or((label, 1));
    // A head with the exact spelling takes precedence over one that only matches after normalization.
    let as_spelled = head.iter().any(|cell| cell.text == text);
    let fits = |cell: &PrintedCell| match as_spelled {
        true => cell.text == text,
        false => spelling::same(&cell.text, text),
    };
    let mut named = head.iter().enumerate().filter(|(_, cell)| fits(cell));
    let found = named.nth(number.checked_sub(1)?)?.0;
    // Without a number, the text must match exactly one column.
    (numbered.is_some() || named.next().is_none()).then_some(found)
}

/// Whether two lines have the same cells, after normalization.
pub fn same(a: &[PrintedCell], b: &[PrintedCell]) -> bool {
    a.len() == b.len() && std::iter::zip(a, b).all(|(a, b)| spelling::same(&a.text, &b.text))
}

/// Whether a line is the rule below a head: `|---|:--:|`.
pub fn is_rule(row: &[PrintedCell]) -> bool {
    row.iter()
        .all(|cell| cell.text.contains('-') && cell.text.chars().all(|c| matches!(c, '-' | ':')))
}

/// The lines of a text with their starting positions.
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
        let lines = TableLines::of(TEXT);
        let table = lines.table(&head).unwrap();
        assert_eq!(texts(&table.head), ["arm", "loss"]);
        assert_eq!(table.rows.len(), 2);
        let cell = &table.rows[0][1];
        assert_eq!(&TEXT[cell.span.clone()], "1.70");
        assert_eq!(lines.table(&cells("| arm |", 0).unwrap()), Err(0));
        let twice = format!("{TEXT}{TEXT}");
        assert_eq!(TableLines::of(&twice).table(&head), Err(2));
        // A head alone, or with only rules below, is not a table.
        assert_eq!(
            TableLines::of("| arm | loss |\n\n| arm | loss |\n|-|-|\n").table(&head),
            Err(0)
        );
    }

    #[test]
    fn a_line_is_named_by_its_first_cells() {
        let table = PrintedTable::parse("| a | b |\n| 1 | x |\n| 1 | y |\n| 2 | x |").unwrap();
        let named = NamedTable::of(table);
        let of = |label: &str| named.row(label);
        assert_eq!((of("2"), of("1 | y"), of("1|x")), (Some(2), Some(1), Some(0)));
        assert_eq!((of("1"), of("3"), of("2 | x | z")), (None, None, None));
    }

    #[test]
    fn empty_cells_mean_the_one_above() {
        let text =
            "| budget | arm | x |\n| short | a | 1 |\n| | b | 2 |\n| long | a | 3 |\n| | b | 4 |";
        let table = PrintedTable::parse(text).unwrap();
        let named = NamedTable::of(table);
        let of = |label: &str| named.row(label);
        assert_eq!((of("short | a"), of("short | b")), (Some(0), Some(1)));
        assert_eq!((of("long | a"), of("long|b"), of("long")), (Some(2), Some(3), Some(2)));
        assert_eq!((of("short | c"), of(""), of("b"), of("| b")), (None, None, None, None));
        // Two lines with the same name are ambiguous.
        let table = PrintedTable::parse("| a | b |\n| s | x |\n| | y |\n| | y |").unwrap();
        assert_eq!(NamedTable::of(table).row("s | y"), None);
    }

    #[test]
    fn a_rule_makes_a_table_without_bars_around_it() {
        let text = "Text | more\n\nModel | Loss\n--- | :---:\nMoE, 4 | 1.70\ndense | 1.72 |\n\nstep 1 | loss 2\n";
        let of = |text: &str, wanted: &str| TableLines::of(text).table(&head(wanted).unwrap());
        for wanted in ["Model | Loss", "| Model | Loss |"] {
            let table = of(text, wanted).unwrap();
            assert_eq!((texts(&table.rows[0]), table.rows.len()), (vec!["MoE, 4", "1.70"], 2));
            assert_eq!(&text[table.rows[1][1].span.clone()], "1.72");
        }
        for bad in [
            "Model | Loss\nMoE | 1.70\n",
            "Model | Loss\n---\nMoE | 1.70\n",
            "Model\n--- | ---\nMoE | 1\n",
        ] {
            assert_eq!(of(bad, "Model | Loss"), Err(0), "{bad}");
        }
        assert_eq!(PrintedTable::parse("a | b\n-|-\nc | d").unwrap().rows.len(), 1);
        assert_eq!(head("Model"), None);
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
