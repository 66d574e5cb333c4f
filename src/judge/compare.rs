//! The one comparator: a printed number against what an expression gives.
//!
//! Printed digits carry their rounding. Settings, counts and identifiers are exact: a print that only
//! rounds to a setting states another setting. A float printed in full may differ by four units in its
//! last place. "About" means within one part in twenty and within five of the last digit, and a limit means the whole interval.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_claim::quote::{Doubt, Hedge, QuoteItem, RangeWords};
use repro_exact::decimal::{
    Agreement, Bound, Interval, Printed, Unit, about_tolerance, compare, format_significant,
    nearest_f64, truncates_to, ulp_distance,
};
use repro_receipt::source::{Code, codes};
use repro_report::outcome::{Measured, Outcome, Verdict};

use crate::value::{DIGITS, LeafKind, Quantity};

/// The most units in the last place by which two binary floats that state one number may differ.
const ULPS: u64 = 4;

/// The rule of whole numbers: exact.
const EXACT: &str = "exact_integer";
/// The rule of settings: exact.
const SETTING: &str = "exact_setting";
/// The rule of printed digits: they carry their rounding.
const ROUNDED: &str = "rounding_interval";
/// The rule of digits that are cut off.
const CUT: &str = "cut_off";
/// The rule of "about".
const ABOUT: &str = "about";
/// "About 1.64" allows so many of its last digit.
const ABOUT_DIGITS: i32 = 5;

codes! {
    DIFFERS = "value::differs", "the evidence gives another number", "correct the number, or the expression";
    OTHER_SETTING = "value::other-setting", "the text rounds a setting", "print the setting in full";
    TOO_COARSE = "value::too-coarse", "the inputs are printed too coarsely to decide", "publish them with more digits";
    STRADDLES = "value::straddles", "the value may lie on either side of the limit", "publish the inputs with more digits";
    TWO_READINGS = "value::two-readings", "\"over\" may be a limit or what a mean runs over, and the number fits one of them", "write \"more than\" for a limit";
    OTHER_SCALE = "value::other-scale", "the number agrees in another unit, or with the other sign", "write the unit and the sign beside the number, or give the value in its unit";
    ROUNDED_FURTHER = "value::rounded-further", "the number agrees only if its last zeros are rounded too", "print the digits, or \"about\"";
    ROUNDED_AWAY = "value::rounded-away", "a measured value is printed as 0 or as exact, and only rounds to that", "print its digits, or a limit: `p < 0.001`";
    UNCLEAR_WORDS = "value::unclear-words", "the words around the number compare or deny in a way that is not understood", "say it plainly, or bind it by a relation: `mean(x) < quoted(1)`";
    UNCLEAR_SIGNS = "value::unclear-signs", "how the signs of the number are read is not clear", "write it in plain digits, and a power or a note apart from them: `6^2`, `6 [^2]`";
    UNCLEAR_UNIT = "value::unclear-unit", "the unit behind the number is not known", "write a known unit, or bind the number by a relation: `mean(x) = quoted(1)`";
}

/// Holds a number of a text against a computed one.
pub fn judge(item: &QuoteItem, claimed: &Printed, given: &Quantity) -> Outcome {
    let (read, outcome) = match &item.other {
        None => (claimed, reading(claimed, item.hedge, given)),
        // Either of two readings may be meant, and the first is the usual one.
        Some(other) => {
            match (reading(claimed, item.hedge, given), reading(other, item.hedge, given)) {
                (first, second)
                    if first.verdict != Verdict::Verified
                        && second.verdict == Verdict::Verified =>
                {
                    (other, second)
                }
                // Of two that are wrong the nearer one is told.
                (first, second)
                    if [&first, &second].iter().all(|one| one.verdict == Verdict::Refuted)
                        && is_nearer(other, claimed, given) =>
                {
                    (other, second)
                }
                (first, _) => (claimed, first),
            }
        }
    };
    let outcome = doubted(outcome, item, read, &Scaled::of(read, given));
    measured_by(outcome, read, given)
}

/// Whether one reading of a number is nearer to what is given than another.
fn is_nearer(reading: &Printed, than: &Printed, given: &Quantity) -> bool {
    let distance = |one: &Printed| (one.value() - Scaled::of(one, given).point).abs();
    distance(reading) < distance(than)
}

/// Holds a number without any words against a computed one.
pub fn judge_alone(claimed: &Printed, given: &Quantity) -> Outcome {
    measured_by(reading(claimed, None, given), claimed, given)
}

/// The outcome with the numbers that it comes from.
fn measured_by(outcome: Outcome, claimed: &Printed, given: &Quantity) -> Outcome {
    let scaled = Scaled::of(claimed, given);
    let measured = measured_of(claimed, given, &scaled, outcome.rule);
    outcome.giving(shown(claimed, given, &scaled)).measuring([measured])
}

/// A number with the words around it, as one reading takes them.
fn reading(claimed: &Printed, hedge: Option<Hedge>, given: &Quantity) -> Outcome {
    let scaled = &Scaled::of(claimed, given);
    match hedge {
        Some(Hedge::Limit(bound)) => limit(claimed, bound, scaled),
        Some(Hedge::LimitOrCount(bound)) => limit_or_count(claimed, bound, scaled),
        Some(Hedge::LimitOrSetting(bound)) if given.leaf == Some(LeafKind::Setting) => {
            either(plain(claimed, given, scaled), limit(claimed, bound, scaled), claimed)
        }
        Some(Hedge::LimitOrSetting(bound)) => limit(claimed, bound, scaled),
        Some(Hedge::LimitOrBase(bound)) => {
            either(plain(claimed, given, scaled), limit(claimed, bound, scaled), claimed)
        }
        Some(Hedge::Base(bound)) => {
            unless(plain(claimed, given, scaled), &limit(claimed, bound, scaled), claimed)
        }
        Some(Hedge::End(bound, RangeWords::Between)) => {
            unless(plain(claimed, given, scaled), &limit(claimed, bound, scaled), claimed)
        }
        Some(Hedge::End(_, RangeWords::Dash)) | None => plain(claimed, given, scaled),
        Some(Hedge::Within) => limit(claimed, Bound::AtMost, &scaled.size()),
        Some(Hedge::Cut) => cut_off(claimed, scaled),
        Some(Hedge::Exactly) => exactly(claimed, plain(claimed, given, scaled), scaled),
        Some(Hedge::About) => near(claimed, scaled),
    }
}

