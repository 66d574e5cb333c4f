//! `repro devices`.

use std::fmt::Write;

use serde::Serialize;

use super::train::provenance;
use crate::cli::Answer;
use crate::cli::output::Output;
use repro_portable::Isa;
use repro_receipt::bundle::ARITHMETIC;
use repro_report::outcome::ExitStatus;
use repro_report::visible;
use repro_train::golden;

/// `repro.devices/1`.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    arithmetic: &'static str,
    devices: Vec<Device>,
}

#[derive(Serialize)]
struct Device {
    /// What `--device` takes.
    id: &'static str,
    name: Option<String>,
    /// Threads that the check ran on.
    threads: usize,
    instructions: Vec<Instructions>,
}

/// One way to compute on a device.
#[derive(Serialize)]
struct Instructions {
    /// What `--instructions` takes.
    name: &'static str,
    /// Golden cases whose bits are computed otherwise here.
    differing: Vec<String>,
}

/// Runs the command: computes the golden bits with every instruction set of the processor.
pub fn run(output: &Output) -> Answer {
    let json = output.wants_json()?;
    let instructions = Isa::available()
        .into_iter()
        .map(|isa| Instructions { name: isa.name(), differing: golden::differing(isa) });
    let cpu = Device {
        id: "cpu",
        name: provenance::environment(Isa::best()).cpu,
        threads: crate::cli::threads::cores(),
        instructions: instructions.collect(),
    };
    let document =
        Document { schema: "repro.devices/1", arithmetic: ARITHMETIC, devices: vec![cpu] };
    if json {
        output.print_json(&document);
    } else {
        output.print(&render(&document));
    }
    let mut all = document.devices.iter().flat_map(|device| &device.instructions);
    let right = all.all(|instructions| instructions.differing.is_empty());
    Ok(if right { ExitStatus::Verified } else { ExitStatus::NotRun })
}

fn render(document: &Document) -> String {
    let cases = golden::DIGESTS.lines().count();
    let mut text = String::new();
    for device in &document.devices {
        let name = device.name.as_deref().unwrap_or("unknown processor");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}  {}, {} threads", device.id, visible(name), device.threads);
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
    text
}
