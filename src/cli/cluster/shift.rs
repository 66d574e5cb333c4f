//! The work loop: skips items with a result, executes the others and stores their results.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use repro_bundle::bundle::ReadOptions;
use repro_bundle::signature::PrivateKey;
use repro_bundle::storage::Store;
use repro_core::parallel;
use repro_core::source::{Error, Location};
use repro_model::replay::ReplayEngine;
use repro_report::outcome::ExitStatus;
use repro_verify::cluster::{Known, WorkItem, WorkPlan, WorkResult, WorkTask, Worker, keep, known};
use repro_verify::verify::{Demands, Replayer};

use super::NOT_DONE;
use crate::cli::args::JudgedArgs;
use crate::cli::arrangement::ReplayArrangement;
use crate::cli::output::Output;
use crate::cli::pace::{EVERY, ShownPace, WordedPace, time_left};
use crate::cli::trainer::{self, RunData};
use crate::cli::verify;

/// All that a worker needs.
pub struct Shift<'a> {
    pub root: &'a Path,
    pub plan: &'a WorkPlan,
    pub judged: &'a JudgedArgs,
    pub demands: &'a Demands,
    pub reading: ReadOptions<'a>,
    pub data: &'a RunData,
    pub device: Option<&'a str>,
    pub store: &'a Store,
    /// The key that signs the results.
    pub key: Option<&'a PrivateKey>,
}

/// The work done by a worker.
#[derive(Debug, Default)]
pub struct Done {
    /// How many items were executed.
    pub executed: usize,
    /// How many had a result.
    pub there: usize,
    /// The keys of those that have none.
    pub not_done: Vec<String>,
}

impl Done {
    /// In a line.
    pub fn told(&self, of: usize) -> String {
        let Self { executed, there, not_done } = self;
        let open = match not_done.len() {
            0 => String::new(),
            count => format!(", {count} not done"),
        };
        format!("{of} items: {executed} executed, {there} already done{open}")
    }
}

/// The outcome of an item.
enum Fate {
    /// It had a result.
    There,
    Executed,
    /// It has none, and why.
    NotDone(Error),
    /// Its result cannot be read or kept: neither can others be.
    Broken(Error),
    /// Something is broken, so that it was not looked at.
    Left,
}

impl Shift<'_> {
    /// Executes the items that have no result yet: steps one after the other, then bundles and posts side by side. Another status
    /// where the device is not there.
    pub fn work(
        &self,
        items: &[&WorkItem],
        (output, has_failed): (&Output, &Cell<bool>),
    ) -> Result<Result<Done, ExitStatus>, Vec<Error>> {
        let is_replay = |item: &&WorkItem| item.task == WorkTask::Replay;
        let (steps, others): (Vec<_>, Vec<_>) = items.iter().copied().partition(is_replay);
        let vouchers = || verify::vouchers(self.judged);
        let estimator = self.data.estimator();
        let from = (self.root, self.plan);
        let mut worker = Worker::new(from, self.demands, self.reading, estimator, &vouchers);
        let mut tally = Tally::of(items, output);
        if !steps.is_empty() {
            let arrangement = ReplayArrangement {
                device: self.device,
                engine: ReplayEngine::Own,
                threads: self.reading.threads,
                budget: None,
                is_told: output.verbose(),
            };
            let work = |replayer: &mut dyn Replayer| {
                self.execute(&steps, &mut worker, (replayer, has_failed), &mut tally);
            };
            let made = trainer::replaying(arrangement, self.data, (output, has_failed), work)?;
            if let Err(status) = made {
                return Ok(Err(status));
            }
        }
        self.judge(&others, &worker, &mut tally);
        tally.ended().map(Ok)
    }

    fn execute(
        &self,
        items: &[&WorkItem],
        worker: &mut Worker<'_>,
        (replayer, has_failed): (&mut dyn Replayer, &Cell<bool>),
        tally: &mut Tally<'_>,
    ) {
        let began = has_failed.get();
        for item in items {
            let fate = self.fate(item, || {
                has_failed.set(false);
                let result = worker.replayed(item, replayer)?;
                if has_failed.get() {
                    let (expected, found) = (item.told(), "a failed device");
                    return Err(NOT_DONE.at(Location::file(&item.at), expected, found));
                }
                Ok(result)
            });
            tally.has_failed |= has_failed.get();
            tally.take(item, fate);
            tally.say();
            if tally.is_broken() {
                break;
            }
        }
        has_failed.set(began || tally.has_failed);
    }

    fn judge(&self, items: &[&WorkItem], worker: &Worker<'_>, tally: &mut Tally<'_>) {
        if items.is_empty() || tally.is_broken() {
            return;
        }
        let is_broken = AtomicBool::new(false);
        let shown = ShownPace::new(tally.output, "work".to_owned(), tally.pace.clone());
        let threads = self.reading.threads;
        let judge = |item, threads| {
            if is_broken.load(Ordering::Relaxed) {
                return Fate::Left;
            }
            let fate = self.fate(item, || worker.judged(item, threads));
            if let Fate::Broken(_) = fate {
                is_broken.store(true, Ordering::Relaxed);
            }
            fate
        };
        let mut next = items.iter();
        parallel::in_order(
            items,
            threads,
            |item, threads| judge(*item, threads),
            |fate| {
                if let Some(item) = next.next() {
                    shown.moved(|pace| pace.take(item, &fate));
                    tally.take(item, fate);
                }
            },
        );
        shown.end();
    }

    /// Executes an item that has no result which holds for ever, and keeps what comes of it.
    fn fate(&self, item: &WorkItem, execute: impl FnOnce() -> Result<WorkResult, Error>) -> Fate {
        match known(self.store, item, self.key) {
            Err(error) => return Fate::Broken(error),
            Ok(Known::Sound(result)) if result.is_final() => return Fate::There,
            Ok(_) => {}
        }
        match execute() {
            Err(error) => Fate::NotDone(error),
            Ok(result) => match keep(self.store, item, &self.plan.program, &result, self.key) {
                Err(error) => Fate::Broken(error),
                Ok(()) => Fate::Executed,
            },
        }
    }
}

