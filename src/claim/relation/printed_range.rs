//! Printed numbers as ranges, which only grow under arithmetic.

use std::fmt;

use crate::syntax::{ArithmeticOperator, RelationOperator};
use repro_core::decimal::{format_float, grouped};

use crate::relation::number::{OfOne, RelationNumber};

/// The maximum difference, in units in the last place, between two trainers' sums of the same numbers.
const FLOAT_SLACK: f64 = 4.0;
/// A recomputed range this many times wider than the printed one decides nothing.
const TOO_COARSE: f64 = 10.0;
/// A number with at least this many significant digits is a float printed in full.
const FULL_FLOAT: usize = 15;

/// All values from a low to a high end, both included. Floats: every end is moved outwards by each operation, so that a value is never
/// lost, and two ranges that only touch agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintedRange {
    low: f64,
    high: f64,
}

impl PrintedRange {
    /// Nothing.
    const UNDEFINED: Self = Self { low: f64::NAN, high: f64::NAN };

    /// All values between two ends.
    pub fn between(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// The values that a printed number may have had before rounding: half a unit of its last digit in both directions. A
    /// number without a decimal point is a count, and one with 15 or more digits is a float printed in full; both are taken
    /// as exact. None if the text is not a decimal number.
    pub fn printed(text: &str) -> Option<Self> {
        let value = finite(text)?;
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().ok()?;
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let digits = mantissa.chars().filter(char::is_ascii_digit).collect::<String>();
        let is_full = digits.trim_start_matches('0').len() >= FULL_FLOAT;
        if is_full || decimals == 0 && exponent >= 0 && !text.contains(['e', 'E']) {
            return Some(Self::float_of(value));
        }
        let place = exponent.checked_sub(i32::try_from(decimals).ok()?)?;
        let half = 0.5 * libm::pow(10.0, f64::from(place));
        Some(Self { low: value - half, high: value + half }.outwards())
    }

    /// A number that a program wrote with all its digits.
    pub fn float(text: &str) -> Option<Self> {
        finite(text).map(Self::float_of)
    }

    fn float_of(value: f64) -> Self {
        // A count is itself.
        if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
            return Self::of(value);
        }
        let slack = FLOAT_SLACK * value.abs() * f64::EPSILON;
        Self { low: value - slack, high: value + slack }
    }

    /// Both ends.
    pub fn ends(self) -> [f64; 2] {
        [self.low, self.high]
    }

    /// The distance of the ends.
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// The range with both ends times `factor`.
    pub fn scaled(self, factor: f64) -> Self {
        self.operate(ArithmeticOperator::Multiply, Self::of(factor))
    }

    /// The range with ends moved outwards by the rounding error of the last operation.
    fn outwards(self) -> Self {
        let is_exact = self.low == self.high && self.low.fract() == 0.0;
        if is_exact { self } else { Self { low: self.low.next_down(), high: self.high.next_up() } }
    }

    /// The range of the values at the ends.
    fn of_ends(ends: impl IntoIterator<Item = f64>) -> Self {
        let hull =
            |range: Self, end: f64| Self { low: range.low.min(end), high: range.high.max(end) };
        let mut ends = ends.into_iter();
        let first = ends.next().unwrap_or(f64::NAN);
        let mut range = Self { low: first, high: first };
        for end in ends {
            if end.is_nan() {
                return Self::UNDEFINED;
            }
            range = hull(range, end);
        }
        if range.low.is_nan() { Self::UNDEFINED } else { range.outwards() }
    }

    fn monotone(self, of: impl Fn(f64) -> f64) -> Self {
        Self::of_ends([of(self.low), of(self.high)])
    }

    fn power(self, exponent: Self) -> Self {
        let whole = exponent.low == exponent.high && exponent.low.fract() == 0.0;
        if whole && exponent.low == 2.0 {
            let square = self.apply(OfOne::Abs);
            return square.monotone(|x| x * x);
        }
        if self.low < 0.0 && !whole || self.low <= 0.0 && exponent.low < 0.0 {
            return Self::UNDEFINED;
        }
        let at = |x: f64| match () {
            () if exponent.low == 0.5 && exponent.high == 0.5 => [libm::sqrt(x), libm::sqrt(x)],
            () => [libm::pow(x, exponent.low), libm::pow(x, exponent.high)],
        };
        Self::of_ends([at(self.low), at(self.high)].into_iter().flatten())
    }
}

