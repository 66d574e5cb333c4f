//! Results of lm-evaluation-harness, old (up to 0.3) and new (from 0.4), with or without their samples.
//!
//! Definitions: `lm_eval/evaluator.py`, `evaluator_utils.py`, `api/metrics.py`, `api/group.py` and `loggers` of
//! EleutherAI/lm-evaluation-harness; for GPT-NeoX's additions, `megatron/neox_arguments`.

mod groups;
mod neox;
mod samples;
mod tables;
mod tasks;

use repro_claim::relation::{PrintedRange, RelationNumber};
use repro_core::source::{Document, Error, Node, Source};

use crate::check::kind::{
    DocumentKind, FolderAnswer, FolderListing, FoldersBelow, Reads, RelationTable,
};
use crate::check::kinds::scores;
use crate::check::stated::{Digits, StatedRow};

use samples::SampleFiles;
use tables::ResultTables;

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("relations.toml", include_str!("relations.toml"));

/// Results without samples.
pub static KIND: DocumentKind = DocumentKind {
    id: "lm-eval",
    what: "lm-evaluation-harness results",
    reads: Reads::Json { is, read: |document| read(document, &mut SampleFiles::default()) },
    relations: &RELATIONS,
    twins: None,
};

/// Samples without results.
pub static SAMPLES: DocumentKind = DocumentKind {
    id: "lm-eval-samples",
    what: "lm-evaluation-harness samples",
    reads: Reads::Lines { is: samples::is, read: samples::alone },
    relations: &RELATIONS,
    twins: None,
};

/// Results and samples in one folder.
pub static FOLDER: DocumentKind = DocumentKind {
    id: "lm-eval-folder",
    what: "lm-evaluation-harness results with samples",
    reads: Reads::Folder {
        is: |folder| folder.names.iter().any(is_results) && folder.names.iter().any(is_samples),
        takes: |name| is_results(name) || is_samples(name),
        below: FoldersBelow::None,
        read: folder,
    },
    relations: &RELATIONS,
    twins: None,
};

fn is_results(name: impl AsRef<str>) -> bool {
    name.as_ref().starts_with("results") && name.as_ref().ends_with(".json")
}

fn is_samples(name: impl AsRef<str>) -> bool {
    name.as_ref().starts_with("samples_") && name.as_ref().ends_with(".jsonl")
}

fn is(root: Node<'_>) -> bool {
    let has = |key: &str| root.get(key).is_some_and(|node| node.members().is_ok());
    has("results") && has("versions") && has("config") && root.get("config_tasks").is_none()
}

/// Whether a task's results have a score with a filter name, such as `acc,none`. The results come first in the file.
pub fn has_scores(root: Node<'_>) -> bool {
    let tasks = root.get("results").and_then(|results| results.members().ok());
    let is_filtered = |task: Node<'_>| {
        task.members().is_ok_and(|mut scores| scores.any(|(name, _)| name.ends_with(",none")))
    };
    tasks.is_some_and(|mut tasks| tasks.any(|(_, task)| is_filtered(task)))
}

fn folder(folder: &FolderListing) -> Result<FolderAnswer, Error> {
    let mut answer = FolderAnswer::default();
    let mut samples = SampleFiles::default();
    for name in folder.names.iter().filter(|name| is_samples(name)) {
        match Source::load_loose(&folder.file(name), folder.told(name))
            .and_then(Document::parse_loose_json_lines)
        {
            Ok(document) => samples.add(name, &document),
            Err(error) => answer.failures.push(error),
        }
    }
    for name in folder.names.iter().filter(|name| is_results(name)) {
        match Source::load_loose(&folder.file(name), folder.told(name))
            .and_then(Document::parse_loose_json)
        {
            Ok(document) => {
                let read = read(&document, &mut samples);
                answer.row.add("results", read.rows("results").iter().cloned());
            }
            Err(error) => answer.failures.push(error),
        }
    }
    answer.row.add("samples", samples.left());
    Ok(answer)
}

