//! A router or score statistic lies inside what its definition allows.

use super::tolerance::printed;
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity, NOT_COMPUTABLE, whole};
use crate::post::Claim;
use num_rational::BigRational;
use num_traits::Signed;
use repro_exact::decimal::{Interval, Printed, Unit, format_significant, nearest_f64};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    OUTSIDE = "bounds::outside", "the value lies outside what its definition allows", "check the value and how it was computed";
}

/// The nats by which a model may beat the source of a text: luck beyond that has a chance of e^-20.
const LUCK: u64 = 20;

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "bounds",
    summary: "a router statistic or score lies inside its mathematical bounds",
    explain: "For E experts of which each token uses K: 0 <= entropy <= ln E, and at least ln K \
         for hard top-K loads; effective experts between 1 and E; the largest load between 1/E \
         and 1/K of all slots, at most 1 of the tokens, at most E/K of the mean; the coefficient \
         of variation in percent at most 100 sqrt(E/K - 1) over the population, times sqrt(E/(E - \
         1)) for a sample, the larger if that is not declared; centered scores at most 1; `nats` \
         of a text at least the `source` nats that the process which drew the text gives it, less \
         20: a model beats it by n nats with a probability of at most e^-n. Where the claim also \
         gives the coefficient of variation of the same loads, (1 + CV^2)/E <= largest share is \
         checked. A print that rounds past its bound still holds (rounding_interval).\n\
         How it can mislead: inside the bounds nothing is shown; a mean over layers of e^H is not \
         e to the mean of H.\n\
         Reference: Cover and Thomas, Elements of Information Theory, on entropy of finite \
         alphabets.",
    fields: &[
        FieldSpec::required(
            "quantity",
            "entropy, effective_experts, cv_percent, max_share_of_slots, max_share_of_tokens, max_over_mean, centered or nats",
        ),
        FieldSpec::optional("experts", "the number of routed experts, E"),
        FieldSpec::optional("active", "the routed experts that each token uses, K"),
        FieldSpec::optional("hard_top_k", "true if loads count hard top-K choices"),
        FieldSpec::optional("source", "the nats of the same text under its source, for nats"),
        FieldSpec::optional("variant", "population or sample, for cv_percent"),
        FieldSpec::optional(
            "cv_percent",
            "the coefficient of variation of the same loads, for max_share_of_slots",
        ),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let (_, node) = super::claimed(claim)?;
    let claimed = printed(node)?;
    let limits = Limits::of(claim, evidence)?;
    let value = match claimed.unit() {
        // This quantity is a number of percent, with or without the sign.
        Unit::Percent if limits.squared => claimed.interval(),
        unit => claimed.interval().scaled(&unit.per_one().recip()),
    };
    let text = limits.text(claimed.unit());
    // A coefficient of variation is compared by its square, which is rational.
    let measured = if limits.squared { &value * &value } else { value.clone() };
    let below = limits.low.as_ref().is_some_and(|low| {
        let measured = if limits.squared { &value } else { &measured };
        measured.high() < low.low()
    });
    let above = limits.high.as_ref().is_some_and(|high| measured.low() > high.high());
    let outcome = if below || above {
        Outcome::refuted(&OUTSIDE, format!("outside what is possible: {text}"))
    } else {
        Outcome::verified()
    };
    Ok(outcome
        .giving(format!("bounds {text}"))
        .within("rounding_interval", "by its printed digits")
        .by(Method::Recomputed))
}

/// The least and the greatest possible value (of the square, where `squared`).
struct Limits {
    low: Option<Interval>,
    high: Option<Interval>,
    squared: bool,
}

