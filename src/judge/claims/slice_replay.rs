//! A stretch of a run's training, or all of it, comes out again when it is executed again.

use num_rational::BigRational;

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity};
use crate::post::Claim;
use repro_exact::decimal::Interval;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome, Verdict};
use repro_runs::replay::{Extent, Replay, ReplayComparison, ReplayOutcome};

repro_receipt::source::codes! {
    DIFFERS = "slice_replay::differs", "executed again, the steps come out differently", "see `repro replay` for the first divergence: the run was not trained as it says";
    OTHER_LOSS = "slice_replay::other-loss", "the replayed run ends with another loss", "correct the number";
    UNDECIDED = "slice_replay::undecided", "the steps were executed again, and that cannot decide", "see `repro replay` for what is in the way";
    NOT_RUN = "slice_replay::not-run", "nothing was executed again", "`--replay auto` replays what fits into `--budget`, `--replay all` everything";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "slice_replay",
    summary: "training steps give the same results when they are executed again",
    explain: "Executes the steps of `slice` again, from the seed or from the checkpoint that they \
         start from, and compares losses, gradient norms, routing and the update of each tensor \
         with the log. Runs in portable-f32/1 must give the same bits; others must stay within \
         eight times the spread that rounding causes here, which must be below half the effect of \
         1% of the learning rate. With `slice = \"full\"` the run is executed from its seed to \
         its end with its evaluations, and a claimed number is its last held-out loss \
         (rounding_interval). Nothing is executed unless the caller asks with `--replay`.\n\
         How it can mislead: the slice was chosen by the author, and starts from a checkpoint \
         that is taken as given; what happened between slices is not seen.\n\
         Reference: Jia et al. 2021, Proof-of-Learning.",
    fields: &[
        FieldSpec::optional("bundle", "the bundle of the run; the post's default if absent"),
        FieldSpec::required("slice", "the steps, as `\"FROM..TO\"`, or `\"full\"`"),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let extent = extent(claim.node)?;
    if let Some(claimed) = claim.claimed.filter(|_| extent != Extent::Whole) {
        let expected = "no number: only `slice = \"full\"` has one, its last held-out loss";
        return Err(BAD_CHOICE.at(claimed.place(), expected, format!("`{}`", claimed.text()?)));
    }
    let Some(answer) = evidence.replay(claim.node, extent)? else {
        return Ok(Outcome::unchecked(&NOT_RUN, "no replay was asked for"));
    };
    let outcome = outcome(answer)?;
    let (Some(claimed), ReplayOutcome::Done(replay)) = (claim.claimed, answer) else {
        return Ok(outcome);
    };
    match (outcome.verdict, replay.final_loss.and_then(BigRational::from_float)) {
        (Verdict::Verified, Some(loss)) => {
            let float = replay.final_loss.unwrap_or_default();
            let given = EvidenceQuantity {
                interval: Interval::point(loss),
                float,
                ..EvidenceQuantity::count(0)
            };
            let judged = judge(&printed(claimed)?, &given, &Declared::default(), &OTHER_LOSS);
            Ok(judged.by(Method::Replayed))
        }
        _ => Ok(outcome),
    }
}

/// The steps that a claim asks for.
pub fn extent(node: Node<'_>) -> Result<Extent, Error> {
    let slice = node.required("slice")?;
    let text = slice.text()?;
    Extent::parse(text).ok_or_else(|| {
        let expected = "`FROM..TO` with at least three steps, or `full`";
        BAD_CHOICE.at(slice.place(), expected, format!("`{text}`"))
    })
}

/// What a replay comes to as a claim. A bundle that cannot be replayed is refused.
pub fn outcome(answer: &ReplayOutcome) -> Result<Outcome, Error> {
    let replay = match answer {
        ReplayOutcome::Done(replay) => replay,
        ReplayOutcome::Refused(error) => return Err(error.clone()),
        ReplayOutcome::NotRun(why) => return Ok(Outcome::unchecked(&NOT_RUN, why.clone())),
    };
    let outcome = match replay.verdict {
        Verdict::Verified => Outcome::verified(),
        Verdict::Refuted => Outcome::refuted(&DIFFERS, replay.reason.clone()),
        Verdict::Inconclusive => Outcome::inconclusive(&UNDECIDED, replay.reason.clone()),
        Verdict::Unchecked => Outcome::unchecked(&NOT_RUN, replay.reason.clone()),
    };
    let outcome = match replay.comparison {
        ReplayComparison::Bitwise => outcome.within("bitwise", "equal bits"),
        ReplayComparison::Calibrated => {
            outcome.within("calibrated", "8 times the spread of rounding")
        }
    };
    // Where no step was made nothing came out.
    if replay.executed == 0 {
        return Ok(outcome);
    }
    Ok(outcome.giving(came_out(replay)).by(Method::Replayed))
}

/// What came out, in a few words.
fn came_out(replay: &Replay) -> String {
    match (replay.extent, &replay.divergence) {
        (_, Some(divergence)) => format!("another {} in step {}", divergence.what, divergence.step),
        (Extent::Whole, None) => format!("all {} steps and evaluations", replay.executed),
        (Extent::Steps { .. }, None) => {
            format!("{} steps, {} tensors", replay.executed, replay.compared_tensors())
        }
    }
}
