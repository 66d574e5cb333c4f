//! The trainer as a process: a study becomes bundles on which a post rests; the number of threads, the
//! instructions and the order of runs leave no trace in the bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use repro_bundle::bundle::Bundle;
use repro_kernels::portable::Isa;
use serde_json::Value as Json;

/// The names of the study's files in the project.
pub const STUDY: &str = "repro/studies/smoke.toml";
const POST: &str = "tests/corpus/smoke/smoke.toml";
/// What differs between two trainings of one run: wall-clock times, and what hashes them.
const OF_THE_CLOCK: [&str; 5] = [
    "data/timing.jsonl",
    "data/receipt.json",
    "manifest-sha256.txt",
    "tagmanifest-sha256.txt",
    "bag-info.txt",
];

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
    command.args(arguments).current_dir(root).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn repro(root: &Path, arguments: &[&str]) -> Output {
    command(root, arguments).output().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{}", text(&output.stderr)))
}

/// A project with the study, changed by `change`.
pub fn root(change: impl Fn(String) -> String) -> tempfile::TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let study = temporary.path().join(STUDY);
    std::fs::create_dir_all(study.parent().unwrap()).unwrap();
    let text = std::fs::read_to_string(project().join(STUDY)).unwrap();
    std::fs::write(study, change(text)).unwrap();
    temporary
}

/// The study with one rate that nobody tunes, one seed, and a budget so many times as long.
pub fn untuned(text: String, times: u32, rate: &str) -> String {
    let cut = |text: &str, from: &str, to: &str| {
        let (before, rest) = text.split_once(from).unwrap();
        format!("{before}{}", rest.split_once(to).map_or("", |(_, after)| after))
    };
    let text = cut(&text, "[tuning]\n", "\n\n") + "\n";
    let text = cut(&text, "[runs]\n", "\0");
    assert!(text.contains("coefficient = 2\n") && text.contains("train_bytes = 40_000"));
    let text = text
        .replacen("coefficient = 2\n", &format!("coefficient = {}\n", 2 * times), 1)
        .replacen("seeds = [1, 2, 3]", "seeds = [1]", 1)
        .replacen("train_bytes = 40_000", &format!("train_bytes = {}", 40_000 * times), 1)
        .replacen("log_every = 10\n", &format!("log_every = 10\nlr = {rate}\n"), 1);
    text + "[runs]\nplanned = [\"smoke-dense-short-s1\", \"smoke-moe-short-s1\"]\n"
}

/// The files of a bundle that do not depend on the clock.
pub fn payload(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn collect(folder: &Path, below: &str, into: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                collect(&entry.path(), &format!("{name}/"), into);
            } else {
                into.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    collect(folder, "", &mut files);
    for name in OF_THE_CLOCK {
        files.remove(name).unwrap_or_else(|| panic!("no {name} in {}", folder.display()));
    }
    files
}

/// Commits everything below a folder, so that receipts can name the commit of the plan.
fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "plan"]);
    git(&["rev-parse", "HEAD"])
}

/// The post about the study, changed by `change`, beside its text.
fn write_post(root: &Path, change: impl Fn(String) -> String) {
    let post = std::fs::read_to_string(project().join(POST)).unwrap();
    std::fs::write(root.join("repro/smoke.toml"), change(post)).unwrap();
    let text = project().join(POST).with_extension("md");
    std::fs::copy(text, root.join("repro/smoke.md")).unwrap();
}

