//! Chooses the deciding metric and its direction.

use std::collections::BTreeSet;

use crate::import::{LoggedRun, Metric, heading};
use repro_core::columns::column_of;
use repro_core::source::{Error, Location};

use crate::gate::course::{MetricCourse, is_time};
use crate::gate::direction::{may_be_one, told_by};
use crate::gate::rule::GateRule;
use crate::gate::runs::GateRun;
use crate::gate::{BAD_RULE, NO_METRIC, OTHER_METRIC, WHICH_DIRECTION, WHICH_METRIC};

/// The deciding metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateMetric {
    /// Its name.
    pub name: String,
    /// The names that logs use for it.
    pub names: Vec<String>,
    /// Whether lower is better.
    pub lower_is_better: bool,
    /// Whether that contradicts its name.
    pub contradicts_name: bool,
    /// Who chose it.
    pub named_by: &'static str,
}

/// The maximum number of metric names in a message.
const LISTED: usize = 20;

/// The metric from the rule or the command, or the only plausible one.
pub fn choose(
    rule: &GateRule,
    named: Option<&str>,
    runs: &[&GateRun],
) -> Result<GateMetric, Error> {
    one_quantity(rule)?;
    let (names, named_by) = match (rule.metric.as_slice(), named) {
        (of_rule @ [_, ..], Some(named)) if !of_rule.iter().any(|name| name == named) => {
            let expected = format!("`{}`, as in {}", of_rule.join("` or `"), rule.place().file);
            return Err(OTHER_METRIC.at(
                Location::file("--metric"),
                expected,
                format!("`{named}`"),
            ));
        }
        (_, Some(name)) => (vec![name.to_owned()], "--metric"),
        ([], None) => (vec![usual(runs)?], "default"),
        (names, None) => (names.to_vec(), "the rule"),
    };
    let has_it =
        |name: &&String| runs.iter().any(|run| MetricCourse::find(&run.logged, name).is_some());
    let Some(name) = names.iter().find(has_it).cloned() else {
        let place = runs.first().map_or("--candidate", |run| run.logged.file.as_str());
        let expected = format!("the metric `{}`", names.join("` or `"));
        return Err(NO_METRIC.at(Location::file(place), expected, listed(runs)));
    };
    let lower_is_better = match rule.lower_is_better.or_else(|| told_by(&name)) {
        Some(lower) => lower,
        None => {
            let expected = format!("the direction of `{name}`");
            return Err(WHICH_DIRECTION.at(rule.place(), expected, "no direction"));
        }
    };
    let contradicts_name = told_by(&name).is_some_and(|told| told != lower_is_better);
    Ok(GateMetric { name, names, lower_is_better, contradicts_name, named_by })
}

/// Checks that the names in a rule denote one quantity; otherwise each log's first matching name would decide what is
/// compared.
fn one_quantity(rule: &GateRule) -> Result<(), Error> {
    let Some((first, others)) = rule.metric.split_first() else { return Ok(()) };
    match others.iter().find(|other| !may_be_one(first, other)) {
        Some(other) => {
            let found = format!("`{first}` and `{other}`");
            let error = BAD_RULE.at(rule.place(), "names for one quantity in `metric`", found);
            Err(error.help("remove one of them"))
        }
        None => Ok(()),
    }
}

/// The validation loss, or the only metric of all runs.
fn usual(runs: &[&GateRun]) -> Result<String, Error> {
    let has = |metric: &Metric| {
        let with = |run: &&&GateRun| MetricCourse::of_metric(&run.logged, metric).is_some();
        runs.iter().filter(with).count()
    };
    if has(&Metric::ValidationLoss) == runs.len() {
        return Ok(Metric::ValidationLoss.name().to_owned());
    }
    // The training loss decides if no run was evaluated.
    let evaluates = runs.iter().any(|run| !run.logged.evaluations.is_empty());
    if !evaluates && has(&Metric::Loss) == runs.len() {
        return Ok(Metric::Loss.name().to_owned());
    }
    let names = in_all(runs);
    // Bundles of other trainers keep their own name for it, such as `val/loss`.
    let losses = names.iter().filter(|name| column_of(name) == Some(Metric::ValidationLoss.name()));
    let losses: Vec<&String> = losses.collect();
    match (names.as_slice(), losses.as_slice()) {
        ([only], _) | (_, &[only]) => Ok(only.clone()),
        _ => {
            let place = Location::file("--metric");
            Err(WHICH_METRIC.at(place, "the deciding metric", listed(runs)))
        }
    }
}

/// The metrics that all runs have.
fn in_all(runs: &[&GateRun]) -> Vec<String> {
    let mut all = runs.iter().map(|run| names(&run.logged));
    let first = all.next().unwrap_or_default();
    all.fold(first, |known, names| &known & &names).into_iter().collect()
}

/// The metrics that can judge a run, by name.
fn names(run: &LoggedRun) -> BTreeSet<String> {
    let rows = run.evaluations.iter().chain(&run.training);
    let judges = |metric: &&Metric| {
        let is_setting = matches!(metric, Metric::Tokens | Metric::LearningRate | Metric::GradNorm);
        !is_setting && !metric.is_time()
    };
    let metrics: BTreeSet<&Metric> =
        rows.flat_map(|row| row.cells.iter().map(|(metric, _)| metric)).filter(judges).collect();
    let of_rows = metrics.into_iter().map(|metric| heading(metric, run));
    let all = of_rows.chain(run.summary.iter().map(|(name, _)| name.to_string()));
    all.filter(|name| !is_time(name)).collect()
}

/// The metrics of all runs as text; if they share none, the metrics of the first run.
fn listed(runs: &[&GateRun]) -> String {
    let shared = in_all(runs);
    let first = || runs.first().map(|run| names(&run.logged)).unwrap_or_default();
    let names = if shared.is_empty() { first().into_iter().collect() } else { shared };
    let told: Vec<_> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = names.len() - told.len();
    match (told.is_empty(), more) {
        (true, _) => "no metrics".to_owned(),
        (false, 0) => told.join(", "),
        (false, more) => format!("{} and {more} more", told.join(", ")),
    }
}
