//! The feed-forward network of a dense block.

use rayon::prelude::*;

use super::gated::Gated;
use super::{BackwardPass, Batch, ForwardPass, Operation, ROWS, add, sized};
use repro_kernels::portable::{Isa, Kernels};

/// `y = down(silu(gate x) * up x)`, in one walk over blocks of rows. The weights are those of the network.
#[derive(Debug)]
pub struct FeedForward<T> {
    pub shape: Gated,
    /// The products with the first two matrices.
    pub gate_up: Vec<T>,
}

impl<T: Kernels> Operation<T> for FeedForward<T> {
    fn forward(&mut self, isa: Isa, _batch: Batch<'_>, pass: ForwardPass<'_, T>) {
        let (Gated { width, inner }, ForwardPass { x, w, residual, y }) = (self.shape, pass);
        let network = self.shape.forward(isa, w);
        let gate_up = sized(&mut self.gate_up, x.len() / width * 2 * inner);
        let rows = x.par_chunks(ROWS * width).zip(y.par_chunks_mut(ROWS * width));
        rows.zip(gate_up.par_chunks_mut(ROWS * 2 * inner)).enumerate().for_each(
            |(at, ((x, y), gate_up))| {
                let residual = residual.map(|residual| &residual[at * ROWS * width..][..x.len()]);
                network.rows(isa, x, None, gate_up, (y, residual));
            },
        );
    }

    fn backward(&self, isa: Isa, _batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let Gated { width, inner } = self.shape;
        let BackwardPass { x, w, g, before, gx, gw, .. } = pass;
        let rows = x.len() / width;
        let network = self.shape.backward(isa, w);
        let (mut s, mut g_gate_up) = (T::buffer(rows * inner), T::buffer(rows * 2 * inner));
        let products =
            s.par_chunks_mut(ROWS * inner).zip(g_gate_up.par_chunks_mut(ROWS * 2 * inner));
        g.par_chunks(ROWS * width)
            .zip(self.gate_up.par_chunks(ROWS * 2 * inner))
            .zip(products.zip(gx.par_chunks_mut(ROWS * width)))
            .for_each(|(read, (products, gx))| {
                network.rows(isa, read, None, products, (gx, None));
            });
        add(gx, before);
        self.shape.gradient(isa, (x, &g_gate_up), (&s, g), gw);
    }
}
