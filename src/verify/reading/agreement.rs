//! The rules of agreement: whether a value lies inside a reading of a printed number.

use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_core::decimal::{
    Agreement, Bound, Interval, Printed, Unit, about_tolerance, ceils_to, compare,
    format_significant, nearest_f64, truncates_to, ulp_distance,
};
use repro_core::source::codes;
use repro_report::meaning::Reading;
use repro_report::outcome::{Measured, Outcome};

use crate::value::{DIGITS, LeafKind, Quantity};

/// The most units in the last place by which two binary floats that state one number may differ.
const ULPS: u64 = 4;

codes! {
    DIFFERS = "value::differs", "the evidence gives a different number", "correct the number or the expression, or declare the reading: `is = { value = \"...\", as = \"about\" }`";
    TOO_COARSE = "value::too-coarse", "the inputs are not precise enough to decide", "publish them with more digits";
    STRADDLES = "value::straddles", "the value may be on either side of the limit", "publish the inputs with more digits";
    DENIED_LIMIT = "value::negated-limit", "a limit appears in a negated clause", "declare the reading: `is = { value = \"max(moe.loss)\", as = \"at_most\" }`";
    UNCLEAR_SIGNS = "value::ambiguous-notation", "the number can be parsed in more than one way", "write plain digits, and separate powers and footnotes: `6^2`, `6 [^2]`";
}

/// How many times smaller than half a unit of the last digit the error of binary floats is taken to be.
const FLOAT_SLACK: i64 = 1_000_000_000;

/// Judges a printed number against a value, by one reading.
pub(super) fn judge(claimed: &Printed, reading: Reading, given: &Quantity) -> Outcome {
    let scaled = Scaled::of(claimed, given);
    // The intervals of two neighbouring prints touch, and they state different numbers.
    let is_by_digits = matches!(reading, Reading::Rounded | Reading::Ends | Reading::Nominal);
    if is_by_digits && is_reprint(claimed, given) {
        return whether(scaled.point == *claimed.value(), claimed, &scaled)
            .within("same_print", "the same digits");
    }
    match reading {
        Reading::Exact => exact(claimed, given, &scaled),
        Reading::Rounded | Reading::Ends => rounded(claimed, given, &scaled),
        Reading::About => about(claimed, &scaled),
        Reading::AtLeast => limit(claimed, Bound::AtLeast, &scaled),
        Reading::AtMost => limit(claimed, Bound::AtMost, &scaled),
        Reading::Above => limit(claimed, Bound::Above, &scaled),
        Reading::Below => limit(claimed, Bound::Below, &scaled),
        Reading::Floor => whether(truncates_to(&scaled.interval, claimed), claimed, &scaled)
            .within("floor", "the printed digits, truncated"),
        Reading::Ceil => whether(ceils_to(&scaled.interval, claimed), claimed, &scaled)
            .within("ceil", "the printed digits, rounded up"),
        Reading::Binary => binary(claimed, &scaled),
        Reading::Nominal => nominal(claimed, &scaled),
    }
}

/// Judges a number without any words around it: rounded, or exact where it is a count.
pub fn judge_alone(claimed: &Printed, given: &Quantity) -> Outcome {
    let reading = super::by_kind(claimed, given).reading;
    measured_by(judge(claimed, reading, given), claimed, given)
}

/// The outcome with the numbers that it comes from.
pub(super) fn measured_by(outcome: Outcome, claimed: &Printed, given: &Quantity) -> Outcome {
    let scaled = Scaled::of(claimed, given);
    let measured = measured_of(claimed, given, &scaled, outcome.rule);
    outcome.giving(shown(claimed, given, &scaled)).measuring([measured])
}

/// The outcome of a number whose signs can be read in more than one way.
pub(super) fn unclear(outcome: Outcome, claimed: &Printed) -> Outcome {
    let reason = format!("\"{}\" can be parsed in more than one way", claimed.text());
    Outcome::inconclusive(&UNCLEAR_SIGNS, reason).with_evidence_of(outcome)
}

