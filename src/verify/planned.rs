//! A run of a study's plan against its bundle.

use repro_bundle::bundle::record::RecordValue;
use repro_bundle::bundle::{Bundle, CONFIG, Contract};
use repro_core::source::{Error, Node, codes};
use repro_model::study::{PlannedRun, Study};
use repro_report::outcome::Outcome;
use serde_json::Value as Json;

codes! {
    NOT_OF_PLAN = "plan::not-followed", "the run does not match its plan", "correct the receipt, or make a new study from the actual runs";
}

/// How many names one sentence lists.
const NAMED: usize = 5;

/// In what a receipt departs from the plan of its run.
pub fn differs(run: &PlannedRun, bundle: &Bundle) -> Option<String> {
    let receipt = bundle.receipt();
    let written = |value: Option<Json>| value.map_or_else(|| "none".to_owned(), |v| v.to_string());
    let (stated, planned) = (receipt.contract.as_ref(), &run.contract);
    if stated != Some(planned) {
        let of = |contract: Option<&Contract>| contract.and_then(|one| one.write().ok().flatten());
        let (stated, planned) = (written(of(stated)), written(of(Some(planned))));
        return Some(format!("the contract is {stated}, but the plan has {planned}"));
    }
    if receipt.model.as_ref() != Some(&run.model) {
        return Some("the declared model differs from the plan's".to_owned());
    }
    let planned = run.extra();
    let names = planned.keys().map(String::as_str).chain(["horizon_of"]);
    let other = names.into_iter().find(|name| receipt.extra.get(*name) != planned.get(*name))?;
    let [stated, planned] = [&receipt.extra, &planned].map(|of| written(of.get(other).cloned()));
    Some(format!("`extra.{other}` is {stated}, but {planned} in the plan"))
}

/// Whether the run of a bundle is that of its plan, available; nothing if the plan is another one.
pub fn follows(study: &Study, bundle: &Bundle) -> Result<Option<Outcome>, Error> {
    let receipt = bundle.receipt();
    if receipt.plan_sha256() != Some(study.digest().to_string().as_str()) {
        return Ok(None);
    }
    let named = receipt.run.as_ref();
    let Some(run) = named.and_then(|own| study.runs().iter().find(|run| run.id == own.id)) else {
        let reason = format!("`repro/studies/{}.toml` has no run with this name", study.id);
        return Ok(Some(Outcome::refuted(&NOT_OF_PLAN, reason)));
    };
    let config = bundle.document(CONFIG)?.root();
    // A rate that tuning runs choose is not in the plan.
    let rate = config.get("lr").map(Node::float).transpose()?;
    let run = rate.filter(|_| run.rate.is_none()).map_or_else(|| run.clone(), |rate| run.at(rate));
    let arm = named.and_then(|own| own.arm.as_deref());
    let other_arm = (arm != Some(run.arm.as_str()))
        .then(|| format!("the arm is `{}`, but `{}` in the plan", arm.unwrap_or("none"), run.arm));
    let named = named.and_then(|own| own.study.as_deref()).unwrap_or("none");
    let other_study = (named != study.id).then(|| {
        format!("the study is `{named}`, but `{}` has the plan recorded in the receipt", study.id)
    });
    let other = match run.differs_from(config)? {
        Some(other) => Some(other),
        None => other_study.or(other_arm).or_else(|| differs(&run, bundle)),
    };
    let outcome = match other {
        None => Outcome::verified().giving(format!("`{}` of `{}`", run.id, study.id)),
        Some(other) => Outcome::refuted(&NOT_OF_PLAN, other),
    };
    Ok(Some(outcome.within("plan", "equal settings")))
}

/// The first of some names.
pub fn few(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
