//! Executes the steps that claims and tests ask for, with the trainer of this workspace.

use std::ops::ControlFlow;
use std::path::PathBuf;

use repro_bundle::bundle::Bundle;
use repro_core::source::Error;
use repro_kernels::portable::Isa;
use repro_model::replay::{Choice, MicroBatchSample, Replay, ReplayOutcome, Replays};
use repro_replay::backend::Place;
use repro_replay::replay::{self, Corpora, Machine, Progress};
use repro_verify::verify::{Replayer, SliceRequest};

/// Replays whatever is asked for, but for some stretches.
pub struct Executing {
    pub leaving_out: &'static [&'static str],
}

impl Replayer for Executing {
    fn replay(&mut self, requests: &[SliceRequest<'_>]) -> Replays {
        let asked = |request: &&SliceRequest<'_>| {
            !self.leaving_out.contains(&request.extent.to_string().as_str())
        };
        let one = |request: &SliceRequest<'_>| {
            let key = (request.bundle.name().to_owned(), request.extent);
            let answer = match replayed(request.bundle, Choice::This(request.extent), 2) {
                Ok(replay) => ReplayOutcome::Done(Box::new(replay)),
                Err(error) => ReplayOutcome::Refused(error),
            };
            (key, answer)
        };
        requests.iter().filter(asked).map(one).collect()
    }
}

struct Silent;

impl Progress for Silent {
    fn step(&self, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

pub fn replayed(bundle: &Bundle, choice: Choice, threads: usize) -> Result<Replay, Error> {
    replayed_with(bundle, choice, Machine::new(Place::host(Isa::best()), threads))
}

pub fn replayed_with(bundle: &Bundle, choice: Choice, machine: Machine) -> Result<Replay, Error> {
    asked(bundle, (choice, None), machine)
}

/// Some micro-batches of each step, drawn with a seed.
pub fn sampled(bundle: &Bundle, choice: Choice, sample: MicroBatchSample) -> Result<Replay, Error> {
    asked(bundle, (choice, Some(sample)), Machine::new(Place::host(Isa::best()), 2))
}

fn asked(
    bundle: &Bundle,
    asked: (Choice, Option<MicroBatchSample>),
    machine: Machine,
) -> Result<Replay, Error> {
    replay::replay(bundle, asked, &machine, &Corpora::new(Some(PathBuf::from("."))), &Silent)
}
