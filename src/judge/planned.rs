//! The runs of a study's plan against the bundles that say they belong to it.
//!
//! Owns how the two are compared: which runs there must be once the tuning runs have chosen the
//! learning rates, whether each bundle was made under this plan, and whether its configuration is the
//! planned one. What a departure means for a claim is left to the kind.

use std::collections::HashSet;

use crate::started::StartedRuns;
use repro_receipt::bundle::record::RecordValue;
use repro_receipt::bundle::{Bundle, CONFIG, Contract};
use repro_receipt::source::{Code, Document, Error, Node, codes};
use repro_report::outcome::{Method, Outcome};
use repro_runs::study::{PlannedRun, Rates, RunKind, Study, Tuned};
use serde_json::Value as Json;

codes! {
    NOT_OF_PLAN = "plan::not-followed", "a run is not the one that its plan has", "correct the receipt, or make another study of what was run";
}

/// How many names one sentence lists.
const NAMED: usize = 5;

/// In which way the bundles depart from the plan, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Departure {
    /// The plan at hand is not the one that a bundle names.
    OtherDigest,
    /// A planned run has no bundle, or one of a run that did not end.
    NotRun,
    /// A run was started and is not reported.
    NotReported,
    /// A bundle of the study is not in the plan.
    NotPlanned,
    /// A bundle was made under another plan, or names none.
    OtherPlan,
    /// The tuning runs choose no learning rates.
    NoRates,
    /// A run was configured otherwise than planned.
    OtherConfig,
}

/// What came out of the comparison.
#[derive(Debug)]
pub struct Compared {
    /// How many runs the plan has; none where its tuning runs choose no learning rates.
    pub planned: Option<usize>,
    /// Every departure, the gravest first, with a sentence.
    pub departures: Vec<(Departure, String)>,
}

impl Compared {
    /// What the departures come to, each under its code; none where there is none.
    pub fn departed(&self, code_of: impl Fn(Departure) -> &'static Code) -> Option<Outcome> {
        let ((gravest, reason), others) = self.departures.split_first()?;
        // A plan with another digest is not the one that the runs were made under, and says nothing of them.
        let outcome = match gravest {
            Departure::OtherDigest => Outcome::inconclusive(code_of(*gravest), reason.clone()),
            _ => Outcome::refuted(code_of(*gravest), reason.clone()),
        };
        Some(others.iter().fold(outcome, |outcome, (departure, reason)| {
            outcome.noting(code_of(*departure), reason.clone())
        }))
    }
}

/// The bundles beside a post, as the comparison asks for them.
pub trait BundlesOfPlan {
    /// The bundle of a run, where the post names it.
    fn run(&self, id: &str) -> Option<&Bundle>;
    /// The names of all bundles that say they belong to a study, whether the post names them or not.
    fn present(&self, study: &Study) -> Vec<&str>;
    /// The runs of a study that were started, where its plan names a log of them.
    fn started(&self, study: &Study) -> Option<&StartedRuns>;
    /// A parsed file of a bundle.
    fn file(&self, bundle: &Bundle, file: &str) -> Result<&Document, Error>;
}

