//! What a printed "mean ± spread" can mean, and what follows from it.
//!
//! Owns the readings of the number after ±, the exact boxes behind printed digits, whether three such
//! statements can be two arms and their gap ([`Triple`]), and t tests over a whole box ([`Tested`]).
//! Squares of spreads stay rational, so feasibility is decided exactly; a t quantile is enclosed
//! outward. Which statement of a post is read, and what it claims, is left to the claims.

mod pairing;
mod reading;
mod tested;

pub use pairing::{PairingFit, Triple};
pub use reading::{ErrorBarMeaning, Spread};
pub use tested::{Estimate, Tested};
