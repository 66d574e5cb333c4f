//! What a replay starts from: weights and moments of a checkpoint, or those that a seed gives.

use super::names;
use crate::learner::Learner;
use crate::{TensorData, TensorFile};
use repro_receipt::bundle::{Bundle, Checkpoint};
use repro_receipt::source::{Error, Location};
use repro_runs::replay::{MISSING_MOMENTS, NO_START, OTHER_CHECKPOINT};

use crate::checkpoint::MOMENTS;

/// Where a replay begins.
#[derive(Debug, Clone)]
pub struct Start {
    /// The steps before it.
    pub step: u64,
    /// Weights and moments, by our names.
    pub tensors: TensorFile,
    /// What messages call them.
    pub name: String,
    /// What a report says of it.
    pub shown: String,
}

/// Reads the checkpoint of a bundle after `step` steps, whose run computes in `arithmetic`.
pub fn from_checkpoint(bundle: &Bundle, step: u64, arithmetic: &str) -> Result<Start, Error> {
    let place = Location::file(bundle.name());
    let expected = format!("a checkpoint after {step} steps");
    let checkpoint = bundle.receipt().checkpoints.iter().find(|kept| kept.step == step);
    let Some(checkpoint) = checkpoint else { return Err(NO_START.at(place, expected, "none")) };
    let Some(file) = checkpoint.weights.as_deref() else {
        return Err(NO_START.at(place, expected, "only its digests"));
    };
    if !bundle.files().contains_key(file) {
        return Err(NO_START.at(place, expected, format!("`{file}`, which is not in the bundle")));
    }
    let place = bundle.place(file);
    let mut tensors = TensorFile::parse(&place.file, &bundle.tensors(file)?)?;
    described(checkpoint, &tensors, arithmetic, &place)?;
    tensors.tensors = std::mem::take(&mut tensors.tensors)
        .into_iter()
        .map(|(name, data)| (names::ours(&name), data))
        .collect();
    let shown = format!("checkpoint {step} of the bundle, taken as given");
    Ok(Start { step, tensors, name: place.file, shown })
}

/// Checks a checkpoint against its entry in the receipt; the digest of the file was checked with the bundle.
fn described(
    entry: &Checkpoint,
    tensors: &TensorFile,
    arithmetic: &str,
    place: &Location,
) -> Result<(), Error> {
    let differs = |what: &str, expected: String, found: String| {
        Err(OTHER_CHECKPOINT.at(place.clone(), format!("{what} {expected}"), found))
    };
    let found = tensors.tensors_digest();
    if let Some(stated) = entry.tensors_sha256.filter(|stated| *stated != found) {
        return differs("tensors_sha256", stated.to_string(), found.to_string());
    }
    for (key, stated) in [("step", entry.step.to_string()), ("arithmetic", arithmetic.to_owned())] {
        if let Some(found) = tensors.metadata.get(key).filter(|found| **found != stated) {
            return differs(
                key,
                stated,
                format!("`{}`", found.chars().take(40).collect::<String>()),
            );
        }
    }
    Ok(())
}

impl Start {
    /// Checks that each tensor has the moments that its rule keeps. Before the first step they are zero, and may all be
    /// left out.
    pub fn complete(&mut self, learner: &Learner) -> Result<(), Error> {
        let is_moment = |name: &String| MOMENTS.iter().any(|prefix| name.starts_with(prefix));
        let are_left_out = self.step == 0 && !self.tensors.tensors.keys().any(is_moment);
        for (at, named) in learner.tensors().iter().enumerate() {
            let kept = std::iter::zip(MOMENTS, learner.kept_moments(at));
            for (prefix, _) in kept.filter(|(_, is_kept)| *is_kept) {
                let moment = format!("{prefix}{}", named.name);
                if are_left_out {
                    let zeros = TensorData::floats(&named.shape, &vec![0.0; named.len]);
                    self.tensors.tensors.insert(moment, zeros);
                } else if !self.tensors.tensors.contains_key(&moment) {
                    let place = Location::file(&self.name);
                    return Err(MISSING_MOMENTS.at(place, format!("`{moment}`"), "none"));
                }
            }
        }
        Ok(())
    }
}

/// Whether a tensor is moved by a rule, without moments: the bias that evens the load of experts.
pub fn is_rule(name: &str) -> bool {
    name.ends_with(".e_score_correction_bias")
}
