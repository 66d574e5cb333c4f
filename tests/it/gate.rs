//! `repro gate`: the answers over logs written here and over those of leaderboards in the shared data, cheats and honest
//! users, properties of the decision, and how often it errs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use repro_core::source::Source;
use repro_formats::gate::{
    CourseKind, GateDecision, GateInputs, GateMetric, GateOptions, GateReport, GateRule, GateSide,
    LineState, RunValue, StepAxis, decide,
};
use repro_formats::import::LogNumber;
use repro_stats::rng::Rng;
use serde_json::Value;
use tempfile::TempDir;

use crate::schemas::Schema;

/// What one run of the program left.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// `repro gate` in a folder.
fn gate(root: &Path, arguments: &str) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_repro"))
        .arg("gate")
        .args(arguments.split_whitespace())
        .current_dir(root)
        .env_remove("GITHUB_STEP_SUMMARY")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().expect("ended by itself");
    Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("gate_{name}"), drawn));
}

/// The log of a run that ends in a loss: a table of six evaluations, with noise of its own in the earlier ones.
fn table(last: &str, run: u64) -> String {
    let mut rng = Rng::new(run, "course");
    let mut text = String::from("step,train/loss,val/loss,lr\n");
    for at in 1..=6_u64 {
        let noise = 0.01 * rng.unit();
        let loss = 3.0 + 2.0 / at as f64 + noise;
        let validation = if at == 6 { last.to_owned() } else { format!("{loss:.4}") };
        text += &format!("{},{:.4},{validation},0.01\n", at * 100, loss - 0.1 + noise);
    }
    text
}

/// A folder with logs.
struct Logs {
    folder: TempDir,
    runs: u64,
}

impl Logs {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), runs: 0 }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A side with a run for each loss.
    fn side(&mut self, name: &str, losses: &[&str]) {
        for (at, loss) in losses.iter().enumerate() {
            self.runs += 1;
            self.write(&format!("{name}/s{}.csv", at + 1), &table(loss, self.runs));
        }
    }
}

#[test]
fn help_and_explanation_are_as_recorded() {
    let logs = Logs::new();
    let help = gate(logs.root(), "--help");
    let explained = Command::new(env!("CARGO_BIN_EXE_repro")).args(["explain", "gate"]).output();
    let explained = String::from_utf8(explained.unwrap().stdout).unwrap();
    snapshot("help", &format!("{}\n---\n{explained}", help.stdout));
}

/// Three runs a side that differ clearly.
fn clear() -> Logs {
    let mut logs = Logs::new();
    logs.side("base", &["3.3012", "3.3034", "3.2991"]);
    logs.side("new", &["3.2711", "3.2742", "3.2698"]);
    logs
}

