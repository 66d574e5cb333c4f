//! Lighteval results: `results_*.json`.
//!
//! Definitions: `logging/info_loggers.py`, `logging/evaluation_tracker.py` and `metrics/stderr.py` of huggingface/lighteval.

use std::collections::BTreeSet;

use repro_claim::relation::Term;
use repro_core::source::{Document, Node, escape};
use twox_hash::XxHash64;

use crate::check::kind::{DocumentKind, Reads, RelationTable};
use crate::check::kinds::{scores, sizes};
use crate::check::stated::{Digits, StatedRow};

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "lighteval",
    what: "lighteval results",
    reads: Reads::Json { is, read },
    relations: &RELATIONS,
    twins: None,
};

/// Metrics that are 0 or 1 for each item.
const ZERO_ONE: &[&str] = &[
    "acc",
    "acc_norm",
    "em",
    "qem",
    "pem",
    "pqem",
    "exact_match",
    "quasi_exact_match",
    "prefix_exact_match",
    "prefix_quasi_exact_match",
    "extractive_match",
    "prompt_level_strict_acc",
    "prompt_level_loose_acc",
];
/// Lighteval's own functions that score an item 0 or 1; a custom task may give partial credit under the same name.
const SCORED_BY: &[&str] =
    &["AccGoldLikelihood", "ExactMatches", "LoglikelihoodAcc", "MultilingualExtractiveMatchMetric"];
/// The request counts of each task.
const COUNTED: &[&str] = &["truncated", "non_truncated", "padded", "non_padded"];

fn is(root: Node<'_>) -> bool {
    let has = |key: &str| root.get(key).is_some_and(|node| node.members().is_ok());
    has("results") && has("config_general") && (has("config_tasks") || has("summary_tasks"))
}

fn read(document: &Document) -> StatedRow {
    let root = document.root();
    let mut row = StatedRow::default();
    if let Some(general) = root.get("config_general") {
        let names = ["start_time", "end_time", "total_evaluation_time_secondes", "max_samples"];
        scores::state_some(&mut row, general, "/config_general", &names);
        row.read_float("total_evaluation_time_secondes");
        if let Some(seeds) = scores::number(general, "num_fewshot_seeds") {
            row.compute_number("seeds", seeds.max(1.0), "`num_fewshot_seeds`, at least 1");
        }
    }
    let results = root.get("results");
    let digits = results.map_or(Digits::Rounded, scores::digits);
    row.add(
        "task",
        tasks(root).map(|(name, node, pointer)| task(root, name, node, &pointer, digits)),
    );
    row.add("average", averages(root, digits));
    row.add("average", over_all(root, digits));
    totals(&mut row, root);
    row
}

/// The results of tasks.
fn tasks<'n>(root: Node<'n>) -> impl Iterator<Item = (&'n str, Node<'n>, String)> {
    let all = scores::members(root.get("results"), "/results");
    all.filter(|(name, ..)| *name != "all" && !name.contains(":_average"))
}

/// The configuration of a task, whose name may have more parts than in the results.
fn config<'n>(root: Node<'n>, task: &str) -> Option<(Node<'n>, String)> {
    let configs = scores::members(root.get("config_tasks"), "/config_tasks");
    let is_of = |name: &str| {
        name == task
            || name.strip_prefix(task).is_some_and(|rest| rest.starts_with('|'))
            || task.strip_prefix(name).is_some_and(|rest| rest.starts_with('|'))
    };
    let mut of_task = configs.filter(|(name, ..)| is_of(name));
    of_task.next().map(|(_, node, pointer)| (node, pointer))
}

fn task(root: Node<'_>, name: &str, node: Node<'_>, pointer: &str, digits: Digits) -> StatedRow {
    let mut row = StatedRow::new(name);
    let config = config(root, name);
    if let Some((config, below)) = &config {
        for (own, key) in [("effective", "effective_num_docs"), ("original", "original_num_docs")] {
            // Both are -1 until the data is read.
            if let Some(count) =
                config.get(key).filter(|count| count.integer().is_ok_and(|n| n > 0))
            {
                row.state(own, count, format!("{below}/{key}"), Digits::Full);
            }
        }
        scores::state_some(&mut row, *config, below, &["num_fewshots"]);
        if let Some(version) = config.get("version") {
            row.state("config.version", version, format!("{below}/version"), Digits::Full);
        }
    }
    if let Some(version) = root.get("versions").and_then(|all| all.get(name)) {
        row.state("version", version, format!("/versions/{}", escape(name)), Digits::Full);
    }
    let shots = name.split('|').next_back().and_then(|shots| shots.parse().ok());
    if let Some(shots) = shots.filter(|_| name.matches('|').count() == 1) {
        row.compute_number("said.shots", shots, "from the task name in the results");
    }
    if let Some(summary) = root.get("summary_tasks").and_then(|all| all.get(name)) {
        let below = format!("/summary_tasks/{}", escape(name));
        scores::state_some(&mut row, summary, &below, COUNTED);
    }
    let config = config.map(|(config, _)| config);
    row.add("metric", metrics(config, (name, node), pointer, digits));
    row
}

