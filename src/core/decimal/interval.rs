//! Closed intervals with exact rational ends.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::rational::{compare, product, same, sum};

/// All values from a low end to a high end, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    low: BigRational,
    high: BigRational,
}

impl Interval {
    /// The smallest interval that contains both values, in either order.
    pub fn between(a: BigRational, b: BigRational) -> Self {
        if compare(&a, &b).is_le() { Self { low: a, high: b } } else { Self { low: b, high: a } }
    }

    /// One exact value.
    pub fn point(value: BigRational) -> Self {
        Self { low: value.clone(), high: value }
    }

    /// One exact integer.
    pub fn integer(value: impl Into<BigInt>) -> Self {
        Self::point(BigRational::from_integer(value.into()))
    }

    /// `centre` and everything within `radius` of it.
    pub fn around(centre: &BigRational, radius: &BigRational) -> Self {
        Self::between(centre - radius, centre + radius)
    }

    /// The smallest value.
    pub fn low(&self) -> &BigRational {
        &self.low
    }

    /// The largest value.
    pub fn high(&self) -> &BigRational {
        &self.high
    }

    /// Whether it contains a single value.
    pub fn is_point(&self) -> bool {
        same(&self.low, &self.high)
    }

    /// The value halfway between the ends.
    pub fn middle(&self) -> BigRational {
        if self.is_point() {
            return self.low.clone();
        }
        product(&sum(&self.low, &self.high), &BigRational::new(1.into(), 2.into()))
    }

    /// The high end minus the low end.
    pub fn width(&self) -> BigRational {
        &self.high - &self.low
    }

    /// The width divided by the absolute middle; none around zero.
    pub fn relative_width(&self) -> Option<BigRational> {
        let middle = self.middle();
        (!middle.is_zero()).then(|| self.width() / middle.abs())
    }

    /// Whether `value` is inside or at an end.
    pub fn contains(&self, value: &BigRational) -> bool {
        compare(&self.low, value).is_le() && compare(value, &self.high).is_le()
    }

    /// Whether the two have a common value; touching ends count.
    pub fn meets(&self, other: &Self) -> bool {
        compare(&self.low, &other.high).is_le() && compare(&other.low, &self.high).is_le()
    }

    /// The gap between the two, zero if they overlap.
    pub fn distance(&self, other: &Self) -> BigRational {
        let gap = (&other.low - &self.high).max(&self.low - &other.high);
        gap.max(BigRational::zero())
    }

    /// The smallest interval that contains both.
    pub fn hull(&self, other: &Self) -> Self {
        Self {
            low: self.low.clone().min(other.low.clone()),
            high: self.high.clone().max(other.high.clone()),
        }
    }

    /// The absolute values.
    pub fn abs(&self) -> Self {
        if self.contains(&BigRational::zero()) {
            let high = self.low.abs().max(self.high.abs());
            return Self { low: BigRational::zero(), high };
        }
        Self::between(self.low.abs(), self.high.abs())
    }

    /// All quotients; none if the divisor may be zero.
    pub fn div(&self, divisor: &Self) -> Option<Self> {
        if divisor.contains(&BigRational::zero()) {
            return None;
        }
        Some(self * &Self::between(divisor.low.recip(), divisor.high.recip()))
    }

    /// The distance of its ends from one in powers of two, the larger of both; zero counts as one.
    pub fn magnitude(&self) -> u64 {
        let of = |end: &BigRational| end.numer().bits().abs_diff(end.denom().bits());
        let zero = |end: &BigRational| end.is_zero();
        let ends = [&self.low, &self.high].into_iter().filter(|end| !zero(end));
        ends.map(of).max().unwrap_or(0)
    }

    /// Rounds each end outwards to a fraction of at most about `bits` bits if it has more. This is like the rounding of
    /// binary floats, but finer: only digits that no measurement has are lost.
    pub fn round_outwards(&mut self, bits: u64) {
        let is_long = |end: &BigRational| end.numer().bits().max(end.denom().bits()) > bits;
        if is_long(&self.low) {
            self.low = coarser(&self.low, bits / 2, BigRational::floor);
        }
        if is_long(&self.high) {
            self.high = coarser(&self.high, bits / 2, BigRational::ceil);
        }
    }

    /// The number of bits of its ends.
    pub fn bits(&self) -> u64 {
        let of = |end: &BigRational| end.numer().bits().max(end.denom().bits());
        of(&self.low).max(of(&self.high))
    }

    /// All values to an integer power. None for a negative power if a value may be zero, and for powers beyond ±1024, whose
    /// exact ends would be too long.
    pub fn powi(&self, power: i32) -> Option<Self> {
        if power.unsigned_abs() > 1024 || (power < 0 && self.contains(&BigRational::zero())) {
            return None;
        }
        // An even power removes the sign; then, as for an odd power, ends map to ends.
        let base = if power % 2 == 0 { self.abs() } else { self.clone() };
        Some(Self::between(base.low.pow(power), base.high.pow(power)))
    }

    /// All values rounded up to integers.
    pub fn ceil(&self) -> Self {
        Self { low: self.low.ceil(), high: self.high.ceil() }
    }

    /// All values rounded down to integers.
    pub fn floor(&self) -> Self {
        Self { low: self.low.floor(), high: self.high.floor() }
    }

    /// All values times a positive or negative constant.
    pub fn scaled(&self, factor: &BigRational) -> Self {
        // Most units have the factor one.
        if factor.is_one() {
            return self.clone();
        }
        let low = product(&self.low, factor);
        if self.is_point() {
            return Self::point(low);
        }
        Self::between(low, product(&self.high, factor))
    }
}

