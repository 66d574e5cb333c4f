//! A printed parameter count is that of the model's config.

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{Evidence, EvidenceQuantity, convention_of, parameters_of};
use crate::post::Claim;
use repro_params::Convention;
use repro_receipt::source::Error;
use repro_report::outcome::{Impact, Method, Outcome, Verdict};

repro_receipt::source::codes! {
    DIFFERS = "param_count::differs", "the claimed parameter count is not that of the config", "correct the count, or name the counting convention";
    INFERRED = "param_count::inferred-convention", "the counting convention is not declared; it was found by search", "declare the convention";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "param_count",
    summary: "a parameter count is that of the model's config",
    explain: "Recomputes P_total (all stored parameters) or P_active (parameters active for one \
         token) from the config, in two ways that must agree: a closed form, and the sum over the \
         list of checkpoint tensors. By default tied weights count once, embeddings and router \
         count, and P_active leaves out the routed experts that a token does not use. If the \
         claim declares no `convention` and the default does not fit, the others are tried and a \
         fit is reported as inferred; if several fit, all are named; if none, refuted.\n\
         How it can mislead: \"active\" has several meanings; a search among few conventions can \
         hit by chance if the count is printed with few digits.\n\
         Reference: `repro params`, which prints the breakdown.",
    fields: &[
        FieldSpec::required("model", "the config: `bundle` and `file`"),
        FieldSpec::required("parameters", "total or active"),
        FieldSpec::optional("convention", "the counting convention that the publication declares"),
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
    let objects = evidence.objects(claim.node.required("model")?)?;
    let object = parameters_of(claim.node)?;
    let declared = Declared::of(claim)?;
    let under = |convention: Convention| {
        let given = EvidenceQuantity::count(objects.count(object, convention));
        judge(&claimed, &given, &declared, &DIFFERS).by(Method::Recomputed)
    };
    let convention = convention_of(claim.node)?;
    let outcome = under(convention);
    if outcome.verdict != Verdict::Refuted || claim.node.get("convention").is_some() {
        return Ok(outcome);
    }
    let fitting: Vec<_> = Convention::ALL
        .into_iter()
        .map(|c| (c, under(c)))
        .filter(|(_, o)| o.verdict == Verdict::Verified)
        .collect();
    let names: Vec<_> = fitting.iter().map(|(c, _)| format!("`{}`", c.name())).collect();
    Ok(match fitting.into_iter().next() {
        None => outcome,
        Some((_, fit)) => {
            let message = format!(
                "convention inferred, {} of {} tried: {}",
                names.len(),
                Convention::ALL.len(),
                names.join(", ")
            );
            fit.noting(&INFERRED, message)
        }
    })
}
