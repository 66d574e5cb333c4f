//! The tasks of results and their metrics.

use repro_core::source::{Node, escape};

use super::samples::SampleFiles;
use super::tables::ResultTables;
use crate::check::kinds::{scores, sizes};
use crate::check::stated::{Digits, StatedRow};

/// Metrics that are 0 or 1 for each item if lm-evaluation-harness computes them.
const ZERO_ONE: &[&str] =
    &["acc", "acc_norm", "exact_match", "em", "mc1", "pct_stereotype", "acc_mutual_info"];
/// The subset that the harness computes for tasks without their own scoring, and the output types for which it does.
const ITS_OWN: &[&str] = &["acc", "acc_norm", "exact_match", "acc_mutual_info"];
const OUTPUTS: &[&str] = &["multiple_choice", "loglikelihood", "generate_until"];
/// Metrics that are means of fractions, and tasks whose `f1` is such a mean.
const FRACTIONS: &[&str] = &["mc2"];
const F1_MEANS: &[&str] = &["drop", "record", "coqa"];
/// Tasks, beside those of known size, that use the harness's own scoring. For other tasks the scoring is unknown,
/// because a task class may score items without a trace in its configuration.
const STANDARD: &[&str] = &[
    "commonsense_qa",
    "copa",
    "gsm8k",
    "mathqa",
    "nq_open",
    "race",
    "rte",
    "social_iqa",
    "swag",
    "triviaqa",
    "wsc273",
];
/// Members of results that are not scores.
const NO_SCORES: &[&str] = &["alias", "name", " ", "samples", "sample_len", "sample_count"];
/// Task names whose scores have these metric names but are not binary.
const OTHERWISE: &[&str] = &["mc2", "multirc", "winogender", "longbench", "ethics"];
const CROWS_PAIRS: &str = "crows_pairs_";
const PERPLEXITIES: &[&str] = &["ppl", "perplexity", "word_perplexity", "byte_perplexity"];

/// All tasks; groups of new versions are not tasks.
pub fn read(tables: &ResultTables<'_>, file: &str, samples: &mut SampleFiles) -> Vec<StatedRow> {
    let results = tables.root.get("results");
    let digits = results.map_or(Digits::Rounded, scores::digits);
    let all = scores::members(results, "/results");
    let tasks = all.filter(|(name, ..)| !tables.is_group(name));
    let mut tasks: Vec<_> = tasks
        .map(|(name, node, pointer)| {
            let mut row = StatedRow::new(name);
            told_again(&mut row, tables, name);
            counts(&mut row, tables, name);
            let mut metrics = metrics(tables, name, node, &pointer, digits);
            if is_counted_by_last(node) && !metrics.iter().all(is_over_all_items) {
                // A different metric may cover more or fewer items.
                row.rename("effective", "effective_of_last");
            }
            for key in ["bits_per_byte", "byte_perplexity", "word_perplexity"] {
                let with_filter = format!("{key},none");
                let found = [key, &with_filter].into_iter().find_map(|k| Some((k, node.get(k)?)));
                if let Some((known, value)) = found {
                    row.measure(key, value, format!("{pointer}/{known}"), digits);
                }
            }
            items(&mut row, &mut metrics, known_items(tables.root, name), digits);
            if let Some(mut file) = samples.of(name, file) {
                file.score(&mut row, &mut metrics);
                row.add("samples", [file.into_row()]);
            }
            row.add("metric", metrics);
            row
        })
        .collect();
    carry_limit(tables.root, &mut tasks);
    tasks
}

