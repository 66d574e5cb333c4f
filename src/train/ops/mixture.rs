//! The feed-forward sublayer of a block with a mixture of experts.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

use super::experts::Experts;
use super::gated::Gated;
use super::{Backward, ROWS, Sublayer, pieces, sized};
use repro_portable::mixture::Arrangement;
use repro_portable::router::{Coefficients, Router, Routing};
use repro_portable::{Buffer, Isa, Kernels, Matrix, norm};

/// `y = (x + shared h) + sum of gate_e expert_e h` with `h = norm(x)`, over the token's experts in rising
/// order. The weights are those of the norm, the matrix of the router, those of each expert, and those of
/// what all tokens share, if there is any. No token is dropped.
#[derive(Debug)]
pub struct Mixture<T> {
    pub isa: Isa,
    pub epsilon: f64,
    pub widths: MixtureWidths,
    pub router: Router,
    pub losses: Coefficients,
    /// What is added to scores when experts are chosen, if anything is: state that evens the load without a
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

/// The normalised rows, the products of the shared network and of all experts, and the routing.
#[derive(Debug)]
pub struct Saved<T> {
    h: Vec<T>,
    shared: Vec<T>,
    gate_up: Vec<T>,
    routed: Option<Box<(Routing<T>, Arrangement)>>,
}

impl<T> Default for Saved<T> {
    fn default() -> Self {
        Self { h: Vec::new(), shared: Vec::new(), gate_up: Vec::new(), routed: None }
    }
}

/// Weights, or their gradients, by their parts.
struct Weights<S> {
    norm: S,
    router: S,
    experts: S,
    shared: S,
}

impl<T: Kernels> Mixture<T> {
    /// What the router did in the last forward pass.
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

    /// How many numbers the norm, the router and the experts have.
    fn parts(&self) -> [usize; 3] {
        let (d, experts) = (self.widths.width, self.router.experts);
        [d, experts * d, experts * self.expert().weights()]
    }

    fn split<'a>(&self, w: &'a [T]) -> Weights<&'a [T]> {
        let [norm, router, experts] = self.parts();
        let (norm, w) = w.split_at(norm);
        let (router, w) = w.split_at(router);
        let (experts, shared) = w.split_at(experts);
        Weights { norm, router, experts, shared }
    }

    fn split_mut<'a>(&self, w: &'a mut [T]) -> Weights<&'a mut [T]> {
        let [norm, router, experts] = self.parts();
        let (norm, w) = w.split_at_mut(norm);
        let (router, w) = w.split_at_mut(router);
        let (experts, shared) = w.split_at_mut(experts);
        Weights { norm, router, experts, shared }
    }

    /// Writes h and the router's logits, and to `y` the input plus the output of the shared network.
    fn forward_shared(
        &self,
        weights: &Weights<&[T]>,
        (x, y): (&[T], &mut [T]),
        (h, shared): (&mut [T], &mut [T]),
    ) -> Buffer<T> {
        let (isa, d, experts) = (self.isa, self.widths.width, self.router.experts);
        let (rows, epsilon) = (x.len() / d, T::from_f64(self.epsilon));
        let network = self.shared().map(|shape| shape.forward(isa, weights.shared));
        let router = T::packed(isa, Matrix::new(weights.router, experts, d).transposed());
        let mut logits = T::buffer(rows * experts);
        let shared = pieces(shared, blocks(rows).map(|rows| rows.len() * 2 * self.widths.shared));
        x.par_chunks(ROWS * d)
            .zip(y.par_chunks_mut(ROWS * d))
            .zip(h.par_chunks_mut(ROWS * d).zip(logits.par_chunks_mut(ROWS * experts)))
            .zip(shared)
            .for_each(|(((x, y), (h, logits)), products)| {
                T::norm(isa, x, weights.norm, epsilon, h);
                T::packed_rows(&router, isa, logits, Matrix::new(h, x.len() / d, d), None);
                match &network {
                    Some(network) => network.rows(isa, h, None, products, (y, Some(x))),
                    None => y.copy_from_slice(x),
                }
            });
        logits
    }

    /// The experts on the rows that were routed to them.
    fn experts<'a>(&self, arrangement: &'a Arrangement, gates: &'a [T]) -> Experts<'a, T> {
        Experts { isa: self.isa, shape: self.expert(), arrangement, gates }
    }

    fn route(&self, logits: &[T]) -> (Routing<T>, Arrangement) {
        let routing = T::choose(self.router, self.isa, logits, self.bias.as_deref());
        let Router { experts, per_token, .. } = self.router;
        let arrangement = Arrangement::new(experts, per_token, &routing.chosen);
        (routing, arrangement)
    }

    /// Adds to `gh`, which holds the router's part, the experts' part, and writes the gradient of the
    /// input and the parts of that of the norm; `shared` gets the inner rows of the shared network and
    /// the gradient of its products.
    fn backward_shared(
        &self,
        weights: &Weights<&[T]>,
        (x, g): (&[T], &[T]),
        (gh, gx, parts): (&mut [T], &mut [T], &mut [T]),
        saved: &[T],
        (s, g_gate_up): (&mut [T], &mut [T]),
    ) {
        let (isa, MixtureWidths { width: d, shared, .. }) = (self.isa, self.widths);
        let (rows, epsilon) = (x.len() / d, T::from_f64(self.epsilon));
        let network = self.shared().map(|shape| shape.backward(isa, weights.shared));
        let table = |all, each| pieces(all, blocks(rows).map(|rows| rows.len() * each));
        let inners = table(s, shared).into_iter().zip(table(g_gate_up, 2 * shared));
        let all: Vec<_> = blocks(rows).zip(inners).collect();
        all.into_par_iter()
            .zip(gh.par_chunks_mut(ROWS * d).zip(gx.par_chunks_mut(ROWS * d)))
            .zip(parts.par_chunks_mut(ROWS / norm::ROWS * d))
            .for_each(|(((rows, inners), (gh, gx)), part)| {
                let (x, g) = (&x[rows.start * d..rows.end * d], &g[rows.start * d..rows.end * d]);
                if let Some(network) = &network {
                    let gate_up = &saved[rows.start * 2 * shared..rows.end * 2 * shared];
                    let before = buffer_of(gh);
                    network.rows(isa, (g, gate_up), None, inners, (gh, Some(&before)));
                }
                T::norm_back(isa, x, weights.norm, epsilon, gh, g, gx, part);
            });
    }
}