/// A number that nothing around it makes anything else of.
fn plain(claimed: &Printed, given: &Quantity, scaled: &Scaled) -> Outcome {
    if claimed.approximate() {
        near(claimed, scaled)
    } else if given.leaf == Some(LeafKind::Setting) {
        setting(claimed, given, scaled)
    } else if is_reprint(claimed, given) {
        reprint(claimed, scaled)
    } else if claimed.is_full_float() && claimed.unit() == Unit::Plain {
        // Another unit is another number, however many digits there are.
        full_float(claimed, given, scaled)
    } else if claimed.is_integer_text()
        && claimed.unit() == Unit::Plain
        && scaled.interval.is_point()
        && scaled.point.is_integer()
    {
        exact(claimed, scaled)
    } else {
        measured(claimed, scaled)
    }
}

/// Two readings, of which nothing tells which is meant: they agree, or nothing is decided.
fn either(plain: Outcome, limit: Outcome, claimed: &Printed) -> Outcome {
    if plain.verdict == limit.verdict { limit } else { two_readings(&limit, claimed) }
}

/// The number as it stands, unless it would be refuted and holds as a limit.
fn unless(plain: Outcome, limit: &Outcome, claimed: &Printed) -> Outcome {
    match (plain.verdict, limit.verdict) {
        (Verdict::Refuted, Verdict::Verified) => two_readings(limit, claimed),
        _ => plain,
    }
}

fn two_readings(outcome: &Outcome, claimed: &Printed) -> Outcome {
    let reason =
        format!("it depends on whether \"{}\" is a limit or the number itself", claimed.text());
    open(outcome, &TWO_READINGS, reason)
}

/// An outcome that stays open, by the rule that was tried.
fn open(outcome: &Outcome, code: &'static Code, reason: String) -> Outcome {
    Outcome::inconclusive(code, reason).within(outcome.rule, outcome.tolerance.clone())
}

/// What is not understood is not refuted, and what is denied is not verified either.
fn doubted(outcome: Outcome, item: &QuoteItem, claimed: &Printed, scaled: &Scaled) -> Outcome {
    let is_decided = matches!(outcome.verdict, Verdict::Verified | Verdict::Refuted);
    if item.doubt == Some(Doubt::Meaning) && is_decided {
        let reason =
            format!("what the words near \"{}\" deny or compare is not clear", claimed.text());
        return open(&outcome, &UNCLEAR_WORDS, reason);
    }
    if item.doubt == Some(Doubt::Signs) && is_decided {
        let reason = format!("how \"{}\" is read is not clear", claimed.text());
        return open(&outcome, &UNCLEAR_SIGNS, reason);
    }
    if outcome.verdict == Verdict::Verified {
        return doubted_as_verified(outcome, item, claimed, scaled);
    }
    if outcome.verdict != Verdict::Refuted {
        return outcome;
    }
    if is_limit(item.hedge) && is_far_from_operations(claimed, scaled) {
        return of_another_size(&outcome, claimed, scaled);
    }
    match item.doubt {
        Some(Doubt::Words) => {
            let reason = format!("how the words near \"{}\" compare is not clear", claimed.text());
            open(&outcome, &UNCLEAR_WORDS, reason)
        }
        Some(Doubt::Unit) => {
            let reason =
                format!("what stands behind \"{}\" is no unit that is known", claimed.text());
            open(&outcome, &UNCLEAR_UNIT, reason)
        }
        Some(Doubt::OneOf) if !is_another_count(claimed, scaled) => one_of(&outcome, claimed),
        _ if is_one_in(claimed, scaled) => one_of(&outcome, claimed),
        _ if rounds_further(claimed, scaled) => {
            let reason = format!("it agrees if the zeros of \"{}\" are rounded", claimed.text());
            open(&outcome, &ROUNDED_FURTHER, reason)
        }
        _ => match other_scale(claimed, item.hedge, scaled) {
            Some(factor) => {
                let value = format_significant(&scaled.point, DIGITS);
                let reason =
                    format!("the evidence gives {value}: {factor} of \"{}\"", claimed.text());
                open(&outcome, &OTHER_SCALE, reason)
            }
            None => outcome,
        },
    }
}

/// What holds of the numbers alone: a limit in another unit, "nearly" of what lies above.
fn doubted_as_verified(
    outcome: Outcome,
    item: &QuoteItem,
    claimed: &Printed,
    scaled: &Scaled,
) -> Outcome {
    if is_limit(item.hedge) && item.doubt == Some(Doubt::Unit) {
        let reason = format!(
            "the unit behind \"{}\" need not be that of the evidence, and a limit holds in many units",
            claimed.text()
        );
        return open(&outcome, &UNCLEAR_UNIT, reason);
    }
    if is_limit(item.hedge) && is_far_from_operations(claimed, scaled) {
        return of_another_size(&outcome, claimed, scaled);
    }
    if item.doubt == Some(Doubt::Below) && scaled.point > *claimed.interval().high() {
        let value = format_significant(&scaled.point, DIGITS);
        let reason =
            format!("the evidence gives {value}, which is not below \"{}\"", claimed.text());
        return open(&outcome, &UNCLEAR_WORDS, reason);
    }
    outcome
}

/// Whether the words make a limit of the number.
fn is_limit(hedge: Option<Hedge>) -> bool {
    matches!(
        hedge,
        Some(
            Hedge::Limit(_)
                | Hedge::LimitOrCount(_)
                | Hedge::LimitOrSetting(_)
                | Hedge::LimitOrBase(_)
                | Hedge::Within
        )
    )
}

