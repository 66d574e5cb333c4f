//! Functions of the numbers of several runs.

use std::collections::BTreeSet;
use std::rc::Rc;

use num_rational::BigRational;
use repro_bundle::bundle::{Bundle, RECEIPT};
use repro_core::decimal::Interval;
use repro_core::source::Error;
use repro_report::outcome::EvidenceRef;
use repro_stats::{Summary, one_sample};

use super::numbers::listed;
use crate::evaluate::{Call, NOT_COMPUTABLE, design};
use crate::value::{Evaluated, NumberRole, Quantity, RunSample};

pub fn count<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let part = call.argument(0)?;
    let value = call.evaluate(part)?;
    let (items, role) = match sources(&value) {
        Some(all) => count_sources(call, &all)?,
        None => match call.frame.at(part).settle(value)? {
            Evaluated::List(items) if !are_distinct(&items) => {
                let expected = "a list of things that each have evidence of their own";
                return Err(call.wrong(&NOT_COMPUTABLE, expected, &format!("`{part}`")));
            }
            Evaluated::List(items) => (items.len(), NumberRole::Plain),
            Evaluated::Sample(sample) => {
                let runs = sample.runs.iter().cloned().collect();
                (sample.count(), NumberRole::CountOfRuns(Rc::new(runs)))
            }
            other => return Err(call.wrong(&NOT_COMPUTABLE, "a group or a list", other.word())),
        },
    };
    let number = call.counted(&format!("count of {part}"), items as u64, None);
    Ok(Evaluated::Number(Quantity {
        leaf: None,
        derivation: format!("count({part})"),
        role,
        ..number
    }))
}

/// A run, or a file of a bundle that stands for one thing, such as a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CountedSource<'v> {
    bundle: &'v str,
    file: Option<&'v str>,
}

/// The runs or files that a value is: one, those of a group, or those of a list of both. None where it is anything else.
fn sources<'v>(value: &'v Evaluated<'_>) -> Option<Vec<CountedSource<'v>>> {
    match value {
        Evaluated::Reference(reference) if reference.path.is_empty() => {
            let file = reference.file.as_deref();
            let one = |bundle: &&'v Bundle| CountedSource { bundle: bundle.name(), file };
            Some(reference.bundles.iter().map(one).collect())
        }
        Evaluated::List(items) => {
            let all = items.iter().map(sources).collect::<Option<Vec<_>>>()?.concat();
            (!all.is_empty()).then_some(all)
        }
        _ => None,
    }
}

/// How many runs or files there are, and that they are runs; an error where one is listed twice.
fn count_sources(
    call: &Call<'_, '_, '_>,
    all: &[CountedSource<'_>],
) -> Result<(usize, NumberRole), Error> {
    let distinct: BTreeSet<_> = all.iter().collect();
    if distinct.len() < all.len() {
        let expected = "runs that are each listed once";
        return Err(call.wrong(&NOT_COMPUTABLE, expected, "one of them twice"));
    }
    for source in all {
        if let Some(bundle) = call.evaluator.library().bundle(source.bundle) {
            call.evaluator.show(bundle, source.file.unwrap_or(RECEIPT), "");
        }
    }
    let runs = all.iter().map(|source| source.bundle.to_owned()).collect();
    let are_runs = all.iter().all(|source| source.file.is_none());
    let role = if are_runs { NumberRole::CountOfRuns(Rc::new(runs)) } else { NumberRole::Plain };
    Ok((all.len(), role))
}

/// Whether each entry of a list has evidence, and no two the same: what is listed twice is one thing.
fn are_distinct(items: &[Evaluated<'_>]) -> bool {
    let evidence = |item: &Evaluated<'_>| -> Vec<EvidenceRef> {
        let leaves = match item {
            Evaluated::Number(number) => &number.leaves,
            Evaluated::Text(words) => &words.leaves,
            _ => return Vec::new(),
        };
        leaves.iter().filter_map(|leaf| leaf.evidence.clone()).collect()
    };
    let each: Vec<_> = items.iter().map(evidence).collect();
    let twice = |at: usize| each[..at].contains(&each[at]);
    (0..each.len()).all(|at| !each[at].is_empty() && !twice(at))
}

pub fn means<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let groups = call.at(0)?.groups()?;
    let each = groups.iter().map(|group| mean_of(call, group).map(Evaluated::Number));
    each.collect::<Result<_, _>>().map(Evaluated::List)
}

