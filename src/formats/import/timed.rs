//! The facts in the log of a timed run.

/// The unit of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Samples.
    Samples,
    /// Passes over the data.
    Epochs,
    /// Optimizer steps.
    Steps,
}

impl ProgressUnit {
    /// The plural noun.
    pub fn word(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Epochs => "epochs",
            Self::Steps => "steps",
        }
    }
}

/// The timing facts in the log of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// The benchmark.
    pub benchmark: String,
    /// The submitter.
    pub organisation: Option<String>,
    /// The system.
    pub platform: Option<String>,
    /// Samples per step.
    pub batch: u64,
    /// The time from `run_start` to `run_stop`.
    pub milliseconds: Option<u64>,
    /// Whether the log reports success.
    pub success: bool,
    /// The progress at its last evaluation, in each unit that the log counts.
    pub converged: Vec<(ProgressUnit, f64)>,
}
