//! The operators on numbers: over exact intervals and, next to them, over floats as a script would.

use std::rc::Rc;

use num_rational::BigRational;
use num_traits::{One, Zero};
use repro_claim::Expression;
use repro_claim::syntax::ArithmeticOperator;
use repro_core::decimal::{Interval, format_significant};
use repro_core::source::Error;

use super::{Frame, NOT_COMPUTABLE, NOT_PAIRED, PAIRED_RUNS};
use crate::evaluate::order::beside;
use crate::value::{DIGITS, Evaluated, LeafKind, NumberRole, Quantity, RunSample};

/// The most bits that an exact power may take.
const LONGEST_POWER: u64 = 1 << 18;

/// The negative of a number, or of each number of a group.
pub fn negative<'a>(of: Frame<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    match of.settled()? {
        Evaluated::Sample(sample) => {
            let numbers = sample.numbers.iter().map(minus).collect();
            Ok(Evaluated::Sample(RunSample { numbers, ..sample }))
        }
        other => Ok(Evaluated::Number(minus(&of.number_of(other)?))),
    }
}

fn minus(number: &Quantity) -> Quantity {
    let text = format!("-{}", part(number, true));
    Quantity {
        last_place: number.last_place.clone(),
        ..Quantity::result(-&number.interval, -number.float, text, [number])
    }
}

/// Two numbers joined. A group and a number, two groups of the same runs and two lists of one length are
/// joined one by one.
pub fn join<'a>(
    whole: Frame<'_, 'a>,
    operator: ArithmeticOperator,
    left: &Expression,
    right: &Expression,
) -> Result<Evaluated<'a>, Error> {
    let (left, right) = (whole.at(left), whole.at(right));
    let (a, b) = (left.settled()?, right.settled()?);
    Join { operator, left, right, whole }.values(a, b)
}

/// One operator between two parts of an expression.
struct Join<'f, 'a> {
    operator: ArithmeticOperator,
    left: Frame<'f, 'a>,
    right: Frame<'f, 'a>,
    whole: Frame<'f, 'a>,
}

impl<'a> Join<'_, 'a> {
    fn values(&self, a: Evaluated<'a>, b: Evaluated<'a>) -> Result<Evaluated<'a>, Error> {
        match (a, b) {
            (Evaluated::List(a), Evaluated::List(b)) => {
                self.as_many(a.len(), b.len(), "lists")?;
                let pairs = std::iter::zip(a, b).map(|(a, b)| self.values(a, b));
                pairs.collect::<Result<_, _>>().map(Evaluated::List)
            }
            (Evaluated::Sample(a), Evaluated::Sample(b)) => self.samples(&a, &b),
            (Evaluated::Sample(a), b) => {
                let b = self.right.number_of(b)?;
                let numbers = a.numbers.iter().map(|a| self.numbers(a, &b));
                let numbers = numbers.collect::<Result<_, _>>()?;
                Ok(Evaluated::Sample(RunSample { numbers, ..a }))
            }
            (a, Evaluated::Sample(b)) => {
                let a = self.left.number_of(a)?;
                let numbers = b.numbers.iter().map(|b| self.numbers(&a, b));
                let numbers = numbers.collect::<Result<_, _>>()?;
                Ok(Evaluated::Sample(RunSample { numbers, ..b }))
            }
            (a, b) => {
                let (a, b) = (self.left.number_of(a)?, self.right.number_of(b)?);
                self.numbers(&a, &b).map(Evaluated::Number)
            }
        }
    }

    fn samples(&self, a: &RunSample, b: &RunSample) -> Result<Evaluated<'a>, Error> {
        self.as_many(a.count(), b.count(), "groups")?;
        let Some(b) = &beside(self.whole.evaluator, a, b) else {
            return Err(self.whole.wrong(&NOT_PAIRED, PAIRED_RUNS, "unpaired runs"));
        };
        let numbers = std::iter::zip(&a.numbers, &b.numbers).map(|(a, b)| self.numbers(a, b));
        let numbers = numbers.collect::<Result<_, _>>()?;
        let runs = std::iter::zip(&a.runs, &b.runs);
        let runs = runs.map(|(a, b)| if a == b { a.clone() } else { format!("{a}, {b}") });
        Ok(Evaluated::Sample(RunSample { runs: runs.collect(), numbers }))
    }

    fn numbers(&self, a: &Quantity, b: &Quantity) -> Result<Quantity, Error> {
        // Nobody reads how what is only supposed was derived.
        let expected = "numbers with a defined value";
        operate(self.operator, a, b, !self.whole.evaluator.supposes())
            .map_err(|why| self.whole.wrong(&NOT_COMPUTABLE, expected, &why))
    }

    fn as_many(&self, a: usize, b: usize, what: &str) -> Result<(), Error> {
        if a == b {
            return Ok(());
        }
        let expected = format!("{what} of equal length on both sides");
        Err(self.whole.wrong(&NOT_COMPUTABLE, &expected, &format!("{a} and {b}")))
    }
}

