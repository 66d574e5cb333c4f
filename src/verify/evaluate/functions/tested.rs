//! Tests between groups of runs, of one group of differences, and of runs of which only mean ± spread is printed.

use std::collections::HashSet;
use std::rc::Rc;

use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::Interval;
use repro_core::source::{Error, codes};
use repro_report::outcome::{Measured, Outcome};
use repro_stats::power::{Goal, Sides};
use repro_stats::{Decimals, RankedPair, Refused, T, anova, equivalence, holm};

use super::samples::{ends, of_sample, whole_option};
use crate::evaluate::error_bars::{OrderSide, StatedOrder};
use crate::evaluate::order::{self, ChosenTest, digits};
use crate::evaluate::{Call, Frame, WRONG_ARGUMENTS, design};
use crate::run_design::{ALPHA, PlannedFamily, RunDesign};
use crate::value::{Evaluated, LeafKind, NumberRole, PrintedRuns, Quantity, RunSample};

codes! {
    NOT_SIGNIFICANT = "significant::not-significant", "a difference that should be significant is not", "correct the text";
    NOT_EQUIVALENT = "equivalent::undecided", "the runs do not show that the groups are equal within the margin", "add runs, or describe the result as open";
    OUTSIDE = "equivalent::outside", "the groups differ by more than the margin", "correct the text";
    SAME_ORDER = "reversed::same-order", "every pair has the same significant order under both contracts", "correct the text";
    UNDECIDED = "reversed::undecided", "no pair is significant under both contracts with opposite signs, and not every pair is significant with the same sign", "add runs, or describe the result as open";
}

/// The words by which a plan names each test.
const MANN_WHITNEY: &[&str] = &["mann-whitney", "mann whitney", "rank-sum", "rank sum"];
const KOLMOGOROV_SMIRNOV: &[&str] = &["kolmogorov"];
const ANALYSIS_OF_VARIANCE: &[&str] = &["anova", "analysis of variance"];
/// So many steps of counting orders take one step.
const ORDERS_IN_A_STEP: usize = 512;
/// The most steps that counting takes; above, there is a formula.
const MOST_ORDERS: usize = 2_000_000;
/// The steps of a test of two groups.
const TEST: usize = 250;

/// The first groups that a call is given, each of runs.
fn groups_of_runs(call: Call<'_, '_>, most: usize) -> Result<Vec<RunSample>, Error> {
    let groups: Vec<_> = call.plain().take(most).map(Frame::numbers).collect::<Result<_, _>>()?;
    // What was joined run by run is named after both.
    let known = |name: &str| call.evaluator.library().bundle(name).is_some();
    let is_run = |names: &String| names.split(", ").all(known);
    // Blocks of a text, or numbers in a list, are no repeated runs.
    if !groups.iter().flat_map(|group| &group.runs).all(is_run) {
        return Err(call.wrong_arguments("groups of runs", "a list"));
    }
    Ok(groups)
}

/// A test of the groups that a call is given, and all their numbers.
struct TestOfCall<'f, 'a> {
    call: Call<'f, 'a>,
    chosen: ChosenTest,
    all: RunSample,
}

impl<'f, 'a> TestOfCall<'f, 'a> {
    /// The test of the two groups that a call is given, or of the one of differences.
    fn of(call: Call<'f, 'a>) -> Result<Self, Error> {
        let mut groups = groups_of_runs(call, 2)?.into_iter();
        let (Some(mut all), b) = (groups.next(), groups.next()) else {
            return Err(call.wrong_arguments("groups of runs", "none"));
        };
        if b.is_none() && !all.are_differences() {
            let expected = "differences between runs or steps, such as `a.loss - b.loss`";
            return Err(call.wrong_arguments(expected, "one number per run"));
        }
        let chosen = order::design(call.evaluator, &all, b.as_ref());
        let chosen = call.computed_of("groups of at least two runs", chosen)?;
        if let Some(b) = b {
            all.extend(b);
        }
        Ok(Self { call, chosen, all })
    }

    /// A number of the test, derived in these words before its name.
    fn number(&self, value: f64, what: &str) -> Result<Quantity, Error> {
        let derivation = format!("{what} by {}", self.chosen.name);
        Ok(Quantity { derivation, ..of_sample(self.call, value, &self.all)? })
    }

