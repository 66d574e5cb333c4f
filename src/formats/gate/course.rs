//! The course of one metric over a run, found by name, and whether two courses come from the same run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::import::{self as import, LogNumber, LogRow, LoggedRun, Metric, heading};
use repro_model::independence::RunTrace;

/// The part of a run that a metric comes from: a training loss is not an evaluation loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CourseKind {
    /// Evaluation metrics.
    Evaluation,
    /// Training metrics.
    Training,
    /// Metrics of the whole run.
    Whole,
}

impl CourseKind {
    /// The phrase for messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Evaluation => "an evaluation metric",
            Self::Training => "a training metric",
            Self::Whole => "a metric of the whole run",
        }
    }
}

/// One metric of a run: its values by step; a metric of the whole run has one value without a step.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricCourse {
    /// The name that the run uses.
    pub name: String,
    /// The part of the run that it comes from.
    pub kind: CourseKind,
    /// The values.
    pub points: BTreeMap<Option<u64>, LogNumber>,
}

/// The number of matching significant digits that rules out chance.
const DIGITS: usize = 8;
/// The number of different matching values with at least [`LONG`] digits that rules out chance.
const VALUES: usize = 4;
const LONG: usize = 4;

/// The number of matching values that rules out chance regardless of everything else in the runs.
const SURE: usize = 8;

/// Words in metric names that mark a time or a duration.
const TIMES: [&str; 7] = ["time", "timestamp", "runtime", "seconds", "ms", "minutes", "hours"];

/// Splits a metric's name into words.
pub fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
}

/// Whether a name denotes a time; copies may differ in times.
pub fn is_time(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    words(&name).any(|word| TIMES.contains(&word))
}

impl MetricCourse {
    /// Finds the metric by the first of several names that the run has.
    pub fn find_any(run: &LoggedRun, names: &[String]) -> Option<Self> {
        names.iter().find_map(|name| Self::find(run, name))
    }

    /// Finds the metric that the run calls `name`, or else the one with this canonical name.
    pub fn find(run: &LoggedRun, name: &str) -> Option<Self> {
        let theirs = |metric: &Metric| heading(metric, run) == name;
        let ours = |metric: &Metric| metric.name() == name;
        Self::of_rows(run, &theirs)
            .or_else(|| Self::of_whole(run, name))
            .or_else(|| Self::of_rows(run, &ours))
    }

    /// Finds the metric with this meaning.
    pub fn of_metric(run: &LoggedRun, metric: &Metric) -> Option<Self> {
        Self::of_rows(run, &|other| other == metric)
    }

    fn of_rows(run: &LoggedRun, is_wanted: &dyn Fn(&Metric) -> bool) -> Option<Self> {
        let rows =
            [(CourseKind::Evaluation, &run.evaluations), (CourseKind::Training, &run.training)];
        rows.into_iter().find_map(|(kind, rows)| {
            let mut cells = rows.iter().flat_map(|row| row.cells.iter());
            let metric = cells.find(|(metric, _)| is_wanted(metric)).map(|(metric, _)| metric)?;
            Some(Self { name: heading(metric, run), kind, points: points(rows, metric) })
        })
    }

    fn of_whole(run: &LoggedRun, name: &str) -> Option<Self> {
        let told = run.summary.iter().rfind(|(key, _)| **key == *name);
        told.map(|(_, number)| Self {
            name: name.to_owned(),
            kind: CourseKind::Whole,
            points: BTreeMap::from([(None, number.clone())]),
        })
    }

    /// The last step.
    pub fn last(&self) -> Option<Option<u64>> {
        self.points.last_key_value().map(|(step, _)| *step)
    }

    /// The value at a step.
    pub fn end(&self) -> Option<&LogNumber> {
        self.points.last_key_value().map(|(_, number)| number)
    }

