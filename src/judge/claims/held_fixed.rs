//! What is said to be held fixed is equal where the compared numbers were read.

use super::statement::worst;
use super::tolerance::{Declared, fraction, judge, percent, printed};
use super::{ClaimKind, FieldSpec, choice};
use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity, whole};
use crate::post::Claim;
use num_rational::BigRational;
use num_traits::{One, Signed};
use repro_exact::decimal::format_significant;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_runs::contract::Schedule;

/// What counts as equal where the post declares nothing: 2%.
const EQUAL_PERCENT: i32 = 2;

repro_receipt::source::codes! {
    NOT_EQUAL = "held_fixed::not-equal", "a quantity that is said to be held fixed differs where the numbers were read", "compare at equal values, or say that it differs";
    ALL_EQUAL = "held_fixed::all-equal", "quantities that are said to differ are equal", "correct the sentence";
    OTHER_VALUE = "held_fixed::other-value", "what is held fixed is equal, but has another value than printed", "correct the printed value";
    NOT_GROWING = "held_fixed::not-growing", "values that are said to grow do not", "correct the sentence";
    UNDECIDED = "held_fixed::undecided", "the printed digits do not decide", "publish more digits";
    ALSO_DIFFERS = "held_fixed::also-differs", "something else that the numbers depend on differs", "hold it fixed, or name it where the numbers are compared";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "held_fixed",
    summary: "what is said to be held fixed is equal where the numbers were read",
    explain: "Computes the quantity for each run at the step where its number was read, and \
         reports largest over smallest. Equal means within the declared tolerance, else within \
         2%, the verifier's default. With `runs` (a config and a step each) the phase of the \
         learning-rate schedule is compared too, and `also` adds further quantities; those are \
         reported next to the verdict. A `claimed` number must match every run, by its printed \
         digits. `relation` states \"grows\" (each value above the one before) or \"differs\" \
         instead of \"equal\".\n\
         How it can mislead: it sees only the given quantities; a contract has many.\n\
         Reference: Hägele et al. 2024, Scaling Laws and Compute-Optimal Training Beyond Fixed \
         Training Durations, on reading losses inside and outside the cooldown.",
    fields: &[
        FieldSpec::required("quantity", "what is said to be held fixed, in words"),
        FieldSpec::required("values", "a labeled term for each run"),
        FieldSpec::optional("tolerance", "what counts as equal; 2% if absent"),
        FieldSpec::optional("relation", "equal (default), grows or differs"),
        FieldSpec::optional(
            "also",
            "further quantities: tables of `quantity`, `values`, `tolerance`",
        ),
        FieldSpec::optional(
            "runs",
            "tables of `label`, `config` and `step`: compares the schedule's phase",
        ),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let main = Comparison::read(node, evidence)?;
    let relation = choice(node, "relation", &["equal", "grows", "differs"])?.unwrap_or("equal");
    let mut outcome = match relation {
        "equal" => worst(vec![main.equal(), main.is_what_is_printed(claim)?]),
        _ if claim.claimed.is_some() => {
            let expected = "no `claimed`, which is one value of all runs";
            return Err(BAD_CHOICE.at(claim.place(), expected, "one for runs that differ"));
        }
        "grows" => main.grows(),
        _ => main.differs(),
    };
    if let Some(also) = node.get("also") {
        for further in also.items()? {
            further.only(&["quantity", "values", "tolerance"])?;
            let further = Comparison::read(further, evidence)?;
            if further.are_equal() == Some(false) {
                outcome = outcome.noting(
                    &ALSO_DIFFERS,
                    format!("{} is not held fixed: {}", further.quantity, further.spread()),
                );
            }
        }
    }
    if let Some(runs) = node.get("runs")
        && let Some(phases) = differing_phases(runs, evidence)?
    {
        outcome =
            outcome.noting(&ALSO_DIFFERS, format!("the learning-rate phase differs: {phases}"));
    }
    let allowed =
        format!("{}% ({})", format_significant(&(&main.tolerance * hundred()), 4), main.whose);
    let outcome = match relation {
        "grows" => outcome.within("exact", "each interval above the one before"),
        _ => outcome.within("ratio", allowed),
    };
    Ok(outcome.giving(main.text()).by(Method::Recomputed))
}

/// Largest over smallest: of the values as printed, and the least that their digits allow.
struct Ratio {
    printed: BigRational,
    least: BigRational,
}

/// One quantity over all runs.
struct Comparison<'a> {
    quantity: &'a str,
    values: Vec<EvidenceQuantity>,
    tolerance: BigRational,
    whose: &'static str,
}

impl<'a> Comparison<'a> {
    fn read(node: Node<'a>, evidence: &Evidence) -> Result<Self, Error> {
        let values_node = node.required("values")?;
        let values = evidence.quantities(values_node)?;
        if values.len() < 2 {
            return Err(BAD_CHOICE.at(
                values_node.place(),
                "at least two values",
                values.len().to_string(),
            ));
        }
        let declared = node.get("tolerance").map(fraction).transpose()?;
        let whose = if declared.is_some() { "declared" } else { "the verifier's default" };
        let tolerance = declared.unwrap_or_else(|| percent(EQUAL_PERCENT));
        Ok(Self { quantity: node.required("quantity")?.text()?, values, tolerance, whose })
    }

