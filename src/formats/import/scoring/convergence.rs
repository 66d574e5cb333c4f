//! The reference convergence check of MLPerf Training, which finds runs that converge implausibly fast.
//!
//! For some batch sizes, the reference lists how much training many runs needed to reach the target. For each batch
//! size, m is the mean without the k least and k most, s the standard deviation of all runs with divisor n - 1, and n
//! the number of runs behind m. A submission of N runs (after dropping) must need, on average, at least
//!
//! `m - t(0.95; n + N - 2) s sqrt(1/n + 1/N)`,
//!
//! the smallest mean that a one-sided t test with equal variances does not reject at 5%. The rules first remove some
//! points: those with batch sizes below the fastest-converging one, and those that converge more slowly than the line
//! between their neighbors. Between two points, m and s are interpolated, with the smaller n. Below the smallest batch
//! size, its point is used; above the largest, the check cannot decide. A submission that is faster than m, but not too
//! fast, is scaled by m over its own mean. The official checker computes s with divisor n, which underestimates the
//! standard deviation and rejects too much; the report shows both limits and points out disagreements. At interpolated
//! points the checker also counts the runs of a submission twice, however many runs the points have.

use std::path::Path;

use crate::import::timed::{ProgressUnit, Timed};
use crate::import::{BAD_REFERENCE, counted};
use repro_core::source::{Document, Error, Node, Source};
use repro_stats::distribution::{StudentT, Symmetric};
use repro_stats::{Summary, mean};

/// The false rejection rate of the test.
const ALPHA: f64 = 0.05;

/// The amount of training that runs with one batch size needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The batch size.
    pub batch: u64,
    /// The amount of training for each run.
    pub values: Vec<f64>,
}

/// Reference convergence points of one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The file.
    pub file: String,
    /// The benchmark.
    pub benchmark: String,
    /// The unit of progress.
    pub measure: ProgressUnit,
    /// The points, by batch size.
    pub points: Vec<Point>,
}

/// The point that a submission is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// The point for its own batch size.
    Same,
    /// The line between the points of two batch sizes.
    Between(u64, u64),
    /// The point of the smallest batch size, which is larger than the submission's.
    Smallest(u64),
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConvergenceVerdict {
    /// As slow as the reference, or slower.
    Passes,
    /// Faster than the reference, within chance; the score is scaled.
    Scaled,
    /// Faster than chance allows.
    TooFast,
    /// The reference cannot decide.
    Undecided,
}

impl ConvergenceVerdict {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Scaled => "passes, scaled",
            Self::TooFast => "too fast",
            Self::Undecided => "undecided",
        }
    }
}

/// A submission compared with its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Convergence {
    /// The unit of progress.
    pub measure: ProgressUnit,
    /// The point.
    pub against: Against,
    /// The mean of the reference.
    pub reference: f64,
    /// The standard deviation of the reference.
    pub sd: f64,
    /// The runs behind the mean of the reference.
    pub reference_runs: usize,
    /// The mean of the submission.
    pub submission: f64,
    /// The runs behind it.
    pub runs: usize,
    /// The smallest mean that passes.
    pub least: f64,
    /// The smallest mean that passes the official checker.
    pub least_population: f64,
    /// The result.
    pub verdict: ConvergenceVerdict,
    /// The factor that compensates for fast convergence.
    pub factor: f64,
}

