//! What a printed number says: its value, how exactly it is known, and in which unit.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::{Interval, float};

/// A number as printed, with everything that its print says about it.
///
/// The value is in the unit that is printed: `24%` has the value 24 and the unit [`Unit::Percent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    pub(super) text: String,
    pub(super) value: BigRational,
    pub(super) last_place: BigRational,
    pub(super) unit: Unit,
    pub(super) approximate: bool,
    pub(super) bound: Option<Bound>,
    pub(super) spread: Option<Box<Printed>>,
    pub(super) significant_digits: usize,
    pub(super) integer_text: bool,
}

/// The unit behind a printed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// None.
    Plain,
    /// `%`: hundredths.
    Percent,
    /// `pp`: a difference of percentages, which is not a percentage.
    Points,
    /// `×`: so many times.
    Times,
}

impl Unit {
    /// How many of this unit make one: a hundred for `%` and `pp`.
    pub fn per_one(self) -> BigRational {
        let count = match self {
            Unit::Percent | Unit::Points => 100,
            Unit::Plain | Unit::Times => 1,
        };
        BigRational::from_integer(BigInt::from(count))
    }

    /// What one printed unit of this kind is worth in the unit of a result; `None` where they do not
    /// compare: percent and percentage points are never taken for each other.
    pub fn worth_in(self, result: Unit) -> Option<BigRational> {
        match (result, self) {
            (result, printed) if result == printed => Some(BigRational::one()),
            (_, Unit::Plain) | (Unit::Plain, Unit::Times) => Some(BigRational::one()),
            (Unit::Plain, Unit::Percent | Unit::Points) | (Unit::Times, Unit::Percent) => {
                Some(self.per_one().recip())
            }
            _ => None,
        }
    }

    /// The unit in words.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Plain => "a plain number",
            Unit::Percent => "percent",
            Unit::Points => "percentage points",
            Unit::Times => "times",
        }
    }

    /// The sign that is printed behind a number of this unit.
    pub fn sign(self) -> &'static str {
        match self {
            Unit::Plain => "",
            Unit::Percent => "%",
            Unit::Points => " pp",
            Unit::Times => "×",
        }
    }
}

/// A one-sided statement: the printed number limits the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// `>`, "over": the limit itself does not satisfy it.
    Above,
    /// `≥`, "at least".
    AtLeast,
    /// `<`, "under", "sub-": the limit itself does not satisfy it.
    Below,
    /// `≤`, "at most", "up to".
    AtMost,
}

impl Bound {
    /// Whether all of `values` satisfies the bound (true), none of it (false), or some (none).
    pub fn satisfied(self, values: &Interval, limit: &BigRational) -> Option<bool> {
        let holds = |value: &BigRational| match self {
            Bound::Above => value > limit,
            Bound::AtLeast => value >= limit,
            Bound::Below => value < limit,
            Bound::AtMost => value <= limit,
        };
        // A half-line that agrees on both ends agrees on everything between them.
        let (low, high) = (holds(values.low()), holds(values.high()));
        (low == high).then_some(low)
    }
}

impl Printed {
    /// A number in words, such as "two thirds": it is not exact, and has no last digit.
    pub fn in_words(text: &str, value: BigRational, unit: Unit) -> Self {
        Self {
            text: text.to_owned(),
            value,
            last_place: BigRational::zero(),
            unit,
            approximate: true,
            bound: None,
            spread: None,
            significant_digits: 1,
            integer_text: false,
        }
    }

    /// The same number as another text has it.
    pub fn shown_as(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
    }

    /// The number and its last place so many times: `4.5` with the word "million" behind it.
    pub fn times(self, factor: &BigRational) -> Self {
        let spread = self.spread.map(|spread| Box::new(spread.times(&factor.abs())));
        Self {
            value: self.value * factor,
            last_place: self.last_place * factor.abs(),
            spread,
            integer_text: self.integer_text && factor.abs().is_one(),
            ..self
        }
    }

    /// The number in a unit that stands elsewhere.
    pub fn in_unit(self, unit: Unit) -> Self {
        let spread = self.spread.map(|spread| Box::new(spread.in_unit(unit)));
        Self { unit, spread, ..self }
    }

    /// The number with a spread behind it.
    pub fn with_spread(self, spread: Printed) -> Self {
        Self { spread: Some(Box::new(spread)), ..self }
    }

    /// Another number in its place, printed alike.
    pub fn moved(self, by: &BigRational) -> Self {
        Self { value: self.value + by, ..self }
    }

    /// The text as printed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value, exactly, in the unit printed.
    pub fn value(&self) -> &BigRational {
        &self.value
    }

    /// The value in units of one: a half for `50%`.
    pub fn in_ones(&self) -> BigRational {
        &self.value / self.unit.per_one()
    }

    /// What one step in the last printed digit is worth.
    pub fn last_place(&self) -> &BigRational {
        &self.last_place
    }

    /// Every value that rounds to this print: half a unit in the last place either way, both ends
    /// included, because half-up and half-even disagree there.
    pub fn interval(&self) -> Interval {
        Interval::around(&self.value, &(&self.last_place / BigRational::from_integer(2.into())))
    }

    /// The printed value itself, for counts, thresholds and declared coefficients.
    pub fn exact(&self) -> Interval {
        Interval::point(self.value.clone())
    }

    /// Every value within `tolerance` times the value, and at least what [`Printed::interval`] holds.
    pub fn about(&self, tolerance: &BigRational) -> Interval {
        Interval::around(&self.value, &(self.value.abs() * tolerance)).hull(&self.interval())
    }

    /// The unit printed.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Whether it is printed as an approximation: `~`, `≈`, "about".
    pub fn approximate(&self) -> bool {
        self.approximate
    }

    /// The one-sided word before it.
    pub fn bound(&self) -> Option<Bound> {
        self.bound
    }

    /// The number after `±`.
    pub fn spread(&self) -> Option<&Printed> {
        self.spread.as_deref()
    }

    /// Whether every digit of an integer is printed: no decimals, no exponent, no suffix.
    pub fn is_integer_text(&self) -> bool {
        self.integer_text
    }

    /// How many digits are printed from the first that is not zero.
    pub fn significant_digits(&self) -> usize {
        self.significant_digits
    }

    /// Whether so many digits are printed that a binary float was printed in full.
    pub fn is_full_float(&self) -> bool {
        !self.integer_text && self.significant_digits >= 15
    }

    /// The float nearest to the value.
    pub fn as_f64(&self) -> f64 {
        float::nearest_f64(&self.value)
    }
}

impl std::fmt::Display for Printed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A text that is not one printed number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a printed number: {flaw}")]
pub struct NotPrinted {
    /// The text, cut after 60 characters.
    pub text: String,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// Why a text is not a printed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There is no digit where a number should begin.
    #[error("the number must start with a digit")]
    NoDigits,
    /// Separators do not make groups of three.
    #[error("separators must form groups of three digits")]
    Grouping,
    /// More digits or a larger exponent than any number in a post.
    #[error("more than 400 digits, or an exponent above 400")]
    TooLarge,
    /// Two words or signs say the same kind of thing.
    #[error("two qualifiers of the same kind")]
    Repeated,
    /// The number after `±` is signed.
    #[error("the number after ± must not be negative")]
    NegativeSpread,
    /// Something follows that is no suffix or unit.
    #[error("the number is followed by something other than a suffix, unit or ±")]
    Trailing,
}
