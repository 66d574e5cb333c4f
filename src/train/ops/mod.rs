//! The sublayers of a decoder over the portable formulas, forward and backward, each over flat weights.
//!
//! A sublayer keeps what its backward pass needs of its last forward pass, in memory that every pass uses
//! again, so that memory is asked for once. Which sublayer follows which, where weights and gradients lie,
//! and the rows between sublayers are left to `model`, which hands them on without a look at their numbers.

mod attention;
mod embedding;
mod experts;
mod feed_forward;
mod gated;
mod head;
mod mixture;
mod prepared;

pub(super) use attention::Attention;
pub(super) use embedding::Embedding;
pub(super) use feed_forward::FeedForward;
pub use head::IGNORED;
pub(super) use head::{Head, HeadScores};
pub(super) use mixture::{Mixture, MixtureWidths};
pub(super) use prepared::Prepared;
pub use prepared::{Normed, Vectors};

use repro_portable::Kernels;

/// Rows that a thread takes at a time: whole sums of a norm's weight, and few enough to stay at hand.
const ROWS: usize = 2 * repro_portable::norm::ROWS;

/// A function of rows `x` and flat weights `w` to as many rows of the same width.
pub trait Sublayer<T> {
    /// Writes the output for sequences of `length` rows to `y`, and keeps what the gradients need.
    fn forward(&mut self, length: usize, x: &[T], w: &[T], y: &mut [T]);

    /// Writes the gradients of x and w, given that of the output of the last forward pass.
    fn backward(&self, length: usize, pass: Backward<'_, T>);
}

/// What a backward pass reads and writes.
pub struct Backward<'a, T> {
    /// The input.
    pub x: &'a [T],
    /// The weights.
    pub w: &'a [T],
    /// The gradient of the output.
    pub g: &'a [T],
    /// The gradient of the input.
    pub gx: &'a mut [T],
    /// The gradient of the weights.
    pub gw: &'a mut [T],
}

/// Makes it as many numbers as are asked for. What they hold is left over: write before reading.
pub(super) fn sized<T: Kernels>(all: &mut Vec<T>, length: usize) -> &mut [T] {
    all.resize(length, T::ZERO);
    all
}

/// Pieces of a slice, one for each length.
fn pieces<T>(mut all: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let take = |length| {
        let (piece, rest) = std::mem::take(&mut all).split_at_mut(length);
        all = rest;
        piece
    };
    lengths.map(take).collect()
}

#[cfg(test)]
mod tests;
