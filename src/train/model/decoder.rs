//! The sublayers of a decoder and the walk over them: forward from the tokens to the loss, and in reverse
//! for the gradients. Rows, weights and gradients are handed on; only sublayers look at their numbers.

use super::config::{Balancing, Config, MixtureConfig};
use super::load::Load;
use super::tensors::FlatTensors;
use super::{llama, mixtral};
use crate::ops::{
    self, Attention, Backward, Embedding, FeedForward, Head, HeadScores, Sublayer, sized,
};
use repro_portable::{Isa, Kernels};

/// All sublayers, and the memory between them. Their weights, and their gradients, are flat variables in
/// the order of the walk: the table of tokens, one for each sublayer, the head's norm, and the head's
/// matrix where it is not the table.
#[derive(Debug)]
pub(super) struct Decoder<T> {
    embedding: Embedding,
    blocks: Vec<Block<T>>,
    head: Head<T>,
    /// The rows before each sublayer, and before the head.
    rows: Vec<Vec<T>>,
    /// The gradient of the rows that the walk back has come to, and room for the next.
    g: Vec<T>,
    gx: Vec<T>,
    coefficients: [f64; 2],
    /// Whether loads are balanced over all sparse blocks at once.
    is_joint: bool,
}

/// Attention, and then a feed-forward network.
#[derive(Debug)]
struct Block<T> {
    attention: Attention<T>,
    feed: Feed<T>,
}

#[derive(Debug)]
enum Feed<T> {
    Dense(FeedForward<T>),
    Sparse(ops::Mixture<T>),
}

impl<T: Kernels> Decoder<T> {
    /// The decoder of a config, and its tensors.
    pub fn new(config: &Config, isa: Isa) -> (Self, FlatTensors) {
        let mut tensors = FlatTensors::default();
        let embedding = llama::embedding(config, &mut tensors);
        let block = |layer| Block::new(config, isa, layer, &mut tensors);
        let blocks: Vec<_> = (0..config.num_hidden_layers).map(block).collect();
        let head = llama::head(config, isa, &mut tensors);
        let rows = vec![Vec::new(); 2 * blocks.len() + 1];
        let coefficients = config.mixture.as_ref().map_or([0.0; 2], MixtureConfig::coefficients);
        let (g, gx) = (Vec::new(), Vec::new());
        let balancing = config.mixture.as_ref().map(|mixture| mixture.balancing);
        let is_joint = matches!(balancing, Some(Balancing::Joint(_)));
        (Self { embedding, blocks, head, rows, g, gx, coefficients, is_joint }, tensors)
    }

    /// The weights of the routers' losses: balance, z.
    pub fn coefficients(&self) -> [f64; 2] {
        self.coefficients
    }

    /// Whether loads are balanced over all sparse blocks at once.
    pub fn is_joint(&self) -> bool {
        self.is_joint
    }

    /// Walks to the head with sequences of this length.
    pub fn forward(&mut self, length: usize, inputs: &[u32], weights: &[Vec<T>]) {
        self.embedding.forward(inputs, &weights[0], &mut self.rows[0]); // (B T, D)
        let sublayers = self.blocks.iter_mut().flat_map(Block::sublayers);
        for (at, sublayer) in sublayers.enumerate() {
            let (before, after) = self.rows.split_at_mut(at + 1);
            let (x, y) = (&before[at], &mut after[0]);
            sublayer.forward(length, x, &weights[at + 1], sized(y, x.len()));
        }
        if self.is_joint {
            self.balance_jointly();
        }
    }

    /// Has each router see the choices of all.
    fn balance_jointly(&mut self) {
        let (mut counts, mut layers) = (Vec::<u64>::new(), 0);
        for routing in self.mixtures().filter_map(|(_, mixture)| mixture.routing()) {
            counts.resize(routing.counts.len(), 0);
            counts.iter_mut().zip(&routing.counts).for_each(|(sum, count)| *sum += count);
            layers += 1;
        }
        for (_, mixture) in self.mixtures_mut() {
            mixture.balance_jointly(&counts, layers);
        }
    }

