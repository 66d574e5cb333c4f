//! Links and pipes in the place of what commands write and read: no write follows a link, and nobody waits for a pipe.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::program::repro;
use crate::train::{STUDY, untuned};

/// The bundle of that project.
const BUNDLE: &str = "receipts/example-invented-numbers";

/// A project in `in/` with a study whose starts are logged, and a folder `out/` into which links lead.
fn planted() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("out")).unwrap();
    let made = repro(folder.path(), &["init", "in"]);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let root = folder.path().join("in");
    let planned = repro(&root, &["cluster", "plan", "--out", "plan.jsonl", BUNDLE]);
    assert_eq!(planned.status.code(), Some(0), "{planned:?}");
    let keys = repro(&root, &["bundle", "keygen", "--out", "key"]);
    assert_eq!(keys.status.code(), Some(0), "{keys:?}");
    let study = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(STUDY)).unwrap();
    let study = untuned(study, 1, "1e-2") + "\n[starts]\nfile = \"smoke.starts.jsonl\"\n";
    fs::create_dir(root.join("repro/studies")).unwrap();
    fs::write(root.join(STUDY), study).unwrap();
    folder
}

/// Moves what has a name in the project outside and leaves a link to it; where nothing has it, the link leads to `target`.
fn plant(root: &Path, name: &str, target: &str) {
    let path = root.join(name);
    let outside = root.parent().unwrap().join("out").join(target);
    if path.exists() {
        fs::rename(&path, &outside).unwrap();
    } else if target.ends_with('/') {
        fs::create_dir(&outside).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(&outside, &path).unwrap();
}

/// Everything below a folder, with its bytes.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = if path.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
            if path.is_dir() {
                left.push(path.clone());
            }
            all.push((path.display().to_string(), bytes));
        }
    }
    all.sort();
    all
}

#[test]
fn no_write_follows_a_link() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("repro", "repro/", &["verify", "--write-lock"]),
        ("repro/first.lock", "lock", &["verify", "--write-lock"]),
        ("repro/index.lock", "index", &["verify", "--write-lock"]),
        ("repro/other.lock.partial", "partial", &["verify", "--write-lock"]),
        ("repro", "repro/", &["draft", "example/invented-numbers.csv", "--id", "drafted"]),
        ("runs", "runs/", &["import", "example/invented-numbers.csv", "--out", "runs"]),
        ("runs/.import", "scratch/", &["import", "example/invented-numbers.csv", "--out", "runs"]),
        ("results", "results/", &["cluster", "work", "plan.jsonl", "--results", "results"]),
        ("reports", "reports/", &["verify", "--output", "json=reports/r.json"]),
        ("r.json", "r.json", &["verify", "--output", "json=r.json"]),
        ("r.jsonl", "r.jsonl", &["verify", "--output", "jsonl=r.jsonl"]),
        ("plans", "plans/", &["cluster", "plan", "--out", "plans/p.jsonl", BUNDLE]),
        ("keys", "keys/", &["bundle", "keygen", "--out", "keys/k"]),
        (BUNDLE, "bundle/", &["bundle", "sign", BUNDLE, "--key", "key"]),
        (BUNDLE, "bundle/", &["bundle", "seal", BUNDLE]),
        (
            "receipts/example-invented-numbers/receipt.sig",
            "signature",
            &["bundle", "sign", BUNDLE, "--key", "key"],
        ),
        (
            "stamps",
            "stamps/",
            &["bundle", "stamp", "repro/first.toml", "--out", "stamps/first.tsq"],
        ),
        ("first.tsq", "first.tsq", &["bundle", "stamp", "repro/first.toml", "--out", "first.tsq"]),
        ("repro", "repro/", &["review", "first", "--as", "Ada", "--exempt"]),
        ("repro/first.reviews.toml", "reviews", &["review", "first", "--as", "Ada", "--exempt"]),
        ("cache", "cache/", &["verify", "--cache", "cache"]),
        ("kept", "kept/", &["verify", "--resume", "kept"]),
        ("cores", "cores/", &["devices", "--device", "cpu", "--tensor-cores", "cores"]),
        ("runs", "runs/", &["train", STUDY, "--out", "runs"]),
        ("runs/smoke-dense-short-s1", "run/", &["train", STUDY, "--out", "runs"]),
        ("runs/smoke-dense-short-s1/data", "data/", &["train", STUDY, "--out", "runs"]),
        ("repro/studies", "studies/", &["train", STUDY, "--out", "runs"]),
        ("repro/studies/smoke.starts.jsonl", "starts", &["train", STUDY, "--out", "runs"]),
        ("receipts", "receipts/", &["bundle", "sign", BUNDLE, "--key", "key"]),
        ("receipts", "receipts/", &["bundle", "seal", BUNDLE]),
        (
            "receipts/.example-invented-numbers.receipt.sig.partial",
            "partial",
            &["bundle", "sign", BUNDLE, "--key", "key"],
        ),
        (
            "receipts/example-invented-numbers/manifest-sha256.txt.partial",
            "partial",
            &["bundle", "seal", BUNDLE],
        ),
        ("runs/.imported", "whole/", &["import", "example/invented-numbers.csv", "--out", "runs"]),
        (
            "runs/example-invented-numbers",
            "run",
            &["import", "example/invented-numbers.csv", "--out", "runs"],
        ),
        (
            "repro/drafted.toml",
            "post",
            &["draft", "example/invented-numbers.csv", "--id", "drafted"],
        ),
        ("k.pub", "public", &["bundle", "keygen", "--out", "k"]),
        ("p.jsonl", "plan", &["cluster", "plan", "--out", "p.jsonl", BUNDLE]),
        ("reports", "reports/", &["verify", "--output", "jsonl=reports/r.jsonl"]),
        ("reports", "reports/", &["check", "example", "--output", "json=reports/r.json"]),
        ("runs/smoke-dense-short-s1/state.json", "state", &["train", STUDY, "--out", "runs"]),
        (
            "runs/smoke-dense-short-s1/data/metrics.jsonl",
            "metrics",
            &["train", STUDY, "--out", "runs"],
        ),
        ("sub", "sub/", &["init", "sub"]),
        ("repro", "repro/", &["init"]),
        (".github", "github/", &["init"]),
        (".gitattributes", "attributes", &["init"]),
    ];
    for (name, target, arguments) in cases {
        let project = planted();
        let root = project.path().join("in");
        plant(&root, name, target);
        let before = tree(&project.path().join("out"));
        let ran = repro(&root, arguments);
        assert_eq!(tree(&project.path().join("out")), before, "{name} {arguments:?}: {ran:?}");
    }
}