    /// Its interval at a level.
    fn interval(&self, level: f64) -> Result<[f64; 2], Error> {
        self.call
            .computed_of("groups whose values are not all equal", self.chosen.test.interval(level))
    }
}

pub fn p_value<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let tested = TestOfCall::of(call)?;
    let number = tested.number(tested.chosen.test.p_two_sided(), "p")?;
    let role = NumberRole::P(Rc::new(tested.chosen.design));
    Ok(Evaluated::Number(Quantity { role, ..number }))
}

pub fn interval<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let tested = TestOfCall::of(call)?;
    ends(tested.interval(1.0 - ALPHA)?.map(|end| tested.number(end, "95%")))
}

pub fn standard_error<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let tested = TestOfCall::of(call)?;
    let value = tested.chosen.test.standard_error;
    tested.number(value, "standard error").map(Evaluated::Number)
}

pub fn significant<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let own = call.number(0)?;
    let family = match call.named("family") {
        None => vec![own.clone()],
        Some(family) => call.evaluator.aside(|| family.numbers())?.numbers,
    };
    let compared = |number: &Quantity| match &number.role {
        NumberRole::P(tested) => Some(Rc::clone(tested)),
        _ => None,
    };
    let tests: Option<Vec<_>> = family.iter().map(compared).collect();
    let (Some(tested), Some(tests)) = (compared(&own), tests) else {
        let expected = "p-values of tests, such as `p(a, b)`";
        return Err(call.wrong_arguments(expected, "other numbers"));
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
        let expected = "the p-value itself in its family";
        return Err(call.wrong_arguments(expected, "only other p-values"));
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
        return Some("the listed family contains tests of other budgets or steps".to_owned());
    }
    if pairs.len() < tests.len() {
        return Some("the listed family contains a pair of arms twice".to_owned());
    }
    let few = tests.len() < planned.at_least;
    few.then(|| format!("the listed family contains {} of its tests", tests.len()))
}

pub fn equivalent<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let margin = call.number(2)?;
    if margin.interval.low() <= Interval::integer(0).low() {
        return Err(call.wrong_arguments("a margin above 0", &margin.derivation));
    }
    let tested = TestOfCall::of(call)?;
    let ChosenTest { test, name, design, .. } = &tested.chosen;
    let tests = equivalence(test, -margin.float, margin.float);
    let p = call.computed_of("groups whose values are not all equal", tests)?.p();
    let [low, high] = tested.interval(1.0 - 2.0 * ALPHA)?;
    let shown = format!("90% interval [{}, {}], p = {}", digits(low), digits(high), digits(p));
    let outcome = if p < ALPHA {
        Outcome::verified()
    } else if low > margin.float || high < -margin.float {
        Outcome::refuted(&OUTSIDE, format!("the interval is outside ± {}", margin.derivation))
    } else {
        let reason = format!("the interval extends beyond ± {}", margin.derivation);
        Outcome::inconclusive(&NOT_EQUIVALENT, reason)
    };
    let tolerance = format!("two one-sided tests, {name}, ± {}", margin.derivation);
    let outcome = outcome.giving(shown).within("test", tolerance);
    Ok(Evaluated::decided(design.noted(outcome.measuring([tested.chosen.measured()]))))
}

/// The gap that a test of two such groups would find.
pub fn detectable<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (a, b) = (call.argument(0)?.numbers()?, call.argument(1)?.numbers()?);
    let family = whole_option(call, "family", 1)?.max(1);
    let ChosenTest { test, name, .. } =
        call.computed(order::design(call.evaluator, &a, Some(&b)))?;
    let goal = call.computed(Goal::new(ALPHA / family as f64, 0.8, Sides::Two))?;
    let gap = call.computed(goal.minimum_detectable_gap(test.standard_error, test.df))?;
    let of = a.numbers.iter().chain(&b.numbers);
    call.result(gap, format!("80% power by {name}"), of).map(Evaluated::Number)
}

/// Groups of runs, exactly, and what fixes their comparison.
struct ComparedGroups<'f, 'a> {
    call: Call<'f, 'a>,
    groups: Vec<RunSample>,
    exact: Vec<Decimals>,
    design: RunDesign,
}

