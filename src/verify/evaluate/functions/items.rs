//! Tests of counts: of the items that models got right, one by one or by their shares alone, and of categories.

use std::rc::Rc;

use num_bigint::BigInt;
use num_rational::BigRational;
use repro_core::source::{Error, Node, codes};
use repro_report::outcome::Outcome;
use repro_stats::Refused;
use repro_stats::proportion::{Proportion, fisher, mcnemar, two_proportions};

use super::files::{RunFile, of_runs};
use super::possible::printed;
use super::samples::ends;
use crate::evaluate::Call;
use crate::evaluate::order::{WRONG_WAY, digits};
use crate::run_design::{ALPHA, RunDesign};
use crate::value::{Evaluated, NumberRole, Quantity, RunSample};

codes! {
    OTHER_ITEMS = "mcnemar::different-items", "the two runs were evaluated on different items", "compare runs on the same task suite";
    BAD_BITS = "mcnemar::bad-outcomes", "the outcomes of a task are not one bit per item", "write hexadecimal digits, with the first item in the highest bit";
    OVERLAP = "more_right::overlap", "whether one model answers more items correctly depends on which items both got right", "publish per-item outcomes";
    NO_COUNT = "more_right::no-such-count", "no whole number of items gives this fraction", "check the fraction and the number of scored items";
}

/// Below this many items expected in a cell the z test is not to be trusted.
const FEW: f64 = 5.0;
/// The most tables that Fisher's test adds up, and how many of them take one step.
const MOST_TABLES: u64 = 10_000;
const TABLES_IN_A_STEP: usize = 4;

/// The names of the tests of two lots of items.
const TESTS: [&str; 2] = ["z", "fisher"];

/// The whole numbers of items that the arguments of a call are.
fn counts<const N: usize>(call: Call<'_, '_>) -> Result<([u64; N], Vec<Quantity>), Error> {
    let (mut items, mut numbers) = ([0; N], Vec::new());
    for (index, count) in items.iter_mut().enumerate() {
        let number = call.number(index)?;
        let wrong = || call.wrong_arguments("a whole number of items", &number.derivation);
        *count = number.count().ok_or_else(wrong)?;
        numbers.push(number);
    }
    Ok((items, numbers))
}

pub fn wilson<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let ([right, items], numbers) = counts(call)?;
    let share = call.computed(Proportion::new(right, items))?;
    let interval = call.computed(share.wilson(0.95))?;
    let text = format!("Wilson's interval of {right}/{items}");
    ends(interval.map(|end| call.result(end, text.clone(), &numbers)))
}

/// A task with whether each of its items was right.
struct TaskOutcomes<'a> {
    task: &'a str,
    right: Vec<bool>,
}

pub fn paired<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let task = call.word("task", |name| Some(name.to_owned()), ["the name of a task"])?;
    let task = task.as_deref();
    let (first, second) = (one_file(call, 0)?, one_file(call, 1)?);
    let (a, b) = (outcomes(&first, task)?, outcomes(&second, task)?);
    same_items(call, &a, &b)?;
    same_suite(call, &first, &second)?;
    let pairs = || {
        let tasks = std::iter::zip(&a, &b);
        tasks.flat_map(|(a, b)| std::iter::zip(a.right.iter().copied(), b.right.iter().copied()))
    };
    let only = |wanted: (bool, bool)| pairs().filter(|pair| *pair == wanted).count() as u64;
    let (a_only, b_only) = (only((true, false)), only((false, true)));
    // Where the evidence is moved, items are that only one got right.
    let ((of_a, a_is_moved), (of_b, b_is_moved)) = (first.leaf(), second.leaf());
    let moved = |is_moved| if is_moved { 1 + a_only + b_only } else { 0 };
    let test = mcnemar(a_only + moved(a_is_moved), b_only + moved(b_is_moved));
    let p = call.computed(test)?.exact;
    let text = format!("p by McNemar's exact test, discordant items {a_only} and {b_only}");
    let (leaves, role) = (vec![of_a, of_b], NumberRole::P(Rc::default()));
    Ok(Evaluated::Number(Quantity { leaves, role, ..call.result(p, text, [])? }))
}

/// The outcomes of one run.
fn one_file<'f, 'a>(call: Call<'f, 'a>, index: usize) -> Result<RunFile<'f, 'a>, Error> {
    let (mut files, is_group) = of_runs(call, call.argument(index)?, "outcomes")?;
    match (files.pop(), is_group) {
        (Some(file), false) => Ok(file),
        _ => Err(call.wrong_arguments("one run per side", "a group")),
    }
}

