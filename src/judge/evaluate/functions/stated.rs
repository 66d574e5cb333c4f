//! Runs of which only mean ± spread is printed.

use repro_claim::Expression;
use repro_claim::syntax::{ExpressionKind, RelationOperator};
use repro_receipt::source::Error;

use crate::evaluate::error_bars::{OrderSide, StatedOrder};
use crate::evaluate::{Call, Evaluator, Frame, WRONG_ARGUMENTS};
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
    let [own] = &orders(call.evaluator, call.argument(0)?, call.frame)?[..] else {
        return Err(wrong("several orders"));
    };
    let mut others = call.evaluator.aside(|| orders(call.evaluator, family, call.frame))?;
    let Some(index) = others.iter().position(|order| order.shown() == own.shown()) else {
        return Err(wrong("a family without the order itself"));
    };
    others.remove(index);
    Ok(Evaluated::Judgement(Box::new(own.judge(&others))))
}

/// The orders that are written, or that formulas of the post stand for.
fn orders<'a>(
    evaluator: &Evaluator<'a>,
    part: &Expression,
    frame: Frame<'_, 'a>,
) -> Result<Vec<StatedOrder>, Error> {
    let found = |frame: Frame<'_, 'a>, body: &Expression| orders(evaluator, body, frame);
    match &part.kind {
        ExpressionKind::List(items) => {
            let each = items.iter().map(|item| found(frame, item));
            Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        }
        ExpressionKind::Relation(first, rest) if rest.len() == 1 => {
            let side = |part: &Expression| {
                OrderSide::of(evaluator, evaluator.evaluate(part, frame)?, frame, part)
            };
            let one = |(operator, second): &(RelationOperator, Expression)| {
                let sides = [side(first)?, side(second)?];
                Ok(StatedOrder { operator: *operator, sides })
            };
            rest.iter().map(one).collect()
        }
        _ => evaluator.in_formula(part, frame, found).unwrap_or_else(|| {
            let found = format!("`{part}`");
            Err(evaluator.wrong(&WRONG_ARGUMENTS, part, frame, "an order: `a < b`", &found))
        }),
    }
}
