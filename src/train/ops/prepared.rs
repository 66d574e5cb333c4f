//! What is done to queries, keys and values before they are rotated: biases, and norms of queries and keys.

use super::sized;
use repro_portable::{Isa, Kernels, norm};

/// What is done to queries, keys and values before they are rotated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vectors {
    /// Whether biases are added to all three.
    pub biased: bool,
    /// How queries and keys are normalised, after that.
    pub normed: Normed,
}

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
}

/// Biases and norms of the rows of queries, keys and values. Their weights lie one after the other: the biases, the
/// norm of queries, the norm of keys.
#[derive(Debug, Clone, Copy)]
pub struct Prepared {
    /// Numbers of the biases.
    biases: usize,
    /// Of queries and of keys: where they begin in a row, how many numbers they have, how many of these are one norm.
    normed: [Option<NormedPart>; 2],
}

#[derive(Debug, Clone, Copy)]
struct NormedPart {
    from: usize,
    width: usize,
    of_norm: usize,
}

impl Prepared {
    /// For so many heads of queries and of keys, and as many of values.
    pub fn new(vectors: Vectors, [queries, keys]: [usize; 2], head_dim: usize) -> Self {
        let part = |from: usize, heads: usize| {
            let (from, width) = (from * head_dim, heads * head_dim);
            let of_norm = match vectors.normed {
                Normed::Not => return None,
                Normed::Heads => head_dim,
                Normed::Rows => width,
            };
            Some(NormedPart { from, width, of_norm })
        };
        let biases = if vectors.biased { (queries + 2 * keys) * head_dim } else { 0 };
        Self { biases, normed: [part(0, queries), part(queries, keys)] }
    }

    /// Whether it does nothing.
    pub fn is_nothing(&self) -> bool {
        self.biases == 0 && self.normed.iter().all(Option::is_none)
    }

    /// Adds biases to rows of `wide` numbers, keeps them as they are then in `raw` where they are normalised, and
    /// normalises them.
    pub fn forward<T: Kernels>(
        &self,
        isa: Isa,
        (wide, epsilon): (usize, T),
        weights: &[T],
        rows: &mut [T],
        raw: &mut Vec<T>,
    ) {
        let (biases, mut weights) = weights.split_at(self.biases);
        if self.biases > 0 {
            for row in rows.chunks_exact_mut(wide) {
                row.iter_mut().zip(biases).for_each(|(number, bias)| *number += *bias);
            }
        }
        if self.normed.iter().all(Option::is_none) {
            return;
        }
        sized(raw, rows.len()).copy_from_slice(rows);
        for part in self.normed.iter().flatten() {
            let (weight, rest) = weights.split_at(part.of_norm);
            weights = rest;
            for (row, raw) in rows.chunks_exact_mut(wide).zip(raw.chunks_exact(wide)) {
                let range = part.from..part.from + part.width;
                T::norm(isa, &raw[range.clone()], weight, epsilon, &mut row[range]);
            }
        }
    }

    /// Makes the gradient of the prepared rows that of the rows, and writes those of the weights.
    pub fn backward<T: Kernels>(
        &self,
        isa: Isa,
        (wide, epsilon): (usize, T),
        weights: &[T],
        g: &mut [T],
        raw: &[T],
        gw: &mut [T],
    ) {
        let (_, mut weights) = weights.split_at(self.biases);
        let (g_biases, mut g_weights) = gw.split_at_mut(self.biases);
        let rows = g.len() / wide;
        for part in self.normed.iter().flatten() {
            let (weight, rest) = weights.split_at(part.of_norm);
            let (g_weight, g_rest) = std::mem::take(&mut g_weights).split_at_mut(part.of_norm);
            (weights, g_weights) = (rest, g_rest);
            let range = part.from..part.from + part.width;
            let of = |all: &[T]| -> Vec<T> {
                all.chunks_exact(wide).flat_map(|row| row[range.clone()].iter().copied()).collect()
            };
            let (x, gy) = (of(raw), of(g));
            let (mut gx, nothing) = (vec![T::ZERO; x.len()], vec![T::ZERO; x.len()]);
            let norms = x.len() / part.of_norm;
            let mut parts = vec![T::ZERO; norms.div_ceil(norm::ROWS) * part.of_norm];
            T::norm_back(isa, &x, weight, epsilon, &gy, &nothing, &mut gx, &mut parts);
            T::norm_combine(&parts, g_weight);
            for (row, gx) in g.chunks_exact_mut(wide).zip(gx.chunks_exact(part.width)) {
                row[range.clone()].copy_from_slice(gx);
            }
        }
        if rows > 0 && self.biases > 0 {
            g_biases.fill(T::ZERO);
            for row in g.chunks_exact(wide) {
                g_biases.iter_mut().zip(row).for_each(|(sum, number)| *sum += *number);
            }
        }
    }
}
