//! The distributions that tests refer to, each number computed twice: by this crate and, where it is sound, by `statrs`.
//!
//! Every p and every quantile that reaches a verdict comes from here. Where the two computations differ relatively by more than
//! 1e-9, there is no number: [`Refused::Disagree`].
//!
//! ```
//! use repro_stats::distribution::{StudentT, Symmetric};
//!
//! let student = StudentT::new(4.0)?;
//! assert!((student.upper_quantile(0.025)? - 2.7764451051977987).abs() < 1e-12);
//! assert!((student.two_sided(2.7764451051977987)? - 0.05).abs() < 1e-12);
//! # Ok::<(), repro_stats::Refused>(())
//! ```

use super::Refused;
use super::second_opinion::{self, agreed};
use super::special::incomplete_beta;
use super::tail::{self, Tail};
pub use super::tail::{Normal, StudentT};

/// A symmetric distribution about zero.
pub trait Symmetric: Tail {
    /// Its name in messages.
    const NAME: &'static str;

    /// The tail above `x` (from 0 up) according to `statrs`, where it is reliable.
    fn second_tail(&self, x: f64) -> Option<f64>;

    /// Whether the tails of `statrs` are reliable enough to check the quantile of `tail`, which is at most a half.
    fn is_quantile_sound(&self, tail: f64) -> bool;

    /// The probability above `x`.
    fn upper(&self, x: f64) -> Result<f64, Refused> {
        let beyond = agreed(Self::NAME, self.tail(x.abs()), self.second_tail(x.abs()))?;
        Ok(if x < 0.0 { 1.0 - beyond } else { beyond })
    }

    /// The probability up to `x`.
    fn cdf(&self, x: f64) -> Result<f64, Refused> {
        self.upper(-x)
    }

    /// The probability farther from zero than `x` on both sides.
    fn two_sided(&self, x: f64) -> Result<f64, Refused> {
        Ok((2.0 * self.upper(x.abs())?).min(1.0))
    }

    /// The number that is exceeded with probability `tail`, for a tail strictly between 0 and 1. The second opinion is one
    /// step of Newton's method from ours, by the tail of `statrs`.
    fn upper_quantile(&self, tail: f64) -> Result<f64, Refused> {
        let quantile = self.inverse(tail);
        let smaller = tail.min(1.0 - tail);
        let second = self.is_quantile_sound(smaller).then(|| {
            let at = quantile.abs();
            let beyond = self.second_tail(at).unwrap_or(f64::NAN);
            (at + (beyond - smaller) / self.density(at)).copysign(quantile)
        });
        agreed(Self::NAME, quantile, second)
    }

    /// The number that is not exceeded with probability `p`.
    fn quantile(&self, p: f64) -> Result<f64, Refused> {
        Ok(-self.upper_quantile(p)?)
    }
}

impl Symmetric for Normal {
    const NAME: &'static str = "the normal distribution";

    fn second_tail(&self, x: f64) -> Option<f64> {
        second_opinion::normal_tail(x)
    }

    fn is_quantile_sound(&self, tail: f64) -> bool {
        second_opinion::is_quantile_sound(f64::INFINITY, tail)
    }
}

impl Symmetric for StudentT {
    const NAME: &'static str = "Student's t distribution";

    fn second_tail(&self, t: f64) -> Option<f64> {
        second_opinion::student_tail(self.df(), t)
    }

    fn is_quantile_sound(&self, tail: f64) -> bool {
        second_opinion::is_quantile_sound(self.df(), tail)
    }
}

/// The probability that F with `between` and `within` degrees of freedom is above `f`.
pub fn f_upper(between: f64, within: f64, f: f64) -> Result<f64, Refused> {
    let (between, within) = (positive(between)?, positive(within)?);
    let second = second_opinion::f_tail(between, within, f);
    agreed("the F distribution", tail::f_tail(between, within, f), second)
}

/// The probability that χ² with `df` degrees of freedom is above `x`.
pub fn chi_squared_upper(df: f64, x: f64) -> Result<f64, Refused> {
    let df = positive(df)?;
    let second = second_opinion::chi_squared_tail(df, x);
    agreed("the chi-squared distribution", tail::chi_squared_tail(df, x), second)
}

/// The probability of at most `heads` of `coins` fair coins: I_½(coins - heads, heads + 1) (DLMF 8.17.5).
pub fn coins_up_to(heads: u64, coins: u64) -> Result<f64, Refused> {
    if heads >= coins {
        return Ok(1.0);
    }
    let first = incomplete_beta((coins - heads) as f64, (heads + 1) as f64, 0.5, 0.5);
    agreed("the binomial distribution", first, second_opinion::coins_up_to(heads, coins))
}

