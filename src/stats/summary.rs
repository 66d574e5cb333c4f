//! Mean and spread of a list, and how two lists move together.

use repro_core::decimal::nearest_f64;

use super::Refused;
use super::decimals::{Decimal, Decimals, root};

/// Number of values, mean and sample standard deviation (divisor n - 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, divisor n - 1.
    pub sd: f64,
}

impl Summary {
    /// The summary of a list of at least two values, each number rounded once.
    ///
    /// ```
    /// use repro_stats::Summary;
    ///
    /// let summary = Summary::of(&[1e9 + 0.001, 1e9 + 0.002, 1e9 + 0.003])?;
    /// assert_eq!((summary.mean, summary.sd), (1e9 + 0.002, 0.001));
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    pub fn of(values: &[f64]) -> Result<Self, Refused> {
        Self::of_decimals(&Decimals::of(values)?)
    }

    /// The summary of at least two decimals, each number rounded once.
    pub fn of_decimals(values: &Decimals) -> Result<Self, Refused> {
        let n = values.count();
        if n < 2 {
            return Err(Refused::TooFew { needed: 2, found: n });
        }
        let sd = root(&values.variance());
        if sd == 0.0 && values.vary() {
            // The spread is below the smallest float.
            return Err(Refused::OutOfRange);
        }
        Self { n, mean: nearest_f64(&values.mean()), sd }.checked()
    }

    /// The same summary if it is valid: at least two values, all finite, with a standard deviation of at least zero.
    pub fn checked(self) -> Result<Self, Refused> {
        if self.n < 2 {
            Err(Refused::TooFew { needed: 2, found: self.n })
        } else if !self.mean.is_finite() || !self.sd.is_finite() {
            Err(Refused::OutOfRange)
        } else if self.sd < 0.0 {
            Err(Refused::NegativeSpread(self.sd))
        } else {
            Ok(self)
        }
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.sd / (self.n as f64).sqrt()
    }

    /// The standard deviation with divisor n.
    pub fn population_sd(&self) -> f64 {
        let n = self.n as f64;
        self.sd * ((n - 1.0) / n).sqrt()
    }
}

/// The mean of at least one finite value, rounded once.
///
/// ```
/// assert_eq!(repro_stats::mean(&[0.1, 0.2, 0.3])?, 0.2);
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn mean(values: &[f64]) -> Result<f64, Refused> {
    if values.is_empty() {
        return Err(Refused::TooFew { needed: 1, found: 0 });
    }
    let mean = nearest_f64(&Decimals::of(values)?.mean());
    if mean.is_finite() { Ok(mean) } else { Err(Refused::OutOfRange) }
}

/// The differences a - b of pairs: exact between the decimals that the floats represent, then rounded
/// once, so that 1.3 - 1.2 and 1.2 - 1.1 are one number.
///
/// ```
/// use repro_stats::differences;
///
/// assert_eq!(differences(&[1.3, 1.2], &[1.2, 1.1])?, [0.1, 0.1]);
/// assert_eq!(differences(&[1e15 + 3.0], &[1e15])?, [3.0]);
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>, Refused> {
    if a.len() != b.len() {
        return Err(Refused::UnequalLengths { left: a.len(), right: b.len() });
    }
    Ok(Decimals::of_pairs(&Decimals::of(a)?, &Decimals::of(b)?)?.floats())
}

/// The difference a - b of two floats as in [`differences`]; for non-finite floats, the plain float difference.
pub fn difference(a: f64, b: f64) -> f64 {
    match (Decimal::of(a), Decimal::of(b)) {
        (Some(a), Some(b)) => nearest_f64(&(a.value() - b.value())),
        _ => a - b,
    }
}

/// Pearson's correlation of pairs.
///
/// ```
/// assert_eq!(repro_stats::correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0])?, 1.0);
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn correlation(a: &[f64], b: &[f64]) -> Result<f64, Refused> {
    if a.len() != b.len() {
        return Err(Refused::UnequalLengths { left: a.len(), right: b.len() });
    }
    correlation_of(&Decimals::of(a)?, &Decimals::of(b)?)
}

