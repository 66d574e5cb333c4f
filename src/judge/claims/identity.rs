//! A printed number follows from other numbers by a named formula.

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, FieldSpec};
use crate::evidence::Evidence;
use crate::post::Claim;
use repro_receipt::source::Error;
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    DIFFERS = "identity::differs", "the claimed number does not follow from its inputs by the formula", "correct the number, or the inputs it is said to come from";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "identity",
    summary: "a number follows from others by a named formula",
    explain: "Recomputes the claimed number by a formula of the registry (`repro list formulas`) from evidence. \
         Printed measured inputs are intervals of half a unit in their last place, counts and declared \
         coefficients are exact; the claim holds if the recomputed interval meets the interval of the \
         claimed print (rounding_interval). Whole numbers must be equal (exact_integer), fields that print a binary float in \
         full may differ by 4 units in the last place (float_4ulp), \"about\" allows 5% unless the claim \
         declares a `tolerance`.\n\
         How it can mislead: the inputs may be wrong together with the result; coarse inputs fit many \
         results, which is reported as inconclusive.\n\
         Reference: statcheck (Nuijten et al. 2016), which recomputes printed statistics in the same way.",
    fields: &[
        FieldSpec::required("formula", "a formula of the registry"),
        FieldSpec::required("inputs", "a term for each input of the formula"),
        FieldSpec::optional("tolerance", "what the publication allows, such as \"2%\""),
        FieldSpec::optional("rounding", "how the publication rounds: nearest, truncated, up"),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let (_, node) = super::claimed(claim)?;
    let claimed = printed(node)?;
    let given = evidence.formula(claim.node)?;
    Ok(judge(&claimed, &given, &Declared::of(claim)?, &DIFFERS).by(Method::Recomputed))
}
