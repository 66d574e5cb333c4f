//! SIGKILL at random instants: what a killed trainer or writer leaves is never taken for whole, no line
//! that was written is lost, and the same command ends what was begun, with the same bytes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use repro_bundle::bundle::{Bundle, METRICS, Unfinished};
use repro_stats::rng::Rng;

use crate::shared::say_skipped;
use crate::train::{STUDY, code, command, payload, repro, root, text, untuned};

/// Kills of each program.
const TRAINER: usize = 120;
const IMPORTER: usize = 40;
const SEALER: usize = 40;
const _: () = assert!(TRAINER + IMPORTER + SEALER == 200);

/// The study with runs of a tenth of a second: many records, two states, little work.
fn brief(study: String) -> String {
    let changes = [
        ("coefficient = 2\n", "coefficient = 0.25\n"),
        ("train_bytes = 40000", "train_bytes = 6000"),
        ("validation = { bytes = 16_000 }", "validation = { bytes = 2_000 }"),
        ("development = { bytes = 8_000 }", "development = { bytes = 1_000 }"),
        ("language = { items = 10 }", "language = { items = 2 }"),
        ("log_every = 10", "log_every = 1"),
        ("warmup_steps = 5", "warmup_steps = 2"),
        ("slice_steps = 4", "slice_steps = 2"),
    ];
    changes.iter().fold(untuned(study, 1, "0.01"), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

/// How often a folder is looked at.
const GLANCE: Duration = Duration::from_millis(1);

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The files below a folder that are there at this instant.
fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.insert(path, bytes);
        }
    }
    found
}

/// Runs a command and kills it at random instants; what it left goes on with the next.
struct Killing<'a> {
    command: &'a dyn Fn() -> Command,
    /// The folder that it writes into.
    folder: PathBuf,
    /// How long it takes undisturbed.
    takes: Duration,
    dice: Rng,
}

impl<'a> Killing<'a> {
    /// Runs the command once undisturbed.
    fn new(command: &'a dyn Fn() -> Command, folder: PathBuf, seed: u64) -> (Self, Output) {
        let began = Instant::now();
        let output = command().output().unwrap();
        let takes = began.elapsed();
        (Self { command, folder, takes, dice: Rng::new(seed, "kills") }, output)
    }

    /// Starts the command, and kills it after some time or when its folder has changed a few times;
    /// answers what it said where it ended before.
    fn once(&mut self) -> Option<Output> {
        let later = self.takes.mul_f64(self.dice.unit() * 1.05);
        let (mut changes, watches) = (1 + self.dice.below(12), self.dice.below(2) == 0);
        let mut child = (self.command)().spawn().unwrap();
        let (began, mut seen) = (Instant::now(), self.glance());
        while child.try_wait().unwrap().is_none() {
            if watches {
                let now = self.glance();
                changes = changes.saturating_sub(u64::from(now != seen));
                seen = now;
            }
            if changes == 0 || !watches && began.elapsed() >= later {
                break;
            }
            std::thread::sleep(GLANCE);
        }
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.signal() != Some(9)).then_some(output)
    }

    /// The names and lengths of files.
    fn glance(&self) -> Vec<(PathBuf, u64)> {
        fn look(folder: &Path, seen: &mut Vec<(PathBuf, u64)>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(about) = entry.metadata() else { continue };
                if about.is_dir() {
                    look(&entry.path(), seen);
                }
                seen.push((entry.path(), about.len()));
            }
        }
        let mut seen = Vec::new();
        look(&self.folder, &mut seen);
        seen.sort();
        seen
    }

    /// Kills `kills` times, calling `check` after each, and `ended` with what the command said wherever it
    /// came to its end; then lets it end.
    fn times(mut self, kills: usize, check: &mut dyn FnMut(), ended: &mut dyn FnMut(&Output)) {
        let mut killed = 0;
        while killed < kills {
            match self.once() {
                None => {
                    killed += 1;
                    check();
                }
                Some(output) => ended(&output),
            }
        }
        ended(&(self.command)().output().unwrap());
    }
}

#[test]
fn a_killed_trainer_loses_no_line_and_ends_with_the_same_bytes() {
    let temporary = root(brief);
    let root = temporary.path();
    let run = "smoke-moe-short-s1";
    let arguments = |out| ["train", STUDY, "--only", run, "--threads", "1", "--out", out];
    let folder = root.join("killed").join(run);
    let start = || command(root, &arguments("killed"));
    let (killing, output) = Killing::new(&start, folder.clone(), 1);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let whole = payload(&folder);
    std::fs::remove_dir_all(&folder).unwrap();

    let (mut resumable, mut ends) = (0, 0);
    let metrics = || std::fs::read(folder.join(METRICS)).unwrap_or_default();
    let lines = RefCell::new(Vec::new());
    let mut check = || {
        let now = metrics();
        assert!(now.starts_with(&lines.borrow()), "lines are lost");
        let end = now.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        *lines.borrow_mut() = now[..end].to_vec();
        if folder.join("bagit.txt").exists() {
            Bundle::load_folder(&folder, run, None, 1).unwrap();
        } else if folder.join("data").exists() {
            resumable += usize::from(Unfinished::load(&folder, run).unwrap().resumable);
        }
    };
    let mut ended = |output: &Output| {
        assert_eq!(code(output), 0, "{}", text(&output.stderr));
        assert!(metrics().starts_with(&lines.borrow()), "lines are lost");
        assert!(payload(&folder) == whole);
        std::fs::remove_dir_all(&folder).unwrap();
        lines.borrow_mut().clear();
        ends += 1;
    };
    killing.times(TRAINER, &mut check, &mut ended);
    assert!(resumable > 5, "{resumable} of {TRAINER} kills came after a saved state, {ends} ends");
}

