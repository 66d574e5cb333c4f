//! Relations between the numbers of documents, as data.
//!
//! Owns formulas and their numbers, and the consistency checks of bundles. The checks of other formats are next to their
//! kinds.

pub mod consistency;
mod formula;
mod number;
mod printed_range;

pub use formula::{Formula, Named, Term};
pub use number::{OfOne, RelationNumber};
pub use printed_range::PrintedRange;

/// The consequence of a failed relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Two of the numbers cannot both be right.
    Contradiction,
    /// Something is odd, with possible honest explanations.
    Doubt,
}
