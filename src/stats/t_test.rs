//! Student's t: one sample, pairs, two samples of unequal or equal variance.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_core::decimal::nearest_f64;

use super::decimals::{Decimal, Decimals, root};
use super::distribution::{StudentT, Symmetric};
use super::{Refused, Summary, difference};

/// An estimate with its standard error and the t statistic against a null value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct T {
    /// The estimate: a mean, or a difference of means a - b.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Estimate minus null value, in standard errors.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// The probability of a t beyond this one on its side of zero.
    beyond: f64,
    distribution: StudentT,
}

impl T {
    /// The statistic of an estimate against a null value.
    ///
    /// ```
    /// use repro_stats::T;
    ///
    /// let test = T::new(3.0, 0.0, 1.0, 4.0)?;
    /// assert!((test.p_two_sided() - 0.0399).abs() < 1e-4);
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    pub fn new(estimate: f64, null: f64, standard_error: f64, df: f64) -> Result<Self, Refused> {
        if !null.is_finite() {
            return Err(Refused::NotFinite);
        }
        if standard_error == 0.0 {
            return Err(Refused::NoSpread);
        }
        let t = difference(estimate, null) / standard_error;
        Self::known(estimate, standard_error, t, df)
    }

    /// The statistic of an exact estimate at the distance `away` from the null value, with each number rounded once.
    fn exact(
        estimate: &BigRational,
        away: &BigRational,
        squared_error: &BigRational,
        df: f64,
    ) -> Result<Self, Refused> {
        if squared_error.is_zero() {
            return Err(Refused::NoSpread);
        }
        let size = root(&(away * away / squared_error));
        let t = if away.is_negative() { -size } else { size };
        Self::known(nearest_f64(estimate), root(squared_error), t, df)
    }

    fn known(estimate: f64, standard_error: f64, t: f64, df: f64) -> Result<Self, Refused> {
        let finite = [estimate, standard_error, t, df].iter().all(|value| value.is_finite());
        if !finite {
            return Err(Refused::OutOfRange);
        }
        let distribution = StudentT::new(df)?;
        let beyond = distribution.upper(t.abs())?;
        Ok(Self { estimate, standard_error, t, df, beyond, distribution })
    }

    /// The statistic of the same estimate against a different null value.
    pub fn against(&self, null: f64) -> Result<Self, Refused> {
        Self::new(self.estimate, null, self.standard_error, self.df)
    }

    /// The probability, under the null value, of a t at least as far from zero.
    pub fn p_two_sided(&self) -> f64 {
        (2.0 * self.beyond).min(1.0)
    }

    /// The probability of a t at most this large: small if the estimate is below the null value.
    pub fn p_less(&self) -> f64 {
        if self.t < 0.0 { self.beyond } else { 1.0 - self.beyond }
    }

    /// The probability of a t at least this large: small if the estimate is above the null value.
    pub fn p_greater(&self) -> f64 {
        if self.t < 0.0 { 1.0 - self.beyond } else { self.beyond }
    }

    /// The interval about the estimate at a level strictly between 0 and 1, by no bound where the
    /// level is none.
    ///
    /// ```
    /// use repro_stats::T;
    ///
    /// let [low, high] = T::new(3.0, 0.0, 1.0, 4.0)?.interval(0.95)?;
    /// assert!((low - 0.2236).abs() < 1e-4 && (high - 5.7764).abs() < 1e-4);
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    pub fn interval(&self, level: f64) -> Result<[f64; 2], Refused> {
        let quantile = self.distribution.upper_quantile((1.0 - level) / 2.0)?;
        let reach = quantile * self.standard_error;
        Ok([self.estimate - reach, self.estimate + reach])
    }
}

/// A mean against a null value.
///
/// ```
/// use repro_stats::{Summary, one_sample};
///
/// let test = one_sample(&Summary { n: 4, mean: 1.0, sd: 1.0 }, 0.0)?;
/// assert_eq!((test.t, test.df), (2.0, 3.0));
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn one_sample(summary: &Summary, null: f64) -> Result<T, Refused> {
    let summary = summary.checked()?;
    T::new(summary.mean, null, summary.standard_error(), (summary.n - 1) as f64)
}

/// The mean of a list against a null value, exact up to the last rounding.
pub fn one_sample_of(values: &Decimals, null: f64) -> Result<T, Refused> {
    against(values, &Decimal::of(null).ok_or(Refused::NotFinite)?.value())
}

/// The mean difference a - b of pairs against zero.
///
/// ```
/// use repro_stats::paired;
///
/// let test = paired(&[1.3, 1.4, 1.6], &[1.2, 1.2, 1.3])?;
/// assert_eq!((test.estimate, test.df), (0.2, 2.0));
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn paired(a: &[f64], b: &[f64]) -> Result<T, Refused> {
    if a.len() != b.len() {
        return Err(Refused::UnequalLengths { left: a.len(), right: b.len() });
    }
    paired_of(&Decimals::of(a)?, &Decimals::of(b)?)
}

