//! From results to the report that one machine would have made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use repro_judge::verify::{self, Demands, Replayer, SliceRequest};
use repro_receipt::bundle::ReadOptions;
use repro_receipt::digest::Digest;
use repro_receipt::source::{Code, Error, Location};
use repro_report::outcome::Report;
use repro_runs::replay::{ReplayOutcome, Replays};
use repro_storage::Store;

use crate::execute::is_same_project;
use crate::item::{Task, WorkItem};
use crate::plan::Plan;
use crate::result::{self, CAP, Found, WorkResult};
use crate::results::{key_of, name_of, place};
use crate::{CHANGED, DAMAGED, DOUBLED, EMPTY, FOREIGN, MISSING, OTHER_PLAN};

/// So many of a kind are named.
const NAMED: usize = 5;

/// The results of a plan, where they are.
pub struct Merging<'a> {
    root: &'a Path,
    plan: &'a Plan,
    stores: &'a [Store],
    /// The stores that have a result, by its key.
    held: HashMap<Digest, Vec<usize>>,
}

impl<'a> Merging<'a> {
    /// Looks at what the stores hold. Every item has to have a result; and where the stores are not shared with other plans, there
    /// may be none of any other item.
    pub fn of(
        (root, plan): (&'a Path, &'a Plan),
        stores: &'a [Store],
        is_shared: bool,
    ) -> Result<Self, Vec<Error>> {
        let keys: HashSet<Digest> = plan.items.iter().map(|item| item.key).collect();
        let (mut held, mut errors) = (HashMap::new(), Vec::new());
        for (at, store) in stores.iter().enumerate() {
            let names = store.list("").map_err(|error| vec![error])?;
            if names.is_empty() && !keys.is_empty() {
                errors.push(EMPTY.at(Location::file(store.shown()), "results of the plan", "none"));
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
        errors.extend(missing_error(&missing));
        if errors.is_empty() { Ok(Self { root, plan, stores, held }) } else { Err(errors) }
    }

    /// The report, as `repro verify` gives it.
    pub fn report(
        &self,
        demands: &Demands,
        reading: ReadOptions<'_>,
    ) -> Result<Report, Vec<Error>> {
        let mut report = self.posts(demands, reading)?;
        let mut unused = Unused::default();
        let mut steps: BTreeMap<&str, Vec<&WorkItem>> = BTreeMap::new();
        for item in self.items(Task::Replay).filter(|item| !item.in_project) {
            steps.entry(&item.at).or_default().push(item);
        }
        for item in self.items(Task::Inspect) {
            let result = self.result(item).map_err(one)?;
            unused.meet(result.unused);
            let Found::Inspected(inspected) = result.found else {
                return Err(vec![self.damaged(item, "a result of another task")]);
            };
            match *inspected {
                Err(error) => report.failures.push(error),
                Ok(inspected) => {
                    let own = steps.get(item.at.as_str()).map_or(&[][..], Vec::as_slice);
                    let answers = self.answers(own)?;
                    let lacks = |extent| !own.iter().any(|item| item.extent == Some(extent));
                    if let Some(extent) = inspected.extents().into_iter().find(|one| lacks(*one)) {
                        let expected = format!("an item for its steps {extent}");
                        let place = Location::file(&item.at);
                        return Err(vec![CHANGED.at(place, expected, "none in the plan")]);
                    }
                    report.replayed += verify::executed(&answers);
                    let (post, failures) = inspected.answered(&answers);
                    report.failures.extend(failures);
                    report.posts.push(post);
                }
            }
        }
        report.below_minimum = verify::below(&report, demands);
        report.failures.extend(demands.foreign_challenges(&report));
        report.failures.extend(unused.all.unwrap_or_default());
        Ok(report)
    }

    /// The posts: those that workers judged, and those that are judged here because they need the replays.
    fn posts(&self, demands: &Demands, reading: ReadOptions<'_>) -> Result<Report, Vec<Error>> {
        let merged: HashSet<&str> = self.plan.merged.iter().map(|post| post.id.as_str()).collect();
        if !merged.is_empty() {
            is_same_project(self.root, self.plan).map_err(one)?;
        }
        let asked: Vec<_> = self.items(Task::Replay).filter(|item| item.in_project).collect();
        let mut kept =
            KeptReplays { planned: &asked, answers: self.answers(&asked)?, errors: Vec::new() };
        let judged: HashMap<&str, &WorkItem> =
            self.items(Task::Judge).map(|item| (item.at.as_str(), item)).collect();
        let mut report = Report::default();
        let here: Vec<_> = self
            .plan
            .asked
            .posts
            .iter()
            .filter(|id| merged.contains(id.as_str()))
            .cloned()
            .collect();
        let mut at_once = match here.is_empty() {
            true => Report::default(),
            false => {
                let replayer: &mut dyn Replayer = &mut kept;
                verify::verify_with(self.root, &here, demands, reading, Some(replayer))
            }
        };
        if !kept.errors.is_empty() {
            return Err(kept.errors);
        }
        report.replayed = at_once.replayed;
        let mut made: HashMap<String, _> =
            at_once.posts.drain(..).map(|post| (post.id.clone(), post)).collect();
        for id in &self.plan.asked.posts {
            match judged.get(id.as_str()) {
                Some(item) => {
                    let Found::Judged(post, failures) = self.result(item).map_err(one)?.found
                    else {
                        return Err(vec![self.damaged(item, "a result of another task")]);
                    };
                    report.failures.extend(failures);
                    report.posts.extend(post.map(|post| *post));
                }
                None => report.posts.extend(made.remove(id)),
            }
        }
        report.failures.extend(at_once.failures);
        report.failures.dedup();
        Ok(report)
    }

    fn items(&self, task: Task) -> impl Iterator<Item = &'a WorkItem> {
        self.plan.items.iter().filter(move |item| item.task == task)
    }

    /// What became of steps.
    fn answers(&self, items: &[&WorkItem]) -> Result<Replays, Vec<Error>> {
        let mut answers = Replays::new();
        for item in items {
            let Found::Replayed(outcome) = self.result(item).map_err(one)?.found else {
                return Err(vec![self.damaged(item, "a result of another task")]);
            };
            let name = item.at.rsplit('/').next().unwrap_or(&item.at).to_owned();
            if let Some(extent) = item.extent {
                answers.insert((name, extent), outcome);
            }
        }
        Ok(answers)
    }

    /// The result of an item: the same in every store that has one.
    fn result(&self, item: &WorkItem) -> Result<WorkResult, Error> {
        let name = name_of(&item.key);
        let mut known: Option<(Vec<u8>, WorkResult, &Store)> = None;
        for at in self.held.get(&item.key).into_iter().flatten() {
            let Some(store) = self.stores.get(*at) else { continue };
            let bytes = store.get(&name, CAP)?.unwrap_or_default();
            let (of, result) = result::read(&bytes)
                .map_err(|why| DAMAGED.at(place(store, &name), "a whole result", why))?;
            if of.item != *item || of.program != self.plan.program {
                return Err(FOREIGN.at(place(store, &name), item.told(), of.item.told()));
            }
            match &known {
                Some((other, _, first)) if *other != bytes => {
                    let expected = format!("what stands in {}", place(first, &name));
                    let found = format!("another result of {}", item.told());
                    return Err(DOUBLED.at(place(store, &name), expected, found));
                }
                Some(_) => {}
                None => known = Some((bytes, result, store)),
            }
        }
        known
            .map(|(_, result, _)| result)
            .ok_or_else(|| MISSING.at(Location::file(name), item.told(), "no result any more"))
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
                item.extent == Some(*extent) && item.bundle == Some(bundle.digest())
            };
            let known = self.planned.iter().find(is_own).and_then(|_| self.answers.get(&key));
            if known.is_none() {
                let expected = format!("the steps {extent} as they were planned");
                let found = "another bundle, or steps that were not";
                self.errors.push(CHANGED.at(Location::file(bundle.name()), expected, found));
            }
            let none = || ReplayOutcome::NotRun("it was not planned".to_owned());
            given.insert(key, known.cloned().unwrap_or_else(none));
        }
        given
    }
}

