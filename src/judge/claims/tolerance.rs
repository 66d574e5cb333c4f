//! The tolerance rules that kinds share: rounding_interval for measured values, exact_integer for counts, float_4ulp for fields
//! that print a binary float in full, and declared or default tolerances for "about".

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

use crate::evidence::{BAD_CHOICE, EvidenceQuantity, NOT_A_NUMBER, whole};
use crate::post::Claim;
use repro_exact::decimal::{
    Agreement, Interval, Printed, Unit, about_tolerance, ceils_to, compare, format_significant,
    nearest_f64, truncates_to, ulp_distance,
};
use repro_receipt::source::{Code, Error, Node, codes};
use repro_report::outcome::Outcome;

/// The most units in the last place by which two binary floats that state one number may differ.
pub const ULPS: u64 = 4;
/// From here on a distance is no longer told in units in the last place.
const FAR: u64 = 1_000_000;
/// The significant digits of computed numbers in reports.
pub const DIGITS: usize = 10;

codes! {
    TOO_COARSE = "tolerance::too-coarse", "the inputs are printed too coarsely to decide", "publish the inputs with more digits";
    OTHER_UNIT = "tolerance::other-unit", "claim and evidence are in units that do not compare", "percent and percentage points are two units: correct one of them";
    STRADDLES = "tolerance::straddles", "the recomputed interval lies on both sides of the limit", "publish the inputs with more digits";
}

/// What a claim declares about its own tolerance.
#[derive(Debug, Default)]
pub struct Declared {
    tolerance: Option<BigRational>,
    rounding: Option<Rounding>,
}

/// How a printed value came from the exact one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest.
    Nearest,
    /// Digits cut off.
    Truncated,
    /// Away from zero's side, up.
    Up,
}

impl Declared {
    /// Whether the claim declares nothing.
    pub fn is_empty(&self) -> bool {
        self.tolerance.is_none() && self.rounding.is_none()
    }

    /// Reads `tolerance` and `rounding` of a claim.
    pub fn of(claim: &Claim) -> Result<Self, Error> {
        let tolerance = claim.node.get("tolerance").map(fraction).transpose()?;
        let rounding = claim.node.get("rounding").map(rounding).transpose()?;
        Ok(Self { tolerance, rounding })
    }
}

/// A declared tolerance such as `"2%"`, as a fraction.
pub fn fraction(node: Node) -> Result<BigRational, Error> {
    let text = node.text()?;
    match Printed::parse(text) {
        Ok(printed) if *printed.value() >= BigRational::from_integer(0.into()) => {
            Ok(printed.value() / printed.unit().per_one())
        }
        _ => Err(BAD_CHOICE.at(node.place(), "a tolerance such as `\"2%\"`", format!("`{text}`"))),
    }
}

fn rounding(node: Node) -> Result<Rounding, Error> {
    match node.text()? {
        "nearest" => Ok(Rounding::Nearest),
        "truncated" => Ok(Rounding::Truncated),
        "up" => Ok(Rounding::Up),
        other => {
            Err(BAD_CHOICE.at(node.place(), "`nearest`, `truncated` or `up`", format!("`{other}`")))
        }
    }
}

/// The claimed text as a printed number.
pub fn printed(node: Node) -> Result<Printed, Error> {
    printed_as(node, node.text()?)
}

/// The part `text` of what is claimed at `node`, as a printed number.
pub fn printed_as(node: Node, text: &str) -> Result<Printed, Error> {
    Printed::parse(text).map_err(|error| {
        let found = format!("`{}`: {}", error.text, error.flaw);
        super::NOT_PRINTED.at(node.place(), "a printed number", found)
    })
}

/// The claimed text as a number of steps: whole, not negative, and not "about" or "over" something.
pub fn printed_steps(node: Node) -> Result<BigInt, Error> {
    let printed = printed(node)?;
    let plain = !printed.approximate() && printed.bound().is_none();
    whole(&printed.exact()).filter(|steps| plain && !steps.is_negative()).ok_or_else(|| {
        NOT_A_NUMBER.at(node.place(), "a whole number of steps", format!("`{}`", printed.text()))
    })
}

