//! The formulas on the CPU.

use super::Bits;
use super::formulas::{Formulas, NormCase, ProductCase, RouterAnswer, RouterCase};
use super::training::Rehearsal;
use crate::backend::Host;
use repro_core::source::Error;
use repro_kernels::portable::adamw::{self, Update};
use repro_kernels::portable::mixture::Arrangement;
use repro_kernels::portable::{
    AttentionShape, Isa, Matrix, Real, TokenPlaces, cross_entropy, norm, product, swiglu,
};

impl Formulas for Isa {
    fn function(&self, x: &[f32], is_logarithm: bool) -> Vec<f32> {
        // The set of instructions has no say in single numbers.
        let of = |x: &f32| if is_logarithm { x.logarithm() } else { x.exponential() };
        x.iter().map(of).collect()
    }

    fn product(&self, case: ProductCase<'_>) -> Vec<f32> {
        let ProductCase { shape: [m, n, k], a, b, turned, add } = case;
        let of = |numbers, rows, columns| match turned {
            false => Matrix::new(numbers, rows, columns),
            true => Matrix::new(numbers, columns, rows).transposed(),
        };
        let mut c = vec![0.0; m * n];
        product(*self, &mut c, of(a, m, k), of(b, k, n), add);
        c
    }

    fn norm(&self, rows: NormCase<'_>) -> [Vec<f32>; 3] {
        let NormCase { x, weight, epsilon, g, residual } = rows;
        let (mut y, mut gx, mut gw) =
            (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; weight.len()]);
        let mut parts = vec![0.0; (x.len() / weight.len()).div_ceil(norm::ROWS) * weight.len()];
        norm::forward(*self, x, weight, epsilon, &mut y);
        norm::backward(*self, x, weight, epsilon, g, residual, &mut gx, &mut parts);
        norm::combine(&parts, &mut gw);
        [y, gx, gw]
    }

    fn attention(
        &self,
        shape: &AttentionShape<f32>,
        length: usize,
        rows: &[f32],
        gradient: &[f32],
    ) -> [Vec<f32>; 3] {
        let (mut rows, places) = (rows.to_vec(), TokenPlaces::default());
        let (mut output, mut into) = (vec![0.0; gradient.len()], vec![0.0; rows.len()]);
        shape.forward(*self, length, places, &mut rows, &mut output);
        shape.backward(*self, length, places, &rows, gradient, &mut into);
        [rows, output, into]
    }

    fn swiglu(
        &self,
        inner: usize,
        a_b: &[f32],
        gates: Option<&[f32]>,
        gs: &[f32],
    ) -> [Vec<f32>; 4] {
        let (mut s, mut g) = (vec![0.0; gs.len()], vec![0.0; a_b.len()]);
        swiglu::forward(*self, inner, a_b, gates, &mut s);
        let (mut again, mut g_gates) =
            (vec![0.0; gs.len()], vec![0.0; gates.map_or(0, <[f32]>::len)]);
        let of_gates = gates.map(|gates| (gates, &mut g_gates[..]));
        swiglu::backward(*self, inner, a_b, of_gates, gs, &mut again, &mut g);
        [s, again, g, g_gates]
    }

    fn route(&self, case: RouterCase<'_>) -> RouterAnswer {
        let RouterCase { router, logits, bias, losses, g_gates } = case;
        let routing = router.choose(*self, logits, bias);
        let mut g_logits = vec![0.0; logits.len()];
        routing.backward(*self, losses, g_gates, &mut g_logits);
        let losses = [routing.balance(), routing.z()];
        RouterAnswer { gates: routing.gates, g_logits, chosen: routing.chosen, losses }
    }

    fn add_experts(
        &self,
        [experts, per_token]: [usize; 2],
        chosen: &[u32],
        width: usize,
        [table, to]: [&[f32]; 2],
    ) -> Vec<f32> {
        let mut to = to.to_vec();
        Arrangement::new(experts, per_token, chosen).add(*self, width, table, &mut to);
        to
    }

    fn cross_entropy(&self, logits: &[f32], targets: &[u32]) -> [Vec<f32>; 4] {
        let rows = targets.len();
        let (mut first, mut greedy) = (vec![0.0; rows], vec![false; rows]);
        cross_entropy::score(*self, logits, targets, &mut first, &mut greedy);
        let (mut logits, mut nats) = (logits.to_vec(), vec![0.0; rows]);
        cross_entropy::forward(*self, rows, &mut logits, targets, &mut nats);
        let greedy = greedy.into_iter().map(|greedy| f32::from(u8::from(greedy)));
        [first, greedy.collect(), nats, logits]
    }

    fn squares(&self, values: &[f32]) -> f64 {
        adamw::squares(*self, values)
    }

    fn adamw(&self, [w, m, v]: &mut [Vec<f32>; 3], gradient: &[f32], update: Update<f32>) {
        adamw::step(*self, w, gradient, m, v, update);
    }

    fn train(&self, model: &str, bits: &mut Bits) -> Result<(), Error> {
        Rehearsal::new(Host::new(*self), model)?.perform(bits)
    }
}