impl Reference {
    /// Reads a file of reference points.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        Self::parse(&Document::parse_json(Source::load(path, file)?)?)
    }

    /// Reads a document of reference points.
    pub fn parse(document: &Document) -> Result<Self, Error> {
        let root = document.root();
        let mut reference: Option<Self> = None;
        for (_, entry) in root.members()? {
            let (benchmark, measure, point) = point(entry)?;
            let reference = reference.get_or_insert_with(|| Self {
                file: document.source.name().to_owned(),
                benchmark: benchmark.to_owned(),
                measure,
                points: Vec::new(),
            });
            if reference.benchmark != benchmark || reference.measure != measure {
                let expected =
                    format!("points of `{}` in {}", reference.benchmark, reference.measure.word());
                let found = format!("`{benchmark}` in {}", measure.word());
                return Err(BAD_REFERENCE.at(entry.place(), expected, found));
            }
            if reference.points.iter().any(|other| other.batch == point.batch) {
                let found = format!("{} a second time", point.batch);
                return Err(BAD_REFERENCE.at(
                    entry.required("BS")?.place(),
                    "each batch size only once",
                    found,
                ));
            }
            reference.points.push(point);
        }
        let mut reference =
            reference.ok_or_else(|| BAD_REFERENCE.at(root.place(), "a point", "none"))?;
        reference.points.sort_by_key(|point| point.batch);
        Ok(reference)
    }

    /// Compares the runs of a submission, without the dropped ones, with the reference.
    pub(super) fn check(
        &self,
        of: &Timed,
        kept: &[f64],
        dropped: usize,
    ) -> Result<Convergence, String> {
        if of.benchmark != self.benchmark {
            return Err(format!("the reference is for `{}`", self.benchmark));
        }
        let curves: Result<Vec<_>, _> =
            self.points.iter().map(|point| Curve::of(point, dropped)).collect();
        let (curve, against) = locate(&thinned(curves?), of.batch)?;
        let submission = mean(kept).map_err(|why| why.to_string())?;
        let least = curve.least(curve.sd, kept.len())?;
        let least_population = curve.least(curve.population_sd, kept.len())?;
        let verdict = match against {
            _ if submission >= curve.mean => ConvergenceVerdict::Passes,
            _ if submission >= least => ConvergenceVerdict::Scaled,
            // A smaller batch may converge faster than the smallest point does.
            Against::Smallest(_) => ConvergenceVerdict::Undecided,
            _ => ConvergenceVerdict::TooFast,
        };
        Ok(Convergence {
            measure: self.measure,
            against,
            reference: curve.mean,
            sd: curve.sd,
            reference_runs: curve.runs,
            submission,
            runs: kept.len(),
            least,
            least_population,
            verdict,
            factor: (curve.mean / submission).max(1.0),
        })
    }
}

fn point(entry: Node<'_>) -> Result<(&str, ProgressUnit, Point), Error> {
    let benchmark = entry.required("Benchmark")?.text()?;
    let batch = entry.required("BS")?;
    let known = [
        ("samples to converge", ProgressUnit::Samples),
        ("Epochs to converge", ProgressUnit::Epochs),
    ];
    let found = known.iter().find_map(|(key, measure)| Some((entry.get(key)?, *measure)));
    let Some((list, measure)) = found else {
        return Err(BAD_REFERENCE.at(
            entry.place(),
            "`samples to converge` or `Epochs to converge`",
            "neither",
        ));
    };
    let values: Vec<f64> = list.items()?.map(Node::float).collect::<Result<_, _>>()?;
    if values.iter().any(|value| *value <= 0.0) {
        return Err(BAD_REFERENCE.at(list.place(), "positive numbers", "a different value"));
    }
    if values.len() < 3 {
        return Err(BAD_REFERENCE.at(
            list.place(),
            "at least three runs",
            counted(values.len(), "run"),
        ));
    }
    let size = batch.integer()?;
    if size == 0 {
        return Err(BAD_REFERENCE.at(batch.place(), "a positive batch size", "0"));
    }
    Ok((benchmark, measure, Point { batch: size, values }))
}

/// The statistics of a point, or interpolated between two.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Curve {
    batch: u64,
    mean: f64,
    sd: f64,
    population_sd: f64,
    runs: usize,
}

impl Curve {
    fn of(point: &Point, dropped: usize) -> Result<Self, String> {
        let refused = |why: repro_stats::Refused| why.to_string();
        let mut sorted = point.values.clone();
        sorted.sort_by(f64::total_cmp);
        let kept: Vec<_> = sorted
            .iter()
            .copied()
            .skip(dropped)
            .take(sorted.len().saturating_sub(2 * dropped))
            .collect();
        let summary = Summary::of(&sorted).map_err(refused)?;
        let mean = mean(&kept).map_err(refused)?;
        Ok(Self {
            batch: point.batch,
            mean,
            sd: summary.sd,
            population_sd: summary.population_sd(),
            runs: kept.len(),
        })
    }

