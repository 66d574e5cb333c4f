//! `check`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::super::super::threads;
use super::super::roots::ReadableRoots;
use super::super::staged::InlineDocument;
use super::said::emptied;
use super::scene::{WIDTH, arguments};
use super::{ModelTool, ToolAnswer, ToolScene, schema};
use repro_core::source::Error;
use repro_formats::check::{CheckOptions, CheckReport};
use repro_report::outcome::ExitStatus;
use repro_report::{ReportOptions, visible};

pub const TOOL: ModelTool = ModelTool {
    name: "check",
    title: "Check published results for contradictions",
    description: "Use this on anything published about a training run or a model, before you repeat its numbers: model folders (README \
with config.json), leaderboard pages and records, evaluation logs and results, training reports, receipt bundles. It recomputes numbers \
that follow from others (parameter counts, FLOPs, sums, accuracies, costs, ranks) and lists contradictions, with line, printed and \
recomputed value. Needs no project. Pass `paths`, or the documents themselves in `documents` (related files in one call: a model \
card with its config.json). `explain` with name `check` lists every kind of file and check.",
    scope: "Passing checks show that a document does not contradict itself there; they do not show that anything was measured, or \
that numbers without a check are right.",
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
        "documents": schema::documents("instead of paths: the documents themselves, as files in one folder"),
        "all": schema::truth("also list the passing checks, and the values of each finding as data"),
    }))
}

fn output() -> Json {
    let mut schema = schema::answer_with(
        schema::CHECK,
        "omitted from `report`: the number of passing checks, and values of the failing ones",
    );
    let not_judged = "inputs that no check applies to; the answer is `undecided` at best";
    schema["properties"]["not_judged"] =
        json!({"type": "array", "items": {"type": "string"}, "description": not_judged});
    schema
}

fn answer(scene: &ToolScene<'_>, call: Json) -> Result<ToolAnswer, Vec<Error>> {
    let CheckCall { paths, documents, all } = arguments(call)?;
    let paths = scene.inputs(paths, &documents, ReadableRoots::confine)?;
    let is_inline = !documents.is_empty();
    let asked = CheckOptions { paths, threads: threads::cores(), is_change: false };
    let checked = match is_inline {
        true => repro_formats::check::check_named(&asked),
        false => repro_formats::check::check(&asked),
    };
    let named = match is_inline {
        true => checked.documents.iter().map(|one| PathBuf::from(&one.path)).collect(),
        false => asked.paths,
    };
    let not_judged = not_judged(&checked, &named);
    let options = ReportOptions { width: WIDTH, verbose: all, ..ReportOptions::default() };
    let mut text = repro_formats::check::text(&checked, &options);
    if !not_judged.is_empty() {
        let names = not_judged.join(", ");
        text.push_str(&format!("\nnot judged, because no check applies: {names}\n"));
    }
    let mut report =
        serde_json::from_str(&repro_formats::check::json(&checked)).unwrap_or_default();
    let left_out = if all { Map::new() } else { without_what_holds(&mut report) };
    let status = match checked.status() {
        ExitStatus::Verified if !not_judged.is_empty() => ExitStatus::Undecided,
        status => status,
    };
    let answer = ToolAnswer::new(Some(status), TOOL.scope, text).with("not_judged", not_judged);
    Ok(answer.with_report(report, left_out))
}

/// The inputs without an applicable check: passing checks of other inputs say nothing about them.
fn not_judged(checked: &CheckReport, named: &[PathBuf]) -> Vec<String> {
    let is_silent = |path: &&PathBuf| !checked.asks_of(path);
    let told = |path: &PathBuf| visible(&path.display().to_string());
    named.iter().filter(is_silent).map(told).collect()
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
