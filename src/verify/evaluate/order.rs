//! Relations between values: exact ones by their intervals, those between runs with their noise.

use std::cmp::Ordering;

use repro_bundle::bundle::CONFIG;
use repro_claim::Expression;
use repro_claim::syntax::RelationOperator;
use repro_core::decimal::Printed;
use repro_core::source::Error;
use repro_report::outcome::{Impact, Measured, Outcome, TestNumbers, Verdict};
use repro_stats::{Decimals, Refused, T, one_sample_of, welch_of};

use crate::evaluate::design;
use crate::evaluate::error_bars::{OrderSide, StatedOrder};
use crate::evaluate::functions::parameters::PART_AND_WHOLE;
use crate::evaluate::noise::untested;
pub use crate::evaluate::noise::{
    ARE_EQUAL, COARSE, NO_FAMILY, NOT_EQUAL, OF_MEANS, ONE_RUN, ORDER, WITHIN_NOISE, WRONG_WAY,
    digits,
};
use crate::evaluate::{Evaluator, Frame, TRUTHS, WRONG_KIND};
use crate::names::{self, Likeness};
use crate::reading;
use crate::run_design::RunDesign;
use crate::value::{Evaluated, EvidenceWords, LeafKind, Quantity, RunSample};

/// The test of runs that a plan pairs.
const PAIRED: &str = "the paired t test";
/// The test of runs that only the post pairs.
const PAIRED_AFTER_THE_FACT: &str = "the paired t test, paired by seed after the fact";
/// Why an order of single runs is open.
const NOISE_UNKNOWN: &str = "true as printed; one run per arm, seed noise unknown";
/// The separator between the names of joined runs.
const JOINS: &str = ", ";
/// Where a receipt has the seed of a run: of its data, of its weights, or of what its path says.
const SEEDS_IN_RECEIPTS: [&str; 3] =
    ["/predicate/seeds/data", "/predicate/seeds/init", "/predicate/extra/seed_in_path"];
/// The name of the seed in a config.
const SEED: &str = "seed";

/// The outcome of a relation between two or more values: every neighbouring pair must be true.
pub fn relation(
    frame: Frame<'_, '_>,
    first: &Expression,
    rest: &[(RelationOperator, Expression)],
) -> Result<Outcome, Error> {
    let mut left = frame.at(first);
    let mut a = left.settled()?;
    let mut outcomes = Vec::new();
    for (operator, part) in rest {
        let right = frame.at(part);
        let b = right.settled()?;
        let labelled = format!("{} {} {part}", left.part, operator.sign());
        outcomes.push((labelled, pair(*operator, (left, &a), (right, &b))?));
        (left, a) = (right, b);
    }
    Ok(all(outcomes))
}

