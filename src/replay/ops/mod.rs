//! The operations that models are put together from, forward and backward, over the portable formulas.
//!
//! Each makes rows of rows, with flat weights of its own. An operation keeps what its backward pass needs of its last
//! forward pass and cannot read again from its input, in memory that every pass uses again, so that memory is asked for
//! once. Which operation follows which and the rows between operations are left to `model`, and where weights, gradients
//! and rows lie to `backend`, whose `Host` calls what is here.

mod activate;
mod attention;
mod embedding;
mod experts;
mod feed_forward;
mod gated;
mod head;
mod kind;
mod linear;
mod load;
mod mixture;
mod norm;
mod positions;
mod vector_norms;

pub(super) use activate::Activate;
pub(super) use attention::Attention;
pub(super) use embedding::Embedding;
pub(super) use feed_forward::FeedForward;
pub(super) use gated::Gated;
pub use head::IGNORED;
pub(super) use head::{Head, HeadLoss, HeadScores, counted};
pub(super) use kind::StepKind;
pub(super) use linear::Linear;
pub use load::Load;
pub(super) use load::joint_balance;
pub(super) use mixture::{Mixture, MixtureWidths};
pub(super) use norm::Norm;
pub use norm::NormKind;
pub(super) use positions::Positions;
pub use vector_norms::Normed;
pub(super) use vector_norms::VectorNorms;

use repro_kernels::portable::rounding::Rounding;
use repro_kernels::portable::{Isa, Kernels, TokenPlaces};

/// Rows that a thread takes at a time: whole sums of a norm's weight, and few enough to stay at hand.
pub(super) const ROWS: usize = 2 * repro_kernels::portable::norm::ROWS;

/// Sequences of equal length, as operations see them.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The tokens, sequence by sequence.
    pub tokens: &'a [u32],
    /// Tokens of a sequence.
    pub length: usize,
    /// Where they stand.
    pub places: TokenPlaces<'a>,
}

/// A function of rows `x` and flat weights `w` to as many rows. What makes rows of tokens alone has no `x`.
pub trait Operation<T: Kernels> {
    /// Writes the output, plus `residual` where it is given, to `y`.
    fn forward(&mut self, isa: Isa, batch: Batch<'_>, pass: ForwardPass<'_, T>);

    /// Writes the gradients of x and w, given that of the output of the last forward pass.
    fn backward(&self, isa: Isa, batch: Batch<'_>, pass: BackwardPass<'_, T>);
}

/// The operands of a forward pass.
pub struct ForwardPass<'a, T> {
    /// The input.
    pub x: &'a [T],
    /// The weights.
    pub w: &'a [T],
    /// The addend of the output, added last.
    pub residual: Option<&'a [T]>,
    /// The output.
    pub y: &'a mut [T],
}

/// The operands of a backward pass.
pub struct BackwardPass<'a, T> {
    /// The input.
    pub x: &'a [T],
    /// The weights.
    pub w: &'a [T],
    /// The gradient of the output.
    pub g: &'a [T],
    /// The addend of the input's gradient: the gradient of its other uses.
    pub before: Option<&'a [T]>,
    /// The gradient of the input.
    pub gx: &'a mut [T],
    /// The gradient of the weights.
    pub gw: &'a mut [T],
    /// How sums over tokens of rows of a table and of weights of norms are rounded after each token, if they are: programs
    /// without wider sums do so.
    pub sums: Option<Rounding>,
}

/// Rounds a sum after token number `at`.
fn round_sum<T: Kernels>(isa: Isa, rounding: Option<Rounding>, at: usize, sum: &mut [T]) {
    if let Some(Rounding { kept, seed }) = rounding {
        let seed = seed.map(|seed| seed.wrapping_add((at as u64) << 24));
        T::narrow(isa, sum, Rounding { kept, seed });
    }
}

/// Makes it as many numbers as are asked for. What they hold is left over: write before reading.
pub(super) fn sized<T: Kernels>(all: &mut Vec<T>, length: usize) -> &mut [T] {
    all.resize(length, T::ZERO);
    all
}

/// Adds numbers, where there are any.
fn add<T: Kernels>(into: &mut [T], numbers: Option<&[T]>) {
    for (sum, number) in into.iter_mut().zip(numbers.unwrap_or_default()) {
        *sum += *number;
    }
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
