//! What words make of a percentage, against how it is computed: below, above, a change at all.

use std::ops::Range;

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};

use super::beside::Beside;
use super::{Mismatch, OTHER_CHANGE, Words};

/// Words for more of something. "More" alone may stand before any word: "0.9% more accurate".
const UP: &[&str] = &[
    "above",
    "higher",
    "greater",
    "larger",
    "bigger",
    "increase",
    "increases",
    "increased",
    "rise",
    "rises",
    "rose",
    "grows",
    "grew",
    "longer",
    "heavier",
    "exceeds",
];
/// Words for less of it.
const DOWN: &[&str] = &[
    "below",
    "lower",
    "less",
    "fewer",
    "smaller",
    "decrease",
    "decreases",
    "decreased",
    "reduction",
    "drop",
    "drops",
    "dropped",
    "falls",
    "fell",
    "shorter",
    "lighter",
];

/// Which way a change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Whether the words beside a percentage say something else than its expression computes.
pub fn other(words: Words, expression: &Expression) -> Mismatch {
    let (start, end) = words.number?;
    let number = words.quote.get(start..end)?.to_lowercase();
    let computed = match &expression.kind {
        ExpressionKind::Call(name, _) if name == "percent_below" => Some(Direction::Down),
        ExpressionKind::Call(name, _) if name == "percent_above" => Some(Direction::Up),
        _ => None,
    };
    if number.contains("point") {
        computed?;
        let reason = "percentage points are a difference of two percentages, and the expression gives a percentage of a value";
        return Some((&OTHER_CHANGE, reason.to_owned()));
    }
    if !number.contains('%') && !number.contains("percent") && !number.contains("per cent") {
        return None;
    }
    // "A reduction of -0.9%" says it by its sign too.
    if number.starts_with(['-', '−', '+', '–']) {
        return None;
    }
    let said = direction(words.quote, &(start..end))?;
    let reason = match computed {
        Some(computed) if computed == said => return None,
        Some(Direction::Down) => {
            "the words say by how much it lies above, and the expression by how much below"
        }
        Some(Direction::Up) => {
            "the words say by how much it lies below, and the expression by how much above"
        }
        None if is_ratio(expression) => "the words tell a change, and the expression gives a ratio",
        None => return None,
    };
    Some((&OTHER_CHANGE, reason.to_owned()))
}

/// Which way the words beside a number go; none where they go both ways or none.
fn direction(quote: &str, number: &Range<usize>) -> Option<Direction> {
    let beside = Beside::of(quote, number)?;
    let has = |list: &[&str]| beside.all().any(|word| list.contains(&word));
    match (has(UP), has(DOWN)) {
        (true, false) => Some(Direction::Up),
        (false, true) => Some(Direction::Down),
        _ => None,
    }
}

/// Whether an expression is one value over another, and no difference of the two.
fn is_ratio(expression: &Expression) -> bool {
    let is_plain = |side: &Expression| {
        let mut has_difference = false;
        side.each(&mut |part| {
            let is_sum = matches!(
                part.kind,
                ExpressionKind::Arithmetic(
                    ArithmeticOperator::Subtract | ArithmeticOperator::Add,
                    ..
                )
            );
            has_difference |= is_sum;
        });
        let is_named =
            |name: &str| matches!(name, "mean" | "sum" | "min" | "max" | "total" | "active");
        match &side.kind {
            ExpressionKind::Field(..) | ExpressionKind::At(..) => true,
            ExpressionKind::Call(name, _) => is_named(name) && !has_difference,
            _ => false,
        }
    };
    match &expression.kind {
        ExpressionKind::Arithmetic(ArithmeticOperator::Divide, a, b) => is_plain(a) && is_plain(b),
        ExpressionKind::Arithmetic(ArithmeticOperator::Multiply, a, b) => {
            let is_number = |part: &Expression| matches!(part.kind, ExpressionKind::Number(_));
            is_number(a) && is_ratio(b) || is_number(b) && is_ratio(a)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::other;
    use crate::statement::about::Words;
    use repro_claim::Expression;

    fn differs(quote: &str, number: &str, expression: &str) -> bool {
        let at = quote.find(number).unwrap();
        let number = Some((at, at + number.len()));
        let words = Words { quote, place: "", head: None, before: "", behind: "", number };
        other(words, &Expression::parse(expression).unwrap()).is_some()
    }

    #[test]
    fn the_direction_is_that_of_the_function() {
        let below = "percent_below(mean(moe.loss), mean(dense.loss))";
        assert!(differs("is 0.9% above dense", "0.9%", below));
        assert!(differs("rises by 0.9%", "0.9%", below));
        assert!(!differs("is 0.9% below dense", "0.9%", below));
        assert!(!differs("a reduction of 0.9%", "0.9%", below));
        assert!(!differs("0.9% better, and above all cheaper", "0.9%", below));
        assert!(!differs("0.9% more accurate", "0.9%", below));
        assert!(differs("0.9 percentage points lower", "0.9 percentage points", below));
        assert!(!differs("a reduction of -0.9%", "-0.9%", "percent_above(a.loss, b.loss)"));
        assert!(differs("is 0.9% lower", "0.9%", "percent_above(a.loss, b.loss)"));
    }

    #[test]
    fn a_ratio_is_no_change() {
        assert!(differs("is 160% larger", "160%", "total(moe) / active(dense)"));
        assert!(!differs("is 160% of it", "160%", "total(moe) / active(dense)"));
        assert!(!differs("is 60% larger", "60%", "total(moe) / active(dense) - 1"));
        assert!(!differs("is 60% larger", "60%", "(total(moe) - active(dense)) / active(dense)"));
        assert!(!differs("is 60% larger", "60%", "growth(moe, dense)"));
    }
}
