//! Relations between values: exact ones by their intervals, those between runs with their noise.

use repro_claim::Expression;
use repro_claim::syntax::RelationOperator;
use repro_exact::decimal::{format_float, format_significant};
use repro_receipt::source::Error;
use repro_report::outcome::{Impact, Measured, Outcome, TestNumbers, Verdict};
use repro_stats::{Refused, Summary, T, one_sample, paired, welch};

pub use crate::evaluate::noise::{
    ALPHA, ARE_EQUAL, COARSE, NOT_EQUAL, ONE_RUN, TEST_DIGITS, WITHIN_NOISE, WRONG_WAY,
};
use crate::evaluate::{Evaluator, Frame, error_bars};
use crate::value::{DIGITS, Evaluated, Quantity, RunSample};

/// What two or more values in a relation come to: every neighbouring pair must hold.
pub fn relation<'a>(
    evaluator: &Evaluator<'a>,
    first: &Expression,
    rest: &[(RelationOperator, Expression)],
    frame: Frame<'_, 'a>,
) -> Result<Outcome, Error> {
    let settled = |part: &Expression| {
        let value = evaluator.evaluate(part, frame)?;
        evaluator.settled(value, frame, part)
    };
    let mut left = (first, settled(first)?);
    let mut outcomes = Vec::new();
    for (operator, part) in rest {
        let right = settled(part)?;
        let stated = |value: &Evaluated<'_>| matches!(value, Evaluated::Stated(_));
        let pair = match (&left.1, &right) {
            (a, b) if stated(a) || stated(b) => {
                let a = error_bars::OrderSide::of(evaluator, a.clone(), frame, left.0)?;
                let b = error_bars::OrderSide::of(evaluator, b.clone(), frame, part)?;
                error_bars::StatedOrder { operator: *operator, sides: [a, b] }.judge(&[])
            }
            (Evaluated::Sample(a), Evaluated::Sample(b)) => samples(evaluator, *operator, a, b),
            (Evaluated::Sample(a), Evaluated::Number(b)) => few(*operator, &mean(a), b),
            (Evaluated::Number(a), Evaluated::Sample(b)) => few(*operator, a, &mean(b)),
            _ => {
                let a = evaluator.number(left.1.clone(), frame, left.0)?;
                let b = evaluator.number(right.clone(), frame, part)?;
                numbers(*operator, &a, &b)
            }
        };
        let labelled = format!("{} {} {part}", left.0, operator.sign());
        outcomes.push((labelled, pair));
        left = (part, right);
    }
    Ok(all(outcomes))
}

/// What holds only if everything holds: the worst part decides, and the reason names it.
pub fn all(mut parts: Vec<(String, Outcome)>) -> Outcome {
    if parts.len() == 1
        && let Some((_, only)) = parts.pop()
    {
        return only;
    }
    let given: Vec<_> = parts
        .iter()
        .filter(|(_, part)| !part.recomputed.is_empty())
        .map(|(_, part)| part.recomputed.clone())
        .collect();
    let measured: Vec<_> = parts.iter().flat_map(|(_, part)| part.measured.clone()).collect();
    let worst = parts.into_iter().min_by_key(|(_, part)| part.verdict);
    let Some((label, worst)) = worst else { return Outcome::verified() };
    let reason = match worst.verdict {
        Verdict::Verified => String::new(),
        _ => format!("{label}: {}", worst.reason),
    };
    Outcome { reason, recomputed: given.join("; "), measured, ..worst }
}

/// The opposite of a relation. What noise leaves open stays open.
pub fn opposite(outcome: Outcome) -> Outcome {
    match outcome.verdict {
        Verdict::Verified => {
            let reason = format!("it holds: {}", outcome.recomputed);
            let turned = Outcome::refuted(&WRONG_WAY, reason).giving(outcome.recomputed);
            let turned = turned.measuring(outcome.measured);
            turned.within(outcome.rule, outcome.tolerance).with_impact(Impact::Decision)
        }
        Verdict::Refuted => {
            let turned = Outcome::verified().giving(outcome.recomputed);
            let turned = turned.measuring(outcome.measured);
            turned.within(outcome.rule, outcome.tolerance)
        }
        _ => outcome,
    }
}

