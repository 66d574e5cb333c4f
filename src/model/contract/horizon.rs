//! Horizons: how long each model trains, in tokens and in whole steps.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use super::{NO_ACTIVE, NO_STEP_SIZE, RunAtStep};
use repro_core::decimal::Interval;
use repro_core::source::{Error, Location};

/// A token horizon: `fraction x coefficient x params` tokens, in steps of `tokens_per_step`.
#[derive(Debug, Clone)]
pub struct Horizon {
    /// The fraction of the whole horizon.
    pub fraction: Interval,
    /// Tokens per parameter.
    pub coefficient: Interval,
    /// Parameters: P_total for `total_dn`, P_active for `active_dn`.
    pub params: Interval,
    /// Tokens per optimizer step.
    pub tokens_per_step: Interval,
}

impl Horizon {
    /// The horizon in tokens, before rounding.
    pub fn tokens(&self) -> Interval {
        &(&self.fraction * &self.coefficient) * &self.params
    }

    /// The horizon in steps, before rounding; `None` if a step may have no tokens.
    pub fn steps(&self) -> Option<Interval> {
        self.tokens().div(&self.tokens_per_step)
    }
}

/// How a horizon becomes a whole number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRounding {
    /// Cut off.
    Down,
    /// To the nearest, halves up.
    Nearest,
    /// The next whole step.
    Up,
}

impl StepRounding {
    /// Every rule.
    pub const ALL: [Self; 3] = [Self::Down, Self::Nearest, Self::Up];

    /// The word in post files and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Nearest => "nearest",
            Self::Up => "up",
        }
    }

    /// Rounds a number of steps.
    pub fn round(self, steps: &BigRational) -> BigInt {
        match self {
            Self::Down => steps.floor().to_integer(),
            Self::Nearest => (steps + BigRational::new(1.into(), 2.into())).floor().to_integer(),
            Self::Up => steps.ceil().to_integer(),
        }
    }
}

/// The quantity that a horizon is proportional to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HorizonRule {
    /// Tokens per stored parameter.
    TotalDn,
    /// Tokens per parameter that a token touches.
    ActiveDn,
    /// The same number of tokens for all models.
    EqualTokens,
    /// The same number of steps for all models.
    Steps,
    /// The same compute, with 6 P_active FLOP per token.
    IsoFlop,
    /// The compute and unique tokens of the first model, which sees each token once.
    StrictReuse,
    /// The compute of the first model with half as many unique tokens, each seen twice.
    RelaxedReuse,
}

/// The number of epochs in the relaxed scheme of data reuse.
const RELAXED_EPOCHS: u64 = 2;
/// FLOPs of one token for each parameter that it touches, forward and backward.
const FLOP_PER_PARAMETER: u64 = 6;

impl HorizonRule {
    /// The word in receipts and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::TotalDn => "total_dn",
            Self::ActiveDn => "active_dn",
            Self::EqualTokens => "equal_tokens",
            Self::Steps => "steps",
            Self::IsoFlop => "iso_flop",
            Self::StrictReuse => "strict_reuse",
            Self::RelaxedReuse => "relaxed_reuse",
        }
    }

    /// The unit of its coefficient.
    pub fn unit(self) -> &'static str {
        match self {
            Self::TotalDn => "tokens per P_total",
            Self::ActiveDn => "tokens per P_active",
            Self::EqualTokens => "tokens",
            Self::Steps => "steps",
            Self::IsoFlop => "FLOP at 6 P_active per token",
            Self::StrictReuse => {
                "unique tokens for all models, with the compute of one epoch of the first model"
            }
            Self::RelaxedReuse => {
                "tokens for the first model, its compute for all models, two epochs"
            }
        }
    }

    /// Whether it determines the number of unique tokens.
    pub fn reuses(self) -> bool {
        matches!(self, Self::StrictReuse | Self::RelaxedReuse)
    }
}

/// One horizon for any set of models.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The quantity that the horizon is proportional to.
    pub rule: HorizonRule,
    /// The exact coefficient.
    pub coefficient: BigRational,
    /// The fraction of the whole horizon.
    pub fraction: BigRational,
    /// Tokens per step; if absent, from the config of each run.
    pub tokens_per_step: Option<BigRational>,
}

