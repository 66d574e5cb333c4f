//! Functions of the numbers of several runs.

use std::collections::BTreeSet;
use std::rc::Rc;

use num_rational::BigRational;
use repro_bundle::bundle::{Bundle, RECEIPT};
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::{Interval, nearest_f64};
use repro_core::source::Error;
use repro_report::outcome::{EvidenceRef, Verdict};
use repro_stats::bootstrap::{BootstrapInterval, ENUMERATED_TO, Resampled};
use repro_stats::{Summary, one_sample, slope};

use super::numbers::listed;
use crate::evaluate::order::{beside, certain};
use crate::evaluate::{Call, Frame, NOT_COMPUTABLE, NOT_PAIRED, PAIRED_RUNS, design};
use crate::run_design::ALPHA;
use crate::value::{Evaluated, Leaf, LeafKind, NumberRole, Quantity, RunSample};

/// So many random draws take one step.
const DRAWS_IN_A_STEP: usize = 512;
/// Resamples where nothing else is said.
const RESAMPLES: u64 = 10_000;
/// The seed of the draws; an end of another author's draws lies within `DRAWN_SDS`.
const SEED: u64 = 0;
/// How many standard deviations of drawing an end may be off.
const DRAWN_SDS: f64 = 5.0;

pub fn count<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let given = call.argument(0)?;
    let part = given.part;
    let value = given.evaluate()?;
    let (items, role) = match sources(&value) {
        Some(all) => count_sources(call, &all)?,
        None => match given.settle(value)? {
            Evaluated::List(items) if !are_distinct(&items) => {
                let expected = "a list of items with separate evidence";
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
    let derivation = format!("count({part})");
    Ok(Evaluated::Number(Quantity { leaf: None, derivation, role, ..number }))
}

/// A run, or a file of a bundle that stands for one thing, such as a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CountedSource<'v> {
    bundle: &'v str,
    file: Option<&'v str>,
}

/// The runs or files that a value is: one, those of a group, or those of a list of both. None if it is anything else.
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
    call: Call<'_, '_>,
    all: &[CountedSource<'_>],
) -> Result<(usize, NumberRole), Error> {
    let distinct: BTreeSet<_> = all.iter().collect();
    if distinct.len() < all.len() {
        let expected = "each run only once";
        return Err(call.wrong(&NOT_COMPUTABLE, expected, "a run listed twice"));
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

/// How many runs of two groups are in a relation, run by run.
pub fn how_many<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let ExpressionKind::Relation(left, rest) = &call.argument(0)?.part.kind else {
        return Err(no_single_relation(call));
    };
    let [(operator, right)] = rest.as_slice() else { return Err(no_single_relation(call)) };
    let pairs = pairs(call, call.frame.at(left), call.frame.at(right))?;
    // The order of what rests on the same evidence says nothing.
    if pairs.iter().any(|(a, b)| a.evidence().eq(b.evidence())) {
        let found = "the same evidence on both sides";
        return Err(call.wrong_arguments("separate evidence on each side", found));
    }
    // The count follows from the runs, though no small change of one of them need change it.
    let nudge = usize::from(call.evaluator.nudge(&format!("count of {}", call.frame.part)));
    let (mut sure, mut possible) = (nudge, nudge);
    for (a, b) in &pairs {
        let verdict = certain(*operator, a, b).verdict;
        sure += usize::from(verdict == Verdict::Verified);
        possible += usize::from(verdict != Verdict::Refuted);
    }
    let interval = Interval::integer(sure).hull(&Interval::integer(possible));
    let text = format!("{} of {} runs", call.frame.part, pairs.len());
    let of = pairs.iter().flat_map(|(a, b)| [a, b]);
    let mut number = Quantity::result(interval, sure as f64, text, of);
    // Of the evidence only how it stands to the other side is counted.
    let counted = |leaf: &Rc<Leaf>| Rc::new(Leaf { kind: LeafKind::Counted, ..(**leaf).clone() });
    number.leaves = number.leaves.iter().map(counted).collect();
    Ok(Evaluated::Number(number))
}

fn no_single_relation(call: Call<'_, '_>) -> Error {
    call.wrong_arguments("one relation: `a < b`", &call.frame.part.to_string())
}

/// The two numbers of each run.
fn pairs(
    call: Call<'_, '_>,
    left: Frame<'_, '_>,
    right: Frame<'_, '_>,
) -> Result<Vec<(Quantity, Quantity)>, Error> {
    match (left.settled()?, right.settled()?) {
        (Evaluated::Sample(a), Evaluated::Sample(b)) => {
            let Some(b) = beside(call.evaluator, &a, &b) else {
                return Err(call.wrong(&NOT_PAIRED, PAIRED_RUNS, "unpaired runs"));
            };
            Ok(std::iter::zip(a.numbers, b.numbers).collect())
        }
        (Evaluated::Sample(a), b) => {
            let b = right.number_of(b)?;
            Ok(a.numbers.into_iter().map(|a| (a, b.clone())).collect())
        }
        (a, Evaluated::Sample(b)) => {
            let a = left.number_of(a)?;
            Ok(b.numbers.into_iter().map(|b| (a.clone(), b)).collect())
        }
        _ => Err(call.wrong_arguments("a group of runs on at least one side", "none")),
    }
}

pub fn means<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let groups = call.argument(0)?.groups()?;
    let each = groups.iter().map(|group| mean_of(call, group).map(Evaluated::Number));
    each.collect::<Result<_, _>>().map(Evaluated::List)
}

pub fn mean<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    mean_of(call, &call.numbers()?).map(Evaluated::Number)
}

