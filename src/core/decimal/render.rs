//! Formats exact values: rounded half to even, without floats, the same on every machine.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::Interval;
use super::rational::bracket;

/// Integers up to this many digits are printed in full.
const WHOLE_DIGITS: usize = 40;
/// Fractions below 10^-6 are printed with an exponent.
const LEAST_PLAIN: i64 = -6;
/// Numbers with more bits are printed from their leading bits.
const LONG_BITS: u64 = 1024;
/// The significant digits of an interval's ends.
const INTERVAL_DIGITS: usize = 10;

/// A float, formatted as by [`format_significant`]; `inf` and `NaN` if there are no digits.
pub fn format_float(value: f64, digits: usize) -> String {
    BigRational::from_float(value)
        .map_or_else(|| value.to_string(), |exact| format_significant(&exact, digits))
}

/// `value` with at most `digits` significant digits. Integers are printed in full, trailing zeros are removed, and an
/// exponent is used only if plain digits would be invented or mostly zeros.
pub fn format_significant(value: &BigRational, digits: usize) -> String {
    // For a number with thousands of digits the leading ones suffice if its short neighbors are formatted the same, because
    // rounding preserves their order.
    if value.numer().bits().max(value.denom().bits()) > LONG_BITS
        && let Some(around) = bracket(value)
    {
        let signed = |end: &BigRational| if value.is_negative() { -end } else { end.clone() };
        let [low, high] = around.each_ref().map(|end| written(&signed(end), digits));
        if low == high {
            return low;
        }
    }
    written(value, digits)
}

fn written(value: &BigRational, digits: usize) -> String {
    let whole = value.numer().to_string();
    if value.is_integer() && whole.len() <= WHOLE_DIGITS {
        return whole;
    }
    let sign = if value.is_negative() { "-" } else { "" };
    let (mantissa, exponent) = leading_digits(&value.abs(), digits.max(1));
    let mantissa = mantissa.trim_end_matches('0');
    if !(LEAST_PLAIN..digits.max(1) as i64).contains(&exponent) {
        let (first, rest) = mantissa.split_at(mantissa.len().min(1));
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{exponent}");
    }
    if exponent < 0 {
        return format!("{sign}0.{}{mantissa}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    if mantissa.len() <= whole {
        return format!("{sign}{mantissa:0<whole$}");
    }
    let (before, after) = mantissa.split_at(whole);
    format!("{sign}{before}.{after}")
}

/// The first `digits` digits of a positive value, and the power of ten of the first digit.
fn leading_digits(value: &BigRational, digits: usize) -> (String, i64) {
    if value.is_zero() {
        return ("0".to_owned(), 0);
    }
    // Estimated from the bits, off by at most one.
    let bits = value.numer().bits() as i64 - value.denom().bits() as i64;
    let mut exponent = (bits as f64 * std::f64::consts::LOG10_2).floor() as i64;
    let (below, rest) = loop {
        let (below, rest) = shifted(value, digits as i64 - 1 - exponent);
        match below.to_string().len().cmp(&digits) {
            Ordering::Less => exponent -= 1,
            Ordering::Greater => exponent += 1,
            Ordering::Equal => break (below, rest),
        }
    };
    // The nearest, ties to even.
    let is_up = rest == Ordering::Greater || rest == Ordering::Equal && below.bit(0);
    let mut rounded = if is_up { below + BigInt::one() } else { below };
    if rounded.to_string().len() > digits {
        // 9.996 became 10.00
        exponent += 1;
        rounded /= 10;
    }
    (rounded.to_string(), exponent)
}

/// The integer part of a positive value times a power of ten, and the comparison of the remainder with one half.
fn shifted(value: &BigRational, power: i64) -> (BigInt, Ordering) {
    let size = BigInt::from(10).pow(power.unsigned_abs() as u32);
    let (top, bottom) = match power {
        0.. => (value.numer() * size, value.denom().clone()),
        _ => (value.numer().clone(), value.denom() * size),
    };
    let whole = &top / &bottom;
    let twice: BigInt = (top - &whole * &bottom) * 2;
    (whole, twice.cmp(&bottom))
}

/// The same number with commas between groups of three digits before the decimal point.
pub fn grouped(number: &str) -> String {
    let start = number.find(|c: char| c.is_ascii_digit()).unwrap_or(number.len());
    let (sign, rest) = number.split_at(start);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (whole, tail) = rest.split_at(end);
    let mut text = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + tail
}

/// A point as its value, a wider interval as `[low, high]`, with at most ten significant digits.
impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |end: &BigRational| grouped(&format_significant(end, INTERVAL_DIGITS));
        let (low, high) = (text(self.low()), text(self.high()));
        // Ends that differ only beyond the printed digits, such as those of exp, are shown as one number.
        if low == high { f.write_str(&low) } else { write!(f, "[{low}, {high}]") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Printed;
    use num_traits::Pow;
    use proptest::prelude::*;

    fn shown(text: &str, digits: usize) -> String {
        format_significant(Printed::parse(text).unwrap().value(), digits)
    }

    #[test]
    fn rounding_and_shape() {
        for (text, digits, expected) in [
            ("755,534,592,123", 10, "755534592123"),
            ("-12", 1, "-12"),
            ("0", 10, "0"),
            ("0.0297", 10, "0.0297"),
            ("0.500", 10, "0.5"),
            ("2.675", 3, "2.68"),
            ("2.665", 3, "2.66"),
            ("2.6650000001", 3, "2.67"),
            ("-9.996", 3, "-10"),
            ("99.96", 3, "100"),
            ("12345.678", 5, "12346"),
            ("12345678901.5", 10, "1.23456789e10"),
            ("1.5e-7", 10, "1.5e-7"),
            ("1.5e-6", 10, "0.0000015"),
            ("1e300", 10, "1e300"),
            ("-2.5e-300", 1, "-2e-300"),
        ] {
            assert_eq!(shown(text, digits), expected, "{text} to {digits}");
        }
        let third = BigRational::new(1.into(), 3.into());
        assert_eq!(format_significant(&third, 10), "0.3333333333");
    }

    #[test]
    fn groups() {
        assert_eq!(grouped("-1234567.8901"), "-1,234,567.8901");
        assert_eq!(grouped("123"), "123");
        assert_eq!(grouped("1.5e-7"), "1.5e-7");
    }

    #[test]
    fn intervals_for_people() {
        let interval = |text: &str| Printed::parse(text).unwrap().interval();
        assert_eq!(interval("0.2").to_string(), "[0.15, 0.25]");
        assert_eq!(Printed::parse("32,800").unwrap().exact().to_string(), "32,800");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(n in -9_999_999_999i64..=9_999_999_999, power in -380i64..380) {
            let value = BigRational::from_integer(n.into()) * Pow::pow(BigRational::from_integer(10.into()), power as i32);
            let text = format_significant(&value, 10);
            let back = Printed::parse(&text).unwrap();
            prop_assert_eq!(back.value(), &value, "{}", text);
            let back = Printed::parse(&grouped(&text)).unwrap();
            prop_assert_eq!(back.value(), &value, "{}", text);
        }

        #[test]
        fn any_fraction_lies_within_its_print(n in any::<i64>(), d in 1..i64::MAX, digits in 1usize..18) {
            let value = BigRational::new(n.into(), d.into());
            let printed = Printed::parse(&format_significant(&value, digits)).unwrap();
            // Trailing zeros are removed, so the printed number may look coarser than it is, never finer.
            prop_assert!(printed.interval().contains(&value));
        }
    }
}
