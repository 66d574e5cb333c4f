//! The end of a decoder: the logits, and the surprise of the targets.

use rayon::prelude::*;

use super::{ROWS, sized};
use crate::narrow::{self, NarrowSum};
use crate::recipe::LossTerms;
use repro_kernels::portable::cross_entropy::Regularization;
use repro_kernels::portable::rounding::Rounding;
use repro_kernels::portable::{Isa, Kernels, Matrix, Packed};

/// A target that does not count: what is predicted in its place costs nothing.
pub const IGNORED: u32 = u32::MAX;

/// Targets that count.
pub fn counted(targets: &[u32]) -> usize {
    targets.iter().filter(|target| **target != IGNORED).count()
}

/// The mean nats of the targets that count under the softmax of `matrix h`: summed in float64 in the order of
/// the rows from +0, divided, and rounded once.
#[derive(Debug)]
pub struct Head<T> {
    /// Numbers of a row h.
    pub width: usize,
    /// The soft limit of logits.
    pub cap: Option<f64>,
    pub terms: LossTerms,
    /// So many logits are held at a time, where the order of sums over rows is free; else all are.
    pub held: Option<usize>,
    /// How logits and their gradients are rounded, if they are.
    pub rounding: Option<Rounding>,
    /// Sums over the vocabulary are off as those of another program may be, by this seed.
    pub other_sums: Option<u64>,
    pub saved: Saved<T>,
}

/// The inputs of the gradients: the gradient of all logits; or, where these are not held, already the gradients themselves.
#[derive(Debug, Default)]
pub struct Saved<T> {
    g_logits: Vec<T>,
    own: Option<[Vec<T>; 2]>,
}

/// The loss of a forward pass.
#[derive(Debug, Clone, Copy)]
pub struct HeadLoss<T> {
    /// Mean nats.
    pub nats: T,
    /// The mean square of `ln sum e^x`; 0 where it is not trained.
    pub square: f64,
}

/// The cost of each target, and whether it was the likeliest token.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadScores<T> {
    /// Nats of each target.
    pub nats: Vec<T>,
    /// Whether the target is the first of the largest logits.
    pub greedy: Vec<bool>,
}

/// Some rows, and what becomes of them.
struct Rows<'a, T> {
    h: &'a [T],
    targets: &'a [u32],
    nats: &'a mut [T],
    squares: &'a mut [T],
    /// First the logits, then their gradient.
    logits: &'a mut [T],
}

impl<T: Kernels> Head<T> {
    /// Scores the target of each row by itself. Those that do not count cost nothing, and nobody guesses them.
    pub fn score(&self, isa: Isa, targets: &[u32], [h, matrix]: [&[T]; 2]) -> HeadScores<T> {
        let (d, columns) = (self.width, matrix.len() / self.width);
        let rows = targets.len();
        let mut scores = HeadScores { nats: vec![T::ZERO; rows], greedy: vec![false; rows] };
        let logits_of = T::packed(isa, Matrix::new(matrix, columns, d).transposed());
        let into = scores.nats.par_chunks_mut(ROWS).zip(scores.greedy.par_chunks_mut(ROWS));
        h.par_chunks(ROWS * d).zip(targets.par_chunks(ROWS)).zip(into).for_each(
            |((h, targets), (nats, greedy))| {
                let mut logits = T::buffer(targets.len() * columns);
                let h = Matrix::new(h, targets.len(), d);
                T::packed_rows(&logits_of, isa, &mut logits, h, None);
                if let Some(cap) = self.cap {
                    T::cap(isa, &mut logits, T::from_f64(cap));
                }
                T::score(isa, &logits, &columns_of(targets), nats, greedy);
                let into = nats.iter_mut().zip(greedy).zip(targets);
                for ((nats, greedy), _) in into.filter(|(_, target)| **target == IGNORED) {
                    (*nats, *greedy) = (T::ZERO, false);
                }
            },
        );
        scores
    }

