//! Exact arithmetic with rationals of thousands of digits: the same values as `BigRational`, but faster.
//!
//! The operators of `BigRational` reduce by a greatest common divisor, whose time grows with the square of the longer
//! number even if the other one is short. A product of 2,000 printed numbers is such a case.

use std::borrow::Cow;
use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// The number of bits up to which the plain operators are as fast.
const SHORT: u64 = 512;
/// The number of leading bits that are compared first.
const LEADING: u64 = 256;

/// The number of Euclid's steps before the plain algorithm takes over.
const STEPS: usize = 16;

/// The greatest common divisor of two integers that are not both zero. One step of Euclid makes the longer number as short
/// as the other; a few more finish if one is nearly a simple multiple of the other.
fn common(a: &BigInt, b: &BigInt) -> BigInt {
    let (mut long, mut short) = (a.abs(), b.abs());
    if long < short {
        std::mem::swap(&mut long, &mut short);
    }
    for _ in 0..STEPS {
        if short.is_zero() || short.is_one() {
            return if short.is_zero() { long } else { short };
        }
        let rest = &long % &short;
        long = std::mem::replace(&mut short, rest);
    }
    if short.is_zero() {
        return long;
    }
    // Reducing short/long divides `long` by the common divisor.
    let reduced = BigRational::new(short, long.clone());
    long / reduced.denom()
}

fn is_short(value: &BigRational) -> bool {
    value.numer().bits() + value.denom().bits() < SHORT
}

fn divided<'n>(value: &'n BigInt, by: &BigInt) -> Cow<'n, BigInt> {
    if by.is_one() { Cow::Borrowed(value) } else { Cow::Owned(value / by) }
}

/// Whether two reduced numbers are identical, digit by digit; `==` divides first.
pub fn same(a: &BigRational, b: &BigRational) -> bool {
    a.numer() == b.numer() && a.denom() == b.denom()
}

/// A fraction with numerator and denominator of at most 128 bits, like nearly every printed number and most sums and
/// products of two. Machine words reduce it much faster than big integers.
#[derive(Clone, Copy)]
struct SmallRatio {
    numer: i128,
    denom: i128,
}

impl SmallRatio {
    /// Both fractions; none if a part does not fit.
    fn pair(a: &BigRational, b: &BigRational) -> Option<[Self; 2]> {
        let small = |value: &BigRational| {
            Some(Self { numer: value.numer().to_i128()?, denom: value.denom().to_i128()? })
        };
        Some([small(a)?, small(b)?])
    }

    /// None if a step overflows, as in `product` and `compare`.
    fn sum(self, other: Self) -> Option<BigRational> {
        let d = self.denom.gcd(&other.denom);
        let (left, right) = (self.denom / d, other.denom / d);
        let (own, theirs) = (self.numer.checked_mul(right)?, other.numer.checked_mul(left)?);
        let numer = own.checked_add(theirs)?;
        if numer == 0 {
            return Some(BigRational::zero());
        }
        let e = numer.gcd(&d);
        Some(raw(numer / e, left.checked_mul(other.denom / e)?))
    }

    fn product(self, other: Self) -> Option<BigRational> {
        if self.numer == 0 || other.numer == 0 {
            return Some(BigRational::zero());
        }
        let over = self.numer.gcd(&other.denom);
        let under = other.numer.gcd(&self.denom);
        let numer = (self.numer / over).checked_mul(other.numer / under)?;
        Some(raw(numer, (self.denom / under).checked_mul(other.denom / over)?))
    }

    fn compare(self, other: Self) -> Option<Ordering> {
        let left = self.numer.checked_mul(other.denom)?;
        Some(left.cmp(&other.numer.checked_mul(self.denom)?))
    }
}

/// `numer / denom`, without a common divisor.
fn raw(numer: i128, denom: i128) -> BigRational {
    BigRational::new_raw(numer.into(), denom.into())
}

/// `a * b`.
pub fn product(a: &BigRational, b: &BigRational) -> BigRational {
    if let Some(product) = SmallRatio::pair(a, b).and_then(|[a, b]| a.product(b)) {
        return product;
    }
    if is_short(a) && is_short(b) {
        return a * b;
    }
    let over = common(a.numer(), b.denom());
    let under = common(b.numer(), a.denom());
    let numer = &*divided(a.numer(), &over) * &*divided(b.numer(), &under);
    let denom = &*divided(a.denom(), &under) * &*divided(b.denom(), &over);
    BigRational::new_raw(numer, denom)
}

