//! The statements of a document: rows of named values with their locations, and tables of further rows.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use repro_claim::relation::{PrintedRange, RelationNumber, Term};
use repro_core::source::{Kind as NodeKind, Location, Node, Source};

/// A value in a formula.
pub type StatedTerm = Term<'static, PrintedRange>;

/// How the numbers of a document were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    /// For people: each number is rounded to its last digit.
    Rounded,
    /// By a program that writes floats in full.
    Full,
    /// Like `Full`, for sums of many floats: the last digits depend on the order, and for float32 every digit after the
    /// seventh.
    Summed,
}

impl Digits {
    /// The range of values that a number may have been printed from.
    pub fn read(self, text: &str) -> Option<PrintedRange> {
        match self {
            Self::Rounded => PrintedRange::printed(text),
            Self::Full => PrintedRange::float(text),
            Self::Summed => PrintedRange::float(text).map(summed),
        }
    }
}

/// The error of a float sum that depends on the order of its terms; counts are exact.
fn summed(float: PrintedRange) -> PrintedRange {
    const OF_FLOAT64: f64 = 1e-9;
    const OF_FLOAT32: f64 = 6e-8;
    let middle = float.middle();
    let is_count = middle.fract() == 0.0;
    let is_float32 = f64::from(middle as f32) == middle;
    let share = match (is_count, is_float32) {
        (true, _) => 0.0,
        (false, true) => OF_FLOAT32,
        (false, false) => OF_FLOAT64,
    };
    let slack = share * middle.abs();
    PrintedRange::between(middle - slack, middle + slack)
}

/// The location or the origin of a value.
#[derive(Debug, Clone)]
pub enum StatedPlace {
    /// In the bytes of a file, with a pointer in structured files.
    Span { source: Arc<Source>, pointer: String, span: Range<usize> },
    /// Nowhere: it was computed like this.
    Computed(String),
}

impl StatedPlace {
    /// The location of a node.
    fn of(node: Node<'_>, pointer: String) -> Self {
        let source = node.document().source.clone();
        Self::Span { source, pointer, span: node.value().span.clone() }
    }

    /// The location for messages, if it is in a file.
    pub fn location(&self) -> Option<Location> {
        match self {
            Self::Span { source, pointer, span } => {
                Some(source.place(span.clone()).with_pointer(pointer.clone()))
            }
            Self::Computed(_) => None,
        }
    }
}

/// One value.
#[derive(Debug, Clone)]
pub struct StatedCell {
    pub term: StatedTerm,
    /// Its text in the document.
    pub printed: String,
    pub place: StatedPlace,
}

/// Values that belong together: a run, a task, a row of a table.
#[derive(Debug, Clone, Default)]
pub struct StatedRow {
    /// Its label, if a document has several rows.
    pub label: String,
    cells: BTreeMap<String, StatedCell>,
    tables: BTreeMap<&'static str, Vec<StatedRow>>,
}

impl StatedRow {
    /// A row without values.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// A value by name.
    pub fn cell(&self, name: &str) -> Option<&StatedCell> {
        self.cells.get(name)
    }

