//! A worker: replays one after the other, bundles and posts also side by side.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::verify::{self, Demands, InspectedBundle, Replayer, SliceRequest};
use repro_bundle::bundle::{Bundle, ReadOptions};
use repro_bundle::signature::{Attestations, Timestamps};
use repro_bundle::storage::Located;
use repro_core::digest::Digest;
use repro_core::source::{Error, Location};
use repro_model::replay::{Extent, ReplayOutcome};

use crate::cluster::item::{WorkItem, WorkTask};
use crate::cluster::plan::WorkPlan;
use crate::cluster::planning::{Estimator, data_ground, outline};
use crate::cluster::result::{Found, WorkResult};
use crate::cluster::{CHANGED, NO_STEPS, ground};

/// Somebody who reads what others vouch for anew, so that it can be seen whether an item uses it.
pub type Vouchers<'a> = dyn Fn() -> Result<(Timestamps, Attestations), Error> + Sync + 'a;

/// A bundle that was loaded for an item. One that was fetched stays until it goes.
struct LoadedBundle {
    item: WorkItem,
    bundle: Bundle,
    _located: Option<Located>,
}

/// A worker on a plan.
pub struct Worker<'a> {
    /// The project.
    pub root: &'a Path,
    /// The plan.
    pub plan: &'a WorkPlan,
    /// The request, in the judge's form.
    pub demands: &'a Demands,
    /// How bundles are read.
    pub reading: ReadOptions<'a>,
    /// Who knows the trainer, where this program has one.
    pub estimator: Option<&'a dyn Estimator>,
    /// The statements of others.
    pub vouchers: &'a Vouchers<'a>,
    /// The bundle of the last replay: the next one is often of the same.
    last: Option<LoadedBundle>,
    /// Whether the project is the one that was planned, once it was looked at.
    project: OnceLock<Result<(), Error>>,
}

impl<'a> Worker<'a> {
    /// A worker who has done nothing yet. The files that options name have to be those that were planned.
    pub fn new(
        (root, plan): (&'a Path, &'a WorkPlan),
        demands: &'a Demands,
        reading: ReadOptions<'a>,
        estimator: Option<&'a dyn Estimator>,
        vouchers: &'a Vouchers<'a>,
    ) -> Self {
        let (last, project) = (None, OnceLock::new());
        Self { root, plan, demands, reading, estimator, vouchers, last, project }
    }

    /// The result for a bundle or a post, read with this many threads.
    pub fn judged(&self, item: &WorkItem, threads: usize) -> Result<WorkResult, Error> {
        let reading = ReadOptions { threads, ..self.reading };
        match item.task {
            WorkTask::Inspect => self.inspect(item, reading),
            WorkTask::Judge => self.judge(item, reading),
            WorkTask::Replay => {
                Err(NO_STEPS.at(Location::file(&item.at), "a bundle or a post", "steps"))
            }
        }
    }

    /// The result of replaying steps.
    pub fn replayed(
        &mut self,
        item: &WorkItem,
        replayer: &mut dyn Replayer,
    ) -> Result<WorkResult, Error> {
        let Some(extent) = item.extent else {
            return Err(NO_STEPS.at(Location::file(&item.at), "steps to replay", "none"));
        };
        let outcome = self.replay(item, extent, replayer)?;
        Ok(WorkResult { found: Found::Replayed(outcome), unused: Vec::new() })
    }

    fn replay(
        &mut self,
        item: &WorkItem,
        extent: Extent,
        replayer: &mut dyn Replayer,
    ) -> Result<ReplayOutcome, Error> {
        let is_last = |known: &&LoadedBundle| {
            let last = &known.item;
            (&last.at, last.in_project, last.inputs) == (&item.at, item.in_project, item.inputs)
        };
        if self.last.as_ref().filter(is_last).is_none() {
            self.last = None;
            match self.load(item) {
                Err(error) => return Ok(ReplayOutcome::Refused(error)),
                Ok(loaded) => {
                    is_planned(item.inputs, loaded.bundle.digest(), &item.at)?;
                    self.last = Some(loaded);
                }
            }
        }
        let Some(LoadedBundle { bundle, .. }) = &self.last else {
            return Err(NO_STEPS.at(Location::file(&item.at), "a bundle", "none"));
        };
        let data = self.estimator.and_then(|known| known.data(bundle));
        if data_ground(data) != item.ground {
            let expected = "the training data that the plan was made with";
            let found = match data {
                None => "no data: pass `--data` with its folder".to_owned(),
                Some(data) => format!("data with sha256 {data}, which the plan does not contain"),
            };
            let error = CHANGED.at(Location::file(&item.at), expected, found);
            return Err(error.help("use `--data` for both plan and work, or for neither"));
        }
        let answers = replayer.replay(&[SliceRequest { bundle, extent }]);
        let answer = answers.into_values().next();
        Ok(answer
            .unwrap_or_else(|| ReplayOutcome::NotRun("the steps were not executed".to_owned())))
    }

