//! t tests over whole boxes of printed numbers: the smallest and largest p that rounding allows.

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::{ErrorBarMeaning, Spread};
use crate::Refused;
use crate::distribution::{StudentT, Symmetric};
use repro_core::decimal::{Interval, nearest_f64};

/// Probabilities are computed to better than this relative error, so ranges are widened by it.
const MARGIN: f64 = 1e-9;

/// A mean of `spread.n` values with their printed spread.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// The interval of the mean.
    pub mean: Interval,
    /// The number after ± and the number of values.
    pub spread: Spread,
}

impl Estimate {
    /// The square of the standard error of the mean under a reading.
    fn squared_error(&self, reading: ErrorBarMeaning) -> Result<Interval, Refused> {
        Ok(self.spread.variance(reading)?.scaled(&whole(self.spread.n).recip()))
    }
}

/// The possible results of a test of "the difference is above zero" inside a box. Each range is an outward enclosure that
/// contains the true statistic of the values behind the printed numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// The statistic.
    pub t: [f64; 2],
    /// Its degrees of freedom.
    pub df: [f64; 2],
}

impl Tested {
    /// Welch's test of a - b from two printed means and spreads.
    pub fn welch(
        a: &Estimate,
        b: &Estimate,
        readings: [ErrorBarMeaning; 2],
    ) -> Result<Self, Refused> {
        let (one, other) = (a.squared_error(readings[0])?, b.squared_error(readings[1])?);
        Ok(Self {
            t: statistic(&(&a.mean - &b.mean), &(&one + &other)),
            df: welch_df([&one, &other], [a.spread.n - 1, b.spread.n - 1]),
        })
    }

    /// The test of a mean difference of pairs against zero, from its own printed spread.
    pub fn paired(gap: &Estimate, reading: ErrorBarMeaning) -> Result<Self, Refused> {
        let squared_error = gap.squared_error(reading)?;
        let df = (gap.spread.n - 1) as f64;
        Ok(Self { t: statistic(&gap.mean, &squared_error), df: [df; 2] })
    }

    /// The reversed difference.
    pub fn reversed(self) -> Self {
        let [low, high] = self.t;
        Self { t: [-high, -low], ..self }
    }

    /// The range of the one-sided p of "above zero".
    pub fn p_above(&self) -> Result<[f64; 2], Refused> {
        let [low, high] = self.t;
        // The tail beyond t shrinks as t grows; it shrinks with the degrees of freedom for positive t
        // and grows with them for negative t.
        let [fewest, most] = self.df;
        let least = upper(high, if high > 0.0 { most } else { fewest })?;
        let greatest = upper(low, if low > 0.0 { fewest } else { most })?;
        Ok([(least * (1.0 - MARGIN)).max(0.0), (greatest * (1.0 + MARGIN)).min(1.0)])
    }

    /// The range of the two-sided p of "not zero".
    pub fn p_differs(&self) -> Result<[f64; 2], Refused> {
        let [low, high] = self.t;
        let [nearest, farthest] = if low <= 0.0 && high >= 0.0 {
            [0.0, high.max(-low)]
        } else {
            [low.abs().min(high.abs()), low.abs().max(high.abs())]
        };
        let [least, greatest] = Self { t: [nearest, farthest], ..*self }.p_above()?;
        Ok([(2.0 * least).min(1.0), (2.0 * greatest).min(1.0)])
    }
}

fn whole(n: u64) -> BigRational {
    BigRational::from_integer(n.into())
}

/// The probability of a t beyond `t`; without any spread it is 0, or 1 on the other side.
fn upper(t: f64, df: f64) -> Result<f64, Refused> {
    if t.is_infinite() {
        return Ok(if t > 0.0 { 0.0 } else { 1.0 });
    }
    StudentT::new(df)?.upper(t)
}

/// The range of difference over error, given an interval of the squared error.
fn statistic(difference: &Interval, squared_error: &Interval) -> [f64; 2] {
    let over = |end: &BigRational, small: &BigRational, large: &BigRational| {
        // A positive end is farthest out over the smallest error, a negative one over the largest.
        let square = if end.is_positive() { small } else { large };
        if square.is_zero() {
            return if end.is_zero() { 0.0 } else { f64::INFINITY.copysign(nearest_f64(end)) };
        }
        let size = nearest_f64(&(end * end / square)).sqrt();
        if end.is_negative() { -size } else { size }
    };
    let (small, large) = (squared_error.low(), squared_error.high());
    [over(difference.low(), large, small), over(difference.high(), small, large)]
}

/// The range of Welch's degrees of freedom. With r the fraction of the first squared error in the total, 1/df = r²/(n₁ - 1)
/// + (1 - r)²/(n₂ - 1): a parabola in r, smallest where df is n₁ + n₂ - 2.
fn welch_df([one, other]: [&Interval; 2], df: [u64; 2]) -> [f64; 2] {
    let [first, second] = df.map(whole);
    let total = &first + &second;
    let share = |part: &BigRational, rest: &BigRational, else_: BigRational| {
        let sum = part + rest;
        if sum.is_zero() { else_ } else { part / sum }
    };
    let low = share(one.low(), other.high(), BigRational::zero());
    let high = share(one.high(), other.low(), BigRational::one());
    let at = |r: &BigRational| {
        let rest = BigRational::one() - r;
        (r * r / &first + &rest * &rest / &second).recip()
    };
    let best = &first / &total;
    let (at_low, at_high) = (at(&low), at(&high));
    let most =
        if (&low..=&high).contains(&&best) { total } else { at_low.clone().max(at_high.clone()) };
    [nearest_f64(&at_low.min(at_high)), nearest_f64(&most)]
}