/// Each task with its outcomes: `n` bits, written as hexadecimal digits, the first item in the highest.
fn outcomes<'a>(
    file: &RunFile<'_, 'a>,
    task: Option<&str>,
) -> Result<Vec<TaskOutcomes<'a>>, Error> {
    let mut tasks = Vec::new();
    for line in file.node()?.items()? {
        let name = line.required("task")?.text()?;
        if task.is_none_or(|task| task == name) {
            tasks.push(TaskOutcomes { task: name, right: bits(line)? });
        }
    }
    if tasks.is_empty() {
        let found =
            task.map_or("none".to_owned(), |task| format!("no `{task}` in `{}`", file.name));
        return Err(file.call.wrong_arguments("a task that both runs have", &found));
    }
    Ok(tasks)
}

fn bits(line: Node) -> Result<Vec<bool>, Error> {
    let (items, bits) = (line.required("n")?.integer()?, line.required("bits")?);
    let text = bits.text()?;
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() as u64 == items.div_ceil(4));
    let digits = digits.ok_or_else(|| {
        let expected = format!("{} hexadecimal digits for {items} items", items.div_ceil(4));
        BAD_BITS.at(bits.place(), expected, format!("{} characters", text.len()))
    })?;
    let all = digits.iter().flat_map(|digit| (0..4).rev().map(move |bit| digit >> bit & 1 == 1));
    Ok(all.take(usize::try_from(items).unwrap_or(usize::MAX)).collect())
}

/// Rejects tasks that differ, and another number of items.
fn same_items(call: Call<'_, '_>, a: &[TaskOutcomes], b: &[TaskOutcomes]) -> Result<(), Error> {
    let shown = |tasks: &[TaskOutcomes]| {
        let each = tasks.iter().map(|task| format!("{} of `{}`", task.right.len(), task.task));
        each.collect::<Vec<_>>().join(", ")
    };
    let (a, b) = (shown(a), shown(b));
    if a == b {
        return Ok(());
    }
    let expected = "the same tasks with the same number of items, in the same order";
    Err(call.wrong(&OTHER_ITEMS, expected, &format!("{a} against {b}")))
}

/// Rejects runs whose evaluations name other suites of tasks. One that names none is believed.
fn same_suite(call: Call<'_, '_>, a: &RunFile<'_, '_>, b: &RunFile<'_, '_>) -> Result<(), Error> {
    let suite = |file: &RunFile<'_, '_>| {
        let evaluation = format!("{}.json", file.name.strip_suffix(".outcomes.jsonl")?);
        let document = file.bundle.document(&evaluation).ok()?;
        let suite = document.root().at("/tasks/suite_sha256").ok()?;
        Some(suite.text().ok()?.to_owned())
    };
    match (suite(a), suite(b)) {
        (Some(first), Some(second)) if first != second => {
            let expected = "runs on the same task suite";
            Err(call.wrong(&OTHER_ITEMS, expected, &format!("suites {first} and {second}")))
        }
        _ => Ok(()),
    }
}

/// Fisher's p of two lots of items; its second opinion adds up as many tables as there are items.
fn fisher_p(call: Call<'_, '_>, a: &Proportion, b: &Proportion) -> Result<f64, Error> {
    let tables = (a.trials() + b.trials()).min(MOST_TABLES) as usize;
    call.frame.takes(tables / TABLES_IN_A_STEP)?;
    call.computed(fisher(a, b))
}

/// Fisher's exact test of a table of four counts.
pub fn table<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let ([a, b, c, d], numbers) = counts(call)?;
    let first = call.computed(Proportion::new(a, a.saturating_add(b)))?;
    let second = call.computed(Proportion::new(c, c.saturating_add(d)))?;
    let p = fisher_p(call, &first, &second)?;
    let text = format!("p by Fisher's exact test of {a}, {b} and {c}, {d}");
    call.p(p, text, &numbers, RunDesign::default())
}

pub fn two_lots<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let ([right, items, others, of_others], numbers) = counts(call)?;
    let a = call.computed(Proportion::new(right, items))?;
    let b = call.computed(Proportion::new(others, of_others))?;
    let test = call.word("test", |name| TESTS.iter().position(|test| *test == name), TESTS)?;
    let is_exact = test.map_or(a.least_expected(&b) < FEW, |test| test == 1);
    let (p, name) = if is_exact {
        (fisher_p(call, &a, &b)?, "Fisher's exact test")
    } else {
        (call.computed(two_proportions(&a, &b))?.p_two_sided(), "the pooled z test")
    };
    let text = format!("p by {name} of {right}/{items} and {others}/{of_others}");
    call.result(p, text, &numbers).map(Evaluated::Number)
}

