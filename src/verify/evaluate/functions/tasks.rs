//! CORE and its like: the mean centred accuracy over tasks, recomputed from a table of task scores.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use repro_core::decimal::{Interval, nearest_f64};
use repro_core::source::{Error, codes};
use repro_model::scores;
use repro_model::tasks::{
    BAD_BASELINE, Baselines, CORE, CellAgreement, NO_BASELINE, Scale, TaskRow, TaskTable,
};

use super::files::{RunFile, of_runs};
use crate::evaluate::Call;
use crate::value::{Evaluated, Quantity, RunSample};

codes! {
    LACKS_TASK = "core::missing-task", "the table lacks a CORE task", "use the whole table, or `core(table, tasks = 'given')` for a mean over other tasks";
    NO_ITEMS = "core::no-items", "a task has no items", "correct the table";
    OTHER_ACCURACY = "core::inconsistent-accuracy", "an accuracy does not match the counts next to it", "correct the accuracy or the counts";
}

pub fn core<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    // Over the tasks of the table, else over the 22 of CORE.
    let of_table = call.word("tasks", |word| (word == "given").then_some(()), ["given"])?.is_some();
    let baselines = baselines(call)?;
    let (files, is_group) = of_runs(call, call.argument(0)?, "table")?;
    let mut sample = RunSample::default();
    for file in &files {
        sample.runs.push(file.bundle.name().to_owned());
        sample.numbers.push(score(file, of_table, baselines.as_ref())?);
    }
    Ok(sample.into_value(is_group))
}

/// The file of baselines that the call names.
fn baselines(call: Call<'_, '_>) -> Result<Option<Baselines>, Error> {
    let Some(given) = call.named("baselines") else { return Ok(None) };
    let (files, _) = of_runs(call, given, "baselines")?;
    let [file] = &files[..] else {
        return Err(call.wrong_arguments("one file of baselines", "a group of runs"));
    };
    file.leaf();
    let mut versions = Baselines::read(file.document()?)?;
    match (versions.pop(), versions.is_empty()) {
        (Some(one), true) => Ok(Some(one)),
        _ => {
            let found = format!("`{}`, which has several", file.name);
            Err(call.wrong_arguments("a file with one version of the baselines", &found))
        }
    }
}

/// One task: its centred accuracy, and the size of what is added up for it.
struct CentredTask {
    centered: Interval,
    size: BigRational,
}

/// The score of a table of task scores.
fn score(
    file: &RunFile<'_, '_>,
    of_table: bool,
    baselines: Option<&Baselines>,
) -> Result<Quantity, Error> {
    let node = file.node()?;
    let table = TaskTable::read(node)?;
    if let (false, Some(missing)) = (of_table, table.lacks().first()) {
        let found = format!("no `{missing}`");
        return Err(LACKS_TASK.at(node.place(), "the 22 tasks of CORE", found));
    }
    let rows = table.rows.iter().filter(|row| of_table || CORE.contains(&row.task));
    let rows: Vec<&TaskRow> = rows.collect();
    let scale = table.scale(None, &|task| {
        let known = baselines.and_then(|file| file.of_task(task));
        known.is_some_and(BigRational::is_zero)
    })?;
    let stated = rows.iter().filter_map(|row| row.baseline.as_ref());
    let of_baselines = Scale::detect(stated.map(|cell| (cell, false)))?;
    let mut tasks = Vec::new();
    for row in &rows {
        let baseline = baseline(row, of_baselines, baselines)?;
        let accuracy = accuracy(&table, row, scale)?;
        let Some(centered) = scores::centered(&accuracy, &baseline) else {
            let place = row.accuracy.node.place();
            return Err(BAD_BASELINE.at(place, "a baseline below 1", "1"));
        };
        let size = (accuracy.middle() + &baseline) / (BigRational::one() - &baseline);
        tasks.push(CentredTask { centered, size });
    }
    mean(file, &tasks)
}

/// The mean; its interval holds what adding floats in any order can lose.
fn mean(file: &RunFile<'_, '_>, tasks: &[CentredTask]) -> Result<Quantity, Error> {
    let Some(mean) = scores::mean(tasks.iter().map(|task| &task.centered)) else {
        return Err(file.call.wrong_arguments("a table of task scores", "no tasks"));
    };
    let (leaf, is_moved) = file.leaf();
    let moved = u8::from(is_moved);
    let count = BigRational::from_integer(BigInt::from(tasks.len()));
    let size = tasks.iter().map(|task| &task.size).sum::<BigRational>() / &count;
    let rounding = BigRational::new(BigInt::one(), BigInt::one() << 52);
    let slack = size * rounding * (count + BigRational::from_integer(4.into()));
    let around = Interval::around(&BigRational::from_integer(moved.into()), &slack);
    let sum: f64 = tasks.iter().map(|task| nearest_f64(&task.centered.middle())).sum();
    let float = sum / tasks.len() as f64 + f64::from(moved);
    let text = match tasks.len() {
        1 => "(accuracy - baseline) / (1 - baseline) of 1 task".to_owned(),
        count => format!("mean of (accuracy - baseline) / (1 - baseline) over {count} tasks"),
    };
    Ok(Quantity { leaves: vec![leaf], ..Quantity::result(&mean + &around, float, text, []) })
}

/// The accuracy of a task: its right items of all where both are counted, else as it is printed.
fn accuracy(table: &TaskTable, row: &TaskRow, scale: Scale) -> Result<Interval, Error> {
    let place = || row.accuracy.node.place();
    let (Some(correct), Some(items)) = (&row.correct, &row.items) else {
        return Ok(row.accuracy.interval(scale, &table.accuracy_place()));
    };
    if items.printed.value().is_zero() {
        return Err(NO_ITEMS.at(place(), "at least one item", "none"));
    }
    let share = Interval::point(correct.printed.value() / items.printed.value());
    let slack = BigRational::new(BigInt::one(), BigInt::one() << 40);
    if row.accuracy.fit(scale, &share, &slack) == CellAgreement::Differs {
        let expected =
            format!("the accuracy of {} out of {}", correct.printed.text(), items.printed.text());
        let found = format!("`{}`", row.accuracy.printed.text());
        return Err(OTHER_ACCURACY.at(place(), expected, found));
    }
    Ok(share)
}

/// The baseline of a task, a fraction below one.
fn baseline(
    row: &TaskRow,
    scale: Scale,
    baselines: Option<&Baselines>,
) -> Result<BigRational, Error> {
    let place = || row.accuracy.node.place();
    if let Some(file) = baselines {
        let expected = || format!("a task in `{}`", file.name);
        let none = || NO_BASELINE.at(place(), expected(), format!("`{}`", row.task));
        return file.of_task(row.task).cloned().ok_or_else(none);
    }
    let Some(cell) = &row.baseline else {
        let found = format!("no task for `{}`", row.task);
        let error = NO_BASELINE.at(place(), "a baseline in the table", found);
        return Err(error.help("add a column `baseline`, or pass a file: `baselines = file`"));
    };
    let value = cell.value(scale);
    if value < BigRational::zero() || value >= BigRational::one() {
        let found = format!("`{}`", cell.printed.text());
        return Err(BAD_BASELINE.at(
            cell.node.place(),
            "a fraction of at least 0 and below 1",
            found,
        ));
    }
    Ok(value)
}
