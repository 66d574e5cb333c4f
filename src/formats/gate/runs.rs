//! Finds the runs at given paths: bundles by folder or name, logs of every known format, and folders of either.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::import::{self as import, Import, ImportOptions, LoggedRun};
use repro_core::parallel;
use repro_core::source::{Code, Error, Location};
use repro_model::independence::RunTrace;

use crate::gate::course::{self, MetricCourse};
use crate::gate::looks::{RunLooks, folder, shape};
use crate::gate::{NO_RUNS, bundle};

/// The file that marks a bundle folder.
const BUNDLE: &str = "bagit.txt";

/// One run as found.
#[derive(Debug)]
pub struct GateRun {
    /// The contents of its log or bundle.
    pub logged: LoggedRun,
    /// Facts about the validation text that its bundle states.
    pub stated: BTreeMap<&'static str, String>,
    /// The group in which its seed counts once.
    pub group: String,
    /// The fingerprint that distinguishes it from other runs.
    pub trace: RunTrace,
    /// Whether it comes from a bundle.
    pub is_bundle: bool,
}

/// The runs of one arm, by file.
#[derive(Debug, Default)]
pub struct FoundRuns {
    /// The runs.
    pub runs: Vec<GateRun>,
    /// Files in their folders that are not logs.
    pub skipped: Vec<String>,
    /// Those of them that look like the runs that were read: an unreadable log or bundle is a run that crashed.
    pub unread: Vec<String>,
}

/// Reads the runs at `paths`; messages call the arm `word`.
pub fn read(
    word: &str,
    paths: &[PathBuf],
    root: Option<&Path>,
    threads: usize,
) -> Result<FoundRuns, Vec<Error>> {
    let mut found = FoundRuns::default();
    let (mut bundles, mut logs) = (Vec::new(), Vec::new());
    for path in paths {
        match bundles_at(path, root) {
            of_path if of_path.is_empty() => logs.push(path.clone()),
            of_path => {
                found.skipped.extend(beside(path, &of_path));
                bundles.extend(of_path);
            }
        }
    }
    bundles.sort();
    bundles.dedup();
    let loaded =
        parallel::map(&bundles, threads, |path| bundle::load(path, &path.display().to_string(), 1));
    let (mut errors, mut passed_over) = (Vec::new(), Vec::new());
    for one in loaded {
        match one {
            Ok(run) => found.runs.push(GateRun {
                group: run.logged.group.clone().unwrap_or_default(),
                logged: run.logged,
                stated: run.stated,
                trace: run.trace,
                is_bundle: true,
            }),
            Err(error) => errors.push(error),
        }
    }
    if !logs.is_empty() {
        let read = read_logs(&logs, threads, &mut found);
        errors.extend(read.failures.into_iter().map(with_way_out));
        passed_over = read.skipped;
    }
    if found.runs.is_empty() && errors.is_empty() {
        let place = Location::file(format!("--{word}"));
        errors.push(NO_RUNS.at(place, "at least one run", import::passed_over(&passed_over)));
    }
    let logs = found.runs.iter().filter(|run| !run.is_bundle);
    let looks = RunLooks::of(logs.map(|run| run.logged.file.as_str()));
    // A tracker also writes a file for a run that logs no metrics.
    let is_whole = |file: &str| {
        let said = passed_over.iter().find(|error| error.place.file == file);
        said.is_some_and(|error| error.found.contains(import::NO_METRICS.id))
    };
    let fits = |file: &&String| looks.fit(file, is_whole(file));
    found.unread = found.skipped.iter().filter(fits).cloned().collect();
    found.runs.sort_by(|one, other| one.place().cmp(&other.place()));
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

impl FoundRuns {
    /// Ignores files beside a run's log, in the run's own folder, that have none of the metrics `names`: tables of
    /// speeds, learning rates or predictions. If all runs lie in one folder, each file may be a run.
    pub fn pass_over_sidecars(&mut self, names: &[String]) {
        let mut holders: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        let has_it = |run: &GateRun| MetricCourse::find_any(&run.logged, names).is_some();
        for run in self.runs.iter().filter(|run| !run.is_bundle && has_it(run)) {
            let file = run.logged.file.as_str();
            holders.entry(folder(file)).or_default().push(shape(Path::new(file)));
        }
        holders.retain(|_, shapes| shapes.len() == 1);
        if holders.len() < 2 {
            return;
        }
        let is_beside = |file: &str| {
            let of_run = holders.get(&folder(file)).and_then(|shapes| shapes.first());
            of_run.is_some_and(|of_run| *of_run != shape(Path::new(file)))
        };
        let (beside, runs) = std::mem::take(&mut self.runs)
            .into_iter()
            .partition(|run| !run.is_bundle && !has_it(run) && is_beside(&run.logged.file));
        self.runs = runs;
        let beside: Vec<GateRun> = beside;
        self.skipped.extend(beside.into_iter().map(|run| run.logged.file));
        self.unread.retain(|file| !is_beside(file));
    }
}

impl GateRun {
    /// Its file, with its name if the file contains several runs.
    pub fn place(&self) -> (&str, &str) {
        (&self.logged.file, &self.logged.name)
    }
}

/// The bundle at a path, the bundles in a folder, or the bundle of that name in the project.
fn bundles_at(path: &Path, root: Option<&Path>) -> Vec<PathBuf> {
    let is_bundle = |path: &Path| path.join(BUNDLE).is_file();
    if is_bundle(path) {
        return vec![path.to_owned()];
    }
    let named = root.map(|root| root.join("receipts").join(path));
    if let Some(named) = named.filter(|named| !path.exists() && is_bundle(named)) {
        return vec![named];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut bundles: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| is_bundle(path)).collect();
    bundles.sort();
    bundles
}

/// Files and folders beside the bundles of a folder, which are not read.
fn beside(folder: &Path, bundles: &[PathBuf]) -> Vec<String> {
    if bundles.iter().all(|bundle| bundle == folder) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.path()).filter(|path| !bundles.contains(path));
    let mut names: Vec<_> = others.map(|path| path.display().to_string()).collect();
    names.sort();
    names
}

