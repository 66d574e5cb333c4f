//! Applies the consistency checks of a kind to every row that has the required values.

use std::borrow::Cow;

use repro_claim::relation::{Formula, PrintedRange, Term, Weight};
use repro_core::source::{Code, Location};

use crate::check::stated::{StatedCell, StatedPlace, StatedRow, StatedTerm};
use crate::check::table::CheckRelation;

/// The row of a whole document.
pub const DOCUMENT: &str = "document";

/// The maximum number of values shown with a finding.
const TOLD: usize = 12;

/// A parsed check.
#[derive(Debug)]
pub struct AskableRelation {
    pub relation: &'static CheckRelation,
    names: Vec<String>,
    when: Vec<Formula>,
    says: Formula,
    perhaps: Vec<Formula>,
}

/// A value behind a finding.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedValue {
    /// Its name in the formula.
    pub name: String,
    /// The value as printed, or as computed.
    pub value: String,
    /// Its location; none if it was computed.
    pub place: Option<Location>,
    /// How it was computed; empty if it is printed.
    pub how: String,
}

/// A check that fails in one row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Broken {
    /// The row, if there are several.
    pub label: String,
    /// The printed value, if one side of the formula is a value in the document.
    pub printed: Option<UsedValue>,
    /// The expected operator between the printed and the recomputed value: `=`, `<=`.
    pub relation: &'static str,
    /// The value of the other side.
    pub recomputed: String,
    /// All values in the formula.
    pub values: Vec<UsedValue>,
    /// Explanations of the printed number that were tried and fit.
    pub causes: Vec<&'static str>,
    /// The reason as text, if the check is not a formula.
    pub reason: String,
}

impl Broken {
    /// The finding in one line.
    pub fn in_words(&self, asked: &AskedRelation) -> String {
        if !self.reason.is_empty() {
            return self.reason.clone();
        }
        let told = |value: &UsedValue| format!("{} is {}", value.name, value.value);
        let values: Vec<_> = self.values.iter().map(told).collect();
        let causes = self.causes.iter().map(|cause| format!("; likely cause: {cause}"));
        format!(
            "{}: `{}`, {}{}",
            asked.code.meaning,
            asked.says,
            values.join(", "),
            causes.collect::<String>()
        )
    }
}

/// The result of one check in one document.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedRelation {
    pub code: &'static Code,
    pub weight: Weight,
    pub says: Cow<'static, str>,
    /// The source of the formula.
    pub source: &'static str,
    /// The number of rows to which the check applied.
    pub times: usize,
    /// The number of alternative explanations that are tried when the check fails.
    pub tried: usize,
    /// The rows in which it fails.
    pub broken: Vec<Broken>,
}

/// A row with its ancestors: names are looked up in the row, then in its ancestors.
#[derive(Debug, Clone, Copy)]
struct RowScope<'r> {
    row: &'r StatedRow,
    siblings: &'r [&'r StatedRow],
    at: usize,
    above: Option<&'r RowScope<'r>>,
}

