//! The checkpoint that is kept where a slice ends, against what the slice says of its tensors there.
//!
//! A slice has the digest of each tensor behind its last step. No optimizer has to be known for that, so runs of any trainer
//! are held to it.

use repro_bundle::bundle::Bundle;

use super::kept::{self, KeptCheckpoint, LoggedTensor};
use super::{CheckpointsFound, NOT_AS_LOGGED, ROUNDING};

/// The checkpoints of a slice.
struct SliceCheckpoints<'a> {
    /// The one from which it starts, where it is at hand.
    start: Option<&'a KeptCheckpoint>,
    end: &'a KeptCheckpoint,
    /// Whether the run went on after a kill. It may then have made the last steps twice, which need not give the same bits:
    /// only how far tensors moved is compared.
    was_resumed: bool,
}

impl SliceCheckpoints<'_> {
    /// How a tensor at the end contradicts the slice.
    fn contradiction(&self, logged: &LoggedTensor) -> Option<String> {
        let (name, moved) = (&logged.name, logged.moved);
        let found = self.end.digest_of(name)?;
        let old = self.start.and_then(|start| start.tensor(name));
        let way = old.zip(self.end.tensor(name)).map(|(old, new)| old.distance(new));
        let is_other = |way: &f64| (way - moved).abs() > ROUNDING * moved.max(*way);
        if let Some(way) = way.filter(is_other) {
            return Some(format!("`{name}` moved by {way}, and by {moved} in the slice"));
        }
        let wanted = logged.digest.filter(|wanted| *wanted != found && !self.was_resumed)?;
        Some(format!("`{name}` has sha256 {found}, and {wanted} at the end of the slice"))
    }
}

impl CheckpointsFound {
    /// Whether a checkpoint has the tensors with which the slices end that end there. `before` is the checkpoint before it.
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
            // What is looked at of our own runs tells of moves already.
            if !receipt.is_portable() && tensors.iter().any(is_same) {
                self.yes("the tensors with which a slice ends");
            }
        }
    }
}
