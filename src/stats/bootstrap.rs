//! Bootstrap intervals of a mean, or of the difference of two means: percentile and BCa.
//!
//! For a list of up to ten values, all resamples are enumerated with integer probabilities, and quantiles invert the
//! distribution function. Longer lists are resampled from a seed, and quantiles are interpolated linearly. The bias
//! correction of BCa counts resamples equal to the estimate by half; its acceleration is the jackknife's.

use super::distribution::{Normal, Symmetric};
use super::{Refused, differences, mean};
use crate::rng::{Draws, Rng};

/// Lists up to this long are enumerated.
pub const ENUMERATED_TO: usize = 10;
/// Below this number of values, the coverage of a bootstrap interval is far below its level: it may be recomputed, but
/// nothing is inferred from it.
pub const INFERENCE_FROM: usize = 8;
/// The allowed number of resamples.
pub const RESAMPLES: std::ops::RangeInclusive<usize> = 100..=10_000_000;
/// The maximum number of values that are drawn for one distribution: some seconds' work.
const MOST_DRAWS: usize = 1 << 30;
/// The maximum number of combinations of two enumerated lists that are themselves enumerated.
const MOST_COMBINATIONS: usize = 1 << 20;
/// Two means this close, in units of the largest value, are one: their sums only differ by rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Lists up to this long are drawn in pairs, from a table of the sums of all pairs.
const PAIRED_TO: usize = 64;

/// The distribution of a mean, or a difference of means, over resamples of the values.
#[derive(Debug, Clone)]
pub struct Resampled {
    /// The statistic of the values themselves.
    pub estimate: f64,
    distribution: Distribution,
    acceleration: f64,
    /// Differences below this are rounding.
    rounding: f64,
}

#[derive(Debug, Clone)]
enum Distribution {
    /// All values in ascending order with the number of their resamples, and the total.
    Enumerated(Vec<(f64, u64)>, u64),
    /// Values in the order drawn.
    Sampled(Vec<f64>),
}

