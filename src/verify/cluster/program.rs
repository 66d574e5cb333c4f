//! Which program plans, works and merges: results of one are not those of another.

use serde::{Deserialize, Serialize};

/// A program that plans or works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// The digest of its source, in hexadecimal digits.
    pub source: String,
    /// Whether it can execute training steps.
    pub trains: bool,
}

impl Program {
    /// Its name for people.
    pub fn told(&self) -> String {
        let trains = if self.trains { "" } else { " without the trainer" };
        let source: String = self.source.chars().take(12).collect();
        format!("repro {} of source {source}…{trains}", self.version)
    }
}
