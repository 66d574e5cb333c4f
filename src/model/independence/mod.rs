//! Detects runs that are one run: equal weights, states or records under different names and seeds, and slightly changed
//! copies.
//!
//! One function decides this for all commands that take several runs: [`related`]. It never uses a column that two honest
//! runs share, such as learning rates, steps or tokens, but only noisy ones: losses, gradient norms, and digests of
//! weights.

mod column;
mod trace;

use std::collections::BTreeMap;

pub use column::{ColumnAgreement, Law, MeasuredColumn};
pub use trace::RunTrace;

/// The number of bits of evidence that excludes chance: one in 10^12.
const CERTAIN: f64 = 40.0;
/// The number of bits from which a doubt is reported.
const DOUBTFUL: f64 = 20.0;
/// With more runs than this, only pairs that share a digest or a value are compared.
pub const MOST_COMPARED: usize = 400;
/// The maximum number of runs among which means of two others are searched for.
const MOST_MIXED: usize = 24;

/// An agreement of two runs that no two seeds have.
#[derive(Debug, Clone, PartialEq)]
pub struct Kinship {
    /// The relation of the two runs.
    pub kind: KinshipKind,
    /// Whether chance is excluded.
    pub is_certain: bool,
    /// The values, their number, and the difference between runs with different seeds.
    pub evidence: String,
}

/// The relation of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KinshipKind {
    /// One run, or a run and its start.
    OneRun,
    /// One is the other with its numbers changed by a rule, rounded, moved, or edited in a few places.
    Changed,
    /// They share a start and diverge at a step.
    SharedStart,
}

/// Two of several runs, by position, with their agreement.
#[derive(Debug, Clone, PartialEq)]
pub struct RelatedRuns {
    /// The first one.
    pub first: usize,
    /// The later one.
    pub second: usize,
    /// Their agreement.
    pub kinship: Kinship,
}

impl Kinship {
    /// Whether they look like one run, and not like two with a common start.
    pub fn is_of_one_run(&self) -> bool {
        self.kind != KinshipKind::SharedStart
    }

    /// Whether the two cannot both be runs of their own.
    pub fn is_refuted(&self) -> bool {
        self.is_certain && self.is_of_one_run()
    }
}

/// All pairs of runs that are not independent, in the order of the runs. Where there are very many, pairs without an equal
/// digest or value are not compared.
pub fn related(traces: &[&RunTrace]) -> Vec<RelatedRuns> {
    let pairs = if traces.len() <= MOST_COMPARED { all_pairs(traces.len()) } else { met(traces) };
    let judged = pairs.into_iter().filter_map(|(first, second)| {
        let kinship = traces.get(first)?.kinship(traces.get(second)?)?;
        Some(RelatedRuns { first, second, kinship })
    });
    let mut found: Vec<RelatedRuns> = judged.collect();
    if traces.len() <= MOST_MIXED {
        let is_of = |one: &RelatedRuns, at: usize| one.second == at || one.first == at;
        let is_known =
            |at: usize| found.iter().any(|one| one.kinship.is_of_one_run() && is_of(one, at));
        let mixed: Vec<_> = (0..traces.len())
            .filter(|at| !is_known(*at))
            .filter_map(|at| mean(traces, at))
            .collect();
        found.extend(mixed);
    }
    found
}

/// Detects that the run `at` is a mean of two others, and reports it together with the earlier of the two.
fn mean(traces: &[&RunTrace], at: usize) -> Option<RelatedRuns> {
    let own = traces.get(at)?;
    all_pairs(traces.len()).into_iter().filter(|(one, other)| *one != at && *other != at).find_map(
        |(one, other)| {
            let kinship = own.mean_of(traces.get(one)?, traces.get(other)?)?;
            Some(RelatedRuns { first: one.min(at), second: one.max(at), kinship })
        },
    )
}

fn all_pairs(count: usize) -> Vec<(usize, usize)> {
    (0..count).flat_map(|second| (0..second).map(move |first| (first, second))).collect()
}

/// The pairs that share a mark, each run paired with the first one of the mark.
fn met(traces: &[&RunTrace]) -> Vec<(usize, usize)> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut pairs = std::collections::BTreeSet::new();
    for (at, trace) in traces.iter().enumerate() {
        for mark in trace.marks() {
            let known = *first.entry(mark).or_insert(at);
            if known != at {
                pairs.insert((known, at));
            }
        }
    }
    pairs.into_iter().collect()
}
