//! Two groups differ by less than a margin.

use super::arms::{ArmRuns, number, percent};
use super::comparison::{
    Computed, PAIRED, PAIRED_BEFORE, PValueTail, Pair, Pairing, SAME_DATA_ORDER, Statistic, Test,
};
use super::significance::{
    ALPHA, BOUNDARY, DecisionRule, FAMILY, LEVEL, READING, ROUNDING, STATISTIC, TOO_FEW, Wrong,
};
use super::statement::{Candidate, Numbers, TestStatement, printed, worst};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_exact::decimal::nearest_f64;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_stats::{self as stats, T};

repro_receipt::source::codes! {
    OTHER_DIGITS = "equivalence::other-digits", "a printed difference or statistic does not follow from the runs", "correct it, or publish what it was computed from";
    APART = "equivalence::apart", "the difference exceeds the margin, or the test of equivalence is not passed as stated", "correct the statement, or the margin that it is held to";
    NO_MARGIN = "equivalence::no-margin", "no margin says how much would count as different", "declare the margin before the runs";
}

/// The codes of a wrong digit and of a wrong decision.
const WRONG: Wrong = Wrong { digit: &OTHER_DIGITS, decision: &APART };

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "equivalence",
    summary: "two groups differ by less than a margin",
    explain: "Two one-sided tests (TOST): mean(a) - mean(b) is above the low end of the margin \
         and below its high end, each at alpha. That is the same as: the interval at level 1 - \
         2·alpha (90% at 0.05), adjusted by Holm over the family, lies inside the margin. Inside \
         verifies, wholly outside refutes, anything else is inconclusive: too few runs cannot \
         show that two recipes are equivalent. The p of the test is the larger of the two. \
         Without a margin the claim is unchecked: a difference that is not significant shows \
         nothing. Pairs decide only as for `gap`.\n\
         How it can mislead: a margin chosen after the runs, or wide enough for anything, makes \
         all recipes equal.\n\
         Reference: Schuirmann 1987; Lakens 2017, Equivalence Tests.",
    fields: &[
        FieldSpec::required(
            "a",
            "a group: `values`, or `mean`, `spread`, `n` and `reading`, or `printed`",
        ),
        FieldSpec::required("b", "the group that is subtracted"),
        FieldSpec::optional(
            "margin",
            "a term for both sides, or `low` and `high`; without it: unchecked",
        ),
        PAIRED,
        PAIRED_BEFORE,
        SAME_DATA_ORDER,
        ALPHA,
        FAMILY,
        STATISTIC,
        READING,
        LEVEL,
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
    let rule = DecisionRule::of(claim, evidence)?;
    let pair = Pair::of(&a, &b, Pairing::of(node)?, node)?;
    let level = if node.get("level").is_some() { rule.level } else { 1.0 - 2.0 * rule.alpha };
    let rule = rule.with_level(level);
    let Some(margin) = node.get("margin") else {
        let reason = "no margin is declared: a difference that is not significant shows nothing";
        let outcome = Outcome::unchecked(&NO_MARGIN, reason).within("TOST", tost(&rule));
        return Ok(outcome.giving(pair.text(level)).by(Method::Recomputed));
    };
    let margin = Margin::read(margin, evidence)?;
    let mut parts = Vec::new();
    let mut shown = pair.text(level);
    match pair.tests.as_deref() {
        Err(why) => parts.push(Outcome::inconclusive(&TOO_FEW, why)),
        Ok([]) => parts.push(Outcome::inconclusive(&TOO_FEW, "there is no test")),
        Ok([test, ..]) => {
            shown.push_str(&format!("; TOST p = {}", number(margin.p(&test.as_printed()), 4)));
            parts.push(margin.decide(test, &rule));
        }
    }
    parts.extend(stated(claim, &pair, &margin, &rule)?);
    let outcome = worst(parts);
    let outcome =
        if outcome.rule.is_empty() { outcome.within("TOST", tost(&rule)) } else { outcome };
    Ok(outcome.giving(shown).by(Method::Recomputed))
}

/// "alpha 0.05 on each side".
fn tost(rule: &DecisionRule) -> String {
    format!("alpha {} on each side", number(rule.alpha, 6))
}

/// Judges the printed number, which may be the p of the two tests.
fn stated(
    claim: &Claim,
    pair: &Pair,
    margin: &Margin,
    rule: &DecisionRule,
) -> Result<Vec<Outcome>, Error> {
    let tests = pair.tests.as_deref().map_err(String::as_str);
    let of_p = claim.node.get("statistic").map(Node::text).transpose()? == Some("p");
    match claim.claimed.filter(|_| of_p) {
        None => {
            let (estimate, boundary) = (&pair.estimate, margin.high);
            TestStatement { rule, tests, printed_test: None, estimate, boundary, wrong: WRONG }
                .numbers(claim)
        }
        Some(claimed) => {
            let of = |test: &Test| {
                let p: Option<Computed> = test.computed(|t| Some(margin.p(t)));
                let values = vec![(Statistic::P(PValueTail::Both), p?)];
                Some(Candidate { name: format!("{} TOST", test.name), values, df: None })
            };
            let candidates: Vec<_> = tests.unwrap_or_default().iter().filter_map(of).collect();
            let against = (rule, 0.0, WRONG);
            Ok(vec![printed(&Numbers::read(claimed)?, &candidates, false, against)])
        }
    }
}

/// What counts as no difference.
struct Margin {
    low: f64,
    high: f64,
}

impl Margin {
    fn read(node: Node, evidence: &Evidence) -> Result<Self, Error> {
        let value = |term: Node| Ok(nearest_f64(&evidence.quantity(term)?.value()));
        let margin = match node.get("low") {
            Some(low) => {
                node.only(&["low", "high"])?;
                Self { low: value(low)?, high: value(node.required("high")?)? }
            }
            None => {
                let high = value(node)?;
                Self { low: -high, high }
            }
        };
        if margin.low < margin.high {
            return Ok(margin);
        }
        let found = format!("{} to {}", number(margin.low, 10), number(margin.high, 10));
        Err(BAD_CHOICE.at(node.place(), "a margin above 0, or `low` below `high`", found))
    }

    /// The p of the two one-sided tests.
    fn p(&self, t: &T) -> f64 {
        stats::equivalence(t, self.low, self.high).map_or(1.0, |tests| tests.p())
    }

    fn decide(&self, test: &Test, rule: &DecisionRule) -> Outcome {
        let level = |t: &T| 1.0 - 2.0 * rule.adjusted_alpha(self.p(t));
        let inside = |t: &T| {
            let [low, high] = t.interval(level(t));
            match (self.low < low && high < self.high, high < self.low || self.high < low) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            }
        };
        let found: Vec<_> = test.possible().iter().map(inside).collect();
        let first = found.first().copied().flatten();
        let t = test.as_printed();
        let [low, high] = t.interval(level(&t));
        let interval =
            format!("{} interval [{}, {}]", percent(level(&t)), number(low, 5), number(high, 5));
        let margin = format!("margin [{}, {}]", number(self.low, 10), number(self.high, 10));
        if found.iter().any(|side| *side != first) {
            let reason =
                format!("{interval} as printed; unprinted digits decide about the {margin}");
            return Outcome::inconclusive(&ROUNDING, reason);
        }
        match first {
            Some(true) => Outcome::verified(),
            Some(false) => {
                Outcome::refuted(&APART, format!("{interval} lies outside the {margin}"))
            }
            None => Outcome::inconclusive(
                &BOUNDARY,
                format!("{interval} crosses an end of the {margin}"),
            ),
        }
    }
}