/// The horizon of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelHorizon {
    /// The parameters that it is proportional to, if to any.
    pub params: Option<u64>,
    /// Tokens per step.
    pub tokens_per_step: BigRational,
    /// The tokens, exactly.
    pub tokens: BigRational,
    /// The steps, exactly.
    pub steps: BigRational,
    /// The number of unique tokens, if the horizon determines it.
    pub unique: Option<BigRational>,
}

impl ModelHorizon {
    /// The number of epochs, if it is known.
    pub fn epochs(&self) -> Option<BigRational> {
        let unique = self.unique.as_ref().filter(|unique| !unique.is_zero())?;
        Some(&self.tokens / unique)
    }
}

impl Plan {
    /// The horizon of one run's model; `first` is the one whose compute others are held to.
    pub fn apply(&self, run: &RunAtStep, first: &RunAtStep) -> Result<ModelHorizon, Error> {
        let place = || Location::file(run.file.as_str());
        let own = || run.tokens_per_step().cloned();
        let tokens_per_step = self.tokens_per_step.clone().or_else(own).ok_or_else(|| {
            NO_STEP_SIZE.at(
                place(),
                "tokens per step",
                "a model without batch size and sequence length",
            )
        })?;
        let params = match self.rule {
            HorizonRule::TotalDn => Some(run.total),
            HorizonRule::ActiveDn
            | HorizonRule::IsoFlop
            | HorizonRule::StrictReuse
            | HorizonRule::RelaxedReuse => Some(active(run)?),
            HorizonRule::EqualTokens | HorizonRule::Steps => None,
        };
        let whole = |number: u64| BigRational::from_integer(number.into());
        let factor = match (params, self.rule) {
            (Some(active), HorizonRule::IsoFlop) => {
                (whole(FLOP_PER_PARAMETER) * whole(active)).recip()
            }
            (Some(own), rule) if rule.reuses() => whole(active(first)?) / whole(own),
            (Some(params), _) => whole(params),
            (None, HorizonRule::Steps) => tokens_per_step.clone(),
            (None, _) => BigRational::one(),
        };
        let horizon = Horizon {
            fraction: Interval::point(self.fraction.clone()),
            coefficient: Interval::point(self.coefficient.clone()),
            params: Interval::point(factor),
            tokens_per_step: Interval::point(tokens_per_step.clone()),
        };
        let steps = horizon.steps().ok_or_else(|| {
            NO_STEP_SIZE.at(place(), "a positive number of tokens per step", "zero")
        })?;
        let tokens = horizon.tokens().low().clone();
        let unique = match self.rule {
            HorizonRule::StrictReuse => Some(&self.fraction * &self.coefficient),
            HorizonRule::RelaxedReuse => Some(&tokens / whole(RELAXED_EPOCHS)),
            _ => None,
        };
        Ok(ModelHorizon { params, tokens_per_step, tokens, steps: steps.low().clone(), unique })
    }
}

