//! Checks whether the numbers of a training post follow from its receipts.
//!
//! The modules are rows; each imports only from rows above it (`tests/it/layers.rs` holds the table).

pub mod bundle;
pub mod claims;
pub mod cli;
pub mod contract;
pub mod coverage;
pub mod decimal;
pub mod digest;
pub mod evidence;
pub mod formula;
pub mod lock;
pub mod mutation;
pub mod outcome;
pub mod params;
pub mod post;
pub mod report;
pub mod source;
pub mod verify;
