//! `repro diff --horizon`: how long each model trains under one horizon.

use num_rational::BigRational;
use num_traits::{One, Signed};
use serde_json::{Value as Json, json};

use super::{SCHEMA, described, exact};
use crate::cli::BAD_USAGE;
use crate::cli::args::{self, HorizonName, RoundingArg};
use repro_core::decimal::{Printed, Unit, format_significant, grouped};
use repro_core::source::{Error, Location};
use repro_model::contract::{
    HorizonRule, ModelHorizon, Plan, RunAtStep, StatedValue, StepRounding, TOLERANCE_PERCENT,
};
use repro_report::{Columns, paragraph};

/// The significant digits that people see of tokens, and of steps before rounding.
const TOKEN_DIGITS: usize = 10;
const STEP_DIGITS: usize = 8;
const EPOCH_DIGITS: usize = 4;

/// One horizon for every model, as `--horizon` asks.
pub struct Horizons {
    plan: Plan,
    rounding: Option<StepRounding>,
    planned: Vec<ModelHorizon>,
    /// Largest over smallest P_total.
    sizes: Option<BigRational>,
}

impl Horizons {
    /// Computes the horizon that the arguments describe.
    pub fn compute(
        name: HorizonName,
        own: &args::DiffArgs,
        runs: &[RunAtStep],
    ) -> Result<Self, Vec<Error>> {
        let one = |error: Error| vec![error];
        let positive = |option: &'static str, text: &Option<String>| {
            text.as_deref().map(|text| positive(option, text)).transpose()
        };
        let plan = Plan {
            rule: match name {
                HorizonName::TotalDn => HorizonRule::TotalDn,
                HorizonName::ActiveDn => HorizonRule::ActiveDn,
                HorizonName::EqualTokens => HorizonRule::EqualTokens,
                HorizonName::Steps => HorizonRule::Steps,
                HorizonName::IsoFlop => HorizonRule::IsoFlop,
                HorizonName::StrictReuse => HorizonRule::StrictReuse,
                HorizonName::RelaxedReuse => HorizonRule::RelaxedReuse,
            },
            // The command line asks for it wherever there is a horizon.
            coefficient: positive("--coefficient", &own.coefficient)
                .map_err(one)?
                .unwrap_or_else(BigRational::one),
            fraction: positive("--fraction", &own.fraction)
                .map_err(one)?
                .unwrap_or_else(BigRational::one),
            tokens_per_step: positive("--tokens-per-step", &own.tokens_per_step).map_err(one)?,
        };
        let rounding = own.rounding.map(|rounding| match rounding {
            RoundingArg::Down => StepRounding::Down,
            RoundingArg::Nearest => StepRounding::Nearest,
            RoundingArg::Up => StepRounding::Up,
        });
        let each = runs.iter().flat_map(|run| Some(plan.apply(run, runs.first()?)));
        let (planned, errors): (Vec<_>, Vec<_>) = each.partition(Result::is_ok);
        let errors: Vec<_> = errors.into_iter().filter_map(Result::err).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let planned = planned.into_iter().flatten().collect();
        let sizes = runs.iter().map(|run| run.total);
        let sizes = sizes.clone().max().zip(sizes.min().filter(|least| *least > 0));
        let sizes = sizes.map(|(most, least)| BigRational::new(most.into(), least.into()));
        Ok(Self { plan, rounding, planned, sizes })
    }

    /// The declared rounding, else all three.
    fn roundings(&self) -> &[StepRounding] {
        self.rounding.as_ref().map_or(&StepRounding::ALL, std::slice::from_ref)
    }

    /// The answer as JSON.
    pub fn json(&self, runs: &[RunAtStep], labels: &[String]) -> Json {
        let steps = |planned: &ModelHorizon| -> serde_json::Map<String, Json> {
            let rounded = |rule: &StepRounding| {
                (rule.word().to_owned(), rule.round(&planned.steps).to_string().into())
            };
            self.roundings().iter().map(rounded).collect()
        };
        let model = |(planned, label): (&ModelHorizon, &String)| {
            json!({
                "label": label,
                "params": planned.params.map(|params| params.to_string()),
                "tokens_per_step": exact(&planned.tokens_per_step),
                "tokens": exact(&planned.tokens),
                "unique_tokens": planned.unique.as_ref().map(exact),
                "epochs": planned.epochs().as_ref().map(exact),
                "steps": exact(&planned.steps),
                "rounded": steps(planned),
            })
        };
        json!({
            "schema": SCHEMA,
            "runs": described(runs, labels),
            "plan": {
                "rule": self.plan.rule.word(),
                "coefficient": exact(&self.plan.coefficient),
                "fraction": exact(&self.plan.fraction),
                "rounding": self.rounding.map(StepRounding::word),
                "models": self.planned.iter().zip(labels).map(model).collect::<Vec<_>>(),
            },
        })
    }

    /// The answer as a table.
    pub fn text(&self, labels: &[String], width: usize) -> String {
        let plan = &self.plan;
        let percent = &plan.fraction * BigRational::from_integer(100.into());
        let part = match plan.fraction.is_one() {
            true => String::new(),
            false => format!("{}% of ", exact(&percent)),
        };
        let mut text = format!(
            "{}: {part}{} {}; steps {}\n\n",
            plan.rule.word(),
            grouped(&exact(&plan.coefficient)),
            plan.rule.unit(),
            match self.rounding {
                Some(rule) => format!("rounded {}, as declared", rule.word()),
                None => "rounded in all three ways, because none is declared".to_owned(),
            }
        );
        let object = match plan.rule {
            HorizonRule::TotalDn => Some("P_total"),
            HorizonRule::ActiveDn
            | HorizonRule::IsoFlop
            | HorizonRule::StrictReuse
            | HorizonRule::RelaxedReuse => Some("P_active"),
            HorizonRule::EqualTokens | HorizonRule::Steps => None,
        };
        let words = self.roundings().iter().map(|rule| rule.word());
        let reuse: &[&str] = if plan.rule.reuses() { &["unique", "epochs"] } else { &[] };
        let before = object.into_iter().chain(["tokens"]).chain(reuse.iter().copied());
        let headings = before.chain(["per step", "steps"]).chain(words);
        let mut table = Columns::new(headings.map(str::to_owned).collect());
        for (planned, label) in self.planned.iter().zip(labels) {
            let params = planned.params.map(|params| grouped(&params.to_string()));
            let tokens = StatedValue::Number(planned.tokens.clone()).shown(TOKEN_DIGITS);
            let per_step = grouped(&exact(&planned.tokens_per_step));
            let steps = grouped(&format_significant(&planned.steps, STEP_DIGITS));
            let unique = planned
                .unique
                .clone()
                .map(|unique| StatedValue::Number(unique).shown(TOKEN_DIGITS));
            let epochs = planned.epochs().map(|epochs| format_significant(&epochs, EPOCH_DIGITS));
            let numbers = [tokens].into_iter().chain(unique).chain(epochs).chain([per_step, steps]);
            let rounded = self
                .roundings()
                .iter()
                .map(|rule| grouped(&rule.round(&planned.steps).to_string()));
            table.row(label, params.into_iter().chain(numbers).chain(rounded).collect());
        }
        text.push_str(&table.render("model", width, true));
        if let Some(sizes) =
            self.sizes.as_ref().filter(|sizes| plan.rule.reuses() && **sizes > fixed())
        {
            let sentence = format!(
                "equal compute and data only: the largest P_total is {} times the smallest",
                format_significant(sizes, EPOCH_DIGITS)
            );
            text.push('\n');
            text.push_str(&paragraph("size", &sentence, width));
        }
        text
    }
}

