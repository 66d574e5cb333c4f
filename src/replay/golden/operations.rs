//! Operations of a model, forward and backward, on more rows than one sum takes and widths that no
//! vector divides.

use super::formulas::{Formulas, NormCase, RouterCase};
use super::{Bits, Case, numbers};
use repro_kernels::portable::AttentionShape;
use repro_kernels::portable::adamw::Update;
use repro_kernels::portable::router::{Coefficients, Gate, Router};

pub const CASES: &[Case] = &[
    Case { name: "exponential", run: exponentials },
    Case { name: "norm", run: norms },
    Case { name: "attention", run: attentions },
    Case { name: "swiglu", run: swiglus },
    Case { name: "router-softmax", run: |formulas, bits| routers(formulas, bits, Gate::Softmax) },
    Case { name: "router-sigmoid", run: |formulas, bits| routers(formulas, bits, Gate::Sigmoid) },
    Case { name: "mixture", run: mixtures },
    Case { name: "cross-entropy", run: cross_entropies },
    Case { name: "adamw", run: updates },
];

const ROWS: usize = 70;
const EPSILON: f32 = 1e-5;

/// The functions of single numbers, over their whole range.
fn exponentials(formulas: &dyn Formulas, bits: &mut Bits) {
    let xs = (0..4000).map(|i| (i as f32 - 2000.0) * 0.046_875);
    bits.add(&formulas.function(&xs.collect::<Vec<_>>(), false));
    let xs = (0..2000).map(|i| f32::from_bits(1 + i * 1_060_000));
    bits.add(&formulas.function(&xs.collect::<Vec<_>>(), true));
    bits.add(&formulas.function(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-45], false));
}

fn norms(formulas: &dyn Formulas, bits: &mut Bits) {
    for d in [16, 37] {
        let (x, weight) = (numbers("norm x", ROWS * d), numbers("norm weight", d));
        let (g, residual) = (numbers("norm g", ROWS * d), numbers("norm residual", ROWS * d));
        let (x, weight, g, residual) = (&x, &weight, &g, &residual);
        let all = formulas.norm(NormCase { x, weight, epsilon: EPSILON, g, residual });
        all.iter().for_each(|values| bits.add(values));
    }
}

/// With as many keys as queries and fewer, and with sequences longer than one block of a sum.
fn attentions(formulas: &dyn Formulas, bits: &mut Bits) {
    for (heads, key_value_heads, head_dim, length, sequences) in
        [(3, 3, 10, 37, 2), (4, 2, 16, 270, 1)]
    {
        let shape = AttentionShape::new(heads, key_value_heads, head_dim, length, 10_000.0);
        let rows = numbers("attention rows", sequences * length * shape.width());
        let gradient = numbers("attention gradient", sequences * length * shape.output_width());
        let all = formulas.attention(&shape, length, &rows, &gradient);
        all.iter().for_each(|values| bits.add(values));
    }
}

/// Without and with the gates of a mixture.
fn swiglus(formulas: &dyn Formulas, bits: &mut Bits) {
    let f = 21;
    let mut gate_up = numbers("swiglu", ROWS * 2 * f);
    gate_up.iter_mut().for_each(|x| *x *= 12.0);
    let (gates, gs) = (numbers("swiglu gates", ROWS), numbers("swiglu gradient", ROWS * f));
    for gates in [None, Some(&gates[..])] {
        let all = formulas.swiglu(f, &gate_up, gates, &gs);
        all.iter().for_each(|values| bits.add(values));
    }
}

/// Normalised gates and plain ones, with and without a bias; equal logits go to the lowest expert.
fn routers(formulas: &dyn Formulas, bits: &mut Bits, gate: Gate) {
    let (experts, per_token) = (5, 2);
    let mut logits = numbers("logits", ROWS * experts);
    logits[..experts].fill(0.5);
    let bias = numbers("bias", experts);
    let g_gates = numbers("gradient of gates", ROWS * per_token);
    for (normalized, bias) in [(true, None), (false, Some(&*bias))] {
        let router = Router { gate, experts, per_token, normalized };
        let losses = Coefficients { balance: 0.01, z: 0.001 };
        let (logits, g_gates) = (&logits, &g_gates);
        let answer = formulas.route(RouterCase { router, logits, bias, losses, g_gates });
        bits.add(&answer.gates);
        bits.add(&answer.g_logits);
        bits.add(&answer.chosen.iter().map(|expert| *expert as f32).collect::<Vec<_>>());
        bits.add_wide(&answer.losses);
    }
}

/// The outputs of a token's experts are added in the order of the experts.
fn mixtures(formulas: &dyn Formulas, bits: &mut Bits) {
    let (experts, per_token, width) = (5, 3, 19);
    let chosen: Vec<u32> = (0..ROWS as u32).flat_map(|token| [token % 3, 3, 4]).collect();
    let table = numbers("outputs of experts", chosen.len() * width);
    let to = numbers("residual", ROWS * width);
    bits.add(&formulas.add_experts([experts, per_token], &chosen, width, [&table, &to]));
}

fn cross_entropies(formulas: &dyn Formulas, bits: &mut Bits) {
    let columns = 41;
    let mut logits = numbers("logits of tokens", ROWS * columns);
    logits.iter_mut().for_each(|x| *x *= 9.0);
    let targets: Vec<u32> = (0..ROWS as u32).map(|row| row * 7 % 41).collect();
    let all = formulas.cross_entropy(&logits, &targets);
    all.iter().for_each(|values| bits.add(values));
}

/// Three updates with growing steps of the bias corrections, and the norm of a long gradient.
fn updates(formulas: &dyn Formulas, bits: &mut Bits) {
    let n = 20_000;
    let g = numbers("gradient", n);
    let mut state = [numbers("weights", n), vec![0.0; n], vec![0.0; n]];
    bits.add_wide(&[formulas.squares(&g)]);
    for step in 1..4 {
        let (beta1, beta2) = ([0.9, 0.1], [0.95, 0.05]);
        let (c1, c2) = (1.0 / (step as f32 * 0.09), 1.0 / (step as f32 * 0.04));
        let decay = if step == 2 { 1.0 } else { 0.9999 };
        let update = Update { clip: 0.7, rate: 1e-3, decay, beta1, beta2, c1, c2, epsilon: 1e-8 };
        formulas.adamw(&mut state, &g, update);
    }
    state.iter().for_each(|values| bits.add(values));
}
