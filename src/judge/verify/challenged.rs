//! A challenge: intervals between the states that a run has committed itself to are executed again.

use std::collections::{BTreeMap, BTreeSet};

use super::executed;
use super::own::own_claim;
use super::replays::{Replayer, SliceRequest};
use repro_receipt::bundle::Bundle;
use repro_receipt::source::{Error, codes};
use repro_report::outcome::{
    ChallengeReport, ClaimReport, Impact, Method, Outcome, PassingChance, Verdict,
};
use repro_runs::challenge::{Challenge, StateInterval, startable};
use repro_runs::replay::{Extent, Replay, ReplayOutcome};

codes! {
    OTHER_STATE = "challenge::other-state", "the steps of an interval do not lead to the committed state", "the run was not trained as committed: see `repro replay BUNDLE --full`";
    NOT_REACHED = "challenge::not-reached", "an interval was not executed", "see why, and draw it again where that can be helped";
}

/// What a challenge came to.
pub struct Challenged {
    /// What became of each interval.
    pub claims: Vec<ClaimReport>,
    /// What was drawn, and what a pass is worth.
    pub report: ChallengeReport,
    /// How many stretches of training were made again.
    pub executed: usize,
}

impl Challenged {
    /// Has the steps of each interval made again.
    pub fn of(
        bundle: &Bundle,
        (challenge, file): (&Challenge, &str),
        replayer: Option<&mut dyn Replayer>,
    ) -> Result<Self, Error> {
        challenge.check(bundle, file)?;
        // From each state that can be started from, one walk to the last interval behind it.
        let mut walks: BTreeMap<u64, u64> = BTreeMap::new();
        for StateInterval { from, to } in &challenge.intervals {
            let end = walks.entry(startable(bundle, *from)).or_default();
            *end = (*end).max(*to);
        }
        let request = |(from, to): (&u64, &u64)| SliceRequest {
            bundle,
            extent: Extent::States { from: *from, to: *to },
        };
        let requests: Vec<_> = walks.iter().map(request).collect();
        let answers = replayer.map(|replayer| replayer.replay(&requests)).unwrap_or_default();
        let walked = |from: u64| {
            let start = startable(bundle, from);
            let extent = Extent::States { from: start, to: *walks.get(&start)? };
            answers.get(&(bundle.name().to_owned(), extent))
        };
        let claims = challenge.intervals.iter().map(|interval| {
            let outcome = match walked(interval.from) {
                None => Outcome::unchecked(&NOT_REACHED, "this build executes no steps"),
                Some(ReplayOutcome::NotRun(why)) => Outcome::unchecked(&NOT_REACHED, why.as_str()),
                Some(ReplayOutcome::Refused(error)) => {
                    Outcome::unchecked(&NOT_REACHED, error.to_string())
                }
                Some(ReplayOutcome::Done(replay)) => outcome(interval, replay),
            };
            let id = format!("states-{}..{}", interval.from, interval.to);
            let quote = "the steps lead from one committed state to the next";
            let claim = own_claim(bundle, &id, quote, String::new(), outcome);
            ClaimReport { impact: Impact::Decision, ..claim }
        });
        let claims: Vec<_> = claims.collect();
        let report = worth(challenge, &claims);
        Ok(Self { claims, report, executed: executed(&answers) })
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