/// Marks tasks if a fractional limit, once applied to one task, was reused as the limit of all later tasks, as in 0.4.3
/// and 0.4.4. These versions do not always record their number.
fn carry_limit(root: Node<'_>, tasks: &mut [StatedRow]) {
    let share = root.get("config").and_then(|config| scores::number(config, "limit"));
    let version = scores::text(root, "lm_eval_version");
    let is_of_them = |version: &str| version.starts_with("0.4.3") || version.starts_with("0.4.4");
    let Some(share) = share.filter(|_| version.is_none_or(is_of_them)) else { return };
    let original = |task: &StatedRow| task.number("original");
    let is_left = |limit: f64| {
        let of_task = |task: &StatedRow| {
            original(task)
                .zip(task.number("effective"))
                .is_none_or(|(all, left)| left == all.min(limit))
        };
        tasks.iter().all(of_task)
    };
    let limits = tasks.iter().filter_map(original).map(|all| libm::ceil(all * share));
    let Some(limit) = limits.into_iter().find(|limit| is_left(*limit)) else { return };
    for task in tasks {
        task.compute_number(
            "carried",
            limit,
            "the number of items that the limit leaves in one task",
        );
    }
}

/// The version, shots and metric directions of a task, each recorded twice.
fn told_again(row: &mut StatedRow, tables: &ResultTables<'_>, task: &str) {
    let escaped = escape(task);
    let of = |key: &str| tables.get(key, task);
    let mut state = |name: &str, node: Option<Node<'_>>, pointer: String| {
        if let Some(node) = node {
            row.state(name, node, pointer, Digits::Full);
        }
    };
    state("version", of("versions"), format!("/versions/{escaped}"));
    state("shots", of("n-shot"), format!("/n-shot/{escaped}"));
    let config = of("configs");
    let metadata = config.and_then(|config| config.get("metadata"));
    let below = format!("/configs/{escaped}");
    let version = metadata.and_then(|metadata| metadata.get("version"));
    state("config.version", version, format!("{below}/metadata/version"));
    let shots = config.and_then(|config| config.get("num_fewshot"));
    let is_zero = shots.is_some_and(|shots| shots.float() == Ok(0.0));
    let is_told_zero = of("n-shot").is_some_and(|shots| shots.float() == Ok(0.0));
    let in_prompt = metadata.and_then(|metadata| metadata.get("num_fewshot"));
    match in_prompt.filter(|_| is_zero && !is_told_zero) {
        // Shots that are part of the prompt, which versions from 0.4.12 on do not count.
        Some(shots) => {
            state("config.shots", Some(shots), format!("{below}/metadata/num_fewshot"));
        }
        None => state("config.shots", shots, format!("{below}/num_fewshot")),
    }
}

/// The number of items, and the number of scored items.
fn counts(row: &mut StatedRow, tables: &ResultTables<'_>, task: &str) {
    if let Some(counts) = tables.get("n-samples", task) {
        let pointer = format!("/n-samples/{}", escape(task));
        scores::state_some(row, counts, &pointer, &["original", "effective"]);
        // The original number is the size of the set, regardless of the limit.
        if let Some(known) = sizes::of_task(task) {
            row.compute_number(
                "published.items",
                known,
                "the published size of the evaluation set",
            );
        }
    }
    let chosen =
        tables.root.get("config").and_then(|config| config.get("samples")?.get(task)?.items().ok());
    if let Some(chosen) = chosen {
        let how = "the length of the task's list in `/config/samples`";
        row.compute_number("chosen", chosen.len() as f64, how);
    }
    let hash = tables.get("task_hashes", task);
    if let Some(hash) = hash.filter(|hash| hash.text().is_ok_and(|hash| !hash.is_empty())) {
        let pointer = format!("/task_hashes/{}", escape(task));
        row.state("task_hash", hash, pointer, Digits::Full);
    }
}

/// A results key without its filter, and the filter.
fn parts(key: &str) -> (&str, Option<&str>) {
    match key.split_once(',') {
        Some((metric, filter)) => (metric, Some(filter)),
        None => (key, None),
    }
}

/// The key of a metric's standard error.
pub fn stderr_key(key: &str) -> String {
    match parts(key) {
        (metric, Some(filter)) => format!("{metric}_stderr,{filter}"),
        (metric, None) => format!("{metric}_stderr"),
    }
}

