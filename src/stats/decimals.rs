//! Exact sums of decimals.
//!
//! A float stands for the shortest decimal that reads as it, where decimals of so many places lie further
//! apart than floats: no other of them can have been read. 1.3 - 1.2 and 1.2 - 1.1 are both 0.1, and
//! 1000000000.002 - 1000000000.001 is 0.001. Any other float stands for itself. Sums, squares and products are whole numbers of one power of ten, so
//! that nothing cancels, overflows or vanishes; a result is rounded once, when it becomes a float.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use repro_exact::decimal::nearest_f64;

use super::Refused;

/// The longest text that is read exactly: the smallest float in full has as many digits.
const LONGEST: usize = 1100;
/// The powers of ten that are read exactly.
const LARGEST_POWER: std::ops::RangeInclusive<i32> = -400..=400;
/// Bits of a quotient whose root is taken: the root keeps more than twice those of a float.
const ROOT_BITS: i64 = 256;

/// A whole multiple of a power of ten.
#[derive(Debug, Clone)]
pub struct Decimal {
    units: BigInt,
    exponent: i32,
}

impl Decimal {
    /// The decimal that a finite float stands for.
    pub fn of(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let shortest = Self::parse(&format!("{value:e}"));
        shortest.filter(|one| one.is_told_apart(value)).or_else(|| Some(Self::exact(value)))
    }

    /// Whether decimals of as many places lie further apart than floats do at `value`.
    fn is_told_apart(&self, value: f64) -> bool {
        let place = format!("1e{}", self.exponent).parse().unwrap_or(0.0);
        let gap = value.abs().next_up() - value.abs();
        gap < place
    }

    /// The decimal that is written plainly, digits with a point, perhaps a sign and an exponent; none where
    /// it is written otherwise, or is longer or further from one than any float that is written in full.
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

    /// As a fraction.
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
    /// The decimals that finite floats stand for.
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

    /// How many there are.
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

    /// The exact square of the standard error of the mean of at least two.
    pub fn squared_error(&self) -> BigRational {
        self.variance() / BigInt::from(self.count())
    }

    /// The deviations from the mean, times the count, in units of the power of ten.
    fn deviations(&self) -> Vec<BigInt> {
        let (n, sum) = (BigInt::from(self.count()), self.units.iter().sum::<BigInt>());
        self.units.iter().map(|one| one * &n - &sum).collect()
    }

    /// Pearson's correlation with as many others; none where either list has no spread.
    pub fn correlation(&self, others: &Self) -> Option<f64> {
        let [own, theirs, both] = self.products(others);
        if own.is_zero() || theirs.is_zero() {
            return None;
        }
        // r² is a ratio of whole numbers: the powers of ten cancel.
        let size = root(&BigRational::new_raw(&both * &both, own * theirs));
        Some(if both.is_negative() { -size } else { size })
    }

    /// The least-squares slope of as many others over these; none where these have no spread.
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
        let in_units = |one: Decimal| match one.units.is_zero() {
            true => one.units,
            false => one.units * BigInt::from(ten(one.exponent.abs_diff(exponent))),
        };
        Self { units: decimals.into_iter().map(in_units).collect(), exponent }
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
    // What is cut off stands as half a unit, far below the last bit of a float: no tie is made of it.
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
    use crate::{Summary, T, mean, one_sample_of, paired, welch_of};
    use proptest::prelude::*;
    use repro_exact::decimal::{Printed, ulp_distance};

    /// Results within as many floats of the exact one: divisions by a root take a few roundings.
    const FEW_ULPS: u64 = 8;
    /// The bits of roots in exact arithmetic.
    const EXACT_BITS: u32 = 1 << 12;

    fn exact(values: &[&str]) -> Vec<BigRational> {
        values.iter().map(|text| Printed::parse(text).unwrap().value().clone()).collect()
    }

