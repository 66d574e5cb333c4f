//! The version of the baselines that each stated part of a table follows: its centered column, and each of its aggregates.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;

use super::table::Low;
use super::{
    Baselines, CellAgreement, Measure, Scale, StatedAggregate, TableScores, TaskRow, TaskSet,
    TaskTable,
};
use crate::scores;
use repro_core::decimal::Interval;
use repro_core::source::Error;

/// A table under every version of the baselines that is tried.
#[derive(Debug)]
pub struct TableReading<'a> {
    /// The table.
    pub table: &'a TaskTable<'a>,
    /// The unit of its accuracies.
    pub scale: Scale,
    /// The table under each version, in the order given.
    pub versions: Vec<TableScores<'a>>,
    /// The versions that its centered column follows, if it has one.
    pub column: Option<Centering<'a>>,
    /// The versions that its aggregates follow.
    pub stated: Vec<Followed<'a>>,
}

/// The versions that a centered column follows.
#[derive(Debug)]
pub struct Centering<'a> {
    /// The unit of the column.
    pub scale: Scale,
    /// The number of cells.
    pub cells: usize,
    /// The number of cells that agree with each version.
    pub agreeing: Vec<usize>,
    /// The cells that agree with no version.
    pub stray: Vec<&'a TaskRow<'a>>,
    /// The mean of the column over the tasks that count.
    pub mean: Option<Interval>,
}

/// The versions that an aggregate follows.
#[derive(Debug)]
pub struct Followed<'a> {
    /// The aggregate.
    pub stated: StatedAggregate<'a>,
    /// The unit it is in.
    pub scale: Scale,
    /// Its agreement with each version.
    pub fits: Vec<CellAgreement>,
    /// If it follows from the tasks in its name under no version: the versions under which it is the mean over all tasks of
    /// the table.
    pub over_all: Vec<usize>,
    /// Whether it is the mean of the table's own centered column.
    pub own_column: bool,
}

impl Centering<'_> {
    /// The versions that every cell follows.
    pub fn follows(&self) -> Vec<usize> {
        positions(&self.agreeing, |count| *count == self.cells)
    }

    /// Whether each cell follows some version, but not all the same.
    pub fn is_mixed(&self) -> bool {
        self.stray.is_empty() && self.follows().is_empty()
    }
}

impl Followed<'_> {
    /// The versions that it follows.
    pub fn follows(&self) -> Vec<usize> {
        positions(&self.fits, |fit| *fit == CellAgreement::Follows)
    }

    /// Whether the table is too coarse for at least one version, and none is followed.
    pub fn is_undecided(&self) -> bool {
        self.follows().is_empty() && self.fits.contains(&CellAgreement::TooCoarse)
    }
}

impl<'a> TableReading<'a> {
    /// Reads `table` under each of `baselines`; the unit is as declared, else found by range.
    pub fn of(
        table: &'a TaskTable<'a>,
        declared: Option<Scale>,
        baselines: &'a [Baselines],
    ) -> Result<Self, Error> {
        let from_nothing = |task: &str| {
            let zero = |value: &BigRational| *value == BigRational::default();
            baselines.iter().all(|version| version.of_task(task).is_some_and(zero))
        };
        let low: Low = &from_nothing;
        let scale = table.scale(declared, low)?;
        let versions = baselines
            .iter()
            .map(|version| TableScores::of(table, scale, version))
            .collect::<Result<Vec<_>, _>>()?;
        let column = Centering::of(table, &versions);
        let mut reading = Self { table, scale, versions, column, stated: Vec::new() };
        let stated = table.stated.iter().map(|stated| reading.follow(stated.clone()));
        reading.stated = stated.collect();
        Ok(reading)
    }

