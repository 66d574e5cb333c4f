//! The end of a decoder: the last norm, the logits, and the surprise of the targets.

use rayon::prelude::*;

use super::{ROWS, sized};
use repro_portable::{Isa, Kernels, Matrix, norm};

/// A target that does not count: what is predicted in its place costs nothing.
pub const IGNORED: u32 = u32::MAX;

/// The mean nats of the targets that count under the softmax of `head norm(x)`: summed in float64 in the order of
/// the rows from +0, divided, and rounded once.
#[derive(Debug)]
pub struct Head<T> {
    pub isa: Isa,
    pub width: usize,
    pub epsilon: f64,
    pub saved: Saved<T>,
}

/// The normalised rows, and the gradient of the logits.
#[derive(Debug, Default)]
pub struct Saved<T> {
    h: Vec<T>,
    g_logits: Vec<T>,
}

/// What each target cost, and whether it was the likeliest token.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadScores<T> {
    /// Nats of each target.
    pub nats: Vec<T>,
    /// Whether the target is the first of the largest logits.
    pub greedy: Vec<bool>,
}

impl<T: Kernels> Head<T> {
    /// Scores the target of each row by itself.
    pub fn score(&self, targets: &[u32], [x, norm, matrix]: [&[T]; 3]) -> HeadScores<T> {
        let (d, columns) = (self.width, matrix.len() / self.width);
        let rows = targets.len();
        let mut scores = HeadScores { nats: vec![T::ZERO; rows], greedy: vec![false; rows] };
        let logits_of = T::packed(self.isa, Matrix::new(matrix, columns, d).transposed());
        let into = scores.nats.par_chunks_mut(ROWS).zip(scores.greedy.par_chunks_mut(ROWS));
        x.par_chunks(ROWS * d).zip(targets.par_chunks(ROWS)).zip(into).for_each(
            |((x, targets), (nats, greedy))| {
                let (mut h, mut logits) = (T::buffer(x.len()), T::buffer(targets.len() * columns));
                T::norm(self.isa, x, norm, self.epsilon(), &mut h);
                T::packed_rows(
                    &logits_of,
                    self.isa,
                    &mut logits,
                    Matrix::new(&h, targets.len(), d),
                    None,
                );
                T::score(self.isa, &logits, targets, nats, greedy);
            },
        );
        scores
    }

    fn epsilon(&self) -> T {
        T::from_f64(self.epsilon)
    }

    /// The mean nats of the targets; keeps what the gradients need.
    pub fn forward(&mut self, targets: &[u32], [x, norm, matrix]: [&[T]; 3]) -> T {
        let (isa, d, epsilon) = (self.isa, self.width, self.epsilon());
        let (saved, columns) = (&mut self.saved, matrix.len() / d);
        let rows = targets.len();
        let counted = targets.iter().filter(|target| **target != IGNORED).count();
        let mut nats = vec![T::ZERO; rows];
        let logits_of = T::packed(isa, Matrix::new(matrix, columns, d).transposed());
        let h = sized(&mut saved.h, rows * d).par_chunks_mut(ROWS * d);
        let logits = sized(&mut saved.g_logits, rows * columns).par_chunks_mut(ROWS * columns);
        x.par_chunks(ROWS * d)
            .zip(targets.par_chunks(ROWS).zip(nats.par_chunks_mut(ROWS)))
            .zip(h.zip(logits))
            .for_each(|((x, (targets, nats)), (h, logits))| {
                T::norm(isa, x, norm, epsilon, h);
                T::packed_rows(&logits_of, isa, logits, Matrix::new(h, targets.len(), d), None);
                if counted == rows {
                    T::cross_entropy(isa, rows, logits, targets, nats);
                } else {
                    counting(isa, counted, logits, targets, nats);
                }
            });
        let total = nats.into_iter().fold(0.0, |sum, nats| sum + nats.to_f64());
        T::from_f64(total / counted as f64)
    }

    /// Writes the gradients of the mean of the last forward pass: of x, the norm's weight and the matrix.
    pub fn backward(&self, [x, norm, matrix]: [&[T]; 3], [gx, g_norm, g_matrix]: [&mut [T]; 3]) {
        let (d, columns) = (self.width, matrix.len() / self.width);
        let rows = x.len() / d;
        let Saved { h, g_logits } = &self.saved;
        let back = T::packed(self.isa, Matrix::new(matrix, columns, d));
        let mut parts = T::buffer(rows.div_ceil(norm::ROWS) * d);
        let nothing = vec![T::ZERO; ROWS.min(rows) * d];
        x.par_chunks(ROWS * d)
            .zip(g_logits.par_chunks(ROWS * columns))
            .zip(gx.par_chunks_mut(ROWS * d).zip(parts.par_chunks_mut(ROWS / norm::ROWS * d)))
            .for_each(|((x, g_logits), (gx, part))| {
                let mut gh = T::buffer(x.len());
                T::packed_rows(
                    &back,
                    self.isa,
                    &mut gh,
                    Matrix::new(g_logits, x.len() / d, columns),
                    None,
                );
                let none = &nothing[..x.len()];
                T::norm_back(self.isa, x, norm, self.epsilon(), &gh, none, gx, part);
            });
        T::norm_combine(&parts, g_norm);
        let left = Matrix::new(g_logits, rows, columns).transposed();
        T::product(self.isa, g_matrix, left, Matrix::new(h, rows, d), None);
    }
}

/// The cross-entropy of the targets that count, and the gradient of their mean; the others have none of either.
fn counting<T: Kernels>(
    isa: Isa,
    counted: usize,
    logits: &mut [T],
    targets: &[u32],
    nats: &mut [T],
) {
    let columns = logits.len() / targets.len().max(1);
    // Any column stands for a target that does not count: what comes of it is put away.
    let known = |target: &u32| if *target == IGNORED { 0 } else { *target };
    let some: Vec<u32> = targets.iter().map(known).collect();
    T::cross_entropy(isa, counted, logits, &some, nats);
    let all = logits.chunks_exact_mut(columns).zip(nats).zip(targets);
    for ((logits, nats), _) in all.filter(|(_, target)| **target == IGNORED) {
        logits.fill(T::ZERO);
        *nats = T::ZERO;
    }
}
