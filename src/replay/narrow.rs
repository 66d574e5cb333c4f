//! How far sums and norms of other programs may be off, because they add up in float32.
//!
//! A norm is the root of a sum of squares. We take it in float64; other programs take it in float32, in an order that is
//! theirs: with vectors of some width, over tensors one by one or over all of them at once. Two things make such a sum
//! wrong. Each addition rounds: of n terms in four lanes, which is the narrowest vector of any processor, the roundings
//! add up to at most 6 u sqrt(n / 4) of the sum but once in 10^8 cases (Hoeffding's inequality; u = 2^-24, each rounding
//! at most u of a sum that only grows), and the root has half of that. And where a term is less than half the last place
//! of its sum it is lost, always in the same direction. How much is lost depends on the numbers, so that we add up the
//! very squares in float32 and four lanes and see: programs with more lanes, with trees or with blocks lose less. Three
//! times that is allowed: so much is lost, at most, when the large ones come first.

/// Half the distance of float32 from 1 to the next number.
const UNIT: f64 = 1.0 / 16_777_216.0;
/// The lanes of the narrowest vector.
pub const LANES: usize = 4;
/// How many times more is lost where squares are added up from the largest down.
const ORDERS: f64 = 3.0;
/// How often a weight is written as the number beside it at most, how far ways are off, relative to them, and `ln 10^8`.
const OFTEN: f64 = 0.5;
const NEAR: f64 = 16.0 * UNIT;
const SELDOM: f64 = 18.420_680_743_952_367;
/// Of the normal distribution's standard deviations; by Hoeffding a larger sum of roundings is once in 10^8 cases.
const DEVIATIONS: f64 = 6.0;

/// Some terms, added up in float32.
#[derive(Debug, Clone, Default)]
pub struct NarrowSum {
    lanes: [f32; LANES],
    exact: f64,
    count: u64,
}

impl NarrowSum {
    /// Of these terms.
    pub fn of(terms: impl IntoIterator<Item = f64>) -> Self {
        let mut own = Self::default();
        terms.into_iter().for_each(|term| own.add(term as f32, term));
        own
    }

    /// Adds a term, as float32 has it and as it is.
    fn add(&mut self, narrow: f32, exact: f64) {
        if let Some(lane) = self.lanes.get_mut(self.count as usize % LANES) {
            *lane += narrow;
        }
        self.exact += exact;
        self.count += 1;
    }

    /// By how much of itself the sum is too large in float32.
    pub fn off(&self) -> f64 {
        let [a, b, c, d] = self.lanes;
        let off = f64::from((a + b) + (c + d)) / self.exact - 1.0;
        if off.is_finite() { off } else { 0.0 }
    }
}

/// How far sums of so many terms are off, relative to them, as a standard deviation: each rounding is at most a unit of a sum
/// that only grows.
pub fn spread(count: usize) -> f64 {
    UNIT * (count as f64 / LANES as f64).sqrt()
}

/// How far a sum of so many equal terms may be off, relative to it: they are rounded in one direction as long as the sum has one
/// exponent, by half a unit on average of what may be.
pub fn drift(count: usize) -> f64 {
    0.25 * UNIT * count as f64 / LANES as f64
}

/// The squares of some numbers, added up in float32.
#[derive(Debug, Clone, Default)]
pub struct NarrowNorm(NarrowSum);

impl NarrowNorm {
    /// Of these numbers alone.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut own = Self::default();
        own.add(values);
        own
    }

    /// Adds the squares of more numbers.
    pub fn add(&mut self, values: impl IntoIterator<Item = f64>) {
        for value in values {
            let narrow = value as f32;
            self.0.add(narrow * narrow, value * value);
        }
    }

    /// How far a float32 norm of these numbers may be off, relative to it.
    pub fn error(&self) -> f64 {
        let lost = (1.0 + self.0.off()).sqrt() - 1.0;
        ORDERS * lost.abs() + rounding(self.0.count)
    }
}

/// How far a float32 norm of so many numbers may be off by rounding alone, relative to it.
pub fn rounding(count: u64) -> f64 {
    let added = 0.5 * DEVIATIONS * spread(count as usize);
    // The root, and the number as it is logged.
    added + 2.0 * UNIT
}

/// How far the length of a way may be off, relative to it, because weights are written as float32: another program may write
/// the next number up or down, where its way ends near the middle between two; or in half of all places, where decay is a
/// rounding of its own. `pairs` are weights before and after so many steps.
///
/// With `c_i` the last place of a weight times its way, M the largest, V the variance of all, K the expected number of them
/// and `L = ln 10^8`, the sum of those that are written otherwise is less than the smaller of two bounds but once in 10^8
/// cases. They have no common sign: `M L / 3 + sqrt((M L / 3)^2 + 2 L V)` (Bernstein). And they are few: F M, where
/// `(e K / F)^F e^-K` is 10^-8 (Chernoff).
pub fn written(pairs: impl Iterator<Item = (f64, f64)>, steps: u64, decays: bool) -> f64 {
    let steps = steps as f64;
    let (mut variance, mut most, mut length) = (0.0, 0.0_f64, 0.0);
    let (mut expected, mut places) = (0.0, 0.0);
    for (before, after) in pairs {
        let (way, place) = (after - before, last_place(before.abs().max(after.abs())));
        let often = if decays { OFTEN } else { (NEAR * way.abs() / place).min(OFTEN) };
        let own = place * way.abs();
        variance += steps * often * own * own;
        most = most.max(own);
        length += way * way;
        expected += steps * often;
        places += steps * often * place * place;
    }
    if length == 0.0 {
        return 0.0;
    }
    let seldom = most * SELDOM / 3.0;
    let without_sign = seldom + (seldom * seldom + 2.0 * SELDOM * variance).sqrt();
    let sum = without_sign.min(most_of(expected) * most);
    (sum + 0.5 * places) / length
}