    /// Whether both have the same values, and too many of them to agree by chance. Two trackers print one number with
    /// different digits or as a float32. A copy may have different steps; then more values must agree, in order.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        if self.points.len() != other.points.len() {
            return false;
        }
        let pairs = || self.points.iter().zip(&other.points);
        if pairs().any(|(one, other)| one.0 != other.0) {
            return pairs().all(|(one, other)| same(one.1, other.1))
                && are_many(self.points.values().map(LogNumber::text).collect());
        }
        if pairs().all(|(one, other)| same(one.1, other.1)) {
            return are_no_chance(self.points.values());
        }
        let rounded = pairs().map(|(one, other)| rounded_alike(one.1, other.1));
        let Some(values) = rounded.collect::<Option<BTreeSet<&str>>>() else { return false };
        are_many(values)
    }
}

impl MetricCourse {
    /// Whether enough values have many digits, so that no other run matches them by chance.
    fn is_sure(&self) -> bool {
        let long = self.points.values().filter(|number| digits(number.text()) >= LONG);
        long.map(LogNumber::text).collect::<BTreeSet<_>>().len() >= SURE
    }

    /// Whether most values at shared steps differ, regardless of formatting.
    pub fn is_unlike(&self, other: &Self) -> bool {
        let pairs =
            self.points.iter().filter_map(|(step, one)| Some((one, other.points.get(step)?)));
        let alike: Vec<bool> =
            pairs.map(|(one, other)| rounded_alike(one, other).is_some()).collect();
        alike.iter().filter(|alike| !**alike).count() * 2 > alike.len()
    }
}

/// A trace with a log's losses and gradient norms.
pub fn traced(run: &LoggedRun, mut trace: RunTrace) -> RunTrace {
    for metric in [Metric::ValidationLoss, Metric::Loss, Metric::GradNorm] {
        let course = MetricCourse::of_metric(run, &metric);
        let points = course.iter().flat_map(|course| &course.points);
        let points = points.filter_map(|(step, number)| Some(((*step)?, number.value()?)));
        trace.measured(&format!("`{}`", metric.name()), points);
    }
    trace
}

/// Whether two runs differ in a measured quantity other than `own`. An accuracy with few digits can match by chance;
/// training losses then differ. Times, speeds and settings are ignored.
pub fn measure_differently(one: &LoggedRun, other: &LoggedRun, own: &str) -> bool {
    let rows = one.evaluations.iter().chain(&one.training);
    let metrics: BTreeSet<&Metric> =
        rows.flat_map(|row| row.cells.iter().map(|(metric, _)| metric)).collect();
    let measured = metrics.into_iter().filter(|metric| is_measured(metric));
    let pairs = measured.filter_map(|metric| {
        let one = MetricCourse::of_metric(one, metric).filter(|course| course.name != own)?;
        Some((one, MetricCourse::of_metric(other, metric)?))
    });
    pairs.into_iter().any(|(one, other)| one.is_unlike(&other))
}

/// Whether a metric measures the run.
fn is_measured(metric: &Metric) -> bool {
    let is_named = |name: &str| !is_time(name) && !import::is_speed(name);
    match metric {
        Metric::Loss | Metric::ValidationLoss | Metric::GradNorm => true,
        Metric::Other(name) => (metric.is_evaluated() || metric.is_of_training()) && is_named(name),
        _ => false,
    }
}

/// Whether enough different values have enough digits.
fn are_many(values: BTreeSet<&str>) -> bool {
    values.into_iter().filter(|text| digits(text) >= LONG).count() >= VALUES
}

/// The text of the shorter of two numbers if the other one rounds to it.
fn rounded_alike<'n>(one: &'n LogNumber, other: &'n LogNumber) -> Option<&'n str> {
    let (one_digits, other_digits) = (digits(one.text()), digits(other.text()));
    let (short, long) = if one_digits <= other_digits { (one, other) } else { (other, one) };
    let (Some(near), Some(exact)) = (short.value(), long.value()) else {
        return (key(one) == key(other)).then_some(short.text());
    };
    // Half a unit in the last digit, with a margin for float32 conversion.
    let half: f64 = format!("0.5e{}", last_place(short.text())).parse().ok()?;
    let room = half * (1.0 + 1e-6) + 1.2e-7 * exact.abs();
    ((near - exact).abs() <= room).then_some(short.text())
}

