//! The state that an unfinished run needs to resume, besides its payload.

use super::records::Reached;
use crate::{LOST_STATE, TensorFile};
use repro_bundle::bundle::record::{RecordValue, record};
use repro_bundle::bundle::{BundleWriter, Checkpoint, DeclaredSlice, saved_weights_name};
use repro_core::digest::Digest;
use repro_core::source::Error;

/// The schema of `state.json`.
const SCHEMA: &str = "repro.state/2";

record! {
    /// A run after some of its steps.
    State {
        /// The schema.
        schema: String,
        /// The steps that are done.
        step: u64,
        /// The digest of the data that they read.
        data_sha256: Digest,
        /// The id that distinguishes the start of the run from all others, if started runs are logged.
        attempt: Option<Digest>,
        /// The file with the weights and the optimizer's moments; none where the run only has to be sealed.
        weights: Option<String>,
        /// The digest of that file.
        weights_sha256: Option<Digest>,
        /// How far the records had come.
        records: Reached,
        /// How far the states had come that the run has committed itself to.
        states: Reached,
        /// The checkpoints so far.
        checkpoints: Vec<Checkpoint>,
        /// The slices so far.
        slices: Vec<DeclaredSlice>,
    }
}

impl State {
    /// The state of a run that reads this data, before its first step.
    pub fn beginning(data: Digest) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            step: 0,
            data_sha256: data,
            attempt: None,
            weights: None,
            weights_sha256: None,
            records: Reached::NOTHING,
            states: Reached::NOTHING,
            checkpoints: Vec::new(),
            slices: Vec::new(),
        }
    }

    /// The state that was saved last, with its tensors; the beginning where none was. A state that was
    /// saved of other data is refused.
    pub fn load(writer: &BundleWriter, data: Digest) -> Result<(Self, Option<TensorFile>), Error> {
        let Some(document) = writer.saved_state()? else {
            return Ok((Self::beginning(data), None));
        };
        let root = document.root();
        let state = Self::read(root)?;
        let lost = |field: &str, expected: String, found: String| {
            let place = root.get(field).unwrap_or(root).place();
            Err(LOST_STATE.at(place, expected, found))
        };
        if state.schema != SCHEMA {
            return lost("schema", format!("`{SCHEMA}`"), format!("`{}`", state.schema));
        }
        if state.data_sha256 != data {
            let expected = format!("this command's data, with sha256 {data}");
            return lost("data_sha256", expected, state.data_sha256.to_string());
        }
        let Some(name) = &state.weights else { return Ok((state, None)) };
        let bytes = writer.read_saved_weights(name)?;
        let digest = Digest::of(&bytes);
        if Some(digest) != state.weights_sha256 {
            let expected = format!("the digest of `{name}`, {digest}");
            let found = state.weights_sha256.map_or("none".to_owned(), |found| found.to_string());
            return lost("weights_sha256", expected, found);
        }
        let tensors = TensorFile::parse(name, &bytes)?;
        Ok((state, Some(tensors)))
    }

    /// Saves the state with the tensors that a run goes on from, in place of the one before.
    pub fn save(
        mut self,
        writer: &mut BundleWriter,
        tensors: Option<&TensorFile>,
    ) -> Result<(), Error> {
        let name = saved_weights_name(self.step);
        let bytes = tensors.map(TensorFile::write);
        let weights = bytes.as_ref().map(|bytes| (name.as_str(), bytes.as_slice()));
        self.weights = weights.map(|(name, _)| name.to_owned());
        self.weights_sha256 = weights.map(|(_, bytes)| Digest::of(bytes));
        // Every number of a state is finite: steps, lengths, and seconds that were measured.
        let written = self.write().ok().flatten().unwrap_or_default();
        writer.save_state(&written, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TensorData;

    #[test]
    fn a_state_comes_back_with_its_tensors() {
        let temporary = tempfile::tempdir().unwrap();
        let mut writer = BundleWriter::create(temporary.path()).unwrap();
        let data = Digest::of(b"text");
        let (state, tensors) = State::load(&writer, data).unwrap();
        assert_eq!((state.step, tensors), (0, None));
        let mut tensors = TensorFile::default();
        tensors.tensors.insert("w".into(), TensorData::floats(&[1], &[0.5]));
        let mut saved = State { step: 7, ..State::beginning(data) };
        saved.slices.push(DeclaredSlice {
            from_step: 0,
            steps: 2,
            checkpoint_step: None,
            file: "f".into(),
            seconds: Some(0.1),
        });
        saved.clone().save(&mut writer, Some(&tensors)).unwrap();
        let (state, found) = State::load(&writer, data).unwrap();
        assert_eq!((state.step, &state.slices, found), (7, &saved.slices, Some(tensors)));
        let other = State::load(&writer, Digest::of(b"other")).unwrap_err();
        assert_eq!((other.code.id, &*other.place.pointer), ("train::lost-state", "/data_sha256"));
        let weights = temporary.path().join(state.weights.unwrap());
        std::fs::write(&weights, "torn").unwrap();
        let torn = State::load(&writer, data).unwrap_err();
        assert_eq!((torn.code.id, &*torn.place.pointer), ("train::lost-state", "/weights_sha256"));
        std::fs::remove_file(&weights).unwrap();
        assert_eq!(State::load(&writer, data).unwrap_err().code.id, "source::unreadable");
        State { step: 9, ..State::beginning(data) }.save(&mut writer, None).unwrap();
        assert_eq!(State::load(&writer, data).unwrap().0.step, 9);
    }
}
