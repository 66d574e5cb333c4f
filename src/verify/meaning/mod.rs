//! The meaning of a claim: the fact behind its words, and the lints that compare the words with the fact.

pub mod fact;
pub mod lints;
mod nouns;
mod phrases;
pub mod provenance;
pub mod rows;

pub use nouns::Scope;
pub use provenance::Provenance;
