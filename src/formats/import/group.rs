//! Groups of runs: which runs count, and the group's figures.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::format::LogFormat;
use super::run::{LoggedRun, Metric};
use super::{
    ALSO_ELSEWHERE, EARLY_STOP, ImportOptions, NO_FINAL_VALIDATION, NOT_FINITE, SAME_BYTES,
    SAME_LOSSES, SAME_METRICS, SAME_SEED, counted, scoring,
};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location};
use repro_stats::{self as stats, Refused, Summary, T};

/// Runs imported as a group.
#[derive(Debug, Clone)]
pub struct LogGroup {
    /// Its name.
    pub name: String,
    /// The format of its logs.
    pub format: LogFormat,
    /// Its runs, by file.
    pub runs: Vec<LoggedRun>,
    /// Its figures.
    pub figures: Figures,
}

/// The figures of a group.
#[derive(Debug, Clone)]
pub enum Figures {
    /// Final validation losses.
    Losses(Losses),
    /// Times to a target.
    Score(Box<scoring::MlperfScore>),
}

/// The final validation losses of the counted runs.
#[derive(Debug, Clone)]
pub struct Losses {
    /// The losses, in run order.
    pub values: Vec<f64>,
    /// Their mean.
    pub mean: Result<f64, NoFigure>,
    /// Number, mean and standard deviation.
    pub summary: Result<Summary, NoFigure>,
    /// The test against the target, if given.
    pub test: Option<Result<T, NoFigure>>,
}

/// The reason why a group has no figure.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoFigure {
    /// The runs have different planned lengths.
    #[error("the runs have different lengths: {0}")]
    Mixed(String),
    /// The values do not define a figure.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl LogGroup {
    /// Decides which runs count, and computes the figures.
    pub fn new(
        format: LogFormat,
        name: String,
        mut runs: Vec<LoggedRun>,
        options: &ImportOptions,
    ) -> Result<Self, Error> {
        if format == LogFormat::Mlperf {
            duplicates(&mut runs);
            let figures = Figures::Score(Box::new(scoring::MlperfScore::of(&mut runs, options)?));
            return Ok(Self { name, format, runs, figures });
        }
        // Runs without any validation loss are compared by their other metrics.
        let validates = runs.iter().any(LoggedRun::validates);
        for run in &mut runs {
            ending(run, validates);
        }
        duplicates(&mut runs);
        let figures = Figures::Losses(losses(&runs, options.target));
        Ok(Self { name, format, runs, figures })
    }

    /// The number of counted runs.
    pub fn counted(&self) -> usize {
        self.runs.iter().filter(|run| run.counts()).count()
    }
}

/// Excludes copies from the figures: of runs with the same file, log, loss course or seed, the first counts. A seed may
/// reappear if its earlier run does not count.
fn duplicates(runs: &mut [LoggedRun]) {
    let mut logs: BTreeMap<Digest, usize> = BTreeMap::new();
    let mut curves: BTreeMap<String, usize> = BTreeMap::new();
    let mut seeds: BTreeMap<String, usize> = BTreeMap::new();
    for at in 0..runs.len() {
        let Some(run) = runs.get(at) else { continue };
        let (metrics, seed) = (run.metrics_sha256, seed_of(run));
        let of = |first: &usize| runs.get(*first).map(|first| (first, first.file.clone()));
        let copied = logs.get(&metrics).and_then(of).map(|(first, file)| {
            // Only logs of equal length can be equal, so only those are compared.
            let equal = first.identity.bytes == run.identity.bytes
                && first.sha256().is_ok_and(|digest| run.sha256() == Ok(digest));
            if equal {
                (&SAME_BYTES, format!("the same bytes as `{file}`"))
            } else {
                (&SAME_METRICS, format!("the same metric lines as `{file}`"))
            }
        });
        let curve = run.curve();
        let traced = curve.as_ref().and_then(|curve| of(curves.get(curve)?));
        let traced = traced.map(|(_, file)| (&SAME_LOSSES, format!("the same losses as `{file}`")));
        let again = seed.as_ref().and_then(|seed| Some((seed, of(seeds.get(seed)?)?)));
        let told = run.seed.as_deref().unwrap_or_default();
        let again =
            again.map(|(_, (_, file))| (&SAME_SEED, format!("the same seed ({told}) as `{file}`")));
        let place = Location::file(run.file.as_str());
        match copied.or(traced).or(again) {
            Some((code, found)) => {
                if let Some(run) = runs.get_mut(at) {
                    run.exclude(code.at(place, "an independent run", found));
                }
            }
            None => {
                logs.insert(metrics, at);
                curves.extend(curve.map(|curve| (curve, at)));
                seeds.extend(seed.map(|seed| (seed, at)));
            }
        }
    }
}

