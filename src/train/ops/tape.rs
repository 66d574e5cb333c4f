//! What candle's tape carries, and the memory beside it.
//!
//! A sublayer hands the next one a ticket of one number on the tape: what was applied to what, and so in
//! which order gradients are taken. The rows themselves and all gradients lie in memory that every pass
//! uses again. The tape would ask for new memory three times for each of them (zeros, the gradient, their
//! sum) and add them up in a pool of threads of its own.

use std::sync::{Arc, Mutex, MutexGuard};

use candle_core::{CpuStorage, CustomOp2, Device, Layout, Result, Shape, Tensor};

use super::{Element, numbers, sized, with};

/// Sequences of equal length that run through a model, and the memory that they use.
#[derive(Clone, Debug)]
pub struct Pass<T> {
    /// Distinguishes the passes of a model.
    pub number: u64,
    /// Tokens of each sequence.
    pub length: usize,
    /// Tokens of all.
    pub tokens: usize,
    pub memory: Arc<Memory<T>>,
}

/// Memory that the passes of a model use, one after the other.
#[derive(Debug)]
pub struct Memory<T>(Mutex<Inner<T>>);

/// What the passes of a model write.
#[derive(Debug)]
pub struct Inner<T> {
    /// The pass that uses it.
    number: u64,
    /// The rows before each sublayer, and before the head.
    rows: Vec<Vec<T>>,
    /// The gradient of the rows that the backward pass has come to, and room for the next.
    g: Vec<T>,
    gx: Vec<T>,
    /// The gradient of each variable, and whether the pass wrote it.
    weights: Vec<(Vec<T>, bool)>,
}

impl<T: Element> Memory<T> {
    /// Memory for this many sublayers and variables.
    pub fn new(sublayers: usize, variables: usize) -> Self {
        let rows = (0..=sublayers).map(|_| Vec::new()).collect();
        let weights = (0..variables).map(|_| (Vec::new(), false)).collect();
        Self(Mutex::new(Inner { number: 0, rows, g: Vec::new(), gx: Vec::new(), weights }))
    }

    fn lock(&self) -> Result<MutexGuard<'_, Inner<T>>> {
        self.0
            .lock()
            .map_err(|_| candle_core::Error::Msg("an earlier pass of the model failed".into()))
    }

    /// Puts back what was taken.
    pub fn give_back(&self, weights: Vec<Vec<T>>) {
        // Without it, the next pass asks for memory.
        let Ok(mut inner) = self.lock() else { return };
        for (place, numbers) in inner.weights.iter_mut().zip(weights) {
            if place.0.is_empty() {
                place.0 = numbers;
            }
        }
    }
}

impl<T: Element> Pass<T> {
    /// Takes the memory: what an earlier pass left can no longer be used.
    pub fn begin(&self) -> Result<MutexGuard<'_, Inner<T>>> {
        let mut inner = self.memory.lock()?;
        inner.number = self.number;
        Ok(inner)
    }

    /// The memory, which must still be that of this pass.
    pub fn memory(&self) -> Result<MutexGuard<'_, Inner<T>>> {
        let inner = self.memory.lock()?;
        if inner.number != self.number {
            candle_core::bail!("the model ran again before the gradients of this pass were taken");
        }
        Ok(inner)
    }

    /// Takes the gradients of all variables, or the number of the first without one.
    pub fn take(&self) -> Result<std::result::Result<Vec<Vec<T>>, usize>> {
        let mut inner = self.memory()?;
        let none = inner.weights.iter().position(|(_, written)| !written);
        let take = |(numbers, _): &mut (Vec<T>, bool)| std::mem::take(numbers);
        Ok(none.map_or_else(|| Ok(inner.weights.iter_mut().map(take).collect()), Err))
    }
}

impl<T: Element> Inner<T> {
    /// Rows to be written.
    pub fn rows_mut(&mut self, at: usize, length: usize) -> &mut [T] {
        sized(&mut self.rows[at], length)
    }

    /// Rows that were written.
    pub fn rows(&self, at: usize, length: usize) -> &[T] {
        &self.rows[at][..length]
    }

    /// The gradient of the last rows, and that of each of these variables, to be written.
    pub fn begin_gradients<const N: usize>(
        &mut self,
        (at, length): (usize, usize),
        variables: [(usize, usize); N],
    ) -> (&[T], &mut [T], [&mut [T]; N]) {
        self.weights.iter_mut().for_each(|(_, written)| *written = false);
        let mut weights: Vec<_> = self.weights.iter_mut().map(Some).collect();
        let weights = variables.map(|(variable, length)| {
            let place = weights.get_mut(variable).and_then(Option::take);
            place.map_or(&mut [][..], |(numbers, written)| {
                *written = true;
                sized(numbers, length)
            })
        });
        (&self.rows[at][..length], sized(&mut self.g, length), weights)
    }

    /// The gradient of the first rows; and that of the table which they came from, with whether it holds
    /// that of another use.
    pub fn end_gradients(
        &mut self,
        rows: usize,
        (variable, length): (usize, usize),
    ) -> (&[T], &mut [T], bool) {
        let (numbers, written) = &mut self.weights[variable];
        let before = std::mem::replace(written, true);
        (&self.g[..rows], sized(numbers, length), before)
    }
}

