//! Operations of a model, forward and backward, on more rows than one sum takes and widths that no
//! vector divides.

use repro_portable::adamw::{self, Update};
use repro_portable::mixture::Arrangement;
use repro_portable::router::{Coefficients, Gate, Router};
use repro_portable::{AttentionShape, Isa, Real, TokenPlaces, cross_entropy, norm, swiglu};

use super::{Bits, Case, numbers};

pub const CASES: &[Case] = &[
    Case { name: "exponential", run: exponentials },
    Case { name: "norm", run: norms },
    Case { name: "attention", run: attentions },
    Case { name: "swiglu", run: swiglus },
    Case { name: "router-softmax", run: |isa, bits| routers(isa, bits, Gate::Softmax) },
    Case { name: "router-sigmoid", run: |isa, bits| routers(isa, bits, Gate::Sigmoid) },
    Case { name: "mixture", run: mixtures },
    Case { name: "cross-entropy", run: cross_entropies },
    Case { name: "adamw", run: updates },
];

const ROWS: usize = 70;
const EPSILON: f32 = 1e-5;

/// The functions of single numbers, over their whole range. The set of instructions has no say in them.
fn exponentials(_: Isa, bits: &mut Bits) {
    let xs = (0..4000).map(|i| (i as f32 - 2000.0) * 0.046_875);
    bits.add(&xs.map(Real::exponential).collect::<Vec<f32>>());
    let xs = (0..2000).map(|i| f32::from_bits(1 + i * 1_060_000));
    bits.add(&xs.map(Real::logarithm).collect::<Vec<f32>>());
    bits.add(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-45].map(Real::exponential));
}

fn norms(isa: Isa, bits: &mut Bits) {
    for d in [16, 37] {
        let (x, weight) = (numbers("norm x", ROWS * d), numbers("norm weight", d));
        let (g, residual) = (numbers("norm g", ROWS * d), numbers("norm residual", ROWS * d));
        let mut y = vec![0.0; ROWS * d];
        norm::forward(isa, &x, &weight, EPSILON, &mut y);
        let (mut gx, mut parts) = (vec![0.0; ROWS * d], vec![0.0; ROWS.div_ceil(norm::ROWS) * d]);
        norm::backward(isa, &x, &weight, EPSILON, &g, &residual, &mut gx, &mut parts);
        let mut gw = vec![0.0; d];
        norm::combine(&parts, &mut gw);
        [y, gx, gw].iter().for_each(|values| bits.add(values));
    }
}

/// With as many keys as queries and fewer, and with sequences longer than one block of a sum.
fn attentions(isa: Isa, bits: &mut Bits) {
    for (heads, key_value_heads, head_dim, length, sequences) in
        [(3, 3, 10, 37, 2), (4, 2, 16, 270, 1)]
    {
        let attention = AttentionShape::new(heads, key_value_heads, head_dim, length, 10_000.0);
        let mut rows = numbers("attention rows", sequences * length * attention.width());
        let gradient = numbers("attention gradient", sequences * length * attention.output_width());
        let (mut output, mut into) = (vec![0.0; gradient.len()], vec![0.0; rows.len()]);
        attention.forward(isa, length, TokenPlaces::default(), &mut rows, &mut output);
        attention.backward(isa, length, TokenPlaces::default(), &rows, &gradient, &mut into);
        [rows, output, into].iter().for_each(|values| bits.add(values));
    }
}

/// Without and with the gates of a mixture.
fn swiglus(isa: Isa, bits: &mut Bits) {
    let f = 21;
    let mut gate_up = numbers("swiglu", ROWS * 2 * f);
    gate_up.iter_mut().for_each(|x| *x *= 12.0);
    let (gates, gs) = (numbers("swiglu gates", ROWS), numbers("swiglu gradient", ROWS * f));
    let (mut s, mut g) = (vec![0.0; ROWS * f], vec![0.0; ROWS * 2 * f]);
    swiglu::forward(isa, f, &gate_up, None, &mut s);
    bits.add(&s);
    swiglu::backward(isa, f, &gate_up, None, &gs, &mut s, &mut g);
    [&s, &g].iter().for_each(|values| bits.add(values));
    swiglu::forward(isa, f, &gate_up, Some(&gates), &mut s);
    bits.add(&s);
    let mut g_gates = vec![0.0; ROWS];
    swiglu::backward(isa, f, &gate_up, Some((&gates, &mut g_gates)), &gs, &mut s, &mut g);
    [&s, &g, &g_gates].iter().for_each(|values| bits.add(values));
}

