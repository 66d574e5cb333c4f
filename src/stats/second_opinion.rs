//! The same tails as computed by the crate `statrs`, in the domain in which it is reliable.
//!
//! The second result is only compared with ours and never printed: the special functions of `statrs` call the platform's
//! math library, so its last digits differ between machines. It is not used outside these domains: its continued fraction
//! of the incomplete beta function stops after 140 terms, its log-gamma function loses digits for large arguments, and its
//! quantiles neither always terminate nor are correct to nine digits everywhere (statrs-dev/statrs#435;
//! `docs/explanation/upstream`). Its quantiles are therefore never used: a quantile is right if the tail beyond it is.

use statrs::distribution::{
    Binomial, ChiSquared, ContinuousCDF, Discrete, DiscreteCDF, FisherSnedecor, Hypergeometric,
    Normal, StudentsT,
};

use super::Refused;

/// The relative difference above which two computations disagree.
pub const TOLERANCE: f64 = 1e-9;
/// Below this, digits are lost on the way to zero.
const SMALLEST: f64 = 1e-300;
/// The degrees of freedom, and the number of coins, up to which `statrs` is used.
const MOST_FREEDOM: f64 = 2e4;
/// The smallest number of degrees of freedom for which `statrs` is used.
const LEAST_FREEDOM: f64 = 1.0;
/// Below this t²/df, and its like for F, `statrs` rounds t away: it computes df / (df + t²).
const LEAST_SQUARE: f64 = 1e-9;
/// The smallest tail whose quantile is checked: further out, densities vanish.
const LEAST_QUANTILE_TAIL: f64 = 1e-100;
/// The maximum number of items in a table whose probabilities are summed.
const MOST_ITEMS: u64 = 10_000;
/// The largest χ² that is checked: every tail beyond is zero.
const MOST_CHI_SQUARED: f64 = 1e6;

/// Ours, if there is no second result or the two agree within [`TOLERANCE`]; otherwise both are rejected.
pub fn agreed(of: &'static str, first: f64, second: Option<f64>) -> Result<f64, Refused> {
    if first.is_nan() {
        return Err(Refused::OutOfRange);
    }
    let Some(second) = second.filter(|second| *second != first) else { return Ok(first) };
    let away = (first - second).abs();
    let size = first.abs().max(second.abs());
    // NaN and infinity are not close.
    if away.is_finite() && away <= TOLERANCE * size + SMALLEST {
        Ok(first)
    } else {
        Err(Refused::Disagree { of, first, relative: away / size })
    }
}

/// Whether `statrs` is reliable for these degrees of freedom.
fn is_sound(df: f64) -> bool {
    (LEAST_FREEDOM..=MOST_FREEDOM).contains(&df)
}

/// The normal tail above `x` from 0 up.
pub fn normal_tail(x: f64) -> Option<f64> {
    Some(Normal::new(0.0, 1.0).ok()?.sf(x))
}

/// Student's tail above `t` from 0 up.
pub fn student_tail(df: f64, t: f64) -> Option<f64> {
    if df.is_infinite() {
        return normal_tail(t);
    }
    let is_asked = is_sound(df) && t * t / df >= LEAST_SQUARE;
    is_asked.then(|| Some(StudentsT::new(0.0, 1.0, df).ok()?.sf(t)))?
}

/// Whether a tail up to a half has a quantile so far from zero that the tail beyond it keeps nine digits of it.
pub fn is_quantile_sound(df: f64, tail: f64) -> bool {
    let scale = if df.is_infinite() { 1.0 } else { df };
    (df.is_infinite() || is_sound(df))
        && tail >= LEAST_QUANTILE_TAIL
        && (0.5 - tail) * (0.5 - tail) >= 2e-7 * scale
}

/// The tail of F above `f`, as the lower tail of 1/F: there `statrs` does not subtract from 1.
pub fn f_tail(between: f64, within: f64, f: f64) -> Option<f64> {
    let is_asked = is_sound(between)
        && is_sound(within)
        && between / within * f >= LEAST_SQUARE
        && (1.0 / f).is_finite()
        && 1.0 / f > 0.0;
    is_asked.then(|| Some(FisherSnedecor::new(within, between).ok()?.cdf(1.0 / f)))?
}

/// The tail of χ² above `x`.
pub fn chi_squared_tail(df: f64, x: f64) -> Option<f64> {
    let is_asked = is_sound(df) && (SMALLEST..=MOST_CHI_SQUARED).contains(&x);
    is_asked.then(|| Some(ChiSquared::new(df).ok()?.sf(x)))?
}

/// The probability of at most `heads` of `coins` fair coins.
pub fn coins_up_to(heads: u64, coins: u64) -> Option<f64> {
    let is_asked = coins as f64 <= MOST_FREEDOM;
    is_asked.then(|| Some(Binomial::new(0.5, coins).ok()?.cdf(heads)))?
}

/// The probability of the tables that are at most `limit` times as likely as the one with `observed`, among those with
/// `drawn` of `all` items, `successes` of which are successes.
pub fn unlikely_tables(
    all: u64,
    successes: u64,
    drawn: u64,
    observed: u64,
    limit: f64,
) -> Option<f64> {
    if all > MOST_ITEMS {
        return None;
    }
    let tables = Hypergeometric::new(all, successes, drawn).ok()?;
    let (low, high) = ((successes + drawn).saturating_sub(all), successes.min(drawn));
    // Its `pmf` is NaN for more than about a thousand items, but its logarithm is not.
    let observed = tables.ln_pmf(observed);
    let limit = libm::log(limit);
    let each = (low..=high).map(|one| tables.ln_pmf(one));
    Some(each.filter(|one| *one <= observed + limit).map(libm::exp).sum::<f64>().min(1.0))
}
