//! nanochat run reports, and nanochat's leaderboard.

pub mod leaderboard;
mod model;
mod page;
mod prose;
pub mod report;
mod tasks;
