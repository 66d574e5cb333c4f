//! The numbers that a post brings in itself by an operation: `moe.loss * 0.91` follows from evidence, and from 0.91.

use std::collections::BTreeSet;

use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;

/// What everybody multiplies by: percent, bits of a byte, seconds of an hour.
const USUAL: [u64; 7] = [24, 60, 100, 360, 365, 3600, 86_400];
/// Smaller whole numbers count things: layers, matrices, sides of a test.
const FEW: u64 = 16;
/// The factors between nats and bits, to three digits.
pub const NATS_AND_BITS: [(f64, f64); 2] = [(0.692, 0.694), (1.441, 1.444)];

/// The numbers of some expressions that an operation takes in and that are no usual ones, in order.
pub fn of<'e>(expressions: impl IntoIterator<Item = &'e Expression>) -> Vec<String> {
    let mut found = BTreeSet::new();
    for expression in expressions {
        expression.each(&mut |part| {
            let ExpressionKind::Arithmetic(_, left, right) = &part.kind else { return };
            for side in [left, right] {
                if let ExpressionKind::Number(text) = &side.kind
                    && !is_usual(text)
                {
                    found.insert(text.clone());
                }
            }
        });
    }
    found.into_iter().collect()
}

fn is_usual(text: &str) -> bool {
    let Ok(number) = text.replace(['_', ','], "").parse::<f64>() else { return false };
    if number.fract() != 0.0 {
        return NATS_AND_BITS.iter().any(|(low, high)| (*low..*high).contains(&number));
    }
    let whole = number.abs() as u64;
    let is_power_of_ten = whole.to_string().trim_end_matches('0') == "1";
    whole <= FEW || whole.is_power_of_two() || is_power_of_ten || USUAL.contains(&whole)
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
        for usual in ["a * 100", "a / 1e6", "a / (b * 0.6931)", "6 * n * d", "x < 0.05", "a * 4096"]
        {
            assert!(found(usual).is_empty(), "{usual}");
        }
    }
}
