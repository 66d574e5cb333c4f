//! Matrices between rows.

use super::{BackwardPass, Batch, ForwardPass, Operation};
use repro_kernels::portable::{Isa, Kernels, Matrix};

/// `y = W x + b` of each row. The weights are the matrix, or several one below the other, and then the biases.
#[derive(Debug, Clone, Copy)]
pub struct Linear {
    /// Numbers of a row of the input, and of the output.
    pub input: usize,
    pub output: usize,
    /// Whether there are biases.
    pub biased: bool,
    /// Whether the matrix is kept as its transpose, input by output.
    pub turned: bool,
}

impl Linear {
    /// The matrix as it lies there, and the biases.
    fn split<T>(self, w: &[T]) -> (Matrix<'_, T>, &[T]) {
        let (matrix, biases) = w.split_at(self.input * self.output);
        let matrix = match self.turned {
            false => Matrix::new(matrix, self.output, self.input),
            true => Matrix::new(matrix, self.input, self.output).transposed(),
        };
        (matrix, biases)
    }
}

impl<T: Kernels> Operation<T> for Linear {
    fn forward(&mut self, isa: Isa, _batch: Batch<'_>, pass: ForwardPass<'_, T>) {
        let ForwardPass { x, w, residual, y } = pass;
        let (matrix, biases) = self.split(w);
        let x = Matrix::new(x, x.len() / self.input, self.input);
        T::product(isa, y, x, matrix.transposed(), residual);
        if self.biased {
            T::add_bias(isa, y, biases);
        }
    }

    fn backward(&self, isa: Isa, _batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let BackwardPass { x, w, g, before, gx, gw, .. } = pass;
        let (matrix, _) = self.split(w);
        let rows = x.len() / self.input;
        let (x, output) = (Matrix::new(x, rows, self.input), Matrix::new(g, rows, self.output));
        T::product(isa, gx, output, matrix, before);
        let (g_matrix, g_biases) = gw.split_at_mut(self.input * self.output);
        match self.turned {
            false => T::product(isa, g_matrix, output.transposed(), x, None),
            true => T::product(isa, g_matrix, x.transposed(), output, None),
        }
        if self.biased {
            T::add_bias_back(isa, g, g_biases);
        }
    }
}