pub fn mean<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    mean_of(call, &call.numbers()?).map(Evaluated::Number)
}

fn mean_of(call: &Call<'_, '_, '_>, sample: &RunSample) -> Result<Quantity, Error> {
    if sample.numbers.is_empty() {
        return Err(call.wrong(&NOT_COMPUTABLE, "at least one number", "none"));
    }
    design::of_summary(call.evaluator, sample);
    Ok(sample.mean(listed("mean", &sample.numbers)))
}

/// The median moves with no number downwards, so that its ends are the medians of the ends.
pub fn median<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let sample = call.numbers()?;
    if sample.numbers.is_empty() {
        return Err(call.wrong(&NOT_COMPUTABLE, "at least one number", "none"));
    }
    design::of_summary(call.evaluator, &sample);
    let ends = |end: fn(&Interval) -> &BigRational| {
        let mut ends: Vec<_> =
            sample.numbers.iter().map(|one| end(&one.interval).clone()).collect();
        ends.sort();
        let (first, second) = (&ends[(ends.len() - 1) / 2], &ends[ends.len() / 2]);
        (first + second) / BigRational::from_integer(2.into())
    };
    let interval = Interval::between(ends(Interval::low), ends(Interval::high));
    let mut floats = sample.floats();
    floats.sort_by(f64::total_cmp);
    let float = (floats[(floats.len() - 1) / 2] + floats[floats.len() / 2]) / 2.0;
    let all: Vec<&Quantity> = sample.numbers.iter().collect();
    let text = listed(call.name, &sample.numbers);
    Ok(Evaluated::Number(Quantity::result(interval, float, text, &all)))
}

/// A summary of at least two numbers; their own rounding is not carried, so that all of them must be
/// recorded or printed in full.
pub fn summary<'a>(
    call: &Call<'_, '_, 'a>,
    of: impl Fn(&Summary) -> f64,
) -> Result<Evaluated<'a>, Error> {
    let sample = call.numbers()?;
    let value = of(&summarised(call, &sample)?);
    let role = NumberRole::Spread(Rc::new(sample.floats()));
    Ok(Evaluated::Number(Quantity { role, ..from_float(call, value, &sample)? }))
}

pub fn ci95<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let sample = call.numbers()?;
    let interval = one_sample(&summarised(call, &sample)?, 0.0)
        .and_then(|test| test.interval(0.95))
        .map_err(|why| call.refused("numbers with a spread", &why))?;
    let role = NumberRole::Spread(Rc::new(sample.floats()));
    let end = |end| Ok(Quantity { role: role.clone(), ..from_float(call, end, &sample)? });
    ends(interval.map(end))
}

/// The two ends of an interval.
pub fn ends<'a>([low, high]: [Result<Quantity, Error>; 2]) -> Result<Evaluated<'a>, Error> {
    Ok(Evaluated::List(vec![Evaluated::Number(low?), Evaluated::Number(high?)]))
}

/// Mean and spread.
pub fn summarised(call: &Call<'_, '_, '_>, sample: &RunSample) -> Result<Summary, Error> {
    design::of_summary(call.evaluator, sample);
    Summary::of(&sample.floats()).map_err(|why| call.refused("at least two numbers", &why))
}

/// A number that statistics gave for a group.
pub fn from_float(
    call: &Call<'_, '_, '_>,
    value: f64,
    sample: &RunSample,
) -> Result<Quantity, Error> {
    let all: Vec<&Quantity> = sample.numbers.iter().collect();
    number_from(call, value, listed(call.name, &sample.numbers), &all)
}

/// A number that statistics gave for some numbers.
pub fn number_from(
    call: &Call<'_, '_, '_>,
    value: f64,
    text: String,
    of: &[&Quantity],
) -> Result<Quantity, Error> {
    let Some(exact) = BigRational::from_float(value) else {
        return Err(call.wrong(&NOT_COMPUTABLE, "a finite number", &value.to_string()));
    };
    Ok(Quantity::result(Interval::point(exact), value, text, of))
}
