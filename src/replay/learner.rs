//! A model that learns: one step of training, its state as tensors, and the same model as a predictor
//! of text.

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use super::backend::device_failed;
use super::backend::{Backend, Host};
use super::load::RouterLoad;
use super::model::{
    BatchParts, Config, Failure, Forward, Load, MixtureConfig, Model, NamedTensor, OperationRows,
    PartRows, Sequences,
};
use super::narrow::NarrowNorm;
use super::optimizer::{self, Moments, OptimizerState};
use super::scorer::{RowScores, Scorer};
use super::{MODEL_FAILED, Regime};
use repro_core::digest::{Digest, Hasher};
use repro_core::source::{Error, Location, Node};
use repro_kernels::portable::{Kernels, Real};

/// A model and its optimizer. Runs are trained in float32; float64 shows what rounding does.
pub struct Learner<B: Backend = Host<f32>> {
    model: Model<B>,
    optimizer: OptimizerState<B>,
    /// Tokens of a sequence, and of a batch.
    length: usize,
    batch: usize,
    /// In which parts a batch is executed.
    parts: BatchParts,
    /// The tensor whose gradient is taken as zero.
    frozen: Option<String>,
    /// The tensors that the optimizer has in no group, which have no gradients.
    resting: Vec<String>,
    loss_scale: f64,
    /// The norm that decides how far the next gradients are scaled down, where it is not their own.
    decisive: Option<f64>,
    /// Whether it is looked at how far float32 norms of the gradients may be off.
    narrow: bool,
}

/// Tokens of a model of others that are executed at a time, where they may be parted.
const AT_ONCE: usize = 1 << 14;
/// Elements that are hashed at a time.
const PIECE: usize = 1024;

/// The values of one named tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Values<T = f32> {
    /// Its name.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its elements.
    pub values: Vec<T>,
}

impl<T: Kernels> Values<T> {
    /// The digest of the elements as float32, least significant byte first.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        let mut bytes = [[0; 4]; PIECE];
        for piece in self.values.chunks(PIECE) {
            for (bytes, value) in bytes.iter_mut().zip(piece) {
                *bytes = (value.to_f64() as f32).to_le_bytes();
            }
            hasher.update(bytes.get(..piece.len()).unwrap_or_default().as_flattened());
        }
        hasher.finish()
    }

    /// How far the tensor is from what it was: the root of the sum of squared differences, in float64 and
    /// in the order of the elements.
    pub fn distance(&self, before: &Self) -> f64 {
        T::distance(&before.values, &self.values)
    }

    /// The root of the sum of squares, in the same way.
    pub fn size(&self) -> f64 {
        T::length(&self.values)
    }
}

/// The result of one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MicroBatch {
    /// Mean nats of its targets that count.
    pub loss: f32,
    /// The norm of what it adds to all gradients.
    pub norm: f32,
    /// How far that may be off in float32, where that is looked at.
    pub narrow: f64,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Stepped {
    /// The cross-entropy of its batch before the update.
    pub loss: f32,
    /// The norm of its gradients before clipping.
    pub norm: f32,
    /// The norm of each trained tensor's gradient.
    pub norms: Vec<(String, f32)>,
    /// How far a float32 norm of each of these gradients may be off, and one of all; where that is looked at.
    pub narrow: Option<(Vec<f64>, f64)>,
    /// Of each layer that routes, how many tokens each expert was chosen for.
    pub routed: Vec<Vec<u64>>,
    /// Of each of these layers, the tokens whose choice is one between equal scores.
    pub undecided: Vec<u64>,
    /// Losses and loads of the routers, as records have them.
    pub router: Option<Json>,
}

impl Stepped {
    /// Whether training can go on after it.
    pub fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.norm.is_finite()
    }

    /// The norm of a tensor's gradient; 0 where it has none, because a rule moves it.
    pub fn norm_of(&self, tensor: &str) -> f32 {
        self.norms.iter().find(|(name, _)| name == tensor).map_or(0.0, |(_, norm)| *norm)
    }
}