#[test]
fn a_study_is_trained_and_a_post_rests_on_its_receipts() {
    let temporary = root(|text| text);
    let root = temporary.path();
    let plan = commit(root);
    let trained = repro(root, &["train", STUDY, "--out", "receipts", "--format", "json"]);
    assert_eq!(code(&trained), 0, "{}", text(&trained.stderr));
    let events: Vec<Json> =
        text(&trained.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert!(events.iter().all(|event| event["schema"] == "repro.train/1"));
    let runs = of("finished");
    assert!((14..=16).contains(&runs) && of("began") == runs && of("stopped") == 0, "{runs}");

    let bundle = Bundle::load(root, "smoke-moe-short-s1", None, 1).unwrap();
    let receipt = bundle.receipt();
    assert_eq!(receipt.run.as_ref().unwrap().plan_commit, Some(plan));
    assert_eq!(receipt.trainer.as_ref().unwrap().arithmetic.as_deref(), Some("portable-f32/1"));
    let weights = receipt.checkpoints[0].weights.as_deref().unwrap();
    let counted = repro(root, &["params", &format!("receipts/{}/{weights}", bundle.name())]);
    assert_eq!(code(&counted), 0, "{}", text(&counted.stderr));

    write_post(root, |text| text);
    let verified = repro(root, &["verify", "--post", "smoke", "--format", "json"]);
    let report: Json = serde_json::from_slice(&verified.stdout).unwrap();
    let claims = report["posts"][0]["claims"].as_array().unwrap();
    for claim in claims {
        assert_eq!(claim["verdict"], "verified", "{claim:#}");
        assert_eq!(claim["origin"], "declared", "{claim:#}");
        let method = if claim["kind"] == "held_fixed" { "compared" } else { "recomputed" };
        assert_eq!(claim["method"], method, "{claim:#}");
    }
    assert!(claims.len() >= 6 && code(&verified) == 0, "{}", text(&verified.stderr));

    let again = repro(root, &["train", STUDY, "--out", "receipts", "--format", "json"]);
    let there = text(&again.stdout).lines().filter(|line| line.contains("\"anew\":false")).count();
    assert_eq!((code(&again), there), (0, runs));
}

#[test]
fn threads_jobs_and_instructions_leave_no_trace() {
    let temporary = root(|text| untuned(text, 1, "0.01"));
    let root = temporary.path();
    let mut seen: Vec<[BTreeMap<String, Vec<u8>>; 2]> = Vec::new();
    let best = Isa::best().name();
    for (threads, jobs, isa) in [("1", "1", best), ("2", "2", best), ("4", "1", "scalar")] {
        let out = format!("threads-{threads}");
        let arguments = ["train", STUDY, "--out", &out, "--threads", threads, "--jobs", jobs];
        let trained = repro(root, &[&arguments[..], &["--instructions", isa]].concat());
        assert_eq!(code(&trained), 0, "{}", text(&trained.stderr));
        let folder = |run: &str| payload(&root.join(&out).join(run));
        seen.push([folder("smoke-dense-short-s1"), folder("smoke-moe-short-s1")]);
    }
    assert!(seen[0] == seen[1] && seen[0] == seen[2]);
    assert!(seen[0][0] != seen[0][1]);
}

#[test]
fn what_cannot_be_trained_is_said_and_leaves_what_is_valid() {
    let temporary = root(|text| untuned(text, 1, "1e30"));
    let root = temporary.path();
    let diverged = repro(root, &["train", STUDY, "--out", "out", "--format", "json"]);
    assert_eq!(code(&diverged), 4, "{}", text(&diverged.stderr));
    let stopped = text(&diverged.stdout).lines().filter(|line| line.contains("train::diverged"));
    assert_eq!(stopped.count(), 2, "the other run is tried as well");
    let folder = root.join("out/smoke-moe-short-s1");
    let bundle = Bundle::load_folder(&folder, "smoke-moe-short-s1", None, 1).unwrap();
    assert!(bundle.diverged_at().unwrap().is_some());
    let metrics = std::fs::read_to_string(folder.join("data/metrics.jsonl")).unwrap();
    assert!(metrics.lines().last().unwrap().contains("\"nonfinite\":"), "{metrics}");

    let study = root.join(STUDY);
    let whole = std::fs::read_to_string(&study).unwrap();
    let refused = |from: &str, to: &str, code_of_refusal: &str| {
        assert!(whole.contains(from), "{from}");
        std::fs::write(&study, whole.replacen(from, to, 1)).unwrap();
        let (out, _) = from.split_once(' ').unwrap();
        let output = repro(root, &["train", STUDY, "--out", out]);
        assert!([2, 4].contains(&code(&output)), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(code_of_refusal), "{}", text(&output.stderr));
        let run = root.join(out).join("smoke-moe-short-s1");
        assert!(!run.exists(), "nothing is written");
    };
    refused("train_bytes = 40000", "train_bytes = 20", "data::");
    refused("source = \"language\"", "source = \"text\"\nfile = \"none.txt\"", "source::");
    refused("hidden_size = 16", "hidden_size = 17", "params::impossible-shape");
    let matched = "match = { mode = \"active\", target = \"moe\" }";
    let wider = format!("{matched}\nmodel = {{ hidden_size = 64 }}");
    refused(matched, &wider, "study::unmatched-arm");
    refused("schema = \"repro.study/1\"", "schema = \"repro.study/2\"", "study::wrong-schema");
    let missing = repro(root, &["train", "none.toml", "--out", "refused"]);
    assert_eq!(code(&missing), 2);
    assert!(text(&missing.stderr).contains("source::unreadable"), "{}", text(&missing.stderr));
}

#[test]
fn a_run_that_diverged_was_made_as_planned() {
    let temporary = root(|text| untuned(text, 1, "1e30"));
    let root = temporary.path();
    commit(root);
    let diverged = repro(root, &["train", STUDY, "--out", "receipts"]);
    assert_eq!(code(&diverged), 4, "{}", text(&diverged.stderr));
    // The first sentence alone, of a post that names these runs.
    let claim = |names: &str| {
        let only_the_plan = |text: String| {
            let (head, rest) = text.split_once("[names]").unwrap();
            let says = rest.split("[[sentence]]").nth(1).unwrap().replace("15", "2");
            format!("{head}[names]\n{names}\n\n[[sentence]]{says}")
        };
        write_post(root, only_the_plan);
        let path = root.join("repro/smoke.md");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text.replace("All 15 runs", "All 2 runs")).unwrap();
        let verified = repro(root, &["verify", "--post", "smoke", "--format", "json"]);
        serde_json::from_slice::<Json>(&verified.stdout).unwrap()
    };
    let both = "runs = \"smoke-{dense,moe}-short-s1\"";
    let report = claim(both);
    let claims = report["posts"][0]["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2, "{report:#}");
    assert!(claims.iter().all(|claim| claim["verdict"] == "verified"), "{report:#}");
    // The bundle of a run that was left out is missed, however badly it ended, and whether it is named or not.
    std::fs::remove_dir_all(root.join("receipts/smoke-moe-short-s1")).unwrap();
    assert_eq!(claim(both)["failures"][0]["code"], "post::unknown-bundle");
    let report = claim("run = \"smoke-dense-short-s1\"");
    let complete = &report["posts"][0]["claims"][1];
    assert_eq!(
        (&complete["verdict"], &complete["code"]),
        (&"refuted".into(), &"complete::not-run".into()),
        "{report:#}"
    );
}

#[test]
fn runs_are_listed_without_training() {
    let output = repro(project(), &["train", STUDY, "--list"]);
    let (listed, root) = (text(&output.stdout), PathBuf::from(STUDY));
    assert_eq!(code(&output), 0, "{} of {}", text(&output.stderr), root.display());
    assert!(listed.contains("smoke-dense-tune-*") && listed.contains("16 runs"), "{listed}");
}
