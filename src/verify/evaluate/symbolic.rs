//! Relations between formulas with free variables, worked out as quotients of polynomials.

use std::collections::BTreeMap;

use num_rational::BigRational;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};

use super::polynomial::Quotient;
use crate::evaluate::Frame;

/// The steps of a part, and of each term of the base of a power, times the power.
const PART: usize = 20;
const TERM: usize = 100;

/// The free variables, and what formulas call them.
type Symbols = BTreeMap<String, Quotient>;

/// Whether a relation surely holds for all positive values of its variables. What is no quotient of
/// polynomials, or has coefficients on both sides of zero, is not shown.
pub fn is_proven(relation: Frame<'_, '_>, variables: &[String]) -> bool {
    let ExpressionKind::Relation(first, rest) = &relation.part.kind else { return false };
    let symbols = variables.iter().zip(0..);
    let symbols = symbols.map(|(name, place)| (name.clone(), Quotient::variable(place)));
    let symbols: Symbols = symbols.collect();
    let worked = |part| work_out(relation.at(part), &symbols);
    let mut left = worked(first);
    rest.iter().all(|(operator, part)| {
        let right = worked(part);
        let holds = match (&left, &right) {
            (Some(a), Some(b)) => pair(*operator, a, b).unwrap_or(false),
            _ => false,
        };
        left = right;
        holds
    })
}

fn pair(operator: RelationOperator, a: &Quotient, b: &Quotient) -> Option<bool> {
    let order = a.plus(&b.negative()?)?.sign()?;
    Some(match operator {
        RelationOperator::Less => order.is_lt(),
        RelationOperator::LessOrEqual => order.is_le(),
        RelationOperator::Greater => order.is_gt(),
        RelationOperator::GreaterOrEqual => order.is_ge(),
        RelationOperator::Equal => order.is_eq(),
        RelationOperator::NotEqual => order.is_ne(),
    })
}

/// A part as a quotient of polynomials; none where it is no such thing.
fn work_out(frame: Frame<'_, '_>, symbols: &Symbols) -> Option<Quotient> {
    let Frame { evaluator, part, .. } = frame;
    evaluator.works(PART).then_some(())?;
    let inner = |part| work_out(frame.at(part), symbols);
    match &part.kind {
        ExpressionKind::Name(name) if symbols.contains_key(name) => symbols.get(name).cloned(),
        ExpressionKind::Negative(of) => inner(of)?.negative(),
        ExpressionKind::Arithmetic(ArithmeticOperator::Power, base, power) => {
            let power = constant(frame.at(power), symbols)?;
            let whole = power.is_integer().then(|| power.to_integer().try_into().ok())??;
            let base = inner(base)?;
            let steps = TERM * base.terms() * i32::unsigned_abs(whole) as usize;
            evaluator.works(steps).then(|| base.power(whole))?
        }
        ExpressionKind::Arithmetic(operator, a, b) => {
            let (a, b) = (inner(a)?, inner(b)?);
            match operator {
                ArithmeticOperator::Add => a.plus(&b),
                ArithmeticOperator::Subtract => a.plus(&b.negative()?),
                ArithmeticOperator::Multiply => a.times(&b),
                ArithmeticOperator::Divide => a.times(&b.reciprocal()?),
                ArithmeticOperator::Power => None,
            }
        }
        ExpressionKind::Call(name, arguments)
            if let Some(formula) = evaluator.page().formulas.get(name) =>
        {
            let given = std::iter::zip(&formula.parameters, arguments);
            let given = given.map(|(name, argument)| Some((name.clone(), inner(&argument.value)?)));
            let symbols: Symbols = given.collect::<Option<_>>()?;
            if arguments.len() != formula.parameters.len() {
                return None;
            }
            let variables = crate::evaluate::Variables::new();
            let body = frame.within(&formula.body, &variables);
            frame.one_deeper(|| Ok(work_out(body, &symbols))).ok()?
        }
        _ => constant(frame, symbols).map(Quotient::constant),
    }
}

/// The one exact number that a part without free variables is.
fn constant(frame: Frame<'_, '_>, symbols: &Symbols) -> Option<BigRational> {
    // A variable may have the name of a piece of evidence, which is not meant.
    let mut is_free = true;
    frame.part.each(&mut |inner| {
        is_free &= !matches!(&inner.kind, ExpressionKind::Name(name) if symbols.contains_key(name));
    });
    let number = is_free.then(|| frame.number().ok())??;
    number.interval.is_point().then(|| number.interval.middle())
}
