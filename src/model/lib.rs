//! What is known of training runs besides their bytes: what they hold fixed, what studies plan, what is
//! reported of them, and what replaying one came to.

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
