//! Functions of single numbers between two matrices of a feed-forward network, for models of others: ours has
//! [`super::swiglu`] alone. Each formula is that of PyTorch 2.15 and of `transformers` 5.

use super::Real;
use super::isa::portable;
use super::swiglu::sigmoid;

/// The root of 2 / pi, of the approximation by a hyperbolic tangent.
const ROOT: f64 = 0.797_884_560_802_865_4;
/// The factor of the cube in it.
const CUBE: f64 = 0.044_715;

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + e^-x)`.
    Silu,
    /// `x (1 + erf(x / sqrt 2)) / 2` (D. Hendrycks and K. Gimpel, 2016).
    Gelu,
    /// Its approximation `x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
    /// `max(x, 0)^2` (D. So et al., 2021).
    ReluSquared,
}

portable! {
    /// `y = f(x)` of each number.
    ///
    /// # Panics
    /// Where there are not as many of each.
    pub fn forward<T: Real>(f: Activation, x: &[T], y: &mut [T]) {
        assert_eq!(x.len(), y.len(), "the shape of an activation");
        for (x, y) in x.iter().zip(y) {
            *y = value(f, *x);
        }
    }

    /// `gx = g f'(x)`.
    ///
    /// # Panics
    /// Where there are not as many of each.
    pub fn backward<T: Real>(f: Activation, x: &[T], g: &[T], gx: &mut [T]) {
        assert!([g.len(), gx.len()] == [x.len(); 2], "the shape of an activation");
        for ((x, g), gx) in x.iter().zip(g).zip(gx) {
            *gx = *g * slope(f, *x);
        }
    }

    /// `s = f(a) b`, where rows of `a_b` are the a and then the b of one row of s, `width` each.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn gated<T: Real>(f: Activation, width: usize, a_b: &[T], s: &mut [T]) {
        assert!(s.len().is_multiple_of(width) && a_b.len() == 2 * s.len(), "the shape of a gate");
        for (row, s) in a_b.chunks_exact(2 * width).zip(s.chunks_exact_mut(width)) {
            let (a, b) = row.split_at(width);
            for ((s, a), b) in s.iter_mut().zip(a).zip(b) {
                *s = value(f, *a) * *b;
            }
        }
    }

    /// The gradients of a and b: `gs b f'(a)` and `gs f(a)`.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn gated_back<T: Real>(f: Activation, width: usize, a_b: &[T], gs: &[T], into: &mut [T]) {
        assert!(
            gs.len().is_multiple_of(width) && [a_b.len(), into.len()] == [2 * gs.len(); 2],
            "the shape of a gate"
        );
        let rows = a_b.chunks_exact(2 * width).zip(into.chunks_exact_mut(2 * width));
        for ((row, into), gs) in rows.zip(gs.chunks_exact(width)) {
            let ((a, b), (ga, gb)) = (row.split_at(width), into.split_at_mut(width));
            for i in 0..width {
                ga[i] = gs[i] * b[i] * slope(f, a[i]);
                gb[i] = gs[i] * value(f, a[i]);
            }
        }
    }

    /// `cap tanh(x / cap)` of each number: a soft limit (Gemma Team, 2024).
    pub fn cap<T: Real>(numbers: &mut [T], cap: T) {
        for x in numbers {
            *x = cap * (*x / cap).hyperbolic_tangent();
        }
    }

    /// Multiplies gradients of capped numbers by the slope there, `1 - (y / cap)^2`.
    ///
    /// # Panics
    /// Where there are not as many of each.
    pub fn cap_back<T: Real>(capped: &[T], cap: T, g: &mut [T]) {
        assert_eq!(capped.len(), g.len(), "the shape of a cap");
        for (y, g) in capped.iter().zip(g) {
            let part = *y / cap;
            *g *= T::ONE - part * part;
        }
    }
}

#[inline(always)]
fn value<T: Real>(f: Activation, x: T) -> T {
    let half = T::from_f64(0.5);
    match f {
        Activation::Silu => x * sigmoid(x),
        Activation::Gelu => half * x * (T::ONE + (x * root_half()).error_function()),
        Activation::GeluTanh => half * x * (T::ONE + bent(x).hyperbolic_tangent()),
        Activation::Relu => above_zero(x),
        Activation::ReluSquared => above_zero(x) * above_zero(x),
    }
}

