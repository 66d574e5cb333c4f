//! Equivalence by two one-sided tests (TOST).

use super::{Refused, T};

/// Both one-sided tests of an estimate against a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equivalence {
    /// The test against the lower end; `p_greater` is its p.
    pub lower: T,
    /// The test against the upper end; `p_less` is its p.
    pub upper: T,
}

impl Equivalence {
    /// The p of equivalence: the larger of the two one-sided ones.
    pub fn p(&self) -> f64 {
        self.lower.p_greater().max(self.upper.p_less())
    }
}

/// Tests whether an estimate is inside `low`..`high`. Equivalent at α exactly if the interval at level 1 - 2α is inside the
/// margin.
///
/// ```
/// use repro_stats::{Summary, equivalence, one_sample};
///
/// let test = one_sample(&Summary { n: 10, mean: 0.0, sd: 1.0 }, 0.0)?;
/// let found = equivalence(&test, -1.0, 1.0)?;
/// assert!(found.p() < 0.01, "the mean lies inside the margin");
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn equivalence(test: &T, low: f64, high: f64) -> Result<Equivalence, Refused> {
    let in_order = low.is_finite() && high.is_finite() && low < high;
    if !in_order {
        return Err(Refused::Margin { low, high });
    }
    Ok(Equivalence { lower: test.against(low)?, upper: test.against(high)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn margins_run_upward() {
        let test = T::new(0.1, 0.0, 0.5, 4.0).unwrap();
        for (low, high) in [(1.0, -1.0), (1.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(matches!(equivalence(&test, low, high), Err(Refused::Margin { .. })));
        }
    }

    proptest! {
        #[test]
        fn equivalent_where_the_interval_lies_inside(
            estimate in -1.0..1.0_f64, error in 0.01..1.0_f64, df in 1.0..50.0_f64,
        ) {
            let test = T::new(estimate, 0.0, error, df).unwrap();
            let tost = equivalence(&test, -1.0, 1.0).unwrap();
            let [low, high] = test.interval(0.9).unwrap();
            prop_assume!((tost.p() - 0.05).abs() > 1e-9);
            prop_assert_eq!(tost.p() < 0.05, low > -1.0 && high < 1.0);
        }
    }
}
