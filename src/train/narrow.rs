//! How far the norms that other programs log may be off, because they add up squares in float32.
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
/// Of the normal distribution's standard deviations; by Hoeffding a larger sum of roundings is once in 10^8 cases.
const DEVIATIONS: f64 = 6.0;

/// The squares of some numbers, added up in float32.
#[derive(Debug, Clone, Default)]
pub struct NarrowNorm {
    lanes: [f32; LANES],
    exact: f64,
    count: u64,
}

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
            if let Some(lane) = self.lanes.get_mut(self.count as usize % LANES) {
                *lane += narrow * narrow;
            }
            self.exact += value * value;
            self.count += 1;
        }
    }

    /// How far a float32 norm of these numbers may be off, relative to it.
    pub fn error(&self) -> f64 {
        let [a, b, c, d] = self.lanes;
        let lost = (f64::from((a + b) + (c + d)) / self.exact).sqrt() - 1.0;
        let lost = if lost.is_finite() { lost.abs() } else { 0.0 };
        ORDERS * lost + rounding(self.count)
    }
}

/// How far a float32 norm of so many numbers may be off by rounding alone, relative to it.
pub fn rounding(count: u64) -> f64 {
    let added = 0.5 * DEVIATIONS * UNIT * (count as f64 / LANES as f64).sqrt();
    // The root, and the number as it is logged.
    added + 2.0 * UNIT
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
                    let off = (norm(&values, lanes) / exact.exact.sqrt() - 1.0).abs();
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
    fn a_sum_that_stands_still_is_seen() {
        // From 2^24 terms of 1 on a float32 sum does not grow.
        let error = NarrowNorm::of(std::iter::repeat_n(1.0, 80_000_000)).error();
        assert!(error > 0.1, "{error}");
        assert_eq!(NarrowNorm::of([0.0; 9]).error(), 0.5 * 6.0 * UNIT * 1.5 + 2.0 * UNIT);
    }
}