    /// Whether each value is the one that the claim prints, where it prints one.
    fn is_what_is_printed(&self, claim: &Claim) -> Result<Outcome, Error> {
        let Some(node) = claim.claimed else { return Ok(Outcome::verified()) };
        let claimed = printed(node)?;
        let one = |value| judge(&claimed, value, &Declared::default(), &OTHER_VALUE);
        Ok(worst(self.values.iter().map(one).collect()))
    }

    fn text(&self) -> String {
        // Computed values are cut to what a comparison needs; printed ones stay as printed.
        let short =
            |v: &EvidenceQuantity| match v.derivation.is_empty() || whole(&v.interval).is_some() {
                true => v.text.clone(),
                false => format_significant(&v.value(), 5),
            };
        let values: Vec<_> =
            self.values.iter().map(|v| format!("{} {}", v.label, short(v))).collect();
        values.join(", ")
    }

    /// Largest over smallest, as printed and at the least; `None` where values differ in sign or one
    /// is zero, so that a ratio means nothing.
    fn ratio(&self) -> Option<Ratio> {
        let positive = self.values.iter().all(|v| v.value().is_positive());
        let negative = self.values.iter().all(|v| v.value().is_negative());
        let sizes: Vec<_> = self.values.iter().map(|v| v.interval.abs()).collect();
        let largest = sizes.iter().max_by_key(|size| size.middle())?;
        let smallest = sizes.iter().min_by_key(|size| size.middle())?;
        (positive || negative).then(|| Ratio {
            printed: largest.middle() / smallest.middle(),
            least: largest.low() / smallest.high(),
        })
    }

    /// Whether the values are equal within the tolerance; `None` where the printed digits allow both.
    fn are_equal(&self) -> Option<bool> {
        let within = BigRational::from_integer(1.into()) + &self.tolerance;
        let first = self.values.first().map(EvidenceQuantity::value);
        if self.values.iter().all(|v| Some(v.value()) == first) {
            return Some(true);
        }
        match self.ratio() {
            Some(ratio) if ratio.printed <= within => Some(true),
            Some(ratio) if ratio.least > within => Some(false),
            Some(_) => None,
            None => {
                let meets = |a: &EvidenceQuantity| {
                    self.values.iter().all(|b| a.interval.meets(&b.interval))
                };
                if self.values.iter().all(meets) { None } else { Some(false) }
            }
        }
    }

    fn spread(&self) -> String {
        match self.ratio() {
            Some(ratio) if !ratio.printed.is_one() => format!(
                "{}: the largest is {} times the smallest",
                self.text(),
                format_significant(&ratio.printed, 4)
            ),
            _ => self.text(),
        }
    }

    fn undecided(&self) -> Outcome {
        let reason =
            format!("the printed digits of {} do not decide: {}", self.quantity, self.spread());
        Outcome::inconclusive(&UNDECIDED, reason)
    }

    fn equal(&self) -> Outcome {
        match self.are_equal() {
            Some(true) => Outcome::verified(),
            Some(false) => Outcome::refuted(
                &NOT_EQUAL,
                format!("{} is not held fixed: {}", self.quantity, self.spread()),
            ),
            None => self.undecided(),
        }
    }

    fn differs(&self) -> Outcome {
        match self.are_equal() {
            Some(false) => Outcome::verified(),
            Some(true) => Outcome::refuted(
                &ALL_EQUAL,
                format!("{} held fixed: {}", self.quantity, self.spread()),
            ),
            None => self.undecided(),
        }
    }

    fn grows(&self) -> Outcome {
        let steps: Vec<_> = self
            .values
            .windows(2)
            .map(|pair| {
                let (before, after) = (&pair[0].interval, &pair[1].interval);
                if before.meets(after) { None } else { Some(before.high() < after.low()) }
            })
            .collect();
        if steps.contains(&Some(false)) {
            Outcome::refuted(
                &NOT_GROWING,
                format!("no growth of {}: {}", self.quantity, self.text()),
            )
        } else if steps.contains(&None) {
            Outcome::inconclusive(
                &UNDECIDED,
                format!("the printed digits do not separate {}", self.text()),
            )
        } else {
            Outcome::verified()
        }
    }
}

fn hundred() -> BigRational {
    BigRational::from_integer(100.into())
}

/// The phases of the runs at their steps, if they are not all the same.
fn differing_phases(runs: Node, evidence: &Evidence) -> Result<Option<String>, Error> {
    let mut phases = Vec::new();
    for run in runs.items()? {
        run.only(&["label", "config", "step"])?;
        let step_node = run.required("step")?;
        let step = whole(&evidence.quantity(step_node)?.interval)
            .and_then(|step| u64::try_from(step).ok());
        let step = step.ok_or_else(|| {
            crate::evidence::NOT_A_NUMBER.at(step_node.place(), "a whole step", "another number")
        })?;
        let schedule = Schedule::of_config(evidence.document(run.required("config")?)?)?;
        phases.push((run.required("label")?.text()?, schedule.phase(step)));
    }
    // Two runs in one decay, at different parts of it, are not in one phase.
    let texts: Vec<_> = phases.iter().map(|(_, phase)| phase.to_string()).collect();
    if texts.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(None);
    }
    let texts: Vec<_> = phases.iter().map(|(label, phase)| format!("{label} {phase}")).collect();
    Ok(Some(texts.join(", ")))
}
