//! The incomplete beta and gamma functions and their parts.
//!
//! Factors are combined as in C. Loader's binomial probabilities (2000): powers and gamma functions only meet as small
//! corrections, so no precision is lost for large arguments.

use libm::{exp, log, log1p};

/// Half the logarithm of 2 pi.
const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;
/// From here on, Stirling's series is exact to the last digit.
const STIRLING_FROM: f64 = 16.0;
/// The coefficients of Stirling's series in 1/x², first to last: B(2k) / (2k (2k - 1)).
const STIRLING: [f64; 7] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
];
/// The maximum number of steps of the continued fraction; it needs about the root of its larger argument.
const MOST_STEPS: usize = 200_000;

/// The remainder of Stirling's formula for the logarithm of the gamma function: ln Γ(x) - (x - 1/2) ln x + x - ln(2 pi)/2,
/// for x > 0.
pub fn stirling_rest(mut x: f64) -> f64 {
    let mut rest = 0.0;
    while x < STIRLING_FROM {
        rest += (x + 0.5) * log1p(1.0 / x) - 1.0;
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    rest + inverse * STIRLING.iter().rev().fold(0.0, |sum, one| sum * square + one)
}

/// The logarithm of the beta function, for a, b > 0.
pub fn log_beta(a: f64, b: f64) -> f64 {
    let (small, large) = (a.min(b), a.max(b));
    let sum = small + large;
    (small - 0.5) * log(small / sum) - large * log1p(small / large) - 0.5 * log(large)
        + HALF_LOG_TWO_PI
        + (stirling_rest(small) + stirling_rest(large) - stirling_rest(sum))
}

/// r - 1 - ln r, without cancellation for r near 1.
fn log_excess(ratio: f64) -> f64 {
    let v = ratio - 1.0;
    // The series of NaN would not end.
    if v.is_nan() || v.abs() > 0.2 {
        return v - log(ratio);
    }
    let r = v / (2.0 + v);
    let square = r * r;
    let (mut term, mut tail, mut k) = (r * square, 0.0, 3.0);
    loop {
        let next = tail + term / k;
        if next == tail {
            return v * r - 2.0 * tail;
        }
        tail = next;
        term *= square;
        k += 2.0;
    }
}

/// x^a y^b / B(a, b) for x + y = 1: Loader's form of a binomial probability.
pub fn beta_factor(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return 0.0;
    }
    let n = a + b;
    let away = a * log_excess(n * x / a) + b * log_excess(n * y / b);
    let rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b);
    exp(rest - away - HALF_LOG_TWO_PI) * (a / n * b).sqrt()
}

/// The probability of `k` successes in `n` trials of probability p, for p + q = 1.
pub fn binomial(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let (a, b) = (k as f64, n.saturating_sub(k) as f64);
    if k > n {
        0.0
    } else if k == 0 {
        exp(n as f64 * log_share(q, p))
    } else if k == n {
        exp(n as f64 * log_share(p, q))
    } else {
        beta_factor(a, b, p, q) / (a / (a + b) * b)
    }
}

/// The logarithm of a share by the smaller of it and its rest.
fn log_share(share: f64, rest: f64) -> f64 {
    if rest < 0.5 { log1p(-rest) } else { log(share) }
}

/// The regularized incomplete beta function I_x(a, b) for a, b > 0 and x + y = 1.
pub fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else if y <= 0.0 {
        1.0
    } else if x < (a + 1.0) / (a + b + 2.0) {
        beta_factor(a, b, x, y) * fraction(a, b, x) / a
    } else {
        1.0 - beta_factor(b, a, y, x) * fraction(b, a, y) / b
    }
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    // Stands in for a zero that would be divided by.
    let safe = |value: f64| if value == 0.0 { f64::MIN_POSITIVE } else { value };
    let (mut c, mut d, mut value) = (1.0, 0.0, 1.0);
    for step in 1..MOST_STEPS {
        let m = (step / 2) as f64;
        let even = a + 2.0 * m;
        let coefficient = if step % 2 == 0 {
            m / (even - 1.0) * ((b - m) / even) * x
        } else {
            -(a + m) / even * ((a + b + m) / (even + 1.0)) * x
        };
        d = 1.0 / safe(1.0 + coefficient * d);
        c = safe(1.0 + coefficient / c);
        let change = c * d;
        value *= change;
        if (change - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    1.0 / value
}

/// The regularized upper incomplete gamma function Q(a, x) for a > 0 and x from 0 up: a series of P below the mean
/// (DLMF 8.11.4), a continued fraction above it (DLMF 8.9.2).
pub fn incomplete_gamma_upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    // x^a e^-x / Γ(a + 1), with the power and the exponential as one small correction.
    let factor = exp(-a * log_excess(x / a) - stirling_rest(a) - HALF_LOG_TWO_PI) / a.sqrt();
    if factor == 0.0 {
        return if x < a { 1.0 } else { 0.0 };
    }
    if x < a + 1.0 { 1.0 - factor * gamma_series(a, x) } else { factor * gamma_fraction(a, x) }
}

