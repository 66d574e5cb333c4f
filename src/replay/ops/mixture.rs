//! The feed-forward network of a block with a mixture of experts.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

use super::experts::Experts;
use super::gated::Gated;
use super::{BackwardPass, Batch, ForwardPass, Operation, ROWS, add, pieces, sized};
use repro_kernels::portable::mixture::Arrangement;
use repro_kernels::portable::router::{Coefficients, Router, Routing};
use repro_kernels::portable::{Buffer, Isa, Kernels, Matrix};

/// `y = (residual + shared x) + sum of gate_e expert_e x`, over the token's experts in rising order. The weights are those
/// of the router, those of each expert, and those of what all tokens share, if there is any. No token is dropped.
#[derive(Debug)]
pub struct Mixture<T> {
    pub widths: MixtureWidths,
    pub router: Router,
    pub losses: Coefficients,
    /// The bias added to scores when experts are chosen, if there is one: state that evens the load without a
    /// loss.
    pub bias: Option<Vec<T>>,
    pub saved: Saved<T>,
}

/// The widths of a mixture.
#[derive(Clone, Copy, Debug)]
pub struct MixtureWidths {
    pub width: usize,
    /// Of each expert.
    pub inner: usize,
    /// Of what all tokens share.
    pub shared: usize,
}

/// The products of the shared network and of all experts, and the routing.
#[derive(Debug)]
pub struct Saved<T> {
    shared: Vec<T>,
    gate_up: Vec<T>,
    routed: Option<Box<(Routing<T>, Arrangement)>>,
}

impl<T> Default for Saved<T> {
    fn default() -> Self {
        Self { shared: Vec::new(), gate_up: Vec::new(), routed: None }
    }
}

/// Weights, or their gradients, by their parts.
struct Weights<S> {
    router: S,
    experts: S,
    shared: S,
}

impl<T: Kernels> Mixture<T> {
    /// The router's decisions in the last forward pass.
    pub fn routing(&self) -> Option<&Routing<T>> {
        self.saved.routed.as_deref().map(|(routing, _)| routing)
    }

    /// Takes its balance loss over several layers at once ([`Routing::balance_jointly`]).
    pub fn balance_jointly(&mut self, counts: &[u64], layers: usize) {
        if let Some(routed) = self.saved.routed.as_mut() {
            routed.0.balance_jointly(counts, layers);
        }
    }

    /// Adds the rate to the bias of experts with fewer choices than the mean, and takes it off where there
    /// were more.
    pub fn even_out(&mut self, counts: &[u64], rate: T) {
        let all = counts.iter().sum::<u64>();
        for (bias, count) in self.bias.iter_mut().flatten().zip(counts) {
            // In whole numbers: the mean is `all` over the experts.
            match (count * counts.len() as u64).cmp(&all) {
                Ordering::Less => *bias += rate,
                Ordering::Equal => {}
                Ordering::Greater => *bias -= rate,
            }
        }
    }

    fn expert(&self) -> Gated {
        Gated { width: self.widths.width, inner: self.widths.inner }
    }

    fn shared(&self) -> Option<Gated> {
        let MixtureWidths { width, shared, .. } = self.widths;
        (shared > 0).then_some(Gated { width, inner: shared })
    }

    /// How many numbers the router and the experts have.
    fn parts(&self) -> [usize; 2] {
        let experts = self.router.experts;
        [experts * self.widths.width, experts * self.expert().weights()]
    }

