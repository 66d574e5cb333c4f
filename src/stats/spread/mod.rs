//! The possible meanings of a printed "mean ± number", and what follows from them.
//!
//! Owns the readings of the number after ±, the exact boxes behind printed digits, and t tests over a whole box
//! ([`Tested`]). Squares of standard deviations stay rational; a t quantile is rounded outward. Claims decide which
//! statement of a post is read and what it asserts.

mod reading;
mod tested;

pub use reading::{ErrorBarMeaning, Spread};
pub use tested::{Estimate, Tested};
