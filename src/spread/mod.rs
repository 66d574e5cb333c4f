//! What a printed "mean ± spread" can mean, and what follows from it.
//!
//! Owns the readings of the number after ±, the exact boxes behind printed digits, whether three such
//! statements can be two arms and their gap ([`Triple`]), and t tests over a whole box ([`Tested`]).
//! Squares of spreads stay rational, so feasibility is decided exactly; a t quantile is enclosed
//! outward. Which statement of a post is read, and what it claims, is left to the claims.

#![forbid(unsafe_code)]

mod pairing;
mod reading;
mod tested;

pub use pairing::{Fit, Triple};
pub use reading::{Reading, Spread};
pub use tested::{Estimate, Tested};

/// The other way round, for tests: from values to what is printed of them.
#[cfg(test)]
mod printing {
    use super::Reading;
    use super::reading::quantile_square;
    use crate::decimal::nearest_f64;

    /// What a paper would print for `values` under `reading`.
    pub fn width(values: &[f64], reading: Reading) -> f64 {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let standard_error = sd / n.sqrt();
        match reading {
            Reading::Sd => sd,
            Reading::PopulationSd => sd * ((n - 1.0) / n).sqrt(),
            Reading::StandardError => standard_error,
            Reading::Confidence(level) => {
                let square = quantile_square(n - 1.0, level);
                standard_error * nearest_f64(&square.middle()).sqrt()
            }
            Reading::NormalConfidence => 1.96 * standard_error,
            Reading::HalfRange => {
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (most - values.iter().copied().fold(f64::INFINITY, f64::min)) / 2.0
            }
        }
    }
}
