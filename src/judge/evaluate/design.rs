//! The design that runs were made under: the plan that their receipts name, whether the post names it or not.
//!
//! A plan that was registered before the runs fixes the test and the runs; what departs from it decides nothing.

use std::collections::BTreeMap;

use repro_runs::study::{RunKind, Study};

use super::Evaluator;
use crate::value::RunSample;

/// How the plan of some runs bears on a comparison of them.
#[derive(Debug)]
pub enum RunDesign<'a> {
    /// Their receipts name no plan.
    Unplanned,
    /// Their receipts name this plan.
    Planned(&'a Study),
}

/// The plan that the receipts of all these runs name; what is wrong with it is noted as a departure.
pub fn of<'a>(evaluator: &Evaluator<'a>, groups: &[&RunSample]) -> RunDesign<'a> {
    let runs: Vec<&str> =
        groups.iter().flat_map(|group| &group.runs).flat_map(|names| names.split(", ")).collect();
    let mut named: BTreeMap<(String, String), usize> = BTreeMap::new();
    for run in &runs {
        let Some(bundle) = evaluator.library().bundle(run) else { continue };
        let receipt = bundle.receipt();
        let study = receipt.run.as_ref().and_then(|run| run.study.clone());
        let digest = receipt.extra.get("plan_sha256").and_then(|plan| plan.as_str());
        if let (Some(study), Some(digest)) = (study, digest) {
            *named.entry((study, digest.to_owned())).or_default() += 1;
        }
    }
    let Some(((id, digest), count)) = named.iter().next() else { return RunDesign::Unplanned };
    let study = evaluator.library().study(id);
    match study.filter(|study| study.digest().to_string() == *digest) {
        _ if named.len() > 1 || *count < runs.len() => {
            evaluator.departs("the runs were made under different plans".to_owned());
            RunDesign::Unplanned
        }
        None => {
            evaluator.departs(format!(
                "the receipts name a plan, `repro/studies/{id}.toml`, that is not there as it was"
            ));
            RunDesign::Unplanned
        }
        Some(study) => {
            if let Some((other, _)) = evaluator.page().plan.as_ref().filter(|(name, _)| name != id)
            {
                evaluator
                    .departs(format!("the post names the plan `{other}`, the receipts `{id}`"));
            }
            for group in groups {
                picked(evaluator, study, group);
            }
            RunDesign::Planned(study)
        }
    }
}

/// Notes the seeds of an arm and budget that the plan has and a group leaves out.
fn picked(evaluator: &Evaluator<'_>, study: &Study, group: &RunSample) {
    let own: Vec<&str> = group.runs.iter().flat_map(|names| names.split(", ")).collect();
    let planned = |name: &str| study.runs().iter().find(|run| run.id == name);
    let Some(first) = own.first().and_then(|name| planned(name)) else { return };
    if first.kind == RunKind::Tuning {
        return;
    }
    let of_arm = study
        .runs()
        .iter()
        .filter(|run| (&run.arm, &run.budget, run.kind) == (&first.arm, &first.budget, first.kind));
    let left_out: Vec<_> = of_arm
        .filter(|run| !own.contains(&run.id.as_str()))
        .map(|run| run.seed.to_string())
        .collect();
    if !left_out.is_empty() {
        let (arm, budget) = (&first.arm, &first.budget);
        evaluator.departs(format!(
            "the plan has further seeds of `{arm}` under `{budget}`: {}",
            left_out.join(", ")
        ));
    }
}
