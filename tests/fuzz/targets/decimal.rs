//! Printed numbers.

use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_core::decimal::{Printed, compare, format_significant, grouped, rounds_to, truncates_to};

/// What is read stands for an interval around its value, is read again from its own text as itself, and from
/// the text that the value is written with as the same value.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Printed::parse(text) {
        Ok(printed) => {
            assert_eq!(Printed::parse(printed.text()).as_ref(), Ok(&printed), "its own text");
            accepted(&printed);
        }
        Err(refused) => assert!(refused.to_string().chars().count() < 200, "{refused}"),
    }
}

fn accepted(printed: &Printed) {
    let (value, interval) = (printed.value(), printed.interval());
    assert!(!printed.last_place().is_negative() && interval.contains(value));
    assert_eq!(&interval.width(), printed.last_place());
    assert!(printed.exact().is_point() && printed.exact().low() == value);
    let tolerance = BigRational::new(1.into(), 20.into());
    assert_eq!(printed.about(&tolerance).hull(&interval), printed.about(&tolerance));
    assert!(rounds_to(&printed.exact(), printed), "a print rounds to itself");
    let _ = (compare(&printed.exact(), &interval), truncates_to(&printed.exact(), printed));
    written(value);
    float(printed);
    if let Some(spread) = printed.spread() {
        assert!(!spread.value().is_negative() && spread.spread().is_none());
        accepted(spread);
    }
}

/// A value with all its digits is read as itself.
fn written(value: &BigRational) {
    let text = format_significant(value, 500);
    match Printed::parse(&text) {
        Ok(read) if value.denom().bits() < 1300 => assert_eq!(read.value(), value, "{text}"),
        // Exponents beyond what is read come from suffixes on the largest numbers.
        _ => assert!(value.numer().bits() > 1300 || value.denom().bits() > 1000, "{text}"),
    }
    let digits = grouped(&text);
    assert_eq!(digits.replace(',', ""), text.replace(',', ""), "grouping adds commas only");
}

/// The nearest float lies nearer than one part in 2^52, where floats have such values.
fn float(printed: &Printed) {
    let float = printed.as_f64();
    let Some(exact) = BigRational::from_float(float) else { return };
    if float.abs() >= f64::MIN_POSITIVE {
        let apart = (exact - printed.value()).abs();
        let step = BigRational::from_float(f64::EPSILON).expect("finite") * printed.value().abs();
        assert!(apart <= step, "{float} for {}", printed.value());
    } else if printed.value().is_zero() {
        assert_eq!(float, 0.0);
    }
}
