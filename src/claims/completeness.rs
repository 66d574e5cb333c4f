//! Every row of a table has its receipt, and stated numbers of things are their numbers.

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, Field};
use crate::evidence::{Evidence, Quantity};
use crate::outcome::{Method, Outcome, Verdict, Weight};
use crate::post::Claim;
use crate::source::{Code, Node, Refusal};

crate::source::codes! {
    NO_RECEIPT = "completeness::no-receipt", "rows of a table have no receipt", "publish a receipt for each row";
    OTHER_NUMBER = "completeness::other-number", "the stated number is not the number there is", "correct the number, or publish what is missing";
    REPEATED = "completeness::repeated", "things that should be distinct are the same", "run and publish distinct ones";
}

/// See [`ClaimKind::explain`].
pub struct Kind;

impl ClaimKind for Kind {
    fn id(&self) -> &'static str {
        "completeness"
    }

    fn summary(&self) -> &'static str {
        "one receipt per row; stated numbers of rows, tasks, seeds are true"
    }

    fn explain(&self) -> &'static str {
        "Each row must name a receipt (a log, a config, a bundle) that the evidence holds; a claimed number \
         must be the number of rows (T-int); values listed as `distinct` must differ from each other.\n\
         How it can mislead: it cannot see runs that were made and not mentioned.\n\
         Reference: the machine learning reproducibility checklist (Pineau et al. 2021)."
    }

    fn fields(&self) -> &'static [Field] {
        const FIELDS: &[Field] = &[
            Field::optional(
                "rows",
                "tables of `label` and `receipt`; a row without `receipt` has none",
            ),
            Field::optional("distinct", "references to values that must all differ"),
        ];
        FIELDS
    }

    fn codes(&self) -> &'static [&'static Code] {
        CODES
    }

    fn weight(&self) -> Weight {
        Weight::Decision
    }

    fn check(&self, claim: &Claim, evidence: &Evidence) -> Result<Outcome, Refusal> {
        let items = |field: &str| -> Result<Vec<Node>, Refusal> {
            Ok(claim
                .node
                .get(field)
                .map(Node::items)
                .transpose()?
                .map(Iterator::collect)
                .unwrap_or_default())
        };
        let (rows, distinct) = (items("rows")?, items("distinct")?);
        if rows.is_empty() && distinct.is_empty() {
            let expected = "at least one of `rows` and `distinct`";
            return Err(crate::source::MISSING_FIELD.at(claim.place(), expected, "neither"));
        }
        let mut without = Vec::new();
        for row in &rows {
            row.only(&["label", "receipt"])?;
            let label = row.required("label")?.text()?;
            match row.get("receipt") {
                Some(receipt) => drop(evidence.datum(receipt)?),
                None => without.push(label),
            }
        }
        let mut seen = Vec::new();
        let mut repeated = Vec::new();
        for reference in &distinct {
            let value = evidence.datum(*reference)?.printed()?;
            if seen.contains(&value) { repeated.push(value) } else { seen.push(value) }
        }
        let number = if rows.is_empty() { distinct.len() } else { rows.len() };
        let counted = Quantity::count(number as u64);
        let stated = claim.claimed.map(printed).transpose()?;
        let stated = stated
            .map(|stated| judge(&stated, &counted, &Declared::default(), &OTHER_NUMBER))
            .filter(|outcome| outcome.verdict != Verdict::Verified);
        let outcome = if !without.is_empty() {
            Outcome::refuted(
                &NO_RECEIPT,
                format!(
                    "{} of {} without a receipt: {}",
                    without.len(),
                    rows.len(),
                    without.join(", ")
                ),
            )
        } else if !repeated.is_empty() {
            Outcome::refuted(&REPEATED, format!("not distinct: {}", repeated.join(", ")))
        } else if let Some(other) = stated {
            let stated = claim.claimed.map(Node::text).transpose()?.unwrap_or_default();
            Outcome { reason: format!("{number} are listed, the post says \"{stated}\""), ..other }
        } else {
            Outcome::verified()
        };
        Ok(outcome.giving(number.to_string()).within("T-int", "exact").by(Method::Compared))
    }
}
