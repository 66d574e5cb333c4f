//! What a printed "mean ± spread" can mean, and what follows from it.
//!
//! Owns the readings of the number after ±, the exact boxes behind printed digits, and t tests over a whole box ([`Tested`]).
//! Squares of spreads stay rational; a t quantile is enclosed outward. Which statement of a post is read, and what it claims, is
//! left to the claims.

mod reading;
mod tested;

pub use reading::{ErrorBarMeaning, Spread};
pub use tested::{Estimate, Tested};
