//! From results to the report that one machine would have made.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use crate::verify::{self, Demands, InspectedBundle, Replayer, SliceRequest};
use repro_bundle::bundle::ReadOptions;
use repro_bundle::signature::PublicKey;
use repro_bundle::storage::{Store, is_url, local_path};
use repro_core::digest::Digest;
use repro_core::parallel;
use repro_core::source::{Code, Error, Location};
use repro_model::replay::{Extent, ReplayOutcome, Replays};
use repro_report::part::{PartSubject, ReportPart, ReportSink};

use crate::cluster::execute::{is_planned, is_same_project, unused_of};
use crate::cluster::ground::judged_by;
use crate::cluster::inputs::{check_bundle, check_post};
use crate::cluster::item::{WorkItem, WorkTask};
use crate::cluster::plan::WorkPlan;
use crate::cluster::result::{self, CAP, Found, WorkResult};
use crate::cluster::results::{key_of, name_of, place};
use crate::cluster::{CHANGED, DAMAGED, DOUBLED, EMPTY, FOREIGN, MISSING, NOT_SIGNED, OTHER_PLAN};

/// So many of a kind are named.
const NAMED: usize = 5;
/// So many results are fetched at a time: a store may be far away;
const FETCHED: usize = 16;
/// and those of so many bundles are held.
const GROUP: usize = 64;
/// So many objects that are not of the plan are looked at.
const LOOKED_AT: usize = 100;

/// The findings for a bundle and its steps, and the statements of others that it did not use.
type Inspected = (Result<InspectedBundle, Error>, Replays, Vec<Error>);

/// Checks of results, beyond being complete and part of the plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultChecks<'a> {
    /// Keys of which one must have signed each result; none if nothing need be signed.
    pub keys: &'a [PublicKey],
    /// Results of items that were executed here again, which the others have to equal.
    pub audit: Option<&'a Store>,
    /// Whether bundles, posts and texts that lie here have to be those that were judged.
    pub compares_inputs: bool,
}

/// The results of a plan, where they are.
pub struct Merging<'a> {
    root: &'a Path,
    plan: &'a WorkPlan,
    stores: &'a [Store],
    checks: ResultChecks<'a>,
    /// The stores that have a result, by its key.
    held: HashMap<Digest, Vec<usize>>,
}

impl<'a> Merging<'a> {
    /// Looks at what the stores hold. Every item has to have a result; and where the stores are not shared with other plans, there
    /// may be none of any other item.
    pub fn of(
        (root, plan): (&'a Path, &'a WorkPlan),
        stores: &'a [Store],
        is_shared: bool,
        checks: ResultChecks<'a>,
    ) -> Result<Self, Vec<Error>> {
        let keys: HashSet<Digest> = plan.items.iter().map(|item| item.key).collect();
        let (mut held, mut errors, mut empty) = (HashMap::new(), Vec::new(), Vec::new());
        for (at, store) in stores.iter().enumerate() {
            let names = store.list("").map_err(|error| vec![error])?;
            if names.is_empty() {
                empty.push(store.shown());
            }
            let mut others = Vec::new();
            for (name, _) in names {
                match key_of(&name).filter(|key| keys.contains(key)) {
                    Some(key) => held.entry(key).or_insert_with(Vec::new).push(at),
                    None => others.push(name),
                }
            }
            if !is_shared {
                errors.extend(foreign(plan, store, &others)?);
            }
        }
        let missing: Vec<_> =
            plan.items.iter().filter(|item| !held.contains_key(&item.key)).collect();
        if let Some(error) = missing_error(&missing) {
            // A worker who had nothing to do leaves nothing; where something is missing, an empty place is likely why.
            let told = |shown| {
                EMPTY.at(
                    Location::file(shown),
                    "a results store for this plan",
                    "no results, or no such folder",
                )
            };
            errors.extend(empty.into_iter().map(told));
            errors.push(error);
        }
        if errors.is_empty() { Ok(Self { root, plan, stores, checks, held }) } else { Err(errors) }
    }

