//! Means, spreads, differences and tests against exact arithmetic.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use proptest::prelude::*;
use repro_core::decimal::{Printed, nearest_f64, ulp_distance};

use super::{
    Decimal, Decimals, Refused, Summary, T, correlation, difference, differences, mean,
    one_sample_of, paired, slope, welch_of,
};

/// Results within this many floats of the exact one: division by a root needs a few roundings.
const FEW_ULPS: u64 = 8;
/// The bits of roots in exact arithmetic.
const EXACT_BITS: u32 = 1 << 12;

fn exact(values: &[&str]) -> Vec<BigRational> {
    values.iter().map(|text| Printed::parse(text).unwrap().value().clone()).collect()
}

fn floats(values: &[&str]) -> Vec<f64> {
    values.iter().map(|text| text.parse().unwrap()).collect()
}

fn integer(number: usize) -> BigRational {
    BigRational::from_integer(number.into())
}

fn exact_mean(values: &[BigRational]) -> BigRational {
    values.iter().sum::<BigRational>() / integer(values.len())
}

fn exact_variance(values: &[BigRational]) -> BigRational {
    let mean = exact_mean(values);
    let squares = values.iter().map(|value| (value - &mean) * (value - &mean));
    squares.sum::<BigRational>() / integer(values.len() - 1)
}

/// A root by whole numbers, to thousands of bits.
fn exact_root(square: &BigRational) -> BigRational {
    let unit = BigInt::one() << EXACT_BITS;
    let scaled = (square * BigRational::from_integer(&unit * &unit)).to_integer();
    BigRational::new(scaled.sqrt(), unit)
}

fn close(what: &str, found: f64, wanted: &BigRational) {
    let wanted = nearest_f64(wanted);
    let off = ulp_distance(found, wanted);
    assert!(off <= FEW_ULPS, "{what}: {found:e} is {off} floats from {wanted:e}");
}

fn agrees(what: &str, test: &T, gap: &BigRational, variance: &BigRational) {
    close(&format!("{what}, estimate"), test.estimate, gap);
    let error = exact_root(variance);
    close(&format!("{what}, standard error"), test.standard_error, &error);
    close(&format!("{what}, t"), test.t, &(gap / error));
}

/// Lists of decimals at magnitudes from 1e-300 to 1e300, most with spreads far below their size.
const EDGES: [(&str, [&str; 3], [&str; 3]); 20] = [
    ("the smallest", ["1e-300", "2e-300", "4e-300"], ["3e-300", "1e-300", "7e-300"]),
    ("the largest", ["1e300", "2e300", "4e300"], ["3e300", "1e300", "7e300"]),
    ("near overflow", ["1.7e308", "1.6e308", "1.5e308"], ["1.7e308", "1.7e308", "1.5e308"]),
    ("subnormal", ["1e-310", "3e-310", "6e-310"], ["2e-310", "3e-310", "9e-310"]),
    (
        "whole numbers at 1e15",
        ["1000000000000001", "1000000000000002", "1000000000000004"],
        ["1000000000000002", "1000000000000001", "1000000000000007"],
    ),
    (
        "whole numbers below 2^53",
        ["9007199254740985", "9007199254740990", "9007199254740991"],
        ["9007199254740984", "9007199254740991", "9007199254740988"],
    ),
    (
        "thousandths at 1e9",
        ["1000000000.001", "1000000000.002", "1000000000.004"],
        ["1000000000.003", "1000000000.001", "1000000000.007"],
    ),
    (
        "millionths at 1e9",
        ["1000000000.000001", "1000000000.000002", "1000000000.000004"],
        ["1000000000.000003", "1000000000.000001", "1000000000.000007"],
    ),
    (
        "the last digit at 1e300",
        ["1.00000000000001e300", "1.00000000000002e300", "1.00000000000004e300"],
        ["1.00000000000003e300", "1.00000000000001e300", "1.00000000000007e300"],
    ),
    (
        "the last digit at 1e-300",
        ["1.00000000000001e-300", "1.00000000000002e-300", "1.00000000000004e-300"],
        ["1.00000000000003e-300", "1.00000000000001e-300", "1.00000000000007e-300"],
    ),
    ("losses", ["1.7243", "1.7016", "1.6990"], ["1.7301", "1.7150", "1.7155"]),
    ("tenths", ["1.3", "1.2", "1.1"], ["1.2", "1.1", "0.9"]),
    ("one large pair", ["1e300", "1", "2"], ["1e300", "2", "4"]),
    ("large and small", ["1e300", "1e-300", "1"], ["-1e300", "2e-300", "3"]),
    ("signs", ["-1e150", "1e150", "3e149"], ["1e150", "-1e150", "2e149"]),
    ("means that nearly cancel", ["1e16", "-1e16", "0.3"], ["2e16", "-2e16", "0.1"]),
    ("zeros", ["0", "0", "1e-200"], ["0", "1e-200", "0"]),
    ("squares that vanish", ["1e-170", "2e-170", "4e-170"], ["1e-170", "3e-170", "1e-170"]),
    ("squares that overflow", ["1e170", "2e170", "4e170"], ["1e170", "3e170", "1e170"]),
    (
        "quarters at 1e15",
        ["1000000000000000.25", "1000000000000000.5", "1000000000000001"],
        ["1000000000000000.75", "1000000000000000.25", "1000000000000003.75"],
    ),
];

