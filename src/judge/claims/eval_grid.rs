//! A stop step lies on the evaluation grid or is the last step.

use super::tolerance::printed_steps;
use super::{ClaimKind, FieldSpec};
use crate::evidence::{Evidence, NOT_A_NUMBER, whole};
use crate::post::Claim;
use num_bigint::BigInt;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    OFF_GRID = "eval_grid::off-grid", "the step is neither on the evaluation grid nor the last step", "check the step and the interval between evaluations";
    AFTER_END = "eval_grid::after-the-end", "the step lies after the last step of the run", "check the step and the run's number of steps";
    NO_LAST_STEP = "eval_grid::no-last-step", "the step is off the grid and the last step of the run is not known", "publish the run's number of steps";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "eval_grid",
    summary: "a step lies on the evaluation grid or is the last step",
    explain: "A run that evaluates every `every` steps, and at its end, can only report steps that are multiples \
         of `every` or the last step, and none after it. Exact whole numbers (exact_integer).\n\
         How it can mislead: a run may evaluate off the grid for reasons of its own (a resumed run, a \
         grid that begins elsewhere); the published configuration then does not describe it.\n\
         Reference: none needed; it is divisibility.",
    fields: &[
        FieldSpec::required("every", "the number of steps between evaluations"),
        FieldSpec::optional("last", "the last step of the run"),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let (_, node) = super::claimed(claim)?;
    let step = printed_steps(node)?;
    let count = |field: Node| -> Result<BigInt, Error> {
        whole(&evidence.quantity(field)?.interval).ok_or_else(|| not_whole(field))
    };
    let every_node = claim.node.required("every")?;
    let every = count(every_node)?;
    if every <= BigInt::ZERO {
        return Err(NOT_A_NUMBER.at(
            every_node.place(),
            "a positive number of steps",
            format!("`{every}`"),
        ));
    }
    let last = claim.node.get("last").map(count).transpose()?;
    let remainder = &step % &every;
    let outcome = if let Some(last) = last.as_ref().filter(|last| step > **last) {
        Outcome::refuted(&AFTER_END, format!("{step} is after the last step, {last}"))
    } else if remainder == BigInt::ZERO {
        Outcome::verified().giving(format!("{} x {every}", &step / &every))
    } else if last.as_ref() == Some(&step) {
        Outcome::verified().giving(format!("the last step, {step}"))
    } else if let Some(last) = last {
        let reason = format!(
            "{step} is {remainder} past a multiple of {every}, and the last step is {last}"
        );
        Outcome::refuted(&OFF_GRID, reason)
    } else {
        Outcome::inconclusive(
            &NO_LAST_STEP,
            format!(
                "{step} is {remainder} past a multiple of {every}; the last step is not stated"
            ),
        )
    };
    Ok(outcome.within("exact_integer", "exact").by(Method::Recomputed))
}

fn not_whole(node: Node) -> Error {
    NOT_A_NUMBER.at(node.place(), "a whole number of steps", "another number")
}
