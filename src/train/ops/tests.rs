//! Sublayers against candle's own operations, those that have gradients.

use candle_core::{D, DType, Tensor, Var};
use candle_nn::ops::{rms_norm_slow, silu, softmax};

use super::*;
use repro_portable::Isa;
use repro_portable::attention::AttentionShape;
use repro_portable::router::{Coefficients, Gate, Router};
use repro_stats::rng::Rng;

const EPSILON: f32 = 1e-5;
/// Rows: more than a chunk, and a rest.
const TOKENS: usize = 150;
const LENGTH: usize = 50;
const WIDTH: usize = 24;

fn numbers_of(length: usize, name: &str, scale: f64) -> Vec<f32> {
    let mut rng = Rng::new(11, name);
    (0..length).map(|_| ((rng.unit() - 0.5) * scale) as f32).collect()
}

/// Rows, weights, and the gradient of the output.
struct Case {
    x: Vec<f32>,
    w: Vec<f32>,
    g: Vec<f32>,
}

impl Case {
    fn new(weights: usize) -> Self {
        let mut w = numbers_of(weights, "w", 0.8);
        w[..WIDTH].iter_mut().for_each(|w| *w += 1.0);
        let (x, g) = (numbers_of(TOKENS * WIDTH, "x", 3.0), numbers_of(TOKENS * WIDTH, "g", 2.0));
        Self { x, w, g }
    }

    /// Output and gradients of ours, beside those of a function on candle's tape.
    fn compare(&self, mut ours: impl Sublayer<f32>, theirs: impl Fn(&Tensor, &Tensor) -> Tensor) {
        let Self { x, w, g } = self;
        let (mut y, mut gx, mut gw) = (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; w.len()]);
        ours.forward(LENGTH, x, w, &mut y);
        ours.backward(LENGTH, Backward { x, w, g, gx: &mut gx, gw: &mut gw });

        let device = &candle_core::Device::Cpu;
        let on_tape =
            |numbers: &[f32], shape: &[usize]| Var::from_slice(numbers, shape, device).unwrap();
        let (x, w) = (on_tape(x, &[TOKENS, WIDTH]), on_tape(w, &[w.len()]));
        let output = theirs(&x, &w);
        let g = Tensor::from_slice(g, (TOKENS, WIDTH), device).unwrap();
        let store = (&output * g).unwrap().sum_all().unwrap().backward().unwrap();
        let flat = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (name, ours, theirs) in [
            ("output", y, flat(&output)),
            ("gradient of the rows", gx, flat(store.get(&x).unwrap())),
            ("gradient of the weights", gw, flat(store.get(&w).unwrap())),
        ] {
            let largest = theirs.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
            for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                let close = (ours - theirs).abs() <= 2e-6 * largest + 1e-5 * theirs.abs();
                assert!(close, "{name} {at}: {ours} {theirs}");
            }
        }
    }
}

/// The matrices that lie in flat weights, one after the other.
struct Matrices<'a>(&'a Tensor, usize);

impl Matrices<'_> {
    fn next(&mut self, rows: usize, columns: usize) -> Tensor {
        let from = self.1;
        self.1 += rows * columns;
        self.0.narrow(0, from, rows * columns).unwrap().reshape((rows, columns)).unwrap()
    }
}

fn linear(x: &Tensor, matrix: &Tensor) -> Tensor {
    x.matmul(&matrix.t().unwrap()).unwrap()
}

fn normed(x: &Tensor, w: &Tensor) -> Tensor {
    rms_norm_slow(x, &w.narrow(0, 0, WIDTH).unwrap(), EPSILON).unwrap()
}

fn network(h: &Tensor, matrices: &mut Matrices<'_>, inner: usize) -> [Tensor; 2] {
    let [gate, up] = [(); 2].map(|()| matrices.next(inner, WIDTH));
    let s = (silu(&linear(h, &gate)).unwrap() * linear(h, &up)).unwrap();
    [s, matrices.next(WIDTH, inner)]
}

