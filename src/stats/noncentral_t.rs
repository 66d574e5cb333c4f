//! The noncentral t distribution, for power.
//!
//! T = (Z + δ) / S with a standard normal Z and S the ratio of the measured to the true standard deviation. P(T > t) is the
//! mean of P(Z > t S - δ) over S: an integral over u = ln S, split at the peak of S and at the turning points of the tail
//! (t S = δ, or t S = ±1), and computed by tanh-sinh quadrature, whose points are dense at the ends of each part. Absolute
//! errors are below 1e-12.

use std::sync::LazyLock;

use libm::{exp, expm1, log};

use super::special::stirling_rest;
use super::tail::{Normal, Tail};

/// A density whose logarithm is this far below its peak is negligible.
const NEGLIGIBLE: f64 = 45.0;
/// Steps of the quadrature on each side of the middle of a part, and their length: beyond them no weight is left.
const STEPS: i32 = 220;
const STEP: f64 = 1.0 / 64.0;

/// One point of the quadrature on the part from 0 to 2: its distance from the nearer end, and its weight.
struct Point {
    near: f64,
    weight: f64,
}

/// The points of the first half of a part; the second half is its mirror image.
static POINTS: LazyLock<Vec<Point>> = LazyLock::new(|| {
    let point = |step: i32| {
        let at = f64::from(step) * STEP;
        let (grow, shrink) = (exp(at), exp(-at));
        let bend = std::f64::consts::FRAC_PI_4 * (grow - shrink);
        // The distance from the nearer end keeps its digits: 1 - |tanh| = 2 / (1 + e^(2 |bend|)).
        let near = 2.0 / (1.0 + exp(2.0 * bend));
        let weight = std::f64::consts::FRAC_PI_4 * (grow + shrink) * near * (2.0 - near);
        Point { near, weight: weight * STEP }
    };
    (0..=STEPS).map(point).collect()
});

/// The probability that a noncentral t with `df` degrees of freedom and noncentrality `delta` is
/// above `t`.
pub fn noncentral_t_upper(t: f64, df: f64, delta: f64) -> f64 {
    let half = df / 2.0;
    let scale = 2.0 * (half / (2.0 * std::f64::consts::PI)).sqrt() * exp(-stirling_rest(half));
    let integrand =
        |u: f64| scale * exp(df * (u - expm1(2.0 * u) / 2.0)) * Normal.tail(t * exp(u) - delta);
    let reach = (NEGLIGIBLE / df).sqrt();
    let (low, high) = (-reach - NEGLIGIBLE / df, reach);
    // The turning point of the normal tail: its center, or the point where its argument becomes one.
    let turn = if delta / t > 0.0 { log(delta / t) } else { -log(t.abs()) };
    let split = if t == 0.0 { 0.0 } else { turn }.clamp(low, high);
    let (first, second) = (split.min(0.0), split.max(0.0));
    let parts = [(low, first), (first, second), (second, high)];
    let sum: f64 = parts.map(|(from, to)| integral(&integrand, from, to)).iter().sum();
    sum.clamp(0.0, 1.0)
}

/// The integral of a smooth function by the tanh-sinh rule.
fn integral(function: &impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let half = (high - low) / 2.0;
    if half <= 0.0 {
        return 0.0;
    }
    let mut sum = 0.0;
    for (step, Point { near, weight }) in POINTS.iter().enumerate() {
        sum += weight * function(low + half * near);
        if step > 0 {
            sum += weight * function(high - half * near);
        }
    }
    sum * half
}

#[cfg(test)]
mod tests {
    use super::super::tail::StudentT;
    use super::*;
    use proptest::prelude::*;

    /// Upper tails by mpmath with thirty digits: the mean over the chi distribution, and for the
    /// last the step function that it becomes.
    const TAILS: &[(f64, f64, f64, f64)] = &[
        (4.302652729749462, 2.0, 5.0, 0.7191805353566968),
        (4.302652729749462, 2.0, -5.0, 1.0348012558545478e-09),
        (2.2621571627982, 9.0, 2.5, 0.6061267789823714),
        (12.706204736174694, 1.0, 20.0, 0.8833944429330352),
        (2.5, 3.2743, 0.75, 0.1239887614500881),
        (318309.88, 1.0, 250000.0, 0.5677798516876368),
        (1.96, 100000.0, 2.8, 0.7995449188145105),
        (-1.5, 7.0, 0.4, 0.9576564127586109),
        (1.7, 0.5, 3.0, 0.8753228996237076),
        (60.0, 41.5, 50.0, 0.07049703201478592),
    ];

    #[test]
    fn tails_of_known_value() {
        for &(t, df, delta, wanted) in TAILS {
            let found = noncentral_t_upper(t, df, delta);
            assert!((found - wanted).abs() < 1e-12, "{t}, {df}, {delta}: {found} is not {wanted}");
        }
    }

    #[test]
    fn the_worst_of_a_grid_is_below_the_stated_error() {
        let mut worst = (0.0_f64, 0.0, 0.0);
        for df in [1.0, 1.03, 1.5, 2.0, 3.3, 5.0, 12.0, 80.0, 4e3, 1e5] {
            let student = StudentT::new(df).unwrap();
            for at in 0..=600 {
                let t = f64::from(at) / 10.0 - 30.0;
                let off = (noncentral_t_upper(t, df, 0.0) - student.tail(t)).abs();
                if off > worst.0 {
                    worst = (off, t, df);
                }
            }
        }
        assert!(worst.0 < 2e-13, "{worst:?}");
    }

    proptest! {
        #[test]
        fn without_noncentrality_it_is_students(t in -30.0..30.0_f64, df in 1.0..1e5_f64) {
            let student = StudentT::new(df).unwrap().tail(t);
            prop_assert!((noncentral_t_upper(t, df, 0.0) - student).abs() < 1e-12);
        }

        #[test]
        fn it_grows_with_noncentrality(
            t in -5.0..50.0_f64, df in 1.0..1e3_f64, delta in -5.0..50.0_f64,
        ) {
            let (less, more) =
                (noncentral_t_upper(t, df, delta), noncentral_t_upper(t, df, delta + 0.5));
            prop_assert!((0.0..=1.0).contains(&less) && less <= more + 1e-12);
        }
    }
}
