//! Whether steps of a run come out again when they are executed.

use num_rational::BigRational;
use repro_bundle::bundle::{Bundle, RECEIPT};
use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::Interval;
use repro_core::source::{Error, codes};
use repro_model::replay::{Extent, Replay, ReplayComparison, ReplayOutcome};
use repro_report::outcome::{Method, Outcome, Verdict};

use crate::evaluate::{Call, WRONG_KIND};
use crate::value::{Evaluated, EvidencePath, Quantity};

codes! {
    DIFFERS = "replayed::differs", "the replayed steps differ from the log", "run `repro replay` to find the first divergence: the run was not trained as stated";
    UNDECIDED = "replayed::undecided", "the replay is inconclusive", "run `repro replay` to see why";
    NOT_RUN = "replayed::not-run", "no steps were replayed", "use `--replay auto` to replay what fits `--budget`, or `--replay all`";
    NOT_ASKED = "replayed::not-asked", "no replay was requested", "run `repro verify --replay all`";
}

/// The function whose calls ask for a replay.
pub const REPLAYED: &str = "replayed";

/// The run and the steps that a call of [`REPLAYED`] names.
fn asked<'a>(call: Call<'_, 'a>) -> Result<(&'a Bundle, Extent), Error> {
    let (run, steps) = (call.argument(0)?, call.argument(1)?);
    let bundle = match run.evaluate()? {
        Evaluated::Reference(EvidencePath { bundles, file: None, path, .. })
            if path.is_empty()
                && let [only] = bundles[..] =>
        {
            only
        }
        _ => return Err(call.wrong(&WRONG_KIND, "one run", &format!("`{}`", run.part))),
    };
    let extent = extent(steps.part).ok_or_else(|| {
        let expected = "`'FROM..TO'` with at least three steps, or `'full'`";
        call.wrong_arguments(expected, &steps.part.to_string())
    })?;
    Ok((bundle, extent))
}

/// The steps that an expression names.
pub fn extent(steps: &Expression) -> Option<Extent> {
    match &steps.kind {
        ExpressionKind::Text(text) => Extent::parse(text),
        _ => None,
    }
}

pub fn replayed<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (bundle, extent) = asked(call)?;
    call.evaluator.show(bundle, RECEIPT, "");
    let answer = call.evaluator.library().replays.get(&(bundle.name().to_owned(), extent));
    let outcome = match answer {
        None => Outcome::unchecked(&NOT_ASKED, "no replay was requested"),
        Some(answer) => outcome_of(answer)?,
    };
    // A whole run that came out again has its last loss, which the quote may state.
    if let (Verdict::Verified, Some(ReplayOutcome::Done(replay))) = (outcome.verdict, answer)
        && let Some(loss) = replay.final_loss
        && let Some(exact) = BigRational::from_float(loss)
    {
        let number =
            Quantity::result(Interval::point(exact), loss, format!("replayed {extent}"), []);
        if let [printed] = call.evaluator.quoted() {
            let judged = crate::reading::judge_alone(printed, &number);
            return Ok(Evaluated::decided(Outcome { method: outcome.method, ..judged }));
        }
    }
    Ok(Evaluated::decided(outcome))
}

/// The outcome of a replay as a claim. A bundle that cannot be replayed is rejected.
pub fn outcome_of(answer: &ReplayOutcome) -> Result<Outcome, Error> {
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
            outcome.within("calibrated", "8 times the rounding deviation")
        }
    };
    // Where no step was made nothing came out.
    if replay.executed == 0 {
        return Ok(outcome);
    }
    let method = if replay.has_two_engines() { Method::ReplayedByTwo } else { Method::Replayed };
    Ok(outcome.giving(came_out(replay)).by(method))
}

/// A short summary of the result.
fn came_out(replay: &Replay) -> String {
    match (replay.extent, &replay.divergence) {
        (_, Some(divergence)) => {
            format!("a different {} in step {}", divergence.what, divergence.step)
        }
        (Extent::Whole, None) => format!("all {} steps and evaluations", replay.executed),
        (Extent::States { .. }, None) => format!("{} steps", replay.executed),
        (Extent::Steps { .. }, None) => {
            format!("{} steps, {} tensors", replay.executed, replay.compared_tensors())
        }
    }
}