    /// Hands over the report part by part, as `repro verify` does.
    pub fn report(
        &self,
        demands: &Demands,
        reading: ReadOptions<'_>,
        sink: &mut dyn ReportSink,
    ) -> Result<(), Vec<Error>> {
        let mut unused = Unused::default();
        self.posts(demands, reading, (sink, &mut unused))?;
        let mut steps: BTreeMap<&str, Vec<&WorkItem>> = BTreeMap::new();
        for item in self.items(WorkTask::Replay).filter(|item| !item.in_project) {
            steps.entry(&item.at).or_default().push(item);
        }
        let bundles: Vec<_> = self.items(WorkTask::Inspect).collect();
        for group in bundles.chunks(GROUP) {
            let fetched = parallel::map(group, FETCHED, |item| {
                let own = steps.get(item.at.as_str()).map_or(&[][..], Vec::as_slice);
                self.inspected(item, own)
            });
            for (item, fetched) in std::iter::zip(group, fetched) {
                let (inspected, answers, own_unused) = fetched?;
                unused.meet(own_unused);
                sink.take(match inspected {
                    Err(error) => {
                        // A URL is told as messages tell it.
                        let is_here = !is_url(Path::new(&item.at));
                        let at = if is_here { &item.at } else { &error.place.file };
                        ReportPart::refused(PartSubject::Bundle(at.clone()), vec![error])
                    }
                    Ok(inspected) => inspected.answered(&answers, demands),
                });
            }
        }
        let digests = bundles.iter().filter_map(|item| item.inputs);
        // Posts that are judged here use them too.
        unused.meet(unused_of(demands));
        for failures in [demands.foreign_challenges(digests), unused.all.unwrap_or_default()] {
            if !failures.is_empty() {
                sink.take(ReportPart::refused(PartSubject::Run, failures));
            }
        }
        Ok(())
    }

    /// The findings for a bundle and its steps.
    fn inspected(&self, item: &WorkItem, steps: &[&WorkItem]) -> Result<Inspected, Vec<Error>> {
        let result = self.result(item).map_err(one)?;
        let Found::Inspected(inspected) = result.found else {
            return Err(vec![self.damaged(item, "a result of a different task")]);
        };
        if let Ok(inspected) = inspected.as_ref() {
            self.check_inspected(item, inspected).map_err(one)?;
        }
        let extents = inspected.as_ref().as_ref().map_or(Vec::new(), InspectedBundle::extents);
        let name = inspected.as_ref().as_ref().map_or("", InspectedBundle::name);
        let lacks = |extent: &Extent| !steps.iter().any(|item| item.extent == Some(*extent));
        if let Some(extent) = extents.into_iter().find(lacks) {
            let expected = format!("an item for its steps {extent}");
            return Err(vec![CHANGED.at(
                Location::file(&item.at),
                expected,
                "no such item in the plan",
            )]);
        }
        let answers = self.answers(steps, |_| name)?;
        Ok((*inspected, answers, result.unused))
    }

    /// Rejects a result that is not of the planned bundle, and a bundle that lies here and is another by now.
    fn check_inspected(&self, item: &WorkItem, inspected: &InspectedBundle) -> Result<(), Error> {
        let Some(judged) = Digest::parse_prefixed(inspected.digest()) else {
            return Err(self.damaged(item, "no bundle digest"));
        };
        is_planned(item.inputs, judged, &item.at)?;
        match local_path(&item.at)?.filter(|_| self.checks.compares_inputs) {
            Some(path) => check_bundle(&path, &item.at, Some(judged)),
            None => Ok(()),
        }
    }

    /// The posts: those that workers judged, and those that are judged here because they need the replays.
    fn posts(
        &self,
        demands: &Demands,
        reading: ReadOptions<'_>,
        (sink, unused): (&mut dyn ReportSink, &mut Unused),
    ) -> Result<(), Vec<Error>> {
        if !self.plan.asked.posts.is_empty() {
            is_same_project(self.root, self.plan).map_err(one)?;
        }
        let mut here = self.judged_here(demands, reading)?.into_iter();
        let judged: HashMap<&str, &WorkItem> =
            self.items(WorkTask::Judge).map(|item| (item.at.as_str(), item)).collect();
        let (mut told, mut bundles) = (None, BTreeSet::new());
        for id in &self.plan.asked.posts {
            let mut part = match judged.get(id.as_str()) {
                Some(item) => self.judged_there(item, demands, unused)?,
                None => match here.next() {
                    Some(part) => part,
                    None => continue,
                },
            };
            let own = part.post.iter().flat_map(|post| &post.bundles);
            bundles.extend(own.map(|one| (one.name.clone(), one.digest.clone())));
            part.tell_once(&mut told);
            sink.take(part);
        }
        let bundles: Vec<_> = bundles.into_iter().filter(|_| self.checks.compares_inputs).collect();
        let same = parallel::map(&bundles, reading.threads, |(name, digest)| {
            let shown = format!("receipts/{name}");
            check_bundle(&self.root.join(&shown), &shown, Digest::parse_prefixed(digest))
        });
        same.into_iter().collect::<Result<_, _>>().map_err(one)
    }

