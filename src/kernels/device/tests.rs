//! The results of devices compared with `portable` bit for bit. Where a machine has none, nothing is compared with
//! anything, unless `REPRO_REQUIRE_DEVICE` asks for one.

use super::*;
use crate::portable::adamw::{self, Update};
use crate::portable::cross_entropy::Regularization;
use crate::portable::mixture::Arrangement;
use crate::portable::muon::{self, MuonRounding, MuonUpdate, Operations};
use crate::portable::rope::Rope;
use crate::portable::rounding::{BF16, Rounding, TF32, narrow};
use crate::portable::router::{Coefficients, Gate, Router};
use crate::portable::rules::{self, Momentum};
use crate::portable::{
    Activation, AttentionShape, Isa, Real, TokenPlaces, activation, cross_entropy, layer_norm,
    norm, swiglu,
};

/// A device to try things on: the one that `REPRO_TEST_DEVICE` names, or the first of OpenCL.
fn device() -> Option<Device> {
    let named = std::env::var("REPRO_TEST_DEVICE").ok();
    let is_required = named.is_some() || std::env::var_os("REPRO_REQUIRE_DEVICE").is_some();
    match open(named.as_deref().unwrap_or("opencl:0")) {
        Err(DeviceError::NoRuntime { .. }) if !is_required => None,
        opened => Some(opened.unwrap()),
    }
}

/// Numbers between -1 and 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Rounds a sum over tokens after the one with this number.
fn round_sum(rounding: Option<Rounding>, at: usize, sum: &mut [f32]) {
    if let Some(Rounding { kept, seed }) = rounding {
        let seed = seed.map(|seed| seed.wrapping_add((at as u64) << 24));
        narrow(Isa::best(), sum, Rounding { kept, seed });
    }
}

#[track_caller]
fn same(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let other = |(found, expected): &(&f32, &f32)| {
        found.to_bits() != expected.to_bits() && !(found.is_nan() && expected.is_nan())
    };
    let pairs = std::iter::zip(found, expected);
    let count = pairs.clone().filter(other).count();
    let first = pairs.enumerate().find(|(_, pair)| other(pair));
    assert!(count == 0, "{what}: {count} of {} differ, the first {first:?}", found.len());
}

