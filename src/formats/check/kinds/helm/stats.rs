//! Statistics of a run and of its instances.

use std::collections::{BTreeMap, BTreeSet};

use repro_core::source::{Document, Node, escape};

use super::RunFiles;
use crate::check::kinds::{python, scores};
use crate::check::stated::{Digits, StatedRow};

/// The fields of a statistic.
const FIELDS: &[&str] =
    &["count", "sum", "sum_squared", "min", "max", "mean", "variance", "stddev"];
/// The statistics that are checked for each part of the data.
const OF_PART: &[&str] = &[
    "logprob",
    "num_perplexity_tokens",
    "num_bytes",
    "perplexity",
    "bits_per_byte",
    "logprob_per_byte",
    "num_instances",
];

/// Sums and counts of one statistic by trial.
type Trials = BTreeMap<u64, [f64; 2]>;

/// The key that links instance statistics to run statistics.
fn key(stat: Node<'_>) -> Option<String> {
    stat.get("name").map(|name| python::dumps(name))
}

/// The name of a statistic: its metric, its part of the data and its perturbation.
fn label(stat: Node<'_>) -> String {
    let Some(name) = stat.get("name") else { return String::new() };
    let of = |key: &str| scores::text(name, key);
    let perturbation = name.get("perturbation");
    let perturbed = perturbation.and_then(|perturbation| scores::text(perturbation, "name"));
    let parts = [of("name"), of("split"), of("sub_split"), perturbed];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn stat(node: Node<'_>, pointer: &str) -> StatedRow {
    let mut row = StatedRow::new(label(node));
    for field in FIELDS {
        if let Some(value) = node.get(field) {
            row.measure(*field, value, format!("{pointer}/{field}"), Digits::Full);
        }
    }
    row
}

/// Adds the statistics of the run, of the instances, and of each part of the data.
pub fn read(row: &mut StatedRow, files: &RunFiles) {
    let instances = files.instances.as_ref().map(Document::root);
    let mut sums: BTreeMap<String, Trials> = BTreeMap::new();
    let mut rows = Vec::new();
    for (entry, pointer) in scores::elements(instances, "") {
        let trial = scores::number(entry, "train_trial_index").unwrap_or(0.0).to_bits();
        let name = entry.get("instance_id").and_then(|id| id.printed().ok()).unwrap_or_default();
        let mut instance = StatedRow::new(name);
        for (node, pointer) in scores::elements(entry.get("stats"), &format!("{pointer}/stats")) {
            let stat = stat(node, &pointer);
            if let (Some(key), Some(sum), Some(count)) =
                (key(node), stat.number("sum"), stat.number("count"))
            {
                let total = sums.entry(key).or_default().entry(trial).or_default();
                *total = [total[0] + sum, total[1] + count];
            }
            instance.add("stat", [stat]);
        }
        rows.push(instance);
    }
    row.add("instance", rows);
    let stats = files.stats.as_ref().map(Document::root);
    let mut parts: BTreeMap<String, StatedRow> = BTreeMap::new();
    for (node, pointer) in scores::elements(stats, "") {
        let mut stat = stat(node, &pointer);
        if let Some(trials) = key(node).and_then(|key| sums.get(&key)) {
            over_instances(&mut stat, node, &pointer, trials);
        }
        part(&mut parts, node, &pointer);
        row.add("stat", [stat]);
    }
    row.add("part", parts.into_values());
    counted(row, files);
}

/// The mean over trials of the means over instances.
fn over_instances(stat: &mut StatedRow, node: Node<'_>, pointer: &str, trials: &Trials) {
    if let Some(mean) = node.get("mean") {
        stat.measure("reported", mean, format!("{pointer}/mean"), Digits::Summed);
    }
    let means: Vec<f64> =
        trials.values().filter(|[_, count]| *count > 0.0).map(|[sum, count]| sum / count).collect();
    if !means.is_empty() {
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        stat.compute_number("of_instances", mean, "the mean over trials of the instance means");
    }
}

/// Adds a statistic to its part of the data; perturbed data is left out.
fn part(parts: &mut BTreeMap<String, StatedRow>, node: Node<'_>, pointer: &str) {
    let Some(name) = node.get("name") else { return };
    let metric = scores::text(name, "name").unwrap_or_default();
    if name.get("perturbation").is_some() || name.get("sub_split").is_some() {
        return;
    }
    let (Some(metric), Some(mean)) =
        (OF_PART.iter().find(|known| **known == metric), node.get("mean"))
    else {
        return;
    };
    let split = scores::text(name, "split").unwrap_or_default();
    let part = parts.entry(split.to_owned()).or_insert_with(|| StatedRow::new(split));
    part.measure(*metric, mean, format!("{pointer}/mean"), Digits::Summed);
    // Over several trials, the mean of ratios is not a ratio of means.
    if let Some(count) = node.get("count").filter(|_| *metric == "logprob") {
        part.state("trials", count, format!("{pointer}/count"), Digits::Full);
    }
}

/// Adds the number of instances with requests to each part and to the run.
fn counted(row: &mut StatedRow, files: &RunFiles) {
    let state = files.state.as_ref().map(Document::root);
    let requests = state.and_then(|state| state.get("request_states"));
    let mut instances: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (request, _) in scores::elements(requests, "") {
        let Some(instance) = request.get("instance") else { continue };
        let id = instance.get("id").and_then(|id| id.printed().ok());
        if let Some(id) = id.filter(|_| instance.get("perturbation").is_none()) {
            let split = scores::text(instance, "split").unwrap_or_default();
            instances.entry(split).or_default().insert(id);
        }
    }
    let parts: Vec<StatedRow> = row.rows("part").to_vec();
    let with_count = parts.into_iter().map(|mut part| {
        if let Some(ids) = instances.get(&*part.label) {
            part.compute_number(
                "requested",
                ids.len() as f64,
                "the number of instances in all requests",
            );
        }
        part
    });
    row.set("part", with_count.collect());
    if !instances.is_empty() {
        let all: usize = instances.values().map(BTreeSet::len).sum();
        row.compute_number("instances", all as f64, "the number of instances in all requests");
    }
}

/// The means of an instance's statistics by metric; perturbed data is left out.
pub fn of_instance(row: &mut StatedRow, entry: Node<'_>, pointer: &str) {
    for (stat, pointer) in scores::elements(entry.get("stats"), &format!("{pointer}/stats")) {
        let Some(name) = stat.get("name") else { continue };
        let metric = scores::text(name, "name").unwrap_or_default();
        if let (Some(mean), None) = (stat.get("mean"), name.get("perturbation")) {
            let name = format!("stat.{}", escape(metric));
            row.measure(name, mean, format!("{pointer}/mean"), Digits::Summed);
        }
    }
}
