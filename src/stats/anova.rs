//! One-way analysis of variance: whether the means of several groups differ.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;
use repro_core::decimal::nearest_f64;

use super::distribution::f_upper;
use super::{Decimals, Refused};

/// The F test of equal means, with one variance in all groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anova {
    /// The mean square between groups over that within them.
    pub f: f64,
    /// One less than the groups.
    pub df_between: f64,
    /// The values less the groups.
    pub df_within: f64,
    /// The probability of an F at least as large.
    pub p: f64,
}

/// Fisher's one-way analysis of variance; the sums of squares are exact, and F is rounded once.
///
/// # Errors
///
/// [`Refused::TooFew`] for fewer than two groups, a group without a value, or no more values than groups;
/// [`Refused::NoSpread`] if the values of no group vary.
///
/// ```
/// use repro_stats::{Decimals, anova};
///
/// let groups = [Decimals::of(&[1.0, 2.0, 3.0])?, Decimals::of(&[2.0, 3.0, 4.0])?];
/// let found = anova(&groups)?;
/// assert_eq!((found.f, found.df_between, found.df_within), (1.5, 1.0, 4.0));
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn anova(groups: &[Decimals]) -> Result<Anova, Refused> {
    if groups.len() < 2 {
        return Err(Refused::TooFewGroups { needed: 2, found: groups.len() });
    }
    if groups.iter().any(|group| group.count() == 0) {
        return Err(Refused::TooFew { needed: 1, found: 0 });
    }
    let n: usize = groups.iter().map(Decimals::count).sum();
    if n <= groups.len() {
        return Err(Refused::TooFew { needed: groups.len() + 1, found: n });
    }
    let within: BigRational = groups.iter().map(Decimals::squares).sum();
    if within.is_zero() {
        return Err(Refused::NoSpread);
    }
    let weighted =
        |group: &Decimals| (BigRational::from_integer(BigInt::from(group.count())), group.mean());
    let groups: Vec<_> = groups.iter().map(weighted).collect();
    let sum: BigRational = groups.iter().map(|(count, mean)| count * mean).sum();
    let mean = sum / BigInt::from(n);
    let between: BigRational = groups
        .iter()
        .map(|(count, own)| {
            let away = own - &mean;
            count * &away * &away
        })
        .sum();
    let (df_between, df_within) = (groups.len() - 1, n - groups.len());
    let ratio = between * BigInt::from(df_within) / (within * BigInt::from(df_between));
    let (f, df_between, df_within) = (nearest_f64(&ratio), df_between as f64, df_within as f64);
    if !f.is_finite() {
        return Err(Refused::OutOfRange);
    }
    Ok(Anova { f, df_between, df_within, p: f_upper(df_between, df_within, f)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pooled_of;
    use proptest::prelude::*;

    fn of(groups: &[&[f64]]) -> Result<Anova, Refused> {
        let groups: Result<Vec<_>, _> = groups.iter().map(|group| Decimals::of(group)).collect();
        anova(&groups?)
    }

    #[test]
    fn what_has_no_variance_is_refused() {
        let groups = |found| Err(Refused::TooFewGroups { needed: 2, found });
        assert_eq!((of(&[]), of(&[&[1.0, 2.0]])), (groups(0), groups(1)));
        assert_eq!(of(&[&[1.0, 2.0], &[]]), Err(Refused::TooFew { needed: 1, found: 0 }));
        assert_eq!(of(&[&[1.0], &[2.0]]), Err(Refused::TooFew { needed: 3, found: 2 }));
        assert_eq!(of(&[&[1.0, 1.0], &[2.0, 2.0]]), Err(Refused::NoSpread));
        assert_eq!(of(&[&[1.0, f64::NAN], &[2.0]]), Err(Refused::NotFinite));
    }

    proptest! {
        #[test]
        fn of_two_groups_it_is_the_pooled_t_test(
            a in prop::collection::vec(-100.0..100.0_f64, 2..10),
            b in prop::collection::vec(-100.0..100.0_f64, 2..10),
        ) {
            let [left, right] = [&a, &b].map(|group| Decimals::of(group).unwrap());
            let (t, f) = (pooled_of(&left, &right).unwrap(), of(&[&a, &b]).unwrap());
            prop_assert!((f.f - t.t * t.t).abs() <= 1e-12 * f.f);
            prop_assert!((f.p - t.p_two_sided()).abs() <= 1e-11 * f.p);
        }
    }
}
