//! `check`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::super::super::threads;
use super::super::staged::InlineDocument;
use super::said::emptied;
use super::scene::{WIDTH, arguments};
use super::{ModelTool, ToolAnswer, ToolScene, schema};
use repro_check::CheckOptions;
use repro_receipt::source::Error;
use repro_report::ReportOptions;

pub const TOOL: ModelTool = ModelTool {
    name: "check",
    title: "Check published results against themselves",
    description: "Use this on anything published about a training run or a model, before you repeat a number of it: model folders (README \
with config.json), leaderboard pages and records, evaluation logs and results, training reports, receipt bundles. It recomputes what \
follows from what (parameter counts, FLOPs, sums, accuracies, costs, ranks) and lists what cannot both be right, with line, printed and \
recomputed value. Needs no project. Give `paths`, or the documents themselves in `documents` (what belongs together in one call: a model \
card with its config.json). `explain` with name `check` lists every kind and relation.",
    scope: "That relations hold shows that a document does not contradict itself there; it does not show that anything was measured, or \
that the numbers which follow from nothing else are right.",
    input,
    output,
    answer,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckCall {
    #[serde(default)]
    paths: Vec<PathBuf>,
    #[serde(default)]
    documents: Vec<InlineDocument>,
    #[serde(default)]
    all: bool,
}

fn input() -> Json {
    schema::arguments(json!({
        "paths": schema::paths("files and folders, relative to the project or absolute"),
        "documents": schema::documents("instead of paths: the documents themselves, as files of one folder"),
        "all": schema::truth("also list the relations that hold, and the values of each finding as data"),
    }))
}

fn output() -> Json {
    schema::answer_with(
        schema::CHECK,
        "what was left out of `report`: how many relations that hold, and values of those that do not",
    )
}

fn answer(scene: &ToolScene<'_>, call: Json) -> Result<ToolAnswer, Vec<Error>> {
    let CheckCall { paths, documents, all } = arguments(call)?;
    let paths = scene.inputs(paths, &documents)?;
    let checked =
        repro_check::check(&CheckOptions { paths, threads: threads::cores(), is_change: false });
    let options = ReportOptions { width: WIDTH, verbose: all, ..ReportOptions::default() };
    let text = repro_check::text(&checked, &options);
    let mut report = serde_json::from_str(&repro_check::json(&checked)).unwrap_or_default();
    let left_out = if all { Map::new() } else { without_what_holds(&mut report) };
    let answer = ToolAnswer::new(Some(checked.status()), TOOL.scope, text);
    Ok(answer.with_report(report, left_out))
}

/// Takes the relations that hold out of a report, and of those that do not the values, which the text tells.
fn without_what_holds(report: &mut Json) -> Map<String, Json> {
    let mut hold = 0;
    for document in report["documents"].as_array_mut().into_iter().flatten() {
        let Some(relations) = document["relations"].as_array_mut() else { continue };
        let before = relations.len();
        relations.retain(|relation| relation["broken"] != 0);
        hold += before - relations.len();
    }
    let findings = report["findings"].as_array_mut().into_iter().flatten();
    let values = findings.map(|finding| emptied(&mut finding["values"])).sum::<usize>();
    let left_out = [("relations_that_hold", hold), ("values", values)];
    left_out.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}