fn finite(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

impl RelationNumber for PrintedRange {
    fn of(number: f64) -> Self {
        Self { low: number, high: number }
    }

    fn is_defined(self) -> bool {
        !self.low.is_nan() && !self.high.is_nan()
    }

    fn middle(self) -> f64 {
        if self.low == self.high { self.low } else { 0.5 * (self.low + self.high) }
    }

    fn operate(self, operator: ArithmeticOperator, other: Self) -> Self {
        let all = |of: fn(f64, f64) -> f64| {
            let of = |a: f64| [of(a, other.low), of(a, other.high)];
            Self::of_ends([of(self.low), of(self.high)].into_iter().flatten())
        };
        match operator {
            ArithmeticOperator::Add => all(|a, b| a + b),
            ArithmeticOperator::Subtract => all(|a, b| a - b),
            ArithmeticOperator::Multiply => all(|a, b| a * b),
            ArithmeticOperator::Divide if other.low <= 0.0 && other.high >= 0.0 => Self::UNDEFINED,
            ArithmeticOperator::Divide => all(|a, b| a / b),
            ArithmeticOperator::Power => self.power(other),
        }
    }

    fn apply(self, function: OfOne) -> Self {
        match function {
            // A value just below a whole number may be that number.
            OfOne::Ceil => Self { low: nearly(self.low).ceil(), high: nearly(self.high).ceil() },
            OfOne::Floor => Self { low: nearly(self.low).floor(), high: nearly(self.high).floor() },
            // Whole numbers stay unchanged.
            OfOne::Round => Self { low: self.low.round(), high: self.high.round() },
            OfOne::Sqrt if self.high < 0.0 => Self::UNDEFINED,
            // A value just below zero was zero.
            OfOne::Sqrt => Self::of_ends([libm::sqrt(self.low.max(0.0)), libm::sqrt(self.high)]),
            OfOne::Abs if self.low < 0.0 && self.high > 0.0 => {
                Self { low: 0.0, high: self.high.max(-self.low) }
            }
            OfOne::Abs => self.monotone(f64::abs),
            OfOne::Ln if self.low <= 0.0 => Self::UNDEFINED,
            OfOne::Ln => self.monotone(libm::log),
            OfOne::Exp => self.monotone(libm::exp),
            OfOne::Cos if self.low == self.high => self.monotone(libm::cos),
            OfOne::Cos => Self::between(-1.0, 1.0),
        }
    }

    fn least(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.min(other.high) }
    }

    fn greatest(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.max(other.high) }
    }

    fn related(self, operator: RelationOperator, other: Self) -> Option<bool> {
        let below = |a: Self, b: Self| {
            if a.high < b.low {
                Some(true)
            } else if a.low >= b.high {
                Some(false)
            } else {
                None
            }
        };
        match operator {
            RelationOperator::Equal => {
                let meet = self.low <= other.high && other.low <= self.high;
                let is_coarse = self.width() > 0.0 && other.width() > TOO_COARSE * self.width();
                if meet && is_coarse { None } else { Some(meet) }
            }
            RelationOperator::NotEqual => {
                self.related(RelationOperator::Equal, other).map(|equal| !equal)
            }
            RelationOperator::Less => below(self, other),
            RelationOperator::Greater => below(other, self),
            RelationOperator::LessOrEqual if self.low <= other.high => {
                (self.high <= other.low || self == other).then_some(true)
            }
            RelationOperator::LessOrEqual => Some(false),
            RelationOperator::GreaterOrEqual => other.related(RelationOperator::LessOrEqual, self),
        }
    }
}

/// A value that is whole up to rounding errors, as a whole number.
fn nearly(value: f64) -> f64 {
    let whole = value.round();
    if (value - whole).abs() <= 1e-9 * value.abs().max(1.0) { whole } else { value }
}

