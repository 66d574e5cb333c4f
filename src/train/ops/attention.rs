//! The attention sublayer.

use rayon::prelude::*;

use super::{Backward, Prepared, ROWS, Sublayer, sized};
use repro_portable::attention::AttentionShape;
use repro_portable::{Isa, Kernels, Matrix, norm};

/// `y = x + o attend(q h, k h, v h)` with `h = norm(x)`. The weights are those of the norm, then the
/// matrices q, k, v and o, then what prepares queries, keys and values.
#[derive(Debug)]
pub struct Attention<T> {
    pub isa: Isa,
    pub width: usize,
    pub epsilon: f64,
    pub heads: AttentionShape<T>,
    pub prepared: Prepared,
    pub saved: Saved<T>,
}

/// The normalised rows; queries, keys and values, rotated; and what the heads made of them.
#[derive(Debug, Default)]
pub struct Saved<T> {
    h: Vec<T>,
    /// Queries, keys and values before norms of their own.
    raw: Vec<T>,
    vectors: Vec<T>,
    attended: Vec<T>,
}

/// The weights, by their parts.
struct Weights<'a, T> {
    norm: &'a [T],
    vectors: Matrix<'a, T>,
    output: Matrix<'a, T>,
    prepared: &'a [T],
}

impl<T: Kernels> Attention<T> {
    fn split<'a>(&self, w: &'a [T]) -> Weights<'a, T> {
        let (d, vectors, attended) = (self.width, self.heads.width(), self.heads.output_width());
        let (norm, w) = w.split_at(d);
        let (q_k_v, w) = w.split_at(vectors * d);
        let (o, prepared) = w.split_at(d * attended);
        let vectors = Matrix::new(q_k_v, vectors, d);
        Weights { norm, vectors, output: Matrix::new(o, d, attended), prepared }
    }
}

impl<T: Kernels> Sublayer<T> for Attention<T> {
    fn forward(&mut self, length: usize, x: &[T], w: &[T], y: &mut [T]) {
        let (isa, d) = (self.isa, self.width);
        let (wide, narrow) = (self.heads.width(), self.heads.output_width());
        let (rows, epsilon) = (x.len() / d, T::from_f64(self.epsilon));
        let (weights, saved) = (self.split(w), &mut self.saved);
        let vectors = sized(&mut saved.vectors, rows * wide);
        let into_vectors = T::packed(isa, weights.vectors.transposed());
        let h = sized(&mut saved.h, rows * d).par_chunks_mut(ROWS * d);
        x.par_chunks(ROWS * d).zip(h).zip(vectors.par_chunks_mut(ROWS * wide)).for_each(
            |((x, h), vectors)| {
                T::norm(isa, x, weights.norm, epsilon, h);
                T::packed_rows(&into_vectors, isa, vectors, Matrix::new(h, x.len() / d, d), None);
            },
        );
        if !self.prepared.is_nothing() {
            let of_rows = (wide, epsilon);
            self.prepared.forward(isa, of_rows, weights.prepared, vectors, &mut saved.raw);
        }
        let attended = sized(&mut saved.attended, rows * narrow);
        T::attention(&self.heads, isa, length, vectors, attended);
        let output = T::packed(isa, weights.output.transposed());
        T::packed_product(&output, isa, y, Matrix::new(attended, rows, narrow), Some(x));
    }

    fn backward(&self, length: usize, pass: Backward<'_, T>) {
        let (isa, d) = (self.isa, self.width);
        let (wide, narrow) = (self.heads.width(), self.heads.output_width());
        let Backward { x, w, g, gx, gw } = pass;
        let (rows, epsilon) = (x.len() / d, T::from_f64(self.epsilon));
        let weights = self.split(w);
        let Saved { h, raw, vectors, attended } = &self.saved;

        let mut g_attended = T::buffer(rows * narrow);
        T::product(isa, &mut g_attended, Matrix::new(g, rows, d), weights.output, None);
        let mut g_vectors = T::buffer(rows * wide);
        T::attention_back(&self.heads, isa, length, vectors, &g_attended, &mut g_vectors);
        let (g_norm, gw) = gw.split_at_mut(d);
        let (gw_vectors, gw) = gw.split_at_mut(wide * d);
        let (gw_output, gw_prepared) = gw.split_at_mut(d * narrow);
        if !self.prepared.is_nothing() {
            let of_rows = (wide, epsilon);
            self.prepared.backward(
                isa,
                of_rows,
                weights.prepared,
                &mut g_vectors,
                raw,
                gw_prepared,
            );
        }
        let back = T::packed(isa, weights.vectors);
        let mut parts = T::buffer(rows.div_ceil(norm::ROWS) * d);
        x.par_chunks(ROWS * d)
            .zip(g.par_chunks(ROWS * d).zip(g_vectors.par_chunks(ROWS * wide)))
            .zip(gx.par_chunks_mut(ROWS * d))
            .zip(parts.par_chunks_mut(ROWS / norm::ROWS * d))
            .for_each(|(((x, (g, g_vectors)), gx), part)| {
                let mut gh = T::buffer(x.len());
                T::packed_rows(
                    &back,
                    isa,
                    &mut gh,
                    Matrix::new(g_vectors, x.len() / d, wide),
                    None,
                );
                T::norm_back(isa, x, weights.norm, epsilon, &gh, g, gx, part);
            });

        T::norm_combine(&parts, g_norm);
        let left = Matrix::new(&g_vectors, rows, wide).transposed();
        T::product(isa, gw_vectors, left, Matrix::new(h, rows, d), None);
        let left = Matrix::new(g, rows, d).transposed();
        T::product(isa, gw_output, left, Matrix::new(attended, rows, narrow), None);
    }
}