/// The power of ten of a printed number's last digit.
fn last_place(text: &str) -> i64 {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i64);
    exponent.parse::<i64>().unwrap_or(0).saturating_sub(decimals)
}

/// The values of a metric by step; if a step has two rows, the later one counts.
fn points(rows: &[LogRow], metric: &Metric) -> BTreeMap<Option<u64>, LogNumber> {
    let told = rows.iter().filter_map(|row| Some((Some(row.step), row.get(metric)?.clone())));
    told.collect()
}

/// Whether two numbers are equal, regardless of formatting.
fn same(one: &LogNumber, other: &LogNumber) -> bool {
    key(one) == key(other)
}

/// A number by its value.
pub fn key(number: &LogNumber) -> (u64, Option<&'static str>) {
    // Positive and negative zero are equal.
    let bits = number.value().map_or(0, |value| (value + 0.0).to_bits());
    (bits, number.nonfinite())
}

/// Whether different values have enough significant digits to rule out an agreement by chance.
pub fn are_no_chance<'n>(values: impl Iterator<Item = &'n LogNumber>) -> bool {
    let different: BTreeSet<&str> = values.map(LogNumber::text).collect();
    different.into_iter().map(digits).sum::<usize>() >= DIGITS
}

/// The number of significant digits in a printed number.
fn digits(text: &str) -> usize {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.chars().filter(char::is_ascii_digit);
    digits.skip_while(|digit| *digit == '0').count()
}

/// Remembers the values of all runs to recognize a run that shares most of its course with another.
#[derive(Debug, Default)]
pub struct KnownCourses {
    runs: Vec<(usize, MetricCourse)>,
    at: HashMap<(Option<u64>, u64), Vec<usize>>,
}

impl KnownCourses {
    /// Finds the run that a course belongs to, and whether it is the whole run: either an equal course, or one that
    /// shares at least half of the values at the same steps. Runs that continue from one checkpoint share the noise up
    /// to it. For values that can match by chance, `differs` compares the rest of the runs.
    pub fn seen(
        &self,
        course: &MetricCourse,
        differs: &dyn Fn(usize) -> bool,
    ) -> Option<(usize, bool)> {
        let is_same = |(run, known): &&(usize, MetricCourse)| {
            known.is_copy_of(course) && (known.is_sure() && course.is_sure() || !differs(*run))
        };
        let copy = self.runs.iter().find(is_same);
        if let Some((run, _)) = copy {
            return Some((*run, true));
        }
        let mut shared: BTreeMap<usize, (usize, BTreeSet<u64>)> = BTreeMap::new();
        for (step, number) in &course.points {
            let (bits, word) = key(number);
            let known = self.at.get(&(*step, bits)).filter(|_| word.is_none());
            for at in known.into_iter().flatten() {
                let (count, values) = shared.entry(*at).or_default();
                *count += 1;
                if digits(number.text()) >= LONG {
                    values.insert(bits);
                }
            }
        }
        shared.into_iter().find_map(|(at, (count, values))| {
            let (run, known) = self.runs.get(at)?;
            let shorter = known.points.len().min(course.points.len());
            let is_shared = count * 2 >= shorter && values.len() >= VALUES;
            (is_shared && (values.len() >= SURE || !differs(*run))).then_some((*run, false))
        })
    }

    /// The course of a remembered run.
    pub fn of(&self, run: usize) -> Option<&MetricCourse> {
        self.runs.iter().find(|(known, _)| *known == run).map(|(_, course)| course)
    }

