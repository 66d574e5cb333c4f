//! Models that are trained: what they are made of, their weights by name, forward and backward passes.
//!
//! `llama`, `gpt2` and `nanochat` write decoders down with `builder`; `graph` is the walk over their operations. Weights and
//! gradients lie in one flat variable for each operation; checkpoints and the optimizer see them by name. What is done with
//! gradients is left to `optimizer`.

mod angles;
mod builder;
mod config;
mod families;
mod fields;
mod gpt2;
mod graph;
mod llama;
mod nanochat;
mod precision;
mod tensors;
mod variations;

use std::borrow::Cow;

use crate::backend::{Backend, MovedTensor};
use crate::ops::{self, Batch, IGNORED, joint_balance};
pub use crate::ops::{Load, NormKind, Normed};
use crate::recipe::LossTerms;
pub use angles::Angles;
use builder::Builder;
pub use config::{Balancing, Config, MixtureConfig, OWN_MODELS};
pub use families::{ModelFamily, of as family_of};
pub use fields::{CODES, IMPOSSIBLE, UNSUPPORTED};
use graph::Graph;
use repro_kernels::portable::{Kernels, Real, TokenPlaces};
use repro_stats::rng::Rng;
pub use tensors::NamedTensor;
pub use variations::{Biases, NormPlace, Structure, Variations};

/// Sequences of equal length, and what is to be predicted.
#[derive(Debug, Clone, Copy)]
pub struct Sequences<'a> {
    /// The tokens, sequence by sequence.
    pub inputs: &'a [u32],
    /// The token after each.
    pub targets: &'a [u32],
    /// How many sequences they are.
    pub rows: usize,
    /// Where the tokens stand.
    pub places: TokenPlaces<'a>,
}

impl<'a> Sequences<'a> {
    /// Sequences of one document each.
    pub fn new(inputs: &'a [u32], targets: &'a [u32], rows: usize) -> Self {
        Self { inputs, targets, rows, places: TokenPlaces::default() }
    }

    /// So many parts of equal size.
    fn parts(self, count: usize) -> impl Iterator<Item = Self> {
        let rows = self.rows / count.max(1);
        let tokens = rows * (self.inputs.len() / self.rows.max(1));
        (0..count).map(move |part| {
            let range = part * tokens..(part + 1) * tokens;
            let places = self.places.of(range.start, tokens);
            Self {
                inputs: &self.inputs[range.clone()],
                targets: &self.targets[range],
                rows,
                places,
            }
        })
    }

    /// Targets that count.
    fn counted(&self) -> usize {
        ops::counted(self.targets)
    }
}

/// The parts that a batch is executed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchParts {
    /// Micro-batches of equal size, whose objectives are averaged.
    pub micro_batches: usize,
    /// Whether each of them weighs as its targets that count do, and not as much as the others.
    pub by_targets: bool,
    /// Whether each of them adds its whole balance loss, and not its share of it.
    pub balance_whole: bool,
    /// Pieces of equal size that a micro-batch is cut into, to need less memory at a time: its objective is the mean of
    /// its targets that count, whatever they are. There is one where an objective is of all tokens together.
    pub pieces: usize,
}

/// The cost of each target, and whether it was the likeliest token; and the load of the routers.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetCosts<T> {
    /// Nats of each target.
    pub nats: Vec<T>,
    /// Whether each target is the first of the largest logits.
    pub greedy: Vec<bool>,
    /// The load of each sparse block.
    pub layers: Vec<Load>,
}

/// A forward pass whose gradients can be taken.
#[derive(Debug, Clone)]
pub struct Forward<T> {
    /// The cross-entropy: mean nats of the targets.
    pub cross_entropy: T,
    /// The load of each sparse block.
    pub layers: Vec<Load>,
    /// The weighted cost of large logits.
    z_loss: f64,
    coefficients: [f64; 2],
    is_joint: bool,
}

/// The rows behind a part of a model: `embedding`, `attention of layer 3`, `network of layer 3`, `head`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartRows<T> {
    /// The part.
    pub part: String,
    /// Tokens by width; the nats of each target behind the head.
    pub rows: Vec<T>,
}

/// The rows that an operation with weights read and made in a walk. What its output was added to is taken off again.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationRows<T> {
    /// Its operation.
    pub kind: OperationKind,
    /// Its tensors, in the order in which their numbers lie.
    pub tensors: Vec<String>,
    /// Its input: tokens by width; none if it reads tokens.
    pub inputs: Option<Vec<T>>,
    /// The operation that made the input, unless the input is a sum.
    pub before: Option<OperationKind>,
    /// Its output: tokens by width.
    pub outputs: Vec<T>,
}

