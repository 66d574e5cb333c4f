//! The receipt of a run, from its plan and from what happened.

use serde_json::json;

use super::{Context, state::State};
use crate::data::{Order, Unique};
use repro_bundle::bundle::{Bundle, Data, Origin, Receipt, Run, Seeds};
use repro_core::source::Error;
use repro_model::study::PlannedRun;

/// The receipt of a run that is over, after it read so many tokens, `unique` of them different.
pub fn receipt(
    plan: &PlannedRun,
    run: Run,
    context: &Context<'_>,
    state: &State,
    (read, unique): (u64, Unique),
) -> Receipt {
    let corpus = context.corpus;
    let seed = plan.seed.to_string();
    let mut extra = plan.extra();
    extra.insert("data".to_owned(), corpus.record());
    if let Some(rate) = plan.rate {
        extra.insert("lr".to_owned(), json!(rate));
    }
    Receipt {
        run: Some(run),
        trainer: Some(context.trainer.clone()),
        model: Some(plan.model.clone()),
        contract: Some(plan.contract.clone()),
        seeds: Some(Seeds { init: Some(seed.clone()), data: Some(seed) }),
        data: Some(Data {
            name: Some(corpus.name.clone()),
            sha256: Some(corpus.sha256),
            unique_tokens: Some(unique.tokens),
            unique_bytes: Some(unique.bytes),
            tokenizer: Some(corpus.tokenizer.label()),
            order: Some(Order::NAME.to_owned()),
            validation_sha256: Some(corpus.validation_part.sha256),
            epochs: Some(read as f64 / unique.tokens as f64),
        }),
        environment: Some(context.environment.clone()),
        checkpoints: state.checkpoints.clone(),
        slices: state.slices.clone(),
        extra,
        ..Receipt::new(Origin::Emitted)
    }
}

/// The loss on held-out text at the last checkpoint of a bundle, in nats per token and in bits per byte;
/// none where it has none, or did not finish.
pub fn held_out(bundle: &Bundle) -> Result<(Option<f64>, Option<f64>), Error> {
    if bundle.receipt().finished() == Some(false) {
        return Ok((None, None));
    }
    let last = bundle.receipt().checkpoints.iter().max_by_key(|checkpoint| checkpoint.step);
    let Some(file) = last.and_then(|last| last.evaluation.as_deref()) else {
        return Ok((None, None));
    };
    let root = bundle.document(file)?.root();
    let number = |field: &str| root.get(field).map(|value| value.float()).transpose();
    Ok((number("loss")?, number("bpb")?))
}
