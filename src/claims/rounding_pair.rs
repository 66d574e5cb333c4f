//! A rounded field follows from the exact field beside it.

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, Field};
use crate::evidence::Evidence;
use crate::outcome::{Method, Outcome, Weight};
use crate::post::Claim;
use crate::source::{Code, Refusal};

crate::source::codes! {
    DIFFERS = "rounding_pair::differs", "the rounded field is not the exact field, rounded", "round the exact field again";
}

/// See [`ClaimKind::explain`].
pub struct Kind;

impl ClaimKind for Kind {
    fn id(&self) -> &'static str {
        "rounding_pair"
    }

    fn summary(&self) -> &'static str {
        "a rounded field follows from its exact field"
    }

    fn explain(&self) -> &'static str {
        "Holds a rounded value against the exact value it is said to come from, under half-up and half-even \
         rounding to the last printed digit (T0). Cutting digits off counts only where the claim declares \
         `rounding = \"truncated\"`; otherwise a mismatch that truncation would explain is refuted with \
         that remark.\n\
         How it can mislead: both fields may come from the same wrong computation.\n\
         Reference: IEEE 754-2019, section 4.3, on rounding to nearest."
    }

    fn fields(&self) -> &'static [Field] {
        const FIELDS: &[Field] = &[
            Field::required("exact", "the term that is rounded"),
            Field::optional("rounding", "how the publication rounds: nearest, truncated, up"),
            Field::optional("tolerance", "what the publication allows, such as \"2%\""),
        ];
        FIELDS
    }

    fn codes(&self) -> &'static [&'static Code] {
        CODES
    }

    fn weight(&self) -> Weight {
        Weight::Digit
    }

    fn judges_claimed(&self) -> bool {
        true
    }

    fn check(&self, claim: &Claim, evidence: &Evidence) -> Result<Outcome, Refusal> {
        let (_, node) = super::claimed(claim)?;
        let claimed = printed(node)?;
        let exact = evidence.quantity(claim.node.required("exact")?)?;
        Ok(judge(&claimed, &exact, &Declared::of(claim)?, &DIFFERS).by(Method::Recomputed))
    }
}
