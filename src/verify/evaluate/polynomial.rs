//! Quotients of polynomials with rational coefficients: enough algebra to show that a relation between
//! printed formulas holds for all positive values of their variables.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Zero};

/// More terms than any formula on paper has; a power of a power is not worked out.
const MOST_TERMS: usize = 4_096;

/// A sum of terms: the powers of the variables, and the coefficient, which is never zero.
#[derive(Debug, Clone, PartialEq)]
struct Polynomial(BTreeMap<Vec<u32>, BigRational>);

/// A quotient of two polynomials, the divisor not zero everywhere.
#[derive(Debug, Clone)]
pub struct Quotient {
    top: Polynomial,
    bottom: Polynomial,
}

impl Polynomial {
    fn constant(value: BigRational) -> Self {
        Self(BTreeMap::from([(Vec::new(), value)])).tidy()
    }

    fn tidy(mut self) -> Self {
        self.0.retain(|_, coefficient| !coefficient.is_zero());
        self
    }

    fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for (powers, coefficient) in &other.0 {
            *sum.0.entry(powers.clone()).or_insert_with(BigRational::zero) += coefficient;
        }
        sum.tidy()
    }

    fn times(&self, other: &Self) -> Option<Self> {
        let mut product = BTreeMap::new();
        for (left, a) in &self.0 {
            for (right, b) in &other.0 {
                let count = left.len().max(right.len());
                let power = |of: &[u32], at: usize| of.get(at).copied().unwrap_or(0);
                let powers: Option<Vec<u32>> =
                    (0..count).map(|at| power(left, at).checked_add(power(right, at))).collect();
                *product.entry(powers?).or_insert_with(BigRational::zero) += a * b;
            }
            if product.len() > MOST_TERMS {
                return None;
            }
        }
        Some(Self(product).tidy())
    }

    /// Whether all coefficients are on one side of zero, so that it is too where all variables are positive.
    fn sign(&self) -> Option<Ordering> {
        let mut signs = self.0.values().map(|coefficient| coefficient.cmp(&BigRational::zero()));
        let Some(first) = signs.next() else { return Some(Ordering::Equal) };
        signs.all(|other| other == first).then_some(first)
    }
}

impl Quotient {
    /// A number.
    pub fn constant(value: BigRational) -> Self {
        Self { top: Polynomial::constant(value), bottom: Polynomial::constant(One::one()) }
    }

    /// The variable at a place.
    pub fn variable(place: usize) -> Self {
        let mut powers = vec![0; place];
        powers.push(1);
        let top = Polynomial(BTreeMap::from([(powers, One::one())]));
        Self { top, bottom: Polynomial::constant(One::one()) }
    }

    /// How many terms it is written with.
    pub fn terms(&self) -> usize {
        self.top.0.len() + self.bottom.0.len()
    }

    /// The negative.
    pub fn negative(&self) -> Option<Self> {
        self.times(&Self::constant(-BigRational::one()))
    }

    /// The sum; none if it has too many terms.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        if self.bottom == other.bottom {
            return Some(Self { top: self.top.plus(&other.top), bottom: self.bottom.clone() });
        }
        let top = self.top.times(&other.bottom)?.plus(&other.top.times(&self.bottom)?);
        Some(Self { top, bottom: self.bottom.times(&other.bottom)? })
    }

    /// The product; none if it has too many terms.
    pub fn times(&self, other: &Self) -> Option<Self> {
        let (top, bottom) = (self.top.times(&other.top)?, self.bottom.times(&other.bottom)?);
        Some(Self { top, bottom })
    }

    /// One over it; none for zero.
    pub fn reciprocal(&self) -> Option<Self> {
        let zero = self.top.0.is_empty();
        (!zero).then(|| Self { top: self.bottom.clone(), bottom: self.top.clone() })
    }

    /// A whole power; none if it has too many terms, or divides by zero.
    pub fn power(&self, power: i32) -> Option<Self> {
        const MOST: u32 = 64;
        let base = if power < 0 { self.reciprocal()? } else { self.clone() };
        let times = Some(power.unsigned_abs()).filter(|power| *power <= MOST)?;
        (0..times).try_fold(Self::constant(One::one()), |product, _| product.times(&base))
    }

    /// How it stands to zero for all positive values of its variables, where its coefficients show it.
    pub fn sign(&self) -> Option<Ordering> {
        match self.top.sign()? {
            Ordering::Equal => Some(Ordering::Equal),
            top if top == self.bottom.sign()? => Some(Ordering::Greater),
            _ => Some(Ordering::Less),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: i64) -> Quotient {
        Quotient::constant(BigRational::from_integer(value.into()))
    }

    #[test]
    fn a_square_is_worked_out() {
        let (x, y) = (Quotient::variable(0), Quotient::variable(1));
        let square = x.plus(&y).and_then(|sum| sum.power(2)).unwrap();
        let terms = [x.power(2), x.times(&y).and_then(|xy| xy.times(&number(2))), y.power(2)];
        let sum = terms.into_iter().flatten().reduce(|sum, term| sum.plus(&term).unwrap());
        let rest = square.plus(&sum.unwrap().negative().unwrap()).unwrap();
        assert_eq!(rest.sign(), Some(Ordering::Equal));
        assert_eq!(square.sign(), Some(Ordering::Greater));
    }

    #[test]
    fn a_sign_is_only_told_where_it_is_shown() {
        let x = Quotient::variable(0);
        let less = x.plus(&number(-1)).unwrap();
        assert_eq!(less.sign(), None);
        assert_eq!(x.negative().unwrap().sign(), Some(Ordering::Less));
        let share = x.reciprocal().unwrap().plus(&number(1)).unwrap();
        assert_eq!(share.sign(), Some(Ordering::Greater));
        assert!(number(0).reciprocal().is_none());
        assert_eq!(number(0).sign(), Some(Ordering::Equal));
    }

    #[test]
    fn what_grows_without_end_is_given_up() {
        let sum = (0..12).map(Quotient::variable).reduce(|sum, x| sum.plus(&x).unwrap()).unwrap();
        assert!(sum.power(12).is_none());
        assert!(sum.power(1 << 20).is_none());
    }
}
