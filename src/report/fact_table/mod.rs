//! Small tables of evidence: arms as columns, quantities as rows.

mod values;

use anstyle::Style;

use crate::layout::{GLUE, Page, Piece, columns};
use crate::meaning::{FactCell, FactRow};
use crate::visible::{clipped, visible};
use values::RowFormat;

/// A table has at most so many arms.
const MOST_ARMS: usize = 6;
/// The widest label of a row.
const LABEL: usize = 44;
/// Units that are written beside each value.
const TIMES: [&str; 2] = ["ms", "s"];
/// The cell of an arm without a value.
const NONE: &str = "--";

/// A quantity of some arms.
#[derive(Debug, Clone, PartialEq)]
struct TableRow {
    quantity: String,
    series: String,
    unit: String,
    cells: Vec<FactCell>,
    /// Whether the values are ordered as in the text.
    holds: Option<bool>,
    /// The arms whose values are on the other side than the text says, and how many times the other value they are.
    reversed: Vec<(String, f64)>,
    /// Whether the text says that they are equal.
    is_equality: bool,
}

impl TableRow {
    fn of(row: &FactRow) -> Self {
        // A time has its unit beside the value, and a count its unit in its name.
        let (quantity, unit) = (visible(&row.quantity), visible(&row.unit));
        let is_told = unit.is_empty() || TIMES.contains(&unit.as_str()) || quantity.contains(&unit);
        Self {
            quantity: if is_told { quantity } else { format!("{quantity} ({unit})") },
            series: visible(&row.series),
            unit: row.unit.clone(),
            cells: row.cells.clone(),
            holds: row.holds(),
            reversed: reversed(row),
            is_equality: row.signs.iter().any(|sign| sign == "="),
        }
    }

