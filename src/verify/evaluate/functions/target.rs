//! Whether a loss meets a target.

use repro_claim::syntax::ExpressionKind;
use repro_core::source::{Error, codes};
use repro_report::outcome::Outcome;

use crate::evaluate::{Call, noise};
use crate::value::Evaluated;

codes! {
    NOT_REACHED = "reached::above-target", "the loss is above the target that is said to be reached", "correct the text";
    UNDECIDED_TARGET = "reached::too-coarse", "the loss is printed too coarsely to decide", "publish it with more digits";
}

pub fn reached<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (loss, target) = (call.number(0)?, call.number(1)?);
    // A target that was declared has no noise, wherever it was typed from.
    let is_declared = matches!(
        &call.argument(1)?.kind,
        ExpressionKind::Call(name, _) if name == "declared"
    );
    let are_measured = !loss.is_without_noise() && !target.is_without_noise() && !is_declared;
    let outcome = if loss.interval.high() <= target.interval.low() && are_measured {
        // Two measured numbers are in an order, which has its noise.
        let reason = "both are measured: their order has noise; state it as `a <= b`";
        Outcome::inconclusive(&noise::ONE_RUN, reason)
    } else if loss.interval.high() <= target.interval.low() {
        Outcome::verified()
    } else if loss.interval.low() > target.interval.high() {
        let reason = format!("{} is above {}", loss.derivation, target.derivation);
        Outcome::refuted(&NOT_REACHED, reason)
    } else {
        let reason = format!("{} may lie on either side of {}", loss.derivation, target.derivation);
        Outcome::inconclusive(&UNDECIDED_TARGET, reason)
    };
    let shown = format!("{} against {}", loss.derivation, target.derivation);
    let rule = if are_measured { noise::ORDER } else { "rounding_interval" };
    let outcome = outcome.giving(shown).within(rule, "at or below");
    let outcome = outcome.measuring([loss, target].map(|number| number.measured()));
    Ok(Evaluated::decided(outcome))
}