fn mean_of(call: Call<'_, '_>, sample: &RunSample) -> Result<Quantity, Error> {
    sum_up(call, sample)?;
    Ok(sample.mean(listed("mean", &sample.numbers)))
}

/// Notes that some runs are summed up, of which there must be one.
fn sum_up(call: Call<'_, '_>, sample: &RunSample) -> Result<(), Error> {
    if sample.numbers.is_empty() {
        return Err(call.wrong(&NOT_COMPUTABLE, "at least one number", "none"));
    }
    design::of_summary(call.evaluator, sample);
    Ok(())
}

/// The median moves with no number downwards, so that its ends are the medians of the ends.
pub fn median<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let sample = call.numbers()?;
    sum_up(call, &sample)?;
    let of_ends = |end: fn(&Interval) -> &BigRational| {
        let mut ends: Vec<_> = sample.numbers.iter().map(|one| end(&one.interval)).collect();
        ends.sort();
        let (first, second) = (ends[(ends.len() - 1) / 2], ends[ends.len() / 2]);
        (first + second) / BigRational::from_integer(2.into())
    };
    let interval = Interval::between(of_ends(Interval::low), of_ends(Interval::high));
    let mut floats = sample.floats();
    floats.sort_by(f64::total_cmp);
    let float = (floats[(floats.len() - 1) / 2] + floats[floats.len() / 2]) / 2.0;
    let text = listed(call.name, &sample.numbers);
    Ok(Evaluated::Number(Quantity::result(interval, float, text, &sample.numbers)))
}

/// A summary of at least two numbers; their own rounding is not carried, so that all of them must be
/// recorded or printed in full.
pub fn summary<'a>(
    call: Call<'_, 'a>,
    of: impl Fn(&Summary) -> f64,
) -> Result<Evaluated<'a>, Error> {
    let sample = call.numbers()?;
    let value = of(&summarised(call, &sample)?);
    let role = NumberRole::Spread(Rc::new(sample.floats()));
    Ok(Evaluated::Number(Quantity { role, ..of_sample(call, value, &sample)? }))
}

