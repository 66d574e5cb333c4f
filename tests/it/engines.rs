//! Two engines on the slices of the corpus: runs of PyTorch and of ours, honest and changed.

use repro_bundle::bundle::Bundle;
use repro_kernels::portable::Isa;
use repro_model::replay::{Choice, EnginesReport, Replay, ReplayComparison, ReplayEngine};
use repro_replay::backend::Place;
use repro_replay::replay::Machine;
use repro_report::outcome::Verdict;
use serde_json::Value as Json;

use crate::executing::replayed_with;
use crate::replay::{OURS, changed, copy, fixture, honest, repro, steps};
use crate::sealed::sealed;

fn by(engine: ReplayEngine, bundle: &Bundle, choice: Choice) -> Replay {
    let machine = Machine { engine, ..Machine::new(Place::host(Isa::best()), 2) };
    replayed_with(bundle, choice, machine).unwrap()
}

fn both(bundle: &Bundle, choice: Choice) -> (Replay, EnginesReport) {
    let mut replay = by(ReplayEngine::Both, bundle, choice);
    let report = replay.engines.take().unwrap();
    (replay, report)
}

/// The slices of the corpus.
const SLICES: &[(&str, u64, u64)] = &[
    ("torch-dense", 0, 6),
    ("torch-dense", 40, 46),
    ("torch-moe", 0, 6),
    ("torch-moe", 40, 46),
    ("torch-moe-hf", 0, 6),
    ("torch-moe-hf", 40, 46),
    ("hf-qwen3-moe", 0, 3),
    ("hf-qwen3-moe", 6, 9),
    ("hf-llama-micro", 6, 8),
    ("hf-qwen2-sgd", 6, 9),
    ("hf-llama-autocast", 6, 8),
    ("hf-olmo2-masters", 6, 8),
    (OURS, 0, 4),
    (OURS, 113, 117),
];

#[test]
fn two_engines_confirm_every_slice() {
    for (name, from, to) in SLICES {
        let (_folder, bundle) = honest(name);
        let replay = by(ReplayEngine::Both, &bundle, steps(*from, *to));
        let report = replay.engines.as_ref().unwrap();
        assert!(replay.has_two_engines(), "{name} {from}: {report:?}");
        assert_eq!((replay.verdict, replay.code), (Verdict::Verified, None), "{name} {from}");
        let closest = report.closest().unwrap();
        assert!((0.0..0.5).contains(&closest.share), "{name} {from}: {closest:?}");
    }
}

/// Which of equal scores are the largest is up to each program: an honest run that chose others is not refuted.
#[test]
fn experts_with_equal_scores_refute_nothing() {
    let (_folder, bundle) = honest("hf-mixtral-ties");
    let (replay, report) = both(&bundle, steps(0, 2));
    let candle = report.candle.as_ref().unwrap();
    for (verdict, code) in [
        (replay.verdict, replay.code),
        (report.own.verdict, report.own.code),
        (candle.verdict, candle.code),
    ] {
        let found = (verdict, code.map(|code| code.id));
        assert_eq!(found, (Verdict::Inconclusive, Some("replay::routing-ties")), "{report:?}");
    }
    assert!(report.parting.is_none(), "{report:?}");
    assert_eq!(replay.tolerance.unwrap().tied, Some((1, 128)));
    let divergence = replay.divergence.unwrap();
    assert_eq!((divergence.step, divergence.what), (1, "routing"));
}

#[test]
fn the_second_engine_alone_is_held_against_the_log_within_rounding() {
    let (_folder, bundle) = honest(OURS);
    let replay = by(ReplayEngine::Candle, &bundle, steps(113, 117));
    let found = (replay.verdict, replay.comparison, replay.engine);
    let wanted = (Verdict::Verified, ReplayComparison::Calibrated, ReplayEngine::Candle);
    assert_eq!(found, wanted, "{}", replay.reason);
    assert!(replay.engines.is_none() && !replay.has_two_engines());
    let whole = by(ReplayEngine::Candle, &bundle, Choice::Random(1));
    assert_eq!(whole.code.map(|code| code.id), Some("candle::unsupported"));
}