impl<B: Backend> Learner<B> {
    /// The model that a run's config describes, with the weights of a seed.
    pub fn new(config: Node<'_>, regime: &Regime, seed: u64, backend: B) -> Result<Self, Error> {
        let config = Config::read(config)?;
        Ok(Self::of(Model::new(&config, backend.clone(), seed), backend, regime))
    }

    /// A model of this shape, whose weights are still to be restored.
    pub fn shaped(model: &Config, regime: &Regime, backend: B) -> Self {
        let model = Config { precision: regime.precision, ..model.clone() };
        Self::of(Model::zeros(&model, backend.clone()), backend, regime)
    }

    /// The model that a run's config describes, whose weights are still to be restored.
    pub fn zeros(config: Node<'_>, regime: &Regime, backend: B) -> Result<Self, Error> {
        Ok(Self::shaped(&Config::read(config)?, regime, backend))
    }

    fn of(mut model: Model<B>, backend: B, regime: &Regime) -> Self {
        model.train_with(regime.terms);
        let group = |named: &NamedTensor| regime.optimizer.group_of(&named.name, named.decays);
        let shape = |named: &NamedTensor| match *named.shape {
            [rows, columns] => [rows, columns],
            _ => [1, named.len],
        };
        let groups: Vec<_> =
            model.tensors().iter().map(|named| (group(named), shape(named))).collect();
        let optimizer = OptimizerState::new(backend, &regime.optimizer, &groups);
        let batch = regime.shape.tokens_per_step() as usize;
        let length = regime.shape.seq_len;
        let rests = |named: &&NamedTensor| group(named).is_none();
        let resting =
            model.tensors().iter().filter(rests).map(|named| named.name.clone()).collect();
        let (frozen, decisive, narrow) = (None, None, false);
        let parts = parts_of(model.config(), regime);
        let loss_scale = 1.0;
        Self {
            model,
            optimizer,
            length,
            batch,
            parts,
            loss_scale,
            frozen,
            resting,
            decisive,
            narrow,
        }
    }

    /// From now on takes the gradient of a trained tensor as zero: a fault that replays plant.
    pub fn freeze(&mut self, tensor: &str) {
        self.frozen = Some(tensor.to_owned());
    }

    /// Scales the gradients of the next steps down as if this were their norm: that of a program whose sums are others.
    pub fn clip_by(&mut self, norm: Option<f64>) {
        self.decisive = norm;
    }

    /// Multiplies the losses of the next steps by this before their backward passes.
    pub fn scale_loss(&mut self, by: f64) {
        self.loss_scale = by;
    }

    /// From now on looks at how far float32 norms of the gradients may be off.
    pub fn watch_narrow_norms(&mut self) {
        self.narrow = true;
    }

    /// From now on disturbs what the optimizer rounds to bfloat16, by draws from this seed.
    pub fn disturb_roundings(&mut self, seed: u64) {
        self.optimizer.disturb_roundings(seed);
    }

    /// Checks that a gradient reaches every tensor; what is no error but worth knowing is answered.
    pub fn check_gradients(&mut self) -> Result<Vec<String>, Error> {
        let unseen = self.model.check_gradients().map_err(failed)?;
        let note = format!(
            "{} tensors belong to experts that received no token in the gradient check",
            unseen.len()
        );
        Ok(if unseen.is_empty() { Vec::new() } else { vec![note] })
    }

    /// Makes one step on sequences, at the rate of each group of tensors. Where loss or norm is not finite nothing is changed.
    pub fn step(&mut self, sequences: Sequences<'_>, rates: &[f32]) -> Result<Stepped, Error> {
        let forward = self.pass(sequences)?;
        self.learn(&forward, rates)
    }

