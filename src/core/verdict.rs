//! The four verdicts.

use serde::{Serialize, Serializer};

/// The verdict on a claim. There is no default: each outcome states its verdict and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The evidence contradicts the claim.
    Refuted,
    /// There is evidence, but it does not decide.
    Inconclusive,
    /// Evidence is missing, or the check was not run.
    Unchecked,
    /// The claim follows from the evidence.
    Verified,
}

impl Verdict {
    /// Every verdict, worst first.
    pub const ALL: [Verdict; 4] =
        [Self::Refuted, Self::Inconclusive, Self::Unchecked, Self::Verified];

    /// The word in reports and lock files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refuted => "refuted",
            Self::Inconclusive => "inconclusive",
            Self::Unchecked => "unchecked",
            Self::Verified => "verified",
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
