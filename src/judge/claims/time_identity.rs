//! Times, steps and throughput of one run agree.

use super::{ClaimKind, FieldSpec, choice};
use crate::evidence::Evidence;
use crate::post::Claim;
use num_rational::BigRational;
use repro_exact::decimal::about_tolerance;
use repro_exact::decimal::{Interval, format_significant};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome, Verdict};

repro_receipt::source::codes! {
    DISAGREE = "time_identity::disagree", "times that should agree do not", "check the clock, the steps, and what the times include";
    NO_HARDWARE = "time_identity::no-hardware", "no hardware is named, so the times describe no machine that a reader could use", "name device, count and precision";
    UNDECLARED = "time_identity::undeclared", "the statistic, or whether validation is inside, is not declared", "declare both";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "time_identity",
    summary: "time, steps and throughput of a run agree",
    explain: "Either total = steps x time per step, which holds only for a mean: a median or p50, \
         or an undeclared statistic, need only be close (5%); or ended - started >= the sum of \
         the parts, the rest being start-up, at most 5% of the whole. Whether the times include \
         validation must be declared where it matters. Without named hardware the claim is \
         unchecked, with the arithmetic shown: a time on an unknown machine cannot be checked by \
         anyone.\n\
         How it can mislead: agreement among times of one clock says nothing about another \
         machine; times from different machines must never be compared.\n\
         Reference: MLPerf Training rules, on timing boundaries.",
    fields: &[
        FieldSpec::optional("total", "the whole time, in the unit of `per_step`"),
        FieldSpec::optional("steps", "the number of steps"),
        FieldSpec::optional("per_step", "the time of one step"),
        FieldSpec::optional("started", "a timestamp, `YYYY-MM-DD hh:mm:ss`"),
        FieldSpec::optional("ended", "a timestamp"),
        FieldSpec::optional("parts", "times in milliseconds that lie between them"),
        FieldSpec::optional("statistic", "what `per_step` is: mean, median or p50"),
        FieldSpec::optional(
            "validation",
            "whether the times include validation: inside or outside",
        ),
        FieldSpec::optional("hardware", "a reference to the named hardware"),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let outcome = if node.get("started").is_some() {
        elapsed(node, evidence)?
    } else {
        per_step(node, evidence)?
    };
    let outcome = outcome.by(Method::Recomputed);
    match node.get("hardware") {
        Some(hardware) => {
            evidence.datum(hardware)?.printed()?;
            Ok(outcome)
        }
        None if outcome.verdict == Verdict::Refuted => Ok(outcome),
        None => {
            let agreement = if outcome.verdict == Verdict::Verified {
                format!("the arithmetic agrees: {}", outcome.recomputed)
            } else {
                outcome.reason.clone()
            };
            let reason = format!("no hardware is named; {agreement}");
            let unchecked = Outcome::unchecked(&NO_HARDWARE, reason).giving(outcome.recomputed);
            Ok(unchecked.within(outcome.rule, outcome.tolerance).by(Method::Recomputed))
        }
    }
}

/// total = steps x time per step.
fn per_step(node: Node, evidence: &Evidence) -> Result<Outcome, Error> {
    let statistic = choice(node, "statistic", &["mean", "median", "p50"])?;
    let validation = choice(node, "validation", &["inside", "outside"])?;
    let total = evidence.quantity(node.required("total")?)?;
    let steps = evidence.quantity(node.required("steps")?)?;
    let each = evidence.quantity(node.required("per_step")?)?;
    let product = &steps.interval * &each.interval;
    let short = |value: &BigRational| format_significant(value, 8);
    let text = format!(
        "{} x {} = {}, total {}",
        short(&steps.value()),
        short(&each.value()),
        short(&product.middle()),
        short(&total.value())
    );
    let near = near(&product, &total.interval);
    let outcome = match statistic {
        Some("mean") if product.meets(&total.interval) => Outcome::verified(),
        Some("mean") if validation.is_none() => Outcome::inconclusive(
            &UNDECLARED,
            format!("whether validation is inside the times is not declared: {text}"),
        ),
        Some("mean") => {
            Outcome::refuted(&DISAGREE, format!("the product is not the total: {text}"))
        }
        _ if near => Outcome::inconclusive(
            &UNDECLARED,
            format!(
                "near, but only a mean multiplies to the total, and the statistic is {}: {text}",
                statistic.unwrap_or("not declared")
            ),
        ),
        Some(other) => Outcome::inconclusive(
            &UNDECLARED,
            format!("a {other} need not multiply to the total: {text}"),
        ),
        None => Outcome::inconclusive(
            &UNDECLARED,
            format!("neither the statistic nor what the times include is declared: {text}"),
        ),
    };
    Ok(outcome.giving(text).within("rounding_interval", "by their printed digits"))
}

/// ended - started holds the parts, and little else.
fn elapsed(node: Node, evidence: &Evidence) -> Result<Outcome, Error> {
    let moment = |field: &str| evidence.moment(node.required(field)?);
    let elapsed = moment("ended")?.duration_since(moment("started")?).as_secs();
    let mut parts = Interval::integer(0);
    for part in node.required("parts")?.items()? {
        parts = &parts + &evidence.quantity(part)?.interval;
    }
    let parts = parts.scaled(&BigRational::new(1.into(), 1000.into()));
    // Each timestamp is cut or rounded to a second.
    let one = BigRational::from_integer(1.into());
    let whole = Interval::around(&BigRational::from_integer(elapsed.into()), &one);
    let text = format!(
        "{elapsed} s from start to end, {} s in the parts",
        format_significant(&parts.middle(), 6)
    );
    let outcome = if elapsed < 0 {
        Outcome::refuted(&DISAGREE, format!("the end is before the start: {text}"))
    } else if parts.low() > whole.high() {
        Outcome::refuted(&DISAGREE, format!("the parts take longer than the whole: {text}"))
    } else if near(&parts, &whole) {
        Outcome::verified()
    } else {
        Outcome::inconclusive(
            &UNDECLARED,
            format!("more than 5% of the time is in no part: {text}"),
        )
    };
    Ok(outcome
        .giving(text)
        .within("rounding_interval", "timestamps to a second; start-up at most 5%"))
}

/// Within 5% of each other.
fn near(a: &Interval, b: &Interval) -> bool {
    let room = num_traits::Signed::abs(&b.middle()) * about_tolerance();
    a.meets(&Interval::around(&b.middle(), &room))
}
