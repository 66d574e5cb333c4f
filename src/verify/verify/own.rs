//! Claims that a bundle makes about itself.

use repro_bundle::bundle::{Bundle, RECEIPT};
use repro_core::kept;
use repro_core::source::Location;
use repro_report::outcome::{
    ClaimReport, EvidenceOrigin, Impact, Meaning, Method, Outcome, Verdict,
};
use serde::{Deserialize, Serialize};

use crate::started::StartedRuns;

/// A bundle, as far as claims about itself tell of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundleSubject {
    /// Its name.
    pub name: String,
    /// The place of its receipt.
    #[serde(with = "kept::place")]
    place: Location,
    origin: EvidenceOrigin,
}

impl BundleSubject {
    /// What is told of a bundle.
    pub fn of(bundle: &Bundle) -> Self {
        let (name, origin) = (bundle.name().to_owned(), bundle.origin().into());
        Self { name, place: bundle.place(RECEIPT), origin }
    }

    /// A claim that the bundle makes about itself.
    pub fn claim(&self, id: &str, quote: &str, outcome: Outcome) -> ClaimReport {
        ClaimReport {
            id: id.to_owned(),
            kind: "bundle",
            claimed: String::new(),
            said: String::new(),
            row: Vec::new(),
            own_numbers: Vec::new(),
            around: String::new(),
            quote: quote.to_owned(),
            at: None,
            note: String::new(),
            meaning: Meaning::default(),
            place: self.place.clone(),
            origin: Some(self.origin),
            impact: Impact::Digit,
            outcome,
            evidence: Vec::new(),
        }
    }
}

/// A claim that a bundle makes about itself, recomputed as far as it was checked.
pub fn own_claim(bundle: &Bundle, id: &str, quote: &str, outcome: Outcome) -> ClaimReport {
    let outcome = match outcome.verdict {
        Verdict::Unchecked => outcome,
        _ => outcome.by(Method::Recomputed),
    };
    BundleSubject::of(bundle).claim(id, quote, outcome)
}

/// Whether the log of started runs has the start of a bundle.
pub fn logged(bundle: &Bundle, started: &StartedRuns) -> ClaimReport {
    let quote = "the start of the run is in the log that its plan names";
    own_claim(bundle, "started", quote, started.judged(bundle))
}