    fn split<'a>(&self, w: &'a [T]) -> Weights<&'a [T]> {
        let [router, experts] = self.parts();
        let (router, w) = w.split_at(router);
        let (experts, shared) = w.split_at(experts);
        Weights { router, experts, shared }
    }

    fn split_mut<'a>(&self, w: &'a mut [T]) -> Weights<&'a mut [T]> {
        let [router, experts] = self.parts();
        let (router, w) = w.split_at_mut(router);
        let (experts, shared) = w.split_at_mut(experts);
        Weights { router, experts, shared }
    }

    /// Answers the router's logits, and writes to `y` the residual plus the output of the shared network, whose products
    /// go to `shared`.
    fn forward_shared(
        &self,
        isa: Isa,
        pass: &mut ForwardPass<'_, T>,
        shared: &mut [T],
    ) -> Buffer<T> {
        let (d, experts, weights) = (self.widths.width, self.router.experts, self.split(pass.w));
        let (x, residual) = (pass.x, pass.residual);
        let rows = x.len() / d;
        let network = self.shared().map(|shape| shape.forward(isa, weights.shared));
        let router = T::packed(isa, Matrix::new(weights.router, experts, d).transposed());
        let mut logits = T::buffer(rows * experts);
        let shared = pieces(shared, blocks(rows).map(|rows| rows.len() * 2 * self.widths.shared));
        x.par_chunks(ROWS * d)
            .zip(pass.y.par_chunks_mut(ROWS * d).zip(logits.par_chunks_mut(ROWS * experts)))
            .zip(shared)
            .enumerate()
            .for_each(|(at, ((x, (y, logits)), products))| {
                let residual = residual.map(|residual| &residual[at * ROWS * d..][..x.len()]);
                T::packed_rows(&router, isa, logits, Matrix::new(x, x.len() / d, d), None);
                match (&network, residual) {
                    (Some(network), residual) => {
                        network.rows(isa, x, None, products, (y, residual));
                    }
                    (None, Some(residual)) => y.copy_from_slice(residual),
                    (None, None) => y.fill(T::ZERO),
                }
            });
        logits
    }

    /// The experts on the rows that were routed to them.
    fn experts<'a>(
        &self,
        isa: Isa,
        arrangement: &'a Arrangement,
        gates: &'a [T],
    ) -> Experts<'a, T> {
        Experts { isa, shape: self.expert(), arrangement, gates }
    }

    fn route(&self, isa: Isa, logits: &[T]) -> (Routing<T>, Arrangement) {
        let routing = T::choose(self.router, isa, logits, self.bias.as_deref());
        let Router { experts, per_token, .. } = self.router;
        let arrangement = Arrangement::new(experts, per_token, &routing.chosen);
        (routing, arrangement)
    }

    /// Adds the shared network's part to the gradient `gx` of the input; `s` and `g_gate_up` get the inner rows of the
    /// network and the gradient of its products.
    fn backward_shared(
        &self,
        (isa, shape, w): (Isa, Gated, &[T]),
        (g, gx): (&[T], &mut [T]),
        (s, g_gate_up): (&mut [T], &mut [T]),
    ) {
        let Gated { width: d, inner } = shape;
        let network = shape.backward(isa, w);
        let inners = s.par_chunks_mut(ROWS * inner).zip(g_gate_up.par_chunks_mut(ROWS * 2 * inner));
        g.par_chunks(ROWS * d)
            .zip(self.saved.shared.par_chunks(ROWS * 2 * inner))
            .zip(gx.par_chunks_mut(ROWS * d).zip(inners))
            .for_each(|(read, (gx, inners))| {
                let before = buffer_of(gx);
                network.rows(isa, read, None, inners, (gx, Some(&before)));
            });
    }
}

impl<T: Kernels> Operation<T> for Mixture<T> {
    fn forward(&mut self, isa: Isa, _batch: Batch<'_>, mut pass: ForwardPass<'_, T>) {
        let mut saved = std::mem::take(&mut self.saved);
        let MixtureWidths { width, inner, shared } = self.widths;
        let rows = pass.x.len() / width;
        let products = sized(&mut saved.shared, rows * 2 * shared);
        let logits = self.forward_shared(isa, &mut pass, products);
        let (routing, arrangement) = &**saved.routed.insert(self.route(isa, &logits).into());
        let gates = arrangement.to_rows(&routing.gates);
        let gate_up = sized(&mut saved.gate_up, arrangement.len() * 2 * inner);
        let experts = self.split(pass.w).experts;
        self.experts(isa, arrangement, &gates).forward(experts, pass.x, gate_up, pass.y);
        self.saved = saved;
    }

    fn backward(&self, isa: Isa, _batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let Saved { gate_up, routed, .. } = &self.saved;
        let Some((routing, arrangement)) = routed.as_deref() else { return };
        let BackwardPass { x, w, g, before, gx, gw, .. } = pass;
        let (width, experts) = (self.widths.width, self.router.experts);
        let rows = x.len() / width;
        let (weights, into) = (self.split(w), self.split_mut(gw));

        let gates = arrangement.to_rows(&routing.gates);
        let routed = self.experts(isa, arrangement, &gates);
        let (table, g_gates) = routed.backward((weights.experts, into.experts), (x, g), gate_up);
        let mut g_logits = T::buffer(rows * experts);
        T::choose_back(routing, isa, self.losses, &arrangement.to_slots(&g_gates), &mut g_logits);

        let router = Matrix::new(weights.router, experts, width);
        T::product(isa, gx, Matrix::new(&g_logits, rows, experts), router, None);
        let left = Matrix::new(&g_logits, rows, experts).transposed();
        T::product(isa, into.router, left, Matrix::new(x, rows, width), None);
        T::add_experts(arrangement, isa, width, &table, gx);
        if let Some(shape) = self.shared() {
            let (mut s, mut products) =
                (T::buffer(rows * shape.inner), T::buffer(rows * 2 * shape.inner));
            let own = (isa, shape, weights.shared);
            self.backward_shared(own, (g, gx), (&mut s, &mut products));
            shape.gradient(isa, (x, &products), (&s, g), into.shared);
        }
        add(gx, before);
    }
}

/// Rows in the blocks that threads take.
fn blocks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(ROWS).map(move |from| from..rows.min(from + ROWS))
}

/// The same numbers.
fn buffer_of<T: Kernels>(numbers: &[T]) -> Buffer<T> {
    let mut copy = T::buffer(numbers.len());
    copy.copy_from_slice(numbers);
    copy
}