/// The sum of x^n / ((a + 1) ... (a + n)) over n from 0: P(a, x) over x^a e^-x / Γ(a + 1).
fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for step in 1..MOST_STEPS {
        term *= x / (a + step as f64);
        sum += term;
        if term <= sum * f64::EPSILON / 4.0 {
            break;
        }
    }
    sum
}

/// The continued fraction a / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)) by Lentz's method: Q(a, x) over
/// x^a e^-x / Γ(a + 1).
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut d = 1.0 / b;
    let (mut c, mut value) = (f64::INFINITY, d);
    for step in 1..MOST_STEPS {
        let n = step as f64;
        let coefficient = -n * (n - a);
        b += 2.0;
        d = 1.0 / (b + coefficient * d);
        c = b + coefficient / c;
        let change = c * d;
        value *= change;
        if (change - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    a * value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64, relative: f64) {
        assert!((found - wanted).abs() <= relative * wanted.abs(), "{found} is not {wanted}");
    }

    #[test]
    fn gamma_and_beta_functions_of_known_arguments() {
        // ln Γ(1) = 0, ln Γ(1/2) = ln(pi)/2, ln Γ(20) = ln 19!
        let log_gamma = |x: f64| (x - 0.5) * log(x) - x + HALF_LOG_TWO_PI + stirling_rest(x);
        assert!(log_gamma(1.0).abs() < 1e-15);
        close(log_gamma(0.5), log(std::f64::consts::PI) / 2.0, 1e-14);
        close(log_gamma(20.0), log(121_645_100_408_832_000.0), 1e-15);
        close(exp(log_beta(0.5, 0.5)), std::f64::consts::PI, 1e-14);
        close(exp(log_beta(2.0, 3.0)), 1.0 / 12.0, 1e-14);
        close(exp(-log_beta(5e8, 1.0)), 5e8, 1e-13);
    }

    #[test]
    fn incomplete_beta_where_it_is_elementary() {
        for x in [1e-300, 1e-20, 0.1, 0.3, 0.5, 0.75, 0.999] {
            let y = 1.0 - x;
            close(incomplete_beta(1.0, 1.0, x, y), x, 1e-12);
            close(incomplete_beta(2.0, 1.0, x, y), x * x, 1e-12);
            close(incomplete_beta(1.0, 3.0, x, y), x * (3.0 - 3.0 * x + x * x), 1e-12);
            close(incomplete_beta(0.5, 1.0, x, y), x.sqrt(), 1e-13);
        }
        close(incomplete_beta(1e6, 1e6, 0.5, 0.5), 0.5, 1e-10);
        assert_eq!(incomplete_beta(2.0, 3.0, 0.0, 1.0), 0.0);
        assert_eq!(incomplete_beta(2.0, 3.0, 1.0, 0.0), 1.0);
    }

    #[test]
    fn incomplete_gamma_where_it_is_elementary() {
        for x in [0.0, 1e-300, 1e-20, 0.1, 0.5, 0.999, 1.0, 1.5, 2.0, 3.0, 10.0, 100.0, 700.0] {
            close(incomplete_gamma_upper(1.0, x), exp(-x), 1e-13);
            close(incomplete_gamma_upper(2.0, x), exp(-x) * (1.0 + x), 1e-13);
            close(incomplete_gamma_upper(0.5, x), libm::erfc(x.sqrt()), 1e-13);
        }
        assert_eq!(incomplete_gamma_upper(3.0, 1e300), 0.0);
        assert_eq!(incomplete_gamma_upper(1e6, 1e-300), 1.0);
    }
}