    /// The loss of the targets; keeps what the gradients need.
    pub fn forward(&mut self, isa: Isa, targets: &[u32], [h, matrix]: [&[T]; 2]) -> HeadLoss<T> {
        let (d, columns) = (self.width, matrix.len() / self.width);
        let mut saved = std::mem::take(&mut self.saved);
        let (mut nats, mut squares) = (T::buffer(targets.len()), T::buffer(targets.len()));
        squares.fill(T::ZERO);
        let counted = counted(targets);
        let logits_of = T::packed(isa, Matrix::new(matrix, columns, d).transposed());
        let at_once = self.at_once(targets.len(), columns);
        let is_held = at_once >= targets.len();
        let mut own = (!is_held).then(|| {
            let zeros = |length| vec![T::ZERO; length];
            [zeros(h.len()), zeros(matrix.len())]
        });
        let rows = h.chunks(at_once * d).zip(targets.chunks(at_once));
        let losses = nats.chunks_mut(at_once).zip(squares.chunks_mut(at_once));
        for (at, ((h, targets), (nats, squares))) in rows.zip(losses).enumerate() {
            let logits = sized(&mut saved.g_logits, targets.len() * columns);
            let mut some = Rows { h, targets, nats, squares, logits };
            self.block(isa, counted, &logits_of, &mut some);
            if let Some([gh, g_matrix]) = &mut own {
                let gh = &mut gh[at * at_once * d..][..h.len()];
                let before = g_matrix.clone();
                let known = Some(&*before);
                back(isa, d, [h, matrix, &saved.g_logits], known, [gh, g_matrix]);
            }
        }
        saved.own = own;
        self.saved = saved;
        let mean = |all: &[T]| match counted {
            0 => 0.0,
            _ => all.iter().fold(0.0, |sum, one| sum + one.to_f64()) / counted as f64,
        };
        HeadLoss { nats: T::from_f64(mean(&nats)), square: mean(&squares) }
    }

    /// Rows whose logits are held at a time: a whole number of blocks.
    pub fn at_once(&self, rows: usize, columns: usize) -> usize {
        let held = self.held.map_or(rows, |held| held / columns.max(1));
        held.next_multiple_of(ROWS).max(ROWS)
    }

    /// The losses of some rows, and the gradient of their logits.
    fn block(&self, isa: Isa, counted: usize, logits_of: &Packed<T>, rows: &mut Rows<'_, T>) {
        let (d, columns) = (self.width, rows.logits.len() / rows.targets.len().max(1));
        let losses = rows.nats.par_chunks_mut(ROWS).zip(rows.squares.par_chunks_mut(ROWS));
        rows.h
            .par_chunks(ROWS * d)
            .zip(rows.targets.par_chunks(ROWS))
            .zip(rows.logits.par_chunks_mut(ROWS * columns).zip(losses))
            .for_each(|((h, targets), (logits, (nats, squares)))| {
                let x = Matrix::new(h, targets.len(), d);
                T::packed_rows(logits_of, isa, logits, x, None);
                self.round(isa, logits);
                self.losses(isa, counted, &mut Rows { h, targets, nats, squares, logits });
            });
    }

    /// The losses of rows with these logits, and their gradient. Targets that do not count have none of either.
    fn losses(&self, isa: Isa, counted: usize, rows: &mut Rows<'_, T>) {
        let Rows { targets, nats, squares, logits, .. } = rows;
        let columns = logits.len() / targets.len().max(1);
        let cap = self.cap.map(T::from_f64);
        let capped = cap.map(|cap| {
            T::cap(isa, logits, cap);
            logits.to_vec()
        });
        let some = columns_of(targets);
        let LossTerms { label_smoothing, z_loss } = self.terms;
        if self.terms == LossTerms::default() {
            T::cross_entropy(isa, counted, logits, &some, nats);
        } else {
            let (smoothing, z) = (T::from_f64(label_smoothing), T::from_f64(z_loss));
            let extra = Regularization { smoothing, z };
            T::regularized(isa, counted, extra, logits, &some, nats, squares);
        }
        if let Some(seed) = self.other_sums {
            self.disturb(seed, counted, rows);
        }
        let Rows { targets, nats, squares, logits, .. } = rows;
        let all = logits.chunks_exact_mut(columns).zip(nats.iter_mut().zip(squares.iter_mut()));
        let ignored = all.zip(targets.iter()).filter(|(_, target)| **target == IGNORED);
        for ((logits, (nats, square)), _) in ignored {
            logits.fill(T::ZERO);
            (*nats, *square) = (T::ZERO, T::ZERO);
        }
        if let Some((cap, capped)) = cap.zip(capped) {
            T::cap_back(isa, &capped, cap, logits);
        }
        self.round(isa, logits);
    }

