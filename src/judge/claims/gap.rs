//! A difference of two means, its uncertainty, and whether it lies on the claimed side of zero.

use super::arms::ArmRuns;
use super::comparison::{PAIRED, PAIRED_BEFORE, Pair, Pairing, SAME_DATA_ORDER, difference};
use super::significance::{
    ALPHA, CLAIMED_P, DIRECTION, DecisionRule, FAMILY, LEVEL, READING, SIDES, SIGNIFICANT,
    STATISTIC, Wrong,
};
use super::statement::TestStatement;
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use num_traits::Signed;
use repro_exact::decimal::format_significant;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome, Verdict};

repro_receipt::source::codes! {
    OTHER_DIGITS = "gap::other-digits", "a printed gap or statistic does not follow from the runs", "correct it, or publish what it was computed from";
    OTHER_DECISION = "gap::other-decision", "the runs decide otherwise than stated", "correct the statement";
    SIGNS_DIFFER = "gap::signs-differ", "the same gap has another sign under another condition", "say under which condition the direction holds";
    UNPAIRED = "gap::pairing-not-established", "the runs are compared as pairs, which was not declared before them or depends on no common data order", "declare the pairing before the runs, with one seed for the data order of both arms";
}

/// The codes of a wrong digit and of a wrong decision.
const WRONG: Wrong = Wrong { digit: &OTHER_DIGITS, decision: &OTHER_DECISION };

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "gap",
    summary: "a difference of two means, with its uncertainty",
    explain: "gap = mean(a) - mean(b). As pairs: t = mean(d)/(sd(d)/√n) of the differences d, n - \
         1 degrees of freedom. Else Welch: t = gap/√(s₁²/n₁ + s₂²/n₂), degrees of freedom by \
         Satterthwaite. Pairs decide only if pairing was declared before the runs \
         (`paired_before`) and the seed fixes the data order in both arms (`same_data_order`); \
         both tests and the correlation are shown. A direction is verified if the interval, \
         adjusted by Holm over the family, lies wholly on the claimed side of zero, refuted if it \
         lies wholly on the other, and inconclusive if it contains zero: a difference that is not \
         significant is not shown to be zero (`equivalence`). Printed statistics are recomputed: \
         from values as recorded, or from everything that rounds to the printed means and \
         spreads. Where `also` gives the same gap under other conditions, such as another \
         learning rate, a direction is inconclusive if one of them has another sign. \
         \"Significant\" is arithmetic: p at or above alpha refutes it. An error that changes the \
         decision has its own code.\n\
         How it can mislead: pairing chosen after looking makes noise look small; runs that share \
         a seed but not a data order are not pairs; the runs that failed may not be in the list.\n\
         Reference: Welch 1947; Student 1908; Holm 1979; Nuijten et al. 2016 (statcheck), on \
         errors that change decisions.",
    fields: &[
        FieldSpec::required(
            "a",
            "a group: `values`, or `mean`, `spread`, `n` and `reading`, or `printed`",
        ),
        FieldSpec::required("b", "the group that is subtracted"),
        PAIRED,
        PAIRED_BEFORE,
        SAME_DATA_ORDER,
        DIRECTION,
        ALPHA,
        SIDES,
        FAMILY,
        STATISTIC,
        READING,
        LEVEL,
        FieldSpec::optional(
            "test",
            "the test that is printed, `paired` or `welch`; searched if absent",
        ),
        CLAIMED_P,
        SIGNIFICANT,
        FieldSpec::optional(
            "also",
            "tables of `label`, `a` and `b`: the same gap under other conditions, whose sign must agree",
        ),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let a = ArmRuns::read(node.required("a")?, evidence)?;
    let b = ArmRuns::read(node.required("b")?, evidence)?;
    let (pairing, rule) = (Pairing::of(node)?, DecisionRule::of(claim, evidence)?);
    let pair = Pair::of(&a, &b, pairing, node)?;
    let only = node.get("test").map(printed_test).transpose()?;
    let outcome = TestStatement {
        rule: &rule,
        tests: pair.tests.as_deref().map_err(String::as_str),
        printed_test: only,
        estimate: &pair.estimate,
        boundary: 0.0,
        wrong: WRONG,
    }
    .judge(claim)?;
    let outcome = match rule.direction {
        Some(_) => same_signs(node, &pair, evidence, outcome)?,
        None => outcome,
    };
    let outcome = match pairing.claimed && !pairing.established {
        true => outcome.noting(&UNPAIRED, "taken as unpaired: Welch decides"),
        false => outcome,
    };
    let outcome = rule.within(outcome);
    Ok(outcome.giving(pair.text(rule.level)).by(Method::Recomputed))
}

/// The outcome, unless the gap has another sign under one of the conditions of `also`.
fn same_signs(
    node: Node,
    pair: &Pair,
    evidence: &Evidence,
    outcome: Outcome,
) -> Result<Outcome, Error> {
    let own = pair.estimate.point.signum();
    for also in node.get("also").map(Node::items).transpose()?.into_iter().flatten() {
        also.only(&["label", "a", "b"])?;
        let arm = |field| ArmRuns::read(also.required(field)?, evidence);
        let (other, _) = difference(&arm("a")?, &arm("b")?);
        if other.signum() != own && outcome.verdict != Verdict::Refuted {
            let label = also.required("label")?.text()?;
            let reason = format!(
                "the gap is {} here and {} under {label}",
                pair.estimate.text(),
                format_significant(&other, 6)
            );
            return Ok(Outcome::inconclusive(&SIGNS_DIFFER, reason));
        }
    }
    Ok(outcome)
}

/// The name of the test that a publication says it prints.
fn printed_test(node: Node) -> Result<&'static str, Error> {
    match node.text()? {
        "paired" => Ok("paired t"),
        "welch" => Ok("Welch"),
        other => Err(BAD_CHOICE.at(node.place(), "`paired` or `welch`", format!("`{other}`"))),
    }
}