/// One operation; why there is not a result, if there is none.
fn operate(
    operator: ArithmeticOperator,
    a: &Quantity,
    b: &Quantity,
    is_told: bool,
) -> Result<Quantity, String> {
    if let Some(same) = unchanged(operator, a, b) {
        return Ok(same.clone());
    }
    let shown = |number: &Quantity| number.interval.to_string();
    let role = match operator {
        ArithmeticOperator::Add => counted_together(a, b)?,
        ArithmeticOperator::Multiply => multiple_of_p(a, b),
        ArithmeticOperator::Subtract => of_one_scope(a, b),
        _ => NumberRole::Plain,
    };
    let (interval, float) = match operator {
        ArithmeticOperator::Add => (&a.interval + &b.interval, a.float + b.float),
        ArithmeticOperator::Subtract => {
            let interval = &a.interval - &b.interval;
            // What is known exactly needs no float; of rounded prints the float is all that has their point.
            let float =
                if interval.is_point() { a.float - b.float } else { a.nearest_difference(b) };
            (interval, float)
        }
        ArithmeticOperator::Multiply => (&a.interval * &b.interval, a.float * b.float),
        ArithmeticOperator::Divide => {
            let quotient = a.interval.div(&b.interval);
            let why = || format!("the divisor {} may be zero", shown(b));
            (quotient.ok_or_else(why)?, a.float / b.float)
        }
        ArithmeticOperator::Power => {
            let whole: Option<i32> = b.whole().and_then(|power| power.try_into().ok());
            match whole {
                Some(power) => to_whole_power(a, power)?,
                None => {
                    let root = root(&a.interval, &b.interval);
                    let why = || format!("{} to the power of {}", shown(a), shown(b));
                    (root.ok_or_else(why)?, a.float.powf(b.float))
                }
            }
        }
    };
    let tight = matches!(
        operator,
        ArithmeticOperator::Multiply | ArithmeticOperator::Divide | ArithmeticOperator::Power
    );
    let inner = tight || operator == ArithmeticOperator::Subtract;
    let told = || format!("{} {} {}", part(a, tight), operator.sign(), part(b, inner));
    let text = if is_told { told() } else { String::new() };
    Ok(Quantity { role, ..Quantity::result(interval, float, text, [a, b]) })
}

/// The number that a stated 0 or 1 leaves as it is: `run.score * 1` derives nothing from the score.
fn unchanged<'q>(
    operator: ArithmeticOperator,
    a: &'q Quantity,
    b: &'q Quantity,
) -> Option<&'q Quantity> {
    let neutral = match operator {
        ArithmeticOperator::Add | ArithmeticOperator::Subtract => BigRational::zero(),
        _ => BigRational::one(),
    };
    let is_neutral = |number: &Quantity| {
        number.leaf == Some(LeafKind::Literal)
            && number.interval.is_point()
            && *number.interval.low() == neutral
    };
    let commutes = matches!(operator, ArithmeticOperator::Add | ArithmeticOperator::Multiply);
    match is_neutral(b) {
        true => Some(a),
        false => Some(b).filter(|_| commutes && is_neutral(a)),
    }
}