#[test]
fn a_clear_improvement_is_better_and_its_opposite_worse() {
    let logs = clear();
    let better = gate(logs.root(), "--baseline base --candidate new");
    let worse = gate(logs.root(), "--baseline new --candidate base");
    assert_eq!((better.code, worse.code), (0, 1), "{}{}", better.stderr, worse.stderr);
    let mut drawn = format!("{}\n---\n{}", better.stdout, worse.stdout);
    for format in ["json", "markdown", "junit", "github", "intoto"] {
        let ran = gate(logs.root(), &format!("--baseline base --candidate new --format {format}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{format}");
        drawn += &format!("\n--- {format}\n{}", ran.stdout);
    }
    snapshot("clear", &drawn);
}

#[test]
fn the_order_and_the_way_of_naming_change_nothing() {
    let logs = clear();
    let one = gate(logs.root(), "--baseline base --candidate new --format json");
    let other = "--candidate new/s3.csv new/s1.csv new/s2.csv --baseline base/s2.csv base/s3.csv base/s1.csv --format json";
    let other = gate(logs.root(), other);
    assert_eq!(one.stdout, other.stdout);
}

/// One line of what is asked, with the answer and the codes of the lines that are not met.
fn told(logs: &Logs, arguments: &str) -> String {
    let ran = gate(logs.root(), &format!("{arguments} --format json"));
    if ran.stdout.is_empty() {
        let first = ran.stderr.lines().next().unwrap_or_default();
        return format!("{arguments}\n  {} {first}\n", ran.code);
    }
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(Schema::closed("gate").fault(&json), None, "{arguments}");
    assert_eq!(json["exit_code"], ran.code);
    let lines = json["lines"].as_array().unwrap();
    let open = lines.iter().filter(|line| line["state"] != "met");
    let open: Vec<_> = open
        .map(|line| {
            format!("{}: {}", line["code"].as_str().unwrap(), line["found"].as_str().unwrap())
        })
        .collect();
    let n = |side: &str| json[side]["n"].to_string();
    format!(
        "{arguments}\n  {} {} (n = {}, {}) {}\n",
        ran.code,
        json["decision"].as_str().unwrap(),
        n("baseline"),
        n("candidate"),
        open.join("; ")
    )
}

#[test]
fn what_cannot_be_compared_is_said() {
    let mut logs = clear();
    logs.side("one", &["3.2001"]);
    logs.side("noisy", &["3.2801", "3.3312", "3.3021"]);
    logs.side("diverged", &["3.2701", "nan", "3.2733"]);
    // The same run under other names, with other digits, other columns, a changed end, and cut.
    let run = table("3.2698", 6);
    logs.write("copies/a.csv", &run);
    logs.write("copies/b.csv", &run);
    logs.write("copies/c.csv", &run.replace("0.01\n", "0.02\n"));
    logs.write("copies/d.csv", &run.replace("3.2698", "3.26980"));
    logs.write("copies/e.csv", &run.replace("3.2698", "3.2611"));
    logs.write("copies/f.csv", run.rsplit_once("600,").unwrap().0);
    // Two honest runs, and one of them again with another end, by its name the first.
    logs.write("edited/a.csv", &table("3.2711", 101).replace("3.2711", "3.2011"));
    logs.write("edited/b.csv", &table("3.2711", 101));
    logs.write("edited/c.csv", &table("3.2722", 102));
    // A run that went on from the middle of another and diverged.
    logs.write("forked/a.csv", &table("3.2711", 103));
    logs.write("forked/b.csv", &table("nan", 103));
    logs.write("forked/c.csv", &table("3.2722", 104));
    logs.write("both/x.csv", &table("3.3034", 2));
    logs.write("both/y.csv", &table("3.2511", 77));
    // Longer and shorter.
    for (name, steps) in [("long", 7), ("short", 5)] {
        for seed in 1..=3_u64 {
            let mut text = String::from("step,val/loss\n");
            let mut rng = Rng::new(seed, name);
            for at in 1..=steps {
                text +=
                    &format!("{},{:.4}\n", at * 100, 3.0 + 1.5 / f64::from(at) + 0.01 * rng.unit());
            }
            logs.write(&format!("{name}/s{seed}.csv"), &text);
        }
    }
    // Equal steps, other data.
    for (name, tokens) in [("small-batch", 1000), ("large-batch", 2000)] {
        for (seed, loss) in [(1, "3.31"), (2, "3.32"), (3, "3.33")] {
            let text = format!("step,tokens,val_loss\n100,{tokens},{loss}1{seed}\n");
            logs.write(&format!("{name}/s{seed}.csv"), &text);
        }
    }
    // A loss of training under the name of the other side's evaluations.
    logs.write("trained/s1.csv", "step,loss\n600,2.10\n");
    logs.write("trained/s2.csv", "step,loss\n600,2.12\n");
    logs.write("evaluated/s1.jsonl", "{\"step\":600,\"eval_loss\":3.1}\n");
    logs.write("evaluated/s2.jsonl", "{\"step\":600,\"eval_loss\":3.2}\n");
    // The same values over and over.
    for (name, loss) in [("flat", "3.2"), ("flat2", "3.1")] {
        logs.write(&format!("{name}/s1.csv"), &format!("step,val_loss,lr\n600,{loss},1\n"));
        logs.write(&format!("{name}/s2.csv"), &format!("step,val_loss,lr\n600,{loss},2\n"));
    }
    // Beyond floating point.
    for (at, sign) in [(1, ""), (2, "-")] {
        logs.write(&format!("huge{at}/s1.csv"), &format!("step,val_loss\n600,{sign}1e308\n"));
        logs.write(&format!("huge{at}/s2.csv"), &format!("step,val_loss\n600,{sign}1.7e308\n"));
    }
    // One seed twice.
    logs.write("twice/s1.csv", &table("3.2711", 91));
    logs.write("twice/seed1.csv", &table("3.2722", 92));
    // Planned to be longer, and stopped at a step of somebody's choice.
    for (seed, loss) in [("a", 3.2612), ("b", 3.2631), ("c", 3.2604)] {
        let line = |step: u64, loss: f64| {
            format!("step:{step}/900 val_loss:{loss:.4} train_time:{step}ms step_avg:1.00ms\n")
        };
        let text = line(0, 10.8 + loss / 100.0) + &line(300, loss + 0.5) + &line(600, loss);
        logs.write(&format!("stopped/{seed}.txt"), &text);
    }
    logs.write("words/s1.csv", "step,score,quality\n600,3.1,2\n");
    logs.write("words/s2.csv", "step,score,quality\n600,3.2,2\n");
    logs.write("paired.toml", "test = \"paired\"\n");
    logs.write("last.toml", "step = \"last\"\n");
    logs.write("at500.toml", "step = 500\n");
    logs.write("at600.toml", "step = 600\n");
    logs.write("at550.toml", "step = 550\n");
    logs.write("bar.toml", "metric = \"val/loss\"\nbar = 3.28\n");
    logs.write("wrong-bar.toml", "metric = \"val/loss\"\nbar = 3.26\n");
    logs.write("mean.toml", "metric = \"val/loss\"\nbar = 3.28\ntest = \"none\"\n");
    logs.write("three.toml", "at_least = 4\n");
    logs.write("empty/readme.md", "nothing\n");
    logs.write("bad.toml", "p_bellow = 0.01\n");
    let cases = [
        "--baseline base --candidate noisy",
        "--baseline base --candidate one",
        "--baseline one --candidate base",
        "--baseline base --candidate diverged",
        "--baseline diverged --candidate new",
        "--baseline base --candidate copies",
        "--baseline base --candidate new new",
        "--baseline base --candidate both",
        "--baseline base --candidate base",
        "--baseline base --candidate long",
        "--baseline base --candidate short",
        "--baseline base --candidate long --rule last.toml",
        "--baseline base --candidate long --rule at500.toml",
        "--baseline base --candidate long --rule at550.toml",
        "--baseline small-batch --candidate large-batch",
        "--baseline evaluated --candidate trained --metric loss",
        "--baseline evaluated --candidate trained",
        "--baseline flat --candidate flat2",
        "--baseline huge1 --candidate huge2",
        "--baseline base --candidate edited",
        "--baseline base --candidate forked",
        "--baseline base --candidate twice",
        "--baseline base --candidate stopped",
        "--baseline base --candidate stopped --rule at600.toml",
        "--baseline base --candidate new --rule paired.toml",
        "--baseline base --candidate new one --rule paired.toml",
        "--baseline base --candidate new --rule three.toml",
        "--candidate new --rule bar.toml",
        "--candidate base --rule bar.toml",
        "--candidate noisy --rule bar.toml",
        "--candidate new --rule wrong-bar.toml",
        "--candidate one --rule bar.toml",
        "--candidate one --rule mean.toml",
        "--candidate base --rule mean.toml",
        "--candidate diverged --rule mean.toml",
        "--baseline base --candidate new --rule bar.toml",
        "--candidate new",
        "--baseline base --candidate new --metric train/loss",
        "--baseline base --candidate new --metric acc",
        "--baseline base --candidate new --metric lr",
        "--candidate new --rule bar.toml --metric train/loss",
        "--baseline words --candidate words",
        "--baseline words --candidate words --metric score",
        "--baseline base --candidate empty",
        "--baseline base --candidate nowhere",
        "--baseline base --candidate new --rule bad.toml",
        "--baseline base --candidate new --tries 1000",
    ];
    let drawn: String = cases.iter().map(|arguments| told(&logs, arguments)).collect();
    snapshot("cases", &drawn);
    let drawn: String =
        ["base --candidate copies", "base --candidate both", "base --candidate noisy"]
            .iter()
            .map(|rest| gate(logs.root(), &format!("--baseline {rest}")).stdout + "\n---\n")
            .collect();
    snapshot("open", &drawn);
}

#[test]
fn bundles_and_the_logs_that_they_come_from_are_one() {
    let logs = clear();
    let import = Command::new(env!("CARGO_BIN_EXE_repro"))
        .args(["import", "base", "new", "--out", "receipts"])
        .current_dir(logs.root())
        .output()
        .unwrap();
    assert!(import.status.success());
    fs::create_dir(logs.root().join("repro")).unwrap();
    let names =
        |group: &str| -> String { (1..=3).map(|seed| format!(" {group}-s{seed}")).collect() };
    let of_bundles = gate(
        logs.root(),
        &format!("--baseline{} --candidate{} --format json", names("base"), names("new")),
    );
    let of_logs = gate(logs.root(), "--baseline base --candidate new --format json");
    let json = |ran: &Ran| -> Value { serde_json::from_str(&ran.stdout).expect(&ran.stderr) };
    let (bundles, plain) = (json(&of_bundles), json(&of_logs));
    assert_eq!(Schema::closed("gate").fault(&bundles), None);
    assert_eq!(bundles["test"], plain["test"]);
    // A bundle of a log is that run again, in the same side or in the other.
    let again = told(&logs, "--baseline base --candidate new receipts/new-s1");
    assert!(again.contains("0 better (n = 3, 3)"), "{again}");
    let both = told(&logs, &format!("--baseline base --candidate{}", names("receipts/base")));
    assert!(both.contains("gate::run-in-both-arms"), "{both}");
    // A folder of bundles is all of them.
    let all = told(&logs, "--baseline base --candidate receipts");
    assert!(all.contains("(n = 3, 6)") && all.contains("gate::run-in-both-arms"), "{all}");
}

#[test]
fn runs_on_other_text_are_not_compared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let options = GateOptions {
        baseline: ["s1", "s2"]
            .map(|s| root.join(format!("receipts/tiny-moe-moe-active12-{s}")))
            .into(),
        candidate: ["s1", "s2"]
            .map(|s| root.join(format!("receipts/fairness-moe16-active20-{s}")))
            .into(),
        rule: GateRule { step: repro_formats::gate::ReadAt::Last, ..GateRule::default() },
        threads: 2,
        ..GateOptions::default()
    };
    let report = repro_formats::gate::gate(&options).unwrap();
    let open: Vec<_> =
        report.lines.iter().filter_map(|line| line.code).map(|code| code.id).collect();
    assert_eq!(
        (report.decision, open),
        (GateDecision::WithinNoise, vec!["gate::different-validation-text"])
    );
}