    fn between(low: &Self, high: &Self, batch: u64) -> Self {
        let share = (batch - low.batch) as f64 / (high.batch - low.batch) as f64;
        let at = |low: f64, high: f64| low + (high - low) * share;
        Self {
            batch,
            mean: at(low.mean, high.mean),
            sd: at(low.sd, high.sd),
            population_sd: at(low.population_sd, high.population_sd),
            runs: low.runs.min(high.runs),
        }
    }

    /// The smallest mean of `runs` runs that passes the test.
    fn least(&self, sd: f64, runs: usize) -> Result<f64, String> {
        let df = (self.runs + runs) as f64 - 2.0;
        let distribution = StudentT::new(df).map_err(|why| why.to_string())?;
        let quantile = distribution.upper_quantile(ALPHA).map_err(|why| why.to_string())?;
        let reach = quantile * (1.0 / self.runs as f64 + 1.0 / runs as f64).sqrt();
        Ok(self.mean - reach * sd)
    }
}

/// The points that the rules keep.
fn thinned(mut curves: Vec<Curve>) -> Vec<Curve> {
    let fastest = curves
        .iter()
        .min_by(|one, other| one.mean.total_cmp(&other.mean))
        .map_or(0, |curve| curve.batch);
    curves.retain(|curve| curve.batch >= fastest);
    let mut at = 1;
    while let Some([low, middle, high]) = curves.get(at - 1..at + 2) {
        if middle.mean > Curve::between(low, high, middle.batch).mean {
            curves.remove(at);
        } else {
            at += 1;
        }
    }
    curves
}

