//! What must hold between the numbers of documents, as data.
//!
//! Owns formulas, what they compute with, and what a relation is. Where the numbers come from and what becomes of a relation that
//! does not hold is left to the crates that ask.

pub mod consistency;
mod formula;
mod number;
mod printed_range;

pub use formula::{Formula, Named, Term};
pub use number::{OfOne, RelationNumber};
pub use printed_range::PrintedRange;

use repro_core::source::Code;

/// What holds of every document of a sort that has the numbers; `Over` says of which of its rows.
#[derive(Debug)]
pub struct Relation<Over: 'static> {
    /// The finding where it does not hold.
    pub code: &'static Code,
    /// The rows that it is about.
    pub over: Over,
    /// What must hold for it to be asked.
    pub when: &'static [&'static str],
    /// What it says.
    pub says: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What would hold instead, where it does not, and what that would mean.
    pub perhaps: &'static [(&'static str, &'static str)],
    /// What its failure shows.
    pub weight: Weight,
}

/// What it shows that a relation does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Two of the numbers cannot both be right.
    Contradiction,
    /// Something is odd, and there are honest ways to it.
    Doubt,
}
