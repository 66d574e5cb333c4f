//! One measured column of two runs, and whether one follows from the other.
//!
//! Two seeds see different batches, so the losses of each run have their own noise. The part of a column that its neighbors
//! do not predict measures this noise; two columns that agree far below it, value after value, come from one run.

use std::collections::BTreeSet;

/// The maximum number of points of a column that are kept.
const MOST_POINTS: usize = 1024;
/// The number of decimals from which a printed number has no recognizable unit.
const MOST_DECIMALS: usize = 12;
/// The largest relative change of a value from conversion to float32 and back.
const FLOAT32: f64 = 1.2e-7;
/// The largest relative error of a sum or a product in float64.
const FLOAT64: f64 = 1e-15;
/// The minimum noise of a column that two seeds do not share: runs with the same data order share the difficulty of
/// batches.
const OWN_NOISE: f64 = 0.1;
/// The minimum relative difference between the losses of two seeds.
const SEEDS_DIFFER: f64 = 3e-4;
/// The minimum number of values by which a changed column (shifted, scaled) is recognized.
const FEWEST_CHANGED: usize = 8;
/// The fraction of values that must follow a law; the others may have been edited.
const MOST_FOLLOW: f64 = 0.75;
/// The maximum number of bits that one value counts.
const MOST_BITS: f64 = 20.0;
/// The distance of values, relative to the noise of their column, that neither a rule nor a different seed explains.
const FAR_BELOW_NOISE: f64 = 0.02;
/// The number of points of a pair that are tried before all are.
const TRIED: usize = 64;
/// The number of points of three runs that are tried before all are.
const MEANS_TRIED: usize = 16;
/// The range of weights of a mean of two runs; a weight outside would be one of the runs itself.
const SHARES: std::ops::RangeInclusive<f64> = 0.02..=0.98;
/// The tolerance of a half after rounding.
const NEARLY_HALF: f64 = 1e-3;
/// The number of values of a column that identify its run.
const MARKS: usize = 4;
/// The maximum shift of a copy, in records.
const MOST_LAG: usize = 3;
/// The maximum number of records after which a shared start is looked for.
const FEWEST_SHARED: usize = 4;

/// A measured number over a run, in the order of its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredColumn {
    points: Vec<(u64, f64)>,
    /// Half of a unit of the last decimal that any of the values has.
    half_unit: f64,
    /// The standard deviation that neighbors do not explain.
    noise: f64,
}

/// The way in which one column follows from another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// The values are the same, as far as they are printed.
    Equal,
    /// They are moved by a constant.
    Shifted(f64),
    /// They are multiplied by a constant.
    Scaled(f64),
    /// Both: the factor, and the offset.
    Affine(f64, f64),
    /// They differ by a slow drift.
    Drifting,
}

/// The agreement of two columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnAgreement {
    /// How one follows from the other.
    pub law: Law,
    /// The number of values that follow the law.
    pub follow: usize,
    /// The number of common values.
    pub common: usize,
    /// The shift between the steps of both.
    pub moved: i64,
    /// How unlikely it is between two seeds, in bits.
    pub bits: f64,
    /// The difference between runs with different seeds.
    pub noise: f64,
    /// The last equal step and the next one, if values are equal up to a step and differ afterwards.
    pub parts: Option<(u64, u64)>,
    /// The largest difference that is left.
    pub residual: f64,
    /// Whether the law reproduces the digits: values that are only close are never more than a doubt.
    pub has_rule: bool,
}

/// A pair of values at one step.
#[derive(Debug, Clone, Copy)]
struct Pair {
    step: u64,
    one: f64,
    other: f64,
}