/// Whether the number of scored items belongs to the last computed metric, as in versions from 0.4.12 on, which are the
/// only ones that write this member.
pub fn is_counted_by_last(node: Node<'_>) -> bool {
    node.get("sample_len").is_some()
}

/// Whether the harness itself computes a metric for each item.
fn is_over_all_items(metric: &StatedRow) -> bool {
    metric.text("metric").is_some_and(|name| ITS_OWN.contains(&name))
}

fn metrics(
    tables: &ResultTables<'_>,
    task: &str,
    node: Node<'_>,
    pointer: &str,
    digits: Digits,
) -> Vec<StatedRow> {
    let all = scores::members(Some(node), pointer);
    let metrics = all.filter(|(key, ..)| is_score(node, key));
    metrics
        .filter_map(|(key, value, _)| {
            let mut row = StatedRow::new(key);
            scored(&mut row, node, (key, value), pointer, digits);
            row.cell("value").or(row.cell("unread"))?;
            let (metric, filter) = parts(key);
            row.compute_text("metric", metric, "");
            row.compute_text("filter", filter.unwrap_or_default(), "");
            declared(&mut row, tables, task, metric);
            Some(row)
        })
        .collect()
}

/// Whether a member of results is a score rather than a standard error. If one name includes its filter, all scores do.
pub fn is_score(node: Node<'_>, key: &str) -> bool {
    let has_filter = |key: &str| parts(key).1.is_some();
    let is_named = |key: &str| !NO_SCORES.contains(&key) && !parts(key).0.ends_with("_stderr");
    let has_filters = || scores::members(Some(node), "").any(|(key, ..)| has_filter(key));
    is_named(key) && (has_filter(key) || !has_filters())
}