/// Edge cases, compared with exact arithmetic.
#[test]
fn edges_agree_with_exact_arithmetic() {
    for (what, a, b) in EDGES {
        let (a, b, x, y) = (floats(&a), floats(&b), exact(&a), exact(&b));
        let gaps: Vec<_> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
        for (found, wanted) in differences(&a, &b).unwrap().iter().zip(&gaps) {
            assert_eq!(*found, nearest_f64(wanted), "{what}: a difference");
        }
        assert_eq!(mean(&a).unwrap(), nearest_f64(&exact_mean(&x)), "{what}: the mean");
        let summary = Summary::of(&a).unwrap();
        assert_eq!(summary.mean, nearest_f64(&exact_mean(&x)), "{what}: the mean");
        assert_eq!(summary.sd, nearest_f64(&exact_root(&exact_variance(&x))), "{what}: the sd");
        let three = integer(3);
        let error = exact_variance(&gaps) / &three;
        agrees(what, &paired(&a, &b).unwrap(), &exact_mean(&gaps), &error);
        let error = (exact_variance(&x) + exact_variance(&y)) / &three;
        let gap = exact_mean(&x) - exact_mean(&y);
        let [left, right] = [&a, &b].map(|list| Decimals::of(list).unwrap());
        let welch = welch_of(&left, &right).unwrap();
        agrees(what, &welch, &gap, &error);
        let [one, other] = [&x, &y].map(|list| exact_variance(list) / &three);
        let df = (&error * &error * integer(2)) / (&one * &one + &other * &other);
        close(&format!("{what}, df"), welch.df, &df);
        let first = &x[0];
        let alone = one_sample_of(&left, a[0]).unwrap();
        let t = (exact_mean(&x) - first) / exact_root(&(exact_variance(&x) / &three));
        close(&format!("{what}, t of one list"), alone.t, &t);
    }
}

/// Differences of -1, -3 and 1, which a rounding to the fifteenth digit made tens.
#[test]
fn differences_at_1e15_are_exact() {
    let at = |units: [i32; 3]| units.map(|unit| 1e15 + f64::from(unit));
    let test = paired(&at([1, 2, 3]), &at([2, 5, 2])).unwrap();
    assert_eq!(test.estimate, -1.0);
    assert!((test.t - -0.866_025_403_784_438_6).abs() < 1e-15, "{}", test.t);
}

/// Written digits beyond the precision of a float count.
#[test]
fn written_decimals_are_exact() {
    let read =
        |texts: [&str; 3]| Decimals::from(texts.map(|one| Decimal::parse(one).unwrap()).to_vec());
    let a = read(["1000000000.00000000001", "1000000000.00000000002", "1000000000.00000000006"]);
    let b = read(["1e9", "100000000000e-2", "+1000000000."]);
    let pairs = Decimals::of_pairs(&a, &b).unwrap();
    assert_eq!(pairs.floats(), [1e-11, 2e-11, 6e-11]);
    assert_eq!(welch_of(&a, &b).unwrap().estimate, 3e-11);
}

#[test]
fn what_is_beyond_floats_is_refused() {
    let largest = [f64::MAX, -f64::MAX];
    assert_eq!(Summary::of(&largest), Err(Refused::OutOfRange));
    assert_eq!(paired(&largest, &[-f64::MAX, f64::MAX]), Err(Refused::OutOfRange));
    assert_eq!(mean(&[f64::MAX; 3]), Ok(f64::MAX), "a sum may be larger than its mean");
    assert_eq!(difference(f64::INFINITY, 1.0), f64::INFINITY);
}

#[test]
fn slopes_and_correlations_do_not_cancel() {
    let x = [1e9 + 0.001, 1e9 + 0.002, 1e9 + 0.003];
    assert_eq!(slope(&x, &[1e300, 2e300, 3e300]), Ok(1e303));
    assert_eq!(correlation(&x, &[3e-300, 2e-300, 1e-300]), Ok(-1.0));
}

fn decimals() -> impl Strategy<Value = Vec<String>> {
    let one = (any::<i32>(), -300..290_i32).prop_map(|(units, power)| format!("{units}e{power}"));
    prop::collection::vec(one, 2..6)
}

proptest! {
    #[test]
    fn any_decimals_agree_with_exact_arithmetic(texts in decimals()) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (values, wanted) = (floats(&texts), exact(&texts));
        let (mean, sd) = (exact_mean(&wanted), exact_root(&exact_variance(&wanted)));
        prop_assume!(!exact_variance(&wanted).is_zero());
        let found = Summary::of(&values).unwrap();
        prop_assert_eq!(found.mean, nearest_f64(&mean));
        prop_assert_eq!(found.sd, nearest_f64(&sd));
    }

    #[test]
    fn differences_have_the_opposite_sign_the_other_way_round(a in any::<f64>(), b in any::<f64>()) {
        prop_assume!(a.is_finite() && b.is_finite());
        prop_assert_eq!(difference(a, b), -difference(b, a));
    }
}
