//! How many runs of two groups stand in a relation, run by run.

use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::syntax::{ExpressionKind, RelationOperator};
use repro_core::decimal::Interval;
use repro_core::source::Error;
use repro_report::outcome::Verdict;

use crate::evaluate::order::{beside, certain};
use crate::evaluate::{Call, NOT_PAIRED, PAIRED_RUNS, WRONG_ARGUMENTS};
use crate::value::{Evaluated, Leaf, LeafKind, Quantity};

pub fn how_many<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (left, operator, right) = sides(call)?;
    let pairs = pairs(call, left, right)?;
    // The order of what rests on the same evidence says nothing.
    if pairs.iter().any(|(a, b)| a.evidence().eq(b.evidence())) {
        let found = "the same evidence on both";
        return Err(call.wrong(&WRONG_ARGUMENTS, "evidence of its own on each side", found));
    }
    let mut sure = 0;
    let mut possible = 0;
    for (a, b) in &pairs {
        let verdict = certain(operator, a, b).verdict;
        sure += usize::from(verdict == Verdict::Verified);
        possible += usize::from(verdict != Verdict::Refuted);
    }
    // The count follows from the runs, though no small change of one of them need change it.
    let nudge = usize::from(call.evaluator.nudge(&format!("count of {}", call.frame.part)));
    let (sure, possible) = (sure + nudge, possible + nudge);
    let interval = Interval::integer(sure).hull(&Interval::integer(possible));
    let text = format!("{} of {} runs", call.frame.part, pairs.len());
    let of: Vec<&Quantity> = pairs.iter().flat_map(|(a, b)| [a, b]).collect();
    let mut number = Quantity::result(interval, sure as f64, text, &of);
    // Of the evidence only how it stands to the other side is counted.
    let counted = |leaf: &Rc<Leaf>| Rc::new(Leaf { kind: LeafKind::Counted, ..(**leaf).clone() });
    number.leaves = number.leaves.iter().map(counted).collect();
    Ok(Evaluated::Number(number))
}

/// The two sides of the relation that the function is given.
fn sides<'c>(
    call: &'c Call<'_, '_, '_>,
) -> Result<(&'c Expression, RelationOperator, &'c Expression), Error> {
    match &call.argument(0)?.kind {
        ExpressionKind::Relation(left, rest) if rest.len() == 1 => {
            let (operator, right) = &rest[0];
            Ok((left, *operator, right))
        }
        _ => {
            Err(call.wrong(&WRONG_ARGUMENTS, "one relation: `a < b`", &call.frame.part.to_string()))
        }
    }
}

/// The two numbers of each run.
fn pairs(
    call: &Call<'_, '_, '_>,
    left: &Expression,
    right: &Expression,
) -> Result<Vec<(Quantity, Quantity)>, Error> {
    match (call.settled(left)?, call.settled(right)?) {
        (Evaluated::Sample(a), Evaluated::Sample(b)) => {
            let Some(b) = beside(call.evaluator, &a, &b) else {
                return Err(call.wrong(&NOT_PAIRED, PAIRED_RUNS, "runs that nothing pairs"));
            };
            Ok(std::iter::zip(a.numbers, b.numbers).collect())
        }
        (Evaluated::Sample(a), b) => {
            let b = call.frame.at(right).number_of(b)?;
            Ok(a.numbers.into_iter().map(|a| (a, b.clone())).collect())
        }
        (a, Evaluated::Sample(b)) => {
            let a = call.frame.at(left).number_of(a)?;
            Ok(b.numbers.into_iter().map(|b| (a.clone(), b)).collect())
        }
        _ => Err(call.wrong(&WRONG_ARGUMENTS, "a group of runs on one side at least", "none")),
    }
}
