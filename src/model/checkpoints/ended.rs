//! Compares the checkpoint at the end of a slice with the slice's record of its tensors.
//!
//! A slice has the digest of each tensor after its last step. The check does not depend on the optimizer, so it applies to
//! runs of any trainer.

use repro_bundle::bundle::Bundle;

use super::kept::{self, KeptCheckpoint, LoggedTensor};
use super::{CheckpointsFound, NOT_AS_LOGGED, ROUNDING};

/// The checkpoints of a slice.
struct SliceCheckpoints<'a> {
    /// The checkpoint at its start, if the bundle has it.
    start: Option<&'a KeptCheckpoint>,
    end: &'a KeptCheckpoint,
    /// Whether the run was resumed after being killed. It may then have executed the last steps twice, which need not give
    /// the same bits, so only the update norms are compared.
    was_resumed: bool,
}

impl SliceCheckpoints<'_> {
    /// The difference between a tensor at the end and the slice, if there is one.
    fn contradiction(&self, logged: &LoggedTensor) -> Option<String> {
        let (name, moved) = (&logged.name, logged.moved);
        let found = self.end.digest_of(name)?;
        let old = self.start.and_then(|start| start.tensor(name));
        let way = old.zip(self.end.tensor(name)).map(|(old, new)| old.distance(new));
        let is_other = |way: &f64| (way - moved).abs() > ROUNDING * moved.max(*way);
        if let Some(way) = way.filter(is_other) {
            return Some(format!(
                "`{name}` changed by {way} between the checkpoints; the slice has {moved}"
            ));
        }
        let wanted = logged.digest.filter(|wanted| *wanted != found && !self.was_resumed)?;
        Some(format!("`{name}` has sha256 {found}; the slice ends with {wanted}"))
    }
}

impl CheckpointsFound {
    /// Checks whether a checkpoint has the tensors at the end of the slices that end there. `before` is the previous
    /// checkpoint.
    pub(super) fn ended(
        &mut self,
        bundle: &Bundle,
        before: Option<&KeptCheckpoint>,
        end: &KeptCheckpoint,
    ) {
        let receipt = bundle.receipt();
        let resumes = receipt.extra.get("resumes").and_then(|resumes| resumes.as_array());
        let was_resumed = resumes.is_some_and(|resumes| !resumes.is_empty());
        let is_end = |from: u64, steps: u64| from.checked_add(steps) == Some(end.step);
        for slice in receipt.slices.iter().filter(|slice| is_end(slice.from_step, slice.steps)) {
            let Some(tensors) = kept::logged_tensors(bundle, &slice.file) else { continue };
            let start = before.filter(|before| before.step == slice.from_step);
            let checkpoints = SliceCheckpoints { start, end, was_resumed };
            for reason in tensors.iter().filter_map(|one| checkpoints.contradiction(one)) {
                self.fault(&NOT_AS_LOGGED, &end.file, reason);
            }
            let is_same = |one: &LoggedTensor| {
                one.digest.is_some_and(|digest| end.digest_of(&one.name) == Some(digest))
            };
            // For runs of `repro train`, other checks already cover the updates.
            if !receipt.is_portable() && tensors.iter().any(is_same) {
                self.yes("tensors match the end of a slice");
            }
        }
    }
}
