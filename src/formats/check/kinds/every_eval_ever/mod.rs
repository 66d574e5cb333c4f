//! Every Eval Ever records: aggregate evaluations, their instances as JSON lines, and the index of a store.
//!
//! Definitions: `schemas/eval.schema.json` and `instance_level_eval.schema.json` of evaleval/every_eval_ever, and its converters.

mod instances;
mod store;

use std::path::{Path, PathBuf};

use repro_core::source::{Document, Node};

use crate::check::kind::{DocumentKind, Reads, RelationTable};
use crate::check::kinds::{scores, sizes};
use crate::check::stated::{Digits, StatedRow};

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("relations.toml", include_str!("relations.toml"));

/// An evaluation.
pub static KIND: DocumentKind = DocumentKind {
    id: "every-eval-ever",
    what: "Every Eval Ever evaluation",
    reads: Reads::Json { is, read },
    relations: &RELATIONS,
    twins: None,
};

/// The instances of an evaluation.
pub static INSTANCES: DocumentKind = DocumentKind {
    id: "every-eval-ever-instances",
    what: "Every Eval Ever instances",
    reads: Reads::Lines { is: instances::is, read: instances::read },
    relations: &RELATIONS,
    twins: None,
};

/// The index of a store.
pub static STORE: DocumentKind = DocumentKind {
    id: "every-eval-ever-store",
    what: "Every Eval Ever store index",
    reads: Reads::Lines { is: store::is, read: store::read },
    relations: &RELATIONS,
    twins: None,
};

const OVERALL: &str = "mmlu_pro/overall";

/// The folder of a document, from its path.
fn folder(document: &Document) -> PathBuf {
    Path::new(document.source.name()).parent().map(Path::to_owned).unwrap_or_default()
}

fn is(root: Node<'_>) -> bool {
    let results = root.get("evaluation_results");
    results.is_some_and(|results| results.items().is_ok()) && root.get("evaluation_id").is_some()
}

fn read(document: &Document) -> StatedRow {
    let root = document.root();
    let mut row = StatedRow::default();
    scores::state_some(&mut row, root, "", &["evaluation_id", "retrieved_timestamp"]);
    let last = row.text("evaluation_id").and_then(|id| id.rsplit('/').next()).map(str::to_owned);
    if let Some(last) = last.filter(|last| last.parse::<f64>().is_ok()) {
        row.compute_text("named.timestamp", &last, "the last part of the id");
    }
    if let Some(model) = root.get("model_info") {
        scores::state_some(&mut row, model, "/model_info", &["developer"]);
        let id = scores::text(model, "id").and_then(|id| id.split_once('/'));
        if let Some((developer, _)) = id {
            row.compute_text("named.developer", developer, "the part of the model id before `/`");
        }
    }
    let results = root.get("evaluation_results");
    let details = instances::InstancesBeside::read(&mut row, root, &folder(document));
    let mut rows: Vec<_> = scores::elements(results, "/evaluation_results")
        .map(|(result, pointer)| self::result(result, &pointer, &details))
        .collect();
    overall(&mut rows);
    let mut ids: Vec<&str> =
        rows.iter().filter_map(|row| row.text("evaluation_result_id")).collect();
    if !ids.is_empty() {
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        row.compute_number("ids", count as f64, "the number of result ids");
        row.compute_number("different.ids", ids.len() as f64, "the number of distinct result ids");
    }
    row.add("result", rows);
    row
}

/// Records the numbers below a result by path, if present.
fn state_paths(
    row: &mut StatedRow,
    result: Node<'_>,
    pointer: &str,
    digits: Digits,
    all: &[(&str, &str)],
) {
    for (name, path) in all {
        let node = path.split('/').try_fold(result, |node, key| node.get(key));
        if let Some(node) = node {
            row.measure(*name, node, format!("{pointer}/{path}"), digits);
        }
    }
}

fn result(result: Node<'_>, pointer: &str, details: &instances::InstancesBeside) -> StatedRow {
    let name = scores::text(result, "evaluation_name").unwrap_or_default();
    let mut row = StatedRow::new(name);
    scores::state_some(&mut row, result, pointer, &["evaluation_result_id", "evaluation_name"]);
    if let Some(score) =
        result.get("score_details").and_then(|details| scores::member(details, "score"))
    {
        let pointer = format!("{pointer}/score_details/score");
        row.measure_or_tell("score", score, pointer, Digits::Rounded);
    }
    let numbers = [
        ("stderr", "score_details/uncertainty/standard_error/value"),
        ("deviation", "score_details/uncertainty/standard_deviation"),
        ("lower", "score_details/uncertainty/confidence_interval/lower"),
        ("upper", "score_details/uncertainty/confidence_interval/upper"),
    ];
    // Records come from many sources, some of which round.
    state_paths(&mut row, result, pointer, Digits::Rounded, &numbers);
    let bounds = [
        ("min_score", "metric_config/min_score"),
        ("max_score", "metric_config/max_score"),
        ("samples", "score_details/uncertainty/num_samples"),
    ];
    state_paths(&mut row, result, pointer, Digits::Full, &bounds);
    if let Some(metric) = result.get("metric_config") {
        let below = format!("{pointer}/metric_config");
        scores::state_some(&mut row, metric, &below, &["metric_unit", "metric_kind", "score_type"]);
        if let Some(levels) = metric.get("level_names").and_then(|names| names.items().ok()) {
            row.compute_number("levels", levels.len() as f64, "the length of `level_names`");
        }
        let has_unknown = metric.get("has_unknown_level").and_then(|has| has.truth().ok());
        let lowest = if has_unknown == Some(true) { -1.0 } else { 0.0 };
        row.compute_number("lowest.level", lowest, "-1 if a level may be unknown");
    }
    let questions = ["source_data", "additional_details", "dataset_total_questions"];
    let node = questions.iter().try_fold(result, |node, key| node.get(key));
    if let Some(node) = node {
        let pointer = format!("{pointer}/{}", questions.join("/"));
        row.state("questions", node, pointer, Digits::Full);
        row.read_float("questions");
    }
    mmlu_pro(&mut row);
    details.score(&mut row);
    row
}

/// The sizes of the MMLU-Pro subjects.
fn mmlu_pro(row: &mut StatedRow) {
    let id = row.text("evaluation_result_id").unwrap_or_default();
    let Some(subject) = id.strip_prefix("mmlu_pro/").map(str::to_owned) else { return };
    row.compute_number("known.questions", sizes::mmlu_pro(), "the number of MMLU-Pro questions");
    if let Some(items) = sizes::of_mmlu_pro(&subject) {
        row.compute_number(
            "known.items",
            items,
            format!("the number of MMLU-Pro {subject} questions"),
        );
    }
}

/// The overall MMLU-Pro score with all subject scores.
fn overall(rows: &mut [StatedRow]) {
    let subjects: Vec<StatedRow> = rows
        .iter()
        .filter(|row| row.cell("known.items").is_some() && row.number("score").is_some())
        .map(|row| {
            let mut subject = StatedRow::new(row.label.clone());
            subject.copy("score", row, "score");
            subject.copy("size", row, "known.items");
            subject
        })
        .collect();
    let is_overall = |row: &&mut StatedRow| row.text("evaluation_result_id") == Some(OVERALL);
    if let Some(row) = rows.iter_mut().find(is_overall)
        && subjects.len() == sizes::MMLU_PRO_SUBJECTS
    {
        row.add("subject", subjects);
    }
}