#[test]
fn what_was_typed_from_a_publication_is_no_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let typed = gate(root, "--candidate nmoe-0004 --baseline tiny-moe-moe-active12-s1");
    assert_eq!((typed.code, typed.stdout.as_str()), (2, ""));
    assert!(typed.stderr.starts_with("error[gate::not-a-run]"), "{}", typed.stderr);
}

/// The rule of a leaderboard that lies in the repository.
fn shipped(name: &str) -> GateRule {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("repro/gates").join(name);
    GateRule::load(&path).unwrap()
}

#[test]
fn a_loss_of_training_is_no_loss_of_evaluations() {
    let logs = clear();
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("receipts");
    logs.write("plain/s1.csv", "step,loss\n1209,1.1\n");
    logs.write("plain/s2.csv", "step,loss\n1209,1.2\n");
    let options = GateOptions {
        baseline: (1..=2).map(|seed| ours.join(format!("tiny-moe-moe-active12-s{seed}"))).collect(),
        candidate: vec![logs.root().join("plain")],
        metric: Some("loss".to_owned()),
        threads: 2,
        ..GateOptions::default()
    };
    let report = repro_formats::gate::gate(&options).unwrap();
    let open: Vec<_> =
        report.lines.iter().filter_map(|line| line.code).map(|code| code.id).collect();
    assert_eq!((report.decision, open), (GateDecision::WithinNoise, vec!["gate::mixed-metrics"]));
}

#[test]
fn the_rule_of_nanochat_compares_means() {
    let mut logs = Logs::new();
    for (name, cores) in
        [("above", ["0.2571", "0.2602", "0.2588"]), ("below", ["0.2481", "0.2610", "0.2524"])]
    {
        for (at, core) in cores.iter().enumerate() {
            logs.runs += 1;
            // A history as W&B exports it.
            let row = |step: u64, rest: &str| {
                format!(
                    "{{\"_step\":{step},\"val/bpb\":0.7{}{rest}}}\n",
                    900 - step / 10 + logs.runs
                )
            };
            let text = row(1000, "") + &row(2000, &format!(",\"core_metric\":{core}"));
            logs.write(&format!("{name}/run{at}.jsonl"), &text);
        }
    }
    let ask = |paths: &[&str]| {
        let options = GateOptions {
            candidate: paths.iter().map(|path| logs.root().join(path)).collect(),
            rule: shipped("nanochat.toml"),
            threads: 1,
            ..GateOptions::default()
        };
        let report = repro_formats::gate::gate(&options).unwrap();
        (report.decision.words(), report.lines.last().unwrap().found.clone())
    };
    let told = |n: &str, mean: &str, place: &str| {
        format!("the mean of {n}, {mean}, is {place} the threshold; the rule requires no test")
    };
    assert_eq!(ask(&["above"]), ("better", told("3 runs", "0.2587", "above")));
    assert_eq!(ask(&["above/run0.jsonl"]), ("better", told("1 run", "0.2571", "above")));
    let below = told("3 runs", "0.253833", "not above");
    assert_eq!(ask(&["below"]), ("within noise", below));
    let Some(shared) = crate::shared::folder("the rule of nanochat") else { return };
    let report = |name: &str| shared.join("strangers/nanochat").join(name);
    let options = GateOptions {
        candidate: vec![report("theogbrand_report.md"), report("theogbrand_run2.md")],
        rule: shipped("nanochat.toml"),
        threads: 1,
        ..GateOptions::default()
    };
    let decided = repro_formats::gate::gate(&options).unwrap();
    assert_eq!(decided.inputs.candidate.values(), [0.2055, 0.2206]);
    assert_eq!(decided.decision, GateDecision::WithinNoise);
}

