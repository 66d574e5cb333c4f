//! What devices compute, held against `repro-portable` bit for bit. Where a machine has none, nothing is held against
//! anything, unless `REPRO_REQUIRE_DEVICE` asks for one.

use super::*;
use repro_portable::adamw::{self, Update};
use repro_portable::mixture::Arrangement;
use repro_portable::router::{Coefficients, Gate, Router};
use repro_portable::{AttentionShape, Isa, Real, cross_entropy, norm, swiglu};

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
    device.functions(&x, &mut y, false);
    same("exponential", &y.read_all(), &xs.iter().map(|x| x.exponential()).collect::<Vec<_>>());
    device.functions(&x, &mut y, true);
    same("logarithm", &y.read_all(), &xs.iter().map(|x| x.logarithm()).collect::<Vec<_>>());
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
            let view = repro_portable::Matrix::new;
            repro_portable::product(
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
    let view = repro_portable::Matrix::new;
    repro_portable::product(
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
        let of = NormRows { x: &tx, weight: tw.from(0), width: d, epsilon: 1e-5 };
        let mut y = device.table(rows * d);
        device.norm(of, &mut y);
        let mut expected = vec![0.0; rows * d];
        norm::forward(Isa::best(), &x, &weight, 1e-5, &mut expected);
        same("norm", &y.read_all(), &expected);
        for residual in [Some((&residual, &tr)), None] {
            let (mut gx, mut gw) = (device.table(rows * d), device.table(d));
            device.norm_back(of, &tg, residual.map(|(_, table)| table), [&mut gx, &mut gw]);
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
        let places = repro_portable::TokenPlaces::default();
        shape.forward(Isa::best(), length, places, &mut rows, &mut output);
        shape.backward(Isa::best(), length, places, &rows, &g, &mut into);
        let own = AttentionHeads {
            heads,
            key_value_heads: shared,
            head_dim: dim,
            scale: shape.scale(),
            length,
        };
        let [cosines, sines] = shape.rope().unwrap().tables().map(|table| device.upload(table));
        let angles = AttentionTables { cosines, sines };
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
        let view = repro_portable::Matrix::new;
        let (h, w) =
            (&own[of.start * width..of.end * width], &w[expert * inner * width..][..inner * width]);
        let y = &mut hy[of.start * inner..of.end * inner];
        let isa = Isa::best();
        repro_portable::product(
            isa,
            y,
            view(h, of.len(), width),
            view(w, inner, width).transposed(),
            None,
        );
        let into = &mut hgw[expert * inner * width..][..inner * width];
        repro_portable::product(
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
    device.embed_back(&device.token_places(&tokens), &device.upload(&g), &mut tinto, width);
    for (g, token) in g.chunks(width).zip(tokens) {
        into[token as usize * width..][..width].iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
    }
    same("rows of tokens", &tinto.read_all(), &into);
}

#[test]
fn what_a_kernel_does_not_take_is_a_fault_and_stops_the_rest() {
    let Some(device) = device() else { return };
    let mut table = device.upload(&[1.0_f32]);
    device.launch_each("scale", 1, &[(&mut table).into(), 2.0_f64.into(), 1_i64.into()]);
    device.scale(&mut table, 2.0);
    assert_eq!(device.fault().unwrap().to_string(), "`scale` takes another argument 1");
    assert_eq!(device.table::<f32>(7).read_all(), [0.0; 7]);
}

#[test]
fn devices_that_are_not_there_are_named() {
    let unknown = open("opencl").unwrap_err().to_string();
    assert!(
        unknown.starts_with("there is no device `opencl`; there are the ids `cpu` and"),
        "{unknown}"
    );
    for runtime in Runtime::ALL {
        let id = format!("{}:99", runtime.prefix());
        let error = open(&id).unwrap_err();
        let expected = match list(runtime) {
            Ok(_) => format!("there is no device `{id}`; there are "),
            Err(missing) => missing.to_string(),
        };
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}
