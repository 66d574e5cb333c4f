//! Checks whether the numbers of a training post follow from its receipts.
//!
//! The modules are rows; each imports only from rows above it (`tests/it/layers.rs` holds the table).

pub mod bundle;
pub mod decimal;
pub mod digest;
pub mod formula;
pub mod outcome;
pub mod params;
pub mod report;
pub mod source;
