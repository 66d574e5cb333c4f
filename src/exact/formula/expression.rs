//! One tree for one formula, read in three ways: over exact intervals, over floats, and as text.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::FormulaError;
use crate::decimal::Interval;

/// A formula over numbered inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum FormulaTree {
    /// The input with this index, from 0.
    Input(usize),
    /// An integer.
    Number(i64),
    /// What the inner expression gives for every operand of the last input, taken together.
    Fold(Fold, Box<FormulaTree>),
    /// A function of one value.
    Apply(FormulaFunction, Box<FormulaTree>),
    /// Two values joined.
    Join(Operator, Box<FormulaTree>, Box<FormulaTree>),
}

/// How the values of an input given many times become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Added from left to right.
    Sum,
    /// Multiplied from left to right.
    Product,
    /// How many there are.
    Count,
}

/// A function of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormulaFunction {
    /// e to the value.
    Exp,
    /// The natural logarithm.
    Ln,
    /// The least integer not below it.
    Ceil,
    /// The greatest integer not above it.
    Floor,
    /// Its size without its sign.
    Abs,
}

/// What joins two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient.
    Divide,
}

/// An integer in a formula.
pub fn number(value: i64) -> FormulaTree {
    FormulaTree::Number(value)
}

impl From<i64> for FormulaTree {
    fn from(value: i64) -> Self {
        number(value)
    }
}

macro_rules! operators {
    ($($name:ident $method:ident $operator:ident;)+) => {
        $(impl<Right: Into<FormulaTree>> std::ops::$name<Right> for FormulaTree {
            type Output = Self;
            fn $method(self, right: Right) -> Self {
                Self::Join(Operator::$operator, Box::new(self), Box::new(right.into()))
            }
        })+
    };
}
operators! { Add add Add; Sub sub Subtract; Mul mul Multiply; Div div Divide; }

impl FormulaTree {
    /// The sum of this over every operand of the last input.
    pub fn total(self) -> Self {
        Self::Fold(Fold::Sum, Box::new(self))
    }

    /// The product of this over every operand of the last input.
    pub fn multiplied(self) -> Self {
        Self::Fold(Fold::Product, Box::new(self))
    }

    /// How many operands the last input has.
    pub fn count(self) -> Self {
        Self::Fold(Fold::Count, Box::new(self))
    }

    /// e to this.
    pub fn exp(self) -> Self {
        Self::Apply(FormulaFunction::Exp, Box::new(self))
    }

    /// The natural logarithm of this.
    pub fn ln(self) -> Self {
        Self::Apply(FormulaFunction::Ln, Box::new(self))
    }

    /// The least integer not below this.
    pub fn ceil(self) -> Self {
        Self::Apply(FormulaFunction::Ceil, Box::new(self))
    }

    /// The greatest integer not above this.
    pub fn floor(self) -> Self {
        Self::Apply(FormulaFunction::Floor, Box::new(self))
    }

    /// The size of this without its sign.
    pub fn abs(self) -> Self {
        Self::Apply(FormulaFunction::Abs, Box::new(self))
    }

    /// How often an input is mentioned.
    pub(super) fn mentions(&self, input: usize) -> usize {
        match self {
            Self::Input(index) => usize::from(*index == input),
            Self::Number(_) => 0,
            Self::Fold(_, inner) | Self::Apply(_, inner) => inner.mentions(input),
            Self::Join(_, left, right) => left.mentions(input) + right.mentions(input),
        }
    }

    /// Every value over the given ranges, as wide as each mention of an input taken alone.
    pub(super) fn interval(&self, inputs: &Slots<Interval>) -> Result<Interval, FormulaError> {
        match self {
            Self::Input(index) => inputs.get(*index).cloned(),
            Self::Number(value) => Ok(Interval::integer(*value)),
            Self::Fold(fold, inner) => {
                let values = inputs.each().map(|one| inner.interval(&one));
                match fold {
                    Fold::Count => Ok(Interval::integer(inputs.repeated())),
                    Fold::Sum => joined(values, |a, b| a + b),
                    Fold::Product => joined(values, |a, b| a * b),
                }
            }
            Self::Apply(function, inner) => function.interval(&inner.interval(inputs)?),
            Self::Join(operator, left, right) => {
                operator.interval(&left.interval(inputs)?, &right.interval(inputs)?)
            }
        }
    }

