//! The numbers that operations are written for, and their functions: each rounds the same on every
//! machine.

use std::cell::RefCell;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use std::sync::Mutex;

use super::Isa;
use super::buffer::{Kept, Shared};
use super::product::{Job, Matrix, multiply32, multiply64, pack32, pack64};

/// A float32 or a float64. Names are written out, so that the platform's `exp` and `ln` are not taken
/// for these.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// Nought.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Minus infinity: where a search for the largest begins.
    const LOWEST: Self;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The same number as a float64.
    fn to_f64(self) -> f64;
    /// `self * factor + term`, rounded once.
    fn fma(self, factor: Self, term: Self) -> Self;
    /// The square root, exactly rounded.
    fn sqrt(self) -> Self;
    /// e to this power.
    fn exponential(self) -> Self;
    /// The natural logarithm.
    fn logarithm(self) -> Self;
    /// The hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;
    /// The error function, `2 / sqrt(pi)` times the integral of `e^(-t^2)` from 0.
    fn error_function(self) -> Self;
    /// Whether this is a number and finite.
    fn finite(self) -> bool;
    /// The nearest number that bfloat16 has, ties to even; a float64 is rounded to float32 before.
    fn bfloat16(self) -> Self;
    /// The buffers that this thread keeps.
    #[doc(hidden)]
    fn kept<R>(work: impl FnOnce(&Kept<Self>) -> R) -> R;
    /// The buffers that all threads share.
    #[doc(hidden)]
    fn shared() -> &'static Shared<Self>;
    /// Multiplies some rows.
    #[doc(hidden)]
    fn multiply(isa: Isa, job: Job<'_, Self>);
    /// Packs some panels.
    #[doc(hidden)]
    fn pack(isa: Isa, panels: &mut [Self], b: Matrix<'_, Self>);
}

static SHARED32: Shared<f32> = Mutex::new(Vec::new());
static SHARED64: Shared<f64> = Mutex::new(Vec::new());

thread_local! {
    static KEPT32: Kept<f32> = const { RefCell::new(Vec::new()) };
    static KEPT64: Kept<f64> = const { RefCell::new(Vec::new()) };
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = f32::NEG_INFINITY;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn fma(self, factor: Self, term: Self) -> Self {
        // Exact before its one rounding by definition, so that the platform's is as good as any.
        f32::mul_add(self, factor, term)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }

    #[inline(always)]
    fn exponential(self) -> Self {
        exponential(self)
    }

    #[inline(always)]
    fn logarithm(self) -> Self {
        libm::logf(self)
    }

    #[inline(always)]
    fn hyperbolic_tangent(self) -> Self {
        libm::tanhf(self)
    }

    #[inline(always)]
    fn error_function(self) -> Self {
        libm::erff(self)
    }

    #[inline(always)]
    fn finite(self) -> bool {
        self.is_finite()
    }

    #[inline(always)]
    fn bfloat16(self) -> Self {
        // The upper half of a float32. What is no number must not be carried into another exponent.
        let bits = self.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) & 0xffff_0000;
        if self.is_nan() { self } else { f32::from_bits(rounded) }
    }

    fn kept<R>(work: impl FnOnce(&Kept<Self>) -> R) -> R {
        KEPT32.with(work)
    }

    fn shared() -> &'static Shared<Self> {
        &SHARED32
    }

    fn multiply(isa: Isa, job: Job<'_, Self>) {
        multiply32(isa, job);
    }

    fn pack(isa: Isa, panels: &mut [Self], b: Matrix<'_, Self>) {
        pack32(isa, panels, b);
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = f64::NEG_INFINITY;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn fma(self, factor: Self, term: Self) -> Self {
        f64::mul_add(self, factor, term)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    #[inline(always)]
    fn exponential(self) -> Self {
        libm::exp(self)
    }

    #[inline(always)]
    fn logarithm(self) -> Self {
        libm::log(self)
    }

    #[inline(always)]
    fn hyperbolic_tangent(self) -> Self {
        libm::tanh(self)
    }

    #[inline(always)]
    fn error_function(self) -> Self {
        libm::erf(self)
    }

    #[inline(always)]
    fn finite(self) -> bool {
        self.is_finite()
    }

    #[inline(always)]
    fn bfloat16(self) -> Self {
        f64::from((self as f32).bfloat16())
    }

    fn kept<R>(work: impl FnOnce(&Kept<Self>) -> R) -> R {
        KEPT64.with(work)
    }

    fn shared() -> &'static Shared<Self> {
        &SHARED64
    }

    fn multiply(isa: Isa, job: Job<'_, Self>) {
        multiply64(isa, job);
    }

    fn pack(isa: Isa, panels: &mut [Self], b: Matrix<'_, Self>) {
        pack64(isa, panels, b);
    }
}

