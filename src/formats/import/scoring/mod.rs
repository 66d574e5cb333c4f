//! Scores of MLPerf submissions: what follows from the times of a group of runs by the rules of the benchmark.
//!
//! Reading logs is left to the formats; nothing here opens one.

mod convergence;
mod rules;
mod score;

pub use convergence::{Against, Convergence, ConvergenceVerdict, Point, Reference};
pub use rules::{BenchmarkRule, Target, rule};
pub use score::{MlperfScore, SCALING, Scaling};
