//! The experts of a mixture, each on its rows of one table of all choices.

use std::ops::Range;

use rayon::prelude::*;

use super::gated::Gated;
use super::{ROWS, pieces};
use repro_kernels::portable::mixture::Arrangement;
use repro_kernels::portable::{Buffer, Isa, Kernels};

/// Experts of one shape, and the rows that go to each with their gates.
pub struct Experts<'a, T> {
    pub isa: Isa,
    pub shape: Gated,
    pub arrangement: &'a Arrangement,
    /// The gates in the order of the rows.
    pub gates: &'a [T],
}

/// Rows of one expert that a thread takes at a time.
type Piece = (usize, Range<usize>);

impl<T: Kernels> Experts<'_, T> {
    /// All rows, in pieces.
    fn work(&self) -> Vec<Piece> {
        let of = |expert| {
            let rows = self.arrangement.of(expert);
            let end = rows.end;
            rows.step_by(ROWS).map(move |from| (expert, from..end.min(from + ROWS)))
        };
        (0..self.arrangement.experts()).flat_map(of).collect()
    }

    /// The result of `ready` for the weights of each expert that has rows.
    fn networks<N: Send>(&self, w: &[T], ready: impl Fn(&[T]) -> N + Sync) -> Vec<Option<N>> {
        let each = w.par_chunks(self.shape.weights()).enumerate();
        each.map(|(expert, w)| (!self.arrangement.of(expert).is_empty()).then(|| ready(w)))
            .collect()
    }

    /// Adds to the tokens' rows `y` what the experts make of the tokens' rows `h`, and writes the products
    /// of all rows of the table.
    pub fn forward(&self, w: &[T], h: &[T], gate_up: &mut [T], y: &mut [T]) {
        let Gated { width, inner } = self.shape;
        let networks = self.networks(w, |w| self.shape.forward(self.isa, w));
        let work = self.work();
        let mut outputs = T::buffer(self.arrangement.len() * width);
        let into = cut(&mut outputs, &work, width).into_iter().zip(cut(gate_up, &work, 2 * inner));
        let all: Vec<_> = work.iter().zip(into).collect();
        all.into_par_iter().for_each(|((expert, rows), (output, gate_up))| {
            let Some(network) = &networks[*expert] else { return };
            let mut own = T::buffer(rows.len() * width);
            self.arrangement.gather(rows.clone(), width, h, &mut own);
            let gates = Some(&self.gates[rows.clone()]);
            network.rows(self.isa, &own, gates, gate_up, (output, None));
        });
        T::add_experts(self.arrangement, self.isa, width, &outputs, y);
    }

    /// Writes the gradient of the weights, given the tokens' rows h, the gradient g of their outputs and
    /// the products that the forward pass left. Returns the gradients of the rows of the table and of
    /// the gates, in the order of the rows.
    pub fn backward(
        &self,
        (w, gw): (&[T], &mut [T]),
        (h, g): (&[T], &[T]),
        gate_up: &[T],
    ) -> (Buffer<T>, Vec<T>) {
        let Gated { width, inner } = self.shape;
        let rows = self.arrangement.len();
        let networks = self.networks(w, |w| self.shape.backward(self.isa, w));
        let work = self.work();
        let (mut own_h, mut own_g) = (T::buffer(rows * width), T::buffer(rows * width));
        let (mut s, mut g_gate_up) = (T::buffer(rows * inner), T::buffer(rows * 2 * inner));
        let (mut gh, mut g_gates) = (T::buffer(rows * width), vec![T::ZERO; rows]);
        let own = cut(&mut own_h, &work, width).into_iter().zip(cut(&mut own_g, &work, width));
        let products = cut(&mut g_gate_up, &work, 2 * inner);
        let inners = cut(&mut s, &work, inner).into_iter().zip(products);
        let into = cut(&mut gh, &work, width).into_iter().zip(cut(&mut g_gates, &work, 1));
        let all: Vec<_> = work.iter().zip(own).zip(inners.zip(into)).collect();
        all.into_par_iter().for_each(
            |(((expert, rows), (own_h, own_g)), (inners, (gh, g_gates)))| {
                let Some(network) = &networks[*expert] else { return };
                self.arrangement.gather(rows.clone(), width, h, own_h);
                self.arrangement.gather(rows.clone(), width, g, own_g);
                let gate_up = &gate_up[rows.start * 2 * inner..rows.end * 2 * inner];
                let gates = Some((&self.gates[rows.clone()], g_gates));
                network.rows(self.isa, (own_g, gate_up), gates, inners, (gh, None));
            },
        );
        gw.par_chunks_mut(self.shape.weights()).enumerate().for_each(|(expert, gw)| {
            let rows = self.arrangement.of(expert);
            let (h, g) = (of(&own_h, &rows, width), of(&own_g, &rows, width));
            let (s, g_gate_up) = (of(&s, &rows, inner), of(&g_gate_up, &rows, 2 * inner));
            self.shape.gradient(self.isa, (h, g_gate_up), (s, g), gw);
        });
        (gh, g_gates)
    }
}

/// Some rows of a table of this width.
fn of<'a, T>(table: &'a [T], rows: &Range<usize>, width: usize) -> &'a [T] {
    &table[rows.start * width..rows.end * width]
}

/// A table of this width, in pieces.
fn cut<'a, T>(table: &'a mut [T], work: &[Piece], width: usize) -> Vec<&'a mut [T]> {
    pieces(table, work.iter().map(|(_, rows)| rows.len() * width))
}