/// Records a score with its standard error; values that are not numbers are recorded as such.
pub fn scored(
    row: &mut StatedRow,
    node: Node<'_>,
    (key, value): (&str, Node<'_>),
    pointer: &str,
    digits: Digits,
) {
    row.measure_or_tell("value", value, format!("{pointer}/{}", escape(key)), digits);
    let stderr = stderr_key(key);
    if let Some(value) = scores::member(node, &stderr) {
        row.measure_or_tell("stderr", value, format!("{pointer}/{}", escape(&stderr)), digits);
    }
}

/// The configuration of a metric, and the resulting kind of number.
fn declared(row: &mut StatedRow, tables: &ResultTables<'_>, task: &str, metric: &str) {
    let config = tables.get("configs", task);
    let pointer = format!("/configs/{}/metric_list", escape(task));
    let list = config.and_then(|config| config.get("metric_list"));
    let of_metric = scores::elements(list, &pointer)
        .find(|(entry, _)| scores::text(*entry, "metric") == Some(metric));
    let aggregation = of_metric.as_ref().and_then(|(entry, _)| scores::text(*entry, "aggregation"));
    if let Some(aggregation) = aggregation {
        row.compute_text("aggregation", aggregation, "from the configuration");
    }
    if let Some((entry, below)) = &of_metric {
        if let Some(direction) = entry.get("higher_is_better") {
            let pointer = format!("{below}/higher_is_better");
            row.state("config.higher_is_better", direction, pointer, Digits::Full);
        }
        let direction = tables.get("higher_is_better", task).and_then(|all| all.get(metric));
        if let Some(direction) = direction {
            let pointer = format!("/higher_is_better/{}/{}", escape(task), escape(metric));
            row.state("higher_is_better", direction, pointer, Digits::Full);
        }
    }
    let listed = of_metric.is_some() && aggregation.is_none_or(|aggregation| aggregation == "mean");
    let is_once = |config| listed && is_scored_once(config, task, metric);
    if config.is_some_and(is_once) {
        row.compute_text(
            "scoring",
            "plain",
            "scored once by the harness, according to the configuration",
        );
    }
    let is_as_known = config.is_none_or(is_once);
    let (sort, how) = sort(task, metric, is_as_known);
    row.compute_text("sort", sort, how);
}

/// Whether a configuration lets the harness score each item, and only once; some tasks of the harness do not.
fn is_scored_once(config: Node<'_>, task: &str, metric: &str) -> bool {
    let repeats = config.get("repeats").and_then(|repeats| repeats.integer().ok());
    let output = scores::text(config, "output_type").unwrap_or_default();
    let is_plain = config.get("process_results").is_none() && ITS_OWN.contains(&metric);
    let is_own = is_plain || task.starts_with(CROWS_PAIRS) && metric == "pct_stereotype";
    repeats.unwrap_or(1) == 1 && OUTPUTS.contains(&output) && is_own
}

fn sort(task: &str, metric: &str, is_as_known: bool) -> (&'static str, &'static str) {
    let is_otherwise = OTHERWISE.iter().any(|part| task.contains(part));
    let is_known =
        sizes::of_task(task).is_some() || STANDARD.contains(&task) || task.starts_with(CROWS_PAIRS);
    // CoQA leaves out one reference at a time and takes the mean.
    let is_fraction = FRACTIONS.contains(&metric)
        || metric == "f1" && F1_MEANS.contains(&task)
        || metric == "em" && task == "coqa";
    match metric {
        _ if PERPLEXITIES.contains(&metric) => ("perplexity", "from its name"),
        _ if is_fraction => ("fraction", "from its name"),
        _ if !ZERO_ONE.contains(&metric) => ("other", "from its name"),
        _ if task.contains("mc2") => ("fraction", "from the task name"),
        _ if is_otherwise => ("other", "from the task name"),
        _ if is_known && is_as_known => ("proportion", "binary items"),
        _ => ("likely", "binary items, from its name"),
    }
}

/// Whether a metric is a proportion of binary items.
fn is_share(metric: &StatedRow) -> bool {
    matches!(metric.text("sort"), Some("proportion" | "likely"))
}

/// The published number of items of a task without a limit or selected items.
fn known_items(root: Node<'_>, task: &str) -> Option<f64> {
    let config = root.get("config");
    let limit = config.and_then(|config| config.get("limit"));
    let chosen = config.and_then(|config| config.get("samples")?.get(task));
    sizes::of_task(task).filter(|_| limit.is_none() && chosen.is_none())
}

/// The number of items of a task: as stated, or as implied by the first metric that gives a whole number.
fn items(row: &mut StatedRow, metrics: &mut [StatedRow], known: Option<f64>, digits: Digits) {
    if row.cell("effective").is_some() {
        row.alias("items", &["effective"]);
        return;
    }
    let of = |metric: &StatedRow| {
        let items = scores::items(metric.number("value")?, metric.number("stderr")?)?;
        Some((items, metric.label.clone()))
    };
    let shares = metrics.iter().filter(|metric| is_share(metric));
    let found = shares.filter(|_| digits == Digits::Summed).find_map(of);
    if let Some((items, metric)) = &found {
        row.compute_number(
            "items",
            *items,
            format!("implied by `{metric}` and its standard error"),
        );
    }
    if let Some(known) = known {
        let how = "the published size of the evaluation set";
        match found {
            Some(_) => row.compute_number("known.items", known, how),
            None => row.compute_number("items", known, how),
        }
    }
    for metric in metrics.iter_mut().filter(|metric| is_share(metric)) {
        let (value, stderr) = (metric.number("value"), metric.number("stderr"));
        if let Some((value, stderr)) = value.zip(stderr).filter(|(_, stderr)| *stderr > 0.0) {
            let nearest = (value * (1.0 - value) / (stderr * stderr) + 1.0).round().max(2.0);
            metric.compute_number("nearest.items", nearest, "the closest whole number of items");
        }
    }
}
