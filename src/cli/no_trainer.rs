//! In the place of `trainer` in a program without the trainer: no commands, no codes, and no replays.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::Value as Json;

use super::Answer;
use super::output::Output;
use repro_judge::checkpoints::Beginnings;
use repro_judge::verify::Replayer;
use repro_receipt::source::{Code, Error};
use repro_report::outcome::ExitStatus;

#[derive(Debug, Subcommand)]
pub enum TrainerCommand {}

/// Without the trainer nobody knows the weights that seeds give.
pub static BEGINNINGS: Option<&dyn Beginnings> = None;

pub const CODE_FAMILIES: &[&[&Code]] = &[];

/// Without the trainer no setting is read.
pub fn settings() -> Vec<Json> {
    Vec::new()
}

pub fn run(command: &TrainerCommand, _: &Output) -> Answer {
    match *command {}
}

/// Without the trainer nothing can be executed.
pub fn replaying<J>(
    _: (Option<&str>, usize),
    _: Option<&str>,
    _: Option<PathBuf>,
    output: &Output,
    _: impl FnOnce(&mut dyn Replayer) -> J,
) -> Result<Result<(J, bool), ExitStatus>, Vec<Error>> {
    output.say("this program was built without the trainer, and cannot replay");
    Ok(Err(ExitStatus::NotRun))
}
