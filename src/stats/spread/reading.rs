//! The readings of ±, and the variance under each.

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use crate::distribution::{StudentT, Symmetric};
use crate::{Refused, Summary};
use repro_core::decimal::{Interval, nearest_f64};

/// The default level of a confidence interval, in tenths of a percent.
const USUAL_LEVEL: u16 = 950;
/// The quantile of the t distribution is computed to better than this relative error (the tests hold
/// it against exact algebra), so that the enclosure is wider than the error on both sides.
const QUANTILE_MARGIN: f64 = 1e-9;

/// The meaning of the number after ±.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorBarMeaning {
    /// The standard deviation of the values, over n - 1.
    Sd,
    /// The standard deviation of the values, over n.
    PopulationSd,
    /// The standard error of the mean.
    StandardError,
    /// The half-width of a t interval for the mean, at a level in tenths of a percent.
    Confidence(u16),
    /// 1.96 standard errors, whatever n is.
    NormalConfidence,
    /// Half the distance from the smallest to the largest value.
    HalfRange,
}

impl ErrorBarMeaning {
    /// Every reading; confidence intervals at 95%.
    pub const ALL: [ErrorBarMeaning; 6] = [
        ErrorBarMeaning::Sd,
        ErrorBarMeaning::PopulationSd,
        ErrorBarMeaning::StandardError,
        ErrorBarMeaning::Confidence(USUAL_LEVEL),
        ErrorBarMeaning::NormalConfidence,
        ErrorBarMeaning::HalfRange,
    ];

    /// The reading with this name in post files; `ci95`, `ci99.9` include the level of a t interval.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(level) = name.strip_prefix("ci") {
            let (whole, tenth) = level.split_once('.').unwrap_or((level, "0"));
            let digits = |text: &str| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
            if !digits(whole) || !digits(tenth) || tenth.len() != 1 {
                return None;
            }
            let level = whole.parse::<u16>().ok()? * 10 + tenth.parse::<u16>().ok()?;
            return (level > 0).then_some(Self::Confidence(level));
        }
        Self::ALL.into_iter().find(|reading| reading.name() == name)
    }

    /// The name in post files.
    pub fn name(self) -> String {
        self.word()
            .replace(' ', if self == Self::NormalConfidence { "" } else { "_" })
            .replace('-', "_")
    }

    /// The word in reports.
    pub fn word(self) -> String {
        match self {
            Self::Sd => "sd".to_owned(),
            Self::PopulationSd => "population sd".to_owned(),
            Self::StandardError => "se".to_owned(),
            Self::Confidence(level) if level % 10 == 0 => format!("ci{}", level / 10),
            Self::Confidence(level) => format!("ci{}.{}", level / 10, level % 10),
            Self::NormalConfidence => "1.96 se".to_owned(),
            Self::HalfRange => "half-range".to_owned(),
        }
    }

    /// The number after ± for at least two values.
    pub fn width(self, values: &[f64]) -> Result<f64, Refused> {
        let summary = Summary::of(values)?;
        let standard_error = summary.standard_error();
        Ok(match self {
            Self::Sd => summary.sd,
            Self::PopulationSd => summary.population_sd(),
            Self::StandardError => standard_error,
            Self::Confidence(level) => {
                let square = quantile_square((summary.n - 1) as f64, level)?;
                standard_error * nearest_f64(&square.middle()).sqrt()
            }
            Self::NormalConfidence => 1.96 * standard_error,
            Self::HalfRange => {
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (most - values.iter().copied().fold(f64::INFINITY, f64::min)) / 2.0
            }
        })
    }

    /// The variance (over n - 1) of `n` values with a printed number of 1 after ±: a single value, except that a half-range
    /// does not determine the values between the two ends.
    fn variance_of_one(self, n: u64) -> Result<Interval, Refused> {
        let of = |top: u64, bottom: u64| ratio(top.into(), bottom.into());
        Ok(match self {
            Self::Sd => Interval::integer(1),
            Self::PopulationSd => Interval::point(of(n, n - 1)),
            Self::StandardError => Interval::integer(n),
            Self::Confidence(level) => {
                let square = quantile_square((n - 1) as f64, level)?;
                Interval::between(of(n, 1) / square.high(), of(n, 1) / square.low())
            }
            Self::NormalConfidence => {
                let quantile = of(196, 100);
                Interval::point(of(n, 1) / (&quantile * &quantile))
            }
            Self::HalfRange => {
                // Least: all others in the middle. Greatest: all at the ends, as evenly as n allows.
                let (below, above) = (n / 2, n - n / 2);
                let greatest = ratio(4 * u128::from(below) * u128::from(above), n.into());
                Interval::between(of(2, n - 1), greatest / of(n - 1, 1))
            }
        })
    }
}

fn ratio(top: u128, bottom: u128) -> BigRational {
    BigRational::new(top.into(), bottom.into())
}

/// The denominator to which the ends of a quantile are rounded outward.
fn digits() -> BigRational {
    BigRational::from_integer(10_000_000_000_u64.into())
}

/// An enclosure of the square of the two-sided t quantile at a level in tenths of a percent.
fn quantile_square(df: f64, level: u16) -> Result<Interval, Refused> {
    let beyond = (1.0 - f64::from(level) / 1000.0) / 2.0;
    let quantile = StudentT::new(df)?.upper_quantile(beyond)?;
    // Ends with few digits, like those of printed numbers: fractions of floats would slow down every later comparison.
    let scaled = |factor: f64| {
        BigRational::from_float(quantile * factor).unwrap_or_else(BigRational::one) * digits()
    };
    let low = scaled(1.0 - QUANTILE_MARGIN).floor() / digits();
    let high = scaled(1.0 + QUANTILE_MARGIN).ceil() / digits();
    let quantile = Interval::between(low, high);
    Ok(&quantile * &quantile)
}

