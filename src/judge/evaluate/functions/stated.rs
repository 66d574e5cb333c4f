//! Runs of which only mean ± spread is printed.

use repro_claim::Expression;
use repro_claim::syntax::{ExpressionKind, RelationOperator};
use repro_receipt::source::Error;

use super::{Function, Gives};
use crate::evaluate::error_bars::{OrderSide, StatedOrder};
use crate::evaluate::{Call, Evaluator, Frame, WRONG_ARGUMENTS};
use crate::value::{Evaluated, LeafKind, PrintedRuns};

pub static FUNCTIONS: &[Function] = &[
    Function {
        name: "printed_runs",
        signature: "printed_runs(mean, spread, runs)",
        summary: "runs known by their printed mean, the number behind ± and how many they were: an order of two such holds only if every reading of ± gives it (sd, population sd, se, ci95, 1.96 se, half-range)",
        misleads: "the test is Welch's, as if nothing paired the runs; against a number it is the t of the mean of pairs",
        example: "printed_runs(moe.loss, moe.spread, seeds) < printed_runs(dense.loss, dense.spread, seeds)",
        gives: Gives::Derived,
        evaluate: printed_runs,
    },
    Function {
        name: "in_family",
        signature: "in_family(a < b, family = [a < b, c < d, ...])",
        summary: "an order of printed runs, with its p adjusted by Holm over all orders of the family",
        misleads: "a family must hold every comparison that was made, not those that are told",
        example: "in_family(moe < active, family = [moe < active, total < moe])",
        gives: Gives::Derived,
        evaluate: in_family,
    },
];

fn printed_runs<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(3, 3, &[])?;
    let (mean, spread, runs) = (call.number(0)?, call.number(1)?, call.number(2)?);
    for number in [&mean, &spread] {
        if number.leaf != Some(LeafKind::Printed) {
            let expected = "a mean and a spread that a publication prints";
            let error = call.wrong(&WRONG_ARGUMENTS, expected, &number.derivation);
            return Err(
                error.help("runs that are at hand are compared themselves: `a.loss < b.loss`")
            );
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

fn in_family<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(1, 1, &["family"])?;
    let wrong = |found: &str| {
        call.wrong(&WRONG_ARGUMENTS, "an order and the family of orders that it is of", found)
    };
    let (Some(own), Some(family)) = (call.positional(0), call.named("family")) else {
        return Err(wrong("no family"));
    };
    let [own] = &orders(call.evaluator, own, call.frame)?[..] else {
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
        ExpressionKind::Name(_) | ExpressionKind::Call(..) => {
            evaluator.in_formula(part, frame, found).unwrap_or_else(|| {
                let found = format!("`{part}`");
                Err(evaluator.wrong(&WRONG_ARGUMENTS, part, frame, "an order: `a < b`", &found))
            })
        }
        _ => {
            let found = format!("`{part}`");
            Err(evaluator.wrong(&WRONG_ARGUMENTS, part, frame, "an order: `a < b`", &found))
        }
    }
}