/// A bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Resampled {
    /// Resamples one list: `resamples` times from the seed, or all resamples of a short one.
    ///
    /// ```
    /// use repro_stats::bootstrap::Resampled;
    ///
    /// let drawn = Resampled::of(&[1.0, 2.0, 4.0], 10_000, 7)?;
    /// // 3^3 resamples are few: all are counted, and none is drawn.
    /// assert_eq!(drawn.resamples(), 27);
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    pub fn of(values: &[f64], resamples: usize, seed: u64) -> Result<Self, Refused> {
        let estimate = checked_mean(values)?;
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            return Err(Refused::NoSpread);
        }
        let rounding = ROUNDING * largest(values);
        let distribution = if values.len() <= ENUMERATED_TO {
            merged(enumerated(values), rounding)
        } else {
            check_resamples(resamples, values.len())?;
            let mut means = sampled(values, resamples, &mut Rng::new(seed, "bootstrap"));
            let n = values.len() as f64;
            means.iter_mut().for_each(|sum| *sum /= n);
            Distribution::Sampled(means)
        };
        let acceleration = acceleration(&[(values, estimate, 1.0)]);
        Ok(Self { estimate, distribution, acceleration, rounding })
    }

    /// Resamples the differences a - b of pairs.
    pub fn of_pairs(a: &[f64], b: &[f64], resamples: usize, seed: u64) -> Result<Self, Refused> {
        Self::of(&differences(a, b)?, resamples, seed)
    }

    /// Resamples two lists apart from each other; the statistic is the difference of means a - b.
    pub fn of_two(a: &[f64], b: &[f64], resamples: usize, seed: u64) -> Result<Self, Refused> {
        let (left, right) = (checked_mean(a)?, checked_mean(b)?);
        let flat = |values: &[f64]| values.windows(2).all(|pair| pair[0] == pair[1]);
        if flat(a) && flat(b) {
            return Err(Refused::NoSpread);
        }
        let rounding = ROUNDING * largest(a).max(largest(b));
        let distribution = if combinations(a) * combinations(b) <= MOST_COMBINATIONS {
            let (a, b) = (enumerated(a), enumerated(b));
            let all = a.iter().flat_map(|&(left, many)| {
                b.iter().map(move |&(right, more)| (left - right, many * more))
            });
            merged(all.collect(), rounding)
        } else {
            check_resamples(resamples, a.len().max(b.len()))?;
            let mut differences = sampled(a, resamples, &mut Rng::new(seed, "bootstrap a"));
            let others = sampled(b, resamples, &mut Rng::new(seed, "bootstrap b"));
            let (left_n, right_n) = (a.len() as f64, b.len() as f64);
            for (left, right) in differences.iter_mut().zip(others) {
                *left = *left / left_n - right / right_n;
            }
            Distribution::Sampled(differences)
        };
        let acceleration = acceleration(&[(a, left, 1.0), (b, right, -1.0)]);
        Ok(Self { estimate: left - right, distribution, acceleration, rounding })
    }

    /// The interval between quantiles of the distribution, at a level strictly between 0 and 1.
    pub fn percentile(&self, level: f64) -> Result<BootstrapInterval, Refused> {
        let tail = tail(level)?;
        Ok(self.between(tail, 1.0 - tail))
    }

    /// Bounds for each end of the percentile interval under a different random draw: the order statistics `sds` standard
    /// deviations of a binomial count away from it (distribution-free limits of a quantile: Conover, Practical
    /// Nonparametric Statistics, 3.2). The ends themselves if all resamples were enumerated.
    pub fn drawn_ends(&self, level: f64, sds: f64) -> Result<[BootstrapInterval; 2], Refused> {
        let tail = tail(level)?;
        let reach = match &self.distribution {
            Distribution::Enumerated(..) => 0.0,
            Distribution::Sampled(values) => {
                sds * (tail * (1.0 - tail) / values.len() as f64).sqrt()
            }
        };
        let around = |p: f64| self.between((p - reach).max(0.0), (p + reach).min(1.0));
        Ok([around(tail), around(1.0 - tail)])
    }

    /// The bias-corrected and accelerated interval at a level strictly between 0 and 1.
    pub fn bca(&self, level: f64) -> Result<BootstrapInterval, Refused> {
        let tail = tail(level)?;
        let bias = Normal.quantile(self.share_below())?;
        let corrected = |z: f64| {
            let moved = bias + z;
            Normal.cdf(bias + moved / (1.0 - self.acceleration * moved))
        };
        let reach = Normal.upper_quantile(tail)?;
        let (low, high) = (corrected(-reach)?, corrected(reach)?);
        let usable = |p: f64| p > 0.0 && p < 1.0;
        if !bias.is_finite() || !usable(low) || !usable(high) || low > high {
            return Err(Refused::Degenerate);
        }
        Ok(self.between(low, high))
    }

    /// The standard deviation of the distribution.
    pub fn standard_error(&self) -> f64 {
        let away = |value: f64| (value - self.estimate) * (value - self.estimate);
        match &self.distribution {
            Distribution::Enumerated(support, total) => {
                let shares = support.iter().map(|(value, many)| away(*value) * *many as f64);
                (shares.sum::<f64>() / *total as f64).sqrt()
            }
            Distribution::Sampled(values) => {
                let n = values.len() as f64;
                let bias = values.iter().map(|value| value - self.estimate).sum::<f64>() / n;
                let squares = values.iter().map(|value| away(*value)).sum::<f64>();
                ((squares - n * bias * bias).max(0.0) / (n - 1.0)).sqrt()
            }
        }
    }

    /// The number of distinct values of the distribution, if all resamples were enumerated.
    pub fn support(&self) -> Option<usize> {
        match &self.distribution {
            Distribution::Enumerated(support, _) => Some(support.len()),
            Distribution::Sampled(_) => None,
        }
    }

    /// The probabilities of the smallest and largest value, if all resamples were enumerated. If they exceed the
    /// probability outside the level, the percentile interval covers the whole range.
    pub fn ends(&self) -> Option<[f64; 2]> {
        match &self.distribution {
            Distribution::Enumerated(support, total) => {
                let share = |end: Option<&(f64, u64)>| Some(end?.1 as f64 / *total as f64);
                Some([share(support.first())?, share(support.last())?])
            }
            Distribution::Sampled(_) => None,
        }
    }

    /// The number of resamples, drawn or enumerated.
    pub fn resamples(&self) -> u64 {
        match &self.distribution {
            Distribution::Enumerated(_, total) => *total,
            Distribution::Sampled(values) => values.len() as u64,
        }
    }

    /// The fraction of resamples below the estimate; those equal to it count half.
    fn share_below(&self) -> f64 {
        let weight = |value: f64| {
            let above = value - self.estimate;
            if above.abs() <= self.rounding { 1 } else { 2 * u64::from(above < 0.0) }
        };
        let (twice, total) = match &self.distribution {
            // At most 2^64 resamples: twice as many need more bits.
            Distribution::Enumerated(support, total) => {
                let counts = support
                    .iter()
                    .map(|(value, many)| u128::from(weight(*value)) * u128::from(*many));
                (counts.sum::<u128>() as f64, *total as f64)
            }
            Distribution::Sampled(values) => {
                (values.iter().map(|value| weight(*value)).sum::<u64>() as f64, values.len() as f64)
            }
        };
        twice / (2.0 * total)
    }

    /// The quantiles at two probabilities in order.
    fn between(&self, low: f64, high: f64) -> BootstrapInterval {
        match &self.distribution {
            Distribution::Enumerated(support, total) => {
                let at = |p: f64| inverse(support, *total, p);
                BootstrapInterval { low: at(low), high: at(high) }
            }
            Distribution::Sampled(values) => interpolated(values.clone(), low, high),
        }
    }
}

