//! Checks a run's metric after the step at which it was read: a run that diverged later cannot win.

use std::collections::BTreeSet;

use crate::import::{LoggedRun, Metric};
use repro_core::source::{Error, Location};

use crate::gate::course::{CourseKind, MetricCourse};
use crate::gate::rule::{GateRule, ReadAt};
use crate::gate::{DIVERGED, GOES_ON};

/// The multiple of the longest gap between two evaluations that rules out an accident.
const LONGEST: u64 = 2;

/// The finding after the step `at` if the run diverged or continues without the metric.
pub fn told(
    rule: &GateRule,
    run: &LoggedRun,
    course: &MetricCourse,
    at: Option<u64>,
) -> Option<Error> {
    if course.kind == CourseKind::Whole {
        return None;
    }
    let place = Location::file(run.file.as_str());
    let after = course.points.iter().filter(|(step, _)| **step > at);
    let broken = after.filter_map(|(step, number)| Some(((*step)?, number.nonfinite()?))).next();
    if let Some((step, word)) = broken {
        let found = format!("{word} at step {step}");
        return Some(DIVERGED.at(
            place,
            format!("a finite `{}` until the end", course.name),
            found,
        ));
    }
    let last = at.filter(|_| rule.step == ReadAt::Last)?;
    let end = goes_on(run, course, last)?;
    let expected = format!("`{}` until the end", course.name);
    Some(GOES_ON.at(place, expected, format!("no value after step {last} of {end}")))
}

/// The last step of a run that continues without the metric, although every earlier row had it or evaluations were due.
fn goes_on(run: &LoggedRun, course: &MetricCourse, last: u64) -> Option<u64> {
    let steps: BTreeSet<u64> = course.points.keys().copied().flatten().collect();
    let first = steps.first().filter(|first| **first < last)?;
    let rows = || run.evaluations.iter().chain(&run.training);
    let before = || rows().filter(|row| row.step <= last);
    let known: BTreeSet<&Metric> =
        before().flat_map(|row| row.cells.iter().map(|(metric, _)| metric)).collect();
    // Values that appear once at the end, such as test results, do not continue the course.
    let goes_on = |row: &&crate::import::LogRow| {
        row.step > last && row.cells.iter().any(|(metric, _)| known.contains(metric))
    };
    let emptied = run.emptied.filter(|step| *step > last);
    let end = rows().filter(goes_on).map(|row| row.step).max().max(emptied)?;
    let is_dense = before().all(|row| row.step < *first || steps.contains(&row.step));
    let longest = steps.iter().zip(steps.iter().skip(1)).map(|(one, next)| next - one).max()?;
    (is_dense || end - last > longest.saturating_mul(LONGEST)).then_some(end)
}