/// Whether a number of operations and its evidence are thousands apart: the evidence may count in another size.
fn is_far_from_operations(claimed: &Printed, scaled: &Scaled) -> bool {
    let size = scaled.point.abs();
    let thousand = BigRational::from_integer(1000.into());
    let limit = claimed.value().abs();
    claimed.text().to_ascii_lowercase().contains("flop")
        && (size > &limit * &thousand || size * thousand < limit)
}

fn of_another_size(outcome: &Outcome, claimed: &Printed, scaled: &Scaled) -> Outcome {
    let value = format_significant(&scaled.point, DIGITS);
    let reason = format!(
        "the evidence gives {value}, thousands away from \"{}\": it may count in another unit",
        claimed.text()
    );
    open(outcome, &OTHER_SCALE, reason)
}

fn one_of(outcome: &Outcome, claimed: &Printed) -> Outcome {
    let reason =
        format!("one is taken out of \"{}\", and the evidence may be of it", claimed.text());
    open(outcome, &UNCLEAR_WORDS, reason)
}

/// Whether the value is a count of things, and neither the one that is taken out of so many nor its share in percent.
fn is_another_count(claimed: &Printed, scaled: &Scaled) -> bool {
    let whole = |number: u32| BigRational::from_integer(number.into());
    scaled.point.is_integer()
        && scaled.point >= whole(2)
        && &scaled.point * claimed.value() != whole(100)
}

/// Whether the words say "one in six" and the value is that six.
fn is_one_in(claimed: &Printed, scaled: &Scaled) -> bool {
    let is_share = [" in ", " out of "].iter().any(|word| claimed.text().contains(word));
    is_share
        && claimed.approximate()
        && (&scaled.point * claimed.value()) == BigRational::from_integer(1.into())
}

/// Whether the value rounds to `330k`, or to `3070000000000.0` as Python prints a float, where the zeros are no digits
/// that were measured.
fn rounds_further(claimed: &Printed, scaled: &Scaled) -> bool {
    let digits = claimed.text().trim_end_matches(|c: char| c.is_alphabetic() || c == ' ');
    let float = claimed.text().strip_suffix(".0").filter(|whole| whole.ends_with("00"));
    let has_suffix = digits.len() < claimed.text().len() && !claimed.is_integer_text();
    let digits = float.unwrap_or(digits);
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let is_whole =
        digits.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let is_round = has_suffix || float.is_some();
    if !is_round || !is_whole || zeros == 0 || claimed.value().is_zero() {
        return false;
    }
    // The digit behind the point of a float is a place of its own.
    let places = zeros + usize::from(float.is_some());
    let place = claimed.last_place() * BigRational::from_integer(10.into()).pow(places as i32);
    let half = place / BigRational::from_integer(2.into());
    compare(&scaled.interval, &Interval::around(claimed.value(), &half)) == Agreement::Consistent
}

fn is_multiple_of_1024(scaled: &Scaled) -> bool {
    let thousands = &scaled.point / BigRational::from_integer(1024.into());
    thousands.is_integer() && !thousands.is_zero()
}

/// By what the number would have to be multiplied to agree: a sign, a percentage, thousands.
fn other_scale(claimed: &Printed, hedge: Option<Hedge>, scaled: &Scaled) -> Option<String> {
    let ratio = |top: i64, bottom: i64| BigRational::new(top.into(), bottom.into());
    let power = |power: i32| ratio(1000, 1).pow(power);
    let mut factors = vec![
        (ratio(-1, 1), "the negative".to_owned()),
        (ratio(1, 100), "a hundredth".to_owned()),
        (ratio(100, 1), "100 times".to_owned()),
    ];
    for thousands in (1..=6).flat_map(|power| [power, -power]) {
        factors.push((power(thousands), format!("10^{} times", 3 * thousands)));
    }
    // Prints of bytes do not say whether a megabyte is 1000² or 1024² of them, and 512K tokens may be 2^19.
    for (power, prefix) in [(1, 'k'), (1, 'K'), (2, 'M'), (3, 'G'), (4, 'T')] {
        let is_unit = |sign: &str| claimed.text().ends_with(&format!("{prefix}{sign}"));
        let is_binary = power == 1 && is_unit("") && is_multiple_of_1024(scaled);
        if is_unit("B") || is_unit("iB") || is_binary {
            factors.push((ratio(1024, 1000).pow(power), format!("(1024/1000)^{power} times")));
        }
        factors.push((ratio(1024, 1).pow(-power), format!("1024^-{power} times")));
        factors.push((ratio(1024, 1).pow(power), format!("1024^{power} times")));
    }
    let near = claimed.value().abs() * about_tolerance();
    // A number in words has no last digit.
    let allowed = match claimed.approximate() || hedge == Some(Hedge::About) {
        true => about(claimed),
        false => claimed.interval(),
    };
    let agrees = |factor: &BigRational| {
        let value = scaled.interval.scaled(&factor.recip());
        compare(&value, &allowed) == Agreement::Consistent
            && (&scaled.point / factor - claimed.value()).abs() <= near
    };
    let is_nothing = claimed.value().is_zero() || scaled.point.is_zero();
    factors.into_iter().find(|(factor, _)| !is_nothing && agrees(factor)).map(|(_, name)| name)
}

/// A number that is said to be exact: what only rounds to it is another one.
fn exactly(claimed: &Printed, plain: Outcome, scaled: &Scaled) -> Outcome {
    match plain.verdict {
        Verdict::Verified if scaled.interval != claimed.exact() => {
            rounded_away(&plain, claimed, scaled)
        }
        _ => plain,
    }
}

fn rounded_away(outcome: &Outcome, claimed: &Printed, scaled: &Scaled) -> Outcome {
    let value = format_significant(&scaled.point, DIGITS);
    open(
        outcome,
        &ROUNDED_AWAY,
        format!("the evidence gives {value}, which only rounds to \"{}\"", claimed.text()),
    )
}

/// Digits that are cut off and not rounded.
fn cut_off(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let rounded = measured(claimed, scaled);
    match (truncates_to(&scaled.interval, claimed), rounded.verdict) {
        (_, Verdict::Inconclusive) => rounded,
        (true, _) => Outcome::verified().within(CUT, "the digits that are printed"),
        (false, Verdict::Verified) => {
            let reason = format!(
                "\"{}\" is rounded, and its dots say that digits are cut off",
                claimed.text()
            );
            Outcome::inconclusive(&STRADDLES, reason).within(CUT, "the digits that are printed")
        }
        (false, _) => rounded,
    }
}

