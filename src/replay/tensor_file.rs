//! Tensors in a file of the safetensors format, written so that equal contents are equal bytes.
//!
//! Owns the writing (names in sorted order, metadata in sorted order, data without gaps), the reading
//! back through the checked header of [`repro_bundle::checkpoint`], and the digest of tensors. Which
//! tensors make a checkpoint or a slice is left to others.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::BAD_TENSORS;
use repro_bundle::checkpoint::{Header, LENGTH};
use repro_core::digest::{Digest, Hasher};
use repro_core::source::{Error, Location};

/// Bytes before the header, which hold its length; the data begins at a multiple of it.
const PREFIX: usize = 8;

/// One tensor of four-byte elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorData {
    dtype: &'static str,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl TensorData {
    /// A tensor of float32.
    pub fn floats(shape: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { dtype: "F32", shape: shape.to_vec(), bytes }
    }

    /// A tensor of unsigned 32-bit numbers.
    pub fn numbers(shape: &[usize], values: &[u32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { dtype: "U32", shape: shape.to_vec(), bytes }
    }

    /// Its elements, where they are float32.
    pub fn as_floats(&self) -> Option<Vec<f32>> {
        let floats = || self.bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        (self.dtype == "F32").then(|| floats().collect())
    }

    /// Its elements, where they are unsigned numbers.
    pub fn as_numbers(&self) -> Option<Vec<u32>> {
        let numbers = || self.bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        (self.dtype == "U32").then(|| numbers().collect())
    }

    /// Its dimensions.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
}

/// Named tensors and free text beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TensorFile {
    /// The tensors by name.
    pub tensors: BTreeMap<String, TensorData>,
    /// The writer's metadata next to them.
    pub metadata: BTreeMap<String, String>,
}

impl TensorFile {
    /// The bytes of the file.
    pub fn write(&self) -> Vec<u8> {
        let mut header = Map::new();
        if !self.metadata.is_empty() {
            header.insert("__metadata__".to_owned(), json!(self.metadata));
        }
        let mut end = 0;
        for (name, tensor) in &self.tensors {
            let start = end;
            end += tensor.bytes.len();
            let entry =
                json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [start, end]});
            header.insert(name.clone(), entry);
        }
        let mut header = Json::Object(header).to_string();
        header
            .extend(std::iter::repeat_n(' ', header.len().next_multiple_of(PREFIX) - header.len()));
        let mut bytes = Vec::with_capacity(PREFIX + header.len() + end);
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        for tensor in self.tensors.values() {
            bytes.extend_from_slice(&tensor.bytes);
        }
        bytes
    }

    /// Reads `bytes`, the file called `name`; elements of other types than ours are refused.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, Error> {
        let place = || Location::file(name);
        let (prefix, rest) = bytes.split_first_chunk::<PREFIX>().ok_or_else(|| {
            LENGTH.at(place(), "at least 8 bytes", format!("{} bytes", bytes.len()))
        })?;
        let length = Header::length(name, bytes.len() as u64, *prefix)? as usize;
        let (header, data) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        let header = Header::parse(name, bytes.len() as u64, header.to_vec())?;
        let mut tensors = BTreeMap::new();
        for stored in header.tensors {
            let known = ["F32", "U32"].into_iter().find(|known| *known == stored.dtype.name);
            let Some(dtype) = known else {
                let found = format!("{} in `{}`", stored.dtype.name, stored.name);
                return Err(BAD_TENSORS.at(place(), "F32 or U32", found));
            };
            // The header was checked to lie within the file.
            let range = stored.offsets.start as usize..stored.offsets.end as usize;
            let bytes = data.get(range).unwrap_or_default().to_vec();
            let shape = stored.shape.iter().map(|size| *size as usize).collect();
            tensors.insert(stored.name, TensorData { dtype, shape, bytes });
        }
        Ok(Self { tensors, metadata: header.metadata })
    }

    /// The digest of the tensors alone: SHA-256 of, for each tensor in the order of the bytes of its
    /// name, the name, a line feed, the type (`F32`), a line feed, the dimensions in decimal with
    /// commas between them, a line feed, and the elements (least significant byte first) as stored.
    pub fn tensors_digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        for (name, tensor) in &self.tensors {
            let shape: Vec<_> = tensor.shape.iter().map(usize::to_string).collect();
            hasher.update(format!("{name}\n{}\n{}\n", tensor.dtype, shape.join(",")).as_bytes());
            hasher.update(&tensor.bytes);
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> TensorFile {
        let mut file = TensorFile::default();
        file.tensors.insert("b".into(), TensorData::floats(&[2, 1], &[1.5, -0.0]));
        file.tensors.insert("a".into(), TensorData::numbers(&[3], &[7, 0, u32::MAX]));
        for (key, value) in [("step", "7"), ("rng", "chacha8/1"), ("arithmetic", "x")] {
            file.metadata.insert(key.into(), value.into());
        }
        file
    }

    #[test]
    fn what_is_written_is_read_back_and_others_read_it() {
        let file = sample();
        let bytes = file.write();
        assert_eq!(TensorFile::parse("t.safetensors", &bytes).unwrap(), file);
        let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(theirs.tensor("b").unwrap().shape(), [2, 1]);
        assert_eq!(
            theirs.tensor("a").unwrap().data(),
            [7_u32, 0, u32::MAX].map(u32::to_le_bytes).concat()
        );
        let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
        assert_eq!(metadata.metadata().as_ref().unwrap()["step"], "7");
        let start = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        assert_eq!(start % 8, 0, "the data is aligned");
    }

    #[test]
    fn the_digest_is_of_names_types_shapes_and_elements() {
        let file = sample();
        let text = [
            &b"a\nU32\n3\n"[..],
            &[7_u32, 0, u32::MAX].map(u32::to_le_bytes).concat(),
            b"b\nF32\n2,1\n",
            &[1.5_f32, -0.0].map(f32::to_le_bytes).concat(),
        ];
        assert_eq!(file.tensors_digest(), Digest::of(&text.concat()));
        let mut other = file.clone();
        other.metadata.insert("step".into(), "8".into());
        assert_eq!(other.tensors_digest(), file.tensors_digest(), "metadata is no tensor");
        other.tensors.insert("b".into(), TensorData::floats(&[1, 2], &[1.5, -0.0]));
        assert_ne!(other.tensors_digest(), file.tensors_digest());
    }

    #[test]
    fn broken_files_are_refused() {
        let bytes = sample().write();
        for end in [0, 7, 8, 60, bytes.len() - 1] {
            let error = TensorFile::parse("t", &bytes[..end]).unwrap_err();
            assert!(error.code.id.starts_with("checkpoint::"), "{end} {error}");
        }
        let text = r#"{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}"#;
        let other = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &[0; 8]].concat();
        assert_eq!(TensorFile::parse("t", &other).unwrap_err().code.id, "train::bad-tensors");
    }
}
