//! Statistics on plain floats: summaries, tests, intervals, resampling, power.
//!
//! Every function takes its data and, where it draws, a seed; what cannot be computed is [`Refused`]
//! with the reason. A float stands for the decimal that was read as it, where there can be but one: means, spreads, differences
//! of pairs and slopes are exact over those decimals and rounded once. Other sums run in the order of the
//! data, and no function of the platform's mathematics library is called (logarithms and exponentials are
//! those of the crate `libm`, and what the crate `statrs` computes is only compared), so that a result is the same bits on every machine and for any number of
//! threads. Reading inputs and judging claims is left to the modules above.

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
