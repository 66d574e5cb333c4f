//! Studies: questions, the runs that answer them, and all settings of each run, fixed before any of them starts.
//!
//! Owns the study file `repro/studies/<id>.toml` (schema `repro.study/1`, described in `repro/studies/README.md`): the arms
//! and their matching, budgets, the list of runs, the config of each run, and the choice of a learning rate. The trainer
//! trains, and claims decide whether bundles match their plan.

mod arm;
mod budget;
mod choose;
mod config;
mod fields;
mod file;
mod grid;
mod matching;
mod model;
mod present;
mod recipe;
mod run;

use repro_core::source::codes;

pub use arm::Arm;
pub use budget::{Budget, ScheduleOf};
pub use choose::{Rates, Tuned};
pub use fields::{table, to_json};
pub use file::{Analysis, SCHEMA, Study, plan_text};
pub use grid::ListedRun;
pub use matching::MISMATCH_PERCENT;
pub use present::{Present, present};
pub use run::{PlannedRun, RunKind};

codes! {
    WRONG_SCHEMA = "study::wrong-schema", "the file has an unknown schema", "start it with `schema = \"repro.study/1\"`";
    WRONG_NAME = "study::wrong-name", "the study's id differs from its file name", "make the two equal";
    BAD_ID = "study::bad-id", "an id has characters that are not allowed", "use lowercase letters, digits, `-`, `_` and `.`";
    REPEATED = "study::duplicate", "an entry is listed twice", "list each entry once";
    UNKNOWN_NAME = "study::unknown-name", "a name is not defined in the study", "correct the name, or define it";
    BAD_VALUE = "study::bad-value", "a field has a value that is not allowed", "write an allowed value";
    NO_MATCH = "study::unmatched-arm", "no size makes the arm match its target", "choose a different size for the arm or its target, or a different match";
    BAD_LENGTH = "study::bad-length", "the length of a run is out of range", "change the coefficient, the fraction or the tokens per step";
    RATE_AT_EDGE = "study::rate-at-edge", "the best learning rate is the lowest or highest one tried", "widen `rates` and tune again";
    NO_TUNING_RESULT = "study::no-tuning-result", "a tuning run has no result", "finish every tuning run first";
    OTHER_RUNS = "study::run-list", "the list of runs does not match the grid", "replace the list with the one printed here, or correct the grid";
    WRONG_STUDY = "study::pin-mismatch", "the study file does not match its pinned digest", "restore the plan of the runs, or review this one and pin its digest";
    NO_SUCH_STUDY = "study::no-such-study", "there is no study with this name", "use the name of a file in `repro/studies`";
}

#[cfg(test)]
mod tests;
