//! Scores: bits per byte, centered accuracies, and CORE, their mean over tasks.
//!
//! Owns the formulas, on exact intervals. `tasks` decides which tasks count and which baselines belong to them.

use num_bigint::BigInt;
use num_rational::BigRational;

use repro_core::decimal::Interval;

/// (accuracy - baseline) / (1 - baseline): 0 is chance, 1 is perfect; none for a baseline of one, which nothing can exceed.
pub fn centered(accuracy: &Interval, baseline: &BigRational) -> Option<Interval> {
    let baseline = Interval::point(baseline.clone());
    (accuracy - &baseline).div(&(&Interval::integer(1) - &baseline))
}

/// The mean; none for no values. The mean of centered accuracies is CORE.
pub fn mean<'a>(values: impl IntoIterator<Item = &'a Interval>) -> Option<Interval> {
    let (mut sum, mut count) = (Interval::integer(0), 0_u64);
    for value in values {
        sum = &sum + value;
        count += 1;
    }
    (count > 0).then(|| sum.scaled(&BigRational::new(1.into(), BigInt::from(count))))
}

/// Summed NLL in nats / (ln 2 x bytes): the bits per byte of the text; none if the number of bytes may be zero.
pub fn bits_per_byte(nats: &Interval, bytes: &Interval) -> Option<Interval> {
    nats.div(&(&Interval::integer(2).ln()? * bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use repro_core::decimal::Printed;

    fn ratio(n: i64, d: i64) -> BigRational {
        BigRational::new(n.into(), d.into())
    }

    fn point(n: i64, d: i64) -> Interval {
        Interval::point(ratio(n, d))
    }

    #[test]
    fn guessing_is_zero_and_perfection_one() {
        assert_eq!(centered(&point(1, 4), &ratio(1, 4)), Some(point(0, 1)));
        assert_eq!(centered(&point(1, 1), &ratio(31, 50)), Some(point(1, 1)));
        assert_eq!(centered(&point(0, 1), &ratio(1, 2)), Some(point(-1, 1)));
        assert_eq!(centered(&point(1, 2), &ratio(1, 1)), None);
    }

    #[test]
    fn a_mean_of_nothing_is_none() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[point(1, 2), point(1, 4)]), Some(point(3, 8)));
    }

    #[test]
    fn one_bit_is_ln_two_nats() {
        let nats = Printed::parse("0.693147180559945309417232121458").unwrap().interval();
        let bits = bits_per_byte(&nats, &point(1, 1)).unwrap();
        assert!(bits.contains(&ratio(1, 1)));
        assert_eq!(bits_per_byte(&nats, &point(0, 1)), None);
    }

    proptest! {
        /// Centering preserves the order and can be inverted.
        #[test]
        fn centring_is_a_line(a in 0i64..=1000, b in 0i64..=1000, baseline in 0i64..1000) {
            let baseline = ratio(baseline, 1000);
            let of = |n: i64| centered(&point(n, 1000), &baseline).unwrap();
            prop_assert_eq!(a < b, of(a).low() < of(b).low());
            let back = of(a).low() * (ratio(1, 1) - &baseline) + &baseline;
            prop_assert_eq!(back, ratio(a, 1000));
        }
    }
}