/// Judges a claimed number against a recomputed one; `differs` is the kind's code for a refutation.
pub fn judge(
    claimed: &Printed,
    given: &EvidenceQuantity,
    declared: &Declared,
    differs: &'static Code,
) -> Outcome {
    let Some(worth) = claimed.unit().worth_in(given.unit) else {
        let reason = format!(
            "the evidence gives {}, the claim states {}",
            given.unit.word(),
            claimed.unit().word()
        );
        return Outcome::refuted(&OTHER_UNIT, reason);
    };
    let recomputed = Recomputed {
        point: given.value() / &worth,
        interval: given.interval.scaled(&worth.recip()),
    };
    let float = given.float / nearest_f64(&worth);
    let outcome = if let Some(bound) = claimed.bound() {
        one_sided(claimed, bound, &recomputed, differs)
    } else if let Some(tolerance) = &declared.tolerance {
        relative(claimed, &recomputed, tolerance, "declared", differs)
    } else if claimed.approximate() {
        relative(
            claimed,
            &recomputed,
            &about_tolerance(),
            "verifier's default for \"about\"",
            differs,
        )
    } else if claimed.is_full_float() {
        full_float(claimed, float, &recomputed, differs)
    } else if claimed.is_integer_text()
        && claimed.unit() == Unit::Plain
        && whole(&recomputed.interval).is_some()
    {
        integer(claimed, &recomputed, differs)
    } else {
        measured(claimed, &recomputed, declared.rounding, differs)
    };
    let mut outcome = outcome.giving(shown(claimed, given, float, &recomputed));
    if given.approximate {
        outcome
            .tolerance
            .push_str("; inputs printed as \"about\" within 5%, the verifier's default");
    }
    outcome
}

/// A recomputed number in the unit of the claim.
struct Recomputed {
    /// Its value for the inputs as printed.
    point: BigRational,
    /// Every value that the printed inputs allow.
    interval: Interval,
}

/// `n` hundredths.
pub fn percent(n: i32) -> BigRational {
    BigRational::new(n.into(), 100.into())
}

/// The recomputed value for people, with its derivation.
fn shown(
    claimed: &Printed,
    given: &EvidenceQuantity,
    float: f64,
    recomputed: &Recomputed,
) -> String {
    let value = if claimed.is_full_float() && claimed.bound().is_none() {
        float.to_string()
    } else {
        format_significant(&recomputed.point, DIGITS)
    };
    let value = format!("{value}{}", claimed.unit().sign());
    if given.derivation.is_empty() { value } else { format!("{value} = {}", given.derivation) }
}

fn measured(
    claimed: &Printed,
    recomputed: &Recomputed,
    rounding: Option<Rounding>,
    differs: &'static Code,
) -> Outcome {
    let half = claimed.last_place() / BigRational::from_integer(2.into());
    let sign = match claimed.unit() {
        // "± 0.5%" would read as a part of the value.
        Unit::Percent | Unit::Points => " points",
        unit => unit.sign(),
    };
    let mut tolerance = format!("± {}{sign}", format_significant(&half, DIGITS));
    let declared = match rounding {
        Some(Rounding::Truncated) => {
            Some(("truncated, as declared", truncates_to(&recomputed.interval, claimed)))
        }
        Some(Rounding::Up) => {
            Some(("rounded up, as declared", ceils_to(&recomputed.interval, claimed)))
        }
        Some(Rounding::Nearest) | None => None,
    };
    if let Some((how, fits)) = declared {
        let outcome = if fits {
            Outcome::verified()
        } else {
            Outcome::refuted(differs, apart(claimed, recomputed))
        };
        return outcome.within("rounding_interval", how);
    }
    let outcome = match compare(&recomputed.interval, &claimed.interval()) {
        Agreement::Consistent => {
            let slack = format_significant(&slack(&recomputed.interval, &claimed.interval()), 2);
            tolerance.push_str(&format!(", slack {slack}{sign}"));
            Outcome::verified()
        }
        Agreement::TooCoarse => Outcome::inconclusive(
            &TOO_COARSE,
            format!(
                "inputs too coarse: anything in {} follows, more than ten times the width of \"{}\"",
                shown_interval(&recomputed.interval),
                claimed.text()
            ),
        ),
        Agreement::Apart(_) => {
            let also = if truncates_to(&recomputed.interval, claimed) {
                "; cutting digits off instead of rounding would give it"
            } else {
                ""
            };
            Outcome::refuted(differs, format!("{}{also}", apart(claimed, recomputed)))
        }
    };
    outcome.within("rounding_interval", tolerance)
}

/// By how much the two could be moved apart and still meet.
fn slack(a: &Interval, b: &Interval) -> BigRational {
    (a.high() - b.low()).min(b.high() - a.low())
}

fn integer(claimed: &Printed, recomputed: &Recomputed, differs: &'static Code) -> Outcome {
    let outcome = if recomputed.interval.contains(claimed.value()) {
        Outcome::verified()
    } else {
        Outcome::refuted(differs, apart(claimed, recomputed))
    };
    outcome.within("exact_integer", "exact")
}

