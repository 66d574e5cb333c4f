//! Claims that a bundle makes about itself, and what authorities say existed when: the bundle, the root of its states, its
//! start, its plan, its configuration.

use repro_bundle::bundle::{Bundle, CONFIG, RECEIPT};
use repro_bundle::signature::Timestamps;
use repro_core::digest::Digest;
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
    /// The summary of a bundle.
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
    let quote = "the run's start is in its plan's log";
    own_claim(bundle, "started", quote, started.judged(bundle))
}

/// The parts of a bundle that can be timestamped, with their digests.
pub fn stampable(bundle: &Bundle) -> Vec<(&'static str, Digest)> {
    let receipt = bundle.receipt();
    let all = [
        ("bundle", Some(bundle.digest())),
        ("states", receipt.states.as_ref().map(|states| states.root)),
        ("start", receipt.start.as_ref().map(|start| start.chain)),
        ("plan", receipt.plan_sha256().and_then(Digest::parse_hex)),
        ("config", bundle.files().get(CONFIG).map(|file| file.digest)),
    ];
    all.into_iter().filter_map(|(what, digest)| Some((what, digest?))).collect()
}

/// The claims about a bundle's timestamps, one per timestamp. Its start was logged before any later line of its log.
pub fn stamped(
    bundle: &Bundle,
    started: Option<&StartedRuns>,
    timestamps: &Timestamps,
) -> Vec<ClaimReport> {
    let later = started.into_iter().flat_map(|started| started.after(bundle));
    let mut claims = Vec::new();
    for (what, digest) in stampable(bundle).into_iter().chain(later.map(|chain| ("start", chain))) {
        let quote = match what {
            "bundle" => "the bundle existed at the time of its timestamp",
            "states" => "the states were committed at the time of the timestamp",
            "start" => "the run's start was logged at the time of the timestamp",
            "plan" => "the plan existed at the time of its timestamp",
            _ => "the config existed at the time of its timestamp",
        };
        for stamp in timestamps.of(digest) {
            let outcome = Outcome::verified()
                .giving(format!("{}, by {}", stamp.time, stamp.authority))
                .within("RFC 3161", "equal digests");
            claims.push(own_claim(bundle, &format!("stamped-{what}"), quote, outcome));
        }
    }
    claims
}
