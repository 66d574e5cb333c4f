//! Counts of categories, such as the tokens of each expert, against the shares that are expected.

use std::rc::Rc;

use num_rational::BigRational;
use repro_core::source::Error;

use super::resampled::refused;
use super::samples::number_from;
use crate::evaluate::order::digits;
use crate::evaluate::{Call, WRONG_ARGUMENTS};
use crate::value::{Evaluated, NumberRole, Quantity, RunSample};

pub fn chi_squared<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let counts = call.numbers_of(call.argument(0)?)?;
    let weights = call.named("expected").map(|part| call.numbers_of(part)).transpose()?;
    let exact = points(call, &counts)?;
    let shares = weights.as_ref().map(|weights| points(call, weights)).transpose()?;
    let test = repro_stats::chi_squared(&exact, shares.as_deref());
    let test = test.map_err(|why| refused(call, why))?;
    let text = format!(
        "p by the chi-squared test of {} counts, chi-squared = {}",
        counts.count(),
        digits(test.statistic)
    );
    let of: Vec<&Quantity> =
        counts.numbers.iter().chain(weights.iter().flat_map(|weights| &weights.numbers)).collect();
    let number = number_from(call, test.p, text, &of)?;
    Ok(Evaluated::Number(Quantity { role: NumberRole::P(Rc::default()), ..number }))
}

/// Numbers that are known exactly.
fn points(call: &Call<'_, '_, '_>, sample: &RunSample) -> Result<Vec<BigRational>, Error> {
    let each = sample.numbers.iter().map(|number| match number.interval.is_point() {
        true => Ok(number.interval.low().clone()),
        false => Err(call.wrong(&WRONG_ARGUMENTS, "counts and shares in full", &number.derivation)),
    });
    each.collect()
}