fn positive(df: f64) -> Result<f64, Refused> {
    if df > 0.0 { Ok(df) } else { Err(Refused::NoFreedom(df)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest relative difference between the two computations of `cases`, and the number of cases.
    fn farthest(cases: impl Iterator<Item = (f64, Option<f64>)>) -> (f64, usize) {
        let both = cases.filter_map(|(first, second)| Some((first, second?)));
        both.filter(|(first, _)| *first > 1e-290).fold(
            (0.0, 0),
            |(most, count), (first, second)| {
                let away = (first - second).abs() / first;
                assert!(!away.is_nan(), "{first} {second}");
                (away.max(most), count + 1)
            },
        )
    }

    const FREEDOM: [f64; 13] =
        [1.0, 1.5, 2.0, 3.3, 5.0, 10.0, 41.2, 100.0, 300.0, 1e3, 5e3, 1e4, 2e4];

    /// The bounds are those of the table in `docs/reference/statistics.md`, an order of magnitude below the limit for an
    /// error.
    #[test]
    fn both_computations_agree_over_their_common_domain() {
        let pairs = |values: &'static [f64]| {
            FREEDOM.into_iter().flat_map(move |df| values.iter().map(move |x| (df, *x)))
        };
        let ts = &[
            1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 15.0, 30.0, 37.0, 1e3, 1e100,
        ];
        let student = pairs(ts).map(|(df, t)| {
            let student = StudentT::new(df).unwrap();
            (student.tail(t), student.second_tail(t))
        });
        let normal = (0..3700).map(|step| {
            let x = f64::from(step) / 100.0;
            (Normal.tail(x), Normal.second_tail(x))
        });
        let ratios = &[1e-6, 0.01, 0.3, 0.7, 0.9, 0.99, 1.0, 1.01, 1.1, 1.5, 2.0, 5.0, 30.0];
        let chi_squared = pairs(ratios).map(|(df, ratio)| {
            let x = df * ratio;
            (tail::chi_squared_tail(df, x), second_opinion::chi_squared_tail(df, x))
        });
        let fs = &[1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0, 30.0, 1e3, 1e6, 1e300];
        let f = FREEDOM.into_iter().flat_map(|between| {
            pairs(fs).map(move |(within, f)| {
                (tail::f_tail(between, within, f), second_opinion::f_tail(between, within, f))
            })
        });
        let coins = [1, 2, 5, 20, 100, 1000, 5000, 20_000].into_iter().flat_map(|coins: u64| {
            (0..=20).map(move |part| {
                let heads = coins / 2 * part / 20;
                let first = incomplete_beta((coins - heads) as f64, (heads + 1) as f64, 0.5, 0.5);
                (first, second_opinion::coins_up_to(heads, coins))
            })
        });
        let all = [
            ("student", farthest(student), 170),
            ("normal", farthest(normal), 3600),
            ("chi-squared", farthest(chi_squared), 150),
            ("F", farthest(f), 1800),
            ("coins", farthest(coins), 130),
        ];
        for (name, (most, count), least) in all {
            assert!(most < 1.5e-10 && count >= least, "{name}: {most:e} over {count}");
        }
    }

    #[test]
    fn quantiles_are_right_by_the_other_tail() {
        let mut asked = 0;
        for df in FREEDOM.into_iter().chain([f64::INFINITY, 2.1e4, 1e5, 2e7, 1e300]) {
            let student = StudentT::new(df).unwrap();
            for tail in
                [0.5, 0.49999, 0.45, 0.3, 0.1, 0.05, 0.025, 0.005, 1e-6, 1e-12, 1e-100, 1e-250]
            {
                asked += usize::from(student.is_quantile_sound(tail));
                let quantile = student.upper_quantile(tail).unwrap();
                assert_eq!(
                    student.upper_quantile(1.0 - tail).unwrap() <= 0.0,
                    tail <= 0.5,
                    "{quantile}"
                );
                assert!(Normal.upper_quantile(tail).is_ok());
            }
        }
        assert!(asked > 110, "{asked}");
    }

    #[test]
    fn what_two_implementations_dispute_is_refused() {
        let found = agreed("a tail", 0.5, Some(0.5 * (1.0 + 2e-9)));
        assert!(
            matches!(found, Err(Refused::Disagree { of: "a tail", first: 0.5, .. })),
            "{found:?}"
        );
        assert_eq!(agreed("a tail", 0.5, Some(0.5 * (1.0 + 5e-10))), Ok(0.5));
        assert!(agreed("a tail", 0.5, Some(f64::NAN)).is_err());
        assert!(agreed("a tail", 0.5, Some(f64::INFINITY)).is_err());
        assert_eq!(agreed("a tail", f64::NAN, None), Err(Refused::OutOfRange));
        assert_eq!(agreed("a tail", f64::INFINITY, None), Ok(f64::INFINITY));
    }

    /// Each call ends, whatever it is given: outside of its domain `statrs` is not asked.
    #[test]
    fn no_input_hangs_or_panics() {
        let hard = [
            0.0,
            5e-324,
            1e-300,
            1e-170,
            1e-60,
            0.5,
            1.0,
            199.0,
            2e7,
            1e15,
            1e300,
            f64::INFINITY,
            f64::NAN,
            -1.0,
        ];
        for a in hard {
            for b in hard {
                let _ = chi_squared_upper(a, b);
                let _ = StudentT::new(a).and_then(|student| student.upper(b));
                let _ = StudentT::new(a).and_then(|student| student.upper_quantile(b));
                let _ = (Normal.upper(b), Normal.upper_quantile(b));
                for c in hard {
                    let _ = f_upper(a, b, c);
                }
            }
        }
        for coins in [0, 1, 2, 30_000, 1 << 32] {
            for heads in [0, 1, coins / 2, coins, u64::MAX] {
                let _ = coins_up_to(heads, coins);
            }
        }
    }
}
