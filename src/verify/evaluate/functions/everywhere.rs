//! Relations between formulas that hold for all positive values of their variables.

use num_rational::BigRational;
use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::{Interval, format_significant, nearest_f64};
use repro_core::source::{Error, codes};
use repro_report::outcome::{Outcome, Verdict};
use repro_stats::rng::Rng;

use crate::evaluate::{Call, Frame, Variables, WRONG_ARGUMENTS, symbolic};
use crate::value::{Evaluated, Quantity};

codes! {
    COUNTEREXAMPLE = "holds::counterexample", "a relation that is said to hold for all values does not", "correct the formula, or say for which values it is meant";
    NOT_SHOWN = "holds::not-shown", "no counterexample was found, and nothing shows that there is none", "state it so that both sides are quotients of polynomials";
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

pub fn holds<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let wrong = |found: &str| {
        call.wrong(&WRONG_ARGUMENTS, "a relation, and its variables: `for_all = [x, y]`", found)
    };
    let relation = call.argument(0)?;
    let names = names(call).ok_or_else(|| wrong("no list of names"))?;
    // The same points whenever the relation is judged.
    let mut random = Rng::new(0, "holds");
    let mut outcomes = Vec::new();
    for tried in 0..POINTS {
        // What algebra shows needs no more points; most of what is wrong is wrong at the first.
        if tried == FEW_POINTS && symbolic::is_proven(call.at(0)?, &names) {
            let shown = format!("{relation} at {tried} points, and by algebra at all");
            return Ok(judged(Outcome::verified().giving(shown)));
        }
        let point = names.iter().map(|name| (name.clone(), value(&mut random)));
        let point: Vec<(String, BigRational)> = point.collect();
        let outcome = at(call, relation, &point)?;
        if outcome.verdict == Verdict::Refuted {
            let shown = format!("at {}: {}", listed(&point), outcome.reason);
            return Ok(judged(Outcome::refuted(&COUNTEREXAMPLE, shown).giving(outcome.recomputed)));
        }
        outcomes.push(outcome);
    }
    let open = outcomes.into_iter().find(|outcome| outcome.verdict != Verdict::Verified);
    let reason = match open {
        Some(open) => open.reason,
        None => format!("it holds at {POINTS} points, which shows it for no other"),
    };
    let shown = format!("{relation} at {POINTS} points");
    Ok(judged(Outcome::inconclusive(&NOT_SHOWN, reason).giving(shown)))
}

/// The names of the variables, each once.
fn names(call: &Call<'_, '_, '_>) -> Option<Vec<String>> {
    let ExpressionKind::List(items) = &call.named("for_all")?.kind else { return None };
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

/// What the relation comes to at one point.
fn at(
    call: &Call<'_, '_, '_>,
    relation: &Expression,
    point: &[(String, BigRational)],
) -> Result<Outcome, Error> {
    let mut variables: Variables<'_> = call.frame.variables.clone();
    for (name, value) in point {
        let (interval, float) = (Interval::point(value.clone()), nearest_f64(value));
        let number = Quantity::result(interval, float, format_significant(value, SHOWN), &[]);
        variables.insert(name.clone(), Evaluated::Number(number));
    }
    Frame { variables: &variables, ..call.frame.at(relation) }.judgement()
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
