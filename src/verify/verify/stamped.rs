//! What authorities say existed when: a bundle, the root of its states, its start, its plan, its configuration.

use super::own::own_claim;
use crate::started::StartedRuns;
use repro_bundle::bundle::{Bundle, CONFIG};
use repro_bundle::signature::Timestamps;
use repro_core::digest::Digest;
use repro_report::outcome::{ClaimReport, Outcome};

/// What of a bundle can be stamped, and its digest.
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

/// What was stamped of a bundle, one claim for each timestamp. Its start was logged before any later line of its log.
pub fn stamped(
    bundle: &Bundle,
    started: Option<&StartedRuns>,
    timestamps: &Timestamps,
) -> Vec<ClaimReport> {
    let of = |(what, digest): (&'static str, Digest)| {
        timestamps.of(digest).map(move |stamp| {
            let quote = match what {
                "bundle" => "the bundle existed at the time of its timestamp",
                "states" => {
                    "the run had committed itself to its states at the time of the timestamp"
                }
                "start" => "the start of the run was logged at the time of the timestamp",
                "plan" => "the plan existed at the time of its timestamp",
                _ => "the configuration existed at the time of its timestamp",
            };
            let outcome = Outcome::verified()
                .giving(format!("{}, by {}", stamp.time, stamp.authority))
                .within("RFC 3161", "equal digests");
            own_claim(bundle, &format!("stamped-{what}"), quote, outcome)
        })
    };
    let later = started.into_iter().flat_map(|started| started.after(bundle));
    let later = later.map(|chain| ("start", chain));
    stampable(bundle).into_iter().chain(later).flat_map(of).collect()
}