/// A relation of two numbers.
fn numbers(operator: RelationOperator, a: &Quantity, b: &Quantity) -> Outcome {
    // Two numbers of single runs always differ, and are in some order.
    if operator != RelationOperator::Equal && !(a.is_without_noise() && b.is_without_noise()) {
        return few(operator, a, b);
    }
    let shown = format!("{} {} {}", a.shown(), operator.sign(), b.shown());
    certain(operator, a, b)
        .giving(shown)
        .within("exact", "the whole intervals")
        .measuring([a, b].map(Quantity::measured))
        .with_impact(Impact::Decision)
}

/// A relation of two intervals.
fn certain(operator: RelationOperator, a: &Quantity, b: &Quantity) -> Outcome {
    let (x, y) = (&a.interval, &b.interval);
    let (below, not_above) = (x.high() < y.low(), x.high() <= y.low());
    let (above, not_below) = (x.low() > y.high(), x.low() >= y.high());
    let prints = a.has_precision_of(b);
    let same = x == y && (x.is_point() || prints);
    let other = x != y && prints;
    let (holds, fails) = match operator {
        RelationOperator::Less => (below, not_below || same),
        RelationOperator::LessOrEqual => (not_above || same, above),
        RelationOperator::Greater => (above, not_above || same),
        RelationOperator::GreaterOrEqual => (not_below || same, below),
        RelationOperator::Equal => (same, below || above || other),
        RelationOperator::NotEqual => (below || above || other, same),
    };
    let values = || format!("{} and {}", short(a), short(b));
    match (holds, fails) {
        (true, _) => Outcome::verified(),
        (false, true) => match operator {
            RelationOperator::Equal => Outcome::refuted(&NOT_EQUAL, values()),
            RelationOperator::NotEqual => Outcome::refuted(&ARE_EQUAL, values()),
            _ => Outcome::refuted(&WRONG_WAY, format!("the evidence has {}", values())),
        },
        (false, false) => {
            Outcome::inconclusive(&COARSE, format!("the digits do not decide: {}", values()))
        }
    }
}

fn short(number: &Quantity) -> String {
    format_significant(&number.point(), DIGITS)
}

/// An order between numbers of which one at least is of a single run: it may be contradicted, and
/// cannot be verified.
fn few(operator: RelationOperator, a: &Quantity, b: &Quantity) -> Outcome {
    let plain = certain(operator, a, b);
    let shown = format!("{} {} {}", short(a), operator.sign(), short(b));
    let outcome = match plain.verdict {
        Verdict::Verified => Outcome::inconclusive(
            &ONE_RUN,
            "as printed it holds; one run on a side, so the noise between runs is not known",
        ),
        _ => plain,
    };
    outcome
        .giving(shown)
        .within("order", "as printed")
        .measuring([a, b].map(Quantity::measured))
        .with_impact(Impact::Decision)
}

fn mean(sample: &RunSample) -> Quantity {
    sample.mean("mean".to_owned())
}

/// An order between two groups of runs, by the test that the design fixes.
fn samples(
    evaluator: &Evaluator<'_>,
    operator: RelationOperator,
    a: &RunSample,
    b: &RunSample,
) -> Outcome {
    if a.count() < 2 || b.count() < 2 {
        return few(operator, &mean(a), &mean(b));
    }
    match design(evaluator, a, Some(b)) {
        Ok(design) => decided(operator, &design),
        Err(why) => Outcome::inconclusive(&WITHIN_NOISE, why.to_string()),
    }
}

/// A test between two groups, and what it is called.
#[derive(Debug)]
pub struct ChosenTest {
    /// The test of the mean of `a` less the mean of `b`.
    pub test: T,
    /// Its name.
    pub name: &'static str,
    /// How many runs there are on each side.
    pub n: Vec<usize>,
}

impl ChosenTest {
    /// Its numbers, for programs.
    pub fn measured(&self) -> Measured {
        let test = TestNumbers {
            name: self.name,
            estimate: self.test.estimate,
            interval95: self.test.interval(1.0 - ALPHA),
            t: self.test.t,
            df: self.test.df,
            p: self.test.p_two_sided(),
            n: self.n.clone(),
        };
        Measured { test: Some(test), ..Measured::default() }
    }
}

