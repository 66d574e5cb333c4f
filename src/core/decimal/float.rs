//! Conversion between exact rationals and binary floating point.

use num_bigint::{BigUint, Sign};
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

/// The float nearest to `value`, ties to even; infinite beyond the largest float.
pub fn nearest_f64(value: &BigRational) -> f64 {
    let (top, bottom) = (value.numer().magnitude(), value.denom().magnitude());
    if top.is_zero() {
        return 0.0;
    }
    // A quotient of 66 or 67 bits: more than the 53 bits of a float, and the remainder decides ties.
    let shift = 66 - (top.bits() as i64 - bottom.bits() as i64);
    let (top, bottom) = match shift {
        0.. => (top << shift, bottom.clone()),
        _ => (top.clone(), bottom << -shift),
    };
    let quotient = &top / &bottom;
    let exact = (&quotient * &bottom) == top;
    // Below the normal range, fewer bits are kept: no bit may be smaller than 2^-1074.
    let drop = (quotient.bits() as i64 - 53).max(shift - 1074);
    if drop > 68 {
        return signed(value, 0.0);
    }
    let kept = &quotient >> drop;
    let rest = &quotient - (&kept << drop);
    let half = BigUint::from(1u8) << (drop - 1);
    let mut kept = kept.to_u64().unwrap_or(u64::MAX);
    let above = rest > half || (rest == half && !exact);
    if above || (rest == half && kept % 2 == 1) {
        kept += 1;
    }
    signed(value, kept as f64 * power_of_two(drop - shift))
}

fn signed(value: &BigRational, magnitude: f64) -> f64 {
    if value.numer().sign() == Sign::Minus { -magnitude } else { magnitude }
}

/// 2^`power` for a power from -1074 up, infinite above the range of floats.
fn power_of_two(power: i64) -> f64 {
    match power {
        1024.. => f64::INFINITY,
        -1022.. => f64::from_bits(((power + 1023) as u64) << 52),
        _ => f64::from_bits(1 << (power + 1074).clamp(0, 51)),
    }
}

/// The number of floats between `a` and `b`. Both zeros count as one number, and nothing is near NaN.
pub fn ulp_distance(a: f64, b: f64) -> u64 {
    if a.is_nan() || b.is_nan() {
        return u64::MAX;
    }
    // Floats of the same sign are ordered like their bits; negative ones are mirrored.
    let rank = |x: f64| {
        let magnitude = (x.to_bits() & (u64::MAX >> 1)) as i64;
        if x.is_sign_negative() { -magnitude } else { magnitude }
    };
    rank(a).abs_diff(rank(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    #[test]
    fn distance_counts_the_floats_between() {
        assert_eq!(ulp_distance(1.0, 1.0), 0);
        assert_eq!(ulp_distance(0.0, -0.0), 0);
        assert_eq!(ulp_distance(1.0, 1.0 + f64::EPSILON), 1);
        assert_eq!(ulp_distance(1.0, 1.0 - f64::EPSILON), 2);
        assert_eq!(ulp_distance(f64::from_bits(1), -f64::from_bits(2)), 3);
        assert_eq!(ulp_distance(f64::NAN, f64::NAN), u64::MAX);
    }

    #[test]
    fn the_ends_of_the_range_are_met() {
        let power = |n: i32| BigRational::from_integer(BigInt::from(2)).pow(n);
        assert_eq!(nearest_f64(&power(1024)), f64::INFINITY);
        assert_eq!(nearest_f64(&-power(3000)), f64::NEG_INFINITY);
        assert_eq!(nearest_f64(&power(-1074)), f64::from_bits(1));
        assert_eq!(nearest_f64(&power(-1075)), 0.0, "a tie goes to even");
        assert_eq!(nearest_f64(&(power(-1075) + power(-1200))), f64::from_bits(1));
        assert_eq!(nearest_f64(&power(-5000)), 0.0);
    }

    proptest! {
        #[test]
        fn a_float_is_nearest_to_itself(bits in any::<u64>()) {
            let x = f64::from_bits(bits);
            if let Some(exact) = BigRational::from_float(x) {
                prop_assert_eq!(nearest_f64(&exact), x);
            }
        }

        #[test]
        fn decimals_agree_with_the_standard_library(n in any::<i64>(), power in -330i32..310) {
            let exact = BigRational::from_integer(n.into())
                * BigRational::from_integer(10.into()).pow(power);
            let parsed: f64 = format!("{n}e{power}").parse().unwrap();
            prop_assert_eq!(nearest_f64(&exact), parsed);
        }
    }
}