impl MeasuredColumn {
    /// Builds a column from values by step; none without finite values. Of a very long column, the steps are kept that have
    /// a certain remainder, which depends only on the step, so columns of different lengths keep the same steps.
    pub fn new(points: impl IntoIterator<Item = (u64, f64)>) -> Option<Self> {
        let finite = points.into_iter().filter(|(_, value)| value.is_finite());
        let mut points: Vec<_> = finite.collect();
        points.sort_by_key(|(step, _)| *step);
        points.dedup_by_key(|(step, _)| *step);
        let decimals = points.iter().map(|(_, value)| decimals(*value)).max()?;
        let half_unit = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
        let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        let mut zeros = 0;
        while points.len() > MOST_POINTS {
            zeros += 1;
            // The golden ratio spreads neighboring steps evenly (Fibonacci hashing).
            let is_kept =
                |step: u64| step.wrapping_mul(0x9e37_79b9_7f4a_7c15).leading_zeros() >= zeros;
            points.retain(|(step, _)| is_kept(*step));
        }
        Some(Self { noise: noise(&values), points, half_unit })
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Whether one of the two has fewer digits.
    pub(super) fn is_rounding_of(&self, other: &Self) -> bool {
        self.half_unit != other.half_unit
    }

    /// Some of the values by their steps and bits.
    pub(super) fn marks(&self) -> impl Iterator<Item = (u64, u64)> {
        let points = self.points.iter().skip(self.points.len() / 2).take(MARKS);
        points.map(|(step, value)| (*step, value.to_bits()))
    }

    /// The weight of `one` if this column is the weighted mean of both, with the evidence; none if the digits do not match.
    /// A few values are tested before all are.
    pub fn mean_of(&self, one: &Self, other: &Self) -> Option<(f64, ColumnAgreement)> {
        let tried = self.points.iter().step_by(self.len().div_ceil(MEANS_TRIED).max(1));
        let (share, mean) = mean_through(tried, one, other)?;
        let far = |(step, value): &(u64, f64)| (self.at(*step).unwrap_or(f64::NAN) - value).abs();
        let near = FAR_BELOW_NOISE * self.noise + 4.0 * self.half_unit;
        let follow = mean.iter().filter(|point| far(point) <= near).count();
        if !SHARES.contains(&share) || (follow as f64) < MOST_FOLLOW * mean.len() as f64 {
            return None;
        }
        let (share, points) = mean_through(self.points.iter(), one, other)?;
        let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        let half_unit = one.half_unit.max(other.half_unit);
        let found = self.agreement(&Self { noise: noise(&values), points, half_unit })?;
        let is_mean = found.law == Law::Equal && found.has_rule && found.parts.is_none();
        // The weight is computed from the values.
        let bits = found.bits - MOST_BITS;
        is_mean.then_some((share, ColumnAgreement { bits, ..found }))
    }

    fn at(&self, step: u64) -> Option<f64> {
        let at = self.points.binary_search_by_key(&step, |(step, _)| *step).ok()?;
        self.points.get(at).map(|(_, value)| *value)
    }

    /// The agreement with a different column, if it exceeds that of two seeds.
    pub fn agreement(&self, other: &Self) -> Option<ColumnAgreement> {
        let compared = Compared {
            units: (self.half_unit, other.half_unit),
            noise: positive_least(self.noise, other.noise),
            shorter: self.len().min(other.len()),
        };
        let common = common(&self.points, &other.points);
        if common.len() * 2 >= compared.shorter && !common.is_empty() {
            let found = compared.agreement(&common, 0);
            // A copy whose steps were renumbered meets its original at some steps by chance.
            if common.len() == compared.shorter || found.is_some_and(|found| found.bits > 0.0) {
                return found;
            }
        }
        moved(&self.points, &other.points)
            .find_map(|(by, pairs)| compared.equal(&pairs, by).filter(|found| found.bits > 0.0))
    }
}

/// The weight of one column, by least squares, and the weighted mean of both at the steps that all three have.
fn mean_through<'p>(
    points: impl Iterator<Item = &'p (u64, f64)>,
    one: &MeasuredColumn,
    other: &MeasuredColumn,
) -> Option<(f64, Vec<(u64, f64)>)> {
    let all: Vec<_> = points
        .filter_map(|(step, value)| Some((*step, *value, one.at(*step)?, other.at(*step)?)))
        .collect();
    let squares: f64 = all.iter().map(|(_, _, one, other)| (one - other).powi(2)).sum();
    let products: f64 = all.iter().map(|(_, own, one, other)| (own - other) * (one - other)).sum();
    // A weighted mean is rounded, and so is a weight: a half is a half.
    let share = products / squares;
    let share = if (share - 0.5).abs() < NEARLY_HALF { 0.5 } else { share };
    let is_enough = all.len() >= FEWEST_CHANGED && share.is_finite();
    let mean = all.iter().map(|(step, _, one, other)| (*step, other + share * (one - other)));
    is_enough.then(|| (share, mean.collect()))
}