#[inline(always)]
fn slope<T: Real>(f: Activation, x: T) -> T {
    let half = T::from_f64(0.5);
    match f {
        Activation::Silu => {
            let p = sigmoid(x);
            p + x * p * (T::ONE - p)
        }
        Activation::Gelu => {
            let density = (-half * x * x).exponential()
                * root_half::<T>()
                * T::from_f64(std::f64::consts::FRAC_2_SQRT_PI / 2.0);
            half * (T::ONE + (x * root_half()).error_function()) + x * density
        }
        Activation::GeluTanh => {
            let t = bent(x).hyperbolic_tangent();
            let inner = T::from_f64(ROOT) * (T::ONE + T::from_f64(3.0 * CUBE) * x * x);
            half * (T::ONE + t) + half * x * (T::ONE - t * t) * inner
        }
        Activation::Relu if x > T::ZERO => T::ONE,
        Activation::ReluSquared if x > T::ZERO => x + x,
        Activation::Relu | Activation::ReluSquared => T::ZERO,
    }
}

#[inline(always)]
fn root_half<T: Real>() -> T {
    T::from_f64(std::f64::consts::FRAC_1_SQRT_2)
}

#[inline(always)]
fn bent<T: Real>(x: T) -> T {
    T::from_f64(ROOT) * (x + T::from_f64(CUBE) * (x * x * x))
}

/// NaN stays NaN.
#[inline(always)]
fn above_zero<T: Real>(x: T) -> T {
    if x < T::ZERO { T::ZERO } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::portable::Isa;

    const ALL: [Activation; 5] = [
        Activation::Silu,
        Activation::Gelu,
        Activation::GeluTanh,
        Activation::Relu,
        Activation::ReluSquared,
    ];

    #[test]
    fn values_are_those_of_pytorch() {
        // `torch.nn.functional` 2.15 of 1.5 and -0.7, in float64.
        let expected = [
            [1.226_361_714_290_465_5, -0.232_268_559_482_283_7],
            [1.399_789_198_096_713, -0.169_374_556_556_151_1],
            [1.399_571_576_980_232_8, -0.169_429_865_294_883_21],
            [1.5, 0.0],
            [2.25_f64, 0.0],
        ];
        for (f, expected) in std::iter::zip(ALL, expected) {
            let mut y = [0.0; 2];
            forward(Isa::best(), f, &[1.5, -0.7], &mut y);
            for (y, expected) in y.iter().zip(expected) {
                assert!((y - expected).abs() < 1e-15, "{f:?} {y} {expected}");
            }
        }
    }

    #[test]
    fn slopes_are_those_of_finite_differences() {
        let x: Vec<f64> = (0..50).map(|i| f64::from(i) * 0.171 - 4.0).collect();
        let ones = vec![1.0; x.len()];
        for f in ALL {
            let mut g = vec![0.0; x.len()];
            backward(Isa::best(), f, &x, &ones, &mut g);
            let at = |by: f64| {
                let (moved, mut y): (Vec<_>, _) =
                    (x.iter().map(|x| x + by).collect(), ones.clone());
                forward(Isa::best(), f, &moved, &mut y);
                y
            };
            for ((g, up), down) in g.iter().zip(at(1e-5)).zip(at(-1e-5)) {
                let expected = (up - down) / 2e-5;
                assert!(
                    (g - expected).abs() < 1e-9 * (1.0 + expected.abs()),
                    "{f:?} {g} {expected}"
                );
            }
        }
    }

    #[test]
    fn gates_and_caps_have_their_slopes() {
        let (a_b, gs) = ([0.5_f64, -1.0, 2.0, 3.0], [1.0, -2.0]);
        for f in ALL {
            let (mut s, mut g) = ([0.0; 2], [0.0; 4]);
            gated_back(Isa::best(), f, 2, &a_b, &gs, &mut g);
            let mut loss = |at: usize, by: f64| {
                let mut moved = a_b;
                moved[at] += by;
                gated(Isa::best(), f, 2, &moved, &mut s);
                s[0] * gs[0] + s[1] * gs[1]
            };
            for (at, g) in g.iter().enumerate() {
                let expected = (loss(at, 1e-5) - loss(at, -1e-5)) / 2e-5;
                assert!((g - expected).abs() < 1e-9, "{f:?} {at}: {g} {expected}");
            }
        }
        let capped = |x: f64| {
            let mut y = [x];
            cap(Isa::best(), &mut y, 15.0);
            y
        };
        let mut g = [2.0];
        cap_back(Isa::best(), &capped(20.0), 15.0, &mut g);
        let expected = (capped(20.0 + 1e-5)[0] - capped(20.0 - 1e-5)[0]) / 1e-5;
        assert!((g[0] - expected).abs() < 1e-9, "{} {expected}", g[0]);
        assert!((capped(20.0)[0] - 15.0 * (20.0_f64 / 15.0).tanh()).abs() < 1e-14);
    }
}
