//! Folders of MLPerf training results (`result_0.txt` and so on), and summaries of a round's scores.
//!
//! Definitions: the training rules in mlcommons/training_policies. `import` computes the scores.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;

use crate::import::scoring::{MlperfScore, Reference};
use crate::import::{Figures, ImportOptions, LogFormat, LogGroup, LoggedRun, TARGET_MISSED};
use repro_claim::relation::Weight;
use repro_core::decimal;
use repro_core::source::{Code, Document, Error, Node};

use crate::check::asked::{AskedRelation, Broken, UsedValue};
use crate::check::kind::{
    DocumentKind, FolderAnswer, FolderListing, FoldersBelow, NO_RELATIONS, Reads, RelationTable,
    Twins,
};
use crate::check::stated::{Digits, StatedRow};

/// A folder of results.
pub static RESULTS: DocumentKind = DocumentKind {
    id: "mlperf",
    what: "MLPerf Training results",
    reads: Reads::Folder { is: is_folder, takes, below: FoldersBelow::None, read: read_folder },
    relations: &NO_RELATIONS,
    twins: Some(Twins { table: "score", identity: "identity", relations: &RELATIONS }),
};

/// The scores of a round.
pub static SUMMARY: DocumentKind = DocumentKind {
    id: "mlperf-summary",
    what: "scores of an MLPerf round",
    reads: Reads::Json { is: is_summary, read: read_summary },
    relations: &NO_RELATIONS,
    twins: Some(Twins { table: "score", identity: "identity", relations: &RELATIONS }),
};

/// The prefix of every log line.
const TOKEN: &str = ":::MLLOG ";
/// The number of bytes read to recognize a log.
const LOOK: u64 = 1 << 16;
/// The fields that identify a system in a round.
const OF_SYSTEM: [&str; 3] = ["submitter", "system", "number_of_nodes"];

fn takes(name: &str) -> bool {
    is_result(name) || name == "scaling.json" || is_reference(name)
}

fn is_result(name: &str) -> bool {
    let number = name.strip_prefix("result_").and_then(|rest| rest.strip_suffix(".txt"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn is_reference(name: &str) -> bool {
    name.starts_with("rcps") && name.ends_with(".json")
}

fn is_folder(folder: &FolderListing) -> bool {
    let Some(first) = folder.names.iter().find(|name| is_result(name)) else { return false };
    let mut bytes = Vec::new();
    let file = File::open(folder.file(first));
    let read = file.and_then(|file| file.take(LOOK).read_to_end(&mut bytes));
    read.is_ok() && String::from_utf8_lossy(&bytes).contains(TOKEN)
}

fn read_folder(folder: &FolderListing) -> Result<FolderAnswer, Error> {
    let reference = folder.names.iter().find(|name| is_reference(name));
    let reference = reference.map(|name| Reference::load(&folder.file(name))).transpose()?;
    let options = ImportOptions {
        group: Some(folder.shown.clone()),
        reference,
        threads: 1,
        ..ImportOptions::default()
    };
    let names = folder.names.iter().filter(|name| is_result(name));
    let paths: Vec<_> = names.map(|name| folder.file(name)).collect();
    let import = crate::import::read(Some(LogFormat::Mlperf), &paths, &options);
    if let Some(error) = import.failures.into_iter().next() {
        return Err(error);
    }
    let mut answer = FolderAnswer::default();
    for group in &import.groups {
        let Figures::Score(score) = &group.figures else { continue };
        answer.asked.extend(asked(group, score));
        answer.row.add("score", scored(score));
    }
    Ok(answer)
}

/// Converts import findings to checks, each applied to every run or to all of them together.
fn asked(group: &LogGroup, score: &MlperfScore) -> Vec<AskedRelation> {
    let of_run = |run: &LoggedRun| run.findings.iter().map(|one| one.error.clone()).collect();
    let of_runs = group.runs.iter().flat_map(|run| -> Vec<Error> { of_run(run) });
    let mut all = vec![AskedRelation { times: group.runs.len(), ..relation(&TARGET_MISSED) }];
    for error in of_runs.chain(score.findings.iter().cloned()) {
        let at = all.iter().position(|known| known.code == error.code).unwrap_or_else(|| {
            all.push(relation(error.code));
            all.len() - 1
        });
        if let Some(known) = all.get_mut(at) {
            known.broken.push(broken(&error));
            known.times = known.times.max(known.broken.len());
        }
    }
    all
}

fn relation(code: &'static Code) -> AskedRelation {
    let is_target = code == &TARGET_MISSED;
    AskedRelation {
        code,
        weight: if is_target { Weight::Contradiction } else { Weight::Doubt },
        says: Cow::Borrowed(if is_target {
            "the last evaluation of a successful run meets the benchmark's target"
        } else {
            code.meaning
        }),
        source: "the MLPerf training rules, as implemented by `repro import mlperf`",
        times: 0,
        tried: 0,
        broken: Vec::new(),
    }
}

fn broken(error: &Error) -> Broken {
    let found = UsedValue {
        name: "found".to_owned(),
        value: error.found.clone(),
        place: Some(error.place.clone()),
        how: String::new(),
    };
    let reason = format!("expected {}, found {}", error.expected, error.found);
    Broken { reason, printed: Some(found), ..Broken::default() }
}

/// The score of a folder, in minutes.
fn scored(score: &MlperfScore) -> Option<StatedRow> {
    let minutes = decimal::nearest_f64(&score.scaled()?);
    let (organisation, platform) = (score.of.organisation.as_ref()?, score.of.platform.as_ref()?);
    let identity = format!("{organisation}, {platform}, {}", score.of.benchmark);
    let mut row = StatedRow::new(identity.clone());
    row.compute_text("identity", &identity, "from the logs");
    let factor = score.scaling.as_ref().map(|scaling| format!(", scaled by {}", scaling.text));
    let factor = factor.unwrap_or_default();
    let how =
        format!("the mean of {} runs, without the fastest and the slowest{factor}", score.kept);
    row.compute_number("score", minutes, how);
    Some(row)
}

fn is_summary(root: Node<'_>) -> bool {
    let first = root.items().ok().and_then(|mut rows| rows.next());
    first.is_some_and(|row| {
        OF_SYSTEM.iter().all(|key| row.get(key).is_some())
            && row.get("accelerator_model_name").is_some()
    })
}

fn read_summary(document: &Document) -> StatedRow {
    let mut whole = StatedRow::default();
    for (at, system) in document.root().items().into_iter().flatten().enumerate() {
        let text = |key: &str| system.get(key).and_then(|node| node.text().ok());
        let [Some(submitter), Some(name), Some(nodes)] = OF_SYSTEM.map(text) else { continue };
        for (benchmark, value) in system.members().into_iter().flatten() {
            let mut row = StatedRow::new(format!("{submitter}, {nodes}x{name}, {benchmark}"));
            row.state("score", value, format!("/{at}/{benchmark}"), Digits::Rounded);
            if row.number("score").is_some_and(|score| score.fract() != 0.0) {
                row.compute_text("identity", &row.label.clone(), "from the system's fields");
                whole.add("score", [row]);
            }
        }
    }
    whole
}

/// The consistency checks.
static RELATIONS: RelationTable = RelationTable::new("mlperf.toml", include_str!("mlperf.toml"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_known_by_their_names() {
        assert!(["result_0.txt", "result_12.txt"].iter().all(|name| is_result(name)));
        assert!(
            !["result_.txt", "result_a.txt", "results_0.txt"].iter().any(|name| is_result(name))
        );
        assert!(takes("scaling.json") && takes("rcps_x.json") && !takes("notes.txt"));
    }
}
