//! Shares of successes: intervals, two independent shares, and paired outcomes.

use super::Refused;
use super::distribution::{Normal, Symmetric, coins_up_to};
use super::second_opinion::{agreed, unlikely_tables};
use super::special::binomial;

/// Larger counts are rejected, because exact sums over them take too long.
const MOST: u64 = 1 << 32;
/// Two tables whose probabilities are this close, relatively, are equally likely.
const TIE: f64 = 1e-9;

/// Successes out of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proportion {
    successes: u64,
    trials: u64,
}

/// The pooled z test of two proportions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoProportions {
    /// The difference of the proportions a - b.
    pub difference: f64,
    /// The difference over its standard error under one common proportion.
    pub z: f64,
    /// The probability of a z beyond this one on its side of zero.
    beyond: f64,
}

/// McNemar's tests of paired outcomes, which only use the discordant pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// The exact two-sided binomial p.
    pub exact: f64,
    /// The exact p less half the probability of the observed split on each side: less conservative.
    pub mid: f64,
    /// The p of chi-squared without a correction.
    pub chi_squared: f64,
}

impl Proportion {
    /// A proportion of at least one trial.
    ///
    /// ```
    /// use repro_stats::proportion::Proportion;
    ///
    /// assert_eq!(Proportion::new(54, 216)?.share(), 0.25);
    /// assert!(Proportion::new(3, 2).is_err(), "more successes than trials");
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    pub fn new(successes: u64, trials: u64) -> Result<Self, Refused> {
        if trials == 0 {
            Err(Refused::NoTrials)
        } else if successes > trials {
            Err(Refused::TooManySuccesses { successes, trials })
        } else if trials > MOST {
            Err(Refused::CountTooLarge(trials))
        } else {
            Ok(Self { successes, trials })
        }
    }

    /// The number of successes.
    pub fn successes(&self) -> u64 {
        self.successes
    }

    /// The number of trials.
    pub fn trials(&self) -> u64 {
        self.trials
    }

    /// The smallest of the four counts expected under one common proportion.
    pub fn least_expected(&self, other: &Self) -> f64 {
        let all = (self.trials + other.trials) as f64;
        let successes = self.successes + other.successes;
        let rarer = successes.min(self.trials + other.trials - successes) as f64;
        rarer / all * self.trials.min(other.trials) as f64
    }

    /// The proportion of successes.
    pub fn share(&self) -> f64 {
        self.successes as f64 / self.trials as f64
    }

    /// The standard error of the proportion with divisor n - 1, as lm-evaluation-harness prints it.
    pub fn standard_error(&self) -> Result<f64, Refused> {
        if self.trials < 2 {
            return Err(Refused::TooFew { needed: 2, found: 1 });
        }
        let failures = (self.trials - self.successes) as f64 / self.trials as f64;
        Ok((self.share() * failures / (self.trials - 1) as f64).sqrt())
    }

    /// Wilson's score interval at a level strictly between 0 and 1.
    ///
    /// ```
    /// use repro_stats::proportion::Proportion;
    ///
    /// let [low, high] = Proportion::new(0, 10)?.wilson(0.95)?;
    /// assert!(low == 0.0 && (high - 0.2775).abs() < 1e-4);
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    pub fn wilson(&self, level: f64) -> Result<[f64; 2], Refused> {
        if level.is_nan() || level <= 0.0 || level >= 1.0 {
            return Err(Refused::NotAProbability(level));
        }
        let (n, share) = (self.trials as f64, self.share());
        let z = Normal.upper_quantile((1.0 - level) / 2.0)?;
        let z2 = z * z;
        let middle = share + z2 / (2.0 * n);
        let reach = z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        let shrink = 1.0 + z2 / n;
        let low = if self.successes == 0 { 0.0 } else { (middle - reach) / shrink };
        let high = if self.successes == self.trials { 1.0 } else { (middle + reach) / shrink };
        Ok([low.max(0.0), high.min(1.0)])
    }
}

