//! The sign-flip permutation test: under the null hypothesis each difference might as well have had
//! the other sign.

use super::Refused;
use crate::rng::Rng;

/// Up to this many differences, all sign flips are counted by matching the sorted sums of both halves.
pub const EXACT_TO: usize = 40;
/// Sums this close, in units of the sum of absolute differences, are equal but for rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// The result of a sign-flip test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlip {
    /// The fraction of flips whose sum is at least as far from zero.
    pub p_two_sided: f64,
    /// The fraction of flips whose sum is at least as large.
    pub p_greater: f64,
    /// The fraction of flips whose sum is at most as large.
    pub p_less: f64,
    /// The smallest possible two-sided p for this number of differences: 2 of 2^n flips.
    pub least_two_sided: f64,
    /// The number of drawn flips; none if all were counted.
    pub drawn: Option<usize>,
}

/// Tests whether differences are symmetric about zero; more than [`EXACT_TO`] are flipped `flips` times
/// from the seed, and the observed signs count as one flip.
///
/// ```
/// use repro_stats::sign_flip;
///
/// // Five differences on one side of zero: 2 of 32 flips are as far from zero.
/// let found = sign_flip(&[1.0, 2.0, 3.0, 4.0, 5.0], 10_000, 0)?;
/// assert_eq!((found.p_two_sided, found.drawn), (0.0625, None));
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn sign_flip(differences: &[f64], flips: usize, seed: u64) -> Result<SignFlip, Refused> {
    let n = differences.len();
    if n == 0 {
        return Err(Refused::TooFew { needed: 1, found: 0 });
    }
    if differences.iter().any(|one| !one.is_finite()) {
        return Err(Refused::NotFinite);
    }
    let reach: f64 = differences.iter().map(|one| one.abs()).sum();
    if reach == 0.0 {
        return Err(Refused::NoSpread);
    }
    if reach.is_infinite() {
        return Err(Refused::OutOfRange);
    }
    let observed: f64 = differences.iter().sum();
    let rounding = ROUNDING * reach;
    let least_two_sided = 2.0 * halved(n);
    if n > EXACT_TO {
        return drawn(differences, flips, seed, observed, rounding, least_two_sided);
    }
    let (left, right) = differences.split_at(n / 2);
    let (left, mut right) = (flipped_sums(left), flipped_sums(right));
    right.sort_by(f64::total_cmp);
    let share = |count: &dyn Fn(f64) -> usize| {
        let ways: u64 = left.iter().map(|&sum| count(sum) as u64).sum();
        ways as f64 * halved(n)
    };
    let at_least = |bound: f64| {
        share(&|sum| right.len() - right.partition_point(|one| sum + one < bound - rounding))
    };
    let at_most =
        |bound: f64| share(&|sum| right.partition_point(|one| sum + one <= bound + rounding));
    let far = observed.abs();
    let both = if far <= rounding { 1.0 } else { at_least(far) + at_most(-far) };
    Ok(SignFlip {
        p_two_sided: both,
        p_greater: at_least(observed),
        p_less: at_most(observed),
        least_two_sided,
        drawn: None,
    })
}

/// 2^-n.
fn halved(n: usize) -> f64 {
    (0..n).fold(1.0, |share, _| share / 2.0)
}

/// The sums under all signs.
fn flipped_sums(differences: &[f64]) -> Vec<f64> {
    differences
        .iter()
        .fold(vec![0.0], |sums, one| sums.iter().flat_map(|sum| [sum + one, sum - one]).collect())
}

fn drawn(
    differences: &[f64],
    flips: usize,
    seed: u64,
    observed: f64,
    rounding: f64,
    least_two_sided: f64,
) -> Result<SignFlip, Refused> {
    super::bootstrap::check_resamples(flips, differences.len())?;
    let mut rng = Rng::new(seed, "sign flip");
    let (mut greater, mut less, mut both) = (1_u64, 1_u64, 1_u64);
    for _ in 0..flips {
        let mut sum = 0.0;
        for chunk in differences.chunks(64) {
            let word = rng.word();
            for (bit, one) in chunk.iter().enumerate() {
                sum += if word >> bit & 1 == 0 { *one } else { -one };
            }
        }
        greater += u64::from(sum >= observed - rounding);
        less += u64::from(sum <= observed + rounding);
        both += u64::from(sum.abs() >= observed.abs() - rounding);
    }
    let share = |count: u64| count as f64 / (flips + 1) as f64;
    Ok(SignFlip {
        p_two_sided: share(both),
        p_greater: share(greater),
        p_less: share(less),
        least_two_sided,
        drawn: Some(flips),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_flips_of_few_differences() {
        let one = sign_flip(&[1.0, 2.0, 3.0], 1000, 1).unwrap();
        let wanted = SignFlip {
            p_two_sided: 0.25,
            p_greater: 0.125,
            p_less: 1.0,
            least_two_sided: 0.25,
            drawn: None,
        };
        assert_eq!(one, wanted);
        // Sums 0.3, 0.1 twice, 0 - ties that binary sums only nearly reach count as ties.
        let tied = sign_flip(&[0.1, 0.2, -0.3], 1000, 1).unwrap();
        assert_eq!((tied.p_two_sided, tied.p_greater, tied.p_less), (1.0, 0.625, 0.625));
        assert_eq!(sign_flip(&[2.0], 1000, 1).unwrap().p_two_sided, 1.0);
        assert_eq!(sign_flip(&[0.0, 0.0], 1000, 1), Err(Refused::NoSpread));
        assert_eq!(sign_flip(&[], 1000, 1), Err(Refused::TooFew { needed: 1, found: 0 }));
        assert_eq!(sign_flip(&[f64::NAN], 1000, 1), Err(Refused::NotFinite));
    }

    #[test]
    fn many_differences_are_drawn() {
        let differences: Vec<_> = (0..60).map(|i| f64::from(i % 7) - 2.5).collect();
        let few = sign_flip(&differences[..EXACT_TO], 1000, 5).unwrap();
        assert_eq!(few.drawn, None);
        let many = sign_flip(&differences, 20_000, 5).unwrap();
        assert_eq!(many.drawn, Some(20_000));
        assert_eq!(many, sign_flip(&differences, 20_000, 5).unwrap());
        // The normal approximation: sum 24, sum of squares 247.
        assert!((many.p_greater - 0.067).abs() < 0.01, "{}", many.p_greater);
    }

    proptest! {
        #[test]
        fn shares_are_counted_as_by_hand(d in prop::collection::vec(-9_i32..=9, 1..9)) {
            prop_assume!(d.iter().any(|one| *one != 0));
            let floats: Vec<_> = d.iter().map(|one| f64::from(*one) / 10.0).collect();
            let found = sign_flip(&floats, 1000, 1).unwrap();
            let observed: i32 = d.iter().sum();
            let flips = 1_u32 << d.len();
            let sum = |flip: u32| -> i32 {
                d.iter().enumerate().map(|(i, one)| if flip >> i & 1 == 0 { *one } else { -one }).sum()
            };
            let share = |wanted: &dyn Fn(i32) -> bool| {
                (0..flips).filter(|flip| wanted(sum(*flip))).count() as f64 / f64::from(flips)
            };
            prop_assert_eq!(found.p_greater, share(&|sum| sum >= observed));
            prop_assert_eq!(found.p_less, share(&|sum| sum <= observed));
            prop_assert_eq!(found.p_two_sided, share(&|sum| sum.abs() >= observed.abs()));
        }
    }
}
