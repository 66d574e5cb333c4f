//! The CPU backend: numbers in memory, and the operations of `ops` over slices of them.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

use super::{Backend, BackwardNumbers, ForwardNumbers, MovedTensor, TensorUpdate};
use crate::ops::{
    BackwardPass, Batch, ForwardPass, Head, HeadLoss, HeadScores, Load, Mixture, StepKind,
};
use repro_kernels::portable::rounding::Rounding;
use repro_kernels::portable::{Buffer, Isa, Kernels};

/// The processor, in numbers of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Host<T = f32> {
    isa: Isa,
    numbers: PhantomData<T>,
}

impl<T> Host<T> {
    /// With these instructions.
    pub fn new(isa: Isa) -> Self {
        Self { isa, numbers: PhantomData }
    }
}

/// Numbers in memory.
#[derive(Debug)]
pub enum HostNumbers<T: Kernels> {
    /// Those that stay.
    Own(Vec<T>),
    /// Those that are lent for a while, in memory that is used again.
    Lent(Buffer<T>),
}

impl<T: Kernels> Deref for HostNumbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Own(all) => all,
            Self::Lent(all) => all,
        }
    }
}

impl<T: Kernels> DerefMut for HostNumbers<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Own(all) => all,
            Self::Lent(all) => all,
        }
    }
}

/// The values there; nothing where nothing is given.
fn slice<T: Kernels>(numbers: Option<&HostNumbers<T>>) -> &[T] {
    numbers.map_or(&[], |numbers| numbers)
}

fn slice_mut<T: Kernels>(numbers: Option<&mut HostNumbers<T>>) -> &mut [T] {
    numbers.map_or(&mut [], |numbers| numbers)
}

impl<T: Kernels> Backend for Host<T> {
    type Number = T;
    type Numbers = HostNumbers<T>;
    type Kept = ();

    fn zeros(&self, length: usize) -> HostNumbers<T> {
        HostNumbers::Own(vec![T::ZERO; length])
    }

    fn buffer(&self, length: usize) -> HostNumbers<T> {
        HostNumbers::Lent(T::buffer(length))
    }

    fn put(&self, numbers: Vec<T>) -> HostNumbers<T> {
        HostNumbers::Own(numbers)
    }

    fn length(&self, of: &HostNumbers<T>) -> usize {
        of.len()
    }

    fn resize(&self, numbers: &mut HostNumbers<T>, length: usize) {
        match numbers {
            HostNumbers::Own(all) => all.resize(length, T::ZERO),
            HostNumbers::Lent(all) => *all = T::buffer(length),
        }
    }

    fn get<'a>(&self, of: &'a HostNumbers<T>, range: Range<usize>) -> Cow<'a, [T]> {
        Cow::Borrowed(&of[range])
    }

    fn set(&self, into: &mut HostNumbers<T>, at: usize, numbers: &[T]) {
        into[at..][..numbers.len()].copy_from_slice(numbers);
    }

    fn copy(&self, of: &HostNumbers<T>) -> HostNumbers<T> {
        HostNumbers::Own(of.to_vec())
    }

    fn clear(&self, numbers: &mut HostNumbers<T>, range: Range<usize>) {
        numbers[range].fill(T::ZERO);
    }

    fn add(&self, into: &mut HostNumbers<T>, numbers: &HostNumbers<T>) {
        into.iter_mut().zip(&**numbers).for_each(|(sum, number)| *sum += *number);
    }

    fn scale(&self, numbers: &mut HostNumbers<T>, by: T) {
        numbers.iter_mut().for_each(|number| *number *= by);
    }

    fn add_scaled(&self, into: &mut HostNumbers<T>, numbers: &HostNumbers<T>, by: T) {
        into.iter_mut().zip(&**numbers).for_each(|(sum, number)| *sum += *number * by);
    }

    fn round(&self, numbers: &mut HostNumbers<T>, rounding: Rounding) {
        T::narrow(self.isa, numbers, rounding);
    }

    fn forward(
        &self,
        step: &mut StepKind<T>,
        (): &mut (),
        batch: Batch<'_>,
        pass: ForwardNumbers<'_, HostNumbers<T>>,
    ) {
        let ForwardNumbers { x, w, residual, y } = pass;
        let residual = residual.map(|residual| &**residual);
        let pass = ForwardPass { x: slice(x), w: slice(w), residual, y };
        step.operation_mut().forward(self.isa, batch, pass);
    }

    fn backward(
        &self,
        step: &StepKind<T>,
        (): &(),
        batch: Batch<'_>,
        pass: BackwardNumbers<'_, HostNumbers<T>>,
    ) {
        let BackwardNumbers { x, w, g, before, gx, gw, sums } = pass;
        let (x, w, before) = (slice(x), slice(w), before.map(|before| &**before));
        let pass = BackwardPass { x, w, g, before, gx: slice_mut(gx), gw: slice_mut(gw), sums };
        step.operation().backward(self.isa, batch, pass);
    }

    fn load(&self, layer: usize, mixture: &Mixture<T>, (): &()) -> Option<Load> {
        mixture.routing().map(|routing| Load::new(layer, routing))
    }

    fn balance_jointly(
        &self,
        mixture: &mut Mixture<T>,
        (): &mut (),
        counts: &[u64],
        layers: usize,
    ) {
        mixture.balance_jointly(counts, layers);
    }

    fn loss(
        &self,
        head: &mut Head<T>,
        (): &mut (),
        targets: &[u32],
        of: [&HostNumbers<T>; 2],
    ) -> HeadLoss<T> {
        head.forward(self.isa, targets, of.map(|numbers| &**numbers))
    }

    fn scores(&self, head: &Head<T>, targets: &[u32], of: [&HostNumbers<T>; 2]) -> HeadScores<T> {
        head.score(self.isa, targets, of.map(|numbers| &**numbers))
    }

    fn head_backward(
        &self,
        head: &Head<T>,
        (): &(),
        of: [&HostNumbers<T>; 2],
        into: [&mut HostNumbers<T>; 2],
    ) {
        let into = into.map(|numbers| &mut **numbers);
        head.backward(self.isa, of.map(|numbers| &**numbers), into);
    }

    fn squares(&self, parts: &[(&HostNumbers<T>, Range<usize>)]) -> Vec<f64> {
        let squares = |(of, range): &(&HostNumbers<T>, Range<usize>)| {
            T::squares(self.isa, &of[range.clone()])
        };
        parts.iter().map(squares).collect()
    }

    fn update(
        &self,
        tensor: MovedTensor<'_, HostNumbers<T>>,
        [mean, square, greatest]: [&mut HostNumbers<T>; 3],
        rule: &TensorUpdate<T>,
    ) {
        let MovedTensor { weights, gradient, range } = tensor;
        let (isa, w, g) = (self.isa, &mut weights[range.clone()], &gradient[range]);
        match *rule {
            TensorUpdate::AdamW(update) => T::adamw(isa, w, g, mean, square, update),
            TensorUpdate::Adam(update, coupled) => {
                T::adam(isa, w, g, mean, square, greatest, update, coupled);
            }
            TensorUpdate::Momentum(update) => T::momentum(isa, w, g, mean, update),
            TensorUpdate::Lion(update) => T::lion(isa, w, g, mean, update),
            TensorUpdate::Muon(update, shape) => T::muon(isa, w, g, mean, shape, &update),
        }
    }

    fn fault(&self) -> Option<String> {
        None
    }
}
