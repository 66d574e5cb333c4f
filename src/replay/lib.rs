#![doc = include_str!("README.md")]
#![forbid(unsafe_code)]

pub mod backend;
pub mod campaign;
#[cfg(feature = "candle")]
pub mod candle;
pub mod checkpoint;
pub mod cloze;
pub mod data;
pub mod evaluate;
pub mod golden;
pub mod language;
pub mod learner;
pub mod load;
pub mod model;
mod narrow;
mod ops;
mod optimizer;
pub mod progress;
mod recipe;
pub mod record;
pub mod replay;
mod rules;
pub mod run;
mod schedule;
pub mod scorer;
pub mod tasks;
mod tensor_file;

use repro_core::source::{Code, codes};

pub use recipe::{LearningRates, LossTerms, Precision, Recipe, Regime, RunShape, Stretch};
pub use rules::{Members, Muon, MuonScale, MuonVariant, Optimizer, ParameterGroup, UpdateMethod};
pub use schedule::LearningRateSchedule;
pub use tasks::Suite;
pub use tensor_file::{TensorData, TensorFile};

codes! {
    BAD_RECIPE = "train::bad-recipe", "a run has an invalid training setting", "correct the study";
    BAD_TENSORS = "train::bad-tensors", "a tensor file does not match this run", "use the file that the run wrote";
    MODEL_FAILED = "train::model-failed", "the model cannot be trained", "read the message; report it if the study is correct";
    DEVICE_FAILED = "train::device-failed", "a device operation failed", "free its memory, or run on the CPU with `--device cpu`";
    DIVERGED = "train::diverged", "the run diverged and was sealed as is", "keep it as a result; to try a lower learning rate, write a new plan";
    OTHER_RUN = "train::other-run", "the folder has a run with this name and a different configuration", "train into another folder, or remove that run";
    UNKNOWN_RUN = "train::unknown-run", "no run has this name", "pass a name that `--list` prints";
    NO_THREADS = "train::no-threads", "no usable threads for training", "use fewer threads or jobs";
    BUSY = "train::busy", "another process is training this run", "wait for it, or train into another folder";
    DIFFERS = "train::step-differs", "a step gave a different result when re-run", "restore the program, machine or data that changed, or train the run again in another folder";
    LOST_STATE = "train::lost-state", "this command cannot resume from the state of an unfinished run", "restore the folder, or train the run again in another one";
    LOST_RECORDS = "train::lost-records", "the records of an unfinished run do not match its state", "restore the folder, or train the run again in another one";
}

/// The codes of this module and of those in it.
pub static CODE_FAMILIES: &[&[&Code]] = &[CODES, data::CODES, model::CODES, tasks::CODES];

#[cfg(test)]
mod tests;
