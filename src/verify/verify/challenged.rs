//! A challenge: intervals between the states that a run has committed itself to are replayed.

use std::collections::BTreeMap;

use super::own::{BundleSubject, own_claim};
use repro_bundle::bundle::Bundle;
use repro_bundle::signature::Timestamps;
use repro_core::source::{Error, Location, codes};
use repro_model::challenge::{Challenge, CommittedStates, SeedSource, StateInterval, startable};
use repro_model::replay::{Extent, Replay, ReplayOutcome, Replays};
use repro_report::outcome::{ChallengeReport, ClaimReport, Impact, Method, Outcome, Verdict};
use serde::{Deserialize, Serialize};

codes! {
    OTHER_STATE = "challenge::state-differs", "the replayed step range does not end in the committed state", "the run was not trained as committed: see `repro replay BUNDLE --full`";
    KNOWN_SEED = "challenge::known-seed", "the seed of the challenge was public before the states were committed", "draw again from a later round of the beacon";
    NOT_REACHED = "challenge::unreplayed-range", "a step range was not replayed", "fix the reported cause if you can, and draw it again";
}

/// The walks that a challenge asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChallengedWalks {
    challenge: Challenge,
    /// From each state that can be started from, one walk to the last interval behind it.
    walks: BTreeMap<u64, u64>,
    /// Of each interval, the state that its walk starts from.
    starts: Vec<u64>,
    /// Whether an interval is in no walk that is made whatever the seed is.
    has_spared: bool,
}

impl ChallengedWalks {
    /// The walks of a challenge, which has to be one of this bundle.
    pub fn of(bundle: &Bundle, challenge: &Challenge, file: &str) -> Result<Self, Error> {
        challenge.check(bundle, file)?;
        let intervals = &challenge.intervals;
        let starts: Vec<_> = intervals.iter().map(|one| startable(bundle, one.from)).collect();
        let (mut walks, mut always) = (BTreeMap::new(), BTreeMap::new());
        for (start, interval) in starts.iter().zip(intervals) {
            walk_to(&mut walks, *start, interval.to);
            if challenge.evaluated.binary_search(&interval.to).is_ok() {
                walk_to(&mut always, *start, interval.to);
            }
        }
        let has_spared = CommittedStates::of(bundle)?
            .intervals()
            .any(|one| always.get(&startable(bundle, one.from)).is_none_or(|end| *end < one.to));
        Ok(Self { challenge: challenge.clone(), walks, starts, has_spared })
    }

    /// The steps that are to be executed.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.walks.iter().map(|(from, to)| Extent::States { from: *from, to: *to })
    }

    /// The outcome of each step range, the draw, and the strength of a pass.
    pub fn answered(
        &self,
        subject: &BundleSubject,
        answers: &Replays,
    ) -> (Vec<ClaimReport>, ChallengeReport) {
        let walked = |start: &u64| {
            let extent = Extent::States { from: *start, to: *self.walks.get(start)? };
            answers.get(&(subject.name.clone(), extent))
        };
        let intervals = self.challenge.intervals.iter().zip(&self.starts);
        let claims = intervals.map(|(interval, start)| {
            let outcome = match walked(start) {
                None => Outcome::unchecked(&NOT_REACHED, "this build cannot replay steps"),
                Some(ReplayOutcome::NotRun(why)) => Outcome::unchecked(&NOT_REACHED, why.as_str()),
                Some(ReplayOutcome::Refused(error)) => {
                    Outcome::unchecked(&NOT_REACHED, error.to_string())
                }
                Some(ReplayOutcome::Done(replay)) => outcome(interval, replay),
            };
            let id = format!("states-{}..{}", interval.from, interval.to);
            let quote = "the steps lead from one committed state to the next";
            subject.claim(&id, quote, outcome).with_impact(Impact::Decision)
        });
        let claims: Vec<_> = claims.collect();
        // Checked when the challenge was.
        let source = SeedSource::of(&self.challenge.seed, &Location::default());
        let report = self.worth(source.unwrap_or(SeedSource::Text), &claims);
        (claims, report)
    }

    /// The draw and, if nothing was refuted, the probability that the best forgery of one step range escapes.
    fn worth(&self, source: SeedSource, claims: &[ClaimReport]) -> ChallengeReport {
        let count = |verdict| claims.iter().filter(|one| one.outcome.verdict == verdict).count();
        let (challenge, led) = (&self.challenge, count(Verdict::Verified));
        ChallengeReport {
            seed: challenge.seed.clone(),
            source: in_words(source),
            root: challenge.root.to_string(),
            of: challenge.of,
            evaluated: challenge.evaluated.len(),
            drawn: challenge.intervals.len(),
            led,
            escape: (count(Verdict::Refuted) == 0).then(|| challenge.escape(led, self.has_spared)),
        }
    }
}

/// Lets the walk from a state lead at least to another.
fn walk_to(walks: &mut BTreeMap<u64, u64>, start: u64, to: u64) {
    let end = walks.entry(start).or_default();
    *end = (*end).max(to);
}

fn outcome(interval: &StateInterval, replay: &Replay) -> Outcome {
    let found = match &replay.divergence {
        Some(parted) if parted.step <= interval.to => {
            let (logged, made) = (&parted.logged, &parted.replayed);
            let reason = format!(
                "step {}: {} is {logged} in the bundle, but {made} in the replay",
                parted.step,
                parted.shown()
            );
            Outcome::refuted(&OTHER_STATE, reason)
        }
        _ if replay.states.contains(&interval.to) => {
            Outcome::verified().giving(format!("the committed state after step {}", interval.to))
        }
        _ => return Outcome::inconclusive(&NOT_REACHED, replay.reason.as_str()),
    };
    found.within("bitwise", "equal digests").by(Method::Replayed)
}

/// A source, and what is not checked of it.
fn in_words(source: SeedSource) -> String {
    match source {
        SeedSource::Drand { round } => {
            let time = source.known_at().and_then(written).unwrap_or_default();
            format!(
                "round {round} of drand's quicknet, {time}; compare its randomness with drand's"
            )
        }
        SeedSource::Commit => {
            "a commit; check that it was made after the root was timestamped".to_owned()
        }
        SeedSource::Text => "free text: the challenger may have tried many".to_owned(),
    }
}

/// Seconds since 1970 as timestamps are written: `2026-11-23T17:24:35Z`.
fn written(seconds: u64) -> Option<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(time.to_string())
}

/// Whether the run had committed itself before everybody could know the seed, where its source and a timestamp tell the times.
pub(super) fn seeded(
    bundle: &Bundle,
    challenge: &Challenge,
    timestamps: &Timestamps,
) -> Option<ClaimReport> {
    let source = SeedSource::of(&challenge.seed, &Location::default()).ok()?;
    let known = source.known_at().and_then(written)?;
    let stamped = timestamps.of(challenge.root).map(|stamp| stamp.time.as_str()).min()?;
    // Both are written alike, in UTC, so that they are in the order of their letters.
    let outcome = if stamped < known.as_str() {
        Outcome::verified().giving(format!("states timestamped {stamped}, seed published {known}"))
    } else {
        let reason =
            format!("the seed was public at {known}, the states were timestamped at {stamped}");
        Outcome::inconclusive(&KNOWN_SEED, reason)
    };
    let quote = "the states were committed before anybody could know the seed";
    Some(own_claim(bundle, "seed", quote, outcome).with_impact(Impact::Decision))
}
