//! The rule `rounding_interval`: whether a recomputed interval agrees with a printed value.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

use super::{Interval, Printed};

/// A recomputed interval that is this many times wider than the claimed one decides nothing.
const COARSE: i32 = 10;

/// The tolerance of a number printed as "about" without a declared one: one part in twenty.
pub fn about_tolerance() -> BigRational {
    BigRational::new(1.into(), 20.into())
}

/// The agreement of a recomputed interval with a claimed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
    /// They meet.
    Consistent,
    /// They overlap, but the recomputed interval is more than ten times as wide: the inputs are too coarse.
    TooCoarse,
    /// They do not overlap; this is the gap.
    Apart(BigRational),
}

/// Compares by rounding_interval. Intervals without overlap are apart, however wide they are.
pub fn compare(recomputed: &Interval, claimed: &Interval) -> Agreement {
    if !recomputed.meets(claimed) {
        return Agreement::Apart(recomputed.distance(claimed));
    }
    if recomputed.width() > claimed.width() * BigRational::from_integer(BigInt::from(COARSE)) {
        return Agreement::TooCoarse;
    }
    Agreement::Consistent
}

/// Whether a recomputed value rounds to the printed one. Touching ends count, so half-up and half-even are both accepted.
pub fn rounds_to(recomputed: &Interval, printed: &Printed) -> bool {
    recomputed.meets(&printed.interval())
}

/// Whether truncation (towards zero) turns a recomputed value into the printed one.
pub fn truncates_to(recomputed: &Interval, printed: &Printed) -> bool {
    let (value, step) = (printed.value(), printed.last_place());
    let (low, high) = (recomputed.low(), recomputed.high());
    if value.is_positive() {
        high >= value && *low < value + step
    } else if value.is_negative() {
        low <= value && *high > value - step
    } else {
        // Everything within one step of zero is truncated to zero.
        *high > -step && low < step
    }
}

/// Whether rounding up turns a recomputed value into the printed one.
pub fn ceils_to(recomputed: &Interval, printed: &Printed) -> bool {
    let (value, step) = (printed.value(), printed.last_place());
    recomputed.low() <= value && *recomputed.high() > value - step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Bound;
    use proptest::prelude::*;

    fn exact(text: &str) -> Interval {
        Printed::parse(text).unwrap().exact()
    }

    fn print(text: &str) -> Printed {
        Printed::parse(text).unwrap()
    }

    #[test]
    fn half_way_touches_from_both_sides() {
        for (value, agrees) in
            [("0.0245", true), ("0.0255", true), ("0.02449", false), ("0.02551", false)]
        {
            assert_eq!(rounds_to(&exact(value), &print("0.025")), agrees, "{value}");
        }
        // The sum is exactly at the end of the interval; binary floats would be off by one bit.
        let sum = &exact("0.1") + &exact("0.25");
        assert!(rounds_to(&sum, &print("0.3")) && rounds_to(&sum, &print("0.4")));
        assert!(!rounds_to(&sum, &print("0.36")));
    }

    #[test]
    fn truncation_and_rounding_up() {
        for (value, printed, cut, up) in [
            ("2.39", "2.3", true, false),
            ("2.3", "2.3", true, true),
            ("2.4", "2.3", false, false),
            ("2.21", "2.3", false, true),
            ("2.2", "2.3", false, false),
            ("-2.39", "-2.3", true, true),
            ("-2.21", "-2.3", false, false),
            ("-2.39", "-2.4", false, false),
            ("-0.09", "0.0", true, true),
            ("0.09", "-0.0", true, false),
            ("32,850", "32k", true, false),
        ] {
            assert_eq!(truncates_to(&exact(value), &print(printed)), cut, "{value} cut {printed}");
            assert_eq!(ceils_to(&exact(value), &print(printed)), up, "{value} up {printed}");
        }
    }

    #[test]
    fn coarse_inputs_decide_nothing_unless_apart() {
        let claimed = print("1.00").interval();
        assert_eq!(compare(&print("1.0").interval(), &claimed), Agreement::Consistent);
        assert_eq!(compare(&print("1").interval(), &claimed), Agreement::TooCoarse);
        let gap = BigRational::new(495.into(), 1000.into());
        assert_eq!(compare(&print("2").interval(), &claimed), Agreement::Apart(gap));
    }

    #[test]
    fn bounds_need_the_whole_interval() {
        let (values, limit) = (print("3.0").interval(), |text: &str| exact(text).low().clone());
        assert_eq!(Bound::Above.satisfied(&values, &limit("2.9")), Some(true));
        assert_eq!(Bound::Above.satisfied(&values, &limit("2.95")), None);
        assert_eq!(Bound::AtLeast.satisfied(&values, &limit("2.95")), Some(true));
        assert_eq!(Bound::Below.satisfied(&values, &limit("3")), None);
        assert_eq!(Bound::AtMost.satisfied(&values, &limit("2.94")), Some(false));
    }

    proptest! {
        #[test]
        fn what_a_printer_prints_agrees(n in any::<i32>(), d in 1i32..1000, decimals in 0usize..6) {
            let value = Interval::point(BigRational::new(n.into(), d.into()));
            let steps = BigRational::from_integer(BigInt::from(10).pow(decimals as u32));
            let scaled = value.low() * &steps;
            let show = |n: BigRational| print(&format!("{}e-{decimals}", n.to_integer()));
            prop_assert!(truncates_to(&value, &show(scaled.trunc())));
            prop_assert!(ceils_to(&value, &show(scaled.ceil())));
            prop_assert!(rounds_to(&value, &show(scaled.round())));
            if !scaled.is_integer() {
                let away = scaled.trunc() + scaled.signum();
                prop_assert!(!truncates_to(&value, &show(away)));
                prop_assert!(!ceils_to(&value, &show(scaled.floor())));
            }
        }
    }
}