    /// A number by name.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.range(name).map(PrintedRange::middle)
    }

    /// The range of a number by name.
    pub fn range(&self, name: &str) -> Option<PrintedRange> {
        match self.cell(name)?.term {
            Term::Number(number) => Some(number),
            _ => None,
        }
    }

    /// A text by name.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.cell(name)?.term {
            Term::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A boolean by name.
    pub fn truth(&self, name: &str) -> Option<bool> {
        match self.cell(name)?.term {
            Term::Truth(truth) => Some(truth),
            _ => None,
        }
    }

    /// The names of its values, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.cells.keys().map(String::as_str)
    }

    /// The rows of a table.
    pub fn rows(&self, table: &str) -> &[StatedRow] {
        self.tables.get(table).map_or(&[], Vec::as_slice)
    }

    /// The names of its tables and their rows.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, &[StatedRow])> {
        self.tables.iter().map(|(name, rows)| (*name, rows.as_slice()))
    }

    /// Adds rows to a table.
    pub fn add(&mut self, table: &'static str, rows: impl IntoIterator<Item = StatedRow>) {
        self.tables.entry(table).or_default().extend(rows);
    }

    /// Replaces the rows of a table.
    pub fn set(&mut self, table: &'static str, rows: Vec<StatedRow>) {
        self.tables.insert(table, rows);
    }

    /// Records a value from a document.
    pub fn state(
        &mut self,
        name: impl Into<String>,
        node: Node<'_>,
        pointer: String,
        digits: Digits,
    ) {
        let Some((term, printed)) = term_of(node, digits) else { return };
        let place = StatedPlace::of(node, pointer);
        self.cells.insert(name.into(), StatedCell { term, printed, place });
    }

    /// Records a number, which may be in quotes, or the word for a non-finite number; anything else, such as `N/A`, is
    /// ignored.
    pub fn measure(
        &mut self,
        name: impl Into<String>,
        node: Node<'_>,
        pointer: String,
        digits: Digits,
    ) {
        let text = match &node.value().kind {
            NodeKind::Text(text) => &**text,
            _ => "",
        };
        if let Some(word) = bare_word(text) {
            let place = StatedPlace::of(node, pointer);
            let (term, printed) = (Term::Text(word.into()), word.to_owned());
            self.cells.insert(name.into(), StatedCell { term, printed, place });
        } else if let Some((number, printed)) = number_of(node, digits) {
            let (term, place) = (Term::Number(number), StatedPlace::of(node, pointer));
            self.cells.insert(name.into(), StatedCell { term, printed, place });
        }
    }

    /// Like `measure`, but records an unparsable value as `unread`, so that a check can report it.
    pub fn measure_or_tell(
        &mut self,
        name: &'static str,
        node: Node<'_>,
        pointer: String,
        digits: Digits,
    ) {
        self.measure(name, node, pointer.clone(), digits);
        if let Some(printed) = no_number(node).filter(|_| self.cell(name).is_none()) {
            let printed = printed.to_owned();
            let (term, place) =
                (Term::Text(printed.clone().into()), StatedPlace::of(node, pointer));
            self.cells.insert("unread".to_owned(), StatedCell { term, printed, place });
        }
    }

    /// Records all values of an object and its nested objects by path: `config.lr`. Keys that are not valid names are
    /// left out.
    pub fn state_all(&mut self, node: Node<'_>, pointer: &str, digits: Digits) {
        self.state_below("", node, pointer, digits);
    }

    fn state_below(&mut self, path: &str, node: Node<'_>, pointer: &str, digits: Digits) {
        let Ok(members) = node.members() else { return };
        for (key, value) in members {
            let pointer = format!("{pointer}/{}", repro_core::source::escape(key));
            let name = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            match &value.value().kind {
                NodeKind::Object(_) => self.state_below(&name, value, &pointer, digits),
                _ => self.state(name, value, pointer, digits),
            }
        }
    }

    /// Records a value printed in a text.
    pub fn print(
        &mut self,
        name: impl Into<String>,
        source: &Arc<Source>,
        span: Range<usize>,
        digits: Digits,
    ) {
        let Some(printed) = source.text().get(span.clone()) else { return };
        let term = term_of_text(printed, digits);
        let place = StatedPlace::Span { source: source.clone(), pointer: String::new(), span };
        self.cells.insert(name.into(), StatedCell { term, printed: printed.to_owned(), place });
    }

    /// Adds an alias for the first of several values that exists.
    pub fn alias(&mut self, name: &str, of: &[&str]) {
        if let Some(cell) = of.iter().find_map(|known| self.cells.get(*known)).cloned() {
            self.cells.insert(name.to_owned(), cell);
        }
    }

    /// Copies a value from a different row.
    pub fn copy(&mut self, name: impl Into<String>, from: &Self, known: &str) {
        if let Some(cell) = from.cell(known) {
            self.cells.insert(name.into(), cell.clone());
        }
    }

    /// Adds an alias for a value.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(cell) = self.cells.remove(from) {
            self.cells.insert(to.to_owned(), cell);
        }
    }

    /// Parses a text as its printed number, if it is one.
    pub fn read_printed(&mut self, name: &str) {
        if let Some(cell) = self.cells.get_mut(name)
            && let Term::Text(text) = &cell.term
            && let Some(number) = PrintedRange::printed(text)
        {
            cell.term = Term::Number(number);
        }
    }

    /// Parses a text as a float that a program printed in full, if it is one.
    pub fn read_float(&mut self, name: &str) {
        if let Some(cell) = self.cells.get_mut(name)
            && let Term::Text(text) = &cell.term
            && let Some(number) = PrintedRange::float(text)
        {
            cell.term = Term::Number(number);
        }
    }

    /// Records a value computed from others, and how.
    pub fn compute(&mut self, name: impl Into<String>, term: StatedTerm, how: impl Into<String>) {
        let place = StatedPlace::Computed(how.into());
        let printed = match &term {
            Term::Text(text) => text.to_string(),
            other => other.to_string(),
        };
        self.cells.insert(name.into(), StatedCell { term, printed, place });
    }

    /// A number printed in a recorded text.
    pub fn quote(
        &mut self,
        name: impl Into<String>,
        text: &str,
        number: PrintedRange,
        printed: &str,
    ) {
        let Some(StatedCell { place, .. }) = self.cells.get(text) else { return };
        let (place, printed) = (place.clone(), printed.to_owned());
        self.cells.insert(name.into(), StatedCell { term: Term::Number(number), printed, place });
    }

    /// Records a text computed from others, and how.
    pub fn compute_text(&mut self, name: impl Into<String>, text: &str, how: impl Into<String>) {
        self.compute(name, Term::Text(text.to_owned().into()), how);
    }

    /// Records a number computed from others, and how.
    pub fn compute_number(&mut self, name: impl Into<String>, number: f64, how: impl Into<String>) {
        self.compute(name, Term::Number(PrintedRange::of(number)), how);
    }
}

