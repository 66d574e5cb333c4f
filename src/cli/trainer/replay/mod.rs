//! `repro replay` and `repro calibrate`: a stretch of training is executed again.

mod answers;
mod planned;
mod shown;
mod text;

use std::path::Path;

use super::args;
use crate::cli::output::Output;
use crate::cli::{Answer, BAD_USAGE};
use repro_judge::consistency::SelfConsistency;
use repro_portable::Isa;
use repro_receipt::bundle::Bundle;
use repro_receipt::source::{Error, Location};
use repro_report::outcome::{ExitStatus, Verdict};
use repro_runs::replay::BAD_EXTENT;
use repro_runs::replay::{Choice, Extent, MicroBatchSample, Replay};
use repro_train::replay::{self, Corpora, Machine};

pub use planned::PlannedReplays;
pub use shown::Bar;

/// Runs `repro replay`.
pub fn run(own: &args::ReplayArgs, output: &Output) -> Answer {
    let wants_json = output.wants_json()?;
    if let Some(status) = device(own.machine.device.as_deref(), output).map_err(one)? {
        return Ok(status);
    }
    let machine = machine(&own.machine).map_err(one)?;
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

/// Refutes the replay of a whole run whose bundle contradicts itself: what is judged then is all that it says.
fn contradicted(bundle: &Bundle, replay: &mut Replay) {
    let Some(first) = SelfConsistency::of(bundle).contradictions.into_iter().next() else { return };
    if replay.verdict != Verdict::Refuted {
        (replay.verdict, replay.code) = (Verdict::Refuted, Some(first.code));
        replay.reason = format!("{}: {}", first.code.meaning, first.reason);
        replay.final_loss = None;
    }
}

/// Runs `repro calibrate`.
pub fn calibrate(own: &args::CalibrateArgs, output: &Output) -> Answer {
    let wants_json = output.wants_json()?;
    let machine = machine(&own.machine).map_err(one)?;
    if let Some(status) = device(own.machine.device.as_deref(), output).map_err(one)? {
        return Ok(status);
    }
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
        let expected = "`COUNT:SEED`, as 8:1: so many micro-batches, drawn with this seed";
        BAD_USAGE.at(Location::file("--micro-batches"), expected, format!("`{text}`"))
    })
}

/// Whether the device that was asked for is there: another status where it is not.
pub fn device(name: Option<&str>, output: &Output) -> Result<Option<ExitStatus>, Error> {
    match name {
        None | Some("cpu") => Ok(None),
        Some(name) if name.strip_prefix("cuda:").is_some_and(|n| n.parse::<u8>().is_ok()) => {
            output.say(&format!("this program has no kernels for `{name}`: replay on the `cpu`"));
            Ok(Some(ExitStatus::NotRun))
        }
        Some(name) => {
            let place = Location::file("--device");
            Err(BAD_USAGE.at(place, "`cpu` or `cuda:N`", format!("`{name}`")))
        }
    }
}

/// The instructions and threads asked for, or all of this machine.
pub fn machine(own: &args::MachineArgs) -> Result<Machine, Error> {
    let threads = own.threads.unwrap_or_else(crate::cli::threads::cores);
    Ok(Machine { isa: instructions(own.instructions.as_deref())?, threads })
}

/// The instructions asked for, or the best of this machine.
pub fn instructions(asked: Option<&str>) -> Result<Isa, Error> {
    let Some(name) = asked else { return Ok(Isa::best()) };
    Isa::parse(name).ok_or_else(|| {
        let known: Vec<_> =
            Isa::available().iter().map(|isa| format!("`{}`", isa.name())).collect();
        let expected = format!("instructions of this machine: {}", known.join(", "));
        BAD_USAGE.at(Location::file("--instructions"), expected, format!("`{name}`"))
    })
}
