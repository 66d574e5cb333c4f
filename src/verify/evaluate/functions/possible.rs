//! Limits: necessary conditions, of which what cannot be is refuted and what can be is no more than possible, and targets.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::format_significant;
use repro_core::source::{Error, codes};
use repro_report::outcome::Outcome;

use crate::evaluate::{Call, noise};
use crate::value::{DIGITS, Evaluated, Quantity};

codes! {
    IMPOSSIBLE = "possible::impossible", "the number is impossible", "correct the number";
    POSSIBLE = "possible::unconfirmed", "plausible, not confirmed", "bind the number to the evidence it comes from";
    NO_COUNT = "grim::no-such-count", "no whole number of items gives this fraction", "check the fraction and the number of scored items";
    OFF_GRID = "on_grid::off-grid", "the step is not on the evaluation grid", "correct the step or the grid";
    NOT_REACHED = "reached::above-target", "the loss is above the target that it should reach", "correct the text";
    UNDECIDED_TARGET = "reached::too-coarse", "the printed loss has too few digits to decide", "publish it with more digits";
}

/// A number as it is in the quote is known to its last digit.
pub fn printed(call: Call<'_, '_>, index: usize) -> Result<Quantity, Error> {
    let number = call.number(index)?;
    let quoted = call
        .evaluator
        .quoted()
        .iter()
        .find(|printed| printed.text() == number.derivation && number.last_place.is_none());
    Ok(match quoted {
        Some(printed) => {
            let per_one = printed.unit().per_one();
            let interval = printed.interval().scaled(&per_one.recip());
            Quantity { interval, last_place: Some(printed.last_place() / per_one), ..number }
        }
        None => number,
    })
}

fn only(what: String) -> Outcome {
    Outcome::inconclusive(&POSSIBLE, format!("plausible, not confirmed: {what}"))
}

pub fn between<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (x, low, high) = (printed(call, 0)?, call.number(1)?, call.number(2)?);
    let limits = format!("[{}, {}]", short(&low), short(&high));
    let outside = x.interval.high() < low.interval.low() || x.interval.low() > high.interval.high();
    let outcome = if outside {
        Outcome::refuted(&IMPOSSIBLE, format!("{} is outside {limits}", x.derivation))
    } else {
        only(format!("within {limits}"))
    };
    Ok(judged(outcome.giving(limits)))
}

pub fn grim<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (share, items) = (printed(call, 0)?, call.number(1)?);
    let count = items.whole().filter(BigInt::is_positive);
    let count = count.ok_or_else(|| {
        call.wrong_arguments("a whole number of items, at least one", &items.derivation)
    })?;
    let one = BigRational::from_integer(1.into());
    if *share.interval.low() > one || share.interval.high().is_negative() {
        let reason = format!("{} is not a fraction", share.derivation);
        return Ok(judged(Outcome::refuted(&IMPOSSIBLE, reason)));
    }
    let all = BigRational::from_integer(count.clone());
    let least = (share.interval.low() * &all).ceil();
    let fits = least <= share.interval.high() * &all;
    let near = |k: &BigRational| {
        format!("{}/{count} = {}", k.to_integer(), format_significant(&(k / &all), DIGITS))
    };
    if fits {
        return Ok(judged(only(near(&least))));
    }
    let reason = format!("neither {} nor {}", near(&(&least - &one)), near(&least));
    Ok(judged(Outcome::refuted(&NO_COUNT, reason)))
}

pub fn on_grid<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (step, every, last) = (call.number(0)?, call.number(1)?, call.number(2)?);
    let (Some(at), Some(between), Some(end)) = (step.whole(), every.whole(), last.whole()) else {
        return Err(call.wrong_arguments("whole numbers of steps", &step.derivation));
    };
    if !between.is_positive() {
        return Err(call.wrong_arguments("at least one step between", &every.derivation));
    }
    let rest = &at % &between;
    let outcome = if at > end {
        Outcome::refuted(&OFF_GRID, format!("{at} is after the last step, {end}"))
    } else if rest.is_zero() || at == end {
        only(format!("{at} is on the grid of {between}"))
    } else {
        let reason = format!("{at} is {rest} steps after a point of the grid of {between}");
        Outcome::refuted(&OFF_GRID, reason)
    };
    Ok(judged(outcome))
}

fn judged<'a>(outcome: Outcome) -> Evaluated<'a> {
    Evaluated::Judgement(Box::new(outcome.within("possible", "a necessary condition")))
}

fn short(number: &Quantity) -> String {
    format_significant(&number.interval.middle(), DIGITS)
}

/// Whether a loss meets a target.
pub fn reached<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (loss, target) = (call.number(0)?, call.number(1)?);
    // A target that was declared has no noise, wherever it was typed from.
    let kind = &call.argument(1)?.part.kind;
    let is_declared = matches!(kind, ExpressionKind::Call(name, _) if name == "declared");
    let are_measured = !loss.is_without_noise() && !target.is_without_noise() && !is_declared;
    let outcome = if loss.interval.high() <= target.interval.low() && are_measured {
        // Two measured numbers are in an order, which has its noise.
        let reason =
            "both values are measured, so their comparison has noise; write it as `a <= b`";
        Outcome::inconclusive(&noise::ONE_RUN, reason)
    } else if loss.interval.high() <= target.interval.low() {
        Outcome::verified()
    } else if loss.interval.low() > target.interval.high() {
        let reason = format!("{} is above {}", loss.derivation, target.derivation);
        Outcome::refuted(&NOT_REACHED, reason)
    } else {
        let reason = format!("{} may be on either side of {}", loss.derivation, target.derivation);
        Outcome::inconclusive(&UNDECIDED_TARGET, reason)
    };
    let shown = format!("{} against {}", loss.derivation, target.derivation);
    let rule = if are_measured { noise::ORDER } else { "rounding_interval" };
    let outcome = outcome.giving(shown).within(rule, "at or below");
    let outcome = outcome.measuring([loss, target].map(|number| number.measured()));
    Ok(Evaluated::decided(outcome))
}
