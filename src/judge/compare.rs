//! The one comparator: a printed number against what an expression gives.
//!
//! Printed digits carry their rounding. Settings, counts and identifiers are exact: a print that only
//! rounds to a setting states another setting. A float printed in full may differ by four units in its
//! last place. "About" means within one part in twenty, and a limit means the whole interval.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_claim::quote::Hedge;
use repro_exact::decimal::{
    Agreement, Bound, Interval, Printed, Unit, about_tolerance, compare, format_significant,
    nearest_f64, truncates_to, ulp_distance,
};
use repro_receipt::source::codes;
use repro_report::outcome::{Measured, Outcome};

use crate::value::{DIGITS, LeafKind, Quantity};

/// The most units in the last place by which two binary floats that state one number may differ.
const ULPS: u64 = 4;

/// The rule of whole numbers: exact.
const EXACT: &str = "exact_integer";
/// The rule of settings: exact.
const SETTING: &str = "exact_setting";
/// The rule of printed digits: they carry their rounding.
const ROUNDED: &str = "rounding_interval";
/// The rule of "about".
const ABOUT: &str = "about";

codes! {
    DIFFERS = "value::differs", "the evidence gives another number", "correct the number, or the expression";
    OTHER_SETTING = "value::other-setting", "the text rounds a setting", "print the setting in full";
    TOO_COARSE = "value::too-coarse", "the inputs are printed too coarsely to decide", "publish them with more digits";
    STRADDLES = "value::straddles", "the value may lie on either side of the limit", "publish the inputs with more digits";
    TWO_READINGS = "value::two-readings", "\"over\" may be a limit or what a mean runs over, and the number fits one of them", "write \"more than\" for a limit";
}

/// Holds a printed number against a computed one.
pub fn judge(claimed: &Printed, hedge: Option<Hedge>, given: &Quantity) -> Outcome {
    let per_one = claimed.unit().per_one();
    let scaled =
        Scaled { interval: given.interval.scaled(&per_one), point: given.point() * &per_one };
    let outcome = match hedge {
        Some(Hedge::Limit(bound)) => limit(claimed, bound, &scaled),
        Some(Hedge::LimitOrCount(bound)) => limit_or_count(claimed, bound, &scaled),
        Some(Hedge::About) => near(claimed, &scaled),
        None if claimed.approximate() => near(claimed, &scaled),
        None if given.leaf == Some(LeafKind::Setting) => setting(claimed, given, &scaled),
        None if is_reprint(claimed, given) => reprint(claimed, &scaled),
        // Another unit is another number, however many digits there are.
        None if claimed.is_full_float() && claimed.unit() == Unit::Plain => {
            full_float(claimed, given, &scaled)
        }
        None if claimed.is_integer_text()
            && claimed.unit() == Unit::Plain
            && scaled.interval.is_point()
            && scaled.point.is_integer() =>
        {
            exact(claimed, &scaled)
        }
        None => measured(claimed, &scaled),
    };
    let measured = measured_of(claimed, given, &scaled, outcome.rule);
    outcome.giving(shown(claimed, given, &scaled)).measuring([measured])
}

/// The numbers of the comparison, in the unit of the print.
fn measured_of(claimed: &Printed, given: &Quantity, scaled: &Scaled, rule: &str) -> Measured {
    let ends = |interval: &Interval| [nearest_f64(interval.low()), nearest_f64(interval.high())];
    let allowed = match rule {
        ABOUT => Some(ends(&claimed.about(&about_tolerance()))),
        ROUNDED => Some(ends(&claimed.interval())),
        EXACT | SETTING => Some(ends(&claimed.exact())),
        // A limit has no other end, and units in the last place are no interval of their own.
        _ => None,
    };
    let plain = claimed.unit() == Unit::Plain;
    Measured {
        claimed: Some(claimed.as_f64()),
        unit: claimed.unit().sign(),
        value: Some(if plain { given.float } else { nearest_f64(&scaled.point) }),
        interval: Some(ends(&scaled.interval)),
        allowed,
        test: None,
    }
}

/// The computed number in the unit of the print.
struct Scaled {
    interval: Interval,
    point: BigRational,
}

fn shown(claimed: &Printed, given: &Quantity, scaled: &Scaled) -> String {
    let value = match claimed.is_full_float() && claimed.unit() == Unit::Plain {
        true => given.float.to_string(),
        false => format_significant(&scaled.point, DIGITS),
    };
    let value = format!("{value}{}", claimed.unit().sign());
    match given.leaf {
        Some(_) => value,
        None => format!("{value} = {}", given.derivation),
    }
}

fn exact(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let outcome = match scaled.interval.contains(claimed.value()) {
        true => Outcome::verified(),
        false => Outcome::refuted(&DIFFERS, apart(claimed, scaled)),
    };
    outcome.within(EXACT, "exact")
}

/// A setting is stated, not measured.
fn setting(claimed: &Printed, given: &Quantity, scaled: &Scaled) -> Outcome {
    let outcome = if scaled.interval.contains(claimed.value()) {
        Outcome::verified()
    } else if scaled.interval.meets(&claimed.interval()) {
        let reason =
            format!("the setting is {}; \"{}\" only rounds it", given.derivation, claimed.text());
        Outcome::inconclusive(&OTHER_SETTING, reason)
    } else {
        Outcome::refuted(&DIFFERS, apart(claimed, scaled))
    };
    outcome.within(SETTING, "exact")
}

