//! The state of an unfinished run, beside its payload: `state.json`, and weights in a file of their own.
//!
//! The two are replaced as one: new weights get a new name, then `state.json`, which names them, is
//! replaced, then older weights go. Whatever instant a run is killed at, the state that is found is
//! a whole one, and what it says of the payload is on disk.

use std::fs;

use serde_json::Value as Json;

use super::manifest::STATE;
use super::write::BundleWriter;
use repro_core::digest::canonical;
use repro_core::disk::PARTIAL;
use repro_core::source::{Document, Error, Source, read_plain};

/// The prefix and suffix of names of saved weights.
const WEIGHTS: [&str; 2] = ["resume-", ".safetensors"];
/// The most bytes of saved weights that are read.
const WEIGHTS_CAP: u64 = 1 << 36;

/// The name that weights saved after `step` steps go by.
pub fn saved_weights_name(step: u64) -> String {
    let [begin, end] = WEIGHTS;
    format!("{begin}{step:06}{end}")
}

impl BundleWriter<'_> {
    /// Saves `state` and the `weights` that it names, if any, in place of what was saved before.
    pub fn save_state(
        &mut self,
        state: &Json,
        weights: Option<(&str, &[u8])>,
    ) -> Result<(), Error> {
        if let Some((name, bytes)) = weights {
            self.put(name, bytes)?;
        }
        // What the state speaks of is durable before it: the weights, and the names in the payload.
        self.sync_names()?;
        let text = canonical(state).map_err(|error| self.unwritable(STATE, &error))?;
        self.put(STATE, (text + "\n").as_bytes())?;
        self.sync("")?;
        self.remove_weights(weights.map(|(name, _)| name))
    }

    /// Removes the state, and then the weights that it named.
    pub(super) fn remove_state(&mut self) -> Result<(), Error> {
        if self.path(STATE).exists() {
            self.remove(STATE)?;
            self.sync("")?;
        }
        self.remove_weights(None)
    }

    fn remove_weights(&mut self, kept: Option<&str>) -> Result<(), Error> {
        for name in self.saved_weights()?.iter().filter(|name| Some(name.as_str()) != kept) {
            self.remove(name)?;
        }
        Ok(())
    }

    /// The saved state, where there is one.
    pub fn saved_state(&self) -> Result<Option<Document>, Error> {
        let path = self.path(STATE);
        if !path.exists() {
            return Ok(None);
        }
        Document::parse_json(Source::load_plain(&path, path.display().to_string())?).map(Some)
    }

    /// The bytes of saved weights.
    pub fn read_saved_weights(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(name);
        let read = fs::metadata(&path).and_then(|data| {
            if data.len() > WEIGHTS_CAP {
                return Err(std::io::Error::other("more bytes than the limit for weights"));
            }
            read_plain(&path)
        });
        read.map_err(|error| {
            let place = repro_core::source::Location::file(path.display().to_string());
            repro_core::source::UNREADABLE.at(
                place,
                "the weights that the state refers to",
                error.to_string(),
            )
        })
    }

    /// Every file of saved weights, half-written ones too.
    fn saved_weights(&self) -> Result<Vec<String>, Error> {
        let entries = fs::read_dir(self.path("")).map_err(|error| self.failed("", &error))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let step = |name: &str| {
            let [begin, end] = WEIGHTS;
            let name = name.strip_suffix(PARTIAL).unwrap_or(name);
            name.strip_prefix(begin)?.strip_suffix(end)?.parse::<u64>().ok()
        };
        let mut names: Vec<_> = names.filter(|name| step(name).is_some()).collect();
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_state_is_kept_with_its_weights() {
        let temporary = tempfile::tempdir().unwrap();
        let mut writer = BundleWriter::create(temporary.path()).unwrap();
        assert!(writer.saved_state().unwrap().is_none());
        for step in [5, 10] {
            let name = saved_weights_name(step);
            let state = json!({"step": step, "weights": name});
            writer.save_state(&state, Some((&name, &[step as u8; 3]))).unwrap();
            let saved = writer.saved_state().unwrap().unwrap();
            let named = saved.root().required("weights").unwrap().text().unwrap();
            assert_eq!(writer.read_saved_weights(named).unwrap(), [step as u8; 3]);
            assert_eq!(writer.saved_weights().unwrap(), [name]);
        }
        fs::write(temporary.path().join("resume-000011.safetensors.partial"), "torn").unwrap();
        writer.save_state(&json!({"step": 11}), None).unwrap();
        assert!(writer.saved_weights().unwrap().is_empty());
        let missing = writer.read_saved_weights("resume-000010.safetensors").unwrap_err();
        assert_eq!(missing.code.id, "source::unreadable");
    }
}
