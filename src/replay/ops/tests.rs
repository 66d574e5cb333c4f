//! Operations against candle's own, those that have gradients.

use candle_core::{D, DType, Tensor, Var};
use candle_nn::ops::{layer_norm_slow, rms_norm_slow, silu, softmax};

use super::*;
use crate::recipe::LossTerms;
use repro_kernels::portable::Isa;
use repro_kernels::portable::attention::AttentionShape;
use repro_kernels::portable::router::{Coefficients, Gate, Router};
use repro_stats::rng::Rng;

const EPSILON: f32 = 1e-5;
/// Rows: more than a chunk, and a rest.
const TOKENS: usize = 150;
const LENGTH: usize = 50;
const BATCH: Batch<'_> =
    Batch { tokens: &[], length: LENGTH, places: TokenPlaces { documents: &[], positions: &[] } };
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
    /// Numbers of a row of the input.
    width: usize,
}

impl Case {
    fn new(weights: usize) -> Self {
        Self::of(WIDTH, WIDTH, weights)
    }

    /// Rows of these widths.
    fn of(width: usize, output: usize, weights: usize) -> Self {
        let w = numbers_of(weights, "w", 0.8);
        let (x, g) = (numbers_of(TOKENS * width, "x", 3.0), numbers_of(TOKENS * output, "g", 2.0));
        Self { x, w, g, width }
    }