/// Whether the evidence is another print of the same precision.
fn is_reprint(claimed: &Printed, given: &Quantity) -> bool {
    let place = claimed.last_place() / claimed.unit().per_one();
    // What is printed as "nearly 200" is wider than its last digit.
    given.leaf == Some(LeafKind::Printed)
        && given.last_place.as_ref() == Some(&place)
        && given.interval.width() <= place
}

/// Two prints of one precision state one number only if they are the same: the intervals of two neighbours
/// touch.
fn reprint(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let outcome = match scaled.point == *claimed.value() {
        true => Outcome::verified(),
        false => Outcome::refuted(&DIFFERS, apart(claimed, scaled)),
    };
    outcome.within("same_print", "the same digits")
}

fn measured(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let half = claimed.last_place() / BigRational::from_integer(2.into());
    let sign = match claimed.unit() {
        // "± 0.5%" would read as a part of the value.
        Unit::Percent | Unit::Points => " points",
        unit => unit.sign(),
    };
    let tolerance = format!("± {}{sign}", format_significant(&half, DIGITS));
    let outcome = match compare(&scaled.interval, &claimed.interval()) {
        Agreement::Consistent => Outcome::verified(),
        Agreement::TooCoarse => {
            let reason = format!(
                "inputs too coarse: anything in {} follows, more than ten times the width of \"{}\"",
                scaled.interval,
                claimed.text()
            );
            Outcome::inconclusive(&TOO_COARSE, reason)
        }
        Agreement::Apart(_) => {
            let also = match truncates_to(&scaled.interval, claimed) {
                true => "; cutting digits off instead of rounding would give it",
                false => "",
            };
            Outcome::refuted(&DIFFERS, format!("{}{also}", apart(claimed, scaled)))
        }
    };
    outcome.within(ROUNDED, tolerance)
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

fn near(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let allowed = claimed.about(&about_tolerance());
    let inside =
        allowed.contains(scaled.interval.low()) && allowed.contains(scaled.interval.high());
    // A word is no measurement: far off it is wrong, a little off it is a matter of taste.
    let wide = claimed.about(&(about_tolerance() * BigRational::from_integer(BigInt::from(5))));
    let outcome = if inside {
        Outcome::verified()
    } else if scaled.interval.meets(&wide) {
        let reason = format!(
            "{} is not within 5% of \"{}\", which is what \"about\" means in every post",
            format_significant(&scaled.point, DIGITS),
            claimed.text()
        );
        Outcome::inconclusive(&STRADDLES, reason)
    } else {
        Outcome::refuted(&DIFFERS, apart(claimed, scaled))
    };
    outcome.within(ABOUT, "± 5%")
}

fn limit(claimed: &Printed, bound: Bound, scaled: &Scaled) -> Outcome {
    let found = || format!("{} against the limit \"{}\"", scaled.interval, claimed.text());
    let outcome = match bound.satisfied(&scaled.interval, claimed.value()) {
        Some(true) => Outcome::verified(),
        // "Up to 8" for 8.3: so it is if 8 is a rounded limit, which the words do not say.
        Some(false) if scaled.interval.meets(&claimed.interval()) => {
            let reason = format!("{}: it holds only of the rounded number", found());
            Outcome::inconclusive(&STRADDLES, reason)
        }
        Some(false) => Outcome::refuted(&DIFFERS, found()),
        None => Outcome::inconclusive(&STRADDLES, found()),
    };
    outcome.within("limit", "the whole interval on the stated side")
}

/// "Over three seeds" is a count, "over 1.7 times" a limit.
fn limit_or_count(claimed: &Printed, bound: Bound, scaled: &Scaled) -> Outcome {
    if !claimed.is_integer_text() || claimed.unit() != Unit::Plain {
        return limit(claimed, bound, scaled);
    }
    if scaled.interval.is_point() && scaled.point == *claimed.value() {
        return Outcome::verified().within(EXACT, "exact");
    }
    let outcome = limit(claimed, bound, scaled);
    match outcome.verdict {
        repro_report::outcome::Verdict::Verified => {
            let reason =
                format!("it holds if \"{}\" is a limit, and not if it is a count", claimed.text());
            Outcome::inconclusive(&TWO_READINGS, reason)
        }
        _ => outcome,
    }
}

/// "820 too high (0.0006%)"; shares are compared in points, where a percentage of a percentage would
/// be misread.
fn apart(claimed: &Printed, scaled: &Scaled) -> String {
    let difference = claimed.value() - &scaled.point;
    let side = if difference.is_negative() { "low" } else { "high" };
    let sign = match claimed.unit() {
        Unit::Percent | Unit::Points => " points",
        unit => unit.sign(),
    };
    let size = format_significant(&difference.abs(), 4);
    let share =
        match scaled.point.is_zero() || matches!(claimed.unit(), Unit::Percent | Unit::Points) {
            true => String::new(),
            false => {
                let hundred = BigRational::from_integer(100.into());
                let share = (&difference / &scaled.point).abs() * hundred;
                format!(" ({}%)", format_significant(&share, 2))
            }
        };
    let value = format_significant(&scaled.point, DIGITS);
    format!(
        "the evidence gives {value}{}, \"{}\" is {size}{sign} too {side}{share}",
        claimed.unit().sign(),
        claimed.text()
    )
}
