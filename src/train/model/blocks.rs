//! The sublayers of a decoder, one after the other.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::config::{Config, Mixture};
use super::load::Load;
use super::tensors::Tensors;
use super::{llama, mixtral};
use crate::portable::Isa;
use crate::train::ops::{
    self, Attention, Element, Embedding, FeedForward, Head, Layer, Memory, Pass, Scores,
};

/// All sublayers, each with its place.
#[derive(Debug)]
pub(super) struct Decoder<T: Element> {
    embedding: Embedding,
    blocks: Vec<Block<T>>,
    head: Head<T>,
    coefficients: [f64; 2],
}

/// Attention, and then a feed-forward network.
#[derive(Debug)]
struct Block<T: Element> {
    attention: Layer<T, Attention<T>>,
    feed: Feed<T>,
}

#[derive(Debug)]
enum Feed<T: Element> {
    Dense(Layer<T, FeedForward>),
    Sparse(Layer<T, ops::Mixture<T>>),
}

impl<T: Element> Decoder<T> {
    /// The decoder of a config, and its tensors.
    pub fn new(config: &Config, isa: Isa) -> (Self, Tensors) {
        let mut tensors = Tensors::default();
        let variable = llama::embedding(config, &mut tensors);
        let block = |layer| Block::new(config, isa, layer, &mut tensors);
        let blocks = (0..config.num_hidden_layers).map(block).collect();
        let width = config.hidden_size;
        let head = Head {
            isa,
            width,
            epsilon: config.norm_eps,
            at: 2 * config.num_hidden_layers,
            variables: llama::head(config, variable, &mut tensors),
            saved: Arc::default(),
        };
        let coefficients = config.mixture.as_ref().map_or([0.0; 2], Mixture::coefficients);
        (Self { embedding: Embedding { width, variable }, blocks, head, coefficients }, tensors)
    }

    /// Memory for passes with this many variables.
    pub fn memory(&self, variables: usize) -> Memory<T> {
        Memory::new(2 * self.blocks.len(), variables)
    }

    /// The weights of the routers' losses: balance, z.
    pub fn coefficients(&self) -> [f64; 2] {
        self.coefficients
    }

    /// Runs to the head; the ticket of the rows there.
    pub fn rows(&self, pass: &Pass<T>, inputs: &[u32], weights: &[Tensor]) -> Result<Tensor> {
        let mut x = self.embedding.apply(pass, inputs.into(), weights)?; // stands for (B T, D)
        for Block { attention, feed } in &self.blocks {
            x = attention.apply(pass, &x, weights)?;
            x = match feed {
                Feed::Dense(layer) => layer.apply(pass, &x, weights)?,
                Feed::Sparse(layer) => layer.apply(pass, &x, weights)?,
            };
        }
        Ok(x)
    }

    /// The mean nats of the targets.
    pub fn loss(
        &self,
        pass: &Pass<T>,
        targets: &[u32],
        ticket: &Tensor,
        weights: &[Tensor],
    ) -> Result<Tensor> {
        self.head.apply(pass, targets.into(), ticket, weights)
    }

    /// The nats of each target.
    pub fn scores(&self, pass: &Pass<T>, targets: &[u32], weights: &[Tensor]) -> Result<Scores<T>> {
        self.head.scores(pass, targets, weights)
    }

    /// The loads of sparse blocks in a pass.
    pub fn loads(&self, pass: &Pass<T>) -> Result<Vec<Load>> {
        let load = |(number, layer): (usize, &Layer<T, ops::Mixture<T>>)| {
            layer.look(pass, |saved| saved.routing().map(|routing| Load::new(number, routing)))
        };
        self.sparse().map(load).filter_map(Result::transpose).collect()
    }

    /// The biases that choose experts, by block.
    pub fn biases(&self) -> impl Iterator<Item = (usize, &ops::Bias<T>)> {
        self.sparse().filter_map(|(number, layer)| Some((number, layer.sublayer().bias.as_ref()?)))
    }

    /// The sparse blocks, by number.
    fn sparse(&self) -> impl Iterator<Item = (usize, &Layer<T, ops::Mixture<T>>)> {
        self.blocks.iter().enumerate().filter_map(|(number, block)| match &block.feed {
            Feed::Dense(_) => None,
            Feed::Sparse(layer) => Some((number, layer)),
        })
    }
}

impl<T: Element> Block<T> {
    fn new(config: &Config, isa: Isa, layer: usize, tensors: &mut Tensors) -> Self {
        let (attention, variable) = llama::attention(config, isa, layer, tensors);
        let attention = Layer::new(attention, 2 * layer, variable);
        let at = 2 * layer + 1;
        let feed = match config.mixture_of(layer) {
            None => {
                let (dense, variable) = llama::feed_forward(config, isa, layer, tensors);
                Feed::Dense(Layer::new(dense, at, variable))
            }
            Some(mixture) => {
                let (sparse, variable) = mixtral::mixture(config, mixture, (isa, layer), tensors);
                Feed::Sparse(Layer::new(sparse, at, variable))
            }
        };
        Self { attention, feed }
    }
}