impl<'f, 'a> ComparedGroups<'f, 'a> {
    /// The groups of a call, for a test that a plan names by one of some words.
    fn of(call: Call<'f, 'a>, words: &[&str]) -> Result<Self, Error> {
        let groups = groups_of_runs(call, usize::MAX)?;
        let design = design::of_groups(call.evaluator, &groups.iter().collect::<Vec<_>>());
        let is_named = |test: &String| {
            let test = test.to_ascii_lowercase();
            words.iter().any(|word| test.contains(word))
        };
        // What a plan compares are arms, and it says by which tests.
        let are_planned = design.comparison.arms.len() > 1 && !design.tests.is_empty();
        if are_planned && !design.tests.iter().any(is_named) {
            call.evaluator.departs(format!("the plan's test is not `{}`", call.name));
        }
        let exact = groups.iter().map(|group| Decimals::of(&group.floats()));
        let exact = call.computed(exact.collect())?;
        Ok(Self { call, groups, exact, design })
    }

    /// Two of them in their common order, where the work of counting it is allowed.
    fn ranked(&self) -> Result<RankedPair, Error> {
        let [a, b] = self.exact.as_slice() else {
            return Err(self
                .call
                .wrong_arguments("two groups of runs", "a different number of groups"));
        };
        let pairs = a.count().saturating_mul(b.count());
        let orders = pairs.saturating_mul(pairs).min(MOST_ORDERS);
        self.call.frame.takes(orders / ORDERS_IN_A_STEP)?;
        self.call.computed(RankedPair::new(a, b))
    }

    /// The p of their test as a number.
    fn p(self, p: f64, text: String) -> Result<Evaluated<'a>, Error> {
        let of = self.groups.iter().flat_map(|group| &group.numbers);
        self.call.p(p, text, of, self.design)
    }
}

pub fn mann_whitney<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let compared = ComparedGroups::of(call, MANN_WHITNEY)?;
    let test = call.computed(compared.ranked()?.mann_whitney())?;
    let how = if test.is_exact { "exact" } else { "by the normal distribution" };
    let text = format!("p by Mann-Whitney's test, U = {}, {how}", test.u);
    compared.p(test.p_two_sided, text)
}

pub fn kolmogorov_smirnov<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let compared = ComparedGroups::of(call, KOLMOGOROV_SMIRNOV)?;
    let test = call.computed(compared.ranked()?.kolmogorov_smirnov())?;
    let how = if test.is_exact { "exact" } else { "by Kolmogorov's limit" };
    let text = format!("p by the Kolmogorov-Smirnov test, D = {}, {how}", digits(test.d));
    compared.p(test.p, text)
}

pub fn analysis_of_variance<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let compared = ComparedGroups::of(call, ANALYSIS_OF_VARIANCE)?;
    let test = call.computed(anova(&compared.exact))?;
    let text = format!(
        "p by one-way analysis of variance, F({}, {}) = {}",
        test.df_between,
        test.df_within,
        digits(test.f)
    );
    compared.p(test.p, text)
}

/// Runs of which only mean ± spread is printed.
pub fn printed_runs<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (mean, spread, runs) = (call.number(0)?, call.number(1)?, call.number(2)?);
    for number in [&mean, &spread] {
        if number.leaf != Some(LeafKind::Printed) {
            let expected = "a printed mean and a printed error";
            let error = call.wrong_arguments(expected, &number.derivation);
            let help = "compare the available runs themselves: `a.loss < b.loss`";
            return Err(error.help(help));
        }
    }
    if spread.float < 0.0 {
        return Err(call.wrong_arguments("an error of at least zero", &spread.derivation));
    }
    // Floats hold every number of runs up to here.
    let count = runs.count().filter(|count| (2..=1 << 40).contains(count));
    let count = count
        .ok_or_else(|| call.wrong_arguments("a number of runs, at least two", &runs.derivation))?;
    Ok(Evaluated::Stated(Box::new(PrintedRuns { mean, spread, runs: count })))
}

pub fn in_family<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let wrong = |found: &str| {
        call.wrong_arguments("a comparison and the family of comparisons that it belongs to", found)
    };
    let Some(family) = call.named("family") else { return Err(wrong("no family")) };
    let [own] = &orders(call.argument(0)?)?[..] else {
        return Err(wrong("several comparisons"));
    };
    let mut others = call.evaluator.aside(|| orders(family))?;
    let Some(index) = others.iter().position(|order| order.shown() == own.shown()) else {
        return Err(wrong("a family without the comparison itself"));
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
            Err(frame.wrong(&WRONG_ARGUMENTS, "a comparison: `a < b`", &found))
        }),
    }
}

