//! Checks whether the numbers of a training post follow from its receipts.
//!
//! The modules are rows; each imports only from rows above it (`tests/it/layers.rs` holds the table).
//!
//! A printed number stands for every value that rounds to it, with exact ends:
//!
//! ```
//! use repro::decimal::{Printed, rounds_to};
//!
//! let claimed = Printed::parse("26.24")?;
//! let (tokens, params) = (Printed::parse("4,999,610,368")?, Printed::parse("190,532,352")?);
//! let ratio = tokens.exact().div(&params.exact()).ok_or("no parameters")?;
//! assert!(rounds_to(&ratio, &claimed));
//! assert!(!rounds_to(&ratio, &Printed::parse("26.25")?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bundle;
pub mod claims;
pub mod cli;
pub mod contract;
pub mod coverage;
pub mod decimal;
pub mod digest;
pub mod disk;
pub mod evidence;
pub mod formula;
pub mod import;
pub mod language;
pub mod lock;
pub mod mutation;
pub mod outcome;
pub mod parallel;
pub mod params;
#[cfg(feature = "train")]
pub mod portable;
pub mod post;
pub mod replay;
pub mod report;
pub mod rests;
pub mod rng;
pub mod scores;
pub mod sha256;
pub mod signature;
pub mod source;
pub mod spread;
pub mod stats;
pub mod study;
pub mod tasks;
#[cfg(feature = "train")]
pub mod train;
pub mod verify;