#[cfg(test)]
mod tests {
    use super::super::reading::tests::width;
    use super::*;
    use crate::{Summary, one_sample, welch};
    use proptest::prelude::*;
    use repro_core::decimal::Printed;

    fn estimate(text: &str, n: u64) -> Estimate {
        let printed = Printed::parse(text).unwrap();
        let width = printed.spread().unwrap().interval();
        Estimate { mean: printed.interval(), spread: Spread::new(&width, n).unwrap() }
    }

    fn holds(range: [f64; 2], value: f64) {
        assert!((range[0]..=range[1]).contains(&value), "{value} in {range:?}");
    }

    #[test]
    fn the_statistic_of_the_printed_numbers_lies_inside() {
        let (a, b) = (estimate("1.6545 ± 0.0012", 3), estimate("1.5788 ± 0.0020", 3));
        let tested = Tested::welch(&a, &b, [ErrorBarMeaning::Sd; 2]).unwrap();
        let summary = |mean, sd| Summary { n: 3, mean, sd };
        let known = welch(&summary(1.6545, 0.0012), &summary(1.5788, 0.0020)).unwrap();
        holds(tested.t, known.t);
        holds(tested.df, known.df);
        holds(tested.p_above().unwrap(), known.p_greater());
        holds(tested.p_differs().unwrap(), known.p_two_sided());
        holds(tested.reversed().p_above().unwrap(), known.p_less());
        assert!(tested.t[1] - tested.t[0] < 4.0, "{tested:?}");
    }

    #[test]
    fn a_wider_reading_gives_a_larger_p() {
        let gap = estimate("0.0180 ± 0.0020", 3);
        let p = |reading| Tested::paired(&gap, reading).unwrap().p_differs().unwrap();
        assert!(p(ErrorBarMeaning::Sd)[1] < p(ErrorBarMeaning::StandardError)[0]);
        assert!(p(ErrorBarMeaning::Confidence(950))[1] < p(ErrorBarMeaning::Sd)[0]);
    }

    #[test]
    fn a_spread_that_may_be_zero_allows_any_significance_but_not_its_absence() {
        let p = Tested::paired(&estimate("0.5 ± 0.0", 3), ErrorBarMeaning::Sd)
            .unwrap()
            .p_above()
            .unwrap();
        assert!(p[0] == 0.0 && p[1] > 0.0 && p[1] < 0.05, "{p:?}");
        let zero = Tested::paired(&estimate("0.0 ± 0.0", 3), ErrorBarMeaning::Sd).unwrap();
        assert_eq!(zero.p_above().unwrap(), [0.0, 1.0]);
        assert_eq!(zero.p_differs().unwrap(), [0.0, 1.0]);
        let (a, b) = (estimate("0.5 ± 0.0", 3), estimate("0.1 ± 0.0", 4));
        assert_eq!(Tested::welch(&a, &b, [ErrorBarMeaning::Sd; 2]).unwrap().df, [2.0, 5.0]);
    }

    proptest! {
        /// The tests of the values themselves lie inside the ranges of their print, whatever ± is.
        #[test]
        fn real_values_are_inside(
            a in proptest::collection::vec(-3.0..3.0_f64, 2..7),
            b in proptest::collection::vec(-3.0..3.0_f64, 2..7),
            readings in [0..6_usize, 0..6],
        ) {
            let readings = readings.map(|at| ErrorBarMeaning::ALL[at]);
            let (one, other) = (Summary::of(&a).unwrap(), Summary::of(&b).unwrap());
            let print = |s: &Summary, values: &[f64], reading| {
                estimate(&format!("{:.2} ± {:.2}", s.mean, width(values, reading)), s.n as u64)
            };
            let (left, right) = (print(&one, &a, readings[0]), print(&other, &b, readings[1]));
            prop_assume!(one.sd + other.sd > 0.0);
            let known = welch(&one, &other).unwrap();
            let tested = Tested::welch(&left, &right, readings).unwrap();
            let inside = |range: [f64; 2], value: f64| {
                let slack = 1e-6 * (1.0 + value.abs());
                range[0] <= value + slack && value - slack <= range[1]
            };
            prop_assert!(inside(tested.t, known.t), "{tested:?} {known:?}");
            prop_assert!(inside(tested.df, known.df), "{tested:?} {known:?}");
            prop_assert!(inside(tested.p_above().unwrap(), known.p_greater()));
            prop_assert!(inside(tested.p_differs().unwrap(), known.p_two_sided()));
            if one.sd > 0.0 {
                let known = one_sample(&one, 0.0).unwrap();
                let tested = Tested::paired(&left, readings[0]).unwrap();
                prop_assert!(inside(tested.p_above().unwrap(), known.p_greater()));
            }
        }
    }
}
