//! Rank tests of two lists: Mann-Whitney and Kolmogorov-Smirnov.
//!
//! Both only use the number of values of each list at each position of the common order, so magnitudes do not matter.

use libm::exp;

use super::distribution::{Normal, Symmetric};
use super::{Decimals, Refused};

/// The maximum number of values of a list, without ties, for which every order is counted: as in R.
const MOST_COUNTED: u64 = 50;
/// The maximum number of pairs of values for which the paths of the Kolmogorov-Smirnov test are counted.
const MOST_PATHS: u64 = 1_000_000;
/// The point at which the two series of Kolmogorov's distribution converge equally fast.
const SERIES_MEET: f64 = 1.18;

/// The number of values of each list that are equal to one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TieGroup {
    a: u64,
    b: u64,
}

/// Two lists in their common order.
#[derive(Debug, Clone)]
pub struct RankedPair {
    /// The distinct values, least first.
    groups: Vec<TieGroup>,
    a: u64,
    b: u64,
}

/// Mann-Whitney's test, also called Wilcoxon's rank sum test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// The pairs in which the value of a is larger; an equal pair counts for half.
    pub u: f64,
    /// The two-sided p.
    pub p_two_sided: f64,
    /// The p of "a is smaller".
    pub p_less: f64,
    /// The p of "a is larger".
    pub p_greater: f64,
    /// Whether every order was counted; else p is the normal approximation, corrected for ties and continuity.
    pub is_exact: bool,
    /// The smallest two-sided p for lists of these lengths; 0 if it is unknown.
    pub least_two_sided: f64,
}

/// The two-sided Kolmogorov-Smirnov test of two lists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KolmogorovSmirnov {
    /// The largest distance between the two empirical distribution functions.
    pub d: f64,
    /// The two-sided p.
    pub p: f64,
    /// Whether every order was counted; else p is Kolmogorov's limit.
    pub is_exact: bool,
}

impl RankedPair {
    /// Two lists of at least one value each.
    pub fn new(a: &Decimals, b: &Decimals) -> Result<Self, Refused> {
        if a.count() == 0 || b.count() == 0 {
            return Err(Refused::TooFew { needed: 1, found: 0 });
        }
        let groups = a.merged(b).into_iter().map(|[a, b]| TieGroup { a, b }).collect();
        Ok(Self { groups, a: a.count() as u64, b: b.count() as u64 })
    }

    fn has_ties(&self) -> bool {
        self.groups.iter().any(|group| group.a + group.b > 1)
    }