/// A number with about `bits` significant bits, rounded as `round` does.
fn coarser(
    value: &BigRational,
    bits: u64,
    round: impl Fn(&BigRational) -> BigRational,
) -> BigRational {
    let (above, below) = (value.numer().bits(), value.denom().bits());
    let two = |power: u64| BigRational::from_integer(BigInt::one() << power);
    match (below + bits).checked_sub(above) {
        Some(up) => round(&(value * two(up))) / two(up),
        None => {
            let down = two(above - below - bits);
            round(&(value / &down)) * down
        }
    }
}

impl std::ops::Add for &Interval {
    type Output = Interval;
    fn add(self, other: Self) -> Interval {
        if self.is_point() && other.is_point() {
            return Interval::point(sum(&self.low, &other.low));
        }
        Interval { low: sum(&self.low, &other.low), high: sum(&self.high, &other.high) }
    }
}

impl std::ops::Sub for &Interval {
    type Output = Interval;
    fn sub(self, other: Self) -> Interval {
        if self.is_point() && other.is_point() {
            return Interval::point(sum(&self.low, &-&other.low));
        }
        Interval { low: sum(&self.low, &-&other.high), high: sum(&self.high, &-&other.low) }
    }
}

impl std::ops::Neg for &Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval { low: -&self.high, high: -&self.low }
    }
}

impl std::ops::Mul for &Interval {
    type Output = Interval;
    fn mul(self, other: Self) -> Interval {
        // Non-negative values (lengths, counts, squares) need two products instead of four, or one if both are points.
        if !self.low.is_negative() && !other.low.is_negative() {
            if self.is_point() && other.is_point() {
                return Interval::point(product(&self.low, &other.low));
            }
            let (low, high) = (product(&self.low, &other.low), product(&self.high, &other.high));
            return Interval { low, high };
        }
        let one =
            Interval::between(product(&self.low, &other.low), product(&self.low, &other.high));
        let two =
            Interval::between(product(&self.high, &other.low), product(&self.high, &other.high));
        one.hull(&two)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ratio(n: i64, d: i64) -> BigRational {
        BigRational::new(n.into(), d.into())
    }

    fn interval(a: i64, b: i64) -> Interval {
        Interval::between(ratio(a, 1), ratio(b, 1))
    }

    #[test]
    fn signs_are_handled() {
        assert_eq!(&interval(-2, 3) * &interval(-5, 4), interval(-15, 12));
        assert_eq!(interval(-2, 3).powi(2), Some(interval(0, 9)));
        assert_eq!(interval(-2, 3).powi(3), Some(interval(-8, 27)));
        assert_eq!(interval(-3, -2).powi(-1), Some(Interval::between(ratio(-1, 2), ratio(-1, 3))));
        assert_eq!(interval(-4, -2).abs(), interval(2, 4));
        assert_eq!(interval(1, 2).div(&interval(-1, 1)), None);
        assert_eq!(interval(1, 2).div(&interval(0, 1)), None);
        assert_eq!(interval(0, 1).powi(-1), None);
        assert_eq!(interval(2, 2).powi(5000), None);
    }

    #[test]
    fn long_ends_are_rounded_outwards() {
        let third = BigRational::new(1.into(), 3.into());
        let long = third.pow(40);
        for value in [long.clone(), -long.clone(), long.recip(), ratio(7, 2)] {
            let mut rounded = Interval::point(value.clone());
            rounded.round_outwards(32);
            assert!(rounded.contains(&value) && rounded.magnitude() <= 64);
            assert!(rounded.width() < value.abs() / ratio(16_000, 1));
        }
        let mut short = interval(-3, 5);
        short.round_outwards(8);
        assert_eq!(short, interval(-3, 5));
        assert_eq!((interval(0, 1).magnitude(), interval(-1024, 1).magnitude()), (0, 10));
    }

    #[test]
    fn distances_and_widths() {
        assert!(interval(0, 2).meets(&interval(2, 3)));
        assert_eq!(interval(0, 2).distance(&interval(2, 3)), ratio(0, 1));
        assert_eq!(interval(5, 9).distance(&interval(2, 3)), ratio(2, 1));
        assert_eq!(interval(3, 5).relative_width(), Some(ratio(1, 2)));
        assert_eq!(interval(-1, 1).relative_width(), None);
        assert_eq!(interval(0, 1).hull(&interval(4, 5)), interval(0, 5));
    }

    fn held() -> impl Strategy<Value = (Interval, BigRational)> {
        (-60i64..60, 0i64..40, 1i64..9, 0i64..=8).prop_map(|(low, width, d, at)| {
            let held = Interval::between(ratio(low, d), ratio(low + width, d));
            let value = held.low() + held.width() * ratio(at, 8);
            (held, value)
        })
    }

    proptest! {
        #[test]
        fn results_hold_every_pointwise_result((a, x) in held(), (b, y) in held(), n in -4i32..5) {
            prop_assert!((&a + &b).contains(&(&x + &y)));
            prop_assert!((&a - &b).contains(&(&x - &y)));
            prop_assert!((&a * &b).contains(&(&x * &y)));
            prop_assert!((-&a).contains(&-&x));
            prop_assert!(a.abs().contains(&x.abs()));
            prop_assert!(a.ceil().contains(&x.ceil()) && a.floor().contains(&x.floor()));
            match a.div(&b) {
                Some(quotient) => prop_assert!(quotient.contains(&(&x / &y))),
                None => prop_assert!(b.contains(&ratio(0, 1))),
            }
            if let Some(power) = a.powi(n) {
                prop_assert!(power.contains(&x.pow(n)));
            }
        }
    }
}