/// The test that the design fixes: paired where a plan was registered and the runs saw the same data in
/// the same order, else Welch's; of differences, the t of their mean.
pub fn design(
    evaluator: &Evaluator<'_>,
    a: &RunSample,
    b: Option<&RunSample>,
) -> Result<ChosenTest, Refused> {
    let Some(b) = b else {
        let test = one_sample(&Summary::of(&a.floats())?, 0.0)?;
        return Ok(ChosenTest { test, name: "the t test of the differences", n: vec![a.count()] });
    };
    if is_paired_by_plan(evaluator, a, b) && have_equal_data(evaluator, a, b) {
        return Ok(ChosenTest {
            test: paired(&a.floats(), &b.floats())?,
            name: "the paired t test",
            n: vec![a.count(), b.count()],
        });
    }
    let test = welch(&Summary::of(&a.floats())?, &Summary::of(&b.floats())?)?;
    Ok(ChosenTest { test, name: "Welch's t test", n: vec![a.count(), b.count()] })
}

/// What a test says of an order.
fn decided(operator: RelationOperator, design: &ChosenTest) -> Outcome {
    let ChosenTest { test, name, .. } = design;
    let [low, high] = test.interval(1.0 - ALPHA);
    let digits = |value: f64| format_float(value, TEST_DIGITS);
    let shown = format!(
        "difference {} [{}, {}], {name}: t = {}, df {}, two-sided p = {}",
        digits(test.estimate),
        digits(low),
        digits(high),
        digits(test.t),
        digits(test.df),
        digits(test.p_two_sided())
    );
    let (below, above) = (high < 0.0, low > 0.0);
    let (holds, fails) = match operator {
        RelationOperator::Less | RelationOperator::LessOrEqual => (below, above),
        RelationOperator::Greater | RelationOperator::GreaterOrEqual => (above, below),
        // Noise never shows that two means are equal: `equivalent(...)` has a margin.
        RelationOperator::Equal => (false, below || above),
        RelationOperator::NotEqual => (below || above, false),
    };
    let outcome = match (holds, fails) {
        (true, _) => Outcome::verified(),
        (_, true) => Outcome::refuted(&WRONG_WAY, "the runs differ the other way"),
        _ => {
            let p = digits(test.p_two_sided());
            Outcome::inconclusive(
                &WITHIN_NOISE,
                format!("the noise between runs does not decide: p = {p}"),
            )
        }
    };
    outcome
        .giving(shown)
        .within("test", format!("{name}, two-sided, alpha {ALPHA}"))
        .measuring([design.measured()])
        .with_impact(Impact::Decision)
}

/// Whether the plan of the post's study, registered before the runs, pairs them: it names the paired test,
/// and each receipt names this study and the digest of this plan.
fn is_paired_by_plan(evaluator: &Evaluator<'_>, a: &RunSample, b: &RunSample) -> bool {
    let plan = evaluator.page().plan.as_ref();
    let Some(study) = plan.and_then(|(name, _)| evaluator.library().study(name)) else {
        return false;
    };
    let digest = study.digest().to_string();
    let of_plan = |run: &String| {
        evaluator.library().bundle(run).is_some_and(|bundle| {
            let receipt = bundle.receipt();
            let named = receipt.run.as_ref().and_then(|run| run.study.as_deref());
            let planned = receipt.extra.get("plan_sha256").and_then(|plan| plan.as_str());
            named == Some(study.id.as_str()) && planned == Some(digest.as_str())
        })
    };
    let names_it = study.analysis.tests.iter().any(|test| test.contains("paired t"));
    names_it && a.runs.iter().chain(&b.runs).all(of_plan)
}

/// Whether the runs of two groups saw the same data in the same order, one by one.
pub fn have_equal_data(evaluator: &Evaluator<'_>, a: &RunSample, b: &RunSample) -> bool {
    let data = |run: &String| {
        let receipt = evaluator.library().bundle(run)?.receipt_document().root();
        let read = |pointer: &str| Some(receipt.at(pointer).ok()?.printed().ok()?.to_owned());
        Some((
            read("/predicate/seeds/data")?,
            read("/predicate/data/order")?,
            read("/predicate/data/sha256")?,
        ))
    };
    let pairs = std::iter::zip(&a.runs, &b.runs);
    a.count() == b.count()
        && pairs.into_iter().all(|(a, b)| data(a).is_some_and(|first| Some(first) == data(b)))
}
