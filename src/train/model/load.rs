//! How evenly a router spreads tokens over experts.

use crate::portable::router::Routing;
use crate::train::ops::Element;

/// The load of the experts of one block, over some tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The number of the block.
    pub layer: usize,
    /// Tokens that were routed.
    pub tokens: u64,
    /// Choices of each expert.
    pub counts: Vec<u64>,
    /// The sum over tokens of each expert's share of the scores.
    pub shares: Vec<f64>,
    /// The loss of uneven loads: 1 where all is even. Over several batches, their mean by tokens.
    pub balance: f64,
    /// The loss of large logits: the mean square of the logarithm of their exponentials' sum.
    pub z: f64,
}

/// What a load says of the health of a router.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Health {
    /// Entropy in nats of the mean shares of the scores: ln E where all is even.
    pub entropy: f64,
    /// The population's deviation of the choices over their mean.
    pub cv: f64,
    /// Choices of the fullest expert over their mean.
    pub max_load: f64,
    /// Experts without a token.
    pub dead: u64,
}

impl Load {
    pub(super) fn new<T: Element>(layer: usize, routing: &Routing<T>) -> Self {
        Self {
            layer,
            tokens: routing.tokens() as u64,
            counts: routing.counts.clone(),
            shares: routing.shares.clone(),
            balance: routing.balance(),
            z: routing.z(),
        }
    }

    /// Adds the load of other tokens in the same block.
    pub fn add(&mut self, other: &Self) {
        let (mine, others) = (self.tokens as f64, other.tokens as f64);
        let mean = |a: f64, b: f64| (a * mine + b * others) / (mine + others);
        (self.balance, self.z) = (mean(self.balance, other.balance), mean(self.z, other.z));
        self.tokens += other.tokens;
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.shares.iter_mut().zip(&other.shares).for_each(|(sum, share)| *sum += share);
    }

    /// The health of the router.
    pub fn health(&self) -> Health {
        let experts = self.counts.len() as f64;
        let mean = self.counts.iter().sum::<u64>() as f64 / experts;
        let squares =
            self.counts.iter().map(|count| (*count as f64 - mean) * (*count as f64 - mean));
        let all = self.shares.iter().fold(0.0, |sum, share| sum + share);
        let part = |share: &f64| share / all;
        let nats = self.shares.iter().map(part).filter(|part| *part > 0.0);
        Health {
            entropy: -nats.fold(0.0, |sum, part| sum + part * libm::log(part)),
            cv: (squares.fold(0.0, |sum, square| sum + square) / experts).sqrt() / mean,
            max_load: self.counts.iter().max().map_or(0.0, |most| *most as f64) / mean,
            dead: self.counts.iter().filter(|count| **count == 0).count() as u64,
        }
    }
}