/// The kind of operation, as far as a report distinguishes operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// A function of each number.
    Activation,
    /// Causal attention over queries, keys and values.
    Attention,
    /// Rows of a table: of tokens or positions.
    Embedding,
    /// One matrix, or several side by side.
    Linear,
    /// A mixture of experts.
    Mixture,
    /// A gated network.
    Network,
    /// A norm of rows.
    Norm,
    /// Norms of queries and keys.
    VectorNorms,
}

/// A pass, behind its weight among several.
type WeightedPass<T> = (f64, Forward<T>);

impl<T: Kernels> Forward<T> {
    /// The mean of several passes by their weights; loads add up.
    fn mean(mut all: Vec<WeightedPass<T>>) -> Self {
        let count = all.len().max(1) as f64;
        let add = |sum: f64, (weight, one): &(f64, Self)| sum + weight * one.cross_entropy.to_f64();
        let sum = all.iter().fold(0.0, add);
        let z_loss = all.iter().map(|(weight, one)| weight * one.z_loss).sum();
        let (_, mut mean) = all.swap_remove(0);
        (mean.cross_entropy, mean.z_loss) = (T::from_f64(sum), z_loss);
        for (at, load) in mean.layers.iter_mut().enumerate() {
            for other in all.iter().filter_map(|(_, one)| one.layers.get(at)) {
                load.add(other);
            }
            load.balance /= count;
            load.z /= count;
        }
        mean
    }

    /// The differentiated loss: the cross-entropy, plus the weighted losses of large logits and of all routers.
    pub fn objective(&self) -> f64 {
        let [balance, z] = self.coefficients;
        let (of_layers, joint) = match self.is_joint {
            true => (0.0, balance * joint_balance(&self.layers)),
            false => (balance, 0.0),
        };
        let routers = self.layers.iter().map(|load| of_layers * load.balance + z * load.z);
        let sum = self.cross_entropy.to_f64() + self.z_loss + joint;
        routers.fold(sum, |sum, loss| sum + loss)
    }
}

/// An error in the use of a model.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No pass whose gradients could be taken.
    #[error(
        "gradients need a forward pass, and none was run since the model last changed or scored"
    )]
    NoForward,
    /// A name that is not of this model.
    #[error("the model has no tensor `{name}`")]
    NoTensor {
        /// The name.
        name: String,
    },
    /// Another number of numbers.
    #[error("`{name}` has {expected} numbers, not {found}")]
    Shape {
        /// The name of the tensor.
        name: String,
        /// As many as it has.
        expected: usize,
        /// As many as were given.
        found: usize,
    },
    /// A tensor that training would leave as it is.
    #[error("no gradient reaches `{name}`: training would not change it")]
    NoGradient {
        /// The name of the tensor.
        name: String,
    },
    /// A token that is not in the vocabulary.
    #[error("token {token} is not in the vocabulary of {vocabulary}")]
    Token {
        /// The token.
        token: u32,
        /// Tokens of the vocabulary.
        vocabulary: usize,
    },
    /// Tokens that are no sequences of this model.
    #[error(
        "{inputs} inputs and {targets} targets do not form {rows} sequences of 1 to {most} tokens"
    )]
    Sequences {
        /// As many inputs.
        inputs: usize,
        /// As many targets.
        targets: usize,
        /// As many sequences.
        rows: usize,
        /// The longest sequence of the model.
        most: usize,
    },
    /// Tokens whose places are not those of a model.
    #[error(
        "{tokens} tokens need {tokens} documents and positions, the positions below {most}, or none"
    )]
    Places {
        /// As many tokens.
        tokens: usize,
        /// Positions of the model.
        most: usize,
    },
    /// Its backend did not complete an operation.
    #[error("the backend failed: {what}")]
    Backend {
        /// Its own words.
        what: String,
    },
}

/// The inputs of a pass.
#[derive(Debug, Default)]
struct Last {
    tokens: Vec<u32>,
    length: usize,
    documents: Vec<u32>,
    positions: Vec<u32>,
}

impl Last {
    fn batch(&self) -> Batch<'_> {
        let places = TokenPlaces { documents: &self.documents, positions: &self.positions };
        Batch { tokens: &self.tokens, length: self.length, places }
    }
}