fn checked_mean(values: &[f64]) -> Result<f64, Refused> {
    if values.len() < 2 {
        return Err(Refused::TooFew { needed: 2, found: values.len() });
    }
    let scale = values.len() as f64 * largest(values);
    if scale.is_infinite() {
        return Err(Refused::OutOfRange);
    }
    mean(values)
}

/// Rejects fewer or more resamples of `n` values than can be drawn.
pub(super) fn check_resamples(found: usize, n: usize) -> Result<(), Refused> {
    let (least, most) = (*RESAMPLES.start(), MOST_DRAWS / n.max(1));
    let most = most.min(*RESAMPLES.end());
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(Refused::Resamples { least, most, found })
}

/// The probability outside a level on one side.
pub(super) fn tail(level: f64) -> Result<f64, Refused> {
    if level > 0.0 && level < 1.0 {
        return Ok((1.0 - level) / 2.0);
    }
    Err(Refused::NotAProbability(level))
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

/// The acceleration from the jackknife of each list's mean: list, mean, and its sign in the statistic.
fn acceleration(lists: &[(&[f64], f64, f64)]) -> f64 {
    let deviations = |(values, mean, sign): &(&[f64], f64, f64)| -> Vec<f64> {
        values.iter().map(|value| sign * (value - mean)).collect()
    };
    let deviations: Vec<_> = lists.iter().map(deviations).collect();
    let scale = deviations.iter().map(|list| largest(list)).fold(0.0, f64::max);
    let (mut cubes, mut squares) = (0.0, 0.0);
    for list in &deviations {
        let n = list.len() as f64;
        cubes += list.iter().map(|one| (one / scale) * (one / scale) * (one / scale)).sum::<f64>()
            / (n * n * n);
        squares += list.iter().map(|one| (one / scale) * (one / scale)).sum::<f64>() / (n * n);
    }
    cubes / (6.0 * squares * squares.sqrt())
}

/// The sums of `resamples` resamples, each as long as the list.
fn sampled(values: &[f64], resamples: usize, rng: &mut Rng) -> Vec<f64> {
    let n = values.len();
    if n > PAIRED_TO {
        let draws = Draws::new(u32::try_from(n).unwrap_or(u32::MAX), n);
        let value = |at: usize| values.get(at).copied().unwrap_or(f64::NAN);
        return (0..resamples).map(|_| draws.sum(rng, value)).collect();
    }
    let table: Vec<f64> =
        values.iter().flat_map(|left| values.iter().map(move |right| left + right)).collect();
    let pairs = Draws::new((n * n) as u32, n / 2);
    let single = Draws::new(n as u32, n % 2);
    let pair = |at: usize| table.get(at).copied().unwrap_or(f64::NAN);
    let value = |at: usize| values.get(at).copied().unwrap_or(f64::NAN);
    let one = |_| pairs.sum(rng, pair) + single.sum(rng, value);
    (0..resamples).map(one).collect()
}

/// The number of distinct resamples of a list, by counts; a large number if it is not enumerated.
fn combinations(values: &[f64]) -> usize {
    let n = values.len();
    if n > ENUMERATED_TO {
        return MOST_COMBINATIONS + 1;
    }
    // 2n - 1 over n, each division exact.
    (1..=n).fold(1, |product, k| product * (n - 1 + k) / k)
}

/// The means of all resamples with the number of ways to draw each.
fn enumerated(values: &[f64]) -> Vec<(f64, u64)> {
    let n = values.len();
    let mut sums: Vec<(f64, u64, usize)> = vec![(0.0, 1, n)];
    // For each value in turn: how often it is drawn, and in which of the remaining positions.
    for (at, value) in values.iter().enumerate() {
        let last = at + 1 == n;
        let mut next = Vec::new();
        for &(sum, ways, left) in &sums {
            let mut choose = 1_u64;
            for times in 0..=left {
                if times > 0 {
                    choose = choose * (left - times + 1) as u64 / times as u64;
                }
                if !last || times == left {
                    next.push((sum + times as f64 * value, ways * choose, left - times));
                }
            }
        }
        sums = next;
    }
    sums.into_iter().map(|(sum, ways, _)| (sum / n as f64, ways)).collect()
}

/// A distribution in ascending order; values that differ by rounding only are one.
fn merged(mut all: Vec<(f64, u64)>, rounding: f64) -> Distribution {
    all.sort_by(|left, right| left.0.total_cmp(&right.0));
    let total = all.iter().map(|(_, ways)| ways).sum();
    let mut support: Vec<(f64, u64)> = Vec::new();
    for (value, ways) in all {
        match support.last_mut() {
            Some((last, many)) if value - *last <= rounding => *many += ways,
            _ => support.push((value, ways)),
        }
    }
    Distribution::Enumerated(support, total)
}

/// The smallest value that is not exceeded with probability `p`.
fn inverse(support: &[(f64, u64)], total: u64, p: f64) -> f64 {
    // 0.025 of 10^10 is exactly 25·10^7, whatever the float nearest to 0.025 is.
    let wanted = p * total as f64 * (1.0 - 4.0 * f64::EPSILON);
    let mut so_far = 0;
    for &(value, ways) in support {
        so_far += ways;
        if so_far as f64 >= wanted {
            return value;
        }
    }
    support.last().map_or(f64::NAN, |(value, _)| *value)
}

/// Two quantiles in order, each interpolated between the values next to its place among all.
pub(super) fn interpolated(mut values: Vec<f64>, low: f64, high: f64) -> BootstrapInterval {
    let last = values.len().saturating_sub(1) as f64;
    let (low, high) = (low * last, high * last);
    let lower = at_place(&mut values, low);
    // Larger values come after the first search's result, where the second search continues.
    let searched = (low as usize + 1).min(high as usize);
    let rest = values.get_mut(searched..).unwrap_or_default();
    BootstrapInterval { low: lower, high: at_place(rest, high - searched as f64) }
}

/// The value at a place among all in order, or between two of them.
fn at_place(values: &mut [f64], place: f64) -> f64 {
    let below = (place as usize).min(values.len().saturating_sub(1));
    if values.is_empty() {
        return f64::NAN;
    }
    let (_, &mut lower, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let upper = above.iter().copied().fold(f64::INFINITY, f64::min);
    if above.is_empty() { lower } else { lower + (place - below as f64) * (upper - lower) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Strategy, prop, prop_assert, proptest};

    #[test]
    fn three_values_have_ten_resamples() {
        let one = Resampled::of(&[1.0, 2.0, 6.0], 1000, 1).unwrap();
        assert_eq!((one.estimate, one.support(), one.resamples()), (3.0, Some(10), 27));
        // The smallest mean has probability 1/27, more than a fortieth.
        let ends = one.percentile(0.95).unwrap();
        assert_eq!((ends.low, ends.high), (1.0, 6.0));
        // 4 of the 27 resamples have a mean of at most 4/3, and 23 one of at most 13/3.
        let ends = one.percentile(1.0 - 2.0 * 4.0 / 27.0).unwrap();
        assert_eq!((ends.low, ends.high), (4.0 / 3.0, 13.0 / 3.0));
        let population = ((4.0 + 1.0 + 9.0) / 3.0_f64 / 3.0).sqrt();
        assert!((one.standard_error() - population).abs() < 1e-15);
    }

    #[test]
    fn ties_are_merged() {
        let one = Resampled::of(&[0.1, 0.2, 0.3], 1000, 1).unwrap();
        assert_eq!(one.support(), Some(7), "3/10 to 9/10 in steps of a tenth");
        let two = Resampled::of_two(&[0.1, 0.2], &[0.1, 0.2], 1000, 1).unwrap();
        assert_eq!((two.estimate, two.support(), two.resamples()), (0.0, Some(5), 16));
        let Ok(ends) = two.bca(0.5) else { panic!("no interval") };
        assert!((ends.low + ends.high).abs() < 1e-15, "no correction where it is symmetric");
    }

    #[test]
    fn what_cannot_be_resampled_is_refused() {
        let few = Refused::TooFew { needed: 2, found: 1 };
        let error = |result: Result<Resampled, Refused>| result.map(|_| ()).unwrap_err();
        assert_eq!(error(Resampled::of(&[1.0], 1000, 1)), few);
        assert_eq!(error(Resampled::of(&[1.0, 1.0], 1000, 1)), Refused::NoSpread);
        assert_eq!(error(Resampled::of(&[1.0, f64::NAN], 1000, 1)), Refused::NotFinite);
        assert_eq!(error(Resampled::of(&[f64::MAX, -f64::MAX], 1000, 1)), Refused::OutOfRange);
        assert_eq!(error(Resampled::of_two(&[1.0, 2.0], &[1.0], 1000, 1)), few);
        assert_eq!(error(Resampled::of_two(&[1.0; 2], &[2.0; 3], 1000, 1)), Refused::NoSpread);
        let values: Vec<_> = (0..11).map(f64::from).collect();
        let bounds = Refused::Resamples { least: 100, most: 10_000_000, found: 10 };
        assert_eq!(error(Resampled::of(&values, 10, 1)), bounds);
        let many = vec![1.0; 1 << 20].into_iter().chain([2.0]).collect::<Vec<_>>();
        let bounds = Refused::Resamples { least: 100, most: 1023, found: 10_000 };
        assert_eq!(error(Resampled::of(&many, 10_000, 1)), bounds);
        let some = Resampled::of(&values, 100, 1).unwrap();
        for level in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(matches!(some.percentile(level), Err(Refused::NotAProbability(_))));
            assert!(matches!(some.bca(level), Err(Refused::NotAProbability(_))));
        }
    }

    #[test]
    fn draws_come_near_the_enumeration() {
        let values = [0.3, 1.1, 0.7, 2.9, 1.6, 0.2, 1.4, 0.9];
        let exact = Resampled::of(&values, 100, 1).unwrap();
        let mut rng = Rng::new(4, "bootstrap");
        let mut means = sampled(&values, 200_000, &mut rng);
        means.iter_mut().for_each(|sum| *sum /= 8.0);
        let drawn = Resampled { distribution: Distribution::Sampled(means), ..exact.clone() };
        assert!((exact.standard_error() / drawn.standard_error() - 1.0).abs() < 0.01);
        assert!((exact.share_below() - drawn.share_below()).abs() < 0.005);
        for level in [0.5, 0.9, 0.95, 0.99] {
            for (one, other) in [
                (exact.percentile(level).unwrap(), drawn.percentile(level).unwrap()),
                (exact.bca(level).unwrap(), drawn.bca(level).unwrap()),
            ] {
                let close = |a: f64, b: f64| (a - b).abs() < 0.02;
                assert!(
                    close(one.low, other.low) && close(one.high, other.high),
                    "{one:?} {other:?}"
                );
            }
        }
    }

    #[test]
    fn other_draws_end_within_the_limits() {
        let values: Vec<f64> = (0..20).map(|at| f64::from(at * at % 13)).collect();
        let of = |seed| Resampled::of(&values, 2000, seed).unwrap();
        let within = of(0).drawn_ends(0.95, 5.0).unwrap();
        for seed in 1..50 {
            let BootstrapInterval { low, high } = of(seed).percentile(0.95).unwrap();
            for (end, limits) in std::iter::zip([low, high], within) {
                assert!(limits.low <= end && end <= limits.high, "{end} {limits:?}");
                assert!(limits.high - limits.low < 1.0, "{limits:?}");
            }
        }
        let short = Resampled::of(&values[..5], 2000, 0).unwrap();
        let limits = short.drawn_ends(0.95, 5.0).unwrap();
        assert!(limits.iter().all(|end| end.low == end.high), "nothing is drawn");
    }

    #[test]
    fn two_long_lists_are_drawn_apart() {
        let list = |n: i32, step: i32| -> Vec<f64> {
            (0..n).map(|i| f64::from((i * step) % n) / 8.0).collect()
        };
        let (a, b) = (list(40, 7), list(31, 5));
        let two = Resampled::of_two(&a, &b, 20_000, 1).unwrap();
        assert_eq!((two.support(), two.resamples()), (None, 20_000));
        let [left, right] = [&a, &b].map(|list| super::super::Summary::of(list).unwrap());
        let variance = |one: super::super::Summary| one.population_sd().powi(2) / one.n as f64;
        let error = (variance(left) + variance(right)).sqrt();
        assert!((two.standard_error() / error - 1.0).abs() < 0.02);
        for ends in [two.percentile(0.95).unwrap(), two.bca(0.95).unwrap()] {
            let reach = 1.96 * error;
            assert!((two.estimate - ends.low - reach).abs() < 0.06 * reach, "{ends:?}");
            assert!((ends.high - two.estimate - reach).abs() < 0.06 * reach, "{ends:?}");
        }
        let swapped = Resampled::of_two(&b, &a, 20_000, 1).unwrap();
        assert_eq!(swapped.estimate, -two.estimate);
    }

    #[test]
    fn quantiles_of_many_are_interpolated() {
        let values: Vec<f64> = (0..11).map(|i| f64::from((i * 7) % 11)).collect();
        for (low, high, wanted) in [
            (0.0, 1.0, [0.0, 10.0]),
            (0.05, 0.95, [0.5, 9.5]),
            (0.32, 0.36, [3.2, 3.6]),
            (0.5, 0.5, [5.0; 2]),
        ] {
            let ends = interpolated(values.clone(), low, high);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-14;
            assert!(close(ends.low, wanted[0]) && close(ends.high, wanted[1]), "{ends:?}");
        }
    }

    #[test]
    fn one_seed_gives_the_same_bits_everywhere() {
        let values: Vec<_> = (0..22).map(|i| f64::from((i * 37) % 23) / 8.0).collect();
        let bits = |seed: u64| {
            let ends = Resampled::of(&values, 10_000, seed).unwrap().bca(0.95).unwrap();
            (ends.low.to_bits(), ends.high.to_bits())
        };
        assert_eq!(bits(1), (4607335950605495948, 4610515667762773690));
        assert_eq!(bits(1), bits(1));
        assert_ne!(bits(1), bits(2));
        let long: Vec<_> = (0..101).map(|i| f64::from((i * 37) % 103) / 8.0).collect();
        let ends = Resampled::of(&long, 1000, 1).unwrap().percentile(0.9).unwrap();
        let bits = (ends.low.to_bits(), ends.high.to_bits());
        assert_eq!(bits, (4618188996125715255, 4619581391524121804));
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-1000..1000_i32).prop_map(|n| f64::from(n) / 8.0), 2..16)
    }

    proptest! {
        #[test]
        fn the_percentile_interval_is_between_the_values(a in values(), level in 0.5..0.99_f64) {
            let Ok(resampled) = Resampled::of(&a, 200, 3) else { return Ok(()) };
            let ends = resampled.percentile(level).unwrap();
            let low = a.iter().copied().fold(f64::INFINITY, f64::min);
            let high = a.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(low <= ends.low && ends.low <= ends.high && ends.high <= high);
            if let Ok(ends) = resampled.bca(level) {
                prop_assert!(low <= ends.low && ends.low <= ends.high && ends.high <= high);
            }
        }

        #[test]
        fn the_interval_moves_with_the_values(a in values(), shift in -8..8_i32) {
            let Ok(resampled) = Resampled::of(&a, 200, 3) else { return Ok(()) };
            let shift = f64::from(shift);
            let moved: Vec<_> = a.iter().map(|value| value + shift).collect();
            let moved = Resampled::of(&moved, 200, 3).unwrap();
            let (one, other) = (resampled.percentile(0.9).unwrap(), moved.percentile(0.9).unwrap());
            prop_assert!((one.low + shift - other.low).abs() < 1e-9);
            prop_assert!((one.high + shift - other.high).abs() < 1e-9);
        }
    }
}
