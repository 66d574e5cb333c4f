//! Token budgets: how long the runs of a cell are, and which schedule they follow.

use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

use super::fields::{identifier, known, part, positive, word};
use super::{Arm, BAD_LENGTH};
use crate::contract::{HorizonRule, Plan, StepRounding};
use repro_core::source::{Error, Location, Node};

/// The maximum number of steps that a run may have.
const STEP_CAP: u64 = 1 << 32;
/// The horizons that a study may name.
const HORIZONS: [HorizonRule; 5] = [
    HorizonRule::TotalDn,
    HorizonRule::ActiveDn,
    HorizonRule::EqualTokens,
    HorizonRule::Steps,
    HorizonRule::IsoFlop,
];

/// Whose schedule of the learning rate a run follows that covers a fraction of its horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleOf {
    /// Its own: the rate decays within the fraction.
    Fraction,
    /// That of the full horizon: the run stops under way.
    Full,
}

/// One token budget, a column of the grid.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Its name.
    pub id: String,
    /// The quantity that it is proportional to.
    pub rule: HorizonRule,
    /// The coefficient of that quantity.
    pub coefficient: BigRational,
    /// The arm whose parameters count; if absent, each arm's own.
    pub of: Option<String>,
    /// The fraction of the horizon that is run.
    pub fraction: BigRational,
    /// Whose schedule the runs follow.
    pub schedule: ScheduleOf,
    place: Location,
}

/// How long one run is, in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// The steps of the run.
    pub steps: u64,
    /// The steps of its schedule.
    pub schedule: u64,
}

impl Budget {
    /// Reads one table of `[[budget]]`.
    pub fn read(node: Node<'_>, arms: &[String]) -> Result<Self, Error> {
        node.only(&["id", "horizon", "coefficient", "of", "fraction", "schedule"])?;
        let words = HORIZONS.map(HorizonRule::word);
        let name = word(node.required("horizon")?, &words)?;
        let rule = HORIZONS.into_iter().find(|rule| rule.word() == name);
        let fraction = node.get("fraction").map(part).transpose()?;
        let schedule = match node.get("schedule") {
            None => ScheduleOf::Fraction,
            Some(schedule) => match word(schedule, &["own", "full"])? {
                "full" => ScheduleOf::Full,
                _ => ScheduleOf::Fraction,
            },
        };
        let of = node.get("of").map(|of| known(of, arms)).transpose()?;
        Ok(Self {
            id: identifier(node.required("id")?)?.to_owned(),
            rule: rule.unwrap_or(HorizonRule::EqualTokens),
            coefficient: positive(node.required("coefficient")?)?,
            of: of.map(str::to_owned),
            fraction: fraction.unwrap_or_else(BigRational::one),
            schedule,
            place: node.place(),
        })
    }

    /// A fraction of the same budget, with its own schedule.
    pub fn part(&self, fraction: &BigRational) -> Self {
        let schedule = ScheduleOf::Fraction;
        Self { fraction: &self.fraction * fraction, schedule, ..self.clone() }
    }

    /// The length of a run of `arm` in steps of `tokens_per_step`, to the nearest whole step.
    pub fn length(&self, arm: &Arm, arms: &[Arm], tokens_per_step: u64) -> Result<Length, Error> {
        let counted = self.of.as_ref().and_then(|id| arms.iter().find(|arm| arm.id == *id));
        let run = counted.unwrap_or(arm).as_run()?;
        let steps = |fraction: &BigRational| {
            let plan = Plan {
                rule: self.rule,
                coefficient: self.coefficient.clone(),
                fraction: fraction.clone(),
                tokens_per_step: Some(BigRational::from_integer(tokens_per_step.into())),
            };
            let planned = plan.apply(&run, &run).map_err(|r| r.moved(self.place.clone()))?;
            let steps = StepRounding::Nearest.round(&planned.steps).to_u64();
            steps.filter(|steps| (1..=STEP_CAP).contains(steps)).ok_or_else(|| {
                let expected = format!("from 1 to {STEP_CAP} steps of {tokens_per_step} tokens");
                let found = format!("{} tokens for `{}`", planned.tokens.round(), arm.id);
                BAD_LENGTH.at(self.place.clone(), expected, found)
            })
        };
        let own = steps(&self.fraction)?;
        let schedule = match self.schedule {
            ScheduleOf::Fraction => own,
            ScheduleOf::Full => steps(&BigRational::one())?,
        };
        Ok(Length { steps: own, schedule })
    }
}
