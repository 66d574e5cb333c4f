//! The steps of a replay: what they start from, what they read, how they are made; and their execution.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::{Map, Value as Json};

use super::start::Start;
use super::step::{Layout, NarrowErrors, Step};
use crate::backend::{Backend, Host};
use crate::data::{Corpus, Order};
use crate::learner::{Learner, MicroBatch, Stepped, Values};
use crate::model::{Config, Forward, NamedTensor, Sequences};
use crate::narrow::{self, NarrowNorm};
use crate::ops::IGNORED;
use crate::optimizer::Moments;
use crate::{Optimizer, Regime, TensorFile, UpdateMethod};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Source};
use repro_kernels::portable::{Isa, Kernels, Real, TokenPlaces};

/// The epsilon that some programs add to the norm that they divide by.
pub const ADDED: f64 = 1e-6;

/// The batches of the steps.
#[derive(Debug, Clone)]
pub enum RowsRead {
    /// The batches of a slice, one after the other.
    Kept(Vec<Vec<u32>>),
    /// Those that the data give.
    Drawn(Box<Order>, Arc<Corpus>),
}

impl RowsRead {
    /// The rows of step `step`, which is number `at` of the course.
    pub fn of(&mut self, step: u64, at: usize) -> Vec<u32> {
        match self {
            Self::Kept(rows) => rows.get(at).cloned().unwrap_or_default(),
            Self::Drawn(order, corpus) => order.rows(step, &corpus.train),
        }
    }
}

/// A course of steps; a planted fault is a course that differs in one thing.
#[derive(Debug, Clone)]
pub struct Course {
    /// The configuration of the run.
    pub config: Map<String, Json>,
    /// How its steps are made.
    pub regime: Regime,
    /// The start of the course.
    pub start: Start,
    /// How many steps are made.
    pub steps: u64,
    /// The batches of the steps.
    pub rows: RowsRead,
    /// The steps that the optimizer has counted at the start.
    pub counted: u64,
    /// Which step's learning rate a step has: the number of steps ahead.
    pub ahead: u64,
    /// By what the learning rate is multiplied.
    pub factor: f64,
    /// A tensor whose gradient is taken as zero.
    pub frozen: Option<String>,
    /// Of each step, the norm by which another program scaled its gradients down; none where it is that of the gradients.
    pub clip_by: Vec<Option<f64>>,
    /// Whether norms were logged as float64 has them, and not as sums in float32.
    pub exact_norms: bool,
    /// Of each step, what is known of its tokens beside their order; empty where there is nothing.
    pub marks: Vec<Marks>,
    /// The seed of roundings that another program may do differently, in the model and in the optimizer.
    pub other_roundings: Option<u64>,
    /// How much of the weights before a step stays in what is written in their place after it: an average of weights.
    pub averaged: Option<f64>,
    /// A tensor whose moments are, in the second step, those before the first.
    pub stale: Option<String>,
    /// The micro-batches that are executed, where not all are.
    pub sampled: Option<Arc<SampledSteps>>,
}

/// Steps of which some micro-batches are executed. What all of them come to is taken from the log.
#[derive(Debug)]
pub struct SampledSteps {
    /// Their numbers, from 0.
    pub numbers: Vec<usize>,
    /// Of each step, the gradients that were learned from, before clipping.
    pub gradients: Vec<BTreeMap<String, Vec<f32>>>,
}

/// Facts about the tokens of a batch besides their order; each list is empty if there are none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks {
    /// Which targets count.
    pub counted: Vec<bool>,
    /// The document of each token.
    pub documents: Vec<u32>,
    /// The position of each token.
    pub positions: Vec<u32>,
}

/// The measurements of each step, besides losses, norms and routing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepMeasure {
    /// Nothing.
    Plain,
    /// The digest of each tensor.
    Bits,
    /// How far each tensor moves, and how large it is.
    Moves,
    /// The same, and how far norms of it that are taken in float32 may be off. The first pass is kept.
    NarrowMoves,
    /// How far each tensor moves, how large it is, and the share of it that is rounding alone, against a known first pass.
    NoisyMoves,
}

/// The first pass of a walk, forward and backward. Courses that begin alike and differ in what they learn share it, wherever
/// they are walked: it is on the host.
#[derive(Debug)]
pub struct FirstPass<T = f32> {
    config: Map<String, Json>,
    regime: Regime,
    rows: Vec<u32>,
    marks: Marks,
    begun: Vec<Values<T>>,
    forward: Forward<T>,
    gradients: Vec<Vec<T>>,
}

