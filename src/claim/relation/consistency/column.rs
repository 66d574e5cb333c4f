//! The values of one name of a relation, row by row.

use super::LoggedTerm;

/// The values of a path in all rows of a kind.
#[derive(Debug)]
pub enum RelationColumn<'a> {
    /// NaN where there is no value.
    Numbers(Vec<f64>),
    Terms(Vec<Option<LoggedTerm<'a>>>),
}

impl<'a> RelationColumn<'a> {
    /// Builds a column from the terms of the rows, as numbers if it has only numbers.
    pub fn of(terms: Vec<Option<LoggedTerm<'a>>>) -> Self {
        let number = |term: &Option<LoggedTerm<'_>>| match term {
            Some(LoggedTerm::Number(number)) => Some(*number),
            Some(_) => None,
            None => Some(f64::NAN),
        };
        let numbers: Option<Vec<f64>> = terms.iter().map(number).collect();
        numbers.map_or(Self::Terms(terms), Self::Numbers)
    }

    /// The numbers, if every row has one.
    pub fn list(&self) -> Option<&[f64]> {
        match self {
            Self::Numbers(numbers) => {
                Some(numbers.as_slice()).filter(|all| !all.iter().any(|number| number.is_nan()))
            }
            Self::Terms(_) => None,
        }
    }
}
