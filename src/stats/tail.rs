//! Tail probabilities and quantiles as this crate computes them, without a second opinion.
//!
//! Tails keep their relative accuracy down to the smallest floats, and quantiles invert those tails. Verdicts only use
//! values from [`distribution`](super::distribution).

use libm::{erfc, exp, log, log1p};

use super::Refused;
use super::special::{incomplete_beta, incomplete_gamma_upper, log_beta, stirling_rest};

/// Beyond these degrees of freedom G. Hill's expansion (Algorithm 395) is exact to the last digits.
const HILL_FROM: f64 = 1e5;
/// Beyond this ratio of t to the root of its degrees of freedom, only the leading term is left.
const FAR: f64 = 1e100;
/// The most that one step of the search for a quantile adds to the logarithm.
const LONGEST_STEP: f64 = 20.0;

/// A symmetric distribution about zero.
pub trait Tail {
    /// The density at `x`.
    fn density(&self, x: f64) -> f64;

    /// The probability above `x`.
    fn tail(&self, x: f64) -> f64;

    /// The percentage by which the tail above `x` shrinks when `x` grows by one percent.
    fn steepness(&self, x: f64) -> f64 {
        x * self.density(x) / self.tail(x)
    }

    /// The number that is exceeded with probability `tail`, for a tail strictly between 0 and 1.
    fn inverse(&self, tail: f64) -> f64 {
        if tail.is_nan() || tail <= 0.0 {
            f64::INFINITY
        } else if tail >= 1.0 {
            f64::NEG_INFINITY
        } else if tail > 0.5 {
            // 1 - tail is exact here.
            -self.inverse(1.0 - tail)
        } else {
            positive_quantile(self, tail)
        }
    }
}

/// Newton's method on ln P(X > x) over ln x, kept inside a bracket: there tails of powers are straight
/// and exponential ones convex.
fn positive_quantile(distribution: &(impl Tail + ?Sized), tail: f64) -> f64 {
    let mut x = (0.5 - tail) / distribution.density(0.0);
    if x == 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    for _ in 0..200 {
        let found = distribution.tail(x);
        if found > tail {
            low = x;
        } else {
            high = x;
        }
        // Near the center the difference is taken before the logarithm: no digits are lost.
        let step = log1p((found - tail) / tail) / distribution.steepness(x);
        let newton = x * exp(step.min(LONGEST_STEP));
        let next = if newton > low && newton < high {
            newton
        } else if high.is_infinite() {
            2.0 * x
        } else if low == 0.0 {
            x / 2.0
        } else {
            low.sqrt() * high.sqrt()
        };
        if (next - x).abs() <= f64::EPSILON * x {
            return next;
        }
        x = next;
    }
    x
}

/// The standard normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normal;

impl Tail for Normal {
    fn density(&self, x: f64) -> f64 {
        exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt()
    }

    fn tail(&self, x: f64) -> f64 {
        0.5 * erfc(x / std::f64::consts::SQRT_2)
    }
}

/// Student's t distribution; infinitely many degrees of freedom are the normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT {
    df: f64,
}

impl StudentT {
    /// The distribution with `df` degrees of freedom, whole or not.
    pub fn new(df: f64) -> Result<Self, Refused> {
        if df > 0.0 { Ok(Self { df }) } else { Err(Refused::NoFreedom(df)) }
    }

    /// The degrees of freedom.
    pub fn df(&self) -> f64 {
        self.df
    }

    /// The normal deviate with the same tail, for many degrees of freedom.
    fn hill(&self, t: f64) -> f64 {
        if self.df.is_infinite() {
            return t;
        }
        let a = self.df - 0.5;
        let b = 48.0 * a * a;
        let y = a * log1p(t / self.df * t);
        let high = (((-0.4 * y - 3.3) * y - 24.0) * y - 85.5) / (0.8 * y * y + 100.0 + b);
        ((high + y + 3.0) / b + 1.0) * y.sqrt()
    }
}

impl Tail for StudentT {
    fn density(&self, t: f64) -> f64 {
        if self.df.is_infinite() {
            return Normal.density(t);
        }
        // Γ((df + 1)/2) / Γ(df/2) by Stirling's formula.
        let half = self.df / 2.0;
        let rest = stirling_rest(half + 0.5) - stirling_rest(half);
        let scale = half * log1p(0.5 / half) - 0.5 + rest;
        let ratio = t / self.df.sqrt();
        exp(scale - (half + 0.5) * log1p(ratio * ratio)) / (2.0 * std::f64::consts::PI).sqrt()
    }

    fn steepness(&self, t: f64) -> f64 {
        let far = t / self.df.sqrt() > FAR;
        if far { self.df } else { t * self.density(t) / self.tail(t) }
    }

    fn tail(&self, t: f64) -> f64 {
        if t.is_nan() {
            return f64::NAN;
        }
        if t < 0.0 {
            return 1.0 - self.tail(-t);
        }
        if self.df >= HILL_FROM {
            return Normal.tail(self.hill(t));
        }
        let (half, ratio) = (self.df / 2.0, t / self.df.sqrt());
        if ratio > FAR {
            return 0.5 * exp(-self.df * log(ratio) - log(half) - log_beta(half, 0.5));
        }
        let square = ratio * ratio;
        0.5 * incomplete_beta(half, 0.5, 1.0 / (1.0 + square), square / (1.0 + square))
    }
}