    /// The value in binary floating point, each operation rounded, from left to right.
    pub(super) fn float(&self, inputs: &Slots<f64>) -> Result<f64, FormulaError> {
        Ok(match self {
            Self::Input(index) => *inputs.get(*index)?,
            Self::Number(value) => *value as f64,
            Self::Fold(fold, inner) => {
                let values = inputs.each().map(|one| inner.float(&one));
                match fold {
                    Fold::Count => inputs.repeated() as f64,
                    Fold::Sum => joined(values, |a, b| a + b)?,
                    Fold::Product => joined(values, |a, b| a * b)?,
                }
            }
            Self::Apply(function, inner) => function.float(inner.float(inputs)?),
            Self::Join(operator, left, right) => {
                operator.float(left.float(inputs)?, right.float(inputs)?)
            }
        })
    }
}

/// The values from left to right, joined two by two.
fn joined<T>(
    mut values: impl Iterator<Item = Result<T, FormulaError>>,
    join: impl Fn(&T, &T) -> T,
) -> Result<T, FormulaError> {
    let first = values.next().ok_or(FormulaError::NoSuchInput)??;
    values.try_fold(first, |sum, next| Ok(join(&sum, &next?)))
}

impl FormulaFunction {
    pub(super) fn interval(self, of: &Interval) -> Result<Interval, FormulaError> {
        let outside = || FormulaError::Domain { function: self.word(), argument: of.to_string() };
        match self {
            FormulaFunction::Exp => of.exp().ok_or_else(outside),
            FormulaFunction::Ln => of.ln().ok_or_else(outside),
            FormulaFunction::Ceil => Ok(of.ceil()),
            FormulaFunction::Floor => Ok(of.floor()),
            FormulaFunction::Abs => Ok(of.abs()),
        }
    }

    fn float(self, of: f64) -> f64 {
        match self {
            FormulaFunction::Exp => libm::exp(of),
            FormulaFunction::Ln => libm::log(of),
            FormulaFunction::Ceil => of.ceil(),
            FormulaFunction::Floor => of.floor(),
            FormulaFunction::Abs => of.abs(),
        }
    }

    /// Its name in a formula.
    pub(super) fn word(self) -> &'static str {
        match self {
            FormulaFunction::Exp => "exp",
            FormulaFunction::Ln => "ln",
            FormulaFunction::Ceil => "ceil",
            FormulaFunction::Floor => "floor",
            FormulaFunction::Abs => "abs",
        }
    }
}

impl Operator {
    pub(super) fn interval(self, a: &Interval, b: &Interval) -> Result<Interval, FormulaError> {
        match self {
            Operator::Add => Ok(a + b),
            Operator::Subtract => Ok(a - b),
            Operator::Multiply => Ok(a * b),
            Operator::Divide => {
                a.div(b).ok_or_else(|| FormulaError::DivisionByZero { divisor: b.to_string() })
            }
        }
    }

    fn float(self, a: f64, b: f64) -> f64 {
        match self {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
        }
    }
}

/// The operands of every input in one of their readings; only the last input may have several.
#[derive(Debug, Clone)]
pub(super) struct Slots<T> {
    /// The inputs given once.
    pub single: Vec<T>,
    /// The operands of the input given many times; empty where the formula has none.
    pub many: Vec<T>,
}

impl<T: Clone> Slots<T> {
    fn get(&self, index: usize) -> Result<&T, FormulaError> {
        self.single.get(index).ok_or(FormulaError::NoSuchInput)
    }

    fn repeated(&self) -> usize {
        self.many.len()
    }

