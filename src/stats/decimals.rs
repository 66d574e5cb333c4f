//! Exact sums of decimals.
//!
//! A float represents the shortest decimal that reads as it, if decimals with that many places are further apart than
//! floats: no other such decimal can have been read. 1.3 - 1.2 and 1.2 - 1.1 are both 0.1, and 1000000000.002 -
//! 1000000000.001 is 0.001. Any other float represents itself. Sums, squares and products are integers times one power of
//! ten, so nothing cancels, overflows or vanishes; a result is rounded once, when it becomes a float.

use std::collections::BTreeMap;

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use repro_core::decimal::nearest_f64;

use super::Refused;

/// The longest text that is read exactly: the smallest float in full has that many digits.
const LONGEST: usize = 1100;
/// The powers of ten that are read exactly.
const LARGEST_POWER: std::ops::RangeInclusive<i32> = -400..=400;
/// The bits of a quotient before its root is taken: the root has more than twice the bits of a float.
const ROOT_BITS: i64 = 256;

/// A whole multiple of a power of ten.
#[derive(Debug, Clone)]
pub struct Decimal {
    units: BigInt,
    exponent: i32,
}

impl Decimal {
    /// The decimal that a finite float represents.
    pub fn of(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let shortest = Self::parse(&format!("{value:e}"));
        shortest.filter(|one| one.is_told_apart(value)).or_else(|| Some(Self::exact(value)))
    }

    /// Whether decimals with as many places are further apart than floats at `value`.
    fn is_told_apart(&self, value: f64) -> bool {
        let place = format!("1e{}", self.exponent).parse().unwrap_or(0.0);
        let gap = value.abs().next_up() - value.abs();
        gap < place
    }

    /// Parses a plain decimal: digits with an optional point, sign and exponent. None for other formats, and for numbers
    /// that are longer or more extreme than any float written in full.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let power: i32 = power.parse().ok().filter(|power| LARGEST_POWER.contains(power))?;
        if text.len() > LONGEST {
            return None;
        }
        let units = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { units, exponent: power - i32::try_from(fraction.len()).ok()? })
    }

    /// The very value of a finite float: m / 2^k is m 5^k / 10^k.
    fn exact(value: f64) -> Self {
        let value = BigRational::from_float(value).unwrap_or_default();
        let places = (value.denom().bits() - 1) as u32;
        Self { units: value.numer() * BigInt::from(5).pow(places), exponent: -(places as i32) }
    }

    /// The value as a fraction.
    pub fn value(&self) -> BigRational {
        scaled(self.units.clone(), BigInt::one(), self.exponent)
    }
}

/// Decimals as whole multiples of one power of ten.
#[derive(Debug, Clone)]
pub struct Decimals {
    units: Vec<BigInt>,
    exponent: i32,
}

impl Decimals {
    /// The decimals that finite floats represent.
    pub fn of(values: &[f64]) -> Result<Self, Refused> {
        let decimals: Option<Vec<_>> = values.iter().map(|value| Decimal::of(*value)).collect();
        Ok(Self::from(decimals.ok_or(Refused::NotFinite)?))
    }

    /// The differences a - b of pairs.
    pub fn of_pairs(a: &Self, b: &Self) -> Result<Self, Refused> {
        if a.count() != b.count() {
            return Err(Refused::UnequalLengths { left: a.count(), right: b.count() });
        }
        let exponent = a.exponent.min(b.exponent);
        let factors = [a, b].map(|side| ten(side.exponent.abs_diff(exponent)));
        let [left, right] = factors.map(BigInt::from);
        let units = a.units.iter().zip(&b.units).map(|(a, b)| a * &left - b * &right);
        Ok(Self { units: units.collect(), exponent })
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.units.len()
    }

