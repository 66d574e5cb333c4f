//! Tables: their cells in the text, each with the names of its row.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use num_rational::BigRational;
use repro_claim::quote::{self, HeadUnit};
use repro_claim::table::{self, NamedTable, PrintedCell, PrintedTable};
use repro_core::source::{Error, codes};
use repro_report::outcome::{ClaimReport, Verdict};

use super::coherence;
use super::judge::{BoundWords, Judge, SoughtWords, absent, followed};
use super::numbers;
use crate::context::as_read;
use crate::json_text::{self, ReadText};
use crate::page::{self, Binding, HEAD, PlacedExpression, PostStatement, Table, cell_id};
use crate::reading;

codes! {
    NO_MEMBER = "sentence::no-member", "the JSON text has no such member", "correct the pointer in `place` or the row and column names; `place = \"\"` is the whole document";
    NO_TABLE = "sentence::no-table", "the text has no such table, or more than one", "copy the table's head from the text, or give its lines in `printed`";
    NOT_AT_HAND = "sentence::missing-text", "the text is not available", "pass it with `--text FILE`";
}

/// The most bytes of the cells around one.
const MOST_CELLS: usize = 4_000;

/// The factor of each column that has one.
type Scales = BTreeMap<String, BigRational>;

/// One line of a table.
pub(super) struct TableRow<'t> {
    pub(super) label: &'t str,
    /// Which row of the printed lines it is; none of the head.
    pub(super) at: Option<usize>,
    pub(super) cells: &'t [PrintedCell],
    pub(super) variables: &'t BTreeMap<String, PlacedExpression>,
    /// The numbers that are bound, by column.
    pub(super) numbers: &'t [(String, Vec<Binding>)],
    /// Relations by column.
    pub(super) says: &'t [(String, Vec<PlacedExpression>)],
    /// The head of the table and its own line, for reviewers.
    pub(super) context: String,
}

/// The content of the text at a table's stated location.
pub(super) enum There {
    /// Its lines were read from the text, or the text is not available.
    Read,
    /// No table with this head.
    NoHead(Vec<PrintedCell>),
    /// The table with its head, and whether it has each of the printed rows.
    Lines(Vec<bool>),
    /// The members in JSON, or why it has no such place.
    Members(Result<Arc<NamedTable>, String>),
}

impl There {
    fn of(table: &Table, text: Option<&ReadText>) -> Self {
        let Some(text) = text else { return Self::Read };
        match &table.printed {
            _ if table.pointer.is_some() => Self::Members(table.found(text)),
            None => Self::Read,
            Some(printed) => match text.of_table(printed) {
                None => Self::NoHead(printed.head.clone()),
                Some(found) => Self::Lines(found.rows.iter().map(Option::is_some).collect()),
            },
        }
    }
}

impl<'a> Judge<'a> {
    pub(super) fn table(&self, table: &Table) -> Result<Vec<ClaimReport>, Error> {
        let text = self.context.text(&self.statement.text);
        if table.printed.is_none() && text.is_none() {
            let expected = "the text, or the printed table in `printed` or after its fields";
            return Err(NOT_AT_HAND.at(self.statement.place.clone(), expected, "neither"));
        }
        let found = table.lines(text).map_err(|found| {
            let place = self.statement.place.clone();
            match &table.pointer {
                Some(pointer) => NO_MEMBER.at(place, format!("a value at `{pointer}`"), found),
                None => {
                    let head: Vec<_> = table.head.iter().map(|cell| cell.text.as_str()).collect();
                    let near = self.context.nearest(&self.statement.text, &head.join(" "));
                    NO_TABLE.at(place, "exactly one such table in the text", followed(&found, near))
                }
            }
        })?;
        let none = BTreeMap::new();
        let there = There::of(table, text);
        let head = TableRow {
            label: HEAD,
            at: None,
            cells: &found.head,
            variables: &none,
            numbers: &table.heads,
            says: &[],
            context: joined(&found.head),
        };
        let mut reports = self.row(table, &head, &there, &Scales::new())?;
        let rows = self.named_rows(table, &found)?;
        let of_rows = |scales: &Scales| -> Result<Vec<_>, Error> {
            rows.iter().map(|row| self.row(table, row, &there, scales)).collect()
        };
        let mut judged = of_rows(&Scales::new())?;
        let scales = self.scales(table, &found, &rows, &judged);
        if !scales.is_empty() {
            judged = of_rows(&scales)?;
        }
        let mut judged: Vec<_> = judged.into_iter().flatten().collect();
        coherence::lint(self.statement, table, &mut judged);
        reports.extend(judged);
        Ok(reports)
    }