fn full_float(
    claimed: &Printed,
    float: f64,
    recomputed: &Recomputed,
    differs: &'static Code,
) -> Outcome {
    let distance = ulp_distance(claimed.as_f64(), float);
    let outcome = if distance <= ULPS {
        Outcome::verified()
    } else if !recomputed.interval.is_point() && recomputed.interval.meets(&claimed.interval()) {
        Outcome::inconclusive(&TOO_COARSE, "inputs too coarse for a value printed in full")
    } else {
        let mut reason = apart(claimed, recomputed);
        // Far apart, the count of floats in between says nothing to anybody.
        if distance < FAR {
            reason.push_str(&format!(": {distance} units in the last place of a 64-bit float"));
        }
        Outcome::refuted(differs, reason)
    };
    outcome.within("float_4ulp", format!("{ULPS} units in the last place"))
}

fn one_sided(
    claimed: &Printed,
    bound: repro_exact::decimal::Bound,
    recomputed: &Recomputed,
    differs: &'static Code,
) -> Outcome {
    let outcome = match bound.satisfied(&recomputed.interval, claimed.value()) {
        Some(true) => Outcome::verified(),
        Some(false) => Outcome::refuted(
            differs,
            format!("{} is not \"{}\"", shown_interval(&recomputed.interval), claimed.text()),
        ),
        None => Outcome::inconclusive(
            &STRADDLES,
            format!(
                "{} lies on both sides of \"{}\"",
                shown_interval(&recomputed.interval),
                claimed.text()
            ),
        ),
    };
    outcome.within("rounding_interval", "the whole interval on the stated side")
}

fn relative(
    claimed: &Printed,
    recomputed: &Recomputed,
    tolerance: &BigRational,
    whose: &str,
    differs: &'static Code,
) -> Outcome {
    let allowed = claimed.about(tolerance);
    let interval = &recomputed.interval;
    let inside = allowed.contains(interval.low()) && allowed.contains(interval.high());
    let outcome = if inside {
        Outcome::verified()
    } else if interval.meets(&allowed) {
        let found = shown_interval(&recomputed.interval);
        Outcome::inconclusive(&STRADDLES, format!("{found} is partly outside the tolerance"))
    } else {
        Outcome::refuted(differs, apart(claimed, recomputed))
    };
    let hundred = BigRational::from_integer(100.into());
    outcome.within(
        "rounding_interval",
        format!("± {}% ({whose})", format_significant(&(tolerance * hundred), DIGITS)),
    )
}

/// "820 too high (0.0006%)"; shares are compared in points, where a percentage of a percentage would
/// be misread.
fn apart(claimed: &Printed, recomputed: &Recomputed) -> String {
    let point = &recomputed.point;
    let off = claimed.value() - point;
    let way = if off.is_negative() { "low" } else { "high" };
    let size = format_significant(&off.abs(), 4);
    match claimed.unit() {
        Unit::Percent | Unit::Points => format!("{size} points too {way}"),
        Unit::Plain | Unit::Times if point.is_zero() => format!("{size} too {way}"),
        Unit::Plain | Unit::Times => {
            let hundred = BigRational::from_integer(100.into());
            let relative = (off / point * hundred).abs();
            format!("{size} too {way} ({}%)", format_significant(&relative, 3))
        }
    }
}

