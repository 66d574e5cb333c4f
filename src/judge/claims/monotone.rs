//! Every value is above, or below, the one before it.

use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity};
use crate::post::Claim;
use repro_exact::decimal::Interval;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    BROKEN = "monotone::broken", "a value is on the wrong side of the one before it", "correct the sentence, or say that the direction holds on the whole";
    UNDECIDED = "monotone::undecided", "the printed digits of two neighbours do not decide", "publish more digits";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "monotone",
    summary: "every consecutive pair goes in the stated direction",
    explain: "x(k+1) >= x(k) for every pair of neighbors if the sentence says rising, <= if it \
         says falling, and > or < with `strict`. Values are the intervals of their digits \
         (rounding_interval): a pair whose intervals overlap is inconclusive, and so is one that \
         only touches if the direction is strict.\n\
         How it can mislead: it sees the published points only, in the order in which they are \
         given; a steady direction over five points of one run may be the next seed's noise \
         (`trend`).\n\
         Reference: definition.",
    fields: &[
        FieldSpec::required(
            "values",
            "the values in order: labeled terms, or a `column` of a file",
        ),
        FieldSpec::required("direction", "rising or falling"),
        FieldSpec::optional("strict", "whether equal neighbors break it; false if absent"),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let list = node.required("values")?;
    let values = evidence.quantities(list)?;
    if values.len() < 2 {
        let found = values.len().to_string();
        return Err(BAD_CHOICE.at(list.place(), "at least two values", found));
    }
    let direction = node.required("direction")?;
    let rising = match direction.text()? {
        "rising" => true,
        "falling" => false,
        other => {
            let found = format!("`{other}`");
            return Err(BAD_CHOICE.at(direction.place(), "`rising` or `falling`", found));
        }
    };
    let strict = node.get("strict").map(Node::truth).transpose()?.unwrap_or(false);
    let words = format!(
        "each {} the one before",
        match (rising, strict) {
            (true, true) => "above",
            (true, false) => "at or above",
            (false, true) => "below",
            (false, false) => "at or below",
        }
    );
    let step = |pair: &[EvidenceQuantity]| match pair {
        [before, after] if rising => rises(&before.interval, &after.interval, strict),
        [before, after] => rises(&after.interval, &before.interval, strict),
        _ => Some(true),
    };
    Ok(judge(&values, step).within("rounding_interval", words).by(Method::Recomputed))
}

/// Whether `high` is above `low` for all values of both (true), for none (false), or for some (none).
fn rises(low: &Interval, high: &Interval, strict: bool) -> Option<bool> {
    let (always, never) = match strict {
        true => (high.low() > low.high(), high.high() <= low.low()),
        false => (high.low() >= low.high(), high.high() < low.low()),
    };
    match (always, never) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn judge(
    values: &[EvidenceQuantity],
    step: impl Fn(&[EvidenceQuantity]) -> Option<bool>,
) -> Outcome {
    let those = |answer: Option<bool>| {
        let pairs = values.windows(2).filter(|pair| step(pair) == answer);
        pairs.map(neighbours).collect::<Vec<_>>()
    };
    let few = |found: &[String]| {
        let more = if found.len() > 3 { ", …" } else { "" };
        let shown = found.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        format!("{} of {} pairs: {shown}{more}", found.len(), values.len() - 1)
    };
    let (broken, open) = (those(Some(false)), those(None));
    let outcome = if !broken.is_empty() {
        Outcome::refuted(&BROKEN, format!("the other way in {}", few(&broken)))
    } else if !open.is_empty() {
        Outcome::inconclusive(&UNDECIDED, format!("the digits do not decide {}", few(&open)))
    } else {
        Outcome::verified()
    };
    let ends = [values.first(), values.last()].map(|end| end.map_or("", |end| &end.text));
    outcome.giving(format!("{} to {} over {} values", ends[0], ends[1], values.len()))
}

/// "step 128 3.41 then step 256 3.44".
fn neighbours(pair: &[EvidenceQuantity]) -> String {
    let shown =
        |value: &EvidenceQuantity| format!("{} {}", value.label, value.text).trim().to_owned();
    pair.iter().map(shown).collect::<Vec<_>>().join(" then ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_exact::decimal::Printed;

    #[test]
    fn touching_and_equal_neighbours() {
        let print = |text: &str| Printed::parse(text).unwrap().interval();
        let exact = |text: &str| Printed::parse(text).unwrap().exact();
        for (low, high, weak, strict) in [
            (print("3.1"), print("3.3"), Some(true), Some(true)),
            (print("3.3"), print("3.1"), Some(false), Some(false)),
            // 3.15 is in both: equal at most, never the wrong way round.
            (print("3.1"), print("3.2"), Some(true), None),
            (print("3.2"), print("3.1"), None, Some(false)),
            (print("3.1"), print("3.1"), None, None),
            (exact("3.1"), exact("3.1"), Some(true), Some(false)),
        ] {
            assert_eq!(rises(&low, &high, false), weak, "{low} {high}");
            assert_eq!(rises(&low, &high, true), strict, "{low} {high}");
        }
    }
}
