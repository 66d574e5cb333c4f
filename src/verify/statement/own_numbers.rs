//! The numbers that a post brings in itself: `moe.loss * 0.91` follows from evidence, and from 0.91.

use std::collections::BTreeSet;

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};

use crate::loss_unit::is_nats_per_bit;

/// Common factors: floating-point operations per weight, bits per byte, percent, seconds per hour.
const USUAL: [u64; 9] = [6, 8, 24, 60, 100, 360, 365, 3600, 86_400];
/// The levels at which tests are made.
const LEVELS: [&str; 3] = ["0.05", "0.01", "0.001"];
/// From here on powers of two are units of memory.
const KILOBYTE: u64 = 1024;

/// The numbers that expressions have themselves and that are no usual ones, in order. A step behind `@`, the place of a
/// number of the quote, a limit that is among the numbers `said` by the quote, and most options of functions are no values.
pub fn of<'e>(expressions: impl IntoIterator<Item = &'e Expression>, said: &[&str]) -> Vec<String> {
    let mut own = OwnNumbers { said, found: BTreeSet::new() };
    expressions.into_iter().for_each(|expression| own.collect(expression, false));
    own.found.into_iter().collect()
}

/// Whether an operation leaves one of its sides as it is: `x * 1`, `x + 0`.
pub fn is_idle(operator: ArithmeticOperator, left: &Expression, right: &Expression) -> bool {
    let neutral = match operator {
        ArithmeticOperator::Add | ArithmeticOperator::Subtract => ["0"],
        _ => ["1"],
    };
    let commutes = matches!(operator, ArithmeticOperator::Add | ArithmeticOperator::Multiply);
    is_number_of(right, &neutral) || commutes && is_number_of(left, &neutral)
}

struct OwnNumbers<'s> {
    said: &'s [&'s str],
    found: BTreeSet<String>,
}

impl OwnNumbers<'_> {
    fn collect(&mut self, part: &Expression, is_factor: bool) {
        match &part.kind {
            ExpressionKind::Number(text) => {
                if !(is_factor && is_usual(text)) && text != "0" {
                    self.found.insert(text.clone());
                }
            }
            ExpressionKind::Arithmetic(operator, left, right) => {
                let scales =
                    !matches!(operator, ArithmeticOperator::Add | ArithmeticOperator::Subtract);
                let differs = *operator == ArithmeticOperator::Subtract;
                for side in [left, right] {
                    self.collect(side, scales || differs && is_number_of(side, &["1"]));
                }
            }
            ExpressionKind::Call(name, arguments) => {
                // An option that decides what holds is a value as any other.
                let values = arguments.iter().filter(|argument| match argument.name.as_deref() {
                    Some(option) => ["within", "expected"].contains(&option),
                    None => true,
                });
                // What stands behind the first argument of these says which part is meant, or how many runs there were.
                let taken = match name.as_str() {
                    // What is proved for all values needs no evidence.
                    "quoted" | "replayed" | "holds" => 0,
                    "part" => 1,
                    "printed_runs" => 2,
                    _ => usize::MAX,
                };
                // Bits are nats divided by ln(2).
                let is_base =
                    |value: &Expression| name == "ln" && is_number_of(value, &["2", "10"]);
                let values = values.take(taken).map(|argument| &argument.value);
                values.filter(|value| !is_base(value)).for_each(|value| self.collect(value, false));
            }
            ExpressionKind::Relation(_, rest) => {
                // A level of tests is a usual limit; any other limit, and what something is equal to, should are in the words.
                let is_equality = rest.iter().any(|(sign, _)| *sign == RelationOperator::Equal);
                for side in part.parts() {
                    let is_limit = !is_equality
                        && (is_number_of(side, &LEVELS) || is_number_of(side, self.said));
                    if !is_limit && !is_number_of(side, &["1"]) {
                        self.collect(side, false);
                    }
                }
            }
            ExpressionKind::Negative(of) | ExpressionKind::Not(of) => self.collect(of, is_factor),
            ExpressionKind::At(of, _) => self.collect(of, false),
            _ => part.parts().into_iter().for_each(|inner| self.collect(inner, false)),
        }
    }
}

/// Whether it is one of these numbers, such as the 1 of `1 - x` and `n - 1`.
fn is_number_of(part: &Expression, numbers: &[&str]) -> bool {
    part.number().is_some_and(|number| numbers.contains(&number))
}

fn is_usual(text: &str) -> bool {
    let Ok(number) = text.replace(['_', ','], "").parse::<f64>() else { return false };
    if number.fract() != 0.0 {
        return is_nats_per_bit(number);
    }
    let whole = number.abs() as u64;
    let is_power_of_ten = whole.to_string().trim_end_matches('0') == "1";
    is_power_of_ten || USUAL.contains(&whole) || whole >= KILOBYTE && whole.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::of;
    use repro_claim::Expression;

    #[test]
    fn only_what_is_not_usual_is_told() {
        let found = |text: &str| of([&Expression::parse(text).unwrap()], &["3.28"]);
        assert_eq!(found("moe.loss * 0.910908"), ["0.910908"]);
        assert_eq!(found("(a - 0.01) * 91 / 100"), ["0.01", "91"]);
        assert_eq!(found("abs(1.23) * run.epochs"), ["1.23"]);
        assert_eq!(found("mean(a.loss) / 2"), ["2"]);
        assert_eq!(found("how_many(a < b) + 1"), ["1"]);
        assert_eq!(found("equivalent(a, b, 1)"), ["1"]);
        assert_eq!(found("count(a) = 6"), ["6"]);
        assert_eq!(found("run.loss < 1e9"), ["1e9"]);
        assert_eq!(found("reached(run.loss, 1e9)"), ["1e9"]);
        assert_eq!(found("nearly_fixed(a.steps, within = 99)"), ["99"]);
        for usual in [
            "a * 100",
            "a / 1e6",
            "a / (b * 0.6931)",
            "6 * n * d",
            "x < 0.05",
            "x < 3.28",
            "a * 4096",
        ] {
            assert!(found(usual).is_empty(), "{usual}");
        }
    }
}