    /// Whether two of them differ.
    pub fn vary(&self) -> bool {
        self.units.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// Each as the nearest float, infinite beyond the largest.
    pub fn floats(&self) -> Vec<f64> {
        let one = |units: &BigInt| nearest_f64(&scaled(units.clone(), 1.into(), self.exponent));
        self.units.iter().map(one).collect()
    }

    /// The exact mean of at least one.
    pub fn mean(&self) -> BigRational {
        let sum = self.units.iter().sum();
        scaled(sum, self.count().max(1).into(), self.exponent)
    }

    /// The exact variance of at least two, divisor n - 1.
    pub fn variance(&self) -> BigRational {
        let deviations = self.deviations();
        let squares: BigInt = deviations.iter().map(|one| one * one).sum();
        let n = BigInt::from(self.count());
        let divisor = &n * &n * (&n - BigInt::one());
        scaled(squares, divisor, 2 * self.exponent)
    }

    /// The exact sum of the squares of the deviations from the mean, of at least one.
    pub fn squares(&self) -> BigRational {
        let squares: BigInt = self.deviations().iter().map(|one| one * one).sum();
        let n = BigInt::from(self.count().max(1));
        scaled(squares, &n * &n, 2 * self.exponent)
    }

    /// The multiplicity of each distinct value in both lists, in ascending order.
    pub fn merged(&self, other: &Self) -> Vec<[u64; 2]> {
        let exponent = self.exponent.min(other.exponent);
        let mut counts: BTreeMap<BigInt, [u64; 2]> = BTreeMap::new();
        for (side, list) in [self, other].into_iter().enumerate() {
            let factor = BigInt::from(ten(list.exponent.abs_diff(exponent)));
            for units in &list.units {
                let both = counts.entry(units * &factor).or_default();
                both[side] += 1;
            }
        }
        counts.into_values().collect()
    }

    /// The exact square of the standard error of the mean of at least two.
    pub fn squared_error(&self) -> BigRational {
        self.variance() / BigInt::from(self.count())
    }

    /// The deviations from the mean, times the count, in units of the power of ten.
    fn deviations(&self) -> Vec<BigInt> {
        let (n, sum) = (BigInt::from(self.count()), self.units.iter().sum::<BigInt>());
        self.units.iter().map(|one| one * &n - &sum).collect()
    }

    /// Pearson's correlation with a list of the same length; none if either list is constant.
    pub fn correlation(&self, others: &Self) -> Option<f64> {
        let [own, theirs, both] = self.products(others);
        if own.is_zero() || theirs.is_zero() {
            return None;
        }
        // r² is a ratio of whole numbers: the powers of ten cancel.
        let size = root(&BigRational::new_raw(&both * &both, own * theirs));
        Some(if both.is_negative() { -size } else { size })
    }

    /// The least-squares slope of a list of the same length over this one; none if this one is constant.
    pub fn slope(&self, others: &Self) -> Option<f64> {
        let [own, _, both] = self.products(others);
        let slope = (!own.is_zero()).then(|| scaled(both, own, others.exponent - self.exponent))?;
        Some(nearest_f64(&slope))
    }

    /// Sums over the deviations of two lists of one length: own squares, other squares, products.
    fn products(&self, others: &Self) -> [BigInt; 3] {
        let (own, theirs) = (self.deviations(), others.deviations());
        let sum = |a: &[BigInt], b: &[BigInt]| a.iter().zip(b).map(|(a, b)| a * b).sum();
        [sum(&own, &own), sum(&theirs, &theirs), sum(&own, &theirs)]
    }
}

impl From<Vec<Decimal>> for Decimals {
    fn from(decimals: Vec<Decimal>) -> Self {
        let nonzero = decimals.iter().filter(|one| !one.units.is_zero());
        let exponent = nonzero.map(|one| one.exponent).min().unwrap_or(0);
        let mut units = Vec::with_capacity(decimals.len());
        for one in decimals {
            // A zero has no unit of its own.
            let places = if one.units.is_zero() { 0 } else { one.exponent.abs_diff(exponent) };
            units.push(one.units * BigInt::from(ten(places)));
        }
        Self { units, exponent }
    }
}

/// A power of ten.
fn ten(power: u32) -> BigUint {
    BigUint::from(10_u8).pow(power)
}

/// `top / bottom` times a power of ten, not in lowest terms.
fn scaled(top: BigInt, bottom: BigInt, exponent: i32) -> BigRational {
    let power = BigInt::from(ten(exponent.unsigned_abs()));
    match exponent {
        0.. => BigRational::new_raw(top * power, bottom),
        _ => BigRational::new_raw(top, bottom * power),
    }
}

/// The root of a number from zero up as the nearest float.
pub fn root(square: &BigRational) -> f64 {
    let (top, bottom) = (square.numer().magnitude(), square.denom().magnitude());
    // An even shift by which the quotient has the bits that are wanted, or one more.
    let half = (ROOT_BITS - top.bits() as i64 + bottom.bits() as i64).div_euclid(2) + 1;
    let shift = 2 * half;
    let (top, bottom) = match shift {
        0.. => (top << shift, bottom.clone()),
        _ => (top.clone(), bottom << -shift),
    };
    let quotient = &top / &bottom;
    let floor = quotient.sqrt();
    let is_exact = &floor * &floor * &bottom == top;
    // The remainder is represented by half a unit, far below the last bit of a float, so it creates no tie.
    let doubled = (floor << 1u8) + BigUint::from(u8::from(!is_exact));
    let one = BigUint::one();
    let (top, bottom) = match half + 1 {
        back @ 0.. => (doubled, one << back),
        back => (doubled << -back, one),
    };
    nearest_f64(&BigRational::new_raw(top.into(), bottom.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn floats_stand_for_what_was_read() {
        for (float, wanted) in [
            (0.1, "1e-1"),
            (1_000_000_000.000_001, "1000000000.000001"),
            (-3.278_912_345_678_912, "-3.278912345678912"),
            (1e300, "1e300"),
            // Decimals with that many places are closer than floats, so it represents itself.
            (1e15 + 0.25, "1000000000000000.25"),
            (1.0 + f64::EPSILON, "1.0000000000000002220446049250313080847263336181640625"),
        ] {
            let wanted = Decimal::parse(wanted).unwrap().value();
            assert_eq!(
                Decimal::of(float).unwrap().value() - wanted,
                BigRational::default(),
                "{float}"
            );
        }
        assert!(Decimal::of(f64::NAN).is_none());
    }

    #[test]
    fn texts_that_are_no_plain_decimals_are_not_read() {
        for text in ["1e-99999999", "", "1.2.3", "1e", "nan", "1,5", &"9".repeat(2000)] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
        assert_eq!(
            Decimal::parse("-12.50e-3").unwrap().value(),
            BigRational::new((-1).into(), 80.into())
        );
    }

    proptest! {
        #[test]
        fn a_decimal_reads_as_its_float(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            if let Some(exact) = Decimal::of(value) {
                prop_assert_eq!(nearest_f64(&exact.value()), value);
            }
        }

        #[test]
        fn the_root_of_a_square_is_its_side(side in any::<f64>()) {
            if let Some(exact) = BigRational::from_float(side) {
                prop_assert_eq!(root(&(&exact * &exact)), side.abs());
            }
        }
    }
}
