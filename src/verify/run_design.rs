//! The design of a comparison of runs: its level, its test, and the family of tests that share the level.

use std::collections::BTreeSet;

use repro_core::source::codes;
use repro_report::outcome::Outcome;

codes! {
    AFTER_THE_FACT = "test::paired-after-the-fact", "the post pairs the runs by seed, without a plan that says so", "register a plan that pairs the next runs; until then, prefer Welch's test";
}

/// The significance level of every test that no plan sets.
pub const ALPHA: f64 = 0.05;

/// The design of a comparison of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDesign {
    /// The significance level.
    pub alpha: f64,
    /// Whether runs that saw the same data are paired.
    pub is_paired: bool,
    /// Whether only the post pairs them, by `paired_by`, with the results before its eyes.
    pub is_after_the_fact: bool,
    /// The compared arms, if a plan defines them.
    pub comparison: Comparison,
    /// The family of tests that share the level.
    pub family: Option<PlannedFamily>,
    /// The tests that a plan names, in its words.
    pub tests: Vec<String>,
}

/// The comparison behind a test, as far as a plan defines it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The arms.
    pub arms: BTreeSet<String>,
    /// The budgets under which they were run.
    pub budgets: BTreeSet<String>,
    /// At how many steps of each run it looks: one, or those of a trend.
    pub steps: usize,
}

/// Tests that share their error rate by Holm's adjustment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFamily {
    /// The words of the plan.
    pub words: String,
    /// How many tests they are at least.
    pub at_least: usize,
    /// How many pairs of arms there are: no family of one budget is larger.
    pub at_most: usize,
}

impl Default for RunDesign {
    /// Of what was made under no plan.
    fn default() -> Self {
        Self {
            alpha: ALPHA,
            is_paired: false,
            is_after_the_fact: false,
            comparison: Comparison::default(),
            family: None,
            tests: Vec::new(),
        }
    }
}

impl RunDesign {
    /// An outcome that rests on a test of this design, with what lowers its assurance.
    pub fn noted(&self, outcome: Outcome) -> Outcome {
        if !self.is_after_the_fact {
            return outcome;
        }
        let note = "paired by seed after the fact: declared by the post, not by a registered plan";
        outcome.noting(&AFTER_THE_FACT, note)
    }
}

impl PlannedFamily {
    /// Whether the adjustment over the family may decide about a p: Holm's is at most that of Bonferroni over the
    /// largest family.
    pub fn matters(&self, p: f64, alpha: f64) -> bool {
        p * self.at_most.max(1) as f64 >= alpha
    }
}