    /// A post that a worker judged.
    fn judged_there(
        &self,
        item: &WorkItem,
        demands: &Demands,
        unused: &mut Unused,
    ) -> Result<ReportPart, Vec<Error>> {
        let result = self.result(item).map_err(one)?;
        unused.meet(result.unused);
        let Found::Judged(post, failures) = result.found else {
            return Err(vec![self.damaged(item, "a result of a different task")]);
        };
        let post = post.map(|post| *post);
        if let Some(post) = &post {
            is_planned(item.inputs, judged_by(post), &item.at).map_err(one)?;
            if self.checks.compares_inputs {
                check_post(self.root, &item.at, post).map_err(one)?;
            }
        }
        let below = post.as_ref().map(|post| verify::below(post, demands, None));
        let below_minimum = below.unwrap_or_default();
        let subject = PartSubject::Post(item.at.clone());
        Ok(ReportPart { subject, post, failures, below_minimum, replayed: 0 })
    }

    /// The posts that need the replays, in order.
    fn judged_here(
        &self,
        demands: &Demands,
        reading: ReadOptions<'_>,
    ) -> Result<Vec<ReportPart>, Vec<Error>> {
        let ids: Vec<_> = self.plan.merged.iter().map(|post| post.id.clone()).collect();
        let mut parts = Vec::new();
        if ids.is_empty() {
            return Ok(parts);
        }
        let planned: Vec<_> = self.items(WorkTask::Replay).filter(|item| item.in_project).collect();
        let name = |item: &'a WorkItem| item.at.rsplit('/').next().unwrap_or(&item.at);
        let (answers, errors) = (self.answers(&planned, name)?, Vec::new());
        let mut kept = KeptReplays { planned: &planned, answers, errors };
        verify::verify_into(self.root, &ids, demands, reading, Some(&mut kept), &mut parts);
        for (merged, part) in std::iter::zip(&self.plan.merged, &parts) {
            if let Some(post) = &part.post {
                is_planned(merged.inputs, judged_by(post), &merged.id).map_err(one)?;
            }
        }
        if kept.errors.is_empty() { Ok(parts) } else { Err(kept.errors) }
    }

    fn items(&self, task: WorkTask) -> impl Iterator<Item = &'a WorkItem> {
        self.plan.items.iter().filter(move |item| item.task == task)
    }

    /// The outcomes of replays, by bundle name.
    fn answers<'n>(
        &self,
        items: &[&'n WorkItem],
        name: impl Fn(&'n WorkItem) -> &'n str + Sync,
    ) -> Result<Replays, Vec<Error>> {
        let answer = |item: &&'n WorkItem| {
            let Found::Replayed(outcome) = self.result(item)?.found else {
                return Err(self.damaged(item, "a result of a different task"));
            };
            Ok(item.extent.map(|extent| ((name(item).to_owned(), extent), outcome)))
        };
        let answers = parallel::map(items, FETCHED.min(items.len()), answer);
        let answers: Vec<_> = answers.into_iter().collect::<Result<_, _>>().map_err(one)?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// The result of an item: the same in every store that has one.
    fn result(&self, item: &WorkItem) -> Result<WorkResult, Error> {
        let name = name_of(&item.key);
        let mut known: Option<(Vec<u8>, WorkResult, String)> = None;
        let audit = self.checks.audit.map(|store| (store, &[][..], true));
        let given = self.held.get(&item.key).into_iter().flatten();
        let given = given.filter_map(|at| Some((self.stores.get(*at)?, self.checks.keys, false)));
        for (store, keys, is_audit) in audit.into_iter().chain(given) {
            let Some(bytes) = store.get(&name, CAP)? else { continue };
            let (of, result) = result::read(&bytes)
                .map_err(|why| DAMAGED.at(place(store, &name), "a whole result", why))?;
            if of.item != *item || of.program != self.plan.program {
                return Err(FOREIGN.at(place(store, &name), item.told(), of.item.told()));
            }
            if !of.is_signed_by(keys) {
                let expected = format!("a signature of {}", item.told());
                return Err(NOT_SIGNED.at(
                    place(store, &name),
                    expected,
                    "no signature with a trusted key",
                ));
            }
            match &known {
                Some((other, _, expected)) if result::body(other) != result::body(&bytes) => {
                    let found = format!("a different result of {}", item.told());
                    return Err(DOUBLED.at(place(store, &name), expected, found));
                }
                Some(_) => {}
                None => {
                    let first = match is_audit {
                        true => "the result recomputed by `--audit`".to_owned(),
                        false => format!("the result in {}", place(store, &name)),
                    };
                    known = Some((bytes, result, first));
                }
            }
        }
        known
            .map(|(_, result, _)| result)
            .ok_or_else(|| MISSING.at(Location::file(name), item.told(), "no result anymore"))
    }

    fn damaged(&self, item: &WorkItem, why: &str) -> Error {
        DAMAGED.at(Location::file(name_of(&item.key)), item.told(), why)
    }
}