/// [`paired`] of decimals.
pub fn paired_of(a: &Decimals, b: &Decimals) -> Result<T, Refused> {
    against(&Decimals::of_pairs(a, b)?, &BigRational::default())
}

fn against(values: &Decimals, null: &BigRational) -> Result<T, Refused> {
    let n = at_least_two(values)?;
    let mean = values.mean();
    T::exact(&mean, &(&mean - null), &values.squared_error(), (n - 1) as f64)
}

/// The number of values, if it is at least two.
fn at_least_two(values: &Decimals) -> Result<usize, Refused> {
    match values.count() {
        found @ (0 | 1) => Err(Refused::TooFew { needed: 2, found }),
        n => Ok(n),
    }
}

/// Welch's test of two lists, exact up to the last rounding; [`welch`] takes the difference of two means
/// that were rounded before.
///
/// ```
/// use repro_stats::{Decimals, welch_of};
///
/// let a = Decimals::of(&[1e9 + 0.001, 1e9 + 0.003])?;
/// let b = Decimals::of(&[1e9 + 0.002, 1e9 + 0.005])?;
/// assert_eq!(welch_of(&a, &b)?.estimate, -0.0015);
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn welch_of(a: &Decimals, b: &Decimals) -> Result<T, Refused> {
    let (left_df, right_df) = (at_least_two(a)? - 1, at_least_two(b)? - 1);
    let (left, right) = (a.squared_error(), b.squared_error());
    let sum = &left + &right;
    if sum.is_zero() {
        return Err(Refused::NoSpread);
    }
    let parts = &left * &left / BigInt::from(left_df) + &right * &right / BigInt::from(right_df);
    let df = nearest_f64(&(&sum * &sum / parts));
    let gap = a.mean() - b.mean();
    T::exact(&gap, &gap, &sum, df)
}

/// [`pooled`] of two lists, exact up to the last rounding.
pub fn pooled_of(a: &Decimals, b: &Decimals) -> Result<T, Refused> {
    let counts = [at_least_two(a)?, at_least_two(b)?].map(BigInt::from);
    let [left, right] = &counts;
    let df = a.count() + b.count() - 2;
    let variance = (a.variance() * (left - 1) + b.variance() * (right - 1)) / BigInt::from(df);
    let squared_error = variance * BigRational::new_raw(left + right, left * right);
    let gap = a.mean() - b.mean();
    T::exact(&gap, &gap, &squared_error, df as f64)
}

/// The difference of two means against zero, with Welch's and Satterthwaite's degrees of freedom.
///
/// ```
/// use repro_stats::{Summary, welch};
///
/// let arm = |mean| Summary { n: 2, mean, sd: 1.0 };
/// let test = welch(&arm(2.0), &arm(0.0))?;
/// assert_eq!((test.estimate, test.df), (2.0, 2.0));
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn welch(a: &Summary, b: &Summary) -> Result<T, Refused> {
    let (a, b) = (a.checked()?, b.checked()?);
    let (left, right) = (a.standard_error(), b.standard_error());
    let larger = left.max(right);
    if larger == 0.0 {
        return Err(Refused::NoSpread);
    }
    // Squares of ratios to the larger standard error neither overflow nor vanish together.
    let (left, right) = (left / larger, right / larger);
    let (left, right) = (left * left, right * right);
    let sum = left + right;
    let df = sum * sum / (left * left / (a.n - 1) as f64 + right * right / (b.n - 1) as f64);
    let gap = difference(a.mean, b.mean);
    T::new(gap, 0.0, larger * sum.sqrt(), df)
}