/// A function of rows `x` and flat weights `w` to as many rows of the same width.
pub trait Sublayer<T: Element>: Send + Sync + 'static {
    /// What the backward pass needs of the forward pass.
    type Saved: Default + Send;

    /// The name in messages.
    const NAME: &'static str;

    /// Numbers of a row.
    fn width(&self) -> usize;

    /// Writes the output to `y`.
    fn forward(&self, length: usize, x: &[T], w: &[T], y: &mut [T], saved: &mut Self::Saved);

    /// Writes the gradients of x and w, given that of the output.
    fn backward(&self, length: usize, pass: Backward<'_, T>, saved: &Self::Saved);
}

/// What a backward pass reads and writes.
pub struct Backward<'a, T> {
    /// The input.
    pub x: &'a [T],
    /// The weights.
    pub w: &'a [T],
    /// The gradient of the output.
    pub g: &'a [T],
    /// The gradient of the input.
    pub gx: &'a mut [T],
    /// The gradient of the weights.
    pub gw: &'a mut [T],
}

/// A sublayer in its place, and what it keeps.
#[derive(Debug)]
pub struct Layer<T: Element, S: Sublayer<T>> {
    sublayer: Arc<S>,
    saved: Arc<Mutex<S::Saved>>,
    at: usize,
    variable: usize,
}

impl<T: Element, S: Sublayer<T>> Layer<T, S> {
    /// Sublayer number `at` of a model, with the variable of its weights.
    pub fn new(sublayer: S, at: usize, variable: usize) -> Self {
        Self { sublayer: Arc::new(sublayer), saved: Arc::default(), at, variable }
    }

    /// The sublayer.
    pub fn sublayer(&self) -> &S {
        &self.sublayer
    }

    /// Applies it to the rows that a ticket stands for; on the tape, if its arguments are on it.
    pub fn apply(&self, pass: &Pass<T>, ticket: &Tensor, weights: &[Tensor]) -> Result<Tensor> {
        let (sublayer, saved) = (self.sublayer.clone(), self.saved.clone());
        let &Self { at, variable, .. } = self;
        let op = OnTape { sublayer, saved, pass: pass.clone(), at, variable };
        ticket.apply_op2(&weights[variable], op)
    }

    /// What a function makes of what a pass kept.
    pub fn look<R>(&self, pass: &Pass<T>, at: impl FnOnce(&S::Saved) -> R) -> Result<R> {
        let _same = pass.memory()?;
        Ok(at(&*lock(&self.saved)?))
    }
}

pub fn lock<S>(saved: &Mutex<S>) -> Result<MutexGuard<'_, S>> {
    saved.lock().map_err(|_| candle_core::Error::Msg("an earlier pass of the model failed".into()))
}

/// A ticket: its number says nothing.
pub fn ticket<T: Element>() -> (CpuStorage, Shape) {
    (T::to_cpu_storage_owned(vec![T::ZERO]), Shape::from(1))
}

/// The gradient of a ticket.
pub fn no_gradient<T: Element>() -> Result<Tensor> {
    Tensor::from_vec(vec![T::ZERO], 1, &Device::Cpu)
}

struct OnTape<T: Element, S: Sublayer<T>> {
    sublayer: Arc<S>,
    saved: Arc<Mutex<S::Saved>>,
    pass: Pass<T>,
    at: usize,
    variable: usize,
}

impl<T: Element, S: Sublayer<T>> CustomOp2 for OnTape<T, S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn cpu_fwd(
        &self,
        _ticket: &CpuStorage,
        _ticket_layout: &Layout,
        w: &CpuStorage,
        w_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let mut memory = self.pass.memory()?;
        let rows = self.pass.tokens * self.sublayer.width();
        let (before, after) = memory.rows.split_at_mut(self.at + 1);
        let (x, y) = (&before[self.at][..rows], sized(&mut after[0], rows));
        let w = numbers(w, w_layout)?;
        self.sublayer.forward(self.pass.length, x, w, y, &mut *lock(&self.saved)?);
        Ok(ticket::<T>())
    }

    fn bwd(
        &self,
        _ticket: &Tensor,
        w: &Tensor,
        _result: &Tensor,
        _g: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let mut memory = self.pass.memory()?;
        let memory = &mut *memory;
        let rows = self.pass.tokens * self.sublayer.width();
        let (gw, written) = &mut memory.weights[self.variable];
        let saved = lock(&self.saved)?;
        with(w, |w| {
            let (x, g) = (&memory.rows[self.at][..rows], &memory.g[..rows]);
            let (gx, gw) = (sized(&mut memory.gx, rows), sized(gw, w.len()));
            self.sublayer.backward(self.pass.length, Backward { x, w, g, gx, gw }, &saved);
        })?;
        *written = true;
        std::mem::swap(&mut memory.g, &mut memory.gx);
        Ok((Some(no_gradient::<T>()?), None))
    }
}