    fn load(&self, item: &WorkItem) -> Result<LoadedBundle, Error> {
        if let Some(name) = item.at.strip_prefix("receipts/").filter(|_| item.in_project) {
            let bundle = Bundle::load(self.root, name, None, self.reading)?;
            return Ok(LoadedBundle { item: item.clone(), bundle, _located: None });
        }
        let located = Located::bundle(Path::new(&item.at))?;
        let reading = located.reading(self.reading);
        let bundle = Bundle::load_folder(&located.path, &located.shown, None, reading)?;
        Ok(LoadedBundle { item: item.clone(), bundle, _located: Some(located) })
    }

    fn inspect(&self, item: &WorkItem, reading: ReadOptions<'_>) -> Result<WorkResult, Error> {
        let demands = self.fresh()?;
        let with_slices = self.plan.asked.replays;
        let read = Located::bundle(Path::new(&item.at)).and_then(|located| {
            let reading = ReadOptions { keeps_weights: true, ..located.reading(reading) };
            InspectedBundle::read(&located.path, &demands, reading, with_slices)
        });
        let inspected = match read {
            Err(error) => Err(error),
            Ok((bundle, inspected)) => {
                is_planned(item.inputs, bundle.digest(), &item.at)?;
                has_beside(item, ground::beside_bundle(&bundle, &demands))?;
                if ground::is_of_study(&bundle) {
                    self.same_project()?;
                }
                Ok(inspected)
            }
        };
        let found = Found::Inspected(Box::new(inspected));
        Ok(WorkResult { found, unused: unused_of(&demands) })
    }

    fn judge(&self, item: &WorkItem, reading: ReadOptions<'_>) -> Result<WorkResult, Error> {
        self.same_project()?;
        let demands = Demands { pictures: true, ..self.fresh()? };
        let ids = [item.at.clone()];
        let mut report = verify::verify_with(self.root, &ids, &demands, reading, None);
        let post = report.posts.pop().map(Box::new);
        if let Some(post) = &post {
            is_planned(item.inputs, ground::judged_by(post), &item.at)?;
            let planned = |name| ground::planned(&outline(self.root, name).ok()?, &demands);
            let names = post.bundles.iter().map(|bundle| bundle.name.as_str());
            let histories = names.map(|name| (name, planned(name)));
            has_beside(item, ground::beside_post(histories))?;
        }
        let found = Found::Judged(post, report.failures);
        Ok(WorkResult { found, unused: unused_of(&demands) })
    }

    /// The demands with what others vouch for as if nobody had asked for it yet.
    fn fresh(&self) -> Result<Demands, Error> {
        let asked = &self.plan.asked;
        let mut paths = asked.paths("--timestamp").chain(asked.paths("--attestation"));
        if paths.next().is_none() {
            return Ok(self.demands.clone());
        }
        let (timestamps, attestations) = (self.vouchers)()?;
        let (timestamps, attestations) = (Arc::new(timestamps), Arc::new(attestations));
        Ok(Demands { timestamps, attestations, ..self.demands.clone() })
    }

    /// Refuses to work in another project than the one that was planned.
    fn same_project(&self) -> Result<(), Error> {
        self.project.get_or_init(|| is_same_project(self.root, self.plan)).clone()
    }
}

/// Rejects a project that is not the one of a plan.
pub fn is_same_project(root: &Path, plan: &WorkPlan) -> Result<(), Error> {
    let found = ground::project(root)?;
    let Some(planned) = plan.project.filter(|planned| *planned != found) else { return Ok(()) };
    let place = Location::file(root.display().to_string());
    if !root.join("repro").is_dir() {
        let error = CHANGED.at(place, "the plan's project, with its `repro/`", "no project here");
        return Err(error.help("run this in the folder where the plan was made, or pass `--root`"));
    }
    let expected = format!("the planned project, with digest {planned}");
    Err(CHANGED.at(place, expected, format!("digest {found}")))
}

/// Rejects a bundle, or what a post is judged by, that is not what was planned.
pub fn is_planned(planned: Option<Digest>, found: Digest, at: &str) -> Result<(), Error> {
    match planned {
        Some(planned) if planned == found => Ok(()),
        planned => {
            let expected = planned.map_or("a rejected input".to_owned(), |one| one.prefixed());
            Err(CHANGED.at(Location::file(at), expected, found.prefixed()))
        }
    }
}

/// Refuses to work without the history of plans, or the files outside of bundles, that were there for the plan.
fn has_beside(item: &WorkItem, found: Option<Digest>) -> Result<(), Error> {
    if item.beside == found {
        return Ok(());
    }
    let expected = "the project history and `--artifacts` files that the plan was made with";
    let error = CHANGED.at(Location::file(&item.at), expected, "different ones, or none");
    Err(error.help("use a full clone (with history) and the same files, or plan again"))
}

/// The statements of others that nothing used.
pub fn unused_of(demands: &Demands) -> Vec<Error> {
    demands.attestations.unused().into_iter().chain(demands.timestamps.unused()).collect()
}
