//! Runs that belong together: which of them count, and what they say as a group.

use std::collections::BTreeMap;

use super::run::{Column, Run};
use super::{
    ALSO_ELSEWHERE, EARLY_STOP, Format, NO_FINAL_VALIDATION, NOT_FINITE, Options, SAME_BYTES, SAME_METRICS,
    SAME_SEED, counted, score,
};
use crate::source::{Place, Refusal};
use crate::stats::{self, Refused, Summary, T};

/// Runs that were given together.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its runs, by file.
    pub runs: Vec<Run>,
    /// What they say together.
    pub figures: Figures,
}

/// What the runs of a group say together.
#[derive(Debug, Clone)]
pub enum Figures {
    /// Final validation losses.
    Losses(Losses),
    /// Times to a target.
    Score(score::Score),
}

/// The final validation losses of the runs that count.
#[derive(Debug, Clone)]
pub struct Losses {
    /// The losses, in the order of the runs.
    pub values: Vec<f64>,
    /// Their mean.
    pub mean: Result<f64, NoFigure>,
    /// Number, mean and spread.
    pub summary: Result<Summary, NoFigure>,
    /// The test against the target, where one was given.
    pub test: Option<Result<T, NoFigure>>,
}

/// Why a group has no figure.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoFigure {
    /// The runs were meant to be of different lengths.
    #[error("the runs have different lengths: {0}")]
    Mixed(String),
    /// The values do not give one.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl Group {
    /// Judges which runs count, and computes the figures.
    pub fn new(
        format: Format,
        name: String,
        mut runs: Vec<Run>,
        options: &Options,
    ) -> Result<Self, Refusal> {
        if format == Format::Mlperf {
            duplicates(&mut runs);
            let figures = Figures::Score(score::Score::of(&mut runs, options)?);
            return Ok(Self { name, runs, figures });
        }
        for run in &mut runs {
            ending(run);
        }
        duplicates(&mut runs);
        let figures = Figures::Losses(losses(&runs, options.target));
        Ok(Self { name, runs, figures })
    }

    /// How many runs count.
    pub fn counted(&self) -> usize {
        self.runs.iter().filter(|run| run.counts()).count()
    }
}

/// Takes copies out of the figures: of runs with one file, one log or one seed the first counts. A seed
/// may be used again after a run that does not count.
fn duplicates(runs: &mut [Run]) {
    let mut firsts: [BTreeMap<String, String>; 3] = Default::default();
    for run in runs {
        let keys = [
            (&SAME_BYTES, "the bytes".to_owned(), Some(run.identity.sha256.to_string())),
            (&SAME_METRICS, "the metric lines".to_owned(), Some(run.metrics_sha256.to_string())),
            (&SAME_SEED, "the seed".to_owned(), run.seed.clone().filter(|_| run.counts())),
        ];
        for ((code, what, key), firsts) in keys.into_iter().zip(&mut firsts) {
            let Some(key) = key else { continue };
            let Some(first) = firsts.get(&key) else {
                firsts.insert(key, run.file.clone());
                continue;
            };
            let seed = if *code == SAME_SEED { format!(" {key}") } else { String::new() };
            let found = format!("{what}{seed} of `{first}`");
            run.exclude(code.at(Place::file(run.file.as_str()), "a run of its own", found));
            // A copy of the bytes has the same lines and the same seed: one finding says it.
            break;
        }
    }
}

/// Notes runs that stand in several groups; they stay in the figures of each.
pub fn across(groups: &mut [Group]) {
    let mut first: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (at, group) in groups.iter_mut().enumerate() {
        let name = group.name.clone();
        for run in &mut group.runs {
            let key = run.metrics_sha256.to_string();
            match first.get(&key) {
                Some((other, place)) if *other != at => {
                    let found = format!("the metric lines of `{place}`");
                    let expected = format!("a run of `{name}` alone");
                    let place = Place::file(run.file.as_str());
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

/// Takes a run out of the figures that has no final validation loss.
fn ending(run: &mut Run) {
    let place = || Place::file(run.file.as_str());
    let Some(last) = run.last_step() else { return };
    let refusal: Option<Refusal> = match (run.planned, run.final_loss()) {
        (Some(planned), _) if last < planned => {
            let expected = format!("a run to step {planned}");
            Some(EARLY_STOP.at(place(), expected, format!("step {last} as the last one")))
        }
        (_, None) => {
            let found = match run.evaluations.iter().rfind(|row| row.get(&Column::ValidationLoss).is_some()) {
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
    if let Some(refusal) = refusal {
        run.exclude(refusal);
    }
}

fn losses(runs: &[Run], target: Option<f64>) -> Losses {
    let counting: Vec<_> = runs.iter().filter(|run| run.counts()).collect();
    let values: Vec<f64> =
        counting.iter().filter_map(|run| run.final_loss()?.value()).collect();
    let mut lengths: BTreeMap<u64, usize> = BTreeMap::new();
    for run in &counting {
        *lengths.entry(run.planned.or_else(|| run.last_step()).unwrap_or_default()).or_default() += 1;
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
    let test = target.map(|target| Ok(stats::one_sample(summary.as_ref().map_err(Clone::clone)?, target)?));
    Losses { values, mean, summary, test }
}
