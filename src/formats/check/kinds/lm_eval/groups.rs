//! Groups of tasks: the groups of new versions, and tasks of old versions that combine others.

use std::collections::BTreeSet;

use repro_claim::relation::Term;
use repro_core::source::escape;

use super::tables::ResultTables;
use super::tasks::{is_counted_by_last, is_score, scored, stderr_key};
use crate::check::kinds::scores;
use crate::check::stated::{Digits, StatedRow};

/// The maximum nesting depth of groups.
const DEPTH: usize = 8;
/// The maximum number of names resolved for all groups of a file together, because each group may list all tasks and
/// groups.
const NAMES: usize = 200_000;
/// Groups of the harness that take means. Up to 0.4.11 a group may set its own function, which its results do not
/// record; later versions ignore it.
const MEANS: &[&str] = &[
    "agieval",
    "bbh",
    "blimp",
    "ceval-valid",
    "cmmlu",
    "hendrycks_math",
    "kmmlu",
    "leaderboard_bbh",
    "leaderboard_gpqa",
    "leaderboard_math_hard",
    "leaderboard_musr",
    "minerva_math",
    "mmlu",
    "mmlu_humanities",
    "mmlu_other",
    "mmlu_pro",
    "mmlu_social_sciences",
    "mmlu_stem",
    "xnli",
    "xstorycloze",
    "xwinograd",
];
/// The parts of CrowS-Pairs, which are disjoint.
const CROWS_PAIRS: &[&str] = &[
    "age",
    "autre",
    "disability",
    "gender",
    "nationality",
    "physical_appearance",
    "race_color",
    "religion",
    "sexual_orientation",
    "socioeconomic",
];

/// The tasks of a group and of all its subgroups; none if that exceeds the remaining number of names.
fn leaves<'n>(tables: &ResultTables<'n>, group: &'n str, left: &mut usize) -> BTreeSet<&'n str> {
    let (mut tasks, mut seen) = (BTreeSet::new(), BTreeSet::from([group]));
    let mut level = vec![group];
    for _ in 0..DEPTH {
        let inner = level.drain(..).flat_map(|name| tables.subtasks(name));
        let inner: Vec<_> = inner.take(*left).collect();
        *left -= inner.len();
        if *left == 0 {
            return BTreeSet::new();
        }
        let (groups, own): (Vec<_>, Vec<_>) =
            inner.into_iter().partition(|name| tables.names_tasks(name));
        tasks.extend(own);
        level.extend(groups.into_iter().filter(|name| seen.insert(name)));
    }
    tasks
}

/// The metrics of all groups, each with the metrics of its tasks.
pub fn read(tables: &ResultTables<'_>) -> Vec<StatedRow> {
    let results = tables.root.get("results");
    let digits = results.map_or(Digits::Rounded, scores::digits);
    let groups = scores::members(results, "/results").filter(|(name, ..)| tables.is_group(name));
    let (mut rows, mut left) = (Vec::new(), NAMES);
    for (name, node, pointer) in groups {
        let tasks = leaves(tables, name, &mut left);
        for (key, value, _) in scores::members(Some(node), &pointer) {
            let mut row = StatedRow::new(format!("{name}, {key}"));
            scored(&mut row, node, (key, value), &pointer, digits);
            let is_told = row.number("value").is_some() || row.cell("unread").is_some();
            if !is_score(node, key) || !is_told {
                continue;
            }
            let members = tasks.iter().filter_map(|task| member(tables, task, key, digits));
            let members: Vec<_> = members.take(left).collect();
            left -= members.len();
            // A task without a size leaves the group undecided.
            if left > 0
                && !members.is_empty()
                && members.iter().all(|member| member.cell("size").is_some())
            {
                row.add("member", members);
            }
            of_parts(&mut row, tables, name, key);
            of_inner_groups(&mut row, tables, (name, key), &mut left);
            let is_mean = MEANS.contains(&name) || is_counted_by_last(node);
            row.compute_text("aggregation", if is_mean { "mean" } else { "any" }, "");
            rows.push(row);
        }
    }
    rows
}

/// Groups that appear a second time, in their own table, beside the values in the results.
pub fn again(tables: &ResultTables<'_>) -> Vec<StatedRow> {
    let digits = tables.root.get("results").map_or(Digits::Rounded, scores::digits);
    let mut rows = Vec::new();
    for (name, node, pointer) in scores::members(tables.root.get("groups"), "/groups") {
        let in_results = tables.get("results", name);
        for (key, value, below) in scores::members(Some(node), &pointer) {
            let mut row = StatedRow::new(format!("{name}, {key}"));
            row.measure("value", value, below, digits);
            if let Some(value) = in_results.and_then(|results| results.get(key)) {
                let pointer = format!("/results/{}/{}", escape(name), escape(key));
                row.measure("in_results", value, pointer, digits);
            }
            rows.push(row);
        }
    }
    rows
}