impl fmt::Display for PrintedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The number of digits that are printed for a number.
        const TOLD: usize = 10;
        /// The number of digits that are printed for each end of a range.
        const OF_ENDS: usize = 6;
        /// Numbers from here on are printed with a power of ten.
        const LARGE: f64 = 1e15;
        let told = |value: f64, digits: usize| match value.abs() < LARGE {
            true => grouped(&format_float(value, digits)),
            false => format!("{value:e}"),
        };
        let [low, high] = self.ends();
        let middle = self.middle();
        if self.width() <= 1e-9 * middle.abs() {
            return f.write_str(&told(middle, TOLD));
        }
        let digits = if told(low, OF_ENDS) == told(high, OF_ENDS) { TOLD } else { OF_ENDS };
        write!(f, "{} to {}", told(low, digits), told(high, digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(text: &str) -> PrintedRange {
        PrintedRange::printed(text).unwrap()
    }

    fn equal(a: PrintedRange, b: PrintedRange) -> Option<bool> {
        a.related(RelationOperator::Equal, b)
    }

    fn over(a: PrintedRange, b: PrintedRange) -> PrintedRange {
        a.operate(ArithmeticOperator::Divide, b)
    }

    #[test]
    fn a_print_is_half_a_unit_of_its_last_digit_to_both_sides() {
        assert_eq!(equal(printed("4.85"), over(printed("1819"), printed("375"))), Some(true));
        assert_eq!(equal(printed("4.86"), over(printed("1819"), printed("375"))), Some(false));
        assert_eq!(equal(printed("0.125"), over(printed("1"), printed("8"))), Some(true));
        // ends that only touch agree
        assert_eq!(equal(printed("0.13"), over(printed("1"), printed("8"))), Some(true));
        assert_eq!(equal(printed("0.12"), over(printed("1"), printed("8"))), Some(true));
        assert_eq!(equal(printed("3.49e9"), printed("3491758000")), Some(true));
        assert_eq!(equal(printed("3.48e9"), printed("3491758000")), Some(false));
    }

    #[test]
    fn counts_and_full_floats_are_not_rounded() {
        assert_eq!(equal(printed("905104128"), printed("905104129")), Some(false));
        assert_eq!(
            equal(printed("4.36257008123904e+18"), PrintedRange::of(4.362_570_081_239_04e18)),
            Some(true)
        );
        assert_eq!(
            equal(printed("4.36257008123904e+18"), PrintedRange::of(4.362_570_081_239_1e18)),
            Some(false)
        );
        assert_eq!(PrintedRange::printed("nan"), None);
        assert_eq!(PrintedRange::printed("twelve"), None);
    }

    #[test]
    fn what_is_too_coarse_decides_nothing() {
        let product = printed("20.0").operate(ArithmeticOperator::Multiply, printed("560.9"));
        assert_eq!(equal(printed("11219.8"), product), None);
        assert_eq!(equal(printed("12219.8"), product), Some(false));
        assert!(!over(printed("1"), printed("0.0")).is_defined());
        assert_eq!(printed("0.1").related(RelationOperator::Less, printed("0.1")), None);
        assert_eq!(
            printed("0.1").related(RelationOperator::LessOrEqual, printed("0.3")),
            Some(true)
        );
        assert_eq!(
            printed("0.5").related(RelationOperator::LessOrEqual, printed("0.3")),
            Some(false)
        );
    }

    #[test]
    fn numbers_are_told_as_people_read_them() {
        assert_eq!(printed("905104128").to_string(), "905,104,128");
        assert_eq!(printed("0.25").to_string(), "0.245 to 0.255");
        assert_eq!(over(printed("2"), printed("3")).to_string(), "0.6666666667");
    }

    proptest! {
        #[test]
        fn arithmetic_loses_no_value(a in -1e6..1e6_f64, b in 1e-3..1e6_f64, share in 0.0..1.0_f64) {
            let text = |x: f64| format!("{x:.3}");
            let inside = |range: PrintedRange| range.low + share * (range.high - range.low);
            let (ra, rb) = (printed(&text(a)), printed(&text(b)));
            let (xa, xb) = (inside(ra), inside(rb));
            for (operator, value) in [
                (ArithmeticOperator::Add, xa + xb),
                (ArithmeticOperator::Subtract, xa - xb),
                (ArithmeticOperator::Multiply, xa * xb),
                (ArithmeticOperator::Divide, xa / xb),
            ] {
                let range = ra.operate(operator, rb);
                prop_assert!(!range.is_defined() || range.low <= value && value <= range.high);
            }
        }
    }
}
