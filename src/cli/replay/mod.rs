//! `repro replay` and `repro calibrate`: a stretch of training is executed again.

mod answers;
mod planned;
mod shown;
mod text;

use std::path::{Path, PathBuf};

use super::output::Output;
use super::{Answer, BAD_USAGE, args};
use crate::bundle::Bundle;
use crate::outcome::{ExitStatus, Verdict};
use crate::portable::Isa;
use crate::replay::{self, BAD_EXTENT, Choice, Corpora, Extent, Machine};
use crate::source::{Place, Refusal};

pub use planned::Planned;
use shown::Bar;

/// What stands under the options of `repro replay`.
pub const HELP: &str = "\
The slice is executed again from the checkpoint that it starts from, or from the seed, and each step is held
against what the bundle logs. Runs in `portable-f32/1` are compared bit for bit, after the golden bits have come
out on this machine; others within a tolerance that is calibrated here. Each fault that could be planted is tried
on the slice, so that the report says what it would show. Where the data of the run are at hand, batches are drawn
again; `--full` and steps outside of slices need them.

Exit status: 0 where everything matches, 1 where something differs, 3 where this cannot be decided, 4 where the
device is not there, 2 where the bundle cannot be replayed or the usage was bad.";

/// What stands under the options of `repro calibrate`.
pub const CALIBRATE_HELP: &str = "\
The slice is executed from start weights moved by one unit in the last place, at least eight times, and in float64.
Eight times the largest spread is what `repro replay` allows. The numbers are the same on every machine.";

/// Runs `repro replay`.
pub fn run(own: &args::Replay, output: &Output) -> Answer {
    let wants_json = output.wants_json()?;
    if let Some(status) = device(own.machine.device.as_deref(), output).map_err(one)? {
        return Ok(status);
    }
    let machine = machine(&own.machine).map_err(one)?;
    let choice = match (own.full, own.slice.as_deref()) {
        (true, _) => Choice::This(Extent::Whole),
        (false, slice) => choice(slice).map_err(one)?,
    };
    let bundle = load(&own.bundle, machine.threads).map_err(one)?;
    let corpora = Corpora::new(base(own.machine.data.as_deref()));
    let bar = Bar::new(output, &format!("replay of {}", bundle.name()), None);
    let replay = replay::replay(&bundle, choice, &machine, &corpora, &bar).map_err(one);
    bar.end();
    let replay = replay?;
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

/// Runs `repro calibrate`.
pub fn calibrate(own: &args::Calibrate, output: &Output) -> Answer {
    let wants_json = output.wants_json()?;
    let machine = machine(&own.machine).map_err(one)?;
    if let Some(status) = device(own.machine.device.as_deref(), output).map_err(one)? {
        return Ok(status);
    }
    let choice = choice(own.slice.as_deref()).map_err(one)?;
    let bundle = load(&own.bundle, machine.threads).map_err(one)?;
    let corpora = Corpora::new(base(own.machine.data.as_deref()));
    let (extent, tolerance) =
        replay::calibrate(&bundle, choice, &machine, &corpora).map_err(one)?;
    if wants_json {
        output.print_json(&answers::calibration(&bundle, extent, &tolerance));
    } else {
        output.print(&text::calibration(bundle.name(), extent, &tolerance, output.width()));
    }
    Ok(ExitStatus::Verified)
}

fn one(refusal: Refusal) -> Vec<Refusal> {
    vec![refusal]
}

fn load(path: &Path, threads: usize) -> Result<Bundle, Refusal> {
    Bundle::load_folder(path, &path.display().to_string(), None, threads)
}

fn choice(slice: Option<&str>) -> Result<Choice, Refusal> {
    let Some(text) = slice else { return Ok(Choice::Last) };
    Choice::parse(text).ok_or_else(|| {
        let expected = "`FROM..TO` with at least three steps, or `random:SEED`";
        BAD_EXTENT.at(Place::file("--slice"), expected, format!("`{text}`"))
    })
}

/// Whether the device that was asked for is there: another status where it is not.
pub fn device(name: Option<&str>, output: &Output) -> Result<Option<ExitStatus>, Refusal> {
    match name {
        None | Some("cpu") => Ok(None),
        Some(name) if name.strip_prefix("cuda:").is_some_and(|n| n.parse::<u8>().is_ok()) => {
            output.say(&format!("this program has no kernels for `{name}`: replay on the `cpu`"));
            Ok(Some(ExitStatus::NotRun))
        }
        Some(name) => {
            let place = Place::file("--device");
            Err(BAD_USAGE.at(place, "`cpu` or `cuda:N`", format!("`{name}`")))
        }
    }
}

/// The instructions and threads asked for, or all of this machine.
pub fn machine(own: &args::OnMachine) -> Result<Machine, Refusal> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = own.threads.unwrap_or_else(cores).max(1);
    Ok(Machine { isa: instructions(own.instructions.as_deref())?, threads })
}

/// The instructions asked for, or the best of this machine.
pub fn instructions(asked: Option<&str>) -> Result<Isa, Refusal> {
    let Some(name) = asked else { return Ok(Isa::best()) };
    Isa::parse(name).ok_or_else(|| {
        let known: Vec<_> =
            Isa::available().iter().map(|isa| format!("`{}`", isa.name())).collect();
        let expected = format!("instructions of this machine: {}", known.join(", "));
        BAD_USAGE.at(Place::file("--instructions"), expected, format!("`{name}`"))
    })
}

/// The folder in which the paths of configs begin: as named, else that of the studies of the project.
pub fn base(named: Option<&Path>) -> PathBuf {
    if let Some(named) = named {
        return named.to_owned();
    }
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let studies = here.ancestors().map(|folder| folder.join("repro").join("studies"));
    studies.into_iter().find(|folder| folder.is_dir()).unwrap_or(here.clone())
}