/// A decoder with its weights and their gradients.
#[derive(Debug)]
pub struct Model<B: Backend> {
    config: Config,
    backend: B,
    named: Vec<NamedTensor>,
    /// One flat variable for each sublayer.
    weights: Vec<B::Numbers>,
    /// The same of the last backward pass.
    gradients: Vec<B::Numbers>,
    graph: Graph<B>,
    /// The sequences of the last pass, where its gradients can be taken.
    last: Option<Last>,
}

impl<B: Backend> Model<B> {
    /// A model with the weights that a seed gives: the stream `initial weights` fills the tensors in the
    /// order of their names.
    pub fn new(config: &Config, backend: B, seed: u64) -> Self {
        let mut model = Self::zeros(config, backend);
        let mut rng = Rng::new(seed, "initial weights");
        for tensor in &model.named {
            let start = tensor.start(&mut rng).into_iter().map(B::Number::from_f64);
            let (into, start) = (&mut model.weights[tensor.variable], start.collect::<Vec<_>>());
            model.backend.set(into, tensor.offset, &start);
        }
        model
    }

    /// A model without weights yet: all are zero.
    pub fn zeros(config: &Config, backend: B) -> Self {
        let (graph, tensors) = graph_of(config, backend.clone()).finish();
        let (named, lengths) = tensors.finish();
        let zeros = || lengths.iter().map(|length| backend.zeros(*length)).collect();
        let (weights, gradients) = (zeros(), zeros());
        Self { config: config.clone(), backend, named, weights, gradients, graph, last: None }
    }

    /// The shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The trained tensors, sorted by name.
    pub fn tensors(&self) -> &[NamedTensor] {
        &self.named
    }

    /// From now on trains these terms beside the plain surprise of targets.
    pub fn train_with(&mut self, terms: LossTerms) {
        self.graph.head.terms = terms;
    }

    /// Runs sequences.
    pub fn forward(&mut self, sequences: Sequences<'_>) -> Result<Forward<B::Number>, Failure> {
        let last = self.walk(sequences)?;
        let loss = self.graph.loss(sequences.targets, &self.weights);
        let layers = self.graph.loads();
        self.sound()?;
        self.last = Some(last);
        Ok(Forward {
            cross_entropy: loss.nats,
            layers,
            z_loss: self.graph.head.terms.z_loss * loss.square,
            coefficients: self
                .config
                .mixture
                .as_ref()
                .map_or([0.0; 2], MixtureConfig::coefficients),
            is_joint: self.graph.is_joint,
        })
    }

    /// Walks to the head.
    fn walk(&mut self, sequences: Sequences<'_>) -> Result<Last, Failure> {
        let length = self.check(sequences)?;
        let Sequences { inputs, places, .. } = sequences;
        let last = Last {
            tokens: inputs.to_vec(),
            length,
            documents: places.documents.to_vec(),
            positions: places.positions.to_vec(),
        };
        self.graph.forward(last.batch(), &self.weights);
        Ok(last)
    }

    /// Takes the gradients of the last pass's [`Forward::objective`].
    pub fn backward(&mut self) -> Result<(), Failure> {
        let last = self.last.as_ref().ok_or(Failure::NoForward)?;
        self.graph.backward(last.batch(), &self.weights, &mut self.gradients);
        self.sound()
    }

    /// Whether nothing went wrong where it lives.
    pub fn sound(&self) -> Result<(), Failure> {
        self.backend.fault().map_or(Ok(()), |what| Err(Failure::Backend { what }))
    }

    /// The gradients of the last backward pass on the host, variable by variable.
    pub fn variable_gradients(&self) -> Vec<Vec<B::Number>> {
        let all = |of| self.backend.get(of, 0..self.backend.length(of)).into_owned();
        self.gradients.iter().map(all).collect()
    }

    /// Sets these gradients, as those of a backward pass that was made before.
    pub fn set_variable_gradients(&mut self, gradients: &[Vec<B::Number>]) {
        for (own, given) in self.gradients.iter_mut().zip(gradients) {
            self.backend.set(own, 0, given);
        }
    }

    /// Multiplies the gradients of the last backward pass.
    pub fn scale_gradients(&mut self, by: f64) {
        let by = B::Number::from_f64(by);
        self.gradients.iter_mut().for_each(|gradients| self.backend.scale(gradients, by));
    }