/// The pairs of values at the same steps.
fn common(one: &[(u64, f64)], other: &[(u64, f64)]) -> Vec<Pair> {
    let mut others = other.iter().peekable();
    let pair = |(step, value): &(u64, f64)| {
        while others.next_if(|(theirs, _)| theirs < step).is_some() {}
        let (_, other) = others.next_if(|(theirs, _)| theirs == step)?;
        Some(Pair { step: *step, one: *value, other: *other })
    };
    one.iter().filter_map(pair).collect()
}

/// The pairs of values in their order, one column moved by a few records: a copy may have other steps.
fn moved<'p>(
    one: &'p [(u64, f64)],
    other: &'p [(u64, f64)],
) -> impl Iterator<Item = (i64, Vec<Pair>)> + 'p {
    let lags = (0..=MOST_LAG).flat_map(|lag| [(lag, 0), (0, lag)]);
    lags.filter_map(move |(skipped, theirs)| {
        let (one, other) = (one.get(skipped..)?, other.get(theirs..)?);
        let by = i64::try_from(other.first()?.0).ok()? - i64::try_from(one.first()?.0).ok()?;
        let pairs = one.iter().zip(other);
        let pairs = pairs.map(|(a, b)| Pair { step: a.0, one: a.1, other: b.1 });
        Some((by, pairs.collect()))
    })
}

/// The data for the comparison of two columns.
#[derive(Debug, Clone, Copy)]
struct Compared {
    units: (f64, f64),
    noise: f64,
    shorter: usize,
}

impl Compared {
    /// The law that most values follow.
    fn agreement(&self, pairs: &[Pair], moved: i64) -> Option<ColumnAgreement> {
        if let Some(equal) = self.equal(pairs, moved) {
            return Some(equal);
        }
        let tried: Vec<Pair> =
            pairs.iter().step_by(pairs.len().div_ceil(TRIED).max(1)).copied().collect();
        let laws = [self.shift(pairs), self.scale(pairs), self.affine(&tried)];
        let fits = |law: &Law| self.follows(&tried, *law) && self.follows(pairs, *law);
        let follow = |law: &Law| pairs.iter().filter(|pair| self.fits(pair, *law)).count();
        let fitting = laws.into_iter().flatten().filter(fits);
        // If several laws fit equally many values, the simplest one is reported.
        let fitting = fitting.rev().max_by_key(follow);
        match fitting {
            Some(law) => self.judged(pairs, law, moved),
            None => self.near(pairs),
        }
    }

    /// Equal values, all of them or up to a step.
    fn equal(&self, pairs: &[Pair], moved: i64) -> Option<ColumnAgreement> {
        let is_equal: Vec<bool> = pairs.iter().map(|pair| self.fits(pair, Law::Equal)).collect();
        let leading = is_equal.iter().take_while(|equal| **equal).count();
        let rest = is_equal.get(leading..).unwrap_or_default();
        let later = rest.iter().filter(|equal| **equal).count();
        // An edited value is surrounded by equal ones; runs that diverge do not meet again.
        let part = pairs.get(leading).filter(|_| leading > 0 && later * 5 <= rest.len());
        if let Some(next) = part {
            let shared = pairs.get(..leading)?;
            let last = shared.last()?.step;
            let whole = self.judged(shared, Law::Equal, moved)?;
            let is_start = leading >= FEWEST_SHARED && moved == 0;
            return is_start.then_some(ColumnAgreement {
                common: pairs.len(),
                parts: Some((last, next.step)),
                ..whole
            });
        }
        self.follows(pairs, Law::Equal).then(|| self.judged(pairs, Law::Equal, moved))?
    }

    /// Whether most pairs follow a law.
    fn follows(&self, pairs: &[Pair], law: Law) -> bool {
        let follow = pairs.iter().filter(|pair| self.fits(pair, law)).count();
        follow > 0 && follow as f64 >= MOST_FOLLOW * pairs.len() as f64
    }

    /// Whether the second value of a pair follows from the first one by the law, to the printed precision.
    fn fits(&self, pair: &Pair, law: Law) -> bool {
        residual_size(pair, law) <= self.room(pair, law)
    }

