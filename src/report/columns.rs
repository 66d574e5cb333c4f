//! Tables on a page: a label, then cells at the right edge of their columns. A row that does not fit
//! is written as a list, one cell per line. (Reports on posts are not tables: their lines have tab stops and wrap, see
//! `layout`.)

use crate::layout::{columns, wrap};
use crate::visible::{clipped, visible};

/// The widest label that stands in a column where cells would have to be cut for it.
const LABEL_CAP: usize = 34;
/// The widest cell that stands in a column.
const CELL_CAP: usize = 48;
/// Below this width of a column, every row is a list.
const LEAST_CELL: usize = 9;

/// One line or block of a table.
#[derive(Debug)]
enum Line {
    Title(String),
    Row(String, Vec<String>),
}

/// A table in the making. All strings may come from inputs; they are made visible here.
#[derive(Debug)]
pub struct Columns {
    headings: Vec<String>,
    lines: Vec<Line>,
}

impl Columns {
    /// A table with these columns beside the label.
    pub fn new(headings: Vec<String>) -> Self {
        Self { headings, lines: Vec::new() }
    }

    /// Adds a title between rows.
    pub fn title(&mut self, title: &str) {
        self.lines.push(Line::Title(visible(title)));
    }

    /// Adds a row; an empty cell is left out of a list.
    pub fn row(&mut self, label: &str, cells: Vec<String>) {
        let cells = cells.iter().map(|cell| visible(cell)).collect();
        self.lines.push(Line::Row(format!("  {}", visible(label)), cells));
    }

    /// The table on a page of `width` columns under `title`; long cells are cut unless `whole`.
    pub fn render(&self, title: &str, width: usize, whole: bool) -> String {
        let layout = Layout::of(self, title, width);
        let mut text = layout.line(title, &self.headings).unwrap_or_else(|| format!("{title}\n"));
        for line in &self.lines {
            match line {
                Line::Title(title) => text.push_str(&format!("{title}\n")),
                Line::Row(label, cells) => match layout.line(label, cells) {
                    Some(line) => text.push_str(&line),
                    None => text.push_str(&self.list(label, cells, width, whole)),
                },
            }
        }
        text
    }

    fn list(&self, label: &str, cells: &[String], width: usize, whole: bool) -> String {
        let mut text = format!("{label}\n");
        let names = self.headings.iter().map(|name| columns(name)).max().unwrap_or(0);
        for (name, cell) in self.headings.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
            let left = width.saturating_sub(names + 6).max(LEAST_CELL);
            let cell = if whole { cell.clone() } else { clipped(cell, left) };
            let gap = " ".repeat(names - columns(name) + 2);
            text.push_str(&format!("    {name}{gap}{cell}\n"));
        }
        text
    }
}

/// The widths of the columns.
struct Layout {
    label: usize,
    cells: Vec<usize>,
}

impl Layout {
    fn of(table: &Columns, title: &str, width: usize) -> Self {
        let rows = table.lines.iter().filter_map(|line| match line {
            Line::Row(label, cells) => Some((label.as_str(), cells)),
            Line::Title(_) => None,
        });
        let all: Vec<_> = rows.chain([(title, &table.headings)]).collect();
        let widest_label = |cap: usize| {
            let labels = all.iter().map(|(label, _)| columns(label)).filter(|wide| *wide <= cap);
            labels.max().unwrap_or(0)
        };
        let cells = |cap: usize| -> Vec<usize> {
            let row = |cells: &&Vec<String>| cells.iter().all(|cell| columns(cell) <= cap);
            let widest = |(at, heading): (usize, &String)| {
                let rows = all.iter().map(|(_, cells)| *cells).filter(row);
                let wide = rows.filter_map(|cells| cells.get(at)).map(|cell| columns(cell));
                wide.max().unwrap_or(0).max(columns(heading))
            };
            table.headings.iter().enumerate().map(widest).collect()
        };
        // The widest cap under which the page is wide enough.
        let fits = |label: usize, cells: &Vec<usize>| {
            label + cells.iter().map(|wide| wide + 2).sum::<usize>() <= width
        };
        let (longest, whole) = (widest_label(usize::MAX), cells(CELL_CAP));
        if fits(longest, &whole) {
            return Self { label: longest, cells: whole };
        }
        let label = widest_label(LABEL_CAP);
        let found = (LEAST_CELL..=CELL_CAP).rev().map(cells).find(|cells| fits(label, cells));
        Self { label, cells: found.unwrap_or_default() }
    }

    /// The row on one line, if it fits.
    fn line(&self, label: &str, cells: &[String]) -> Option<String> {
        let fits = |(cell, wide): (&String, &usize)| columns(cell) <= *wide;
        if cells.len() != self.cells.len() || columns(label) > self.label {
            return None;
        }
        if !cells.iter().zip(&self.cells).all(fits) {
            return None;
        }
        let mut line = format!("{label}{}", " ".repeat(self.label - columns(label)));
        for (cell, wide) in cells.iter().zip(&self.cells) {
            line.push_str(&" ".repeat(2 + wide - columns(cell)));
            line.push_str(cell);
        }
        Some(line.trim_end().to_owned() + "\n")
    }
}

/// Running text behind a word, broken at the page's edge.
pub fn paragraph(word: &str, text: &str, width: usize) -> String {
    const INDENT: usize = 9;
    let room = width.saturating_sub(INDENT);
    let lines = wrap(&visible(text), room, room);
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let word = if at == 0 { word } else { "" };
        out.push_str(format!("{word:<INDENT$}{line}").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|&cell| cell.to_owned()).collect()
    }

    #[test]
    fn numbers_stand_at_the_right_and_what_is_too_wide_in_a_list() {
        let mut table = Columns::new(texts(&["A", "B"]));
        table.title("sizes");
        table.row("wide", texts(&["1,024", "7"]));
        table.row("path", texts(&["/a/very/long/path/of/a/data/folder", "\u{1b}[31m"]));
        let wanted = "\
runs        A  B
sizes
  wide  1,024  7
  path
    A  /a/very/long/path/of/a/data/fol…
    B  \\u{1b}[31m
";
        assert_eq!(table.render("runs", 39, false), wanted);
        assert!(table.render("runs", 40, true).contains("data/folder\n"));
    }

    #[test]
    fn many_columns_become_lists() {
        let names: Vec<_> = (0..9).map(|n| format!("run-{n}")).collect();
        let mut table = Columns::new(names.clone());
        table.row("wide", names);
        let text = table.render("runs", 60, false);
        assert!(text.starts_with("runs\n  wide\n    run-0  run-0\n"), "{text}");
    }
}
