//! How many tokens a run is said to have read, against the size of the data that its receipt names.

use std::rc::Rc;

use super::{BEYOND_DATA, Mismatch};
use crate::value::Leaf;

/// The fields of a run that count the tokens of its training.
const HORIZONS: [&str; 2] = ["/contract/tokens", "/tokens_seen"];
/// Data that are cut to whole batches, or counted otherwise, may be so much larger.
const SLACK: f64 = 1.01;

/// The data that a receipt names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedData {
    /// Different tokens.
    pub unique_tokens: u64,
    /// Passes over them.
    pub epochs: f64,
}

impl NamedData {
    /// The most tokens that can be read in so many passes; one that has begun counts whole.
    fn most(self) -> f64 {
        self.unique_tokens as f64 * self.epochs.ceil().max(1.0) * SLACK
    }
}

/// Whether the evidence counts more tokens than the data of its run have.
pub fn beyond(leaves: &[Rc<Leaf>], data_of: &dyn Fn(&str) -> Option<NamedData>) -> Mismatch {
    leaves.iter().find_map(|leaf| {
        let evidence = leaf.evidence.as_ref()?;
        HORIZONS.iter().any(|field| evidence.pointer.ends_with(field)).then_some(())?;
        let tokens: f64 = leaf.text.parse().ok()?;
        let data = data_of(&evidence.bundle).filter(|data| tokens > data.most())?;
        let reason = format!(
            "`{}` counts {tokens} tokens, and its data have {} in {} passes",
            evidence.bundle, data.unique_tokens, data.epochs
        );
        Some((&BEYOND_DATA, reason))
    })
}

#[cfg(test)]
mod tests {
    use super::{NamedData, beyond};
    use crate::value::{Leaf, LeafKind};
    use repro_report::outcome::EvidenceRef;
    use std::rc::Rc;

    #[test]
    fn no_run_reads_more_than_its_data_and_passes_have() {
        let is_beyond = |pointer: &str, tokens: &str, epochs: f64| {
            let evidence = EvidenceRef {
                bundle: "run".to_owned(),
                file: "data/receipt.json".to_owned(),
                pointer: pointer.to_owned(),
                document: None,
                printed_at: None,
            };
            let leaf = Leaf {
                kind: LeafKind::Setting,
                evidence: Some(evidence),
                quote: None,
                text: tokens.to_owned(),
                step: None,
                best: None,
            };
            beyond(&[Rc::new(leaf)], &|_| Some(NamedData { unique_tokens: 1000, epochs })).is_some()
        };
        let horizon = "/predicate/contract/tokens";
        assert!(!is_beyond(horizon, "1000", 1.0) && !is_beyond(horizon, "1120", 1.12));
        assert!(!is_beyond(horizon, "610", 0.61) && !is_beyond(horizon, "1005", 1.0));
        assert!(is_beyond(horizon, "1100", 1.0) && is_beyond("/tokens_seen", "2500", 1.5));
        assert!(!is_beyond("/predicate/data/tokens", "5000", 1.0));
    }
}
