//! Attention between queries, keys and values.

use super::{BackwardPass, Batch, ForwardPass, Operation, sized};
use repro_kernels::portable::{AttentionShape, Isa, Kernels};

/// The output of the heads for rows of queries, keys and values; it has no weights.
#[derive(Debug)]
pub struct Attention<T> {
    pub heads: AttentionShape<T>,
    /// The rows with rotated queries and keys.
    pub rotated: Vec<T>,
}

impl<T: Kernels> Operation<T> for Attention<T> {
    fn forward(&mut self, isa: Isa, batch: Batch<'_>, pass: ForwardPass<'_, T>) {
        let rotated = sized(&mut self.rotated, pass.x.len());
        rotated.copy_from_slice(pass.x);
        T::attention(&self.heads, isa, batch.length, batch.places, rotated, pass.y);
        super::add(pass.y, pass.residual);
    }

    fn backward(&self, isa: Isa, batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let (rotated, BackwardPass { g, gx, before, .. }) = (&self.rotated, pass);
        T::attention_back(&self.heads, isa, batch.length, batch.places, rotated, g, gx);
        super::add(gx, before);
    }
}