/// Parses a printed text as a number without separators between its digits, or as a text.
fn term_of_text(printed: &str, digits: Digits) -> StatedTerm {
    let bare = printed.trim().replace([',', '_'], "");
    let number = bare.strip_prefix('+').unwrap_or(&bare);
    match digits.read(number) {
        Some(number) => Term::Number(number),
        None => Term::Text(printed.to_owned().into()),
    }
}

/// Python's spellings of non-finite numbers, which the loose reader returns as strings of the same length.
pub fn bare_word(text: &str) -> Option<&'static str> {
    match text {
        "N" => Some("NaN"),
        "Infini" => Some("Infinity"),
        "-Infini" => Some("-Infinity"),
        _ => None,
    }
}

/// A number, quoted or not, and how it is written.
fn number_of(node: Node<'_>, digits: Digits) -> Option<(PrintedRange, String)> {
    match &node.value().kind {
        NodeKind::Number(text) | NodeKind::Text(text) => {
            Some((digits.read(text.trim())?, text.to_string()))
        }
        _ => None,
    }
}

/// A value that stands for a number but is not one, or marks it as missing: `null`, a boolean, `50%`.
fn no_number(node: Node<'_>) -> Option<&str> {
    match &node.value().kind {
        NodeKind::Null => Some("null"),
        NodeKind::Bool(true) => Some("true"),
        NodeKind::Bool(false) => Some("false"),
        NodeKind::Text(text) => {
            Some(&**text).filter(|text| text.contains(|c: char| c.is_ascii_digit()))
        }
        NodeKind::Number(_) | NodeKind::Array(_) | NodeKind::Object(_) => None,
    }
}

fn term_of(node: Node<'_>, digits: Digits) -> Option<(StatedTerm, String)> {
    Some(match &node.value().kind {
        NodeKind::Number(text) => (Term::Number(digits.read(text)?), text.to_string()),
        NodeKind::Text(text) => (Term::Text(text.to_string().into()), text.to_string()),
        NodeKind::Bool(truth) => (Term::Truth(*truth), truth.to_string()),
        NodeKind::Array(items) => {
            let number = |item: &repro_core::source::Value| match &item.kind {
                NodeKind::Number(text) => digits.read(text),
                _ => None,
            };
            let numbers: Option<Vec<_>> = items.iter().map(number).collect();
            let list = StatedTerm::List(numbers?.into());
            let printed = list.to_string();
            (list, printed)
        }
        NodeKind::Null | NodeKind::Object(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_carry_their_order_and_float32s_their_rounding() {
        let width = |text: &str| Digits::Summed.read(text).unwrap().width();
        assert_eq!(width("12"), 0.0);
        assert!((width("0.1") / 0.1 - 2e-9).abs() < 1e-12);
        // a widened float32
        assert!((width("0.10000000149011612") / 0.1 - 1.2e-7).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_number_is_told_as_it_is_written() {
        let text = br#"{"a": NaN, "b": "N/A", "c": 1.5, "d": "0.5", "e": null, "f": "50 %"}"#;
        let source = Source::new("t.json", text.to_vec());
        let document = repro_core::source::Document::parse_loose_json(source.unwrap()).unwrap();
        let mut row = StatedRow::default();
        for (key, node) in document.root().members().unwrap() {
            row.measure(key, node, format!("/{key}"), Digits::Full);
        }
        assert_eq!(row.cell("a").unwrap().printed, "NaN");
        assert_eq!(row.cell("b").map(|cell| &cell.printed), None);
        assert_eq!(row.number("c"), Some(1.5));
        // A quoted number is still a number.
        assert_eq!(row.number("d"), Some(0.5));
        let unread = |key| {
            let mut row = StatedRow::default();
            let node =
                document.root().members().unwrap().find(|(known, _)| *known == key).unwrap().1;
            row.measure_or_tell("x", node, format!("/{key}"), Digits::Full);
            row.cell("unread").map(|cell| cell.printed.clone())
        };
        assert_eq!(["b", "c", "d"].map(unread), [None, None, None]);
        assert_eq!(["e", "f"].map(unread), [Some("null".to_owned()), Some("50 %".to_owned())]);
    }
}