/// What nothing used of what others vouch for: what no item did.
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

/// Refuses results that are not of the plan: they are of another, or of nothing at all.
fn foreign(plan: &Plan, store: &Store, names: &[String]) -> Result<Vec<Error>, Vec<Error>> {
    let (mut of_plans, mut of_nothing) = (Vec::new(), Vec::new());
    for name in names {
        let bytes = store.get(name, CAP).map_err(one)?.unwrap_or_default();
        match result::head(&bytes) {
            Ok(of) if plan.items.iter().any(|item| item.asks_as(&of.item)) => {
                let planned = if of.program == plan.program {
                    String::new()
                } else {
                    format!(", by {}", of.program.told())
                };
                of_plans.push(format!("`{name}`: {}{planned}", of.item.told()));
            }
            Ok(of) => of_nothing.push(format!("`{name}`: {}", of.item.told())),
            Err(why) => of_nothing.push(format!("`{name}`: {why}")),
        }
    }
    let told = |code: &'static Code, found: &[String]| {
        let listed: Vec<_> = found.iter().take(NAMED).map(String::as_str).collect();
        let more = found.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let found_text = format!("{}{more}", listed.join("; "));
        let place = Location::file(store.shown());
        (!found.is_empty()).then(|| code.at(place, "results of this plan alone", found_text))
    };
    Ok([told(&OTHER_PLAN, &of_plans), told(&FOREIGN, &of_nothing)].into_iter().flatten().collect())
}

/// An error that names items without a result.
fn missing_error(missing: &[&WorkItem]) -> Option<Error> {
    let first = missing.first()?;
    let listed: Vec<_> = missing.iter().take(NAMED).map(|item| item.told()).collect();
    let more = missing.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let found = format!("none of {}{more}", listed.join("; "));
    let expected = format!("results of all items, of which {} have none", missing.len());
    let error = MISSING.at(Location::file("--results"), expected, found);
    Some(error.help(format!("start the workers again, which skip what is done; or `repro work PLAN --results STORE --item {}`", first.key)))
}
