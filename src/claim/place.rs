//! Finds the position of a quote in a text.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use crate::quote;
use crate::seen::has_no_width;
use crate::spelling::PlainSpelling;
use crate::table::{self, MOST_HEADS, PrintedCell, PrintedTable, TableBelow, TableLines};

/// A text in which quotes and table rows are searched for. Search structures are built once, on first use: a text may be
/// long, and its quotes many.
#[derive(Debug, Default)]
pub struct SearchedText<'t> {
    text: &'t str,
    single_spaced: OnceLock<PlainSpelling>,
    plain: OnceLock<PlainSpelling>,
    squeezed: OnceLock<PlainSpelling>,
    lines: OnceLock<TableLines>,
    /// The positions of its numbers.
    items: OnceLock<Vec<Range<usize>>>,
}

impl<'t> SearchedText<'t> {
    /// A text without any search structures yet.
    pub fn new(text: &'t str) -> Self {
        Self { text, ..Self::default() }
    }

    /// The text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Its lines of cells.
    pub fn lines(&self) -> &TableLines {
        self.lines.get_or_init(|| TableLines::of(self.text))
    }

    /// All non-overlapping positions of `quote`. Any white space matches any other, so a quote may cross lines. If there is no
    /// exact match, quotation marks, dashes and emphasis are normalized.
    pub fn of_quote(&self, quote: &str) -> Vec<Range<usize>> {
        let mut found = self.as_spelled(quote);
        if found.is_empty() {
            found = self.as_read(quote);
        }
        found.retain(|place| !self.cuts_a_number(place));
        beside_each_other(found)
    }

    /// Whether a part of the text starts or ends inside a number: "329,280" of "329,280\nmillion".
    fn cuts_a_number(&self, place: &Range<usize>) -> bool {
        let inside = self.text[place.clone()].trim_matches(char::is_whitespace);
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        is_digit(inside.chars().next()) && self.is_inside_a_number(place.start)
            || is_digit(inside.chars().next_back()) && self.is_inside_a_number(place.end)
    }

    /// Whether a place lies inside a number. A mark of money or of nearness alone may be left out.
    fn is_inside_a_number(&self, at: usize) -> bool {
        let spans = || quote::items(self.text).into_iter().map(|item| item.span).collect();
        let items: &Vec<Range<usize>> = self.items.get_or_init(spans);
        let behind = items.partition_point(|item| item.start < at);
        let Some(item) = behind.checked_sub(1).and_then(|last| items.get(last)) else {
            return false;
        };
        at < item.end && !self.text[item.start..at].trim_end_matches(['$', '+']).is_empty()
    }

    /// Every place of a quote with the same signs.
    fn as_spelled(&self, quote: &str) -> Vec<Range<usize>> {
        let words: Vec<&str> = quote.split_whitespace().collect();
        let text = self.single_spaced.get_or_init(|| PlainSpelling::single_spaced(self.text));
        originals(text, &words.join(" "))
    }

    /// Every place of a quote, however its signs are spelled.
    fn as_read(&self, quote: &str) -> Vec<Range<usize>> {
        let text = self.plain.get_or_init(|| PlainSpelling::of(self.text));
        originals(text, PlainSpelling::of(quote).text.trim())
    }

    /// The positions of a quote with bars where a page runs cells together: `1,209 | 2,476` is in "1,2092,476". A part of a
    /// line of cells is found as it is.
    pub fn of_parted_quote(&self, quote: &str) -> Vec<Range<usize>> {
        if !quote.contains('|') {
            return self.of_quote(quote);
        }
        let line = format!("|{quote}|");
        let cells = table::cells(&line, 0).unwrap_or_default();
        // The quote alone does not show that a page ran two numbers together: its bars separate none, unless a word and a
        // number are adjacent next to them.
        let parts_a_number = |pair: &[Range<usize>]| {
            let (left, right) = (pair[0].end, pair[1].start);
            let is_digit = |c: char| c.is_ascii_digit();
            let are_digits =
                self.text[..left].ends_with(is_digit) && self.text[right..].starts_with(is_digit);
            may_be_one_number(self.text, left, right)
                || !are_digits && self.is_inside_a_number(left)
        };
        let is_run_together =
            |pair: &[Range<usize>]| is_word_and_number(self.text, pair[0].end, pair[1].start);
        let found = self.of_row_where(&cells, |cells| {
            cells.windows(2).any(is_run_together) || !cells.windows(2).any(parts_a_number)
        });
        if found.is_empty() { self.of_quote(quote) } else { found }
    }