    /// The rows that the post names, in its order.
    fn named_rows<'t>(
        &self,
        table: &'t Table,
        found: &'t NamedTable,
    ) -> Result<Vec<TableRow<'t>>, Error> {
        let head = joined(&found.head);
        let mut rows = Vec::new();
        for (label, variables) in &table.rows {
            self.context.work.goes_on(&self.statement.place)?;
            let row = found.row(label).ok_or_else(|| {
                let first = found.rows.iter().filter_map(|row| row.first());
                let known = first.map(|cell| cell.text.as_str());
                let place = variables.values().next().map(PlacedExpression::place);
                page::no_such(label, known, place.unwrap_or(&self.statement.place).clone())
            })?;
            let cells = &found.rows[row];
            let context = format!("{head}\n{}", joined(cells));
            let (at, numbers, says) = (Some(row), &table.columns, &table.says);
            rows.push(TableRow { label, at, cells, variables, numbers, says, context });
        }
        Ok(rows)
    }

    /// The scale of each column whose cells do not hold as they stand, and hold under one factor.
    fn scales<'r>(
        &self,
        table: &Table,
        found: &PrintedTable,
        rows: &[TableRow],
        reports: &'r [Vec<ClaimReport>],
    ) -> Scales {
        let mut scales = Scales::new();
        for (label, bindings) in &table.columns {
            let head = table::column(&found.head, label).and_then(|at| found.head.get(at));
            // A head with a unit has declared the scale, and behind a number and its spread stands one of another kind.
            let plain = |head: &&PrintedCell| quote::unit_of_head(&head.text).is_none();
            let Some(head) = head.filter(plain).filter(|_| bindings.len() <= 2) else { continue };
            let of_row = |(row, reports): (&TableRow, &'r Vec<ClaimReport>)| {
                let id = cell_id(&[&self.statement.id, row.label, &head.text]);
                numbers::of_cell(reports, &id)
            };
            let own: Vec<_> = std::iter::zip(rows, reports).flat_map(of_row).collect();
            let is_refuted = own.iter().any(|one| one.outcome.verdict == Verdict::Refuted);
            let cells: Vec<_> =
                own.into_iter().filter_map(|one| numbers::column_cell(one, true)).collect();
            if let Some(scale) = reading::column_scale(&cells).filter(|_| is_refuted) {
                scales.insert(label.clone(), scale);
            }
        }
        scales
    }

    /// The numbers of the cells of one line that are bound, and the relations that its cells state.
    pub(super) fn row(
        &self,
        table: &Table,
        row: &TableRow,
        there: &There,
        scales: &Scales,
    ) -> Result<Vec<ClaimReport>, Error> {
        let TableRow { numbers: bindings, says, .. } = *row;
        let mut reports = Vec::new();
        let columns = bindings.iter().map(|(column, _)| column);
        let mut seen = BTreeSet::new();
        for column in columns.chain(says.iter().map(|(column, _)| column)) {
            if !seen.insert(column) {
                continue;
            }
            let Some(at) = table::column(&table.head, column) else { continue };
            let (Some(head), Some(cell)) = (table.head.get(at), row.cells.get(at)) else {
                continue;
            };
            // A cell beside numbers may be empty; an object of JSON may lack a member that its neighbours have.
            let is_empty = cell.text.is_empty() || table.pointer.is_none() && is_blank(&cell.text);
            if is_empty {
                continue;
            }
            let own = bindings.iter().find(|(label, _)| label == column);
            let bound = BoundWords {
                id: cell_id(&[&self.statement.id, row.label, &head.text]),
                quote: &cell.text,
                place_in_text: place_of_cell(self.statement, table, row.label, &head.text),
                sought: SoughtWords {
                    not_there: self.cell_not_there(there, row, at),
                    context: row.context.clone(),
                    ..SoughtWords::default()
                },
                head: Some(&head.text),
                row: row.at.and_then(|_| row.cells.first()).map(|cell| cell.text.as_str()),
                row_head: table.head.first().map(|cell| cell.text.as_str()),
                scale: scales.get(column).cloned(),
                row_unit: unit_of_row(table, row),
                variables: row.variables,
                bindings: own.map_or(&[], |(_, list)| list),
                items: quote::items(&cell.text),
                said: BTreeSet::new(),
            };
            // One reason excuses all that is in a column.
            if !matches!(bound.bindings, [] | [Binding::Excused(_)]) {
                reports.extend(self.numbers(&bound)?);
            }
            for (_, relations) in says.iter().filter(|(label, _)| label == column) {
                reports.extend(self.said(&bound, relations)?);
            }
        }
        Ok(reports)
    }

    /// Why the text does not have a cell; none if it has it.
    pub(super) fn cell_not_there(
        &self,
        there: &There,
        row: &TableRow,
        column: usize,
    ) -> Option<String> {
        let nearest = |cells: &[PrintedCell]| {
            let cells: Vec<_> = cells.iter().map(|cell| cell.text.as_str()).collect();
            self.context.nearest(&self.statement.text, &cells.join(" "))
        };
        match there {
            There::Read => None,
            There::NoHead(head) => {
                Some(followed("the text has no table with this head", nearest(head)))
            }
            There::Lines(rows) => {
                let is_there = row.at.is_none_or(|at| rows.get(at).is_some_and(|found| *found));
                (!is_there).then(|| absent(nearest(row.cells)))
            }
            There::Members(Err(why)) => Some(absent(Some(why.clone()))),
            There::Members(Ok(found)) => {
                let Some(at) = found.row(row.label) else {
                    return Some(absent(Some(format!("no row `{}`", row.label))));
                };
                let wanted = row.cells.get(column).map_or("", |cell| cell.text.as_str());
                let printed = found.rows[at].get(column).map(|cell| cell.text.as_str());
                let instead = printed.map(|text| format!("the text has `{text}` there"));
                (printed != Some(wanted)).then(|| absent(instead))
            }
        }
    }
}

