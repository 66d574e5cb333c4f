//! Whole numbers in which an overflow is remembered, so that a formula reads like a formula.

use std::ops::{Add, Mul, Sub};

/// A number of parameters or a dimension; once a step leaves `u64` every later step has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(Option<u64>);

impl Size {
    /// Nothing.
    pub const ZERO: Size = Size(Some(0));

    /// The number, or none after an overflow.
    pub fn value(self) -> Option<u64> {
        self.0
    }

    /// `self / by` if it is a whole number.
    pub fn split(self, by: Size) -> Option<Size> {
        let (whole, by) = (self.0?, by.0?);
        (by > 0 && whole % by == 0).then(|| Size(Some(whole / by)))
    }
}

impl From<u64> for Size {
    fn from(value: u64) -> Self {
        Size(Some(value))
    }
}

/// A switch counts as one or zero, as in `biases * width`.
impl From<bool> for Size {
    fn from(on: bool) -> Self {
        Size(Some(u64::from(on)))
    }
}

impl<T: Into<Size>> Add<T> for Size {
    type Output = Size;
    fn add(self, other: T) -> Size {
        Size(self.0.zip(other.into().0).and_then(|(a, b)| a.checked_add(b)))
    }
}

impl<T: Into<Size>> Sub<T> for Size {
    type Output = Size;
    fn sub(self, other: T) -> Size {
        Size(self.0.zip(other.into().0).and_then(|(a, b)| a.checked_sub(b)))
    }
}

impl<T: Into<Size>> Mul<T> for Size {
    type Output = Size;
    fn mul(self, other: T) -> Size {
        Size(self.0.zip(other.into().0).and_then(|(a, b)| a.checked_mul(b)))
    }
}

impl std::iter::Sum for Size {
    fn sum<I: Iterator<Item = Size>>(items: I) -> Size {
        items.fold(Size::ZERO, |sum, item| sum + item)
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn an_overflow_is_never_forgotten() {
        let huge = Size::from(u64::MAX);
        assert_eq!((huge + 1).value(), None);
        assert_eq!((huge * 2 - huge).value(), None);
        assert_eq!((Size::from(1) - 2).value(), None);
        assert_eq!((Size::from(3) * true + 4).value(), Some(7));
    }

    #[test]
    fn only_even_splits_are_splits() {
        assert_eq!(Size::from(12).split(Size::from(3)), Some(Size::from(4)));
        assert_eq!(Size::from(12).split(Size::from(5)), None);
        assert_eq!(Size::from(12).split(Size::ZERO), None);
    }
}