fn one(error: Error) -> Vec<Error> {
    vec![error]
}

/// Replays that workers have executed.
struct KeptReplays<'a> {
    planned: &'a [&'a WorkItem],
    answers: Replays,
    errors: Vec<Error>,
}

impl Replayer for KeptReplays<'_> {
    fn replay(&mut self, requests: &[SliceRequest<'_>]) -> Replays {
        let mut given = Replays::new();
        for SliceRequest { bundle, extent } in requests {
            let key = (bundle.name().to_owned(), *extent);
            let is_own = |item: &&&WorkItem| {
                item.extent == Some(*extent) && item.inputs == Some(bundle.digest())
            };
            let known = self.planned.iter().find(is_own).and_then(|_| self.answers.get(&key));
            if known.is_none() {
                let expected = format!("the steps {extent} as they were planned");
                let found = "a different bundle, or unplanned steps";
                self.errors.push(CHANGED.at(Location::file(bundle.name()), expected, found));
            }
            let none = || ReplayOutcome::NotRun("it was not planned".to_owned());
            given.insert(key, known.cloned().unwrap_or_else(none));
        }
        given
    }
}

/// The statements of others that no item used.
#[derive(Default)]
struct Unused {
    all: Option<Vec<Error>>,
}

impl Unused {
    fn meet(&mut self, own: Vec<Error>) {
        match &mut self.all {
            None => self.all = Some(own),
            Some(all) => all.retain(|one| own.contains(one)),
        }
    }
}

/// Rejects results that are not of the plan: they are of another, or of nothing at all.
fn foreign(plan: &WorkPlan, store: &Store, names: &[String]) -> Result<Vec<Error>, Vec<Error>> {
    let planned: HashMap<_, _> = plan.items.iter().map(|item| (item.asked(), item.key)).collect();
    let (mut of_plans, mut of_nothing) = (Vec::new(), Vec::new());
    // What many are is seen by the first.
    for name in names.iter().take(LOOKED_AT) {
        let bytes = store.get(name, CAP).map_err(one)?.unwrap_or_default();
        match result::head(&bytes) {
            Err(why) => of_nothing.push(format!("`{name}`: {why}")),
            Ok(of) => match planned.get(&of.item.asked()) {
                None => of_nothing.push(format!("`{name}`: {}", of.item.told())),
                Some(key) if *key == of.item.key => {
                    let own = name_of(key);
                    of_nothing
                        .push(format!("`{name}`, whose own name is `{own}`: {}", of.item.told()));
                }
                Some(_) => {
                    let by = match of.program == plan.program {
                        true => String::new(),
                        false => format!(", by {}", of.program.told()),
                    };
                    of_plans.push(format!("`{name}`: {}{by}", of.item.told()));
                }
            },
        }
    }
    let unread = names.len().saturating_sub(LOOKED_AT);
    let told = |(code, found, more): (&'static Code, Vec<String>, usize)| {
        let place = Location::file(store.shown());
        let listed = first_of(found.iter().map(String::as_str), more);
        (!found.is_empty()).then(|| code.at(place, "only results of this plan", listed))
    };
    let all = [(&OTHER_PLAN, of_plans, 0), (&FOREIGN, of_nothing, unread)];
    Ok(all.into_iter().filter_map(told).collect())
}

/// The first of some, and how many more there are besides `more`.
fn first_of<'t>(all: impl ExactSizeIterator<Item = &'t str>, more: usize) -> String {
    let more = all.len().saturating_sub(NAMED) + more;
    let listed = all.take(NAMED).collect::<Vec<_>>().join("; ");
    if more > 0 { format!("{listed}, and {more} more") } else { listed }
}

/// An error that names items without a result.
fn missing_error(missing: &[&WorkItem]) -> Option<Error> {
    let first = missing.first()?;
    let told: Vec<_> = missing.iter().map(|item| item.told()).collect();
    let found = format!("none of {}", first_of(told.iter().map(String::as_str), 0));
    let expected = format!("results of all items; {} items have none", missing.len());
    let error = MISSING.at(Location::file("--results"), expected, found);
    let alone = format!("`repro cluster work PLAN --results STORE --item {}`", first.key);
    Some(error.help(format!("start the workers again (they skip finished items), or {alone}")))
}
