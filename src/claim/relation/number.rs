//! The numbers that formulas compute with, and floats as one implementation.

use std::fmt::{Debug, Display};

use crate::syntax::{ArithmeticOperator, RelationOperator};

/// The relative tolerance for two floats: a few roundings to float32.
const NEARLY: f64 = 1e-6;
/// Floats below this are treated as zero.
const NOTHING: f64 = 1e-12;

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfOne {
    Ceil,
    Floor,
    Round,
    Sqrt,
    Abs,
    Ln,
    Exp,
    Cos,
}

/// A number of a formula. An operation may have no value; the result is then not [defined](RelationNumber::is_defined).
pub trait RelationNumber: Copy + PartialEq + Debug + Display + 'static {
    /// A number that is written in a formula.
    fn of(number: f64) -> Self;

    /// Whether it is a number at all.
    fn is_defined(self) -> bool;

    /// A representative number.
    fn middle(self) -> f64;

    /// The result of an operation.
    fn operate(self, operator: ArithmeticOperator, other: Self) -> Self;

    /// The result of a function.
    fn apply(self, function: OfOne) -> Self;

    /// The smaller one.
    fn least(self, other: Self) -> Self;

    /// The larger one.
    fn greatest(self, other: Self) -> Self;

    /// Whether a relation holds between both; none if it cannot be decided.
    fn related(self, operator: RelationOperator, other: Self) -> Option<bool>;
}

impl RelationNumber for f64 {
    fn of(number: f64) -> Self {
        number
    }

    fn is_defined(self) -> bool {
        !self.is_nan()
    }

    fn middle(self) -> f64 {
        self
    }

    fn operate(self, operator: ArithmeticOperator, other: Self) -> Self {
        match operator {
            ArithmeticOperator::Add => self + other,
            ArithmeticOperator::Subtract => self - other,
            ArithmeticOperator::Multiply => self * other,
            ArithmeticOperator::Divide => self / other,
            ArithmeticOperator::Power if other == 2.0 => self * self,
            ArithmeticOperator::Power if other == 0.5 => libm::sqrt(self),
            ArithmeticOperator::Power => libm::pow(self, other),
        }
    }

    fn apply(self, function: OfOne) -> Self {
        match function {
            // A value just below a whole number is treated as that number.
            OfOne::Ceil => (self - NEARLY).ceil(),
            OfOne::Floor => (self + NEARLY).floor(),
            OfOne::Round => self.round(),
            OfOne::Sqrt => libm::sqrt(self),
            OfOne::Abs => self.abs(),
            OfOne::Ln => libm::log(self),
            OfOne::Exp => libm::exp(self),
            OfOne::Cos => libm::cos(self),
        }
    }

    fn least(self, other: Self) -> Self {
        chosen(self, other, self < other)
    }

    fn greatest(self, other: Self) -> Self {
        chosen(self, other, self > other)
    }

    fn related(self, operator: RelationOperator, other: Self) -> Option<bool> {
        Some(match operator {
            RelationOperator::Equal => same(self, other),
            RelationOperator::NotEqual => !same(self, other),
            RelationOperator::Less => self < other,
            RelationOperator::Greater => self > other,
            RelationOperator::LessOrEqual => self <= other || same(self, other),
            RelationOperator::GreaterOrEqual => self >= other || same(self, other),
        })
    }
}

/// The one of both that `wins`; NaN is preserved.
fn chosen(a: f64, b: f64, wins: bool) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if wins {
        a
    } else {
        b
    }
}

/// Whether two floats are one up to rounding. Whole numbers are counts, and round to themselves.
fn same(a: f64, b: f64) -> bool {
    // Beyond, every float is whole.
    const COUNTED: f64 = 9_007_199_254_740_992.0;
    let is_count = |x: f64| x.fract() == 0.0 && x.abs() < COUNTED;
    let are_whole = is_count(a) && is_count(b);
    a == b || !are_whole && (a - b).abs() <= (NEARLY * a.abs().max(b.abs())).max(NOTHING)
}