    /// All positions of a table row: as a line of cells or, if a page was copied without its lines, as the texts of the
    /// cells one after the other with only white space between them.
    fn of_row_where(
        &self,
        row: &[PrintedCell],
        stand_so: impl Fn(&[Range<usize>]) -> bool,
    ) -> Vec<Range<usize>> {
        let found: Vec<_> = self.lines().same_as(row).map(|line| line.span.clone()).collect();
        if !found.is_empty() {
            return found;
        }
        let places = self.run_together(row).into_iter().filter(|cells| stand_so(cells));
        places.filter_map(|cells| Some(cells.first()?.start..cells.last()?.end)).collect()
    }

    /// The positions of a printed table's lines in the table of the text that has its head and most of its rows; none if no
    /// table has its head. If a page was copied without its lines, the rows follow the head.
    pub fn of_table(&self, printed: &PrintedTable) -> Option<PlacedTable> {
        // A head with this many occurrences is not a head.
        let tables = self.lines().tables(&printed.head).take(MOST_HEADS);
        let mut found: Vec<_> = tables.map(|table| placed_in(table, printed)).collect();
        if found.is_empty() {
            let heads = self.run_together(&printed.head).into_iter().take(MOST_HEADS);
            found = heads.map(|head| self.placed_behind(head, printed)).collect();
        }
        let most = found.iter().map(PlacedTable::count).max()?;
        found.into_iter().find(|table| table.count() == most)
    }

    /// The rows of a printed table after a head whose table lost its lines.
    fn placed_behind(&self, head: Vec<Range<usize>>, printed: &PrintedTable) -> PlacedTable {
        let cells = printed.rows.iter().flatten().map(|cell| cell.text.len() + 1);
        // Some rows may be left out, and no page is between a head and its rows.
        let reach = 2000 + 8 * cells.sum::<usize>();
        let start = head.last().map_or(0, |cell| cell.end);
        let is_behind = |cells: &Vec<Range<usize>>| {
            cells.first().is_some_and(|first| first.start >= start)
                && cells.last().is_some_and(|last| last.end <= start + reach)
        };
        let place = |row: &Vec<PrintedCell>| self.run_together(row).into_iter().find(is_behind);
        PlacedTable { head, rows: printed.rows.iter().map(place).collect() }
    }

    /// The places of cells whose characters follow each other when white space is left out.
    fn run_together(&self, row: &[PrintedCell]) -> Vec<Vec<Range<usize>>> {
        let text = self.squeezed.get_or_init(|| PlainSpelling::squeezed(self.text));
        let cells: Vec<_> =
            row.iter().map(|cell| PlainSpelling::squeezed(&cell.text).text).collect();
        let found = beside_each_other(text.places(&cells.concat()));
        let spans = |place: Range<usize>| {
            let mut at = place.start;
            let mut end = text.original(place.start..place.start + 1).start;
            let span = |cell: &String| {
                let span =
                    if cell.is_empty() { end..end } else { text.original(at..at + cell.len()) };
                at += cell.len();
                end = span.end;
                span
            };
            cells.iter().map(span).collect()
        };
        found.into_iter().map(spans).collect()
    }
}

/// Of positions in order, those that do not overlap an earlier one.
fn beside_each_other(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut end = 0;
    places.retain(|place| {
        let is_beside = place.start >= end;
        end = if is_beside { place.end } else { end };
        is_beside
    });
    places
}

/// The positions of a printed table's lines in one table of a text, cell by cell.
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

fn spans(row: &[PrintedCell]) -> Vec<Range<usize>> {
    row.iter().map(|cell| cell.span.clone()).collect()
}

/// The rows of a printed table in a table of the text, each in a line of its own.
fn placed_in(table: TableBelow, printed: &PrintedTable) -> PlacedTable {
    let mut left = HashMap::new();
    let mut place = |wanted: &Vec<PrintedCell>| {
        let near = left.entry(table::key(wanted));
        let line = near.or_insert_with_key(|key| table.rows_read_as(key)).next()?;
        Some(spans(&line.cells))
    };
    let rows = printed.rows.iter().map(&mut place).collect();
    PlacedTable { head: spans(table.head()), rows }
}

