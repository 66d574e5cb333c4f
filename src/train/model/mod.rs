//! Models that are trained: what they are made of, their weights by name, forward and backward passes.
//!
//! `llama` is the dense decoder, `mixtral` its sparse feed-forward sublayer. Weights lie in one flat
//! variable for each sublayer, so that candle's tape has few edges; checkpoints and the optimizer see
//! them by name. What is done with gradients is left to `optimizer`.

mod blocks;
mod config;
mod gradients;
mod llama;
mod load;
mod mixtral;
mod tensors;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::{CpuStorage, Device, InplaceOp1, Layout, Tensor, Var};

use crate::portable::{Isa, Real};
use crate::rng::Rng;
use crate::train::ops::{Element, Memory, Pass, with};
use blocks::Decoder;
pub use config::{Balancing, CODES, Config, IMPOSSIBLE, Mixture, UNSUPPORTED};
pub use gradients::Gradients;
pub use load::Load;
pub use tensors::Named;

/// What each target cost, and whether it was the likeliest token; and the load of the routers.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored<T> {
    /// Nats of each target.
    pub nats: Vec<T>,
    /// Whether each target is the first of the largest logits.
    pub greedy: Vec<bool>,
    /// The load of each sparse block.
    pub layers: Vec<Load>,
}

/// A forward pass whose gradients can be taken.
#[derive(Debug)]
pub struct Forward<T> {
    /// The cross-entropy, on the tape. The losses of routers are added where its gradient is taken.
    pub loss: Tensor,
    /// The cross-entropy: mean nats of the targets.
    pub cross_entropy: T,
    /// The load of each sparse block.
    pub layers: Vec<Load>,
    coefficients: [f64; 2],
    pass: Pass<T>,
}

impl<T: Element> Forward<T> {
    /// What the gradients are those of: the cross-entropy, plus the weighted losses of all routers.
    pub fn objective(&self) -> f64 {
        let [balance, z] = self.coefficients;
        let routers = self.layers.iter().map(|load| balance * load.balance + z * load.z);
        routers.fold(Real::to_f64(self.cross_entropy), |sum, loss| sum + loss)
    }
}

/// What is wrong with the use of a model.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Of the library that keeps tensors.
    #[error("the tensors failed: {0}")]
    Tensors(#[from] candle_core::Error),
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
    #[error("no gradient reaches `{name}`: training would leave it as it is")]
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
    #[error("{inputs} inputs and {targets} targets are not {rows} sequences of 1 to {most} tokens")]
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
}

/// A decoder with its weights.
#[derive(Debug)]
pub struct Model<T: Element> {
    config: Config,
    isa: Isa,
    named: Arc<[Named]>,
    variables: Vec<Var>,
    decoder: Decoder<T>,
    memory: Arc<Memory<T>>,
    passes: AtomicU64,
}

impl<T: Element> Model<T> {
    /// A model with the weights that a seed gives: the stream `initial weights` fills the tensors in the
    /// order of their names.
    pub fn new(config: &Config, isa: Isa, seed: u64) -> Result<Self, Failure> {
        let (decoder, tensors) = Decoder::new(config, isa);
        let (named, lengths) = tensors.finish();
        let mut rng = Rng::new(seed, "initial weights");
        let mut flat: Vec<_> = lengths.iter().map(|length| vec![T::ZERO; *length]).collect();
        for tensor in &named {
            let into = &mut flat[tensor.variable][tensor.offset..][..tensor.len];
            for (into, number) in into.iter_mut().zip(tensor.start(&mut rng)) {
                *into = <T as Real>::from_f64(number);
            }
        }
        let variable = |numbers: Vec<T>| {
            let length = numbers.len();
            Var::from_vec(numbers, length, &Device::Cpu)
        };
        let variables = flat.into_iter().map(variable).collect::<Result<_, _>>()?;
        let memory = Arc::new(decoder.memory(lengths.len()));
        let (config, named, passes) = (config.clone(), named.into(), AtomicU64::new(0));
        Ok(Self { config, isa, named, variables, decoder, memory, passes })
    }

