//! The surprise of targets under the softmax of logits, in nats.

use super::Real;
use super::isa::portable;
use super::reduce::{largest, sum};

/// The terms of the loss besides the cross-entropy, in models of others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regularization<T> {
    /// The share of a target that is spread evenly over all columns (C. Szegedy et al., 2016).
    pub smoothing: T,
    /// The weight of the square of `ln sum e^x` (A. Chowdhery et al., 2022).
    pub z: T,
}

portable! {
    /// As [`forward`], of a target of which a share is spread over all C columns, and with the loss of large logits: with
    /// `L = m + ln S`, the nats are `L - (1 - a) x_t - (a / C) sum x`, for which `squares` gets `L^2`, and the gradient of the
    /// means of both, the second by its weight z, is `q ((e^(x - m) / S) (1 + 2 z L) - a / C)`, less `q (1 - a)` at t.
    ///
    /// # Panics
    /// Where the shapes do not fit, or a target is no column.
    pub fn regularized<T: Real>(
        rows: usize, extra: Regularization<T>, logits: &mut [T], targets: &[u32], nats: &mut [T],
        squares: &mut [T],
    ) {
        let columns = check(logits.len(), targets.len(), nats.len());
        let Regularization { smoothing, z } = extra;
        let q = T::ONE / T::from_f64(rows as f64);
        let (rest, each) = (T::ONE - smoothing, smoothing / T::from_f64(columns as f64));
        let all = logits.chunks_exact_mut(columns).zip(targets).zip(nats.iter_mut().zip(squares));
        for ((x, target), (nats, square)) in all {
            let target = *target as usize;
            let (most, at_target, spread) = (largest(x), x[target], sum([&*x], |[x]| x));
            for x in x.iter_mut() {
                *x = (*x - most).exponential();
            }
            let total = sum([&*x], |[x]| x);
            let size = most + total.logarithm();
            *nats = size - rest * at_target - each * spread;
            *square = size * size;
            let factor = (T::ONE + (z + z) * size) / total;
            for x in x.iter_mut() {
                *x = q * (*x * factor - each);
            }
            x[target] -= q * rest;
        }
    }

    /// Writes the nats of each row's target, and puts in place of the logits the gradient of the mean
    /// nats over `rows` rows: with `m` the largest logit and `S = sum e^(x - m)`, the nats of target t are
    /// `ln S + (m - x_t)`, and the gradient is `e^(x - m) (q / S)`, less q at t, where `q = 1 / rows`.
    ///
    /// # Panics
    /// Where the shapes do not fit, or a target is no column.
    pub fn forward<T: Real>(rows: usize, logits: &mut [T], targets: &[u32], nats: &mut [T]) {
        let columns = check(logits.len(), targets.len(), nats.len());
        let q = T::ONE / T::from_f64(rows as f64);
        let all = logits.chunks_exact_mut(columns).zip(targets).zip(nats);
        for ((x, target), nats) in all {
            let target = *target as usize;
            let (most, at_target) = (largest(x), x[target]);
            for x in x.iter_mut() {
                *x = (*x - most).exponential();
            }
            let total = sum([&*x], |[x]| x);
            *nats = total.logarithm() + (most - at_target);
            let factor = q / total;
            for x in x.iter_mut() {
                *x *= factor;
            }
            x[target] -= q;
        }
    }

    /// Writes the nats of each row's target, as [`forward`] does, and whether the target is the first of
    /// the largest logits.
    ///
    /// # Panics
    /// Where the shapes do not fit, or a target is no column.
    pub fn score<T: Real>(logits: &[T], targets: &[u32], nats: &mut [T], greedy: &mut [bool]) {
        let columns = check(logits.len(), targets.len(), nats.len());
        let all = logits.chunks_exact(columns).zip(targets).zip(nats).zip(greedy);
        for (((x, target), nats), greedy) in all {
            let target = *target as usize;
            let (most, at_target) = (largest(x), x[target]);
            let total = sum([x], |[x]| (x - most).exponential());
            *nats = total.logarithm() + (most - at_target);
            *greedy = x.iter().position(|x| *x == most) == Some(target);
        }
    }
}

