//! Everything that needs the trainer: `repro train`, `replay`, `calibrate` and `devices`, and the replays of `verify`.
//! `no_trainer.rs` stands in its place in a program without it.

mod args;
mod devices;
mod dispute;
mod help;
mod place;
mod replay;
mod train;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::output::Output;
use super::{Answer, BAD_USAGE};
use replay::PlannedReplays;
use repro_judge::checkpoints::Beginnings;
use repro_judge::verify::Replayer;
use repro_portable::Isa;
use repro_receipt::bundle::Bundle;
use repro_receipt::source::{Error, Location};
use repro_report::outcome::ExitStatus;
use repro_train::DEVICE_FAILED;
use repro_train::replay::{Corpora, Machine, Setting};

pub use args::TrainerCommand;
pub use repro_train::CODE_FAMILIES;

/// Who knows the weights that seeds give.
pub static BEGINNINGS: Option<&dyn Beginnings> = Some(&SeededWeights);

#[derive(Debug)]
struct SeededWeights;

impl Beginnings for SeededWeights {
    fn state(&self, bundle: &Bundle) -> Result<Vec<u8>, String> {
        repro_train::replay::beginning(bundle)
    }
}

/// The settings of configs that replays know, and what they make of them.
pub fn settings() -> Vec<Json> {
    let told = |setting: &Setting| {
        let mut table =
            json!({"name": setting.name, "what": setting.what, "models": setting.models});
        if let Some(role) = setting.role {
            table["role"] = role.into();
        }
        if !setting.kinds.is_empty() {
            table["angles"] = json!(setting.kinds);
        }
        if let Some((kind, words)) = &setting.harmless {
            table["harmless"] = json!({"kind": kind, "words": words});
        }
        table
    };
    repro_train::replay::settings().iter().map(told).collect()
}

/// Runs one of these commands. A device that fails under way is no input that was refused.
pub fn run(command: &TrainerCommand, output: &Output) -> Answer {
    let answer = match command {
        TrainerCommand::Train(own) => train::run(own, output),
        TrainerCommand::Replay(own) => replay::run(own, output),
        TrainerCommand::Dispute(own) => dispute::run(own, output),
        TrainerCommand::Devices(own) => devices::run(own, output),
        TrainerCommand::Calibrate(own) => replay::calibrate(own, output),
    };
    match answer {
        Err(errors) if errors.iter().all(|error| error.code == &DEVICE_FAILED) => {
            errors.iter().for_each(|error| output.complain(error));
            Ok(ExitStatus::NotRun)
        }
        answer => answer,
    }
}

/// What `judge` makes of posts and bundles with a replayer on a device, with so many threads; another status where
/// the device is not there; and whether it failed under way. The budget is a time as the user wrote it, and the folder that of the data.
pub fn replaying<J>(
    (name, threads): (Option<&str>, usize),
    budget: Option<&str>,
    data: Option<PathBuf>,
    output: &Output,
    judge: impl FnOnce(&mut dyn Replayer) -> J,
) -> Result<Result<(J, bool), ExitStatus>, Vec<Error>> {
    let place = match place::place(name, Isa::best(), output).map_err(|error| vec![error])? {
        Ok(place) => place,
        Err(status) => return Ok(Err(status)),
    };
    let budget = budget.map(duration).transpose().map_err(|error| vec![error])?;
    let machine = Machine { place, threads };
    let mut planned = PlannedReplays::new(output, machine, Corpora::new(data), budget);
    let judged = judge(&mut planned);
    Ok(Ok((judged, planned.has_failed)))
}

/// A duration such as `60s`.
fn duration(text: &str) -> Result<Duration, Error> {
    let parsed = text.parse::<jiff::SignedDuration>().ok();
    let parsed = parsed.and_then(|span| Duration::try_from(span).ok());
    parsed.ok_or_else(|| {
        let found = format!("`{text}`");
        BAD_USAGE.at(Location::file("--budget"), "a time such as `60s` or `5m`", found)
    })
}