/// The outcome of a limit in a clause that denies something.
pub(super) fn denied(outcome: Outcome, claimed: &Printed) -> Outcome {
    let reason = format!(
        "the clause before \"{}\" is negated, so its limit may be the opposite",
        claimed.text()
    );
    Outcome::inconclusive(&DENIED_LIMIT, reason).with_evidence_of(outcome)
}

/// Whether one print of a number is nearer to the value than another.
pub(super) fn is_nearer(one: &Printed, other: &Printed, given: &Quantity) -> bool {
    let distance = |printed: &Printed| (printed.value() - Scaled::of(printed, given).point).abs();
    distance(one) < distance(other)
}

/// Whether a number is written with a size behind it: `4.06M`, "1.2 million".
pub(super) fn is_size(claimed: &Printed) -> bool {
    let behind = claimed.text().trim_start_matches(|c: char| !c.is_alphabetic());
    let thousand = BigRational::from_integer(1000.into());
    !matches!(behind.chars().next(), None | Some('e' | 'E'))
        && claimed.unit() == Unit::Plain
        && claimed.value().abs() >= thousand
}

/// The computed number in the unit of the print.
struct Scaled {
    interval: Interval,
    point: BigRational,
}

impl Scaled {
    fn of(claimed: &Printed, given: &Quantity) -> Self {
        let per_one = claimed.unit().per_one();
        Self { interval: given.interval.scaled(&per_one), point: given.point() * &per_one }
    }
}

/// Half a unit of the last printed digit. Zeros at the end count, unless a size stands behind them: `330k` has two
/// digits. Never more than 5% of the number for the sake of such zeros.
fn half_place(claimed: &Printed) -> BigRational {
    let own = half(claimed.last_place());
    if !is_size(claimed) || claimed.text().contains('.') {
        return own;
    }
    let most = claimed.value().abs() * about_tolerance();
    half(&significant_place(claimed)).min(most).max(own)
}

fn half(place: &BigRational) -> BigRational {
    place / BigRational::from_integer(2.into())
}

/// The place of the last digit of a print that is not zero.
fn significant_place(claimed: &Printed) -> BigRational {
    let ten = BigRational::from_integer(10.into());
    let mut place = claimed.last_place().clone();
    while !place.is_zero() && (claimed.value() / (&place * &ten)).is_integer() {
        place *= &ten;
    }
    place
}

/// The values that round to a print.
fn rounding(claimed: &Printed) -> Interval {
    Interval::around(claimed.value(), &half_place(claimed))
}

/// The values that "about" allows: within 5%, or half a unit of the last digit if that is wider.
fn about_interval(claimed: &Printed) -> Interval {
    Interval::around(claimed.value(), &(claimed.value().abs() * about_tolerance()))
        .hull(&rounding(claimed))
}

fn exact(claimed: &Printed, given: &Quantity, scaled: &Scaled) -> Outcome {
    let is_setting = given.leaf == Some(LeafKind::Setting);
    let agrees = if is_reprint(claimed, given) {
        scaled.point == *claimed.value()
    } else {
        scaled.interval.is_point() && scaled.point == *claimed.value()
            || is_setting && scaled.interval.contains(claimed.value())
    };
    let rule = if is_setting { "exact_setting" } else { "exact_integer" };
    whether(agrees, claimed, scaled).within(rule, "exact")
}

/// Whether the evidence is another print of the same precision.
fn is_reprint(claimed: &Printed, given: &Quantity) -> bool {
    let place = claimed.last_place() / claimed.unit().per_one();
    // What is printed as "nearly 200" is wider than its last digit.
    given.leaf == Some(LeafKind::Printed)
        && given.last_place.as_ref() == Some(&place)
        && given.interval.width() <= place
}