    /// Runs sequences in parts, one after the other, and takes the gradients of a mean of their objectives. Memory is that
    /// of one part.
    pub fn in_parts(
        &mut self,
        sequences: Sequences<'_>,
        parts: BatchParts,
    ) -> Result<Forward<B::Number>, Failure> {
        let (mut sums, mut all) = (Vec::new(), Vec::new());
        for number in 0..parts.micro_batches {
            all.extend(self.add_micro_batch(sequences, parts, number, &mut sums)?);
        }
        self.gradients = sums;
        Ok(Forward::mean(all))
    }

    /// Runs one of the micro-batches of such sequences alone. The loss is its own, and the gradients are what it adds to
    /// those of all.
    pub fn micro_batch(
        &mut self,
        sequences: Sequences<'_>,
        parts: BatchParts,
        number: usize,
    ) -> Result<Forward<B::Number>, Failure> {
        let mut sums = Vec::new();
        let mut all = self.add_micro_batch(sequences, parts, number, &mut sums)?;
        let whole: f64 = all.iter().map(|(weight, _)| weight).sum();
        if whole > 0.0 {
            all.iter_mut().for_each(|(weight, _)| *weight /= whole);
        }
        self.gradients = sums;
        Ok(Forward::mean(all))
    }

    /// Runs a micro-batch piece by piece, and adds its gradients to sums by its weight among all. Answers the passes by
    /// their weights.
    fn add_micro_batch(
        &mut self,
        sequences: Sequences<'_>,
        parts: BatchParts,
        number: usize,
        sums: &mut Vec<B::Numbers>,
    ) -> Result<Vec<WeightedPass<B::Number>>, Failure> {
        let Some(own) = sequences.parts(parts.micro_batches).nth(number) else {
            return Ok(Vec::new());
        };
        let weight = match parts.by_targets {
            true => own.counted() as f64 / sequences.counted() as f64,
            false => 1.0 / parts.micro_batches as f64,
        };
        // What is scaled down with the rest is scaled up before.
        let times = if parts.balance_whole { 1.0 / weight } else { 1.0 };
        self.graph.balance(self.config.mixture.as_ref(), times);
        let (of_own, mut all) = (own.counted().max(1) as f64, Vec::new());
        for piece in own.parts(parts.pieces) {
            let weight = match parts.pieces {
                1 => weight,
                _ => weight * piece.counted() as f64 / of_own,
            };
            all.push((weight, self.forward(piece)?));
            self.backward()?;
            let (backend, factor) = (&self.backend, B::Number::from_f64(weight));
            if sums.is_empty() {
                let zeros = |of: &B::Numbers| backend.zeros(backend.length(of));
                sums.extend(self.gradients.iter().map(zeros));
            }
            for (sums, gradients) in sums.iter_mut().zip(&self.gradients) {
                backend.add_scaled(sums, gradients, factor);
            }
        }
        self.graph.balance(self.config.mixture.as_ref(), 1.0);
        Ok(all)
    }

    /// Scores each target by itself.
    pub fn nats(&mut self, sequences: Sequences<'_>) -> Result<TargetCosts<B::Number>, Failure> {
        self.last = None;
        self.walk(sequences)?;
        let scores = self.graph.scores(sequences.targets, &self.weights);
        let layers = self.graph.loads();
        self.sound()?;
        Ok(TargetCosts { nats: scores.nats, greedy: scores.greedy, layers })
    }

    /// The rows behind each part of the model, by the name of the part, and the nats of each target as those of the `head`.
    pub fn rows_of_parts(
        &mut self,
        sequences: Sequences<'_>,
    ) -> Result<Vec<PartRows<B::Number>>, Failure> {
        let rows = self.nats(sequences)?.nats;
        let mut parts = self.graph.rows_of_parts();
        parts.push(PartRows { part: "head".to_owned(), rows });
        self.sound()?;
        Ok(parts)
    }

    /// The rows that each operation with weights read and made in the last walk, in its order.
    pub fn rows_of_operations(&self) -> Result<Vec<OperationRows<B::Number>>, Failure> {
        let mut all = Vec::new();
        for (variable, mut rows) in self.graph.rows_of_operations() {
            let own = self.named.iter().filter(|named| named.variable == variable);
            let mut own: Vec<_> = own.map(|named| (named.offset, named.name.clone())).collect();
            own.sort_unstable();
            rows.tensors = own.into_iter().map(|(_, name)| name).collect();
            all.push(rows);
        }
        self.sound()?;
        Ok(all)
    }

