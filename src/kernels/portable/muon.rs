//! Muon (K. Jordan and others, 2024): the step of a matrix is its momentum, made nearly orthogonal.
//!
//! With the gradient `h = g clip`, the mean `m = lerp(m, h, 1 - momentum)`, and `u = lerp(h, m, momentum)` with Nesterov's
//! look ahead or `u = m` without, five (`steps`) iterations of Newton and Schulz take the singular values of `u` near 1:
//!
//! ```text
//! X = u / |u|                    # of u or its transpose: that with fewer rows than columns
//! A = X X^T;  B = b A + c A A;  X = a X + B X
//! w = w decay - rate (X scale)
//! ```
//!
//! Most programs do this in bfloat16: products are added up in float32 and rounded once, and so is each operation on
//! elements. They differ in what one operation is. K. Jordan's `muon.py` has separate ones: `b A`, `c A`, `(c A) A`, `a X`,
//! `B X` and both sums are rounded each, epsilon is added to the norm. `torch.optim.Muon` of PyTorch 2.15 rounds
//! `b A + c A A` and `a X + B X` once, and the norm is at least epsilon. Both round `u`, its norm and `X / |u|`. Where
//! `torch.compile` takes the former, `u` and its norm are not rounded, nor are products before what is added to them.

use rayon::prelude::*;

use super::adamw::{SHARE, squares};
use super::isa::portable;
use super::product::{Matrix, product};
use super::{Buffer, Isa, Real, buffer};

/// The numbers of one update, each computed in float64 by the caller and rounded once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuonUpdate<T> {
    /// Factor of the gradient.
    pub clip: T,
    /// Learning rate.
    pub rate: T,
    /// Factor of the weight: one less rate times weight decay.
    pub decay: T,
    /// How much of the mean stays, and one less it.
    pub momentum: [T; 2],
    /// Whether the step looks ahead.
    pub nesterov: bool,
    /// Iterations of Newton and Schulz.
    pub steps: u32,
    /// Their `a`, `b` and `c`.
    pub coefficients: [T; 3],
    /// The epsilon that keeps the norm from being zero.
    pub epsilon: T,
    /// Factor of the nearly orthogonal matrix, before the rate.
    pub scale: T,
    /// Which operations are one.
    pub operations: Operations,
    /// The parts rounded to bfloat16.
    pub rounding: MuonRounding,
}

/// Which operations are one, so that what they come to is rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    /// Each by itself, as `muon.py` runs.
    Separate,
    /// A product and what is added to it, as in PyTorch; the norm is at least epsilon, which is not added.
    Fused,
    /// A product and what is added to it, and all before the first product, as `muon.py` runs when it is compiled.
    Compiled,
}

/// The rounding of each operation's result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MuonRounding {
    /// It stays as it is.
    None,
    /// It is rounded to bfloat16.
    Bfloat16,
    /// It is moved up or down at random, then rounded to bfloat16: what roundings at the edge do.
    Disturbed {
        /// The key of the draws.
        seed: u64,
        /// How far numbers are moved, relative to them. Bfloat16 resolves about 2^-7.
        share: f64,
        /// How far the norm is moved, relative to it.
        norm: f64,
    },
}

impl MuonRounding {
    #[inline(always)]
    fn of<T: Real>(self, value: T, at: usize) -> T {
        match self {
            Self::None => value,
            Self::Bfloat16 => value.bfloat16(),
            Self::Disturbed { seed, share, .. } => {
                let off = value * T::from_f64(share);
                (if is_up(seed, at) { value + off } else { value - off }).bfloat16()
            }
        }
    }

    /// Of a norm, which is a sum that other programs take in another order.
    fn of_norm<T: Real>(self, norm: f64) -> T {
        match self {
            Self::None => T::from_f64(norm),
            Self::Bfloat16 => T::from_f64(norm).bfloat16(),
            Self::Disturbed { seed, norm: off, .. } => {
                let sign = if is_up(seed, 0) { 1.0 } else { -1.0 };
                T::from_f64(norm * (1.0 + sign * off)).bfloat16()
            }
        }
    }

    /// That of the next operation.
    fn next(&mut self) -> Self {
        let this = *self;
        if let Self::Disturbed { seed, .. } = self {
            *seed = seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        }
        this
    }
}

