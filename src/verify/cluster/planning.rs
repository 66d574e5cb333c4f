//! From what was asked to a plan.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use crate::library::Library;
use crate::page::PostPage;
use crate::texts::GivenTexts;
use crate::verify::{self, Demands};
use repro_bundle::bundle::Bundle;
use repro_bundle::storage::Located;
use repro_core::digest::Digest;
use repro_core::parallel;
use repro_core::source::Error;
use repro_model::replay::Extent;
use serde_json::json;

use crate::cluster::asked::Asked;
use crate::cluster::ground;
use crate::cluster::item::{DeviceClass, WorkItem, WorkTask};
use crate::cluster::plan::{MergedPost, WorkPlan};
use crate::cluster::program::Program;

/// Floating-point operations that one core makes in a millisecond, bytes that it checks, and milliseconds that each bundle and
/// post takes beside that: measured once, so that estimates are the same on every machine.
const OPERATIONS: f64 = 9e7;
const BYTES: u64 = 250_000;
const EACH: u64 = 2;
/// Three years: a bundle may state any number of steps, and estimates are summed.
const MOST: u64 = 100_000_000_000;

/// Somebody who knows the trainer.
pub trait Estimator: Sync {
    /// The floating-point operations of a replay, roughly.
    fn operations(&self, bundle: &Bundle, extent: Extent) -> Result<f64, Error>;
    /// The digest of the data of a run, where they are available: batches are then drawn again.
    fn data(&self, bundle: &Bundle) -> Option<Digest>;
}

/// Who plans, and what is known to them.
pub struct Planner<'a> {
    /// The project.
    pub root: &'a Path,
    /// The request.
    pub asked: Asked,
    /// The same as the judge takes it.
    pub demands: &'a Demands,
    /// The program.
    pub program: Program,
    /// Who estimates replays, where any are asked for.
    pub estimator: Option<&'a dyn Estimator>,
    /// How many bundles are looked at at a time.
    pub threads: usize,
}

impl Planner<'_> {
    /// The plan. What cannot be read is left to the worker who finds it so: a plan judges nothing.
    pub fn plan(self) -> Result<WorkPlan, Error> {
        let known = OnceLock::new();
        let project = || known.get_or_init(|| ground::project(self.root)).clone();
        let named = |at: &String| self.of_bundle(at, &project);
        let found = parallel::map(&self.asked.bundles, self.threads, named);
        let mut items = found.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        let (mut merged, shelf) = (Vec::new(), Shelf::default());
        for id in &self.asked.posts {
            let (item, replays) = self.of_post(id, &shelf, &project)?;
            match replays.is_empty() {
                true => items.push(item),
                false => merged.push(MergedPost { id: id.clone(), inputs: item.inputs }),
            }
            items.extend(replays);
        }
        // Several posts may ask for the same steps.
        let mut keys = BTreeSet::new();
        items.retain(|item| keys.insert(item.key));
        let project = known.into_inner().transpose()?;
        let Self { program, asked, .. } = self;
        Ok(WorkPlan { program, asked, project, merged, items })
    }

    /// The items of a bundle that is named on its own.
    fn of_bundle(
        &self,
        at: &String,
        project: &dyn Fn() -> Result<Digest, Error>,
    ) -> Result<Vec<WorkItem>, Error> {
        // What cannot be had now is tried again by the worker.
        let located = Located::bundle(Path::new(at)).ok();
        let read = |one: &Located| Bundle::outline(&one.path, &one.shown).ok();
        let bundle = located.as_ref().and_then(read);
        let folder = located.as_ref().filter(|one| !one.is_fetched()).map(|one| &*one.path);
        let ground = ground::of_bundle(folder, bundle.as_ref(), &self.asked, project)?;
        let mut items = vec![self.item(WorkItem {
            task: WorkTask::Inspect,
            at: at.clone(),
            in_project: false,
            inputs: bundle.as_ref().map(Bundle::digest),
            extent: None,
            arithmetic: None,
            class: DeviceClass::Processor,
            cost_ms: bundle.as_ref().map_or(EACH, reading),
            ground,
            beside: bundle.as_ref().and_then(|own| ground::beside_bundle(own, self.demands)),
            key: Digest::of(b""),
        })];
        if let Some(bundle) = &bundle {
            let steps = verify::asked_steps(bundle, self.demands, self.asked.replays);
            let replays = steps.into_iter().map(|extent| self.replay(bundle, (at, false), extent));
            items.extend(replays);
        }
        Ok(items)
    }

    /// The item of steps of a bundle.
    fn replay(&self, bundle: &Bundle, (at, in_project): (&str, bool), extent: Extent) -> WorkItem {
        let trainer = bundle.receipt().trainer.as_ref();
        let data = self.estimator.and_then(|known| known.data(bundle));
        // Beyond its slices nothing of a run is executed where its data are not available.
        let is_executed = data.is_some() || matches!(extent, Extent::Steps { .. });
        let estimated = self.estimator.filter(|_| is_executed);
        let estimated = estimated.and_then(|known| known.operations(bundle, extent).ok());
        let executing = (estimated.unwrap_or_default() / OPERATIONS) as u64;
        self.item(WorkItem {
            task: WorkTask::Replay,
            at: at.to_owned(),
            in_project,
            inputs: Some(bundle.digest()),
            extent: Some(extent),
            arithmetic: trainer.and_then(|trainer| trainer.arithmetic.clone()),
            class: DeviceClass::Any,
            cost_ms: reading(bundle) + executing.min(MOST),
            ground: data_ground(data),
            beside: None,
            key: Digest::of(b""),
        })
    }

    /// The item of a post, and those of the steps that it asks for.
    fn of_post(
        &self,
        id: &str,
        shelf: &Shelf,
        project: &dyn Fn() -> Result<Digest, Error>,
    ) -> Result<(WorkItem, Vec<WorkItem>), Error> {
        let page = PostPage::load(self.root, id).ok();
        let names: Vec<_> = page.iter().flat_map(PostPage::bundles).map(|(name, _)| name).collect();
        let (mut cost_ms, mut library, mut bundles) = (EACH, Library::default(), Vec::new());
        let (mut digests, mut histories) = (Vec::new(), Vec::new());
        for name in names {
            let shelved = shelf.of(self, name);
            cost_ms += shelved.cost_ms;
            digests.extend(shelved.digest.map(|digest| (name, digest)));
            histories.push((name, shelved.planned));
            bundles.push(json!([name, shelved.stamp.to_string()]));
            if self.asked.replays
                && let Ok(bundle) = outline(self.root, name)
            {
                library.add(bundle);
            }
        }
        let given = shelf.given.get_or_init(|| GivenTexts::load(&self.demands.texts).ok());
        let texts = |page: &PostPage| given.as_ref()?.of(page, self.root).ok();
        let texts = page.as_ref().and_then(texts);
        let inputs = page.as_ref().zip(texts);
        let inputs = inputs.map(|(page, texts)| ground::to_be_judged(page, &texts, &digests));
        let beside = ground::beside_post(histories.into_iter());
        let ground = ground::digest(&json!({
            "project": project()?.to_string(),
            "files": crate::cluster::item::written(&self.asked.files),
            "bundles": bundles,
        }));
        let item = self.item(WorkItem {
            task: WorkTask::Judge,
            at: id.to_owned(),
            in_project: true,
            inputs,
            extent: None,
            arithmetic: None,
            class: DeviceClass::Processor,
            cost_ms,
            ground,
            beside,
            key: Digest::of(b""),
        });
        let steps = page.iter().filter(|_| self.asked.replays);
        let steps = steps.flat_map(|page| verify::replays_of(page, &library));
        let replays = steps.map(|asked| {
            self.replay(asked.bundle, (&shown(asked.bundle.name()), true), asked.extent)
        });
        Ok((item, replays.collect()))
    }

    fn item(&self, item: WorkItem) -> WorkItem {
        item.keyed(&self.program)
    }
}

