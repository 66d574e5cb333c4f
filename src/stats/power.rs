//! Power of a design: the smallest gap that it detects, and the number of runs that a gap needs.
//!
//! Power is exact, from the noncentral t: the probability that a t with noncentrality gap / standard error exceeds the
//! critical value. For two arms with different standard deviations, the degrees of freedom are Welch's, at the given
//! standard deviations.

use super::distribution::{StudentT, Symmetric};
use super::noncentral_t::noncentral_t_upper;
use super::{Refused, Summary, T, one_sample, welch};

/// The maximum number of runs that are searched.
pub const MOST_RUNS: usize = 1_000_000;

/// The relative precision of a gap, and the most steps of the search for it.
const ROOT_PRECISION: f64 = 1e-13;
const MOST_STEPS: usize = 200;

/// Whether a test looks for a gap on one side of zero or on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// One direction was declared.
    One,
    /// Either direction counts.
    Two,
}

/// The goal of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    alpha: f64,
    power: f64,
    sides: Sides,
}

/// How runs measure a gap, with the standard deviations of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Design {
    /// Pairs, or one list: the standard deviation of the differences, or of the values.
    Paired(f64),
    /// Two arms with the same number of runs.
    TwoArms(f64, f64),
}

impl Design {
    /// The test of `gap` with `runs` in each arm.
    fn test(self, gap: f64, runs: usize) -> Result<T, Refused> {
        let arm = |mean, sd| Summary { n: runs, mean, sd };
        match self {
            Design::Paired(sd) => one_sample(&arm(gap, sd), 0.0),
            Design::TwoArms(left, right) => welch(&arm(gap, left), &arm(0.0, right)),
        }
    }
}

impl Goal {
    /// A goal: detect with probability `power` at a false positive rate of `alpha`.
    pub fn new(alpha: f64, power: f64, sides: Sides) -> Result<Self, Refused> {
        for share in [alpha, power] {
            if share.is_nan() || share <= 0.0 || share >= 1.0 {
                return Err(Refused::NotAProbability(share));
            }
        }
        if power <= alpha {
            return Err(Refused::NotAProbability(power));
        }
        Ok(Self { alpha, power, sides })
    }

    /// The t that a test must pass.
    fn critical(&self, df: f64) -> Result<f64, Refused> {
        let student = StudentT::new(df)?;
        match self.sides {
            Sides::One => student.upper_quantile(self.alpha),
            Sides::Two => student.upper_quantile(self.alpha / 2.0),
        }
    }

    /// The probability of detecting a gap that is `delta` standard errors, from 0 up.
    fn detects(&self, delta: f64, df: f64, critical: f64) -> f64 {
        let right = noncentral_t_upper(critical, df, delta);
        match self.sides {
            Sides::One => right,
            Sides::Two => right + noncentral_t_upper(critical, df, -delta),
        }
    }

    /// The smallest gap that a test of this standard error and these degrees of freedom detects.
    pub fn minimum_detectable_gap(&self, standard_error: f64, df: f64) -> Result<f64, Refused> {
        if standard_error.is_nan() || standard_error <= 0.0 {
            return Err(Refused::NoSpread);
        }
        let critical = self.critical(df)?;
        let over = |delta: f64| (delta, self.detects(delta, df, critical) - self.power);
        let (mut low, mut high) = (over(0.0), over(1.0));
        while high.1 < 0.0 {
            low = high;
            high = over(2.0 * low.0);
            if high.0 > 1e12 {
                return Err(Refused::OutOfRange);
            }
        }
        Ok(root(over, low, high) * standard_error)
    }

    /// The minimum number of runs of each arm, from two up, that detect `gap`.
    ///
    /// ```
    /// use repro_stats::power::{Design, Goal, Sides};
    ///
    /// let goal = Goal::new(0.05, 0.8, Sides::Two)?;
    /// // A gap of one standard deviation takes seventeen runs in each arm.
    /// assert_eq!(goal.runs_needed(0.01, Design::TwoArms(0.01, 0.01))?, 17);
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    pub fn runs_needed(&self, gap: f64, design: Design) -> Result<usize, Refused> {
        if gap == 0.0 {
            return Err(Refused::NoGap);
        }
        let enough = |runs: usize| -> Result<bool, Refused> {
            let test = design.test(gap, runs)?;
            Ok(self.detects(test.t.abs(), test.df, self.critical(test.df)?) >= self.power)
        };
        let (mut too_few, mut runs) = (1, 2);
        while !enough(runs)? {
            if runs >= MOST_RUNS {
                return Err(Refused::TooManyRuns(MOST_RUNS));
            }
            too_few = runs;
            runs = (2 * runs).min(MOST_RUNS);
        }
        while runs - too_few > 1 {
            let middle = too_few + (runs - too_few) / 2;
            if enough(middle)? {
                runs = middle;
            } else {
                too_few = middle;
            }
        }
        Ok(runs)
    }
}