#[test]
fn a_dense_network_is_candles() {
    let inner = 20;
    let ours = FeedForward {
        isa: Isa::best(),
        width: WIDTH,
        inner,
        epsilon: f64::from(EPSILON),
        saved: Default::default(),
    };
    Case::new(WIDTH + 3 * WIDTH * inner).compare(ours, |x, w| {
        let [s, down] = network(&normed(x, w), &mut Matrices(w, WIDTH), inner);
        (x + linear(&s, &down)).unwrap()
    });
}

#[test]
fn attention_is_candles() {
    let (heads, groups, size, theta) = (6, 2, 8, 100.0);
    let (isa, epsilon) = (Isa::best(), f64::from(EPSILON));
    let ours = Attention {
        isa,
        width: WIDTH,
        epsilon,
        heads: AttentionShape::new(heads, groups, size, LENGTH, theta),
        prepared: Prepared::new(Vectors::default(), [heads, groups], size),
        saved: Default::default(),
    };
    let device = &candle_core::Device::Cpu;
    let angle = |at: usize| {
        let power = -2.0 * (at % (size / 2)) as f64 / size as f64;
        (at / (size / 2)) as f64 * libm::pow(theta, power)
    };
    let table = |of: fn(f64) -> f64| {
        let all: Vec<_> = (0..LENGTH * size / 2).map(|at| of(angle(at)) as f32).collect();
        Tensor::from_vec(all, (LENGTH, size / 2), device).unwrap()
    };
    let (cosines, sines) = (table(libm::cos), table(libm::sin));
    let hidden = |at: usize| if at % LENGTH > at / LENGTH { f32::NEG_INFINITY } else { 0.0 };
    let mask: Vec<_> = (0..LENGTH * LENGTH).map(hidden).collect();
    let mask = Tensor::from_vec(mask, (1, 1, LENGTH, LENGTH), device).unwrap();
    let weights = WIDTH + (heads + 2 * groups) * size * WIDTH + WIDTH * heads * size;
    Case::new(weights).compare(ours, |x, w| {
        let h = normed(x, w);
        let mut matrices = Matrices(w, WIDTH);
        let batch = TOKENS / LENGTH;
        let mut vectors = |heads: usize| {
            let all = linear(&h, &matrices.next(heads * size, WIDTH));
            let all = all.reshape((batch, LENGTH, heads, size)).unwrap();
            all.transpose(1, 2).unwrap().contiguous().unwrap()
        };
        let rotate = |x: &Tensor| candle_nn::rotary_emb::rope_slow(x, &cosines, &sines).unwrap();
        let (q, k, v) = (rotate(&vectors(heads)), rotate(&vectors(groups)), vectors(groups));
        let spread = |x: &Tensor| {
            let shape = (batch, groups, heads / groups, LENGTH, size);
            let all = x.unsqueeze(2).unwrap().broadcast_as(shape).unwrap();
            all.contiguous().unwrap().reshape((batch, heads, LENGTH, size)).unwrap()
        };
        let (k, v) = (spread(&k), spread(&v));
        let scores = (q.matmul(&k.t().unwrap()).unwrap() / (size as f64).sqrt()).unwrap();
        let shares = softmax(&scores.broadcast_add(&mask).unwrap(), D::Minus1).unwrap();
        let attended = shares.matmul(&v).unwrap().transpose(1, 2).unwrap().contiguous().unwrap();
        let attended = attended.reshape((TOKENS, heads * size)).unwrap();
        (x + linear(&attended, &matrices.next(WIDTH, heads * size))).unwrap()
    });
}