/// The outcome of a relation between two values.
fn pair<'a>(
    operator: RelationOperator,
    (left, a): (Frame<'_, 'a>, &Evaluated<'a>),
    (right, b): (Frame<'_, 'a>, &Evaluated<'a>),
) -> Result<Outcome, Error> {
    let evaluator = left.evaluator;
    Ok(match (a, b) {
        (Evaluated::Stated(_), _) | (_, Evaluated::Stated(_)) => {
            let sides = [OrderSide::of(left, a.clone())?, OrderSide::of(right, b.clone())?];
            StatedOrder { operator, sides }.judge(&[])
        }
        (Evaluated::Sample(a), Evaluated::Sample(b)) => samples(evaluator, operator, a, b),
        (Evaluated::Sample(a), Evaluated::Number(b)) if b.is_quoted() && !a.are_differences() => {
            each(operator, a, b, |one, limit| certain(operator, one, limit))
        }
        (Evaluated::Number(a), Evaluated::Sample(b)) if a.is_quoted() && !b.are_differences() => {
            each(operator, b, a, |one, limit| certain(operator, limit, one))
        }
        (Evaluated::Sample(a), Evaluated::Number(b)) => gap(evaluator, operator, a, b),
        (Evaluated::Number(a), Evaluated::Sample(b)) => gap(evaluator, operator.turned(), b, a),
        _ => match (a.words(), b.words(), operator) {
            (Some(a), Some(b), RelationOperator::Equal) => words(true, &a, &b),
            (Some(a), Some(b), RelationOperator::NotEqual) => words(false, &a, &b),
            (Some(_), Some(_), _) => {
                let found = format!("`{}` between words", operator.sign());
                return Err(right.wrong(&WRONG_KIND, "`=` or `!=`", &found));
            }
            _ => numbers(operator, &left.number_of(a.clone())?, &right.number_of(b.clone())?),
        },
    })
}

/// Whether each word on one side is a name of each on the other, or, of `!=`, none is.
fn words(are_equal: bool, a: &[EvidenceWords], b: &[EvidenceWords]) -> Outcome {
    let sign = if are_equal { "=" } else { "!=" };
    let pairs = || a.iter().flat_map(|a| b.iter().map(move |b| (&a.text, &b.text)));
    let judged = |(a, b): (&String, &String)| {
        let found = format!("the evidence has \"{a}\" and \"{b}\"");
        let outcome = match (names::likeness(a, b), are_equal) {
            (Likeness::Same, true) | (Likeness::Other, false) => Outcome::verified(),
            (Likeness::Perhaps, _) => Outcome::inconclusive(&names::MAY_BE_ONE, found),
            (Likeness::Other, true) => Outcome::refuted(&NOT_EQUAL, found),
            (Likeness::Same, false) => Outcome::refuted(&ARE_EQUAL, found),
        };
        outcome.giving(format!("\"{a}\" {sign} \"{b}\""))
    };
    let worst = pairs().map(judged).min_by_key(|outcome| outcome.verdict);
    let outcome = worst.unwrap_or_else(Outcome::verified).within("same", "the same words");
    outcome.with_impact(Impact::Decision)
}

/// The outcome of a `true` or `false` field of evidence used as a relation; in a group, all must be true.
pub fn truth(value: &Evaluated<'_>) -> Option<Outcome> {
    let is_true = EvidenceWords::without_place(TRUTHS[0]);
    let given = value.words()?;
    let is_truth = |words: &EvidenceWords| TRUTHS.contains(&words.text.as_str());
    // Runs that differ say neither that it is so nor that it is not.
    let is_one = given.windows(2).all(|pair| pair[0].text == pair[1].text);
    (is_one && given.iter().all(is_truth)).then(|| words(true, &given, &[is_true]))
}

/// The outcome of a conjunction: the worst part decides, and the reason identifies it.
pub fn all(mut parts: Vec<(String, Outcome)>) -> Outcome {
    if parts.len() == 1
        && let Some((_, only)) = parts.pop()
    {
        return only;
    }
    let given = parts.iter().map(|(_, part)| part.recomputed.clone());
    let given: Vec<_> = given.filter(|text| !text.is_empty()).collect();
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
            let reason = format!("true: {}", outcome.recomputed);
            let turned = Outcome::refuted(&WRONG_WAY, reason).with_evidence_of(outcome);
            turned.with_impact(Impact::Decision)
        }
        // What single runs contradict as printed is not shown by them either.
        Verdict::Refuted if outcome.rule == ORDER => {
            let turned = Outcome::inconclusive(&ONE_RUN, NOISE_UNKNOWN).with_evidence_of(outcome);
            turned.with_impact(Impact::Decision)
        }
        Verdict::Refuted => Outcome::verified().with_evidence_of(outcome),
        _ => outcome,
    }
}

/// A relation of two numbers.
fn numbers(operator: RelationOperator, a: &Quantity, b: &Quantity) -> Outcome {
    if let Some([own, other]) = a.other_scope(b) {
        let reason = format!("one side counts the {}, the other the {}", own.name(), other.name());
        return Outcome::inconclusive(&PART_AND_WHOLE, reason);
    }
    // Two numbers of single runs always differ, and are in some order.
    // A limit that the words state is said of these runs.
    let is_limit = a.is_quoted() || b.is_quoted();
    let is_settled = is_limit || a.is_without_noise() && b.is_without_noise();
    if operator != RelationOperator::Equal && !is_settled {
        return few(operator, a, b);
    }
    let shown = format!("{} {} {}", a.shown(), operator.sign(), b.shown());
    let plain = match (operator, printed_of(a), printed_of(b)) {
        // The digits of the words carry their rounding.
        (RelationOperator::Equal, Some(printed), None) if !b.is_without_noise() => {
            reading::judge_alone(&printed, b)
        }
        (RelationOperator::Equal, None, Some(printed)) if !a.is_without_noise() => {
            reading::judge_alone(&printed, a)
        }
        _ => certain(operator, a, b),
    };
    // Two measured numbers that are said to be one may be an order in disguise, `a = min(a, b)`.
    let plain = match plain.verdict {
        Verdict::Verified if !(a.is_without_noise() && b.is_without_noise()) && is_choice(a, b) => {
            let reason = "one of several measured numbers: their comparison has noise";
            Outcome::inconclusive(&ONE_RUN, reason)
        }
        _ => plain,
    };
    plain
        .giving(shown)
        // That two measured numbers are not one is no difference between runs.
        .within(if is_settled { "exact" } else { ORDER }, "the whole ranges")
        .measuring([a, b].map(Quantity::measured))
        .with_impact(Impact::Decision)
}

