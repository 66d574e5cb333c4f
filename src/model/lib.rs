//! Knowledge about training runs: what they hold fixed, what studies plan, what is reported about them, and the results of
//! replays.

#![forbid(unsafe_code)]

pub mod challenge;
pub mod checkpoints;
pub mod contract;
pub mod independence;
pub mod params;
pub mod replay;
pub mod scores;
pub mod starts;
pub mod study;
pub mod tasks;