/// The seed of a counted run, with its settings: the same seed with different settings is a different run.
fn seed_of(run: &LoggedRun) -> Option<String> {
    let seed = run.seed.as_ref().filter(|_| run.counts())?;
    Some(format!("{seed} {}", Json::Object(run.config.clone())))
}

/// Notes runs that are in several groups; they stay in the figures of each.
pub fn across(groups: &mut [LogGroup]) {
    let mut first: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (at, group) in groups.iter_mut().enumerate() {
        let name = group.name.clone();
        for run in &mut group.runs {
            let key = run.metrics_sha256.to_string();
            match first.get(&key) {
                Some((other, place)) if *other != at => {
                    let found = format!("the same metric lines as `{place}`");
                    let expected = format!("a run that is only in `{name}`");
                    let place = Location::file(run.file.as_str());
                    run.note(ALSO_ELSEWHERE.at(place, expected, found));
                }
                Some(_) => {}
                None => {
                    first.insert(key, (at, run.file.clone()));
                }
            }
        }
    }
}

/// Excludes a run without a final validation loss from the figures.
fn ending(run: &mut LoggedRun, validates: bool) {
    let place = || Location::file(run.file.as_str());
    let Some(last) = run.last_step() else { return };
    let error: Option<Error> = match (run.planned, run.final_loss()) {
        (Some(planned), _) if last < planned => {
            let expected = format!("a run to step {planned}");
            Some(EARLY_STOP.at(place(), expected, format!("{last} as the last step")))
        }
        (_, None) if !validates => None,
        (_, None) => {
            let found = match run
                .evaluations
                .iter()
                .rfind(|row| row.get(&Metric::ValidationLoss).is_some())
            {
                Some(row) => format!("the last one at step {}", row.step),
                None => "none".to_owned(),
            };
            let expected = format!("a validation loss at the last step, {last}");
            Some(NO_FINAL_VALIDATION.at(place(), expected, found))
        }
        (_, Some(loss)) => loss.nonfinite().map(|word| {
            NOT_FINITE.at(place(), "a finite final loss", format!("`{word}` at step {last}"))
        }),
    };
    if let Some(error) = error {
        run.exclude(error);
    }
}

fn losses(runs: &[LoggedRun], target: Option<f64>) -> Losses {
    let counting: Vec<_> = runs.iter().filter(|run| run.counts()).collect();
    let values: Vec<f64> = counting.iter().filter_map(|run| run.final_loss()?.value()).collect();
    let mut lengths: BTreeMap<u64, usize> = BTreeMap::new();
    for run in &counting {
        *lengths.entry(run.planned.or_else(|| run.last_step()).unwrap_or_default()).or_default() +=
            1;
    }
    if lengths.len() > 1 {
        let parts: Vec<_> = lengths
            .iter()
            .map(|(steps, runs)| format!("{} of {steps} steps", counted(*runs, "run")))
            .collect();
        let why = NoFigure::Mixed(parts.join(", "));
        let test = target.map(|_| Err(why.clone()));
        return Losses { values, mean: Err(why.clone()), summary: Err(why), test };
    }
    let summary = Summary::of(&values).map_err(NoFigure::from);
    let mean = stats::mean(&values).map_err(NoFigure::from);
    let test =
        target.map(|target| Ok(stats::one_sample_of(&stats::Decimals::of(&values)?, target)?));
    Losses { values, mean, summary, test }
}

#[cfg(test)]
mod tests {
    use super::super::log::Identity;
    use super::super::run::{LogNumber, LogRow};
    use super::*;

    fn row(step: u64, loss: &str) -> LogRow {
        LogRow {
            step,
            cells: vec![(Metric::ValidationLoss, LogNumber::parse(loss.as_bytes()).unwrap())],
        }
    }

    fn run(file: &str, steps: u64, loss: &str) -> LoggedRun {
        let digest = Digest::of(file.as_bytes());
        let mut run = LoggedRun::new(file, Identity { sha256: Some(digest), bytes: 1 }, digest);
        run.planned = Some(50);
        run.evaluations = vec![row(0, "10.8"), row(steps, loss)];
        run
    }

    fn group(runs: Vec<LoggedRun>, target: Option<f64>) -> LogGroup {
        let options = ImportOptions { target, ..ImportOptions::default() };
        LogGroup::new(LogFormat::Speedrun, "g".to_owned(), runs, &options).unwrap()
    }