/// A mixture as one that runs every expert on every token.
fn mixture(gate: Gate, normalized: bool, shared: usize) {
    let (experts, per_token, inner) = (5, 2, 12);
    let ours = Mixture {
        isa: Isa::best(),
        epsilon: f64::from(EPSILON),
        widths: MixtureWidths { width: WIDTH, inner, shared },
        router: Router { gate, experts, per_token, normalized },
        losses: Coefficients::default(),
        bias: None,
        saved: Default::default(),
    };
    let weights = WIDTH + experts * WIDTH + 3 * WIDTH * (experts * inner + shared);
    Case::new(weights).compare(ours, |x, w| {
        let h = normed(x, w);
        let mut matrices = Matrices(w, WIDTH);
        let logits = linear(&h, &matrices.next(experts, WIDTH));
        let scores = match gate {
            Gate::Softmax => softmax(&logits, D::Minus1).unwrap(),
            Gate::Sigmoid => candle_nn::ops::sigmoid(&logits).unwrap(),
        };
        let numbers = scores.to_vec2::<f32>().unwrap();
        let largest = |row: &Vec<f32>| {
            let mut order: Vec<_> = (0..experts).collect();
            order.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
            (0..experts).map(|e| f32::from(u8::from(order[..per_token].contains(&e)))).collect()
        };
        let mask: Vec<f32> = numbers.iter().flat_map(|row| -> Vec<f32> { largest(row) }).collect();
        let mask = Tensor::from_vec(mask, (TOKENS, experts), x.device()).unwrap();
        let mut gates = (scores * mask).unwrap();
        if normalized {
            gates = gates.broadcast_div(&gates.sum_keepdim(1).unwrap()).unwrap();
        }
        let mut y = x.clone();
        for expert in 0..experts {
            let [s, down] = network(&h, &mut matrices, inner);
            let gate = gates.narrow(1, expert, 1).unwrap();
            y = (y + linear(&s, &down).broadcast_mul(&gate).unwrap()).unwrap();
        }
        if shared > 0 {
            let [s, down] = network(&h, &mut matrices, shared);
            y = (y + linear(&s, &down)).unwrap();
        }
        y
    });
}

#[test]
fn mixtures_are_candles() {
    mixture(Gate::Softmax, true, 0);
    mixture(Gate::Softmax, false, 16);
    mixture(Gate::Sigmoid, true, 16);
    mixture(Gate::Sigmoid, false, 0);
}

#[test]
fn scores_are_candles() {
    let (columns, isa) = (37, Isa::best());
    let head =
        Head::<f32> { isa, width: WIDTH, epsilon: f64::from(EPSILON), saved: Default::default() };
    let (x, norm) = (numbers_of(TOKENS * WIDTH, "x", 3.0), numbers_of(WIDTH, "w", 2.0));
    let matrix = numbers_of(columns * WIDTH, "m", 2.0);
    let mut rng = Rng::new(1, "targets");
    let targets: Vec<_> = (0..TOKENS).map(|_| rng.below(columns as u64) as u32).collect();
    let nats = head.score(&targets, [&x, &norm, &matrix]).nats;
    let device = &candle_core::Device::Cpu;
    let tensor = |numbers: &[f32], shape: (usize, usize)| {
        Tensor::from_slice(numbers, shape, device).unwrap()
    };
    let norm = Tensor::from_slice(&norm, WIDTH, device).unwrap();
    let h = rms_norm_slow(&tensor(&x, (TOKENS, WIDTH)), &norm, EPSILON).unwrap();
    let logits = linear(&h, &tensor(&matrix, (columns, WIDTH)));
    let targets = Tensor::new(targets, device).unwrap();
    let theirs = candle_nn::loss::cross_entropy(&logits, &targets).unwrap();
    let theirs = theirs.to_dtype(DType::F64).unwrap().to_scalar::<f64>().unwrap();
    let ours = nats.iter().map(|nats| f64::from(*nats)).sum::<f64>() / TOKENS as f64;
    assert!((ours - theirs).abs() < 1e-6, "{ours} {theirs}");
}
