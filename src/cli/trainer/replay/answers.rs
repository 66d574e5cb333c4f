//! The JSON of replays and calibrations.

use serde_json::{Map, Value as Json, json};

use repro_bundle::bundle::Bundle;
use repro_core::decimal::format_float;
use repro_model::replay::{
    Allowed, Batches, Divergence, EngineVerdict, EnginesReport, Extent, PlantedFault, Replay,
    StepReport, Tolerance, ToleranceShare,
};
use repro_replay::replay::FirstBatch;
use repro_report::REPLAY_SCOPE;

/// The schema of a replay.
const SCHEMA: &str = "repro.replay/1";
/// The schema of a calibration.
const CALIBRATION: &str = "repro.calibration/1";
/// The schema of a comparison of a first batch.
const FIRST_BATCH: &str = "repro.first-batch/1";
/// The significant digits of computed numbers that are not compared bit for bit.
const DIGITS: usize = 10;

/// A replay.
pub fn replay(replay: &Replay) -> Json {
    let batches = match &replay.batches {
        Batches::Drawn => json!({"regenerated": true}),
        Batches::OnTrust(why) => json!({"regenerated": false, "why": why}),
    };
    let trained = &replay.trained;
    json!({
        "schema": SCHEMA,
        "bundle": replay.bundle,
        "digest": replay.digest,
        "slice": replay.extent.to_string(),
        "chosen_by": replay.chosen_by.word(),
        "executed_steps": replay.executed,
        "run_steps": replay.of_steps,
        "verdict": replay.verdict.word(),
        "code": replay.code.map(|code| code.id),
        "reason": replay.reason,
        "engine": replay.engine,
        "comparison": replay.comparison,
        "arithmetic": replay.arithmetic,
        "start": replay.start,
        "batches": batches,
        "sampled_micro_batches": replay.sampled.as_ref().map(|sampled| json!({
            "numbers": sampled.numbers.iter().map(|number| number + 1).collect::<Vec<_>>(),
            "of": sampled.of,
            "seed": sampled.seed,
        })),
        "steps": replay.steps.iter().map(step).collect::<Vec<_>>(),
        "tensors": replay.tensors.iter().map(|tensor| json!({
            "name": tensor.name,
            "logged": tensor.logged,
            "replayed": tensor.replayed,
            "compared": tensor.compared,
            "equal": tensor.equal,
            "tolerance": tensor.tolerance.map(computed),
        })).collect::<Vec<_>>(),
        "first_divergence": replay.divergence.as_ref().map(divergence),
        "routed_elsewhere": replay.flips.iter().map(|(step, router, tokens)| json!({
            "step": step,
            "router": router,
            "tokens": tokens,
        })).collect::<Vec<_>>(),
        "closest": replay.closest().map(|closest| json!({
            "share_of_tolerance": computed(closest.share),
            "step": closest.step,
            "what": closest.what,
        })),
        "committed_states": replay.states,
        "compared_too": replay.also,
        "records": {
            "agreeing": replay.records.agreeing,
            "differing": replay.records.differing,
            "open": replay.records.open,
        },
        "evaluations": replay.evaluations,
        "reading": replay.reading,
        "not_compared": replay.uncompared,
        "smallest_fault_caught": faults(&replay.faults),
        "would_have_been_seen": replay.would_have_been_seen().map(|one| one.fault).collect::<Vec<_>>(),
        "cannot_be_seen": replay.cannot_be_seen(),
        "trained": {
            "tensors": trained.tensors,
            "without_gradient": trained.without_gradient,
            "unmoved": trained.unmoved,
            "idle_experts": trained.idle,
            "constant_routers": trained.constant,
            "steps_at_rate_0": trained.at_rest,
        },
        "tolerance": replay.tolerance.as_ref().map(tolerance),
        "final_loss": replay.final_loss,
        "engines": replay.engines.as_ref().map(engines),
        "scope": REPLAY_SCOPE,
    })
}

/// A calibration.
pub fn calibration(bundle: &Bundle, extent: Extent, found: &Tolerance) -> Json {
    let mut answer = json!({
        "schema": CALIBRATION,
        "bundle": bundle.name(),
        "digest": bundle.digest().prefixed(),
        "slice": extent.to_string(),
    });
    if let (Json::Object(answer), Json::Object(found)) = (&mut answer, tolerance(found)) {
        answer.extend(found);
    }
    answer
}

/// The result of a run's first batch.
pub fn first_batch(found: &FirstBatch) -> Json {
    json!({
        "schema": FIRST_BATCH,
        "outcome": found.outcome.word(),
        "reason": found.reason,
        "part": found.part.as_ref().map(|part| json!({
            "name": part.part,
            "difference": computed(part.apart),
            "tolerance": computed(part.allowed),
        })),
        "settings": found.settings,
        "tensors": found.tensors,
        "lacks_routes": found.lacks_routes,
    })
}

