//! Descriptions of errors in a table: its parts follow different baselines, or none.

use num_rational::BigRational;

use super::{Followed, Measure, Scale, TableReading, TableScores, TaskRow};
use repro_core::decimal::{Interval, format_significant};

/// The maximum number of tasks that a sentence names.
const NAMED: usize = 4;
/// The digits of recomputed numbers in sentences.
const DIGITS: usize = 7;
const FULL_DIGITS: usize = 16;

/// The possible errors of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// Column and aggregate follow different versions of the baselines.
    MixedVersions,
    /// The cells of the column follow different versions.
    MixedColumn,
    /// A cell of the column follows no version.
    StrayCell,
    /// An aggregate follows no version.
    Aggregate,
    /// An aggregate averages tasks other than those in its name.
    OtherTasks,
    /// An accuracy is not its own right items over all items.
    Miscounted,
    /// A baseline in the table differs from the file.
    OtherBaseline,
}

impl Trouble {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::MixedVersions => "mixed-versions",
            Self::MixedColumn => "mixed-column",
            Self::StrayCell => "centered-column",
            Self::Aggregate => "aggregate",
            Self::OtherTasks => "other-tasks",
            Self::Miscounted => "miscounted",
            Self::OtherBaseline => "other-baseline",
        }
    }
}

impl<'a> TableReading<'a> {
    /// Everything that is wrong with the table and its own aggregates, worst first.
    pub fn troubles(&self) -> Vec<(Trouble, String)> {
        let mut troubles = self.of_the_column();
        for followed in &self.stated {
            troubles.extend(self.of_an_aggregate(followed));
        }
        troubles.extend(self.of_the_counts());
        troubles.sort();
        troubles
    }

    /// The errors of one aggregate.
    pub fn of_an_aggregate(&self, followed: &Followed) -> Vec<(Trouble, String)> {
        let (name, text) = (&followed.stated.name, followed.stated.cell.printed.text());
        if followed.stated.measure == Measure::Centered
            && let Some((column, aggregate)) = self.mixed(followed)
        {
            let message = format!(
                "the centered column follows {}, {name} {text} follows {}",
                self.names(&column),
                self.names(&aggregate)
            );
            return vec![(Trouble::MixedVersions, message)];
        }
        if !followed.over_all.is_empty() {
            let message = format!(
                "{name} {text} is the mean over all {} tasks; CORE has 22",
                self.table.rows.len()
            );
            return vec![(Trouble::OtherTasks, message)];
        }
        if !followed.follows().is_empty() || followed.is_undecided() {
            return Vec::new();
        }
        let set = self.set_of(&followed.stated);
        // A score printed in full needs more digits in the comparison.
        let full = followed.stated.cell.printed.is_full_float();
        let digits = if full { FULL_DIGITS } else { DIGITS };
        let would = |scores: &TableScores| match scores.mean(set, followed.stated.measure) {
            Some(mean) => shown(&mean, followed.scale, digits),
            None => "nothing".to_owned(),
        };
        let own = match (followed.own_column, &self.column) {
            (true, _) => "; it is the mean of the table's own centered column",
            (false, Some(_)) => "; it is not the mean of the table's own centered column either",
            (false, None) => "",
        };
        let version = match name.rsplit_once("_v") {
            Some((_, version)) => format!("; its name has version {version}"),
            None => String::new(),
        };
        let message = format!(
            "{name} {text} does not follow from any of the baselines, which lead to {}{own}{version}",
            self.each(would)
        );
        vec![(Trouble::Aggregate, message)]
    }