/// The target of a name.
enum Lookup<'r> {
    Cell(&'r StatedCell),
    /// The values of a name in all rows of a table.
    Column(Vec<&'r StatedCell>),
}

impl AskableRelation {
    /// Parses a check; none on a syntax error, which a test rules out.
    pub fn of(relation: &'static CheckRelation) -> Option<Self> {
        let mut names = Vec::new();
        let mut read = |text: &str| Formula::read(text, &[], &mut names);
        let when = relation.when.iter().map(|text| read(text)).collect::<Option<_>>()?;
        let says = read(relation.says)?;
        let perhaps =
            relation.perhaps.iter().map(|other| read(other.says)).collect::<Option<_>>()?;
        Some(Self { relation, names, when, says, perhaps })
    }

    /// Applies the check to a document.
    pub fn ask(&self, document: &StatedRow) -> AskedRelation {
        let mut asked = self.unasked();
        let scope = RowScope { row: document, siblings: &[], at: 0, above: None };
        if self.relation.over == DOCUMENT {
            self.ask_row(scope, &mut asked);
        } else {
            self.ask_below(scope, &mut asked);
        }
        asked
    }

    /// Compares rows of several documents that should be equal, each with the one before it.
    pub fn ask_together(&self, rows: &[&StatedRow]) -> AskedRelation {
        let mut asked = self.unasked();
        for (at, row) in rows.iter().enumerate().skip(1) {
            self.ask_row(RowScope { row, siblings: rows, at, above: None }, &mut asked);
        }
        asked
    }

    fn unasked(&self) -> AskedRelation {
        let CheckRelation { code, weight, says, source, .. } = self.relation;
        AskedRelation {
            code,
            weight: *weight,
            says: (*says).into(),
            source,
            times: 0,
            tried: self.perhaps.len(),
            broken: Vec::new(),
        }
    }

    fn ask_below(&self, above: RowScope<'_>, asked: &mut AskedRelation) {
        for (name, rows) in above.row.tables() {
            let siblings: Vec<_> = rows.iter().collect();
            for (at, row) in rows.iter().enumerate() {
                let scope = RowScope { row, siblings: &siblings, at, above: Some(&above) };
                if name == self.relation.over {
                    self.ask_row(scope, asked);
                }
                self.ask_below(scope, asked);
            }
        }
    }

    fn ask_row(&self, scope: RowScope<'_>, asked: &mut AskedRelation) {
        let term = |at: usize| scope.term(self.names.get(at)?);
        if !self.when.iter().all(|formula| formula.holds(&term) == Some(true)) {
            return;
        }
        let Some(holds) = self.says.holds(&term) else { return };
        asked.times += 1;
        if !holds {
            asked.broken.push(self.broken(scope));
        }
    }

    fn broken(&self, scope: RowScope<'_>) -> Broken {
        let term = |at: usize| scope.term(self.names.get(at)?);
        let sides = self.says.sides(&term);
        let of_name = |name: &String| scope.used(name);
        let is_printed = |value: &UsedValue| value.place.is_some();
        let alone = self.says.first_name().and_then(|at| self.names.get(at)).and_then(of_name);
        let other = self.says.second_name().and_then(|at| self.names.get(at)).and_then(of_name);
        let other = other.filter(is_printed);
        let others = || sides.get(1..).unwrap_or_default().join(" and ");
        let is_computed = alone.as_ref().is_some_and(|value| !is_printed(value));
        let (relation, recomputed) = match (&alone, &other) {
            (None, _) => ("", String::new()),
            // The printed value is alone on the right.
            (Some(own), Some(_)) if is_computed && self.says.operator() == "=" => {
                ("=", own.value.clone())
            }
            (Some(_), Some(_)) if is_computed => ("", String::new()),
            // Printed values are shown as printed.
            (Some(_), Some(other)) => (self.says.operator(), other.value.clone()),
            (Some(_), None) => (self.says.operator(), others()),
        };
        let own = self.says.names.iter().filter_map(|at| of_name(self.names.get(*at)?));
        let printed = alone.filter(is_printed).or_else(|| own.into_iter().find(is_printed));
        let causes = std::iter::zip(&self.relation.perhaps, &self.perhaps);
        let causes = causes.filter(|(_, formula)| formula.holds(&term) == Some(true));
        let names = self.says.names.iter().filter_map(|at| self.names.get(*at));
        Broken {
            label: scope.label(),
            printed,
            relation,
            recomputed,
            values: names.filter_map(of_name).take(TOLD).collect(),
            causes: causes.map(|(other, _)| other.means).collect(),
            reason: String::new(),
        }
    }
}

impl<'r> RowScope<'r> {
    fn term(&self, name: &str) -> Option<StatedTerm> {
        match self.find(name)? {
            Lookup::Cell(cell) => Some(cell.term.clone()),
            Lookup::Column(cells) => {
                let number = |cell: &&StatedCell| match cell.term {
                    Term::Number(number) => Some(number),
                    _ => None,
                };
                let numbers: Option<Vec<PrintedRange>> = cells.iter().map(number).collect();
                Some(Term::List(numbers?.into()))
            }
        }
    }

    fn find(&self, name: &str) -> Option<Lookup<'r>> {
        if let Some(rest) = name.strip_prefix("previous.") {
            let before = self.siblings.get(self.at.checked_sub(1)?)?;
            return before.cell(rest).map(Lookup::Cell);
        }
        if let Some(rest) = name.strip_prefix("first.") {
            return self.siblings.first()?.cell(rest).map(Lookup::Cell);
        }
        if let Some(cell) = self.row.cell(name) {
            return Some(Lookup::Cell(cell));
        }
        let column = name.split_once('.').and_then(|(table, rest)| {
            let rows = self.row.rows(table);
            (!rows.is_empty())
                .then(|| rows.iter().map(|row| row.cell(rest)).collect::<Option<Vec<_>>>())
        });
        match column {
            Some(cells) => cells.map(Lookup::Column),
            None => self.above?.find(name),
        }
    }

    fn used(&self, name: &str) -> Option<UsedValue> {
        let (value, cell) = match self.find(name)? {
            Lookup::Cell(cell) => (cell.printed.clone(), cell),
            Lookup::Column(cells) => (self.term(name)?.to_string(), *cells.first()?),
        };
        let how = match &cell.place {
            StatedPlace::Computed(how) => how.clone(),
            StatedPlace::Span { .. } => String::new(),
        };
        Some(UsedValue { name: name.to_owned(), value, place: cell.place.location(), how })
    }

    /// The labels of its ancestors, and its own.
    fn label(&self) -> String {
        let above = self.above.map(Self::label).unwrap_or_default();
        match (above.is_empty(), self.row.label.is_empty()) {
            (true, _) => self.row.label.clone(),
            (_, true) => above,
            _ => format!("{above}, {}", self.row.label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::stated::Digits;
    use repro_core::source::Source;
    use std::sync::Arc;

    /// Applies the check `says` to a row in which `a` and `c` are printed and `b` is computed.
    fn broken(says: &'static str) -> Broken {
        let relation = Box::leak(Box::new(CheckRelation {
            code: Code { id: "check::test", meaning: "", help: "" },
            over: DOCUMENT,
            when: Vec::new(),
            says,
            source: "",
            perhaps: Vec::new(),
            weight: Weight::Doubt,
        }));
        let source = Arc::new(Source::new("x.md", b"0.50 3h".to_vec()).unwrap());
        let mut row = StatedRow::default();
        row.print("a", &source, 0..4, Digits::Rounded);
        row.print("c", &source, 5..7, Digits::Rounded);
        row.compute_number("b", 0.75, "in a test");
        let mut asked = AskableRelation::of(relation).unwrap().ask(&row);
        assert_eq!(asked.times, 1, "{says}");
        asked.broken.remove(0)
    }

    #[test]
    fn what_is_printed_is_told_as_it_is_printed() {
        let told = |says| {
            let Broken { printed, relation, recomputed, .. } = broken(says);
            (printed.map_or(String::new(), |printed| printed.value), relation, recomputed)
        };
        let is = |a: &str, relation, b: &str| (a.to_owned(), relation, b.to_owned());
        assert_eq!(told("a = b"), is("0.50", "=", "0.75"));
        assert_eq!(told("a = b + 1"), is("0.50", "=", "1.75"));
        // The printed number can be on the right.
        assert_eq!(told("b = a"), is("0.50", "=", "0.75"));
        assert_eq!(told("b <= a"), is("0.50", "", ""));
        assert_eq!(told("c = '4h'"), is("3h", "=", "`4h`"));
        assert_eq!(told("a + 1 = b"), is("0.50", "", ""));
    }

    #[test]
    fn values_of_a_row_can_be_those_of_another() {
        let mut from = StatedRow::default();
        from.compute_number("x", 2.0, "in a test");
        let mut row = StatedRow::default();
        row.copy("y", &from, "x");
        row.copy("z", &from, "nothing");
        assert_eq!(row.names().collect::<Vec<_>>(), ["y"]);
        assert_eq!(row.range("y"), Some(PrintedRange::between(2.0, 2.0)));
    }
}