/// The reference for a batch size.
fn locate(curves: &[Curve], batch: u64) -> Result<(Curve, Against), String> {
    let above = curves.partition_point(|curve| curve.batch < batch);
    let (low, high) = (above.checked_sub(1).and_then(|at| curves.get(at)), curves.get(above));
    match (low, high) {
        (_, Some(same)) if same.batch == batch => Ok((*same, Against::Same)),
        (Some(low), Some(high)) => {
            Ok((Curve::between(low, high, batch), Against::Between(low.batch, high.batch)))
        }
        (None, Some(smallest)) => Ok((*smallest, Against::Smallest(smallest.batch))),
        (_, None) => Err(format!("the reference has no point at batch size {batch} or above")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reference(points: &[(u64, &[f64])]) -> Reference {
        let points = points
            .iter()
            .map(|(batch, values)| Point { batch: *batch, values: values.to_vec() })
            .collect();
        Reference {
            file: "r.json".into(),
            benchmark: "b".into(),
            measure: ProgressUnit::Samples,
            points,
        }
    }

    fn timed(batch: u64) -> Timed {
        Timed {
            benchmark: "b".into(),
            organisation: None,
            platform: None,
            batch,
            milliseconds: None,
            success: true,
            converged: Vec::new(),
        }
    }

    const RUNS: [f64; 7] = [90.0, 95.0, 100.0, 100.0, 100.0, 105.0, 110.0];

    #[test]
    fn the_least_mean_is_where_the_test_stops_rejecting() {
        let reference = reference(&[(8, &RUNS)]);
        let check = |values: &[f64]| reference.check(&timed(8), values, 1).unwrap();
        let found = check(&[99.0, 97.0, 98.0]);
        // s = sqrt(250 / 6); t(0.95; 6) = 1.9431802804 (scipy); 100 - t s sqrt(1/5 + 1/3).
        assert!((found.least - 90.839_760).abs() < 1e-5, "{}", found.least);
        assert!((found.least_population - 91.519_266).abs() < 1e-5, "{}", found.least_population);
        assert_eq!(
            (found.reference, found.submission, found.verdict),
            (100.0, 98.0, ConvergenceVerdict::Scaled)
        );
        assert!((found.factor - 100.0 / 98.0).abs() < 1e-15);
        assert_eq!(check(&[101.0, 100.0, 99.0]).verdict, ConvergenceVerdict::Passes);
        assert_eq!(check(&[101.0, 100.0, 99.0]).factor, 1.0);
        assert_eq!(check(&[90.0, 91.0, 90.0]).verdict, ConvergenceVerdict::TooFast);
    }

    #[test]
    fn between_two_points_the_line_stands_in() {
        let doubled = RUNS.map(|value| 2.0 * value);
        let reference = reference(&[(8, &RUNS), (16, &doubled)]);
        let check = |batch| reference.check(&timed(batch), &[150.0, 150.0, 150.0], 1);
        let found = check(12).unwrap();
        assert_eq!((found.reference, found.against), (150.0, Against::Between(8, 16)));
        assert!((found.sd - 1.5 * (250.0_f64 / 6.0).sqrt()).abs() < 1e-12);
        assert_eq!(check(4).unwrap().against, Against::Smallest(8));
        assert_eq!(check(32).unwrap_err(), "the reference has no point at batch size 32 or above");
        let fast = reference.check(&timed(4), &[50.0, 50.0, 50.0], 1).unwrap();
        assert_eq!(fast.verdict, ConvergenceVerdict::Undecided);
    }

    #[test]
    fn slow_points_are_thinned_out() {
        let slow = RUNS.map(|value| 1.9 * value);
        let (double, triple) = (RUNS.map(|value| 2.0 * value), RUNS.map(|value| 3.0 * value));
        let points =
            reference(&[(4, &double), (8, &RUNS), (12, &slow), (16, &double), (24, &triple)]);
        let curves = points.points.iter().map(|point| Curve::of(point, 1).unwrap()).collect();
        let kept: Vec<_> = thinned(curves).iter().map(|curve| curve.batch).collect();
        assert_eq!(kept, [8, 16, 24]);
    }

    #[test]
    fn other_references_do_not_fit() {
        let reference = reference(&[(8, &RUNS)]);
        let other = Timed { benchmark: "c".into(), ..timed(8) };
        assert_eq!(reference.check(&other, &[1.0], 1).unwrap_err(), "the reference is for `b`");
    }

    #[test]
    fn files_are_read_strictly() {
        let parse = |value: serde_json::Value| {
            let source = Source::new("r.json", value.to_string().into_bytes()).unwrap();
            Reference::parse(&Document::parse_json(source).unwrap())
        };
        let point = |bench: &str, batch: u64| json!({"Benchmark": bench, "BS": batch, "Epochs to converge": [3, 2.5, 3], "When": "x"});
        let good = parse(json!({"b": point("a", 16), "a": point("a", 8)})).unwrap();
        assert_eq!((good.measure, good.points[0].batch), (ProgressUnit::Epochs, 8));
        for (value, code, pointer) in [
            (json!({}), "import::bad-reference", ""),
            (json!({"a": point("a", 8), "b": point("b", 16)}), "import::bad-reference", "/b"),
            (json!({"a": point("a", 8), "b": point("a", 8)}), "import::bad-reference", "/b/BS"),
            (json!({"a": point("a", 0)}), "import::bad-reference", "/a/BS"),
            (json!({"a": {"Benchmark": "a", "BS": 1}}), "import::bad-reference", "/a"),
            (
                json!({"a": {"Benchmark": "a", "BS": 1, "samples to converge": [1, 2]}}),
                "import::bad-reference",
                "/a/samples to converge",
            ),
            (
                json!({"a": {"Benchmark": "a", "BS": 1, "samples to converge": [1, 2, -1]}}),
                "import::bad-reference",
                "/a/samples to converge",
            ),
            (json!({"a": {"BS": 1}}), "source::missing-field", "/a"),
        ] {
            let error = parse(value).unwrap_err();
            assert_eq!((error.code.id, error.place.pointer.as_str()), (code, pointer), "{error}");
        }
    }
}