/// The fates of items so far.
struct Tally<'a> {
    output: &'a Output,
    done: Done,
    pace: WorkPace,
    told: Instant,
    broken: Option<Error>,
    has_failed: bool,
}

impl<'a> Tally<'a> {
    fn of(items: &[&WorkItem], output: &'a Output) -> Self {
        let (pace, told) = (WorkPace::of(items), Instant::now());
        Self { output, done: Done::default(), pace, told, broken: None, has_failed: false }
    }

    fn take(&mut self, item: &WorkItem, fate: Fate) {
        self.pace.take(item, &fate);
        match fate {
            Fate::There => self.done.there += 1,
            Fate::Executed => self.done.executed += 1,
            Fate::Left => {}
            Fate::NotDone(error) => {
                self.output.complain(&error);
                self.done.not_done.push(item.key.to_string());
            }
            Fate::Broken(error) => self.broken = self.broken.take().or(Some(error)),
        }
    }

    /// Says how far the worker is while steps are executed, which have a bar of their own.
    fn say(&mut self) {
        let now = Instant::now();
        if !self.output.quiet() && now.duration_since(self.told) >= EVERY {
            self.told = now;
            self.output.say(&format!("work: {}", self.pace.text(now)));
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    fn ended(self) -> Result<Done, Vec<Error>> {
        self.broken.map_or(Ok(self.done), |error| Err(vec![error]))
    }
}

/// How fast a worker is, in milliseconds by the estimates of its items.
#[derive(Debug, Clone)]
struct WorkPace {
    began: Instant,
    items: usize,
    of_items: usize,
    /// Executed, and to be executed: without what had a result.
    cost: u64,
    of_cost: u64,
}

impl WorkPace {
    fn of(items: &[&WorkItem]) -> Self {
        let costs = items.iter().map(|item| item.cost_ms.max(1));
        let of_cost = costs.fold(0, u64::saturating_add);
        Self { began: Instant::now(), items: 0, of_items: items.len(), cost: 0, of_cost }
    }

    fn take(&mut self, item: &WorkItem, fate: &Fate) {
        let cost = item.cost_ms.max(1);
        self.items += 1;
        match fate {
            Fate::There => self.of_cost = self.of_cost.saturating_sub(cost),
            _ => self.cost = self.cost.saturating_add(cost),
        }
    }
}

impl WordedPace for WorkPace {
    fn text(&self, now: Instant) -> String {
        let took = now.saturating_duration_since(self.began);
        let left = time_left(self.cost, self.of_cost, took);
        format!("{} of {} items{left}", self.items, self.of_items)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_done_before_says_nothing_of_the_time_that_is_left() {
        let began = Instant::now();
        let mut pace = WorkPace { began, items: 2, of_items: 10, cost: 100, of_cost: 400 };
        let text = |pace: &WorkPace| pace.text(began + Duration::from_secs(10));
        assert_eq!(text(&pace), "2 of 10 items, about 30 s left");
        pace.cost = 0;
        assert_eq!(text(&pace), "2 of 10 items");
    }
}