/// The probability that F with `between` and `within` degrees of freedom is above `f`, from 0 up: I_y(within/2, between/2)
/// at y = within / (within + between f) (DLMF 8.17, Abramowitz and Stegun 26.6.2).
pub fn f_tail(between: f64, within: f64, f: f64) -> f64 {
    // The larger of both is divided by, so that neither overflows.
    let odds = between / within * f;
    let (x, y) = if odds > 1.0 {
        (1.0 / (1.0 + 1.0 / odds), (1.0 / odds) / (1.0 + 1.0 / odds))
    } else {
        (odds / (1.0 + odds), 1.0 / (1.0 + odds))
    };
    incomplete_beta(within / 2.0, between / 2.0, y, x)
}

/// The probability that χ² with `df` degrees of freedom is above `x`, from 0 up: Q(df/2, x/2) (DLMF 8.2.4).
pub fn chi_squared_tail(df: f64, x: f64) -> f64 {
    incomplete_gamma_upper(df / 2.0, x / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64, relative: f64, what: &str) {
        assert!((found - wanted).abs() <= relative * wanted.abs(), "{what}: {found} for {wanted}");
    }

    /// Upper tails by mpmath 1.3 with forty digits.
    const TAILS: &[(f64, f64, f64)] = &[
        (1.0, 0.001, 0.4996816902199194),
        (1.0, 30.0, 0.010606402405535424),
        (1.0, 1e300, 3.183098861837907e-301),
        (2.0, 0.5, 0.3333333333333333),
        (2.0, 1000.0, 4.9999925000125e-07),
        (3.274347277582379, 2.5, 0.040325711996943264),
        (3.274347277582379, 1000.0, 2.142707158695285e-10),
        (10.0, 1000.0, 1.2304123550866355e-26),
        (41.17825934020351, 0.5, 0.30986832555436317),
        (41.17825934020351, 30.0, 6.599145957140793e-30),
        (41.17825934020351, 1000.0, 3.1652679063276573e-92),
        (1000.0, 2.5, 0.006289283900545398),
        (1000.0, 30.0, 7.687343722021741e-142),
        (100000.0, 0.001, 0.4996010587834439),
        (100000.0, 30.0, 3.6892684361111166e-197),
        (1e6, 2.5, 0.006209744751081623),
        (1e6, 30.0, 6.010047116831719e-198),
        (2e7, 2.5, 0.0062096692970322),
        (2e7, 37.0, 5.861482021030452e-300),
    ];

    #[test]
    fn tails_of_known_value() {
        for &(df, t, wanted) in TAILS {
            let student = StudentT::new(df).unwrap();
            let what = format!("t = {t}, df = {df}");
            close(student.tail(t), wanted, 1e-11, &what);
            close(student.inverse(wanted), t, 1e-10, &what);
        }
        assert_eq!(StudentT::new(3.0).unwrap().tail(0.0), 0.5);
        assert!(StudentT::new(0.0).is_err() && StudentT::new(f64::NAN).is_err());
        let infinite = StudentT::new(f64::INFINITY).unwrap();
        assert_eq!(infinite.tail(1.25), Normal.tail(1.25));
    }

    #[test]
    fn normal_quantiles_of_known_value() {
        for (p, wanted) in [
            (0.5, 0.0),
            (0.975, 1.959963984540054),
            (0.995, 2.5758293035489004),
            (0.025, -1.959963984540054),
            (1e-10, -6.361340902404056),
            (1e-300, -37.0470962993612),
        ] {
            close(-Normal.inverse(p), wanted, 1e-13, &format!("p = {p}"));
        }
        assert_eq!(Normal.inverse(0.0), f64::INFINITY);
        assert_eq!(Normal.inverse(1.0), f64::NEG_INFINITY);
    }

    #[test]
    fn the_two_ways_to_a_tail_meet() {
        let (below, above) = (HILL_FROM * (1.0 - 1e-15), HILL_FROM);
        for t in [1e-6, 0.3, 1.7, 2.0, 9.0, 37.0] {
            let (left, right) = (StudentT::new(below).unwrap(), StudentT::new(above).unwrap());
            close(left.tail(t), right.tail(t), 1e-11, &format!("t = {t}"));
        }
    }

    proptest! {
        #[test]
        fn quantiles_invert_tails(log_df in 0.0..14.0_f64, log_tail in -600.0..-0.7_f64) {
            let student = StudentT::new(exp(log_df)).unwrap();
            let tail = exp(log_tail);
            let t = student.inverse(tail);
            prop_assume!(t.is_finite());
            let relative = (student.tail(t) - tail).abs() / tail;
            prop_assert!(relative < 1e-10, "df {}, tail {tail}: t {t}, off by {relative}", exp(log_df));
        }

        #[test]
        fn the_centre_is_inverted(df in 1.0..1e6_f64, t in -3.0..3.0_f64) {
            let student = StudentT::new(df).unwrap();
            // Tails hold eleven digits.
            prop_assert!((student.inverse(student.tail(t)) - t).abs() < 2e-11);
            prop_assert!((Normal.inverse(Normal.tail(t)) - t).abs() < 1e-12);
        }
    }
}