/// The numbers of the comparison, in the unit of the print.
fn measured_of(claimed: &Printed, given: &Quantity, scaled: &Scaled, rule: &str) -> Measured {
    let ends = |interval: &Interval| [nearest_f64(interval.low()), nearest_f64(interval.high())];
    let allowed = match rule {
        ABOUT => Some(ends(&about(claimed))),
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
        ..Measured::default()
    }
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

    /// The number without its sign.
    fn size(&self) -> Self {
        let (low, high) = (self.interval.low().abs(), self.interval.high().abs());
        let crosses = self.interval.low().is_negative() && self.interval.high().is_positive();
        let least = if crosses { BigRational::zero() } else { low.clone().min(high.clone()) };
        Self { interval: Interval::between(least, low.max(high)), point: self.point.abs() }
    }
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

/// A setting is stated, not measured. What counts things in thousands or millions says itself that it rounds.
fn setting(claimed: &Printed, given: &Quantity, scaled: &Scaled) -> Outcome {
    let outcome = if scaled.interval.contains(claimed.value()) {
        Outcome::verified()
    } else if counts_in_thousands(claimed) && scaled.point.is_integer() {
        return measured(claimed, scaled);
    } else if scaled.interval.meets(&claimed.interval()) {
        let reason =
            format!("the setting is {}; \"{}\" only rounds it", given.derivation, claimed.text());
        Outcome::inconclusive(&OTHER_SETTING, reason)
    } else {
        Outcome::refuted(&DIFFERS, apart(claimed, scaled))
    };
    outcome.within(SETTING, "exact")
}

/// Whether a number is written with a size behind it: `4.06M`, "1.2 million".
fn counts_in_thousands(claimed: &Printed) -> bool {
    let size = claimed.text().trim_start_matches(|c: char| !c.is_alphabetic());
    let thousand = BigRational::from_integer(1000.into());
    !matches!(size.chars().next(), None | Some('e' | 'E'))
        && claimed.unit() == Unit::Plain
        && *claimed.value() >= thousand
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
    let rounded = rounded(claimed, scaled);
    let says_nothing = claimed.value().is_zero() && claimed.is_integer_text();
    match rounded.verdict {
        Verdict::Verified if says_nothing && !scaled.interval.contains(claimed.value()) => {
            rounded_away(&rounded, claimed, scaled)
        }
        _ => rounded,
    }
}

fn rounded(claimed: &Printed, scaled: &Scaled) -> Outcome {
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
            let is_cut = truncates_to(&scaled.interval, claimed);
            let also = match is_cut {
                true => "; cutting digits off instead of rounding would give it",
                false => "",
            };
            let reason = format!("{}{also}", apart(claimed, scaled));
            // Models are named by sizes whose digits are cut off: "the 755M model".
            match is_cut && counts_in_thousands(claimed) {
                true => Outcome::inconclusive(&STRADDLES, reason),
                false => Outcome::refuted(&DIFFERS, reason),
            }
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

/// What "about" allows a number: 5% of it, and no more than five of its last digit, where it has digits.
fn about(claimed: &Printed) -> Interval {
    let most = about_tolerance();
    let last = last_digit(claimed) * BigRational::from_integer(BigInt::from(ABOUT_DIGITS));
    match claimed.value().is_zero() || last.is_zero() {
        true => claimed.about(&most),
        false => claimed.about(&(last / claimed.value().abs()).min(most)),
    }
}

/// The size of the last digit of a print. Zeros at the end of whole numbers are not meant: "about 1,200".
fn last_digit(claimed: &Printed) -> BigRational {
    let mut last = claimed.last_place().clone();
    let ten = BigRational::from_integer(BigInt::from(10));
    let is_whole = !claimed.text().contains('.');
    while is_whole && !last.is_zero() && (claimed.value() / (&last * &ten)).is_integer() {
        last *= &ten;
        if last > claimed.value().abs() {
            break;
        }
    }
    last
}

fn near(claimed: &Printed, scaled: &Scaled) -> Outcome {
    let allowed = about(claimed);
    let inside =
        allowed.contains(scaled.interval.low()) && allowed.contains(scaled.interval.high());
    // A word is no measurement: far off it is wrong, a little off it is a matter of taste.
    let wide = claimed.about(&(about_tolerance() * BigRational::from_integer(BigInt::from(5))));
    let outcome = if inside {
        Outcome::verified()
    } else if scaled.interval.meets(&wide) {
        let reason = format!(
            "{} is further from \"{}\" than \"about\" allows in every post",
            format_significant(&scaled.point, DIGITS),
            claimed.text()
        );
        Outcome::inconclusive(&STRADDLES, reason)
    } else {
        Outcome::refuted(&DIFFERS, apart(claimed, scaled))
    };
    outcome.within(ABOUT, "± 5%, and ± 5 of the last digit")
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
        Verdict::Verified => {
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
                let share = (&difference / &scaled.point).abs() * &hundred;
                // Two digits of 99.96 are 100.
                let digits = if share < BigRational::from_integer(99.into()) { 2 } else { 3 };
                // Beyond ten times, a percentage says less than the values.
                match share > &hundred * BigRational::from_integer(10.into()) {
                    true => String::new(),
                    false => format!(" ({}%)", format_significant(&share, digits)),
                }
            }
        };
    let value = format_significant(&scaled.point, DIGITS);
    format!(
        "the evidence gives {value}{}, \"{}\" is {size}{sign} too {side}{share}",
        claimed.unit().sign(),
        claimed.text()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_claim::quote::{ItemKind, items};

    /// The verdict on the last number of a text, for a value that was computed.
    fn verdict(text: &str, value: &str, leaf: Option<LeafKind>) -> (char, &'static str) {
        let value = Printed::parse(value).unwrap();
        let given = Quantity {
            leaf,
            ..Quantity::result(value.exact(), value.as_f64(), String::new(), &[])
        };
        let items = items(text);
        let item = items.last().unwrap_or_else(|| panic!("no number in {text}"));
        let (ItemKind::Number(printed) | ItemKind::Spread(printed)) = &item.kind else {
            panic!("no number: {item:?}")
        };
        let outcome = judge(item, printed, &given);
        let code = outcome.code.map_or("", |code| code.id);
        match outcome.verdict {
            Verdict::Verified => ('v', code),
            Verdict::Refuted => ('r', code),
            Verdict::Inconclusive => ('i', code),
            Verdict::Unchecked => ('u', code),
        }
    }

    /// Each text with values that make it true (v), false (r), or that decide nothing (i).
    fn check(table: &[(&str, &[(&str, char)])]) {
        let mut wrong = Vec::new();
        for (text, cases) in table {
            for (value, expected) in *cases {
                let (found, code) = verdict(text, value, None);
                if found != *expected {
                    wrong.push(format!("{text} | {value}: {found} {code}, not {expected}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn what_only_rounds_to_nothing_or_to_an_exact_number_is_open() {
        check(&[
            ("a gap of 0", &[("0", 'v'), ("0.015", 'i'), ("0.6", 'r')]),
            ("a gap of 0%", &[("0.002", 'i'), ("0", 'v')]),
            ("p = 0.000", &[("0.0004", 'v'), ("0.001", 'r')]),
            ("exactly 2x as many", &[("2", 'v'), ("1.6", 'i'), ("2.6", 'r')]),
            ("exactly 1209 steps", &[("1209", 'v'), ("1210", 'r')]),
        ]);
    }

    #[test]
    fn denied_limits_are_the_opposite_limits() {
        check(&[
            ("no fewer than 1,300 steps", &[("1209", 'r'), ("1300", 'v'), ("1301", 'v')]),
            ("not less than 1200 steps", &[("1209", 'v'), ("1199", 'r')]),
            ("No seed ends above 1.72.", &[("1.7143", 'v'), ("1.7243", 'i'), ("1.7343", 'r')]),
            ("No seed ends at more than 1.73.", &[("1.7243", 'v'), ("1.74", 'r')]),
            ("a loss not above 1.70", &[("1.6916", 'v'), ("1.7116", 'r')]),
            ("a loss not below 1.70", &[("1.7016", 'v'), ("1.68", 'r')]),
            ("no expert takes more than 26%", &[("0.268", 'r'), ("0.25", 'v')]),
            ("a loss no higher than 1.71", &[("1.7016", 'v'), ("1.73", 'r')]),
            ("1.71 or less", &[("1.7016", 'v'), ("1.72", 'r')]),
            ("1200 steps or more", &[("1209", 'v'), ("1199", 'r')]),
            ("It never drops below 1.68.", &[("1.6867", 'v'), ("1.66", 'r')]),
            ("None exceeds 1.73.", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("it does not exceed 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("it isn't above 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("less than two thirds", &[("0.77", 'r'), ("0.6", 'v')]),
        ]);
    }

    #[test]
    fn what_one_is_taken_out_of_may_be_the_one_or_its_share() {
        check(&[
            ("One item in four is right", &[("0.25", 'v'), ("4", 'v'), ("0.5", 'i'), ("5", 'r')]),
            ("At least one item in four is right", &[("0.25", 'i'), ("0.24", 'i')]),
            ("One seed of six is worse", &[("1", 'i'), ("6", 'v'), ("0.17", 'i'), ("5", 'r')]),
            ("one right answer out of four", &[("0.25", 'v'), ("25", 'i')]),
            ("One in six seeds loses", &[("6", 'i'), ("0.1667", 'v'), ("0.5", 'r')]),
            ("one run of 1,210 steps", &[("1209", 'r'), ("1210", 'v')]),
            ("half a percent", &[("0.005", 'v'), ("0.5", 'i'), ("0.008", 'r')]),
            ("a half-dozen seeds", &[("6", 'v'), ("3", 'r')]),
        ]);
    }

    #[test]
    fn what_is_denied_in_another_way_stays_open() {
        for text in [
            "no warmup ends above 1.72",
            "not clearly above 1.72",
            "need not exceed 1.72",
            "without a shared expert the loss is above 1.72",
            "not only above 1.72",
            "neither below 1.6 nor above 1.72",
            "whether or not above 1.72",
            "No, it is above 1.72",
            "hardly above 1.72",
            "was never before below 1.72",
            "better than 1.72",
            "not 1.72",
        ] {
            for value in ["1.60", "1.72", "1.80"] {
                assert_eq!(verdict(text, value, None).0, 'i', "{text} | {value}");
            }
        }
    }

    /// Texts of which nothing is decided, whatever the value is.
    fn is_open(texts: &[&str], values: &[&str]) {
        let mut wrong = Vec::new();
        for text in texts {
            for value in values {
                let (found, code) = verdict(text, value, None);
                if found != 'i' {
                    wrong.push(format!("{text} | {value}: {found} {code}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn denied_numbers_decide_nothing() {
        is_open(
            &[
                "No seed reaches 1.68.",
                "No MoE seed reaches 1.68",
                "The MoE never reaches 1.68",
                "Not even the best seed reaches 1.68",
                "No seed, as the table shows, reaches 1.68",
                "The MoE fails to reach 1.68",
                "It fails to beat 1.68",
                "It cannot reach 1.68",
                "It misses 1.68",
                "It falls short of 1.68",
                "It doesn't hit 1.68",
                "1.68 was never achieved",
                "1.68 is reached by no seed",
                "1.68 nats is out of reach",
                "No run crossed 1.68",
                "None is as low as 1.68",
                "None of the six seeds of the MoE in this table of results of the last step reaches 1.68",
                "It is hardly 1.68",
                "It is nowhere near 1.68",
                "anything but 1.68",
                "far from 1.68",
                "fails to get below 1.68",
                "neither above 1.73 nor below 1.68",
                "It has yet to reach 1.68",
                "The loss differs from 1.68",
                "Few seeds reach 1.68",
                "No model has a loss higher than 1.73 or lower than 1.68",
            ],
            &["1.6867", "1.68", "1.60", "1.73"],
        );
        check(&[
            ("It does not diverge. It ends at 1.68", &[("1.68", 'v'), ("1.6867", 'r')]),
            ("Not one of the six", &[("6", 'v'), ("5", 'r')]),
            ("A few seeds reach 1.68", &[("1.68", 'v'), ("1.6867", 'r')]),
            ("None of the six", &[("6", 'v'), ("5", 'r')]),
            ("It is not stable: 1.68", &[("1.68", 'v'), ("1.6867", 'r')]),
            ("The model (no shared expert) ends at 1.68", &[("1.68", 'v'), ("1.6867", 'r')]),
            ("The gap (not small) is 1.68", &[("1.68", 'v'), ("1.6867", 'r')]),
            ("not only 1.68", &[("1.68", 'v'), ("1.6867", 'r')]),
            ("It does not reach dense (1.68)", &[("1.68", 'v'), ("1.6867", 'i')]),
            ("1.68 is not significant", &[("1.68", 'v'), ("1.6867", 'r')]),
            ("as high as 1.73", &[("1.73", 'v'), ("1.7243", 'i')]),
        ]);
    }

    #[test]
    fn numbers_are_denied_by_the_words_behind_them() {
        for text in [
            "more than 1.68 is reached by no seed",
            "~1.68 is reached by no seed",
            "1.68 has yet to be reached",
            "1.68 was missed",
        ] {
            assert_eq!(items(text)[0].doubt, Some(Doubt::Meaning), "{text}");
        }
        assert_eq!(items("1.68 is what the best seed reaches")[0].doubt, None);
    }

    #[test]
    fn a_denial_reaches_over_its_clause() {
        check(&[
            (
                "None of the six seeds of the MoE gets below 1.68.",
                &[("1.6867", 'v'), ("1.66", 'r')],
            ),
            (
                "None of the MoE's runs ended with a final loss of less than 1.68",
                &[("1.6867", 'v'), ("1.66", 'r')],
            ),
            (
                "No model from this group has a validation loss lower than 1.68",
                &[("1.6867", 'v'), ("1.66", 'r')],
            ),
            ("No MoE seed ends above 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("No seed of the MoE ends above 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("None of them ends above 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("No seed's loss is above 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("Not a single seed ends above 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("Neither arm ends above 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("No loss exceeds 1.73", &[("1.7243", 'v'), ("1.75", 'r')]),
            ("No seed that diverges ends above 1.73", &[("1.7243", 'i'), ("1.75", 'i')]),
            ("No seed fails to get below 1.73", &[("1.7243", 'i'), ("1.75", 'i')]),
        ]);
    }

    #[test]
    fn units_of_another_size_decide_nothing() {
        is_open(
            &[
                "roughly 73 ms",
                "over 70 ms",
                "at least 70 ms",
                "at most 100 ms",
                "0.01 minutes",
                "0.02 h",
                "less than 5 hours",
                "less than 0.001 hours",
                "some 14.5 millinats",
                "at most 300 millinats",
                "more than 7 points above chance",
                "at least 7 points",
                "about 7.5 points",
                "7.7 points above chance",
                "12pts",
                "88 basis points",
                "between 70 and 75 ms",
            ],
            &["0.0727"],
        );
        check(&[
            ("75 ms", &[("75", 'v'), ("0.075", 'i')]),
            ("over 70 seconds", &[("73", 'v'), ("60", 'r')]),
            ("5 percentage points", &[("0.05", 'v'), ("0.07", 'r')]),
            ("~3.1 TFLOPs", &[("3066000000000", 'v'), ("5000000000000", 'r')]),
            ("3.07 teraFLOPs", &[("3066000000000", 'v'), ("3166000000000", 'r')]),
            ("0.0031 PFLOPs", &[("3066000000000", 'v'), ("4066000000000", 'r')]),
            ("one TFLOP, or 3.07 TFLOP", &[("3066000000000", 'v'), ("3.07", 'i')]),
            ("under 4 TFLOPs", &[("3066000000000", 'v'), ("5000000000000", 'r'), ("3.1", 'i')]),
            ("exceeds 900 PFLOPs", &[("3066000000000", 'i')]),
        ]);
    }

    #[test]
    fn containers_and_signs_that_are_not_read() {
        for text in [
            "within [1.68, 1.73]",
            "in the interval 1.68–1.73",
            "inside 1.68 to 1.73",
            "∈ (1.68, 1.73)",
            "in the range of 1.68 to 1.73",
            "1.68 < all losses < 1.73",
        ] {
            for (at, good, bad) in [(0, "1.6867", "1.66"), (1, "1.7243", "1.75")] {
                let found = items(text);
                let ItemKind::Number(number) = &found[at].kind else { panic!("{text}") };
                let judged = |value: &str| {
                    let value = Printed::parse(value).unwrap();
                    let given = Quantity::result(value.exact(), value.as_f64(), String::new(), &[]);
                    judge(&found[at], number, &given).verdict
                };
                assert_ne!(judged(good), Verdict::Refuted, "{text} | {good}");
                assert_ne!(judged(bad), Verdict::Verified, "{text} | {bad}");
            }
        }
        is_open(
            &[
                "≪ 1.68",
                "≫ 1.68",
                r"\ll 1.68",
                r"\gg 1.68",
                "≲ 1.68",
                "≠ 1.68",
                "!= 1.68",
                "≯ 1.68",
                "≮ 1.68",
                r"$\neq 1.68$",
                "loss << 1.68",
            ],
            &["1.68", "1.60", "1.73"],
        );
        is_open(
            &["e^1.7016", "√1.7016", "1.7016²", "1.7016½", "1.7016^2", "log(1.7016"],
            &["1.7016", "5.48"],
        );
        check(&[
            ("> 1.68", &[("1.70", 'v'), ("1.6", 'r')]),
            ("1.68<br>", &[("1.68", 'v'), ("1.6", 'r')]),
            ("the log 1.68", &[("1.68", 'i')]),
            ("the dialog 1.68", &[("1.68", 'v'), ("1.6", 'r')]),
            ("nearly 1.65", &[("1.64", 'v'), ("1.70", 'i'), ("2.4", 'r')]),
            ("1.7016(134)", &[("0.0134", 'v'), ("0.0234", 'r')]),
            ("1.70160(1343)", &[("0.01343", 'v'), ("0.02343", 'r')]),
        ]);
    }

    #[test]
    fn shares_measures_and_units_of_lists() {
        check(&[
            ("one in three", &[("0.333", 'v'), ("0.6", 'r')]),
            ("one out of four seeds", &[("0.25", 'v'), ("0.6", 'r')]),
            ("about 1 in 3", &[("0.333", 'v'), ("0.6", 'r')]),
            ("seed 1 in 3 arms", &[("3", 'v'), ("4", 'r')]),
            ("2/3 of all runs", &[("0.667", 'v'), ("0.9", 'r')]),
            ("1/4 is it", &[("0.25", 'v'), ("0.5", 'r')]),
            ("lower by a third", &[("0.333", 'v'), ("0.6", 'r')]),
            ("over nine times as many", &[("9.39", 'v'), ("8.4", 'r')]),
            ("over nine seeds", &[("9", 'v'), ("10", 'i'), ("8", 'r')]),
            ("one percent", &[("0.01", 'v'), ("0.02", 'r')]),
            ("Sixty-three percent", &[("0.63", 'v'), ("0.53", 'r')]),
        ]);
        for (text, good, bad) in [
            ("0.72, 1.69 and 6.79 million tokens", "720000", "820000"),
            ("0.18/0.42/1.70M", "180000", "280000"),
            ("72 vs. 60 percent", "0.72", "0.82"),
            ("Tokens, in millions: 0.72, 1.69 and 6.79", "720000", "820000"),
            ("Accuracies (%): 32.7, 33.1", "0.327", "0.5"),
            ("Accuracies are 32.7, 33.1 and 32.3%", "0.327", "0.5"),
        ] {
            let found = items(text);
            let ItemKind::Number(number) = &found[0].kind else { panic!("{text}") };
            let judged = |value: &str| {
                let value = Printed::parse(value).unwrap();
                let given = Quantity::result(value.exact(), value.as_f64(), String::new(), &[]);
                judge(&found[0], number, &given).verdict
            };
            assert_eq!(judged(good), Verdict::Verified, "{text} | {good}");
            assert_eq!(judged(bad), Verdict::Refuted, "{text} | {bad}");
        }
    }

    #[test]
    fn the_base_of_a_difference_is_no_limit() {
        check(&[
            ("0.0160 below 1.6516", &[("1.651626", 'v'), ("1.6616", 'r'), ("1.60", 'i')]),
            ("0.0160 nats less than 1.6516", &[("1.651626", 'v'), ("1.6616", 'r')]),
            ("improves over 1.717", &[("1.71676", 'v'), ("1.700", 'r')]),
            ("0.9% over 1.717", &[("1.71676", 'v'), ("1.700", 'r')]),
            ("9.4 times more than 722,944", &[("722944", 'v'), ("722900", 'r')]),
            ("720 steps more than 1,209", &[("1209", 'v'), ("1200", 'r')]),
            ("three seeds below 1.70", &[("1.68", 'i'), ("1.7049", 'i'), ("1.75", 'r')]),
            ("4.5% better than 1.717", &[("1.71676", 'v'), ("1.75", 'r')]),
        ]);
        // A setting may itself be a threshold.
        let setting = Some(LeafKind::Setting);
        assert_eq!(verdict("norms above 1 are clipped", "1", setting).0, 'i');
        assert_eq!(verdict("norms above 0.5 are clipped", "1", setting).0, 'i');
        assert_eq!(verdict("norms above 2 are clipped", "1", setting).0, 'r');
    }

    #[test]
    fn signs_of_limits_and_signs_that_are_none() {
        check(&[
            ("1.702 -> 1.636", &[("1.63562", 'v'), ("1.7", 'r')]),
            ("<b>1.702</b>", &[("1.7016", 'v'), ("1.8", 'r')]),
            ("at least <b>1.5</b>", &[("1.7016", 'v'), ("1.4", 'r')]),
            ("at most **1.71**", &[("1.7016", 'v'), ("1.8", 'r')]),
            (r"$\mathcal{L} \leq 1.71$", &[("1.7016", 'v'), ("1.8", 'r')]),
            (r"$\mathcal{L} \lt 1.71$", &[("1.7016", 'v'), ("1.8", 'r')]),
            ("loss &lt; 1.71", &[("1.7016", 'v'), ("1.8", 'r')]),
            ("loss ⩽ 1.71", &[("1.7016", 'v'), ("1.8", 'r')]),
            (r"$\geq 1200$ steps", &[("1209", 'v'), ("1100", 'r')]),
            (
                "agree to within 3%",
                &[("0.022", 'v'), ("-0.022", 'v'), ("0.05", 'r'), ("-0.05", 'r')],
            ),
            ("up to 1.724", &[("1.72432", 'i'), ("1.7", 'v'), ("1.8", 'r')]),
            ("a loss of~1.70", &[("1.7016", 'v'), ("1.75", 'r')]),
        ]);
    }

    #[test]
    fn signs_and_units_of_numbers() {
        check(&[
            ("a gap of $-0.305$ nats", &[("-0.3054", 'v'), ("0.3054", 'i'), ("-0.5", 'r')]),
            ("changes by –22.9%", &[("-0.2293", 'v'), ("-0.33", 'r')]),
            ("&minus;0.0152", &[("-0.01516", 'v'), ("-0.0252", 'r')]),
            ("a gap of − 0.0152", &[("-0.01516", 'v'), ("-0.0252", 'r')]),
            ("minus 0.0152", &[("-0.01516", 'v'), ("-0.0252", 'r')]),
            ("1.70 − 0.0152", &[("0.01516", 'v'), ("0.0252", 'r')]),
            ("1.687–1.724", &[("1.72432", 'v'), ("1.74", 'r')]),
            (r"23\% lower", &[("0.2293", 'v'), ("0.33", 'r')]),
            ("23 per cent", &[("0.2293", 'v'), ("0.33", 'r')]),
            ("229‰", &[("0.2293", 'v'), ("0.33", 'r')]),
            ("329 thousand", &[("329280", 'v'), ("429280", 'r')]),
            ("half a million", &[("495616", 'v'), ("800000", 'r')]),
            ("two million", &[("1980416", 'v'), ("3000000", 'r')]),
            ("3.98 MB", &[("3978992", 'v'), ("4978992", 'r')]),
            ("3.79 MB", &[("3978992", 'i')]),
            ("330k", &[("329280", 'i'), ("339280", 'r')]),
            ("3070000000000.0", &[("3069692206592", 'i'), ("3064692206592", 'r')]),
            ("2476000.0", &[("2476032", 'i'), ("2476532", 'r')]),
            ("2476010.0", &[("2476011", 'r'), ("2476010", 'v')]),
            ("24 GiB", &[("23.54", 'i'), ("25276510208", 'v'), ("17", 'r')]),
            ("two and a half million", &[("2476032", 'v'), ("3476032", 'r')]),
            ("4,056,255 training bytes at most once", &[("4056255", 'v'), ("4056254", 'r')]),
            (
                "between 1.70 and 1.71",
                &[("1.7063", 'v'), ("1.705", 'v'), ("1.706", 'v'), ("1.72", 'r')],
            ),
            ("5 Models", &[("5", 'v'), ("6", 'r')]),
            ("250ms", &[("250", 'v'), ("0.3", 'i')]),
            ("10⁻⁸", &[("0.00000001", 'v'), ("0.0000001", 'r')]),
            ("2¹⁹ tokens", &[("524288", 'v'), ("524289", 'r')]),
            ("2^19 tokens", &[("524288", 'v'), ("524289", 'r')]),
            ("10^-3", &[("0.001", 'v'), ("0.01", 'r')]),
            (r"$4\times 10^{-3}$", &[("0.004", 'v'), ("0.005", 'r')]),
            ("4·10⁻³", &[("0.004", 'v'), ("0.005", 'r')]),
            ("4 x 10^-3", &[("0.004", 'v'), ("0.005", 'r')]),
        ]);
    }

    #[test]
    fn fractions_words_and_hedges() {
        check(&[
            ("more than three quarters", &[("0.77", 'v'), ("0.7", 'r')]),
            ("two thirds", &[("0.667", 'v'), ("0.9", 'r')]),
            ("a fifth of the steps", &[("0.2", 'v'), ("0.3", 'r')]),
            ("1/5 of the steps", &[("0.2", 'v'), ("0.3", 'r')]),
            ("fivefold", &[("5.003", 'v'), ("7", 'r')]),
            ("zero dead experts", &[("0", 'v'), ("1", 'r')]),
            ("a dozen runs", &[("12", 'v'), ("18", 'r')]),
            ("twenty-five runs", &[("25", 'v'), ("20", 'r')]),
            ("sixteen runs", &[("16", 'v'), ("15", 'r')]),
            ("a third of a million", &[("329280", 'v'), ("500000", 'r')]),
            ("some 1200 steps", &[("1209", 'v'), ("2000", 'r')]),
            ("ca. 1,200 steps", &[("1209", 'v'), ("2000", 'r')]),
            ("1200ish steps", &[("1209", 'v'), ("2000", 'r')]),
            ("1200 steps or so", &[("1209", 'v'), ("2000", 'r')]),
            (r"$\sim 1200$ steps", &[("1209", 'v'), ("2000", 'r')]),
            ("1,200+ steps", &[("1209", 'v'), ("1100", 'r')]),
            ("upwards of 1200 steps", &[("1209", 'v'), ("1100", 'r')]),
            ("just over 1.70", &[("1.7016", 'v'), ("1.69", 'r')]),
            ("no more than about 1200 steps", &[("1209", 'v'), ("600", 'i')]),
            ("on the order of 1200 steps", &[("1200", 'i'), ("9000", 'i')]),
        ]);
    }

    #[test]
    fn spreads_cuts_and_groups() {
        check(&[
            ("1.702(13)", &[("0.01343", 'v'), ("0.0243", 'r')]),
            ("1.702 ± 0.8%", &[("0.0079", 'v'), ("0.0179", 'r')]),
            ("1.716…", &[("1.716762", 'v'), ("1.717762", 'r'), ("1.7159", 'i')]),
            ("1.7167...", &[("1.716762", 'v'), ("1.716862", 'r')]),
            ("1 209 steps", &[("1209", 'v'), ("209", 'r')]),
            ("1'209 steps", &[("1209", 'v'), ("209", 'r')]),
            ("$1{,}209$ steps", &[("1209", 'v'), ("209", 'r')]),
            (r"1\,209 steps", &[("1209", 'v'), ("209", 'r')]),
            ("2&nbsp;476&nbsp;032", &[("2476032", 'v'), ("32", 'r')]),
            ("_1,209_ steps", &[("1209", 'v'), ("1208", 'r')]),
            ("x9.4", &[("9.385", 'v'), ("8.4", 'r')]),
            ("256x2048", &[("2048", 'v'), ("1024", 'r')]),
            ("1.702^1^", &[("1.7016", 'v'), ("1.8", 'r')]),
            ("1.702[^1]", &[("1.7016", 'v'), ("1.8", 'r')]),
        ]);
    }

    #[test]
    fn another_scale_is_not_refuted_and_never_verified() {
        for (text, value) in [
            ("the share, times 100, is 22.9", "0.22929"),
            ("a gap of 0.0152", "-0.015162"),
            ("2.48 tokens in millions", "2476032"),
            ("in thousandths: 15.2", "0.015162"),
        ] {
            assert_eq!(verdict(text, value, None), ('i', "value::other-scale"), "{text}");
        }
        assert_eq!(verdict("a loss of 1.70", "1.75", None).0, 'r');
        assert_eq!(verdict("no dead experts: 0", "0", None).0, 'v');
    }
}
