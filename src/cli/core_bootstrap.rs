//! The task bootstrap of `repro core`: how far a score would move with other tasks of the same sort.

use serde_json::{Value as Json, json};

use super::BAD_USAGE;
use super::args;
use crate::decimal::{format_float, format_significant, nearest_f64};
use crate::source::{Place, Refusal};
use crate::stats::Refused;
use crate::stats::bootstrap::Resampled;
use crate::tasks::{Scores, TaskSet};
use num_rational::BigRational;

/// Below this many tasks an interval decides nothing.
const FEWEST: usize = 8;

/// The settings of a bootstrap.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    level: f64,
    resamples: usize,
    seed: u64,
}

impl Settings {
    /// The settings that the arguments ask for.
    pub fn of(own: &args::Core) -> Result<Self, Refusal> {
        if !(own.level > 0.0 && own.level < 1.0) {
            let found = own.level.to_string();
            return Err(BAD_USAGE.at(Place::file("--level"), "a share between 0 and 1", found));
        }
        Ok(Self { level: own.level, resamples: own.resamples, seed: own.seed })
    }
}

/// A resampled mean of one value a task.
#[derive(Debug)]
pub struct TaskBootstrap {
    settings: Settings,
    tasks: usize,
    estimate: BigRational,
    resampled: Result<Resampled, Refused>,
}

impl TaskBootstrap {
    /// Of the centred scores of a set.
    pub fn of(scores: &Scores, set: TaskSet, settings: Settings) -> Self {
        let values: Vec<BigRational> =
            scores.of_set(set).map(|task| task.centered.middle()).collect();
        Self::of_values(&values, settings)
    }

    /// Of the differences between two tables of the same tasks; the tasks that only one has, where
    /// they are not the same.
    pub fn paired(
        a: &Scores,
        b: &Scores,
        set: TaskSet,
        settings: Settings,
    ) -> Result<Self, Vec<String>> {
        let name = |scores: &Scores| -> Vec<String> {
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

    /// The percentile interval, as two numbers.
    pub fn percentile(&self) -> Json {
        self.interval(false)
    }

    fn interval(&self, corrected: bool) -> Json {
        match self.ends(corrected) {
            Ok([low, high]) => json!([number(low), number(high)]),
            Err(refused) => json!({"refused": refused.to_string()}),
        }
    }

    fn ends(&self, corrected: bool) -> Result<[f64; 2], Refused> {
        let resampled = self.resampled.as_ref().map_err(Clone::clone)?;
        let level = self.settings.level;
        let found = if corrected { resampled.bca(level)? } else { resampled.percentile(level)? };
        Ok([found.low, found.high])
    }

    /// Whether the interval decides anything, and why not.
    fn evidence(&self) -> Option<String> {
        (self.tasks < FEWEST)
            .then(|| format!("{} tasks are too few for a bootstrap to decide anything", self.tasks))
    }

    /// Everything as JSON.
    pub fn json(&self) -> Json {
        let error = self
            .resampled
            .as_ref()
            .map_or(Json::Null, |resampled| json!(number(resampled.standard_error())));
        let drawn = self.resampled.as_ref().ok();
        json!({
            "estimate": number(nearest_f64(&self.estimate)),
            "over": "tasks",
            "n": self.tasks,
            "level": self.settings.level,
            "percentile": self.interval(false),
            "bca": self.interval(true),
            "standard_error": error,
            "resamples": drawn.map(Resampled::resamples),
            "enumerated": drawn.map(|resampled| resampled.support().is_some()),
            "seed": self.settings.seed.to_string(),
            "evidence": self.evidence().is_none(),
            "why": self.evidence(),
        })
    }

    /// The interval in words.
    pub fn text(&self) -> String {
        let percent = format!("{}%", shown(self.settings.level * 100.0));
        let ends = |corrected: bool| match self.ends(corrected) {
            Ok([low, high]) => format!("{} to {}", shown(low), shown(high)),
            Err(refused) => format!("none, {refused}"),
        };
        let drawn = match &self.resampled {
            Ok(resampled) if resampled.support().is_some() => {
                format!("all {} resamples", resampled.resamples())
            }
            Ok(resampled) => {
                format!("{} resamples, seed {}", resampled.resamples(), self.settings.seed)
            }
            Err(_) => return format!("no interval: {}", ends(false)),
        };
        let evidence = self.evidence().map(|why| format!("; {why}")).unwrap_or_default();
        format!(
            "{percent} over {} tasks: percentile {}, BCa {} ({drawn}){evidence}",
            self.tasks,
            ends(false),
            ends(true)
        )
    }

    /// Whether the percentile interval leaves out zero.
    pub fn excludes_zero(&self) -> Option<bool> {
        self.ends(false).ok().map(|[low, high]| low > 0.0 || high < 0.0)
    }

    /// The mean of the values themselves.
    pub fn estimate(&self) -> String {
        format_significant(&self.estimate, 10)
    }
}

/// At most ten significant digits.
fn number(value: f64) -> f64 {
    format_float(value, 10).parse().unwrap_or(value)
}

fn shown(value: f64) -> String {
    format_float(value, 5)
}
