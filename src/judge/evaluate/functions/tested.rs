//! Tests between two groups of runs, and of one group of differences.

use std::collections::HashSet;
use std::rc::Rc;

use repro_exact::decimal::{Interval, format_float};
use repro_receipt::source::{Error, codes};
use repro_report::outcome::{Impact, Measured, Outcome};
use repro_stats::{equivalence, holm};

use super::samples::{ends, from_float};
use super::{Function, Gives};
use crate::evaluate::order::{ChosenTest, TEST_DIGITS, design};
use crate::evaluate::{Call, NOT_COMPUTABLE, WRONG_ARGUMENTS};
use crate::run_design::{ALPHA, PlannedFamily, RunDesign};
use crate::value::{Evaluated, NumberRole, Quantity, RunSample};

codes! {
    NOT_SIGNIFICANT = "significant::not", "a difference that is said to be significant is not", "correct the text";
    NOT_EQUIVALENT = "equivalent::open", "the runs do not show that two groups are equal within the margin", "add runs, or say that it is open";
    OUTSIDE = "equivalent::outside", "the groups differ by more than the margin", "correct the text";
}

pub static FUNCTIONS: &[Function] = &[
    Function {
        name: "p",
        signature: "p(a, b) or p(differences)",
        summary: "the two-sided p of the test that the design fixes: paired where a plan pairs the runs, else Welch's",
        misleads: "a large p does not show that there is no difference, and a p among several needs Holm's adjustment",
        example: "p(dense.loss, moe.loss)",
        gives: Gives::Derived,
        evaluate: p_value,
    },
    Function {
        name: "gap_ci95",
        signature: "gap_ci95(a, b)",
        summary: "the ends of the 95% interval of mean(a) - mean(b), by the test that the design fixes",
        misleads: "two intervals that overlap may still belong to means that differ",
        example: "gap_ci95(dense.loss, moe.loss)",
        gives: Gives::Ends,
        evaluate: interval,
    },
    Function {
        name: "gap_se",
        signature: "gap_se(a, b)",
        summary: "the standard error of mean(a) - mean(b), by the test that the design fixes; of the gap between two \
                  trends too",
        misleads: "it is not the spread of single runs, and of few runs two of it are no 95% interval",
        example: "gap_se(slopes([dense.loss @ 242, dense.loss @ 967], over = [242, 967]), slopes([moe.loss @ 242, moe.loss @ 967], over = [242, 967]))",
        gives: Gives::Derived,
        evaluate: standard_error,
    },
    Function {
        name: "significant",
        signature: "significant(p, family = [p, ...])",
        summary: "a p lies below 0.05, after Holm's adjustment where a family is named",
        misleads: "not significant is not the same as equal",
        example: "significant(p(a.loss, b.loss), family = [p(a.loss, b.loss), p(a.loss, c.loss)])",
        gives: Gives::Derived,
        evaluate: significant,
    },
    Function {
        name: "equivalent",
        signature: "equivalent(a, b, margin)",
        summary: "two groups differ by less than a margin: two one-sided tests at 0.05",
        misleads: "the margin is a choice; it must be made before the runs",
        example: "equivalent(a.loss, b.loss, 0.005)",
        gives: Gives::Derived,
        evaluate: equivalent,
    },
];

/// The two groups that a call is given, or the one of differences.
fn groups(call: &Call<'_, '_, '_>) -> Result<(RunSample, Option<RunSample>), Error> {
    let part = |index| call.positional(index);
    let Some(first) = part(0) else {
        return Err(call.wrong(&WRONG_ARGUMENTS, "a group of runs", "nothing"));
    };
    let a = call.evaluator.numbers(first, call.frame)?;
    let b = part(1).map(|second| call.evaluator.numbers(second, call.frame));
    Ok((a, b.transpose()?))
}

fn tested(call: &Call<'_, '_, '_>) -> Result<(ChosenTest, RunSample), Error> {
    let (a, b) = groups(call)?;
    // What was joined run by run is named after both.
    let known = |name: &str| call.evaluator.library().bundle(name).is_some();
    let is_run = |names: &String| names.split(", ").all(known);
    // Blocks of a text, or numbers in a list, are no repeated runs.
    if !a.runs.iter().chain(b.iter().flat_map(|b| &b.runs)).all(is_run) {
        return Err(call.wrong(&WRONG_ARGUMENTS, "groups of runs", "a list"));
    }
    if b.is_none() && !a.are_differences() {
        let expected = "differences between runs or steps, such as `a.loss - b.loss`";
        return Err(call.wrong(&WRONG_ARGUMENTS, expected, "one number of each run"));
    }
    let design = design(call.evaluator, &a, b.as_ref());
    let refused = |why: repro_stats::Refused| {
        call.wrong(&NOT_COMPUTABLE, "groups of at least two runs", &why.to_string())
    };
    let mut all = a;
    if let Some(b) = b {
        all.runs.extend(b.runs);
        all.numbers.extend(b.numbers);
    }
    Ok((design.map_err(refused)?, all))
}

fn p_value<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(1, 2, &[])?;
    let (design, all) = tested(call)?;
    let number = from_float(call, design.test.p_two_sided(), &all)?;
    let text = format!("p by {}", design.name);
    let role = NumberRole::P(Rc::new(design.design));
    Ok(Evaluated::Number(Quantity { derivation: text, role, ..number }))
}