#[test]
fn a_killed_import_is_ended_by_the_next() {
    let temporary = tempfile::tempdir().unwrap();
    let out = temporary.path().join("receipts");
    let shown = out.to_str().unwrap();
    let start = || {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/import");
        command(
            Path::new(corpus),
            &["import", "speedrun", "speedrun", "--keep-source", "--out", shown],
        )
    };
    let (killing, output) = Killing::new(&start, out.clone(), 2);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let whole = files(&out);
    std::fs::remove_dir_all(&out).unwrap();
    let check = || {
        for entry in std::fs::read_dir(&out).into_iter().flatten() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !name.starts_with('.') {
                Bundle::load_folder(&out.join(&name), &name, None, 1).unwrap();
            }
        }
    };
    let mut ended = |output: &Output| {
        // Where the one before was killed when all bundles were whole, this one has named them.
        let said = text(&output.stderr);
        assert!(code(output) == 0 || said.contains("import::existing-bundle"), "{said}");
        assert!(files(&out) == whole);
        std::fs::remove_dir_all(&out).unwrap();
    };
    killing.times(IMPORTER, &mut { check }, &mut ended);
}

#[test]
fn a_killed_sealing_is_ended_by_the_next() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("typed");
    let facts = |value: usize| {
        let facts: Vec<_> = (0..40)
            .map(|at| format!(r#"{{"id": "f{at}", "value": "{value}.{at}", "at": {{"source": "post", "place": "table 1"}}}}"#))
            .collect();
        std::fs::write(
            folder.join("data/facts.json"),
            format!("{{\"facts\": [{}]}}", facts.join(",\n")),
        )
        .unwrap();
    };
    std::fs::create_dir_all(folder.join("data/configs")).unwrap();
    let documents: Vec<_> =
        (0..20).map(|at| format!("\"data/configs/{at}.toml\": \"config-{at}\"")).collect();
    for at in 0..20 {
        std::fs::write(folder.join(format!("data/configs/{at}.toml")), format!("dim = {at}\n"))
            .unwrap();
    }
    let receipt = r#"{"schema": "repro.receipt/1", "origin": "transcribed", "extra": {"documents": {DOCUMENTS}}}"#;
    std::fs::write(
        folder.join("data/receipt.json"),
        receipt.replace("DOCUMENTS", &documents.join(", ")),
    )
    .unwrap();
    facts(0);
    let shown = folder.to_str().unwrap();
    let start = || command(temporary.path(), &["bundle", "seal", shown]);
    let (killing, output) = Killing::new(&start, folder.clone(), 3);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let mut value = 1;
    // What was edited after a sealing is no bundle until it is sealed again.
    let edit = |value: usize| {
        facts(value);
        let _ = std::fs::remove_file(folder.join("bagit.txt"));
    };
    edit(value);
    let mut check = || {
        let loaded = Bundle::load_folder(&folder, "typed", None, 1);
        assert_eq!(loaded.is_ok(), folder.join("bagit.txt").exists(), "{:?}", loaded.err());
    };
    let mut ended = |output: &Output| {
        assert_eq!(code(output), 0, "{}", text(&output.stderr));
        let bundle = Bundle::load_folder(&folder, "typed", None, 1).unwrap();
        assert_eq!(text(&output.stdout).trim(), bundle.digest().prefixed());
        assert_eq!(bundle.facts()[7].value, format!("{value}.7"));
        value += 1;
        edit(value);
    };
    killing.times(SEALER, &mut check, &mut ended);
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_really_full_stops_a_run_that_goes_on_later() {
    let mount =
        Command::new("unshare").args(["--mount", "sh", "-c", "mount -t tmpfs none /mnt"]).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        say_skipped("a full disk", "nothing can be mounted here");
        return;
    }
    let temporary = root(brief);
    let root = temporary.path();
    let run = "smoke-dense-short-s1";
    // A megabyte of which a little more is free each time; what a run leaves is kept for a look.
    let script = r#"
        set -e
        mkdir full && mount -t tmpfs -o size=1m none full
        head -c 1000k /dev/zero > full/filler
        for stage in $(seq 10 60); do
            status=0
            "$0" train "$1" --only "$2" --out full/out 2> said || status=$?
            cp -r full/out "stage-$stage"
            [ $status = 0 ] && exit 0
            [ $status = 4 ] && grep -q bundle::cannot-write said
            truncate -s -24k full/filler
        done
        exit 1
    "#;
    let arguments = ["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_repro"), STUDY, run];
    let output = Command::new("unshare")
        .args(arguments)
        .current_dir(root)
        .stdout(Stdio::null())
        .output()
        .unwrap();
    let said = std::fs::read_to_string(root.join("said")).unwrap_or_default();
    assert_eq!(code(&output), 0, "{} {said}", text(&output.stderr));
    let mut stages: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("stage-"))
        .collect();
    stages.sort();
    let last = stages.pop().unwrap().join(run);
    let metrics = |folder: &Path| std::fs::read(folder.join(METRICS)).unwrap_or_default();
    for stage in &stages {
        let folder = stage.join(run);
        assert!(!folder.join("bagit.txt").exists());
        if folder.join("data").exists() {
            let torn = Unfinished::load(&folder, run).unwrap().records.torn_bytes;
            let found = metrics(&folder);
            assert!(
                metrics(&last).starts_with(&found[..found.len() - torn]),
                "{}",
                stage.display()
            );
        }
    }
    assert!(stages.len() >= 4, "{} stops", stages.len());
    let whole = repro(root, &["train", STUDY, "--only", run, "--out", "whole"]);
    assert_eq!(code(&whole), 0, "{}", text(&whole.stderr));
    assert!(payload(&last) == payload(&root.join("whole").join(run)));
}
