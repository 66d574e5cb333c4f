//! Reports of nanochat runs, and its leaderboard.

pub mod leaderboard;
mod model;
mod page;
mod prose;
pub mod report;
mod tasks;
