//! Whether an expression gives its value in a unit of its own: `run.tokens_seen / 10^6` is in millions.

use num_rational::BigRational;
use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};
use repro_exact::decimal::{Printed, nearest_f64};

/// Fields that count one by one, whatever a head says.
const COUNTS: &[&str] = &["step", "steps", "tokens", "tokens_seen"];
/// Two factors are the same to so much.
const SAME: f64 = 1e-9;

/// Whether an expression has a unit of its own: it multiplies or divides by a power of ten.
pub(super) fn may_have_one(tree: &Expression) -> bool {
    let mut is_scaled = false;
    tree.each(&mut |part| is_scaled |= number(part).is_some_and(is_scale));
    is_scaled
}

/// Whether a number is a power of ten that turns one unit into another.
fn is_scale(number: f64) -> bool {
    let power = number.abs().log10();
    power.abs() > 1.5 && (power - power.round()).abs() < SAME
}

/// Whether an expression may already give how many of a unit there are, which is worth so many ones.
pub(super) fn may_be_in(tree: &Expression, worth: &BigRational) -> bool {
    if let Some(field) = field(tree) {
        return !COUNTS.contains(&field);
    }
    match factor(tree) {
        Some(factor) if factor != 1.0 => (factor * nearest_f64(worth) - 1.0).abs() < SAME,
        _ => may_have_one(tree) || field(tree).is_some(),
    }
}

/// Whether an expression gives a percentage: a share times 100.
pub(super) fn is_percentage(tree: &Expression) -> bool {
    factor(tree).is_some_and(|factor| (factor - 100.0).abs() < SAME)
        || matches!(&tree.kind, ExpressionKind::Arithmetic(ArithmeticOperator::Multiply, a, b)
            if [a, b].into_iter().any(|side| number(side) == Some(100.0)))
}

/// The name of a field that is given as it stands.
fn field(tree: &Expression) -> Option<&str> {
    match &tree.kind {
        ExpressionKind::Name(name) => Some(name.rsplit('.').next().unwrap_or(name)),
        ExpressionKind::Field(_, name) => Some(name),
        ExpressionKind::At(of, _) => field(of),
        _ => None,
    }
}

/// What the numbers of an expression multiply one other value by; none where it does more than that.
fn factor(tree: &Expression) -> Option<f64> {
    match &tree.kind {
        ExpressionKind::Arithmetic(ArithmeticOperator::Multiply, a, b) => match number(a) {
            Some(number) => Some(number * factor(b)?),
            None => Some(factor(a)? * number(b)?),
        },
        ExpressionKind::Arithmetic(ArithmeticOperator::Divide, a, b) => {
            Some(factor(a)? / number(b)?)
        }
        ExpressionKind::Name(_)
        | ExpressionKind::Field(..)
        | ExpressionKind::At(..)
        | ExpressionKind::Call(..) => Some(1.0),
        _ => None,
    }
}

fn number(tree: &Expression) -> Option<f64> {
    match &tree.kind {
        ExpressionKind::Number(text) => {
            let printed = Printed::parse(text).ok()?;
            Some(printed.as_f64() / nearest_f64(&printed.unit().per_one()))
        }
        ExpressionKind::Negative(of) => Some(-number(of)?),
        ExpressionKind::Arithmetic(ArithmeticOperator::Power, base, power) => {
            Some(number(base)?.powf(number(power)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::may_be_in;
    use num_rational::BigRational;
    use repro_claim::Expression;

    #[test]
    fn a_value_is_in_the_unit_that_its_factor_gives() {
        let is_in = |text: &str, worth: i64| {
            let worth = BigRational::from_integer(worth.into());
            may_be_in(&Expression::parse(text).unwrap(), &worth)
        };
        assert!(is_in("run.tokens_seen / 10^6", 1_000_000));
        assert!(is_in("10^-6 * total(run)", 1_000_000));
        assert!(is_in("total(run) / 1000000", 1_000_000));
        assert!(is_in("run.published.tokens_in_millions", 1_000_000));
        assert!(is_in("a / (b * 10^6)", 1_000_000));
        assert!(!is_in("run.tokens_seen / 10^6", 1_000_000_000));
        assert!(!is_in("run.tokens_seen", 1_000_000));
        assert!(!is_in("total(run)", 1_000_000));
        let percent = BigRational::new(1.into(), 100.into());
        assert!(may_be_in(&Expression::parse("100 * a.share").unwrap(), &percent));
    }
}