impl<T: Kernels> FirstPass<T> {
    /// Whether it begins like a walker whose first step reads these rows. How tensors are moved does not matter.
    fn begins_like<B: Backend<Number = T>>(
        &self,
        walker: &Walker<'_, B>,
        rows: &[u32],
        marks: &Marks,
    ) -> bool {
        let (course, Regime { rates, optimizer, .. }) = (walker.course, self.regime.clone());
        walker.done == 0
            && course.other_roundings.is_none()
            && self.rows == rows
            && self.marks == *marks
            && self.config == course.config
            && self.regime == Regime { rates, optimizer, ..course.regime.clone() }
            && self.begun == walker.begun
    }

    /// Of each tensor the share whose gradients are others by half of themselves in another pass: so much of an update is
    /// rounding. Rules that divide by a gradient's size move all numbers alike.
    fn noise<B: Backend<Number = T>>(
        &self,
        learner: &Learner<B>,
        optimizer: &Optimizer,
    ) -> Vec<(String, f64)> {
        let of = |named: &NamedTensor| {
            let rule = optimizer.group_of(&named.name, named.decays);
            let method = rule.and_then(|at| optimizer.groups.get(at)).map(|group| group.method);
            let own = self.gradients.get(named.variable).and_then(|all| all.get(named.range()));
            let wide = |all: &[T]| all.iter().map(|number| number.to_f64()).collect::<Vec<_>>();
            let (own, other) = (wide(own.unwrap_or_default()), wide(&learner.gradient_of(named)));
            let is_even = method.is_some_and(UpdateMethod::moves_all_alike);
            let weight = |number: f64| if is_even { 1.0 } else { number * number };
            let whole: f64 = own.iter().map(|number| weight(*number)).sum();
            let noisy = std::iter::zip(&own, &other)
                .filter(|(own, other)| *own != *other && (*own - *other).abs() >= 0.5 * own.abs());
            let noisy: f64 = noisy.map(|(own, _)| weight(*own)).sum();
            (named.name.clone(), if whole > 0.0 { noisy / whole } else { 0.0 })
        };
        learner.tensors().par_iter().map(of).collect()
    }
}

/// Where models are that make no step: only their tensors are asked for.
fn host() -> Host<f32> {
    Host::new(Isa::SCALAR)
}

/// A course under way.
pub struct Walker<'a, B: Backend = Host<f32>> {
    course: &'a Course,
    rows: RowsRead,
    /// The model.
    pub learner: Learner<B>,
    /// The steps that are done.
    pub done: u64,
    begun: Vec<Values<B::Number>>,
    before: Vec<Values<B::Number>>,
    /// The moments before the first step of a tensor that has them again in the second.
    stale: Option<Moments<B::Number>>,
    /// The first pass, where narrow norms are looked at.
    kept: Option<FirstPass<B::Number>>,
}

impl Course {
    /// The tensors of the model by our names, and their numbers in the order of the forward pass.
    pub fn layout(&self) -> Result<Layout, Error> {
        let learner = Learner::zeros(self.config()?.root(), &self.regime, host())?;
        let (names, shapes): (Vec<_>, Vec<_>) = learner.shapes().into_iter().unzip();
        let place = |name: &str| {
            // A bias that evens loads acts where its router does.
            let name = match name.strip_suffix(".e_score_correction_bias") {
                Some(router) => format!("{router}.weight"),
                None => name.to_owned(),
            };
            let named = learner.tensors().iter().find(|named| named.name == name);
            named.map(|named| (named.variable, named.offset))
        };
        let mut forward: Vec<_> = (0..names.len()).collect();
        forward.sort_by_key(|at| names.get(*at).and_then(|name| place(name)));
        let router = |at: &usize| names.get(*at).filter(|name| name.ends_with(".mlp.gate.weight"));
        let routers = forward.iter().filter_map(router).cloned().collect();
        let group = |name: &String| {
            let named = learner.tensors().iter().find(|named| named.name == *name)?;
            self.regime.optimizer.group_of(&named.name, named.decays)
        };
        let groups = names.iter().map(group).collect();
        let sampled = self.sampled.as_ref().map_or_else(Vec::new, |steps| steps.numbers.clone());
        Ok(Layout { names, shapes, forward, routers, groups, sampled })
    }

