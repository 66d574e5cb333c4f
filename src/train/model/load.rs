//! What a forward pass saw of a router; how evenly it spreads tokens is for `train::load` to say.

use repro_portable::Kernels;
use repro_portable::router::Routing;

/// The load of the experts of one block, over some tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The number of the block.
    pub layer: usize,
    /// Tokens that were routed.
    pub tokens: u64,
    /// Choices of each expert.
    pub counts: Vec<u64>,
    /// The loss of uneven loads: 1 where all is even.
    pub balance: f64,
    /// The loss of large logits: the mean square of the logarithm of their exponentials' sum.
    pub z: f64,
}

impl Load {
    pub(super) fn new<T: Kernels>(layer: usize, routing: &Routing<T>) -> Self {
        Self {
            layer,
            tokens: routing.tokens() as u64,
            counts: routing.counts.clone(),
            balance: routing.balance(),
            z: routing.z(),
        }
    }
}
