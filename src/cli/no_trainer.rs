//! In the place of `trainer` in a program without the trainer: no commands, no codes, and no replays.

use std::cell::Cell;
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::Value as Json;

use super::Answer;
use super::arrangement::ReplayArrangement;
use super::output::Output;
use repro_core::source::{Code, Error};
use repro_model::checkpoints::InitialWeights;
use repro_report::outcome::ExitStatus;
use repro_verify::cluster::Estimator;
use repro_verify::verify::Replayer;

#[derive(Debug, Subcommand)]
pub enum TrainerCommand {}

/// Without the trainer nobody knows the weights that seeds give.
pub static INITIAL_WEIGHTS: Option<&dyn InitialWeights> = None;

pub const CODE_FAMILIES: &[&[&Code]] = &[];

/// Without the trainer no setting is read.
pub fn settings() -> Vec<Json> {
    Vec::new()
}

pub fn run(command: &TrainerCommand, _: &Output) -> Answer {
    match *command {}
}

/// Without the trainer no data are read.
#[derive(Debug)]
pub struct RunData;

impl RunData {
    /// Nothing.
    pub fn new(_: Option<PathBuf>) -> Self {
        Self
    }

    /// Nobody.
    pub fn estimator(&self) -> Option<&dyn Estimator> {
        None
    }
}

/// Without the trainer nothing can be executed.
pub fn replaying<R>(
    _: ReplayArrangement<'_>,
    _: &RunData,
    (output, _): (&Output, &Cell<bool>),
    _: impl FnOnce(&mut dyn Replayer) -> R,
) -> Result<Result<R, ExitStatus>, Vec<Error>> {
    output.say("this build has no trainer and cannot replay");
    Ok(Err(ExitStatus::NotRun))
}
