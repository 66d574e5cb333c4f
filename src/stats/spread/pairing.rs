//! Whether the spreads of two arms and of their gap can belong together.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::reading::quantile_square;
use super::{ErrorBarMeaning, Spread};
use repro_exact::decimal::{Interval, nearest_f64};

/// The printed spreads of two arms and of their gap.
#[derive(Debug, Clone)]
pub struct Triple {
    /// One arm.
    pub a: Spread,
    /// The other.
    pub b: Spread,
    /// Their gap.
    pub gap: Spread,
}

/// How the three can belong together under one choice of readings.
#[derive(Debug, Clone, PartialEq)]
pub struct PairingFit {
    /// Whether some pairing of the values gives them, and then where its correlation lies.
    pub paired: Option<[f64; 2]>,
    /// Whether propagation of independent errors (ρ = 0) gives them.
    pub independent: bool,
}

impl Triple {
    /// Whether the three fit under the readings of a, b and the gap; `None` where nothing fits.
    ///
    /// A paired gap has s_d² = s_a² + s_b² - 2·ρ·s_a·s_b with ρ in [-1, 1], that is, the three
    /// standard deviations are sides of a triangle. Two pairs have ρ = -1 or 1 and nothing between.
    pub fn fit(&self, readings: [ErrorBarMeaning; 3]) -> Option<PairingFit> {
        self.fits(&[readings]).pop().flatten()
    }

    /// [`Triple::fit`] for several choices of readings; no variance is computed twice.
    pub fn fits(&self, choices: &[[ErrorBarMeaning; 3]]) -> Vec<Option<PairingFit>> {
        let mut known = BTreeMap::new();
        let mut variance = |place: usize, spread: &Spread, reading: ErrorBarMeaning| -> Interval {
            let known = known.entry((place, reading));
            known.or_insert_with(|| spread.variance(reading)).clone()
        };
        let mut fit = |readings: &[ErrorBarMeaning; 3]| {
            let [a, b, gap] = *readings;
            let variances =
                [variance(0, &self.a, a), variance(1, &self.b, b), variance(2, &self.gap, gap)];
            self.fit_with(*readings, variances)
        };
        choices.iter().map(&mut fit).collect()
    }

    fn fit_with(
        &self,
        readings: [ErrorBarMeaning; 3],
        variances: [Interval; 3],
    ) -> Option<PairingFit> {
        let [a, b, gap] = readings;
        let alike = a == b && b == gap;
        let [one, other, _] = &variances;
        let independent = self.independent(readings, [one, other]);
        let paired = (self.a.n == self.b.n && self.b.n == self.gap.n)
            .then(|| {
                let variances = SquaredLengths(variances);
                // One factor stands before all three squares and cancels: the prints decide by themselves.
                let squares = SquaredLengths([self.a.square(), self.b.square(), self.gap.square()]);
                let exact = if alike { &squares } else { &variances };
                match self.a.n {
                    2 => exact.degenerate(),
                    _ => exact.are_a_triangle().then(|| variances.correlation()),
                }
            })
            .flatten();
        (paired.is_some() || independent).then_some(PairingFit { paired, independent })
    }