/// Counts of categories, such as the tokens of each expert, against the shares that are expected.
pub fn chi_squared<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let mut counts = call.argument(0)?.numbers()?;
    let weights = call.named("expected").map(|given| given.numbers()).transpose()?;
    let exact = points(call, &counts)?;
    let shares = weights.as_ref().map(|weights| points(call, weights)).transpose()?;
    let test = call.computed(repro_stats::chi_squared(&exact, shares.as_deref()))?;
    let (count, statistic) = (counts.count(), digits(test.statistic));
    let text = format!("p by the chi-squared test of {count} counts, chi-squared = {statistic}");
    counts.numbers.extend(weights.into_iter().flat_map(|weights| weights.numbers));
    call.p(test.p, text, &counts.numbers, RunDesign::default())
}

/// Numbers that are known exactly.
fn points(call: Call<'_, '_>, sample: &RunSample) -> Result<Vec<BigRational>, Error> {
    let each = sample.numbers.iter().map(|number| {
        if number.interval.is_point() {
            return Ok(number.interval.low().clone());
        }
        Err(call.wrong_arguments("unrounded counts and fractions", &number.derivation))
    });
    each.collect()
}

/// Two models on the same items, known by their shares alone.
pub fn more_right<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (a, b, items) = (printed(call, 0)?, printed(call, 1)?, call.number(2)?);
    // Beyond this no benchmark goes, and every count stays small.
    let all = items.count().filter(|count| (1..=1 << 32).contains(count));
    let all = all.ok_or_else(|| {
        call.wrong_arguments("a number of items, at least one", &items.derivation)
    })?;
    let outcome = match (right_items(&a, all), right_items(&b, all)) {
        (Some(a), Some(b)) => call.computed(judge(a, b, all))?,
        (a, _) => {
            let share = if a.is_none() { "first" } else { "second" };
            let reason = format!("no whole number of {all} items gives the {share} fraction");
            Outcome::inconclusive(&NO_COUNT, reason)
        }
    };
    let tolerance = format!("McNemar's exact test, alpha {ALPHA}, every overlap of items");
    Ok(Evaluated::decided(outcome.within("test", tolerance)))
}

/// The least and the greatest number of right items that a printed share allows.
fn right_items(share: &Quantity, items: u64) -> Option<[u64; 2]> {
    let all = BigRational::from_integer(BigInt::from(items));
    let ends = [(share.interval.low() * &all).ceil(), (share.interval.high() * &all).floor()];
    let [low, high] = ends.map(|end| u64::try_from(end.to_integer()).ok());
    let (low, high) = (low?, high?.min(items));
    (low <= high).then_some([low, high])
}

/// McNemar's test at the ends of what is possible: the p falls as fewer items part the two, and as the
/// difference grows.
fn judge(a: [u64; 2], b: [u64; 2], items: u64) -> Result<Outcome, Refused> {
    let p = |ahead: u64, behind: u64, overlap: bool| {
        let difference = ahead.checked_sub(behind).filter(|difference| *difference > 0);
        let Some(difference) = difference else { return Ok(None) };
        // Of `ahead` and `behind` right items at least so many are of both, and at most all of the fewer.
        let both = if overlap { behind } else { (ahead + behind).saturating_sub(items) };
        let only_second = behind - both;
        mcnemar(only_second + difference, only_second).map(|test| Some(test.exact))
    };
    let [a_low, a_high] = a;
    let [b_low, b_high] = b;
    let below = |p: Option<f64>| p.is_some_and(|p| p < ALPHA);
    let (least, most) = (p(a_high, b_low, true)?, p(a_low, b_high, false)?);
    let shown_p = |p: Option<f64>| p.map_or("1".to_owned(), digits);
    let shown =
        format!("{a_low} and {b_low} of {items} right, p {} to {}", shown_p(least), shown_p(most));
    Ok(if below(most) {
        Outcome::verified().giving(shown)
    } else if below(p(b_low, a_high, false)?) {
        Outcome::refuted(&WRONG_WAY, "the second answers more items correctly").giving(shown)
    } else {
        let hangs = "it depends on which items both got right";
        let why = if below(least) { hangs } else { "not significant over the items" };
        Outcome::inconclusive(&OVERLAP, format!("{why}: {shown}")).giving(shown)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_report::outcome::Verdict;

    #[test]
    fn every_overlap_must_give_the_order() {
        let verdict = |a: u64, b: u64, items| judge([a, a], [b, b], items).unwrap().verdict;
        assert_eq!(verdict(900, 500, 1000), Verdict::Verified);
        assert_eq!(verdict(500, 900, 1000), Verdict::Refuted);
        assert_eq!(verdict(205, 176, 1319), Verdict::Inconclusive);
        assert_eq!(verdict(6, 5, 10), Verdict::Inconclusive);
        assert_eq!(verdict(5, 5, 10), Verdict::Inconclusive);
    }
}
