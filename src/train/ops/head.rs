//! The end of a decoder: the last norm, the logits, and the surprise of the targets.

use std::sync::{Arc, Mutex};

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::tape::{Pass, lock, no_gradient};
use super::{Element, ROWS, numbers, sized, with};
use crate::portable::{Isa, Matrix, Packed, Real, buffer, cross_entropy, norm, product};

/// The mean nats of the targets under the softmax of `head norm(x)`: summed in float64 in the order of
/// the rows from +0, divided, and rounded once.
#[derive(Clone, Debug)]
pub struct Head<T> {
    pub isa: Isa,
    pub width: usize,
    pub epsilon: f64,
    /// The sublayers before it.
    pub at: usize,
    /// Those of the norm's weight and of the matrix.
    pub variables: [usize; 2],
    pub saved: Arc<Mutex<Saved<T>>>,
}

/// The normalised rows, and the gradient of the logits.
#[derive(Debug, Default)]
pub struct Saved<T> {
    h: Vec<T>,
    g_logits: Vec<T>,
}

/// What each target cost, and whether it was the likeliest token.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores<T> {
    /// Nats of each target.
    pub nats: Vec<T>,
    /// Whether the target is the first of the largest logits.
    pub greedy: Vec<bool>,
}

impl<T: Element> Head<T> {
    /// Applies it to the rows that a ticket stands for; on the tape, if its arguments are on it.
    pub fn apply(
        &self,
        pass: &Pass<T>,
        targets: Arc<[u32]>,
        ticket: &Tensor,
        weights: &[Tensor],
    ) -> Result<Tensor> {
        let [norm, matrix] = self.variables.map(|variable| &weights[variable]);
        ticket.apply_op3(norm, matrix, OnTape { head: self.clone(), pass: pass.clone(), targets })
    }

    /// Scores each target of a pass by itself.
    pub fn scores(&self, pass: &Pass<T>, targets: &[u32], weights: &[Tensor]) -> Result<Scores<T>> {
        let [norm, matrix] = self.variables.map(|variable| &weights[variable]);
        let memory = pass.memory()?;
        let x = memory.rows(self.at, pass.tokens * self.width);
        with(norm, |norm| with(matrix, |matrix| self.score(targets, x, norm, matrix)))?
    }

    pub(super) fn score(&self, targets: &[u32], x: &[T], norm: &[T], matrix: &[T]) -> Scores<T> {
        let (d, columns) = (self.width, matrix.len() / self.width);
        let rows = targets.len();
        let mut scores = Scores { nats: vec![T::ZERO; rows], greedy: vec![false; rows] };
        let logits_of = Packed::new(self.isa, Matrix::new(matrix, columns, d).transposed());
        let into = scores.nats.par_chunks_mut(ROWS).zip(scores.greedy.par_chunks_mut(ROWS));
        x.par_chunks(ROWS * d).zip(targets.par_chunks(ROWS)).zip(into).for_each(
            |((x, targets), (nats, greedy))| {
                let (mut h, mut logits) = (buffer(x.len()), buffer(targets.len() * columns));
                norm::forward(self.isa, x, norm, self.epsilon(), &mut h);
                logits_of.rows(self.isa, &mut logits, Matrix::new(&h, targets.len(), d), None);
                cross_entropy::score(self.isa, &logits, targets, nats, greedy);
            },
        );
        scores
    }

    fn epsilon(&self) -> T {
        <T as Real>::from_f64(self.epsilon)
    }

