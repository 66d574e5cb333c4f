//! Runs of which only mean ± spread is printed.

use repro_claim::syntax::ExpressionKind;
use repro_core::source::Error;

use crate::evaluate::error_bars::{OrderSide, StatedOrder};
use crate::evaluate::{Call, Frame, WRONG_ARGUMENTS};
use crate::value::{Evaluated, LeafKind, PrintedRuns};

pub fn printed_runs<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (mean, spread, runs) = (call.number(0)?, call.number(1)?, call.number(2)?);
    for number in [&mean, &spread] {
        if number.leaf != Some(LeafKind::Printed) {
            let expected = "a mean and a spread that a publication prints";
            let error = call.wrong(&WRONG_ARGUMENTS, expected, &number.derivation);
            let help = "runs that are at hand are compared themselves: `a.loss < b.loss`";
            return Err(error.help(help));
        }
    }
    if spread.float < 0.0 {
        return Err(call.wrong(&WRONG_ARGUMENTS, "a spread from zero up", &spread.derivation));
    }
    // Floats hold every number of runs up to here.
    let count = runs.count().filter(|count| (2..=1 << 40).contains(count));
    let count = count.ok_or_else(|| {
        call.wrong(&WRONG_ARGUMENTS, "a number of runs, at least two", &runs.derivation)
    })?;
    Ok(Evaluated::Stated(Box::new(PrintedRuns { mean, spread, runs: count })))
}

pub fn in_family<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let wrong = |found: &str| {
        call.wrong(&WRONG_ARGUMENTS, "an order and the family of orders that it is of", found)
    };
    let Some(family) = call.named("family") else { return Err(wrong("no family")) };
    let [own] = &orders(call.at(0)?)?[..] else {
        return Err(wrong("several orders"));
    };
    let mut others = call.evaluator.aside(|| orders(call.frame.at(family)))?;
    let Some(index) = others.iter().position(|order| order.shown() == own.shown()) else {
        return Err(wrong("a family without the order itself"));
    };
    others.remove(index);
    Ok(Evaluated::Judgement(Box::new(own.judge(&others))))
}

/// The orders that are written, or that formulas of the post stand for.
fn orders(frame: Frame<'_, '_>) -> Result<Vec<StatedOrder>, Error> {
    match &frame.part.kind {
        ExpressionKind::List(items) => {
            let each = items.iter().map(|item| orders(frame.at(item)));
            Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
        }
        ExpressionKind::Relation(first, rest) if let [(operator, second)] = rest.as_slice() => {
            let side = |part| OrderSide::of(frame.at(part), frame.at(part).evaluate()?);
            Ok(vec![StatedOrder { operator: *operator, sides: [side(first)?, side(second)?] }])
        }
        _ => frame.in_formula(|body| orders(body)).unwrap_or_else(|| {
            let found = format!("`{}`", frame.part);
            Err(frame.wrong(&WRONG_ARGUMENTS, "an order: `a < b`", &found))
        }),
    }
}
