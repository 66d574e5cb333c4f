//! Tokens to the rows of a table.

use super::{BackwardPass, Batch, ForwardPass, Operation, add, round_sum};
use repro_kernels::portable::{Isa, Kernels};

/// The rows of a table of `width` columns that belong to the tokens. The gradient of the table is the sum
/// of the gradients of its tokens' rows in their order: from +0, or, where the table is also the matrix of
/// the head, from its gradient there.
#[derive(Debug, Clone, Copy)]
pub struct Embedding {
    pub width: usize,
    /// Whether the table is also the matrix of the head.
    pub tied: bool,
    /// The factor of rows, if there is one.
    pub scale: Option<f64>,
}

impl<T: Kernels> Operation<T> for Embedding {
    fn forward(&mut self, _isa: Isa, batch: Batch<'_>, pass: ForwardPass<'_, T>) {
        let (width, ForwardPass { w, y, residual, .. }) = (self.width, pass);
        for (row, token) in y.chunks_exact_mut(width).zip(batch.tokens) {
            row.copy_from_slice(&w[*token as usize * width..][..width]);
        }
        if let Some(scale) = self.scale {
            let scale = T::from_f64(scale);
            y.iter_mut().for_each(|number| *number *= scale);
        }
        add(y, residual);
    }

    fn backward(&self, isa: Isa, batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let (width, BackwardPass { g, gw, sums, .. }) = (self.width, pass);
        if !self.tied {
            gw.fill(T::ZERO);
        }
        let scale = self.scale.map(T::from_f64);
        for (at, (g, token)) in g.chunks_exact(width).zip(batch.tokens).enumerate() {
            let row = &mut gw[*token as usize * width..][..width];
            for (sum, g) in row.iter_mut().zip(g) {
                *sum += scale.map_or(*g, |scale| *g * scale);
            }
            round_sum(isa, sums, at, row);
        }
    }
}
