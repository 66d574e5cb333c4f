//! The slices that a longer replay passes on its way, each held against the steps that are made.

use std::collections::BTreeMap;

use super::course::{RowsRead, Walker};
use super::machine::ReplayedRun;
use super::slice::Slice;
use super::step::{Layout, Step};
use crate::backend::Backend;
use crate::learner::Values;
use crate::model::Config;
use repro_core::source::Error;
use repro_model::replay::Divergence;

/// The slices that lie within the steps of a replay.
pub struct PassedSlices {
    slices: Vec<Slice>,
    /// The tensors with which each slice begins, by its first step.
    begun: BTreeMap<u64, Vec<Values>>,
    /// The batches of the steps.
    rows: RowsRead,
}

impl PassedSlices {
    /// Those that begin in the steps `from..to`.
    pub fn load(
        subject: &ReplayedRun<'_>,
        (from, to): (u64, u64),
        rows: RowsRead,
    ) -> Result<Self, Error> {
        let model = Config::read(subject.config)?;
        let all = subject.bundle.receipt().slices.iter();
        let within = all.filter(|slice| (from..to).contains(&slice.from_step));
        let slices = within.map(|slice| Slice::load(subject, (slice.from_step, false), &model));
        Ok(Self { slices: slices.collect::<Result<_, _>>()?, begun: BTreeMap::new(), rows })
    }

    /// Holds the batch of update `update` against the slices that have it, and keeps the tensors with which a slice begins.
    pub fn begin<B: Backend<Number = f32>>(
        &mut self,
        walker: &Walker<'_, B>,
        update: u64,
    ) -> Result<Option<Divergence>, Error> {
        let mut found = None;
        for slice in &self.slices {
            if slice.from == update {
                self.begun.insert(update, walker.learner.values()?);
            }
            let Some(kept) = slice.at(update).and_then(|at| slice.rows.get(at)) else { continue };
            if self.rows.of(update, walker.done as usize) != *kept {
                let told =
                    ("a different batch".to_owned(), "the batch from data and seed".to_owned());
                let hint = "the slice contains tokens that the run did not read";
                found = Some(Divergence::of(update + 1, "batch of a slice", told, hint));
            }
        }
        Ok(found)
    }

    /// Their values for update `update`, if their tensors match `layout`.
    pub fn step(&self, update: u64, layout: &Layout) -> Option<Step> {
        let native = |slice: &&Slice| {
            let names = slice.tensors.iter().map(|tensor| &tensor.name);
            names.eq(layout.names.iter())
        };
        self.slices.iter().filter(native).find_map(|slice| {
            // The whole of the slice is not what a walk from before it has moved.
            Some(Step { moved: None, ..slice.steps.get(slice.at(update)?)?.clone() })
        })
    }

    /// Holds the tensors after `step` steps against what the slice that ends there says of them.
    pub fn end<B: Backend<Number = f32>>(
        &mut self,
        walker: &Walker<'_, B>,
        step: u64,
    ) -> Result<Option<Divergence>, Error> {
        let ends = |slice: &&Slice| slice.from + slice.rows.len() as u64 == step;
        let Some(slice) = self.slices.iter().find(ends) else { return Ok(None) };
        let Some(begun) = self.begun.remove(&slice.from) else { return Ok(None) };
        for (before, after) in std::iter::zip(&begun, &walker.learner.values()?) {
            let Some(logged) = slice.tensors.iter().find(|one| one.name == after.name) else {
                continue;
            };
            let (digest, moved) = (after.digest(), after.distance(before));
            let other_digest = logged.digest.filter(|logged| *logged != digest);
            let other_way = logged.moved.filter(|logged| *logged != moved);
            let told = match (other_digest, other_way) {
                (Some(logged), _) => (logged.to_string(), digest.to_string()),
                (None, Some(logged)) => (logged.to_string(), moved.to_string()),
                (None, None) => continue,
            };
            let hint = "the table next to the slice was not written by its steps";
            let parted = Divergence::of(step, "table of a slice", told, hint);
            return Ok(Some(Divergence { tensor: Some(after.name.clone()), ..parted }));
        }
        Ok(None)
    }
}