    fn forward(&self, targets: &[u32], [x, norm, matrix]: [&[T]; 3], saved: &mut Saved<T>) -> T {
        let (d, columns) = (self.width, matrix.len() / self.width);
        let rows = targets.len();
        let mut nats = vec![T::ZERO; rows];
        let logits_of = Packed::new(self.isa, Matrix::new(matrix, columns, d).transposed());
        let h = sized(&mut saved.h, rows * d).par_chunks_mut(ROWS * d);
        let logits = sized(&mut saved.g_logits, rows * columns).par_chunks_mut(ROWS * columns);
        x.par_chunks(ROWS * d)
            .zip(targets.par_chunks(ROWS).zip(nats.par_chunks_mut(ROWS)))
            .zip(h.zip(logits))
            .for_each(|((x, (targets, nats)), (h, logits))| {
                norm::forward(self.isa, x, norm, self.epsilon(), h);
                logits_of.rows(self.isa, logits, Matrix::new(h, targets.len(), d), None);
                cross_entropy::forward(self.isa, rows, logits, targets, nats);
            });
        let total = nats.into_iter().fold(0.0, |sum, nats| sum + Real::to_f64(nats));
        <T as Real>::from_f64(total / rows as f64)
    }

    fn backward(&self, [x, norm, matrix]: [&[T]; 3], into: [&mut [T]; 3], saved: &Saved<T>) {
        let (d, columns) = (self.width, matrix.len() / self.width);
        let rows = x.len() / d;
        let [gx, g_norm, g_matrix] = into;
        let (h, g_logits) = (&saved.h[..rows * d], &saved.g_logits[..rows * columns]);
        let back = Packed::new(self.isa, Matrix::new(matrix, columns, d));
        let mut parts = buffer(rows.div_ceil(norm::ROWS) * d);
        let nothing = vec![T::ZERO; ROWS.min(rows) * d];
        x.par_chunks(ROWS * d)
            .zip(g_logits.par_chunks(ROWS * columns))
            .zip(gx.par_chunks_mut(ROWS * d).zip(parts.par_chunks_mut(ROWS / norm::ROWS * d)))
            .for_each(|((x, g_logits), (gx, part))| {
                let mut gh = buffer(x.len());
                back.rows(self.isa, &mut gh, Matrix::new(g_logits, x.len() / d, columns), None);
                let none = &nothing[..x.len()];
                norm::backward(self.isa, x, norm, self.epsilon(), &gh, none, gx, part);
            });
        norm::combine(&parts, g_norm);
        let left = Matrix::new(g_logits, rows, columns).transposed();
        product(self.isa, g_matrix, left, Matrix::new(h, rows, d), None);
    }
}

struct OnTape<T: Element> {
    head: Head<T>,
    pass: Pass<T>,
    targets: Arc<[u32]>,
}

impl<T: Element> CustomOp3 for OnTape<T> {
    fn name(&self) -> &'static str {
        "head"
    }

    fn cpu_fwd(
        &self,
        _ticket: &CpuStorage,
        _ticket_layout: &Layout,
        norm: &CpuStorage,
        norm_layout: &Layout,
        matrix: &CpuStorage,
        matrix_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (norm, matrix) = (numbers(norm, norm_layout)?, numbers(matrix, matrix_layout)?);
        let memory = self.pass.memory()?;
        let x = memory.rows(self.head.at, self.pass.tokens * self.head.width);
        let mut saved = lock(&self.head.saved)?;
        let mean = self.head.forward(&self.targets, [x, norm, matrix], &mut saved);
        Ok((T::to_cpu_storage_owned(vec![mean]), Shape::from(())))
    }

    fn bwd(
        &self,
        _ticket: &Tensor,
        norm: &Tensor,
        matrix: &Tensor,
        _result: &Tensor,
        g: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        if with(g, |g: &[T]| g != [T::ONE])? {
            candle_core::bail!("the loss of a model is where its tape ends");
        }
        let mut memory = self.pass.memory()?;
        let rows = (self.head.at, self.pass.tokens * self.head.width);
        let [of_norm, of_matrix] = self.head.variables;
        let lengths = [(of_norm, norm.elem_count()), (of_matrix, matrix.elem_count())];
        let (x, gx, [g_norm, g_matrix]) = memory.begin_gradients(rows, lengths);
        let saved = lock(&self.head.saved)?;
        with(norm, |norm| {
            with(matrix, |matrix| {
                self.head.backward([x, norm, matrix], [gx, g_norm, g_matrix], &saved);
            })
        })??;
        Ok((Some(no_gradient::<T>()?), None, None))
    }
}
