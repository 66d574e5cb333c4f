//! Claims that a bundle makes about itself.

use repro_receipt::bundle::{Bundle, RECEIPT};
use repro_report::outcome::{ClaimReport, Impact, Outcome};

use crate::started::StartedRuns;

/// A claim that a bundle makes about itself.
pub fn own_claim(
    bundle: &Bundle,
    id: &str,
    quote: &str,
    claimed: String,
    outcome: Outcome,
) -> ClaimReport {
    ClaimReport {
        id: id.to_owned(),
        kind: "bundle",
        claimed,
        said: String::new(),
        row: Vec::new(),
        own_numbers: Vec::new(),
        around: String::new(),
        quote: quote.to_owned(),
        at: None,
        note: String::new(),
        place: bundle.place(RECEIPT),
        origin: Some(bundle.origin().into()),
        impact: Impact::Digit,
        outcome,
        evidence: Vec::new(),
    }
}

/// Whether the log of started runs has the start of a bundle.
pub fn logged(bundle: &Bundle, started: &StartedRuns) -> ClaimReport {
    let quote = "the start of the run is in the log that its plan names";
    own_claim(bundle, "started", quote, String::new(), started.judged(bundle))
}