fn rounded(claimed: &Printed, given: &Quantity, scaled: &Scaled) -> Outcome {
    // A number with a unit is a different number, however many digits there are.
    if claimed.is_full_float() && claimed.unit() == Unit::Plain {
        return full_float(claimed, given, scaled);
    }
    let half = half_place(claimed);
    let sign = match claimed.unit() {
        // "± 0.5%" would read as a part of the value.
        Unit::Percent | Unit::Points => " points",
        unit => unit.sign(),
    };
    let tolerance = format!("± {}{sign}", format_significant(&half, DIGITS));
    let outcome = match compare(&scaled.interval, &rounding(claimed)) {
        Agreement::Consistent => Outcome::verified(),
        Agreement::Apart(_) if is_half(claimed, scaled) => Outcome::verified(),
        Agreement::TooCoarse => {
            let reason = format!(
                "inputs too coarse: the evidence allows {}, more than ten times the width of \"{}\"",
                scaled.interval,
                claimed.text()
            );
            Outcome::inconclusive(&TOO_COARSE, reason)
        }
        Agreement::Apart(_) => {
            let also = if truncates_to(&scaled.interval, claimed) {
                "; truncating instead of rounding would give it"
            } else {
                ""
            };
            Outcome::refuted(&DIFFERS, format!("{}{also}", apart(claimed, scaled)))
        }
    };
    outcome.within("rounding_interval", tolerance)
}

/// Whether the value is an exact half apart from the error of binary floats: 0.0145 as 0.33850000000000002 less 0.324.
fn is_half(claimed: &Printed, scaled: &Scaled) -> bool {
    let slack = half_place(claimed) / BigRational::from_integer(FLOAT_SLACK.into());
    rounding(claimed).distance(&scaled.interval) <= slack
}

fn full_float(claimed: &Printed, given: &Quantity, scaled: &Scaled) -> Outcome {
    let outcome = if ulp_distance(claimed.as_f64(), given.float) <= ULPS {
        Outcome::verified()
    } else if !scaled.interval.is_point() && scaled.interval.meets(&claimed.interval()) {
        Outcome::inconclusive(&TOO_COARSE, "inputs too coarse for a value printed in full")
    } else {
        Outcome::refuted(&DIFFERS, apart(claimed, scaled))
    };
    outcome.within("float_4ulp", format!("{ULPS} units in the last place"))
}

fn about(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let allowed = about_interval(claimed);
    let ends = [allowed.low(), allowed.high()].map(|end| format_significant(end, DIGITS));
    let range = format!("{} to {}", ends[0], ends[1]);
    let is_inside =
        allowed.contains(scaled.interval.low()) && allowed.contains(scaled.interval.high());
    let outcome = if is_inside {
        Outcome::verified()
    } else if allowed.meets(&scaled.interval) {
        let reason = format!("{} extends beyond the range of \"about\", {range}", scaled.interval);
        Outcome::inconclusive(&STRADDLES, reason)
    } else {
        let reason = format!("{}; \"about\" allows {range}", apart(claimed, scaled));
        Outcome::refuted(&DIFFERS, reason)
    };
    outcome.within("about", format!("{range}: 5%, or half a unit of the last digit"))
}

fn limit(claimed: &Printed, bound: Bound, scaled: &Scaled) -> Outcome {
    let found = || format!("{} against the limit \"{}\"", scaled.interval, claimed.text());
    let is_inclusive = matches!(bound, Bound::AtLeast | Bound::AtMost);
    let outcome = match bound.satisfied(&scaled.interval, claimed.value()) {
        Some(true) => Outcome::verified(),
        // "Up to 1.724" for 1.72432: a limit that the value reaches is printed rounded.
        _ if is_inclusive && scaled.interval.meets(&rounding(claimed)) => Outcome::verified(),
        Some(false) => Outcome::refuted(&DIFFERS, found()),
        None => Outcome::inconclusive(&STRADDLES, found()),
    };
    outcome.within("limit", "the whole range on the stated side")
}

/// K, M and G as powers of 1,024: of the number, rounded at its last digit.
fn binary(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let thousand = BigRational::from_integer(1000.into());
    let mut ratio = BigRational::from_integer(1.into());
    let mut left = claimed.value().abs() / mantissa(claimed);
    while left >= thousand {
        left /= &thousand;
        ratio *= BigRational::new(1024.into(), 1000.into());
    }
    let allowed = Interval::around(claimed.value(), &half(claimed.last_place())).scaled(&ratio);
    whether(allowed.meets(&scaled.interval), claimed, scaled)
        .within("binary", "powers of 1,024, rounded at the last digit")
}

