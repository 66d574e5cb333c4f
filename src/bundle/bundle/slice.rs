//! Checkpoints and slices as a trainer writes them: the names of their files, and their entries in the receipt.

use serde_json::{Value as Json, json};

use super::receipt::{Checkpoint, DeclaredSlice};
use super::write::BundleWriter;
use repro_core::digest::{Digest, canonical};
use repro_core::source::Error;

/// A stretch of training steps that `repro replay` can execute again. `repro explain slices` lists what it may hold.
#[derive(Debug, Clone, Copy)]
pub struct SliceRecord<'a> {
    /// Steps before the slice. It starts from the checkpoint that was written after them.
    pub from_step: u64,
    /// Steps in the slice.
    pub steps: u64,
    /// The bytes of a safetensors file with `tokens`, U32 `[steps, batch, length + 1]`, `logged.loss`, F32 `[steps]`,
    /// and whatever else was logged.
    pub tensors: &'a [u8],
    /// Names of the weights, in the order of the last dimension of `logged.tensor_*`.
    pub names: &'a [String],
    /// How updates were made: groups of the optimizer with their rule and rates, clipping.
    pub stated: &'a Json,
}

impl BundleWriter<'_> {
    /// Writes the weights after `step` steps, the bytes of a safetensors file, and returns the checkpoint's entry in the
    /// receipt.
    ///
    /// # Errors
    /// `bundle::cannot-write`, if the file cannot be written.
    pub fn checkpoint(&mut self, step: u64, weights: &[u8]) -> Result<Checkpoint, Error> {
        let name = format!("data/checkpoints/step-{step:06}.safetensors");
        self.file(&name, weights)?;
        Ok(Checkpoint {
            step,
            tokens_seen: None,
            evaluation: None,
            weights: Some(name),
            weights_sha256: Some(Digest::of(weights)),
            tensors_sha256: None,
        })
    }

    /// Writes the three files of a slice, and returns its entry in the receipt.
    ///
    /// # Errors
    /// `bundle::cannot-write`, if a file cannot be written; `bundle::unwritable`, if canonical JSON has no text for a
    /// number in `stated`.
    pub fn slice(&mut self, slice: &SliceRecord<'_>) -> Result<DeclaredSlice, Error> {
        let stem = format!("data/slices/slice-{:06}", slice.from_step);
        let file = format!("{stem}.safetensors");
        self.file(&file, slice.tensors)?;
        let names = format!("{stem}.tensors.jsonl");
        let mut lines = String::new();
        for name in slice.names {
            let line = canonical(&json!({"name": name}));
            lines += &line.map_err(|error| self.unwritable(&names, &error))?;
            lines.push('\n');
        }
        self.file(&names, lines.as_bytes())?;
        self.json(&format!("{stem}.stated.json"), slice.stated)?;
        Ok(DeclaredSlice {
            from_step: slice.from_step,
            steps: slice.steps,
            checkpoint_step: Some(slice.from_step),
            file,
            seconds: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bundle, CONFIG, Origin, Receipt, Run, Trainer};
    use super::*;

    /// A safetensors file of one number.
    fn file(name: &str) -> Vec<u8> {
        let header = json!({name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}});
        let mut header = header.to_string();
        while !header.len().is_multiple_of(8) {
            header.push(' ');
        }
        let length = (header.len() as u64).to_le_bytes();
        [&length, header.as_bytes(), &1.5_f32.to_le_bytes()].concat()
    }

    #[test]
    fn a_bundle_lists_what_was_written() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("run");
        let mut writer = BundleWriter::create(&path).unwrap();
        writer.json(CONFIG, &json!({"steps": 9})).unwrap();
        let checkpoint = writer.checkpoint(7, &file("w")).unwrap();
        let slice = SliceRecord {
            from_step: 7,
            steps: 2,
            tensors: &file("logged.loss"),
            names: &["v".to_owned(), "w".to_owned()],
            stated: &json!({"grad_clip": 1}),
        };
        let slice = writer.slice(&slice).unwrap();
        let receipt = Receipt {
            run: Some(Run::named("run")),
            trainer: Some(Trainer::named("t")),
            checkpoints: vec![checkpoint.clone()],
            slices: vec![slice.clone()],
            ..Receipt::new(Origin::Emitted)
        };
        let digest = writer.finish(&receipt).unwrap();
        let bundle = Bundle::load_folder(&path, "run", Some(&digest), 1).unwrap();
        assert_eq!(bundle.receipt().checkpoints, [checkpoint]);
        assert_eq!(bundle.receipt().slices, [slice]);
        let files: Vec<_> = bundle.files().keys().map(String::as_str).collect();
        let expected = [
            "data/checkpoints/step-000007.safetensors",
            "data/config.json",
            "data/receipt.json",
            "data/slices/slice-000007.safetensors",
            "data/slices/slice-000007.stated.json",
            "data/slices/slice-000007.tensors.jsonl",
        ];
        assert_eq!(files, expected);
        let lines = std::fs::read_to_string(path.join(expected[5])).unwrap();
        assert_eq!(lines, "{\"name\":\"v\"}\n{\"name\":\"w\"}\n");
    }
}
