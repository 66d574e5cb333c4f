//! The least-squares line through points.

use super::decimals::Decimals;
use super::{Refused, Summary, T, mean};

/// A line with the test of its slope against zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLine {
    /// The slope, its standard error and t, with n - 2 degrees of freedom.
    pub slope: T,
    /// The height at zero.
    pub intercept: f64,
}

/// The slope of the least-squares line; two points have one.
///
/// ```
/// use repro_stats::slope;
///
/// assert_eq!(slope(&[0.0, 1.0, 2.0], &[1.0, 3.0, 5.0])?, 2.0);
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn slope(x: &[f64], y: &[f64]) -> Result<f64, Refused> {
    if x.len() != y.len() {
        return Err(Refused::UnequalLengths { left: x.len(), right: y.len() });
    }
    if x.len() < 2 {
        return Err(Refused::TooFew { needed: 2, found: x.len() });
    }
    let slope = Decimals::of(x)?.slope(&Decimals::of(y)?).ok_or(Refused::NoSpread)?;
    if slope.is_finite() { Ok(slope) } else { Err(Refused::OutOfRange) }
}

/// The least-squares line through at least three points that are not collinear.
///
/// ```
/// use repro_stats::line;
///
/// let fitted = line(&[0.0, 1.0, 2.0], &[0.0, 3.0, 3.0])?;
/// assert_eq!((fitted.slope.estimate, fitted.intercept), (1.5, 0.5));
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn line(x: &[f64], y: &[f64]) -> Result<FittedLine, Refused> {
    let slope = slope(x, y)?;
    let n = x.len();
    if n < 3 {
        return Err(Refused::TooFew { needed: 3, found: n });
    }
    let (across, up) = (Summary::of(x)?, mean(y)?);
    let rests = x.iter().zip(y).map(|(x, y)| (y - up) - slope * (x - across.mean));
    let squares: f64 = rests.map(|rest| rest * rest).sum();
    let largest = y.iter().fold(0.0_f64, |largest, y| largest.max((y - up).abs()));
    let df = (n - 2) as f64;
    // Points on a line leave only rounding errors.
    let spread = (squares / df).sqrt();
    if spread <= 16.0 * f64::EPSILON * largest.max(up.abs()) {
        return Err(Refused::NoSpread);
    }
    let error = spread / (across.sd * ((n - 1) as f64).sqrt());
    let test = T::new(slope, 0.0, error, df)?;
    Ok(FittedLine { slope: test, intercept: up - slope * across.mean })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values of scipy 1.17: `linregress`.
    #[test]
    fn a_known_line() {
        let line = line(&[1.0, 2.0, 4.0, 7.0], &[2.5, 2.25, 2.125, 1.75]).unwrap();
        for (found, wanted) in [
            (line.slope.estimate, -0.11607142857142858),
            (line.intercept, 2.5625),
            (line.slope.standard_error, 0.015464739353293514),
            (line.slope.p_two_sided(), 0.017292370176009153),
        ] {
            assert!((found - wanted).abs() <= 1e-12 * wanted.abs(), "{found} is not {wanted}");
        }
    }

    #[test]
    fn lines_that_do_not_exist() {
        assert_eq!(slope(&[1.0, 1.0], &[1.0, 2.0]), Err(Refused::NoSpread));
        assert_eq!(slope(&[1.0, 2.0], &[1.0, 3.0]), Ok(2.0));
        let few = Refused::TooFew { needed: 3, found: 2 };
        assert_eq!(line(&[1.0, 2.0], &[1.0, 3.0]), Err(few));
        assert_eq!(line(&[1.0, 2.0, 3.0], &[0.1, 0.2, 0.3]), Err(Refused::NoSpread));
        let unequal = Refused::UnequalLengths { left: 2, right: 1 };
        assert_eq!(slope(&[1.0, 2.0], &[1.0]), Err(unequal));
    }

    proptest! {
        #[test]
        fn points_on_a_line_give_it_back(slope in -9.0..9.0_f64, height in -9.0..9.0_f64) {
            let x = [0.5, 1.0, 3.0, 8.0];
            let y: Vec<_> = x.iter().map(|x| height + slope * x).collect();
            prop_assert!((super::slope(&x, &y).unwrap() - slope).abs() < 1e-12);
        }
    }
}
