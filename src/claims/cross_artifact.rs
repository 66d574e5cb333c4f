//! One fact is stated alike in two published documents.

use super::tolerance::{Declared, judge};
use super::{ClaimKind, Field};
use crate::decimal::{Printed, Unit, nearest_f64};
use crate::evidence::{Datum, Evidence, Quantity};
use crate::outcome::{Method, Outcome, Weight};
use crate::post::Claim;
use crate::source::{Code, Refusal};

crate::source::codes! {
    DIFFERS = "cross_artifact::differs", "two documents state one fact differently", "find out which is right, and correct the other";
    SINGLE_SOURCE = "cross_artifact::single-source", "the fact is stated in one place only", "publish the run's log, or another artifact that holds the fact";
}

/// See [`ClaimKind::explain`].
pub struct Kind;

impl ClaimKind for Kind {
    fn id(&self) -> &'static str {
        "cross_artifact"
    }

    fn summary(&self) -> &'static str {
        "one fact agrees in post, receipt, figure, command, config"
    }

    fn explain(&self) -> &'static str {
        "Holds the claimed value against the same fact in other documents: numbers by their printed digits \
         (T0), whole numbers and words exactly. Two sides typed from the same place prove nothing: the \
         claim is then unchecked, single source.\n\
         How it can mislead: one document may have been copied from the other, mistakes included; the \
         method is therefore `compared`, the weakest.\n\
         Reference: BagIt and in-toto bind files to digests; that two files state one fact is left to \
         checks such as this one."
    }

    fn fields(&self) -> &'static [Field] {
        const FIELDS: &[Field] = &[
            Field::required("with", "references to the same fact elsewhere"),
            Field::optional("tolerance", "what counts as equal, such as \"2%\""),
            Field::optional("rounding", "how the publication rounds: nearest, truncated, up"),
        ];
        FIELDS
    }

    fn codes(&self) -> &'static [&'static Code] {
        CODES
    }

    fn weight(&self) -> Weight {
        Weight::Digit
    }

    fn check(&self, claim: &Claim, evidence: &Evidence) -> Result<Outcome, Refusal> {
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
}

/// Evidence gives shares as fractions; where both sides print a unit, the two units are compared too.
fn in_printed_unit(quantity: Quantity, claimed: Unit) -> Quantity {
    let printed = Printed::parse(&quantity.text).map_or(Unit::Plain, |printed| printed.unit());
    if claimed == Unit::Plain || printed == Unit::Plain {
        return quantity;
    }
    let per_one = printed.per_one();
    Quantity {
        interval: quantity.interval.scaled(&per_one),
        float: quantity.float * nearest_f64(&per_one),
        unit: printed,
        ..quantity
    }
}

fn compare(claim: &Claim, datum: &Datum, quantity: Option<Quantity>) -> Result<Outcome, Refusal> {
    let (text, _) = super::claimed(claim)?;
    let other = datum.printed()?;
    let outcome = match (Printed::parse(text), quantity) {
        (Ok(claimed), Some(quantity)) => {
            let quantity = in_printed_unit(quantity, claimed.unit());
            judge(&claimed, &quantity, &Declared::of(claim)?, &DIFFERS)
        }
        _ if text == other => Outcome::verified().within("exact", "the same words"),
        _ => Outcome::refuted(&DIFFERS, String::new()).within("exact", "the same words"),
    };
    let mut outcome = outcome.giving(other).by(Method::Compared);
    if outcome.code.is_some_and(|code| *code == DIFFERS) {
        let document = datum.exhibit.document.as_deref().unwrap_or(&datum.exhibit.file);
        let place = datum.exhibit.printed_at.as_deref().unwrap_or(&datum.exhibit.pointer);
        outcome.reason = format!("{document} has {other} at {place}");
    }
    Ok(outcome)
}
