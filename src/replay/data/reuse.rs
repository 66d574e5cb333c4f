//! How much of the training text a run may read, and how often.

use super::{TOO_FEW_TOKENS, UNKNOWN_VALUE};
use repro_core::source::{Error, Node};

/// The form of data reuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Every run reads the same text, `unique_tokens` of it or all; longer runs read it more often.
    Strict,
    /// A run reads half as many tokens as it trains on, twice.
    Relaxed,
    /// No token is read twice.
    Fresh,
}

impl Reuse {
    /// The field `reuse` of a run's configuration.
    pub fn read(config: Node) -> Result<Self, Error> {
        let node = config.required("reuse")?;
        match node.text()? {
            "strict" => Ok(Self::Strict),
            "relaxed" => Ok(Self::Relaxed),
            "fresh" => Ok(Self::Fresh),
            other => Err(UNKNOWN_VALUE.at(
                node.place(),
                "`strict`, `relaxed` or `fresh`",
                format!("`{other}`"),
            )),
        }
    }

    /// How many of the first tokens of a training text of `train` a run of `run` tokens orders into
    /// windows of `length`. A fresh run orders all of them and stops early, so that its first batches
    /// are those of a longer run.
    pub(super) fn tokens(
        self,
        config: Node,
        train: usize,
        run: usize,
        length: usize,
    ) -> Result<usize, Error> {
        let fixed = config.get("unique_tokens");
        let (node, wanted) = match (self, fixed) {
            (Self::Strict, None) => return Ok(train),
            (Self::Strict, Some(node)) => {
                (node, usize::try_from(node.integer()?).unwrap_or(usize::MAX))
            }
            // Whole windows, and the token after the last.
            (Self::Relaxed, _) => {
                let half = run.div_ceil(2).checked_next_multiple_of(length.max(1));
                (config.required("reuse")?, half.unwrap_or(usize::MAX).saturating_add(1))
            }
            (Self::Fresh, _) => (config.required("reuse")?, run.saturating_add(1)),
        };
        if wanted > train {
            return Err(TOO_FEW_TOKENS.at(
                node.place(),
                format!("at most {train} tokens, the size of the training text"),
                format!("{wanted}"),
            ));
        }
        Ok(if self == Self::Fresh { train } else { wanted })
    }
}