/// The plain mean of the group's direct members, which are groups themselves.
fn of_parts(row: &mut StatedRow, tables: &ResultTables<'_>, group: &str, key: &str) {
    let of = |name: &str| scores::number(tables.get("results", name)?, key);
    let values: Option<Vec<f64>> = tables.subtasks(group).map(of).collect();
    if let Some(values) = values.filter(|values| !values.is_empty()) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        row.compute_number("mean_of_parts", mean, "the mean of the group's direct members");
    }
}

/// The method that pooled a group's standard errors, whichever gives the closer value: over all tasks below the group,
/// or over its direct members. The harness did the latter in mid-2024, when groups got their own configurations, and
/// already wrote `n-samples`.
fn of_inner_groups(
    row: &mut StatedRow,
    tables: &ResultTables<'_>,
    (group, key): (&str, &str),
    left: &mut usize,
) {
    let mut by = "tasks";
    if tables.subtasks(group).take(*left).any(|name| tables.names_tasks(name)) {
        let parts = tables.subtasks(group).map(|name| inner(tables, name, key, left));
        if let Some(parts) = parts.collect::<Option<Vec<_>>>() {
            let of_tasks = pooled(row.rows("member"));
            let of_groups = pooled(&parts);
            let is_nearer = |stated: f64| (stated - of_groups).abs() < (stated - of_tasks).abs();
            if row.number("stderr").is_some_and(is_nearer) {
                by = "groups";
                row.add("inner", parts);
            }
        }
    }
    row.compute_text("pooling", by, "");
}

/// A direct member of a group, with its standard error and its number of items.
fn inner<'n>(
    tables: &ResultTables<'n>,
    name: &'n str,
    key: &str,
    left: &mut usize,
) -> Option<StatedRow> {
    *left = left.checked_sub(1)?;
    let node = tables.get("results", name)?;
    let mut row = StatedRow::new(name);
    let stderr = stderr_key(key);
    let pointer = format!("/results/{}/{}", escape(name), escape(&stderr));
    row.measure("stderr", node.get(&stderr)?, pointer, Digits::Full);
    let items = |task: &str| scores::number(tables.get("n-samples", task)?, "effective");
    let size = if tables.names_tasks(name) {
        leaves(tables, name, left).into_iter().map(items).sum::<Option<f64>>()
    } else {
        items(name)
    };
    row.compute_number("size", size.filter(|size| *size > 1.0)?, "the items in all its tasks");
    Some(row)
}

/// The pooled standard error of the members.
fn pooled(parts: &[StatedRow]) -> f64 {
    let of = |name: &'static str| parts.iter().filter_map(move |part| part.number(name));
    let all = of("size").sum::<f64>();
    let squares = std::iter::zip(of("size"), of("stderr")).map(|(n, e)| (n - 1.0) * n * e * e);
    (squares.sum::<f64>() / (all - parts.len() as f64) / all).sqrt()
}

fn member(tables: &ResultTables<'_>, task: &str, key: &str, digits: Digits) -> Option<StatedRow> {
    let node = tables.get("results", task)?;
    let pointer = format!("/results/{}", escape(task));
    let mut row = StatedRow::new(task);
    row.measure("value", node.get(key)?, format!("{pointer}/{}", escape(key)), digits);
    let stderr = stderr_key(key);
    if let Some(value) = node.get(&stderr) {
        row.measure("stderr", value, format!("{pointer}/{}", escape(&stderr)), digits);
    }
    let size = tables.get("n-samples", task).and_then(|counts| counts.get("effective"));
    if let Some(size) = size {
        let pointer = format!("/n-samples/{}/effective", escape(task));
        row.state("size", size, pointer, Digits::Full);
    }
    Some(row)
}

/// CrowS-Pairs as a whole, whose parts are separate tasks.
pub fn concatenated(tasks: &[StatedRow]) -> Vec<StatedRow> {
    let mut rows = Vec::new();
    let task = |name: &str| tasks.iter().find(|task| task.label == name);
    for whole in ["crows_pairs_english", "crows_pairs_french"].into_iter().filter_map(task) {
        let of = |part: &&str| task(&format!("{}_{part}", whole.label));
        let Some(parts) = CROWS_PAIRS.iter().map(of).collect::<Option<Vec<_>>>() else { continue };
        for metric in whole.rows("metric") {
            let members = parts.iter().map(|part| part_of(part, &metric.label));
            let Some(members) = members.collect::<Option<Vec<_>>>() else { continue };
            let mut row = StatedRow::new(format!("{}, {}", whole.label, metric.label));
            for (own, of) in [("whole.value", "value"), ("whole.stderr", "stderr")] {
                row.copy(own, metric, of);
            }
            row.add("part", members);
            rows.push(row);
        }
    }
    rows
}

fn part_of(task: &StatedRow, metric: &str) -> Option<StatedRow> {
    let metric = task.rows("metric").iter().find(|row| row.label == metric)?;
    let mut row = StatedRow::new(task.label.clone());
    row.copy("size", task, "items");
    row.copy("value", metric, "value");
    row.copy("stderr", metric, "stderr");
    let is_number =
        |name: &str| row.cell(name).is_some_and(|cell| matches!(cell.term, Term::Number(_)));
    ["size", "value", "stderr"].iter().all(|name| is_number(name)).then_some(row)
}
