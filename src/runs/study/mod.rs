//! Studies: what is asked, which runs answer it, and every number of each run, fixed before any runs.
//!
//! Owns the study file `repro/studies/<id>.toml` (schema `repro.study/1`, described in
//! `repro/studies/README.md`): the arms and how each is matched, budgets, the list of runs, the
//! configuration of each run, and how a learning rate is chosen. Training is left to the trainer,
//! and whether bundles answer to their plan to the claims.

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

use repro_receipt::source::codes;

pub use arm::Arm;
pub use budget::{Budget, ScheduleOf};
pub use choose::{Rates, Tuned};
pub use fields::{table, to_json};
pub use file::{Analysis, SCHEMA, Study};
pub use grid::ListedRun;
pub use matching::MISMATCH_PERCENT;
pub use present::{Present, present};
pub use run::{PlannedRun, RunKind};

codes! {
    WRONG_SCHEMA = "study::wrong-schema", "the file is of another schema", "open it with `schema = \"repro.study/1\"`";
    WRONG_NAME = "study::wrong-name", "the study's id is not the name of its file", "give both the same name";
    BAD_ID = "study::bad-id", "an id has characters that ids may not have", "use lower-case letters, digits, `-`, `_` and `.`";
    REPEATED = "study::repeated", "something is listed twice", "list each once";
    UNKNOWN_NAME = "study::unknown-name", "a name leads to nothing in the study", "correct the name";
    BAD_VALUE = "study::bad-value", "a field holds nothing that it may hold", "write what is expected there";
    NO_MATCH = "study::no-match", "an arm cannot be brought to its match", "choose another size for the arm or its target, or another match";
    BAD_LENGTH = "study::bad-length", "a run has no sensible length", "change the coefficient, the fraction or the size of a step";
    RATE_AT_EDGE = "study::rate-at-edge", "the best learning rate is the lowest or the highest that was tried", "widen `rates` and tune again";
    NO_TUNING_RESULT = "study::no-tuning-result", "a tuning run has no result", "let every tuning run end first";
    OTHER_RUNS = "study::other-runs", "the list of runs is not what the grid gives", "put the list that is printed here into the file, or correct the grid";
    WRONG_STUDY = "study::wrong-study", "the study file is not the one that was pinned", "restore the plan that the runs were made under, or review this one and pin its digest";
    NO_SUCH_STUDY = "study::no-such-study", "there is no study of this name", "the files of `repro/studies` are the studies";
}

#[cfg(test)]
mod tests;