    fn of_the_column(&self) -> Vec<(Trouble, String)> {
        let Some(column) = &self.column else { return Vec::new() };
        let mut troubles = Vec::new();
        if column.is_mixed() {
            let counts: Vec<_> = self.versions.iter().zip(&column.agreeing).collect();
            let each: Vec<_> = counts
                .iter()
                .map(|(scores, count)| format!("{count} cells follow {}", scores.baselines.name))
                .collect();
            let message = format!("among {} centered values, {}", column.cells, each.join(", "));
            troubles.push((Trouble::MixedColumn, message));
        }
        if !column.stray.is_empty() {
            let one = |row: &&TaskRow| {
                let stated = row.centered.as_ref().map_or("", |cell| cell.printed.text());
                let would = |scores: &TableScores| {
                    let task = scores.tasks.iter().find(|task| task.row.task == row.task);
                    task.map_or_else(String::new, |task| {
                        shown(&task.centered, column.scale, DIGITS)
                    })
                };
                format!("{} {stated} (would be {})", row.task, self.each(would))
            };
            let message = format!(
                "centered values that do not follow from any of the baselines: {}",
                listed(&column.stray, one)
            );
            troubles.push((Trouble::StrayCell, message));
        }
        troubles
    }

    fn of_the_counts(&self) -> Vec<(Trouble, String)> {
        let mut troubles = Vec::new();
        let miscounted = self.miscounted();
        if !miscounted.is_empty() {
            let one = |row: &&TaskRow| {
                let text = |cell: &Option<super::Cell>| {
                    cell.as_ref().map(|cell| cell.printed.text().to_owned()).unwrap_or_default()
                };
                let (correct, items) = (text(&row.correct), text(&row.items));
                format!("{} {} is not {correct}/{items}", row.task, row.accuracy.printed.text())
            };
            let message =
                format!("accuracies that contradict their counts: {}", listed(&miscounted, one));
            troubles.push((Trouble::Miscounted, message));
        }
        let foreign = self.foreign_baselines();
        if let (false, Some(scores)) = (foreign.is_empty(), self.versions.get(self.best())) {
            let one = |row: &&TaskRow| {
                let own = row.baseline.as_ref().map_or("", |cell| cell.printed.text());
                let file = scores.baselines.of_task(row.task);
                let file = file.map_or_else(String::new, |value| format_significant(value, DIGITS));
                format!("{} {own} instead of {file}", row.task)
            };
            let message = format!(
                "baselines in the table differ from {}: {}",
                scores.baselines.name,
                listed(&foreign, one)
            );
            troubles.push((Trouble::OtherBaseline, message));
        }
        troubles
    }

    /// The rows whose own baseline differs from the version that the table is scored by.
    fn foreign_baselines(&self) -> Vec<&'a TaskRow<'a>> {
        let Some(scores) = self.versions.get(self.best()) else { return Vec::new() };
        let rows: Vec<_> = self.table.rows.iter().filter(|row| row.baseline.is_some()).collect();
        let cells = rows.iter().filter_map(|row| row.baseline.as_ref());
        let one = BigRational::from_integer(1.into());
        let percent = cells.clone().any(|cell| *cell.printed.value() > one);
        let scale = if percent { Scale::Percent } else { Scale::Fraction };
        let place = super::cell::Finest::of(cells);
        let differs = |row: &&TaskRow| {
            let Some(cell) = &row.baseline else { return false };
            let stated = cell.interval(scale, &place);
            scores.baselines.of_task(row.task).is_some_and(|value| !stated.contains(value))
        };
        rows.into_iter().filter(differs).collect()
    }

    /// The values under each version, joined.
    fn each(&self, what: impl Fn(&TableScores) -> String) -> String {
        let mut each: Vec<_> = self.versions.iter().map(what).collect();
        each.dedup();
        each.join(" or ")
    }
}

/// A mean for a sentence, in the unit that it is compared in.
fn shown(value: &Interval, scale: Scale, digits: usize) -> String {
    format_significant(&(value.middle() * scale.per_one()), digits)
}

fn listed<T>(items: &[T], one: impl Fn(&T) -> String) -> String {
    let named: Vec<_> = items.iter().take(NAMED).map(one).collect();
    let more = match items.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    named.join(", ") + &more
}
