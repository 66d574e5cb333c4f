//! Relations between formulas that hold for all positive values of their variables.

use std::collections::BTreeMap;

use num_rational::BigRational;
use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};
use repro_core::decimal::{Interval, format_significant, nearest_f64};
use repro_core::source::{Error, codes};
use repro_report::outcome::{Outcome, Verdict};
use repro_stats::rng::Rng;

use crate::evaluate::order::fits;
use crate::evaluate::polynomial::Quotient;
use crate::evaluate::{Call, Frame, Variables};
use crate::value::{Evaluated, Quantity};

codes! {
    COUNTEREXAMPLE = "holds::counterexample", "a relation that should be true for all values has a counterexample", "correct the formula, or state the values it applies to";
    NOT_SHOWN = "holds::not-shown", "no counterexample was found, but the relation is not proven", "rewrite both sides as quotients of polynomials";
}

/// So many points are tried before algebra is.
const FEW_POINTS: u64 = 4;
/// Where a counterexample is looked for.
const POINTS: u64 = 64;
/// Each value is a multiple of one in `STEPS`, up to `HIGHEST`.
const STEPS: u64 = 4;
const HIGHEST: u64 = 16;
/// The significant digits of a counterexample.
const SHOWN: usize = 6;
/// The steps of a part, and of each term of the base of a power, times the power.
const PART: usize = 20;
const TERM: usize = 100;

/// The free variables, and what formulas call them.
type Symbols = BTreeMap<String, Quotient>;

pub fn holds<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let wrong = |found: &str| {
        call.wrong_arguments("a relation, and its variables: `for_all = [x, y]`", found)
    };
    let given = call.argument(0)?;
    let relation = given.part;
    let names = names(call).ok_or_else(|| wrong("no list of variables"))?;
    // The same points whenever the relation is judged.
    let mut random = Rng::new(0, "holds");
    let mut outcomes = Vec::new();
    for tried in 0..POINTS {
        // What algebra shows needs no more points; most of what is wrong is wrong at the first.
        if tried == FEW_POINTS && is_proven(given, &names) {
            let shown = format!("{relation} at {tried} points, and by algebra everywhere");
            return Ok(judged(Outcome::verified().giving(shown)));
        }
        let point = names.iter().map(|name| (name.clone(), value(&mut random)));
        let point: Vec<(String, BigRational)> = point.collect();
        let outcome = at(given, &point)?;
        if outcome.verdict == Verdict::Refuted {
            let shown = format!("at {}: {}", listed(&point), outcome.reason);
            return Ok(judged(Outcome::refuted(&COUNTEREXAMPLE, shown).giving(outcome.recomputed)));
        }
        outcomes.push(outcome);
    }
    let open = outcomes.into_iter().find(|outcome| outcome.verdict != Verdict::Verified);
    let reason = match open {
        Some(open) => open.reason,
        None => format!("true at {POINTS} points, not proven for others"),
    };
    let shown = format!("{relation} at {POINTS} points");
    Ok(judged(Outcome::inconclusive(&NOT_SHOWN, reason).giving(shown)))
}

/// The names of the variables, each once.
fn names(call: Call<'_, '_>) -> Option<Vec<String>> {
    let ExpressionKind::List(items) = &call.named("for_all")?.part.kind else { return None };
    let name = |item: &Expression| match &item.kind {
        ExpressionKind::Name(name) => Some(name.clone()),
        _ => None,
    };
    let names: Vec<String> = items.iter().map(name).collect::<Option<_>>()?;
    let once = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
    (!names.is_empty() && once).then_some(names)
}

fn value(random: &mut Rng) -> BigRational {
    let steps = random.below(STEPS * HIGHEST) + 1;
    BigRational::new(steps.into(), STEPS.into())
}

/// The outcome of the relation at one point.
fn at(relation: Frame<'_, '_>, point: &[(String, BigRational)]) -> Result<Outcome, Error> {
    let mut variables: Variables<'_> = relation.variables.clone();
    for (name, value) in point {
        let (interval, float) = (Interval::point(value.clone()), nearest_f64(value));
        let number = Quantity::result(interval, float, format_significant(value, SHOWN), []);
        variables.insert(name.clone(), Evaluated::Number(number));
    }
    Frame { variables: &variables, ..relation }.judgement()
}

/// "alpha = 2.75, mu = 12".
fn listed(point: &[(String, BigRational)]) -> String {
    let each =
        point.iter().map(|(name, value)| format!("{name} = {}", format_significant(value, SHOWN)));
    each.collect::<Vec<_>>().join(", ")
}

fn judged<'a>(outcome: Outcome) -> Evaluated<'a> {
    Evaluated::decided(outcome.within("algebra", "for all positive values"))
}

/// Whether a relation surely holds for all positive values of its variables. What is no quotient of
/// polynomials, or has coefficients on both sides of zero, is not shown.
fn is_proven(relation: Frame<'_, '_>, variables: &[String]) -> bool {
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
    Some(fits(operator, a.plus(&b.negative()?)?.sign()?))
}

/// A part as a quotient of polynomials; none if it is no such thing.
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
            let variables = Variables::new();
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
