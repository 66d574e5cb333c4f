//! Differences between two results for a step, and their size relative to the tolerance.

use serde::{Deserialize, Serialize};

use repro_core::kept::{self, ProgramWord};

/// The first difference between replay and log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    /// The step, counted from 1 as in records.
    pub step: u64,
    /// The quantity: `routing`, `loss`, `gradient`, `gradient norm`, `update`, `size`, `bits`, `kept checkpoint`, or one of
    /// a micro-batch.
    #[serde(deserialize_with = "kept::word")]
    pub what: ProgramWord,
    /// The first tensor in the order of execution, or the micro-batch; none for the loss and the total gradient norm.
    pub tensor: Option<String>,
    /// The logged value.
    pub logged: String,
    /// The replayed value.
    pub replayed: String,
    /// The difference relative to the replayed value, and the tolerance, if numbers are compared.
    pub difference: Option<(f64, f64)>,
    /// Whether the inputs of this quantity matched; none if they were not logged.
    pub inputs_matched: Option<bool>,
    /// A hint for the reader.
    pub hint: String,
}

impl Divergence {
    /// A step with a non-finite loss or gradient here, after which the logged run continues.
    pub fn not_finite(step: u64) -> Self {
        Self {
            step,
            what: "gradient norm",
            tensor: None,
            logged: "a finite step".to_owned(),
            replayed: "a non-finite step".to_owned(),
            difference: None,
            inputs_matched: None,
            hint: "the run diverges here".to_owned(),
        }
    }

    /// A difference in something that is not a number of a step.
    pub fn of(step: u64, what: &'static str, told: (String, String), hint: &str) -> Self {
        let (logged, replayed) = told;
        let hint = hint.to_owned();
        let (tensor, difference, inputs_matched) = (None, None, None);
        Self { step, what, tensor, logged, replayed, difference, inputs_matched, hint }
    }

    /// The quantity and its tensor, for messages.
    pub fn shown(&self) -> String {
        match &self.tensor {
            Some(number) if self.what.ends_with("micro-batch") => format!("{} {number}", self.what),
            Some(tensor) => format!("{} of `{tensor}`", self.what),
            None => self.what.to_owned(),
        }
    }
}

/// A difference relative to its tolerance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToleranceShare {
    /// The step, counted from 1 as in records.
    pub step: u64,
    /// The kind of number: `loss`, `gradient norm`, `update`, ...
    #[serde(deserialize_with = "kept::word")]
    pub kind: ProgramWord,
    /// The quantity with its tensor or micro-batch.
    pub what: String,
    /// The ratio of difference and tolerance; above 1 the values differ.
    pub share: f64,
}
