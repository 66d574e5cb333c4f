//! Which steps of a run are replayed.

use std::fmt;

use repro_bundle::bundle::DeclaredSlice;
use serde::{Deserialize, Serialize};

/// The steps that are replayed, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// A stretch of steps.
    Steps {
        /// The steps before it.
        from: u64,
        /// The steps that are done after it.
        to: u64,
    },
    /// The steps between two states that the run has committed itself to.
    States {
        /// The steps before the first one, which can be started from.
        from: u64,
        /// The steps before the last one.
        to: u64,
    },
    /// The whole run, its evaluations too.
    Whole,
}

/// The caller's choice of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The last slice of the bundle.
    Last,
    /// These steps.
    This(Extent),
    /// Steps that are drawn with this seed.
    Random(u64),
}

/// A sample of the micro-batches of each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MicroBatchSample {
    /// How many.
    pub count: usize,
    /// The seed of the random draw.
    pub seed: u64,
}

impl MicroBatchSample {
    /// Reads `COUNT:SEED`.
    pub fn parse(text: &str) -> Option<Self> {
        let (count, seed) = text.split_once(':')?;
        let count = count.parse().ok().filter(|count| *count > 0)?;
        Some(Self { count, seed: seed.parse().ok()? })
    }
}

impl Extent {
    /// The fewest steps of a stretch: one shows the forward pass, two the update, three that it goes on.
    pub const FEWEST: u64 = 3;

    /// The steps of a slice.
    pub fn of(slice: &DeclaredSlice) -> Self {
        Self::Steps { from: slice.from_step, to: slice.from_step.saturating_add(slice.steps) }
    }

    /// Whether all of these steps are steps of a slice.
    pub fn lies_in(self, slice: &DeclaredSlice) -> bool {
        match (self, Self::of(slice)) {
            (Self::Steps { from, to }, Self::Steps { from: first, to: last }) => {
                first <= from && to <= last
            }
            _ => false,
        }
    }

    /// Reads `FROM..TO`, of at least [`Self::FEWEST`] steps, or `full`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_long = |extent: &Self| match extent {
            Self::Steps { from, to } => to - from >= Self::FEWEST,
            _ => true,
        };
        Self::parse_any(text).filter(is_long)
    }

    /// The same, of any number of steps: fewer can be a whole slice.
    fn parse_any(text: &str) -> Option<Self> {
        if text == "full" {
            return Some(Self::Whole);
        }
        let (from, to) = text.split_once("..")?;
        let number = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?
        };
        let (from, to) = (number(from)?, number(to)?);
        (from < to).then_some(Self::Steps { from, to })
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps { from, to } => write!(f, "{from}..{to}"),
            Self::States { from, to } => write!(f, "states {from}..{to}"),
            Self::Whole => f.write_str("full"),
        }
    }
}

impl Choice {
    /// Reads `FROM..TO` or `random:SEED`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("random:") {
            Some(seed) => seed.parse().ok().map(Self::Random),
            None => Extent::parse_any(text).map(Self::This),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_read_and_written() {
        for text in ["0..3", "967..977", "full"] {
            assert_eq!(Extent::parse(text).unwrap().to_string(), text);
        }
        for text in
            ["", "3", "..", "0..", "..9", "0..2", "9..3", "-1..5", "0..+9", "1..4..9", "a..b"]
        {
            assert_eq!(Extent::parse(text), None, "{text}");
        }
        assert_eq!(Choice::parse("random:7"), Some(Choice::Random(7)));
        assert_eq!(Choice::parse("0..2"), Some(Choice::This(Extent::Steps { from: 0, to: 2 })));
        assert_eq!(Choice::parse("2..2"), None);
        assert_eq!(Choice::parse("random:x"), None);
        let sample = MicroBatchSample { count: 8, seed: 1 };
        assert_eq!(MicroBatchSample::parse("8:1"), Some(sample));
        for text in ["", "8", "0:1", ":1", "8:", "8:x", "-1:1"] {
            assert_eq!(MicroBatchSample::parse(text), None, "{text}");
        }
    }
}
