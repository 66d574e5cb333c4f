//! The statistics of a router in a forward pass; `replay::load` computes how evenly it spreads tokens.

use repro_kernels::portable::Kernels;
use repro_kernels::portable::router::Routing;

/// The load of the experts of one block, over some tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The number of the block.
    pub layer: usize,
    /// Tokens that were routed.
    pub tokens: u64,
    /// Choices of each expert.
    pub counts: Vec<u64>,
    /// Tokens whose choice is one between equal scores.
    pub undecided: u64,
    /// The sum over tokens of each expert's share of the scores.
    pub shares: Vec<f64>,
    /// The loss of uneven loads: 1 where all is even.
    pub balance: f64,
    /// The loss of large logits: the mean square of the logarithm of their exponentials' sum.
    pub z: f64,
}

/// The loss of uneven loads over several blocks at once: `E sum F_e P_e`, where F is the number of choices of an expert by
/// the tokens of all blocks, and P its mean share of their scores.
pub fn joint_balance(loads: &[Load]) -> f64 {
    let tokens: f64 = loads.iter().map(|load| load.tokens as f64).sum();
    let experts = loads.first().map_or(0, |load| load.counts.len());
    let of = |expert: usize| {
        let count = |load: &Load| load.counts.get(expert).copied().unwrap_or_default();
        let share = |load: &Load| load.shares.get(expert).copied().unwrap_or_default();
        let counts: u64 = loads.iter().map(count).sum();
        counts as f64 / tokens * (loads.iter().map(share).sum::<f64>() / tokens)
    };
    experts as f64 * (0..experts).map(of).sum::<f64>()
}

impl Load {
    /// Adds what another pass saw of the same block; losses become sums.
    pub fn add(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.undecided += other.undecided;
        self.shares.iter_mut().zip(&other.shares).for_each(|(sum, share)| *sum += share);
        self.balance += other.balance;
        self.z += other.z;
    }

    /// The router's decisions in the block with this number.
    pub fn new<T: Kernels>(layer: usize, routing: &Routing<T>) -> Self {
        Self {
            layer,
            tokens: routing.tokens() as u64,
            counts: routing.counts.clone(),
            undecided: routing.undecided(),
            shares: routing.shares.clone(),
            balance: routing.balance(),
            z: routing.z(),
        }
    }
}