#[test]
fn functions_are_those_of_all_machines() {
    let Some(device) = device() else { return };
    let xs: Vec<f32> =
        (0..1 << 20).map(|i| f32::from_bits((i as u32).wrapping_mul(4093))).collect();
    let x = device.upload(&xs);
    let mut y = device.table(xs.len());
    for function in [
        NumberFunction::Exponential,
        NumberFunction::Logarithm,
        NumberFunction::HyperbolicTangent,
        NumberFunction::ErrorFunction,
    ] {
        let host = |x: &f32| match function {
            NumberFunction::Exponential => x.exponential(),
            NumberFunction::Logarithm => x.logarithm(),
            NumberFunction::HyperbolicTangent => x.hyperbolic_tangent(),
            NumberFunction::ErrorFunction => x.error_function(),
        };
        device.functions(&x, &mut y, function);
        let expected: Vec<_> = xs.iter().map(host).collect();
        same(&format!("{function:?}"), &y.read_all(), &expected);
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn products_of_all_shapes() {
    let Some(device) = device() else { return };
    let shapes = [
        (1, 1, 1),
        (7, 33, 5),
        (8, 32, 256),
        (13, 17, 300),
        (130, 70, 31),
        (50, 9, 1100),
        (3, 4, 0),
    ];
    for (m, n, k) in shapes {
        for (left, right) in [(false, false), (true, false), (false, true), (true, true)] {
            let (a, b, add) = (numbers(m * k, 1), numbers(k * n, 2), numbers(m * n, 3));
            let of = |of: &[f32], [rows, columns]: [usize; 2], turned: bool| {
                (of.to_vec(), rows, columns, turned)
            };
            let host = |(of, rows, columns, turned): &(Vec<f32>, usize, usize, bool)| -> Vec<f32> {
                if !turned {
                    return of.clone();
                }
                (0..rows * columns).map(|at| of[at % columns * rows + at / columns]).collect()
            };
            let (a, b) = (of(&a, [m, k], left), of(&b, [k, n], right));
            let mut expected = vec![0.0; m * n];
            let (own_a, own_b) = (host(&a), host(&b));
            let view = crate::portable::Matrix::new;
            crate::portable::product(
                Isa::best(),
                &mut expected,
                view(&own_a, m, k),
                view(&own_b, k, n),
                Some(&add),
            );
            let (ta, tb, tadd) = (device.upload(&a.0), device.upload(&b.0), device.upload(&add));
            let there = |table, [rows, columns]: [usize; 2], turned: bool| match turned {
                false => TableMatrix::new(table, 0, rows, columns),
                true => TableMatrix::new(table, 0, columns, rows).transposed(),
            };
            let mut c = device.upload(&add);
            let product = Product::new(there(&ta, [m, k], left), there(&tb, [k, n], right));
            device.product(&mut c, Product { added: Added::Table(&tadd), ..product });
            same(&format!("{m} {n} {k} {left} {right}"), &c.read_all(), &expected);
            // In place.
            let mut c = device.upload(&add);
            device.product(&mut c, Product { added: Added::Own, ..product });
            same("own", &c.read_all(), &expected);
        }
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn products_go_on_over_blocks() {
    let Some(device) = device() else { return };
    let (m, n, k) = (40, 37, 256 * 3 + 50);
    let (a, b) = (numbers(k * m, 4), numbers(k * n, 5));
    let mut expected = vec![0.0; m * n];
    let view = crate::portable::Matrix::new;
    crate::portable::product(
        Isa::best(),
        &mut expected,
        view(&a, k, m).transposed(),
        view(&b, k, n),
        None,
    );
    let (ta, tb) = (device.upload(&a), device.upload(&b));
    let mut c = device.table(m * n);
    for from in (0..k).step_by(512) {
        let rows = 512.min(k - from);
        let left = TableMatrix::new(&ta, from * m, rows, m).transposed();
        let added = if from == 0 { Added::Nothing } else { Added::Blocks };
        device.product(
            &mut c,
            Product { added, ..Product::new(left, TableMatrix::new(&tb, from * n, rows, n)) },
        );
    }
    same("blocks", &c.read_all(), &expected);
}

#[test]
fn norms_of_rows() {
    let Some(device) = device() else { return };
    for (rows, d) in [(70, 16), (70, 37), (1, 1), (200, 300)] {
        let (x, weight) = (numbers(rows * d, 1), numbers(d, 2));
        let (g, residual) = (numbers(rows * d, 3), numbers(rows * d, 4));
        let (tx, tw, tg, tr) = (
            device.upload(&x),
            device.upload(&weight),
            device.upload(&g),
            device.upload(&residual),
        );
        let of = NormRows { x: &tx, weight: tw.from(0), width: d, epsilon: 1e-5, spread: None };
        let mut y = device.table(rows * d);
        device.norm(of, &mut y);
        let mut expected = vec![0.0; rows * d];
        norm::forward(Isa::best(), &x, &weight, 1e-5, &mut expected);
        same("norm", &y.read_all(), &expected);
        for residual in [Some((&residual, &tr)), None] {
            let (mut gx, mut gw) = (device.table(rows * d), device.table(d));
            let table = residual.map(|(_, table)| table);
            device.norm_back(of, &tg, table, &mut gx, Some((&mut gw, 0)));
            let mut parts = vec![0.0; rows.div_ceil(norm::ROWS) * d];
            let nothing = vec![0.0; rows * d];
            let residual = residual.map_or(&nothing, |(residual, _)| residual);
            norm::backward(Isa::best(), &x, &weight, 1e-5, &g, residual, &mut expected, &mut parts);
            same("gradient of a norm", &gx.read_all(), &expected);
            let mut own = vec![0.0; d];
            norm::combine(&parts, &mut own);
            same("gradient of its weight", &gw.read_all(), &own);
        }
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn attention_of_heads_and_groups() {
    let Some(device) = device() else { return };
    for (heads, shared, dim, length, sequences) in [
        (3, 3, 10, 37, 2),
        (4, 2, 16, 270, 1),
        (4, 1, 32, 64, 5),
        (2, 2, 6, 1, 3),
        (2, 1, 300, 33, 1),
    ] {
        let shape = AttentionShape::<f32>::new(heads, shared, dim, length, 10_000.0);
        let mut rows = numbers(sequences * length * shape.width(), 1);
        let g = numbers(sequences * length * heads * dim, 2);
        let (mut output, mut into) = (vec![0.0; g.len()], vec![0.0; rows.len()]);
        let mut trows = device.upload(&rows);
        let places = crate::portable::TokenPlaces::default();
        shape.forward(Isa::best(), length, places, &mut rows, &mut output);
        shape.backward(Isa::best(), length, places, &rows, &g, &mut into);
        let own = AttentionHeads::of(&shape, length);
        let [cosines, sines] = shape.rope().unwrap().tables().map(|table| device.upload(table));
        let angles = AttentionTables { cosines, sines, positions: None };
        device.rotate(own, &angles, &mut trows, 1.0);
        let mut toutput = device.table(g.len());
        device.attention(own, &trows, &mut toutput);
        same("rotated", &trows.read_all(), &rows);
        same("outputs", &toutput.read_all(), &output);
        let mut tinto = device.table(rows.len());
        device.attention_back(own, &trows, &device.upload(&g), &mut tinto);
        device.rotate(own, &angles, &mut tinto, -1.0);
        same("gradients", &tinto.read_all(), &into);
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn gated_rows() {
    let Some(device) = device() else { return };
    let (rows, f) = (70, 21);
    let a_b: Vec<f32> = numbers(rows * 2 * f, 1).into_iter().map(|x| x * 12.0).collect();
    let (gates, gs) = (numbers(rows, 2), numbers(rows * f, 3));
    let (ta, tgates, tgs) = (device.upload(&a_b), device.upload(&gates), device.upload(&gs));
    for gated in [false, true] {
        let of = GatedRows { a_b: &ta, gates: gated.then_some(&tgates), inner: f };
        let (mut s, mut g, mut gg) =
            (device.table(rows * f), device.table(rows * 2 * f), device.table(rows));
        let (mut hs, mut hg, mut hgg) =
            (vec![0.0; rows * f], vec![0.0; rows * 2 * f], vec![0.0; rows]);
        device.swiglu(of, &mut s);
        swiglu::forward(Isa::best(), f, &a_b, gated.then_some(&gates), &mut hs);
        same("inner rows", &s.read_all(), &hs);
        device.swiglu_back(of, &tgs, [&mut s, &mut g], gated.then_some(&mut gg));
        let own = gated.then_some((&gates[..], &mut hgg[..]));
        swiglu::backward(Isa::best(), f, &a_b, own, &gs, &mut hs, &mut hg);
        same("inner rows again", &s.read_all(), &hs);
        same("gradients", &g.read_all(), &hg);
        if gated {
            same("gates", &gg.read_all(), &hgg);
        }
    }
}

#[test]
fn surprises() {
    let Some(device) = device() else { return };
    for columns in [1, 41, 300] {
        let rows = 70;
        let mut logits: Vec<f32> =
            numbers(rows * columns, 1).into_iter().map(|x| (x * 9.0).round()).collect();
        logits[columns / 2] = f32::NAN;
        let targets: Vec<u32> = (0..rows).map(|row| (row * 7 % columns) as u32).collect();
        let (mut tl, tt) = (device.upload(&logits), device.upload(&targets));
        let (mut tn, mut tg) = (device.table(rows), device.table(rows));
        device.score(&tl, tt.from(0), &mut tn, &mut tg);
        let (mut nats, mut greedy) = (vec![0.0; rows], vec![false; rows]);
        cross_entropy::score(Isa::best(), &logits, &targets, &mut nats, &mut greedy);
        same("nats", &tn.read_all(), &nats);
        let guessed: Vec<bool> = tg.read_all().into_iter().map(|guess| guess != 0).collect();
        assert_eq!(guessed, greedy);
        device.cross_entropy(&mut tl, tt.from(0), &mut tn, 99);
        cross_entropy::forward(Isa::best(), 99, &mut logits, &targets, &mut nats);
        same("nats", &tn.read_all(), &nats);
        same("gradients", &tl.read_all(), &logits);
    }
}

#[test]
fn routers_and_their_experts() {
    let Some(device) = device() else { return };
    let isa = Isa::best();
    for (tokens, experts, per_token) in [(70, 5, 2), (1000, 33, 4), (3, 2, 1), (300, 8, 8)] {
        for gate in [Gate::Softmax, Gate::Sigmoid] {
            for (normalized, biased) in [(true, false), (false, true)] {
                let router = Router { gate, experts, per_token, normalized };
                let mut logits = numbers(tokens * experts, 1);
                logits[..experts].fill(0.5);
                logits[experts] = f32::NAN;
                let bias = numbers(experts, 2);
                let bias = biased.then_some(&bias[..]);
                let g_gates = numbers(tokens * per_token, 3);
                let routing = router.choose(isa, &logits, bias);
                let arrangement = Arrangement::new(experts, per_token, &routing.chosen);
                let losses = Coefficients { balance: 0.01, z: 0.001 };
                let mut into = vec![0.0; logits.len()];
                routing.backward(isa, losses, &g_gates, &mut into);

                let chosen = device.choose(router, device.upload(&logits), bias);
                let arranged = device.arrange(experts, per_token, &chosen.experts);
                assert_eq!(chosen.experts.read_all(), routing.chosen);
                same("gates", &chosen.gates.read_all(), &routing.gates);
                let sums = device.chosen_sums(&chosen, &arranged);
                assert_eq!(sums.counts, routing.counts);
                assert_eq!(sums.undecided, routing.undecided());
                let same_sum = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
                assert!(std::iter::zip(&sums.shares, &routing.shares).all(same_sum));
                let z = (sums.squares / tokens as f64).to_bits();
                assert!(z == routing.z().to_bits() || routing.z().is_nan());
                let rows = device.to_rows(&arranged, &device.upload(&g_gates));
                same("rows", &rows.read_all(), &arrangement.to_rows(&g_gates));
                let mut tinto = device.table(logits.len());
                device.choose_back((&chosen, &arranged), losses, &rows, &mut tinto);
                same("gradient of logits", &tinto.read_all(), &into);
                experts_of(&device, &arranged, &arrangement, (tokens, experts));
            }
        }
    }
    assert_eq!(device.fault(), None);
}

/// Products of the rows of experts, forward and backward.
fn experts_of(
    device: &Device,
    arranged: &Arranged,
    arrangement: &Arrangement,
    (tokens, experts): (usize, usize),
) {
    let (width, inner) = (19, 45);
    let (x, w) = (numbers(tokens * width, 5), numbers(experts * inner * width, 6));
    let (tx, tw) = (device.upload(&x), device.upload(&w));
    let rows = arrangement.len();
    let table = device.rows_of_experts(arranged, &tx, width);
    let mut own = vec![0.0; rows * width];
    arrangement.gather(0..rows, width, &x, &mut own);
    same("gathered", &table.read_all(), &own);
    let (mut y, mut gw) = (device.table(rows * inner), device.table(experts * inner * width));
    let weights = TableMatrix::new(&tw, 0, inner, width).transposed().batched([inner * width, 0]);
    let into = ProductPlace { table: &mut y, from: 0, apart: inner, batch: [0; 2] };
    device.product_of_experts(into, TableMatrix::new(&table, 0, rows, width), weights, arranged);
    let into = ProductPlace { table: &mut gw, from: 0, apart: width, batch: [inner * width, 0] };
    let (left, right) =
        (TableMatrix::new(&y, 0, rows, inner), TableMatrix::new(&table, 0, rows, width));
    device.product_over_experts(into, left, right, arranged);
    let (mut hy, mut hgw) = (vec![0.0; rows * inner], vec![0.0; w.len()]);
    for expert in 0..experts {
        let of = arrangement.of(expert);
        let view = crate::portable::Matrix::new;
        let (h, w) =
            (&own[of.start * width..of.end * width], &w[expert * inner * width..][..inner * width]);
        let y = &mut hy[of.start * inner..of.end * inner];
        let isa = Isa::best();
        crate::portable::product(
            isa,
            y,
            view(h, of.len(), width),
            view(w, inner, width).transposed(),
            None,
        );
        let into = &mut hgw[expert * inner * width..][..inner * width];
        crate::portable::product(
            isa,
            into,
            view(y, of.len(), inner).transposed(),
            view(h, of.len(), width),
            None,
        );
    }
    same("products of experts", &y.read_all(), &hy);
    same("gradients of experts", &gw.read_all(), &hgw);
    let (mut to, table) = (numbers(tokens * inner, 8), y);
    let mut tto = device.upload(&to);
    device.add_experts(arranged, &table, &mut tto, inner);
    arrangement.add(Isa::best(), inner, &hy, &mut to);
    same("sums of experts", &tto.read_all(), &to);
}

#[test]
fn updates_and_norms_of_gradients() {
    let Some(device) = device() else { return };
    let n = 20_003;
    let (mut w, g, mut m, mut v) = (numbers(n, 1), numbers(n, 2), vec![0.0; n], vec![0.0; n]);
    let (mut tw, tg) = (device.upload(&w), device.upload(&g));
    let (mut tm, mut tv) = (device.zeros(n - 3), device.zeros(n - 3));
    for decay in [1.0, 0.9999] {
        let (beta1, beta2) = ([0.9, 0.1], [0.95, 0.05]);
        let update = Update {
            clip: 0.7,
            rate: 1e-3,
            decay,
            beta1,
            beta2,
            c1: 10.0,
            c2: 25.0,
            epsilon: 1e-8,
        };
        adamw::step(Isa::best(), &mut w[3..], &g[3..], &mut m[3..], &mut v[3..], update);
        device.adamw((&mut tw, &tg), 3..n, [&mut tm, &mut tv], update);
    }
    same("weights", &tw.read_all(), &w);
    same("means", &tm.read_all(), &m[3..]);
    same("squares", &tv.read_all(), &v[3..]);
    let squares = device.squares(&[(&tg, 0..n), (&tg, 5..4101), (&tw, 7..8), (&tw, 0..0)]);
    let of = |values: &[f32]| adamw::squares(Isa::best(), values);
    assert_eq!(squares, [of(&g), of(&g[5..4101]), of(&w[7..8]), 0.0]);
    let mut sum = device.copied(&tg);
    device.add_scaled(&mut sum, &tw, 0.3);
    device.add(&mut sum, &tg);
    device.scale(&mut sum, 0.7);
    device.fill(&mut sum, 5..9, 2.0);
    let expected = (0..n).map(|i| match i {
        5..9 => 2.0,
        _ => (g[i] + w[i] * 0.3 + g[i]) * 0.7,
    });
    same("sums", &sum.read_all(), &expected.collect::<Vec<_>>());
    assert_eq!(device.fault(), None);
}

#[test]
fn rows_of_tokens() {
    let Some(device) = device() else { return };
    let (width, tokens) = (300, [3_u32, 1, 3, 0, 3, 1]);
    let (g, mut into) = (numbers(tokens.len() * width, 1), numbers(5 * width, 2));
    let mut tinto = device.upload(&into);
    let random = Rounding { kept: BF16, seed: Some(u64::MAX - 5) };
    for sums in [None, Some(random), Some(Rounding { seed: None, ..random })] {
        let (places, tg) = (device.token_places(&tokens), device.upload(&g));
        device.embed_back(&places, (&tg, 0.3), &mut tinto, width, sums);
        for (at, (g, token)) in g.chunks(width).zip(tokens).enumerate() {
            let row = &mut into[token as usize * width..][..width];
            row.iter_mut().zip(g).for_each(|(sum, g)| *sum += g * 0.3);
            round_sum(sums, at, row);
        }
        same("rows of tokens", &tinto.read_all(), &into);
    }
}

/// Special values that sums rarely have: not a number, infinities, subnormal numbers, the largest, zeros.
const RARE: [f32; 8] =
    [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, -1e-42, f32::MAX, -0.0, 0.0];

#[test]
fn norms_around_means_and_of_parts_of_rows() {
    let Some(device) = device() else { return };
    let isa = Isa::best();
    for (rows, d) in [(70, 16), (131, 37), (1, 1), (3, 300)] {
        let (mut x, weight, bias) = (numbers(rows * d, 1), numbers(d, 2), numbers(d, 5));
        let (g, residual) = (numbers(rows * d, 3), numbers(rows * d, 4));
        // A row of equal numbers, whose differences from their mean are zeros.
        x[..d].fill(0.5);
        let (mut centred, mut y) = (vec![0.0; rows * d], vec![0.0; rows * d]);
        layer_norm::forward(isa, &x, [&weight, &bias], 1e-5, &mut centred, &mut y);
        let (mut tx, tw, tb) = (device.upload(&x), device.upload(&weight), device.upload(&bias));
        device.centre(&mut tx, d);
        same("differences from means", &tx.read_all(), &centred);
        let of = NormRows { x: &tx, weight: tw.from(0), width: d, epsilon: 1e-5, spread: None };
        let mut ty = device.table(rows * d);
        device.norm(of, &mut ty);
        device.add_row(&mut ty, tb.from(0), d);
        same("norm around means", &ty.read_all(), &y);
        let (tg, tr, nothing) = (device.upload(&g), device.upload(&residual), vec![0.0; rows * d]);
        for (residual, table) in [(&residual, Some(&tr)), (&nothing, None)] {
            let (mut gx, mut parts) = (y.clone(), vec![0.0; rows.div_ceil(norm::ROWS) * d]);
            layer_norm::backward(isa, &centred, &weight, 1e-5, &g, residual, &mut gx, &mut parts);
            let (mut tgx, mut tgw) = (device.table(rows * d), device.table(2 * d));
            device.norm_back(of, &tg, None, &mut tgx, Some((&mut tgw, d)));
            device.centre_back(&mut tgx, table, d);
            device.sum_rows(&tg, (&mut tgw, 0), d);
            same("gradient of a norm around means", &tgx.read_all(), &gx);
            let (mut own, mut of_bias) = (vec![0.0; d], vec![0.0; d]);
            norm::combine(&parts, &mut own);
            layer_norm::add_back(isa, &g, &mut of_bias);
            same("gradients of bias and weight", &tgw.read_all(), &[of_bias, own].concat());
        }
        for seed in [None, Some(77)] {
            let rounding = Rounding { kept: BF16, seed };
            let (mut own, mut gx) = (vec![0.0; d], vec![0.0; d]);
            let mut sums = vec![0.0; 2 * d];
            for (at, (x, g)) in centred.chunks(d).zip(g.chunks(d)).enumerate() {
                layer_norm::backward(isa, x, &weight, 1e-5, g, &nothing[..d], &mut gx, &mut own);
                let (of_weight, of_bias) = sums.split_at_mut(d);
                of_weight.iter_mut().zip(&own).for_each(|(sum, own)| *sum += own);
                of_bias.iter_mut().zip(g).for_each(|(sum, own)| *sum += own);
                round_sum(Some(rounding), 2 * at, of_weight);
                round_sum(Some(rounding), 2 * at + 1, of_bias);
            }
            let mut tgw = device.table(2 * d);
            let factors = device.norm_back(of, &tg, None, &mut device.table(rows * d), None);
            device.norm_sums(of, [&tg, &factors], &mut tgw, rounding);
            same("rounded sums", &tgw.read_all(), &sums);
        }
    }
    norms_of_parts(&device);
    assert_eq!(device.fault(), None);
}

/// Norms of two parts of the middle of each row.
fn norms_of_parts(device: &Device) {
    let (tokens, width, d, from) = (101, 50, 11, 7);
    let (x, weight, g) = (numbers(tokens * width, 1), numbers(d, 2), numbers(tokens * width, 3));
    let of = |rows: &[f32]| -> Vec<f32> {
        rows.chunks(width).flat_map(|row| &row[from..from + 2 * d]).copied().collect()
    };
    let into = |rows: &[f32], parts: &[f32]| -> Vec<f32> {
        let mut rows = rows.to_vec();
        for (row, part) in rows.chunks_mut(width).zip(parts.chunks(2 * d)) {
            row[from..from + 2 * d].copy_from_slice(part);
        }
        rows
    };
    let (own_x, own_g) = (of(&x), of(&g));
    let (mut y, mut gx) = (own_x.clone(), own_x.clone());
    let mut parts = vec![0.0; (2 * tokens).div_ceil(norm::ROWS) * d];
    norm::forward(Isa::best(), &own_x, &weight, 1e-5, &mut y);
    let nothing = vec![0.0; own_x.len()];
    norm::backward(Isa::best(), &own_x, &weight, 1e-5, &own_g, &nothing, &mut gx, &mut parts);
    let (tx, tw, tg) = (device.upload(&x), device.upload(&weight), device.upload(&g));
    let spread = Some(NormSpread { from, parts: 2, apart: width });
    let rows = NormRows { x: &tx, weight: tw.from(0), width: d, epsilon: 1e-5, spread };
    let (mut ty, mut tgx, mut tgw) = (device.copied(&tx), device.copied(&tg), device.table(d));
    device.norm(rows, &mut ty);
    device.norm_back(rows, &tg, None, &mut tgx, Some((&mut tgw, 0)));
    same("norms of parts", &ty.read_all(), &into(&x, &y));
    same("gradients of norms of parts", &tgx.read_all(), &into(&g, &gx));
    let mut own = vec![0.0; d];
    norm::combine(&parts, &mut own);
    same("gradient of their weight", &tgw.read_all(), &own);
}

#[test]
fn functions_between_matrices() {
    let Some(device) = device() else { return };
    let (isa, rows, width) = (Isa::best(), 71, 23);
    let mut x: Vec<f32> = numbers(rows * 2 * width, 1).into_iter().map(|x| x * 9.0).collect();
    for (at, rare) in RARE.iter().enumerate() {
        x[at * 29] = *rare;
    }
    let (g, tx) = (numbers(rows * 2 * width, 2), device.upload(&x));
    let tg = device.upload(&g);
    let half = device.upload(&g[..rows * width]);
    for function in [
        Activation::Silu,
        Activation::Gelu,
        Activation::GeluTanh,
        Activation::Relu,
        Activation::ReluSquared,
    ] {
        let (mut y, mut gx) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        let (mut ty, mut tgx) = (device.table(x.len()), device.table(x.len()));
        activation::forward(isa, function, &x, &mut y);
        activation::backward(isa, function, &x, &g, &mut gx);
        let of = ActivatedRows { x: &tx, width: 2 * width, gated: false, function };
        device.activate(of, &mut ty);
        device.activate_back(of, &tg, &mut tgx);
        same(&format!("{function:?}"), &ty.read_all(), &y);
        same(&format!("slope of {function:?}"), &tgx.read_all(), &gx);
        let mut ty = device.table(rows * width);
        activation::gated(isa, function, width, &x, &mut y[..rows * width]);
        activation::gated_back(isa, function, width, &x, &g[..rows * width], &mut gx);
        let of = ActivatedRows { width, gated: true, ..of };
        device.activate(of, &mut ty);
        device.activate_back(of, &half, &mut tgx);
        same(&format!("gates of {function:?}"), &ty.read_all(), &y[..rows * width]);
        same(&format!("slopes of gates of {function:?}"), &tgx.read_all(), &gx);
    }
    for limit in [15.0, 0.7] {
        let (mut y, mut gx, mut ty) = (x.clone(), g.clone(), device.copied(&tx));
        activation::cap(isa, &mut y, limit);
        device.cap(&mut ty, limit);
        same("limited", &ty.read_all(), &y);
        activation::cap_back(isa, &y, limit, &mut gx);
        let mut tgx = device.copied(&tg);
        device.cap_back(&ty, limit, &mut tgx);
        same("slope of a limit", &tgx.read_all(), &gx);
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn attention_with_limits_windows_documents_and_places() {
    let Some(device) = device() else { return };
    let (heads, shared, dim, length, sequences) = (4, 2, 10, 75, 2);
    let count = length * sequences;
    let documents: Vec<u32> = (0..count).map(|at| (at * at / 97 % 5) as u32).collect();
    let positions: Vec<u32> = (0..count).map(|at| (at * 7 % 90) as u32).collect();
    let none: &[u32] = &[];
    for (rope, cap, window, documents, positions) in [
        (true, Some(0.4), None, none, none),
        (true, None, Some(5), none, &positions[..]),
        (true, Some(0.4), Some(40), &documents[..], &positions[..]),
        (false, None, None, &documents[..], none),
        (false, None, Some(1), none, none),
        (false, Some(0.9), None, none, none),
    ] {
        let frequencies = [1.0, 0.31, 0.1, 0.03, 0.01];
        let rope = rope.then(|| Rope::of_frequencies(90, &frequencies, 1.1));
        let shape = AttentionShape::<f32>::of(heads, shared, dim, rope).scaled(0.37);
        let shape = shape.capped(cap).windowed(window);
        let places = TokenPlaces { documents, positions };
        let mut rows = numbers(count * shape.width(), 1);
        rows[shape.width() * 20 + 3] = f32::INFINITY;
        rows[shape.width() * 40 + 5] = f32::NAN;
        let g = numbers(count * heads * dim, 2);
        let (mut output, mut into) = (vec![0.0; g.len()], vec![0.0; rows.len()]);
        let mut trows = device.upload(&rows);
        shape.forward(Isa::best(), length, places, &mut rows, &mut output);
        shape.backward(Isa::best(), length, places, &rows, &g, &mut into);
        let some = |all: &[u32]| (!all.is_empty()).then(|| device.upload(all));
        let tdocuments = some(documents);
        let own =
            AttentionHeads { documents: tdocuments.as_ref(), ..AttentionHeads::of(&shape, length) };
        let angles = shape.rope().map(|rope| {
            let [cosines, sines] = rope.tables().map(|table| device.upload(table));
            AttentionTables { cosines, sines, positions: some(positions) }
        });
        if let Some(angles) = &angles {
            device.rotate(own, angles, &mut trows, 1.0);
        }
        let mut toutput = device.table(g.len());
        device.attention(own, &trows, &mut toutput);
        same("rotated", &trows.read_all(), &rows);
        same("outputs", &toutput.read_all(), &output);
        let mut tinto = device.table(rows.len());
        device.attention_back(own, &trows, &device.upload(&g), &mut tinto);
        if let Some(angles) = &angles {
            device.rotate(own, angles, &mut tinto, -1.0);
        }
        same("gradients", &tinto.read_all(), &into);
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn surprises_of_smoothed_targets_and_of_some() {
    let Some(device) = device() else { return };
    let ignored = u32::MAX;
    for columns in [1, 41, 300] {
        let rows = 70;
        let mut logits: Vec<f32> =
            numbers(rows * columns, 1).into_iter().map(|x| x * 9.0).collect();
        logits[columns / 2] = f32::NAN;
        logits[5 * columns] = f32::INFINITY;
        let mut targets: Vec<u32> = (0..rows).map(|row| (row * 7 % columns) as u32).collect();
        let known = targets.clone();
        targets[3..9].fill(ignored);
        let tt = device.upload(&targets);
        let empty = |of: &mut [f32]| {
            let width = of.len() / rows;
            of[3 * width..9 * width].fill(0.0);
        };
        let extra = Regularization { smoothing: 0.1, z: 0.01 };
        let (mut own, mut nats, mut squares) = (logits.clone(), vec![0.0; rows], vec![0.0; rows]);
        cross_entropy::regularized(
            Isa::best(),
            64,
            extra,
            &mut own,
            &known,
            &mut nats,
            &mut squares,
        );
        [&mut own, &mut nats, &mut squares].into_iter().for_each(|of| empty(of));
        let (mut tl, mut tn, mut ts) =
            (device.upload(&logits), device.table(rows), device.table(rows));
        device.regularized(extra, &mut tl, tt.from(0), [&mut tn, &mut ts], 64);
        same("nats", &tn.read_all(), &nats);
        same("squares", &ts.read_all(), &squares);
        same("gradients", &tl.read_all(), &own);
        let mut own = logits.clone();
        cross_entropy::forward(Isa::best(), 64, &mut own, &known, &mut nats);
        [&mut own, &mut nats].into_iter().for_each(|of| empty(of));
        let mut tl = device.upload(&logits);
        device.cross_entropy(&mut tl, tt.from(0), &mut tn, 64);
        same("nats", &tn.read_all(), &nats);
        same("gradients", &tl.read_all(), &own);
        let (mut greedy, mut tg) = (vec![false; rows], device.table(rows));
        cross_entropy::score(Isa::best(), &logits, &known, &mut nats, &mut greedy);
        empty(&mut nats);
        greedy[3..9].fill(false);
        device.score(&device.upload(&logits), tt.from(0), &mut tn, &mut tg);
        same("nats", &tn.read_all(), &nats);
        let guessed: Vec<bool> = tg.read_all().into_iter().map(|guess| guess != 0).collect();
        assert_eq!(guessed, greedy);
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn numbers_with_fewer_bits() {
    let Some(device) = device() else { return };
    let mut all: Vec<f32> =
        (0..70_001_u32).map(|i| f32::from_bits(i.wrapping_mul(61_357))).collect();
    all.extend(RARE);
    for kept in [BF16, TF32, 22, 1] {
        for seed in [None, Some(3), Some(u64::MAX - 1)] {
            let (rounding, period) = (Rounding { kept, seed }, 999);
            let (mut own, mut there) = (all.clone(), device.upload(&all));
            own.chunks_mut(period).for_each(|some| narrow(Isa::best(), some, rounding));
            device.narrow(&mut there, rounding, period);
            same(&format!("{rounding:?}"), &there.read_all(), &own);
        }
    }
}

#[test]
fn updates_by_other_rules() {
    let Some(device) = device() else { return };
    let (isa, n) = (Isa::best(), 5_003);
    let mut g = numbers(n, 2);
    g[9] = f32::NAN;
    g[10..90].fill(0.0);
    let (mut w, tg) = (numbers(n, 1), device.upload(&g));
    let mut tw = device.upload(&w);
    for is_amsgrad in [false, true] {
        let greatest = if is_amsgrad { n - 3 } else { 0 };
        let (mut m, mut v, mut x) = (vec![0.0; n - 3], vec![0.0; n - 3], vec![0.0; greatest]);
        let (mut tm, mut tv, mut tx) =
            (device.zeros(n - 3), device.zeros(n - 3), device.zeros(greatest));
        for decay in [1.0, 0.9999] {
            let (beta1, beta2, c1, c2) = ([0.9, 0.1], [0.95, 0.05], 10.0, 25.0);
            let update =
                Update { clip: 0.7, rate: 1e-3, decay, beta1, beta2, c1, c2, epsilon: 1e-8 };
            rules::adam(isa, &mut w[3..], &g[3..], &mut m, &mut v, &mut x, update, 0.2);
            let moments = [&mut tm, &mut tv, &mut tx];
            device.adam((&mut tw, &tg), 3..n, moments, update, 0.2);
        }
        same("weights by Adam", &tw.read_all(), &w);
        same("means", &tm.read_all(), &m);
        same("greatest squares", &tx.read_all(), &x);
    }
    for is_sign in [false, true] {
        let (mut m, mut tm) = (vec![0.0; n], device.zeros(n));
        for coupled in [0.0, 0.1] {
            let (mean, step) = ([0.9, 0.1], [0.8, 0.2]);
            let update = Momentum { clip: 0.7, rate: 0.01, decay: 0.99, coupled, mean, step };
            let rule = if is_sign { rules::lion } else { rules::momentum };
            rule(isa, &mut w, &g, &mut m, update);
            device.momentum((&mut tw, &tg), 0..n, &mut tm, update, is_sign);
        }
        same("weights by momentum", &tw.read_all(), &w);
        same("means", &tm.read_all(), &m);
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn updates_by_muon() {
    let Some(device) = device() else { return };
    for ([rows, columns], scale) in
        [([150, 90], 1.3), ([40, 70], 1.0), ([33, 33], 0.2), ([3, 1], 1.0)]
    {
        for operations in [Operations::Separate, Operations::Fused, Operations::Compiled] {
            for rounding in [MuonRounding::None, MuonRounding::Bfloat16] {
                let n = rows * columns;
                let (mut w, g, mut m) = (numbers(n + 5, 1), numbers(n + 5, 2), numbers(n, 3));
                let (mut tw, tg, mut tm) =
                    (device.upload(&w), device.upload(&g), device.upload(&m));
                for nesterov in [true, false] {
                    let update = MuonUpdate {
                        clip: 0.9,
                        rate: 0.1,
                        decay: 0.98,
                        momentum: if nesterov { [0.9, 0.1] } else { [0.3, 0.7] },
                        nesterov,
                        steps: 5,
                        coefficients: [3.4445, -4.7750, 2.0315],
                        epsilon: 1e-7,
                        scale,
                        operations,
                        rounding,
                    };
                    let shape = [rows, columns];
                    muon::step(Isa::best(), &mut w[5..], &g[5..], &mut m, shape, &update);
                    device.muon((&mut tw, &tg), 5..n + 5, &mut tm, shape, &update);
                }
                same("means", &tm.read_all(), &m);
                same(&format!("{operations:?} {rounding:?}"), &tw.read_all(), &w);
            }
        }
    }
    assert_eq!(device.fault(), None);
}

#[test]
fn what_a_kernel_does_not_take_is_a_fault_and_stops_the_rest() {
    let Some(device) = device() else { return };
    let mut table = device.upload(&[1.0_f32]);
    device.launch_each("scale", 1, &[(&mut table).into(), 2.0_f64.into(), 1_i64.into()]);
    device.scale(&mut table, 2.0);
    assert_eq!(device.fault().unwrap().to_string(), "`scale` expects a different argument 1");
    assert_eq!(device.table::<f32>(7).read_all(), [0.0; 7]);
}

#[test]
fn devices_that_are_not_there_are_named() {
    let unknown = open("opencl").unwrap_err().to_string();
    assert!(unknown.starts_with("no device `opencl`; the ids are `cpu` and"), "{unknown}");
    for runtime in Runtime::ALL {
        let id = format!("{}:99", runtime.prefix());
        let error = open(&id).unwrap_err();
        let expected = match list(runtime) {
            Ok(_) => format!("no device `{id}`; "),
            Err(missing) => missing.to_string(),
        };
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn chains_of_fused_operations_are_timed_and_still_right() {
    let Some(device) = device() else { return };
    let mut table = device.zeros(512);
    device.fuse(&mut table, 0.5, 0.25, 3);
    let expected: Vec<f32> = (0..512)
        .map(|number| {
            let chain =
                |chain| (0..3).fold((number % 256 + chain) as f32, |x, _| x.mul_add(0.5, 0.25));
            (0..8).map(chain).sum()
        })
        .collect();
    same("chains", &table.read_all(), &expected);
    assert_eq!(device.fault(), None);
}