/// Reads logs; returns failures and skipped files.
fn read_logs(paths: &[PathBuf], threads: usize, found: &mut FoundRuns) -> Import {
    let options = ImportOptions { hashed: true, threads, ..ImportOptions::default() };
    let mut import = import::read(None, paths, &options);
    found.skipped.extend(import.skipped.iter().map(|error| error.place.file.clone()));
    for group in std::mem::take(&mut import.groups) {
        let runs = group.runs.into_iter().map(|logged| GateRun {
            trace: course::traced(&logged, RunTrace::default()),
            logged,
            stated: BTreeMap::new(),
            group: group.name.clone(),
            is_bundle: false,
        });
        found.runs.extend(runs);
    }
    import
}

/// Options of `repro import` that a gate does not have.
const IMPORTED_WITH: [(&Code, &str); 6] = [
    (&import::NO_STEP, "FILE --map step=NAME"),
    (&import::NO_VALUES, "FILE --map val_loss=NAME"),
    (&import::NOT_A_NUMBER, "FILE --map val_loss=NAME"),
    (&import::NO_METRICS, "FORMAT FILE"),
    (&import::UNKNOWN_FORMAT, "FORMAT FILE"),
    (&import::NO_LOGS, "FORMAT FOLDER"),
];

/// Adapts an error of `import`, whose help refers to its own options, to a gate.
fn with_way_out(error: Error) -> Error {
    let known = IMPORTED_WITH.iter().find(|(code, _)| *code == error.code);
    let thinned = error.help.contains("--every").then_some("FILE --every N");
    match known.map(|(_, options)| *options).or(thinned) {
        Some(options) => error.help(format!(
            "fix the log or leave it out; or convert it with `repro import {options} --out DIR` and pass the bundle"
        )),
        None => error,
    }
}
