//! Tables of a post file, and objects of JSON as tables of one line.

use std::collections::BTreeMap;
use std::sync::Arc;

use repro_claim::table::{self, NamedTable, PrintedCell, PrintedTable};
use repro_core::similar::did_you_mean;
use repro_core::source::{Error, Location, Node, codes};

use super::placed::{Binding, PlacedExpression, with_hint};
use crate::json_text::ReadText;
use crate::page_keys;

codes! {
    BAD_TABLE = "post::bad-table", "the table cannot be parsed", "write it as in Markdown: cells between `|`, the head first";
    NO_SUCH_ROW = "post::no-such-row", "the table has no such row or column", "use the text of the row's first cells, or of the column's head";
}

/// A table of the text.
#[derive(Debug, Clone)]
pub struct Table {
    /// The lines that are written in the post file; none if they are read from the text.
    pub printed: Option<PrintedTable>,
    /// The pointer of the object or list that it is, where the text is JSON: rows and columns are its members.
    pub pointer: Option<String>,
    /// The head, by which the text's table is found; of a table in JSON, its columns behind an empty cell.
    pub head: Vec<PrintedCell>,
    /// The variables of each row, by its first cells.
    pub rows: Vec<(String, BTreeMap<String, PlacedExpression>)>,
    /// The bindings of each column's cells, by its head.
    pub columns: Vec<(String, Vec<Binding>)>,
    /// Relations that each column's cells state, by its head.
    pub says: Vec<(String, Vec<PlacedExpression>)>,
    /// The bindings of numbers in the head, by the head.
    pub heads: Vec<(String, Vec<Binding>)>,
}

impl Table {
    /// Its lines: those of the post file, else those of the text; else what the text has instead.
    pub fn lines(&self, text: Option<&ReadText>) -> Result<Arc<NamedTable>, String> {
        match (&self.printed, text) {
            (Some(printed), _) => Ok(Arc::new(NamedTable::of(printed.clone()))),
            (None, Some(text)) => self.found(text),
            (None, None) => Err("no text".to_owned()),
        }
    }

    /// The columns that it names, with the place where they are named.
    pub(super) fn labels<'t>(
        &'t self,
        node: Node<'t>,
    ) -> impl Iterator<Item = (&'t str, Location)> {
        let of = move |key: &str| node.get(key).unwrap_or(node).place();
        let columns = self.columns.iter().map(|(label, _)| (label, "columns"));
        let says = self.says.iter().map(|(label, _)| (label, "says"));
        let heads = self.heads.iter().map(|(label, _)| (label, "heads"));
        columns.chain(says).chain(heads).map(move |(label, key)| (label.as_str(), of(key)))
    }

    /// Its lines in the text: the members at its pointer, or the one table with its head.
    pub fn found(&self, text: &ReadText) -> Result<Arc<NamedTable>, String> {
        let Some(pointer) = &self.pointer else {
            let other = |count: usize| format!("{count} tables with this head");
            return text.table_below(&self.head).map_err(other);
        };
        let rows: Vec<&str> = self.rows.iter().map(|(label, _)| label.as_str()).collect();
        let members = text.table(pointer, &rows, &self.head)?;
        Ok(Arc::new(NamedTable::of(members)))
    }
}

pub(super) fn read_table(node: Node, place: Option<&str>) -> Result<Table, Error> {
    page_keys::only("table", node)?;
    let columns = by_label(node, "columns", Binding::read_all)?;
    let says = by_label(node, "says", PlacedExpression::read_all)?;
    let heads = by_label(node, "heads", Binding::read_all)?;
    if let Some(fields) = node.get("fields") {
        return read_object(node, fields, place, says);
    }
    let bad = |node: Node, found: &str| {
        BAD_TABLE.at(node.place(), "a head and at least one line of cells between `|`", found)
    };
    let parse =
        |node: Node| PrintedTable::parse(node.text()?).ok_or_else(|| bad(node, "something else"));
    let printed = node.get("printed").map(parse).transpose()?;
    let is_pointer = |place: &str| {
        // The root has the empty pointer.
        place.starts_with('/') || place.is_empty() && node.get("printed").is_none()
    };
    let pointer = place.filter(|place| is_pointer(place) && node.get("head").is_none());
    let head = match (&printed, node.get("head")) {
        (Some(table), _) => table.head.clone(),
        (None, Some(head)) => {
            table::head(head.text()?).ok_or_else(|| bad(head, "a line without cells"))?
        }
        (None, None) if pointer.is_some() => members(
            columns.iter().map(|(label, _)| label).chain(says.iter().map(|(label, _)| label)),
        ),
        (None, None) => {
            let expected = "`head` or `printed`, or a JSON pointer as `place`";
            return Err(BAD_TABLE.at(node.place(), expected, "neither"));
        }
    };
    let rows = node.required("rows")?.members()?;
    let rows = rows.map(|(label, row)| Ok((label.to_owned(), variables(row)?)));
    let rows = rows.collect::<Result<_, Error>>()?;
    let pointer = pointer.map(str::to_owned);
    let table = Table { printed, pointer, head, rows, columns, says, heads };
    for (label, place) in table.labels(node) {
        if table::column(&table.head, label).is_none() {
            let known = numbered(&table.head);
            return Err(no_such(label, known.iter().map(String::as_str), place));
        }
    }
    Ok(table)
}