    /// Runs sequences forward and backward. The gradients stay in the model until something is learned.
    pub fn pass(&mut self, sequences: Sequences<'_>) -> Result<Forward<B::Number>, Error> {
        let forward = match self.parts {
            BatchParts { micro_batches: 1, pieces: 1, .. } => {
                let forward = self.model.forward(sequences).map_err(failed)?;
                self.model.backward().map_err(failed)?;
                forward
            }
            parts => self.model.in_parts(sequences, parts).map_err(failed)?,
        };
        self.scale_gradients();
        Ok(forward)
    }

    /// The rows behind each part of the model for some sequences, by the name of the part.
    pub fn rows_of_parts(
        &mut self,
        sequences: Sequences<'_>,
    ) -> Result<Vec<PartRows<B::Number>>, Error> {
        self.model.rows_of_parts(sequences).map_err(failed)
    }

    /// The rows that each operation with weights read and made in the last walk, in its order.
    pub fn rows_of_operations(&self) -> Result<Vec<OperationRows<B::Number>>, Error> {
        self.model.rows_of_operations().map_err(failed)
    }

    /// Runs one micro-batch of sequences alone. Answers its own loss, and the norm of what it adds to the gradients of all.
    pub fn micro_batch(
        &mut self,
        sequences: Sequences<'_>,
        number: usize,
    ) -> Result<(Forward<B::Number>, MicroBatch), Error> {
        let forward = self.model.micro_batch(sequences, self.parts, number).map_err(failed)?;
        self.scale_gradients();
        self.drop_gradients().map_err(failed)?;
        let squares = self.model.gradient_squares().map_err(failed)?;
        let batch = MicroBatch {
            loss: forward.cross_entropy.to_f64() as f32,
            norm: optimizer::norm(&squares) as f32,
            narrow: if self.narrow { narrow(&self.model).1 } else { 0.0 },
        };
        Ok((forward, batch))
    }

    /// Sets the gradient of a tensor.
    pub fn write_gradient(&mut self, tensor: &str, numbers: &[B::Number]) -> Result<(), Error> {
        self.model.write_gradient(tensor, numbers).map_err(failed)
    }

    fn scale_gradients(&mut self) {
        if self.loss_scale != 1.0 {
            self.model.scale_gradients(self.loss_scale);
        }
    }

    /// Takes the gradients as zero that are not learned from.
    fn drop_gradients(&mut self) -> Result<(), Failure> {
        self.frozen.iter().chain(&self.resting).try_for_each(|name| self.model.drop_gradient(name))
    }

    /// The gradients of the last pass on the host, of each variable.
    pub fn gradients(&self) -> Vec<Vec<B::Number>> {
        self.model.variable_gradients()
    }