/// The result for a pair: the sign of its gap, if it is significant.
type GapSign = Option<bool>;

/// A ranking that changes with what is held fixed.
pub fn reversed<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (first, second) = (call.argument(0)?.groups()?, call.argument(1)?.groups()?);
    if first.len() != second.len() || first.len() < 2 {
        let found = format!("{} and {}", first.len(), second.len());
        return Err(call.wrong_arguments("the same groups in both, at least two", &found));
    }
    call.frame.pairs(first.len(), 2 * TEST)?;
    let ((before, shown), (after, also)) = (signs(call, &first)?, signs(call, &second)?);
    let pairs: Vec<_> = std::iter::zip(before, after).collect();
    let outcome = judge(&pairs)
        .giving(format!("{shown}; then {also}"))
        .within("sign and p", format!("alpha {ALPHA}, two-sided, Holm over the pairs of each"));
    Ok(Evaluated::decided(outcome))
}

/// The sign of every pair, in order, and the tests that show it. A pair that cannot be tested, such as one
/// of single runs, has no sign.
fn signs(call: Call<'_, '_>, groups: &[RunSample]) -> Result<(Vec<GapSign>, String), Error> {
    let mut tests: Vec<Option<T>> = Vec::new();
    for (index, a) in groups.iter().enumerate() {
        for b in groups.iter().skip(index + 1) {
            tests.push(match order::design(call.evaluator, a, Some(b)) {
                Ok(chosen) => Some(chosen.test),
                Err(why @ Refused::Disagree { .. }) => return call.computed(Err(why)),
                Err(_) => None,
            });
        }
    }
    // What cannot be tested counts in the family all the same.
    let p = |test: &Option<T>| test.as_ref().map_or(1.0, T::p_two_sided);
    let adjusted = holm(&tests.iter().map(p).collect::<Vec<_>>());
    let tested = || std::iter::zip(&tests, &adjusted);
    let sign = |(test, p): (&Option<T>, &f64)| {
        test.as_ref().filter(|_| *p < ALPHA).map(|test| test.estimate > 0.0)
    };
    let words = tested().map(|(test, p)| match test {
        Some(test) => format!("{} (adjusted p = {})", digits(test.estimate), digits(*p)),
        None => "no test".to_owned(),
    });
    let words: Vec<_> = words.collect();
    Ok((tested().map(sign).collect(), format!("gaps {}", words.join(", "))))
}

/// One reversed pair suffices; that none is takes the order of all.
fn judge(pairs: &[(GapSign, GapSign)]) -> Outcome {
    let is_reversed = |(before, after): &(GapSign, GapSign)| match (before, after) {
        (Some(before), Some(after)) => before != after,
        _ => false,
    };
    let is_same = |(before, after): &(GapSign, GapSign)| before.is_some() && before == after;
    if pairs.iter().any(is_reversed) {
        Outcome::verified()
    } else if pairs.iter().all(is_same) {
        Outcome::refuted(
            &SAME_ORDER,
            "every pair has the same significant order under both contracts",
        )
    } else {
        let open = pairs.iter().filter(|pair| !is_same(pair)).count();
        let reason = format!(
            "no pair is reversed; {open} of {} are not significantly different under both contracts",
            pairs.len()
        );
        Outcome::inconclusive(&UNDECIDED, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_report::outcome::Verdict;

    #[test]
    fn only_significance_both_times_reverses() {
        let (up, down, open) = (Some(true), Some(false), None);
        for (pairs, wanted) in [
            (vec![(up, down)], Verdict::Verified),
            (vec![(up, up), (down, down)], Verdict::Refuted),
            (vec![(up, open)], Verdict::Inconclusive),
            (vec![(open, open)], Verdict::Inconclusive),
            (vec![(up, up), (open, open)], Verdict::Inconclusive),
            (vec![(open, up), (down, up)], Verdict::Verified),
        ] {
            assert_eq!(judge(&pairs).verdict, wanted, "{pairs:?}");
        }
    }
}
