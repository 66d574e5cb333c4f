//! Every point lies inside declared bounds.

use num_rational::BigRational;

use super::tolerance::{DIGITS, fraction};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity};
use crate::post::Claim;
use num_traits::Signed;
use repro_exact::decimal::{Bound, format_significant};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    OUTSIDE = "band::outside", "a point lies outside the bounds", "correct the bounds or the sentence";
    STRADDLES = "band::straddles", "the printed digits of a point lie on both sides of a bound", "publish the point with more digits";
    NO_BOUNDS = "band::no-bounds", "the publication declares no bounds", "say within which bounds the points are to lie";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "band",
    summary: "every point lies inside declared bounds",
    explain: "low <= x <= high for every point x (< with `strict`), where the bounds are declared \
         as `low` and `high`, or as a `margin` on both sides of a `centre`, absolute or in \
         percent of it. Points are the intervals of their digits (rounding_interval), bounds are \
         exact. Without declared bounds nothing is checked: \"stable\" and \"similar\" are not \
         numbers.\n\
         How it can mislead: bounds that were chosen after the points were seen hold by \
         construction, and points between the published ones may lie anywhere.\n\
         Reference: Schuirmann 1987, on margins that are declared in advance.",
    fields: &[
        FieldSpec::required("values", "the points: labeled terms, or a `column` of a file"),
        FieldSpec::optional("low", "the lower bound, exact"),
        FieldSpec::optional("high", "the upper bound, exact"),
        FieldSpec::optional("centre", "the middle of the band, with `margin`"),
        FieldSpec::optional("margin", "how far from the centre: a term, or a text such as \"2%\""),
        FieldSpec::optional("strict", "whether the bounds themselves are outside; false if absent"),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let list = node.required("values")?;
    let points = evidence.quantities(list)?;
    if points.is_empty() {
        return Err(BAD_CHOICE.at(list.place(), "at least one point", "none"));
    }
    let band = Band::read(node, evidence)?;
    let extent = extent(&points);
    let outcome = if band.is_open() {
        Outcome::unchecked(&NO_BOUNDS, format!("no bounds are declared for {extent}"))
    } else {
        band.judge(&points).within("rounding_interval", format!("{}, exact", band.text()))
    };
    Ok(outcome.giving(extent).by(Method::Recomputed))
}

/// Declared bounds.
struct Band {
    low: Option<BigRational>,
    high: Option<BigRational>,
    strict: bool,
}

impl Band {
    fn read(node: Node, evidence: &Evidence) -> Result<Self, Error> {
        let exact = |field: &str| {
            let term = node.get(field).map(|term| evidence.quantity(term));
            Ok(term.transpose()?.map(|quantity| quantity.value()))
        };
        let strict = node.get("strict").map(Node::truth).transpose()?.unwrap_or(false);
        let (low, high) = (exact("low")?, exact("high")?);
        let Some(margin) = node.get("margin") else { return Ok(Self { low, high, strict }) };
        if low.is_some() || high.is_some() {
            let expected = "`low` and `high`, or `centre` and `margin`";
            return Err(BAD_CHOICE.at(margin.place(), expected, "both"));
        }
        let centre = evidence.quantity(node.required("centre")?)?.value();
        let margin = match margin.text() {
            Ok(_) => fraction(margin)? * centre.abs(),
            Err(_) => evidence.quantity(margin)?.value(),
        };
        Ok(Self { low: Some(&centre - &margin), high: Some(centre + margin), strict })
    }

    fn is_open(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }

    fn text(&self) -> String {
        let end = |end: &Option<BigRational>| end.as_ref().map(|e| format_significant(e, DIGITS));
        let sign = if self.strict { "<" } else { "<=" };
        match (end(&self.low), end(&self.high)) {
            (Some(low), Some(high)) => format!("{low} {sign} x {sign} {high}"),
            (Some(low), None) => format!("{low} {sign} x"),
            (None, Some(high)) => format!("x {sign} {high}"),
            (None, None) => String::new(),
        }
    }

    /// Whether a point is inside (true), outside (false), or partly either (none).
    fn holds(&self, point: &EvidenceQuantity) -> Option<bool> {
        let (from, to) = match self.strict {
            true => (Bound::Above, Bound::Below),
            false => (Bound::AtLeast, Bound::AtMost),
        };
        let side = |bound: Bound, end: &Option<BigRational>| match end {
            Some(end) => bound.satisfied(&point.interval, end),
            None => Some(true),
        };
        match (side(from, &self.low), side(to, &self.high)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    fn judge(&self, points: &[EvidenceQuantity]) -> Outcome {
        let those = |answer: Option<bool>| {
            points.iter().filter(|point| self.holds(point) == answer).collect::<Vec<_>>()
        };
        let (outside, open) = (those(Some(false)), those(None));
        let few = |found: &[&EvidenceQuantity]| {
            let shown: Vec<_> = found.iter().take(5).map(|point| named(point)).collect();
            let more = if found.len() > 5 { ", …" } else { "" };
            format!("{} of {} points: {}{more}", found.len(), points.len(), shown.join(", "))
        };
        if !outside.is_empty() {
            Outcome::refuted(&OUTSIDE, format!("outside {}: {}", self.text(), few(&outside)))
        } else if !open.is_empty() {
            let why = format!("on both sides of a bound of {}: {}", self.text(), few(&open));
            Outcome::inconclusive(&STRADDLES, why)
        } else {
            Outcome::verified()
        }
    }
}

/// "step 128 3.41".
fn named(point: &EvidenceQuantity) -> String {
    format!("{} {}", point.label, point.text).trim().to_owned()
}

/// "3.2 to 3.4 over 5 points".
fn extent(points: &[EvidenceQuantity]) -> String {
    let least = points.iter().min_by_key(|point| point.value());
    let most = points.iter().max_by_key(|point| point.value());
    match (least, most) {
        (Some(least), Some(most)) if points.len() > 1 => {
            format!("{} to {} over {} points", least.text, most.text, points.len())
        }
        (Some(only), _) => only.text.clone(),
        _ => String::new(),
    }
}
