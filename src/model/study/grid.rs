//! The grid: every run that a study plans, in the order in which they are trained.

use std::collections::HashSet;

use num_traits::ToPrimitive;
use serde_json::{Map, Value as Json, json};

use super::budget::Length;
use super::choose::Tuning;
use super::config::DataPlan;
use super::recipe::{Saving, StudyRecipe};
use super::{Arm, Budget, OTHER_RUNS, PlannedRun, RunKind};
use crate::params::Part;
use repro_bundle::bundle::{Contract, DeclaredModel};
use repro_core::digest::Digest;
use repro_core::source::{Error, Node};

/// The name of one planned run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRun<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whether it is only run if its arm's best learning rate differs from the shared one.
    pub conditional: bool,
}

/// Everything from which the runs of a study follow.
pub struct Grid<'a> {
    /// The study's id.
    pub study: &'a str,
    /// The digest of the study file.
    pub plan: Digest,
    /// The arms.
    pub arms: &'a [Arm],
    /// The budgets.
    pub budgets: &'a [Budget],
    /// The seeds of all runs but those that tune.
    pub seeds: &'a [u64],
    /// How rates are found, unless one is stated.
    pub tuning: Option<&'a Tuning>,
    /// The shared recipe.
    pub recipe: &'a StudyRecipe,
    /// When runs are saved.
    pub saving: &'a Saving,
    /// The data of the runs.
    pub reading: &'a DataPlan,
}

/// An arm at a budget: the runs of one cell differ in their seeds and their rates.
#[derive(Clone, Copy)]
struct Cell<'g> {
    arm: &'g Arm,
    budget: &'g Budget,
    length: Length,
}

impl Grid<'_> {
    /// All runs: those that tune, then every cell at the best rates, then those at the shared rate.
    pub fn runs(&self) -> Result<Vec<PlannedRun>, Error> {
        let mut runs = Vec::new();
        if let Some(tuning) = self.tuning {
            for budget in self.budgets.iter().filter(|budget| budget.id == tuning.budget) {
                for cell in self.cells(&budget.part(&tuning.fraction))? {
                    for rate in &tuning.rates {
                        let kind = RunKind::Tuning;
                        let name = kind.name(self.study, &cell.arm.id, &budget.id, &rate.text);
                        let run = self.run(name, cell, tuning.seed, kind)?;
                        runs.push(run.at(rate.value));
                    }
                }
            }
        }
        for kind in [RunKind::Best, RunKind::Shared] {
            for budget in self.budgets {
                let cells = self.cells(budget)?;
                for seed in self.seeds.iter().copied().filter(|s| self.holds(kind, budget, *s)) {
                    for cell in &cells {
                        let which = seed.to_string();
                        let name = kind.name(self.study, &cell.arm.id, &budget.id, &which);
                        runs.push(self.run(name, *cell, seed, kind)?);
                    }
                }
            }
        }
        Ok(runs)
    }

    /// Whether the grid has runs of this kind in a cell.
    fn holds(&self, kind: RunKind, budget: &Budget, seed: u64) -> bool {
        let shared = self.tuning.and_then(|tuning| tuning.shared.as_ref());
        kind == RunKind::Best
            || shared.is_some_and(|(seeds, budgets)| {
                seeds.contains(&seed) && budgets.contains(&budget.id)
            })
    }

    /// The arms at a budget.
    fn cells<'g>(&'g self, budget: &'g Budget) -> Result<Vec<Cell<'g>>, Error> {
        let per_step = self.recipe.tokens_per_step();
        let cell = |arm| Ok(Cell { arm, budget, length: budget.length(arm, self.arms, per_step)? });
        self.arms.iter().map(cell).collect()
    }

    fn run(
        &self,
        id: String,
        cell: Cell<'_>,
        seed: u64,
        kind: RunKind,
    ) -> Result<PlannedRun, Error> {
        let Cell { arm, budget, length } = cell;
        let per_step = self.recipe.tokens_per_step();
        let tokens = length.steps.saturating_mul(per_step);
        Ok(PlannedRun {
            id,
            study: self.study.to_owned(),
            arm: arm.id.clone(),
            budget: budget.id.clone(),
            seed,
            kind,
            rate: None,
            steps: length.steps,
            config: self.config(cell, seed, kind)?,
            contract: Contract {
                matched: Some(arm.matched.mode.word().to_owned()),
                match_target: arm.matched.target.clone(),
                mismatch: arm.matched.mismatch,
                horizon: Some(budget.rule.word().to_owned()),
                coefficient: budget.coefficient.to_f64(),
                tokens: Some(tokens),
                tokens_per_step: Some(per_step),
                fraction: budget.fraction.to_f64(),
            },
            model: model(arm),
            horizon_of: budget.of.clone(),
            plan: self.plan,
        })
    }

    /// The flat configuration, all but the learning rate.
    fn config(&self, cell: Cell<'_>, seed: u64, kind: RunKind) -> Result<Map<String, Json>, Error> {
        let Cell { arm, budget, length } = cell;
        let tuning = kind == RunKind::Tuning;
        let mut config = arm.model.clone();
        config.extend(self.recipe.fields(length)?);
        config.insert("seed_init".to_owned(), json!(seed));
        config.insert("seed_data".to_owned(), json!(seed));
        config.extend(match tuning {
            true => Saving::last_only(length.steps),
            false => self.saving.fields(length.steps, seed, &budget.id),
        });
        let tokens = length.steps.saturating_mul(self.recipe.tokens_per_step());
        config.extend(self.reading.fields(tokens, tuning)?);
        Ok(config)
    }
}

