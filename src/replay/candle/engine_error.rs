//! Why a slice was not executed.

/// A slice that this engine did not execute to its end.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine does not implement a setting. It says nothing about the run.
    #[error("`{setting}`: expected {expected}, found {found}")]
    Unsupported {
        /// The setting, by its name in the config or in the statement of a slice.
        setting: String,
        /// The values that the engine knows.
        expected: String,
        /// The value of the run.
        found: String,
    },
    /// A trained tensor is not on the tape: an operation without a backward pass would go unnoticed otherwise.
    #[error("no gradient reaches `{tensor}`")]
    NoGradient {
        /// Its name.
        tensor: String,
    },
    /// A tensor of the start is missing or has another shape.
    #[error("`{tensor}`: expected {expected}, found {found}")]
    Tensor {
        /// Its name.
        tensor: String,
        /// The model's requirement.
        expected: String,
        /// The start's value.
        found: String,
    },
    /// The device cannot be used.
    #[error("`{device}`: {why}")]
    Device {
        /// Its name.
        device: String,
        /// The reason, and the way out.
        why: String,
    },
    /// candle refused an operation.
    #[error("candle: {0}")]
    Candle(#[from] candle_core::Error),
}

impl EngineError {
    /// A setting that the engine does not implement.
    pub(crate) fn unsupported(
        setting: &str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Unsupported {
            setting: setting.to_owned(),
            expected: expected.into(),
            found: found.into(),
        }
    }
}
