//! "Reached the target" is said exactly where the loss is at or below it.

use super::{ClaimKind, FieldSpec};
use crate::evidence::Evidence;
use crate::post::Claim;
use repro_exact::decimal::{Bound, format_significant};
use repro_receipt::source::Error;
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    CONTRADICTED = "target_rule::contradicted", "the loss is on the other side of the target than stated", "correct the loss, the target or the statement";
    STRADDLES = "target_rule::straddles", "the printed loss rounds to both sides of the target", "publish the loss with more digits";
    FIRST_PASSAGE = "target_rule::first-passage", "a stop step is the first evaluation at or below the target, not the step where the loss crossed it", "publish the loss at the evaluation before";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "target_rule",
    summary: "a target is called reached exactly if the loss is at or below it",
    explain: "reached if and only if loss <= target. The loss is the interval of its printed \
         digits (rounding_interval), the target is exact. If the interval lies on both sides the \
         claim is inconclusive.\n\
         How it can mislead: the stop step of such a run is a first passage on the evaluation \
         grid, up to one evaluation later than the crossing, and one noisy evaluation below the \
         target ends the run; a single run says nothing about how often the recipe reaches the \
         target (`target_test`).\n\
         Reference: MLPerf Training rules, run results as first passage of a quality target.",
    fields: &[
        FieldSpec::required("loss", "the loss at the stop"),
        FieldSpec::required("target", "the target, exact"),
        FieldSpec::required("reached", "whether the publication says it was reached"),
        FieldSpec::optional(
            "every",
            "the number of steps between evaluations: names the first-passage window",
        ),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let loss = evidence.quantity(claim.node.required("loss")?)?;
    let target = evidence.quantity(claim.node.required("target")?)?;
    let stated = claim.node.required("reached")?.truth()?;
    let target = target.value();
    let (loss_text, target_text) =
        (format_significant(&loss.value(), 10), format_significant(&target, 10));
    let found = Bound::AtMost.satisfied(&loss.interval, &target);
    let relation = if found == Some(true) { "<=" } else { ">" };
    let recomputed = format!("{loss_text} {relation} {target_text}");
    let mut outcome = match found {
        Some(reached) if reached == stated => Outcome::verified().giving(recomputed),
        Some(_) => Outcome::refuted(
            &CONTRADICTED,
            format!(
                "the loss {loss_text} is {} the target {target_text}",
                if stated { "above" } else { "at or below" }
            ),
        )
        .giving(recomputed),
        None => Outcome::inconclusive(
            &STRADDLES,
            format!(
                "the loss printed as {loss_text} is between {} and {}, the target is {target_text}",
                format_significant(loss.interval.low(), 10),
                format_significant(loss.interval.high(), 10)
            ),
        ),
    };
    if stated && let Some(every) = claim.node.get("every") {
        let every = format_significant(&evidence.quantity(every)?.value(), 10);
        outcome = outcome.noting(&FIRST_PASSAGE, format!("first passage on a grid of {every} steps: the crossing itself may be up to {every} steps earlier"));
    }
    Ok(outcome
        .within("rounding_interval", "loss by its printed digits, target exact")
        .by(Method::Recomputed))
}