    /// `core, bf16`: its quantity and its series, where they are wanted.
    fn name(&self, has_quantity: bool, has_series: bool) -> String {
        let parts = [(has_quantity, &self.quantity), (has_series, &self.series)];
        let parts = parts.into_iter().filter(|(is_wanted, part)| *is_wanted && !part.is_empty());
        parts.map(|(_, part)| part.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// `the reverse: moe64 2.38×, moe256 2.72×`.
    fn reverse(&self) -> String {
        let one = |(arm, times): &(String, f64)| format!("{} {times:.2}×", visible(arm));
        let times: Vec<_> = self.reversed.iter().map(one).collect();
        format!("the reverse: {}", times.join(", ")).trim_end_matches(": ").to_owned()
    }

    fn value(&self, arm: &str) -> Option<f64> {
        self.cells.iter().find(|cell| cell.arm == arm).map(|cell| cell.value)
    }

    /// Takes the values of another row of the same quantity, unless they contradict its own.
    fn takes(&mut self, other: &Self) -> bool {
        let is_same = self.quantity == other.quantity && self.series == other.series;
        let agrees = |cell: &FactCell| self.value(&cell.arm).is_none_or(|own| own == cell.value);
        let is_linked = other.cells.iter().any(|cell| self.value(&cell.arm).is_some());
        if !is_same || !is_linked || !other.cells.iter().all(agrees) {
            return false;
        }
        for cell in &other.cells {
            if self.value(&cell.arm).is_none() {
                self.cells.push(cell.clone());
            }
        }
        self.holds = match (self.holds, other.holds) {
            (Some(own), Some(others)) => Some(own && others),
            (own, others) => own.or(others),
        };
        let new = other.reversed.iter().filter(|one| !self.reversed.contains(one));
        let new: Vec<_> = new.cloned().collect();
        self.reversed.extend(new);
        self.is_equality |= other.is_equality;
        true
    }
}

/// The arms whose values are on the other side than the text says, and how many times the other value they are.
fn reversed(row: &FactRow) -> Vec<(String, f64)> {
    let pairs = std::iter::zip(&row.signs, row.cells.windows(2));
    let times = |(sign, pair): (&String, &[FactCell])| {
        let (most, other) = match sign.as_str() {
            "<" | "<=" => (&pair[0], &pair[1]),
            ">" | ">=" => (&pair[1], &pair[0]),
            _ => return None,
        };
        let is_reversed = most.value > other.value && other.value > 0.0;
        is_reversed.then(|| (most.arm.clone(), most.value / other.value))
    };
    pairs.filter_map(times).collect()
}

/// Rows whose arms share columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FactTable {
    arms: Vec<String>,
    rows: Vec<TableRow>,
}

impl FactTable {
    /// The tables of some facts: rows of one quantity together, and rows of the same arms below each other. Values of a
    /// single arm are compared with nothing and have no table.
    pub(super) fn all<'r>(rows: impl IntoIterator<Item = &'r FactRow>) -> Vec<Self> {
        let mut joined: Vec<TableRow> = Vec::new();
        let rows: Vec<_> = rows.into_iter().filter(|row| row.cells.len() > 1).collect();
        // What a post only shows stands below what its claims compare.
        let (compared, shown): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| !row.signs.is_empty());
        for row in compared.into_iter().chain(shown).map(TableRow::of) {
            if !joined.iter_mut().any(|known| known.takes(&row)) {
                joined.push(row);
            }
        }
        let mut tables: Vec<Self> = Vec::new();
        for row in joined {
            match tables.iter_mut().find(|table| table.has_room_for(&row)) {
                Some(table) => table.push(row),
                None => {
                    let mut table = Self { arms: Vec::new(), rows: Vec::new() };
                    table.push(row);
                    tables.push(table);
                }
            }
        }
        tables
    }

    /// Whether all its rows are among those of another.
    pub(super) fn is_part_of(&self, other: &Self) -> bool {
        self.rows.iter().all(|row| {
            let same = |known: &TableRow| {
                let has = |cell: &FactCell| known.value(&cell.arm) == Some(cell.value);
                known.quantity == row.quantity
                    && known.series == row.series
                    && row.cells.iter().all(has)
            };
            other.rows.iter().any(same)
        })
    }

    fn has_room_for(&self, row: &TableRow) -> bool {
        let is_known = |cell: &FactCell| self.arms.contains(&cell.arm);
        let known = row.cells.iter().filter(|cell| is_known(cell)).count();
        known == row.cells.len() || known == self.arms.len() && row.cells.len() <= MOST_ARMS
    }

    fn push(&mut self, row: TableRow) {
        for cell in &row.cells {
            if !self.arms.contains(&cell.arm) {
                self.arms.push(cell.arm.clone());
            }
        }
        self.rows.push(row);
    }

    /// The same with the columns in the order of an earlier table of these arms.
    pub(super) fn ordered_like(mut self, earlier: &[Self]) -> Self {
        let has_all = |other: &&Self| self.arms.iter().all(|arm| other.arms.contains(arm));
        if let Some(other) = earlier.iter().find(has_all) {
            self.arms.sort_by_key(|arm| other.arms.iter().position(|known| known == arm));
        }
        let arms = &self.arms;
        for row in &mut self.rows {
            row.reversed.sort_by_key(|(arm, _)| arms.iter().position(|known| known == arm));
        }
        self
    }

    /// Leaves out the rows that earlier tables have.
    pub(super) fn leave_out(&mut self, earlier: &[Self]) {
        let arms = &self.arms;
        self.rows.retain(|row| {
            let alone = Self { arms: arms.clone(), rows: vec![row.clone()] };
            !earlier.iter().any(|other| alone.is_part_of(other))
        });
    }

    /// Whether some values have the reverse of the order that the text says.
    pub(super) fn has_reverse(&self) -> bool {
        self.rows.iter().any(|row| row.holds == Some(false) && !row.is_equality)
    }

    /// `core: dense 0.0609, moe 0.0506`.
    fn in_a_line(&self, row: &TableRow) -> String {
        let format = RowFormat::of(row.cells.iter().map(|cell| cell.value), &row.unit);
        let cell = |arm: &String| {
            let value = row.value(arm).map_or(NONE.to_owned(), |value| format.of_value(value));
            format!("{} {value}", visible(arm)).trim().to_owned()
        };
        let cells: Vec<_> = self.arms.iter().map(cell).collect();
        let sense = match row.holds {
            Some(false) if !row.is_equality => format!(", {}", row.reverse()),
            _ if row.is_equality && row.holds == Some(false) => format!(", max/min {}", ratio(row)),
            _ => String::new(),
        };
        format!("{}: {}{sense}", row.name(true, true), cells.join(", "))
    }

    /// The lines that it takes.
    pub(super) fn height(&self) -> usize {
        if self.rows.len() == 1 { 1 } else { self.rows.len() + 1 }
    }

    /// How much it holds.
    pub(super) fn size(&self) -> usize {
        self.rows.iter().map(|row| row.cells.len()).sum()
    }

    /// Draws it, at most so many rows of it.
    pub(super) fn draw(&self, page: &mut Page, indent: usize, most: usize, faint: Style) {
        if let [row] = self.rows.as_slice() {
            return page.paragraph(indent, indent + 2, Style::new(), &self.in_a_line(row));
        }
        let lines = self.lines(most);
        let widest = |at: usize| {
            lines.iter().filter_map(|line| line.cells.get(at)).map(|cell| columns(cell)).max()
        };
        let labels = lines.iter().map(|line| columns(&line.label)).max().unwrap_or(0);
        let cells: usize = (0..self.arms.len() + 1).filter_map(widest).map(|wide| wide + 2).sum();
        if indent + labels + cells > page.width() {
            for row in self.rows.iter().take(most) {
                page.paragraph(indent, indent + 2, Style::new(), &self.in_a_line(row));
            }
            return;
        }
        for (number, line) in lines.iter().enumerate() {
            let style = if number == 0 { faint } else { Style::new() };
            let mut pieces = vec![Piece::at(indent, style, line.label.clone())];
            let mut stop = indent + labels;
            for (at, cell) in line.cells.iter().enumerate() {
                stop += 2 + widest(at).unwrap_or(0);
                let glued = cell.replace(' ', &GLUE.to_string());
                pieces.push(Piece::at(stop - columns(cell), style, glued));
            }
            pieces.push(Piece::at(stop + 3, faint, line.remark.as_str()));
            page.row(indent + 2, &pieces);
        }
    }

    /// Its head and at most so many rows, in words.
    pub(super) fn lines(&self, most: usize) -> Vec<TableLine> {
        let shared = |part: fn(&TableRow) -> &String| {
            let first = self.rows.first().map(part);
            first.filter(|first| self.rows.iter().all(|row| part(row) == *first)).cloned()
        };
        let (quantity, series) = (shared(|row| &row.quantity), shared(|row| &row.series));
        let label = |row: &TableRow| {
            let is_one = self.rows.len() == 1;
            let own = row.name(is_one || quantity.is_none(), is_one || series.is_none());
            clipped(if own.is_empty() { &row.quantity } else { &own }, LABEL)
        };
        let corner = match (&quantity, &series) {
            // The label says it.
            _ if self.rows.len() == 1 => String::new(),
            (Some(quantity), Some(series)) if !series.is_empty() => format!("{quantity}, {series}"),
            (one, other) => one.clone().or_else(|| other.clone()).unwrap_or_default(),
        };
        let has_ratio = self.rows.iter().any(|row| row.is_equality);
        let has_sense = self.has_reverse();
        let mut head: Vec<String> = self.arms.iter().map(|arm| visible(arm)).collect();
        head.extend(has_ratio.then(|| "max/min".to_owned()));
        let head = TableLine { label: clipped(&corner, LABEL), cells: head, remark: String::new() };
        let mut lines = vec![head];
        for row in self.rows.iter().take(most) {
            let format = RowFormat::of(row.cells.iter().map(|cell| cell.value), &row.unit);
            let cell = |arm: &String| {
                row.value(arm).map_or(NONE.to_owned(), |value| format.of_value(value))
            };
            let mut cells: Vec<_> = self.arms.iter().map(cell).collect();
            cells.extend(has_ratio.then(|| ratio(row)));
            let remark = match row.holds {
                // A post chooses what it shows beside its claims.
                None => "shown, not judged".to_owned(),
                Some(_) if !has_sense || row.is_equality => String::new(),
                Some(true) => "as in the text".to_owned(),
                Some(false) => row.reverse(),
            };
            lines.push(TableLine { label: label(row), cells, remark });
        }
        if let Some(more) = self.rows.len().checked_sub(most).filter(|more| *more > 0)
            && let Some(line) = lines.last_mut()
        {
            let remark = format!("{}, and {more} more", line.remark);
            line.remark = remark.trim_start_matches(", ").to_owned();
        }
        lines
    }
}

