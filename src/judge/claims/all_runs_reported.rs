//! Every row of a table has its receipt, every planned run its bundle, and stated numbers of things
//! are their numbers.

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{Evidence, EvidenceQuantity};
use crate::planned::{self, BundlesOfPlan, Departure};
use crate::post::Claim;
use repro_receipt::bundle::Bundle;
use repro_receipt::source::{Code, Document, Error, Node};
use repro_report::outcome::{Impact, Method, Outcome, Verdict};
use repro_runs::study::Study;

repro_receipt::source::codes! {
    NO_RECEIPT = "all_runs_reported::no-receipt", "rows of a table have no receipt", "publish a receipt for each row";
    OTHER_NUMBER = "all_runs_reported::other-number", "the stated number is not the number there is", "correct the number, or publish what is missing";
    NOT_RUN = "all_runs_reported::not-run", "a planned run has no bundle", "run it, or say why it was not run: a plan that shrinks afterwards chooses its results";
    NOT_PLANNED = "all_runs_reported::not-planned", "a bundle of a study is not in its plan", "remove it from the study, or plan it before it is run";
    OTHER_PLAN = "all_runs_reported::other-plan", "a bundle was not made under the plan", "run it again under the plan that is pinned";
    NO_RATES = "all_runs_reported::no-rates", "the tuning runs choose no learning rate by the plan's rule", "widen the rates and tune again";
    OTHER_CONFIG = "all_runs_reported::other-config", "a run was configured otherwise than planned", "run it again as planned";
    REPEATED = "all_runs_reported::repeated", "things that should be distinct are the same", "run and publish distinct ones";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "all_runs_reported",
    summary: "one receipt per row; planned runs are the bundles; stated numbers are true",
    explain: "Each row must name a receipt (a log, a config, a bundle) in the evidence; a claimed \
         number must equal the number of rows (exact_integer); values listed as `distinct` must \
         differ from each other. With `plan` the rows are the runs that a pinned study planned: \
         each must have a pinned bundle that ran to its end, names a commit of the plan, carries \
         the digest of the study file (`plan_sha256`), and is configured as planned, at the \
         learning rate that the tuning runs choose by the plan's rule; and no other bundle in the \
         repository may claim to belong to the study.\n\
         How it can mislead: it cannot see runs that were made but not mentioned.\n\
         Reference: the machine learning reproducibility checklist (Pineau et al. 2021).",
    fields: &[
        FieldSpec::optional(
            "rows",
            "tables of `label` and `receipt`; a row without `receipt` has none",
        ),
        FieldSpec::optional("distinct", "references to values that must all differ"),
        FieldSpec::optional(
            "plan",
            "a table of `study`, a pinned study whose planned runs must be the bundles",
        ),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    if let Some(plan) = claim.node.get("plan") {
        return check_plan(claim, plan, evidence);
    }
    let items = |field: &str| -> Result<Vec<Node>, Error> {
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
        let expected = "at least one of `rows`, `distinct` and `plan`";
        return Err(repro_receipt::source::MISSING_FIELD.at(
            claim.place(),
            expected,
            "none of them",
        ));
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
    let stated = other_number(claim, number, "listed")?;
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
        other
    } else {
        Outcome::verified()
    };
    Ok(outcome.giving(number.to_string()).within("exact_integer", "exact").by(Method::Compared))
}

/// Whether the bundles beside the post are the runs that a study planned.
fn check_plan(claim: &Claim, plan: Node, evidence: &Evidence) -> Result<Outcome, Error> {
    if let Some(other) = ["rows", "distinct"].iter().find_map(|field| claim.node.get(field)) {
        let expected = "no other list beside `plan`";
        return Err(repro_receipt::source::UNKNOWN_FIELD.at(other.place(), expected, "one"));
    }
    plan.only(&["study"])?;
    let name = plan.required("study")?;
    let study = evidence.study(name)?;
    let compared = planned::compare(study, &OfClaim { evidence, name })?;
    let outcome = match compared.departed(code_of) {
        None => other_number(claim, compared.planned, "planned")?.unwrap_or_else(Outcome::verified),
        Some(departed) => departed,
    };
    let given = format!("planned runs: {}", compared.planned);
    Ok(outcome.giving(given).within("exact_integer", "exact").by(Method::Recomputed))
}

/// The bundles that a claim may ask for, and where it names the study.
struct OfClaim<'c, 'a> {
    evidence: &'c Evidence<'a>,
    name: Node<'c>,
}

impl BundlesOfPlan for OfClaim<'_, '_> {
    fn run(&self, id: &str) -> Option<&Bundle> {
        self.evidence.run(id)
    }

    fn present(&self, study: &Study) -> Vec<&str> {
        self.evidence.bundles_of(study).collect()
    }

    fn file(&self, bundle: &Bundle, file: &str) -> Result<&Document, Error> {
        self.evidence.file(bundle, file, self.name)
    }
}

fn code_of(departure: Departure) -> &'static Code {
    match departure {
        Departure::NotRun => &NOT_RUN,
        Departure::NotPlanned => &NOT_PLANNED,
        Departure::OtherPlan => &OTHER_PLAN,
        Departure::NoRates => &NO_RATES,
        Departure::OtherConfig => &OTHER_CONFIG,
    }
}

/// What is wrong with the stated number of things that are `listed`, if one is stated and is wrong.
fn other_number(claim: &Claim, number: usize, listed: &str) -> Result<Option<Outcome>, Error> {
    let Some(claimed) = claim.claimed else { return Ok(None) };
    let counted = EvidenceQuantity::count(number as u64);
    let outcome = judge(&printed(claimed)?, &counted, &Declared::default(), &OTHER_NUMBER);
    if outcome.verdict == Verdict::Verified {
        return Ok(None);
    }
    let reason = format!("{number} are {listed}, the post says \"{}\"", claimed.text()?);
    Ok(Some(Outcome { reason, ..outcome }))
}