    /// The tolerance due to rounding.
    fn room(&self, pair: &Pair, law: Law) -> f64 {
        let factor = match law {
            Law::Equal | Law::Drifting => 1.0,
            // A shift is the median of differences that are rounded themselves.
            Law::Shifted(_) => 2.0,
            // The factor comes from rounded values.
            Law::Scaled(factor) | Law::Affine(factor, _) => 2.0 * factor.abs().max(1.0),
        };
        let rounding = factor * (self.units.0 + self.units.1) * (1.0 + 1e-6);
        // If two columns have equally many digits, neither is a rounding of the other: a change in the last digits, as from
        // a different summation order, is a difference.
        let is_rounded = self.units.0.max(self.units.1) > 9.0 * self.units.0.min(self.units.1);
        let conversion = if is_rounded { FLOAT32 } else { FLOAT64 };
        rounding + conversion * pair.one.abs().max(pair.other.abs())
    }

    /// The difference between runs with different seeds at a pair, after removing the law.
    fn honest(&self, pair: &Pair, law: Law) -> f64 {
        let own = OWN_NOISE * self.noise;
        match law {
            Law::Equal => own.max(SEEDS_DIFFER * pair.one.abs().max(pair.other.abs())),
            _ => own,
        }
    }

    /// The evidence of the pairs that follow a law.
    fn judged(&self, pairs: &[Pair], law: Law, moved: i64) -> Option<ColumnAgreement> {
        let following: Vec<&Pair> = pairs.iter().filter(|pair| self.fits(pair, law)).collect();
        let parameters = match law {
            Law::Equal | Law::Drifting => 0,
            Law::Shifted(_) | Law::Scaled(_) => 1,
            Law::Affine(..) => 2,
        };
        if parameters > 0 && following.len() < FEWEST_CHANGED {
            return None;
        }
        let mut seen = BTreeSet::new();
        // A repeated value is no further evidence.
        let told = following.iter().filter(|pair| seen.insert(pair.one.to_bits()));
        let each = told.map(|pair| (self.honest(pair, law) / self.room(pair, law)).log2());
        let bits: f64 = each.skip(parameters).map(|bits| bits.clamp(0.0, MOST_BITS)).sum();
        let others = (pairs.len() - following.len()) as f64;
        let choice = others * (2.0 + (pairs.len() as f64).log2());
        let residual = following.iter().map(|pair| residual_size(pair, law));
        let noise: f64 = following.iter().map(|pair| self.honest(pair, law)).sum();
        let found = ColumnAgreement {
            law,
            follow: following.len(),
            common: pairs.len(),
            moved,
            bits: bits - choice,
            noise: noise / following.len().max(1) as f64,
            parts: None,
            residual: residual.fold(0.0, f64::max),
            has_rule: true,
        };
        let is_edit =
            |pair: &&Pair| residual_size(pair, law) > FAR_BELOW_NOISE * self.honest(pair, law);
        let others = pairs.iter().filter(|pair| !self.fits(pair, law));
        // Nobody edits the last digits of a few values: a different summation order changes them.
        let are_edited = others.clone().count() == 0 || others.clone().any(|pair| is_edit(&pair));
        Some(ColumnAgreement { has_rule: are_edited, ..found })
    }

    /// Values that follow no law to their digits and are still nearer than any seeds are.
    fn near(&self, pairs: &[Pair]) -> Option<ColumnAgreement> {
        let near = FAR_BELOW_NOISE * self.noise;
        let is_told = self.noise > 0.0 && near > self.units.0 + self.units.1;
        if !is_told || pairs.len() < 2 * FEWEST_CHANGED {
            return None;
        }
        let shift = self.shift(pairs)?;
        let around = pairs.iter().map(|pair| residual_size(pair, shift)).collect();
        let laws = [(shift, around), (Law::Drifting, beside_neighbours(pairs))];
        let (law, follow) = laws.into_iter().find_map(|(law, sizes): (Law, Vec<f64>)| {
            let follow = sizes.iter().filter(|size| **size <= near).count();
            (follow as f64 >= 0.9 * sizes.len() as f64).then_some((law, follow))
        })?;
        let bits = follow as f64 * (OWN_NOISE / FAR_BELOW_NOISE).log2();
        let (noise, residual) = (OWN_NOISE * self.noise, near);
        let (common, moved, parts, has_rule) = (pairs.len(), 0, None, false);
        Some(ColumnAgreement { law, follow, common, moved, bits, noise, parts, residual, has_rule })
    }

