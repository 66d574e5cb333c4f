//! Tests between two models on the items of a task: of the same items, or of two lots of items.

use std::rc::Rc;

use repro_core::source::{Error, Node, codes};
use repro_stats::proportion::{Proportion, fisher, mcnemar, two_proportions};

use super::files::{RunFile, of_runs};
use super::resampled::{count, refused};
use super::samples::number_from;
use crate::evaluate::{Call, WRONG_ARGUMENTS};
use crate::value::{Evaluated, NumberRole, Quantity};

codes! {
    OTHER_ITEMS = "mcnemar::other-items", "two runs were not asked the same items", "compare runs on one suite of tasks";
    BAD_BITS = "mcnemar::bad-bits", "the outcomes of a task are not one bit for each item", "write hexadecimal digits, the first item in the highest bit";
}

/// Below this many items expected in a cell the z test is not to be trusted.
const FEW: f64 = 5.0;
/// The most tables that Fisher's test adds up, and how many of them take one step.
const MOST_TABLES: u64 = 10_000;
const TABLES_IN_A_STEP: usize = 4;

/// The names of the tests of two lots of items.
const TESTS: [&str; 2] = ["z", "fisher"];

/// A task with whether each of its items was right.
struct TaskOutcomes<'a> {
    task: &'a str,
    right: Vec<bool>,
}

pub fn paired<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let task = call.word("task", |name| Some(name.to_owned()), || ["the name of a task"])?;
    let task = task.as_deref();
    let (first, second) = (one_file(call, 0)?, one_file(call, 1)?);
    let (a, b) = (outcomes(call, &first, task)?, outcomes(call, &second, task)?);
    same_items(call, &a, &b)?;
    same_suite(call, &first, &second)?;
    let pairs = || {
        let tasks = std::iter::zip(&a, &b);
        tasks.flat_map(|(a, b)| std::iter::zip(a.right.iter().copied(), b.right.iter().copied()))
    };
    let only = |wanted: (bool, bool)| pairs().filter(|pair| *pair == wanted).count() as u64;
    let (a_only, b_only) = (only((true, false)), only((false, true)));
    // Where the evidence is moved, items are that only one got right.
    let ((of_a, a_is_moved), (of_b, b_is_moved)) = (first.leaf(call), second.leaf(call));
    let moved = |is_moved| if is_moved { 1 + a_only + b_only } else { 0 };
    let test = mcnemar(a_only + moved(a_is_moved), b_only + moved(b_is_moved));
    let p = test.map_err(|why| refused(call, why))?.exact;
    let text = format!("p by McNemar's exact test, {a_only} and {b_only} items of one alone");
    let number = number_from(call, p, text, &[])?;
    Ok(Evaluated::Number(Quantity {
        leaves: vec![of_a, of_b],
        role: NumberRole::P(Rc::default()),
        ..number
    }))
}

/// The outcomes of one run.
fn one_file<'a>(call: &Call<'_, '_, 'a>, index: usize) -> Result<RunFile<'a>, Error> {
    let (mut files, is_group) = of_runs(call, call.argument(index)?, "outcomes")?;
    match (files.pop(), is_group) {
        (Some(file), false) => Ok(file),
        _ => Err(call.wrong(&WRONG_ARGUMENTS, "one run on each side", "a group")),
    }
}

