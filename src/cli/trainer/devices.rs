//! `repro devices`.

use std::fmt::Write;

use serde::Serialize;

use super::train::provenance;
use super::{place, tensor_cores};
use crate::cli::Answer;
use crate::cli::output::Output;
use crate::cli::trainer::args::DevicesArgs;
use repro_bundle::bundle::ARITHMETIC;
use repro_kernels::device::{Device, DeviceError, Listed, Runtime};
use repro_kernels::portable::Isa;
use repro_replay::golden;
use repro_report::outcome::ExitStatus;
use repro_report::visible;

/// `repro.devices/1`.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    arithmetic: &'static str,
    devices: Vec<DescribedDevice>,
    /// Runtimes that are not on this machine, and why.
    missing: Vec<MissingRuntime>,
}

#[derive(Serialize)]
struct DescribedDevice {
    /// The value for `--device`.
    id: String,
    name: Option<String>,
    /// Threads that the check ran on, where it is the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<usize>,
    /// The version of its driver, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    /// Bytes of its own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    instructions: Vec<Instructions>,
}

/// One way to compute on a device.
#[derive(Serialize)]
struct Instructions {
    /// The value for `--instructions`; for a device with kernels, their language.
    name: String,
    /// Golden cases whose bits are computed otherwise here.
    differing: Vec<String>,
}

#[derive(Serialize)]
struct MissingRuntime {
    runtime: &'static str,
    why: String,
}

/// Runs the command: computes the golden bits with every instruction set of the CPU, and on every device.
pub fn run(own: &DevicesArgs, output: &Output) -> Answer {
    if let Some((folder, id)) = own.tensor_cores.as_deref().zip(own.device.as_deref()) {
        return tensor_cores::run(id, folder, own.seed, output);
    }
    let json = output.wants_json();
    let mut document = Document {
        schema: "repro.devices/1",
        arithmetic: ARITHMETIC,
        devices: Vec::new(),
        missing: Vec::new(),
    };
    match own.device.as_deref() {
        None => all(&mut document),
        Some("cpu") => document.devices.push(processor()),
        Some(id) => {
            // Ids that no device can have, and devices that are not there, end here.
            match place::place(Some(id), Isa::best(), output).map_err(|error| vec![error])? {
                Ok(place) => {
                    let described = listed(id).zip(place.device);
                    let described = described.map(|(listed, opened)| describe(listed, Ok(opened)));
                    document.devices.extend(described);
                }
                Err(status) => return Ok(status),
            }
        }
    }
    if json {
        output.print_json(&document);
    } else {
        output.print(&render(&document));
    }
    // That another device on the machine is of no use is no fault of the machine, unless it was asked for.
    let asked = document.devices.iter().filter(|of| own.device.is_some() || of.id == "cpu");
    let right = |of: &DescribedDevice| {
        of.problem.is_none() && of.instructions.iter().all(|way| way.differing.is_empty())
    };
    Ok(if asked.clone().all(right) { ExitStatus::Verified } else { ExitStatus::NotRun })
}

/// The processor, and the devices of all runtimes.
fn all(document: &mut Document) {
    document.devices.push(processor());
    for runtime in Runtime::ALL {
        match repro_kernels::device::list(runtime) {
            Ok(devices) => {
                let id = |number: usize| format!("{}:{number}", runtime.prefix());
                let described = devices.into_iter().enumerate();
                let described = described.map(|(number, device)| {
                    let opened = repro_kernels::device::open(&id(number));
                    describe((id(number), device), opened)
                });
                document.devices.extend(described);
            }
            Err(error) => {
                let why = error.to_string();
                document.missing.push(MissingRuntime { runtime: runtime.prefix(), why });
            }
        }
    }
}

/// The description of the device with this id.
fn listed(id: &str) -> Option<(String, Listed)> {
    let (runtime, number) = repro_kernels::device::parse(id)?;
    let device = repro_kernels::device::list(runtime).ok()?.into_iter().nth(number)?;
    Some((id.to_owned(), device))
}

fn processor() -> DescribedDevice {
    let ways = Isa::available().into_iter();
    let ways = ways.map(|isa| Instructions {
        name: isa.name().to_owned(),
        differing: golden::differing(&isa),
    });
    DescribedDevice {
        id: "cpu".to_owned(),
        name: provenance::processor(),
        threads: Some(crate::cli::threads::cores()),
        driver: None,
        memory_bytes: None,
        problem: None,
        instructions: ways.collect(),
    }
}

fn describe(
    (id, device): (String, Listed),
    opened: Result<Device, DeviceError>,
) -> DescribedDevice {
    let checked = opened.and_then(|opened| {
        let differing = golden::differing(&opened);
        opened.fault().map_or(Ok(differing), Err)
    });
    let (problem, instructions) = match checked {
        Ok(differing) => {
            let name = id.split(':').next().unwrap_or_default().to_owned();
            (None, vec![Instructions { name, differing }])
        }
        Err(error) => (Some(error.to_string()), Vec::new()),
    };
    let (driver, memory_bytes) = (Some(device.driver), Some(device.memory));
    let name = Some(device.name);
    DescribedDevice { id, name, threads: None, driver, memory_bytes, problem, instructions }
}

fn render(document: &Document) -> String {
    let cases = golden::DIGESTS.lines().count();
    let mut text = String::new();
    for device in &document.devices {
        let name = device.name.as_deref().unwrap_or("unknown CPU");
        let mut about = visible(name);
        // Writing to a string cannot fail.
        if let Some(threads) = device.threads {
            let _ = write!(about, ", {threads} threads");
        }
        if let Some(bytes) = device.memory_bytes {
            let _ = write!(about, ", {:.1} GiB", bytes as f64 / f64::from(1 << 30));
        }
        if let Some(driver) = &device.driver {
            let _ = write!(about, ", driver {}", visible(driver));
        }
        let _ = writeln!(text, "{}  {about}", device.id);
        if let Some(problem) = &device.problem {
            let _ = writeln!(text, "  cannot be used: {}", visible(problem));
        }
        for Instructions { name, differing } in &device.instructions {
            let arithmetic = document.arithmetic;
            let _ = if differing.is_empty() {
                writeln!(text, "  {name:<8}{arithmetic}: all {cases} golden cases equal")
            } else {
                let (count, names) = (differing.len(), differing.join(", "));
                writeln!(
                    text,
                    "  {name:<8}{arithmetic}: {count} of {cases} golden cases differ: {names}"
                )
            };
        }
    }
    for MissingRuntime { why, .. } in &document.missing {
        let _ = writeln!(text, "{why}");
    }
    text
}