#[test]
fn a_folder_of_the_results_that_is_a_link_is_refused() {
    let project = planted();
    let root = project.path().join("in");
    assert_eq!(
        repro(&root, &["cluster", "work", "plan.jsonl", "--results", "results"]).status.code(),
        Some(0)
    );
    let folders: Vec<_> =
        fs::read_dir(root.join("results")).unwrap().map(|entry| entry.unwrap().path()).collect();
    for folder in folders {
        fs::remove_dir_all(&folder).unwrap();
        symlink(project.path().join("out"), &folder).unwrap();
    }
    let ran = repro(&root, &["cluster", "work", "plan.jsonl", "--results", "results"]);
    assert_ne!(ran.status.code(), Some(0), "{ran:?}");
    assert!(tree(&project.path().join("out")).is_empty());
}

#[test]
fn nobody_waits_for_a_named_pipe() {
    let project = planted();
    let root = project.path().join("in");
    let made = Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(made.success());
    let cases: &[&[&str]] = &[
        &["draft", "pipe"],
        &["review", "--coverage", "first", "--text", "pipe"],
        &["stats", "pipe"],
        &["stats", "pipe", "--baselines", "pipe"],
        &["cluster", "work", "pipe", "--results", "results"],
        &["cluster", "merge", "pipe", "--results", "results"],
        &["bundle", "sign", BUNDLE, "--key", "pipe"],
        &["train", "pipe", "--out", "runs"],
        &["verify", "--pubkey", "pipe"],
        &["verify", "--text", "text=pipe"],
        &["verify", BUNDLE, "--challenge", "pipe"],
        &["verify", "--timestamp", "pipe"],
        &["cluster", "plan", BUNDLE, "--pubkey", "pipe"],
        &["verify", "--output", "json=pipe"],
        &["verify", "--output", "jsonl=pipe"],
        &["check", "pipe"],
        &["params", "pipe"],
    ];
    for arguments in cases {
        let mut child = Command::new(env!("CARGO_BIN_EXE_repro"))
            .current_dir(&root)
            .args(*arguments)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                panic!("{arguments:?} waits");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
    // What a shell puts there for a command has a writer.
    let program = env!("CARGO_BIN_EXE_repro");
    let line = format!("'{program}' review first --coverage --text <(cat repro/first.md)");
    let ran = Command::new("bash").current_dir(&root).args(["-c", &line]).output().unwrap();
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{ran:?}");
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let project = planted();
    let root = project.path().join("in");
    fs::remove_file(root.join("repro/first.lock")).unwrap();
    fs::create_dir(root.join("repro/first.lock")).unwrap();
    assert_eq!(repro(&root, &["verify", "--write-lock"]).status.code(), Some(2));
    assert!(!root.join("repro/first.lock.partial").exists());
    // A report that does not fit is no report.
    let program = env!("CARGO_BIN_EXE_repro");
    for format in ["json", "html", "jsonl"] {
        let line = format!(
            "trap '' XFSZ; ulimit -f 0; '{program}' verify --output {format}=r >/dev/null 2>&1"
        );
        let ran = Command::new("bash").current_dir(&root).args(["-c", &line]).output().unwrap();
        assert_eq!(ran.status.code(), Some(2), "{format}: {ran:?}");
        assert!(!root.join("r").exists() && !root.join("r.partial").exists(), "{format}");
    }
}
