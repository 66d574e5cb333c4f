//! Which engines execute a slice, and how their accounts compare.

use serde::{Deserialize, Serialize};

use super::{Divergence, ToleranceShare};
use repro_receipt::Verdict;
use repro_receipt::source::Code;

/// The engines that execute a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayEngine {
    /// That of the trainer.
    #[default]
    Own,
    /// The one written with candle, which shares no code with the trainer's.
    Candle,
    /// Both, which have to agree.
    Both,
}

/// What one engine's execution came to against the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Its code, where it is not verified.
    pub code: Option<&'static Code>,
    /// Why, where it is not verified.
    pub reason: String,
}

/// Where two engines part: a difference beyond what rounding explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnginesParting {
    /// The step and the quantity, the second engine's account beside the trainer's.
    pub divergence: Divergence,
    /// The operation: the first part of the first forward pass that differs, or else the part of the step.
    pub operation: String,
}

/// Two executions of one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnginesReport {
    /// What the trainer's engine alone says.
    pub own: EngineVerdict,
    /// What the second engine alone says; or why it did not execute the slice, which says nothing about the run.
    pub candle: Result<EngineVerdict, String>,
    /// Of each kind of number the largest difference between the engines, as a share of the tolerance.
    pub shares: Vec<ToleranceShare>,
    /// Where they part, if they do.
    pub parting: Option<EnginesParting>,
}

impl ReplayEngine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Own, Self::Candle, Self::Both];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Candle => "candle",
            Self::Both => "both",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.word() == text)
    }
}

impl EnginesReport {
    /// Whether both engines confirm the log, and each other.
    pub fn confirm(&self) -> bool {
        let confirms = |of: &EngineVerdict| of.verdict == Verdict::Verified;
        confirms(&self.own) && self.candle.as_ref().is_ok_and(confirms) && self.parting.is_none()
    }

    /// Whether one engine refutes what the other confirms.
    pub fn contradict(&self) -> bool {
        let Ok(candle) = &self.candle else { return false };
        let verdicts = [self.own.verdict, candle.verdict];
        verdicts.contains(&Verdict::Verified) && verdicts.contains(&Verdict::Refuted)
    }

    /// The difference between the engines that takes the largest share of its tolerance.
    pub fn closest(&self) -> Option<&ToleranceShare> {
        self.shares.iter().reduce(|known, one| if one.share > known.share { one } else { known })
    }
}
