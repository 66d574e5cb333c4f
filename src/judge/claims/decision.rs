//! Keep or discard follows from the declared thresholds.

use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::tolerance::DIGITS;
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_exact::decimal::{Bound, Interval, format_significant, nearest_f64};
use repro_receipt::source::{Code, Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    OTHERWISE = "decision::otherwise", "the declared thresholds lead to the other decision", "correct the decision, or say by which other rule it was made";
    STRADDLES = "decision::straddles", "the printed digits lie on both sides of a threshold", "publish more digits";
    UNDER_NOISE = "decision::under-noise", "a threshold is smaller than one standard deviation of the noise", "raise the threshold, or average over more runs";
    NEAR = "decision::near-threshold", "a value lies within one standard deviation of its threshold", "average over more runs";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "decision",
    summary: "keep or discard follows from declared thresholds",
    explain: "Each condition compares a value, or a value less its `baseline`, with an exact \
         threshold: at_least, above, at_most or below. All conditions (or any, with `require`) \
         decide for \"keep\"; otherwise it is \"discard\". Values are the intervals of their \
         digits; if they straddle a threshold they decide nothing. With the `noise` of one run, \
         as an sd or as the values of replicates, a threshold on a difference that is smaller \
         than one sd is flagged, and so is a value closer than one sd to its threshold.\n\
         How it can mislead: a rule can be followed to the letter and still keep noise: the \
         difference of two single runs has an sd of √2 times that of one, and of many candidates \
         some pass by chance.\n\
         Reference: the speedrun rule for new records (p < 0.01 over several runs).",
    fields: &[
        FieldSpec::required(
            "conditions",
            "tables of `value`, `baseline`, `rule` (at_least, above, at_most, below), `threshold`, `label`",
        ),
        FieldSpec::required("decided", "what the publication decided: keep or discard"),
        FieldSpec::optional("require", "all (default) or any of the conditions"),
        FieldSpec::optional(
            "noise",
            "of one run: a table of `sd` (a term) or `values` (of replicates)",
        ),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let list = node.required("conditions")?;
    let conditions: Vec<Condition> =
        list.items()?.map(|one| Condition::read(one, evidence)).collect::<Result<_, _>>()?;
    if conditions.is_empty() {
        return Err(BAD_CHOICE.at(list.place(), "at least one condition", "none"));
    }
    let keep = either(node.required("decided")?, "keep", "discard")?;
    let all = node.get("require").map_or(Ok(true), |rule| either(rule, "all", "any"))?;
    let noise = node.get("noise").map(|noise| variance(noise, evidence)).transpose()?;
    let mut outcome = judge(&conditions, all, keep);
    for finding in conditions.iter().filter_map(|one| one.doubtful(noise.as_ref()?)) {
        outcome = outcome.noting(finding.0, finding.1);
    }
    Ok(outcome.within("exact", "values by their digits, thresholds exact").by(Method::Recomputed))
}

/// Which of two words stands there; true for the first.
fn either(node: Node, yes: &str, no: &str) -> Result<bool, Error> {
    match node.text()? {
        text if text == yes => Ok(true),
        text if text == no => Ok(false),
        other => {
            Err(BAD_CHOICE.at(node.place(), format!("`{yes}` or `{no}`"), format!("`{other}`")))
        }
    }
}

/// One comparison with a threshold.
struct Condition {
    label: String,
    found: Interval,
    of_a_difference: bool,
    bound: Bound,
    threshold: BigRational,
}

impl Condition {
    fn read(node: Node, evidence: &Evidence) -> Result<Self, Error> {
        node.only(&["label", "value", "baseline", "rule", "threshold"])?;
        let value = evidence.quantity(node.required("value")?)?;
        let baseline = node.get("baseline").map(|term| evidence.quantity(term)).transpose()?;
        let rule = node.required("rule")?;
        let bound = match rule.text()? {
            "at_least" => Bound::AtLeast,
            "above" => Bound::Above,
            "at_most" => Bound::AtMost,
            "below" => Bound::Below,
            other => {
                let expected = "`at_least`, `above`, `at_most` or `below`";
                return Err(BAD_CHOICE.at(rule.place(), expected, format!("`{other}`")));
            }
        };
        let label = node.get("label").map(Node::text).transpose()?.unwrap_or_default();
        Ok(Self {
            label: label.to_owned(),
            of_a_difference: baseline.is_some(),
            found: match baseline {
                Some(baseline) => &value.interval - &baseline.interval,
                None => value.interval,
            },
            bound,
            threshold: evidence.quantity(node.required("threshold")?)?.value(),
        })
    }

    fn holds(&self) -> Option<bool> {
        self.bound.satisfied(&self.found, &self.threshold)
    }

    /// "loss -0.004 is not <= -0.005".
    fn text(&self) -> String {
        let sign = match self.bound {
            Bound::Above => ">",
            Bound::AtLeast => ">=",
            Bound::Below => "<",
            Bound::AtMost => "<=",
        };
        let relation = match self.holds() {
            Some(true) => sign.to_owned(),
            Some(false) => format!("is not {sign}"),
            None => format!("may be {sign}"),
        };
        let found = format_significant(&self.found.middle(), DIGITS);
        let threshold = format_significant(&self.threshold, DIGITS);
        format!("{} {found} {relation} {threshold}", self.label).trim().to_owned()
    }

    /// What the noise of one run, given as its variance, says against this condition.
    fn doubtful(&self, variance: &BigRational) -> Option<(&'static Code, String)> {
        let distance = match self.of_a_difference {
            true => self.threshold.clone(),
            false => self.found.middle() - &self.threshold,
        };
        if &distance * &distance >= *variance {
            return None;
        }
        let sd =
            BigRational::from_float(nearest_f64(variance).sqrt()).unwrap_or_else(BigRational::zero);
        let (size, sd) = (format_significant(&distance.abs(), 4), format_significant(&sd, 3));
        Some(match self.of_a_difference {
            true => (
                &UNDER_NOISE,
                format!("the threshold {size} is smaller than one sd of the noise, {sd}"),
            ),
            false => (
                &NEAR,
                format!("{}: {size} from the threshold, one sd of the noise is {sd}", self.text()),
            ),
        })
    }
}

/// The variance of one run: the square of a declared sd, or that of replicates over n - 1.
fn variance(node: Node, evidence: &Evidence) -> Result<BigRational, Error> {
    node.only(&["sd", "values"])?;
    match (node.get("sd"), node.get("values")) {
        (Some(sd), None) => {
            let sd = evidence.quantity(sd)?.value();
            Ok(&sd * &sd)
        }
        (None, Some(list)) => {
            let values = evidence.quantities(list)?;
            if values.len() < 2 {
                let found = values.len().to_string();
                return Err(BAD_CHOICE.at(list.place(), "at least two replicates", found));
            }
            let whole = |n: usize| BigRational::from_integer(n.into());
            let values: Vec<_> = values.iter().map(|value| value.value()).collect();
            let mean = values.iter().sum::<BigRational>() / whole(values.len());
            let squares = values.iter().map(|value| (value - &mean) * (value - &mean));
            Ok(squares.sum::<BigRational>() / whole(values.len() - 1))
        }
        _ => Err(BAD_CHOICE.at(node.place(), "`sd` or `values`", "both or neither")),
    }
}

fn judge(conditions: &[Condition], all: bool, keep: bool) -> Outcome {
    let answers = || conditions.iter().map(Condition::holds);
    let found = if all {
        if answers().any(|answer| answer == Some(false)) {
            Some(false)
        } else {
            answers().all(|answer| answer == Some(true)).then_some(true)
        }
    } else if answers().any(|answer| answer == Some(true)) {
        Some(true)
    } else {
        answers().all(|answer| answer == Some(false)).then_some(false)
    };
    let texts: Vec<_> = conditions.iter().map(Condition::text).collect();
    let text = texts.join(", ");
    let word = |keep: bool| if keep { "keep" } else { "discard" };
    let outcome = match found {
        Some(found) if found == keep => Outcome::verified(),
        Some(found) => {
            let why =
                format!("decided {}, but the thresholds say {}: {text}", word(keep), word(found));
            Outcome::refuted(&OTHERWISE, why)
        }
        None => {
            Outcome::inconclusive(&STRADDLES, format!("the printed digits do not decide: {text}"))
        }
    };
    outcome.giving(found.map_or_else(|| text.clone(), |found| format!("{}: {text}", word(found))))
}
