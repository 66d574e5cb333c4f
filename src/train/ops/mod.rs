//! Candle operations over the portable formulas: one for each sublayer of a decoder, over the flat
//! weights of that sublayer.
//!
//! candle is the tape and the container of weights. What passes between operations, and what an operation
//! keeps for its backward pass, lies beside the tape and is used again in the next step, so that memory is
//! asked for once. A model can be on one tape at a time: a backward pass whose forward pass is not the
//! last one is an error.

mod attention;
mod bias;
mod embedding;
mod experts;
mod feed_forward;
mod gated;
mod head;
mod mixture;
mod tape;

use candle_core::{CpuStorage, Layout, Result, Tensor, WithDType};

pub(super) use attention::Attention;
pub(super) use bias::Bias;
pub(super) use embedding::Embedding;
pub(super) use feed_forward::FeedForward;
pub(super) use head::{Head, Scores};
pub(super) use mixture::{Mixture, Shape};
pub(super) use tape::{Layer, Memory, Pass};

use crate::portable::Real;

/// Rows that a thread takes at a time: whole sums of a norm's weight, and few enough to stay at hand.
const ROWS: usize = 2 * crate::portable::norm::ROWS;

/// A number that is both candle's and ours.
pub trait Element: Real + WithDType {
    /// The numbers of a storage of this type, to be changed.
    fn storage(storage: &mut CpuStorage) -> Result<&mut [Self]>;
}

impl Element for f32 {
    fn storage(storage: &mut CpuStorage) -> Result<&mut [Self]> {
        match storage {
            CpuStorage::F32(all) => Ok(all),
            _ => candle_core::bail!("not a storage of float32"),
        }
    }
}

impl Element for f64 {
    fn storage(storage: &mut CpuStorage) -> Result<&mut [Self]> {
        match storage {
            CpuStorage::F64(all) => Ok(all),
            _ => candle_core::bail!("not a storage of float64"),
        }
    }
}

/// The numbers of an argument.
fn numbers<'a, T: Element>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [T]> {
    let all = T::cpu_storage_as_slice(storage)?;
    match layout.contiguous_offsets().and_then(|(from, to)| all.get(from..to)) {
        Some(numbers) => Ok(numbers),
        None => candle_core::bail!("the numbers of an argument do not lie together"),
    }
}

/// What a function makes of the numbers of a tensor.
pub(super) fn with<T: Element, R>(tensor: &Tensor, work: impl FnOnce(&[T]) -> R) -> Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        candle_core::Storage::Cpu(storage) => Ok(work(numbers(storage, layout)?)),
        _ => candle_core::bail!("a tensor that is not in the memory of the processor"),
    }
}

/// As many numbers as are asked for, made if there are fewer: what they hold is left over.
fn sized<T: Real>(all: &mut Vec<T>, length: usize) -> &mut [T] {
    if all.len() < length {
        all.resize(length, T::ZERO);
    }
    &mut all[..length]
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