    /// The inputs with each operand of the last one in turn.
    fn each(&self) -> impl Iterator<Item = Slots<T>> + '_ {
        self.many.iter().map(|one| {
            let mut single = self.single.clone();
            single.push(one.clone());
            Slots { single, many: Vec::new() }
        })
    }
}

/// The range of an expression in which an input may be mentioned more than once.
///
/// Taken mention by mention, `(a - b) / b` pairs a low `b` with a high one and comes out too wide,
/// and a wide range hides wrong claims. Where the slope in such an input keeps its sign over the
/// whole box, the least and the greatest value lie at the ends of that input, so they replace it.
pub(super) fn range(
    expression: &FormulaTree,
    inputs: &Slots<Interval>,
) -> Result<Interval, FormulaError> {
    let plain = expression.interval(inputs)?;
    let (mut least, mut greatest) = (inputs.clone(), inputs.clone());
    for (index, input) in inputs.single.iter().enumerate() {
        if input.is_point() || expression.mentions(index) < 2 {
            continue;
        }
        let Some((_, slope)) = slope(expression, index, inputs) else { continue };
        let (low, high) =
            (Interval::point(input.low().clone()), Interval::point(input.high().clone()));
        let (for_least, for_greatest) = if *slope.low() >= BigRational::zero() {
            (low, high)
        } else if *slope.high() <= BigRational::zero() {
            (high, low)
        } else {
            continue;
        };
        for (slots, end) in [(&mut least, for_least), (&mut greatest, for_greatest)] {
            if let Some(slot) = slots.single.get_mut(index) {
                *slot = end;
            }
        }
    }
    if least.single == inputs.single && greatest.single == inputs.single {
        return Ok(plain);
    }
    let (least, greatest) = (expression.interval(&least)?, expression.interval(&greatest)?);
    Ok(Interval::between(least.low().clone(), greatest.high().clone()))
}