/// `a + b`.
pub fn sum(a: &BigRational, b: &BigRational) -> BigRational {
    if let Some(sum) = SmallRatio::pair(a, b).and_then(|[a, b]| a.sum(b)) {
        return sum;
    }
    if is_short(a) && is_short(b) {
        return a + b;
    }
    // With d the common divisor of the denominators, only the common divisor of d and the numerator has to be reduced
    // (Knuth, The Art of Computer Programming, 4.5.1).
    let d = common(a.denom(), b.denom());
    let (left, right) = (divided(a.denom(), &d), divided(b.denom(), &d));
    let numer = a.numer() * &*right + b.numer() * &*left;
    if numer.is_zero() {
        return BigRational::zero();
    }
    let e = common(&numer, &d);
    BigRational::new_raw(divided(&numer, &e).into_owned(), &*left * &*divided(b.denom(), &e))
}

/// `numer / denom`, reduced; the denominator must not be zero.
pub fn ratio(numer: BigInt, denom: BigInt) -> BigRational {
    match (numer.to_i128(), denom.to_i128()) {
        (Some(top), Some(bottom)) if bottom > 0 => {
            let d = top.gcd(&bottom);
            raw(top / d, bottom / d)
        }
        _ => BigRational::new(numer, denom),
    }
}

/// Compares `a` with `b`.
pub fn compare(a: &BigRational, b: &BigRational) -> Ordering {
    if let Some(order) = SmallRatio::pair(a, b).and_then(|[a, b]| a.compare(b)) {
        return order;
    }
    if is_short(a) && is_short(b) {
        return a.cmp(b);
    }
    match a.numer().sign().cmp(&b.numer().sign()) {
        Ordering::Equal => {}
        order => return order,
    }
    if same(a, b) {
        return Ordering::Equal;
    }
    let sizes = by_leading_bits(a, b).unwrap_or_else(|| {
        let (left, right) = (a.numer().abs() * b.denom(), b.numer().abs() * a.denom());
        left.cmp(&right)
    });
    if a.is_negative() { sizes.reverse() } else { sizes }
}

/// Compares the absolute values of `a` and `b`, if their leading bits decide.
fn by_leading_bits(a: &BigRational, b: &BigRational) -> Option<Ordering> {
    let ([low, high], [least, most]) = (bracket(a)?, bracket(b)?);
    if high < least {
        Some(Ordering::Less)
    } else if low > most {
        Some(Ordering::Greater)
    } else {
        None
    }
}

/// Short numbers just below and above a long one; none if its magnitude itself needs many digits.
pub fn bracket(value: &BigRational) -> Option<[BigRational; 2]> {
    let short = |number: &BigInt| {
        let dropped = number.bits().saturating_sub(LEADING);
        let low = BigInt::from(number.magnitude() >> dropped);
        let high = if dropped == 0 { low.clone() } else { &low + 1 };
        (low, high, dropped)
    };
    let (low, high, up) = short(value.numer());
    let (least, most, down) = short(value.denom());
    if up.abs_diff(down) > SHORT {
        return None;
    }
    let scaled = |numer: BigInt, denom: BigInt| {
        BigRational::new(numer << up.saturating_sub(down), denom << down.saturating_sub(up))
    };
    Some([scaled(low, most), scaled(high, least)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn long() -> impl Strategy<Value = BigRational> {
        (any::<i128>(), any::<i128>(), 1i64..10_000, 0i32..12, 0i32..12).prop_map(
            |(a, b, c, n, m)| {
                let numer = BigInt::from(a).pow(n as u32 + 1) * BigInt::from(c);
                let denom = BigInt::from(b).abs().max(BigInt::one()).pow(m as u32 + 1);
                BigRational::new(numer, denom)
            },
        )
    }

    /// Numbers as measurements are printed, and at the limits of machine words.
    fn short() -> impl Strategy<Value = BigRational> {
        let edge = prop_oneof![Just(i128::MIN), Just(i128::MAX), Just(i128::from(i64::MIN))];
        let numer = prop_oneof![any::<i64>().prop_map(i128::from), any::<i128>(), edge];
        let denom = prop_oneof![(0u32..20).prop_map(|n| 10i128.pow(n)), 1i128..i128::MAX];
        (numer, denom).prop_map(|(numer, denom)| BigRational::new(numer.into(), denom.into()))
    }

    proptest! {
        #[test]
        fn results_are_those_of_the_plain_operators(
            a in prop_oneof![long(), short()],
            b in prop_oneof![long(), short()],
        ) {
            let negative = -&a;
            prop_assert_eq!(ratio(a.numer() * 6, a.denom() * 6), a.clone());
            for (x, y) in [(&a, &b), (&a, &a), (&a, &negative), (&b, &a)] {
                prop_assert_eq!(product(x, y), x * y);
                prop_assert_eq!(sum(x, y), x + y);
                prop_assert_eq!(compare(x, y), x.cmp(y));
            }
            if let Some([low, high]) = bracket(&a) {
                prop_assert!(low <= a.abs() && a.abs() <= high);
            }
        }
    }
}