/// The print that a number of the words is, as it is there.
fn printed_of(number: &Quantity) -> Option<Printed> {
    let [leaf] = number.leaves.as_slice() else { return None };
    let printed = Printed::parse(&leaf.text).ok()?;
    let is_itself = printed.exact().scaled(&printed.unit().per_one().recip()) == number.interval;
    (number.leaf == Some(LeafKind::Quoted) && is_itself).then_some(printed)
}

/// Whether one of two numbers was chosen among several that the other is one of.
fn is_choice(a: &Quantity, b: &Quantity) -> bool {
    let more = |x: &Quantity, y: &Quantity| {
        x.leaf.is_none()
            && y.leaves.iter().all(|leaf| x.leaves.contains(leaf))
            && x.leaves.len() > y.leaves.len()
    };
    more(a, b) || more(b, a)
}

/// Whether two values in this order are in a relation.
pub fn fits(operator: RelationOperator, order: Ordering) -> bool {
    match operator {
        RelationOperator::Less => order.is_lt(),
        RelationOperator::LessOrEqual => order.is_le(),
        RelationOperator::Greater => order.is_gt(),
        RelationOperator::GreaterOrEqual => order.is_ge(),
        RelationOperator::Equal => order.is_eq(),
        RelationOperator::NotEqual => order.is_ne(),
    }
}

/// A relation of two intervals.
pub fn certain(operator: RelationOperator, a: &Quantity, b: &Quantity) -> Outcome {
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
    let values = || format!("{} and {}", a.brief(), b.brief());
    match (holds, fails) {
        (true, _) => Outcome::verified(),
        (false, true) => match operator {
            RelationOperator::Equal => Outcome::refuted(&NOT_EQUAL, values()),
            RelationOperator::NotEqual => Outcome::refuted(&ARE_EQUAL, values()),
            _ => Outcome::refuted(&WRONG_WAY, format!("the evidence has {}", values())),
        },
        (false, false) => {
            Outcome::inconclusive(&COARSE, format!("digits too coarse to decide: {}", values()))
        }
    }
}

/// Each run against a limit that the words state: all keep it, or none does, else it is open.
fn each(
    operator: RelationOperator,
    sample: &RunSample,
    limit: &Quantity,
    judge: impl Fn(&Quantity, &Quantity) -> Outcome,
) -> Outcome {
    let outcomes: Vec<_> = sample.numbers.iter().map(|one| judge(one, limit)).collect();
    let count = |verdict| outcomes.iter().filter(|one| one.verdict == verdict).count();
    let (kept, all) = (count(Verdict::Verified), outcomes.len());
    let values: Vec<_> = sample.numbers.iter().map(Quantity::brief).collect();
    let outcome = match kept {
        _ if kept == all => Outcome::verified(),
        0 if count(Verdict::Refuted) == all => {
            Outcome::refuted(&WRONG_WAY, "no run is within the limit")
        }
        _ => Outcome::inconclusive(&COARSE, format!("{kept} of {all} runs are within the limit")),
    };
    outcome
        .giving(format!("{} against {} {}", values.join(", "), operator.sign(), limit.brief()))
        .within("exact", "each run")
        .measuring(sample.numbers.iter().map(Quantity::measured))
        .with_impact(Impact::Decision)
}

/// An order between numbers of which one at least is of a single run: it may be contradicted, and
/// cannot be verified.
fn few(operator: RelationOperator, a: &Quantity, b: &Quantity) -> Outcome {
    let plain = certain(operator, a, b);
    let shown = format!("{} {} {}", a.brief(), operator.sign(), b.brief());
    let outcome = match plain.verdict {
        Verdict::Verified if a.is_of_runs() || b.is_of_runs() => Outcome::inconclusive(
            &OF_MEANS,
            "true as printed; this form does not test against noise",
        ),
        Verdict::Verified => Outcome::inconclusive(&ONE_RUN, NOISE_UNKNOWN),
        _ => plain,
    };
    outcome
        .giving(shown)
        .within(ORDER, "as printed")
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
    decided(operator, design(evaluator, a, Some(b)))
}

