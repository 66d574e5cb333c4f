//! Where two accounts of a step part, and how near they come to it.

use serde::{Deserialize, Serialize};

use repro_core::kept::{self, ProgramWord};

/// Where replay and log part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    /// The step, as records count.
    pub step: u64,
    /// The quantity: `routing`, `loss`, `gradient`, `gradient norm`, `update`, `size`, `bits`, `kept checkpoint`, or of a
    /// micro-batch.
    #[serde(deserialize_with = "kept::word")]
    pub what: ProgramWord,
    /// The first tensor in the order of execution, or the micro-batch; none for the loss and the norm of all gradients.
    pub tensor: Option<String>,
    /// The logged value.
    pub logged: String,
    /// The replayed value.
    pub replayed: String,
    /// The difference relative to what came out, and what is allowed, where numbers are compared.
    pub difference: Option<(f64, f64)>,
    /// Whether what went into it matched; none where that was not logged.
    pub inputs_matched: Option<bool>,
    /// A hint for people.
    pub hint: String,
}

impl Divergence {
    /// A step after which a run goes on that does not go on here: its loss or its gradients are not finite.
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

    /// Two accounts of something that is no number of a step.
    pub fn of(step: u64, what: &'static str, told: (String, String), hint: &str) -> Self {
        let (logged, replayed) = told;
        let hint = hint.to_owned();
        let (tensor, difference, inputs_matched) = (None, None, None);
        Self { step, what, tensor, logged, replayed, difference, inputs_matched, hint }
    }

    /// The quantity of the step, and its tensor.
    pub fn shown(&self) -> String {
        match &self.tensor {
            Some(number) if self.what.ends_with("micro-batch") => format!("{} {number}", self.what),
            Some(tensor) => format!("{} of `{tensor}`", self.what),
            None => self.what.to_owned(),
        }
    }
}

/// How much of what is allowed a difference takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToleranceShare {
    /// The step, as records count.
    pub step: u64,
    /// The kind of number: `loss`, `gradient norm`, `update`, ...
    #[serde(deserialize_with = "kept::word")]
    pub kind: ProgramWord,
    /// The same with the tensor, or the micro-batch.
    pub what: String,
    /// The share; above one the two differ.
    pub share: f64,
}
