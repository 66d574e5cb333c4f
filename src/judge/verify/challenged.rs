//! A challenge: intervals between the states that a run has committed itself to are executed again.

use std::collections::{BTreeMap, BTreeSet};

use super::own::BundleSubject;
use repro_receipt::bundle::Bundle;
use repro_receipt::source::{Error, codes};
use repro_report::outcome::{
    ChallengeReport, ClaimReport, Impact, Method, Outcome, PassingChance, Verdict,
};
use repro_runs::challenge::{Challenge, StateInterval, startable};
use repro_runs::replay::{Extent, Replay, ReplayOutcome, Replays};
use serde::{Deserialize, Serialize};

codes! {
    OTHER_STATE = "challenge::other-state", "the steps of an interval do not lead to the committed state", "the run was not trained as committed: see `repro replay BUNDLE --full`";
    NOT_REACHED = "challenge::not-reached", "an interval was not executed", "see why, and draw it again where that can be helped";
}

/// The walks that a challenge asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChallengedWalks {
    challenge: Challenge,
    /// From each state that can be started from, one walk to the last interval behind it.
    walks: BTreeMap<u64, u64>,
    /// Of each interval, the state that its walk starts from.
    starts: Vec<u64>,
}

impl ChallengedWalks {
    /// The walks of a challenge, which has to be one of this bundle.
    pub fn of(bundle: &Bundle, (challenge, file): (&Challenge, &str)) -> Result<Self, Error> {
        challenge.check(bundle, file)?;
        let intervals = &challenge.intervals;
        let starts: Vec<_> = intervals.iter().map(|one| startable(bundle, one.from)).collect();
        let mut walks: BTreeMap<u64, u64> = BTreeMap::new();
        for (start, interval) in starts.iter().zip(intervals) {
            let end = walks.entry(*start).or_default();
            *end = (*end).max(interval.to);
        }
        Ok(Self { challenge: challenge.clone(), walks, starts })
    }

    /// The steps that are to be executed.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.walks.iter().map(|(from, to)| Extent::States { from: *from, to: *to })
    }

    /// What became of each interval; and what was drawn, and what a pass is worth.
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
                None => Outcome::unchecked(&NOT_REACHED, "this build executes no steps"),
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
        let report = worth(&self.challenge, &claims);
        (claims, report)
    }
}

fn outcome(interval: &StateInterval, replay: &Replay) -> Outcome {
    let found = match &replay.divergence {
        Some(parted) if parted.step <= interval.from => {
            let reason = format!(
                "the run parts before it, in step {}: another {}",
                parted.step,
                parted.shown()
            );
            return Outcome::inconclusive(&NOT_REACHED, reason);
        }
        Some(parted) if parted.step <= interval.to => {
            let (logged, made) = (&parted.logged, &parted.replayed);
            let reason = format!(
                "step {}: {} is {logged} in the bundle, and {made} executed again",
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

/// What was drawn; and where nothing was refuted, with which probability a run comes as far of which one interval, a tenth
/// or half were not computed as committed.
fn worth(challenge: &Challenge, claims: &[ClaimReport]) -> ChallengeReport {
    let count = |verdict| claims.iter().filter(|claim| claim.outcome.verdict == verdict).count();
    let led = count(Verdict::Verified);
    let share = |share: f64| (share * challenge.of as f64).ceil() as u64;
    let forged = match count(Verdict::Refuted) {
        0 => BTreeSet::from([1, share(0.1), share(0.5)]),
        _ => BTreeSet::new(),
    };
    let chance = |forged| PassingChance { forged, probability: challenge.passing(forged, led) };
    ChallengeReport {
        seed: challenge.seed.clone(),
        root: challenge.root.to_string(),
        of: challenge.of,
        drawn: challenge.intervals.len(),
        led,
        passing: forged.into_iter().map(chance).collect(),
    }
}