    /// The versions that an aggregate follows, whether it is in the table or claimed about it.
    pub fn follow(&self, stated: StatedAggregate<'a>) -> Followed<'a> {
        let set = self.set_of(&stated);
        let fits_in = |scale: Scale, set: TaskSet| -> Vec<CellAgreement> {
            self.versions.iter().map(|version| version.fit(&stated, set, scale)).collect()
        };
        let own = |scale: Scale| {
            let mean = self.column.as_ref().and_then(|column| column.mean.as_ref());
            stated.measure == Measure::Centered
                && mean.is_some_and(|mean| {
                    let slack = BigRational::new(BigInt::one(), BigInt::one() << 40);
                    stated.cell.fit(scale, mean, &slack) == CellAgreement::Follows
                })
        };
        // An aggregate may be in percent although its table is not, and vice versa.
        let other = match self.scale {
            Scale::Fraction => Scale::Percent,
            Scale::Percent => Scale::Fraction,
        };
        let anything = |scale| {
            own(scale) || fits_in(scale, set).iter().any(|fit| *fit != CellAgreement::Differs)
        };
        let scale = if !anything(self.scale) && anything(other) { other } else { self.scale };
        let fits = fits_in(scale, set);
        let over_all = match fits.contains(&CellAgreement::Follows) || set == TaskSet::All {
            true => Vec::new(),
            false => positions(&fits_in(scale, TaskSet::All), |fit| *fit == CellAgreement::Follows),
        };
        Followed { own_column: own(scale), stated, scale, fits, over_all }
    }

    /// The tasks of an aggregate: those of CORE if the table has them all.
    pub(super) fn set_of(&self, stated: &StatedAggregate<'a>) -> TaskSet<'a> {
        match stated.set {
            TaskSet::Core => self.table.core_set(),
            other => other,
        }
    }

    /// The aggregate that states the score itself, if the table has one.
    pub fn stated_core(&self) -> Option<&Followed<'a>> {
        let core = |followed: &&Followed| {
            followed.stated.measure == Measure::Centered && followed.stated.set == TaskSet::Core
        };
        self.stated.iter().find(core)
    }

    /// The version to score by: the one that the table's own aggregate follows, else the one that its
    /// column follows most, else the first.
    pub fn best(&self) -> usize {
        let by_aggregate = self.stated_core().and_then(|core| core.follows().first().copied());
        let by_column = || {
            let agreeing = &self.column.as_ref()?.agreeing;
            let most = agreeing.iter().max()?;
            agreeing.iter().position(|count| count == most)
        };
        by_aggregate.or_else(by_column).unwrap_or(0)
    }

    /// The column and the aggregate `core` follow different versions: which each.
    pub fn mixed(&self, core: &Followed) -> Option<(Vec<usize>, Vec<usize>)> {
        let column = self.column.as_ref()?.follows();
        let aggregate = core.follows();
        let apart = !column.is_empty()
            && !aggregate.is_empty()
            && !column.iter().any(|version| aggregate.contains(version));
        apart.then_some((column, aggregate))
    }

    /// The rows whose accuracy is not the number of right items over the number of items.
    pub fn miscounted(&self) -> Vec<&'a TaskRow<'a>> {
        let place = self.table.accuracy_place();
        let wrong = |row: &&TaskRow| {
            let (Some(items), Some(correct)) = (&row.items, &row.correct) else { return false };
            let ratio = correct.printed.exact().div(&items.printed.exact());
            let slack = BigRational::new(BigInt::one(), BigInt::one() << 22);
            let printed = row.accuracy.interval(self.scale, &place);
            // Floats of accuracies are often single precision.
            let printed =
                if printed.is_point() { Interval::around(printed.low(), &slack) } else { printed };
            !ratio.is_some_and(|ratio| ratio.meets(&printed))
        };
        self.table.rows.iter().filter(wrong).collect()
    }

    /// The names of versions.
    pub fn names(&self, versions: &[usize]) -> String {
        let name = |at: &usize| self.versions.get(*at).map(|scores| scores.baselines.name.clone());
        versions.iter().filter_map(name).collect::<Vec<_>>().join(" and ")
    }
}

impl<'a> Centering<'a> {
    fn of(table: &'a TaskTable<'a>, versions: &[TableScores<'a>]) -> Option<Self> {
        let of = |scale: Scale| {
            let cells = table.rows.iter().filter(|row| row.centered.is_some()).count();
            let agrees = |scores: &TableScores, row: &TaskRow| {
                let task = scores.tasks.iter().find(|task| task.row.task == row.task);
                let slack = BigRational::new(BigInt::one(), BigInt::one() << 40);
                task.zip(row.centered.as_ref()).is_some_and(|(task, cell)| {
                    cell.fit(scale, &task.centered, &slack) != CellAgreement::Differs
                })
            };
            let rows = || table.rows.iter().filter(|row| row.centered.is_some());
            let agreeing = versions
                .iter()
                .map(|scores| rows().filter(|row| agrees(scores, row)).count())
                .collect();
            let stray =
                rows().filter(|row| !versions.iter().any(|scores| agrees(scores, row))).collect();
            let set = table.core_set();
            let place = super::cell::Finest::of(rows().filter_map(|row| row.centered.as_ref()));
            let counted: Option<Vec<_>> = table
                .rows
                .iter()
                .filter(|row| set.holds(row.task, None))
                .map(|row| row.centered.as_ref().map(|cell| cell.interval(scale, &place)))
                .collect();
            let mean = counted.and_then(|counted| scores::mean(&counted));
            Self { scale, cells, agreeing, stray, mean }
        };
        let (fraction, percent) = (of(Scale::Fraction), of(Scale::Percent));
        let best = |column: &Self| column.agreeing.iter().max().copied().unwrap_or(0);
        let column = if best(&percent) > best(&fraction) { percent } else { fraction };
        (column.cells > 0).then_some(column)
    }
}

fn positions<T>(list: &[T], holds: impl Fn(&T) -> bool) -> Vec<usize> {
    list.iter().enumerate().filter(|(_, item)| holds(item)).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use repro_core::source::{Document, Source};

    fn document(name: &str, text: &str) -> Result<Document, Error> {
        Document::parse(Source::new(name, text.as_bytes().to_vec())?)
    }

    fn versions() -> Vec<Baselines> {
        let text = r#"[{"task": "a", "baseline_v1": 0.25, "baseline_v2": 0.25},
            {"task": "b", "baseline_v1": 0.2, "baseline_v2": 0.403},
            {"task": "c", "baseline_v1": 0, "baseline_v2": 0},
            {"task": "d", "baseline_v1": 0.091, "baseline_v2": 0.25}]"#;
        Baselines::read(&document("b.json", text).unwrap()).unwrap()
    }

