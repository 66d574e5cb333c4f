//! exp and ln as intervals with rational ends.
//!
//! The platform's `exp` and `ln` have no proven error bounds and differ between machines, so both are computed here from
//! their series in fixed point with 192 binary places. Every step rounds its low end down and its high end up, and the tail
//! of a series is added as an interval. The result contains the true value, is the same on every machine, and has far more
//! than 30 correct digits.

use std::sync::OnceLock;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::Interval;

/// Binary places of every intermediate result.
const PLACES: usize = 192;
/// The largest absolute argument of exp: e^700 still fits a float.
const EXP_CAP: i64 = 700;
/// Terms of the exponential series: with |x| <= 1/16 the tail is below 2^-240.
const EXP_TERMS: i64 = 32;
/// Terms of the atanh series: with |z| <= 1/3 the tail is below 2^-200.
const ATANH_TERMS: i64 = 64;

impl Interval {
    /// e to the power of every value; none beyond ±700.
    pub fn exp(&self) -> Option<Self> {
        let cap = BigRational::from_integer(EXP_CAP.into());
        if self.low().abs() > cap || self.high().abs() > cap {
            return None;
        }
        let low = exp_at(self.low());
        Some(if self.is_point() { low } else { low.hull(&exp_at(self.high())) })
    }

    /// The natural logarithm of every value; none if a value may be zero or negative.
    pub fn ln(&self) -> Option<Self> {
        if !self.low().is_positive() {
            return None;
        }
        let low = ln_at(self.low());
        Some(if self.is_point() { low } else { low.hull(&ln_at(self.high())) })
    }
}

/// e^x for one x of size at most 700.
fn exp_at(x: &BigRational) -> Interval {
    if x.is_zero() {
        return Interval::integer(1);
    }
    // 700 / 2^14 < 1/16, so the series is short. Fourteen squarings undo the halvings and cost at most fifteen binary
    // places, because e^|x| >= 1.
    let halvings = 14;
    let small = Fixed::new(&(x.abs() / BigRational::from_integer(BigInt::one() << halvings)));
    let mut term = Fixed::new(&BigRational::one());
    let mut sum = term.clone();
    for index in 1..EXP_TERMS {
        term = term.times(&small).over(index);
        sum = sum.plus(&term);
    }
    // Each later term is less than half of the one before, so their sum is below the last term added.
    sum = sum.plus(&Fixed { low: BigInt::zero(), high: term.high });
    for _ in 0..halvings {
        sum = sum.times(&sum);
    }
    let sum = sum.interval();
    if x.is_positive() {
        return sum;
    }
    // The low end is at least 1, so the quotient exists.
    Interval::between(sum.high().recip(), sum.low().recip())
}

/// ln x for one positive x, from x = m·2^e with m near 1: ln x = e·ln 2 + 2·atanh((m-1)/(m+1)).
fn ln_at(x: &BigRational) -> Interval {
    let exponent = x.numer().bits() as i64 - x.denom().bits() as i64;
    // 1/2 < m < 2 gives |z| < 1/3.
    let m = match exponent {
        0.. => x / BigRational::from_integer(BigInt::one() << exponent),
        _ => x * BigRational::from_integer(BigInt::one() << -exponent),
    };
    let one = BigRational::one();
    let mantissa = twice_atanh(&((&m - &one) / (&m + &one)));
    if exponent == 0 {
        return mantissa;
    }
    // ln 2 = 2·atanh(1/3)
    static LN_TWO: OnceLock<Interval> = OnceLock::new();
    let ln_two = LN_TWO.get_or_init(|| twice_atanh(&BigRational::new(1.into(), 3.into())));
    &mantissa + &ln_two.scaled(&BigRational::from_integer(exponent.into()))
}

/// 2·atanh(z) = 2·(z + z³/3 + z⁵/5 + ...) for |z| <= 1/3.
fn twice_atanh(z: &BigRational) -> Interval {
    let z = Fixed::new(z);
    let square = z.times(&z);
    let mut power = z.clone();
    let mut sum = z;
    for index in 1..ATANH_TERMS {
        power = power.times(&square);
        sum = sum.plus(&power.over(2 * index + 1));
    }
    // Later terms have the same sign and shrink by a factor of nine, so their sum is below the last power.
    let tail = power.low.abs().max(power.high.abs());
    let sum = sum.plus(&Fixed { low: -&tail, high: tail });
    sum.interval().scaled(&BigRational::from_integer(2.into()))
}

/// An interval whose ends are multiples of 2^-[`PLACES`], always rounded outward.
#[derive(Clone)]
struct Fixed {
    low: BigInt,
    high: BigInt,
}

impl Fixed {
    fn new(value: &BigRational) -> Self {
        let scaled = value * BigRational::from_integer(BigInt::one() << PLACES);
        Self { low: scaled.floor().to_integer(), high: scaled.ceil().to_integer() }
    }

    fn interval(&self) -> Interval {
        let end = |n: &BigInt| BigRational::new(n.clone(), BigInt::one() << PLACES);
        Interval::between(end(&self.low), end(&self.high))
    }

    fn plus(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high }
    }

    fn times(&self, other: &Self) -> Self {
        let mut low = &self.low * &other.low;
        let mut high = low.clone();
        for (a, b) in
            [(&self.low, &other.high), (&self.high, &other.low), (&self.high, &other.high)]
        {
            let product = a * b;
            low = low.min(product.clone());
            high = high.max(product);
        }
        // Shifting right rounds towards minus infinity.
        Self { low: low >> PLACES, high: -(-high >> PLACES) }
    }

    fn over(&self, divisor: i64) -> Self {
        let floor = |n: &BigInt| {
            let cut = n / divisor;
            if n.is_negative() && &cut * divisor != *n { cut - 1 } else { cut }
        };
        Self { low: floor(&self.low), high: -floor(&-&self.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::{Printed, nearest_f64};
    use proptest::prelude::*;

    fn point(text: &str) -> Interval {
        Printed::parse(text).unwrap().exact()
    }

    /// The digits known from tables are inside the interval, to the last place given.
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
