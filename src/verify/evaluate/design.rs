//! The design that runs were made under: the plan that their receipts name, whether the post names it or not.
//!
//! A plan that was registered before the runs fixes test, level, family, step and runs; what departs from it decides
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use repro_claim::quote::{self, ItemKind};
use repro_core::source::{Code, Kind, Node, codes};
use repro_model::study::{PlannedRun, RunKind, Study};
use repro_report::outcome::EvidenceRef;

use super::Evaluator;
use crate::context::{NOT_INDEPENDENT, REPEATED_RUN, same_run};
use crate::lexicon::lexicon;
use crate::run_design::{ALPHA, Comparison, PlannedFamily, RunDesign};
use crate::started::StartedRuns;
use crate::value::{LeafKind, Quantity, RunSample};
use repro_bundle::bundle::CONFIG;

/// The word by which a plan names its adjustment for several tests.
const HOLM: &str = "holm";
/// The words by which a plan names the step at which arms are compared.
const LAST_STEP: &str = "last step";
/// The words by which a plan says that its metric is measured on other text than that of the training.
const HELD_OUT: [&str; 3] = ["validation", "held-out", "test"];
/// Where runs record the loss of the batches that they train on.
pub const TRAINING_FILE: &str = "data/metrics.jsonl";
/// The words by which a plan pairs its runs.
const PAIRED: &str = "paired t";

/// The steps of finding out how some groups are compared.
const DESIGN: usize = 250;
/// So many names are compared in one step.
const COMPARED_IN_A_STEP: usize = 16;
/// The word in the names of settings that may differ between repetitions.
const SEED: &str = "seed";
codes! {
    DEPARTS = "test::departs-from-plan", "a comparison departs from the plan of its runs", "compare all planned runs with the planned test";
    OTHER_QUANTITY = "test::different-quantities", "the two compared groups measure different quantities", "compare the same quantity: `a.loss < b.loss`";
    NO_REPETITIONS = "test::not-repetitions", "the runs in a group differ in more than their seeds", "make one group per setting";
}

/// Why a comparison of runs decides nothing, whatever it comes to.
#[derive(Debug, Clone)]
pub struct Objection {
    /// Departs from a plan, or from what a group of runs is.
    pub code: &'static Code,
    /// In what.
    pub what: String,
    /// The step at which it looks, where the plan has another: words that name it are about that step.
    pub step: Option<u64>,
}

/// The design of groups by the plan that the receipts of all their runs name; what is wrong with that is noted.
pub fn of_groups(evaluator: &Evaluator<'_>, groups: &[&RunSample]) -> RunDesign {
    evaluator.works(DESIGN);
    groups.iter().for_each(|group| unlike(evaluator, group));
    independent(evaluator, &sides(groups));
    other_quantities(evaluator, groups);
    let Some(study) = plan(evaluator, groups) else { return RunDesign::default() };
    let planned: Vec<&PlannedRun> =
        runs(groups).filter_map(|name| study.runs().iter().find(|run| run.id == name)).collect();
    left_out(evaluator, study, &planned);
    let started = evaluator.library().started.get(&study.id);
    for start in started.into_iter().flat_map(StartedRuns::not_reported) {
        evaluator.departs(format!("a run was started but not reported: {start}"));
    }
    let comparison = compared(evaluator, groups, &planned);
    // What a plan compares are arms: how one of them changes is another question.
    let are_arms = comparison.arms.len() > 1;
    if are_arms {
        off_step(evaluator, study, groups, &planned);
        off_split(evaluator, study, groups);
    }
    let analysis = &study.analysis;
    RunDesign {
        is_after_the_fact: false,
        alpha: analysis.alpha.parse().unwrap_or(ALPHA),
        is_paired: analysis.tests.iter().any(|test| test.contains(PAIRED)),
        comparison,
        family: family(study).filter(|_| are_arms),
        tests: analysis.tests.clone(),
    }
}

/// The family of tests that a plan adjusts over by Holm.
fn family(study: &Study) -> Option<PlannedFamily> {
    let families = study.analysis.families.iter();
    let mut families = families.filter(|words| words.to_ascii_lowercase().contains(HOLM));
    let sizes = |words: &String| {
        let items = quote::items(words).into_iter();
        items.filter_map(|item| match item.kind {
            ItemKind::Number(number) => Some(number.as_f64() as usize),
            _ => None,
        })
    };
    let pairs = |count: usize| count * count.saturating_sub(1) / 2;
    let at_most = pairs(study.arms.len());
    // "the two gaps of one budget": one budget is no family.
    let several = families.clone().flat_map(sizes).filter(|&size| size > 1);
    let at_least = several.min().unwrap_or(at_most);
    let words = families.next()?.clone();
    Some(PlannedFamily { words, at_least, at_most })
}

