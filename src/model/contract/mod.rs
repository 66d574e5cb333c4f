//! Contracts: how models are made comparable, how long each one trains, and what two runs hold fixed.
//!
//! Owns horizons in tokens and steps, the phases of a learning-rate schedule, and the comparison of runs at the steps of
//! their reported numbers. Which of these a post holds fixed is a claim; `params` counts parameters.

mod diff;
mod fields;
mod horizon;
mod quantities;
mod run;
mod schedule;
mod value;

use repro_core::source::codes;

pub use diff::{ContractDiff, DiffRow, Standing, TOLERANCE_PERCENT};
pub use fields::FieldGroup;
pub use horizon::{Horizon, HorizonRule, ModelHorizon, Plan, StepRounding};
pub use run::{RunAtStep, StepOrigin};
pub use schedule::{Phase, Schedule};
pub use value::StatedValue;

codes! {
    BAD_STEP = "contract::bad-step", "the text after `@` is not a step", "write `PATH@STEP` with a whole number, such as `run.toml@8320`";
    NO_ONE_CONFIG = "contract::ambiguous-config", "a bundle does not have exactly one config", "pass the config itself, such as `BUNDLE/data/configs/run.toml`";
    NO_STEP_SIZE = "contract::unknown-step-size", "the number of tokens per step is unknown", "pass `--tokens-per-step`, or state batch size and sequence length";
    NO_ACTIVE = "contract::unknown-active", "the number of active parameters is unknown", "pass the config, or put `config.json` next to the weights";
}
