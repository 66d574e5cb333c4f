//! HELM runs: a folder with `stats.json`, `per_instance_stats.json`, `scenario_state.json` and `run_spec.json`, or some
//! of them.
//!
//! Definitions: `benchmark/metrics/statistic.py`, `metric.py`, `basic_metrics.py`, `evaluate_reference_metrics.py` and `benchmark/adaptation`
//! of stanford-crfm/helm.

mod requests;
mod stats;
mod words;

use repro_core::source::{Document, Error, Source};

use crate::check::kind::{
    DocumentKind, FolderAnswer, FolderListing, FoldersBelow, Reads, RelationTable,
};
use crate::check::kinds::scores;
use crate::check::stated::{Digits, StatedRow};

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("relations.toml", include_str!("relations.toml"));

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "helm",
    what: "HELM run",
    reads: Reads::Folder {
        is: |folder| {
            folder.has(STATS) && [INSTANCES, STATE, SPEC].iter().any(|name| folder.has(name))
        },
        takes: |name| FILES.contains(&name),
        below: FoldersBelow::None,
        read,
    },
    relations: &RELATIONS,
    twins: None,
};

const STATS: &str = "stats.json";
const INSTANCES: &str = "per_instance_stats.json";
const STATE: &str = "scenario_state.json";
const SPEC: &str = "run_spec.json";
const FILES: &[&str] = &[STATS, INSTANCES, STATE, SPEC, "scenario.json"];

/// The readable files of a run.
#[derive(Debug, Default)]
struct RunFiles {
    stats: Option<Document>,
    instances: Option<Document>,
    state: Option<Document>,
    spec: Option<Document>,
}

fn read(folder: &FolderListing) -> Result<FolderAnswer, Error> {
    let mut answer = FolderAnswer::default();
    let mut load = |name: &str| {
        let source = || Source::load_loose(&folder.file(name), folder.told(name));
        let read = folder.has(name).then(|| source().and_then(Document::parse_loose_json))?;
        read.map_err(|error| answer.failures.push(error)).ok()
    };
    let files = RunFiles {
        stats: load(STATS),
        instances: load(INSTANCES),
        state: load(STATE),
        spec: load(SPEC),
    };
    spec(&mut answer.row, folder, &files);
    stats::read(&mut answer.row, &files);
    requests::read(&mut answer.row, &files);
    Ok(answer)
}

/// The run specification, which is recorded twice and in the folder name.
fn spec(row: &mut StatedRow, folder: &FolderListing, files: &RunFiles) {
    let adapter = |document: &Option<Document>| {
        let mut row = StatedRow::default();
        let root = document.as_ref().map(Document::root);
        if let Some(spec) = root.and_then(|root| root.get("adapter_spec")) {
            row.state_all(spec, "/adapter_spec", Digits::Full);
        }
        row
    };
    let (own, again) = (adapter(&files.spec), adapter(&files.state));
    let settings: Vec<_> = own.names().filter(|name| again.cell(name).is_some()).collect();
    let settings = settings.into_iter().map(|name| {
        let mut setting = StatedRow::new(name);
        setting.copy("value", &own, name);
        setting.copy("again", &again, name);
        setting
    });
    row.add("setting", settings);
    for name in
        ["max_eval_instances", "max_train_instances", "num_train_trials", "num_trials", "method"]
    {
        row.copy(name, &again, name);
        row.copy(name, &own, name);
    }
    let Some(spec) = files.spec.as_ref().map(Document::root) else { return };
    scores::state_some(row, spec, "", &["name"]);
    // `/` cannot be in a file name, and on some systems neither can `:`.
    let plain = |name: &str| name.replace(['/', ':', '-'], "_");
    let own = folder.shown.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let Some(name) = row.text("name").map(str::to_owned) else { return };
    if matches!(own, "" | "." | "..") {
        return;
    }
    let is_same = plain(own) == plain(&name);
    row.compute_text("folder.name", if is_same { &name } else { own }, "the folder name");
}
