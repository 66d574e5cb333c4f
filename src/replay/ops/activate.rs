//! Functions of single numbers.

use rayon::prelude::*;

use super::{BackwardPass, Batch, ForwardPass, Operation, ROWS, add};
use repro_kernels::portable::{Activation, Isa, Kernels};

/// `y = f(x)`, or with a gate `y = f(a) b`, where a row of x is first a and then b. It has no weights.
#[derive(Debug, Clone, Copy)]
pub struct Activate {
    pub function: Activation,
    /// Numbers of a row of the output.
    pub width: usize,
    pub gated: bool,
}

impl Activate {
    /// Numbers of a row of the input.
    fn input(self) -> usize {
        if self.gated { 2 * self.width } else { self.width }
    }
}

impl<T: Kernels> Operation<T> for Activate {
    fn forward(&mut self, isa: Isa, _batch: Batch<'_>, pass: ForwardPass<'_, T>) {
        let (Self { function, width, gated }, ForwardPass { x, residual, y, .. }) = (*self, pass);
        let rows = x.par_chunks(ROWS * self.input()).zip(y.par_chunks_mut(ROWS * width));
        rows.for_each(|(x, y)| match gated {
            true => T::gated(isa, function, width, x, y),
            false => T::activation(isa, function, x, y),
        });
        add(y, residual);
    }

    fn backward(&self, isa: Isa, _batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let (Self { function, width, gated }, input) = (*self, self.input());
        let BackwardPass { x, g, before, gx, .. } = pass;
        let rows = x.par_chunks(ROWS * input).zip(g.par_chunks(ROWS * width));
        rows.zip(gx.par_chunks_mut(ROWS * input)).for_each(|((x, g), gx)| match gated {
            true => T::gated_back(isa, function, width, x, g, gx),
            false => T::activation_back(isa, function, x, g, gx),
        });
        add(gx, before);
    }
}