/// The digits in front of a suffix, as a number: 128 of `128K`.
fn mantissa(claimed: &Printed) -> BigRational {
    let digits = claimed
        .text()
        .trim_end_matches(|c: char| c.is_alphabetic() || c.is_whitespace() || c == '-');
    let plain = Printed::parse(digits).ok().map(|plain| plain.value().abs());
    plain.filter(|plain| !plain.is_zero()).unwrap_or_else(|| BigRational::from_integer(1.into()))
}

/// The size in the name of a model: rounded, truncated, or without its trailing zeros, those within 10%.
fn nominal(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let most = claimed.value().abs() / BigRational::from_integer(10.into());
    let width = half(&significant_place(claimed)).min(most).max(half(claimed.last_place()));
    let agrees = Interval::around(claimed.value(), &width).meets(&scaled.interval)
        || truncates_to(&scaled.interval, claimed);
    whether(agrees, claimed, scaled)
        .within("nominal", "rounded, truncated, or without its trailing zeros")
}

fn whether(agrees: bool, claimed: &Printed, scaled: &Scaled) -> Outcome {
    if agrees { Outcome::verified() } else { Outcome::refuted(&DIFFERS, apart(claimed, scaled)) }
}

/// The numbers of the comparison, in the unit of the print.
fn measured_of(claimed: &Printed, given: &Quantity, scaled: &Scaled, rule: &str) -> Measured {
    let ends = |interval: &Interval| [nearest_f64(interval.low()), nearest_f64(interval.high())];
    let allowed = match rule {
        "about" => Some(ends(&about_interval(claimed))),
        "rounding_interval" => Some(ends(&rounding(claimed))),
        "exact_integer" | "exact_setting" => Some(ends(&claimed.exact())),
        // A limit has no other end, and units in the last place are no interval of their own.
        _ => None,
    };
    let is_plain = claimed.unit() == Unit::Plain;
    Measured {
        claimed: Some(claimed.as_f64()),
        unit: claimed.unit().sign(),
        value: Some(if is_plain { given.float } else { nearest_f64(&scaled.point) }),
        interval: Some(ends(&scaled.interval)),
        allowed,
        ..Measured::default()
    }
}

fn shown(claimed: &Printed, given: &Quantity, scaled: &Scaled) -> String {
    let value = if claimed.is_full_float() && claimed.unit() == Unit::Plain {
        given.float.to_string()
    } else {
        format_significant(&scaled.point, DIGITS)
    };
    let value = format!("{value}{}", claimed.unit().sign());
    match given.leaf {
        Some(_) => value,
        None => format!("{value} = {}", given.derivation),
    }
}

/// "820 too high (0.0006%)"; shares are compared in points, where a percentage of a percentage would
/// be misread.
fn apart(claimed: &Printed, scaled: &Scaled) -> String {
    let difference = claimed.value() - &scaled.point;
    let side = if difference.is_negative() { "low" } else { "high" };
    let is_share = matches!(claimed.unit(), Unit::Percent | Unit::Points);
    let sign = if is_share { " points" } else { claimed.unit().sign() };
    let size = format_significant(&difference.abs(), 4);
    let share = if scaled.point.is_zero() || is_share {
        String::new()
    } else {
        share_of(&(&difference / &scaled.point))
    };
    let value = format_significant(&scaled.point, DIGITS);
    format!(
        "the evidence gives {value}{}, \"{}\" is {size}{sign} too {side}{share}",
        claimed.unit().sign(),
        claimed.text()
    )
}

/// A difference in percent of the value: two digits, three from 99% on, none beyond ten times.
fn share_of(ratio: &BigRational) -> String {
    let hundred = BigRational::from_integer(100.into());
    let share = ratio.abs() * &hundred;
    let digits = if share < BigRational::from_integer(99.into()) { 2 } else { 3 };
    if share > &hundred * BigRational::from_integer(10.into()) {
        String::new()
    } else {
        format!(" ({}%)", format_significant(&share, digits))
    }
}

#[cfg(test)]
mod tests;