    /// Whether the gap's spread is what independent errors of arms with these variances give.
    fn independent(&self, [a, b, gap]: [ErrorBarMeaning; 3], [one, other]: [&Interval; 2]) -> bool {
        let whole = |n: u64| BigRational::from_integer(n.into());
        let of_the_mean =
            &one.scaled(&whole(self.a.n).recip()) + &other.scaled(&whole(self.b.n).recip());
        let square = self.gap.square();
        let equal_n = self.a.n == self.b.n;
        match gap {
            ErrorBarMeaning::StandardError => square.meets(&of_the_mean),
            ErrorBarMeaning::NormalConfidence => {
                let quantile = BigRational::new(196.into(), 100.into());
                square.scaled(&(&quantile * &quantile).recip()).meets(&of_the_mean)
            }
            ErrorBarMeaning::Confidence(level) => {
                // Welch's degrees of freedom, or the pooled ones, or those of one arm.
                let (fewest, most) = (self.a.n.min(self.b.n) - 1, self.a.n + self.b.n - 2);
                let factor = quantile_square(fewest as f64, level)
                    .hull(&quantile_square(most as f64, level));
                square.meets(&(&of_the_mean * &factor))
            }
            ErrorBarMeaning::Sd => square.meets(&(one + other)),
            // Of arms with unequal numbers of values there is no such spread of a gap.
            ErrorBarMeaning::PopulationSd => {
                let of_values = Spread { n: self.a.n, ..self.gap.clone() };
                equal_n && of_values.variance(gap).meets(&(one + other))
            }
            // Without pairs nothing has this range, but its error may have been propagated like others.
            ErrorBarMeaning::HalfRange => {
                let alike = a == gap && b == gap;
                alike && equal_n && square.meets(&(&self.a.square() + &self.b.square()))
            }
        }
    }
}

/// Three intervals of squares of lengths: a, b and c.
struct SquaredLengths([Interval; 3]);

impl SquaredLengths {
    /// Whether some three lengths satisfy |a - b| <= c <= a + b. The set of c for all a and b is one
    /// interval, so comparing its ends with those of c decides.
    fn are_a_triangle(&self) -> bool {
        let SquaredLengths([a, b, c]) = self;
        at_most_sum(c.low(), a.high(), b.high())
            && at_most_sum(a.low(), b.high(), c.high())
            && at_most_sum(b.low(), a.high(), c.high())
    }

    /// The correlations ±1 that two pairs can have: c = a + b gives -1, a = b + c or b = a + c gives 1.
    fn degenerate(&self) -> Option<[f64; 2]> {
        let SquaredLengths([a, b, c]) = self;
        let is_sum = |whole: &Interval, one: &Interval, other: &Interval| {
            at_most_sum(whole.low(), one.high(), other.high())
                && sum_at_most(one.low(), other.low(), whole.high())
        };
        let (minus, plus) = (is_sum(c, a, b), is_sum(a, b, c) || is_sum(b, a, c));
        match (minus, plus) {
            (false, false) => None,
            (true, false) => Some([-1.0, -1.0]),
            (false, true) => Some([1.0, 1.0]),
            (true, true) => Some([-1.0, 1.0]),
        }
    }

    /// The range of (a² + b² - c²)/(2ab), cut to [-1, 1], in floats: it is shown and decides nothing.
    ///
    /// In a (and alike in b) the expression is convex or monotone, so it is greatest in a corner; it
    /// is least in a corner or where a² = b² - c².
    fn correlation(&self) -> [f64; 2] {
        let ends = |side: &Interval| [nearest_f64(side.low()), nearest_f64(side.high())];
        let [a, b, c] = [0, 1, 2].map(|side: usize| ends(&self.0[side]));
        let rho = |a: f64, b: f64, c: f64| {
            let value = (a + b - c) / (2.0 * (a * b).sqrt());
            // A side of length zero leaves the correlation open.
            if value.is_finite() { vec![value] } else { vec![-1.0, 1.0] }
        };
        let inside = |value: f64, ends: [f64; 2]| (ends[0]..=ends[1]).contains(&value);
        let mut least = Vec::new();
        let mut greatest = Vec::new();
        for (one, other) in [(a[0], b[0]), (a[0], b[1]), (a[1], b[0]), (a[1], b[1])] {
            least.extend(rho(one, other, c[1]));
            greatest.extend(rho(one, other, c[0]));
            for (moving, fixed) in [(a, other), (b, one)] {
                if inside(fixed - c[1], moving) {
                    least.extend(rho(fixed - c[1], fixed, c[1]));
                }
            }
        }
        let low = least.into_iter().fold(f64::INFINITY, f64::min);
        let high = greatest.into_iter().fold(f64::NEG_INFINITY, f64::max);
        [low.clamp(-1.0, 1.0), high.clamp(-1.0, 1.0)]
    }
}

