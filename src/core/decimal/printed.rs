//! A printed number: its value, precision and unit.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::{Interval, float};

/// A number with everything that can be read from its printed form.
///
/// The value is in the printed unit: `24%` has the value 24 and the unit [`Unit::Percent`].
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

/// The unit after a printed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// None.
    Plain,
    /// `%`: hundredths.
    Percent,
    /// `pp`: a difference of percentages, which is not a percentage.
    Points,
    /// `×`: a factor.
    Times,
}

impl Unit {
    /// The number of these units in one: a hundred for `%` and `pp`.
    pub fn per_one(self) -> BigRational {
        let count = match self {
            Unit::Percent | Unit::Points => 100,
            Unit::Plain | Unit::Times => 1,
        };
        BigRational::from_integer(BigInt::from(count))
    }

    /// The factor from this unit to the unit of a result; `None` if they are not comparable. Percent and percentage points
    /// are never interchangeable.
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

    /// The name of the unit.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Plain => "a plain number",
            Unit::Percent => "percent",
            Unit::Points => "percentage points",
            Unit::Times => "times",
        }
    }

    /// The sign printed after a number with this unit.
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
    /// Whether all of `values` satisfy the bound (true), none of them (false), or some (`None`).
    pub fn satisfied(self, values: &Interval, limit: &BigRational) -> Option<bool> {
        let holds = |value: &BigRational| match self {
            Bound::Above => value > limit,
            Bound::AtLeast => value >= limit,
            Bound::Below => value < limit,
            Bound::AtMost => value <= limit,
        };
        // A half-line with the same answer at both ends has it everywhere in between.
        let (low, high) = (holds(values.low()), holds(values.high()));
        (low == high).then_some(low)
    }
}

impl Printed {
    /// A number in words, such as "two thirds": it is not exact and has no last digit.
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

    /// The same number with a different printed text.
    pub fn shown_as(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
    }

    /// The number and its last place times a factor: `4.5` followed by the word "million".
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

    /// The number with a unit from elsewhere in the text.
    pub fn in_unit(self, unit: Unit) -> Self {
        let spread = self.spread.map(|spread| Box::new(spread.in_unit(unit)));
        Self { unit, spread, ..self }
    }

    /// The number with a number after ±.
    pub fn with_spread(self, spread: Printed) -> Self {
        Self { spread: Some(Box::new(spread)), ..self }
    }

    /// A shifted number with the same printed precision.
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

    /// The value of one step in the last printed digit.
    pub fn last_place(&self) -> &BigRational {
        &self.last_place
    }

    /// All values that round to this number: half a unit in the last place in both directions, including both ends, because
    /// half-up and half-even differ there.
    pub fn interval(&self) -> Interval {
        Interval::around(&self.value, &(&self.last_place / BigRational::from_integer(2.into())))
    }

    /// The printed value itself, for counts, thresholds and declared coefficients.
    pub fn exact(&self) -> Interval {
        Interval::point(self.value.clone())
    }

    /// All values within `tolerance` times the value, and at least those in [`Printed::interval`].
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

    /// The bound expressed by the words before it.
    pub fn bound(&self) -> Option<Bound> {
        self.bound
    }

    /// The number after `±`.
    pub fn spread(&self) -> Option<&Printed> {
        self.spread.as_deref()
    }

    /// Whether all digits of an integer are printed: no decimals, exponent or suffix.
    pub fn is_integer_text(&self) -> bool {
        self.integer_text
    }

    /// The number of printed digits from the first nonzero one.
    pub fn significant_digits(&self) -> usize {
        self.significant_digits
    }

    /// Whether there are enough digits for a binary float printed in full.
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
    /// The text, truncated after 60 characters.
    pub text: String,
    /// The flaw in the text.
    pub flaw: Flaw,
}

/// The reason why a text is not a printed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There is no digit at the start of a number.
    #[error("the number must start with a digit")]
    NoDigits,
    /// Separators do not form groups of three.
    #[error("separators must form groups of three digits")]
    Grouping,
    /// More digits or a larger exponent than any number in a post has.
    #[error("more than 400 digits, or an exponent above 400")]
    TooLarge,
    /// Two words or signs with the same meaning.
    #[error("two qualifiers of the same kind")]
    Repeated,
    /// The number after `±` has a sign.
    #[error("the number after ± must not be negative")]
    NegativeSpread,
    /// Something that is not a suffix or unit follows.
    #[error("the number is followed by something other than a suffix, unit or ±")]
    Trailing,
}