    /// The constant between the columns.
    fn shift(&self, pairs: &[Pair]) -> Option<Law> {
        median(pairs.iter().map(|pair| pair.other - pair.one).collect()).map(Law::Shifted)
    }

    /// The factor between them.
    fn scale(&self, pairs: &[Pair]) -> Option<Law> {
        let ratios = pairs.iter().filter(|pair| pair.one != 0.0);
        median(ratios.map(|pair| pair.other / pair.one).collect()).map(Law::Scaled)
    }

    /// Factor and constant, by the line through two of the outermost pairs that most others follow.
    fn affine(&self, pairs: &[Pair]) -> Option<Law> {
        let mut sorted: Vec<&Pair> = pairs.iter().collect();
        sorted.sort_by(|a, b| a.one.total_cmp(&b.one));
        let (low, high) = (sorted.iter().take(3), sorted.iter().rev().take(3));
        let through = low.flat_map(|low| high.clone().map(move |high| (low, high)));
        let lines = through.filter(|(low, high)| high.one > low.one).map(|(low, high)| {
            let factor = (high.other - low.other) / (high.one - low.one);
            Law::Affine(factor, low.other - factor * low.one)
        });
        let following = |law: &Law| pairs.iter().filter(|pair| self.fits(pair, *law)).count();
        lines.max_by_key(following)
    }
}

/// The distance of the second value of a pair from the law's prediction.
fn residual_size(pair: &Pair, law: Law) -> f64 {
    let expected = match law {
        Law::Equal | Law::Drifting => pair.one,
        Law::Shifted(by) => pair.one + by,
        Law::Scaled(factor) => factor * pair.one,
        Law::Affine(factor, by) => factor * pair.one + by,
    };
    (pair.other - expected).abs()
}

/// The distance of each inner pair's difference from its neighbors' differences: a slow drift vanishes here, and the noise
/// of an independent run remains.
fn beside_neighbours(pairs: &[Pair]) -> Vec<f64> {
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.other - pair.one).collect();
    let sizes = differences.windows(3).map(|near| match near {
        [before, own, after] => (own - 0.5 * (before + after)).abs(),
        _ => 0.0,
    });
    sizes.collect()
}