/// How many events there are at most, but once in 10^8 cases, of which so many are expected.
fn most_of(expected: f64) -> f64 {
    let is_seldom = |most: &f64| most * libm::log(most / expected) - most + expected >= SELDOM;
    let from = expected.ceil() as u64 + 1;
    (from..from.saturating_mul(64).saturating_add(64))
        .map(|most| most as f64)
        .find(is_seldom)
        .unwrap_or(f64::INFINITY)
}

/// The distance from a positive number to the next float32.
fn last_place(number: f64) -> f64 {
    let narrow = number as f32;
    f64::from(narrow.next_up()) - f64::from(narrow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_stats::rng::Rng;

    /// A float32 norm with so many lanes.
    fn norm(values: &[f32], lanes: usize) -> f64 {
        let mut sums = vec![0.0_f32; lanes];
        for chunk in values.chunks(lanes) {
            sums.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += value * value);
        }
        f64::from(sums.iter().sum::<f32>().sqrt())
    }

    #[test]
    fn sums_in_any_order_lie_within() {
        let mut rng = Rng::new(1, "gradients");
        for count in [1, 10, 1000, 100_000, 3_000_000] {
            let mut values: Vec<f32> = (0..count)
                .map(|at| ((rng.unit() - 0.5) * if at % 97 == 0 { 30.0 } else { 1.0 }) as f32)
                .collect();
            let exact = NarrowNorm::of(values.iter().copied().map(f64::from));
            for order in 0..3 {
                match order {
                    1 => values.reverse(),
                    2 => values.sort_by(|a, b| b.abs().total_cmp(&a.abs())),
                    _ => {}
                }
                for lanes in [4, 8, 16, 32, 64] {
                    let off = (norm(&values, lanes) / exact.0.exact.sqrt() - 1.0).abs();
                    assert!(
                        off <= exact.error(),
                        "{count} {order} {lanes}: {off} {}",
                        exact.error()
                    );
                }
            }
            assert!(exact.error() < 2e-3, "{count}: {}", exact.error());
        }
    }

    #[test]
    fn ways_of_weights_that_are_written_otherwise_lie_within() {
        let mut rng = Rng::new(2, "weights");
        for (count, rate) in [(16, 1e-5), (64, 3e-4), (4096, 1e-4), (4096, 1e-2)] {
            let mut draw = || (rng.unit() - 0.5, rng.unit(), rng.below(4));
            let all: Vec<_> = (0..count).map(|_| draw()).collect();
            let weights = all.iter().map(|(way, near, _)| {
                let before = (1.0 + 0.01 * (near - 0.5)) as f32;
                (f64::from(before), f64::from(before + (rate * way) as f32))
            });
            let weights: Vec<_> = weights.collect();
            let other = std::iter::zip(&weights, &all).map(|((before, after), (.., moved))| {
                let after = *after as f32;
                (
                    *before,
                    f64::from([after, after.next_up(), after.next_down(), after][*moved as usize]),
                )
            });
            let length = |pairs: &[(f64, f64)]| {
                pairs.iter().map(|(before, after)| (after - before).powi(2)).sum::<f64>().sqrt()
            };
            let other: Vec<_> = other.collect();
            let off = (length(&other) / length(&weights) - 1.0).abs();
            let allowed = written(weights.iter().copied(), 1, true);
            let typical = last_place(1.0) / (0.3 * rate * f64::from(count).sqrt());
            assert!(off <= allowed && allowed < 15.0 * typical, "{count} {rate}: {off} {allowed}");
            assert!(written(weights.iter().copied(), 1, false) < 0.75 * allowed);
        }
        assert_eq!(written([(1.0, 1.0)].into_iter(), 3, true), 0.0);
    }

    #[test]
    fn few_events_are_expected_and_few_happen() {
        // Of Poisson's distribution: at least so many are seen once in 10^8 cases.
        for (expected, most) in [(1e-3, 3.0), (0.01, 4.0), (1.0, 12.0), (100.0, 167.0)] {
            assert_eq!(most_of(expected), most, "{expected}");
        }
    }

    #[test]
    fn a_sum_that_stands_still_is_seen() {
        // From 2^24 terms of 1 on a float32 sum does not grow.
        let error = NarrowNorm::of(std::iter::repeat_n(1.0, 80_000_000)).error();
        assert!(error > 0.1, "{error}");
        assert_eq!(NarrowNorm::of([0.0; 9]).error(), 0.5 * 6.0 * UNIT * 1.5 + 2.0 * UNIT);
    }
}
