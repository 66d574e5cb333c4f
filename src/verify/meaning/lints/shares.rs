//! Percentages: of which side they are, and whether they are shares, changes or points.

use num_traits::Signed;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};
use repro_core::decimal::Unit;

use super::direction::unscaled;
use super::{LintedClaim, first_words};
use crate::lexicon::lexicon;

/// The kind of percentage that an expression gives.
enum ShareKind {
    /// By how much the first side is above the second, as a part of the second.
    Above,
    /// By how much the first side is below the second, as a part of the second.
    Below,
    /// The one side as a part of the other.
    Quotient,
}

/// A percentage with another base in its words than in its expression: "30% fewer" over `percent_above` or over a
/// quotient, percentage points over a change in percent.
pub(super) fn base(claim: &LintedClaim<'_>) -> Option<String> {
    let printed = claim.number?.number()?;
    let ([tree], [given]) = (claim.trees, claim.given) else { return None };
    // The sign of a change may turn its direction around.
    if given.point().is_negative() {
        return None;
    }
    let plain = claim.scope.plain(tree);
    let kind = match &unscaled(&plain).kind {
        ExpressionKind::Call(name, _) if name == "percent_above" => ShareKind::Above,
        ExpressionKind::Call(name, _) if name == "percent_below" => ShareKind::Below,
        ExpressionKind::Arithmetic(ArithmeticOperator::Divide, of, by)
            if claim.scope.noun_of(of).is_some() && claim.scope.noun_of(by).is_some() =>
        {
            ShareKind::Quotient
        }
        _ => return None,
    };
    let near = first_words(claim.behind(), 2);
    let said = |list: &str| lexicon().find(list, &near).map(|(word, _)| word);
    let message = match (printed.unit(), kind) {
        (Unit::Points, ShareKind::Above | ShareKind::Below) => {
            "the text states percentage points, but the value is a change in percent".to_owned()
        }
        (Unit::Percent, ShareKind::Above) => {
            let word = said("base.less")?;
            format!(
                "the text contains \"{word}\", but the value is how far the other side is above"
            )
        }
        (Unit::Percent, ShareKind::Below) => {
            let word = said("base.more")?;
            format!(
                "the text contains \"{word}\", but the value is how far the other side is below"
            )
        }
        (Unit::Percent, ShareKind::Quotient) => {
            let word = said("base.less").or_else(|| said("base.more"))?;
            format!("the text contains \"{word}\", but the value is a fraction of the other side")
        }
        _ => return None,
    };
    Some(message)
}
