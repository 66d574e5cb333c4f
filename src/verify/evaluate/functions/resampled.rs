//! Intervals of shares, of resampled means, and slopes over training.

use num_rational::BigRational;
use repro_core::decimal::{Interval, nearest_f64};
use repro_core::source::Error;
use repro_stats::bootstrap::{BootstrapInterval, ENUMERATED_TO, Resampled};
use repro_stats::power::{Goal, Sides};
use repro_stats::proportion::Proportion;
use repro_stats::{Refused, slope};

use super::samples::{self, from_float, number_from};
use crate::evaluate::order::design;
use crate::evaluate::{Call, WRONG_ARGUMENTS};
use crate::run_design::ALPHA;
use crate::value::{Evaluated, Quantity, RunSample};

/// So many random draws take one step.
const DRAWS_IN_A_STEP: usize = 512;
/// Resamples where nothing else is said.
const RESAMPLES: usize = 10_000;
/// The seed of the draws; an end of another author's draws lies within `DRAWN_SDS`.
const SEED: u64 = 0;
/// How many standard deviations of drawing an end may be off.
const DRAWN_SDS: f64 = 5.0;

/// A whole number of items that an argument is.
pub fn count(call: &Call<'_, '_, '_>, index: usize) -> Result<(u64, Quantity), Error> {
    let number = call.number(index)?;
    match number.count() {
        Some(whole) => Ok((whole, number)),
        None => Err(call.wrong(&WRONG_ARGUMENTS, "a whole number of items", &number.derivation)),
    }
}

/// A whole number that an argument names, or what holds where it is left out.
fn option(call: &Call<'_, '_, '_>, name: &str, otherwise: u64) -> Result<u64, Error> {
    let Some(part) = call.named(name) else { return Ok(otherwise) };
    let number = call.number_of(part)?;
    number.count().ok_or_else(|| call.wrong(&WRONG_ARGUMENTS, "a whole number", &number.derivation))
}

/// An error of statistics as one of the call.
pub fn refused(call: &Call<'_, '_, '_>, why: Refused) -> Error {
    call.refused("numbers for which there is a value", &why)
}

pub fn wilson<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let ((right, a), (items, b)) = (count(call, 0)?, count(call, 1)?);
    let share = Proportion::new(right, items).map_err(|why| refused(call, why))?;
    let ends = share.wilson(0.95).map_err(|why| refused(call, why))?;
    let text = format!("Wilson's interval of {right}/{items}");
    samples::ends(ends.map(|end| number_from(call, end, text.clone(), &[&a, &b])))
}

pub fn bootstrap<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let sample = call.numbers()?;
    let resamples = option(call, "resamples", RESAMPLES as u64)?;
    let resamples = usize::try_from(resamples).unwrap_or(usize::MAX);
    // A short list is enumerated, and nothing is drawn.
    if sample.count() > ENUMERATED_TO {
        call.frame.takes(resamples.saturating_mul(sample.count()) / DRAWS_IN_A_STEP)?;
    }
    let level = 1.0 - ALPHA;
    let drawn = Resampled::of(&sample.floats(), resamples, SEED).and_then(|drawn| {
        let BootstrapInterval { low, high } = drawn.percentile(level)?;
        Ok(std::iter::zip([low, high], drawn.drawn_ends(level, DRAWN_SDS)?))
    });
    let ends = drawn.map_err(|why| refused(call, why))?.map(|(end, within)| {
        let number = from_float(call, end, &sample)?;
        let exact = |end: f64| BigRational::from_float(end).unwrap_or_default();
        let interval = Interval::between(exact(within.low), exact(within.high));
        Ok(Evaluated::Number(Quantity { interval, ..number }))
    });
    ends.collect::<Result<_, _>>().map(Evaluated::List)
}

pub fn slopes<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let Some(over) = call.named("over") else {
        return Err(call.wrong(&WRONG_ARGUMENTS, "groups, and `over = `", "one of them alone"));
    };
    let x = call.numbers_of(over)?;
    let groups = call.at(0)?.groups()?;
    let runs = groups.first().map(|group| group.runs.clone()).unwrap_or_default();
    if groups.len() != x.count() || groups.iter().any(|group| group.runs != runs) {
        let found = format!("{} groups over {}", groups.len(), x.count());
        let expected = "the same runs at as many points as there are x";
        return Err(call.wrong(&WRONG_ARGUMENTS, expected, &found));
    }
    let across: Vec<f64> = x.numbers.iter().map(|number| nearest_f64(&number.point())).collect();
    let of_run = |run: usize| {
        let points: Vec<&Quantity> =
            groups.iter().filter_map(|group| group.numbers.get(run)).collect();
        let up: Vec<f64> = points.iter().map(|number| number.nearest()).collect();
        let value = slope(&across, &up).map_err(|why| refused(call, why))?;
        let of: Vec<&Quantity> = points.into_iter().chain(&x.numbers).collect();
        number_from(call, value, format!("slope of run {}", run + 1), &of)
    };
    let numbers = (0..runs.len()).map(of_run).collect::<Result<_, _>>()?;
    Ok(Evaluated::Sample(RunSample { runs, numbers }))
}

pub fn detectable<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (a, b) = (call.numbers_of(call.argument(0)?)?, call.numbers_of(call.argument(1)?)?);
    let family = option(call, "family", 1)?.max(1);
    let chosen = design(call.evaluator, &a, Some(&b)).map_err(|why| refused(call, why))?;
    let goal =
        Goal::new(ALPHA / family as f64, 0.8, Sides::Two).map_err(|why| refused(call, why))?;
    let gap = goal.minimum_detectable_gap(chosen.test.standard_error, chosen.test.df);
    let gap = gap.map_err(|why| refused(call, why))?;
    let of: Vec<&Quantity> = a.numbers.iter().chain(&b.numbers).collect();
    let text = format!("80% power by {}", chosen.name);
    number_from(call, gap, text, &of).map(Evaluated::Number)
}
