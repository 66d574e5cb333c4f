//! Scores MLPerf submissions from the times of a group of runs, by the rules of the benchmark.
//!
//! The format modules read the logs; this module opens none.

mod convergence;
mod rules;
mod score;

pub use convergence::{Against, Convergence, ConvergenceVerdict, Point, Reference};
pub use rules::{BenchmarkRule, Target, rule};
pub use score::{MlperfScore, SCALING, Scaling};