/// The values of a row's names: `it` if there is a single expression.
fn variables(row: Node) -> Result<BTreeMap<String, PlacedExpression>, Error> {
    let Ok(members) = row.members() else {
        return Ok(BTreeMap::from([("it".to_owned(), PlacedExpression::read(row)?)]));
    };
    members.map(|(name, value)| Ok((name.to_owned(), PlacedExpression::read(value)?))).collect()
}

/// The names of columns, those of one text with their numbers: `loss #1`, `loss #2`.
fn numbered(head: &[PrintedCell]) -> Vec<String> {
    let same =
        |part: &[PrintedCell], text: &str| part.iter().filter(|cell| cell.text == text).count();
    let name = |(at, cell): (usize, &PrintedCell)| match same(head, &cell.text) {
        1 => cell.text.clone(),
        _ => format!("{} #{}", cell.text, same(&head[..=at], &cell.text)),
    };
    head.iter().enumerate().map(name).collect()
}

/// The error of a row or column that a table does not have, with those that it has.
pub fn no_such<'t>(
    label: &str,
    known: impl Iterator<Item = &'t str> + Clone,
    place: Location,
) -> Error {
    let listed: Vec<_> = known.clone().map(|text| format!("`{text}`")).collect();
    let expected = match listed.is_empty() {
        true => "a row of the table, which has no rows".to_owned(),
        false => listed.join(", "),
    };
    let error = NO_SUCH_ROW.at(place, expected, format!("`{label}`"));
    with_hint(error, did_you_mean(label, known))
}

/// One object of JSON: a table with one line, whose columns are named `field: value` with what is printed.
fn read_object(
    node: Node,
    fields: Node,
    place: Option<&str>,
    mut says: Vec<(String, Vec<PlacedExpression>)>,
) -> Result<Table, Error> {
    let Some(pointer) = place.filter(|place| place.is_empty() || place.starts_with('/')) else {
        let expected = "a `place` that is a JSON pointer, such as `/runs/0`";
        return Err(BAD_TABLE.at(fields.place(), expected, "none"));
    };
    for key in ["printed", "head", "rows", "columns", "heads"] {
        if let Some(other) = node.get(key) {
            let expected = "only `fields`, or `rows` and `columns`";
            return Err(BAD_TABLE.at(other.place(), expected, format!("`{key}`")));
        }
    }
    let mut columns = by_label(node, "fields", Binding::read_all)?;
    let mut values: Vec<(String, Option<String>)> = Vec::new();
    let labels =
        columns.iter_mut().map(|(label, _)| label).chain(says.iter_mut().map(|(label, _)| label));
    for label in labels {
        let mut value = None;
        if let Some((field, printed)) = label.split_once(": ") {
            value = Some(printed.to_owned());
            *label = field.to_owned();
        }
        match values.iter_mut().find(|(known, _)| known == label) {
            Some((_, known)) => *known = known.take().or(value),
            None => values.push((label.clone(), value)),
        }
    }
    let head = members(values.iter().map(|(label, _)| label));
    let values = values.into_iter().map(|(_, value)| Some(PrintedCell::alone(value?)));
    let cells: Option<Vec<_>> =
        std::iter::once(Some(PrintedCell::alone(String::new()))).chain(values).collect();
    let printed = cells.map(|cells| PrintedTable { head: head.clone(), rows: vec![cells] });
    let (rows, heads) = (vec![(String::new(), BTreeMap::new())], Vec::new());
    Ok(Table { printed, pointer: Some(pointer.to_owned()), head, rows, columns, says, heads })
}

/// The head of a table in JSON: the names of its columns behind that of its rows, each once.
fn members<'s>(labels: impl Iterator<Item = &'s String>) -> Vec<PrintedCell> {
    let mut head = vec![PrintedCell::alone(String::new())];
    for label in labels {
        if !head.iter().any(|cell| cell.text == *label) {
            head.push(PrintedCell::alone(label.clone()));
        }
    }
    head
}

/// The entry for each column under a key.
fn by_label<T>(
    node: Node,
    key: &str,
    read: fn(Node) -> Result<Vec<T>, Error>,
) -> Result<Vec<(String, Vec<T>)>, Error> {
    let Some(table) = node.get(key) else { return Ok(Vec::new()) };
    table.members()?.map(|(label, node)| Ok((label.to_owned(), read(node)?))).collect()
}