/// Normalised gates and plain ones, with and without a bias; equal logits go to the lowest expert.
fn routers(isa: Isa, bits: &mut Bits, gate: Gate) {
    let (experts, per_token) = (5, 2);
    let mut logits = numbers("logits", ROWS * experts);
    logits[..experts].fill(0.5);
    let bias = numbers("bias", experts);
    let g_gates = numbers("gradient of gates", ROWS * per_token);
    for (normalized, bias) in [(true, None), (false, Some(&*bias))] {
        let routing = Router { gate, experts, per_token, normalized }.choose(isa, &logits, bias);
        let mut into = vec![0.0; logits.len()];
        routing.backward(isa, Coefficients { balance: 0.01, z: 0.001 }, &g_gates, &mut into);
        bits.add(&routing.gates);
        bits.add(&into);
        bits.add(&routing.chosen.iter().map(|expert| *expert as f32).collect::<Vec<_>>());
        bits.add_wide(&[routing.balance(), routing.z()]);
    }
}

/// What the experts of a token give is added in the order of the experts.
fn mixtures(isa: Isa, bits: &mut Bits) {
    let (experts, per_token, width) = (5, 3, 19);
    let chosen: Vec<u32> = (0..ROWS as u32).flat_map(|token| [token % 3, 3, 4]).collect();
    let arrangement = Arrangement::new(experts, per_token, &chosen);
    let table = numbers("outputs of experts", arrangement.len() * width);
    let mut to = numbers("residual", ROWS * width);
    arrangement.add(isa, width, &table, &mut to);
    bits.add(&to);
}

fn cross_entropies(isa: Isa, bits: &mut Bits) {
    let columns = 41;
    let mut logits = numbers("logits of tokens", ROWS * columns);
    logits.iter_mut().for_each(|x| *x *= 9.0);
    let targets: Vec<u32> = (0..ROWS as u32).map(|row| row * 7 % 41).collect();
    let (mut nats, mut greedy) = (vec![0.0; ROWS], vec![false; ROWS]);
    cross_entropy::score(isa, &logits, &targets, &mut nats, &mut greedy);
    bits.add(&nats);
    bits.add(&greedy.iter().map(|greedy| f32::from(u8::from(*greedy))).collect::<Vec<_>>());
    cross_entropy::forward(isa, ROWS, &mut logits, &targets, &mut nats);
    bits.add(&nats);
    bits.add(&logits);
}

/// Three updates with growing steps of the bias corrections, and the norm of a long gradient.
fn updates(isa: Isa, bits: &mut Bits) {
    let n = 20_000;
    let (mut w, g) = (numbers("weights", n), numbers("gradient", n));
    let (mut m, mut v) = (vec![0.0; n], vec![0.0; n]);
    bits.add_wide(&[adamw::squares(isa, &g)]);
    for step in 1..4 {
        let (beta1, beta2) = ([0.9, 0.1], [0.95, 0.05]);
        let (c1, c2) = (1.0 / (step as f32 * 0.09), 1.0 / (step as f32 * 0.04));
        let decay = if step == 2 { 1.0 } else { 0.9999 };
        let update = Update { clip: 0.7, rate: 1e-3, decay, beta1, beta2, c1, c2, epsilon: 1e-8 };
        adamw::step(isa, &mut w, &g, &mut m, &mut v, update);
    }
    [w, m, v].iter().for_each(|values| bits.add(values));
}
