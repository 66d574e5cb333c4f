//! The runs of a study in their order: first those that tune, then the rest, at the rates that these
//! choose. Runs train in parallel, each with its own threads; one that stops does not stop the others.

use std::path::Path;
use std::time::Duration;

use super::backend::Place;
use super::data::{Corpus, DataFolder};
use super::progress::{News, Watcher};
use super::run::{self, Context, Finished, finished_bundle, held_out, suite};
use super::{NO_THREADS, Suite, UNKNOWN_RUN};
use repro_bundle::bundle::{Environment, Trainer};
use repro_core::disk::LocalDisk;
use repro_core::parallel;
use repro_core::source::{Error, Location};
use repro_kernels::portable::isa::keeps_denormals;
use repro_model::study::{PlannedRun, RunKind, Study, Tuned};

/// How a study is trained.
pub struct Campaign<'a> {
    /// The study.
    pub study: &'a Study,
    /// The folder for the bundles.
    pub out: &'a Path,
    /// The folder in which the paths of the study begin.
    pub base: &'a Path,
    /// Names of runs, in which `*` stands for any text; all runs where there is none.
    pub only: &'a [String],
    /// Runs side by side.
    pub jobs: usize,
    /// Threads of each run.
    pub threads: usize,
    /// Where models live.
    pub place: Place,
    /// The commit of the study file.
    pub plan_commit: Option<String>,
    /// This program.
    pub trainer: Trainer,
    /// This machine.
    pub environment: Environment,
    /// Who is told what happens.
    pub watcher: &'a dyn Watcher,
    /// How long a run trains, at most, between two saved states.
    pub save_every: Duration,
}

/// The outcome of one run.
#[derive(Debug)]
pub struct RunOutcome {
    /// The run.
    pub run: PlannedRun,
    /// Its bundle, or why there is none.
    pub result: Result<Finished, Error>,
}

impl Campaign<'_> {
    /// Trains what was asked for. Where the rates of the final runs cannot be chosen, the outcomes of the
    /// runs before them come with the reason.
    pub fn train(&self) -> Result<(Vec<RunOutcome>, Option<Error>), Error> {
        self.check_names()?;
        let Some(first) = self.study.runs().first() else { return Ok((Vec::new(), None)) };
        if let Some(log) = &self.study.starts {
            log.check(self.base, "repro/studies", first.plan)?;
        }
        let config = first.document()?;
        let corpus =
            Corpus::load(config.root().required("data")?, &DataFolder::of_study(self.base))?;
        let suite = self.suite(&corpus)?;
        let context = Context {
            disk: &LocalDisk,
            place: self.place.clone(),
            corpus: &corpus,
            suite: suite.as_ref(),
            plan_commit: self.plan_commit.clone(),
            starts: self.study.starts.as_ref().map(|file| (file, self.base)),
            trainer: self.trainer.clone(),
            environment: Environment {
                threads: Some(self.threads as u64),
                ..self.environment.clone()
            },
            watcher: self.watcher,
            save_every: self.save_every,
        };
        let tuning: Vec<_> = self.study.tuning_runs().filter(|run| self.asked(run)).collect();
        let mut outcomes = self.side_by_side(tuning.into_iter().cloned().collect(), &context);
        let finals = |run: &PlannedRun| run.kind != RunKind::Tuning && self.asked(run);
        if !self.study.runs().iter().any(finals) {
            return Ok((outcomes, None));
        }
        match self.final_runs() {
            Ok(runs) => outcomes.extend(self.side_by_side(runs, &context)),
            Err(error) => return Ok((outcomes, Some(error))),
        }
        Ok((outcomes, None))
    }

    /// The final runs that were asked for, at the rates that the tuning runs in the folder choose.
    fn final_runs(&self) -> Result<Vec<PlannedRun>, Error> {
        let mut results = Vec::new();
        for run in self.study.tuning_runs() {
            let folder = self.out.join(&run.id);
            let Some(rate) = run.rate else { continue };
            let loss = match finished_bundle(&folder)? {
                Some(bundle) => held_out(&bundle)?.0,
                None => continue,
            };
            results.push(Tuned { arm: &run.arm, rate, loss });
        }
        let rates = self.study.rates(&results)?;
        Ok(self.study.final_runs(&rates).into_iter().filter(|run| self.asked(run)).collect())
    }

    /// The tasks of the runs that have some, which all have the same.
    fn suite(&self, corpus: &Corpus) -> Result<Option<Suite>, Error> {
        let examined = self.study.runs().iter().find(|run| run.config.contains_key("tasks"));
        let Some(run) = examined else { return Ok(None) };
        suite(run.document()?.root(), corpus, &DataFolder::of_study(self.base))
    }

    fn side_by_side(&self, runs: Vec<PlannedRun>, context: &Context<'_>) -> Vec<RunOutcome> {
        let results = parallel::map(&runs, self.jobs, |run| {
            let result = self.on_own_threads(|| run::run(run, self.out, context));
            if let Err(error) = &result {
                self.watcher.tell(&run.id, News::Stopped(error));
            }
            result
        });
        std::iter::zip(runs, results).map(|(run, result)| RunOutcome { run, result }).collect()
    }

    fn on_own_threads(
        &self,
        work: impl FnOnce() -> Result<Finished, Error> + Send,
    ) -> Result<Finished, Error> {
        let refuse = |expected: &str, found: String| {
            Err(NO_THREADS.at(Location::file("--threads"), expected, found))
        };
        let pool = match rayon::ThreadPoolBuilder::new().num_threads(self.threads).build() {
            Ok(pool) => pool,
            Err(error) => return refuse("threads for a run", error.to_string()),
        };
        if pool.broadcast(|_| keeps_denormals()).contains(&false) {
            return refuse(
                "threads that keep subnormal numbers",
                "a thread that flushes them to zero".to_owned(),
            );
        }
        pool.install(work)
    }

    fn asked(&self, run: &PlannedRun) -> bool {
        self.only.is_empty() || self.only.iter().any(|pattern| fits(pattern, &run.id))
    }

    /// Refuses names that no run has.
    fn check_names(&self) -> Result<(), Error> {
        let runs = self.study.runs();
        let none = |pattern: &&String| !runs.iter().any(|run| fits(pattern, &run.id));
        match self.only.iter().find(none) {
            None => Ok(()),
            Some(pattern) => {
                let expected = format!("a run of the study `{}`", self.study.id);
                Err(UNKNOWN_RUN.at(Location::file("--only"), expected, format!("`{pattern}`")))
            }
        }
    }
}

/// Whether a name follows a pattern, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| rest.get(at..).is_some_and(|rest| fits(after, rest)))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, wanted) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*-s1", "moe-small-s1", true),
            ("*-s1", "moe-small-s12", false),
            ("moe-*-s*", "moe-small-s1", true),
            ("*tune*", "x-tune-0.004", true),
            ("*tune*", "x-s1", false),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