/// Pearson's correlation of pairs of decimals.
pub fn correlation_of(a: &Decimals, b: &Decimals) -> Result<f64, Refused> {
    let (left, right) = (a.count(), b.count());
    match left {
        _ if left != right => Err(Refused::UnequalLengths { left, right }),
        0 | 1 => Err(Refused::TooFew { needed: 2, found: left }),
        _ => a.correlation(b).ok_or(Refused::NoSpread),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_known_values() {
        let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((summary.n, summary.mean), (8, 5.0));
        assert_eq!(summary.population_sd(), 2.0);
        assert!((summary.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        assert_eq!(summary.standard_error(), summary.sd / 8.0_f64.sqrt());
    }

    #[test]
    fn a_small_spread_on_a_large_mean_survives() {
        let summary = Summary::of(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]).unwrap();
        assert_eq!((summary.mean, summary.sd), (1e9 + 2.0, 1.0));
    }

    #[test]
    fn what_cannot_be_summarised_is_refused() {
        assert_eq!(Summary::of(&[]), Err(Refused::TooFew { needed: 2, found: 0 }));
        assert_eq!(Summary::of(&[1.0]), Err(Refused::TooFew { needed: 2, found: 1 }));
        assert_eq!(Summary::of(&[1.0, f64::NAN]), Err(Refused::NotFinite));
        assert_eq!(Summary::of(&[1.0, f64::INFINITY]), Err(Refused::NotFinite));
        assert_eq!(Summary::of(&[f64::MAX, -f64::MAX]), Err(Refused::OutOfRange));
        assert_eq!(Summary::of(&[0.0, 0.0, 0.0, 0.0, 0.0, 5e-324]), Err(Refused::OutOfRange));
        assert_eq!(Summary::of(&[0.1; 3]).unwrap().sd, 0.0, "equal values have no spread");
        let negative = Summary { n: 3, mean: 1.0, sd: -0.5 };
        assert_eq!(negative.checked(), Err(Refused::NegativeSpread(-0.5)));
        let refused = Refused::TooFew { needed: 2, found: 1 };
        assert_eq!(refused.to_string(), "one value; it needs at least 2");
    }

    #[test]
    fn differences_of_decimals_are_decimals() {
        let (a, b) = ([1.3, 1.2, 1.1], [1.2, 1.1, 1.0]);
        assert!(a[0] - b[0] != a[1] - b[1], "binary floats differ");
        assert_eq!(differences(&a, &b).unwrap(), [0.1; 3]);
        let real = super::differences(&[1.65, 1.66], &[1.55, 1.5600000001]).unwrap();
        assert_eq!(real, [0.1, 0.0999999999]);
        let one = |a: f64, b: f64| super::differences(&[a], &[b]).unwrap()[0];
        assert_eq!(one(3.27891234567891, 3.27891234567892), -1e-14);
        assert_eq!(one(3e20, 1e20), 2e20);
        assert_eq!(one(3e-320, 1e-320), 2e-320, "no power of ten scales it");
        assert_eq!(one(f64::MAX, -f64::MAX), f64::INFINITY);
        assert_eq!(one(0.0, 0.0), 0.0);
        assert_eq!(one(6e15, 4e15), 2e15);
    }

    #[test]
    fn correlation_of_known_pairs() {
        let a = [1.0, 2.0, 3.0];
        assert_eq!(correlation(&a, &[2.0, 4.0, 6.0]), Ok(1.0));
        assert_eq!(correlation(&a, &[3.0, 2.0, 1.0]), Ok(-1.0));
        assert!(correlation(&a, &[1.0, -2.0, 1.0]).unwrap().abs() < 1e-15);
        assert_eq!(correlation(&a, &[1.0; 3]), Err(Refused::NoSpread));
        let unequal = Refused::UnequalLengths { left: 3, right: 2 };
        assert_eq!(correlation(&a, &[1.0, 2.0]), Err(unequal));
    }
}
