//! One fact is stated alike in two published documents.

use super::tolerance::{Declared, judge};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{Datum, Evidence, EvidenceQuantity};
use crate::post::Claim;
use repro_exact::decimal::{Printed, Unit, nearest_f64};
use repro_receipt::source::Error;
use repro_report::outcome::{Impact, Method, Outcome, Verdict};

repro_receipt::source::codes! {
    DIFFERS = "cross_artifact::differs", "two documents state one fact differently", "find out which is right, and correct the other";
    SINGLE_SOURCE = "cross_artifact::single-source", "the fact is stated in one place only", "publish the run's log, or another artifact that holds the fact";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "cross_artifact",
    summary: "one fact agrees in post, receipt, figure, command, config",
    explain: "Compares the claimed value with the same fact in other documents: the print with \
         more digits must round to the print with fewer (rounding_interval), prints of equal \
         precision and words must be equal, and so must the numbers behind ± where both have one. \
         Two sides typed from the same place prove nothing: the claim is then unchecked, single \
         source.\n\
         How it can mislead: one document may have been copied from the other, mistakes included; \
         the method is therefore `compared`, the weakest.\n\
         Reference: BagIt and in-toto bind files to digests; whether two files state the same \
         fact is left to checks such as this one.",
    fields: &[
        FieldSpec::required("with", "references to the same fact elsewhere"),
        FieldSpec::optional("tolerance", "what counts as equal, such as \"2%\""),
        FieldSpec::optional("rounding", "how the publication rounds: nearest, truncated, up"),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    super::claimed(claim)?;
    if claim.at.is_none() {
        let reason =
            "the claim does not say where it stands, so its evidence may be the same place";
        return Ok(Outcome::unchecked(&SINGLE_SOURCE, reason));
    }
    let mut worst: Option<Outcome> = None;
    for reference in claim.node.required("with")?.items()? {
        let datum = evidence.datum(reference)?;
        if datum.is_printed_at(claim.at) {
            continue;
        }
        let outcome = compare(claim, &datum, evidence.quantity(reference).ok())?;
        if worst.as_ref().is_none_or(|so_far| outcome.verdict < so_far.verdict) {
            worst = Some(outcome);
        }
    }
    Ok(worst.unwrap_or_else(|| {
        Outcome::unchecked(&SINGLE_SOURCE, "single source: no other document states it")
    }))
}

/// Evidence gives shares as fractions; where both sides print a unit, the two units are compared too.
fn in_printed_unit(quantity: EvidenceQuantity, claimed: Unit) -> EvidenceQuantity {
    let printed = Printed::parse(&quantity.text).map_or(Unit::Plain, |printed| printed.unit());
    if claimed == Unit::Plain || printed == Unit::Plain {
        return quantity;
    }
    let per_one = printed.per_one();
    EvidenceQuantity {
        interval: quantity.interval.scaled(&per_one),
        float: quantity.float * nearest_f64(&per_one),
        unit: printed,
        ..quantity
    }
}

fn compare(
    claim: &Claim,
    datum: &Datum,
    quantity: Option<EvidenceQuantity>,
) -> Result<Outcome, Error> {
    let (text, _) = super::claimed(claim)?;
    let other = datum.printed()?;
    let declared = Declared::of(claim)?;
    let outcome = match (Printed::parse(text), Printed::parse(other), quantity) {
        (Ok(claimed), Ok(stated), Some(quantity)) => {
            let quantity = in_printed_unit(quantity, claimed.unit());
            let outcome = judge(&claimed, &quantity, &declared, &DIFFERS);
            let comparable = declared.is_empty() && plain(&claimed, &stated);
            if outcome.verdict == Verdict::Verified && comparable && !same_number(&claimed, &stated)
            {
                // Two touching intervals could hold one value; two prints of one value could not differ.
                Outcome::refuted(&DIFFERS, String::new())
                    .within("rounding_interval", "one value, printed twice")
            } else {
                outcome
            }
        }
        _ if text == other => Outcome::verified().within("exact", "the same words"),
        _ => Outcome::refuted(&DIFFERS, String::new()).within("exact", "the same words"),
    };
    let mut outcome = outcome.giving(other).by(Method::Compared);
    if outcome.code.is_some_and(|code| *code == DIFFERS) {
        let document = datum.evidence_ref.document.as_deref().unwrap_or(&datum.evidence_ref.file);
        let place = datum.evidence_ref.printed_at.as_deref().unwrap_or(&datum.evidence_ref.pointer);
        outcome.reason = format!("{document} has {other} at {place}");
    }
    Ok(outcome)
}

/// Whether two prints state a value each, in one unit, without "about" or a limit.
fn plain(a: &Printed, b: &Printed) -> bool {
    let value = |print: &Printed| !print.approximate() && print.bound().is_none();
    value(a) && value(b) && a.unit() == b.unit()
}

/// Whether two prints are of one number: the finer one rounds to the coarser one. Two prints of equal
/// precision must be equal, although their intervals touch when they are one step apart. Where both
/// have a ±, so must those.
fn same_number(a: &Printed, b: &Printed) -> bool {
    let spreads = a.spread().zip(b.spread());
    if !spreads.is_none_or(|(a, b)| same_number(a, b)) {
        return false;
    }
    let (coarse, fine) = if a.last_place() >= b.last_place() { (a, b) } else { (b, a) };
    if coarse.last_place() == fine.last_place() {
        return coarse.value() == fine.value();
    }
    coarse.interval().contains(fine.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_equal_precision_are_two_numbers() {
        for (a, b, same) in [
            ("0.060865", "0.060866", false),
            ("0.060865", "0.0608650", true),
            ("4.9996B", "4,999,610,368", true),
            ("4.9997B", "4,999,610,368", false),
            ("3.28", "3.275", true),
            ("8320", "8321", false),
        ] {
            let (a, b) = (Printed::parse(a).unwrap(), Printed::parse(b).unwrap());
            assert_eq!(same_number(&a, &b), same, "{a} {b}");
            assert_eq!(same_number(&b, &a), same, "{b} {a}");
        }
    }
}