/// The model as a receipt declares it.
fn model(arm: &Arm) -> DeclaredModel {
    let breakdown = Part::ALL.into_iter().filter_map(|part| {
        let count = arm.objects.breakdown.part(part);
        let counts = json!({"total": count.total, "active": count.active});
        (count.total > 0).then(|| (part.name().to_owned(), counts))
    });
    DeclaredModel {
        family: Some(arm.objects.family.to_owned()),
        params_total: Some(arm.objects.total()),
        params_active: Some(arm.objects.active()),
        breakdown: breakdown.collect(),
        tensors: Some(arm.tensors),
    }
}

/// Rejects a list of runs in the file that differs from the grid.
pub fn same_runs(root: Node<'_>, listed: &[ListedRun<'_>]) -> Result<(), Error> {
    let stated = root.required("runs")?;
    stated.only(&["planned", "if_rates_differ"])?;
    for (field, conditional) in [("planned", false), ("if_rates_differ", true)] {
        let wanted: Vec<_> =
            listed.iter().filter(|run| run.conditional == conditional).map(|run| run.id).collect();
        let found: Vec<&str> = match stated.get(field) {
            Some(list) => list.items()?.map(Node::text).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let (right, given) =
            (wanted.iter().collect::<HashSet<_>>(), found.iter().collect::<HashSet<_>>());
        if right == given && wanted.len() == found.len() {
            continue;
        }
        let missing: Vec<_> = wanted.iter().filter(|id| !given.contains(id)).copied().collect();
        let surplus: Vec<_> = found.iter().filter(|id| !right.contains(id)).copied().collect();
        let place = stated.get(field).unwrap_or(stated).place();
        let expected = format!("the {} runs of the grid in `{field}`", wanted.len());
        let found = match (missing.is_empty(), surplus.is_empty()) {
            (true, true) => "one of them listed twice".to_owned(),
            _ => format!("without {} and with {}", named(&missing), named(&surplus)),
        };
        let lines: String = wanted.iter().map(|id| format!("  \"{id}\",\n")).collect();
        let help = format!("the grid consists of\n{field} = [\n{lines}]\n");
        return Err(OTHER_RUNS.at(place, expected, found).help(help));
    }
    Ok(())
}

/// A few ids in one phrase.
fn named(ids: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<_> = ids.iter().take(SHOWN).map(|id| format!("`{id}`")).collect();
    match ids.len() {
        0 => "no others".to_owned(),
        count if count > SHOWN => format!("{} and {} more", shown.join(", "), count - SHOWN),
        _ => shown.join(", "),
    }
}
