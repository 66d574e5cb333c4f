//! The score of a group of MLPerf runs: the olympic mean of their times to the target, scaled.
//!
//! From n runs the rules drop the k fastest and the k slowest (k = 1; 4 for unet3d). Runs that did not converge count
//! as slower than all others, so each takes one place among the slowest; with more than k of them there is no score.
//! The score is the mean of the remaining times in minutes, times the factor from a `scaling.json` beside the logs.
//! Everything is exact until printed.

use std::path::Path;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::convergence::{Convergence, ConvergenceVerdict, Reference};
use super::rules::rule;
use crate::import::run::LoggedRun;
use crate::import::timed::Timed;
use crate::import::{BAD_REFERENCE, FEW_RUNS, ImportOptions, MIXED_RUNS, SCALING_DIFFERS, counted};
use repro_core::decimal;
use repro_core::source::{Document, Error, Location, Source};

/// The file beside the logs that scales their score.
pub const SCALING: &str = "scaling.json";
/// The maximum difference between two equal factors, which files print as floats.
const FACTOR_NOISE: f64 = 1e-9;

/// The factor in a `scaling.json`, which a review committee adds to results that converge faster than the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// The file.
    pub file: String,
    /// The factor, as printed.
    pub text: String,
    factor: BigRational,
}

impl Scaling {
    /// Reads `{"scaling_factor": X}`.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        let document = Document::parse_json(Source::load(path, file.as_str())?)?;
        let node = document.root().required("scaling_factor")?;
        let (float, text) = (node.float()?, node.printed()?);
        let factor = decimal::Printed::parse(text).ok().map(|printed| printed.value().clone());
        match factor.filter(|_| float > 0.0) {
            Some(factor) => Ok(Self { file, text: text.to_owned(), factor }),
            None => Err(BAD_REFERENCE.at(node.place(), "a positive factor", format!("`{text}`"))),
        }
    }

    /// The factor beside the logs, if there is one.
    fn beside(run: &LoggedRun) -> Result<Option<Self>, Error> {
        let path = Path::new(&run.file).with_file_name(SCALING);
        if path.is_file() { Self::load(&path).map(Some) } else { Ok(None) }
    }
}

/// The score of a group.
#[derive(Debug, Clone)]
pub struct MlperfScore {
    /// The properties shared by all runs in the group.
    pub of: Timed,
    /// The number of fastest and of slowest runs that are dropped.
    pub dropped: usize,
    /// The number of runs that did not converge.
    pub failed: usize,
    /// The number of runs behind the mean.
    pub kept: usize,
    /// The olympic mean in minutes, or the reason why there is none.
    pub minutes: Result<BigRational, String>,
    /// The factor.
    pub scaling: Option<Scaling>,
    /// The comparison with the reference convergence.
    pub convergence: Option<Result<Convergence, String>>,
    /// The oddities of the group.
    pub findings: Vec<Error>,
}

impl MlperfScore {
    /// Computes the score of runs, which must share one system, benchmark and batch size.
    pub fn of(runs: &mut [LoggedRun], options: &ImportOptions) -> Result<Self, Error> {
        let of = uniform(runs)?;
        let rule = rule(&of.benchmark);
        let dropped = rule.map_or(1, |rule| rule.dropped);
        let failed = runs.iter().filter(|run| is_failed(run)).count();
        let counting = runs.iter().filter(|run| run.counts());
        let counting: Vec<&Timed> = counting.filter_map(|run| run.timed.as_ref()).collect();
        let times = counting.iter().filter_map(|timed| timed.milliseconds).collect();
        let kept = olympic(times, dropped, failed);
        let reference = options.reference.as_ref();
        let convergence =
            reference.map(|reference| converged(reference, &of, &counting, dropped, failed));
        let scaling = match (&options.scaling, runs.first()) {
            (Some(scaling), _) => Some(scaling.clone()),
            (None, Some(run)) => Scaling::beside(run)?,
            (None, None) => None,
        };
        let place = || Location::file(runs.first().map_or("", |run| run.file.as_str()));
        let mut findings = Vec::new();
        let found = counting.len() + failed;
        if let Some(rule) = rule.filter(|rule| rule.runs != found) {
            let expected = format!("{} of `{}`", counted(rule.runs, "run"), rule.benchmark);
            findings.push(FEW_RUNS.at(place(), expected, found.to_string()));
        }
        if let Some(Ok(found)) = &convergence {
            findings.extend(scaling_differs(found, scaling.as_ref(), place()));
        }
        let length = kept.as_ref().map_or(0, Vec::len);
        let minutes = kept.map(|kept| {
            let sum: BigInt = kept.iter().map(|time| BigInt::from(*time)).sum();
            BigRational::new(sum, BigInt::from(kept.len()) * 60_000)
        });
        Ok(Self { of, dropped, failed, kept: length, minutes, scaling, convergence, findings })
    }

