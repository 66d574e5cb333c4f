//! The stated value of a quantity, and the equality of two values.

use num_rational::BigRational;
use num_traits::Signed;

use super::Phase;
use repro_core::decimal::{Printed, format_significant, grouped};
use repro_core::source::{Kind, Value};

/// Phases of a decay that lie this close are one phase.
const PHASE_TOLERANCE: f64 = 0.02;
/// The significant digits of numbers for programs.
const DIGITS: usize = 10;
/// Derived numbers from here on are shown to people without decimals.
const SHOWN_WHOLE_FROM: i32 = 10_000;

/// One statement of one run.
#[derive(Debug, Clone, PartialEq)]
pub enum StatedValue {
    /// A number, exactly.
    Number(BigRational),
    /// Anything that is compared as text.
    Text(String),
    /// The phase of a step in a learning-rate schedule.
    Phase(Phase),
    /// The thing does not exist in this run, such as experts in a dense model.
    Nothing(&'static str),
}

impl StatedValue {
    /// A whole number.
    pub fn integer(value: u64) -> Self {
        Self::Number(BigRational::from_integer(value.into()))
    }

    /// Reads a value of a config; lists are compared as text.
    pub fn read(tree: &Value) -> Self {
        match &tree.kind {
            Kind::Number(text) => match Printed::parse(&text.replace('_', "")) {
                Ok(printed) => Self::Number(printed.value().clone()),
                Err(_) => Self::Text(text.to_string()),
            },
            Kind::Text(text) if Printed::parse(text).is_err() => Self::Text(text.to_string()),
            _ => {
                let mut text = String::new();
                write(tree, &mut text);
                Self::Text(text)
            }
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<&BigRational> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Whether two values are equal; numbers may differ by `tolerance`, relative to the smaller one.
    pub fn same(&self, other: &Self, tolerance: &BigRational) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => {
                a == b || (a - b).abs() <= a.abs().min(b.abs()) * tolerance
            }
            (Self::Phase(Phase::Decay(a)), Self::Phase(Phase::Decay(b))) => {
                (a - b).abs() <= PHASE_TOLERANCE
            }
            _ => self == other,
        }
    }

    /// For programs: exact integers whole, other numbers in ten significant digits.
    pub fn plain(&self) -> String {
        match self {
            Self::Number(number) => format_significant(number, DIGITS),
            Self::Text(text) => text.clone(),
            Self::Phase(phase) => phase.to_string(),
            Self::Nothing(why) => (*why).to_owned(),
        }
    }

    /// For people: numbers in `digits` significant digits, large ones whole, in groups of three.
    pub fn shown(&self, digits: usize) -> String {
        match self {
            Self::Number(number)
                if number.abs() >= BigRational::from_integer(SHOWN_WHOLE_FROM.into()) =>
            {
                grouped(&format_significant(&number.round(), DIGITS))
            }
            Self::Number(number) => grouped(&format_significant(number, digits)),
            other => other.plain(),
        }
    }
}

/// A tree as compact JSON, numbers as they are written.
fn write(tree: &Value, text: &mut String) {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match &tree.kind {
        Kind::Null => text.push_str("null"),
        Kind::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Kind::Number(number) => text.push_str(number),
        Kind::Text(string) => text.push_str(&quoted(string)),
        Kind::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                write(item, text);
            }
            text.push(']');
        }
        Kind::Object(members) => {
            text.push('{');
            for (at, member) in members.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                text.push_str(&quoted(&member.key));
                text.push_str(": ");
                write(&member.value, text);
            }
            text.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    fn read(text: &str) -> StatedValue {
        let document = Document::parse_json(Source::new("v.json", text.into()).unwrap()).unwrap();
        StatedValue::read(document.root().value())
    }

    fn ratio(n: i64, d: i64) -> BigRational {
        BigRational::new(n.into(), d.into())
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_text_as_text() {
        let none = ratio(0, 1);
        assert!(read("1e-1").same(&read("0.10"), &none));
        assert!(!read("1").same(&read("\"1\""), &none));
        assert_eq!(read("\"1\"").plain(), "\"1\"");
        assert_eq!(read("\"bf16\"").plain(), "bf16");
        assert_eq!(read(r#"[1, {"a": null}]"#).plain(), r#"[1, {"a": null}]"#);
    }

    #[test]
    fn a_tolerance_is_relative_to_the_smaller() {
        let (two_percent, hundred) = (ratio(1, 50), StatedValue::integer(100));
        assert!(hundred.same(&StatedValue::integer(102), &two_percent));
        assert!(StatedValue::integer(102).same(&hundred, &two_percent));
        assert!(!hundred.same(&StatedValue::integer(103), &two_percent));
        assert!(!StatedValue::integer(0).same(&StatedValue::integer(1), &two_percent));
    }

    #[test]
    fn phases_are_the_same_where_their_parts_are_close() {
        let none = ratio(0, 1);
        let decay = |done| StatedValue::Phase(Phase::Decay(done));
        assert!(decay(0.40).same(&decay(0.41), &none));
        assert!(!decay(0.40).same(&decay(0.65), &none));
        assert!(!decay(0.01).same(&StatedValue::Phase(Phase::Hold), &none));
    }

    #[test]
    fn people_see_few_digits() {
        let shown = |n, d| StatedValue::Number(ratio(n, d)).shown(4);
        assert_eq!(shown(1, 3), "0.3333");
        assert_eq!(shown(123_456_789, 10), "12,345,679");
        assert_eq!(shown(8320, 1), "8,320");
        assert_eq!(StatedValue::Number(ratio(1, 3)).plain(), "0.3333333333");
    }
}