/// A number as it is printed: no more digits than the arithmetic of a report has.
fn computed(value: f64) -> Json {
    let text = format_float(value, DIGITS);
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map_or(Json::Null, Json::from)
}

fn step(step: &StepReport) -> Json {
    let difference = step.logged.map(|logged| step.replayed - logged);
    json!({
        "step": step.step,
        "logged": step.logged,
        "replayed": step.replayed,
        "difference": difference.filter(|difference| difference.is_finite()),
        "logged_grad_norm": step.logged_norm,
        "replayed_grad_norm": step.replayed_norm,
        "routed_elsewhere": step.flips,
    })
}

fn divergence(divergence: &Divergence) -> Json {
    json!({
        "step": divergence.step,
        "what": divergence.what,
        "tensor": divergence.tensor,
        "logged": divergence.logged,
        "replayed": divergence.replayed,
        "difference": divergence.difference.map(|(apart, _)| computed(apart)),
        "tolerance": divergence.difference.map(|(_, allowed)| computed(allowed)),
        "inputs_matched": divergence.inputs_matched,
        "hint": divergence.hint,
    })
}

/// The verdict of each engine, and where they agree and diverge.
fn engines(report: &EnginesReport) -> Json {
    let verdict = |of: &EngineVerdict| {
        json!({
            "verdict": of.verdict.word(),
            "code": of.code.map(|code| code.id),
            "reason": of.reason,
        })
    };
    let mut largest: Vec<&ToleranceShare> = Vec::new();
    for share in &report.shares {
        match largest.iter_mut().find(|known| known.kind == share.kind) {
            Some(known) if share.share > known.share => *known = share,
            Some(_) => {}
            None => largest.push(share),
        }
    }
    let share = |of: &ToleranceShare| {
        json!({
            "kind": of.kind,
            "share_of_tolerance": computed(of.share),
            "step": of.step,
            "what": of.what,
        })
    };
    json!({
        "own": verdict(&report.own),
        "candle": report.candle.as_ref().ok().map(verdict),
        "candle_does_not_know": report.candle.as_ref().err(),
        "confirm": report.confirm(),
        "largest_differences": largest.into_iter().map(share).collect::<Vec<_>>(),
        "part": report.parting.as_ref().map(|parting| json!({
            "step": parting.divergence.step,
            "what": parting.divergence.what,
            "tensor": parting.divergence.tensor,
            "operation": parting.operation,
            "own": parting.divergence.logged,
            "candle": parting.divergence.replayed,
            "difference": parting.divergence.difference.map(|(apart, _)| computed(apart)),
            "tolerance": parting.divergence.difference.map(|(_, allowed)| computed(allowed)),
        })),
    })
}

/// The faults by their names.
fn faults(faults: &[PlantedFault]) -> Json {
    let fault = |seen: &PlantedFault| {
        let answer = json!({
            "caught": seen.at.is_some(),
            "planted": seen.planted,
            "step": seen.at.as_ref().map(|(step, _)| step),
            "in": seen.at.as_ref().map(|(_, what)| what),
            "smallest": seen.smallest.map(|size| size.to_string().parse::<f64>().map_or(Json::Null, computed)),
            "why_not": seen.unseen,
        });
        (seen.fault.to_owned(), answer)
    };
    Json::Object(faults.iter().map(fault).collect::<Map<_, _>>())
}

fn tolerance(tolerance: &Tolerance) -> Json {
    let row = |Allowed { step, loss, norm, update }: &Allowed| {
        json!({
            "step": step,
            "loss": computed(*loss),
            "grad_norm": computed(*norm),
            "largest_update": update.as_ref().map(|(allowed, _)| computed(*allowed)),
            "of_tensor": update.as_ref().map(|(_, tensor)| tensor),
        })
    };
    json!({
        "replays": tolerance.replays,
        "times_their_spread": tolerance.times,
        "steps": tolerance.steps.iter().map(row).collect::<Vec<_>>(),
        "rounded_to": tolerance.rounded,
        "held_against_percent_of_rate": tolerance.held_against,
        "in_each_tensor_percent_of_rate": tolerance.in_each,
        "seen_roughly": tolerance.roughly,
        "too_coarse": tolerance.coarse,
        "rounding_alone": tolerance.blurred,
        "rounding_in_part": tolerance.in_part,
        "allowed_of_these_at_most": computed(tolerance.widest),
        "routed_elsewhere": tolerance.flips,
    })
}
