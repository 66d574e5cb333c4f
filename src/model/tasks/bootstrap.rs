//! The bootstrap over tasks: the variation of a score with similar tasks.

use num_rational::BigRational;
use repro_core::decimal::{format_significant, nearest_f64};
use repro_stats::Refused;
use repro_stats::bootstrap::Resampled;

use super::{TableScores, TaskSet};

/// Below this number of tasks, an interval decides nothing.
const FEWEST: usize = 8;

/// The settings of a bootstrap.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The level of the intervals, between 0 and 1.
    pub level: f64,
    /// The number of resamples.
    pub resamples: usize,
    /// The seed of the draws.
    pub seed: u64,
}

/// A resampled mean of one value a task.
#[derive(Debug)]
pub struct TaskBootstrap {
    /// The settings.
    pub settings: Settings,
    /// The number of tasks.
    pub tasks: usize,
    /// The mean of the values themselves.
    pub estimate: BigRational,
    /// The draws.
    pub resampled: Result<Resampled, Refused>,
}

impl TaskBootstrap {
    /// Resamples the centered scores of a set.
    pub fn of(scores: &TableScores, set: TaskSet, settings: Settings) -> Self {
        let values: Vec<BigRational> =
            scores.of_set(set).map(|task| task.centered.middle()).collect();
        Self::of_values(&values, settings)
    }

    /// Resamples the differences between two tables of the same tasks; returns the tasks that only one has if they differ.
    pub fn paired(
        a: &TableScores,
        b: &TableScores,
        set: TaskSet,
        settings: Settings,
    ) -> Result<Self, Vec<String>> {
        let name = |scores: &TableScores| -> Vec<String> {
            scores.of_set(set).map(|task| task.row.task.to_owned()).collect()
        };
        let (left, right) = (name(a), name(b));
        let mut only: Vec<_> = left.iter().filter(|task| !right.contains(task)).cloned().collect();
        only.extend(right.iter().filter(|task| !left.contains(task)).cloned());
        if !only.is_empty() {
            return Err(only);
        }
        let other = |task: &str| {
            let found = b.of_set(set).find(|other| other.row.task == task);
            found.map(|other| other.centered.middle())
        };
        let values: Vec<BigRational> = a
            .of_set(set)
            .filter_map(|task| Some(task.centered.middle() - other(task.row.task)?))
            .collect();
        Ok(Self::of_values(&values, settings))
    }

    fn of_values(values: &[BigRational], settings: Settings) -> Self {
        let tasks = values.len();
        let floats: Vec<f64> = values.iter().map(nearest_f64).collect();
        let count = BigRational::from_integer(tasks.max(1).into());
        let estimate = values.iter().sum::<BigRational>() / count;
        let resampled = Resampled::of(&floats, settings.resamples, settings.seed);
        Self { settings, tasks, estimate, resampled }
    }

    /// The ends of the percentile interval, or of the corrected one (BCa).
    pub fn ends(&self, corrected: bool) -> Result<[f64; 2], Refused> {
        let resampled = self.resampled.as_ref().map_err(Clone::clone)?;
        let level = self.settings.level;
        let found = if corrected { resampled.bca(level)? } else { resampled.percentile(level)? };
        Ok([found.low, found.high])
    }

    /// The reason why the interval decides nothing, if there is one.
    pub fn evidence(&self) -> Option<String> {
        (self.tasks < FEWEST).then(|| format!("{} tasks are too few for a bootstrap", self.tasks))
    }

    /// Whether the percentile interval leaves out zero.
    pub fn excludes_zero(&self) -> Option<bool> {
        self.ends(false).ok().map(|[low, high]| low > 0.0 || high < 0.0)
    }

    /// The estimate with ten significant digits.
    pub fn estimate_text(&self) -> String {
        format_significant(&self.estimate, 10)
    }
}