/// The standard deviation of the part that neighbors do not explain: the smaller of the robust estimates from second and
/// fourth differences. Differences of white noise have its variance times the sum of their squared coefficients, 6 and 70;
/// those of a smooth column vanish.
fn noise(values: &[f64]) -> f64 {
    let once = |values: &[f64]| -> Vec<f64> {
        values.iter().zip(values.iter().skip(1)).map(|(a, b)| b - a).collect()
    };
    let twice = once(&once(values));
    let four = once(&once(&twice));
    let deviation = |differences: &[f64], squares: f64| {
        let sizes = differences.iter().map(|one| one.abs()).collect();
        // 1.4826: the median of absolute values of a normal distribution to its standard deviation.
        median(sizes).map_or(0.0, |middle| 1.4826 * middle / squares.sqrt())
    };
    match four.len() {
        0..3 => 0.0,
        _ => deviation(&twice, 6.0).min(deviation(&four, 70.0)),
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The lesser of two numbers that are not zero.
fn positive_least(one: f64, other: f64) -> f64 {
    if one == 0.0 || other == 0.0 { one.max(other) } else { one.min(other) }
}

/// The number of decimals in the shortest text that reads back as the number.
fn decimals(value: f64) -> usize {
    let text = value.to_string();
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len()).min(MOST_DECIMALS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Kinship, KinshipKind, RunTrace};

    /// Numbers of a normal distribution, from a seed: SplitMix64 and sums of twelve.
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    /// How an honest run looks.
    #[derive(Debug, Clone)]
    struct Course {
        records: usize,
        decimals: i32,
        /// The noise of batches,
        noise: f64,
        /// The fraction of the noise that runs with the same data order share.
        shared: f64,
        /// The spread of whole runs.
        spread: f64,
    }

    impl Course {
        fn run(&self, data: u64, seed: u64) -> Vec<(u64, f64)> {
            let (mut batches, mut own) =
                (Noise(data), Noise(seed.wrapping_mul(977).wrapping_add(1)));
            let offset = self.spread * own.normal();
            let value = |at: usize| {
                let step = 10 * (at as u64 + 1);
                let curve = 2.3 + 4.0 / (step as f64).powf(0.4);
                let common = self.shared.sqrt() * batches.normal();
                let alone = (1.0 - self.shared).sqrt() * own.normal();
                (step, round(curve + offset + self.noise * (common + alone), self.decimals))
            };
            (0..self.records).map(value).collect()
        }
    }

    fn round(value: f64, decimals: i32) -> f64 {
        let unit = 10_f64.powi(decimals);
        if decimals > 12 { value } else { (value * unit).round() / unit }
    }

    fn kinship(one: &[(u64, f64)], other: &[(u64, f64)]) -> Option<Kinship> {
        let trace = |points: &[(u64, f64)]| {
            let mut trace = RunTrace::default();
            trace.measured("loss", points.iter().copied());
            trace
        };
        trace(one).kinship(&trace(other))
    }

    fn courses() -> impl Strategy<Value = Course> {
        let noise = prop_oneof![Just(0.003), Just(0.02), Just(0.1)];
        let decimals = prop_oneof![Just(1), Just(2), Just(3), Just(4), Just(6), Just(17)];
        let (shared, spread) = (0.0..0.9_f64, prop_oneof![Just(0.0), Just(0.002), Just(0.01)]);
        (1..300_usize, decimals, noise, shared, spread).prop_map(
            |(records, decimals, noise, shared, spread)| Course {
                records,
                decimals,
                noise,
                shared,
                spread,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn honest_seeds_are_never_accused(course in courses(), seeds in any::<[u64; 3]>()) {
            let [data, one, other] = seeds;
            // The same order of data, and a different one.
            for second in [course.run(data, other), course.run(data ^ 1, other)] {
                let found = kinship(&course.run(data, one), &second);
                prop_assert!(found.is_none(), "{found:?}");
            }
        }

        #[test]
        fn runs_that_go_on_from_one_parent_are_told_where_they_part(
            course in courses(), seeds in any::<[u64; 3]>(), at in 0.2..0.8_f64,
        ) {
            let course = Course { decimals: 6, records: course.records + 40, ..course };
            let [data, one, other] = seeds;
            let parent = course.run(data, one);
            let mut child = course.run(data ^ 1, other);
            let shared = (at * parent.len() as f64) as usize;
            child[..shared].copy_from_slice(&parent[..shared]);
            // With few digits the first values of their own may be equal by chance.
            child[shared].1 += 0.01;
            let found = kinship(&parent, &child).unwrap();
            prop_assert_eq!(found.kind, KinshipKind::SharedStart);
            prop_assert!(!found.is_refuted());
            let parts = format!("up to step {}, and differ from step {}", 10 * shared, 10 * (shared + 1));
            prop_assert!(found.evidence.contains(&parts), "{}", found.evidence);
        }

        #[test]
        fn copies_are_caught_however_they_are_changed(
            course in courses(), seeds in any::<[u64; 2]>(), how in 0..7_usize, by in 0.001..0.05_f64,
        ) {
            let noise = course.noise.max(0.02);
            let course = Course { decimals: 6, records: course.records + 60, noise, ..course };
            let run = course.run(seeds[0], seeds[1]);
            let moved = |of: fn(f64, f64) -> f64| -> Vec<(u64, f64)> {
                run.iter().map(|(step, value)| (*step, round(of(*value, by), 6))).collect()
            };
            let copy = match how {
                0 => run.clone(),
                1 => moved(|value, by| value + by),
                2 => moved(|value, by| value * (1.0 - by)),
                3 => moved(|value, by| value * (1.0 + by) - by),
                4 => moved(|value, _| round(value, 4)),
                5 => run[..run.len() * 2 / 3].to_vec(),
                _ => run.iter().enumerate().map(|(at, (step, value))| {
                    (*step, if at % 9 == 4 { value + by } else { *value })
                }).collect(),
            };
            let found = kinship(&run, &copy);
            prop_assert!(found.as_ref().is_some_and(Kinship::is_refuted), "{how} {found:?}");
            let later: Vec<_> = copy.iter().map(|(step, value)| (step + 5, *value)).collect();
            if matches!(how, 0 | 5) {
                let found = kinship(&run, &later);
                prop_assert!(found.is_some_and(|found| found.is_refuted()));
            }
        }
    }

    /// Numbers that change slowly: sums of steps, pulled back a little.
    fn slow(seed: u64, step: f64) -> impl FnMut() -> f64 {
        let (mut noise, mut at) = (Noise(seed), 0.0);
        move || {
            at = 0.99 * at + step * noise.normal();
            at
        }
    }

    #[test]
    fn a_copy_with_slow_noise_is_a_doubt_and_a_run_of_one_data_order_is_none() {
        let course = Course { records: 200, decimals: 6, noise: 0.05, shared: 0.9, spread: 0.01 };
        let run = course.run(1, 2);
        let mut drift = slow(9, 3e-4);
        let copy: Vec<_> =
            run.iter().map(|(step, value)| (*step, round(value + drift(), 6))).collect();
        let found = kinship(&run, &copy).unwrap();
        assert!(!found.is_certain && found.kind == KinshipKind::Changed, "{found:?}");
        assert!(found.evidence.contains("a slow drift"), "{found:?}");
        let mut drift = slow(9, 3e-4);
        let honest = course.run(1, 3);
        let honest: Vec<_> = honest.iter().map(|(step, value)| (*step, value + drift())).collect();
        assert_eq!(kinship(&run, &honest), None);
    }

    #[test]
    fn a_mean_of_two_runs_is_found_wherever_it_stands() {
        let course = Course { records: 100, decimals: 6, noise: 0.03, shared: 0.5, spread: 0.01 };
        let (one, other) = (course.run(1, 2), course.run(1, 3));
        for (share, decimals) in [(0.5, 6), (0.5, 4), (0.3, 6), (0.5, 17)] {
            let mean: Vec<_> = std::iter::zip(&one, &other)
                .map(|((step, a), (_, b))| (*step, round(share * a + (1.0 - share) * b, decimals)))
                .collect();
            for runs in [[&one, &other, &mean], [&mean, &one, &other], [&one, &mean, &other]] {
                let traces = runs.map(|points| {
                    let mut trace = RunTrace::default();
                    "run".clone_into(&mut trace.name);
                    trace.measured("loss", points.iter().copied());
                    trace
                });
                let found = super::super::related(&traces.iter().collect::<Vec<_>>());
                assert!(found.iter().any(|one| one.kinship.is_refuted()), "{share} {decimals}");
                assert!(
                    found[0].kinship.evidence.contains("times the values of `run` plus"),
                    "{found:?}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn of_honest_seeds_none_is_a_mean_of_two(course in courses(), data in any::<u64>(), seeds in any::<[u64; 4]>()) {
            let traces = seeds.map(|seed| {
                let mut trace = RunTrace::default();
                trace.measured("loss", course.run(data, seed));
                trace
            });
            let found = super::super::related(&traces.iter().collect::<Vec<_>>());
            prop_assert!(found.is_empty(), "{found:?}");
        }
    }

    fn points(values: &[f64]) -> Vec<(u64, f64)> {
        (1..).map(|at| at * 100).zip(values.iter().copied()).collect()
    }

    #[test]
    fn few_digits_are_no_evidence() {
        let coarse = points(&[0.25, 0.25, 0.5, 0.5]);
        assert_eq!(kinship(&coarse, &coarse), None);
        let short = points(&[5.1, 4.2, 3.9]);
        assert_eq!(kinship(&short, &short), None);
        // One number of a whole run leaves a doubt; two with all their digits do not.
        let one = points(&[2.377612304687512]);
        assert!(!kinship(&one, &one).unwrap().is_certain);
        let two = points(&[3.412398710012345, 2.377612304687512]);
        assert!(kinship(&two, &two).unwrap().is_refuted());
    }

    #[test]
    fn equal_first_values_are_no_shared_start() {
        // One initialization, evaluated before the first step.
        let (one, other) = ([10.82563018798, 3.1, 2.9], [10.82563018798, 3.2, 2.8]);
        assert_eq!(kinship(&points(&one), &points(&other)), None);
    }

    #[test]
    fn seeds_that_only_reorder_sums_are_a_doubt() {
        let course = Course { records: 200, decimals: 17, noise: 0.02, shared: 0.0, spread: 0.0 };
        let run = course.run(1, 2);
        let mut order = Noise(5);
        let other: Vec<_> = run
            .iter()
            .map(|(step, value)| (*step, value * (1.0 + 1e-7 * order.normal())))
            .collect();
        let found = kinship(&run, &other).unwrap();
        assert!(!found.is_certain, "{found:?}");
        assert_eq!(found.kind, KinshipKind::Changed);
    }
}