impl<T: Kernels> Sublayer<T> for Mixture<T> {
    fn forward(&mut self, _length: usize, x: &[T], w: &[T], y: &mut [T]) {
        let mut saved = std::mem::take(&mut self.saved);
        let MixtureWidths { width, inner, shared } = self.widths;
        let rows = x.len() / width;
        let weights = self.split(w);
        let h = sized(&mut saved.h, rows * width);
        let products = sized(&mut saved.shared, rows * 2 * shared);
        let logits = self.forward_shared(&weights, (x, y), (h, products));
        let (routing, arrangement) = &**saved.routed.insert(self.route(&logits).into());
        let gates = arrangement.to_rows(&routing.gates);
        let gate_up = sized(&mut saved.gate_up, arrangement.len() * 2 * inner);
        self.experts(arrangement, &gates).forward(weights.experts, h, gate_up, y);
        self.saved = saved;
    }

    fn backward(&self, _length: usize, pass: Backward<'_, T>) {
        let Saved { h, shared: products, gate_up, routed } = &self.saved;
        let Some((routing, arrangement)) = routed.as_deref() else { return };
        let (isa, MixtureWidths { width, shared, .. }) = (self.isa, self.widths);
        let Backward { x, w, g, gx, gw } = pass;
        let (rows, experts) = (x.len() / width, self.router.experts);
        let (weights, into) = (self.split(w), self.split_mut(gw));

        let gates = arrangement.to_rows(&routing.gates);
        let routed = self.experts(arrangement, &gates);
        let (table, g_gates) = routed.backward((weights.experts, into.experts), (h, g), gate_up);
        let mut g_logits = T::buffer(rows * experts);
        T::choose_back(routing, isa, self.losses, &arrangement.to_slots(&g_gates), &mut g_logits);

        let mut gh = T::buffer(rows * width);
        let router = Matrix::new(weights.router, experts, width);
        T::product(isa, &mut gh, Matrix::new(&g_logits, rows, experts), router, None);
        let left = Matrix::new(&g_logits, rows, experts).transposed();
        T::product(isa, into.router, left, Matrix::new(h, rows, width), None);
        T::add_experts(arrangement, isa, width, &table, &mut gh);

        let mut parts = T::buffer(rows.div_ceil(norm::ROWS) * width);
        let (mut s, mut g_gate_up) = (T::buffer(rows * shared), T::buffer(rows * 2 * shared));
        let inners = (&mut s[..], &mut g_gate_up[..]);
        let before = (&mut gh[..], gx, &mut parts[..]);
        self.backward_shared(&weights, (x, g), before, products, inners);
        T::norm_combine(&parts, into.norm);
        if let Some(shape) = self.shared() {
            shape.gradient(isa, (h, &g_gate_up), (&s, g), into.shared);
        }
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
