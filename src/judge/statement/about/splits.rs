//! The text that words are about, training or held out, against that of the evidence.

use std::rc::Rc;

use super::{Mismatch, OTHER_SPLIT, Words};
use crate::evaluate::design::TRAINING_FILE;
use crate::loss_unit::unit_of_leaf;
use crate::value::Leaf;

/// Where they record the loss of other text.
const EVALUATIONS: &str = "data/evaluation/";

/// Words for the text that a run trains on, behind "training" or "train".
const TRAINED_ON: &[&str] = &[
    "loss",
    "losses",
    "bpb",
    "nats",
    "text",
    "data",
    "set",
    "split",
    "batch",
    "batches",
    "perplexity",
    "error",
];
/// Words for text that it does not train on.
const HELD_OUT: &[&str] =
    &["validation", "valid", "val", "heldout", "test", "unseen", "dev", "eval", "evaluation"];
/// Words for what lies between the two.
const BETWEEN: &[&str] = &["overfit", "generalis", "generaliz", "memoris", "memoriz"];

/// Text that a run trains on, or text that it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Split {
    Training,
    HeldOut,
}

impl Split {
    fn name(self) -> &'static str {
        match self {
            Self::Training => "training text",
            Self::HeldOut => "validation text",
        }
    }

    /// The split of a loss: what else is recorded with it is of neither.
    fn of_leaf(leaf: &Leaf) -> Option<Self> {
        unit_of_leaf(leaf)?;
        match leaf.evidence.as_ref()?.file.as_str() {
            TRAINING_FILE => Some(Self::Training),
            file if file.starts_with(EVALUATIONS) => Some(Self::HeldOut),
            _ => None,
        }
    }
}

/// Which splits some words name.
#[derive(Debug, Default, Clone, Copy)]
struct SaidSplits {
    training: bool,
    held_out: bool,
    between: bool,
}

impl SaidSplits {
    fn of(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let pairs = || words.windows(2).map(|pair| (pair[0], pair[1]));
        let is_training =
            |(a, b): (&str, &str)| matches!(a, "training" | "train") && TRAINED_ON.contains(&b);
        Self {
            training: pairs().any(is_training),
            held_out: words.iter().any(|word| HELD_OUT.contains(word))
                || pairs().any(|pair| pair == ("held", "out")),
            between: BETWEEN.iter().any(|stem| words.iter().any(|word| word.starts_with(stem))),
        }
    }

    /// The one split that is named.
    fn only(self) -> Option<Split> {
        match (self.training, self.held_out) {
            (true, false) => Some(Split::Training),
            (false, true) => Some(Split::HeldOut),
            _ => None,
        }
    }
}

/// Whether the evidence is of another split than the words, or of both where they name one at most.
pub fn other(words: Words, leaves: &[Rc<Leaf>]) -> Mismatch {
    let quote = SaidSplits::of(words.quote);
    let says_something = quote.training || quote.held_out || quote.between;
    let said = if says_something { quote } else { SaidSplits::of(words.place) };
    let first = |wanted: Split| {
        let mut leaves = leaves.iter().filter(|leaf| Split::of_leaf(leaf) == Some(wanted));
        Some(leaves.next()?.evidence.as_ref()?.file.as_str())
    };
    let reason = match (first(Split::Training), first(Split::HeldOut)) {
        (Some(training), Some(held_out)) => {
            if said.training || said.between {
                return None;
            }
            format!(
                "`{training}` is about training text, `{held_out}` about validation text, and the words do not say so"
            )
        }
        (found_training, found_held_out) => {
            let (split, file) = match (found_training, found_held_out) {
                (Some(file), _) => (Split::Training, file),
                (_, Some(file)) => (Split::HeldOut, file),
                _ => return None,
            };
            let said = said.only().filter(|said| *said != split)?;
            format!("the words are about {}, `{file}` about {}", said.name(), split.name())
        }
    };
    Some((&OTHER_SPLIT, reason))
}

#[cfg(test)]
mod tests {
    use super::{SaidSplits, Split};

    #[test]
    fn splits_are_named_by_their_words() {
        let only = |text| SaidSplits::of(text).only();
        assert_eq!(only("The training  loss is 1.70"), Some(Split::Training));
        assert_eq!(only("The loss on the training text is 1.70"), Some(Split::Training));
        assert_eq!(only("| arm | train bpb |"), Some(Split::Training));
        assert_eq!(only("On held-out works it is better"), Some(Split::HeldOut));
        assert_eq!(only("a validation loss, unlike the training loss"), None);
        assert_eq!(only("training took 3 hours"), None);
    }
}
