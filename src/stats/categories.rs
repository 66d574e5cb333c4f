//! Counts of categories, such as the tokens that each expert took, against the shares that are expected.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_core::decimal::nearest_f64;

use super::Refused;
use super::distribution::chi_squared_upper;

/// Pearson's χ² test of counts against expected fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquared {
    /// The sum of (observed - expected)² / expected.
    pub statistic: f64,
    /// One less than the categories.
    pub df: f64,
    /// The probability of a sum at least as large.
    pub p: f64,
    /// The smallest expected count: below 5, p is unreliable.
    pub least_expected: f64,
}

/// Pearson's χ² test (1900) of counts against `weights`, which are normalized to fractions, or against equal fractions
/// without weights. Every term is exact and rounded once.
///
/// # Errors
///
/// [`Refused::TooFewGroups`] for fewer than two categories, [`Refused::UnequalLengths`] for a different number of weights,
/// [`Refused::NotACount`] for a count that is not a non-negative whole number, [`Refused::NoTrials`] if nothing was
/// counted,
/// [`Refused::NoShare`] for a weight that is not above zero.
///
/// ```
/// use num_rational::BigRational;
/// use repro_stats::chi_squared;
///
/// // The tokens that four experts received, against equal shares.
/// let counts = [10, 20, 30, 40].map(|count| BigRational::from_integer(count.into()));
/// let found = chi_squared(&counts, None)?;
/// assert_eq!((found.statistic, found.df), (20.0, 3.0));
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn chi_squared(
    counts: &[BigRational],
    weights: Option<&[BigRational]>,
) -> Result<ChiSquared, Refused> {
    let categories = counts.len();
    if categories < 2 {
        return Err(Refused::TooFewGroups { needed: 2, found: categories });
    }
    if counts.iter().any(|count| !count.is_integer() || count.is_negative()) {
        return Err(Refused::NotACount);
    }
    let all: BigRational = counts.iter().sum();
    if all.is_zero() {
        return Err(Refused::NoTrials);
    }
    let expected = match weights {
        None => vec![&all / BigInt::from(categories); categories],
        Some(weights) if weights.len() != categories => {
            return Err(Refused::UnequalLengths { left: categories, right: weights.len() });
        }
        Some(weights) if weights.iter().any(|weight| !weight.is_positive()) => {
            return Err(Refused::NoShare);
        }
        Some(weights) => {
            let scale = &all / weights.iter().sum::<BigRational>();
            weights.iter().map(|weight| weight * &scale).collect()
        }
    };
    let terms = counts.iter().zip(&expected).map(|(count, expected)| {
        let away = count - expected;
        nearest_f64(&(&away * &away / expected))
    });
    let statistic: f64 = terms.sum();
    let least_expected = expected.iter().min().map_or(0.0, nearest_f64);
    let df = (categories - 1) as f64;
    if !statistic.is_finite() {
        return Err(Refused::OutOfRange);
    }
    Ok(ChiSquared { statistic, df, p: chi_squared_upper(df, statistic)?, least_expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(values: &[f64]) -> Vec<BigRational> {
        values.iter().map(|value| BigRational::from_float(*value).unwrap()).collect()
    }

    fn of(counts: &[f64], weights: Option<&[f64]>) -> Result<ChiSquared, Refused> {
        chi_squared(&exact(counts), weights.map(exact).as_deref())
    }

    #[test]
    fn what_is_no_count_is_refused() {
        let few = |found| Err(Refused::TooFewGroups { needed: 2, found });
        assert_eq!((of(&[], None), of(&[4.0], None)), (few(0), few(1)));
        assert_eq!(of(&[0.5, 2.0], None), Err(Refused::NotACount));
        assert_eq!(of(&[-1.0, 2.0], None), Err(Refused::NotACount));
        assert_eq!(of(&[0.0, 0.0], None), Err(Refused::NoTrials));
        let unequal = Refused::UnequalLengths { left: 2, right: 3 };
        assert_eq!(of(&[1.0, 2.0], Some(&[1.0, 1.0, 1.0])), Err(unequal));
        assert_eq!(of(&[1.0, 2.0], Some(&[1.0, 0.0])), Err(Refused::NoShare));
        assert_eq!(of(&[7.0, 7.0, 7.0], None).unwrap().p, 1.0);
    }

    #[test]
    fn only_shares_of_weights_matter() {
        let counts = [16.0, 18.0, 16.0, 14.0, 12.0, 12.0];
        let equal = of(&counts, None).unwrap();
        assert_eq!(equal, of(&counts, Some(&[0.25; 6])).unwrap());
        assert_eq!((equal.statistic, equal.df), (2.0, 5.0));
        assert!((equal.least_expected - 88.0 / 6.0).abs() < 1e-12);
    }
}
