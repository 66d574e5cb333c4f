//! The start of a replay: weights and moments of a checkpoint, or those that a seed gives.

use std::sync::Arc;

use super::names;
use crate::learner::Learner;
use crate::{BAD_TENSORS, TensorData, TensorFile};
use repro_bundle::bundle::{Bundle, Checkpoint};
use repro_core::source::{Error, Location};
use repro_model::replay::{MISSING_MOMENTS, NO_START, OTHER_CHECKPOINT};

use crate::checkpoint::MOMENTS;

/// Where a replay begins.
#[derive(Debug, Clone)]
pub struct Start {
    /// The steps before it.
    pub step: u64,
    /// Weights and moments, by our names; courses that do not change them share them.
    pub tensors: Arc<TensorFile>,
    /// Its name in messages.
    pub name: String,
    /// Its description in a report.
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
    let mut tensors = TensorFile::default();
    for shard in shards(file) {
        let name = bundle.place(&shard).file;
        let part = TensorFile::parse(&name, &bundle.tensors(&shard)?)?;
        for (tensor, data) in part.tensors {
            if tensors.tensors.insert(tensor.clone(), data).is_some() {
                let found = format!("`{tensor}` again");
                return Err(BAD_TENSORS.at(
                    Location::file(name),
                    "each tensor in one shard",
                    found,
                ));
            }
        }
        tensors.metadata.extend(part.metadata);
    }
    described(checkpoint, &tensors, arithmetic, &place)?;
    tensors.tensors = std::mem::take(&mut tensors.tensors)
        .into_iter()
        .map(|(name, data)| (names::ours(&name), data))
        .collect();
    let shown = format!("checkpoint {step} of the bundle, taken as given");
    Ok(Start { step, tensors: Arc::new(tensors), name: place.file, shown })
}

/// The files of a checkpoint whose first is `file`: itself, or where it is called `…-00001-of-00003.safetensors`, as on
/// the hub, all of these.
fn shards(file: &str) -> Vec<String> {
    let all = || {
        let stem = file.strip_suffix(".safetensors")?;
        let (rest, count) = stem.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        let is_number = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
        let count = count.parse::<u32>().ok().filter(|_| is_number(count) && is_number(number))?;
        let name = |number: u32| format!("{stem}-{number:05}-of-{count:05}.safetensors");
        (number == "00001").then(|| (1..=count).map(name).collect())
    };
    all().unwrap_or_else(|| vec![file.to_owned()])
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
    /// A head that is the table of tokens may be there a second time.
    pub fn complete(&mut self, learner: &Learner) -> Result<(), Error> {
        self.forget_tied(learner)?;
        let is_moment = |name: &String| MOMENTS.iter().any(|prefix| name.starts_with(prefix));
        let are_left_out = self.step == 0 && !self.tensors.tensors.keys().any(is_moment);
        for (at, named) in learner.tensors().iter().enumerate() {
            let kept = std::iter::zip(MOMENTS, learner.kept_moments(at));
            for (prefix, _) in kept.filter(|(_, is_kept)| *is_kept) {
                let moment = format!("{prefix}{}", named.name);
                if are_left_out {
                    let zeros = TensorData::floats(&named.shape, &vec![0.0; named.len]);
                    Arc::make_mut(&mut self.tensors).tensors.insert(moment, zeros);
                } else if !self.tensors.tensors.contains_key(&moment) {
                    let place = Location::file(&self.name);
                    return Err(MISSING_MOMENTS.at(place, format!("`{moment}`"), "none"));
                }
            }
        }
        Ok(())
    }

    /// Leaves out the head of a model whose head is the table of tokens.
    fn forget_tied(&mut self, learner: &Learner) -> Result<(), Error> {
        let Some((head, table)) = learner.tied() else { return Ok(()) };
        let all = &mut Arc::make_mut(&mut self.tensors).tensors;
        for prefix in [""].into_iter().chain(MOMENTS) {
            let (head, table) = (format!("{prefix}{head}"), format!("{prefix}{table}"));
            if let Some(data) = all.remove(&head)
                && all.get(&table).is_some_and(|other| *other != data)
            {
                let expected = format!("the values of `{table}`, which is the same tensor");
                let place = Location::file(&self.name);
                return Err(BAD_TENSORS.at(
                    place,
                    expected,
                    format!("different values in `{head}`"),
                ));
            }
        }
        Ok(())
    }
}

/// Whether a tensor is moved by a rule, without moments: the bias that evens the load of experts.
pub fn is_rule(name: &str) -> bool {
    name.ends_with(".e_score_correction_bias")
}

#[cfg(test)]
mod tests {
    use super::shards;

    #[test]
    fn shards_are_found_by_their_names() {
        let file = "checkpoints/step-000002-00001-of-00002.safetensors";
        assert_eq!(shards(file), [file, "checkpoints/step-000002-00002-of-00002.safetensors"]);
        for alone in
            ["step-000000.safetensors", "a-1-of-2.safetensors", "a-00002-of-00003.safetensors"]
        {
            assert_eq!(shards(alone), [alone]);
        }
    }
}
