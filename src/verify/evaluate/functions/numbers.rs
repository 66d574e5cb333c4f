//! Functions of numbers: exact over intervals, with the float that a script would get next to them.

use num_rational::BigRational;
use repro_core::decimal::{Interval, format_significant};
use repro_core::source::Error;

use crate::evaluate::{Call, NOT_COMPUTABLE};
use crate::value::{Evaluated, Quantity};

/// A function of one number.
pub fn one<'a>(
    call: Call<'_, 'a>,
    interval: impl Fn(&Interval) -> Option<Interval>,
    float: impl Fn(f64) -> f64,
) -> Result<Evaluated<'a>, Error> {
    let x = call.number(0)?;
    let Some(value) = interval(&x.interval) else {
        let found = x.interval.to_string();
        return Err(call.wrong(&NOT_COMPUTABLE, "a number with a defined value", &found));
    };
    let text = format!("{}({})", call.name, x.derivation);
    Ok(Evaluated::Number(Quantity::result(value, float(x.float), text, [&x])))
}

/// A number as a whole one, whichever way it is rounded.
pub fn whole<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    one(call, |x| Some(x.floor().hull(&x.ceil())), f64::round)
}

/// The sum of several numbers.
pub fn sum<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    fold(call, &call.numbers()?.numbers, |a, b| a + b, |a, b| a + b)
}

/// The greatest or the least of several numbers.
pub fn extreme<'a>(
    call: Call<'_, 'a>,
    pick: fn(BigRational, BigRational) -> BigRational,
    float: fn(f64, f64) -> f64,
) -> Result<Evaluated<'a>, Error> {
    let hull = |a: &Interval, b: &Interval| {
        let end = |of: fn(&Interval) -> &BigRational| pick(of(a).clone(), of(b).clone());
        Interval::between(end(Interval::low), end(Interval::high))
    };
    fold(call, &call.every_number()?, hull, float)
}

/// A function of several numbers, taken from left to right.
fn fold<'a>(
    call: Call<'_, 'a>,
    all: &[Quantity],
    interval: impl Fn(&Interval, &Interval) -> Interval,
    float: impl Fn(f64, f64) -> f64,
) -> Result<Evaluated<'a>, Error> {
    let Some((first, rest)) = all.split_first() else {
        return Err(call.wrong(&NOT_COMPUTABLE, "at least one number", "none"));
    };
    let (mut value, mut near) = (first.interval.clone(), first.float);
    for number in rest {
        (value, near) = (interval(&value, &number.interval), float(near, number.float));
    }
    Ok(Evaluated::Number(Quantity::result(value, near, listed(call.name, all), all)))
}

/// `name(1, 2, 3)`, or what there is of it for a reader.
pub fn listed(name: &str, numbers: &[Quantity]) -> String {
    const SHOWN: usize = 6;
    const LONG: usize = 12;
    const LIST_DIGITS: usize = 7;
    let one = |number: &Quantity| match number.derivation.len() {
        // A float printed in full fills a line and tells nobody more.
        LONG.. => format_significant(&number.point(), LIST_DIGITS),
        _ => number.derivation.clone(),
    };
    let mut shown: Vec<String> = numbers.iter().take(SHOWN).map(one).collect();
    if numbers.len() > SHOWN {
        shown.push(format!("… {} in all", numbers.len()));
    }
    format!("{name}({})", shown.join(", "))
}

/// The distance of a to b as a share of b.
pub fn relative<'a>(call: Call<'_, 'a>, below: bool) -> Result<Evaluated<'a>, Error> {
    let (a, b) = (call.number(0)?, call.number(1)?);
    // 1 - a/b moves by each input once, so that the interval is no wider than it must be.
    let Some(quotient) = a.interval.div(&b.interval) else {
        return Err(call.wrong(&NOT_COMPUTABLE, "a divisor that is not zero", &b.derivation));
    };
    let unit = Interval::integer(1);
    let (interval, float) = if below {
        (&unit - &quotient, 1.0 - a.float / b.float)
    } else {
        (&quotient - &unit, a.float / b.float - 1.0)
    };
    let text = format!("{}({}, {})", call.name, a.derivation, b.derivation);
    Ok(Evaluated::Number(Quantity::result(interval, float, text, [&a, &b])))
}