/// Largest over smallest of what still counts as held fixed.
fn fixed() -> BigRational {
    BigRational::new((100 + TOLERANCE_PERCENT).into(), 100.into())
}

/// A positive number as printed, taken exactly, or the ratio of two.
fn positive(option: &'static str, text: &str) -> Result<BigRational, Error> {
    let refused = |found: String| {
        let expected = "a positive number such as `26.24`, `20%` or `5,000/190`";
        BAD_USAGE.at(Location::file(option), expected, found)
    };
    let one = |text: &str| -> Result<BigRational, Error> {
        let printed = Printed::parse(text).map_err(|error| refused(error.to_string()))?;
        let vague =
            printed.approximate() || printed.bound().is_some() || printed.spread().is_some();
        if vague || printed.unit() == Unit::Points || !printed.value().is_positive() {
            return Err(refused(format!("`{text}`")));
        }
        Ok(printed.in_ones())
    };
    match text.split_once('/') {
        None => one(text),
        Some((above, below)) => Ok(one(above)? / one(below)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_exact() {
        let read = |text| positive("--coefficient", text).map(|number| exact(&number)).ok();
        assert_eq!(read("26.24").as_deref(), Some("26.24"));
        assert_eq!(read("20%").as_deref(), Some("0.2"));
        assert_eq!(read("4,999/5").as_deref(), Some("999.8"));
        assert_eq!(read("20x").as_deref(), Some("20"));
        for wrong in ["0", "-1", "~20", "20 ± 1", ">5", "1/0", "", "a", "1/2/3", "5 pp"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