#[test]
fn the_rule_of_the_speedrun_decides_its_own_logs() {
    let Some(shared) = crate::shared::folder("the rule of the speedrun") else { return };
    let ask = |group: &str| {
        let options = GateOptions {
            candidate: vec![shared.join("speedrun_logs").join(group)],
            rule: shipped("modded-nanogpt.toml"),
            threads: 2,
            ..GateOptions::default()
        };
        let report = repro_formats::gate::gate(&options).unwrap();
        let p = report.gap.as_ref().map(|gap| format!("{:.3e}", gap.p));
        (report.decision.words(), report.inputs.candidate.counted().count(), p)
    };
    let of = |words, n, p: &str| (words, n, Some(p.to_owned()));
    assert_eq!(ask("fp8-down-candidate"), of("better", 13, "6.691e-4"));
    assert_eq!(ask("fp8-down-baseline"), of("better", 13, "4.298e-3"));
    assert_eq!(ask("unet-2024-12-08"), of("better", 20, "7.030e-6"));
    assert_eq!(ask("mudd-baseline-s1430"), of("worse", 10, "1.000e0"));
    assert_eq!(ask("adamw-2024-06-06"), ("within noise", 1, None));
}

/// A run with a value, at one step.
fn run(name: &str, value: f64) -> RunValue {
    RunValue {
        file: name.to_owned(),
        name: None,
        is_bundle: false,
        digest: None,
        seed: Some(name.to_owned()),
        metric: "loss".to_owned(),
        kind: Some(CourseKind::Evaluation),
        value: LogNumber::parse(format!("{value:?}").as_bytes()),
        step: Some(100),
        axis: Some(StepAxis::Steps),
        tokens: None,
        stated: BTreeMap::new(),
        unfinished: None,
        later: None,
        oddities: Vec::new(),
        contradiction: None,
        left_out: None,
    }
}

fn side(values: &[f64]) -> GateSide {
    let runs = values.iter().enumerate().map(|(at, value)| run(&format!("s{at}"), *value));
    GateSide { runs: runs.collect() }
}

fn decided(
    rule: &GateRule,
    baseline: Option<&[f64]>,
    candidate: &[f64],
    lower: bool,
) -> GateReport {
    let metric = GateMetric {
        name: "loss".to_owned(),
        names: vec!["loss".to_owned()],
        lower_is_better: lower,
        contradicts_name: false,
        named_by: "default",
    };
    let inputs = GateInputs {
        metric,
        baseline: baseline.map(side),
        candidate: side(candidate),
        on_both_sides: Vec::new(),
        shared_step: Some(100),
        skipped: Vec::new(),
        unread: Vec::new(),
    };
    decide(rule, inputs)
}

fn opposite(decision: GateDecision) -> GateDecision {
    match decision {
        GateDecision::Better => GateDecision::Worse,
        GateDecision::Worse => GateDecision::Better,
        GateDecision::WithinNoise => GateDecision::WithinNoise,
    }
}

fn rule(text: &str) -> GateRule {
    GateRule::parse(Source::new("rule.toml", text.into()).unwrap()).unwrap()
}