/// The inputs of a replay besides the bundle.
pub fn data_ground(data: Option<Digest>) -> Digest {
    ground::digest(&json!({"data": data.map(|data| data.to_string())}))
}

/// Where a bundle of the project lies, as messages name it.
fn shown(name: &str) -> String {
    format!("receipts/{name}")
}

/// The outline of a bundle of the project.
pub fn outline(root: &Path, name: &str) -> Result<Bundle, Error> {
    let shown = shown(name);
    Bundle::outline(&root.join(&shown), &shown)
}

/// How long a bundle takes to be read and checked.
fn reading(bundle: &Bundle) -> u64 {
    let bytes = bundle.files().values().map(|file| file.bytes).fold(0, u64::saturating_add);
    EACH + (bytes / BYTES).min(MOST)
}

/// The bundles and available texts that posts depend on, each read once.
#[derive(Default)]
struct Shelf {
    known: RefCell<BTreeMap<String, Shelved>>,
    /// The texts that options name, where they can be read.
    given: OnceCell<Option<GivenTexts>>,
}

/// The parts of one bundle that posts depend on.
#[derive(Clone)]
struct Shelved {
    stamp: Digest,
    cost_ms: u64,
    /// The history of its plan.
    planned: Option<String>,
    digest: Option<Digest>,
}

impl Shelf {
    fn of(&self, planner: &Planner<'_>, name: &str) -> Shelved {
        if let Some(shelved) = self.known.borrow().get(name) {
            return shelved.clone();
        }
        let bundle = outline(planner.root, name).ok();
        let shelved = Shelved {
            stamp: ground::stamp(&planner.root.join(shown(name))),
            cost_ms: bundle.as_ref().map_or(EACH, reading),
            planned: bundle.as_ref().and_then(|own| ground::planned(own, planner.demands)),
            digest: bundle.as_ref().map(Bundle::digest),
        };
        self.known.borrow_mut().insert(name.to_owned(), shelved.clone());
        shelved
    }
}
