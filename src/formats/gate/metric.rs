//! Which metric decides, and whether less of it is better.

use std::collections::BTreeSet;

use crate::import::{LoggedRun, Metric, heading};
use repro_core::source::{Error, Location};

use crate::gate::course::{MetricCourse, is_time};
use crate::gate::direction::{may_be_one, told_by};
use crate::gate::rule::GateRule;
use crate::gate::runs::GateRun;
use crate::gate::{BAD_RULE, NO_METRIC, OTHER_METRIC, WHICH_DIRECTION, WHICH_METRIC};

/// The metric that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateMetric {
    /// Its name.
    pub name: String,
    /// The names that logs have for it.
    pub names: Vec<String>,
    /// Whether less of it is better.
    pub lower_is_better: bool,
    /// Whether that is the opposite of what its name says.
    pub contradicts_name: bool,
    /// Who named it.
    pub named_by: &'static str,
}

/// So many names of metrics are listed in a message.
const LISTED: usize = 20;

/// The metric of a rule, or of the command, or the only one that stands to reason.
pub fn choose(
    rule: &GateRule,
    named: Option<&str>,
    runs: &[&GateRun],
) -> Result<GateMetric, Error> {
    one_quantity(rule)?;
    let (names, named_by) = match (rule.metric.as_slice(), named) {
        (of_rule @ [_, ..], Some(named)) if !of_rule.iter().any(|name| name == named) => {
            let expected = format!("`{}`, as {} says", of_rule.join("` or `"), rule.place().file);
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
            let expected = format!("whether less of `{name}` is better");
            return Err(WHICH_DIRECTION.at(rule.place(), expected, "nothing that says so"));
        }
    };
    let contradicts_name = told_by(&name).is_some_and(|told| told != lower_is_better);
    Ok(GateMetric { name, names, lower_is_better, contradicts_name, named_by })
}

/// The names of a rule are those that different logs have for one quantity: else the first that a log has decides what is
/// compared with what.
fn one_quantity(rule: &GateRule) -> Result<(), Error> {
    let Some((first, others)) = rule.metric.split_first() else { return Ok(()) };
    match others.iter().find(|other| !may_be_one(first, other)) {
        Some(other) => {
            let found = format!("`{first}` and `{other}`");
            let error = BAD_RULE.at(rule.place(), "names of one quantity in `metric`", found);
            Err(error.help("leave one of them out"))
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
    // The loss of training decides where no run was evaluated.
    let evaluates = runs.iter().any(|run| !run.logged.evaluations.is_empty());
    if !evaluates && has(&Metric::Loss) == runs.len() {
        return Ok(Metric::Loss.name().to_owned());
    }
    let names = in_all(runs);
    match names.first() {
        Some(only) if names.len() == 1 => Ok(only.clone()),
        _ => {
            let place = Location::file("--metric");
            Err(WHICH_METRIC.at(place, "the metric that decides", listed(runs)))
        }
    }
}

/// The metrics that all runs have.
fn in_all(runs: &[&GateRun]) -> Vec<String> {
    let mut all = runs.iter().map(|run| names(&run.logged));
    let first = all.next().unwrap_or_default();
    all.fold(first, |known, names| &known & &names).into_iter().collect()
}

/// The metrics by which a run can be judged, by their names.
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

/// The metrics of all runs in words; where they have none in common, those of the first.
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
