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

/// The other way round, for tests: from values to what is printed of them.
#[cfg(test)]
mod printing {
    use super::ErrorBarMeaning;
    use super::reading::quantile_square;
    use repro_exact::decimal::nearest_f64;

    /// What a paper would print for `values` under `reading`.
    pub fn width(values: &[f64], reading: ErrorBarMeaning) -> f64 {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let sd = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0)).sqrt();
        let standard_error = sd / n.sqrt();
        match reading {
            ErrorBarMeaning::Sd => sd,
            ErrorBarMeaning::PopulationSd => sd * ((n - 1.0) / n).sqrt(),
            ErrorBarMeaning::StandardError => standard_error,
            ErrorBarMeaning::Confidence(level) => {
                let square = quantile_square(n - 1.0, level);
                standard_error * nearest_f64(&square.middle()).sqrt()
            }
            ErrorBarMeaning::NormalConfidence => 1.96 * standard_error,
            ErrorBarMeaning::HalfRange => {
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (most - values.iter().copied().fold(f64::INFINITY, f64::min)) / 2.0
            }
        }
    }
}