/// The active parameters, which must be known and positive.
fn active(run: &RunAtStep) -> Result<u64, Error> {
    run.active.filter(|active| *active > 0).ok_or_else(|| {
        let place = Location::file(run.file.as_str());
        NO_ACTIVE.at(place, "a known P_active", "a checkpoint without its config")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(n: i64, d: i64) -> BigRational {
        BigRational::new(n.into(), d.into())
    }

    #[test]
    fn steps_are_rounded_by_the_named_rule() {
        let steps = ratio(75628, 10);
        let rounded = StepRounding::ALL.map(|rule| rule.round(&steps));
        assert_eq!(rounded, [7562.into(), 7563.into(), 7563.into()]);
        assert_eq!(StepRounding::Nearest.round(&ratio(5, 2)), 3.into());
    }

    #[test]
    fn a_horizon_is_tokens_per_parameter() {
        let point = |n: i64| Interval::integer(n);
        let horizon = Horizon {
            fraction: Interval::point(ratio(1, 5)),
            coefficient: point(8),
            params: point(1000),
            tokens_per_step: point(16),
        };
        assert_eq!(horizon.steps(), Some(point(100)));
        assert_eq!(Horizon { tokens_per_step: point(0), ..horizon }.steps(), None);
    }

    #[test]
    fn the_rules_differ_in_what_they_hold_fixed() {
        let text = r#"{"model_type": "repro-llama", "vocab_size": 10, "hidden_size": 4,
            "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}"#;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        let run = RunAtStep::load(path.to_str().unwrap()).unwrap();
        // 2 x 10 x 4 embeddings and head, 4 x 16 attention, 3 x 32 feed-forward, 3 x 4 norms
        assert_eq!(run.total, 252);
        let plan = |rule, tokens_per_step: Option<i64>| Plan {
            rule,
            coefficient: ratio(20, 1),
            fraction: ratio(1, 2),
            tokens_per_step: tokens_per_step.map(|n| ratio(n, 1)),
        };
        let steps = |rule| plan(rule, Some(16)).apply(&run, &run).unwrap().steps;
        assert_eq!(steps(HorizonRule::TotalDn), ratio(315, 2));
        assert_eq!(steps(HorizonRule::ActiveDn), ratio(315, 2));
        assert_eq!(steps(HorizonRule::EqualTokens), ratio(10, 16));
        assert_eq!(steps(HorizonRule::Steps), ratio(10, 1));
        // 10 FLOP over 6 x 252 a token
        assert_eq!(steps(HorizonRule::IsoFlop), ratio(10, 6 * 252 * 16));
        assert_eq!(steps(HorizonRule::StrictReuse), ratio(10, 16));
        assert_eq!(steps(HorizonRule::RelaxedReuse), ratio(10, 16));
        for missing in [None, Some(0)] {
            let error = plan(HorizonRule::TotalDn, missing).apply(&run, &run).unwrap_err();
            assert_eq!(error.code.id, "contract::unknown-step-size");
        }
    }

    #[test]
    fn reused_data_holds_compute_fixed() {
        let text = |experts| {
            format!(
                r#"{{"model_type": "repro-llama-moe", "vocab_size": 10, "hidden_size": 4,
                "num_hidden_layers": 1, "num_attention_heads": 2, "num_experts": 8,
                "num_experts_per_tok": {experts}, "moe_intermediate_size": 8}}"#
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let load = |experts: u64| {
            let path = folder.path().join(format!("{experts}.json"));
            std::fs::write(&path, text(experts)).unwrap();
            RunAtStep::load(path.to_str().unwrap()).unwrap()
        };
        let (all, one) = (load(8), load(1));
        assert_eq!(all.total, one.total);
        let planned = |rule, run| {
            let (coefficient, fraction) = (ratio(6400, 1), ratio(1, 1));
            let tokens_per_step = Some(ratio(16, 1));
            Plan { rule, coefficient, fraction, tokens_per_step }.apply(run, &all).unwrap()
        };
        let compute = |run: &RunAtStep, planned: &ModelHorizon| {
            &planned.tokens * BigRational::from_integer(run.active.unwrap().into())
        };
        for rule in [HorizonRule::StrictReuse, HorizonRule::RelaxedReuse] {
            let (first, other) = (planned(rule, &all), planned(rule, &one));
            assert_eq!(first.tokens, ratio(6400, 1));
            assert_eq!(compute(&all, &first), compute(&one, &other), "{rule:?}");
        }
        let more = ratio(all.active.unwrap() as i64, one.active.unwrap() as i64);
        assert_eq!(planned(HorizonRule::StrictReuse, &all).epochs(), Some(ratio(1, 1)));
        assert_eq!(planned(HorizonRule::StrictReuse, &one).epochs(), Some(more.clone()));
        let relaxed = planned(HorizonRule::RelaxedReuse, &one);
        assert_eq!(
            (relaxed.epochs(), relaxed.unique),
            (Some(ratio(2, 1)), Some(more * ratio(3200, 1)))
        );
        assert_eq!(planned(HorizonRule::EqualTokens, &one).epochs(), None);
    }
}