    /// Moves losses and gradients as other sums over the vocabulary would. They are off by as much in every row, or nearly so,
    /// and all numbers of a row are then off alike: what is added up over rows and columns shows it. A sum in float32 and four
    /// lanes stands for those of other programs, with a rounding up or down. Of labels that are smoothed, PyTorch's gradient
    /// also has a sum of as many equal terms.
    fn disturb(&self, seed: u64, counted: usize, rows: &mut Rows<'_, T>) {
        let columns = rows.logits.len() / rows.targets.len().max(1);
        let (count, smoothing) = (counted.max(1) as f64, self.terms.label_smoothing);
        let each = smoothing / columns as f64;
        let rounded =
            if seed.is_multiple_of(2) { narrow::spread(columns) } else { -narrow::spread(columns) };
        let drift = smoothing * narrow::drift(columns);
        let smoothed = if seed % 4 < 2 { drift } else { -drift };
        let all = rows.logits.chunks_exact_mut(columns).zip(rows.targets).zip(rows.nats.iter_mut());
        for ((gradients, target), nats) in all {
            let share = |(column, gradient): (usize, &T)| {
                let is_target = column == *target as usize;
                gradient.to_f64() * count + each + if is_target { 1.0 - smoothing } else { 0.0 }
            };
            let shares: Vec<f64> = gradients.iter().enumerate().map(share).collect();
            let off = NarrowSum::of(shares.iter().copied()).off() + rounded;
            *nats = T::from_f64(nats.to_f64() + off);
            for (gradient, share) in gradients.iter_mut().zip(shares) {
                *gradient = T::from_f64(gradient.to_f64() + share * (smoothed - off) / count);
            }
        }
    }

    fn round(&self, isa: Isa, numbers: &mut [T]) {
        if let Some(rounding) = self.rounding {
            T::narrow(isa, numbers, rounding);
        }
    }

    /// Writes the gradients of the mean of the last forward pass: of the rows and of the matrix.
    pub fn backward(&self, isa: Isa, [h, matrix]: [&[T]; 2], [gh, g_matrix]: [&mut [T]; 2]) {
        match &self.saved.own {
            Some([own_h, own_matrix]) => {
                gh.copy_from_slice(own_h);
                g_matrix.copy_from_slice(own_matrix);
            }
            None => {
                back(isa, self.width, [h, matrix, &self.saved.g_logits], None, [gh, g_matrix]);
            }
        }
    }
}

/// The columns of targets. Any stands for a target that does not count: what comes of it is put away.
fn columns_of(targets: &[u32]) -> Vec<u32> {
    targets.iter().map(|target| if *target == IGNORED { 0 } else { *target }).collect()
}

/// The gradients of rows, and of the matrix, to which what is known of it is added.
fn back<T: Kernels>(
    isa: Isa,
    d: usize,
    [h, matrix, g_logits]: [&[T]; 3],
    known: Option<&[T]>,
    [gh, g_matrix]: [&mut [T]; 2],
) {
    let (rows, columns) = (h.len() / d, matrix.len() / d);
    let g_logits = Matrix::new(g_logits, rows, columns);
    T::product(isa, gh, g_logits, Matrix::new(matrix, columns, d), None);
    T::product(isa, g_matrix, g_logits.transposed(), Matrix::new(h, rows, d), known);
}