fn interval<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(2, 2, &[])?;
    let (design, all) = tested(call)?;
    ends(design.test.interval(1.0 - ALPHA).map(|end| {
        let number = from_float(call, end, &all)?;
        Ok(Quantity { derivation: format!("95% by {}", design.name), ..number })
    }))
}

fn standard_error<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(2, 2, &[])?;
    let (design, all) = tested(call)?;
    let number = from_float(call, design.test.standard_error, &all)?;
    let derivation = format!("standard error by {}", design.name);
    Ok(Evaluated::Number(Quantity { derivation, ..number }))
}

fn significant<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(1, 1, &["family"])?;
    let own = call.number(0)?;
    let family = match call.named("family") {
        None => vec![own.clone()],
        Some(part) => call.evaluator.aside(|| call.evaluator.numbers(part, call.frame))?.numbers,
    };
    let compared = |number: &Quantity| match &number.role {
        NumberRole::P(tested) => Some(Rc::clone(tested)),
        _ => None,
    };
    let tests: Option<Vec<_>> = family.iter().map(compared).collect();
    let (Some(tested), Some(tests)) = (compared(&own), tests) else {
        let expected = "the p of tests, such as `p(a, b)`";
        return Err(call.wrong(&WRONG_ARGUMENTS, expected, "other numbers"));
    };
    // Unadjusted it is not significant, so that no adjustment makes it so.
    if own.float < tested.alpha
        && let Some(planned) = &tested.family
        && planned.matters(own.float, tested.alpha)
        && let Some(wrong) = is_another_family(planned, &tested, &tests)
    {
        call.evaluator.departs(format!("the plan adjusts over \"{}\": {wrong}", planned.words));
    }
    let alpha = tested.alpha;
    let family: Vec<f64> = family.iter().map(|number| number.float).collect();
    let Some(index) = family.iter().position(|p| *p == own.float) else {
        let expected = "the p itself among its family";
        return Err(call.wrong(&WRONG_ARGUMENTS, expected, "other p alone"));
    };
    let adjusted = holm(&family).get(index).copied().unwrap_or(own.float);
    let digits = |value: f64| format_float(value, TEST_DIGITS);
    let shown = match family.len() {
        1 => format!("p = {}", digits(own.float)),
        count => {
            format!("p = {}, {} after Holm over {count}", digits(own.float), digits(adjusted))
        }
    };
    let outcome = match adjusted < alpha {
        true => Outcome::verified(),
        false => Outcome::refuted(&NOT_SIGNIFICANT, format!("{shown}, not below {alpha}")),
    };
    let measured =
        Measured { value: Some(adjusted), allowed: Some([0.0, alpha]), ..Measured::default() };
    let tolerance = format!("{}, alpha {alpha}", own.derivation);
    let outcome = outcome.giving(shown).within("test", tolerance).measuring([measured]);
    let outcome = tested.noted(outcome);
    Ok(Evaluated::Judgement(Box::new(outcome.with_impact(Impact::Decision))))
}

/// Why some tests are not the family that a plan names for one of them: it has too few, one of them twice, or others
/// than pairs of arms under the same budget at the same step.
fn is_another_family(
    planned: &PlannedFamily,
    own: &RunDesign,
    tests: &[Rc<RunDesign>],
) -> Option<String> {
    let pairs: HashSet<_> = tests.iter().map(|one| &one.comparison.arms).collect();
    let is_akin = |one: &Rc<RunDesign>| {
        let (one, own) = (&one.comparison, &own.comparison);
        one.arms.len() == 2 && (&one.budgets, one.steps) == (&own.budgets, own.steps)
    };
    if !tests.iter().all(is_akin) {
        return Some("the family that is named has tests of other budgets or steps".to_owned());
    }
    if pairs.len() < tests.len() {
        return Some("the family that is named has a pair of arms twice".to_owned());
    }
    let few = tests.len() < planned.at_least;
    few.then(|| format!("the family that is named has {} of its tests", tests.len()))
}

fn equivalent<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(3, 3, &[])?;
    let margin = call.number(2)?;
    if margin.interval.low() <= Interval::integer(0).low() {
        return Err(call.wrong(&WRONG_ARGUMENTS, "a margin above 0", &margin.derivation));
    }
    let (design, _) = tested(call)?;
    let refused = |why: repro_stats::Refused| {
        call.wrong(&NOT_COMPUTABLE, "groups with a spread", &why.to_string())
    };
    let tests = equivalence(&design.test, -margin.float, margin.float).map_err(refused)?;
    let [low, high] = design.test.interval(1.0 - 2.0 * ALPHA);
    let digits = |value: f64| format_float(value, TEST_DIGITS);
    let shown =
        format!("90% interval [{}, {}], p = {}", digits(low), digits(high), digits(tests.p()));
    let outcome = if tests.p() < ALPHA {
        Outcome::verified()
    } else if low > margin.float || high < -margin.float {
        Outcome::refuted(&OUTSIDE, format!("the interval lies outside ± {}", margin.derivation))
    } else {
        let reason = format!("the interval reaches beyond ± {}", margin.derivation);
        Outcome::inconclusive(&NOT_EQUIVALENT, reason)
    };
    let tolerance = format!("two one-sided tests, {}, ± {}", design.name, margin.derivation);
    let outcome = outcome.giving(shown).within("test", tolerance).measuring([design.measured()]);
    let outcome = design.design.noted(outcome).with_impact(Impact::Decision);
    Ok(Evaluated::Judgement(Box::new(outcome)))
}