    /// The mean nats of the targets, after a walk forward.
    pub fn loss(&mut self, targets: &[u32], weights: &[Vec<T>]) -> T {
        let [norm, matrix] = self.of_head(weights);
        self.head.forward(targets, [&self.rows[self.rows.len() - 1], norm, matrix])
    }

    /// The nats of each target, after a walk forward.
    pub fn scores(&self, targets: &[u32], weights: &[Vec<T>]) -> HeadScores<T> {
        let [norm, matrix] = self.of_head(weights);
        self.head.score(targets, [&self.rows[self.rows.len() - 1], norm, matrix])
    }

    /// Walks back from the loss, and writes all gradients.
    pub fn backward(&mut self, length: usize, weights: &[Vec<T>], gradients: &mut [Vec<T>]) {
        let [norm, matrix] = self.of_head(weights);
        let Self { embedding, blocks, head, rows, g, gx, .. } = self;
        let last = rows.len() - 1;
        let (table, gradients) = gradients.split_at_mut(1);
        let (gradients, own) = gradients.split_at_mut(rows.len());
        let g_matrix = own.first_mut().unwrap_or(&mut table[0]);
        let into = [sized(g, rows[last].len()), &mut gradients[last], g_matrix];
        head.backward([&rows[last], norm, matrix], into);
        let sublayers = blocks.iter_mut().flat_map(Block::sublayers);
        for (at, sublayer) in (0..last).rev().zip(sublayers.rev()) {
            let (x, w, gw) = (&rows[at], &weights[at + 1], &mut gradients[at]);
            sublayer.backward(length, Backward { x, w, g, gx: sized(gx, x.len()), gw });
            std::mem::swap(g, gx);
        }
        embedding.backward(g, &mut table[0]);
    }

    /// The head's norm and matrix.
    fn of_head<'a>(&self, weights: &'a [Vec<T>]) -> [&'a [T]; 2] {
        let norm = self.rows.len();
        [&weights[norm], weights.get(norm + 1).unwrap_or(&weights[0])]
    }

    /// The loads of sparse blocks in the last walk.
    pub fn loads(&self) -> Vec<Load> {
        let load = |(layer, mixture): (usize, &ops::Mixture<T>)| {
            mixture.routing().map(|routing| Load::new(layer, routing))
        };
        self.mixtures().filter_map(load).collect()
    }

    /// The mixtures of sparse blocks, by number.
    pub fn mixtures(&self) -> impl Iterator<Item = (usize, &ops::Mixture<T>)> {
        self.blocks.iter().enumerate().filter_map(|(layer, block)| match &block.feed {
            Feed::Dense(_) => None,
            Feed::Sparse(mixture) => Some((layer, mixture)),
        })
    }

    /// The same, to be changed.
    pub fn mixtures_mut(&mut self) -> impl Iterator<Item = (usize, &mut ops::Mixture<T>)> {
        self.blocks.iter_mut().enumerate().filter_map(|(layer, block)| match &mut block.feed {
            Feed::Dense(_) => None,
            Feed::Sparse(mixture) => Some((layer, mixture)),
        })
    }
}

impl<T: Kernels> Block<T> {
    fn new(config: &Config, isa: Isa, layer: usize, tensors: &mut FlatTensors) -> Self {
        let attention = llama::attention(config, isa, layer, tensors);
        let feed = match config.mixture_of(layer) {
            None => Feed::Dense(llama::feed_forward(config, isa, layer, tensors)),
            Some(mixture) => Feed::Sparse(mixtral::mixture(config, mixture, (isa, layer), tensors)),
        };
        Self { attention, feed }
    }

    fn sublayers(&mut self) -> [&mut dyn Sublayer<T>; 2] {
        let feed: &mut dyn Sublayer<T> = match &mut self.feed {
            Feed::Dense(dense) => dense,
            Feed::Sparse(sparse) => sparse,
        };
        [&mut self.attention, feed]
    }
}