pub fn ci95<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let sample = call.numbers()?;
    let test = one_sample(&summarised(call, &sample)?, 0.0);
    let interval = test.and_then(|test| test.interval(0.95));
    let interval = call.computed_of("numbers that are not all equal", interval)?;
    let role = NumberRole::Spread(Rc::new(sample.floats()));
    let end = |end| Ok(Quantity { role: role.clone(), ..of_sample(call, end, &sample)? });
    ends(interval.map(end))
}

/// The two ends of an interval.
pub fn ends<'a>([low, high]: [Result<Quantity, Error>; 2]) -> Result<Evaluated<'a>, Error> {
    Ok(Evaluated::List(vec![Evaluated::Number(low?), Evaluated::Number(high?)]))
}

/// Mean and spread.
fn summarised(call: Call<'_, '_>, sample: &RunSample) -> Result<Summary, Error> {
    design::of_summary(call.evaluator, sample);
    call.computed_of("at least two numbers", Summary::of(&sample.floats()))
}

/// A number that statistics gave for a group.
pub fn of_sample(call: Call<'_, '_>, value: f64, sample: &RunSample) -> Result<Quantity, Error> {
    call.result(value, listed(call.name, &sample.numbers), &sample.numbers)
}

/// The ends of the interval of a mean by resampling.
pub fn bootstrap<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let sample = call.numbers()?;
    let resamples = whole_option(call, "resamples", RESAMPLES)?;
    let resamples = usize::try_from(resamples).unwrap_or(usize::MAX);
    // A short list is enumerated, and nothing is drawn.
    if sample.count() > ENUMERATED_TO {
        call.frame.takes(resamples.saturating_mul(sample.count()) / DRAWS_IN_A_STEP)?;
    }
    let level = 1.0 - ALPHA;
    let drawn = call.computed(Resampled::of(&sample.floats(), resamples, SEED))?;
    let BootstrapInterval { low, high } = call.computed(drawn.percentile(level))?;
    let [about_low, about_high] = call.computed(drawn.drawn_ends(level, DRAWN_SDS))?;
    ends([(low, about_low), (high, about_high)].map(|(end, within)| {
        let number = of_sample(call, end, &sample)?;
        let exact = |end: f64| BigRational::from_float(end).unwrap_or_default();
        let interval = Interval::between(exact(within.low), exact(within.high));
        Ok(Quantity { interval, ..number })
    }))
}

/// A whole number that an option is, or what holds where it is left out.
pub fn whole_option(call: Call<'_, '_>, name: &str, otherwise: u64) -> Result<u64, Error> {
    let Some(given) = call.named(name) else { return Ok(otherwise) };
    let number = given.number()?;
    number.count().ok_or_else(|| call.wrong_arguments("a whole number", &number.derivation))
}

/// The slope of each run over some points.
pub fn slopes<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let Some(over) = call.named("over") else {
        return Err(call.wrong_arguments("groups and `over = `", "only one of them"));
    };
    let x = over.numbers()?;
    let groups = call.argument(0)?.groups()?;
    let runs = groups.first().map(|group| group.runs.clone()).unwrap_or_default();
    if groups.len() != x.count() || groups.iter().any(|group| group.runs != runs) {
        let found = format!("{} groups over {}", groups.len(), x.count());
        let expected = "the same runs, at one point per x";
        return Err(call.wrong_arguments(expected, &found));
    }
    let across: Vec<f64> = x.numbers.iter().map(|number| nearest_f64(&number.point())).collect();
    let mut numbers = Vec::new();
    for run in 0..runs.len() {
        let points: Vec<_> = groups.iter().filter_map(|group| group.numbers.get(run)).collect();
        let up: Vec<f64> = points.iter().map(|number| number.nearest()).collect();
        let value = call.computed(slope(&across, &up))?;
        let text = format!("slope of run {}", run + 1);
        numbers.push(call.result(value, text, points.into_iter().chain(&x.numbers))?);
    }
    Ok(Evaluated::Sample(RunSample { runs, numbers }))
}
