//! Whether steps of a run come out again when they are executed.

use num_rational::BigRational;
use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;
use repro_exact::decimal::Interval;
use repro_receipt::bundle::{Bundle, RECEIPT};
use repro_receipt::source::{Error, codes};
use repro_report::outcome::{Impact, Outcome, Verdict};
use repro_runs::replay::{Extent, ReplayOutcome};

use super::{Function, Gives};
use crate::claims::slice_replay;
use crate::evaluate::{Call, WRONG_ARGUMENTS, WRONG_KIND};
use crate::value::{Evaluated, EvidencePath, Quantity};

codes! {
    NOT_ASKED = "replayed::not-asked", "no replay was asked for", "run `repro verify --replay all`";
}

/// The function whose calls ask for a replay.
pub const REPLAYED: &str = "replayed";

pub static FUNCTIONS: &[Function] = &[Function {
    name: REPLAYED,
    signature: "replayed(run, '967..977')",
    summary: "these steps of a run, or `'full'`, come out again when they are executed: bit for bit in portable arithmetic",
    misleads: "what happened between the slices is not seen",
    example: "replayed(run, '967..977')",
    gives: Gives::Derived,
    evaluate: replayed,
}];

/// The run and the steps that a call of [`REPLAYED`] names.
fn asked<'a>(call: &Call<'_, '_, 'a>) -> Result<(&'a Bundle, Extent), Error> {
    call.takes(2, 2, &[])?;
    let (Some(run), Some(steps)) = (call.positional(0), call.positional(1)) else {
        return Err(call.wrong(&WRONG_ARGUMENTS, "a run and its steps", "one of them"));
    };
    let bundle = match call.evaluator.evaluate(run, call.frame)? {
        Evaluated::Reference(EvidencePath { bundles, file: None, path, .. })
            if bundles.len() == 1 && path.is_empty() =>
        {
            bundles.into_iter().next()
        }
        _ => None,
    };
    let bundle = bundle.ok_or_else(|| call.wrong(&WRONG_KIND, "one run", &format!("`{run}`")))?;
    let extent = extent(steps).ok_or_else(|| {
        let expected = "`'FROM..TO'` with at least three steps, or `'full'`";
        call.wrong(&WRONG_ARGUMENTS, expected, &steps.to_string())
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

fn replayed<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (bundle, extent) = asked(call)?;
    call.evaluator.show(bundle, crate::evidence::evidence_ref(bundle, RECEIPT, ""));
    let answer = call.evaluator.library().replays().get(&(bundle.name().to_owned(), extent));
    let outcome = match answer {
        None => Outcome::unchecked(&NOT_ASKED, "no replay was asked for"),
        Some(answer) => slice_replay::outcome(answer)?,
    };
    // A whole run that came out again has its last loss, which the quote may state.
    if let (Verdict::Verified, Some(ReplayOutcome::Done(replay))) = (outcome.verdict, answer)
        && let Some(loss) = replay.final_loss
        && let Some(exact) = BigRational::from_float(loss)
    {
        let number =
            Quantity::result(Interval::point(exact), loss, format!("replayed {extent}"), &[]);
        let stated = call.evaluator.quoted();
        if let [printed] = stated {
            let judged = crate::compare::judge(printed, None, &number);
            return Ok(wrapped(Outcome { method: outcome.method, ..judged }));
        }
    }
    Ok(wrapped(outcome))
}

fn wrapped<'a>(outcome: Outcome) -> Evaluated<'a> {
    Evaluated::Judgement(Box::new(outcome.with_impact(Impact::Decision)))
}