    /// The length of sequences that the model takes.
    fn check(&self, sequences: Sequences<'_>) -> Result<usize, Failure> {
        let Sequences { inputs, targets, rows, places } = sequences;
        let length = inputs.len().checked_div(rows).unwrap_or(0);
        let most = self.config.seq_len;
        if length * rows != inputs.len()
            || targets.len() != inputs.len()
            || !(1..=most).contains(&length)
        {
            let (inputs, targets) = (inputs.len(), targets.len());
            return Err(Failure::Sequences { inputs, targets, rows, most });
        }
        let fits = |all: &[u32]| all.is_empty() || all.len() == inputs.len();
        let is_far = |position: &u32| *position as usize >= most;
        if !fits(places.documents) || !fits(places.positions) || places.positions.iter().any(is_far)
        {
            return Err(Failure::Places { tokens: inputs.len(), most });
        }
        let vocabulary = self.config.vocab_size;
        let unknown = |token: &&u32| **token as usize >= vocabulary;
        let counted = targets.iter().filter(|target| **target != IGNORED);
        match inputs.iter().chain(counted).find(unknown) {
            Some(token) => Err(Failure::Token { token: *token, vocabulary }),
            None => Ok(length),
        }
    }

    fn find(&self, name: &str) -> Result<&NamedTensor, Failure> {
        let found = self.named.binary_search_by(|named| named.name.as_str().cmp(name));
        found.map(|at| &self.named[at]).map_err(|_| Failure::NoTensor { name: name.to_owned() })
    }

