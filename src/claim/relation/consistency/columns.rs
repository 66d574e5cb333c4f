//! The values of all names of relations in one bundle: each is looked up once for all rows and checks.

use std::borrow::Cow;
use std::collections::HashMap;

use super::column::RelationColumn;
use super::rows::{Over, Row, Rows, pointer, term_at};
use super::{LoggedPlace, LoggedTerm};
use repro_bundle::bundle::{Bundle, CONFIG, RECEIPT};

/// A name in a relation, and the place where it is looked up.
#[derive(Debug)]
pub struct Name {
    /// Its text: `config.lr`, `previous.step`.
    pub text: String,
    scope: Scope,
    /// The path that is looked up.
    path: String,
}

/// The place where a name is looked up.
#[derive(Debug, Clone, Copy)]
enum Scope {
    Config,
    Receipt,
    /// All rows of a kind, as a list.
    All(Over),
    Row(RowShift),
}

/// The row in which a name of a row is looked up.
#[derive(Debug, Clone, Copy)]
pub enum RowShift {
    Own,
    Previous,
    First,
}

impl RowShift {
    fn row(self, at: usize) -> Option<usize> {
        match self {
            Self::Own => Some(at),
            Self::Previous => at.checked_sub(1),
            Self::First => Some(0),
        }
    }
}

impl Name {
    pub fn read(text: String) -> Self {
        let (head, rest) = text.split_once('.').unwrap_or((text.as_str(), ""));
        let scope = match head {
            "config" => Scope::Config,
            "receipt" => Scope::Receipt,
            "previous" => Scope::Row(RowShift::Previous),
            "first" => Scope::Row(RowShift::First),
            _ => Over::of_list(head).map_or(Scope::Row(RowShift::Own), Scope::All),
        };
        let is_own = matches!(scope, Scope::Row(RowShift::Own));
        let path = if is_own { text.as_str() } else { rest }.to_owned();
        Self { text, scope, path }
    }

    /// Whether it has the same value in every row.
    pub fn is_constant(&self) -> bool {
        !matches!(self.scope, Scope::Row(_))
    }
}

/// The columns of a bundle that checks use: each name is looked up once in each row.
#[derive(Debug)]
pub struct RelationColumns<'a> {
    rows: Rows<'a>,
    known: HashMap<(Over, &'static str), RelationColumn<'a>>,
    constants: HashMap<&'static str, Option<LoggedTerm<'a>>>,
}

/// The values of a name in the rows of a check.
#[derive(Debug)]
pub enum View<'c> {
    Constant(Option<LoggedTerm<'c>>),
    Numbers(&'c [f64], RowShift),
    Terms(&'c [Option<LoggedTerm<'c>>], RowShift),
}

impl View<'_> {
    /// Whether all of its values are numbers.
    pub fn is_of_numbers(&self) -> bool {
        matches!(self, Self::Constant(Some(LoggedTerm::Number(_))) | Self::Numbers(..))
    }

    /// The number in one row; NaN where there is no value.
    pub fn number(&self, row: usize) -> f64 {
        match self {
            Self::Constant(Some(LoggedTerm::Number(number))) => *number,
            Self::Numbers(numbers, shift) => {
                shift.row(row).and_then(|at| numbers.get(at)).copied().unwrap_or(f64::NAN)
            }
            _ => f64::NAN,
        }
    }

    /// The value in one row.
    pub fn at(&self, row: usize) -> Option<LoggedTerm<'_>> {
        match self {
            Self::Constant(term) => term.as_ref().map(LoggedTerm::borrowed),
            Self::Numbers(..) => {
                Some(self.number(row)).filter(|number| !number.is_nan()).map(LoggedTerm::Number)
            }
            Self::Terms(terms, shift) => {
                terms.get(shift.row(row)?)?.as_ref().map(LoggedTerm::borrowed)
            }
        }
    }
}

impl<'a> RelationColumns<'a> {
    pub fn of(bundle: &'a Bundle) -> Self {
        Self { rows: Rows::of(bundle), known: HashMap::new(), constants: HashMap::new() }
    }

    /// Looks up a name with the same value in every row; returns whether it has a value.
    pub fn find_constant(&mut self, name: &'static Name) -> bool {
        let root = match name.scope {
            Scope::Config => self.rows.config,
            Scope::Receipt => self.rows.receipt,
            Scope::All(listed) => {
                return self.column(listed, &name.path).list().is_some()
                    && self.rows.is_whole(listed);
            }
            Scope::Row(_) => return true,
        };
        let term = self.constants.entry(&name.text);
        term.or_insert_with(|| term_at(root?, &name.path)).is_some()
    }

    /// Looks up a name in the rows of a kind, if its value depends on the row.
    pub fn find_in_rows(&mut self, over: Over, name: &'static Name) {
        if !name.is_constant() {
            self.column(over, &name.path);
        }
    }

    fn column(&mut self, over: Over, path: &'static str) -> &RelationColumn<'a> {
        self.rows.find(over);
        self.known.entry((over, path)).or_insert_with(|| self.rows.column(over, path))
    }

    /// The values of a name that was looked up.
    pub fn view(&self, over: Over, name: &'static Name) -> View<'_> {
        let column = |over: Over| self.known.get(&(over, name.path.as_str()));
        match name.scope {
            Scope::Config | Scope::Receipt => {
                let term = self.constants.get(name.text.as_str()).and_then(Option::as_ref);
                View::Constant(term.map(LoggedTerm::borrowed))
            }
            Scope::All(listed) => {
                let list = column(listed).and_then(RelationColumn::list);
                View::Constant(list.map(|numbers| LoggedTerm::List(Cow::Borrowed(numbers))))
            }
            Scope::Row(shift) => match column(over) {
                Some(RelationColumn::Numbers(numbers)) => View::Numbers(numbers, shift),
                Some(RelationColumn::Terms(terms)) => View::Terms(terms, shift),
                None => View::Numbers(&[], shift),
            },
        }
    }

    /// The number of rows of a kind.
    pub fn count(&mut self, over: Over) -> usize {
        self.rows.find(over)
    }

    /// One of the rows.
    pub fn row(&self, over: Over, at: usize) -> Option<Row<'a>> {
        self.rows.row(over, at)
    }

    /// The file and pointer of a name's value in row `at`.
    pub fn place(&self, over: Over, at: usize, name: &Name) -> Option<LoggedPlace> {
        match name.scope {
            Scope::Config => Some(LoggedPlace::new(CONFIG, pointer(&name.path))),
            Scope::Receipt => {
                Some(LoggedPlace::new(RECEIPT, format!("/predicate{}", pointer(&name.path))))
            }
            Scope::All(listed) => {
                Some(LoggedPlace::new(self.rows.row(listed, 0)?.file(), String::new()))
            }
            Scope::Row(shift) => Some(self.rows.row(over, shift.row(at)?)?.place(&name.path)),
        }
    }
}
