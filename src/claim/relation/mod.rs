//! What must hold between the numbers of documents, as data.
//!
//! Owns formulas and what they compute with, and the relations of bundles. Those of foreign documents stand beside their kinds.

pub mod consistency;
mod formula;
mod number;
mod printed_range;

pub use formula::{Formula, Named, Term};
pub use number::{OfOne, RelationNumber};
pub use printed_range::PrintedRange;

/// What it shows that a relation does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Two of the numbers cannot both be right.
    Contradiction,
    /// Something is odd, and there are honest ways to it.
    Doubt,
}
