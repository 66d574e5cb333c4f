//! `repro work`.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use repro_cluster::{
    DeviceClass, Estimator, Known, Partition, WorkItem, WorkPlan, WorkTask, Worker, keep, known,
    longest_first,
};
use repro_judge::verify::{Demands, Replayer};
use repro_receipt::bundle::ReadOptions;
use repro_receipt::digest::Digest;
use repro_receipt::source::{Error, Location};
use repro_report::outcome::ExitStatus;
use repro_storage::Store;
use serde_json::json;

use super::{NO_ITEM, NOT_DONE, asked, load};
use crate::cli::args::{ClassArg, JudgedArgs, WorkArgs};
use crate::cli::arrangement::ReplayArrangement;
use crate::cli::output::Output;
use crate::cli::trainer::{self, RunData};
use crate::cli::{Answer, BAD_USAGE, threads, verify};

/// Every how often a worker says how far it is.
const EVERY: Duration = Duration::from_secs(10);

/// Runs the command.
pub fn work(root: &Path, own: &WorkArgs, output: &Output) -> Answer {
    let one = |error| vec![error];
    let plan = load(&own.plan)?;
    let items = chosen(&plan, own).map_err(one)?;
    let store = Store::open(&own.results).map_err(one)?;
    let judged = asked::judged(&plan.asked).map_err(one)?;
    let demands = asked::demands(root, &plan.asked, &judged).map_err(one)?;
    let data = RunData::new(own.data.clone());
    let threads = own.threads.unwrap_or_else(threads::cores);
    let shift = Shift {
        root,
        plan: &plan,
        judged: &judged,
        demands: &demands,
        reading: ReadOptions::from(threads),
        data: &data,
        device: own.device.as_deref(),
    };
    let has_failed = Cell::new(false);
    let done = match shift.work(&items, &store, (output, &has_failed))? {
        Ok(done) => done,
        Err(status) => return Ok(status),
    };
    match output.wants_json() {
        true => output.print_json(&json!({
            "schema": "repro.work/1",
            "items": items.len(),
            "executed": done.executed,
            "there": done.there,
            "not_done": done.not_done,
        })),
        false => output.print(&format!("{}\n", done.told(items.len()))),
    }
    Ok(match (done.not_done.is_empty(), has_failed.get()) {
        (true, _) => ExitStatus::Verified,
        (false, true) => ExitStatus::NotRun,
        (false, false) => ExitStatus::Refused,
    })
}

/// The items that the arguments choose, in the order of their execution.
fn chosen<'p>(plan: &'p WorkPlan, own: &WorkArgs) -> Result<Vec<&'p WorkItem>, Error> {
    let is_of_class = |item: &&WorkItem| match own.class {
        None => true,
        Some(ClassArg::Any) => item.class == DeviceClass::Any,
        Some(ClassArg::Processor) => item.class == DeviceClass::Processor,
    };
    if let Some(text) = &own.partition {
        let partition = Partition::parse(text).ok_or_else(|| {
            let expected = "`K/N`, the K-th of N parts, counted from 1";
            BAD_USAGE.at(Location::file("--partition"), expected, format!("`{text}`"))
        })?;
        return Ok(partition.of(plan.items.iter().filter(is_of_class)));
    }
    let asked = own.item.iter().map(|text| {
        let key = Digest::parse_hex(text);
        let item = plan.items.iter().find(|item| Some(item.key) == key);
        item.ok_or_else(|| {
            let expected = format!("the key of one of the plan's {} items", plan.items.len());
            NO_ITEM.at(Location::file("--item"), expected, format!("`{text}`"))
        })
    });
    let asked: Vec<_> = asked.collect::<Result<_, _>>()?;
    let items = if asked.is_empty() { plan.items.iter().collect() } else { asked };
    Ok(longest_first(items.into_iter().filter(is_of_class)))
}

/// All that a worker needs.
pub struct Shift<'a> {
    pub root: &'a Path,
    pub plan: &'a WorkPlan,
    pub judged: &'a JudgedArgs,
    pub demands: &'a Demands,
    pub reading: ReadOptions<'a>,
    pub data: &'a RunData,
    pub device: Option<&'a str>,
}

/// What a worker has done.
#[derive(Debug, Default)]
pub struct Done {
    executed: usize,
    there: usize,
    not_done: Vec<String>,
}