/// Whether the number of items is published for a task, whatever its suite; if so, the task is lighteval's own.
fn is_known(task: &str) -> bool {
    let mut parts = task.split('|').rev().skip(1);
    parts.next().is_some_and(|name| sizes::of_task(name).is_some())
}

/// A metric declared in a configuration: its name, its item function and its corpus function, if stated.
struct DeclaredMetric<'n> {
    name: &'n str,
    scored_by: Option<&'n str>,
    aggregation: Option<&'n str>,
}

fn declared<'n>(config: Option<Node<'n>>) -> Vec<DeclaredMetric<'n>> {
    let metrics = config.and_then(|config| config.get("metrics"));
    let mut all = Vec::new();
    for (metric, _) in scores::elements(metrics, "") {
        let (scored_by, aggregation) =
            (scores::text(metric, "sample_level_fn"), scores::text(metric, "corpus_level_fn"));
        let name = metric.get("metric_name");
        if let Some(name) = name.and_then(|name| name.text().ok()) {
            all.push(DeclaredMetric { name, scored_by, aggregation });
        }
        for (name, _) in scores::elements(name, "") {
            let of = |name| DeclaredMetric { name, scored_by: None, aggregation: None };
            all.extend(name.text().ok().map(of));
        }
    }
    all
}

fn metrics(
    config: Option<Node<'_>>,
    (task, node): (&str, Node<'_>),
    pointer: &str,
    digits: Digits,
) -> Vec<StatedRow> {
    let declared = declared(config);
    let all = scores::members(Some(node), pointer).filter(|(key, ..)| !key.ends_with("_stderr"));
    let metric = |(key, value, below): (&str, Node<'_>, String)| {
        let mut row = StatedRow::new(key);
        row.measure_or_tell("value", value, below, digits);
        row.cell("value").or(row.cell("unread"))?;
        let stderr = format!("{key}_stderr");
        if let Some(value) = scores::member(node, &stderr) {
            row.measure_or_tell("stderr", value, format!("{pointer}/{}", escape(&stderr)), digits);
        }
        let entry = declared.iter().find(|one| one.name == key);
        if !declared.is_empty() {
            let how = "the number of metrics in the configuration";
            row.compute_number("declared", declared.len() as f64, how);
            if entry.is_none() {
                row.compute("undeclared", Term::Truth(true), "the configuration lacks this metric");
            }
        }
        let is_mean = entry.is_some_and(|one| one.aggregation == Some("mean"));
        let scored_by = entry.and_then(|one| one.scored_by);
        let is_own = scored_by.is_some_and(|by| SCORED_BY.contains(&by)) || is_known(task);
        if is_mean && is_own && ZERO_ONE.contains(&key) {
            row.compute_text("sort", "proportion", "a mean of binary items");
        }
        Some(row)
    };
    all.filter_map(metric).collect()
}

/// A mean over results, with its members.
fn mean_of(
    label: String,
    (value, pointer): (Node<'_>, String),
    members: Vec<(&str, Option<Node<'_>>, String)>,
    digits: Digits,
) -> Option<StatedRow> {
    let mut row = StatedRow::new(label);
    row.measure("value", value, pointer, digits);
    row.cell("value")?;
    let mut rows = Vec::new();
    for (name, value, pointer) in members {
        let mut member = StatedRow::new(name);
        member.measure("value", value?, pointer, digits);
        member.cell("value")?;
        rows.push(member);
    }
    let numbers: Vec<f64> = rows.iter().filter_map(|member| member.number("value")).collect();
    if numbers.len() < rows.len() && !numbers.is_empty() {
        let how = "some results are not numbers, so their sum is not a number";
        row.compute_text("with_all", "NaN", how);
        let skipping = numbers.iter().sum::<f64>() / numbers.len() as f64;
        row.compute_number("with_numbers", skipping, "the mean over the numeric results");
    }
    row.add("member", rows);
    Some(row)
}

/// The averages over tasks with the same stem and number of shots.
fn averages(root: Node<'_>, digits: Digits) -> Vec<StatedRow> {
    let all = scores::members(root.get("results"), "/results");
    let mut rows = Vec::new();
    for (name, node, pointer) in all {
        let Some((stem, shots)) = name.split_once(":_average") else { continue };
        let is_member = |task: &str| {
            task.strip_prefix(stem).is_some_and(|rest| rest.starts_with(':'))
                && task.ends_with(shots)
        };
        let members: Vec<_> = tasks(root).filter(|(task, ..)| is_member(task)).collect();
        for (metric, value, below) in scores::members(Some(node), &pointer) {
            let members: Vec<_> = members
                .iter()
                .map(|(task, node, at)| {
                    (*task, scores::member(*node, metric), format!("{at}/{}", escape(metric)))
                })
                .collect();
            let label = format!("{name}, {metric}");
            if members.len() > 1 {
                rows.extend(mean_of(label, (value, below), members, digits));
            }
        }
    }
    rows
}

/// The average over all tasks that have a metric.
fn over_all(root: Node<'_>, digits: Digits) -> Vec<StatedRow> {
    let Some(all) = root.get("results").and_then(|results| results.get("all")) else {
        return Vec::new();
    };
    let names: BTreeSet<&str> = tasks(root)
        .flat_map(|(_, node, _)| scores::members(Some(node), "").map(|(metric, ..)| metric))
        .collect();
    let row = |metric: &&str| {
        let having = tasks(root).filter_map(|(task, node, pointer)| {
            // A missing member makes the mean impossible to recompute.
            let value = scores::member(node, metric)?;
            Some((task, Some(value), format!("{pointer}/{}", escape(metric))))
        });
        let members: Vec<_> = having.collect();
        let label = format!("all, {metric}");
        match all.get(metric) {
            Some(value) => {
                mean_of(label, (value, format!("/results/all/{}", escape(metric))), members, digits)
            }
            None => {
                let (_, value, pointer) = members.into_iter().next()?;
                let mut row = StatedRow::new(label);
                row.measure("of_task", value?, pointer, digits);
                row.cell("of_task")?;
                row.compute("lacking", Term::Truth(true), "`all` lacks this metric");
                Some(row)
            }
        }
    };
    names.iter().filter_map(row).collect()
}

/// Sums and hashes over all tasks.
fn totals(row: &mut StatedRow, root: Node<'_>) {
    let Some(general) = root.get("summary_general") else { return };
    let tasks: Vec<_> = scores::members(root.get("summary_tasks"), "/summary_tasks").collect();
    if tasks.is_empty() {
        return;
    }
    for key in COUNTED {
        let counts: Option<Vec<f64>> =
            tasks.iter().map(|(_, task, _)| scores::number(*task, key)).collect();
        let Some((counts, total)) = counts.zip(general.get(key)) else { continue };
        let mut total_row = StatedRow::new(*key);
        total_row.state("total", total, format!("/summary_general/{key}"), Digits::Full);
        total_row.compute_number("sum", counts.iter().sum(), "the sum over the tasks");
        row.add("total", [total_row]);
    }
    let mut tasks = tasks;
    tasks.sort_by_key(|(name, ..)| *name);
    for (key, total, pointer) in scores::members(general.get("hashes"), "/summary_general/hashes") {
        let of = |(_, task, _): &(&str, Node<'_>, String)| {
            Some(scores::text(task.get("hashes")?, key)?.to_owned())
        };
        let Some(joined) = tasks.iter().map(of).collect::<Option<String>>() else { continue };
        let mut hash = StatedRow::new(key);
        hash.state("hash", total, pointer, Digits::Full);
        let joined = format!("{:016x}", XxHash64::oneshot(0, joined.as_bytes()));
        hash.compute_text("joined", &joined, "xxh64 of the task hashes, sorted by task name");
        row.add("hash", [hash]);
    }
}

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("lighteval.toml", include_str!("lighteval.toml"));

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::Source;

    #[test]
    fn averages_hold_all_tasks_of_their_stem_and_shots() {
        let text = r#"{"config_general": {}, "summary_tasks": {}, "results": {
            "s:a|5": {"acc": 0.5}, "s:b|5": {"acc": NaN}, "s:c|0": {"acc": 1.0}, "sx:d|5": {"acc": 1.0},
            "s:_average|5": {"acc": 0.5}, "all": {}}}"#;
        let source = Source::new("t.json", text.as_bytes().to_vec()).unwrap();
        let document = Document::parse_loose_json(source).unwrap();
        assert!(is(document.root()));
        let row = read(&document);
        let [average, missing] = row.rows("average") else { panic!("two rows") };
        let members: Vec<_> = average.rows("member").iter().map(|row| &*row.label).collect();
        assert_eq!(members, ["s:a|5", "s:b|5"]);
        assert_eq!(average.number("with_numbers"), Some(0.5));
        assert_eq!((&*missing.label, missing.truth("lacking")), ("all, acc", Some(true)));
    }
}
