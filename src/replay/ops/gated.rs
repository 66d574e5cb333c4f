//! A gated feed-forward network, on some rows at a time: of a dense block, of an expert, of the experts
//! that all tokens share.

use repro_kernels::portable::{Isa, Kernels, Matrix, Packed};

/// The shape: rows of `width`, and `inner` numbers in between. Its weights are the matrices `gate` and
/// `up` (inner x width each) and `down` (width x inner), one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Gated {
    pub width: usize,
    pub inner: usize,
}

impl Gated {
    /// Numbers of the weights.
    pub fn weights(self) -> usize {
        3 * self.width * self.inner
    }

    fn split<T>(self, w: &[T]) -> (Matrix<'_, T>, Matrix<'_, T>) {
        let (gate_up, down) = w.split_at(2 * self.width * self.inner);
        let gate_up = Matrix::new(gate_up, 2 * self.inner, self.width);
        (gate_up, Matrix::new(down, self.width, self.inner))
    }

    /// Makes the weights ready for forward passes.
    pub fn forward<T: Kernels>(self, isa: Isa, w: &[T]) -> ForwardWeights<T> {
        let (gate_up, down) = self.split(w);
        let gate_up = T::packed(isa, gate_up.transposed());
        ForwardWeights { shape: self, gate_up, down: T::packed(isa, down.transposed()) }
    }

    /// Makes the weights ready for backward passes.
    pub fn backward<T: Kernels>(self, isa: Isa, w: &[T]) -> BackwardWeights<T> {
        let (gate_up, down) = self.split(w);
        BackwardWeights {
            shape: self,
            gate_up: T::packed(isa, gate_up),
            down: T::packed(isa, down),
        }
    }

    /// Writes the gradient of the weights: from the input `h` and the gradients of its products, and from
    /// the inner rows `s` and the gradient of the output.
    pub fn gradient<T: Kernels>(
        self,
        isa: Isa,
        (h, g_gate_up): (&[T], &[T]),
        (s, g): (&[T], &[T]),
        gw: &mut [T],
    ) {
        let Self { width, inner } = self;
        let rows = h.len() / width;
        let (gate_up, down) = gw.split_at_mut(2 * width * inner);
        let left = Matrix::new(g_gate_up, rows, 2 * inner).transposed();
        T::product(isa, gate_up, left, Matrix::new(h, rows, width), None);
        let left = Matrix::new(g, rows, width).transposed();
        T::product(isa, down, left, Matrix::new(s, rows, inner), None);
    }
}

/// Weights for forward passes.
pub struct ForwardWeights<T: Kernels> {
    shape: Gated,
    gate_up: Packed<T>,
    down: Packed<T>,
}

impl<T: Kernels> ForwardWeights<T> {
    /// Writes the products `gate_up` of rows `h`, and to `y` the output, plus `add`.
    pub fn rows(
        &self,
        isa: Isa,
        h: &[T],
        gates: Option<&[T]>,
        gate_up: &mut [T],
        (y, add): (&mut [T], Option<&[T]>),
    ) {
        let Gated { width, inner } = self.shape;
        let rows = h.len() / width;
        T::packed_rows(&self.gate_up, isa, gate_up, Matrix::new(h, rows, width), None);
        let mut s = T::buffer(rows * inner);
        T::swiglu(isa, inner, gate_up, gates, &mut s);
        T::packed_rows(&self.down, isa, y, Matrix::new(&s, rows, inner), add);
    }
}

/// Weights for backward passes.
pub struct BackwardWeights<T: Kernels> {
    shape: Gated,
    gate_up: Packed<T>,
    down: Packed<T>,
}

impl<T: Kernels> BackwardWeights<T> {
    /// From the gradient of the output and the products that the forward pass left: the inner rows `s`
    /// again, the gradients of the products and of the gates, and to `gh` that of the input, plus `add`.
    pub fn rows(
        &self,
        isa: Isa,
        (g, gate_up): (&[T], &[T]),
        gates: Option<(&[T], &mut [T])>,
        (s, g_gate_up): (&mut [T], &mut [T]),
        (gh, add): (&mut [T], Option<&[T]>),
    ) {
        let Gated { width, inner } = self.shape;
        let rows = g.len() / width;
        let mut gs = T::buffer(rows * inner);
        T::packed_rows(&self.down, isa, &mut gs, Matrix::new(g, rows, width), None);
        T::swiglu_back(isa, inner, gate_up, gates, &gs, s, g_gate_up);
        T::packed_rows(&self.gate_up, isa, gh, Matrix::new(g_gate_up, rows, 2 * inner), add);
    }
}
