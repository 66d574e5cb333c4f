//! The runs of a study that were started, by the log that its plan names, against the bundles that are there.

use std::path::Path;

use repro_bundle::bundle::{Bundle, CONFIG};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, codes};
use repro_model::starts::{LoggedStart, StartsLog};
use repro_model::study::{Present, Study};
use repro_report::outcome::{Finding, Outcome, Severity};

codes! {
    NOT_LOGGED = "starts::not-logged", "the plan's start log does not contain this run's start", "restore the log, which is append-only";
    NOT_REPORTED = "starts::not-reported", "a run was started but has no bundle", "report the run, or state why it is not reported";
    AGAIN = "starts::restarted", "a run was started more than once", "state why it was restarted";
}

/// The started runs of a study.
#[derive(Debug)]
pub struct StartedRuns {
    /// The name of the log.
    name: String,
    log: StartsLog,
    /// Those without a bundle, each with whether the same run was made again and is reported.
    unreported: Vec<(LoggedStart, bool)>,
}

impl StartedRuns {
    /// Those of a study below `root`, where its plan names a log, given the bundles that are there.
    pub fn of(root: &Path, study: &Study, present: &[Present]) -> Result<Option<Self>, Error> {
        let Some(log) = study.started(root)? else { return Ok(None) };
        let own = present.iter().filter(|one| one.study == study.id);
        let known: Vec<_> = own.filter_map(|one| one.attempt).collect();
        let unreported = log.unreported(&known).into_iter();
        let unreported = unreported.map(|(start, again)| (start.clone(), again)).collect();
        let name = study.starts.as_ref().map(|file| file.name.clone()).unwrap_or_default();
        Ok(Some(Self { name, log, unreported }))
    }

    /// Whether the log has the start of a bundle, of this plan and this configuration.
    pub fn judged(&self, bundle: &Bundle) -> Outcome {
        let receipt = bundle.receipt();
        let refuted = |reason: String| Outcome::refuted(&NOT_LOGGED, reason);
        let outcome = match &receipt.start {
            None => {
                refuted("the receipt records no start, but its plan has a start log".to_owned())
            }
            Some(own) if own.log != self.name => {
                refuted(format!("the receipt has `{}`, the plan `{}`", own.log, self.name))
            }
            Some(own) => match self.log.find(own.attempt) {
                None if self.log.starts().next().is_none() => {
                    let reason = format!("`{}` is missing or empty", own.log);
                    Outcome::inconclusive(&NOT_LOGGED, reason)
                }
                None => refuted(format!("`{}` has no start {}", own.log, own.attempt)),
                Some(logged) => match self.other(bundle, logged) {
                    Some(other) => refuted(format!("{} {other}", line(logged))),
                    None => Outcome::verified().giving(line(logged)),
                },
            },
        };
        let again = self.unreported.iter().filter(|(start, again)| {
            *again && receipt.run.as_ref().is_some_and(|run| run.id == start.start.run)
        });
        let outcome = again.fold(outcome, |outcome, (start, _)| {
            let told = format!("{} belongs to an earlier or later start of this run", line(start));
            outcome.noting(&AGAIN, told)
        });
        outcome.within("log", "equal digests")
    }

    /// In what a line is not that of a bundle.
    fn other(&self, bundle: &Bundle, logged: &LoggedStart) -> Option<String> {
        let receipt = bundle.receipt();
        let start = &logged.start;
        let chain = receipt.start.as_ref().map(|own| own.chain);
        let config = bundle.files().get(CONFIG).map(|file| file.digest);
        let run = receipt.run.as_ref().map(|run| run.id.as_str());
        if chain != Some(logged.chain) {
            return Some(format!("has the chain {}", logged.chain));
        }
        if run != Some(start.run.as_str()) {
            return Some(format!("belongs to `{}`", start.run));
        }
        if receipt.plan_sha256() != Some(start.plan_sha256.to_string().as_str()) {
            return Some(format!("has the plan {}", start.plan_sha256));
        }
        (config != Some(start.config_sha256))
            .then(|| format!("has the config {}", start.config_sha256))
    }

    /// The chains of all starts after that of a bundle.
    pub fn after(&self, bundle: &Bundle) -> impl Iterator<Item = Digest> {
        let own = bundle.receipt().start.as_ref().map(|own| (own.attempt, own.chain));
        let is_own = move |one: &&LoggedStart| Some((one.start.attempt, one.chain)) == own;
        self.log.starts().skip_while(move |one| !is_own(one)).skip(1).map(|one| one.chain)
    }

    /// The starts of which nothing is reported, and that were not made again.
    fn open(&self) -> impl Iterator<Item = &LoggedStart> {
        self.unreported.iter().filter(|(_, again)| !again).map(|(start, _)| start)
    }

    /// The same in words.
    pub fn not_reported(&self) -> impl Iterator<Item = String> {
        self.open().map(|start| format!("`{}` by {}", start.start.run, line(start)))
    }

    /// A finding for each start without a bundle.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        self.open().map(|LoggedStart { start, place, .. }| {
            let message =
                format!("`{}` was started, but `receipts/` has no bundle of it", start.run);
            Finding::new(&NOT_REPORTED, Severity::Warning, message, place.clone())
        })
    }
}

fn line(start: &LoggedStart) -> String {
    let Location { file, line, .. } = &start.place;
    format!("line {line} of `{file}`")
}