/// The positions of some words in the original of a normalized text.
fn originals(text: &PlainSpelling, words: &str) -> Vec<Range<usize>> {
    text.places(words).into_iter().map(|place| text.original(place)).collect()
}

/// Whether a word of several letters and a number are adjacent without a separator: `stage7563`.
fn is_word_and_number(text: &str, left: usize, right: usize) -> bool {
    let mut before = text[..left].chars().rev();
    let is_word = before.next().is_some_and(char::is_alphabetic)
        && before.next().is_some_and(char::is_alphabetic);
    left == right && is_word && text[right..].starts_with(|c: char| c.is_ascii_digit())
}

/// Whether there is no visible separator between two cells and the digits on both sides may form one number: `41.7016`, but
/// not `1,2092,476` or `0.4570.257`.
fn may_be_one_number(text: &str, left: usize, right: usize) -> bool {
    /// The maximum number of digits of a number.
    const MOST: usize = 40;
    let is_part = |c: &char| c.is_ascii_digit() || matches!(c, '.' | ',') || has_no_width(*c);
    let head: String = text[..left].chars().rev().take_while(is_part).take(MOST).collect();
    let tail: String = text[right..].chars().take_while(is_part).take(MOST).collect();
    let has_gap = text[left..right].contains(|c: char| !has_no_width(c));
    let digit = |c: char| c.is_ascii_digit();
    if has_gap || !head.contains(digit) || !tail.contains(digit) {
        return false;
    }
    let head: String = head.chars().rev().collect();
    let whole = format!("{head}{tail}").replace(has_no_width, "");
    let whole = whole.trim_matches([',', '.']);
    let (units, decimals) = whole.split_once('.').unwrap_or((whole, ""));
    let mut groups = units.split(',');
    let first = groups.next().unwrap_or_default();
    let are_groups =
        groups.all(|group| group.len() == 3) && (!units.contains(',') || first.len() <= 3);
    are_groups && !decimals.contains(['.', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_quote(text: &str, quote: &str) -> Vec<Range<usize>> {
        SearchedText::new(text).of_quote(quote)
    }

    fn of_parted_quote(text: &str, quote: &str) -> Vec<Range<usize>> {
        SearchedText::new(text).of_parted_quote(quote)
    }

    fn of_row(text: &str, row: &[PrintedCell]) -> Vec<Range<usize>> {
        SearchedText::new(text).of_row_where(row, |_| true)
    }

    #[test]
    fn places_stand_beside_each_other() {
        assert_eq!(of_quote("a b a b a", "a b a"), vec![0..5]);
        // The first that would overlap cuts a number.
        assert_eq!(of_quote("11 1 1", "1 1"), vec![3..6]);
    }

    #[test]
    fn a_text_that_repeats_itself_takes_little_time() {
        let text = "a ".repeat(200_000);
        let searched = SearchedText::new(&text);
        assert_eq!(searched.of_quote(&"a ".repeat(100_000)).len(), 2);
        assert!(searched.of_quote(&format!("{}b", "a ".repeat(100_000))).is_empty());
        let row: Vec<_> =
            (0..50_000).map(|_| PrintedCell { text: "a".into(), span: 0..0 }).collect();
        assert_eq!(searched.of_row_where(&row, |_| true).len(), 4);
    }

    /// Texts that repeat one opening mark without closing it.
    const UNCLOSED: &[&str] = &[
        "‹`",
        "*",
        "_",
        "`",
        "``x`",
        "‹",
        "<",
        "<a ",
        "<a b=\"",
        "<div>",
        "</div>",
        "<p hidden>",
        "<sup>",
        "<del>",
        "<table><tr><td>",
        "<table>",
        "</table>",
        "<![CDATA[",
        "<!--",
        "<!-- \n\n",
        "<!x",
        "<?",
        "[",
        "](",
        "[a](",
        "[a](b ",
        "[^",
        "[[",
        "(",
        "&",
        "&#",
        "\\",
        "\\iffalse",
        "\\begin{tabular}",
        "\\end{tabular}",
        "{/*",
        "{% comment %}",
        "twenty-one ",
        "| ",
        "|\n",
        "a|",
        "> ",
        "- ",
        "1. ",
        "```\n",
        "~~",
        "**",
        "**a ",
        "$",
        "{",
        "\n",
        " ",
        "\t",
        "[a]: ",
        "a. ",
        "\0",
        "\u{200b}",
        "\u{202e}",
        "é",
        "$1",
        "1**",
        "1**1 ",
        "\u{202e}1①",
        "1 ± ",
        "¼",
        "①",
        "one ",
        "hundred ",
        "1 to ",
        "-",
        "x",
        "1x",
        "a_",
        "a-",
        "#",
        "| a\n--|--\n",
        "<style>",
        "<style>.x{",
        "class=\"x\" ",
        "<i class=x>",
        "<br>",
    ];

    #[test]
    fn texts_of_unclosed_marks_are_read() {
        use crate::seen::{Markup, SeenText};
        const LENGTH: usize = 10_000;
        for unit in UNCLOSED {
            let text = format!("See 1.7016.\n{}\nend.", unit.repeat(LENGTH / unit.len()));
            for markup in [Markup::Markdown, Markup::Html, Markup::Tex] {
                let _ = quote::items(&SeenText::of(&text, markup).text);
            }
            let text = SeenText::of(&text, Markup::Markdown).text;
            let searched = SearchedText::new(&text);
            assert!(searched.of_quote("no such words").is_empty(), "{unit}");
            assert!(searched.of_parted_quote("no | such words").is_empty(), "{unit}");
            let _ = crate::nearest::WordIndex::of(&text).nearest("no such words");
        }
    }

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
        assert_eq!(of_parted_quote("x 0.4570.257", "0.457 | 0.257").len(), 1);
        assert_eq!(of_parted_quote("x 4\n1.7016", "4 | 1.7016").len(), 1);
        assert_eq!(of_parted_quote("| 4 | 1.7016 |", "4 | 1.7016").len(), 1);
        assert_eq!(of_parted_quote("Dense1.7016", "Dense | 1.7016").len(), 1);
    }

    #[test]
    fn bars_part_no_number() {
        for (text, quote) in [
            ("a loss of 41.7016.", "a loss of 4|1.7016"),
            ("has 64256 experts", "has 64|256 experts"),
            ("has 1,209 steps", "has 1 | ,209 steps"),
            ("has 1,209,476 steps", "has 1,209 | ,476 steps"),
            ("is 41\u{200b}.7016", "is 4 | 1.7016"),
            ("MoE-64 wins", "MoE-6 | 4 wins"),
        ] {
            assert!(of_parted_quote(text, quote).is_empty(), "{quote}");
        }
    }

    #[test]
    fn a_row_is_found_with_and_without_its_lines() {
        let row = table::cells("| Dense | 190,532,352 | 26.24 |", 0).unwrap();
        let pipes = "x\n|Dense|190,532,352|26.24|\n";
        assert_eq!(of_row(pipes, &row), vec![2..pipes.len() - 1]);
        let flat = "ModelDense190,532,35226.24MoE";
        assert_eq!(of_row(flat, &row), vec![5..26]);
        assert!(of_row("Dense190,532,352 26.25", &row).is_empty());
        assert_eq!(SearchedText::new(flat).run_together(&row), [[5..10, 10..21, 21..26]]);
    }

    #[test]
    fn a_printed_table_stands_below_its_head() {
        let printed = PrintedTable::parse("| arm | loss |\n| a | 1 |\n| b | 2 |").unwrap();
        let found = |text: &str| SearchedText::new(text).of_table(&printed).map(|table| table.rows);
        let text = "| arm | loss |\n|--|--|\n| b | 2 |\n| a | 1 |\n";
        assert_eq!(found(text), Some(vec![Some(vec![35..36, 39..40]), Some(vec![25..26, 29..30])]));
        assert_eq!(found("| loss | arm |\n| a | 1 |\n| b | 2 |\n"), None);
        let apart = "| arm | loss |\n| a | 1 |\n\n| arm | gap |\n| b | 2 |\n";
        assert_eq!(found(apart), Some(vec![Some(vec![17..18, 21..22]), None]));
        assert_eq!(found("Arm loss\narm loss\na\n1\nb\n2").map(|rows| rows.len()), Some(2));
        assert_eq!(found("a 1 b 2 arm loss"), Some(vec![None, None]));
    }
}
