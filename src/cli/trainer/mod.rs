//! Everything that needs the trainer: `repro train`, `replay` and `devices`, and the replays of `verify`.
//! `no_trainer.rs` is in its place in a program without it.

mod args;
mod devices;
mod dispute;
mod help;
mod place;
mod replay;
mod tensor_cores;
mod train;

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::arrangement::ReplayArrangement;
use super::output::Output;
use super::{Answer, BAD_USAGE};
use replay::PlannedReplays;
use repro_bundle::bundle::{Bundle, CONFIG};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location};
use repro_kernels::portable::Isa;
use repro_model::checkpoints::InitialWeights;
use repro_model::replay::Extent;
use repro_replay::DEVICE_FAILED;
use repro_replay::replay::{Corpora, Setting};
use repro_report::outcome::ExitStatus;
use repro_verify::cluster::Estimator;
use repro_verify::verify::Replayer;

pub use args::TrainerCommand;
pub use repro_replay::CODE_FAMILIES;

/// Who knows the weights that seeds give.
pub static INITIAL_WEIGHTS: Option<&dyn InitialWeights> = Some(&SeededWeights);

#[derive(Debug)]
struct SeededWeights;

impl InitialWeights for SeededWeights {
    fn state(&self, bundle: &Bundle) -> Result<Vec<u8>, String> {
        repro_replay::replay::beginning(bundle)
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
    repro_replay::replay::settings().iter().map(told).collect()
}

/// Runs one of these commands. A device that fails under way is no input that was rejected.
pub fn run(command: &TrainerCommand, output: &Output) -> Answer {
    let answer = match command {
        TrainerCommand::Train(own) => train::run(own, output),
        TrainerCommand::Replay(own) => replay::run(own, output),
        TrainerCommand::Devices(own) => devices::run(own, output),
    };
    match answer {
        Err(errors) if errors.iter().all(|error| error.code == &DEVICE_FAILED) => {
            errors.iter().for_each(|error| output.complain(error));
            Ok(ExitStatus::NotRun)
        }
        answer => answer,
    }
}

/// The data of runs, and what replays of them cost.
#[derive(Debug)]
pub struct RunData(Corpora);

impl RunData {
    /// Data in a folder that the caller named; without one no file is read.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self(Corpora::new(folder))
    }

    /// Who estimates replays.
    pub fn estimator(&self) -> Option<&dyn Estimator> {
        Some(self)
    }
}

impl Estimator for RunData {
    fn operations(&self, bundle: &Bundle, extent: Extent) -> Result<f64, Error> {
        repro_replay::replay::cost(bundle, extent)
    }

    fn data(&self, bundle: &Bundle) -> Option<Digest> {
        let config = bundle.document(CONFIG).ok()?.root();
        self.0.of(bundle, config).ok().map(|(corpus, _)| corpus.sha256)
    }
}

/// The result of `judge` with a replayer; a different status if the device is missing. Whether it fails under way is
/// noted.
pub fn replaying<R>(
    arrangement: ReplayArrangement<'_>,
    data: &RunData,
    (output, has_failed): (&Output, &Cell<bool>),
    judge: impl FnOnce(&mut dyn Replayer) -> R,
) -> Result<Result<R, ExitStatus>, Vec<Error>> {
    let ReplayArrangement { device, engine, threads, budget, is_told } = arrangement;
    let machine = place::with_engine(engine, device, Isa::best(), threads, output);
    let machine = match machine.map_err(|error| vec![error])? {
        Ok(machine) => machine,
        Err(status) => return Ok(Err(status)),
    };
    let budget = budget.map(duration).transpose().map_err(|error| vec![error])?;
    let told = (output, is_told && !output.quiet());
    let mut planned = PlannedReplays::new(told, has_failed, (machine, &data.0), budget);
    Ok(Ok(judge(&mut planned)))
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
