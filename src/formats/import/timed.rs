//! What the log of a timed run says.

/// What progress is counted in.
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
    /// The word, in the plural.
    pub fn word(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Epochs => "epochs",
            Self::Steps => "steps",
        }
    }
}

/// What the log of one run says about its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// The benchmark.
    pub benchmark: String,
    /// Who submitted it.
    pub organisation: Option<String>,
    /// The system.
    pub platform: Option<String>,
    /// Samples a step.
    pub batch: u64,
    /// From `run_start` to `run_stop`.
    pub milliseconds: Option<u64>,
    /// Whether the log calls the run a success.
    pub success: bool,
    /// How far it had come at its last evaluation, in each unit that the log counts.
    pub converged: Vec<(ProgressUnit, f64)>,
}
