//! Norms of queries and keys.

use rayon::prelude::*;

use super::{BackwardPass, Batch, ForwardPass, NormKind, Operation, ROWS, add};
use repro_kernels::portable::{Isa, Kernels, norm};

/// How queries and keys are normalised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Normed {
    /// They are not.
    #[default]
    Not,
    /// Each head by itself.
    Heads,
    /// All heads of a token together.
    Rows,
    /// Each head by itself, times one more than a weight.
    HeadsFromOne,
    /// Each head by itself, without a weight.
    HeadsAlone,
}

/// Rows of queries, keys and values, of which queries and keys are normalised by their root mean square. The weights are
/// that of queries and then that of keys, where they have any.
#[derive(Debug, Clone, Copy)]
pub struct VectorNorms {
    /// Numbers of a row.
    pub width: usize,
    pub epsilon: f64,
    pub kind: NormKind,
    /// Queries and keys.
    pub parts: [NormedPart; 2],
}

/// A part of a row: where it begins, how many numbers it has, how many of these are one norm.
#[derive(Debug, Clone, Copy)]
pub struct NormedPart {
    pub from: usize,
    pub width: usize,
    pub of_norm: usize,
}

impl VectorNorms {
    /// For so many heads of queries and of keys, and as many of values; none where nothing is normalised.
    pub fn new(
        normed: Normed,
        [queries, keys]: [usize; 2],
        head_dim: usize,
        epsilon: f64,
    ) -> Option<Self> {
        let part = |from: usize, heads: usize| {
            let (from, width) = (from * head_dim, heads * head_dim);
            let of_norm = if normed == Normed::Rows { width } else { head_dim };
            NormedPart { from, width, of_norm }
        };
        let kind = match normed {
            Normed::Not => return None,
            Normed::Heads | Normed::Rows => NormKind::Rms,
            Normed::HeadsFromOne => NormKind::RmsFromOne,
            Normed::HeadsAlone => NormKind::RmsAlone,
        };
        let width = (queries + 2 * keys) * head_dim;
        Some(Self { width, epsilon, kind, parts: [part(0, queries), part(queries, keys)] })
    }

    /// The numbers of the weights of queries and of keys.
    pub fn weights(&self) -> [usize; 2] {
        self.parts.map(|part| if self.kind.is_weighted() { part.of_norm } else { 0 })
    }

    /// The weights that the formula has.
    fn split<T: Kernels>(&self, w: &[T]) -> [Vec<T>; 2] {
        let (queries, keys) = w.split_at(self.weights()[0]);
        let [first, second] = self.parts;
        [(first, queries), (second, keys)].map(|(part, w)| self.kind.weight(part.of_norm, w))
    }
}

impl<T: Kernels> Operation<T> for VectorNorms {
    fn forward(&mut self, isa: Isa, _batch: Batch<'_>, pass: ForwardPass<'_, T>) {
        let ForwardPass { x, w, residual, y } = pass;
        let (width, epsilon, weights) = (self.width, T::from_f64(self.epsilon), self.split(w));
        x.par_chunks(ROWS * width).zip(y.par_chunks_mut(ROWS * width)).for_each(|(x, y)| {
            y.copy_from_slice(x);
            for (part, weight) in std::iter::zip(&self.parts, &weights) {
                for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)) {
                    let range = part.from..part.from + part.width;
                    T::norm(isa, &x[range.clone()], weight, epsilon, &mut y[range]);
                }
            }
        });
        add(y, residual);
    }

    fn backward(&self, isa: Isa, _batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let BackwardPass { x, w, g, before, gx, gw, .. } = pass;
        let (width, epsilon, weights) = (self.width, T::from_f64(self.epsilon), self.split(w));
        gx.copy_from_slice(g);
        let (g_queries, g_keys) = gw.split_at_mut(self.weights()[0]);
        let parts = std::iter::zip(&self.parts, &weights).zip([g_queries, g_keys]);
        for ((part, weight), g_weight) in parts {
            let range = part.from..part.from + part.width;
            let of = |all: &[T]| -> Vec<T> {
                all.chunks_exact(width).flat_map(|row| &row[range.clone()]).copied().collect()
            };
            let (x, gy) = (of(x), of(g));
            let (mut own, nothing) = (vec![T::ZERO; x.len()], vec![T::ZERO; x.len()]);
            let mut sums =
                vec![T::ZERO; (x.len() / part.of_norm).div_ceil(norm::ROWS) * part.of_norm];
            T::norm_back(isa, &x, weight, epsilon, &gy, &nothing, &mut own, &mut sums);
            if !g_weight.is_empty() {
                T::norm_combine(&sums, g_weight);
            }
            for (row, own) in gx.chunks_exact_mut(width).zip(own.chunks_exact(part.width)) {
                row[range.clone()].copy_from_slice(own);
            }
        }
        add(gx, before);
    }
}