/// Whether the receipt of a run names a plan: then the post says nothing of how it is compared.
pub fn is_planned(evaluator: &Evaluator<'_>, groups: &[&RunSample]) -> bool {
    let receipt = |run| Some(evaluator.library().bundle(run)?.receipt());
    runs(groups)
        .filter_map(receipt)
        .any(|receipt| receipt.study().is_some() || receipt.plan_sha256().is_some())
}

/// Notes where a summary of runs leaves out seeds that their plan has. Runs of no plan, or of several, are left to
/// comparisons.
pub fn of_summary(evaluator: &Evaluator<'_>, group: &RunSample) {
    // What is only supposed departs from nothing further.
    if evaluator.supposes() || !evaluator.works(group.count()) {
        return;
    }
    let names = summarised(evaluator, group);
    independent(evaluator, std::slice::from_ref(&names));
    let plans = plans(evaluator, names.iter().copied());
    let only = plans.iter().next().filter(|(_, count)| **count == names.len());
    let Some(study) = only.and_then(|(plan, _)| at_hand(evaluator, plan)) else { return };
    evaluator.works(study.runs().len() * (1 + names.len() / COMPARED_IN_A_STEP));
    let planned: Vec<&PlannedRun> =
        study.runs().iter().filter(|run| names.contains(run.id.as_str())).collect();
    left_out(evaluator, study, &planned);
}

/// The runs that a summary is over: those of a group, or those in which the numbers of a list were recorded, where they
/// are several. Numbers of one run are no seeds.
fn summarised<'g>(evaluator: &Evaluator<'_>, group: &'g RunSample) -> BTreeSet<&'g str> {
    let is_run = |name: &str| evaluator.library().bundle(name).is_some();
    if runs(std::slice::from_ref(&group)).all(is_run) {
        return group.runs.iter().flat_map(|names| names.split(", ")).collect();
    }
    let bundles: BTreeSet<_> = recorded(group).map(|one| one.bundle.as_str()).collect();
    if bundles.len() > 1 { bundles } else { BTreeSet::new() }
}

/// The plans that the receipts of some runs name, with their digests, and how many of the runs name each.
fn plans<'n, 'a>(
    evaluator: &Evaluator<'a>,
    runs: impl Iterator<Item = &'n str>,
) -> BTreeMap<(&'a str, &'a str), usize> {
    let mut plans = BTreeMap::new();
    for bundle in runs.filter_map(|run| evaluator.library().bundle(run)) {
        if let (Some(study), Some(digest)) =
            (bundle.receipt().study(), bundle.receipt().plan_sha256())
        {
            *plans.entry((study, digest)).or_default() += 1;
        }
    }
    plans
}

/// A plan, where it is there as it was.
fn at_hand<'a>(evaluator: &Evaluator<'a>, (id, digest): &(&str, &str)) -> Option<&'a Study> {
    evaluator.library().study(id).filter(|study| study.digest().to_string() == *digest)
}

/// The names of all runs of some groups; what was joined run by run is named after both.
fn runs<'g>(groups: &'g [&RunSample]) -> impl Iterator<Item = &'g str> {
    groups.iter().flat_map(|group| &group.runs).flat_map(|names| names.split(", "))
}

/// Where what the numbers of a group follow from was recorded.
fn recorded(group: &RunSample) -> impl Iterator<Item = &EvidenceRef> {
    let leaves = group.numbers.iter().flat_map(|number| &number.leaves);
    leaves.filter(|leaf| leaf.kind == LeafKind::Recorded).filter_map(|leaf| leaf.evidence.as_ref())
}

/// The runs of each side of a comparison. What was joined run by run has a run of each side.
fn sides<'g>(groups: &[&'g RunSample]) -> Vec<BTreeSet<&'g str>> {
    let mut sides: Vec<BTreeSet<&str>> = Vec::new();
    for group in groups {
        let first = sides.len();
        for names in &group.runs {
            for (side, run) in names.split(", ").enumerate() {
                if sides.len() <= first + side {
                    sides.resize(first + side + 1, BTreeSet::new());
                }
                sides[first + side].insert(run);
            }
        }
    }
    sides
}