    /// The numbers of a tensor.
    pub fn read(&self, name: &str) -> Result<Cow<'_, [B::Number]>, Failure> {
        let named = self.find(name)?;
        let numbers = self.backend.get(&self.weights[named.variable], named.range());
        self.sound()?;
        Ok(numbers)
    }

    /// Sets the numbers of a tensor. The gradients of an earlier pass can no longer be taken.
    pub fn write(&mut self, name: &str, numbers: &[B::Number]) -> Result<(), Failure> {
        let named = self.find(name)?;
        if numbers.len() != named.len {
            let (name, expected, found) = (named.name.clone(), named.len, numbers.len());
            return Err(Failure::Shape { name, expected, found });
        }
        let (variable, at) = (named.variable, named.offset);
        self.backend.set(&mut self.weights[variable], at, numbers);
        self.last = None;
        Ok(())
    }

    /// The gradient of a tensor, as the last backward pass left it.
    pub fn gradient(&self, name: &str) -> Result<Cow<'_, [B::Number]>, Failure> {
        self.find(name).map(|named| self.gradient_of(named))
    }

    /// The gradients of all tensors, in the order of names.
    pub fn gradients(&self) -> impl Iterator<Item = Cow<'_, [B::Number]>> {
        self.named.iter().map(|named| self.gradient_of(named))
    }

    /// The gradient of one of these tensors.
    pub fn gradient_of(&self, named: &NamedTensor) -> Cow<'_, [B::Number]> {
        self.backend.get(&self.gradients[named.variable], named.range())
    }

    /// The sums of squares of the gradients of all tensors, in the order of names.
    pub fn gradient_squares(&self) -> Result<Vec<f64>, Failure> {
        let part = |named: &NamedTensor| (&self.gradients[named.variable], named.range());
        let squares = self.backend.squares(&self.named.iter().map(part).collect::<Vec<_>>());
        self.sound()?;
        Ok(squares)
    }

    /// Takes the gradient of a tensor as zero.
    pub fn drop_gradient(&mut self, name: &str) -> Result<(), Failure> {
        let named = self.find(name)?;
        let (variable, range) = (named.variable, named.range());
        self.backend.clear(&mut self.gradients[variable], range);
        Ok(())
    }

    /// Sets the gradient of a tensor.
    pub fn write_gradient(&mut self, name: &str, numbers: &[B::Number]) -> Result<(), Failure> {
        let named = self.find(name)?;
        if numbers.len() != named.len {
            let (name, expected, found) = (named.name.clone(), named.len, numbers.len());
            return Err(Failure::Shape { name, expected, found });
        }
        let (variable, at) = (named.variable, named.offset);
        self.backend.set(&mut self.gradients[variable], at, numbers);
        Ok(())
    }

    /// Lends the numbers of each tensor to be changed, and its gradient, in the order of names.
    pub fn update(&mut self, mut update: impl FnMut(MovedTensor<'_, B::Numbers>)) {
        self.last = None;
        for named in &self.named {
            let (weights, gradient) =
                (&mut self.weights[named.variable], &self.gradients[named.variable]);
            update(MovedTensor { weights, gradient, range: named.range() });
        }
    }

    /// The biases that choose experts where they are what evens the load: state, not trained tensors. Name
    /// and numbers, in the order of blocks.
    pub fn router_biases(&self) -> Vec<(String, Vec<B::Number>)> {
        let named = |(layer, mixture): (usize, &ops::Mixture<B::Number>)| {
            Some((bias_name(layer), mixture.bias.clone()?))
        };
        self.graph.mixtures().filter_map(named).collect()
    }

    /// Sets such a bias.
    pub fn write_router_bias(&mut self, name: &str, numbers: &[B::Number]) -> Result<(), Failure> {
        let name = name.to_owned();
        let found = self.graph.mixtures_mut().find(|(layer, _)| bias_name(*layer) == name);
        match found.and_then(|(_, mixture)| mixture.bias.as_mut()) {
            None => Err(Failure::NoTensor { name }),
            Some(bias) if bias.len() != numbers.len() => {
                Err(Failure::Shape { name, expected: bias.len(), found: numbers.len() })
            }
            Some(bias) => {
                bias.copy_from_slice(numbers);
                Ok(())
            }
        }
    }

    /// Moves the biases after a step with these loads: up by the rate of the config where an expert had
    /// fewer tokens than the mean, down where it had more.
    pub fn move_router_biases(&mut self, loads: &[Load]) {
        let mixture = self.config.mixture.as_ref();
        let Some(Balancing::Bias(rate)) = mixture.map(|mixture| mixture.balancing) else { return };
        for (layer, mixture) in self.graph.mixtures_mut() {
            if let Some(load) = loads.iter().find(|load| load.layer == layer) {
                mixture.even_out(&load.counts, B::Number::from_f64(rate));
            }
        }
    }

    /// Runs a few tokens and sees that a gradient reaches every tensor. Returns the names of those that
    /// belong to experts which none of these tokens went to, and so could not be seen.
    pub fn check_gradients(&mut self) -> Result<Vec<String>, Failure> {
        let length = self.config.seq_len.min(64);
        let mut rng = Rng::new(0, "tokens that gradients are checked with");
        let mut draw = || rng.below(self.config.vocab_size as u64) as u32;
        let inputs: Vec<_> = (0..2 * length).map(|_| draw()).collect();
        let targets: Vec<_> = (0..2 * length).map(|_| draw()).collect();
        let forward = self.forward(Sequences::new(&inputs, &targets, 2))?;
        self.backward()?;
        let idle: Vec<_> = forward.layers.iter().flat_map(idle).collect();
        let mut unseen = Vec::new();
        for named in self.tensors() {
            if self.gradient_of(named).iter().any(|gradient| *gradient != B::Number::ZERO) {
                continue;
            }
            let name = named.name.clone();
            match idle.iter().any(|prefix| name.starts_with(prefix)) {
                true => unseen.push(name),
                false => return Err(Failure::NoGradient { name }),
            }
        }
        Ok(unseen)
    }
}

/// The operations of a config's model, and its tensors.
fn graph_of<B: Backend>(config: &Config, backend: B) -> Builder<'_, B> {
    let mut builder = Builder::new(config, backend);
    match config.variations.structure {
        Structure::Llama => llama::decoder(&mut builder),
        Structure::Gpt2 { turned, positions } => gpt2::decoder(&mut builder, turned, positions),
        Structure::Nanochat { is_original } => nanochat::decoder(&mut builder, is_original),
    }
    builder
}

/// The name of a block's bias in checkpoints.
fn bias_name(layer: usize) -> String {
    format!("model.layers.{layer}.mlp.gate.e_score_correction_bias")
}

/// The prefix of the tensor names of experts without tokens.
fn idle(load: &Load) -> impl Iterator<Item = String> {
    let experts = load.counts.iter().enumerate().filter(|(_, count)| **count == 0);
    let layer = load.layer;
    experts.map(move |(expert, _)| format!("model.layers.{layer}.mlp.experts.{expert}."))
}

#[cfg(test)]
pub(crate) mod tests;
