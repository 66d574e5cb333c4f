//! Numbers as printed.
//!
//! A printed number stands for every value that rounds to it, with exact ends:
//!
//! ```
//! use repro_exact::decimal::{Printed, rounds_to};
//!
//! let claimed = Printed::parse("26.24")?;
//! let (tokens, params) = (Printed::parse("4,999,610,368")?, Printed::parse("190,532,352")?);
//! let ratio = tokens.exact().div(&params.exact()).ok_or("no parameters")?;
//! assert!(rounds_to(&ratio, &claimed));
//! assert!(!rounds_to(&ratio, &Printed::parse("26.25")?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod decimal;
