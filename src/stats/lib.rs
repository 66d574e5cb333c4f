//! Statistics on plain floats: summaries, tests, intervals, resampling, power.
//!
//! Every function takes its data and, if it draws random numbers, a seed; an impossible computation is [`Refused`] with the
//! reason. A float represents the decimal that it was read from, if that is unique: means, standard deviations, differences
//! of pairs and slopes are exact over those decimals and rounded once. Other sums run in the order of the data. No function
//! of the platform's math library is called (logarithms and exponentials come from the crate `libm`, and results of the
//! crate `statrs` are only compared), so results have the same bits on every machine and for any number of threads. Other
//! crates read inputs and judge claims.

#![forbid(unsafe_code)]

mod anova;
pub mod answers;
pub mod bootstrap;
mod categories;
mod decimals;
pub mod distribution;
mod equivalence;
mod holm;
pub mod interquartile;
mod line;
mod noncentral_t;
pub mod power;
pub mod proportion;
mod ranks;
mod refused;
pub mod rng;
mod second_opinion;
mod sign_flip;
mod special;
pub mod spread;
mod summary;
mod t_test;
mod tail;
#[cfg(test)]
mod tests;

pub use anova::{Anova, anova};
pub use categories::{ChiSquared, chi_squared};
pub use decimals::{Decimal, Decimals};
pub use equivalence::{Equivalence, equivalence};
pub use holm::holm;
pub use line::{FittedLine, line, slope};
pub use noncentral_t::noncentral_t_upper;
pub use ranks::{KolmogorovSmirnov, MannWhitney, RankedPair};
pub use refused::Refused;
pub use sign_flip::{EXACT_TO, SignFlip, sign_flip};
pub use summary::{Summary, correlation, correlation_of, difference, differences, mean};
pub use t_test::{
    T, one_sample, one_sample_of, paired, paired_of, pooled, pooled_of, welch, welch_of,
};