/// Value and slope in one input, both over the whole box; none where the slope is not known.
fn slope(
    expression: &FormulaTree,
    input: usize,
    inputs: &Slots<Interval>,
) -> Option<(Interval, Interval)> {
    let zero = || Interval::integer(BigInt::zero());
    if expression.mentions(input) == 0 {
        return Some((expression.interval(inputs).ok()?, zero()));
    }
    match expression {
        FormulaTree::Input(_) => Some((inputs.get(input).ok()?.clone(), Interval::integer(1))),
        FormulaTree::Number(_) | FormulaTree::Fold(..) => None,
        FormulaTree::Apply(function, inner) => {
            let (of, inner_slope) = slope(inner, input, inputs)?;
            let value = function.interval(&of).ok()?;
            let outer = match function {
                FormulaFunction::Exp => value.clone(),
                FormulaFunction::Ln => Interval::integer(1).div(&of)?,
                FormulaFunction::Abs | FormulaFunction::Ceil | FormulaFunction::Floor => {
                    return None;
                }
            };
            Some((value, &outer * &inner_slope))
        }
        FormulaTree::Join(operator, left, right) => {
            let (a, a_slope) = slope(left, input, inputs)?;
            let (b, b_slope) = slope(right, input, inputs)?;
            let value = operator.interval(&a, &b).ok()?;
            let slope = match operator {
                Operator::Add => &a_slope + &b_slope,
                Operator::Subtract => &a_slope - &b_slope,
                Operator::Multiply => &(&a_slope * &b) + &(&a * &b_slope),
                Operator::Divide => (&(&a_slope * &b) - &(&a * &b_slope)).div(&b.powi(2)?)?,
            };
            Some((value, slope))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Printed;
    use proptest::prelude::*;

    fn ratio(n: i64, d: i64) -> BigRational {
        BigRational::new(n.into(), d.into())
    }

    fn single(printed: &[&str]) -> Slots<Interval> {
        let single = printed.iter().map(|text| Printed::parse(text).unwrap().interval()).collect();
        Slots { single, many: Vec::new() }
    }

    fn relative_delta() -> FormulaTree {
        let (a, b) = (FormulaTree::Input(0), FormulaTree::Input(1));
        (a - b.clone()) / b
    }

    #[test]
    fn a_repeated_input_does_not_widen_the_range() {
        let inputs = single(&["0.2", "1.0"]);
        let expression = relative_delta();
        let plain = expression.interval(&inputs).unwrap();
        let tight = range(&expression, &inputs).unwrap();
        // (a - b) / b = a / b - 1, where each is mentioned once.
        let (a, b) = (&inputs.single[0], &inputs.single[1]);
        assert_eq!(tight, &a.div(b).unwrap() - &Interval::integer(1));
        assert!(tight.width() < plain.width());
    }

    #[test]
    fn x_less_x_is_zero() {
        let x = FormulaTree::Input(0);
        let inputs = single(&["3.3"]);
        assert_eq!(range(&(x.clone() - x), &inputs), Ok(Interval::integer(0)));
    }

    #[test]
    fn a_slope_that_changes_sign_decides_nothing() {
        let x = FormulaTree::Input(0);
        let inputs =
            Slots { single: vec![Interval::between(ratio(-1, 1), ratio(2, 1))], many: vec![] };
        let square = x.clone() * x.clone();
        assert_eq!(range(&square, &inputs).unwrap(), Interval::between(ratio(-2, 1), ratio(4, 1)));
        // x·|x| is increasing, but the slope of |x| is not known at 0.
        assert!(range(&(x.clone() * x.abs()), &inputs).unwrap().contains(&ratio(-1, 1)));
    }

    #[test]
    fn what_is_undefined_is_an_error() {
        let x = FormulaTree::Input(0);
        let zero = single(&["0.0"]);
        assert!(matches!(
            (number(1) / x.clone()).interval(&zero),
            Err(FormulaError::DivisionByZero { .. })
        ));
        assert!(matches!(
            x.clone().ln().interval(&zero),
            Err(FormulaError::Domain { function: "ln", .. })
        ));
        assert!(matches!(
            x.exp().interval(&single(&["800"])),
            Err(FormulaError::Domain { function: "exp", .. })
        ));
        assert_eq!(FormulaTree::Input(3).interval(&zero), Err(FormulaError::NoSuchInput));
        assert_eq!(FormulaTree::Input(0).total().interval(&zero), Err(FormulaError::NoSuchInput));
    }

    proptest! {
        #[test]
        fn the_range_holds_every_value(
            a in -50i64..50, b in -50i64..50, wide in 0i64..30, at in 0i64..=4, bt in 0i64..=4
        ) {
            let box_of = |low: i64| Interval::between(ratio(low, 3), ratio(low + wide, 3));
            let inputs = Slots { single: vec![box_of(a), box_of(b)], many: vec![] };
            let inside = |of: &Interval, step: i64| of.low() + of.width() * ratio(step, 4);
            let (x, y) = (inside(&inputs.single[0], at), inside(&inputs.single[1], bt));
            let point = [x, y].map(Interval::point).to_vec();
            let point = Slots { single: point, many: vec![] };
            let (p, q) = (FormulaTree::Input(0), FormulaTree::Input(1));
            for expression in [
                relative_delta(),
                p.clone() * q.clone() - p.clone(),
                p.clone() - (p.clone() / q.clone()).floor() * q.clone(),
                p.clone() / (p.clone() + q.clone()),
                (p.clone() / 8).exp() - (q.clone() / 8).exp() * p.clone(),
                (p.clone() * p.clone() + 1).ln() / (q.clone() * q.clone() + 1),
            ] {
                let (Ok(range), Ok(value)) =
                    (range(&expression, &inputs), expression.interval(&point)) else { continue };
                prop_assert!(range.meets(&value), "{expression:?}");
                prop_assert!(expression.interval(&inputs).unwrap().contains(range.low()));
            }
        }
    }
}
