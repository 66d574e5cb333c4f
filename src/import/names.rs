//! Names of metrics: under which others log what has a meaning here.

use std::sync::Arc;

use super::run::Metric;

/// The name of the column that counts steps.
pub const STEP: &str = "step";

/// Where a receipt says what its log calls that column, where it is not called so.
pub const COUNTER: &str = "counter";

/// Names under which others log what we know: our name, and theirs with `_` between words.
const ALIASES: &[(&str, &[&str])] = &[
    (
        "step",
        &[
            "iter",
            "iteration",
            "global_step",
            "trainer_global_step",
            "steps",
            "it",
            "update",
            "batch",
            "trainer_step",
            "train_step",
            "train_global_step",
            "current_steps",
            "epoch",
        ],
    ),
    (
        "tokens",
        &["tokens_seen", "num_tokens", "total_tokens", "consumed_tokens", "num_input_tokens_seen"],
    ),
    ("loss", &["train_loss", "training_loss", "loss_train", "lm_loss"]),
    (
        "val_loss",
        &[
            "valid_loss",
            "validation_loss",
            "eval_loss",
            "test_loss",
            "loss_val",
            "loss_eval",
            "loss_valid",
            "loss_validation",
            "loss_test",
            "epoch_val_loss",
        ],
    ),
    ("grad_norm", &["gradnorm", "gradient_norm", "grad_norm_total", "train_grad_norm", "norm"]),
    ("lr", &["learning_rate", "train_lr", "lr_0"]),
    ("seconds", &["time", "elapsed", "wall_time", "runtime", "train_time", "elapsed_seconds"]),
];

/// The metric of that name of ours.
pub fn known(name: &str) -> Option<Metric> {
    Metric::KNOWN.into_iter().find(|metric| metric.name() == name)
}

/// Every name of ours.
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

/// The name that differs least from `name`, if it differs little.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = |other: &&str| distance(&plain(name), &plain(other));
    names.min_by_key(far).filter(|other| far(other) <= 1 + name.chars().count() / 4)
}

/// How many characters must change to make one text the other.
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

/// `train/Loss` as `train_loss`.
fn plain(name: &str) -> String {
    let lower = name.trim_start_matches('_').to_ascii_lowercase();
    lower.replace(['/', '.', '-', ' '], "_")
}

/// What a column is likely to be, from its name.
pub fn likely(theirs: &str) -> Option<&'static str> {
    let plain = plain(theirs);
    let own = our_names().find(|name| *name == plain);
    own.or_else(|| {
        ALIASES.iter().find(|(_, names)| names.contains(&plain.as_str())).map(|(ours, _)| *ours)
    })
}

/// Which of a run's metrics have a meaning of their own: losses, the learning rate and the norm of the gradient, each
/// under the first of its names that is there.
pub fn known_as(names: &[Arc<str>]) -> Vec<(Metric, &Arc<str>)> {
    const MEANT: [Metric; 4] =
        [Metric::Loss, Metric::ValidationLoss, Metric::LearningRate, Metric::GradNorm];
    let spelled = |wanted: &str| names.iter().find(|name| plain(name) == wanted);
    let first = |metric: Metric| {
        let others = ALIASES.iter().filter(|(ours, _)| *ours == metric.name());
        let mut known =
            std::iter::once(metric.name()).chain(others.flat_map(|(_, names)| *names).copied());
        let name = known.find_map(spelled)?;
        Some((metric, name))
    };
    MEANT.into_iter().filter_map(first).collect()
}

/// The column that counts steps, among those of a row: ours, or the first of the usual names.
pub fn step_among<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let usual =
        ALIASES.iter().filter(|(ours, _)| *ours == STEP).flat_map(|(_, names)| *names).copied();
    std::iter::once(STEP)
        .chain(usual)
        .find_map(|wanted| names.clone().find(|name| plain(name) == wanted))
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
        assert!(ALIASES.iter().all(|(ours, _)| names.contains(ours)));
    }
}