/// Below this, about ln 2^-126, e to the power would be less than the smallest normal number: nought.
const LEAST: f32 = -87.336_54;
/// Above this, about 127.5 ln 2, infinity.
const MOST: f32 = 88.376_26;
/// 1.5 * 2^23: added to a small number, it rounds it to a whole one in the lowest bits.
const ROUND: f32 = 12_582_912.0;
/// The natural logarithm of 2 as a float32, and the rest.
const LN_2: (f32, f32) = (std::f32::consts::LN_2, -1.904_654_3e-9);
/// The factors of r^2, r^3, ... of e^r for |r| <= ln 2 / 2: minimax in the relative error, 3.1e-9.
const POLYNOMIAL: [f32; 5] =
    [4.999_999_4e-1, 1.666_652e-1, 4.166_839e-2, 8.368_781e-3, 1.381_446_7e-3];

/// e^x = 2^n e^r, where n is the whole number nearest to x / ln 2 and e^r a polynomial. NaN stays NaN.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    let whole = x.fma(std::f32::consts::LOG2_E, ROUND);
    let n = whole - ROUND;
    let rest = n.fma(-LN_2.0, x);
    let rest = n.fma(-LN_2.1, rest);
    let [c2, c3, c4, c5, c6] = POLYNOMIAL;
    let sum = c6.fma(rest, c5).fma(rest, c4).fma(rest, c3).fma(rest, c2);
    let power = sum.fma(rest * rest, rest) + 1.0;
    let exponent = whole.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    let scaled = power * f32::from_bits(exponent << 23);
    let above = if x > MOST { f32::INFINITY } else { scaled };
    if x < LEAST { 0.0 } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_within_two_units_of_the_last_place() {
        let mut worst = 0.0_f64;
        for step in 0..2_000_000 {
            let x = -87.3 + 175.5 * (f64::from(step) / 2e6);
            let x = x as f32;
            let exact = libm::exp(f64::from(x));
            let unit =
                f64::from(f32::from_bits((exact as f32).to_bits() + 1)) - f64::from(exact as f32);
            worst = worst.max((f64::from(exponential(x)) - exact).abs() / unit);
        }
        assert!(worst < 1.5, "{worst}");
    }

    #[test]
    fn the_exponential_has_its_edges() {
        assert_eq!(exponential(0.0), 1.0);
        assert_eq!(exponential(-0.0), 1.0);
        assert!(exponential(f32::NAN).is_nan());
        assert_eq!(exponential(f32::INFINITY), f32::INFINITY);
        assert_eq!(exponential(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(exponential(-87.34).to_bits(), 0);
        assert_eq!(exponential(-1e30).to_bits(), 0);
        assert!(exponential(LEAST) >= 1.17e-38);
        assert!(exponential(MOST).is_finite());
        assert_eq!(exponential(88.4), f32::INFINITY);
        assert_eq!(exponential(1e30), f32::INFINITY);
    }

    #[test]
    fn bfloat16_has_eight_bits_and_ties_go_to_even() {
        for (value, expected) in [
            (1.0, 1.0),
            (1.0 + 1.0 / 256.0, 1.0),
            (1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0),
            (1.0 + 1.0 / 255.0, 1.0 + 2.0 / 256.0),
            (-3.1, -3.09375),
            (1e-40, 9.1835e-41),
            (f32::MAX, f32::INFINITY),
            (f32::NEG_INFINITY, f32::NEG_INFINITY),
        ] {
            let found = value.bfloat16();
            let equal = found == expected || (found / expected - 1.0).abs() < 1e-3;
            assert!(equal, "{value} {found}");
            assert_eq!(f64::from(value).bfloat16(), f64::from(found));
        }
        assert!(f32::NAN.bfloat16().is_nan() && f64::NAN.bfloat16().is_nan());
    }

    #[test]
    fn other_functions_are_of_the_crate_libm() {
        assert_eq!(2.0_f32.logarithm().to_bits(), 0x3f31_7218);
        assert_eq!(2.0_f64.logarithm(), std::f64::consts::LN_2);
        assert!((1.0_f64.exponential() - std::f64::consts::E).abs() < 1e-15);
        assert_eq!(2.0_f32.fma(3.0, 4.0), 10.0);
        assert!((0.5_f64.hyperbolic_tangent() - 0.462_117_157_260_009_76).abs() < 1e-16);
        assert!((0.5_f64.error_function() - 0.520_499_877_813_046_5).abs() < 1e-16);
        assert_eq!(0.5_f32.error_function(), 0.520_499_9);
        assert_eq!(Real::sqrt(2.0_f64), std::f64::consts::SQRT_2);
    }
}