    /// The gradient of one of these tensors in the last pass.
    pub fn gradient_of(&self, named: &NamedTensor) -> Cow<'_, [B::Number]> {
        self.model.gradient_of(named)
    }

    /// Sets the gradients of all variables, as those of a pass that was made before.
    pub fn set_gradients(&mut self, gradients: &[Vec<B::Number>]) {
        self.model.set_variable_gradients(gradients);
    }

    /// Makes the step of a pass, at the rate of each group of tensors. Where loss or norm is not finite nothing is changed.
    pub fn learn(&mut self, forward: &Forward<B::Number>, rates: &[f32]) -> Result<Stepped, Error> {
        let stepped = self.update(forward, rates).map_err(failed)?;
        if stepped.is_finite() {
            self.model.move_router_biases(&forward.layers);
        }
        Ok(stepped)
    }

    fn update(&mut self, forward: &Forward<B::Number>, rates: &[f32]) -> Result<Stepped, Failure> {
        self.drop_gradients()?;
        let (model, optimizer) = (&mut self.model, &mut self.optimizer);
        let squares = model.gradient_squares()?;
        let norm = optimizer::norm(&squares);
        let stepped = Stepped {
            loss: forward.cross_entropy.to_f64() as f32,
            norm: norm as f32,
            norms: std::iter::zip(model.tensors(), &squares)
                .map(|(named, squares)| (named.name.clone(), libm::sqrt(*squares) as f32))
                .collect(),
            narrow: self.narrow.then(|| narrow(model)),
            routed: forward.layers.iter().map(|load| load.counts.clone()).collect(),
            undecided: forward.layers.iter().map(|load| load.undecided).collect(),
            router: router(&forward.layers),
        };
        if stepped.is_finite() {
            let step = optimizer.begin(rates, self.decisive.unwrap_or(norm));
            let mut numbers = 0..;
            model.update(|tensor| {
                if let Some(at) = numbers.next() {
                    optimizer.update(&step, at, tensor);
                }
            });
        }
        Ok(stepped)
    }

    /// Whether nothing went wrong where the model lives.
    pub fn sound(&self) -> Result<(), Error> {
        self.model.sound().map_err(failed)
    }

    /// The tensors that are trained, in the order of their names.
    pub fn tensors(&self) -> &[NamedTensor] {
        self.model.tensors()
    }

    /// Whether a tensor is a router that cannot matter: one expert is chosen, and its weight is made 1.
    pub fn is_constant_router(&self, tensor: &str) -> bool {
        let is_constant = |mixture: &MixtureConfig| {
            mixture.num_experts_per_tok == 1
                && mixture.norm_topk_prob
                && mixture.coefficients() == [0.0; 2]
        };
        let mixture = self.model.config().mixture.as_ref();
        tensor.ends_with(".mlp.gate.weight") && mixture.is_some_and(is_constant)
    }

    /// The name that the head has and that of the table of tokens, where they are one tensor.
    pub fn tied(&self) -> Option<(&'static str, &str)> {
        let is_table = |named: &&NamedTensor| named.variable == 0 && named.offset == 0;
        let table = self.tensors().iter().find(is_table)?;
        self.model.config().tie_word_embeddings.then_some(("lm_head.weight", &table.name))
    }

    /// The moments of these tensors, each fetched when it is asked for.
    pub fn moments(&self) -> impl Iterator<Item = Moments<B::Number>> {
        (0..self.tensors().len()).filter_map(|at| self.optimizer.moments_of(at))
    }

    /// The moments of one of these tensors.
    pub fn moments_of(&self, tensor: &str) -> Option<Moments<B::Number>> {
        self.optimizer.moments_of(self.number_of(tensor)?)
    }

    /// Sets them.
    pub fn set_moments(&mut self, tensor: &str, moments: Moments<B::Number>) {
        if let Some(at) = self.number_of(tensor) {
            self.optimizer.set_moments(at, moments);
        }
    }

    fn number_of(&self, tensor: &str) -> Option<usize> {
        self.tensors().iter().position(|named| named.name == tensor)
    }

    /// The values of all tensors in the order of their names: those that are trained, and the biases of
    /// routers, which belong to the state as well.
    pub fn values(&self) -> Result<Vec<Values<B::Number>>, Error> {
        let of = |named: &NamedTensor| {
            let values = self.model.read(&named.name).map_err(failed)?.into_owned();
            Ok(Values { name: named.name.clone(), shape: named.shape.clone(), values })
        };
        let mut all: Vec<_> = self.tensors().iter().map(of).collect::<Result<_, Error>>()?;
        let biases = self.model.router_biases().into_iter();
        all.extend(biases.map(|(name, values)| Values { name, shape: vec![values.len()], values }));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// The names of these tensors and their shapes, in the same order.
    pub fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let trained = self.tensors().iter().map(|named| (named.name.clone(), named.shape.clone()));
        let biases = self.model.router_biases().into_iter();
        let mut all: Vec<_> =
            trained.chain(biases.map(|(name, values)| (name, vec![values.len()]))).collect();
        all.sort();
        all
    }

    /// Sets the values of one of these tensors.
    pub fn write(&mut self, tensor: &str, values: &[B::Number]) -> Result<(), Error> {
        let trained = self.tensors().iter().any(|named| named.name == tensor);
        let written = match trained {
            true => self.model.write(tensor, values),
            false => self.model.write_router_bias(tensor, values),
        };
        written.map_err(failed)
    }

    /// Which moments of tensor number `at` a checkpoint has, in the order of their names.
    pub fn kept_moments(&self, at: usize) -> [bool; 3] {
        self.optimizer.written(at)
    }

    /// Sets the optimizer to where it was after `steps` steps.
    pub fn restore_optimizer(&mut self, steps: u64, moments: Vec<Moments<B::Number>>) {
        self.optimizer.restore(steps, moments);
    }
}