/// Two lists of three to seven values, the second moved by a gap.
fn lists() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let list = || prop::collection::vec(-1.0..1.0_f64, 3..8);
    (list(), list(), -4.0..4.0_f64)
        .prop_map(|(a, b, gap)| (a, b.into_iter().map(|value| value + gap).collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn swapping_the_sides_swaps_better_and_worse((a, b) in lists(), lower: bool, paired: bool) {
        let n = a.len().min(b.len());
        let (a, b) = if paired { (&a[..n], &b[..n]) } else { (&a[..], &b[..]) };
        for text in ["one_sided = false", "one_sided = true"] {
            let test = if paired { "paired" } else { "welch" };
            let rule = rule(&format!("test = \"{test}\"\n{text}"));
            let one = decided(&rule, Some(a), b, lower).decision;
            prop_assert_eq!(decided(&rule, Some(b), a, lower).decision, opposite(one));
            prop_assert_eq!(decided(&rule, Some(a), b, !lower).decision, opposite(one));
        }
    }

    #[test]
    fn order_and_scale_change_nothing((a, b) in lists(), power in -20_i32..20) {
        let rule = GateRule::default();
        let one = decided(&rule, Some(&a), &b, true);
        let turned = |values: &[f64]| values.iter().rev().copied().collect::<Vec<_>>();
        let other = decided(&rule, Some(&turned(&a)), &turned(&b), true);
        prop_assert_eq!(&one.gap, &other.gap);
        let factor = (0..power.unsigned_abs()).fold(1.0, |all, _| if power < 0 { all / 2.0 } else { all * 2.0 });
        let scaled = |values: &[f64]| values.iter().map(|value| value * factor).collect::<Vec<_>>();
        prop_assert_eq!(decided(&rule, Some(&scaled(&a)), &scaled(&b), true).decision, one.decision);
    }

    #[test]
    fn what_does_not_count_changes_nothing((a, b) in lists(), copy in 0_usize..3) {
        let rule = GateRule::default();
        let one = decided(&rule, Some(&a), &b, true);
        let mut inputs = one.inputs.clone();
        let mut again = inputs.candidate.runs[copy].clone();
        again.left_out = Some(repro_formats::gate::COPY.at(again.place(), "a run of its own", "a copy"));
        inputs.candidate.runs.push(again);
        let other = decide(&rule, inputs);
        prop_assert_eq!((one.decision, one.gap), (other.decision, other.gap));
    }

    #[test]
    fn one_run_on_a_side_decides_nothing((a, b) in lists(), lower: bool) {
        for text in ["", "test = \"paired\"", "one_sided = true"] {
            let rule = rule(text);
            prop_assert_eq!(decided(&rule, Some(&a[..1]), &b, lower).decision, GateDecision::WithinNoise);
            prop_assert_eq!(decided(&rule, Some(&a), &b[..1], lower).decision, GateDecision::WithinNoise);
        }
        let bar = rule("bar = 0");
        prop_assert_eq!(decided(&bar, None, &b[..1], lower).decision, GateDecision::WithinNoise);
    }

    #[test]
    fn a_run_without_a_finite_value_is_never_better((a, b) in lists(), at in 0_usize..3, word in 0_usize..4) {
        let word = [Some("nan"), Some("inf"), Some("-inf"), None][word];
        for (text, baseline) in [("", Some(&a[..])), ("bar = 9", None), ("bar = 9\ntest = \"none\"", None)] {
            let rule = rule(text);
            let mut inputs = decided(&rule, baseline, &b, true).inputs;
            inputs.candidate.runs[at].value = word.and_then(|word| LogNumber::parse(word.as_bytes()));
            let report = decide(&rule, inputs);
            prop_assert_eq!(report.decision, GateDecision::WithinNoise);
            prop_assert!(report.lines.iter().any(|line| line.state == LineState::Open));
        }
    }
}

/// Values of a normal distribution, by Box and Muller.
fn normal(rng: &mut Rng, n: usize, mean: f64, sd: f64) -> Vec<f64> {
    let draw = |_| {
        let (u, v) = (1.0 - rng.unit(), rng.unit());
        mean + sd * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    (0..n).map(draw).collect()
}

/// How often of so many draws without a difference each answer but `within noise` is given.
fn errors(rule: &GateRule, sizes: [usize; 2], spreads: [f64; 2], draws: usize) -> [f64; 2] {
    let mut rng = Rng::new(7, "no difference");
    let mut counts = [0_usize; 2];
    for _ in 0..draws {
        let candidate = normal(&mut rng, sizes[1], 3.28, spreads[1]);
        let baseline = normal(&mut rng, sizes[0], 3.28, spreads[0]);
        let baseline = rule.bar.is_none().then_some(baseline.as_slice());
        match decided(rule, baseline, &candidate, true).decision {
            GateDecision::Better => counts[0] += 1,
            GateDecision::Worse => counts[1] += 1,
            GateDecision::WithinNoise => {}
        }
    }
    counts.map(|count| count as f64 / draws as f64)
}

#[test]
fn without_a_difference_a_gate_errs_no_more_often_than_its_level() {
    const DRAWS: usize = 3000;
    // Three standard errors of a share of so many draws.
    let most = |level: f64| level + 3.0 * (level * (1.0 - level) / DRAWS as f64).sqrt();
    for sizes in [[3, 3], [5, 5], [10, 13]] {
        for spreads in [[0.0014, 0.0014], [0.001, 0.003]] {
            let [better, worse] = errors(&GateRule::default(), sizes, spreads, DRAWS);
            assert!(better + worse <= most(0.05), "{sizes:?} {spreads:?}: {better} and {worse}");
        }
    }
    for n in [3, 10] {
        let [better, worse] =
            errors(&rule("bar = 3.28\np_below = 0.01"), [0, n], [0.0, 0.0014], DRAWS);
        assert!(better <= most(0.01) && worse <= most(0.01), "{n}: {better} and {worse}");
        let [better, worse] = errors(&rule("test = \"paired\""), [n, n], [0.002, 0.001], DRAWS);
        assert!(better + worse <= most(0.05), "{n} pairs: {better} and {worse}");
    }
}

#[test]
fn the_best_of_many_candidates_needs_the_level_of_many() {
    const DRAWS: usize = 400;
    let mut rng = Rng::new(11, "chosen");
    let shared = GateRule { tries: 20, ..GateRule::default() };
    let mut called = [0_usize; 2];
    for _ in 0..DRAWS {
        let baseline = normal(&mut rng, 4, 0.0, 1.0);
        let candidates: Vec<_> = (0..20).map(|_| normal(&mut rng, 4, 0.0, 1.0)).collect();
        for (rule, count) in [GateRule::default(), shared.clone()].iter().zip(&mut called) {
            let is_better = |candidate: &Vec<f64>| {
                decided(rule, Some(&baseline), candidate, true).decision == GateDecision::Better
            };
            *count += usize::from(candidates.iter().any(is_better));
        }
    }
    let [alone, together] = called.map(|count| count as f64 / DRAWS as f64);
    // The pages say so. With baselines of their own it would be up to 1 - 0.975^20 = 0.40.
    assert_eq!([alone, together], [0.1875, 0.0225]);
}

#[test]
fn a_log_that_cannot_be_read_is_not_left_out() {
    let mut logs = clear();
    logs.side("more", &["3.2711", "3.2742", "3.2698", "3.5"]);
    // The bad run breaks, in each of several ways.
    for broken in ["step,val/loss\n", "", "the loss went nan, killed\n"] {
        logs.write("more/s4.csv", broken);
        let ran = gate(logs.root(), "--baseline base --candidate more");
        assert_eq!(ran.code, 3, "{broken:?}: {}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stdout.contains("gate::unreadable-run") && ran.stdout.contains("s4.csv"),
            "{}",
            ran.stdout
        );
    }
    fs::remove_file(logs.root().join("more/s4.csv")).unwrap();
    // What lies beside logs and looks like none of them is no run.
    logs.write("more/config.json", "{}");
    logs.write("more/notes.md", "# Notes\n");
    let ran = gate(logs.root(), "--baseline base --candidate more");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn one_run_in_two_trackers_counts_once() {
    let mut logs = Logs::new();
    logs.side("base", &["3.3012", "3.3034", "3.2991"]);
    let precise = |run: u64| {
        let mut rng = Rng::new(run, "precise");
        let values: Vec<f64> =
            (1..=6).map(|at| 3.0 + 2.0 / f64::from(at) + 0.01 * rng.unit()).collect();
        let csv = |digits: usize| {
            let rows = values
                .iter()
                .zip(1..)
                .map(|(value, at)| format!("{},{value:.digits$}\n", at * 100));
            format!("step,val/loss\n{}", rows.collect::<String>())
        };
        (csv(10), csv(4))
    };
    for run in 0..2 {
        let (long, short) = precise(run);
        logs.write(&format!("new/run{run}-full.csv"), &long);
        logs.write(&format!("new/run{run}-table.csv"), &short);
    }
    let ran = gate(logs.root(), "--baseline base --candidate new");
    assert!(ran.stdout.contains("2 of 4 candidate"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_run_of_the_baseline_with_another_end_is_no_candidate() {
    let logs = clear();
    for at in 1..=3 {
        let text = fs::read_to_string(logs.root().join(format!("base/s{at}.csv"))).unwrap();
        let (last, better) = (text.lines().last().unwrap().to_owned(), "600,3.2,3.1999,0.01");
        logs.write(&format!("edited/s{at}.csv"), &text.replace(&last, better));
    }
    let ran = gate(logs.root(), "--baseline base --candidate edited");
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    assert!(ran.stdout.contains("at least half of the values of"), "{}", ran.stdout);
}

#[test]
fn a_loss_on_test_data_is_no_validation_loss() {
    let mut logs = clear();
    logs.side("test", &["3.2711", "3.2742", "3.2698"]);
    for at in 1..=3 {
        let name = format!("test/s{at}.csv");
        let text = fs::read_to_string(logs.root().join(&name)).unwrap();
        logs.write(&name, &text.replace("val/loss", "test/loss"));
    }
    let ran = gate(logs.root(), "--baseline base --candidate test");
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("test data in test/s1.csv"), "{}", ran.stdout);
}

/// Three logs of a side, each changed.
fn changed(logs: &Logs, from: &str, to: &str, change: impl Fn(&str) -> String) {
    for at in 1..=3 {
        let text = fs::read_to_string(logs.root().join(format!("{from}/s{at}.csv"))).unwrap();
        logs.write(&format!("{to}/s{at}.csv"), &change(&text));
    }
}

/// The steps and validation losses of a log as a table of their own.
fn two_columns(text: &str, counter: &str) -> String {
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{},{}\n", cells[0], cells[2])
    });
    format!("{counter},val/loss\n{}", rows.collect::<String>())
}

#[test]
fn a_number_that_may_be_cut_does_not_decide() {
    let logs = clear();
    let plain = |text: &str| two_columns(text, "step");
    changed(&logs, "base", "plain-base", plain);
    changed(&logs, "new", "plain-new", plain);
    changed(&logs, "plain-new", "whole", |text| text.trim_end().to_owned());
    // `3.2711` as `3.2`.
    changed(&logs, "plain-new", "cut", |text| text[..text.len() - 4].to_owned());
    // A learning rate that may be cut says nothing about the loss.
    changed(&logs, "new", "other", |text| text.trim_end().trim_end_matches('1').to_owned());
    logs.write("last.toml", "step = \"last\"\n");
    logs.write("at500.toml", "step = 500\n");
    logs.write("at600.toml", "step = 600\n");
    let cases = [
        ("plain-base --candidate whole", "0 better", ""),
        ("plain-base --candidate cut", "3 within_noise", "gate::truncated-value"),
        ("cut --candidate plain-base", "3 within_noise", "gate::truncated-value"),
        ("plain-base --candidate cut --rule last.toml", "3 within_noise", "gate::truncated-value"),
        ("plain-base --candidate cut --rule at600.toml", "3 within_noise", "gate::missing-metric"),
        ("plain-base --candidate cut --rule at500.toml", "3 within_noise", "gate::within-noise"),
        ("base --candidate other", "0 better", ""),
    ];
    for (arguments, answer, code) in cases {
        let told = told(&logs, &format!("--baseline {arguments}"));
        assert!(told.contains(answer) && told.contains(code), "{told}");
    }
    let ran = gate(logs.root(), "--baseline plain-base --candidate cut --rule at500.toml");
    assert!(ran.stdout.contains("[import::truncated-value]"), "{}", ran.stdout);
}

#[test]
fn a_report_never_replaces_what_it_is_about() {
    let logs = clear();
    logs.write("rule.toml", "step = \"last\"\n");
    let path = |name: &str| logs.root().join(name);
    fs::hard_link(path("new/s1.csv"), path("hard.csv")).unwrap();
    std::os::unix::fs::symlink(path("new/s1.csv"), path("soft.csv")).unwrap();
    let before = fs::read(path("new/s1.csv")).unwrap();
    for name in
        ["new/s1.csv", "base/../new/s1.csv", "hard.csv", "soft.csv", "base/s2.csv", "rule.toml"]
    {
        let ran = gate(
            logs.root(),
            &format!(
                "--baseline base --candidate new --rule rule.toml --output markdown=first.md --output json={name}"
            ),
        );
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{name}");
        assert!(ran.stderr.contains("which is an input of the report"), "{}", ran.stderr);
        assert!(!path("first.md").exists(), "{name}");
    }
    assert_eq!(fs::read(path("new/s1.csv")).unwrap(), before);
    // Beside the logs, and again.
    for _ in 0..2 {
        let ran = gate(logs.root(), "--baseline base --candidate new --output json=new/gate.json");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

#[test]
fn every_way_out_is_one_that_a_gate_has() {
    let logs = clear();
    logs.write("bad/a.csv", "step,val/loss\n");
    logs.write("bad/b.csv", "step,val/loss\n");
    logs.write("none/a.csv", "");
    logs.write("none/b.txt", "it went well\n");
    logs.write("no-step.jsonl", "{\"when\":1,\"loss\":3.1}\n");
    logs.write("no-values.csv", "step,note\n1,x\n");
    logs.write("no-number.csv", "step,val_loss\n1,x\n");
    logs.write("unknown.csv", "when,what\n1,x\n");
    for (name, code, found) in [
        ("bad", "gate::no-runs", "bad/a.csv: no columns [import::unknown-columns]"),
        ("none", "import::no-logs", "none/a.csv: an empty file"),
        ("no-step.jsonl", "import::", "`repro import "),
        ("no-values.csv", "import::unknown-columns", "`repro import FILE --map"),
        ("no-number.csv", "import::not-a-number", "`repro import FILE --map"),
        ("unknown.csv", "import::unknown-format", "`repro import FORMAT FILE"),
    ] {
        let ran = gate(logs.root(), &format!("--baseline base --candidate {name}"));
        let drawn = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, 2, "{name}");
        assert!(drawn.contains(code) && drawn.contains(found), "{name}: {}", ran.stderr);
        let options = drawn.matches("--map").count();
        assert_eq!(options, drawn.matches("FILE --map").count(), "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_resumed_run_is_read_where_it_tells_the_same() {
    let logs = clear();
    let again = |text: &str, step: &str| {
        let lines: Vec<&str> = text.lines().collect();
        let rest = lines[3..].join("\n").replacen(",3.", step, 2);
        format!("{}\n{rest}\n", lines[..5].join("\n"))
    };
    changed(&logs, "new", "resumed", |text| again(text, ",3."));
    changed(&logs, "new", "otherwise", |text| again(text, ",4."));
    let [plain, resumed] = ["new", "resumed"].map(|side| {
        let ran = gate(logs.root(), &format!("--baseline base --candidate {side} --format json"));
        serde_json::from_str::<Value>(&ran.stdout).expect(&ran.stderr)["test"].clone()
    });
    assert_eq!(plain, resumed);
    let ran = gate(logs.root(), "--baseline base --candidate otherwise");
    assert_eq!(ran.code, 2);
    for part in ["otherwise/s1.csv:6:", "as in line 4", "`sed '4,5d'`"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

#[test]
fn steps_are_no_epochs_and_moved_steps_make_no_other_run() {
    let logs = clear();
    changed(&logs, "new", "epochs", |text| two_columns(text, "epoch"));
    let told_of = |arguments: &str| told(&logs, arguments);
    let other = told_of("--baseline base --candidate epochs");
    assert!(
        other.contains("3 within_noise") && other.contains("gate::different-counters"),
        "{other}"
    );
    changed(&logs, "base", "epochs-base", |text| two_columns(text, "epoch"));
    let both = told_of("--baseline epochs-base --candidate epochs");
    assert!(both.contains("0 better"), "{both}");
    // A bundle knows it, too.
    let import = Command::new(env!("CARGO_BIN_EXE_repro"))
        .args(["import", "epochs", "--out", "bundles"])
        .current_dir(logs.root())
        .status()
        .unwrap();
    assert!(import.success());
    let bundles = told_of("--baseline base --candidate bundles");
    assert!(bundles.contains("gate::different-counters"), "{bundles}");
    // The baseline with other steps.
    changed(&logs, "base", "moved", |text| {
        text.lines().map(|line| line.replacen("00,", "07,", 1) + "\n").collect()
    });
    logs.write("last.toml", "step = \"last\"\n");
    let moved = told_of("--baseline base --candidate moved --rule last.toml");
    assert!(moved.contains("gate::run-in-both-arms"), "{moved}");
}

#[test]
fn a_document_that_contradicts_its_number_does_not_decide() {
    let logs = Logs::new();
    let report = |core: &str| {
        format!(
            "# nanochat training report\n\n## Base model evaluation\ntimestamp: 2026-01-02 03:04:05\n\n\
             - Model: base_model (step 100)\n- CORE metric: {core}\n\n## Summary\n\n\
             | Metric          | BASE     | MID      | SFT      | RL       |\n\
             |-----------------|----------|----------|----------|----------|\n\
             | CORE            | 0.3000   | -        | -        | -        |\n"
        )
    };
    logs.write("honest.md", &report("0.3000"));
    logs.write("edited.md", &report("0.3500"));
    logs.write(
        "rule.toml",
        "metric = \"Base model evaluation/CORE metric\"\nlower_is_better = false\nbar = 0.25\ntest = \"none\"\n",
    );
    let honest = told(&logs, "--candidate honest.md --rule rule.toml");
    assert!(honest.contains("0 better"), "{honest}");
    let edited = told(&logs, "--candidate edited.md --rule rule.toml");
    assert!(
        edited.contains("3 within_noise") && edited.contains("nanochat::summary-cell"),
        "{edited}"
    );
}

/// A side of accuracies by epoch, with training losses of their own.
fn accuracies(logs: &Logs, side: &str, ends: &[&str], seed: u64) {
    for (run, end) in (0_u64..).zip(ends) {
        let mut rng = Rng::new(seed + run, "training");
        let rows = ["0.91", "0.94", "0.96", "0.97", end];
        let rows = (1..).zip(rows).map(|(epoch, accuracy)| {
            format!("{epoch},{:.4},{accuracy}\n", 2.0 / f64::from(epoch) + 0.01 * rng.unit())
        });
        let text = format!("epoch,train_loss,val_acc\n{}", rows.collect::<String>());
        logs.write(&format!("{side}/seed{run}.csv"), &text);
    }
}

#[test]
fn equal_accuracies_of_seeds_whose_losses_differ_are_no_copies() {
    let logs = Logs::new();
    accuracies(&logs, "base", &["0.97", "0.98", "0.97", "0.98"], 10);
    accuracies(&logs, "new", &["0.98", "0.99", "0.99", "0.99"], 20);
    let told_of = |arguments: &str| told(&logs, &format!("{arguments} --metric val_acc"));
    let honest = told_of("--baseline base --candidate new");
    assert!(honest.contains("(n = 4, 4)") && !honest.contains("gate::"), "{honest}");
    // The same run with its losses is one.
    let text = fs::read_to_string(logs.root().join("new/seed1.csv")).unwrap();
    logs.write("new/seed7.csv", &text);
    let copied = told_of("--baseline base --candidate new");
    assert!(copied.contains("(n = 4, 4)"), "{copied}");
}

#[test]
fn shares_and_percentages_are_not_compared() {
    let logs = Logs::new();
    accuracies(&logs, "base", &["0.971", "0.983", "0.975"], 10);
    accuracies(&logs, "new", &["0.974", "0.982", "0.979"], 20);
    for run in 0..3 {
        let name = format!("new/seed{run}.csv");
        let text = fs::read_to_string(logs.root().join(&name)).unwrap();
        logs.write(&format!("percent/seed{run}.csv"), &text.replace(",0.9", ",9"));
    }
    for sides in ["--baseline base --candidate percent", "--baseline percent --candidate base"] {
        let told = told(&logs, &format!("{sides} --metric val_acc"));
        assert!(told.contains("3 within_noise") && told.contains("gate::mixed-scales"), "{told}");
    }
}

#[test]
fn what_a_run_tells_later_is_not_hidden_by_the_step_of_a_rule() {
    let logs = clear();
    for (name, cell) in [("nan", "nan"), ("empty", ""), ("none", "None")] {
        changed(&logs, "new", name, |text| {
            let (head, last) = text.trim_end().rsplit_once('\n').unwrap();
            let cells: Vec<&str> = last.split(',').collect();
            format!("{head}\n{},{},{cell},{}\n", cells[0], cells[1], cells[3])
        });
        let narrow = format!("{name}-narrow");
        changed(&logs, name, &narrow, |text| two_columns(text, "step"));
    }
    changed(&logs, "base", "base-narrow", |text| two_columns(text, "step"));
    // Evaluated at every second step, and not at the last one.
    for side in ["base", "new"] {
        changed(&logs, side, &format!("{side}-sparse"), |text| {
            let cut = |(at, line): (usize, &str)| {
                let cells: Vec<&str> = line.split(',').collect();
                let seen = if at == 0 || at % 2 == 1 { cells[2] } else { "" };
                format!("{},{},{seen},{}\n", cells[0], cells[1], cells[3])
            };
            text.lines().enumerate().map(cut).collect()
        });
    }
    logs.write("last.toml", "step = \"last\"\n");
    logs.write("at500.toml", "step = 500\n");
    for (arguments, code) in [
        ("base --candidate nan --rule at500.toml", "gate::diverged"),
        ("base --candidate nan --rule last.toml", "gate::diverged"),
        ("base --candidate empty --rule last.toml", "gate::late-steps-without-metric"),
        ("base --candidate none --rule last.toml", "gate::late-steps-without-metric"),
        (
            "base-narrow --candidate empty-narrow --rule last.toml",
            "gate::late-steps-without-metric",
        ),
        ("base-sparse --candidate new-sparse --rule last.toml", "gate::within-noise"),
    ] {
        let told = told(&logs, &format!("--baseline {arguments}"));
        assert!(told.contains("3 within_noise") && told.contains(code), "{told}");
    }
}

#[test]
fn a_damaged_log_of_any_name_is_not_left_out() {
    let logs = clear();
    for name in ["a.CSV", "s9.csv.gz", "events.out.tfevents.7", "run-x.wandb", "trainer_state.json"]
    {
        logs.write(&format!("new/{name}"), "garbage");
        let ran = told(&logs, "--baseline base --candidate new");
        assert!(ran.contains("gate::unreadable-run") && ran.contains(name), "{ran}");
        fs::remove_file(logs.root().join("new").join(name)).unwrap();
    }
    // What macOS keeps beside each file.
    logs.write("new/._s1.csv", "garbage");
    let ran = told(&logs, "--baseline base --candidate new");
    assert!(ran.contains("0 better"), "{ran}");
}

#[test]
fn what_lies_beside_the_log_of_a_run_in_its_folder_is_no_run() {
    let logs = clear();
    for side in ["base", "new"] {
        for run in 1..=3 {
            let text = fs::read_to_string(logs.root().join(format!("{side}/s{run}.csv"))).unwrap();
            let folder = format!("{side}-runs/run{run}");
            logs.write(&format!("{folder}/metrics.csv"), &text);
            logs.write(&format!("{folder}/train.jsonl"), "{\"step\":100,\"loss\":3.1}\n");
            logs.write(&format!("{folder}/gpu.csv"), "step,temperature\n1,60\n");
            logs.write(&format!("{folder}/summary.csv"), "what,how\nseed,three\n");
        }
    }
    let sides = "--baseline base-runs --candidate new-runs";
    let ran = told(&logs, sides);
    assert!(ran.contains("0 better (n = 3, 3)"), "{ran}");
    let text = gate(logs.root(), &format!("{sides} --verbose")).stdout;
    let text = text.split_whitespace().collect::<String>();
    assert!(text.contains("new-runs/run1/gpu.csv") && text.contains("summary.csv"), "{text}");
    // A run that broke off has no other log in its folder.
    logs.write("new-runs/run4/metrics.csv", "step,val/loss\n");
    let ran = told(&logs, sides);
    assert!(ran.contains("gate::unreadable-run"), "{ran}");
}

#[test]
fn a_rule_names_one_quantity_and_says_where_it_contradicts_its_name() {
    let mut logs = clear();
    logs.side("three", &["3.2711", "3.2742", "3.2698"]);
    logs.write("mixed.toml", "metric = [\"val/loss\", \"val/ppl\"]\n");
    logs.write("up.toml", "metric = \"val/loss\"\nlower_is_better = false\n");
    let ran = gate(logs.root(), "--baseline base --candidate new --rule mixed.toml");
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("gate::bad-rule"), "{}", ran.stderr);
    let ran = gate(logs.root(), "--baseline base --candidate new --rule up.toml");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("its name suggests lower"), "{}", ran.stdout);
}

#[test]
fn runs_that_were_deleted_in_mlflow_do_not_count() {
    let logs = clear();
    for (run, end, stage) in [("a", 3.27, "active"), ("b", 3.26, "active"), ("c", 4.5, "deleted")] {
        let folder = format!("store/1/{run}");
        let about = format!("run_name: {run}\nstatus: 3\nlifecycle_stage: {stage}\n");
        logs.write(&format!("{folder}/meta.yaml"), &about);
        let values = format!("1 3.7{run}5 100\n2 {end} 600\n").replace(['a', 'b', 'c'], "1");
        logs.write(&format!("{folder}/metrics/val_loss"), &values);
    }
    let ran = told(&logs, "--baseline base --candidate store");
    assert!(ran.contains("(n = 3, 2)"), "{ran}");
    let text = gate(logs.root(), "--baseline base --candidate store").stdout;
    assert!(text.contains("ignored files: store/1/c"), "{text}");
}