/// The number after ±, and the number of values, at least two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// Every width that rounds to the print, none negative.
    pub width: Interval,
    /// The number of values.
    pub n: u64,
}

impl Spread {
    /// A printed width of `n` values; `None` for fewer than two, which have no spread.
    pub fn new(width: &Interval, n: u64) -> Option<Self> {
        let from_zero =
            |end: &BigRational| if end.is_negative() { BigRational::zero() } else { end.clone() };
        let width = Interval::between(from_zero(width.low()), from_zero(width.high()));
        (n >= 2).then_some(Self { width, n })
    }

    /// Every square of the width.
    fn square(&self) -> Interval {
        &self.width * &self.width
    }

    /// Every variance (over n - 1) that the print allows under a reading.
    pub fn variance(&self, reading: ErrorBarMeaning) -> Result<Interval, Refused> {
        Ok(&self.square() * &reading.variance_of_one(self.n)?)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;
    use repro_core::decimal::Printed;

    /// The printed number for values that vary.
    pub fn width(values: &[f64], reading: ErrorBarMeaning) -> f64 {
        reading.width(values).unwrap()
    }

    #[test]
    fn readings_are_named_and_found_again() {
        for reading in ErrorBarMeaning::ALL.into_iter().chain([ErrorBarMeaning::Confidence(999)]) {
            assert_eq!(ErrorBarMeaning::named(&reading.name()), Some(reading));
        }
        for unknown in ["", "ci", "ci0", "ci100", "ci95.25", "ci9x", "ci+5", "population sd"] {
            assert_eq!(ErrorBarMeaning::named(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn three_values() {
        let spread = Spread::new(&Printed::parse("3").unwrap().exact(), 3).unwrap();
        let point = |top: u128, bottom: u128| Interval::point(ratio(top, bottom));
        assert_eq!(spread.variance(ErrorBarMeaning::Sd).unwrap(), point(9, 1));
        assert_eq!(spread.variance(ErrorBarMeaning::PopulationSd).unwrap(), point(27, 2));
        assert_eq!(spread.variance(ErrorBarMeaning::StandardError).unwrap(), point(27, 1));
        assert_eq!(
            spread.variance(ErrorBarMeaning::NormalConfidence).unwrap(),
            point(27 * 10_000, 196 * 196)
        );
        let range = spread.variance(ErrorBarMeaning::HalfRange).unwrap();
        assert_eq!(range, Interval::between(ratio(9, 1), ratio(12, 1)));
        // t of two degrees of freedom at 95%: 0.95·√(2/(1 - 0.95²)), squared 37/2 and a bit.
        let square = ratio(2 * 9025, 10_000 - 9025);
        let confidence = spread.variance(ErrorBarMeaning::Confidence(950)).unwrap();
        assert!(confidence.contains(&(ratio(27, 1) / square)));
        assert!(confidence.relative_width().unwrap() < ratio(1, 100_000_000));
    }

    #[test]
    fn one_value_has_no_spread_and_none_is_negative() {
        let width = Printed::parse("0.0").unwrap().interval();
        assert_eq!(Spread::new(&width, 1), None);
        assert_eq!(
            Spread::new(&width, 2).unwrap().width,
            Interval::between(ratio(0, 1), ratio(1, 20))
        );
        let pair = Spread::new(&Interval::integer(1), 2).unwrap();
        assert_eq!(pair.variance(ErrorBarMeaning::HalfRange).unwrap(), Interval::integer(2));
    }

    /// For an even number of degrees of freedom the probability within ±t is s·P(c²) with s² and c²
    /// rational in t² and P a polynomial, so the quantile can be bracketed without floats.
    fn within_level(square: &BigRational, df: u64, level: u16) -> bool {
        let whole = |n: u64| BigRational::from_integer(BigInt::from(n));
        let (sine, cosine) = (square / (square + whole(df)), whole(df) / (square + whole(df)));
        let (mut term, mut sum) = (BigRational::one(), BigRational::one());
        for k in 1..df / 2 {
            term = term * &cosine * ratio((2 * k - 1).into(), (2 * k).into());
            sum += &term;
        }
        let level = ratio(level.into(), 1000);
        sine * &sum * &sum < &level * &level
    }

    #[test]
    fn quantiles_are_enclosed() {
        for df in [2_u64, 4, 6, 10, 20, 40] {
            for level in [500, 900, 950, 990, 999] {
                let square = quantile_square(df as f64, level).unwrap();
                assert!(within_level(square.low(), df, level), "{df} {level}");
                assert!(!within_level(square.high(), df, level), "{df} {level}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_half_range_allows_the_variance_that_the_values_have(
            values in proptest::collection::vec(-1000i32..1000, 2..9)
        ) {
            let n = values.len() as i64;
            let whole = |n: i64| BigRational::from_integer(n.into());
            let (least, most) = (values.iter().min().unwrap(), values.iter().max().unwrap());
            let half = whole(i64::from(most - least)) / whole(2);
            let sum: i64 = values.iter().map(|v| i64::from(*v)).sum();
            let squares: i64 = values.iter().map(|v| i64::from(*v).pow(2)).sum();
            let variance = (whole(squares) - whole(sum * sum) / whole(n)) / whole(n - 1);
            let spread = Spread::new(&Interval::point(half), n as u64).unwrap();
            prop_assert!(spread.variance(ErrorBarMeaning::HalfRange).unwrap().contains(&variance), "{}", nearest_f64(&variance));
        }
    }
}