/// Results as one row, with their samples.
fn read(document: &Document, samples: &mut SampleFiles) -> StatedRow {
    let root = document.root();
    let mut row = StatedRow::default();
    if let Some(config) = root.get("config") {
        row.state_all(config, "/config", Digits::Full);
    }
    times(&mut row, root);
    model(&mut row, root);
    said(&mut row, document.source.name());
    neox::read(&mut row, root);
    let tables = ResultTables::of(root);
    let tasks = tasks::read(&tables, document.source.name(), samples);
    row.add("group", groups::read(&tables));
    row.add("group", groups::concatenated(&tasks));
    row.add("again", groups::again(&tables));
    row.add("task", tasks);
    let mut whole = StatedRow::default();
    whole.add("results", [row]);
    whole
}

/// The start, end and duration of the run.
fn times(row: &mut StatedRow, root: Node<'_>) {
    let names = ["start_time", "end_time", "total_evaluation_time_seconds"];
    scores::state_some(row, root, "", &names);
    row.read_float("total_evaluation_time_seconds");
}

/// The evaluated model, which is stated several times.
fn model(row: &mut StatedRow, root: Node<'_>) {
    /// Model arguments that contain the model name; the first one that exists counts.
    const NAMED: &[&str] = &["peft", "delta", "pretrained", "model", "path", "engine"];
    /// Characters that file names cannot contain.
    const UNSAFE: &[char] = &['"', '<', '>', ':', '/', '|', '\\', '?', '*', '[', ']'];
    scores::state_some(row, root, "", &["model_name", "model_name_sanitized"]);
    let arguments = row.text("model_args").unwrap_or_default().to_owned();
    let of = |name: &str| {
        arguments.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    };
    if let Some(named) = NAMED.iter().find_map(|name| of(name)) {
        row.compute_text("named.model", named, "from `/config/model_args`");
    }
    if let Some(name) = row.text("model_name").map(str::to_owned) {
        let parts: Vec<_> = name.split(UNSAFE).collect();
        // A sequence of such characters becomes one separator.
        let at_ends = |at: usize| at == 0 || at + 1 == parts.len();
        let kept = parts.iter().enumerate().filter(|(at, part)| at_ends(*at) || !part.is_empty());
        let kept: Vec<_> = kept.map(|(_, part)| *part).collect();
        row.compute_text("named.file", &kept.join("__"), "the name, with `__` for path characters");
    }
}

/// Facts in the names of the file and its folders.
fn said(row: &mut StatedRow, path: &str) {
    let mut parts = path.rsplit('/');
    let (file, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let shots = |name: &str| {
        let words = [("zero-shot", 0.0), ("five-shot", 5.0)];
        let word = words.iter().find(|(word, _)| name.contains(word)).map(|(_, shots)| *shots);
        word.or_else(|| before(name, "shot"))
    };
    if let Some(shots) = shots(file).or_else(|| shots(folder)) {
        row.compute_number("said.shots", shots, "from the name of the file or its folder");
    }
    let revision = row.text("model_args").and_then(|args| behind(args, "revision=step"));
    match revision {
        Some(step) => {
            row.quote("named.step", "model_args", PrintedRange::of(step), &step.to_string())
        }
        None => row.alias("named.step", &["model_args.iteration"]),
    }
    if let Some(step) = behind(file, "step") {
        row.compute_number("said.step", step, "from the file name");
    }
}

/// The whole number after a word.
fn behind(text: &str, word: &str) -> Option<f64> {
    let rest = text.get(text.find(word)? + word.len()..)?;
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..length)?.parse().ok()
}

/// The whole number before a word.
fn before(text: &str, word: &str) -> Option<f64> {
    let rest = text.get(..text.find(word)?)?.trim_end_matches(['-', '_']);
    let length = rest.bytes().rev().take_while(u8::is_ascii_digit).count();
    rest.get(rest.len() - length..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_names() {
        assert_eq!(behind("m-5shot-global_step143000_eval.json", "step"), Some(143_000.0));
        assert_eq!(behind("pretrained=a,revision=step0", "revision=step"), Some(0.0));
        assert_eq!(behind("stepwise", "step"), None);
        assert_eq!(before("m-5shot-x", "shot"), Some(5.0));
        assert_eq!(before("m-10-shot", "shot"), Some(10.0));
        assert_eq!(before("few-shot", "shot"), None);
    }
}