    /// Mann and Whitney (1947). Without ties and with up to 50 values in each list, p is exact; else U is normal, with
    /// Lehmann's correction of its variance for ties and one of a half for continuity, as in SciPy and R.
    ///
    /// ```
    /// use repro_stats::{Decimals, RankedPair};
    ///
    /// let (a, b) = (Decimals::of(&[1.0, 2.0, 3.0])?, Decimals::of(&[4.0, 5.0, 6.0])?);
    /// let test = RankedPair::new(&a, &b)?.mann_whitney()?;
    /// assert_eq!((test.u, test.is_exact), (0.0, true));
    /// assert!((test.p_two_sided - 0.1).abs() < 1e-15);
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Refused::NoSpread`] if all values are equal.
    pub fn mann_whitney(&self) -> Result<MannWhitney, Refused> {
        if self.groups.len() == 1 {
            return Err(Refused::NoSpread);
        }
        let (mut below, mut twice) = (0_u128, 0_u128);
        for group in &self.groups {
            twice += u128::from(group.a) * (2 * below + u128::from(group.b));
            below += u128::from(group.b);
        }
        let all = 2 * u128::from(self.a) * u128::from(self.b);
        let is_exact = !self.has_ties() && self.a.max(self.b) <= MOST_COUNTED;
        let (p_greater, p_less, least) = if is_exact {
            let shares = shares_of_u(self.a as usize, self.b as usize);
            let least = shares.last().copied().unwrap_or_default();
            (up_from(&shares, twice / 2), up_from(&shares, (all - twice) / 2), least)
        } else {
            let deviation = self.deviation_of_u();
            let upper = |twice: u128| {
                let away = (twice as f64 - all as f64 / 2.0) / 2.0 - 0.5;
                Normal.upper(away / deviation)
            };
            (upper(twice)?, upper(all - twice)?, 0.0)
        };
        Ok(MannWhitney {
            u: twice as f64 / 2.0,
            p_two_sided: (2.0 * p_greater.min(p_less)).min(1.0),
            p_less,
            p_greater,
            is_exact,
            least_two_sided: (2.0 * least).min(1.0),
        })
    }

    /// The standard deviation of U if a and b have the same distribution: with n values and ties of size t, sqrt(ab/12 (n +
    /// 1 - Σ(t³ - t) / (n (n - 1)))) (Lehmann 1975, 1.35).
    fn deviation_of_u(&self) -> f64 {
        let n = (self.a + self.b) as f64;
        let tied = self.groups.iter().map(|group| {
            let t = (group.a + group.b) as f64;
            t * t * t - t
        });
        let variance =
            self.a as f64 * self.b as f64 / 12.0 * (n + 1.0 - tied.sum::<f64>() / (n * (n - 1.0)));
        variance.sqrt()
    }

    /// Smirnov (1939). For up to a million pairs of values, p is the fraction of orders, with the given ties, in which the
    /// distance is at least as large (Hodges 1957; with ties Schröer and Trenkler 1995, as in R; SciPy ignores ties, which
    /// gives a larger p). Beyond that, Kolmogorov's limit.
    pub fn kolmogorov_smirnov(&self) -> Result<KolmogorovSmirnov, Refused> {
        let (mut seen_a, mut seen_b, mut farthest) = (0, 0, 0);
        for group in &self.groups {
            seen_a += group.a;
            seen_b += group.b;
            farthest = farthest.max(self.distance(seen_a, seen_b));
        }
        let (a, b) = (self.a as f64, self.b as f64);
        let d = farthest as f64 / (a * b);
        let is_exact = u128::from(self.a) * u128::from(self.b) <= MOST_PATHS.into();
        let p = if is_exact {
            self.share_beyond(farthest)
        } else {
            kolmogorov_upper(d * (a / (a + b) * b).sqrt())
        };
        Ok(KolmogorovSmirnov { d, p, is_exact })
    }

    /// The distance of the distribution functions after these numbers of values of each list, times both counts.
    fn distance(&self, seen_a: u64, seen_b: u64) -> u128 {
        let (a, b) = (u128::from(self.a), u128::from(self.b));
        (u128::from(seen_a) * b).abs_diff(u128::from(seen_b) * a)
    }

    /// The fraction of orders in which the distance is somewhere at least `limit`. An order is a path of steps for a and b;
    /// of all paths to (i, j), the fraction i / (i + j) ends with a step for a. Fractions are only added, so small ones
    /// keep their digits.
    fn share_beyond(&self, limit: u128) -> f64 {
        // The ends of groups of ties, where the distribution functions are compared.
        let mut is_end = vec![false; (self.a + self.b + 1) as usize];
        let mut seen = 0;
        for group in &self.groups {
            seen += group.a + group.b;
            if let Some(end) = is_end.get_mut(seen as usize) {
                *end = true;
            }
        }
        let is_beyond = |i: u64, j: u64| {
            is_end.get((i + j) as usize).copied().unwrap_or_default()
                && self.distance(i, j) >= limit
        };
        let mut row: Vec<f64> = vec![0.0; self.b as usize + 1];
        for i in 0..=self.a {
            let mut left = 0.0;
            for (j, share) in (0..).zip(row.iter_mut()) {
                let both = (i + j).max(1) as f64;
                *share = match is_beyond(i, j) {
                    true => 1.0,
                    false => i as f64 / both * *share + j as f64 / both * left,
                };
                left = *share;
            }
        }
        row.last().copied().unwrap_or(1.0).min(1.0)
    }
}

/// The fraction of orders of `a` and `b` values for each U: the largest value is one of a in a of a + b orders, and is then above
/// all of b.
fn shares_of_u(a: usize, b: usize) -> Vec<f64> {
    // For one count of a, the shares for each count of b.
    let mut counts: Vec<Vec<f64>> = vec![vec![1.0]; b + 1];
    for i in 1..=a {
        let mut fewer: Vec<f64> = Vec::new();
        for (j, shares) in counts.iter_mut().enumerate() {
            let (of_a, of_b) = (i as f64 / (i + j) as f64, j as f64 / (i + j) as f64);
            let mut next = vec![0.0; i * j + 1];
            for (into, share) in next.iter_mut().skip(j).zip(shares.iter()) {
                *into += of_a * share;
            }
            for (into, share) in next.iter_mut().zip(&fewer) {
                *into += of_b * share;
            }
            shares.clone_from(&next);
            fewer = next;
        }
    }
    counts.pop().unwrap_or_default()
}

/// The sum of the fractions from `u` up, the smallest first.
fn up_from(shares: &[f64], u: u128) -> f64 {
    let from = usize::try_from(u).unwrap_or(usize::MAX);
    shares.iter().skip(from).rev().sum::<f64>().min(1.0)
}

/// The probability that Kolmogorov's limit is above `x`: 2 Σ (-1)^(k-1) exp(-2 k² x²), and for small x its transform
/// 1 - sqrt(2 pi)/x Σ exp(-(2k - 1)² pi² / (8 x²)).
fn kolmogorov_upper(x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let terms = (1..=8).map(f64::from);
    if x < SERIES_MEET {
        let scale = std::f64::consts::PI / x;
        let each = terms.map(|k| exp(-(2.0 * k - 1.0) * (2.0 * k - 1.0) * scale * scale / 8.0));
        return 1.0 - (2.0 * std::f64::consts::PI).sqrt() / x * each.sum::<f64>();
    }
    let mut sign = -1.0;
    let each = terms.map(|k| {
        sign = -sign;
        sign * exp(-2.0 * k * k * x * x)
    });
    (2.0 * each.sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(a: &[f64], b: &[f64]) -> Result<RankedPair, Refused> {
        RankedPair::new(&Decimals::of(a)?, &Decimals::of(b)?)
    }

    #[test]
    fn what_has_no_order_is_refused() {
        let few = Refused::TooFew { needed: 1, found: 0 };
        assert_eq!(of(&[], &[1.0]).map(|_| ()), Err(few.clone()));
        assert_eq!(of(&[1.0], &[]).map(|_| ()), Err(few));
        assert_eq!(of(&[f64::NAN], &[1.0]).map(|_| ()), Err(Refused::NotFinite));
        assert_eq!(of(&[f64::INFINITY], &[1.0]).map(|_| ()), Err(Refused::NotFinite));
        let flat = of(&[2.0, 2.0], &[2.0]).unwrap();
        assert_eq!(flat.mann_whitney(), Err(Refused::NoSpread));
        assert_eq!(flat.kolmogorov_smirnov().unwrap().p, 1.0);
    }

    /// All ways to assign the values to the two lists, each equally likely.
    fn each_split(values: &[f64], a: usize) -> Vec<RankedPair> {
        let masks = (0_u32..1 << values.len()).filter(|mask| mask.count_ones() as usize == a);
        let split = |mask: u32| {
            let side = |bit| {
                let own = values.iter().enumerate().filter(|(at, _)| mask >> at & 1 == bit);
                own.map(|(_, value)| *value).collect::<Vec<_>>()
            };
            of(&side(1), &side(0)).unwrap()
        };
        masks.map(split).collect()
    }

    proptest! {
        #[test]
        fn the_share_of_paths_is_that_of_all_splits(
            a in prop::collection::vec(0_i8..6, 1..5), b in prop::collection::vec(0_i8..6, 1..5),
        ) {
            let all: Vec<f64> = a.iter().chain(&b).map(|one| f64::from(*one)).collect();
            let (left, right) = all.split_at(a.len());
            let own = of(left, right).unwrap().kolmogorov_smirnov().unwrap();
            let splits = each_split(&all, a.len());
            let far = splits.iter().filter(|split| {
                split.kolmogorov_smirnov().unwrap().d >= own.d * (1.0 - 1e-12)
            });
            let wanted = far.count() as f64 / splits.len() as f64;
            prop_assert!((own.p - wanted).abs() < 1e-12, "{} is not {wanted}", own.p);
        }

        #[test]
        fn exact_u_is_counted(a in 1_usize..5, b in 1_usize..5, seed in 0_usize..1000) {
            let all: Vec<f64> = (0..a + b).map(|at| ((at * 37 + seed) % 101) as f64).collect();
            let (left, right) = all.split_at(a);
            let own = of(left, right).unwrap().mann_whitney().unwrap();
            let us: Vec<f64> =
                each_split(&all, a).iter().map(|one| one.mann_whitney().unwrap().u).collect();
            let share = |keep: &dyn Fn(f64) -> bool| {
                us.iter().filter(|u| keep(**u)).count() as f64 / us.len() as f64
            };
            prop_assert!(own.is_exact);
            prop_assert!((own.p_greater - share(&|u| u >= own.u)).abs() < 1e-12);
            prop_assert!((own.p_less - share(&|u| u <= own.u)).abs() < 1e-12);
        }

        #[test]
        fn only_the_order_matters(
            a in prop::collection::vec(-1e3..1e3_f64, 1..30), b in prop::collection::vec(-1e3..1e3_f64, 1..30),
        ) {
            let cubed = |values: &[f64]| values.iter().map(|x| 1e290 * x * x * x).collect::<Vec<_>>();
            let (one, other) = (of(&a, &b).unwrap(), of(&cubed(&a), &cubed(&b)).unwrap());
            prop_assert_eq!(one.mann_whitney(), other.mann_whitney());
            prop_assert_eq!(one.kolmogorov_smirnov(), other.kolmogorov_smirnov());
            let swapped = of(&b, &a).unwrap();
            if let (Ok(own), Ok(swapped)) = (one.mann_whitney(), swapped.mann_whitney()) {
                prop_assert!((own.p_greater - swapped.p_less).abs() < 1e-14);
                prop_assert_eq!(own.u + swapped.u, (a.len() * b.len()) as f64);
            }
        }
    }
}