    /// The shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The instructions that it computes with.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The trained tensors, sorted by name.
    pub fn tensors(&self) -> &[Named] {
        &self.named
    }

    /// Runs sequences of equal length, one after the other in `inputs`, on the tape.
    pub fn forward(
        &self,
        inputs: &[u32],
        targets: &[u32],
        rows: usize,
    ) -> Result<Forward<T>, Failure> {
        let pass = self.pass(inputs, targets, rows)?;
        let weights = self.variables.iter().map(|variable| variable.as_tensor().clone());
        let weights: Vec<_> = weights.collect();
        let ticket = self.decoder.rows(&pass, inputs, &weights)?;
        let loss = self.decoder.loss(&pass, targets, &ticket, &weights)?;
        let cross_entropy = with(&loss, |loss: &[T]| loss.first().copied())?.unwrap_or(T::ZERO);
        let layers = self.decoder.loads(&pass)?;
        let coefficients = self.decoder.coefficients();
        Ok(Forward { loss, cross_entropy, layers, coefficients, pass })
    }

    /// The gradients of [`Forward::objective`].
    pub fn backward(&self, forward: &Forward<T>) -> Result<Gradients<T>, Failure> {
        // What the tape collects is the gradients of tickets.
        let _tickets = forward.loss.backward()?;
        Gradients::take(self.named.clone(), &forward.pass)
    }

    /// Scores each target by itself, without a tape.
    pub fn nats(&self, inputs: &[u32], targets: &[u32], rows: usize) -> Result<Scored<T>, Failure> {
        let pass = self.pass(inputs, targets, rows)?;
        let weights: Vec<_> = self.variables.iter().map(Var::as_detached_tensor).collect();
        let _ticket = self.decoder.rows(&pass, inputs, &weights)?;
        let scores = self.decoder.scores(&pass, targets, &weights)?;
        let layers = self.decoder.loads(&pass)?;
        Ok(Scored { nats: scores.nats, greedy: scores.greedy, layers })
    }

