//! The surprise of targets under the softmax of logits, in nats.

use super::Real;
use super::isa::portable;
use super::reduce::{largest, sum};

portable! {
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
    use crate::Isa;

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
}