/// An order between a group and a number: of differences, such as gaps or slopes, by the t of their mean.
fn gap(
    evaluator: &Evaluator<'_>,
    operator: RelationOperator,
    sample: &RunSample,
    number: &Quantity,
) -> Outcome {
    if sample.count() < 2 || !sample.are_differences() || !number.is_stated() {
        return few(operator, &mean(sample), number);
    }
    decided(operator, differences(evaluator, sample, Some(number)))
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
    /// The design behind it.
    pub design: RunDesign,
    /// The 95% interval about its estimate.
    interval95: [f64; 2],
}

impl ChosenTest {
    fn new(test: T, name: &'static str, n: Vec<usize>, design: RunDesign) -> Result<Self, Refused> {
        Ok(Self { interval95: test.interval(0.95)?, test, name, n, design })
    }

    /// Its numbers, for programs.
    pub fn measured(&self) -> Measured {
        let test = TestNumbers {
            name: self.name,
            estimate: self.test.estimate,
            interval95: self.interval95,
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
    let Some(b) = b else { return differences(evaluator, a, None) };
    let groups = [a, b];
    let mut design = design::of_groups(evaluator, &groups);
    let n = groups.iter().map(|group| group.count()).collect();
    let of_pairs = |b: &RunSample| one_sample_of(&Decimals::of(&a.less(b))?, 0.0);
    if design.is_paired {
        if let Some(b) = in_the_order_of(a, b, false, |run| data_of(evaluator, run)) {
            return ChosenTest::new(of_pairs(&b)?, PAIRED, n, design);
        }
        evaluator
            .departs("the plan pairs runs that saw the same data, but these groups do not pair");
    } else if let Some(b) = paired_after_the_fact(evaluator, a, b) {
        (design.is_paired, design.is_after_the_fact) = (true, true);
        return ChosenTest::new(of_pairs(&b)?, PAIRED_AFTER_THE_FACT, n, design);
    }
    let test = welch_of(&Decimals::of(&a.floats())?, &Decimals::of(&b.floats())?)?;
    ChosenTest::new(test, "Welch's t test", n, design)
}

/// The t of the mean of differences, less a number if there is one, against zero.
fn differences(
    evaluator: &Evaluator<'_>,
    sample: &RunSample,
    number: Option<&Quantity>,
) -> Result<ChosenTest, Refused> {
    let mut design = design::of_groups(evaluator, &[sample]);
    let away = match number {
        Some(number) => sample.numbers.iter().map(|one| one.nearest_difference(number)).collect(),
        None => sample.floats(),
    };
    let test = one_sample_of(&Decimals::of(&away)?, 0.0)?;
    design.is_after_the_fact = are_joined_after_the_fact(evaluator, sample);
    let name = if design.is_after_the_fact {
        "the t test of the differences, paired by seed after the fact"
    } else {
        "the t test of the differences"
    };
    ChosenTest::new(test, name, vec![sample.count()], design)
}

/// The outcome of a test of a comparison.
fn decided(operator: RelationOperator, chosen: Result<ChosenTest, Refused>) -> Outcome {
    let interval =
        |chosen: ChosenTest| Ok((chosen.test.interval(1.0 - chosen.design.alpha)?, chosen));
    let ([low, high], chosen) = match chosen.and_then(interval) {
        Ok(both) => both,
        Err(why) => return untested(&why),
    };
    let ChosenTest { test, name, design, .. } = &chosen;
    let alpha = design.alpha;
    let shown = format!(
        "difference {} [{}, {}], {name}: t = {}, df {}, two-sided p = {}",
        digits(test.estimate),
        digits(low),
        digits(high),
        digits(test.t),
        digits(test.df),
        digits(test.p_two_sided())
    );
    // Noise never shows that two means are equal: `equivalent(...)` has a margin.
    let shown_order = match (high < 0.0, low > 0.0) {
        (true, _) => Some(Ordering::Less),
        (_, true) => Some(Ordering::Greater),
        _ => None,
    };
    let holds = shown_order.map(|order| fits(operator, order));
    let p = test.p_two_sided();
    let unadjusted = design.family.as_ref().filter(|family| family.matters(p, alpha));
    let outcome = match (holds, unadjusted) {
        (Some(_), Some(family)) => {
            let (p, words) = (digits(p), &family.words);
            let reason = format!("p = {p} before the planned adjustment: \"{words}\"");
            Outcome::inconclusive(&NO_FAMILY, reason)
        }
        (Some(true), None) => Outcome::verified(),
        (Some(false), None) => {
            Outcome::refuted(&WRONG_WAY, "the runs differ in the opposite direction")
        }
        (None, _) => {
            let reason = format!("within noise: p = {}", digits(p));
            Outcome::inconclusive(&WITHIN_NOISE, reason)
        }
    };
    let outcome = outcome
        .giving(shown)
        .within("test", format!("{name}, two-sided, alpha {alpha}"))
        .measuring([chosen.measured()]);
    design.noted(outcome).with_impact(Impact::Decision)
}

/// The second group so that each of its runs is next to the one of the first with the same key, which each run
/// of a side has to itself where it is a seed; none if they do not pair.
fn in_the_order_of<K: PartialEq>(
    a: &RunSample,
    b: &RunSample,
    is_seed: bool,
    key: impl Fn(&str) -> Option<K>,
) -> Option<RunSample> {
    let keys = |group: &RunSample| -> Option<Vec<K>> {
        let keys: Vec<K> = group.runs.iter().map(|run| key(run)).collect::<Option<_>>()?;
        let is_own = |at: usize| !is_seed || !keys[..at].contains(&keys[at]);
        (0..keys.len()).all(is_own).then_some(keys)
    };
    let (wanted, keys) = (keys(a)?, keys(b)?);
    let mut left: Vec<usize> = (0..keys.len()).collect();
    let mut ordered = RunSample::default();
    for own in &wanted {
        let other = left.remove(left.iter().position(|&other| keys[other] == *own)?);
        ordered.runs.push(b.runs[other].clone());
        ordered.numbers.push(b.numbers[other].clone());
    }
    left.is_empty().then_some(ordered)
}

/// The second group in the order of the first by equal seeds, where the post pairs runs so and no plan says how they
/// are compared.
fn paired_after_the_fact(
    evaluator: &Evaluator<'_>,
    a: &RunSample,
    b: &RunSample,
) -> Option<RunSample> {
    let is_open = evaluator.page().paired_by_seed.is_some() && a.count() == b.count();
    if !is_open || design::is_planned(evaluator, &[a, b]) {
        return None;
    }
    evaluator.works(2 * (a.count() + b.count()));
    // One seed may be the same of all runs, while another tells them apart.
    let mut seeds = SEEDS_IN_RECEIPTS.iter().copied().map(Some).chain([None]);
    seeds.find_map(|place| in_the_order_of(a, b, true, |run| seed_of(evaluator, run, place)))
}

/// Whether some numbers were joined run by run because the post pairs runs by their seeds.
fn are_joined_after_the_fact(evaluator: &Evaluator<'_>, sample: &RunSample) -> bool {
    let saw_other_data = |names: &String| {
        let (first, rest) = names.split_once(JOINS).unwrap_or((names, ""));
        let first = data_of(evaluator, first);
        let mut rest = rest.split(JOINS).filter(|name| !name.is_empty());
        rest.any(|other| first.is_none() || data_of(evaluator, other) != first)
    };
    evaluator.page().paired_by_seed.is_some() && sample.runs.iter().any(saw_other_data)
}

/// The second group so that each of its runs is next to its pair in the first: the runs saw the same data in the
/// same order, one by one, or the post pairs them by their seeds. None if nothing pairs them.
pub fn beside(evaluator: &Evaluator<'_>, a: &RunSample, b: &RunSample) -> Option<RunSample> {
    let data = |group: &RunSample| -> Option<Vec<_>> {
        group.runs.iter().map(|run| data_of(evaluator, run)).collect()
    };
    if a.runs == b.runs || data(a).is_some_and(|own| Some(own) == data(b)) {
        return Some(b.clone());
    }
    paired_after_the_fact(evaluator, a, b)
}

/// A seed of a run, as it is printed.
fn seed_of(evaluator: &Evaluator<'_>, run: &str, in_receipts: Option<&str>) -> Option<String> {
    let bundle = evaluator.library().bundle(run)?;
    let seed = match in_receipts {
        Some(pointer) => bundle.receipt_document().root().at(pointer).ok()?,
        None => bundle.document(CONFIG).ok()?.root().get(SEED)?,
    };
    seed.printed().ok().map(str::to_owned)
}

/// The seed and order of the data of a run, and their digest.
fn data_of(evaluator: &Evaluator<'_>, run: &str) -> Option<(String, String, String)> {
    let receipt = evaluator.library().bundle(run)?.receipt_document().root();
    let read = |pointer: &str| Some(receipt.at(pointer).ok()?.printed().ok()?.to_owned());
    Some((
        read("/predicate/seeds/data")?,
        read("/predicate/data/order")?,
        read("/predicate/data/sha256")?,
    ))
}
