//! How many tokens a run is said to have read, against the size of the data that its receipt names.

use std::rc::Rc;

use repro_core::source::{Code, codes};

use crate::library::Library;
use crate::value::Leaf;

codes! {
    BEYOND_DATA = "value::tokens-beyond-data", "a run counts more tokens than the data in its receipt", "correct the receipt's data or its horizon";
}

/// The fields of a run that count the tokens of its training.
const HORIZONS: [&str; 2] = ["/contract/tokens", "/tokens_seen"];
/// Data that are cut to whole batches, or counted otherwise, may be so much larger.
const SLACK: f64 = 1.01;

/// Why the evidence counts more tokens than the data of its run have; none if it does not.
pub fn beyond(leaves: &[Rc<Leaf>], library: &Library) -> Option<(&'static Code, String)> {
    leaves.iter().find_map(|leaf| {
        let evidence = leaf.evidence.as_ref()?;
        HORIZONS.iter().any(|field| evidence.pointer.ends_with(field)).then_some(())?;
        let tokens: f64 = leaf.text.parse().ok()?;
        let data = library.bundle(&evidence.bundle)?.receipt().data.as_ref()?;
        let (unique, epochs) = (data.unique_tokens?, data.epochs?);
        // An epoch that has begun counts whole.
        let most = unique as f64 * epochs.ceil().max(1.0) * SLACK;
        let reason = format!(
            "`{}` counts {tokens} tokens, but its data has {unique} in {epochs} epochs",
            evidence.bundle
        );
        (tokens > most).then_some((&BEYOND_DATA, reason))
    })
}
