//! A recipe's losses over several runs lie below a target.

use super::arms::{ArmRuns, number};
use super::comparison::{Computed, Test};
use super::plus_minus::count;
use super::significance::{
    ALPHA, BOUNDARY, CLAIMED_P, DecisionRule, Direction, FAMILY, LEVEL, READING, ROUNDING,
    SIGNIFICANT, STATISTIC, Side, TOO_FEW, Wrong, direction,
};
use super::statement::{TestStatement, worst};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_exact::decimal::nearest_f64;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    OTHER_DIGITS = "target_test::other-digits", "a printed mean, t or p does not follow from the runs", "correct it, or publish what it was computed from";
    NOT_MET = "target_test::rule-not-met", "the runs do not meet the rule, or lie on the other side of the target", "correct the statement, or publish all runs";
    NOT_FIXED = "target_test::runs-not-fixed", "the number of runs is not known to have been fixed beforehand", "say that it was: stopping when p falls below alpha makes it fall below alpha";
    DROPPED = "target_test::runs-dropped", "runs were left out, or it is not said whether any were", "publish every run, with the reason for each that does not count";
}

/// The codes of a wrong digit and of a wrong decision.
const WRONG: Wrong = Wrong { digit: &OTHER_DIGITS, decision: &NOT_MET };

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "target_test",
    summary: "the mean of n runs lies beyond a target, by a one-sided t test",
    explain: "t = (mean - target)/(s/√n) with n - 1 degrees of freedom, one-sided: p is the \
         probability of a mean at least this far beyond the target if the recipe's true mean is \
         the target. p below alpha verifies. p at or above alpha refutes \"meets the rule\" \
         (`states = \"meets_rule\"`), which is arithmetic, and leaves \"is below\" (`states = \
         \"beyond\"`) inconclusive. A single run is inconclusive. The number of runs must have \
         been fixed beforehand and dropped runs stated; if either is not stated, that is a \
         finding.\n\
         How it can mislead: adding runs until p falls below alpha, or dropping the runs that \
         diverged, makes any recipe pass; values printed with few digits have a spread of their \
         own.\n\
         Reference: the rules of the modded-nanogpt speedrun, p < 0.01 that the mean is below \
         3.28; Student 1908.",
    fields: &[
        FieldSpec::required("runs", "the group: `values`, or `mean`, `spread`, `n` and `reading`"),
        FieldSpec::required("target", "the target, exact"),
        FieldSpec::required(
            "states",
            "`meets_rule` or `beyond`: the test is passed, or the mean is beyond the target",
        ),
        FieldSpec::optional("direction", "`less` (default) or `greater`: which side is better"),
        ALPHA,
        FAMILY,
        FieldSpec::optional(
            "n_fixed_beforehand",
            "whether the number of runs was fixed before them",
        ),
        FieldSpec::optional("dropped", "how many runs were left out: a number, or a term"),
        STATISTIC,
        READING,
        LEVEL,
        CLAIMED_P,
        SIGNIFICANT,
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let runs = ArmRuns::read(node.required("runs")?, evidence)?;
    let target = nearest_f64(&evidence.quantity(node.required("target")?)?.value());
    let meets_rule = meets_rule(node.required("states")?)?;
    let rule = DecisionRule::of(claim, evidence)?;
    let rule = rule.towards(side(node)?).one_sided();
    let test = Test::one_sample("one-sample t", &runs, target);
    let estimate = Computed::exact(runs.mean(), runs.is_recorded());
    let tests: Result<&[Test], &str> = match &test {
        Ok(test) => Ok(std::slice::from_ref(test)),
        Err(why) => Err(why),
    };
    let printed = TestStatement {
        rule: &rule,
        tests,
        printed_test: None,
        estimate: &estimate,
        boundary: target,
        wrong: WRONG,
    };
    let stated = printed.numbers(claim)?;
    let decision = match &test {
        Ok(test) => decide(test, &rule, target, meets_rule),
        Err(why) => Outcome::inconclusive(&TOO_FEW, why),
    };
    let given = match &test {
        Ok(test) => text(test, &rule, &estimate),
        Err(_) => runs.text(),
    };
    let outcome = worst(stated.into_iter().chain([decision]).collect());
    let outcome = notes(rule.within(outcome), node, evidence)?;
    Ok(outcome.giving(given).by(Method::Recomputed))
}

fn meets_rule(node: Node) -> Result<bool, Error> {
    match node.text()? {
        "meets_rule" => Ok(true),
        "beyond" => Ok(false),
        other => Err(BAD_CHOICE.at(node.place(), "`meets_rule` or `beyond`", format!("`{other}`"))),
    }
}

fn side(node: Node) -> Result<Direction, Error> {
    let Some(declared) = node.get("direction") else { return Ok(Direction::Less) };
    match direction(declared)? {
        Direction::Differs => {
            Err(BAD_CHOICE.at(declared.place(), "`less` or `greater`", "`differs`"))
        }
        side => Ok(side),
    }
}

fn decide(test: &Test, rule: &DecisionRule, target: f64, meets_rule: bool) -> Outcome {
    let p = number(rule.adjusted_p(rule.tail().p(&test.as_printed())), 4);
    let (alpha, at) = (number(rule.alpha, 6), number(target, 10));
    let missed = format!("one-sided p = {p} is not below {alpha}");
    match rule.side(test, target) {
        Side::Claimed => Outcome::verified(),
        Side::Other => rule.decide(test, target, WRONG),
        Side::Both if meets_rule => {
            Outcome::refuted(&NOT_MET, missed).with_impact(Impact::Decision)
        }
        Side::Both => Outcome::inconclusive(
            &BOUNDARY,
            format!("{missed}: the runs do not show on which side of {at} the recipe lies"),
        ),
        Side::Unknown => {
            Outcome::inconclusive(&ROUNDING, format!("p = {p} as printed; unprinted digits decide"))
        }
    }
}

/// "mean 3.27837, t = -4.153, df 12, one-sided p = 0.000669".
fn text(test: &Test, rule: &DecisionRule, mean: &Computed) -> String {
    let t = test.as_printed();
    let (value, df, p) = (number(t.t, 4), number(t.df, 4), number(rule.tail().p(&t), 4));
    format!("mean {}, t = {value}, df {df}, one-sided p = {p}", mean.text())
}

/// What makes a passed test worth less.
fn notes(outcome: Outcome, node: Node, evidence: &Evidence) -> Result<Outcome, Error> {
    let fixed = node.get("n_fixed_beforehand").map(Node::truth).transpose()?;
    let outcome = match fixed {
        Some(true) => outcome,
        Some(false) => outcome.noting(&NOT_FIXED, "the number of runs was not fixed beforehand"),
        None => outcome
            .noting(&NOT_FIXED, "it is not said whether the number of runs was fixed beforehand"),
    };
    let Some(dropped) = node.get("dropped") else {
        return Ok(outcome.noting(&DROPPED, "it is not said whether runs were dropped"));
    };
    Ok(match count(dropped, evidence)? {
        0 => outcome,
        1 => outcome.noting(&DROPPED, "1 run was dropped"),
        many => outcome.noting(&DROPPED, format!("{many} runs were dropped")),
    })
}
