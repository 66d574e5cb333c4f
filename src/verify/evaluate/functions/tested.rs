//! Tests between two groups of runs, and of one group of differences.

use std::collections::HashSet;
use std::rc::Rc;

use repro_core::decimal::Interval;
use repro_core::source::{Error, codes};
use repro_report::outcome::{Measured, Outcome};
use repro_stats::{equivalence, holm};

use super::samples::{ends, from_float};
use crate::evaluate::order::{ChosenTest, design, digits};
use crate::evaluate::{Call, WRONG_ARGUMENTS};
use crate::run_design::{ALPHA, PlannedFamily, RunDesign};
use crate::value::{Evaluated, NumberRole, Quantity, RunSample};

codes! {
    NOT_SIGNIFICANT = "significant::not", "a difference that is said to be significant is not", "correct the text";
    NOT_EQUIVALENT = "equivalent::open", "the runs do not show that two groups are equal within the margin", "add runs, or say that it is open";
    OUTSIDE = "equivalent::outside", "the groups differ by more than the margin", "correct the text";
}

/// The first groups that a call is given, each of runs.
pub fn groups_of_runs(call: &Call<'_, '_, '_>, most: usize) -> Result<Vec<RunSample>, Error> {
    let groups: Vec<_> =
        call.plain().take(most).map(|part| call.numbers_of(part)).collect::<Result<_, _>>()?;
    // What was joined run by run is named after both.
    let known = |name: &str| call.evaluator.library().bundle(name).is_some();
    let is_run = |names: &String| names.split(", ").all(known);
    // Blocks of a text, or numbers in a list, are no repeated runs.
    if !groups.iter().flat_map(|group| &group.runs).all(is_run) {
        return Err(call.wrong(&WRONG_ARGUMENTS, "groups of runs", "a list"));
    }
    Ok(groups)
}

/// The test of the two groups that a call is given, or of the one of differences; and all their numbers.
fn tested(call: &Call<'_, '_, '_>) -> Result<(ChosenTest, RunSample), Error> {
    let mut groups = groups_of_runs(call, 2)?.into_iter();
    let (Some(a), b) = (groups.next(), groups.next()) else {
        return Err(call.wrong(&WRONG_ARGUMENTS, "groups of runs", "none"));
    };
    if b.is_none() && !a.are_differences() {
        let expected = "differences between runs or steps, such as `a.loss - b.loss`";
        return Err(call.wrong(&WRONG_ARGUMENTS, expected, "one number of each run"));
    }
    let design = design(call.evaluator, &a, b.as_ref());
    let design = design.map_err(|why| call.refused("groups of at least two runs", &why))?;
    let mut all = a;
    if let Some(b) = b {
        all.runs.extend(b.runs);
        all.numbers.extend(b.numbers);
    }
    Ok((design, all))
}

/// A number of a test, derived in these words before the name of the test.
fn of_test(
    call: &Call<'_, '_, '_>,
    (design, all): &(ChosenTest, RunSample),
    value: f64,
    what: &str,
) -> Result<Quantity, Error> {
    let derivation = format!("{what} by {}", design.name);
    Ok(Quantity { derivation, ..from_float(call, value, all)? })
}

pub fn p_value<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let tested = tested(call)?;
    let number = of_test(call, &tested, tested.0.test.p_two_sided(), "p")?;
    let role = NumberRole::P(Rc::new(tested.0.design));
    Ok(Evaluated::Number(Quantity { role, ..number }))
}

pub fn interval<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let tested = tested(call)?;
    let interval = interval_of(call, &tested.0, 1.0 - ALPHA)?;
    ends(interval.map(|end| of_test(call, &tested, end, "95%")))
}

/// The interval of a test at a level.
fn interval_of(
    call: &Call<'_, '_, '_>,
    design: &ChosenTest,
    level: f64,
) -> Result<[f64; 2], Error> {
    let interval = design.test.interval(level);
    interval.map_err(|why| call.refused("groups with a spread", &why))
}

pub fn standard_error<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let tested = tested(call)?;
    of_test(call, &tested, tested.0.test.standard_error, "standard error").map(Evaluated::Number)
}

pub fn significant<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let own = call.number(0)?;
    let family = match call.named("family") {
        None => vec![own.clone()],
        Some(part) => call.evaluator.aside(|| call.numbers_of(part))?.numbers,
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
    let shown = match family.len() {
        1 => format!("p = {}", digits(own.float)),
        count => {
            format!("p = {}, {} after Holm over {count}", digits(own.float), digits(adjusted))
        }
    };
    let outcome = if adjusted < alpha {
        Outcome::verified()
    } else {
        Outcome::refuted(&NOT_SIGNIFICANT, format!("{shown}, not below {alpha}"))
    };
    let measured =
        Measured { value: Some(adjusted), allowed: Some([0.0, alpha]), ..Measured::default() };
    let tolerance = format!("{}, alpha {alpha}", own.derivation);
    let outcome = outcome.giving(shown).within("test", tolerance).measuring([measured]);
    Ok(Evaluated::decided(tested.noted(outcome)))
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

pub fn equivalent<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let margin = call.number(2)?;
    if margin.interval.low() <= Interval::integer(0).low() {
        return Err(call.wrong(&WRONG_ARGUMENTS, "a margin above 0", &margin.derivation));
    }
    let (design, _) = tested(call)?;
    let tests = equivalence(&design.test, -margin.float, margin.float);
    let tests = tests.map_err(|why| call.refused("groups with a spread", &why))?;
    let [low, high] = interval_of(call, &design, 1.0 - 2.0 * ALPHA)?;
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
    Ok(Evaluated::decided(design.design.noted(outcome)))
}