    /// Output and gradients of ours, beside those of a function on candle's tape. What is added to the output and to the
    /// gradient of the rows is added there too.
    fn compare(&self, mut ours: impl Operation<f32>, theirs: impl Fn(&Tensor, &Tensor) -> Tensor) {
        let Self { x, w, g, width } = self;
        let (isa, residual) = (Isa::best(), numbers_of(g.len(), "residual", 1.0));
        let before = numbers_of(x.len(), "before", 1.0);
        let (mut y, mut gx, mut gw) = (vec![0.0; g.len()], vec![0.0; x.len()], vec![0.0; w.len()]);
        let pass = ForwardPass { x, w, residual: Some(&residual), y: &mut y };
        ours.forward(isa, BATCH, pass);
        let pass =
            BackwardPass { x, w, g, before: Some(&before), gx: &mut gx, gw: &mut gw, sums: None };
        ours.backward(isa, BATCH, pass);

        let device = &candle_core::Device::Cpu;
        let on_tape =
            |numbers: &[f32], shape: &[usize]| Var::from_slice(numbers, shape, device).unwrap();
        let output_width = g.len() / TOKENS;
        // A tape has no empty tensors.
        let of_tape = if w.is_empty() { vec![1.0] } else { w.clone() };
        let (x, w) = (on_tape(x, &[TOKENS, *width]), on_tape(&of_tape, &[of_tape.len()]));
        let output = theirs(&x, &w);
        let g = Tensor::from_slice(g, (TOKENS, output_width), device).unwrap();
        let store = (&output * g).unwrap().sum_all().unwrap().backward().unwrap();
        let flat = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let plus = |a: Vec<f32>, b: &[f32]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>();
        let of_weights = store.get(&w).map(flat).unwrap_or_default();
        for (name, ours, theirs) in [
            ("output", y, plus(flat(&output), &residual)),
            ("gradient of the rows", gx, plus(flat(store.get(&x).unwrap()), &before)),
            ("gradient of the weights", gw, of_weights),
        ] {
            assert_eq!(ours.len(), theirs.len(), "{name}");
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

fn network(h: &Tensor, matrices: &mut Matrices<'_>, inner: usize) -> [Tensor; 2] {
    let [gate, up] = [(); 2].map(|()| matrices.next(inner, WIDTH));
    let s = (silu(&linear(h, &gate)).unwrap() * linear(h, &up)).unwrap();
    [s, matrices.next(WIDTH, inner)]
}

#[test]
fn a_dense_network_is_candles() {
    let inner = 20;
    let ours = FeedForward { shape: Gated { width: WIDTH, inner }, gate_up: Vec::new() };
    Case::new(3 * WIDTH * inner).compare(ours, |x, w| {
        let [s, down] = network(x, &mut Matrices(w, 0), inner);
        linear(&s, &down)
    });
}

#[test]
fn matrices_are_candles() {
    for (biased, turned) in [(false, false), (true, false), (true, true)] {
        let (input, output) = (WIDTH, 17);
        let ours = Linear { input, output, biased, turned };
        let weights = input * output + if biased { output } else { 0 };
        Case::of(input, output, weights).compare(ours, |x, w| {
            let mut matrices = Matrices(w, 0);
            let matrix = match turned {
                false => matrices.next(output, input),
                true => matrices.next(input, output).t().unwrap(),
            };
            let y = linear(x, &matrix);
            if biased { y.broadcast_add(&matrices.next(1, output)).unwrap() } else { y }
        });
    }
}

#[test]
fn norms_are_candles() {
    let norm = |kind| Norm { kind, width: WIDTH, epsilon: f64::from(EPSILON), centred: Vec::new() };
    let part = |w: &Tensor, from| w.narrow(0, from, WIDTH).unwrap();
    Case::new(WIDTH).compare(norm(NormKind::Rms), |x, w| rms_norm_slow(x, w, EPSILON).unwrap());
    Case::new(WIDTH).compare(norm(NormKind::RmsFromOne), |x, w| {
        rms_norm_slow(x, &(w + 1.0).unwrap(), EPSILON).unwrap()
    });
    Case::new(0).compare(norm(NormKind::RmsAlone), |x, w| {
        let ones = w.ones_like().unwrap().broadcast_as(WIDTH).unwrap();
        rms_norm_slow(x, &ones.contiguous().unwrap(), EPSILON).unwrap()
    });
    Case::new(WIDTH).compare(norm(NormKind::Layer), |x, w| {
        layer_norm_slow(x, w, &w.zeros_like().unwrap(), EPSILON).unwrap()
    });
    Case::new(2 * WIDTH).compare(norm(NormKind::LayerBiased), |x, w| {
        layer_norm_slow(x, &part(w, 0), &part(w, WIDTH), EPSILON).unwrap()
    });
}

#[test]
fn norms_of_queries_and_keys_are_candles() {
    let (queries, keys, size) = (4, 2, 6);
    let width = (queries + 2 * keys) * size;
    for (normed, weights) in [
        (Normed::Heads, [size; 2]),
        (Normed::Rows, [queries * size, keys * size]),
        (Normed::HeadsFromOne, [size; 2]),
        (Normed::HeadsAlone, [0; 2]),
    ] {
        let ours = VectorNorms::new(normed, [queries, keys], size, f64::from(EPSILON)).unwrap();
        assert_eq!(ours.weights(), weights);
        Case::of(width, width, weights.iter().sum()).compare(ours, |x, w| {
            let part = |from: usize, heads: usize, at: usize, length: usize| {
                let rows = x.narrow(1, from * size, heads * size).unwrap();
                let of_norm = if normed == Normed::Rows { heads * size } else { size };
                let rows = rows.reshape((TOKENS, heads * size / of_norm, of_norm)).unwrap();
                let weight = match normed {
                    Normed::HeadsAlone => Tensor::ones(of_norm, DType::F32, x.device()).unwrap(),
                    Normed::HeadsFromOne => (w.narrow(0, at, length).unwrap() + 1.0).unwrap(),
                    _ => w.narrow(0, at, length).unwrap(),
                };
                let rows = rms_norm_slow(&rows.contiguous().unwrap(), &weight, EPSILON).unwrap();
                rows.reshape((TOKENS, heads * size)).unwrap()
            };
            let q = part(0, queries, 0, weights[0]);
            let k = part(queries, keys, weights[0], weights[1]);
            let v = x.narrow(1, (queries + keys) * size, keys * size).unwrap();
            Tensor::cat(&[q, k, v], 1).unwrap()
        });
    }
    assert!(VectorNorms::new(Normed::Not, [queries, keys], size, 1e-5).is_none());
}

#[test]
fn functions_are_candles() {
    use repro_kernels::portable::Activation;
    let ours = |function, gated| Activate { function, width: WIDTH, gated };
    Case::new(0).compare(ours(Activation::Gelu, false), |x, _| x.gelu_erf().unwrap());
    Case::new(0).compare(ours(Activation::GeluTanh, false), |x, _| x.gelu().unwrap());
    Case::of(2 * WIDTH, WIDTH, 0).compare(ours(Activation::Silu, true), |x, _| {
        let [a, b] = [0, WIDTH].map(|from| x.narrow(1, from, WIDTH).unwrap());
        (silu(&a).unwrap() * b).unwrap()
    });
}

#[test]
fn attention_is_candles() {
    let (heads, groups, size, theta) = (6, 2, 8, 100.0);
    let shape = AttentionShape::new(heads, groups, size, LENGTH, theta);
    let ours = Attention { heads: shape, rotated: Vec::new() };
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
    let width = (heads + 2 * groups) * size;
    Case::of(width, heads * size, 0).compare(ours, |x, _| {
        let batch = TOKENS / LENGTH;
        let vectors = |from: usize, heads: usize| {
            let all = x.narrow(1, from * size, heads * size).unwrap();
            let all = all.reshape((batch, LENGTH, heads, size)).unwrap();
            all.transpose(1, 2).unwrap().contiguous().unwrap()
        };
        let rotate = |x: &Tensor| candle_nn::rotary_emb::rope_slow(x, &cosines, &sines).unwrap();
        let (q, k) = (rotate(&vectors(0, heads)), rotate(&vectors(heads, groups)));
        let v = vectors(heads + groups, groups);
        let spread = |x: &Tensor| {
            let shape = (batch, groups, heads / groups, LENGTH, size);
            let all = x.unsqueeze(2).unwrap().broadcast_as(shape).unwrap();
            all.contiguous().unwrap().reshape((batch, heads, LENGTH, size)).unwrap()
        };
        let (k, v) = (spread(&k), spread(&v));
        let scores = (q.matmul(&k.t().unwrap()).unwrap() / (size as f64).sqrt()).unwrap();
        let shares = softmax(&scores.broadcast_add(&mask).unwrap(), D::Minus1).unwrap();
        let attended = shares.matmul(&v).unwrap().transpose(1, 2).unwrap().contiguous().unwrap();
        attended.reshape((TOKENS, heads * size)).unwrap()
    });
}

/// A mixture as one that runs every expert on every token.
fn mixture(gate: Gate, normalized: bool, shared: usize) {
    let (experts, per_token, inner) = (5, 2, 12);
    let ours = Mixture {
        widths: MixtureWidths { width: WIDTH, inner, shared },
        router: Router { gate, experts, per_token, normalized },
        losses: Coefficients::default(),
        bias: None,
        saved: Default::default(),
    };
    let weights = experts * WIDTH + 3 * WIDTH * (experts * inner + shared);
    Case::new(weights).compare(ours, |h, w| {
        let mut matrices = Matrices(w, 0);
        let logits = linear(h, &matrices.next(experts, WIDTH));
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
        let mask = Tensor::from_vec(mask, (TOKENS, experts), h.device()).unwrap();
        let mut gates = (scores * mask).unwrap();
        if normalized {
            gates = gates.broadcast_div(&gates.sum_keepdim(1).unwrap()).unwrap();
        }
        let mut y = h.zeros_like().unwrap();
        for expert in 0..experts {
            let [s, down] = network(h, &mut matrices, inner);
            let gate = gates.narrow(1, expert, 1).unwrap();
            y = (y + linear(&s, &down).broadcast_mul(&gate).unwrap()).unwrap();
        }
        if shared > 0 {
            let [s, down] = network(h, &mut matrices, shared);
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

/// Our head, and its rows, matrix and targets.
fn head(columns: usize, held: Option<usize>) -> (Head<f32>, [Vec<f32>; 2], Vec<u32>) {
    let terms = LossTerms::default();
    let head = Head {
        width: WIDTH,
        cap: None,
        terms,
        held,
        rounding: None,
        other_sums: None,
        saved: Default::default(),
    };
    let mut rng = Rng::new(1, "targets");
    let targets = (0..TOKENS).map(|_| rng.below(columns as u64) as u32).collect();
    let matrix = numbers_of(columns * WIDTH, "m", 2.0);
    (head, [numbers_of(TOKENS * WIDTH, "x", 3.0), matrix], targets)
}

#[test]
fn scores_are_candles() {
    let columns = 37;
    let (mut head, [h, matrix], targets) = head(columns, None);
    let nats = head.score(Isa::best(), &targets, [&h, &matrix]).nats;
    let loss = head.forward(Isa::best(), &targets, [&h, &matrix]).nats;
    let device = &candle_core::Device::Cpu;
    let tensor = |numbers: &[f32], shape: (usize, usize)| {
        Tensor::from_slice(numbers, shape, device).unwrap()
    };
    let logits = linear(&tensor(&h, (TOKENS, WIDTH)), &tensor(&matrix, (columns, WIDTH)));
    let targets = Tensor::new(targets, device).unwrap();
    let theirs = candle_nn::loss::cross_entropy(&logits, &targets).unwrap();
    let theirs = theirs.to_dtype(DType::F64).unwrap().to_scalar::<f64>().unwrap();
    let ours = nats.iter().map(|nats| f64::from(*nats)).sum::<f64>() / TOKENS as f64;
    assert!((ours - theirs).abs() < 1e-6, "{ours} {theirs}");
    assert!((f64::from(loss) - theirs).abs() < 1e-6, "{loss} {theirs}");
}

#[test]
fn logits_that_are_not_held_have_the_same_gradients() {
    let columns = 37;
    for cap in [None, Some(2.0)] {
        for terms in [LossTerms::default(), LossTerms { label_smoothing: 0.1, z_loss: 0.01 }] {
            let run = |held| {
                let (head, [h, matrix], mut targets) = head(columns, held);
                let mut head = Head { cap, terms, ..head };
                targets[3..9].fill(IGNORED);
                let loss = head.forward(Isa::best(), &targets, [&h, &matrix]);
                let (mut gh, mut g_matrix) = (vec![0.0; h.len()], vec![0.0; matrix.len()]);
                head.backward(Isa::best(), [&h, &matrix], [&mut gh, &mut g_matrix]);
                (loss.nats, loss.square, [gh, g_matrix].concat())
            };
            let (nats, square, gradients) = run(None);
            let (parted, parted_square, others) = run(Some(1));
            assert_eq!((nats, square), (parted, parted_square));
            let largest = gradients.iter().fold(0.0_f32, |most, g| most.max(g.abs()));
            let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6 * largest;
            assert!(gradients.iter().zip(&others).all(is_near));
        }
    }
}
