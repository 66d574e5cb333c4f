//! Whether an expression gives its value in a unit of its own: `run.tokens_seen / 10^6` is in millions.

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};
use repro_core::decimal::{Printed, nearest_f64};

/// Fields that count one by one, whatever a head says.
const COUNTS: &[&str] = &["step", "steps", "tokens", "tokens_seen"];
/// A power of ten is one to so much.
const SAME: f64 = 1e-9;

/// Whether an expression has a unit of its own: it multiplies or divides by a power of ten.
pub(super) fn may_have_one(tree: &Expression) -> bool {
    tree.all().any(|part| number(part).is_some_and(is_scale))
}

/// Whether a number is a power of ten that turns one unit into another.
fn is_scale(number: f64) -> bool {
    let power = number.abs().log10();
    power.abs() > 1.5 && (power - power.round()).abs() < SAME
}

/// Whether an expression may already give how many of the unit of its head there are: a field that counts in ones does
/// not, and what multiplies by no power of ten does not.
pub(super) fn may_be_in_a_unit(tree: &Expression) -> bool {
    field(tree).map_or_else(|| may_have_one(tree), |field| !COUNTS.contains(&field))
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
    use super::may_be_in_a_unit;
    use repro_claim::Expression;

    #[test]
    fn a_value_may_be_in_the_unit_of_its_head_where_it_is_scaled_or_counts_no_ones() {
        let may_be = |text: &str| may_be_in_a_unit(&Expression::parse(text).unwrap());
        assert!(may_be("run.tokens_seen / 10^6"));
        assert!(may_be("10^-6 * total(run)"));
        assert!(may_be("run.published.tokens_in_millions"));
        assert!(may_be("a / (b * 10^6)"));
        assert!(may_be("100 * a.share"));
        assert!(!may_be("run.tokens_seen"));
        assert!(!may_be("total(run)"));
    }
}
