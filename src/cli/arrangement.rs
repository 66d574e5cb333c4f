//! How replays are executed, where this program can.

use repro_model::replay::ReplayEngine;

/// How replays are executed.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "train"), allow(dead_code, reason = "nobody there executes steps"))]
pub struct ReplayArrangement<'a> {
    /// The device, by its name; none is the CPU.
    pub device: Option<&'a str>,
    /// The engines that execute slices.
    pub engine: ReplayEngine,
    /// How many threads.
    pub threads: usize,
    /// How long they may take together, as the user wrote it.
    pub budget: Option<&'a str>,
    /// Whether each is told with an estimate of its time.
    pub is_told: bool,
}