/// The difference of two means against zero, assuming equal variances.
pub fn pooled(a: &Summary, b: &Summary) -> Result<T, Refused> {
    let (a, b) = (a.checked()?, b.checked()?);
    let larger = a.sd.max(b.sd);
    if larger == 0.0 {
        return Err(Refused::NoSpread);
    }
    let (left, right) = (a.sd / larger, b.sd / larger);
    let (left_df, right_df) = ((a.n - 1) as f64, (b.n - 1) as f64);
    let df = left_df + right_df;
    let sd = larger * ((left_df * left * left + right_df * right * right) / df).sqrt();
    let standard_error = sd * (1.0 / a.n as f64 + 1.0 / b.n as f64).sqrt();
    let gap = difference(a.mean, b.mean);
    T::new(gap, 0.0, standard_error, df)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64) {
        let off = (found - wanted).abs();
        assert!(off <= 1e-12 + 1e-9 * wanted.abs(), "{found} is not {wanted}");
    }

    /// Values and results of scipy 1.17: `ttest_1samp`, `ttest_rel`, `ttest_ind`.
    #[test]
    fn known_tests() {
        let (a, b) = ([2.1, 2.5, 2.2, 2.4], [1.9, 2.0, 2.3, 2.1]);
        let of = |values: &[f64]| Summary::of(values).unwrap();
        let one = one_sample(&of(&a), 2.0).unwrap();
        close(one.t, 3.2863353450309964);
        close(one.p_two_sided(), 0.04620509135336328);
        let pairs = paired(&a, &b).unwrap();
        close(pairs.t, 1.8000000000000018);
        close(pairs.p_greater(), 0.08483996445062894);
        let welch = welch(&of(&a), &of(&[1.9, 2.0, 2.6])).unwrap();
        close(welch.t, 0.5628780357842332);
        close(welch.df, 2.703684071031009);
        close(welch.p_less(), 0.6916093833800853);
        let interval = welch.interval(0.99).unwrap();
        close(interval[0], -1.4118226994169476);
        close(interval[1], 1.6784893660836142);
        let pooled = pooled(&of(&a), &of(&b)).unwrap();
        close(pooled.t, 1.8000000000000016);
        close(pooled.p_two_sided(), 0.12195242138388775);
    }

    #[test]
    fn what_has_no_spread_is_refused() {
        let flat = Summary { n: 3, mean: 1.0, sd: 0.0 };
        let spread = Summary { n: 3, mean: 1.5, sd: 0.25 };
        assert_eq!(one_sample(&flat, 0.0), Err(Refused::NoSpread));
        assert_eq!(welch(&flat, &flat), Err(Refused::NoSpread));
        assert_eq!(pooled(&flat, &flat), Err(Refused::NoSpread));
        let half = welch(&spread, &flat).unwrap();
        assert_eq!((half.estimate, half.df), (0.5, 2.0), "one arm measures the noise");
        assert_eq!(paired(&[1.3, 1.2], &[1.2, 1.1]), Err(Refused::NoSpread));
        let unequal = Refused::UnequalLengths { left: 2, right: 3 };
        assert_eq!(paired(&[1.0, 2.0], &[1.0, 2.0, 3.0]), Err(unequal));
        assert_eq!(paired(&[1.0], &[2.0]), Err(Refused::TooFew { needed: 2, found: 1 }));
        assert_eq!(one_sample(&spread, f64::NAN), Err(Refused::NotFinite));
        let one = Summary { n: 1, mean: 1.0, sd: 0.5 };
        assert_eq!(welch(&one, &spread), Err(Refused::TooFew { needed: 2, found: 1 }));
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-100.0..100.0_f64, 2..12)
    }

    proptest! {
        #[test]
        fn welch_changes_its_sign_with_the_arms(a in values(), b in values()) {
            let (a, b) = (Summary::of(&a).unwrap(), Summary::of(&b).unwrap());
            prop_assume!(a.sd > 0.0 || b.sd > 0.0);
            let (one, other) = (welch(&a, &b).unwrap(), welch(&b, &a).unwrap());
            prop_assert_eq!(one.t, -other.t);
            prop_assert!((one.df - other.df).abs() <= 1e-12 * one.df);
            prop_assert!((one.p_less() - other.p_greater()).abs() <= 1e-12);
            let least = a.n.min(b.n) as f64 - 1.0;
            prop_assert!(one.df >= least * (1.0 - 1e-12));
            prop_assert!(one.df <= (a.n + b.n - 2) as f64 * (1.0 + 1e-12));
        }

        #[test]
        fn p_values_are_probabilities_and_intervals_hold_the_estimate(
            a in values(), b in values(), level in 0.01..0.999_f64,
        ) {
            let (a, b) = (Summary::of(&a).unwrap(), Summary::of(&b).unwrap());
            prop_assume!(a.sd > 0.0);
            for test in [one_sample(&a, 1.0).unwrap(), welch(&a, &b).unwrap(), pooled(&a, &b).unwrap()] {
                for p in [test.p_two_sided(), test.p_less(), test.p_greater()] {
                    prop_assert!((0.0..=1.0).contains(&p));
                }
                prop_assert!((test.p_less() + test.p_greater() - 1.0).abs() < 1e-12);
                let [low, high] = test.interval(level).unwrap();
                prop_assert!(low < test.estimate && test.estimate < high);
                // The interval excludes zero exactly if the test rejects it.
                let outside = test.against(0.0).unwrap().p_two_sided() - (1.0 - level);
                prop_assert!(outside.abs() < 1e-9 || (outside < 0.0) == (low > 0.0 || high < 0.0));
            }
        }

        #[test]
        fn shift_and_scale_do_not_matter(
            a in values(), shift in -50.0..50.0_f64, scale in 0.01..100.0_f64,
        ) {
            let summary = Summary::of(&a).unwrap();
            prop_assume!(summary.sd > 1e-3);
            let moved: Vec<_> = a.iter().map(|value| scale * (value + shift)).collect();
            let moved = Summary::of(&moved).unwrap();
            let (one, other) =
                (one_sample(&summary, 0.0).unwrap(), one_sample(&moved, scale * shift).unwrap());
            prop_assert!((one.t - other.t).abs() <= 1e-8 * (1.0 + one.t.abs()));
        }
    }
}