    fn config(&self) -> Result<Document, Error> {
        let text = Json::Object(self.config.clone()).to_string();
        Document::parse_json(Source::new("config.json", text.into_bytes())?)
    }

    /// The weights that a seed gives this model.
    pub fn weights_of(&self, seed: u64) -> Result<Vec<Values>, Error> {
        Learner::new(self.config()?.root(), &self.regime, seed, host())?.values()
    }

    /// Begins the course where its model shall live.
    pub fn begin<B: Backend>(&self, backend: B) -> Result<Walker<'_, B>, Error> {
        let mut model = Config::read(self.config()?.root())?;
        if let Some(seed) = self.other_roundings {
            model.disturb(seed);
        }
        let mut learner = Learner::shaped(&model, &self.regime, backend);
        learner.restore(self.counted, &self.start.tensors, &self.start.name)?;
        if let Some(tensor) = &self.frozen {
            learner.freeze(tensor);
        }
        if let Some(seed) = self.other_roundings {
            learner.disturb_roundings(seed);
        }
        let begun = learner.values()?;
        let before = begun.clone();
        let stale = self.stale.as_ref().and_then(|tensor| learner.moments_of(tensor));
        let rows = self.rows.clone();
        Ok(Walker { course: self, rows, learner, done: 0, begun, before, stale, kept: None })
    }

    /// The learning rates of step `step`, group by group.
    pub fn rates(&self, step: u64) -> Vec<f32> {
        let rates = self.regime.rates.of(step + self.ahead).into_iter();
        rates.map(|rate| (f64::from(rate) * self.factor) as f32).collect()
    }

    /// Makes all steps, as long as `each` says to go on.
    pub fn walk<B: Backend>(
        &self,
        backend: B,
        measure: StepMeasure,
        each: impl FnMut(usize, &Step, &Stepped) -> ControlFlow<()>,
    ) -> Result<Walker<'_, B>, Error> {
        self.walk_after(backend, None, measure, each)
    }

    /// The same, where a first pass is known, which is perhaps that of this course too.
    pub fn walk_after<B: Backend>(
        &self,
        backend: B,
        known: Option<&FirstPass<B::Number>>,
        measure: StepMeasure,
        mut each: impl FnMut(usize, &Step, &Stepped) -> ControlFlow<()>,
    ) -> Result<Walker<'_, B>, Error> {
        let mut walker = self.begin(backend)?;
        if measure == StepMeasure::NarrowMoves {
            walker.learner.watch_narrow_norms();
        }
        for at in 0..self.steps {
            let (step, stepped) = walker.step_after(known, measure)?;
            if each(at as usize, &step, &stepped).is_break() || !stepped.is_finite() {
                break;
            }
        }
        Ok(walker)
    }
}

impl<B: Backend<Number = f32>> Walker<'_, B> {
    /// Weights and moments as they are after `step` steps of the run.
    pub fn checkpoint(&self, step: u64) -> Result<TensorFile, Error> {
        let seed = self.course.config.get("seed_data").and_then(Json::as_u64);
        self.learner.checkpoint(step, seed.unwrap_or_default())
    }

    /// Their digest.
    pub fn tensors_digest(&self) -> Result<Digest, Error> {
        Ok(self.checkpoint(0)?.tensors_digest())
    }
}

