//! Metric names: the names that other loggers use for metrics with a known meaning.

use std::sync::Arc;

use repro_core::columns::{self, plain};

use super::run::Metric;

/// The name of the step column.
pub const STEP: &str = "step";

/// The receipt key for the log's name of the step column, if it differs.
pub const COUNTER: &str = "counter";

/// The metric with this repro name.
pub fn known(name: &str) -> Option<Metric> {
    Metric::KNOWN.into_iter().find(|metric| metric.name() == name)
}

/// Every repro name.
pub fn our_names() -> impl Iterator<Item = &'static str> {
    [
        STEP,
        "tokens",
        "loss",
        "grad_norm",
        "lr",
        "val_loss",
        "train_time_ms",
        "step_avg_ms",
        "seconds",
    ]
    .into_iter()
}

/// The name closest to `name`, if the difference is small.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = |other: &&str| distance(&plain(name), &plain(other));
    names.min_by_key(far).filter(|other| far(other) <= 1 + name.chars().count() / 4)
}

/// The edit distance between two texts, in characters.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, left) in one.chars().take(64).enumerate() {
        let mut before = at;
        let mut last = at + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(&other) {
            let change = before + usize::from(left != *right);
            before = *cell;
            last = change.min(last + 1).min(*cell + 1);
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The likely meaning of a column, from its name.
pub fn likely(theirs: &str) -> Option<&'static str> {
    let plain = plain(theirs);
    let own = our_names().find(|name| *name == plain);
    own.or_else(|| columns::column_of(theirs))
}

/// The metrics of a run with a known meaning: losses, the learning rate and the gradient norm, each under the first of
/// its usual names that exists.
pub fn known_as(names: &[Arc<str>]) -> Vec<(Metric, &Arc<str>)> {
    const MEANT: [Metric; 4] =
        [Metric::Loss, Metric::ValidationLoss, Metric::LearningRate, Metric::GradNorm];
    let first = |metric: Metric| {
        let name = columns::name_among(metric.name(), names.iter())?;
        Some((metric, name))
    };
    MEANT.into_iter().filter_map(first).collect()
}

/// The step column among the columns of a row: the repro name, or the first of the usual names.
pub fn step_among<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    columns::name_among(STEP, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_changes() {
        for (one, other, wanted) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("loss", "los", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(one, other), wanted, "{one} {other}");
        }
    }

    #[test]
    fn every_known_column_has_a_name() {
        let names: Vec<_> = our_names().collect();
        for metric in Metric::KNOWN {
            assert!(names.contains(&metric.name()), "{metric:?}");
            assert_eq!(known(metric.name()), Some(metric));
        }
        for name in ["global_step", "train/loss", "eval_loss", "learning_rate"] {
            assert!(likely(name).is_some_and(|ours| names.contains(&ours)), "{name}");
        }
    }
}