/// Each planted fault of the corpus is refuted by each engine, and they agree on what the steps are.
#[test]
fn both_engines_refute_what_was_changed() {
    for run in ["torch-dense", "torch-moe", "torch-moe-hf"] {
        let faults = fixture(&format!("{run}-faults"));
        let mut seen = 0;
        for fault in std::fs::read_dir(faults).unwrap() {
            let fault = fault.unwrap().path();
            let is_first = fault.ends_with("other-seed");
            let (_folder, bundle) = changed(run, |data| copy(&fault, &data.join("slices")));
            let slice = if is_first { steps(0, 6) } else { steps(40, 46) };
            let (replay, report) = both(&bundle, slice);
            let candle = report.candle.as_ref().unwrap();
            let verdicts = [replay.verdict, report.own.verdict, candle.verdict];
            assert_eq!(verdicts, [Verdict::Refuted; 3], "{fault:?}: {report:?}");
            assert!(report.parting.is_none(), "{fault:?}: {report:?}");
            seen += 1;
        }
        assert!(seen > 2, "{run}: {seen} faults");
    }
}

#[test]
fn the_program_says_what_each_engine_says() {
    let corpus = sealed(&["replay/torch-dense", "replay/posts"]);
    let repro = |arguments: &[&str]| repro(corpus.path(), arguments);
    let text = repro(&["replay", "replay/torch-dense", "--engine", "both"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    assert!(text.stdout.contains("verified by two engines: 6 steps"), "{}", text.stdout);
    assert!(
        text.stdout.contains("trainer's engine verified, candle verified; they differ by at most")
    );
    let json = ["replay", "replay/torch-dense", "--engine", "both", "--format", "json"];
    let json: Json = serde_json::from_str(&repro(&json).stdout).unwrap();
    assert_eq!(
        (&json["engine"], &json["engines"]["confirm"], &json["engines"]["part"]),
        (&"both".into(), &true.into(), &Json::Null)
    );
    assert!(json["engines"]["largest_differences"].as_array().unwrap().len() > 3);
    let alone = repro(&["replay", "replay/torch-dense", "--engine", "candle"]);
    assert_eq!(alone.code, 0, "{}", alone.stdout);
    assert!(alone.stdout.contains("by candle against `pytorch-f32`"), "{}", alone.stdout);
    let device = ["replay", "replay/torch-dense", "--engine", "candle", "--device", "cuda:0"];
    if !cfg!(feature = "cuda") {
        let device = repro(&device);
        assert_eq!(device.code, 4, "{}", device.stderr);
        assert!(device.stderr.contains("without the feature `cuda`"), "{}", device.stderr);
        let beside =
            ["replay", "replay/torch-dense", "--engine", "both", "--candle-device", "cuda:0"];
        let beside = repro(&beside);
        assert_eq!(beside.code, 4, "{}", beside.stderr);
        assert!(beside.stderr.contains("without the feature `cuda`"), "{}", beside.stderr);
    }
    let useless = repro(&["replay", "replay/torch-dense", "--candle-device", "cpu"]);
    assert_eq!(useless.code, 2, "{}", useless.stderr);
    assert!(
        useless.stderr.contains("`--candle-device` without `--engine both`"),
        "{}",
        useless.stderr
    );
    // The assurance of a claim says that two engines executed its steps.
    let post =
        ["verify", "--post", "good", "--root", "replay/posts", "--replay", "all", "--engine"];
    let of = |engine: &str| {
        let report = repro(&[&post[..], &[engine, "--format", "json"]].concat());
        let report: Json = serde_json::from_str(&report.stdout).unwrap();
        let claims = report["posts"][0]["claims"].as_array().unwrap().clone();
        let methods = claims.iter().filter_map(|claim| claim["method"].as_str());
        methods.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(
        of("both").iter().any(|method| method == "replayed by two engines"),
        "{:?}",
        of("both")
    );
    assert!(of("own").iter().any(|method| method == "replayed"), "{:?}", of("own"));
}