/// Each task with its outcomes: `n` bits, written as hexadecimal digits, the first item in the highest.
fn outcomes<'a>(
    call: &Call<'_, '_, 'a>,
    file: &RunFile<'a>,
    task: Option<&str>,
) -> Result<Vec<TaskOutcomes<'a>>, Error> {
    let mut tasks = Vec::new();
    for line in file.node(file.document(call)?)?.items()? {
        let name = line.required("task")?.text()?;
        if task.is_none_or(|task| task == name) {
            tasks.push(TaskOutcomes { task: name, right: bits(line)? });
        }
    }
    if tasks.is_empty() {
        let found =
            task.map_or("none".to_owned(), |task| format!("no `{task}` in `{}`", file.name));
        return Err(call.wrong(&WRONG_ARGUMENTS, "a task of both runs", &found));
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

/// Refuses tasks that differ, and another number of items.
fn same_items(
    call: &Call<'_, '_, '_>,
    a: &[TaskOutcomes],
    b: &[TaskOutcomes],
) -> Result<(), Error> {
    let shown = |tasks: &[TaskOutcomes]| {
        let each = tasks.iter().map(|task| format!("{} of `{}`", task.right.len(), task.task));
        each.collect::<Vec<_>>().join(", ")
    };
    let (a, b) = (shown(a), shown(b));
    if a == b {
        return Ok(());
    }
    let expected = "the same tasks with as many items, in the same order";
    Err(call.wrong(&OTHER_ITEMS, expected, &format!("{a} against {b}")))
}

/// Refuses runs whose evaluations name other suites of tasks. One that names none is believed.
fn same_suite(call: &Call<'_, '_, '_>, a: &RunFile, b: &RunFile) -> Result<(), Error> {
    let suite = |file: &RunFile| {
        let evaluation = format!("{}.json", file.name.strip_suffix(".outcomes.jsonl")?);
        let document = file.bundle.document(&evaluation).ok()?;
        let suite = document.root().at("/tasks/suite_sha256").ok()?;
        Some(suite.text().ok()?.to_owned())
    };
    match (suite(a), suite(b)) {
        (Some(first), Some(second)) if first != second => {
            let expected = "runs on one suite of tasks";
            Err(call.wrong(&OTHER_ITEMS, expected, &format!("suites {first} and {second}")))
        }
        _ => Ok(()),
    }
}

/// Fisher's p of two lots of items; its second opinion adds up as many tables as there are items.
fn fisher_p(call: &Call<'_, '_, '_>, a: &Proportion, b: &Proportion) -> Result<f64, Error> {
    let tables = (a.trials() + b.trials()).min(MOST_TABLES) as usize;
    call.frame.takes(tables / TABLES_IN_A_STEP)?;
    fisher(a, b).map_err(|why| refused(call, why))
}

/// Fisher's exact test of a table of four counts.
pub fn table<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let numbers = [count(call, 0)?, count(call, 1)?, count(call, 2)?, count(call, 3)?];
    let [(a, _), (b, _), (c, _), (d, _)] = &numbers;
    let row = |right: u64, wrong: u64| {
        Proportion::new(right, right.saturating_add(wrong)).map_err(|why| refused(call, why))
    };
    let p = fisher_p(call, &row(*a, *b)?, &row(*c, *d)?)?;
    let text = format!("p by Fisher's exact test of {a}, {b} and {c}, {d}");
    let of: Vec<&Quantity> = numbers.iter().map(|(_, number)| number).collect();
    let number = number_from(call, p, text, &of)?;
    Ok(Evaluated::Number(Quantity { role: NumberRole::P(Rc::default()), ..number }))
}

pub fn two_lots<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let numbers = [count(call, 0)?, count(call, 1)?, count(call, 2)?, count(call, 3)?];
    let share = |right: usize, items: usize| {
        Proportion::new(numbers[right].0, numbers[items].0).map_err(|why| refused(call, why))
    };
    let (a, b) = (share(0, 1)?, share(2, 3)?);
    let test = call.word("test", |name| TESTS.iter().position(|test| *test == name), || TESTS)?;
    let is_exact = test.map_or(a.least_expected(&b) < FEW, |test| test == 1);
    let (p, name) = if is_exact {
        (fisher_p(call, &a, &b)?, "Fisher's exact test")
    } else {
        let test = two_proportions(&a, &b).map_err(|why| refused(call, why))?;
        (test.p_two_sided(), "the pooled z test")
    };
    let text = format!(
        "p by {name} of {}/{} and {}/{}",
        a.successes(),
        a.trials(),
        b.successes(),
        b.trials()
    );
    let of: Vec<&Quantity> = numbers.iter().map(|(_, number)| number).collect();
    number_from(call, p, text, &of).map(Evaluated::Number)
}
