//! Bits per byte: nats over ln 2 and bytes, and what was divided by where it is not bytes.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, FieldSpec, choice};
use crate::evidence::{Evidence, EvidenceQuantity, NOT_COMPUTABLE};
use crate::post::Claim;
use repro_exact::decimal::{Interval, Printed, format_significant, nearest_f64};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome, Verdict};
use repro_runs::scores::bits_per_byte;

repro_receipt::source::codes! {
    DIFFERS = "bpb::differs", "the bits per byte do not follow from nats and bytes", "correct the value, or the sums that it was computed from";
    OTHER_COUNT = "bpb::other-count", "the nats were divided by another count than the bytes of the text", "divide by the bytes of the evaluated text";
    NO_LN_TWO = "bpb::no-ln-two", "nats were not turned into bits by ln 2", "divide by ln 2";
    MASKS = "bpb::masks", "loss x tokens is the sum of nats only where the loss is the mean over those very tokens", "publish the sum of nats, or declare that the masks match";
    NO_SUMS = "bpb::no-sums", "the sums behind the bits per byte are not published", "publish nats and bytes of the evaluation, as sums";
    SUMS_DISAGREE = "bpb::sums-disagree", "loss x tokens is not the sum of nats: they are over different tokens", "say which tokens the loss is the mean of";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "bpb",
    summary: "bits per byte follow from sums of nats and bytes",
    explain: "bpb = sum of nats / (ln 2 x sum of bytes). A printed value is compared by \
         rounding_interval, a value printed in full within 1e-6 of the sums. Where only a mean \
         loss is published, loss x tokens stands for the nats, and only if the claim declares \
         `masks = \"match\"`: the loss is the mean over exactly the tokens whose bytes are \
         counted. A value that does not follow is tried against every other available count \
         (tokens, characters, bytes of another split, with or without separators) and without the \
         ln 2, and a match is reported. Each count is labeled in `counts`.\n\
         How it can mislead: a wrong byte count is the most frequent error of this score; a byte \
         count that includes what the model never predicts (a first token, separators, padding) \
         makes the score look better.\n\
         Reference: Gao et al. 2020, The Pile, section 3.1, bits per UTF-8 encoded byte.",
    fields: &[
        FieldSpec::optional("nats", "the sum of nats over the predicted tokens"),
        FieldSpec::optional("bytes", "the bytes of the text of those tokens"),
        FieldSpec::optional("loss", "the mean loss in nats, if the sum is not published"),
        FieldSpec::optional("tokens", "the tokens that the loss is the mean over"),
        FieldSpec::optional(
            "masks",
            "match, if loss and bytes are over the same tokens; else differ",
        ),
        FieldSpec::optional(
            "counts",
            "other available counts, labeled: tried if the value does not follow",
        ),
        FieldSpec::optional("missing", "if no sums are published: what would settle it"),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let inputs = Inputs::read(claim.node, evidence)?;
    let Some((nats, whose)) = inputs.nats() else { return no_sums(claim.node) };
    let Some(bytes) = &inputs.bytes else { return no_sums(claim.node) };
    let (_, node) = super::claimed(claim)?;
    let claimed = printed(node)?;
    let value = bits_per_byte(&nats, &bytes.interval).ok_or_else(|| {
        let place = claim.node.get("bytes").unwrap_or(claim.node).place();
        NOT_COMPUTABLE.at(place, "more than no bytes", format!("`{}`", bytes.text))
    })?;
    let judged = |value: &Interval| verdict(&claimed, value, claim);
    let outcome = judged(&value)?;
    let shown = format_significant(&value.middle(), 10);
    let recomputed = format!("{shown} = {whose} / (ln 2 × {} bytes)", bytes.text);
    let mut outcome = match outcome.verdict {
        Verdict::Refuted => {
            let within = (outcome.rule, outcome.tolerance.clone());
            let outcome = named(&claimed, &nats, whose, &inputs, claim)?.unwrap_or(outcome);
            outcome.giving(recomputed).within(within.0, within.1)
        }
        _ => outcome.giving(recomputed),
    };
    let explained = [&OTHER_COUNT, &NO_LN_TWO].map(Some).contains(&outcome.code);
    if inputs.nats.is_none() && !inputs.masks_match && !explained {
        let reason = if inputs.masks_differ {
            "the loss is not the mean over the tokens whose bytes are counted"
        } else {
            "whether the loss is the mean over the very tokens whose bytes are counted is not declared"
        };
        let reason = format!("{reason}; the arithmetic gives {shown}");
        outcome = Outcome::unchecked(&MASKS, reason)
            .giving(outcome.recomputed)
            .within(outcome.rule, outcome.tolerance);
    }
    if let Some(message) = inputs.disagreement() {
        outcome = outcome.noting(&SUMS_DISAGREE, message);
    }
    Ok(outcome.by(Method::Recomputed))
}

fn no_sums(node: Node) -> Result<Outcome, Error> {
    let missing = node.get("missing").map(Node::text).transpose()?;
    let missing = missing.unwrap_or("the sum of nats and the bytes of the evaluated text");
    Ok(Outcome::unchecked(&NO_SUMS, format!("not published: {missing}")))
}

/// What the claim gives to compute with.
struct Inputs {
    nats: Option<EvidenceQuantity>,
    bytes: Option<EvidenceQuantity>,
    loss: Option<EvidenceQuantity>,
    tokens: Option<EvidenceQuantity>,
    counts: Vec<EvidenceQuantity>,
    masks_match: bool,
    masks_differ: bool,
}

impl Inputs {
    fn read(node: Node, evidence: &Evidence) -> Result<Self, Error> {
        let quantity = |field: &str| -> Result<Option<EvidenceQuantity>, Error> {
            let Some(term) = node.get(field) else { return Ok(None) };
            let quantity = evidence.quantity(term)?;
            if quantity.interval.low().is_negative() {
                let found = format!("`{}`", quantity.text);
                return Err(NOT_COMPUTABLE.at(term.place(), "nothing negative", found));
            }
            Ok(Some(quantity))
        };
        let word = choice(node, "masks", &["match", "differ"])?;
        Ok(Self {
            nats: quantity("nats")?,
            bytes: quantity("bytes")?,
            loss: quantity("loss")?,
            tokens: quantity("tokens")?,
            counts: node
                .get("counts")
                .map(|list| evidence.quantities(list))
                .transpose()?
                .unwrap_or_default(),
            masks_match: word == Some("match"),
            masks_differ: word == Some("differ"),
        })
    }

    /// The nats, and the words for how they came about.
    fn nats(&self) -> Option<(Interval, &'static str)> {
        match (&self.nats, &self.loss, &self.tokens) {
            (Some(nats), ..) => Some((nats.interval.clone(), "nats")),
            (None, Some(loss), Some(tokens)) => {
                Some((&loss.interval * &tokens.interval, "loss × tokens"))
            }
            _ => None,
        }
    }

    /// Where all three are given: the sum against loss x tokens.
    fn disagreement(&self) -> Option<String> {
        let (nats, loss, tokens) =
            (self.nats.as_ref()?, self.loss.as_ref()?, self.tokens.as_ref()?);
        let product = &loss.interval * &tokens.interval;
        (!around(&product).meets(&nats.interval)).then(|| {
            format!(
                "loss × tokens is {}, the sum of nats {}",
                format_significant(&product.middle(), 10),
                nats.text
            )
        })
    }

    /// Every count that the nats may have been divided by, bytes last.
    fn divisors(&self) -> impl Iterator<Item = (&str, &Interval)> {
        let listed = self.counts.iter().map(|count| (count.label.as_str(), &count.interval));
        let tokens = self.tokens.iter().map(|tokens| ("tokens", &tokens.interval));
        let bytes = self.bytes.iter().map(|bytes| ("bytes", &bytes.interval));
        tokens.chain(listed).chain(bytes)
    }
}

/// One part in a million: what a value printed in full may be off from the sums.
fn million() -> BigRational {
    BigRational::new(1.into(), BigInt::from(1_000_000))
}

fn around(interval: &Interval) -> Interval {
    let radius = interval.middle().abs() * million();
    Interval::between(interval.low() - &radius, interval.high() + &radius)
}

/// Whether the print is finer than one part in a million, so that the tolerance decides.
fn is_fine(claimed: &Printed) -> bool {
    claimed.bound().is_none()
        && !claimed.approximate()
        && (claimed.is_full_float() || *claimed.last_place() < claimed.value().abs() * million())
}

fn verdict(claimed: &Printed, value: &Interval, claim: &Claim) -> Result<Outcome, Error> {
    if is_fine(claimed) {
        let claimed = claimed.interval();
        let outcome = if around(value).meets(&claimed) {
            Outcome::verified()
        } else {
            let off =
                (claimed.middle() / value.middle() - BigRational::from_integer(1.into())).abs();
            let parts = format_significant(&(off * BigRational::from_integer(100.into())), 3);
            Outcome::refuted(&DIFFERS, format!("off by {parts}%"))
        };
        return Ok(outcome.within("rel", "1e-6 of the value"));
    }
    let float = nearest_f64(&value.middle());
    let given = EvidenceQuantity { interval: value.clone(), float, ..EvidenceQuantity::count(0) };
    Ok(judge(claimed, &given, &Declared::of(claim)?, &DIFFERS))
}

/// The value as what it is, where another count or a forgotten ln 2 explains it.
fn named(
    claimed: &Printed,
    nats: &Interval,
    whose: &str,
    inputs: &Inputs,
    claim: &Claim,
) -> Result<Option<Outcome>, Error> {
    let mut found: Vec<(bool, String)> = Vec::new();
    for (label, count) in inputs.divisors() {
        let is_bytes = label == "bytes";
        let ratio = nats.div(count);
        let bits = bits_per_byte(nats, count);
        for (value, divisor, has_ln) in
            [(bits, format!("(ln 2 × {label})"), true), (ratio, label.to_owned(), false)]
        {
            // The right formula is what did not fit.
            let Some(value) = value.filter(|_| !(is_bytes && has_ln)) else { continue };
            if verdict(claimed, &value, claim)?.verdict == Verdict::Verified {
                found.push((is_bytes, format!("{whose} / {divisor}")));
            }
        }
    }
    let Some((of_bytes, _)) = found.first() else { return Ok(None) };
    let (code, not) = match of_bytes {
        true => (&NO_LN_TWO, "nats per byte, not bits"),
        false => (&OTHER_COUNT, "not bytes"),
    };
    let ways: Vec<_> = found.iter().map(|(_, way)| way.as_str()).collect();
    let reason = format!("{} = {}, {not}", claimed.text(), ways.join(", or "));
    Ok(Some(Outcome::refuted(code, reason)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quantity(label: &str, count: u64) -> EvidenceQuantity {
        EvidenceQuantity { label: label.to_owned(), ..EvidenceQuantity::count(count) }
    }

    fn inputs(bytes: u64, tokens: u64, characters: u64) -> Inputs {
        Inputs {
            nats: None,
            bytes: Some(quantity("", bytes)),
            loss: None,
            tokens: Some(quantity("", tokens)),
            counts: vec![quantity("characters", characters)],
            masks_match: false,
            masks_differ: false,
        }
    }

    proptest! {
        /// What was divided by another count is named as that, and by no other name.
        #[test]
        fn a_wrong_count_is_named(nats in 1_000_000_u64..9_000_000, bytes in 4_000_000_u64..8_000_000) {
            let (tokens, characters) = (bytes / 4, bytes - bytes / 50);
            let inputs = inputs(bytes, tokens, characters);
            let exact = Interval::integer(nats);
            let name = |divisor: f64| {
                let claimed = Printed::parse(&format!("{:.6}", nats as f64 / divisor)).unwrap();
                let nowhere = "schema = \"repro.post/1\"\nid = \"p\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nkind = \"bpb\"\n";
                let source = repro_receipt::source::Source::new("p.toml", nowhere.into()).unwrap();
                let post = crate::post::Post::parse(source).unwrap();
                let claim = post.claims().next().unwrap().unwrap();
                let found = named(&claimed, &exact, "nats", &inputs, &claim).unwrap();
                found.map(|outcome| outcome.reason.split(" = ").nth(1).unwrap().to_owned())
            };
            let ln_two = std::f64::consts::LN_2;
            prop_assert_eq!(name(bytes as f64 * ln_two), None);
            let named = |divisor: f64| name(divisor).unwrap_or_default();
            prop_assert_eq!(named(tokens as f64), "nats / tokens, not bytes");
            prop_assert_eq!(named(tokens as f64 * ln_two), "nats / (ln 2 × tokens), not bytes");
            prop_assert_eq!(
                named(characters as f64 * ln_two),
                "nats / (ln 2 × characters), not bytes"
            );
            prop_assert_eq!(named(bytes as f64), "nats / bytes, nats per byte, not bits");
        }
    }
}
