//! `--device`, `--threads` and `--instructions`: what models are executed on.

use super::args;
use crate::cli::BAD_USAGE;
use crate::cli::output::Output;
use repro_core::source::{Error, Location};
use repro_kernels::device::{DeviceError, Runtime};
use repro_kernels::portable::Isa;
use repro_model::replay::ReplayEngine;
use repro_replay::backend::Place;
use repro_replay::replay::Machine;
use repro_report::outcome::ExitStatus;

/// The device, instructions and threads asked for, or all of the CPU; another status where the device is not there.
pub fn machine(
    own: &args::MachineArgs,
    output: &Output,
) -> Result<Result<Machine, ExitStatus>, Error> {
    let threads = own.threads.unwrap_or_else(crate::cli::threads::cores);
    let isa = instructions(own.instructions.as_deref())?;
    Ok(place(own.device.as_deref(), isa, output)?.map(|place| Machine::new(place, threads)))
}

/// The same for engines: the device is that of the trainer's engine, or of candle where it executes alone.
pub fn with_engine(
    engine: ReplayEngine,
    device: Option<&str>,
    isa: Isa,
    threads: usize,
    output: &Output,
) -> Result<Result<Machine, ExitStatus>, Error> {
    let (own, second) = match engine {
        ReplayEngine::Candle => (None, device.map(str::to_owned)),
        ReplayEngine::Own | ReplayEngine::Both => (device, None),
    };
    let machine = |place| Machine { engine, second_device: second, ..Machine::new(place, threads) };
    Ok(place(own, isa, output)?.map(machine))
}

/// The device asked for, or the CPU; another status, which was explained, where the device is not there.
pub fn place(
    name: Option<&str>,
    isa: Isa,
    output: &Output,
) -> Result<Result<Place, ExitStatus>, Error> {
    let Some(id) = name.filter(|name| *name != "cpu") else { return Ok(Ok(Place::host(isa))) };
    if repro_kernels::device::parse(id).is_none() {
        let known = Runtime::ALL.map(|runtime| format!("`{}:N`", runtime.prefix())).join(" or ");
        let expected = format!("`cpu`, {known}; `repro devices` lists them");
        return Err(BAD_USAGE.at(Location::file("--device"), expected, format!("`{id}`")));
    }
    Ok(match repro_kernels::device::open(id) {
        Ok(device) => Ok(Place { isa, device: Some(device) }),
        Err(error) => {
            output.say(&explained(id, &error));
            Err(ExitStatus::NotRun)
        }
    })
}

/// Why a device cannot be used, and the way out.
fn explained(id: &str, error: &DeviceError) -> String {
    format!("nothing ran on `{id}`: {error}. `--device cpu` uses the CPU")
}

/// The instructions asked for, or the best of this machine.
pub fn instructions(asked: Option<&str>) -> Result<Isa, Error> {
    let Some(name) = asked else { return Ok(Isa::best()) };
    Isa::parse(name).ok_or_else(|| {
        let known: Vec<_> =
            Isa::available().iter().map(|isa| format!("`{}`", isa.name())).collect();
        let expected = format!("instruction sets of this machine: {}", known.join(", "));
        BAD_USAGE.at(Location::file("--instructions"), expected, format!("`{name}`"))
    })
}