    /// The score: minutes times the factor.
    pub fn scaled(&self) -> Option<BigRational> {
        let minutes = self.minutes.as_ref().ok()?;
        Some(
            self.scaling
                .as_ref()
                .map_or_else(|| minutes.clone(), |scaling| minutes * &scaling.factor),
        )
    }
}

/// Compares the converged runs with the reference.
fn converged(
    reference: &Reference,
    of: &Timed,
    counting: &[&Timed],
    dropped: usize,
    failed: usize,
) -> Result<Convergence, String> {
    let measure = reference.measure;
    let amount = |timed: &&Timed| {
        timed.converged.iter().find(|(other, _)| *other == measure).map(|(_, amount)| *amount)
    };
    let amounts: Option<Vec<f64>> = counting.iter().map(amount).collect();
    let amounts = amounts.ok_or_else(|| format!("a run does not report {}", measure.word()))?;
    reference.check(of, &olympic_floats(amounts, dropped, failed)?, dropped)
}

/// Reports a factor beside the logs that differs from the one the reference requires.
fn scaling_differs(
    found: &Convergence,
    scaling: Option<&Scaling>,
    place: Location,
) -> Option<Error> {
    let factor = scaling.map_or(1.0, |scaling| decimal::nearest_f64(&scaling.factor));
    let agrees = (factor - found.factor).abs() <= FACTOR_NOISE * found.factor;
    let decided = matches!(found.verdict, ConvergenceVerdict::Passes | ConvergenceVerdict::Scaled);
    let place = scaling.map_or(place, |scaling| Location::file(scaling.file.as_str()));
    let expected = format!("the factor {:.9}", found.factor);
    (decided && !agrees).then(|| SCALING_DIFFERS.at(place, expected, format!("{factor:.9}")))
}

/// Whether a run did not converge and takes a place among the slowest.
fn is_failed(run: &LoggedRun) -> bool {
    run.findings.iter().any(|finding| {
        [&crate::import::NOT_CONVERGED, &crate::import::TARGET_MISSED].contains(&finding.error.code)
    })
}

/// The properties shared by all runs, or an error for the first run that differs.
fn uniform(runs: &[LoggedRun]) -> Result<Timed, Error> {
    let mut first: Option<&Timed> = None;
    for run in runs {
        let Some(timed) = &run.timed else { continue };
        let Some(first) = first else {
            first = Some(timed);
            continue;
        };
        let told = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        for (what, wanted, found) in [
            ("benchmark", first.benchmark.clone(), timed.benchmark.clone()),
            ("system", told(&first.platform), told(&timed.platform)),
            ("organization", told(&first.organisation), told(&timed.organisation)),
            ("global batch size", first.batch.to_string(), timed.batch.to_string()),
        ] {
            if wanted != found {
                let expected = format!("the {what} `{wanted}`, as in the other runs");
                return Err(MIXED_RUNS.at(
                    Location::file(run.file.as_str()),
                    expected,
                    format!("`{found}`"),
                ));
            }
        }
    }
    // A group has at least one run, and every MLPerf run has timing facts.
    first.cloned().ok_or_else(|| MIXED_RUNS.at(Location::default(), "a run", "none"))
}

/// Sorted values without the `dropped` first and last; `failed` runs count as slower than all values.
fn olympic<T: Ord>(mut values: Vec<T>, dropped: usize, failed: usize) -> Result<Vec<T>, String> {
    values.sort();
    let Some(slowest) = dropped.checked_sub(failed) else {
        return Err(format!(
            "{} did not converge; the rules drop {dropped}",
            counted(failed, "run")
        ));
    };
    let left = values.len().saturating_sub(dropped + slowest);
    if left == 0 {
        let found = counted(values.len() + failed, "run");
        return Err(format!("{found}, but the {dropped} fastest and slowest are dropped"));
    }
    Ok(values.into_iter().skip(dropped).take(left).collect())
}

/// [`olympic`] for finite floats.
fn olympic_floats(values: Vec<f64>, dropped: usize, failed: usize) -> Result<Vec<f64>, String> {
    // Nonnegative finite floats are ordered like their bits.
    let bits = values.into_iter().map(|value| value.max(0.0).to_bits()).collect();
    Ok(olympic(bits, dropped, failed)?.into_iter().map(f64::from_bits).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_and_the_slowest_are_dropped() {
        assert_eq!(olympic(vec![5, 1, 9, 3, 4], 1, 0), Ok(vec![3, 4, 5]));
        // The run that did not converge is the slowest one.
        assert_eq!(olympic(vec![5, 1, 9, 3], 1, 1), Ok(vec![3, 5, 9]));
        assert_eq!(
            olympic(vec![5, 1], 1, 0).unwrap_err(),
            "2 runs, but the 1 fastest and slowest are dropped"
        );
        assert_eq!(
            olympic(vec![5, 1, 2], 1, 2).unwrap_err(),
            "2 runs did not converge; the rules drop 1"
        );
        assert_eq!(olympic_floats(vec![2.5, 0.0, 1e9, 2.25], 1, 0), Ok(vec![2.25, 2.5]));
    }
}
