//! The registry of named formulas: the arithmetic that posts use to get one number from others.
//!
//! Owns the tables in `registry.rs` and `equal_resource.rs`, the expression each formula is, and its three readings from that
//! one definition: the exact range for rule rounding_interval, the value in floats for fields that call themselves
//! exact, and the text that a report shows. Whether a result agrees with a claim is for the claims.
//!
//! Inside formulas a percentage is a fraction: the operand `24%` is 0.24. A result in percent is a
//! number of percent, so a formula with such a result multiplies by 100 where a script would.

mod equal_resource;
mod expression;
mod registry;
mod text;

use crate::decimal::{Interval, Printed, Unit, about_tolerance, nearest_f64};
use expression::Slots;
pub use expression::{Fold, FormulaFunction, FormulaTree, Operator, number};
use num_traits::One;
use text::FormulaWords;

/// A named formula with what a person needs to know before relying on it.
#[derive(Debug)]
pub struct Formula {
    /// Its name in post files.
    pub name: &'static str,
    /// Its inputs in order.
    pub inputs: &'static [InputSpec],
    /// Its definition.
    pub expression: fn() -> FormulaTree,
    /// The unit of its result.
    pub unit: Unit,
    /// What it computes.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// How it can mislead.
    pub misleads: &'static str,
    /// Inputs as printed, and the result as it would be printed.
    pub example: (&'static [&'static str], &'static str),
}

/// One input of a formula.
#[derive(Debug)]
pub struct InputSpec {
    /// Its name in post files.
    pub name: &'static str,
    /// How exactly a printed value is known.
    pub precision: Precision,
    /// Whether it may be given any number of times, at least once; only the last input may.
    pub many: bool,
    /// What it is.
    pub doc: &'static str,
}

/// How exactly a printed value is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Exact as printed, and an integer.
    Count,
    /// Known to half a unit in its last place.
    Measured,
    /// Declared, and exact as printed.
    Coefficient,
    /// An integer printed in full is exact, anything else is measured.
    Auto,
}

/// One value of an input in its three readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand {
    /// How it is shown.
    pub text: String,
    /// Where it lies.
    pub interval: Interval,
    /// The nearest float.
    pub float: f64,
    /// Whether it is printed as "about", so that [`about_tolerance`] decided its interval.
    pub approximate: bool,
}

/// What a formula gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FormulaValue {
    /// Every value that the operands allow.
    pub interval: Interval,
    /// The value in binary floating point.
    pub float: f64,
    /// The formula with the operands as printed.
    pub text: String,
    /// Whether an operand was printed as "about".
    pub approximate: bool,
}

/// Why a formula gives nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormulaError {
    /// Another number of inputs than the formula has.
    #[error("`{formula}` takes {expected}, not {found} values")]
    InputCount {
        /// The formula.
        formula: &'static str,
        /// Its inputs by name.
        expected: String,
        /// How many values were given.
        found: usize,
    },
    /// An input that only limits a value.
    #[error("the input `{text}` only bounds a value, so nothing follows from it")]
    OneSided {
        /// The input as printed.
        text: String,
    },
    /// A count that is no integer.
    #[error("the input `{text}` must be a count, but is not an integer")]
    NotACount {
        /// The input as printed.
        text: String,
    },
    /// A divisor that is or may be zero.
    #[error("the divisor {divisor} may be zero")]
    DivisionByZero {
        /// Where it lies.
        divisor: String,
    },
    /// An argument that a function does not take.
    #[error("{function} of {argument} is not defined or too large")]
    Domain {
        /// The function.
        function: &'static str,
        /// Where the argument lies.
        argument: String,
    },
    /// An expression that mentions an input which its formula lacks.
    #[error("the expression uses an input that the formula does not have")]
    NoSuchInput,
}

impl Precision {
    /// Where the value behind `printed` lies, in the unit printed.
    fn interval(self, printed: &Printed) -> Result<Interval, FormulaError> {
        let text = || printed.text().to_owned();
        if printed.bound().is_some() {
            return Err(FormulaError::OneSided { text: text() });
        }
        if printed.approximate() {
            return Ok(printed.about(&about_tolerance()));
        }
        match self {
            Precision::Count if !printed.value().is_integer() => {
                Err(FormulaError::NotACount { text: text() })
            }
            Precision::Count | Precision::Coefficient => Ok(printed.exact()),
            // A share is measured, however it is rounded: 24% is no count.
            Precision::Auto if printed.is_integer_text() && printed.unit().per_one().is_one() => {
                Ok(printed.exact())
            }
            Precision::Auto | Precision::Measured => Ok(printed.interval()),
        }
    }

