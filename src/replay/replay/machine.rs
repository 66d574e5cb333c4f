//! The machine of a replay, its engine, and its watchers.

use std::ops::ControlFlow;

use crate::backend::Place;
use crate::{NO_THREADS, RunShape};
use repro_bundle::bundle::Bundle;
use repro_core::source::{Error, Location, Node};
use repro_model::replay::ReplayEngine;

/// The machine of a replay.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Where models live that are walked in float32.
    pub place: Place,
    /// Threads.
    pub threads: usize,
    /// The engines that execute slices.
    pub engine: ReplayEngine,
    /// The device of the second engine, by its name; none is the processor.
    pub second_device: Option<String>,
}

impl Machine {
    /// A place with so many threads, for the trainer's engine alone.
    pub fn new(place: Place, threads: usize) -> Self {
        Self { place, threads, engine: ReplayEngine::Own, second_device: None }
    }
}

/// A part of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayPhase {
    /// The golden bits are computed.
    Golden,
    /// The bundle is read and checked.
    Reading,
    /// The tolerance is calibrated.
    Calibrating,
    /// The steps are made.
    Executing,
    /// Faults are planted.
    Planting,
}

impl ReplayPhase {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Golden => "golden bits",
            Self::Reading => "reading",
            Self::Calibrating => "calibration",
            Self::Executing => "steps",
            Self::Planting => "planted faults",
        }
    }
}

/// Who is told how far a replay has come, and may stop it.
pub trait Progress: Sync {
    /// Takes in that a part begins; the answer says whether to go on. Without a calibration there is no
    /// verdict; faults that are not planted are left out of the report.
    fn begins(&self, _phase: ReplayPhase) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Takes in that so many steps more are to be made in this part, in walks that are compared with one another.
    fn expects(&self, _steps: u64) {}

    /// Takes in that so many of these steps are made, or need not be made; threads call it side by side.
    fn walked(&self, _steps: u64) {}

    /// Takes in that `done` of `of` steps of the replay are made; the answer says whether to go on.
    fn step(&self, done: u64, of: u64) -> ControlFlow<()>;
}

/// A run as its bundle describes it.
pub(super) struct ReplayedRun<'a> {
    pub bundle: &'a Bundle,
    pub config: Node<'a>,
    pub shape: RunShape,
    pub arithmetic: String,
    pub machine: &'a Machine,
}

/// Does work on so many threads of its own.
pub fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> Result<R, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| {
        NO_THREADS.at(Location::file("--threads"), "threads for a replay", error.to_string())
    })?;
    Ok(pool.install(work))
}