/// The zero of an increasing function between two points, which `function` returns with its values: false position, in
/// which an end that stays counts for half (the Illinois rule).
fn root(function: impl Fn(f64) -> (f64, f64), low: (f64, f64), high: (f64, f64)) -> f64 {
    let ((mut low, mut below), (mut high, mut above)) = (low, high);
    let (mut at, mut stayed) = (high, 0);
    for _ in 0..MOST_STEPS {
        let last = at;
        at = (low * above - high * below) / (above - below);
        if !(at > low && at < high) {
            at = low + (high - low) / 2.0;
        }
        let (_, value) = function(at);
        if value == 0.0 || (at - last).abs() <= ROOT_PRECISION * at {
            break;
        }
        if value < 0.0 {
            (low, below) = (at, value);
            if stayed == 1 {
                above /= 2.0;
            }
            stayed = 1;
        } else {
            (high, above) = (at, value);
            if stayed == -1 {
                below /= 2.0;
            }
            stayed = -1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-8 * wanted, "{found} is not {wanted}");
    }

    /// Gaps by root finding on scipy's `nct`, runs by `solve_power` of statsmodels 0.15.
    #[test]
    fn known_designs() {
        let two = Goal::new(0.05, 0.8, Sides::Two).unwrap();
        let one = Goal::new(0.01, 0.9, Sides::One).unwrap();
        // n pairs of standard deviation 1: standard error 1/sqrt(n).
        close(two.minimum_detectable_gap(1.0 / 3.0_f64.sqrt(), 2.0).unwrap(), 3.264043549699572);
        close(two.minimum_detectable_gap(1.0 / 10.0_f64.sqrt(), 9.0).unwrap(), 0.9960013714554438);
        close(one.minimum_detectable_gap(1.0 / 10.0_f64.sqrt(), 9.0).unwrap(), 1.35405396807945);
        close(two.minimum_detectable_gap((2.0_f64 / 5.0).sqrt(), 8.0).unwrap(), 2.024439339384543);
        assert_eq!(two.runs_needed(0.5, Design::Paired(1.0)), Ok(34));
        assert_eq!(two.runs_needed(-0.5, Design::TwoArms(1.0, 1.0)), Ok(64));
        assert_eq!(one.runs_needed(3.0, Design::Paired(1.0)), Ok(5));
    }

    #[test]
    fn a_crossing_is_found_from_both_sides() {
        for wanted in [0.01, 0.1, 0.5, 0.999] {
            for power in [1, 3, 9] {
                let curve = |x: f64| (x, x.powi(power) - f64::powi(wanted, power));
                let found = root(curve, curve(0.0), curve(1.0));
                assert!((found - wanted).abs() < 1e-9 * wanted, "{found} is not {wanted}");
            }
        }
    }

    #[test]
    fn no_design_detects_nothing() {
        let goal = Goal::new(0.05, 0.8, Sides::Two).unwrap();
        assert_eq!(goal.runs_needed(0.0, Design::Paired(1.0)), Err(Refused::NoGap));
        assert_eq!(goal.runs_needed(1.0, Design::Paired(0.0)), Err(Refused::NoSpread));
        let tiny = goal.runs_needed(1e-6, Design::Paired(1.0));
        assert_eq!(tiny, Err(Refused::TooManyRuns(MOST_RUNS)));
        assert_eq!(Goal::new(0.05, 0.05, Sides::Two), Err(Refused::NotAProbability(0.05)));
        assert_eq!(Goal::new(0.0, 0.5, Sides::Two), Err(Refused::NotAProbability(0.0)));
        assert_eq!(goal.minimum_detectable_gap(0.0, 3.0), Err(Refused::NoSpread));
    }
}