/// So many tokens of a batch are executed at a time.
pub fn tokens_at_once(model: &Config, regime: &Regime) -> usize {
    let parts = parts_of(model, regime);
    let rows = regime.shape.batch_size / (parts.micro_batches * parts.pieces).max(1);
    rows.saturating_mul(regime.shape.seq_len)
}

/// In which parts the batches of a run are executed: its micro-batches, and for models of others whose sequences do not
/// depend on each other pieces of these.
fn parts_of(model: &Config, regime: &Regime) -> BatchParts {
    let micro_batches = regime.micro_batches.max(1);
    let rows = regime.shape.batch_size / micro_batches;
    let is_free = !model.is_ours() && model.mixture.is_none();
    let fits = |pieces: &usize| {
        rows.is_multiple_of(*pieces) && rows / pieces * regime.shape.seq_len <= AT_ONCE
    };
    let pieces = (1..=rows).find(fits).unwrap_or(rows).max(1);
    BatchParts {
        micro_batches,
        by_targets: regime.by_targets,
        balance_whole: regime.balance_whole,
        pieces: if is_free { pieces } else { 1 },
    }
}

/// How far float32 norms of the gradients may be off: of each, and of all in one sum.
fn narrow(model: &Model<impl Backend>) -> (Vec<f64>, f64) {
    let (mut each, mut all) = (Vec::new(), NarrowNorm::default());
    for gradient in model.gradients() {
        each.push(NarrowNorm::of(gradient.iter().map(|value| value.to_f64())).error());
        all.add(gradient.iter().map(|value| value.to_f64()));
    }
    (each, all.error())
}

/// The record of the routers: both losses as means over the layers that route, and the load of
/// each of these layers.
fn router(layers: &[Load]) -> Option<Json> {
    let mean = |loss: fn(&Load) -> f64| {
        let sum = layers.iter().fold(0.0, |sum, load| sum + loss(load));
        let mean = sum / layers.len() as f64;
        // A loss that is no number comes with a training loss that is none, which stops the run.
        mean.is_finite().then_some(mean)
    };
    let loads = layers.iter().map(|load| RouterLoad::of(&load.counts).map(|load| load.json()));
    (!layers.is_empty()).then(|| {
        json!({
            "balance_loss": mean(|load| load.balance),
            "z_loss": mean(|load| load.z),
            "layers": loads.collect::<Vec<_>>(),
        })
    })
}

impl<B: Backend<Number = f32>> Scorer for Learner<B> {
    type Failure = Error;

    fn length(&self) -> usize {
        self.length
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn rows(&mut self, inputs: &[u32], targets: &[u32], rows: usize) -> Result<RowScores, Error> {
        let scored = self.model.nats(Sequences::new(inputs, targets, rows)).map_err(failed)?;
        let loads = scored.layers.into_iter().map(|load| load.counts).collect();
        Ok(RowScores { nats: scored.nats, greedy: scored.greedy, loads })
    }
}

/// A failure of the model, or of what it lives on, which is no fault of an input: its own words.
fn failed(failure: Failure) -> Error {
    if let Failure::Backend { what } = failure {
        return device_failed(what);
    }
    MODEL_FAILED.at(Location::file("the model"), "a model that trains", failure.to_string())
}
