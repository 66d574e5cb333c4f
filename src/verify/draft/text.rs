//! The numbers of a text, by the sentences and the tables in which they stand.

use std::ops::Range;

use repro_claim::quote::{self, ItemKind, QuoteItem};
use repro_claim::sentence;
use repro_claim::table::{self, PrintedCell, PrintedTable};

/// A text taken apart.
#[derive(Debug)]
pub struct DraftText {
    pub sentences: Vec<DraftSentence>,
    pub tables: Vec<DraftTable>,
}

/// A sentence with numbers.
#[derive(Debug, Clone)]
pub struct DraftSentence {
    pub span: Range<usize>,
    /// The heading that it stands under, and whether that is the title of all.
    pub place: String,
    pub is_titled: bool,
    pub items: Vec<QuoteItem>,
    /// Of a row of a table the heads above its items; nothing of a sentence.
    pub heads: Vec<String>,
}

/// A table with its heading and the words before it.
#[derive(Debug, Clone)]
pub struct DraftTable {
    pub table: PrintedTable,
    /// The line of its head.
    pub head: String,
    pub place: String,
    /// Whether the heading is the title of all.
    pub is_titled: bool,
    pub span: Range<usize>,
}

impl DraftText {
    /// Of a text as readers see it.
    pub fn of(text: &str) -> Self {
        let headings = Headings::of(text);
        let tables = tables(text, &headings);
        let in_table = |at: usize| {
            let before = tables.partition_point(|table| table.span.start <= at);
            tables.get(..before).and_then(|all| all.last()).is_some_and(|last| at < last.span.end)
        };
        let mut sentences: Vec<DraftSentence> = Vec::new();
        let items = quote::items(text);
        for item in items
            .into_iter()
            .filter(|item| !in_table(item.span.start) && !is_heading(text, item.span.start))
        {
            let span = sentence::around(text, &item.span);
            match sentences.last_mut().filter(|last| last.span.end > item.span.start) {
                Some(last) => {
                    last.span.end = last.span.end.max(span.end);
                    last.items.push(item);
                }
                None => {
                    let at = item.span.start;
                    let (place, is_titled) = headings.above(at);
                    let (items, heads) = (vec![item], Vec::new());
                    sentences.push(DraftSentence { span, place, is_titled, items, heads });
                }
            }
        }
        Self { sentences, tables }
    }
}

/// Where the lines of a text begin.
pub fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

impl DraftTable {
    /// Its rows with numbers, each as a sentence: for a table whose rows are settings, steps or quantities.
    pub fn sentences(&self, text: &str) -> Vec<DraftSentence> {
        let row = |cells: &Vec<PrintedCell>| {
            let span = cells.first()?.span.start..cells.last()?.span.end;
            let words = text.get(span.clone())?;
            let (mut items, mut heads) = (Vec::new(), Vec::new());
            for mut item in quote::items(words) {
                item.span = item.span.start + span.start..item.span.end + span.start;
                let column = cells.iter().position(|cell| item.span.start < cell.span.end)?;
                let head = self.table.head.get(column);
                heads.push(head.map(|head| head.text.clone()).unwrap_or_default());
                items.push(item);
            }
            let (place, is_titled) = (self.place.clone(), self.is_titled);
            let row = DraftSentence { span, place, is_titled, items, heads };
            (!row.items.is_empty()).then_some(row)
        };
        self.table.rows.iter().filter_map(row).collect()
    }
}

/// Whether an item is a number, or a spread behind one.
pub fn is_number(item: &QuoteItem) -> bool {
    matches!(item.kind, ItemKind::Number(_) | ItemKind::Spread(_))
}

fn line_of(text: &str, at: usize) -> &str {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    text.get(start..).unwrap_or_default().lines().next().unwrap_or_default()
}

fn is_heading(text: &str, at: usize) -> bool {
    line_of(text, at).trim_start().starts_with('#')
}

/// The headings of a text, each with where its line begins.
struct Headings<'t>(Vec<(usize, &'t str)>);

impl<'t> Headings<'t> {
    fn of(text: &'t str) -> Self {
        let starts = line_starts(text).into_iter();
        let lines = starts.filter_map(|start| Some((start, text.get(start..)?.lines().next()?)));
        Self(lines.filter(|(_, line)| line.starts_with('#')).collect())
    }

    /// The words of the heading above a place, and whether it is a title.
    fn above(&self, at: usize) -> (String, bool) {
        let before = self.0.partition_point(|(start, _)| *start < at);
        let line = before.checked_sub(1).and_then(|last| self.0.get(last)).map(|(_, line)| *line);
        let words = line.map(|line| line.trim_start_matches('#').trim().to_owned());
        (words.unwrap_or_default(), line.is_some_and(|line| line.starts_with("# ")))
    }
}

/// Every table of lines between bars with a rule below its head.
fn tables(text: &str, headings: &Headings<'_>) -> Vec<DraftTable> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        lines.push((start, line.trim_end_matches(['\n', '\r'])));
        start += line.len();
    }
    let cells_at = |at: usize| lines.get(at).and_then(|(start, line)| table::cells(line, *start));
    let mut found = Vec::new();
    let mut at = 0;
    while at + 1 < lines.len() {
        let (head, rule) = (cells_at(at), cells_at(at + 1));
        let (Some(head), Some(rule)) = (head, rule) else {
            at += 1;
            continue;
        };
        if !table::is_rule(&rule) {
            at += 1;
            continue;
        }
        let mut rows = Vec::new();
        let mut end = at + 2;
        while let Some(row) = cells_at(end) {
            rows.push(row);
            end += 1;
        }
        let (first, head_line) = lines.get(at).copied().unwrap_or_default();
        let last = lines.get(end - 1).map_or(first, |(start, line)| start + line.len());
        let (place, is_titled) = headings.above(first);
        let head_line = head_line.trim().to_owned();
        found.push(DraftTable {
            table: PrintedTable { head, rows },
            head: head_line,
            place,
            is_titled,
            span: first..last,
        });
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_sentences_or_in_tables() {
        let text =
            "# A 2 b\n\nLoss is 1.5 ± 0.1. Then\n3 runs.\n\n| a | b |\n|---|---|\n| x | 7 |\n";
        let of = DraftText::of(text);
        let told: Vec<_> =
            of.sentences.iter().map(|one| (one.items.len(), one.place.as_str())).collect();
        assert_eq!(told, [(2, "A 2 b"), (1, "A 2 b")]);
        assert_eq!(of.tables.len(), 1);
        assert_eq!(of.tables[0].head, "| a | b |");
    }
}
