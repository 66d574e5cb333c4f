//! Which metric decides, and whether less of it is better.

use std::collections::BTreeSet;

use repro_import::{LoggedRun, Metric, heading};
use repro_receipt::source::{Error, Location};

use crate::course::{MetricCourse, is_time, words};
use crate::rule::GateRule;
use crate::runs::GateRun;
use crate::{NO_METRIC, OTHER_METRIC, WHICH_DIRECTION, WHICH_METRIC};

/// The metric that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateMetric {
    /// Its name.
    pub name: String,
    /// The names that logs have for it.
    pub names: Vec<String>,
    /// Whether less of it is better.
    pub lower_is_better: bool,
    /// Who named it.
    pub named_by: &'static str,
}

/// Words of names of metrics of which less is better,
const LOWER: [&str; 15] = [
    "loss",
    "bpb",
    "bpc",
    "nll",
    "nats",
    "ppl",
    "perplexity",
    "error",
    "wer",
    "cer",
    "mse",
    "rmse",
    "mae",
    "seconds",
    "ms",
];
/// and of those of which more is.
const HIGHER: [&str; 15] = [
    "acc",
    "accuracy",
    "core",
    "f1",
    "bleu",
    "rouge",
    "map",
    "map50",
    "map95",
    "auc",
    "auroc",
    "reward",
    "precision",
    "recall",
    "mfu",
];
/// Words that turn the meaning of another.
const TURNING: [&str; 12] = [
    "neg",
    "negative",
    "negated",
    "drop",
    "reduction",
    "free",
    "scale",
    "delta",
    "diff",
    "gain",
    "improvement",
    "minus",
];
/// So many names of metrics are listed in a message.
const LISTED: usize = 20;

/// The metric of a rule, or of the command, or the only one that stands to reason.
pub fn choose(
    rule: &GateRule,
    named: Option<&str>,
    runs: &[&GateRun],
) -> Result<GateMetric, Error> {
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
    Ok(GateMetric { name, names, lower_is_better, named_by })
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

/// What the words of a name tell: nothing where they contradict each other.
fn told_by(name: &str) -> Option<bool> {
    let has = |known: &[&str]| {
        let is_known = |word: &str| known.iter().any(|known| known.eq_ignore_ascii_case(word));
        words(name).any(|word| is_known(word) || is_known(last_piece(word)))
    };
    // `1-accuracy` is an error, and `top-1-accuracy` is none.
    let is_complement = name.contains("1-") && !name.to_ascii_lowercase().contains("top-1");
    if has(&TURNING) || is_complement {
        return None;
    }
    match (has(&LOWER), has(&HIGHER)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// `Loss` of `CrossEntropyLoss`.
fn last_piece(word: &str) -> &str {
    let pairs = word.char_indices().zip(word.chars().skip(1));
    let starts =
        pairs.filter(|((_, one), next)| one.is_ascii_lowercase() && next.is_ascii_uppercase());
    let start = starts.last().map_or(0, |((at, _), _)| at + 1);
    word.get(start..).unwrap_or(word)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_better() {
        for (name, wanted) in [
            ("val_loss", Some(true)),
            ("validation/loss", Some(true)),
            ("eval/bpb", Some(true)),
            ("core_metric", Some(false)),
            ("CORE metric", Some(false)),
            ("metrics/mAP50(B)", Some(false)),
            ("eval.accuracy", Some(false)),
            ("loss_accuracy", None),
            ("eval/c4/CrossEntropyLoss", Some(true)),
            ("closs", None),
            ("neg_mean_squared_error", None),
            ("loss_scale", None),
            ("val/1-accuracy", None),
            ("val/top-1-accuracy", Some(false)),
            ("score", None),
        ] {
            assert_eq!(told_by(name), wanted, "{name}");
        }
    }
}
