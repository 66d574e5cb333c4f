//! `repro replay`: a stretch of training is replayed.

mod answers;
mod planned;
mod shown;
mod text;

use std::path::Path;

use super::args;
use super::dispute;
use super::place::{self, machine};
use crate::cli::output::Output;
use crate::cli::{Answer, BAD_USAGE};
use repro_bundle::bundle::Bundle;
use repro_claim::relation::consistency::SelfConsistency;
use repro_core::source::{Error, Location};
use repro_model::replay::BAD_EXTENT;
use repro_model::replay::{Choice, Extent, MicroBatchSample, Replay, ReplayEngine};
use repro_replay::replay::{self, BatchOutcome, Corpora, Machine};
use repro_report::outcome::{ExitStatus, Verdict};

pub use planned::PlannedReplays;
pub use shown::Bar;

/// Runs `repro replay`.
pub fn run(own: &args::ReplayArgs, output: &Output) -> Answer {
    if own.calibrate {
        return calibrate(own, output);
    }
    if let Some(other) = &own.against {
        return dispute::run(&own.bundle, other, &own.machine, output);
    }
    let wants_json = output.wants_json();
    let args::MachineArgs { device, threads, instructions, .. } = &own.machine;
    let isa = place::instructions(instructions.as_deref()).map_err(one)?;
    let threads = threads.unwrap_or_else(crate::cli::threads::cores);
    let machine = place::with_engine(own.engine.engine(), device.as_deref(), isa, threads, output);
    let mut machine = match machine.map_err(one)? {
        Ok(machine) => machine,
        Err(status) => return Ok(status),
    };
    if let Some(device) = &own.candle_device {
        if machine.engine != ReplayEngine::Both {
            let found = "`--candle-device` without `--engine both`";
            return Err(vec![BAD_USAGE.at(Location::file("--engine"), "`both`", found)]);
        }
        machine.second_device = Some(device.clone());
    }
    if own.first_batch {
        return first_batch(&own.bundle, &machine, output);
    }
    let choice = match (own.full, own.slice.as_deref()) {
        (true, _) => Choice::This(Extent::Whole),
        (false, slice) => choice(slice).map_err(one)?,
    };
    let sample = own.micro_batches.as_deref().map(sample).transpose().map_err(one)?;
    let bundle = load(&own.bundle, machine.threads).map_err(one)?;
    let corpora = Corpora::new(own.machine.data.clone());
    let bar = Bar::new(output, &format!("replay of {}", bundle.name()), None);
    let replay = replay::replay(&bundle, (choice, sample), &machine, &corpora, &bar).map_err(one);
    bar.end();
    let mut replay = replay?;
    if replay.extent == Extent::Whole {
        contradicted(&bundle, &mut replay);
    }
    if wants_json {
        output.print_json(&answers::replay(&replay));
    } else {
        output.print(&text::replay(&replay, output.width(), output.verbose()));
    }
    Ok(match replay.verdict {
        Verdict::Verified => ExitStatus::Verified,
        Verdict::Refuted => ExitStatus::Refuted,
        Verdict::Inconclusive | Verdict::Unchecked => ExitStatus::Undecided,
    })
}

/// Runs `repro replay --first-batch`.
fn first_batch(path: &Path, machine: &Machine, output: &Output) -> Answer {
    let bundle = load(path, machine.threads).map_err(one)?;
    let bar = Bar::new(output, &format!("first batch of {}", bundle.name()), None);
    let found = replay::first_batch(&bundle, machine, &bar).map_err(one);
    bar.end();
    let found = found?;
    if output.wants_json() {
        output.print_json(&answers::first_batch(&found));
    } else {
        output.print(&text::first_batch(bundle.name(), &found, output.width()));
    }
    Ok(match found.outcome {
        BatchOutcome::Agrees => ExitStatus::Verified,
        BatchOutcome::Differs => ExitStatus::Refuted,
        BatchOutcome::Undecided | BatchOutcome::Refused => ExitStatus::Undecided,
    })
}

/// Refutes the replay of a whole run whose bundle contradicts itself: what is judged then is all that it says.
fn contradicted(bundle: &Bundle, replay: &mut Replay) {
    let Some(first) = SelfConsistency::of(bundle).contradictions.into_iter().next() else { return };
    if replay.verdict != Verdict::Refuted {
        (replay.verdict, replay.code) = (Verdict::Refuted, Some(first.code));
        replay.reason = format!("{}: {}", first.code.meaning, first.reason);
        replay.final_loss = None;
    }
}

/// Runs `repro replay --calibrate`.
fn calibrate(own: &args::ReplayArgs, output: &Output) -> Answer {
    let wants_json = output.wants_json();
    let machine = match machine(&own.machine, output).map_err(one)? {
        Ok(machine) => machine,
        Err(status) => return Ok(status),
    };
    let choice = choice(own.slice.as_deref()).map_err(one)?;
    let bundle = load(&own.bundle, machine.threads).map_err(one)?;
    let corpora = Corpora::new(own.machine.data.clone());
    let bar = Bar::new(output, &format!("calibration of {}", bundle.name()), None);
    let calibrated = replay::calibrate(&bundle, choice, &machine, &corpora, &bar).map_err(one);
    bar.end();
    let (extent, tolerance) = calibrated?;
    if wants_json {
        output.print_json(&answers::calibration(&bundle, extent, &tolerance));
    } else {
        output.print(&text::calibration(bundle.name(), extent, &tolerance, output.width()));
    }
    Ok(ExitStatus::Verified)
}

fn one(error: Error) -> Vec<Error> {
    vec![error]
}

fn load(path: &Path, threads: usize) -> Result<Bundle, Error> {
    Bundle::load_folder(path, &path.display().to_string(), None, threads)
}

fn choice(slice: Option<&str>) -> Result<Choice, Error> {
    let Some(text) = slice else { return Ok(Choice::Last) };
    Choice::parse(text).ok_or_else(|| {
        let expected = "`FROM..TO` with at least three steps or a whole slice, or `random:SEED`";
        BAD_EXTENT.at(Location::file("--slice"), expected, format!("`{text}`"))
    })
}

fn sample(text: &str) -> Result<MicroBatchSample, Error> {
    MicroBatchSample::parse(text).ok_or_else(|| {
        let expected =
            "`COUNT:SEED`, such as 8:1: the number of micro-batches and the seed of the draw";
        BAD_USAGE.at(Location::file("--micro-batches"), expected, format!("`{text}`"))
    })
}
