//! The replays that a verification asks for: cheapest first, within a budget.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::hint::black_box;
use std::time::{Duration, Instant};

use super::shown::Bar;
use crate::cli::output::Output;
use repro_kernels::device::{Product, TableMatrix};
use repro_kernels::portable::{Matrix, product};
use repro_model::replay::{Choice, MicroBatchSample, NO_DATA, ReplayOutcome, Replays, STOPPED};
use repro_replay::DEVICE_FAILED;
use repro_replay::replay::{self, Corpora, Machine};
use repro_verify::verify::{Replayer, SliceRequest};

/// The width of the products that this machine's speed is measured with, and how many there are.
const WIDTH: usize = 256;
const PRODUCTS: usize = 8;
/// The share of the speed of products that training steps reach at least.
const REACHED: f64 = 0.4;
/// The share of the time that is left which a sample of micro-batches may take.
const SAMPLED: f64 = 0.7;

/// A verification's replays.
pub struct PlannedReplays<'a> {
    output: &'a Output,
    /// Whether each replay is told before it begins.
    is_told: bool,
    machine: Machine,
    corpora: &'a Corpora,
    /// When replays have to be over, where there is a budget.
    deadline: Option<Instant>,
    /// Operations a second that replays have reached here.
    speed: Option<f64>,
    /// Whether a device failed under way.
    has_failed: &'a Cell<bool>,
}

impl<'a> PlannedReplays<'a> {
    /// Replays on a machine; a budget begins now.
    pub fn new(
        (output, is_told): (&'a Output, bool),
        has_failed: &'a Cell<bool>,
        (machine, corpora): (Machine, &'a Corpora),
        budget: Option<Duration>,
    ) -> Self {
        let deadline = budget.and_then(|budget| Instant::now().checked_add(budget));
        Self { output, is_told, machine, corpora, deadline, speed: None, has_failed }
    }

    /// How long work of so many operations takes here, estimated where somebody wants to know: the machine is measured first.
    fn estimate(&mut self, cost: f64) -> Duration {
        if self.deadline.is_none() && !self.is_told {
            return Duration::ZERO;
        }
        let speed = *self.speed.get_or_insert_with(|| REACHED * speed_of_products(&self.machine));
        Duration::try_from_secs_f64(cost / speed).unwrap_or(Duration::MAX)
    }

    fn one(&mut self, request: &SliceRequest<'_>, cost: f64) -> ReplayOutcome {
        let took = self.estimate(cost);
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let label = format!("replay of {}, {}", request.bundle.name(), request.extent);
        let seconds = took.as_secs_f64().ceil();
        let sample = left.filter(|left| took > *left).and_then(|left| sample(request, took, left));
        if let Some(MicroBatchSample { count, .. }) = sample {
            self.tell(&format!(
                "{label}: about {seconds:.0} s, so only {count} micro-batches per step"
            ));
        } else if left.is_some_and(|left| took > left) {
            self.tell(&format!("{label}: about {seconds:.0} s, more than the remaining budget"));
            return ReplayOutcome::NotRun("it does not fit the budget".to_owned());
        }
        if sample.is_none() {
            self.tell(&format!("{label}: about {seconds:.0} s"));
        }
        let bar = Bar::new(self.output, &label, self.deadline);
        let began = Instant::now();
        let choice = Choice::This(request.extent);
        let asked = (choice, sample);
        let replayed = replay::replay(request.bundle, asked, &self.machine, self.corpora, &bar);
        bar.end();
        match replayed {
            Err(error) if error.code == &NO_DATA => ReplayOutcome::NotRun(format!(
                "the training data is not available: {}",
                error.found
            )),
            Err(error) if error.code == &DEVICE_FAILED => {
                // What failed stays so; the next replay begins anew, where the device still opens.
                if let Some(device) = &mut self.machine.place.device
                    && let Ok(anew) = repro_kernels::device::open(device.id())
                {
                    *device = anew;
                }
                self.output.complain(&error);
                self.has_failed.set(true);
                ReplayOutcome::NotRun(error.found.clone())
            }
            Err(error) => ReplayOutcome::Refused(error),
            Ok(replay) if replay.code == Some(&STOPPED) => {
                ReplayOutcome::NotRun("the replay exceeded the budget".to_owned())
            }
            Ok(replay) if sample.is_some() => ReplayOutcome::Done(Box::new(replay)),
            Ok(replay) => {
                self.speed = Some(cost / began.elapsed().as_secs_f64());
                ReplayOutcome::Done(Box::new(replay))
            }
        }
    }

    fn tell(&self, text: &str) {
        if self.is_told {
            self.output.say(text);
        }
    }
}

impl Replayer for PlannedReplays<'_> {
    fn replay(&mut self, requests: &[SliceRequest<'_>]) -> Replays {
        let mut answers = Replays::new();
        let mut costed = Vec::new();
        for request in requests {
            let key = (request.bundle.name().to_owned(), request.extent);
            match replay::cost(request.bundle, request.extent) {
                Ok(cost) => costed.push((cost, key, request)),
                Err(error) => drop(answers.insert(key, ReplayOutcome::Refused(error))),
            }
        }
        costed.sort_by(|(a, left, _), (b, right, _)| a.total_cmp(b).then_with(|| left.cmp(right)));
        for (cost, key, request) in costed {
            let answer = self.one(request, cost);
            answers.insert(key, answer);
        }
        answers
    }
}

/// As many micro-batches of the steps of a request as fit, drawn anew each time so that no author knows them before.
fn sample(request: &SliceRequest<'_>, took: Duration, left: Duration) -> Option<MicroBatchSample> {
    let of = replay::micro_batches(request.bundle, request.extent)?;
    let share = SAMPLED * left.as_secs_f64() / took.as_secs_f64();
    let count = (of as f64 * share) as usize;
    let seed = RandomState::new().build_hasher().finish();
    // So short that it can be typed.
    (count > 0).then_some(MicroBatchSample { count, seed: seed >> 32 })
}

/// The operations a second that products of matrices reach on this machine.
fn speed_of_products(machine: &Machine) -> f64 {
    // The first time wakes threads, fills buffers, and compiles kernels.
    let _ = seconds_of_products(machine);
    let work = || seconds_of_products(machine);
    let seconds = replay::on_threads(machine.threads, work).unwrap_or(f64::INFINITY);
    (2 * PRODUCTS * WIDTH * WIDTH * WIDTH) as f64 / seconds.max(1e-9)
}

fn seconds_of_products(machine: &Machine) -> f64 {
    let numbers = vec![0.5_f32; WIDTH * WIDTH];
    let began = Instant::now();
    match &machine.place.device {
        None => {
            let mut result = vec![0.0; WIDTH * WIDTH];
            let of = Matrix::new(&numbers, WIDTH, WIDTH);
            for _ in 0..PRODUCTS {
                product(machine.place.isa, &mut result, of, of, None);
                black_box(&result);
            }
        }
        Some(device) => {
            let (numbers, mut result) = (device.upload(&numbers), device.table(WIDTH * WIDTH));
            let of = TableMatrix::new(&numbers, 0, WIDTH, WIDTH);
            for _ in 0..PRODUCTS {
                device.product(&mut result, Product::new(of, of));
            }
            // Work is handed over and not waited for: an answer is.
            black_box(result.read(0..1));
        }
    }
    began.elapsed().as_secs_f64()
}