/// Compares a study with the bundles beside the post.
pub fn compare(study: &Study, evidence: &impl BundlesOfPlan) -> Result<Compared, Error> {
    let mut departures = Vec::new();
    let tuning: Vec<_> = study.tuning_runs().cloned().collect();
    let rates = chosen(study, evidence, &mut departures)?;
    let finals = match &rates {
        Some(rates) => study.final_runs(rates),
        // Without rates the runs at the shared rate are neither wanted nor unwelcome.
        None => study.runs().iter().filter(|run| run.kind == RunKind::Best).cloned().collect(),
    };
    let runs: Vec<PlannedRun> = tuning.into_iter().chain(finals).collect();
    let mut missing = Vec::new();
    for run in &runs {
        match evidence.run(&run.id) {
            None => missing.push(run.id.as_str()),
            Some(bundle) => judge(run, bundle, evidence, &mut departures)?,
        }
    }
    if !missing.is_empty() {
        let of =
            format!("planned runs without a pinned bundle: {} of {}", missing.len(), runs.len());
        departures.push((Departure::NotRun, format!("{of}, {}", few(&missing))));
    }
    let started = evidence.started(study).into_iter().flat_map(StartedRuns::not_reported);
    let told = |start| (Departure::NotReported, format!("started and not reported: {start}"));
    departures.extend(started.map(told));
    let mut wanted: HashSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    if rates.is_none() {
        wanted.extend(study.listed().map(|run| run.id));
    }
    let surplus: Vec<_> =
        evidence.present(study).into_iter().filter(|id| !wanted.contains(id)).collect();
    if !surplus.is_empty() {
        let of = format!("bundles of the study that are not in its plan: {}", surplus.len());
        departures.push((Departure::NotPlanned, format!("{of}, {}", few(&surplus))));
    }
    departures.sort_by_key(|(departure, _)| *departure);
    Ok(Compared { planned: rates.map(|_| runs.len()), departures })
}

/// The learning rates that the tuning runs choose; none where they choose none.
fn chosen(
    study: &Study,
    evidence: &impl BundlesOfPlan,
    departures: &mut Vec<(Departure, String)>,
) -> Result<Option<Rates>, Error> {
    let mut results = Vec::new();
    for run in study.tuning_runs() {
        // A run without a bundle is named with the others that are missing.
        let Some(bundle) = evidence.run(&run.id) else { return Ok(None) };
        let loss = development_loss(bundle, evidence)?;
        results.push(Tuned { arm: &run.arm, rate: run.rate.unwrap_or(f64::NAN), loss });
    }
    match study.rates(&results) {
        Ok(rates) => Ok(Some(rates)),
        Err(error) => {
            let why = format!("expected {}, found {}", error.expected, error.found);
            departures.push((Departure::NoRates, format!("the tuning runs choose no rate: {why}")));
            Ok(None)
        }
    }
}

/// Nats per token on the split that a tuning run was evaluated on; none where it diverged or was not
/// evaluated.
fn development_loss(bundle: &Bundle, evidence: &impl BundlesOfPlan) -> Result<Option<f64>, Error> {
    if bundle.diverged_at()?.is_some() {
        return Ok(None);
    }
    let last = bundle.receipt().checkpoints.iter().max_by_key(|saved| saved.step);
    let Some(file) = last.and_then(|saved| saved.evaluation.as_ref()) else { return Ok(None) };
    let evaluation = evidence.file(bundle, file)?.root();
    let sum = |field: &str| evaluation.required(field)?.float();
    Ok(Some(sum("nats")? / sum("predicted_tokens")?))
}

/// Whether a bundle is that of the planned run.
fn judge(
    run: &PlannedRun,
    bundle: &Bundle,
    evidence: &impl BundlesOfPlan,
    departures: &mut Vec<(Departure, String)>,
) -> Result<(), Error> {
    let receipt = bundle.receipt();
    let stated = receipt.run.as_ref();
    // A run that diverged was made as planned, and counts.
    if receipt.finished() != Some(true) && bundle.diverged_at()?.is_none() {
        departures.push((Departure::NotRun, format!("`{}` did not run to its end", run.id)));
    }
    let digest = receipt.plan_sha256();
    let same_plan = digest == Some(run.plan.to_string().as_str());
    let study = stated.and_then(|stated| stated.study.as_deref());
    let arm = stated.and_then(|stated| stated.arm.as_deref());
    let commit = stated.and_then(|stated| stated.plan_commit.as_deref());
    let wrong = if study != Some(run.study.as_str()) || arm != Some(run.arm.as_str()) {
        let said = [study, arm].map(|word| word.unwrap_or("none"));
        Some(format!("says study `{}`, arm `{}`", said[0], said[1]))
    } else if commit.is_none_or(str::is_empty) {
        Some("names no commit of its plan".to_owned())
    } else if digest.is_none() {
        Some("names no plan: it has no `plan_sha256`".to_owned())
    } else {
        None
    };
    if let Some(wrong) = wrong {
        departures.push((Departure::OtherPlan, format!("`{}` {wrong}", run.id)));
    } else if !same_plan {
        let wrong =
            "was made under another plan: `plan_sha256` is not the digest of the study file";
        departures.push((Departure::OtherDigest, format!("`{}` {wrong}", run.id)));
        // What the plan at hand has is not what that run was to be.
        return Ok(());
    }
    let config = evidence.file(bundle, CONFIG)?;
    if let Some(other) = run.differs_from(config.root())?.or_else(|| differs(run, bundle)) {
        departures.push((Departure::OtherConfig, format!("`{}`: {other}", run.id)));
    }
    Ok(())
}