/// √x <= √y + √z, in rationals.
fn at_most_sum(x: &BigRational, y: &BigRational, z: &BigRational) -> bool {
    let rest = x - y - z;
    !rest.is_positive() || &rest * &rest <= four_times(y, z)
}

/// √y + √z <= √x, in rationals.
fn sum_at_most(y: &BigRational, z: &BigRational, x: &BigRational) -> bool {
    let rest = x - y - z;
    rest >= BigRational::zero() && four_times(y, z) <= &rest * &rest
}

fn four_times(y: &BigRational, z: &BigRational) -> BigRational {
    y * z * BigRational::from_integer(4.into())
}

#[cfg(test)]
mod tests {
    use super::super::reading::tests::width;
    use super::*;
    use proptest::prelude::*;
    use repro_exact::decimal::Printed;

    fn triple(n: u64, widths: [&str; 3]) -> Triple {
        let [a, b, gap] =
            widths.map(|text| Spread::new(&Printed::parse(text).unwrap().interval(), n).unwrap());
        Triple { a, b, gap }
    }

    fn alike(n: u64, widths: [&str; 3], reading: ErrorBarMeaning) -> Option<PairingFit> {
        triple(n, widths).fit([reading; 3])
    }

    #[test]
    fn a_gap_that_is_too_wide_or_too_narrow_fits_nothing() {
        for reading in ErrorBarMeaning::ALL {
            assert_eq!(alike(5, ["0.30", "0.40", "0.72"], reading), None, "{reading:?}");
            assert_eq!(alike(5, ["0.30", "0.90", "0.58"], reading), None, "{reading:?}");
            // 0.305 + 0.405 = 0.71 is the lower end of 0.715: touching counts.
            assert!(alike(5, ["0.30", "0.40", "0.71"], reading).is_some(), "{reading:?}");
        }
    }

    #[test]
    fn independent_errors_are_told_from_pairs() {
        let fit = |widths| alike(3, widths, ErrorBarMeaning::Sd).unwrap();
        let both = fit(["0.30", "0.40", "0.50"]);
        assert!(both.independent && both.paired.is_some());
        let paired = fit(["0.30", "0.40", "0.20"]);
        assert!(!paired.independent);
        let [low, high] = paired.paired.unwrap();
        assert!(low > 0.8 && high < 0.95, "{low} {high}");
        assert!((low..=high).contains(&((0.09 + 0.16 - 0.04) / 0.24)));
    }

    #[test]
    fn two_pairs_have_a_correlation_of_one_or_minus_one() {
        let fit = |gap: &str, reading| alike(2, ["0.30", "0.40", gap], reading);
        assert_eq!(fit("0.70", ErrorBarMeaning::Sd).unwrap().paired, Some([-1.0, -1.0]));
        assert_eq!(fit("0.10", ErrorBarMeaning::Sd).unwrap().paired, Some([1.0, 1.0]));
        assert_eq!(fit("0.30", ErrorBarMeaning::Sd), None);
        // What no two pairs can have, independent errors can.
        let unpaired = fit("0.50", ErrorBarMeaning::Sd).unwrap();
        assert_eq!((unpaired.paired, unpaired.independent), (None, true));
    }

    #[test]
    fn arms_of_unequal_size_are_not_paired() {
        let mut triple = triple(3, ["0.30", "0.40", "0.50"]);
        triple.b.n = 5;
        let fit = triple.fit([ErrorBarMeaning::Sd; 3]).unwrap();
        assert_eq!((fit.paired, fit.independent), (None, true));
        assert_eq!(triple.fit([ErrorBarMeaning::HalfRange; 3]), None);
        // se: √(0.09/3 + 0.16/5) = 0.249
        triple.gap.width = Printed::parse("0.25").unwrap().interval();
        let readings = [ErrorBarMeaning::Sd, ErrorBarMeaning::Sd, ErrorBarMeaning::StandardError];
        assert!(triple.fit(readings).unwrap().independent);
    }