impl TwoProportions {
    /// The probability of a z at least as far from zero under one common proportion.
    pub fn p_two_sided(&self) -> f64 {
        (2.0 * self.beyond).min(1.0)
    }

    /// The probability of a z at most this large.
    pub fn p_less(&self) -> f64 {
        if self.z < 0.0 { self.beyond } else { 1.0 - self.beyond }
    }

    /// The probability of a z at least this large.
    pub fn p_greater(&self) -> f64 {
        if self.z < 0.0 { 1.0 - self.beyond } else { self.beyond }
    }
}

/// The pooled z test of a against b, which are counted over different trials.
///
/// ```
/// use repro_stats::proportion::{Proportion, two_proportions};
///
/// let (a, b) = (Proportion::new(30, 100)?, Proportion::new(20, 100)?);
/// let test = two_proportions(&a, &b)?;
/// assert!((test.z - 1.633).abs() < 1e-3 && test.p_two_sided() > 0.1);
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn two_proportions(a: &Proportion, b: &Proportion) -> Result<TwoProportions, Refused> {
    let trials = (a.trials + b.trials) as f64;
    let successes = a.successes + b.successes;
    let common = successes as f64 / trials;
    let rest = (a.trials + b.trials - successes) as f64 / trials;
    let error = (common * rest * (1.0 / a.trials as f64 + 1.0 / b.trials as f64)).sqrt();
    if error == 0.0 {
        return Err(Refused::OneOutcome);
    }
    let difference = a.share() - b.share();
    let z = difference / error;
    Ok(TwoProportions { difference, z, beyond: Normal.upper(z.abs())? })
}

/// Fisher's exact two-sided p: the probability of the tables with these margins that are at most as likely.
///
/// ```
/// use repro_stats::proportion::{Proportion, fisher};
///
/// // The lady tasting tea, with three of four right: 34/70.
/// let p = fisher(&Proportion::new(3, 4)?, &Proportion::new(1, 4)?)?;
/// assert!((p - 34.0 / 70.0).abs() < 1e-12);
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn fisher(a: &Proportion, b: &Proportion) -> Result<f64, Refused> {
    let table = Table { left: a.trials, right: b.trials, successes: a.successes + b.successes };
    let (low, mode, high) = (table.low(), table.mode(), table.high());
    let observed = table.probability(a.successes) * (1.0 + TIE);
    let unlikely = |k: u64| table.probability(k) <= observed;
    // Probabilities rise up to the mode and fall after it: each side has one border.
    let rising = border(low, mode + 1, unlikely);
    let falling = border(mode + 1, high + 1, |k| !unlikely(k));
    let mut sum = 0.0;
    if rising > low {
        sum += table.tail(rising - 1, low, |k| 1.0 / table.growth(k - 1), |k| k - 1);
    }
    if falling <= high {
        sum += table.tail(falling, high, |k| table.growth(k), |k| k + 1);
    }
    let (all, successes) = (table.left + table.right, table.successes);
    let second = unlikely_tables(all, successes, table.left, a.successes, 1.0 + TIE);
    agreed("the hypergeometric distribution", sum.min(1.0), second)
}