/// A line of a table: its label, a cell for each arm, and what there is to say of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TableLine {
    pub label: String,
    pub cells: Vec<String>,
    pub remark: String,
}

/// How many times the largest value is the smallest.
fn ratio(row: &TableRow) -> String {
    let values = || row.cells.iter().map(|cell| cell.value);
    let (least, most) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if least > 0.0 && most.is_finite() { format!("{:.2}×", most / least) } else { NONE.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(quantity: &str, series: &str, signs: &[&str], cells: &[(&str, f64)]) -> FactRow {
        FactRow {
            quantity: quantity.to_owned(),
            series: series.to_owned(),
            unit: String::new(),
            signs: signs.iter().map(|sign| (*sign).to_owned()).collect(),
            cells: cells
                .iter()
                .map(|(arm, value)| FactCell { arm: (*arm).to_owned(), value: *value })
                .collect(),
        }
    }

    fn drawn(rows: &[FactRow]) -> String {
        let mut page = Page::new(80, false);
        FactTable::all(rows).iter().for_each(|table| table.draw(&mut page, 2, 9, Style::new()));
        page.finish()
    }

    #[test]
    fn rows_of_the_same_arms_share_their_columns() {
        let rows = [
            row("tokens", "bf16", &["="], &[("dense", 22.894), ("moe", 13.221)]),
            row("tokens", "fp8", &["="], &[("dense", 22.894), ("moe", 17.21)]),
            row("core", "", &["<"], &[("first", 1.0), ("second", 2.0)]),
        ];
        let wanted = "  tokens  dense    moe  max/min\n  bf16    22.89  13.22    1.73×\n  fp8     22.89  17.21    1.33×\n\
                      \x20 core: first 1, second 2\n";
        assert_eq!(drawn(&rows), wanted);
    }

    #[test]
    fn a_chain_and_its_parts_are_one_row_and_contradicting_values_two() {
        let whole = row("loss", "", &["<", "<"], &[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
        let part = row("loss", "", &["<"], &[("b", 2.0), ("c", 3.0)]);
        assert_eq!(drawn(&[whole.clone(), part]), "  loss: a 1, b 2, c 3\n");
        let later = row("loss", "", &["<"], &[("b", 2.5), ("c", 3.0)]);
        assert_eq!(drawn(&[whole, later]).lines().count(), 3);
    }

    #[test]
    fn a_reversed_order_says_so() {
        let rows = [
            row("steps", "", &["<"], &[("moe", 1.0), ("dense", 2.0)]),
            row("time", "", &["<"], &[("moe", 2.0), ("dense", 1.0)]),
        ];
        let text = drawn(&rows);
        assert!(text.contains("as in the text") && text.contains("the reverse"), "{text}");
    }
}
