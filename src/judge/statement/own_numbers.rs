//! The numbers that a post brings in itself: `moe.loss * 0.91` follows from evidence, and from 0.91.

use std::collections::BTreeSet;

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};

use crate::loss_unit::is_nats_per_bit;

/// What everybody multiplies by: floating-point operations of a weight, bits of a byte, percent, seconds of an hour.
const USUAL: [u64; 9] = [6, 8, 24, 60, 100, 360, 365, 3600, 86_400];
/// From here on powers of two are units of memory.
const KILOBYTE: u64 = 1024;

/// The numbers that expressions have themselves and that are no usual ones, in order. A step behind `@`, the place of a
/// number of the quote and what an option of a function sets are no values.
pub fn of<'e>(expressions: impl IntoIterator<Item = &'e Expression>) -> Vec<String> {
    let mut found = BTreeSet::new();
    for expression in expressions {
        collect(expression, false, &mut found);
    }
    found.into_iter().collect()
}

fn collect(part: &Expression, is_factor: bool, found: &mut BTreeSet<String>) {
    match &part.kind {
        ExpressionKind::Number(text) => {
            if !(is_factor && is_usual(text)) && text != "0" {
                found.insert(text.clone());
            }
        }
        ExpressionKind::Arithmetic(operator, left, right) => {
            let scales =
                !matches!(operator, ArithmeticOperator::Add | ArithmeticOperator::Subtract);
            let differs = *operator == ArithmeticOperator::Subtract;
            for side in [left, right] {
                collect(side, scales || differs && is_one(side), found);
            }
        }
        ExpressionKind::Call(name, arguments) => {
            let values = arguments.iter().filter(|argument| argument.name.is_none());
            // What stands behind the first argument of these says which part is meant, or how many runs there were.
            let taken = match name.as_str() {
                // What is proved for all values needs no evidence.
                "quoted" | "replayed" | "holds" => 0,
                "part" => 1,
                "printed_runs" => 2,
                _ => usize::MAX,
            };
            // Bits are nats divided by ln(2).
            let is_base = |value: &Expression| {
                name == "ln"
                    && matches!(&value.kind, ExpressionKind::Number(base) if base == "2" || base == "10")
            };
            let values = values.take(taken).map(|argument| &argument.value);
            values.filter(|value| !is_base(value)).for_each(|value| collect(value, false, found));
        }
        ExpressionKind::Relation(_, rest) => {
            // A limit is said by the relation itself; what something is equal to should stand in the words.
            let is_equality = rest.iter().any(|(sign, _)| *sign == RelationOperator::Equal);
            let sides = part.parts().into_iter();
            let told = sides.filter(|side| is_equality && !is_one(side) || !is_number(side));
            told.for_each(|side| collect(side, false, found));
        }
        ExpressionKind::Negative(of) | ExpressionKind::Not(of) => collect(of, is_factor, found),
        ExpressionKind::At(of, _) => collect(of, false, found),
        _ => part.parts().into_iter().for_each(|inner| collect(inner, false, found)),
    }
}

fn is_number(part: &Expression) -> bool {
    matches!(part.kind, ExpressionKind::Number(_))
}

/// Whether it is the 1 of `1 - x` and `n - 1`.
fn is_one(part: &Expression) -> bool {
    matches!(&part.kind, ExpressionKind::Number(text) if text == "1")
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
        let found = |text: &str| of([&Expression::parse(text).unwrap()]);
        assert_eq!(found("moe.loss * 0.910908"), ["0.910908"]);
        assert_eq!(found("(a - 0.01) * 91 / 100"), ["0.01", "91"]);
        assert_eq!(found("abs(1.23) * run.epochs"), ["1.23"]);
        assert_eq!(found("mean(a.loss) / 2"), ["2"]);
        assert_eq!(found("how_many(a < b) + 1"), ["1"]);
        assert_eq!(found("equivalent(a, b, 1)"), ["1"]);
        assert_eq!(found("count(a) = 6"), ["6"]);
        for usual in ["a * 100", "a / 1e6", "a / (b * 0.6931)", "6 * n * d", "x < 0.05", "a * 4096"]
        {
            assert!(found(usual).is_empty(), "{usual}");
        }
    }
}