/// How many columns there are; one where there are no rows.
fn check(logits: usize, targets: usize, nats: usize) -> usize {
    let columns = logits.checked_div(targets).unwrap_or(1);
    assert!(columns * targets == logits && nats == targets, "the shape of a cross-entropy");
    columns.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::portable::Isa;

    #[test]
    fn nats_are_those_of_the_softmax() {
        let rows = [[0.0_f64, 1.0, 3.0], [800.0, 0.0, -800.0]];
        let targets = [1, 0];
        for isa in Isa::available() {
            let (mut logits, mut nats) = (rows.concat(), [f64::NAN; 2]);
            let (mut again, mut greedy) = ([f64::NAN; 2], [true, false]);
            score(isa, &logits, &targets, &mut again, &mut greedy);
            forward(isa, 4, &mut logits, &targets, &mut nats);
            assert_eq!(nats, again);
            assert_eq!(greedy, [false, true]);
            let total: f64 = rows[0].iter().map(|x| x.exp()).sum();
            assert!((nats[0] - (total.ln() - 1.0)).abs() < 1e-15);
            assert_eq!(nats[1], 0.0);
            let one = |of: usize| f64::from(u8::from(of == 1));
            for (i, x) in rows[0].iter().enumerate() {
                assert!((logits[i] - (x.exp() / total - one(i)) / 4.0).abs() < 1e-15);
            }
            assert_eq!(logits[3..], [0.0, 0.0, 0.0]);
        }
    }

    #[test]
    fn the_first_of_equals_is_the_guess() {
        let logits = [2.0_f32, 2.0, 1.0, 2.0, 2.0, 1.0, f32::NAN, 0.0, 0.0];
        let (mut nats, mut greedy) = ([0.0; 3], [false; 3]);
        score(Isa::best(), &logits, &[0, 1, 0], &mut nats, &mut greedy);
        assert_eq!(greedy, [true, false, false]);
        assert!(nats[2].is_nan());
    }

    #[test]
    fn smoothed_targets_and_large_logits_have_their_gradients() {
        let extra = Regularization { smoothing: 0.1, z: 0.01 };
        let x = [0.5_f64, -1.0, 3.0, 0.25, 2.0, 0.0];
        let loss = |x: &[f64]| {
            let (mut x, mut nats, mut squares) = (x.to_vec(), [0.0; 2], [0.0; 2]);
            regularized(Isa::best(), 2, extra, &mut x, &[1, 2], &mut nats, &mut squares);
            ((nats[0] + nats[1]) / 2.0, (squares[0] + squares[1]) / 2.0, x)
        };
        let (nats, squares, g) = loss(&x);
        // `torch.nn.functional.cross_entropy` 2.15 with `label_smoothing`, and the mean of squares.
        assert!((nats - 3.053_343_961_187_453_5).abs() < 1e-14, "{nats}");
        assert!((squares - 7.366_567_512_837_284).abs() < 1e-14, "{squares}");
        for (at, g) in g.iter().enumerate() {
            let moved = |by: f64| {
                let mut x = x;
                x[at] += by;
                let (nats, squares, _) = loss(&x);
                nats + 0.01 * squares
            };
            let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((g - expected).abs() < 1e-9, "{at}: {g} {expected}");
        }
        let (mut plain, mut with) = (x, x);
        let (mut nats, mut squares) = ([0.0; 4], [0.0; 2]);
        let (first, second) = nats.split_at_mut(2);
        forward(Isa::best(), 2, &mut plain, &[1, 2], first);
        let none = Regularization { smoothing: 0.0, z: 0.0 };
        regularized(Isa::best(), 2, none, &mut with, &[1, 2], second, &mut squares);
        let pairs = plain.iter().zip(&with).chain(first.iter().zip(&*second));
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-15));
    }
}