impl Limits {
    fn of(claim: &Claim, evidence: &Evidence) -> Result<Self, Error> {
        let node = claim.node;
        let quantity = node.required("quantity")?;
        let counted = |field: &str| -> Result<Interval, Error> {
            let term = node.required(field)?;
            let count = evidence.quantity(term)?.interval;
            match whole(&count).filter(|count| count.is_positive()) {
                Some(_) => Ok(count),
                None => Err(undefined(term)),
            }
        };
        let number = |field: &str| -> Result<Interval, Error> {
            let count = counted(field)?;
            match field == "active" && count.low() > counted("experts")?.high() {
                true => Err(undefined(node.required(field)?)),
                false => Ok(count),
            }
        };
        let zero = || Some(Interval::integer(0));
        let one = || Interval::integer(1);
        let divide = |a: &Interval, b: &Interval| a.div(b).ok_or_else(|| undefined(quantity));
        let plain = |low: Option<Interval>, high: Interval| {
            Ok(Self { low, high: Some(high), squared: false })
        };
        let hard = node.get("hard_top_k").map(Node::truth).transpose()?.unwrap_or(false);
        match quantity.text()? {
            "entropy" => {
                let high = number("experts")?.ln().ok_or_else(|| undefined(quantity))?;
                let low = if hard { number("active")?.ln() } else { zero() };
                plain(low, high)
            }
            "effective_experts" => plain(Some(if hard { number("active")? } else { one() }), number("experts")?),
            "cv_percent" => {
                let (experts, active) = (number("experts")?, number("active")?);
                let population = &divide(&experts, &active)? - &one();
                let largest = match node.get("variant").map(Node::text).transpose()? {
                    Some("population") => population,
                    // One expert has no spread, however it is counted.
                    None if experts == one() => population,
                    None | Some("sample") => &population * &divide(&experts, &(&experts - &one()))?,
                    Some(other) => {
                        let place = node.get("variant").unwrap_or(node).place();
                        return Err(BAD_CHOICE.at(place, "`population` or `sample`", format!("`{other}`")));
                    }
                };
                let high = largest.scaled(&BigRational::from_integer(10_000.into()));
                Ok(Self { low: zero(), high: Some(high), squared: true })
            }
            "max_share_of_slots" => {
                let (experts, active) = (number("experts")?, number("active")?);
                let low = match node.get("cv_percent") {
                    Some(cv) => {
                        let hundredth = BigRational::new(1.into(), 100.into());
                        let cv = percent_of(&evidence.quantity(cv)?).scaled(&hundredth);
                        divide(&(&one() + &(&cv * &cv)), &experts)?
                    }
                    None => divide(&one(), &experts)?,
                };
                plain(Some(low), divide(&one(), &active)?)
            }
            "max_share_of_tokens" => plain(Some(divide(&number("active")?, &number("experts")?)?), one()),
            "max_over_mean" => plain(Some(one()), divide(&number("experts")?, &number("active")?)?),
            "nats" => {
                let source = evidence.quantity(node.required("source")?)?.interval;
                let low = &source - &Interval::integer(LUCK);
                Ok(Self { low: Some(low), high: None, squared: false })
            }
            "centered" => Ok(Self { low: None, high: Some(one()), squared: false }),
            other => Err(BAD_CHOICE.at(
                quantity.place(),
                "entropy, effective_experts, cv_percent, max_share_of_slots, max_share_of_tokens, max_over_mean, centered or nats",
                format!("`{other}`"),
            )),
        }
    }

    /// The limits in the unit that the claim prints.
    fn text(&self, unit: Unit) -> String {
        let text = |limit: &Interval| {
            let middle = limit.middle();
            if self.squared {
                // Only for people; the comparison is of squares.
                let root = BigRational::from_float(nearest_f64(&middle).sqrt());
                return format_significant(&root.unwrap_or(middle), 6) + unit.sign();
            }
            format_significant(&(middle * unit.per_one()), 6) + unit.sign()
        };
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => format!("{} to {}", text(low), text(high)),
            (Some(low), None) => format!("at least {}", text(low)),
            (None, Some(high)) => format!("at most {}", text(high)),
            (None, None) => "anything".to_owned(),
        }
    }
}

/// A number of percent, printed with the sign or without.
fn percent_of(quantity: &EvidenceQuantity) -> Interval {
    let sign = Printed::parse(&quantity.text).is_ok_and(|printed| printed.unit() == Unit::Percent);
    let hundred = BigRational::from_integer(100.into());
    if sign { quantity.interval.scaled(&hundred) } else { quantity.interval.clone() }
}

fn undefined(node: Node) -> Error {
    NOT_COMPUTABLE
        .at(
            node.place(),
            "whole numbers of experts, at least one of them active and no more than there are",
            "counts for which the bound is not defined",
        )
        .help("correct the counts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_shown_in_the_unit_of_the_claim() {
        let quarter = || Some(Interval::point(BigRational::new(1.into(), 4.into())));
        let share = Limits { low: quarter(), high: Some(Interval::integer(1)), squared: false };
        assert_eq!(share.text(Unit::Percent), "25% to 100%");
        assert_eq!(share.text(Unit::Plain), "0.25 to 1");
        let squared = Limits { low: None, high: quarter(), squared: true };
        assert_eq!(squared.text(Unit::Plain), "at most 0.5");
    }

    #[test]
    fn a_variation_is_a_number_of_percent_with_or_without_the_sign() {
        let quantity = |text: &str, numerator: i32, denominator: i32| EvidenceQuantity {
            text: text.to_owned(),
            interval: Interval::point(BigRational::new(numerator.into(), denominator.into())),
            ..EvidenceQuantity::count(0)
        };
        let seventy = Interval::integer(70);
        assert_eq!(percent_of(&quantity("70%", 7, 10)), seventy);
        assert_eq!(percent_of(&quantity("70", 70, 1)), seventy);
    }
}