    proptest! {
        /// Any table is either read or rejected.
        #[test]
        fn any_table_is_read_or_refused(
            name in "t\\.(csv|json)",
            text in "(task,accuracy,centered\n)?([abcdCORE]{1,4}, ?-?[0-9]{0,3}\\.?[0-9]{0,17}%?, ?[0-9.]{0,6}\n){0,5}|[\\[{]?(\"(task|a|b|CORE|tasks|results)\": ?[0-9.\"\\[{]{0,4},?){0,4}[}\\]]{0,2}",
        ) {
            let versions = versions();
            if let Ok(document) = document(&name, &text)
                && let Ok(table) = TaskTable::read(document.root())
                && let Ok(reading) = TableReading::of(&table, None, &versions)
            {
                reading.troubles();
                prop_assert!(reading.best() < versions.len());
            }
        }

        /// A table made with one version, in either unit, follows it and not the other.
        #[test]
        fn a_table_follows_what_it_was_made_with(
            accuracies in proptest::array::uniform4(200_u32..900),
            column in 0_usize..2,
            aggregate in 0_usize..2,
            percent in any::<bool>(),
        ) {
            let versions = versions();
            let factor = if percent { 100.0 } else { 1.0 };
            let of = |version: usize, task: usize| {
                let name = ["a", "b", "c", "d"][task];
                let baseline = versions[version].of_task(name).unwrap();
                let baseline = repro_core::decimal::nearest_f64(baseline);
                (f64::from(accuracies[task]) / 1000.0 - baseline) / (1.0 - baseline)
            };
            let mut text = "task,accuracy,centered\n".to_owned();
            for (task, name) in ["a", "b", "c", "d"].iter().enumerate() {
                let accuracy = f64::from(accuracies[task]) / 1000.0 * factor;
                text.push_str(&format!("{name},{accuracy:.6},{:.6}\n", of(column, task) * factor));
            }
            let mean = (0..4).map(|task| of(aggregate, task)).sum::<f64>() / 4.0;
            text.push_str(&format!("CORE,,{:.6}\n", mean * factor));
            let document = document("t.csv", &text).unwrap();
            let table = TaskTable::read(document.root()).unwrap();
            let reading = TableReading::of(&table, None, &versions).unwrap();
            prop_assert_eq!(reading.scale, if percent { Scale::Percent } else { Scale::Fraction });
            prop_assert_eq!(reading.column.as_ref().unwrap().follows(), [column]);
            let core = reading.stated_core().unwrap();
            prop_assert_eq!(core.follows(), [aggregate]);
            prop_assert_eq!(reading.mixed(core).is_some(), column != aggregate);
        }
    }
}
