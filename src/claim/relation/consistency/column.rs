//! What one name of relations stands for, row by row.

use super::LoggedTerm;

/// What a path stands for in all rows of a kind.
#[derive(Debug)]
pub enum RelationColumn<'a> {
    /// No number where it stands for nothing.
    Numbers(Vec<f64>),
    Terms(Vec<Option<LoggedTerm<'a>>>),
}

impl<'a> RelationColumn<'a> {
    /// From the terms of the rows: as numbers, where they are nothing else.
    pub fn of(terms: Vec<Option<LoggedTerm<'a>>>) -> Self {
        let number = |term: &Option<LoggedTerm<'_>>| match term {
            Some(LoggedTerm::Number(number)) => Some(*number),
            Some(_) => None,
            None => Some(f64::NAN),
        };
        let numbers: Option<Vec<f64>> = terms.iter().map(number).collect();
        numbers.map_or(Self::Terms(terms), Self::Numbers)
    }

    /// The numbers, where every row has one.
    pub fn list(&self) -> Option<&[f64]> {
        match self {
            Self::Numbers(numbers) => {
                Some(numbers.as_slice()).filter(|all| !all.iter().any(|number| number.is_nan()))
            }
            Self::Terms(_) => None,
        }
    }
}
