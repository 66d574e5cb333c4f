//! exp and ln as enclosures with rational ends.
//!
//! The platform's `exp` and `ln` come without a proof and differ between machines, so both are summed
//! here from their series in fixed point with 192 binary places. Every step rounds its low end down
//! and its high end up, and the cut tail of a series is added as an interval, so the true value is
//! always inside, the same on every machine, with far more than 30 correct digits.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::Interval;

/// Binary places of every intermediate result.
const PLACES: usize = 192;
/// The greatest argument of exp by size: e^700 still fits a float.
const EXP_CAP: i64 = 700;
/// Terms of the exponential series: with |x| <= 1/16 the tail is below 2^-240.
const EXP_TERMS: i64 = 32;
/// Terms of the atanh series: with |z| <= 1/3 the tail is below 2^-200.
const ATANH_TERMS: i64 = 64;

impl Interval {
    /// e to every value; none beyond ±700.
    pub fn exp(&self) -> Option<Self> {
        let cap = BigRational::from_integer(EXP_CAP.into());
        if self.low().abs() > cap || self.high().abs() > cap {
            return None;
        }
        Some(exp_at(self.low()).hull(&exp_at(self.high())))
    }

    /// The natural logarithm of every value; none where a value may be zero or less.
    pub fn ln(&self) -> Option<Self> {
        if !self.low().is_positive() {
            return None;
        }
        Some(ln_at(self.low()).hull(&ln_at(self.high())))
    }

    /// A slightly larger interval whose ends have [`PLACES`] binary places.
    fn widened(&self) -> Self {
        let unit = BigRational::from_integer(BigInt::one() << PLACES);
        Self::between((self.low() * &unit).floor() / &unit, (self.high() * &unit).ceil() / &unit)
    }
}

/// e^x for one x of size at most 700.
fn exp_at(x: &BigRational) -> Interval {
    if x.is_zero() {
        return Interval::integer(1);
    }
    // 700 / 2^14 < 1/16, so the series is short; fourteen squarings undo the halvings and cost at
    // most fifteen of the binary places, because e^|x| >= 1.
    let halvings = 14;
    let small = Interval::point(x.abs() / BigRational::from_integer(BigInt::one() << halvings));
    let small = small.widened();
    let mut term = Interval::integer(1);
    let mut sum = Interval::integer(1);
    for index in 1..EXP_TERMS {
        term = (&term * &small).scaled(&BigRational::new(1.into(), index.into())).widened();
        sum = &sum + &term;
    }
    // Later terms shrink by more than half each: together they are below the last one that was added.
    sum = &sum + &Interval::between(BigRational::zero(), term.high().clone());
    for _ in 0..halvings {
        sum = (&sum * &sum).widened();
    }
    if x.is_positive() {
        return sum;
    }
    // The low end is at least 1, so the quotient exists; it is never larger than 1.
    Interval::between(sum.high().recip(), sum.low().recip())
}

/// ln x for one positive x, from x = m·2^e with m near 1: ln x = e·ln 2 + 2·atanh((m-1)/(m+1)).
fn ln_at(x: &BigRational) -> Interval {
    let exponent = x.numer().bits() as i64 - x.denom().bits() as i64;
    let two = BigRational::from_integer(2.into());
    // 1/2 < m < 2 gives |z| < 1/3.
    let m = match exponent {
        0.. => x / BigRational::from_integer(BigInt::one() << exponent),
        _ => x * BigRational::from_integer(BigInt::one() << -exponent),
    };
    let one = BigRational::one();
    let z = (&m - &one) / (&m + &one);
    let mantissa = twice_atanh(&z);
    if exponent == 0 {
        return mantissa;
    }
    let ln_two = twice_atanh(&(&one / (&one + &two)));
    &mantissa + &ln_two.scaled(&BigRational::from_integer(exponent.into()))
}

/// 2·atanh(z) = 2·(z + z³/3 + z⁵/5 + ...) for |z| <= 1/3.
fn twice_atanh(z: &BigRational) -> Interval {
    let z = Interval::point(z.clone()).widened();
    let square = (&z * &z).widened();
    let mut power = z.clone();
    let mut sum = z;
    for index in 1..ATANH_TERMS {
        power = (&power * &square).widened();
        sum = &sum + &power.scaled(&BigRational::new(1.into(), (2 * index + 1).into())).widened();
    }
    // Later terms have one sign and shrink ninefold: together they are below the last power.
    let tail = power.abs().high().clone();
    let sum = &sum + &Interval::around(&BigRational::zero(), &tail);
    sum.scaled(&BigRational::from_integer(2.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::{Printed, nearest_f64};
    use proptest::prelude::*;

    fn point(text: &str) -> Interval {
        Printed::parse(text).unwrap().exact()
    }

    /// The digits known from tables lie inside, to the last place given.
    fn agrees(computed: Interval, known: &str) {
        let known = Printed::parse(known).unwrap().interval();
        assert!(known.contains(computed.low()) && known.contains(computed.high()), "{computed}");
    }

    #[test]
    fn known_digits() {
        agrees(point("1").exp().unwrap(), "2.71828182845904523536028747135266");
        agrees(point("-1").exp().unwrap(), "0.36787944117144232159552377016146");
        agrees(point("2").ln().unwrap(), "0.69314718055994530941723212145818");
        agrees(point("10").ln().unwrap(), "2.30258509299404568401799145468436");
        agrees(point("1e-7").ln().unwrap(), "-16.1180956509583197881259401828");
        assert_eq!(point("1").ln().unwrap(), Interval::integer(0));
        assert_eq!(point("0").exp().unwrap(), Interval::integer(1));
    }

    #[test]
    fn outside_the_domain_there_is_nothing() {
        assert_eq!(point("0").ln(), None);
        assert_eq!(point("-1").ln(), None);
        assert_eq!(point("701").exp(), None);
        assert_eq!(point("-1e9").exp(), None);
        assert!(point("-700").exp().unwrap().low().is_positive());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn each_undoes_the_other(n in -69_000i64..69_000) {
            let x = Interval::point(BigRational::new(n.into(), 100.into()));
            let back = x.exp().unwrap().ln().unwrap();
            prop_assert!(back.contains(x.low()));
            prop_assert!(back.width() < BigRational::new(1.into(), BigInt::from(10).pow(30)));
        }

        #[test]
        fn close_to_the_platform(n in -60_000i64..60_000) {
            let x = BigRational::new(n.into(), 100.into());
            let ours = nearest_f64(Interval::point(x.clone()).exp().unwrap().low());
            let theirs = nearest_f64(&x).exp();
            prop_assert!((ours / theirs - 1.0).abs() < 1e-12, "{ours} {theirs}");
        }
    }
}