fn to_whole_power(base: &Quantity, power: i32) -> Result<(Interval, f64), String> {
    let bits = base.interval.bits();
    if bits * u64::from(power.unsigned_abs()) > LONGEST_POWER {
        return Err(format!("a number of {bits} bits to the power of {power}"));
    }
    let value = base.interval.powi(power);
    let value = value.ok_or_else(|| format!("{} to the power of {power}", base.interval))?;
    Ok((value, base.float.powi(power)))
}

/// A positive number to a power that is not whole: `x ^ (1/2)` is its square root. None of other numbers.
fn root(base: &Interval, power: &Interval) -> Option<Interval> {
    (&base.ln()? * power).exp()
}

/// The scope of a sum or difference of parameter counts: the common scope, or unknown if they differ.
fn of_one_scope(a: &Quantity, b: &Quantity) -> NumberRole {
    match (a.count_scope(), b.count_scope()) {
        (Some(scope), Some(other)) if scope == other => NumberRole::Parameters(scope),
        _ => NumberRole::Plain,
    }
}

/// The runs that two counts are of together; a run that both count is not there twice.
fn counted_together(a: &Quantity, b: &Quantity) -> Result<NumberRole, String> {
    let (NumberRole::CountOfRuns(first), NumberRole::CountOfRuns(second)) = (&a.role, &b.role)
    else {
        return Ok(of_one_scope(a, b));
    };
    match first.intersection(second).next() {
        Some(run) => Err(format!("a sum that counts `{run}` twice")),
        None => Ok(NumberRole::CountOfRuns(Rc::new(first.union(second).cloned().collect()))),
    }
}

/// The p that a multiple of one by a whole number is: Bonferroni's adjustment, by hand.
fn multiple_of_p(a: &Quantity, b: &Quantity) -> NumberRole {
    let is_factor = |number: &Quantity| number.is_stated() && number.count().is_some_and(|n| n > 0);
    match (&a.role, &b.role) {
        (NumberRole::P(_), _) if is_factor(b) => a.role.clone(),
        (_, NumberRole::P(_)) if is_factor(a) => b.role.clone(),
        _ => NumberRole::Plain,
    }
}

/// The value of a number in few digits. Of ends with thousands of digits that are written alike, what lies
/// between is written so too, and the exact middle need not be computed.
fn value_in_brief(number: &Quantity) -> String {
    const LONG_BITS: u64 = 1024;
    let (low, high) = (number.interval.low(), number.interval.high());
    if low.numer().bits() > LONG_BITS {
        let [first, last] = [low, high].map(|end| format_significant(end, DIGITS));
        if first == last {
            return first;
        }
    }
    number.brief()
}

/// The text of a number within a longer derivation: in parentheses where it needs them, and its value
/// where its own derivation is long.
fn part(number: &Quantity, tight: bool) -> String {
    const LONG: usize = 48;
    let text = &number.derivation;
    if number.leaf.is_some() {
        return text.clone();
    }
    if text.len() > LONG {
        return value_in_brief(number);
    }
    let call = is_a_call(text);
    if tight && !call && text.contains(' ') { format!("({text})") } else { text.clone() }
}

/// Whether a text is one call, `f(...)`, whose parenthesis closes at its end.
fn is_a_call(text: &str) -> bool {
    let Some(open) = text.find('(').filter(|open| *open > 0) else { return false };
    let is_name = text[..open].chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut depth = 0_usize;
    let close = text.char_indices().filter(|(at, _)| *at >= open).find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at)
    });
    is_name && close == Some(text.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_call_needs_no_parentheses() {
        for (text, is) in [
            ("mean(1, 2)", true),
            ("f(g(1) + 2)", true),
            ("6 * (2 + 3)", false),
            ("f(1) * (2)", false),
            ("(1 + 2)", false),
            ("1 / 2", false),
            ("f(1", false),
        ] {
            assert_eq!(is_a_call(text), is, "{text}");
        }
    }
}