/// Notes runs of one side that are not independent, and copies on two sides. Runs of two sides may go on from one parent:
/// then that is what is compared.
fn independent(evaluator: &Evaluator<'_>, sides: &[BTreeSet<&str>]) {
    let all: BTreeSet<&str> = sides.iter().flatten().copied().collect();
    let names: Vec<&str> = all.into_iter().collect();
    if !evaluator.works(names.len() * names.len() / COMPARED_IN_A_STEP) {
        return;
    }
    for found in evaluator.library().related(&names).iter() {
        let pair = [found.first, found.second].map(|at| names.get(at).copied().unwrap_or_default());
        let is_together = sides.iter().any(|side| pair.iter().all(|run| side.contains(run)));
        let is_copy = found.kinship.is_refuted();
        if let Some(what) = same_run(&names, found).filter(|_| is_together || is_copy) {
            let code = if is_copy { &REPEATED_RUN } else { &NOT_INDEPENDENT };
            evaluator.object(Objection { code, what, step: None });
        }
    }
}

/// Notes where the groups are of different quantities: nats against bits, losses against steps.
fn other_quantities(evaluator: &Evaluator<'_>, groups: &[&RunSample]) {
    let fields = |group: &&RunSample| -> BTreeSet<String> {
        let field = |one: &'_ EvidenceRef| {
            one.pointer.rsplit('/').find(|part| !is_index(part)).map(str::to_owned)
        };
        recorded(group).filter_map(field).collect()
    };
    let all: Vec<_> = groups.iter().map(fields).filter(|fields| !fields.is_empty()).collect();
    if let [a, b] = all.as_slice()
        && a != b
    {
        let list =
            |fields: &BTreeSet<String>| fields.iter().cloned().collect::<Vec<_>>().join(", ");
        let what =
            format!("the two sides measure different quantities: {} and {}", list(a), list(b));
        evaluator.object(Objection { code: &OTHER_QUANTITY, what, step: None });
    }
}

fn is_index(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Notes where the runs of a group are no repetitions: a setting of their training differs.
fn unlike(evaluator: &Evaluator<'_>, group: &RunSample) {
    let config = |run: &str| {
        let bundle = evaluator.library().bundle(run)?;
        Some(settings(bundle.document(CONFIG).ok()?.root()))
    };
    let mut first: Vec<Option<(&str, BTreeMap<&str, &str>)>> = Vec::new();
    for names in &group.runs {
        // What was joined run by run has a run of each side.
        for (side, run) in names.split(", ").enumerate() {
            let Some(own) = config(run) else { continue };
            if first.len() <= side {
                first.resize(side + 1, None);
            }
            let (other, theirs) = first[side].get_or_insert_with(|| (run, own.clone()));
            let differs = |name: &&&str| own.get(**name) != theirs.get(**name);
            if let Some(name) = own.keys().chain(theirs.keys()).find(differs) {
                let value = |of: &BTreeMap<&str, &str>| {
                    of.get(*name).map_or("none", |value| *value).to_owned()
                };
                let what = format!(
                    "the runs in a group are not repetitions: `{name}` is {} in `{other}` and {} in `{run}`",
                    value(theirs),
                    value(&own)
                );
                evaluator.object(Objection { code: &NO_REPETITIONS, what, step: None });
                return;
            }
        }
    }
}

/// The numbers of a configuration that fix what is trained and how, by their names.
fn settings(config: Node<'_>) -> BTreeMap<&str, &str> {
    let members = config.members().into_iter().flatten();
    let fixes = |name: &str| {
        !name.contains(SEED)
            && lexicon().words("metric.settings").iter().any(|one| name.contains(one.as_str()))
    };
    members
        .filter(|(name, node)| fixes(name) && matches!(node.value().kind, Kind::Number(_)))
        .filter_map(|(name, node)| Some((name, node.printed().ok()?)))
        .collect()
}

/// The plan that the receipts of all runs name, as it was when they were made.
fn plan<'a>(evaluator: &Evaluator<'a>, groups: &[&RunSample]) -> Option<&'a Study> {
    let named = plans(evaluator, runs(groups));
    let (plan, count) = named.iter().next()?;
    let (id, _) = plan;
    if named.len() > 1 || *count < runs(groups).count() {
        evaluator.departs("the runs were made under different plans");
        return None;
    }
    let Some(study) = at_hand(evaluator, plan) else {
        evaluator.departs(format!(
            "the receipts refer to a plan, `repro/studies/{id}.toml`, that is missing or changed"
        ));
        return None;
    };
    if let Some((other, _)) = evaluator.page().plan.as_ref().filter(|(name, _)| name != id) {
        evaluator.departs(format!("the post uses the plan `{other}`, the receipts `{id}`"));
    }
    Some(study)
}

