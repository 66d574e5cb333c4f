//! The golden bits with every set of instructions that the machine has, and with one to four threads.

use std::path::Path;

use repro_kernels::portable::Isa;
use repro_replay::golden::{DIGESTS, lines};
use serde_json::Value as Json;

use crate::train::repro;

#[test]
fn golden_bits() {
    for isa in Isa::available() {
        for threads in 1..=4 {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let found = pool.install(|| lines(&isa));
            let differing: Vec<_> =
                found.lines().filter(|line| !DIGESTS.lines().any(|known| known == *line)).collect();
            assert!(
                found == DIGESTS,
                "with {} on {threads} threads these lines differ:\n{}",
                isa.name(),
                differing.join("\n")
            );
        }
    }
}

#[test]
fn devices_are_listed_with_their_golden_bits() {
    let output = repro(Path::new("."), &["devices"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let sets = Isa::available();
    for isa in &sets {
        let line = format!(
            "  {:<8}portable-f32/1: all {} golden cases equal",
            isa.name(),
            DIGESTS.lines().count()
        );
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let lines = text.lines().count();
    assert!(lines > 1 + sets.len(), "the runtimes of other devices, or why there are none\n{text}");

    let output = repro(Path::new("."), &["devices", "--device", "cpu"]);
    assert_eq!(String::from_utf8(output.stdout).expect("UTF-8").lines().count(), 1 + sets.len());

    let output = repro(Path::new("."), &["devices", "--format", "json"]);
    let document: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["schema"], "repro.devices/1");
    let names: Vec<_> = sets.iter().map(|isa| isa.name()).collect();
    let instructions = document["devices"][0]["instructions"].as_array().expect("a list");
    assert_eq!(instructions.iter().map(|set| &set["name"]).collect::<Vec<_>>(), names);
    assert!(instructions.iter().all(|set| set["differing"] == Json::from(Vec::<Json>::new())));
}
