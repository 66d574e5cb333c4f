//! What the names of relations stand for in one bundle: each is looked up once for all rows and all relations.

use std::borrow::Cow;
use std::collections::HashMap;

use super::LoggedTerm;
use super::rows::{Over, Row, Rows, pointer, term_at};
use repro_receipt::bundle::{Bundle, CONFIG, RECEIPT};

/// A name of a relation, and where it is looked up.
#[derive(Debug)]
pub struct Name {
    /// As it is written: `config.lr`, `previous.step`.
    pub text: String,
    scope: Scope,
    /// What is looked up there.
    path: String,
}

/// Where a name is looked up.
#[derive(Debug, Clone, Copy)]
enum Scope {
    Config,
    Receipt,
    /// In all rows of a kind, as a list.
    All(Over),
    Row(RowShift),
}

/// In which row a name is looked up for another.
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

    /// Whether it stands for the same in every row.
    pub fn is_constant(&self) -> bool {
        !matches!(self.scope, Scope::Row(_))
    }
}

/// What a path stands for in all rows of a kind.
#[derive(Debug)]
pub enum Column<'a> {
    /// Only numbers; no number where there is none.
    Numbers(Vec<f64>),
    Terms(Vec<Option<LoggedTerm<'a>>>),
}

impl<'a> Column<'a> {
    fn of(rows: impl Iterator<Item = Option<LoggedTerm<'a>>>) -> Self {
        let terms: Vec<_> = rows.collect();
        let number = |term: &Option<LoggedTerm<'a>>| match term {
            Some(LoggedTerm::Number(number)) => Some(*number),
            Some(_) => None,
            None => Some(f64::NAN),
        };
        let numbers: Option<Vec<_>> = terms.iter().map(number).collect();
        numbers.map_or(Self::Terms(terms), Self::Numbers)
    }

    fn at(&self, row: usize) -> Option<LoggedTerm<'_>> {
        match self {
            Self::Numbers(numbers) => {
                numbers.get(row).copied().filter(|number| !number.is_nan()).map(LoggedTerm::Number)
            }
            Self::Terms(terms) => terms.get(row)?.as_ref().map(LoggedTerm::borrowed),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Numbers(numbers) => numbers.iter().all(|number| number.is_nan()),
            Self::Terms(terms) => terms.iter().all(Option::is_none),
        }
    }

    /// All of it as one list; none where a row has no number.
    fn list(&self) -> Option<LoggedTerm<'_>> {
        match self {
            Self::Numbers(numbers) if !numbers.iter().any(|number| number.is_nan()) => {
                Some(LoggedTerm::List(Cow::Borrowed(numbers)))
            }
            _ => None,
        }
    }
}

/// The columns of a bundle that relations have asked for.
#[derive(Debug)]
pub struct RelationColumns<'a> {
    rows: Rows<'a>,
    known: HashMap<(Over, &'static str), Column<'a>>,
    constants: HashMap<&'static str, Option<LoggedTerm<'a>>>,
}

/// What a name stands for in the rows of a relation.
#[derive(Debug)]
pub enum View<'c, 'a> {
    Constant(Option<LoggedTerm<'c>>),
    Column(&'c Column<'a>, RowShift),
}

/// What a name stands for that is a number in every row where it stands for something.
#[derive(Debug, Clone, Copy)]
pub enum NumberView<'c> {
    Constant(f64),
    Column(&'c [f64], RowShift),
}

impl NumberView<'_> {
    /// In one row; no number where it stands for nothing.
    pub fn at(&self, row: usize) -> f64 {
        match self {
            Self::Constant(number) => *number,
            Self::Column(numbers, shift) => {
                shift.row(row).and_then(|at| numbers.get(at)).copied().unwrap_or(f64::NAN)
            }
        }
    }
}

impl<'c> View<'c, '_> {
    /// The same, where it stands for numbers alone.
    pub fn numbers(&self) -> Option<NumberView<'c>> {
        match self {
            Self::Constant(Some(LoggedTerm::Number(number))) => Some(NumberView::Constant(*number)),
            Self::Column(Column::Numbers(numbers), shift) => {
                Some(NumberView::Column(numbers, *shift))
            }
            Self::Constant(_) | Self::Column(Column::Terms(_), _) => None,
        }
    }

    /// In one row.
    pub fn at(&self, row: usize) -> Option<LoggedTerm<'_>> {
        match self {
            Self::Constant(term) => term.as_ref().map(LoggedTerm::borrowed),
            Self::Column(column, shift) => column.at(shift.row(row)?),
        }
    }
}

impl<'a> RelationColumns<'a> {
    pub fn of(bundle: &'a Bundle) -> Self {
        Self { rows: Rows::of(bundle), known: HashMap::new(), constants: HashMap::new() }
    }

    /// Looks up a name of a relation over rows of a kind, and answers whether it stands for something anywhere.
    pub fn find(&mut self, over: Over, name: &'static Name) -> bool {
        let root = match name.scope {
            Scope::Config => self.rows.config,
            Scope::Receipt => self.rows.receipt,
            Scope::All(listed) => {
                let column = self.column(listed, &name.path).list().is_some();
                return column && self.rows.is_whole(listed);
            }
            Scope::Row(_) => return !self.column(over, &name.path).is_empty(),
        };
        let term = self.constants.entry(&name.text);
        term.or_insert_with(|| term_at(root?, &name.path)).is_some()
    }

    fn column(&mut self, over: Over, path: &'static str) -> &Column<'a> {
        let count = self.rows.find(over);
        let rows = &self.rows;
        let cell = |at| rows.row(over, at)?.field(path);
        let listed = || Column::of((0..count).map(cell));
        let column = || rows.logged(over, path).map_or_else(listed, Column::Numbers);
        self.known.entry((over, path)).or_insert_with(column)
    }

    /// What a name stands for that was looked up.
    pub fn view(&self, over: Over, name: &'static Name) -> View<'_, 'a> {
        let column = |over: Over| self.known.get(&(over, name.path.as_str()));
        match name.scope {
            Scope::Config | Scope::Receipt => {
                let term = self.constants.get(name.text.as_str()).and_then(Option::as_ref);
                View::Constant(term.map(LoggedTerm::borrowed))
            }
            Scope::All(listed) => View::Constant(column(listed).and_then(Column::list)),
            Scope::Row(shift) => {
                column(over).map_or(View::Constant(None), |column| View::Column(column, shift))
            }
        }
    }

    /// How many rows of a kind there are.
    pub fn count(&mut self, over: Over) -> usize {
        self.rows.find(over)
    }

    /// One of them.
    pub fn row(&self, over: Over, at: usize) -> Option<Row<'a>> {
        self.rows.row(over, at)
    }

    /// The file and the pointer where a name of the row `at` stands.
    pub fn place(&self, over: Over, at: usize, name: &Name) -> Option<(String, String)> {
        match name.scope {
            Scope::Config => Some((CONFIG.to_owned(), pointer(&name.path))),
            Scope::Receipt => {
                Some((RECEIPT.to_owned(), format!("/predicate{}", pointer(&name.path))))
            }
            Scope::All(listed) => {
                Some((self.rows.row(listed, 0)?.file().to_owned(), String::new()))
            }
            Scope::Row(shift) => Some(self.rows.row(over, shift.row(at)?)?.place(&name.path)),
        }
    }
}