    /// Remembers a run's course.
    pub fn add(&mut self, run: usize, course: MetricCourse) {
        let at = self.runs.len();
        for (step, number) in &course.points {
            let (bits, word) = key(number);
            if word.is_none() {
                self.at.entry((*step, bits)).or_default().push(at);
            }
        }
        self.runs.push((run, course));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(values: &[&str]) -> MetricCourse {
        let number = |text: &&str| LogNumber::parse(text.as_bytes()).unwrap();
        let points = (1_u64..).map(|step| Some(step * 10)).zip(values.iter().map(number));
        MetricCourse {
            name: "val_loss".to_owned(),
            kind: CourseKind::Evaluation,
            points: points.collect(),
        }
    }

    #[test]
    fn copies_are_told_from_chance() {
        let long = course(&["5.0", "4.0", "3.5", "3.2"]);
        assert!(long.is_copy_of(&course(&["5.00", "4.00", "3.50", "3.20"])));
        assert!(!long.is_copy_of(&course(&["5.0", "4.0", "3.5", "3.3"])));
        assert!(!long.is_copy_of(&course(&["5.0", "4.0", "3.5"])));
        // One value with few digits, or one value repeated.
        assert!(!course(&["3.279"]).is_copy_of(&course(&["3.279"])));
        assert!(course(&["0.25851234"]).is_copy_of(&course(&["0.25851234"])));
        // Two trackers of one run, and a seed with similar values.
        let whole = course(&["5.01234", "4.98765", "4.55555", "4.21219"]);
        assert!(whole.is_copy_of(&course(&["5.0123", "4.9877", "4.5556", "4.2122"])));
        assert!(whole.is_copy_of(&course(&[
            "5.012340068",
            "4.987649917",
            "4.555550098",
            "4.212190151"
        ])));
        assert!(!whole.is_copy_of(&course(&["5.0123", "4.9877", "4.5556", "4.2123"])));
        assert!(
            !course(&["0.90", "0.91", "0.92", "0.93"])
                .is_copy_of(&course(&["0.901", "0.912", "0.921", "0.929"]))
        );
        // At different steps.
        let moved = |by: u64, values: &[&str]| {
            let course = course(values);
            let points =
                course.points.into_iter().map(|(step, number)| (step.map(|s| s + by), number));
            MetricCourse { points: points.collect(), ..course }
        };
        let values = ["5.012", "4.987", "4.555", "4.212"];
        assert!(course(&values).is_copy_of(&moved(1, &values)));
        assert!(!course(&values).is_copy_of(&moved(1, &["5.012", "4.987", "4.555", "4.213"])));
        assert!(!course(&values[1..]).is_copy_of(&moved(10, &values[1..])));
        assert!(
            !course(&["5.0", "4.0", "3.5", "3.2"])
                .is_copy_of(&moved(1, &["5.0", "4.0", "3.5", "3.2"]))
        );
        let flat = course(&["1.000"; 9]);
        assert!(!flat.is_copy_of(&flat.clone()));
    }

    #[test]
    fn half_of_a_course_is_of_one_run() {
        let mut known = KnownCourses::default();
        known.add(7, course(&["5.031", "4.122", "3.853", "3.744", "3.633", "3.520"]));
        let branch = course(&["5.031", "4.122", "3.853", "3.744", "3.611", "3.502"]);
        assert_eq!(known.seen(&branch, &|_| false), Some((7, false)));
        let cut = course(&["5.031", "4.122", "3.853", "3.744"]);
        assert_eq!(known.seen(&cut, &|_| false), Some((7, false)));
        let start = course(&["5.031", "4.122", "3.850", "3.741", "3.611", "3.502"]);
        assert_eq!(known.seen(&start, &|_| false), None);
        let same = course(&["5.031", "4.122", "3.853", "3.744", "3.633", "3.52"]);
        assert_eq!(known.seen(&same, &|_| false), Some((7, true)));
        // Few digits match by chance.
        let mut coarse = KnownCourses::default();
        coarse.add(0, course(&["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]));
        assert_eq!(
            coarse.seen(&course(&["0.1", "0.2", "0.3", "0.4", "0.5", "0.7"]), &|_| false),
            None
        );
    }
}