    fn codes(group: &LogGroup) -> Vec<Vec<&str>> {
        let codes =
            |run: &LoggedRun| run.findings.iter().map(|finding| finding.error.code.id).collect();
        group.runs.iter().map(codes).collect()
    }

    fn losses(group: &LogGroup) -> &Losses {
        match &group.figures {
            Figures::Losses(losses) => losses,
            Figures::Score(_) => panic!("a score"),
        }
    }

    #[test]
    fn equal_losses_alone_make_no_copy() {
        let mut renamed = run("c", 50, "3.25");
        renamed.metrics_sha256 = Digest::of(b"a");
        let copy = LoggedRun { file: "d".into(), ..run("a", 50, "3.25") };
        let group =
            group(vec![run("a", 50, "3.25"), run("b", 50, "3.25"), renamed, copy], Some(3.5));
        assert_eq!(
            codes(&group),
            [vec![], vec![], vec!["import::same-metrics"], vec!["import::same-bytes"]]
        );
        assert_eq!(
            (losses(&group).values.as_slice(), group.counted()),
            ([3.25, 3.25].as_slice(), 2)
        );
        let why = losses(&group).test.as_ref().unwrap().as_ref().unwrap_err();
        assert_eq!(*why, NoFigure::Refused(Refused::NoSpread));
    }

    #[test]
    fn one_course_of_the_loss_is_one_run() {
        let course = |file: &str, losses: [&str; 4]| LoggedRun {
            evaluations: (1_u64..).zip(losses).map(|(step, loss)| row(step * 10, loss)).collect(),
            planned: Some(40),
            ..run(file, 40, "3.0")
        };
        let group = group(
            vec![
                course("a", ["5.0", "4.0", "3.5", "3.2"]),
                course("b", ["5.0", "4.1", "3.5", "3.2"]),
                course("c", ["5.0", "4.0", "3.5", "3.2"]),
            ],
            None,
        );
        assert_eq!(codes(&group), [vec![], vec![], vec!["import::same-losses"]]);
        assert!(group.runs[2].findings[0].error.found.contains("the same losses as `a`"));
    }

    #[test]
    fn seeds_count_once_unless_the_first_run_did_not() {
        let seeded = |file: &str, steps, seed: &str| LoggedRun {
            seed: Some(seed.to_owned()),
            ..run(file, steps, "3.25")
        };
        let group = group(
            vec![
                seeded("a", 25, "1"),
                seeded("b", 50, "1"),
                seeded("c", 50, "2"),
                seeded("d", 50, "2"),
            ],
            None,
        );
        assert_eq!(
            codes(&group),
            [vec!["import::early-stop"], vec![], vec![], vec!["import::same-seed"]]
        );
        assert!(group.runs[3].findings[0].error.found.contains("the same seed (2) as `c`"));
    }

    #[test]
    fn runs_without_a_final_loss_do_not_count() {
        let mut unvalidated = run("b", 50, "3.25");
        unvalidated.training = vec![row(51, "3.0")];
        unvalidated.planned = None;
        let group = group(vec![run("a", 50, "inf"), unvalidated, run("c", 50, "3.25")], None);
        assert_eq!(
            codes(&group),
            [vec!["import::not-finite"], vec!["import::no-final-validation"], vec![]]
        );
        assert_eq!(
            (losses(&group).mean.clone(), losses(&group).summary.is_err()),
            (Ok(3.25), true)
        );
    }

    #[test]
    fn runs_of_different_lengths_have_no_mean() {
        let longer = LoggedRun { planned: Some(60), ..run("b", 60, "3.0") };
        let group = group(vec![run("a", 50, "3.25"), longer], Some(3.5));
        let why = losses(&group).mean.as_ref().unwrap_err().to_string();
        assert_eq!(why, "the runs have different lengths: 1 run of 50 steps, 1 run of 60 steps");
        assert!(losses(&group).test.as_ref().unwrap().is_err());
    }

    #[test]
    fn a_run_in_two_groups_is_named() {
        let mut groups = [
            group(vec![run("a", 50, "3.25")], None),
            group(vec![run("b", 50, "3.0"), run("a", 50, "3.25")], None),
        ];
        across(&mut groups);
        assert_eq!(codes(&groups[0]), [Vec::<&str>::new()]);
        assert_eq!(codes(&groups[1]), [vec![], vec!["import::run-in-two-groups"]]);
        assert_eq!(groups[1].counted(), 2);
    }
}
