//! The feed-forward sublayer of a dense block.

use rayon::prelude::*;

use super::gated::Gated;
use super::{Backward, ROWS, Sublayer, sized};
use repro_portable::{Isa, Kernels, norm};

/// `y = x + down(silu(gate h) * up h)` with `h = norm(x)`. The weights are those of the norm, then those
/// of the network.
#[derive(Debug)]
pub struct FeedForward<T> {
    pub isa: Isa,
    pub width: usize,
    pub inner: usize,
    pub epsilon: f64,
    pub saved: Saved<T>,
}

/// The normalised rows, and their products.
#[derive(Debug, Default)]
pub struct Saved<T> {
    h: Vec<T>,
    gate_up: Vec<T>,
}

impl<T: Kernels> Sublayer<T> for FeedForward<T> {
    fn forward(&mut self, _length: usize, x: &[T], w: &[T], y: &mut [T]) {
        let &mut Self { isa, width, inner, epsilon, ref mut saved } = self;
        let (rows, epsilon) = (x.len() / width, T::from_f64(epsilon));
        let (norm, w) = w.split_at(width);
        let network = Gated { width, inner }.forward(isa, w);
        let h = sized(&mut saved.h, rows * width).par_chunks_mut(ROWS * width);
        let gate_up = sized(&mut saved.gate_up, rows * 2 * inner).par_chunks_mut(ROWS * 2 * inner);
        let inputs = x.par_chunks(ROWS * width).zip(y.par_chunks_mut(ROWS * width));
        inputs.zip(h.zip(gate_up)).for_each(|((x, y), (h, gate_up))| {
            T::norm(isa, x, norm, epsilon, h);
            network.rows(isa, h, None, gate_up, (y, Some(x)));
        });
    }

    fn backward(&self, _length: usize, pass: Backward<'_, T>) {
        let &Self { isa, width, inner, epsilon, ref saved } = self;
        let Backward { x, w, g, gx, gw } = pass;
        let (rows, epsilon) = (x.len() / width, T::from_f64(epsilon));
        let (norm, w) = w.split_at(width);
        let shape = Gated { width, inner };
        let network = shape.backward(isa, w);
        let Saved { h, gate_up } = saved;
        let mut s = T::buffer(rows * inner);
        let mut g_gate_up = T::buffer(rows * 2 * inner);
        let mut parts = T::buffer(rows.div_ceil(norm::ROWS) * width);
        let inputs = x.par_chunks(ROWS * width).zip(g.par_chunks(ROWS * width));
        let inner_rows = s.par_chunks_mut(ROWS * inner);
        let products = g_gate_up.par_chunks_mut(ROWS * 2 * inner);
        inputs
            .zip(gate_up.par_chunks(ROWS * 2 * inner))
            .zip(inner_rows.zip(products))
            .zip(gx.par_chunks_mut(ROWS * width))
            .zip(parts.par_chunks_mut(ROWS / norm::ROWS * width))
            .for_each(|(((((x, g), gate_up), (s, g_gate_up)), gx), part)| {
                let mut gh = T::buffer(x.len());
                network.rows(isa, (g, gate_up), None, (s, g_gate_up), (&mut gh, None));
                T::norm_back(isa, x, norm, epsilon, &gh, g, gx, part);
            });
        let (g_norm, gw) = gw.split_at_mut(width);
        T::norm_combine(&parts, g_norm);
        shape.gradient(isa, (h, &g_gate_up), (&s, g), gw);
    }
}