impl Done {
    /// In a line.
    fn told(&self, of: usize) -> String {
        let Self { executed, there, not_done } = self;
        let open = match not_done.len() {
            0 => String::new(),
            count => format!(", {count} not done"),
        };
        format!("{of} items: {executed} executed, {there} were done{open}")
    }
}

impl Shift<'_> {
    /// Executes items that have no result yet, one after the other; another status where the device is not there.
    pub fn work(
        &self,
        items: &[&WorkItem],
        store: &Store,
        (output, has_failed): (&Output, &Cell<bool>),
    ) -> Result<Result<Done, ExitStatus>, Vec<Error>> {
        if !items.iter().any(|item| item.task == WorkTask::Replay) {
            return self.walk(items, store, None, (output, has_failed)).map(Ok);
        }
        let (device, threads) = (self.device, self.reading.threads);
        let (budget, is_told) = (None, output.verbose());
        let arrangement = ReplayArrangement { device, threads, budget, is_told };
        let work = |replayer: &mut dyn Replayer| {
            self.walk(items, store, Some(replayer), (output, has_failed))
        };
        trainer::replaying(arrangement, self.data, (output, has_failed), work)?
            .map_or_else(|status| Ok(Err(status)), |done| done.map(Ok))
    }

    fn walk(
        &self,
        items: &[&WorkItem],
        store: &Store,
        mut replayer: Option<&mut dyn Replayer>,
        (output, has_failed): (&Output, &Cell<bool>),
    ) -> Result<Done, Vec<Error>> {
        let vouchers = || verify::vouchers(self.judged);
        let estimator: Option<&dyn Estimator> = self.data.estimator();
        let from = (self.root, self.plan);
        let mut worker = Worker::new(from, self.demands, self.reading, estimator, &vouchers);
        let (mut done, mut pace) = (Done::default(), Pace::of(items));
        for item in items {
            match known(store, item).map_err(|error| vec![error])? {
                Known::Sound(result) if result.is_final() => {
                    done.there += 1;
                    pace.skipped(item);
                    continue;
                }
                _ => {}
            }
            let lent = replayer.as_mut().map(|replayer| &mut **replayer as &mut dyn Replayer);
            let before = has_failed.replace(false);
            let result = worker.execute(item, lent);
            let broke = has_failed.get();
            has_failed.set(before || broke);
            let result = match (result, broke) {
                (Ok(_), true) => {
                    let (expected, found) = (item.told(), "a device that failed");
                    Err(NOT_DONE.at(Location::file(&item.at), expected, found))
                }
                (result, _) => result,
            };
            match result {
                Ok(result) => {
                    keep(store, item, &self.plan.program, &result).map_err(|error| vec![error])?;
                    done.executed += 1;
                }
                Err(error) => {
                    output.complain(&error);
                    done.not_done.push(item.key.to_string());
                }
            }
            if let Some(line) = pace.done(item).filter(|_| !output.quiet()) {
                output.say(&line);
            }
        }
        Ok(done)
    }
}

/// How fast a worker is.
struct Pace {
    began: Instant,
    told: Instant,
    items: usize,
    of_items: usize,
    /// Milliseconds by their estimates: executed, and still to be executed.
    cost: u64,
    left: u64,
}

impl Pace {
    fn of(items: &[&WorkItem]) -> Self {
        let (began, left) = (Instant::now(), items.iter().map(|item| item.cost_ms.max(1)).sum());
        Self { began, told: began, items: 0, of_items: items.len(), cost: 0, left }
    }

    fn skipped(&mut self, item: &WorkItem) {
        self.items += 1;
        self.left = self.left.saturating_sub(item.cost_ms.max(1));
    }

    /// What is to be said after an item, where it is time.
    fn done(&mut self, item: &WorkItem) -> Option<String> {
        self.skipped(item);
        self.cost += item.cost_ms.max(1);
        if self.told.elapsed() < EVERY {
            return None;
        }
        self.told = Instant::now();
        let spent = self.began.elapsed().as_secs_f64();
        let left = spent * self.left as f64 / self.cost as f64;
        let rate = self.items as f64 / spent;
        let Self { items, of_items, .. } = self;
        Some(format!("{items} of {of_items} items, {rate:.1} a second, about {left:.0} s left"))
    }
}
