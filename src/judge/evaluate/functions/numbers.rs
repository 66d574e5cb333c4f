//! Functions of numbers: exact over intervals, with the float that a script would get beside them.

use num_rational::BigRational;
use repro_exact::decimal::{Interval, format_significant};
use repro_receipt::source::Error;

use super::{Function, Gives};
use crate::evaluate::{Call, NOT_COMPUTABLE};
use crate::value::{Evaluated, Quantity};

pub static FUNCTIONS: &[Function] = &[
    Function {
        name: "exp",
        signature: "exp(x)",
        summary: "e to the power x",
        misleads: "e to a mean is not the mean of the powers: a perplexity of a mean loss is not a mean perplexity",
        example: "exp(moe.loss)",
        gives: Gives::Derived,
        evaluate: |call| one(call, |x| x.exp(), libm::exp),
    },
    Function {
        name: "ln",
        signature: "ln(x)",
        summary: "the natural logarithm",
        misleads: "bits need `ln(2)` as the divisor",
        example: "moe.loss / ln(2)",
        gives: Gives::Derived,
        evaluate: |call| one(call, |x| x.ln(), libm::log),
    },
    Function {
        name: "abs",
        signature: "abs(x)",
        summary: "the size of x without its sign",
        misleads: "it forgets who is ahead",
        example: "abs(a - b)",
        gives: Gives::Derived,
        evaluate: |call| one(call, |x| Some(x.abs()), f64::abs),
    },
    Function {
        name: "floor",
        signature: "floor(x)",
        summary: "the greatest whole number that is not above x",
        misleads: "say it only where the text says that it rounds down; else take `whole(x)`",
        example: "floor(tokens / tokens-per-step)",
        gives: Gives::Derived,
        evaluate: |call| one(call, |x| Some(x.floor()), f64::floor),
    },
    Function {
        name: "ceil",
        signature: "ceil(x)",
        summary: "the least whole number that is not below x",
        misleads: "say it only where the text says that it rounds up; else take `whole(x)`",
        example: "ceil(vocabulary / 128) * 128",
        gives: Gives::Derived,
        evaluate: |call| one(call, |x| Some(x.ceil()), f64::ceil),
    },
    Function {
        name: "whole",
        signature: "whole(x)",
        summary: "x as a whole number by a rounding that the text does not state: down, to the nearest or up",
        misleads: "it lets pass any of the two whole numbers beside x",
        example: "whole(gamma * total(moe64) / tokens-per-step)",
        gives: Gives::Derived,
        evaluate: |call| one(call, |x| Some(x.floor().hull(&x.ceil())), f64::round),
    },
    Function {
        name: "max",
        signature: "max(a, b, ...)",
        summary: "the greatest of several numbers",
        misleads: "the best of many seeds is no mean",
        example: "max([a, b, c])",
        gives: Gives::Derived,
        evaluate: |call| {
            fold(call, call.every_number()?, |a, b| hull_by(a, b, BigRational::max), f64::max)
        },
    },
    Function {
        name: "min",
        signature: "min(a, b, ...)",
        summary: "the least of several numbers",
        misleads: "the best of many seeds is no mean",
        example: "min(runs.loss)",
        gives: Gives::Derived,
        evaluate: |call| {
            fold(call, call.every_number()?, |a, b| hull_by(a, b, BigRational::min), f64::min)
        },
    },
    Function {
        name: "sum",
        signature: "sum(a, b, ...)",
        summary: "the sum of several numbers",
        misleads: "rounded parts need not add up to the rounded whole: the slack grows with every part",
        example: "sum(dense.nats, moe.nats)",
        gives: Gives::Derived,
        evaluate: |call| fold(call, call.numbers()?.numbers, |a, b| a + b, |a, b| a + b),
    },
    Function {
        name: "percent_below",
        signature: "percent_below(a, b)",
        summary: "by how many percent of b the number a lies below b",
        misleads: "the percentage is of b, not of a: 4.5% below is not 4.5% above seen from the other side",
        example: "percent_below(moe.loss, dense.loss)",
        gives: Gives::Derived,
        evaluate: |call| relative(call, true),
    },
    Function {
        name: "percent_above",
        signature: "percent_above(a, b)",
        summary: "by how many percent of b the number a lies above b",
        misleads: "the percentage is of b",
        example: "percent_above(moe.tokens-per-second, dense.tokens-per-second)",
        gives: Gives::Derived,
        evaluate: |call| relative(call, false),
    },
];

/// A function of one number.
fn one<'a>(
    call: &Call<'_, '_, 'a>,
    interval: impl Fn(&Interval) -> Option<Interval>,
    float: impl Fn(f64) -> f64,
) -> Result<Evaluated<'a>, Error> {
    call.takes(1, 1, &[])?;
    let x = call.number(0)?;
    let Some(value) = interval(&x.interval) else {
        let found = x.interval.to_string();
        return Err(call.wrong(&NOT_COMPUTABLE, "a number for which there is a value", &found));
    };
    let text = format!("{}({})", call.name, x.derivation);
    Ok(Evaluated::Number(Quantity::result(value, float(x.float), text, &[&x])))
}

/// A function of several numbers, taken from left to right.
fn fold<'a>(
    call: &Call<'_, '_, 'a>,
    all: Vec<Quantity>,
    interval: impl Fn(&Interval, &Interval) -> Interval,
    float: impl Fn(f64, f64) -> f64,
) -> Result<Evaluated<'a>, Error> {
    call.takes(1, usize::MAX, &[])?;
    let Some((first, rest)) = all.split_first() else {
        return Err(call.wrong(&NOT_COMPUTABLE, "at least one number", "none"));
    };
    let start = (first.interval.clone(), first.float);
    let (value, float) = rest.iter().fold(start, |(sum, near), number| {
        (interval(&sum, &number.interval), float(near, number.float))
    });
    let text = listed(call.name, &all);
    let all: Vec<&Quantity> = all.iter().collect();
    Ok(Evaluated::Number(Quantity::result(value, float, text, &all)))
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

fn hull_by(
    a: &Interval,
    b: &Interval,
    pick: impl Fn(BigRational, BigRational) -> BigRational,
) -> Interval {
    Interval::between(
        pick(a.low().clone(), b.low().clone()),
        pick(a.high().clone(), b.high().clone()),
    )
}

/// The distance of a to b as a share of b.
fn relative<'a>(call: &Call<'_, '_, 'a>, below: bool) -> Result<Evaluated<'a>, Error> {
    call.takes(2, 2, &[])?;
    let (a, b) = (call.number(0)?, call.number(1)?);
    // 1 - a/b moves by each input once, so that the interval is no wider than it must be.
    let Some(quotient) = a.interval.div(&b.interval) else {
        return Err(call.wrong(&NOT_COMPUTABLE, "a divisor that is not zero", &b.derivation));
    };
    let unit = Interval::integer(1);
    let (interval, float) = match below {
        true => (&unit - &quotient, 1.0 - a.float / b.float),
        false => (&quotient - &unit, a.float / b.float - 1.0),
    };
    let text = format!("{}({}, {})", call.name, a.derivation, b.derivation);
    Ok(Evaluated::Number(Quantity::result(interval, float, text, &[&a, &b])))
}