    fn floats(values: &[&str]) -> Vec<f64> {
        values.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn integer(number: usize) -> BigRational {
        BigRational::from_integer(number.into())
    }

    fn exact_mean(values: &[BigRational]) -> BigRational {
        values.iter().sum::<BigRational>() / integer(values.len())
    }

    fn exact_variance(values: &[BigRational]) -> BigRational {
        let mean = exact_mean(values);
        let squares = values.iter().map(|value| (value - &mean) * (value - &mean));
        squares.sum::<BigRational>() / integer(values.len() - 1)
    }

    /// A root by whole numbers, to thousands of bits.
    fn exact_root(square: &BigRational) -> BigRational {
        let unit = BigInt::one() << EXACT_BITS;
        let scaled = (square * BigRational::from_integer(&unit * &unit)).to_integer();
        BigRational::new(scaled.sqrt(), unit)
    }

    fn close(what: &str, found: f64, wanted: &BigRational) {
        let wanted = nearest_f64(wanted);
        let off = ulp_distance(found, wanted);
        assert!(off <= FEW_ULPS, "{what}: {found:e} is {off} floats from {wanted:e}");
    }

    fn agrees(what: &str, test: &T, gap: &BigRational, variance: &BigRational) {
        close(&format!("{what}, estimate"), test.estimate, gap);
        let error = exact_root(variance);
        close(&format!("{what}, standard error"), test.standard_error, &error);
        close(&format!("{what}, t"), test.t, &(gap / error));
    }

    /// Lists of decimals at magnitudes from 1e-300 to 1e300, most with spreads far below their size.
    const EDGES: [(&str, [&str; 3], [&str; 3]); 20] = [
        ("the smallest", ["1e-300", "2e-300", "4e-300"], ["3e-300", "1e-300", "7e-300"]),
        ("the largest", ["1e300", "2e300", "4e300"], ["3e300", "1e300", "7e300"]),
        ("near overflow", ["1.7e308", "1.6e308", "1.5e308"], ["1.7e308", "1.7e308", "1.5e308"]),
        ("subnormal", ["1e-310", "3e-310", "6e-310"], ["2e-310", "3e-310", "9e-310"]),
        (
            "whole numbers at 1e15",
            ["1000000000000001", "1000000000000002", "1000000000000004"],
            ["1000000000000002", "1000000000000001", "1000000000000007"],
        ),
        (
            "whole numbers below 2^53",
            ["9007199254740985", "9007199254740990", "9007199254740991"],
            ["9007199254740984", "9007199254740991", "9007199254740988"],
        ),
        (
            "thousandths at 1e9",
            ["1000000000.001", "1000000000.002", "1000000000.004"],
            ["1000000000.003", "1000000000.001", "1000000000.007"],
        ),
        (
            "millionths at 1e9",
            ["1000000000.000001", "1000000000.000002", "1000000000.000004"],
            ["1000000000.000003", "1000000000.000001", "1000000000.000007"],
        ),
        (
            "the last digit at 1e300",
            ["1.00000000000001e300", "1.00000000000002e300", "1.00000000000004e300"],
            ["1.00000000000003e300", "1.00000000000001e300", "1.00000000000007e300"],
        ),
        (
            "the last digit at 1e-300",
            ["1.00000000000001e-300", "1.00000000000002e-300", "1.00000000000004e-300"],
            ["1.00000000000003e-300", "1.00000000000001e-300", "1.00000000000007e-300"],
        ),
        ("losses", ["1.7243", "1.7016", "1.6990"], ["1.7301", "1.7150", "1.7155"]),
        ("tenths", ["1.3", "1.2", "1.1"], ["1.2", "1.1", "0.9"]),
        ("one large pair", ["1e300", "1", "2"], ["1e300", "2", "4"]),
        ("large and small", ["1e300", "1e-300", "1"], ["-1e300", "2e-300", "3"]),
        ("signs", ["-1e150", "1e150", "3e149"], ["1e150", "-1e150", "2e149"]),
        ("means that nearly cancel", ["1e16", "-1e16", "0.3"], ["2e16", "-2e16", "0.1"]),
        ("zeros", ["0", "0", "1e-200"], ["0", "1e-200", "0"]),
        ("squares that vanish", ["1e-170", "2e-170", "4e-170"], ["1e-170", "3e-170", "1e-170"]),
        ("squares that overflow", ["1e170", "2e170", "4e170"], ["1e170", "3e170", "1e170"]),
        (
            "quarters at 1e15",
            ["1000000000000000.25", "1000000000000000.5", "1000000000000001"],
            ["1000000000000000.75", "1000000000000000.25", "1000000000000003.75"],
        ),
    ];

    /// What each case is, as exact arithmetic has it.
    #[test]
    fn edges_agree_with_exact_arithmetic() {
        for (what, a, b) in EDGES {
            let (a, b, x, y) = (floats(&a), floats(&b), exact(&a), exact(&b));
            let gaps: Vec<_> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
            for (found, wanted) in crate::differences(&a, &b).unwrap().iter().zip(&gaps) {
                assert_eq!(*found, nearest_f64(wanted), "{what}: a difference");
            }
            assert_eq!(mean(&a).unwrap(), nearest_f64(&exact_mean(&x)), "{what}: the mean");
            let summary = Summary::of(&a).unwrap();
            assert_eq!(summary.mean, nearest_f64(&exact_mean(&x)), "{what}: the mean");
            assert_eq!(summary.sd, nearest_f64(&exact_root(&exact_variance(&x))), "{what}: the sd");
            let three = integer(3);
            let error = exact_variance(&gaps) / &three;
            agrees(what, &paired(&a, &b).unwrap(), &exact_mean(&gaps), &error);
            let error = (exact_variance(&x) + exact_variance(&y)) / &three;
            let gap = exact_mean(&x) - exact_mean(&y);
            let [left, right] = [&a, &b].map(|list| Decimals::of(list).unwrap());
            let welch = welch_of(&left, &right).unwrap();
            agrees(what, &welch, &gap, &error);
            let [one, other] = [&x, &y].map(|list| exact_variance(list) / &three);
            let df = (&error * &error * integer(2)) / (&one * &one + &other * &other);
            close(&format!("{what}, df"), welch.df, &df);
            let first = &x[0];
            let alone = one_sample_of(&left, a[0]).unwrap();
            let t = (exact_mean(&x) - first) / exact_root(&(exact_variance(&x) / &three));
            close(&format!("{what}, t of one list"), alone.t, &t);
        }
    }

    /// Differences of -1, -3 and 1, which a rounding to the fifteenth digit made tens.
    #[test]
    fn differences_at_1e15_are_exact() {
        let at = |units: [i32; 3]| units.map(|unit| 1e15 + f64::from(unit));
        let test = paired(&at([1, 2, 3]), &at([2, 5, 2])).unwrap();
        assert_eq!(test.estimate, -1.0);
        assert!((test.t - -0.866_025_403_784_438_6).abs() < 1e-15, "{}", test.t);
    }

    /// More digits than a float keeps count where they are written.
    #[test]
    fn written_decimals_are_exact() {
        let read = |texts: [&str; 3]| {
            Decimals::from(texts.map(|one| Decimal::parse(one).unwrap()).to_vec())
        };
        let a =
            read(["1000000000.00000000001", "1000000000.00000000002", "1000000000.00000000006"]);
        let b = read(["1e9", "100000000000e-2", "+1000000000."]);
        let pairs = Decimals::of_pairs(&a, &b).unwrap();
        assert_eq!(pairs.floats(), [1e-11, 2e-11, 6e-11]);
        assert_eq!(welch_of(&a, &b).unwrap().estimate, 3e-11);
        for text in ["1e-99999999", "", "1.2.3", "1e", "nan", "1,5", &"9".repeat(2000)] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn what_is_beyond_floats_is_refused() {
        let largest = [f64::MAX, -f64::MAX];
        assert_eq!(Summary::of(&largest), Err(Refused::OutOfRange));
        assert_eq!(paired(&largest, &[-f64::MAX, f64::MAX]), Err(Refused::OutOfRange));
        assert_eq!(mean(&[f64::MAX; 3]), Ok(f64::MAX), "a sum may be larger than its mean");
        assert_eq!(crate::difference(f64::INFINITY, 1.0), f64::INFINITY);
    }

    #[test]
    fn slopes_and_correlations_do_not_cancel() {
        let x = [1e9 + 0.001, 1e9 + 0.002, 1e9 + 0.003];
        assert_eq!(crate::slope(&x, &[1e300, 2e300, 3e300]), Ok(1e303));
        assert_eq!(crate::correlation(&x, &[3e-300, 2e-300, 1e-300]), Ok(-1.0));
    }

    fn decimals() -> impl Strategy<Value = Vec<String>> {
        let one =
            (any::<i32>(), -300..290_i32).prop_map(|(units, power)| format!("{units}e{power}"));
        prop::collection::vec(one, 2..6)
    }

    proptest! {
        #[test]
        fn any_decimals_agree_with_exact_arithmetic(texts in decimals()) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let (values, wanted) = (floats(&texts), exact(&texts));
            let (mean, sd) = (exact_mean(&wanted), exact_root(&exact_variance(&wanted)));
            prop_assume!(!exact_variance(&wanted).is_zero());
            let found = Summary::of(&values).unwrap();
            prop_assert_eq!(found.mean, nearest_f64(&mean));
            prop_assert_eq!(found.sd, nearest_f64(&sd));
        }

        #[test]
        fn a_decimal_reads_as_its_float(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            if let Some(exact) = Decimal::of(value) {
                prop_assert_eq!(nearest_f64(&exact.value()), value);
            }
        }

        #[test]
        fn differences_have_the_opposite_sign_the_other_way_round(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(a.is_finite() && b.is_finite());
            prop_assert_eq!(crate::difference(a, b), -crate::difference(b, a));
        }
    }
}