/// Cells as one line of at most [`MOST_CELLS`] bytes.
fn joined(cells: &[PrintedCell]) -> String {
    let mut line = String::from("|");
    for cell in cells {
        if line.len() > MOST_CELLS {
            return line + " …";
        }
        line = format!("{line} {} |", as_read(&cell.text));
    }
    line
}

/// The place of a cell as its claims name it: a pointer in JSON, else words.
fn place_of_cell(statement: &PostStatement, table: &Table, row: &str, column: &str) -> String {
    if let Some(pointer) = &table.pointer {
        return json_text::below(&json_text::below(pointer, row), column);
    }
    match statement.place_in_text.as_str() {
        "" => format!("row {row}, {column}"),
        before => format!("{before}, row {row}, {column}"),
    }
}

/// The unit that the name of a row states: `Params (M)`. Beside more than one column it may be that of some of them.
fn unit_of_row(table: &Table, row: &TableRow) -> Option<HeadUnit> {
    row.at?;
    let name = match table.pointer {
        Some(_) => row.label,
        None => row.cells.first().map(|cell| cell.text.as_str())?,
    };
    let is_only = table.head.len() == 2;
    let stated = quote::unit_of_row(name)?;
    Some(HeadUnit { is_sure: stated.is_sure && is_only, ..stated })
}

/// Whether a cell claims nothing: it is empty, a dash, or says that there is not a number.
pub(super) fn is_blank(cell: &str) -> bool {
    let word = cell.trim().to_lowercase();
    ["", "n/a", "na", "none"].contains(&word.as_str())
        || word.chars().all(|c| "-‐‑‒–—―−".contains(c))
}

/// Line and column of the cell of a table that binds just one.
pub fn only_cell(table: &Table) -> Option<(usize, usize)> {
    let printed = table.printed.as_ref()?;
    let ([(row, _)], [(column, _)]) = (table.rows.as_slice(), table.columns.as_slice()) else {
        return None;
    };
    let column = table::column(&printed.head, column)?;
    let named = NamedTable::of(printed.clone());
    let at = named.row(row).filter(|at| column < named.rows[*at].len())?;
    Some((at, column))
}