/// A coin for the number at a place.
#[inline(always)]
fn is_up(seed: u64, at: usize) -> bool {
    let mixed = (seed ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 63 == 1
}

/// Updates a matrix `w` of so many rows and columns and its mean `m` by its gradient `g`, by the threads of the current
/// pool.
///
/// # Panics
/// Where there are not as many of each.
pub fn step<T: Real>(
    isa: Isa,
    w: &mut [T],
    g: &[T],
    m: &mut [T],
    [rows, columns]: [usize; 2],
    update: &MuonUpdate<T>,
) {
    let length = rows * columns;
    assert!([w.len(), g.len(), m.len()] == [length; 3], "the shape of an update");
    let mut ahead = buffer::<T>(length);
    let all = ahead.par_chunks_mut(SHARE).zip(g.par_chunks(SHARE)).zip(m.par_chunks_mut(SHARE));
    all.for_each(|((u, g), m)| mean_part(isa, u, g, m, update));
    let mut rounding = update.rounding;
    let step = match rows > columns {
        true => {
            let turned = transposed(&ahead, rows, columns);
            transposed(&orthogonal(isa, turned, columns, update, &mut rounding), columns, rows)
        }
        false => orthogonal(isa, ahead, rows, update, &mut rounding),
    };
    let all = w.par_chunks_mut(SHARE).zip(step.par_chunks(SHARE)).enumerate();
    let rounding = rounding.next();
    all.for_each(|(part, (w, step))| move_part(isa, w, step, part * SHARE, rounding, update));
}

/// A matrix of `rows` rows, no more than it has columns, with singular values near 1.
fn orthogonal<T: Real>(
    isa: Isa,
    mut x: Buffer<T>,
    rows: usize,
    update: &MuonUpdate<T>,
    rounding: &mut MuonRounding,
) -> Buffer<T> {
    let MuonUpdate { coefficients: [a, b, c], epsilon, operations, .. } = *update;
    let columns = x.len() / rows.max(1);
    let (is_fused, is_compiled) =
        (operations == Operations::Fused, operations == Operations::Compiled);
    // What is rounded where an operation is one by itself, and where it is not one with its product.
    let where_one = |rounding: &mut MuonRounding, is_one: bool| match is_one {
        true => rounding.next(),
        false => MuonRounding::None,
    };
    scale(isa, &mut x, where_one(rounding, !is_compiled), |value| value);
    let norm: T = where_one(rounding, !is_compiled).of_norm(libm::sqrt(squares(isa, &x)));
    let divisor = match is_fused {
        true if norm > epsilon => norm,
        true => epsilon,
        false => where_one(rounding, !is_compiled).of(norm + epsilon, 0),
    };
    scale(isa, &mut x, rounding.next(), |value| value / divisor);
    let (mut gram, mut square) = (buffer::<T>(rows * rows), buffer::<T>(rows * rows));
    let mut moved = buffer::<T>(x.len());
    for _ in 0..update.steps {
        let of_x = Matrix::new(&x, rows, columns);
        product(isa, &mut gram, of_x, of_x.transposed(), None);
        scale(isa, &mut gram, rounding.next(), |value| value);
        if is_fused {
            let of_gram = Matrix::new(&gram, rows, rows);
            product(isa, &mut square, of_gram, of_gram, None);
            add(
                isa,
                &mut square,
                &gram,
                [c, b],
                [MuonRounding::None, MuonRounding::None, rounding.next()],
            );
        } else {
            let mut times_c = buffer::<T>(gram.len());
            times_c.copy_from_slice(&gram);
            scale(isa, &mut times_c, rounding.next(), |value| value * c);
            let (left, right) = (Matrix::new(&times_c, rows, rows), Matrix::new(&gram, rows, rows));
            product(isa, &mut square, left, right, None);
            let each = [where_one(rounding, !is_compiled), rounding.next(), rounding.next()];
            add(isa, &mut square, &gram, [T::ONE, b], each);
        }
        product(isa, &mut moved, Matrix::new(&square, rows, rows), of_x, None);
        let alone = where_one(rounding, operations == Operations::Separate);
        let scaled = where_one(rounding, !is_fused);
        let each = [alone, scaled, rounding.next()];
        add(isa, &mut moved, &x, [T::ONE, a], each);
        std::mem::swap(&mut x, &mut moved);
    }
    x
}

/// Rows as columns.
fn transposed<T: Real>(of: &[T], rows: usize, columns: usize) -> Buffer<T> {
    let mut turned = buffer::<T>(of.len());
    turned.par_chunks_mut(rows.max(1)).enumerate().for_each(|(column, into)| {
        for (row, into) in into.iter_mut().enumerate() {
            *into = of[row * columns + column];
        }
    });
    turned
}

/// Rounds what `to` makes of each number.
fn scale<T: Real>(
    isa: Isa,
    x: &mut [T],
    rounding: MuonRounding,
    to: impl Fn(T) -> T + Sync + Copy,
) {
    let parts = x.par_chunks_mut(SHARE).enumerate();
    parts.for_each(|(part, x)| {
        for value in x.iter_mut() {
            *value = to(*value);
        }
        round_part(isa, x, part * SHARE, rounding);
    });
}

/// `y = y first + x second`, where both products and the sum are rounded in these ways.
fn add<T: Real>(isa: Isa, y: &mut [T], x: &[T], factors: [T; 2], rounding: [MuonRounding; 3]) {
    let parts = y.par_chunks_mut(SHARE).zip(x.par_chunks(SHARE)).enumerate();
    parts.for_each(|(part, (y, x))| add_part(isa, y, x, part * SHARE, factors, rounding));
}

/// A number on the way from one to another, as PyTorch goes it: from the nearer end, rounded once.
#[inline(always)]
fn between<T: Real>(from: T, to: T, weight: T) -> T {
    match weight < T::from_f64(0.5) {
        true => weight.fma(to - from, from),
        false => (weight - T::ONE).fma(to - from, to),
    }
}

portable! {
    fn mean_part<T: Real>(u: &mut [T], g: &[T], m: &mut [T], update: &MuonUpdate<T>) {
        let MuonUpdate { clip, momentum: [kept, new], nesterov, .. } = *update;
        for ((u, g), m) in u.iter_mut().zip(g).zip(m) {
            let h = *g * clip;
            *m = between(*m, h, new);
            *u = if nesterov { between(h, *m, kept) } else { *m };
        }
    }

    fn round_part<T: Real>(x: &mut [T], from: usize, rounding: MuonRounding) {
        for (at, x) in x.iter_mut().enumerate() {
            *x = rounding.of(*x, from + at);
        }
    }

    fn add_part<T: Real>(
        y: &mut [T], x: &[T], from: usize, factors: [T; 2], rounding: [MuonRounding; 3],
    ) {
        for (at, (y, x)) in y.iter_mut().zip(x).enumerate() {
            let place = from + at;
            let first = rounding[0].of(*y * factors[0], place);
            let second = rounding[1].of(*x * factors[1], place);
            *y = rounding[2].of(first + second, place);
        }
    }

    fn move_part<T: Real>(
        w: &mut [T], step: &[T], from: usize, rounding: MuonRounding, update: &MuonUpdate<T>,
    ) {
        let MuonUpdate { rate, decay, scale, .. } = *update;
        for (at, (w, step)) in w.iter_mut().zip(step).enumerate() {
            let step = if scale == T::ONE { *step } else { rounding.of(*step * scale, from + at) };
            *w = *w * decay - rate * step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Operations::{Compiled, Fused, Separate};
    use super::*;

    const COEFFICIENTS: [f64; 3] = [3.4445, -4.7750, 2.0315];

    fn update<T: Real>(
        operations: Operations,
        nesterov: bool,
        rounding: MuonRounding,
    ) -> MuonUpdate<T> {
        let of = T::from_f64;
        MuonUpdate {
            clip: T::ONE,
            rate: of(0.1),
            decay: of(1.0 - 0.1 * 0.2),
            momentum: [of(0.9), of(1.0 - 0.9)],
            nesterov,
            steps: 5,
            coefficients: COEFFICIENTS.map(of),
            epsilon: of(1e-7),
            scale: T::ONE,
            operations,
            rounding,
        }
    }

    /// Three steps as PyTorch 2.15 made them (`torch.optim.Muon`, and `muon_update` of `muon.py`) on these weights and
    /// gradients.
    fn three<T: Real>(isa: Isa, [rows, columns]: [usize; 2], update: MuonUpdate<T>) -> Vec<f64> {
        let n = rows * columns;
        let number = |at: usize, of: [usize; 4]| {
            (((at * of[0] + of[1]) % of[2]) as f64 - (of[2] / 2) as f64) / of[3] as f64
        };
        let numbers = |of| (0..n).map(|at| T::from_f64(number(at, of))).collect::<Vec<_>>();
        let (mut w, mut m) = (numbers([37, 0, 19, 16]), vec![T::ZERO; n]);
        let scale = (rows as f64 / columns as f64).max(1.0).sqrt();
        let scaled = match update.operations {
            Fused => MuonUpdate { rate: T::from_f64(0.1 * scale), ..update },
            _ => MuonUpdate { scale: T::from_f64(scale), ..update },
        };
        for at in 0..3 {
            let g = numbers([29, at * 11, 23, 8]);
            step(isa, &mut w, &g, &mut m, [rows, columns], &scaled);
        }
        w.into_iter().map(T::to_f64).collect()
    }

    /// Three elements and the sum of all magnitudes.
    fn told(w: &[f64]) -> [f64; 5] {
        [w[0], w[1], w[w.len() / 2], w[w.len() - 1], w.iter().map(|w| w.abs()).sum()]
    }

    fn near(found: &[f64], expected: [f64; 5], off: f64) {
        for (found, expected) in told(found).into_iter().zip(expected) {
            assert!((found - expected).abs() < off, "{found} {expected}");
        }
    }

    #[test]
    fn steps_are_those_of_pytorch() {
        let shapes = [([6, 4], true), ([4, 6], true), ([5, 5], true), ([5, 5], false)];
        for (at, (shape, nesterov)) in shapes.into_iter().enumerate() {
            for (operations, bfloat16, float32) in
                [(Separate, REFERENCE, REFERENCE_F32), (Fused, TORCH, TORCH_F32)]
            {
                let narrow = update::<f32>(operations, nesterov, MuonRounding::Bfloat16);
                near(&three(Isa::best(), shape, narrow), bfloat16[at], 2e-6);
                let exact = update::<f32>(operations, nesterov, MuonRounding::None);
                near(&three(Isa::best(), shape, exact), float32[at], 2e-6);
                let wide = update::<f64>(operations, nesterov, MuonRounding::Bfloat16);
                near(&three(Isa::best(), shape, wide), bfloat16[at], 2e-6);
            }
        }
    }

    const REFERENCE: [[f64; 5]; 4] = [
        [-0.510001898, 0.682674229, -0.0973831043, 0.493881136, 8.7199553],
        [-0.491277665, 0.556779742, -0.0341016687, 0.438952655, 8.7134929],
        [-0.443781108, 0.568893075, -0.0195777528, 0.277972817, 8.38094697],
        [-0.40882799, 0.591670454, 0.0400316268, 0.314543158, 8.73439746],
    ];
    const REFERENCE_F32: [[f64; 5]; 4] = [
        [-0.49743557, 0.681596696, -0.0921830982, 0.496529281, 8.70624041],
        [-0.490113437, 0.558997035, -0.0307151861, 0.433698744, 8.72956087],
        [-0.442033917, 0.567542851, -0.0207788907, 0.279958546, 8.38432461],
        [-0.407138705, 0.592652082, 0.038017299, 0.314705878, 8.73509441],
    ];
    const TORCH: [[f64; 5]; 4] = [
        [-0.514520705, 0.688847184, -0.0934989229, 0.497094989, 8.74040981],
        [-0.489968657, 0.558166981, -0.0322442465, 0.435076565, 8.72429317],
        [-0.443382233, 0.56971246, -0.0208246708, 0.280371904, 8.38704735],
        [-0.408429116, 0.593221247, 0.0365239643, 0.31430158, 8.73362083],
    ];
    const TORCH_F32: [[f64; 5]; 4] = [
        [-0.497435659, 0.681596994, -0.0921827778, 0.496529102, 8.70623978],
        [-0.490113229, 0.558997095, -0.0307152551, 0.433698744, 8.7295605],
        [-0.442033827, 0.567542911, -0.0207788683, 0.279958487, 8.38432406],
        [-0.407138824, 0.592652142, 0.0380173288, 0.314705878, 8.73509471],
    ];

    #[test]
    fn threads_and_instructions_leave_the_bits_alone() {
        let disturbed = MuonRounding::Disturbed { seed: 7, share: 1e-4, norm: 1e-5 };
        for rounding in [MuonRounding::None, MuonRounding::Bfloat16, disturbed] {
            for (shape, operations) in
                [([150, 120], Separate), ([110, 170], Fused), ([90, 140], Compiled)]
            {
                let run = |isa, threads| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let steps = || three(isa, shape, update::<f32>(operations, true, rounding));
                    pool.unwrap().install(steps)
                };
                let first = run(Isa::SCALAR, 1);
                assert!(first.iter().all(|w| w.is_finite()));
                for isa in Isa::available() {
                    for threads in 1..=3 {
                        assert!(run(isa, threads) == first, "{} {threads}", isa.name());
                    }
                }
            }
        }
    }

    #[test]
    fn a_disturbance_is_small_and_depends_on_its_seed() {
        let of = |rounding| three(Isa::best(), [40, 30], update::<f32>(Separate, true, rounding));
        let plain = of(MuonRounding::Bfloat16);
        let disturbed = |seed| of(MuonRounding::Disturbed { seed, share: 1e-4, norm: 0.0 });
        assert!(disturbed(1) == disturbed(1) && disturbed(1) != disturbed(2));
        let apart = super::super::reduce::distance(&disturbed(1), &plain);
        let size = super::super::reduce::length(&plain);
        assert!(0.0 < apart && apart < 0.02 * size, "{apart} of {size}");
    }

    #[test]
    fn nothing_moves_where_there_is_no_gradient() {
        for operations in [Separate, Fused, Compiled] {
            let (mut w, mut m) = (vec![1.0_f32; 6], vec![0.0; 6]);
            let still = update(operations, true, MuonRounding::Bfloat16);
            step(Isa::best(), &mut w, &[0.0; 6], &mut m, [2, 3], &still);
            assert!(w.iter().all(|w| (w - 0.98).abs() < 1e-7), "{w:?}");
        }
    }
}