/// Notes the seeds of an arm and budget that the plan has and the groups leave out.
fn left_out(evaluator: &Evaluator<'_>, study: &Study, own: &[&PlannedRun]) {
    let own: Vec<_> = own.iter().filter(|run| run.kind != RunKind::Tuning).collect();
    let cells: BTreeSet<_> =
        own.iter().map(|run| (&run.arm, &run.budget, run.kind == RunKind::Shared)).collect();
    for (arm, budget, is_shared) in cells {
        let of_cell = study.runs().iter().filter(|run| {
            (&run.arm, &run.budget) == (arm, budget)
                && run.kind != RunKind::Tuning
                && (run.kind == RunKind::Shared) == is_shared
        });
        let missing = of_cell.filter(|run| !own.iter().any(|own| own.id == run.id));
        let missing: Vec<_> = missing.map(|run| run.seed.to_string()).collect();
        if !missing.is_empty() {
            evaluator.departs(format!(
                "the plan has additional seeds of `{arm}` under `{budget}`: {}",
                missing.join(", ")
            ));
        }
    }
}

/// Notes where arms are compared at another step than the plan names. A trend has several steps of each run.
fn off_step(
    evaluator: &Evaluator<'_>,
    study: &Study,
    groups: &[&RunSample],
    planned: &[&PlannedRun],
) {
    if !study.analysis.metric.contains(LAST_STEP) {
        return;
    }
    let numbers = || groups.iter().flat_map(|group| &group.numbers);
    if let Some(best) = numbers().flat_map(|one| &one.leaves).find_map(|leaf| leaf.best) {
        evaluator.departs(format!(
            "the plan compares {LAST_STEP}s (\"{}\"), but this compares, for each run, {}",
            study.analysis.metric,
            best.words()
        ));
        return;
    }
    let last: BTreeSet<u64> = planned.iter().map(|run| run.steps).collect();
    let early = numbers().find_map(|number| match steps(number).as_slice() {
        [step] if !last.contains(step) => Some(*step),
        _ => None,
    });
    if let Some(step) = early {
        let what = format!(
            "departs from the plan: the plan compares {LAST_STEP}s (\"{}\"), but these values are from step {step}",
            study.analysis.metric
        );
        evaluator.object(Objection { code: &DEPARTS, what, step: Some(step) });
    }
}

/// Notes where arms are compared by the loss of batches that they train on, and the plan names a loss on other text.
fn off_split(evaluator: &Evaluator<'_>, study: &Study, groups: &[&RunSample]) {
    let metric = study.analysis.metric.as_str();
    let mut evidence = groups.iter().flat_map(|group| &group.numbers).flat_map(Quantity::evidence);
    if HELD_OUT.iter().any(|word| metric.contains(word))
        && let Some(batch) = evidence.find(|one| one.file == TRAINING_FILE)
    {
        evaluator.departs(format!(
            "the plan compares by \"{metric}\", but these values come from the batches in `{}`",
            batch.file
        ));
    }
}

/// The steps at which what a number follows from was recorded.
fn steps(number: &Quantity) -> Vec<u64> {
    let steps: BTreeSet<u64> = number.leaves.iter().filter_map(|leaf| leaf.step).collect();
    steps.into_iter().collect()
}

/// The compared arms, under the same budget, at their steps.
fn compared(
    evaluator: &Evaluator<'_>,
    groups: &[&RunSample],
    planned: &[&PlannedRun],
) -> Comparison {
    let arms: BTreeSet<String> = planned.iter().map(|run| run.arm.clone()).collect();
    let budgets: BTreeSet<String> = planned.iter().map(|run| run.budget.clone()).collect();
    if arms.len() > 1 && budgets.len() > 1 {
        let cells: BTreeSet<_> =
            planned.iter().map(|run| format!("`{}` under `{}`", run.arm, run.budget)).collect();
        let cells: Vec<_> = cells.into_iter().collect();
        evaluator
            .departs(format!("the plan compares arms under the same budget: {}", cells.join(", ")));
    }
    let counts = groups.iter().flat_map(|group| &group.numbers).map(|one| steps(one).len());
    Comparison { arms, budgets, steps: counts.max().unwrap_or(0) }
}