/// An interval for people: `0.52`, or `0.515 to 0.525`.
fn shown_interval(interval: &Interval) -> String {
    let [low, high] = [interval.low(), interval.high()].map(|end| format_significant(end, 6));
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use repro_report::outcome::Verdict;

    static DIFFERS: Code = Code { id: "test::differs", meaning: "it differs", help: "correct it" };

    fn exact(number: i64, denominator: i64) -> EvidenceQuantity {
        let value = BigRational::new(number.into(), denominator.into());
        EvidenceQuantity {
            float: nearest_f64(&value),
            interval: Interval::point(value),
            ..EvidenceQuantity::count(0)
        }
    }

    fn read(text: &str) -> Printed {
        Printed::parse(text).unwrap()
    }

    fn verdict(claimed: &str, given: &EvidenceQuantity) -> (Verdict, &'static str) {
        let outcome = judge(&read(claimed), given, &Declared::default(), &DIFFERS);
        assert_eq!(outcome.verdict != Verdict::Verified, outcome.code.is_some());
        (outcome.verdict, outcome.rule)
    }

    #[test]
    fn the_print_chooses_the_rule() {
        use Verdict::{Refuted, Verified};
        for (claimed, given, expected) in [
            ("8,320", exact(8320, 1), (Verified, "exact_integer")),
            ("8,321", exact(8320, 1), (Refuted, "exact_integer")),
            ("8.3k", exact(8320, 1), (Verified, "rounding_interval")),
            ("8,320", exact(83204, 10), (Verified, "rounding_interval")),
            ("~8,000", exact(8320, 1), (Verified, "rounding_interval")),
            ("~7,900", exact(8320, 1), (Refuted, "rounding_interval")),
            ("over 8,320", exact(8320, 1), (Refuted, "rounding_interval")),
            ("at least 8,320", exact(8320, 1), (Verified, "rounding_interval")),
            ("33%", exact(1, 3), (Verified, "rounding_interval")),
            ("34%", exact(1, 3), (Refuted, "rounding_interval")),
            ("25%", exact(2540, 10_000), (Verified, "rounding_interval")),
            ("-0.0", exact(-1, 100), (Verified, "rounding_interval")),
            ("0.333333333333333", exact(1, 3), (Refuted, "float_4ulp")),
            ("0.3333333333333333", exact(1, 3), (Verified, "float_4ulp")),
        ] {
            assert_eq!(verdict(claimed, &given), expected, "{claimed}");
        }
    }

    #[test]
    fn four_floats_away_is_the_same_and_five_is_not() {
        let third = exact(1, 3);
        let away = |floats: u64| f64::from_bits((1.0_f64 / 3.0).to_bits() + floats).to_string();
        assert_eq!(verdict(&away(4), &third).0, Verdict::Verified);
        assert_eq!(verdict(&away(5), &third).0, Verdict::Refuted);
    }

    #[test]
    fn slack_is_what_is_left_to_the_nearest_end() {
        let slack_of = |claimed: &str| slack(&exact(231, 100).interval, &read(claimed).interval());
        assert_eq!(slack_of("2.3"), BigRational::new(4.into(), 100.into()));
        assert_eq!(slack_of("2.31"), BigRational::new(5.into(), 1000.into()));
        let given = judge(&read("2.3"), &exact(231, 100), &Declared::default(), &DIFFERS);
        assert_eq!(given.tolerance, "± 0.05, slack 0.04");
    }

    #[test]
    fn differences_are_worded_with_their_direction() {
        let words = |claimed: &str, given: EvidenceQuantity| {
            judge(&read(claimed), &given, &Declared::default(), &DIFFERS).reason
        };
        assert_eq!(words("2.6", exact(5, 2)), "0.1 too high (4%)");
        assert_eq!(words("-2.6", exact(-5, 2)), "0.1 too low (4%)");
        assert_eq!(words("0.5", exact(0, 1)), "0.5 too high");
        assert_eq!(words("30%", exact(1, 4)), "5 points too high");
    }

    #[test]
    fn points_are_not_percent() {
        let share = EvidenceQuantity { unit: Unit::Points, ..exact(5, 1) };
        assert_eq!(verdict("5 pp", &share).0, Verdict::Verified);
        let other = judge(&read("5%"), &share, &Declared::default(), &DIFFERS);
        assert_eq!((other.verdict, other.code), (Verdict::Refuted, Some(&OTHER_UNIT)));
    }

    proptest! {
        /// What a correct printer prints is never refuted, and one more in the last place is.
        #[test]
        fn correct_prints_hold(n in -1_000_000i64..1_000_000, d in 1i64..1000, decimals in 0u32..5) {
            let given = exact(n, d);
            let scale = BigRational::from_integer(BigInt::from(10).pow(decimals));
            let rounded = (given.value() * &scale).round().to_integer();
            let claimed = |last: BigInt| read(&format!("{last}e-{decimals}"));
            let verdict = |last: BigInt| {
                judge(&claimed(last), &given, &Declared::default(), &DIFFERS).verdict
            };
            prop_assert_eq!(verdict(rounded.clone()), Verdict::Verified);
            prop_assert_eq!(verdict(&rounded + 2), Verdict::Refuted);
            prop_assert_eq!(verdict(&rounded - 2), Verdict::Refuted);
        }

        /// No claimed text makes judging panic, and no verdict comes without its reason.
        #[test]
        fn any_print_is_judged(text in "[~<>]?-?[0-9]{1,12}(\\.[0-9]{1,18})?(e-?[0-9]{1,2})?(%| pp|×|k|Ki)?", n in any::<i64>()) {
            if let Ok(claimed) = Printed::parse(&text) {
                let outcome = judge(&claimed, &exact(n, 7), &Declared::default(), &DIFFERS);
                prop_assert!(outcome.verdict == Verdict::Verified || !outcome.reason.is_empty());
            }
        }
    }
}