/// In what a receipt departs from the plan of its run.
fn differs(run: &PlannedRun, bundle: &Bundle) -> Option<String> {
    let receipt = bundle.receipt();
    let written = |value: Option<Json>| value.map_or_else(|| "none".to_owned(), |v| v.to_string());
    let (stated, planned) = (receipt.contract.as_ref(), &run.contract);
    if stated != Some(planned) {
        let of = |contract: Option<&Contract>| contract.and_then(|one| one.write().ok().flatten());
        let (stated, planned) = (written(of(stated)), written(of(Some(planned))));
        return Some(format!("the contract is {stated}, and that of the plan {planned}"));
    }
    if receipt.model.as_ref() != Some(&run.model) {
        return Some("the declared model is not that of the plan".to_owned());
    }
    let planned = run.extra();
    let names = planned.keys().map(String::as_str).chain(["horizon_of"]);
    let other = names.into_iter().find(|name| receipt.extra.get(*name) != planned.get(*name))?;
    let [stated, planned] = [&receipt.extra, &planned].map(|of| written(of.get(other).cloned()));
    Some(format!("`extra.{other}` is {stated}, and {planned} in the plan"))
}

/// Whether the run of a bundle is that of its plan, at hand; nothing where the plan is another one.
pub fn follows(study: &Study, bundle: &Bundle) -> Result<Option<Outcome>, Error> {
    let receipt = bundle.receipt();
    if receipt.plan_sha256() != Some(study.digest().to_string().as_str()) {
        return Ok(None);
    }
    let named = receipt.run.as_ref();
    let Some(run) = named.and_then(|own| study.runs().iter().find(|run| run.id == own.id)) else {
        let reason = format!("`repro/studies/{}.toml` has no run of this name", study.id);
        return Ok(Some(Outcome::refuted(&NOT_OF_PLAN, reason)));
    };
    let config = bundle.document(CONFIG)?.root();
    // A rate that tuning runs choose is not in the plan.
    let rate = config.get("lr").map(Node::float).transpose()?;
    let run = rate.filter(|_| run.rate.is_none()).map_or_else(|| run.clone(), |rate| run.at(rate));
    let arm = named.and_then(|own| own.arm.as_deref());
    let other_arm = (arm != Some(run.arm.as_str()))
        .then(|| format!("the arm is `{}`, and `{}` in the plan", arm.unwrap_or("none"), run.arm));
    let named = named.and_then(|own| own.study.as_deref()).unwrap_or("none");
    let other_study = (named != study.id).then(|| {
        format!("the study is `{named}`, and `{}` has the plan that the receipt names", study.id)
    });
    let other = match run.differs_from(config)? {
        Some(other) => Some(other),
        None => other_study.or(other_arm).or_else(|| differs(&run, bundle)),
    };
    let outcome = match other {
        None => Outcome::verified().giving(format!("`{}` of `{}`", run.id, study.id)),
        Some(other) => Outcome::refuted(&NOT_OF_PLAN, other),
    };
    Ok(Some(outcome.within("plan", "equal settings").by(Method::Recomputed)))
}

/// The first of some names.
pub fn few(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