    fn pass(&self, inputs: &[u32], targets: &[u32], rows: usize) -> Result<Pass<T>, Failure> {
        let length = inputs.len().checked_div(rows).unwrap_or(0);
        let most = self.config.seq_len;
        if length * rows != inputs.len()
            || targets.len() != inputs.len()
            || !(1..=most).contains(&length)
        {
            let (inputs, targets) = (inputs.len(), targets.len());
            return Err(Failure::Sequences { inputs, targets, rows, most });
        }
        let vocabulary = self.config.vocab_size;
        let known = |token: &&u32| **token as usize >= vocabulary;
        if let Some(token) = inputs.iter().chain(targets).find(known) {
            return Err(Failure::Token { token: *token, vocabulary });
        }
        // Distinguishes the passes; nothing is ordered by it.
        let number = self.passes.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Pass { number, length, tokens: inputs.len(), memory: self.memory.clone() })
    }

    fn find(&self, name: &str) -> Result<&Named, Failure> {
        let found = self.named.binary_search_by(|named| named.name.as_str().cmp(name));
        found.map(|at| &self.named[at]).map_err(|_| Failure::NoTensor { name: name.to_owned() })
    }

    /// The numbers of a tensor.
    pub fn read(&self, name: &str) -> Result<Vec<T>, Failure> {
        let named = self.find(name)?;
        let numbers = |all: &[T]| all.get(named.range()).map(<[T]>::to_vec);
        let found = with(self.variables[named.variable].as_tensor(), numbers)?;
        found.ok_or_else(|| Failure::NoTensor { name: name.to_owned() })
    }

    /// Sets the numbers of a tensor.
    pub fn write(&mut self, name: &str, numbers: &[T]) -> Result<(), Failure> {
        let named = self.find(name)?.clone();
        if numbers.len() != named.len {
            let (expected, found) = (named.len, numbers.len());
            return Err(Failure::Shape { name: named.name, expected, found });
        }
        self.change(&named, |into| into.copy_from_slice(numbers))
    }

    /// Lends the numbers of each tensor to be changed, in the order of names.
    pub fn update(&mut self, mut update: impl FnMut(&Named, &mut [T])) -> Result<(), Failure> {
        let all = self.named.clone();
        all.iter().try_for_each(|named| self.change(named, |numbers| update(named, numbers)))
    }

    /// The biases that choose experts where they are what evens the load: state, not trained tensors. Name
    /// and numbers, in the order of blocks.
    pub fn router_biases(&self) -> Vec<(String, Vec<T>)> {
        self.decoder.biases().map(|(layer, bias)| (bias_name(layer), bias.read())).collect()
    }

    /// Sets such a bias.
    pub fn write_router_bias(&mut self, name: &str, numbers: &[T]) -> Result<(), Failure> {
        let found = self.decoder.biases().find(|(layer, _)| bias_name(*layer) == name);
        let (_, bias) = found.ok_or_else(|| Failure::NoTensor { name: name.to_owned() })?;
        bias.write(numbers).map_err(|expected| {
            let found = numbers.len();
            Failure::Shape { name: name.to_owned(), expected, found }
        })
    }

    /// Moves the biases after a step with these loads: up by the rate of the config where an expert had
    /// fewer tokens than the mean, down where it had more.
    pub fn move_router_biases(&mut self, loads: &[Load]) {
        let mixture = self.config.mixture.as_ref();
        let Some(Balancing::Bias(rate)) = mixture.map(|mixture| mixture.balancing) else { return };
        for (layer, bias) in self.decoder.biases() {
            if let Some(load) = loads.iter().find(|load| load.layer == layer) {
                bias.even_out(&load.counts, <T as Real>::from_f64(rate));
            }
        }
    }

    /// Runs a few tokens and sees that a gradient reaches every tensor. Returns the names of those that
    /// belong to experts which none of these tokens went to, and so could not be seen.
    pub fn check_gradients(&self) -> Result<Vec<String>, Failure> {
        let length = self.config.seq_len.min(64);
        let mut rng = Rng::new(0, "tokens that gradients are checked with");
        let mut draw = || rng.below(self.config.vocab_size as u64) as u32;
        let inputs: Vec<_> = (0..2 * length).map(|_| draw()).collect();
        let targets: Vec<_> = (0..2 * length).map(|_| draw()).collect();
        let forward = self.forward(&inputs, &targets, 2)?;
        let gradients = self.backward(&forward)?;
        let idle: Vec<_> = forward.layers.iter().flat_map(idle).collect();
        let mut unseen = Vec::new();
        for named in self.tensors() {
            if gradients.of(&named.name)?.iter().any(|gradient| *gradient != T::ZERO) {
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

    fn change(&mut self, named: &Named, change: impl FnOnce(&mut [T])) -> Result<(), Failure> {
        let change =
            Change { named, change: RefCell::new(Some(change)), element: std::marker::PhantomData };
        Ok(self.variables[named.variable].as_tensor().inplace_op1(&change)?)
    }
}

/// The name of a block's bias in checkpoints.
fn bias_name(layer: usize) -> String {
    format!("model.layers.{layer}.mlp.gate.e_score_correction_bias")
}

/// What the names of the tensors of experts without tokens begin with.
fn idle(load: &Load) -> impl Iterator<Item = String> {
    let experts = load.counts.iter().enumerate().filter(|(_, count)| **count == 0);
    let layer = load.layer;
    experts.map(move |(expert, _)| format!("model.layers.{layer}.mlp.experts.{expert}."))
}

/// A change of some numbers of a variable where they are.
struct Change<'a, T, F> {
    named: &'a Named,
    change: RefCell<Option<F>>,
    element: std::marker::PhantomData<T>,
}

impl<T: Element, F: FnOnce(&mut [T])> InplaceOp1 for Change<'_, T, F> {
    fn name(&self) -> &'static str {
        "change"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _layout: &Layout) -> candle_core::Result<()> {
        let all = T::storage(storage)?;
        match (all.get_mut(self.named.range()), self.change.take()) {
            (Some(numbers), Some(change)) => change(numbers),
            _ => candle_core::bail!("`{}` is not in its variable", self.named.name),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
