//! A rounded field follows from the exact field beside it.

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, FieldSpec};
use crate::evidence::Evidence;
use crate::post::Claim;
use repro_receipt::source::Error;
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    DIFFERS = "rounding_pair::differs", "the rounded field is not the exact field, rounded", "round the exact field again";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "rounding_pair",
    summary: "a rounded field follows from its exact field",
    explain: "Compares a rounded value with the exact value it is said to come from, under \
         half-up and half-even rounding to the last printed digit (rounding_interval). Truncation \
         counts only if the claim declares `rounding = \"truncated\"`; otherwise a mismatch that \
         truncation would explain is refuted with that remark.\n\
         How it can mislead: both fields may come from the same wrong computation.\n\
         Reference: IEEE 754-2019, section 4.3, on rounding to nearest.",
    fields: &[
        FieldSpec::required("exact", "the term that is rounded"),
        FieldSpec::optional("rounding", "how the publication rounds: nearest, truncated, up"),
        FieldSpec::optional("tolerance", "what the publication allows, such as \"2%\""),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let (_, node) = super::claimed(claim)?;
    let claimed = printed(node)?;
    let exact = evidence.quantity(claim.node.required("exact")?)?;
    Ok(judge(&claimed, &exact, &Declared::of(claim)?, &DIFFERS).by(Method::Recomputed))
}
