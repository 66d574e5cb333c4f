//! Printed step counts follow from a token horizon.

use super::tolerance::{TOO_COARSE, printed_steps};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, NOT_A_NUMBER, whole};
use crate::post::Claim;
use num_bigint::BigInt;
use repro_exact::decimal::{Interval, format_significant};
use repro_exact::formula::Precision;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_runs::contract::{Horizon, StepRounding};

repro_receipt::source::codes! {
    DIFFERS = "horizon_steps::differs", "a printed step count does not follow from the horizon", "correct the count, the coefficient or the declared rounding";
    NO_ONE_RULE = "horizon_steps::no-one-rule", "no one rounding rule gives all the printed step counts", "declare the rounding rule and use it throughout";
    INFERRED = "horizon_steps::inferred-rounding", "the rounding rule is not declared; it was found by search", "declare the rounding rule";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "horizon_steps",
    summary: "step counts follow from tokens per parameter",
    explain: "steps = fraction x coefficient x parameters / tokens per step, rounded to a whole \
         step. The rounding rule is the declared one; if none is declared, down, nearest and up \
         are tried, and the rules that give every printed count of the claim are named as \
         inferred. Several horizons in one claim ask whether one rule fits them all.\n\
         How it can mislead: with few counts several rules fit; a fraction may have been computed \
         from the rounded full horizon instead of the exact one.\n\
         Reference: Hoffmann et al. 2022, on horizons proportional to parameters.",
    fields: &[
        FieldSpec::required("coefficient", "tokens per parameter, exact"),
        FieldSpec::required("tokens_per_step", "tokens per optimizer step"),
        FieldSpec::optional("params", "the parameter count, if the claim has one horizon"),
        FieldSpec::optional("fraction", "which part of the horizon; the whole if absent"),
        FieldSpec::optional(
            "horizons",
            "tables of `label`, `params`, `fraction`, `printed`, for several",
        ),
        FieldSpec::optional("rounding", "the declared rule: down, nearest or up"),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let declared = claim.node.get("rounding").map(rule).transpose()?;
    let counts = counts(claim, evidence)?;
    let tried: &[StepRounding] = match &declared {
        Some(rule) => std::slice::from_ref(rule),
        None => &StepRounding::ALL,
    };
    let fits = |count: &Count| -> Vec<StepRounding> {
        tried.iter().copied().filter(|rule| count.fits(*rule)).collect()
    };
    let common: Vec<_> =
        tried.iter().copied().filter(|rule| counts.iter().all(|count| count.fits(*rule))).collect();
    let each: Vec<_> = counts.iter().map(|count| count.text(&fits(count), tried)).collect();
    let coarse: Vec<_> = counts.iter().filter(|count| count.is_coarse()).collect();
    let outcome = if let Some(count) = coarse.first() {
        Outcome::inconclusive(
            &TOO_COARSE,
            format!("inputs too coarse: {}", count.text(&fits(count), tried)),
        )
    } else if !common.is_empty() {
        let outcome = Outcome::verified();
        if declared.is_some() || counts.iter().all(|count| whole(&count.exact).is_some()) {
            outcome
        } else {
            let message = format!(
                "rounding inferred, {} of {} tried: {}",
                common.len(),
                tried.len(),
                words(&common)
            );
            outcome.noting(&INFERRED, message)
        }
    } else if counts.iter().all(|count| !fits(count).is_empty()) {
        Outcome::refuted(
            &NO_ONE_RULE,
            format!("no one rounding rule gives all of them: {}", each.join("; ")),
        )
    } else {
        let off: Vec<_> = counts
            .iter()
            .filter(|count| fits(count).is_empty())
            .map(|count| count.text(&[], tried))
            .collect();
        Outcome::refuted(&DIFFERS, off.join("; "))
    };
    let exact: Vec<_> =
        counts.iter().map(|count| format_significant(&count.exact.middle(), 10)).collect();
    Ok(outcome
        .giving(exact.join(", "))
        .within("exact_integer", "exact, under one rounding rule")
        .by(Method::Recomputed))
}

/// A printed count and the exact horizon behind it.
struct Count {
    label: String,
    printed: BigInt,
    exact: Interval,
}

impl Count {
    /// Whether more than ten counts would fit, so that a fit shows little.
    fn is_coarse(&self) -> bool {
        self.exact.width() > num_rational::BigRational::from_integer(10.into())
            && StepRounding::ALL.into_iter().any(|rule| self.fits(rule))
    }

    fn fits(&self, rule: StepRounding) -> bool {
        rule.round(self.exact.low()) <= self.printed
            && self.printed <= rule.round(self.exact.high())
    }

    /// "large: 401 steps are printed for 401.6 (down)", or what it would be where no rule fits.
    fn text(&self, fitting: &[StepRounding], tried: &[StepRounding]) -> String {
        let fit = if fitting.is_empty() {
            let mut counts: Vec<_> =
                tried.iter().map(|rule| rule.round(&self.exact.middle()).to_string()).collect();
            counts.sort();
            counts.dedup();
            let whose = if tried.len() == 1 { words(tried) } else { "rounded".to_owned() };
            format!("{whose}: {}", counts.join(" or "))
        } else {
            words(fitting)
        };
        let label = if self.label.is_empty() { String::new() } else { format!("{}: ", self.label) };
        let [low, high] =
            [self.exact.low(), self.exact.high()].map(|end| format_significant(end, 10));
        let exact = if low == high { low } else { format!("{low} to {high}") };
        format!("{label}{} steps are printed for {exact} ({fit})", self.printed)
    }
}

fn counts(claim: &Claim, evidence: &Evidence) -> Result<Vec<Count>, Error> {
    let node = claim.node;
    let coefficient =
        evidence.quantity_as(node.required("coefficient")?, Precision::Coefficient)?.interval;
    let tokens_node = node.required("tokens_per_step")?;
    let tokens_per_step = evidence.quantity(tokens_node)?.interval;
    let one = |node: Node, printed: Node| -> Result<Count, Error> {
        let params = evidence.quantity(node.required("params")?)?.interval;
        let fraction = node
            .get("fraction")
            .map(|fraction| evidence.quantity_as(fraction, Precision::Coefficient))
            .transpose()?;
        let fraction = fraction.map_or_else(|| Interval::integer(1), |fraction| fraction.interval);
        let horizon = Horizon {
            fraction,
            coefficient: coefficient.clone(),
            params,
            tokens_per_step: tokens_per_step.clone(),
        };
        let exact = horizon.steps().ok_or_else(|| {
            NOT_A_NUMBER.at(tokens_node.place(), "a positive number of tokens per step", "zero")
        })?;
        let count = printed_steps(printed)?;
        let label = node.get("label").map(Node::text).transpose()?.unwrap_or_default().to_owned();
        Ok(Count { label, printed: count, exact })
    };
    match node.get("horizons") {
        Some(list) => {
            let horizon = |item: Node| {
                item.only(&["label", "params", "fraction", "printed"])?;
                one(item, item.required("printed")?)
            };
            let counts: Vec<_> = list.items()?.map(horizon).collect::<Result<_, _>>()?;
            if counts.is_empty() {
                return Err(BAD_CHOICE.at(list.place(), "at least one horizon", "none"));
            }
            Ok(counts)
        }
        None => {
            let (_, claimed) = super::claimed(claim)?;
            let mut count = one(node, claimed)?;
            count.label.clear();
            Ok(vec![count])
        }
    }
}

fn rule(node: Node) -> Result<StepRounding, Error> {
    let text = node.text()?;
    StepRounding::ALL.into_iter().find(|rule| rule.word() == text).ok_or_else(|| {
        BAD_CHOICE.at(node.place(), "`down`, `nearest` or `up`", format!("`{text}`"))
    })
}

fn words(rules: &[StepRounding]) -> String {
    let words: Vec<_> = rules.iter().map(|rule| rule.word()).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_exact::decimal::Printed;

    fn count(printed: i32, exact: &str) -> Count {
        let exact = Printed::parse(exact).unwrap().interval();
        Count { label: "MoE-64".to_owned(), printed: printed.into(), exact }
    }

    #[test]
    fn a_count_fits_where_some_value_of_the_interval_rounds_to_it() {
        let fitting = |printed, exact| {
            let count = count(printed, exact);
            StepRounding::ALL.into_iter().filter(|rule| count.fits(*rule)).collect::<Vec<_>>()
        };
        assert_eq!(fitting(7562, "7562.80"), [StepRounding::Down]);
        assert_eq!(fitting(7563, "7562.80"), [StepRounding::Nearest, StepRounding::Up]);
        assert_eq!(fitting(7564, "7562.80"), []);
        // 7562.5 to 7563.5.
        assert_eq!(fitting(7562, "7563"), [StepRounding::Down]);
    }

    #[test]
    fn what_does_not_fit_says_what_would() {
        let count = count(7570, "7562.80");
        let all = count.text(&[], &StepRounding::ALL);
        assert_eq!(
            all,
            "MoE-64: 7570 steps are printed for 7562.795 to 7562.805 (rounded: 7562 or 7563)"
        );
        assert!(count.text(&[], &[StepRounding::Down]).ends_with("(down: 7562)"));
        assert!(!count.is_coarse());
    }
}
