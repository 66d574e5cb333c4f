//! A table under one version of the baselines: centered scores and their means.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use super::{
    Baselines, CORE, Measure, NO_BASELINE, Scale, StatedAggregate, TableKind, TaskRow, TaskSet,
    TaskTable,
};
use crate::scores;
use repro_core::decimal::Interval;
use repro_core::source::Error;

/// One task, scored.
#[derive(Debug, Clone)]
pub struct ScoredTask<'a> {
    /// Its row.
    pub row: &'a TaskRow<'a>,
    /// Its accuracy as a fraction.
    pub accuracy: Interval,
    /// Its baseline as a fraction.
    pub baseline: BigRational,
    /// (accuracy - baseline) / (1 - baseline).
    pub centered: Interval,
    category: Option<&'a str>,
}

impl ScoredTask<'_> {
    /// Whether it belongs to a set.
    pub fn is_in(&self, set: TaskSet) -> bool {
        set.holds(self.row.task, self.category)
    }

    fn measure(&self, measure: Measure) -> &Interval {
        match measure {
            Measure::Accuracy => &self.accuracy,
            Measure::Centered => &self.centered,
        }
    }

    /// The magnitude of the summands, which bounds the error of floats.
    fn size(&self, measure: Measure) -> BigRational {
        let accuracy = self.accuracy.middle();
        match measure {
            Measure::Accuracy => accuracy,
            Measure::Centered => {
                (accuracy + &self.baseline) / (BigRational::one() - &self.baseline)
            }
        }
    }
}

/// A table under one version of the baselines.
#[derive(Debug)]
pub struct TableScores<'a> {
    /// The version.
    pub baselines: &'a Baselines,
    /// The tasks that it knows, in the order of the table.
    pub tasks: Vec<ScoredTask<'a>>,
    /// The tasks of a DCLM evaluation that it does not know, which do not count.
    pub passed_over: Vec<&'a str>,
}

impl<'a> TableScores<'a> {
    /// Centres the accuracies of `table`.
    pub fn of(
        table: &'a TaskTable<'a>,
        scale: Scale,
        baselines: &'a Baselines,
    ) -> Result<Self, Error> {
        let place = table.accuracy_place();
        let (mut tasks, mut passed_over) = (Vec::new(), Vec::new());
        for row in &table.rows {
            let Some(baseline) = baselines.of_task(row.task) else {
                if table.kind == TableKind::Dclm && !CORE.contains(&row.task) {
                    passed_over.push(row.task);
                    continue;
                }
                let expected = format!("a task of `{}`", baselines.name);
                let found = format!("`{}`", row.task);
                return Err(NO_BASELINE.at(row.accuracy.node.place(), expected, found));
            };
            let accuracy = row.accuracy.interval(scale, &place);
            // Baselines below one are all that is read.
            let Some(centered) = scores::centered(&accuracy, baseline) else { continue };
            let (baseline, category) = (baseline.clone(), baselines.category(row.task));
            tasks.push(ScoredTask { row, accuracy, baseline, centered, category });
        }
        Ok(Self { baselines, tasks, passed_over })
    }

    /// The mean over a set, if the table has any of it.
    pub fn mean(&self, set: TaskSet, measure: Measure) -> Option<Interval> {
        scores::mean(self.of_set(set).map(|task| task.measure(measure)))
    }

    /// CORE, or the mean centered score of the tasks that the table has.
    pub fn core(&self, set: TaskSet) -> Interval {
        self.mean(set, Measure::Centered).unwrap_or_else(|| Interval::integer(0))
    }

    /// The tasks of a set.
    pub fn of_set(&self, set: TaskSet) -> impl Iterator<Item = &ScoredTask<'a>> {
        self.tasks.iter().filter(move |task| task.is_in(set))
    }

    /// The possible float error of the mean over a set: one rounding unit per task and a few more, relative to the
    /// magnitude of the summands.
    pub fn slack(&self, set: TaskSet, measure: Measure) -> BigRational {
        let sizes: Vec<_> = self.of_set(set).map(|task| task.size(measure)).collect();
        if sizes.is_empty() {
            return BigRational::zero();
        }
        let count = BigRational::from_integer(BigInt::from(sizes.len()));
        let mean = sizes.into_iter().sum::<BigRational>() / &count;
        let rounding = BigRational::new(BigInt::one(), BigInt::one() << 52);
        mean * rounding * (count + BigRational::from_integer(4.into()))
    }

    /// Whether a stated aggregate follows.
    pub fn fit(
        &self,
        stated: &StatedAggregate,
        set: TaskSet,
        scale: Scale,
    ) -> super::CellAgreement {
        match self.mean(set, stated.measure) {
            Some(mean) => stated.cell.fit(scale, &mean, &self.slack(set, stated.measure)),
            None => super::CellAgreement::Differs,
        }
    }
}
