//! Devices through the command line: what runs on one leaves the bytes of the processor, what cannot run says so before it
//! starts. Where a machine has no device only the latter is tested, unless `REPRO_REQUIRE_DEVICE` asks for one.

use std::path::Path;

use serde_json::Value as Json;

use crate::sealed::sealed;
use crate::train::{STUDY, code, command, payload, repro, root, text, untuned};

/// The device that things are tried on.
const DEVICE: &str = "opencl:0";

/// Whether the device is there.
fn has_device() -> bool {
    let output = repro(Path::new("."), &["devices", "--device", DEVICE]);
    let is_there = code(&output) == 0;
    let said = text(&output.stderr);
    assert!(is_there || said.contains("is not available on this machine"), "{said}");
    assert!(is_there || std::env::var_os("REPRO_REQUIRE_DEVICE").is_none(), "{said}");
    is_there
}

#[test]
fn a_device_is_listed_with_its_memory_and_its_golden_bits() {
    if !has_device() {
        return;
    }
    let output = repro(Path::new("."), &["devices", "--device", DEVICE, "--format", "json"]);
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    let [device] = &document["devices"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!(device["id"], DEVICE);
    assert!(device["memory_bytes"].as_u64().unwrap() > 1 << 20 && device["driver"].is_string());
    assert_eq!(device["instructions"], serde_json::json!([{"name": "opencl", "differing": []}]));

    let all = repro(Path::new("."), &["devices"]);
    assert_eq!(code(&all), 0);
    let text = text(&all.stdout);
    let place = |line: &str| text.lines().position(|found| found.starts_with(line)).unwrap();
    assert!(place("cpu  ") < place("opencl:0  "), "{text}");
}

#[test]
fn tensor_cores_are_asked_of_cuda_alone_and_nothing_is_written_without_them() {
    let temporary = tempfile::tempdir().unwrap();
    let out = temporary.path().join("out");
    let out_name = out.to_str().unwrap();
    for (device, said) in
        [("opencl:0", "no tensor cores behind OpenCL"), ("cuda:65000", "CUDA"), ("cpu", "cuda:0")]
    {
        let arguments = ["devices", "--device", device, "--tensor-cores", out_name];
        let output = repro(Path::new("."), &arguments);
        assert_eq!(code(&output), 4, "{device}");
        assert!(text(&output.stderr).contains(said), "{device}: {}", text(&output.stderr));
    }
    assert!(!out.exists());
    // What there is no device for is bad usage.
    let output = repro(Path::new("."), &["devices", "--tensor-cores", out_name]);
    assert_eq!(code(&output), 2);
}

#[test]
fn a_study_trained_on_a_device_has_the_bytes_of_the_processor() {
    if !has_device() {
        return;
    }
    let temporary = root(|text| untuned(text, 1, "0.008"));
    let root = temporary.path();
    for (out, device) in [("here", "cpu"), ("there", DEVICE)] {
        let trained = repro(root, &["train", STUDY, "--out", out, "--device", device]);
        assert_eq!(code(&trained), 0, "{}", text(&trained.stderr));
    }
    for run in ["smoke-dense-short-s1", "smoke-moe-short-s1"] {
        let [here, there] = ["here", "there"].map(|out| root.join(out).join(run));
        assert!(payload(&here) == payload(&there), "{run}");
        let receipt = std::fs::read_to_string(there.join("data/receipt.json")).unwrap();
        let receipt: Json = serde_json::from_str(&receipt).unwrap();
        let device = receipt["predicate"]["environment"]["device"].as_str().unwrap();
        assert!(device.starts_with("opencl:0 "), "{device}");
        // What a bundle says of itself holds wherever it was trained.
        let [_, verified] =
            [&here, &there].map(|run| repro(root, &["verify", run.to_str().unwrap()]));
        assert_eq!(code(&verified), 0, "{}", text(&verified.stdout));
    }
    // What one began the other ends, and what one trained the other replays, as a whole.
    for (out, device) in [("here", DEVICE), ("there", "cpu")] {
        let bundle = format!("{out}/smoke-moe-short-s1");
        let replayed = repro(root, &["replay", &bundle, "--device", device]);
        assert_eq!(code(&replayed), 0, "{}{}", text(&replayed.stdout), text(&replayed.stderr));
    }
}

#[test]
fn what_was_changed_is_refuted_on_a_device_in_the_same_words() {
    if !has_device() {
        return;
    }
    let corpus = sealed(&["replay/smoke-moe-short-s1", "replay/torch-dense", "replay/posts"]);
    for (bundle, expected) in [
        ("replay/posts/receipts/changed", 1),
        ("replay/smoke-moe-short-s1", 0),
        ("replay/torch-dense", 0),
    ] {
        let answers = ["cpu", DEVICE].map(|device| {
            let replayed = repro(corpus.path(), &["replay", bundle, "--device", device]);
            assert_eq!(code(&replayed), expected, "{bundle} {}", text(&replayed.stderr));
            text(&replayed.stdout).to_owned()
        });
        assert_eq!(answers[0], answers[1], "{bundle}");
    }
}

#[test]
fn a_device_that_computes_otherwise_decides_nothing() {
    // PoCL takes options for its compiler; other devices have no such switch.
    let output = repro(Path::new("."), &["devices", "--device", DEVICE]);
    if !text(&output.stdout).contains("pthread") {
        return;
    }
    let corpus = sealed(&["replay/smoke-moe-short-s1", "replay/torch-dense", "replay/posts"]);
    let temporary = root(|text| text);
    let out = temporary.path().join("out");
    let out = out.to_str().unwrap();
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join(STUDY);
    for (arguments, expected, said) in [
        (&["replay", "replay/smoke-moe-short-s1"][..], 3, "replay::unsupported-machine"),
        (&["replay", "replay/torch-dense"], 3, "replay::unsupported-machine"),
        (&["replay", "replay/posts/receipts/changed"], 3, "replay::unsupported-machine"),
        (&["verify", "replay/torch-dense", "--replay", "all"], 3, "gives different bits"),
        (&["replay", "--calibrate", "replay/torch-dense"], 4, "does not reproduce portable-f32/1"),
        (&["train", study.to_str().unwrap(), "--out", out], 4, "nothing was trained"),
        (&["devices"], 4, "golden cases differ"),
    ] {
        let arguments = [arguments, &["--device", DEVICE]].concat();
        let mut command = command(corpus.path(), &arguments);
        command.env("POCL_KERNEL_CACHE", "0");
        command.env("POCL_EXTRA_BUILD_FLAGS", "-cl-denorms-are-zero");
        let output = command.output().unwrap();
        let all = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(code(&output), expected, "{arguments:?} {all}");
        assert!(all.contains(said), "{arguments:?} {all}");
    }
    assert!(!Path::new(out).exists());
}

#[test]
fn a_device_that_is_not_there_ends_with_4_before_anything_starts() {
    let corpus = sealed(&["replay/smoke-moe-short-s1"]);
    let bundle = corpus.path().join("replay/smoke-moe-short-s1");
    let bundle = bundle.to_str().unwrap();
    let temporary = root(|text| text);
    let out = temporary.path().join("out");
    let out = out.to_str().unwrap();
    // No loader of OpenCL finds a driver in an empty folder, and no machine has that many devices of CUDA.
    for (device, said) in
        [("opencl:0", "OpenCL is not available on this machine"), ("cuda:65000", "cuda")]
    {
        for arguments in [
            &["replay", bundle, "--device", device][..],
            &["replay", "--calibrate", bundle, "--device", device],
            &["replay", bundle, "--against", bundle, "--device", device],
            &["verify", bundle, "--replay", "all", "--device", device],
            &["train", STUDY, "--out", out, "--device", device],
            &["devices", "--device", device],
        ] {
            let mut command = command(Path::new("."), arguments);
            let output = command.env("OCL_ICD_VENDORS", temporary.path()).output().unwrap();
            let answer = text(&output.stderr);
            assert_eq!(code(&output), 4, "{arguments:?} {answer}");
            assert!(answer.to_lowercase().contains(&said.to_lowercase()), "{arguments:?} {answer}");
            assert!(answer.contains("--device cpu"), "{arguments:?} {answer}");
        }
        assert!(!Path::new(out).exists());
    }
    for name in [
        "opencl",
        "opencl:",
        "opencl:x",
        "opencl:-1",
        "opencl:+0",
        "opencl:00",
        "gpu:0",
        "",
        "opencl:0 ",
    ] {
        let output = repro(Path::new("."), &["replay", bundle, "--device", name]);
        assert_eq!(code(&output), 2, "{name} {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("cli::bad-usage"), "{name}");
    }
}