/// The first number in `from`..`to` for which `holds` is false, or `to`.
fn border(from: u64, to: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (from, to);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

/// All tables with the same margins: successes on the left follow the hypergeometric distribution.
struct Table {
    left: u64,
    right: u64,
    successes: u64,
}

impl Table {
    fn low(&self) -> u64 {
        self.successes.saturating_sub(self.right)
    }

    fn high(&self) -> u64 {
        self.successes.min(self.left)
    }

    fn mode(&self) -> u64 {
        let product = u128::from(self.left + 1) * u128::from(self.successes + 1);
        let mode = product / u128::from(self.left + self.right + 2);
        u64::try_from(mode).unwrap_or(u64::MAX).clamp(self.low(), self.high())
    }

    fn probability(&self, k: u64) -> f64 {
        let all = self.left + self.right;
        if self.successes == 0 || self.successes == all {
            return 1.0;
        }
        let (p, q) =
            (self.successes as f64 / all as f64, (all - self.successes) as f64 / all as f64);
        binomial(k, self.left, p, q) * binomial(self.successes - k, self.right, p, q)
            / binomial(self.successes, all, p, q)
    }

    /// The ratio of the probabilities of k + 1 and k.
    fn growth(&self, k: u64) -> f64 {
        let (more, less) = (self.left - k, self.successes - k);
        more as f64 * less as f64 / ((k + 1) as f64 * (self.right + k + 1 - self.successes) as f64)
    }

    /// The sum of probabilities from `start` to `end`, outward, until they no longer count.
    fn tail(
        &self,
        start: u64,
        end: u64,
        ratio: impl Fn(u64) -> f64,
        next: impl Fn(u64) -> u64,
    ) -> f64 {
        let (mut k, mut term) = (start, self.probability(start));
        let mut sum = term;
        while k != end && term > sum * f64::EPSILON / 16.0 {
            term *= ratio(k);
            sum += term;
            k = next(k);
        }
        sum
    }
}

/// McNemar's tests of `b` pairs in which only the first succeeded and `c` in which only the second.
///
/// ```
/// use repro_stats::proportion::mcnemar;
///
/// // All five discordant pairs on one side: 2 / 2^5.
/// assert!((mcnemar(5, 0)?.exact - 0.0625).abs() < 1e-12);
/// # Ok::<(), repro_stats::Refused>(())
/// ```
pub fn mcnemar(b: u64, c: u64) -> Result<Paired, Refused> {
    let n = b.checked_add(c).filter(|n| *n <= MOST).ok_or(Refused::CountTooLarge(b.max(c)))?;
    if n == 0 {
        return Err(Refused::NoDiscordantPairs);
    }
    let fewer = b.min(c);
    let up_to = coins_up_to(fewer, n)?;
    let here = binomial(fewer, n, 0.5, 0.5);
    let split = b.abs_diff(c) as f64;
    let exact = if b == c { 1.0 } else { (2.0 * up_to).min(1.0) };
    let mid = if b == c { 1.0 } else { (2.0 * up_to - here).clamp(0.0, 1.0) };
    Ok(Paired { exact, mid, chi_squared: Normal.two_sided(split / (n as f64).sqrt())? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(successes: u64, trials: u64) -> Proportion {
        Proportion::new(successes, trials).unwrap()
    }

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() <= 1e-11 * wanted, "{found} is not {wanted}");
    }

    /// Values of scipy 1.17: `fisher_exact`, `binomtest`.
    #[test]
    fn known_tables() {
        close(fisher(&of(8, 10), &of(2, 12)).unwrap(), 0.008284285374068655);
        close(fisher(&of(176, 1319), &of(205, 1319)).unwrap(), 0.12085596126315598);
        close(fisher(&of(1, 50), &of(9, 60)).unwrap(), 0.02079314718041376);
        close(fisher(&of(0, 30), &of(6, 28)).unwrap(), 0.00930788555347676);
        assert_eq!(fisher(&of(0, 5), &of(0, 7)), Ok(1.0));
        close(fisher(&of(3, 3), &of(0, 3)).unwrap(), 0.1);
        let paired = mcnemar(5, 15).unwrap();
        close(paired.exact, 0.04138946533203125);
        close(paired.mid, 0.026603698730468753);
        close(paired.chi_squared, 0.025347318677468325);
        let paired = mcnemar(0, 6).unwrap();
        close(paired.exact, 0.03125);
        close(paired.mid, 0.015624999999999879);
        close(paired.chi_squared, 0.014305878435429641);
        let paired = mcnemar(300, 380).unwrap();
        close(paired.exact, 0.0024248687076998837);
        close(paired.mid, 0.002149401504292379);
        close(paired.chi_squared, 0.0021559763036343074);
        // Computed by hand: 1 of 3 discordant pairs; P(X <= 1) = 1/2, P(X = 1) = 3/8.
        let three = mcnemar(1, 2).unwrap();
        close(three.exact, 1.0);
        close(three.mid, 0.625);
        assert_eq!(mcnemar(4, 4).unwrap().exact, 1.0);
    }

    #[test]
    fn large_counts_end_soon() {
        let (a, b) = (of(2_000_000_000, 1 << 32), of(2_000_100_000, 1 << 32));
        let z = two_proportions(&a, &b).unwrap();
        let p = fisher(&a, &b).unwrap();
        assert!((p / z.p_two_sided() - 1.0).abs() < 1e-3, "{p} against {}", z.p_two_sided());
    }

    #[test]
    fn impossible_counts_are_refused() {
        let refused = Refused::TooManySuccesses { successes: 3, trials: 2 };
        assert_eq!(Proportion::new(3, 2), Err(refused));
        assert_eq!(Proportion::new(0, 0), Err(Refused::NoTrials));
        assert_eq!(Proportion::new(1, u64::MAX), Err(Refused::CountTooLarge(u64::MAX)));
        assert_eq!(two_proportions(&of(0, 4), &of(0, 9)), Err(Refused::OneOutcome));
        assert_eq!(two_proportions(&of(4, 4), &of(9, 9)), Err(Refused::OneOutcome));
        assert_eq!(mcnemar(0, 0), Err(Refused::NoDiscordantPairs));
        assert_eq!(mcnemar(u64::MAX, 1), Err(Refused::CountTooLarge(u64::MAX)));
        assert_eq!(of(1, 2).wilson(1.0), Err(Refused::NotAProbability(1.0)));
    }

    proptest! {
        #[test]
        fn wilson_stays_inside_and_holds_the_share(n in 1_u64..5000, part in 0.0..=1.0_f64, level in 0.5..0.999_f64) {
            let proportion = of((part * n as f64) as u64, n);
            let [low, high] = proportion.wilson(level).unwrap();
            prop_assert!(0.0 <= low && low <= proportion.share() + 1e-15);
            prop_assert!(proportion.share() <= high + 1e-15 && high <= 1.0);
        }

        #[test]
        fn fisher_is_the_sum_by_hand(n1 in 1_u64..15, n2 in 1_u64..15, k1 in 0_u64..15, k2 in 0_u64..15) {
            let (k1, k2) = (k1.min(n1), k2.min(n2));
            let choose = |n: u64, k: u64| (0..k).fold(1_u64, |product, i| product * (n - i) / (i + 1));
            let k = k1 + k2;
            let ways = |x: u64| choose(n1, x) * choose(n2, k - x);
            let tables = k.saturating_sub(n2)..=k.min(n1);
            let all: u64 = tables.clone().map(ways).sum();
            let unlikely: u64 = tables.map(ways).filter(|one| *one <= ways(k1)).sum();
            let wanted = unlikely as f64 / all as f64;
            prop_assert!((fisher(&of(k1, n1), &of(k2, n2)).unwrap() - wanted).abs() < 1e-12);
        }

        #[test]
        fn p_values_are_probabilities(n1 in 1_u64..3000, n2 in 1_u64..3000, p1 in 0.0..=1.0_f64, p2 in 0.0..=1.0_f64) {
            let (a, b) = (of((p1 * n1 as f64) as u64, n1), of((p2 * n2 as f64) as u64, n2));
            prop_assert!((0.0..=1.0).contains(&fisher(&a, &b).unwrap()));
            prop_assert!((fisher(&a, &b).unwrap() - fisher(&b, &a).unwrap()).abs() < 1e-9);
            if let Ok(paired) = mcnemar(n1, n2) {
                prop_assert!(paired.mid <= paired.exact && paired.mid >= 0.0 && paired.exact <= 1.0);
                prop_assert!((0.0..=1.0).contains(&paired.chi_squared));
            }
        }
    }
}
