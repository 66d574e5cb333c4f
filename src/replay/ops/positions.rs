//! Learned positions.

use super::{BackwardPass, Batch, ForwardPass, Operation, add, round_sum};
use repro_kernels::portable::{Isa, Kernels};

/// The row of each token's position in a table of `width` columns, which is added to the residual.
#[derive(Debug, Clone, Copy)]
pub struct Positions {
    pub width: usize,
}

impl Positions {
    /// The position of each token.
    pub fn of(batch: Batch<'_>) -> impl Iterator<Item = usize> {
        let (given, length) = (batch.places.positions, batch.length);
        (0..batch.tokens.len()).map(move |at| match given.get(at) {
            Some(position) => *position as usize,
            None => at % length,
        })
    }
}

impl<T: Kernels> Operation<T> for Positions {
    fn forward(&mut self, _isa: Isa, batch: Batch<'_>, pass: ForwardPass<'_, T>) {
        let (width, ForwardPass { w, residual, y, .. }) = (self.width, pass);
        for (y, at) in y.chunks_exact_mut(width).zip(Self::of(batch)) {
            y.copy_from_slice(&w[at * width..][..width]);
        }
        add(y, residual);
    }

    fn backward(&self, isa: Isa, batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let (width, BackwardPass { g, gw, sums, .. }) = (self.width, pass);
        gw.fill(T::ZERO);
        for (token, (g, at)) in g.chunks_exact(width).zip(Self::of(batch)).enumerate() {
            let row = &mut gw[at * width..][..width];
            add(row, Some(g));
            round_sum(isa, sums, token, row);
        }
    }
}