    /// The rule in words.
    fn rule(self) -> &'static str {
        match self {
            Precision::Count => "a count, exact as printed",
            Precision::Measured => "measured, known to half a unit in its last place",
            Precision::Coefficient => "declared, exact as printed",
            Precision::Auto => "exact if printed as a whole number without %, else measured",
        }
    }
}

impl Operand {
    /// The operand behind a printed number of the given nature.
    pub fn read(printed: &Printed, precision: Precision) -> Result<Self, FormulaError> {
        let per_one = printed.unit().per_one();
        let interval = precision.interval(printed)?.scaled(&per_one.recip());
        // Divided as a script would divide; by one it changes nothing.
        let float = printed.as_f64() / nearest_f64(&per_one);
        let approximate = printed.approximate();
        Ok(Self { text: printed.text().to_owned(), interval, float, approximate })
    }

    /// An operand that was itself computed.
    pub fn computed(text: impl Into<String>, interval: Interval, float: f64) -> Self {
        Self { text: text.into(), interval, float, approximate: false }
    }
}

/// Every formula, in the order of the help.
pub fn formulas() -> impl Iterator<Item = &'static Formula> {
    registry::FORMULAS.iter().chain(equal_resource::FORMULAS)
}

impl Formula {
    /// The formula called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        formulas().find(|formula| formula.name == name)
    }

    /// Reads printed inputs as this formula's inputs say.
    pub fn operands(&self, printed: &[Printed]) -> Result<Vec<Operand>, FormulaError> {
        self.check_count(printed.len())?;
        let precisions = self.inputs.iter().chain(self.inputs.iter().last().into_iter().cycle());
        printed
            .iter()
            .zip(precisions)
            .map(|(one, spec)| Operand::read(one, spec.precision))
            .collect()
    }

    /// Computes the formula in all three readings; an input given many times takes what is left over.
    pub fn evaluate(&self, operands: &[Operand]) -> Result<FormulaValue, FormulaError> {
        self.check_count(operands.len())?;
        let once = self.inputs.iter().filter(|input| !input.many).count();
        let (single, many) = operands.split_at(once.min(operands.len()));
        let expression = (self.expression)();
        let interval =
            expression::range(&expression, &slots(single, many, |o| o.interval.clone()))?;
        let float = expression.float(&slots(single, many, |o| o.float))?;
        let words = |list: &[Operand]| list.iter().map(|o| o.text.clone()).collect::<Vec<_>>();
        let (single, many) = (words(single), words(many));
        let words = FormulaWords::Values {
            single: single.iter().map(String::as_str).collect(),
            many: many.iter().map(String::as_str).collect(),
        };
        let text = text::render(&expression, &words);
        Ok(FormulaValue {
            interval,
            float,
            text,
            approximate: operands.iter().any(|o| o.approximate),
        })
    }

    /// The formula with the names of its inputs.
    pub fn definition(&self) -> String {
        let names = self.inputs.iter().map(|input| input.name).collect();
        text::render(&(self.expression)(), &FormulaWords::Names(names))
    }

    /// Everything a person needs to know about it, as a short text.
    pub fn explain(&self) -> String {
        let mut lines =
            vec![format!("{} = {}", self.name, self.definition()), self.what.to_owned()];
        for input in self.inputs {
            let many = if input.many { " (one or more)" } else { "" };
            lines.push(format!(
                "  {}{many}: {}; {}",
                input.name,
                input.doc,
                input.precision.rule()
            ));
        }
        lines.push(format!("Source: {}", self.source));
        lines.push(format!("How it can mislead: {}", self.misleads));
        let (inputs, claimed) = self.example;
        lines.push(format!("Example: {} gives {claimed}", inputs.join(" | ")));
        lines.join("\n")
    }

    fn check_count(&self, found: usize) -> Result<(), FormulaError> {
        let least = self.inputs.len();
        let open = self.inputs.iter().any(|input| input.many);
        if found == least || (open && found > least) {
            return Ok(());
        }
        let names: Vec<_> = self.inputs.iter().map(|input| input.name).collect();
        let expected = names.join(", ") + if open { ", ..." } else { "" };
        Err(FormulaError::InputCount { formula: self.name, expected, found })
    }
}

fn slots<T>(single: &[Operand], many: &[Operand], reading: impl Fn(&Operand) -> T) -> Slots<T> {
    let single = single.iter().map(&reading).collect();
    Slots { single, many: many.iter().map(&reading).collect() }
}

#[cfg(test)]
mod tests;