impl<B: Backend> Walker<'_, B> {
    /// Makes the next step, and measures it.
    pub fn step(&mut self, measure: StepMeasure) -> Result<(Step, Stepped), Error> {
        self.step_after(None, measure)
    }

    fn step_after(
        &mut self,
        known: Option<&FirstPass<B::Number>>,
        measure: StepMeasure,
    ) -> Result<(Step, Stepped), Error> {
        let (course, number) = (self.course, self.course.start.step + self.done);
        let rows = self.rows.of(number, self.done as usize);
        let width = course.regime.shape.seq_len + 1;
        let part = |from: usize| {
            let tokens = |row: &[u32]| row.get(from..from + width - 1).unwrap_or_default().to_vec();
            rows.chunks(width).flat_map(tokens).collect::<Vec<_>>()
        };
        let (inputs, mut targets, rates) = (part(0), part(1), course.rates(number));
        let nothing = Marks::default();
        let marks = course.marks.get(self.done as usize).unwrap_or(&nothing);
        let all = targets.iter_mut().zip(&marks.counted);
        all.filter(|(_, counts)| !**counts).for_each(|(target, _)| *target = IGNORED);
        self.learner.clip_by(course.clip_by.get(self.done as usize).copied().flatten());
        let scale = course.regime.loss_scales.get(self.done as usize).copied();
        self.learner.scale_loss(scale.unwrap_or(1.0));
        let sequences = Sequences {
            inputs: &inputs,
            targets: &targets,
            rows: course.regime.shape.batch_size,
            places: TokenPlaces { documents: &marks.documents, positions: &marks.positions },
        };
        if let (1, Some(tensor), Some(moments)) = (self.done, &course.stale, &self.stale) {
            self.learner.set_moments(tensor, moments.clone());
        }
        let unaveraged = course.averaged.map(|_| self.learner.values()).transpose()?;
        let alike = known.filter(|known| known.begins_like(self, &rows, marks));
        let (forward, parts) = match (&course.sampled, alike) {
            (Some(sampled), _) => self.some(sampled, sequences)?,
            (None, Some(known)) => {
                self.learner.set_gradients(&known.gradients);
                (known.forward.clone(), Vec::new())
            }
            (None, None) => (self.learner.pass(sequences)?, Vec::new()),
        };
        if self.done == 0 && measure == StepMeasure::NarrowMoves {
            self.kept = Some(FirstPass {
                config: course.config.clone(),
                regime: course.regime.clone(),
                rows: rows.clone(),
                marks: marks.clone(),
                begun: self.begun.clone(),
                forward: forward.clone(),
                gradients: self.learner.gradients(),
            });
        }
        let is_compared = self.done == 0 && measure == StepMeasure::NoisyMoves;
        let noise = known.filter(|_| is_compared);
        let noise = noise.map(|known| known.noise(&self.learner, &course.regime.optimizer));
        let stepped = self.learner.learn(&forward, &rates)?;
        if let (Some(share), Some(before)) = (course.averaged, unaveraged) {
            self.average(share, before)?;
        }
        self.done += 1;
        // Both are in the order of names; what a rule moves has no gradient.
        let of_tensors = |numbers: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            let mut named = stepped.norms.iter().map(|(name, _)| name).zip(numbers).peekable();
            let own = |values: &Values<B::Number>| named.next_if(|(name, _)| **name == values.name);
            self.begun.iter().map(own).map(|own| own.map_or(0.0, |(_, number)| number)).collect()
        };
        let gradients = of_tensors(&mut stepped.norms.iter().map(|(_, norm)| f64::from(*norm)));
        let narrow = stepped.narrow.as_ref().map(|(each, all)| {
            let clipped_by = *all + ADDED / f64::from(stepped.norm);
            let own = NarrowErrors { clipped_by, ..NarrowErrors::default() };
            match course.exact_norms {
                true => own,
                false => NarrowErrors {
                    gradients: of_tensors(&mut each.iter().copied()),
                    norm: *all,
                    micro_batches: parts.iter().map(|part| part.narrow).collect(),
                    ..own
                },
            }
        });
        let numbers = |of: fn(&MicroBatch) -> f32| {
            course.sampled.as_ref().map(|_| parts.iter().map(|part| of(part).into()).collect())
        };
        let is_whole = course.sampled.is_none();
        let mut step = Step {
            loss: is_whole.then(|| stepped.loss.into()),
            norm: Some(stepped.norm.into()),
            clipped_by: Some(stepped.norm.into()),
            gradients: Some(gradients),
            narrow,
            routed: is_whole.then(|| stepped.routed.clone()),
            undecided: stepped.undecided.clone(),
            micro_batches: [numbers(|part| part.loss), numbers(|part| part.norm)],
            noise: noise.map(|noise| of_tensors(&mut noise.iter().map(|(_, share)| *share))),
            ..Step::default()
        };
        if measure != StepMeasure::Plain {
            let values = self.learner.values()?;
            self.measure(measure, values, &mut step);
        }
        Ok((step, stepped))
    }

    /// Executes some micro-batches of a step, and takes the gradients of all from the log.
    fn some(
        &mut self,
        sampled: &SampledSteps,
        sequences: Sequences<'_>,
    ) -> Result<(Forward<B::Number>, Vec<MicroBatch>), Error> {
        let one = |number: &usize| self.learner.micro_batch(sequences, *number);
        let (mut forwards, parts): (Vec<_>, Vec<_>) =
            sampled.numbers.iter().map(one).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        for (tensor, numbers) in sampled.gradients.get(self.done as usize).into_iter().flatten() {
            let numbers: Vec<_> =
                numbers.iter().map(|number| B::Number::from_f64((*number).into())).collect();
            self.learner.write_gradient(tensor, &numbers)?;
        }
        Ok((forwards.swap_remove(0), parts))
    }

    /// Writes an average of weights in their place: this share of those before the step.
    fn average(&mut self, share: f64, before: Vec<Values<B::Number>>) -> Result<(), Error> {
        for (before, after) in before.into_iter().zip(self.learner.values()?) {
            let pairs = before.values.iter().zip(&after.values);
            let mean = pairs.map(|(before, after)| {
                B::Number::from_f64(before.to_f64() * share + after.to_f64() * (1.0 - share))
            });
            self.learner.write(&before.name, &mean.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn measure(&mut self, measure: StepMeasure, values: Vec<Values<B::Number>>, step: &mut Step) {
        let last = self.done == self.course.steps;
        if last {
            step.moved = Some(distances(&self.begun, &values));
        }
        if measure == StepMeasure::Bits {
            step.digests = Some(values.par_iter().map(|values| values.digest().head()).collect());
            return;
        }
        // As a log has them: rounded to float32 once.
        let rounded =
            |numbers: Vec<f64>| numbers.into_iter().map(|n| f64::from(n as f32)).collect();
        if let Some(narrow) = &mut step.narrow {
            narrow.updates = self.differences(&self.before, &values, 1);
            narrow.moved = self.differences(&self.begun, &values, self.done);
            if !self.course.exact_norms {
                let size = |one: &Values<B::Number>| {
                    NarrowNorm::of(one.values.iter().map(|value| value.to_f64())).error()
                };
                narrow.sizes = values.par_iter().map(size).collect();
            }
        }
        step.updates = Some(rounded(distances(&self.before, &values)));
        step.sizes = Some(rounded(values.iter().map(Values::size).collect()));
        self.before = values;
    }

    /// How far norms of the differences may be off, of weights that were written as float32 in each of so many steps, and
    /// where they are not exact because of their own sums.
    fn differences(
        &self,
        before: &[Values<B::Number>],
        after: &[Values<B::Number>],
        steps: u64,
    ) -> Vec<f64> {
        let optimizer = &self.course.regime.optimizer;
        let decays = |name: &String| {
            let named = self.learner.tensors().iter().find(|named| named.name == *name)?;
            let group = optimizer.groups.get(optimizer.group_of(name, named.decays)?)?;
            Some(group.decay > 0.0 && group.method.decays_apart())
        };
        let pairs: Vec<_> = std::iter::zip(before, after).collect();
        let error = |(before, after): &(&Values<B::Number>, &Values<B::Number>)| {
            let pairs = std::iter::zip(&before.values, &after.values);
            let pairs = pairs.map(|(before, after)| (before.to_f64(), after.to_f64()));
            let narrow_norm = match self.course.exact_norms {
                true => 0.0,
                false => {
                    NarrowNorm::of(pairs.clone().map(|(before, after)| after - before)).error()
                }
            };
            narrow_norm + narrow::written(pairs, steps, decays(&after.name).unwrap_or(false))
        };
        pairs.par_iter().map(error).collect()
    }

    /// The first pass, for walks of other courses.
    pub fn first_pass(&mut self) -> Option<FirstPass<B::Number>> {
        self.kept.take()
    }

    /// Whether some targets do not count.
    pub fn is_masked(&self) -> bool {
        self.course.marks.iter().any(|marks| !marks.counted.is_empty())
    }

    /// How the steps are made.
    pub fn regime(&self) -> &Regime {
        &self.course.regime
    }

    /// The tensors as the course began with them.
    pub fn begun(&self) -> &[Values<B::Number>] {
        &self.begun
    }
}

fn distances<T: Kernels>(before: &[Values<T>], after: &[Values<T>]) -> Vec<f64> {
    std::iter::zip(before, after).map(|(before, after)| after.distance(before)).collect()
}