    #[test]
    fn mixed_readings_are_converted() {
        // Arms as sd, the gap as se of four pairs: 2·0.2 = 0.4.
        let readings = [ErrorBarMeaning::Sd, ErrorBarMeaning::Sd, ErrorBarMeaning::StandardError];
        let fit = triple(4, ["0.30", "0.30", "0.20"]).fit(readings).unwrap();
        let [low, high] = fit.paired.unwrap();
        assert!((low..=high).contains(&((0.18 - 0.16) / 0.18)), "{low} {high}");
        assert_eq!(triple(4, ["0.30", "0.30", "0.32"]).fit(readings), None);
        assert!(alike(4, ["0.30", "0.30", "0.32"], ErrorBarMeaning::StandardError).is_some());
    }

    #[test]
    fn a_spread_that_may_be_zero_leaves_the_correlation_open() {
        let fit = alike(3, ["0.0", "0.2", "0.2"], ErrorBarMeaning::Sd).unwrap();
        assert_eq!(fit.paired, Some([-1.0, 1.0]));
    }

    fn printed(value: f64) -> Interval {
        Printed::parse(&format!("{value:.2}")).unwrap().interval()
    }

    proptest! {
        /// Whatever the values are and however they are paired, the truth is never excluded.
        #[test]
        fn real_pairs_always_fit(
            pairs in proptest::collection::vec((-3.0..3.0_f64, -3.0..3.0_f64), 2..7),
            shared in 0.0..2.0_f64,
            readings in [0..6_usize, 0..6, 0..6],
        ) {
            let a: Vec<_> = pairs.iter().map(|(a, _)| *a).collect();
            let b: Vec<_> = pairs.iter().map(|(a, b)| b + shared * a).collect();
            let gaps: Vec<_> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let readings = readings.map(|at| ErrorBarMeaning::ALL[at]);
            let n = pairs.len() as u64;
            let spread = |values: &[f64], reading| {
                Spread::new(&printed(width(values, reading)), n).unwrap()
            };
            let triple = Triple {
                a: spread(&a, readings[0]),
                b: spread(&b, readings[1]),
                gap: spread(&gaps, readings[2]),
            };
            let fit = triple.fit(readings);
            prop_assert!(fit.as_ref().is_some_and(|fit| fit.paired.is_some()), "{fit:?}");
            let sd = |values: &[f64]| width(values, ErrorBarMeaning::Sd);
            let truth = (sd(&a).powi(2) + sd(&b).powi(2) - sd(&gaps).powi(2)) / (2.0 * sd(&a) * sd(&b));
            let [low, high] = fit.unwrap().paired.unwrap();
            prop_assert!(low <= truth + 1e-6 && truth - 1e-6 <= high, "{low} {truth} {high}");
        }

        /// Errors that were propagated as independent are never taken for a pairing only.
        #[test]
        fn propagated_errors_always_fit(a in 0.02..3.0_f64, b in 0.02..3.0_f64, n in 3..9_u64) {
            let gap = (a * a + b * b).sqrt();
            let [a, b, gap] = [a, b, gap].map(|w| Spread::new(&printed(w), n).unwrap());
            let triple = Triple { a, b, gap };
            for reading in ErrorBarMeaning::ALL {
                prop_assert!(triple.fit([reading; 3]).unwrap().independent);
            }
        }

        /// The roots are compared as floats would, wherever floats can tell.
        #[test]
        fn roots_are_compared_exactly(x in 0u32..900, y in 0u32..900, z in 0u32..900) {
            let [p, q, r] = [x, y, z].map(|n| BigRational::from_integer(n.into()));
            let [x, y, z] = [x, y, z].map(|n| f64::from(n).sqrt());
            if (x - y - z).abs() > 1e-9 {
                prop_assert_eq!(at_most_sum(&p, &q, &r), x < y + z);
                prop_assert_eq!(sum_at_most(&q, &r, &p), y + z < x);
            } else {
                prop_assert!(at_most_sum(&p, &q, &r) && sum_at_most(&q, &r, &p));
            }
        }
    }
}
