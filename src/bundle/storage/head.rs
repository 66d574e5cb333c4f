//! Metadata of a model without its weights: headers of checkpoints, configs and indices, fetched into a folder. A checkpoint is there
//! with its header and its length, and holes in place of its tensors, so that its header is read like any other.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::checkpoint::{FOREIGN_FORMAT, GgufHeader, Header, read_index};
use repro_core::source::{DOCUMENT_CAP, Error, Location};

use crate::storage::part::ObjectPart;
use crate::storage::store::Store;
use crate::storage::{NOT_WRITTEN, UNREADABLE};

/// So much of a checkpoint is asked for at first: most headers are no longer.
const FIRST: u64 = 64 << 10;
/// The most that is asked for at a time.
const MOST: u64 = 4 << 20;
/// The most bytes of an index, as where it is read.
const INDEX_CAP: usize = 64 << 20;
/// The most files of which one model is made.
const FILES_CAP: usize = 2_000;
/// The files next to checkpoints.
const CONFIG: &str = "config.json";

/// Fetches what tells of the model in the file `name` of a store into the folder `into`, which belongs to the caller alone, and
/// answers the path of the file there: of a checkpoint the header, of an index also the headers of its shards, with each the
/// `config.json` beside it.
pub fn fetch_head(store: &Store, name: &str, into: &Path) -> Result<PathBuf, Error> {
    let model = Model { store, into };
    let Some(path) = model.copy(name)? else {
        let place = Location::file(model.shown(name));
        return Err(UNREADABLE.at(place, "a model file", "nothing"));
    };
    if !name.ends_with(".json") || name.ends_with(".index.json") {
        model.copy(CONFIG)?;
    }
    let others = if name.ends_with(".gguf") { parts(name) } else { model.shards(&path, name) };
    for other in others.iter().filter(|other| *other != name).take(FILES_CAP) {
        model.copy(other)?;
    }
    Ok(path)
}

/// The parts of a file that was split, such as `name-00002-of-00003.gguf`.
fn parts(name: &str) -> BTreeSet<String> {
    let numbered = || {
        let (stem, count) = name.strip_suffix(".gguf")?.rsplit_once("-of-")?;
        let (stem, _) = stem.rsplit_once('-')?;
        let digits = count.len();
        let part = move |at: usize| format!("{stem}-{at:0digits$}-of-{count}.gguf");
        Some((1..=count.parse::<usize>().ok()?.min(FILES_CAP)).map(part).collect())
    };
    numbered().unwrap_or_default()
}

/// A model in a store.
struct Model<'a> {
    store: &'a Store,
    into: &'a Path,
}

impl Model<'_> {
    fn shown(&self, name: &str) -> String {
        format!("{}/{name}", self.store.shown())
    }

    /// The shards that an index names; what is wrong with it is told where it is read.
    fn shards(&self, path: &Path, name: &str) -> BTreeSet<String> {
        let Some(index) = name.ends_with(".json").then(|| read_index(path, name).ok()).flatten()
        else {
            return BTreeSet::new();
        };
        let members = index.root().get("weight_map").and_then(|map| map.members().ok());
        let shard =
            |(_, node): (_, repro_core::source::Node<'_>)| node.text().ok().map(str::to_owned);
        let plain = |shard: &String| !shard.contains('/') && shard.ends_with(".safetensors");
        members.into_iter().flatten().filter_map(shard).filter(plain).collect()
    }

    /// Copies what tells of the model; none where there is no such object.
    fn copy(&self, name: &str) -> Result<Option<PathBuf>, Error> {
        let path = self.into.join(name);
        if path.exists() {
            return Ok(Some(path));
        }
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let part = match ending {
            "safetensors" => self.safetensors(name)?,
            "gguf" => self.gguf(name)?,
            "json" | "toml" => self.document(name)?,
            _ => {
                let expected = "`.json`, `.toml`, `.safetensors` or `.gguf`";
                let place = Location::file(self.shown(name));
                return Err(FOREIGN_FORMAT.at(place, expected, format!("`.{ending}`")));
            }
        };
        let Some(ObjectPart { bytes, length }) = part else { return Ok(None) };
        write(&path, &bytes, length).map_err(|error| {
            let expected = "space for headers in the temporary folder";
            let place = Location::file(self.shown(name));
            let error = NOT_WRITTEN.at(place, expected, error.to_string());
            error.help("set `TMPDIR` to a folder with more space")
        })?;
        Ok(Some(path))
    }

    /// A config or an index, as a whole.
    fn document(&self, name: &str) -> Result<Option<ObjectPart>, Error> {
        let cap = if name.ends_with(".index.json") { INDEX_CAP } else { DOCUMENT_CAP };
        let whole = |bytes: Vec<u8>| ObjectPart { length: bytes.len() as u64, bytes };
        Ok(self.store.get(name, cap)?.map(whole))
    }

    /// The header of a safetensors file, whose first eight bytes say how long it is.
    fn safetensors(&self, name: &str) -> Result<Option<ObjectPart>, Error> {
        let Some(mut part) = self.store.part(name, 0..FIRST)? else { return Ok(None) };
        let Some(prefix) = part.bytes.first_chunk::<8>() else { return Ok(Some(part)) };
        let header = Header::length(&self.shown(name), part.length, *prefix)?;
        let end = header.saturating_add(8);
        let have = part.bytes.len() as u64;
        if have < end {
            part.bytes.extend(self.next(name, have..end, part.length)?);
        }
        part.bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
        Ok(Some(part))
    }

    /// The header of a GGUF file, which ends where its reader is done.
    fn gguf(&self, name: &str) -> Result<Option<ObjectPart>, Error> {
        let Some(begun) = self.store.part(name, 0..FIRST)? else { return Ok(None) };
        let length = begun.length;
        let mut head = Ahead { model: self, name, part: begun, at: 0, refused: None };
        let read = GgufHeader::read(&mut head, &self.shown(name), length);
        let Ahead { part, at, refused, .. } = head;
        match (refused, read) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(_)) => {
                let bytes = part.bytes.into_iter().take(at).collect();
                Ok(Some(ObjectPart { bytes, length }))
            }
        }
    }

    /// More bytes of an object that has `length` of them, all that are asked for.
    fn next(&self, name: &str, range: std::ops::Range<u64>, length: u64) -> Result<Vec<u8>, Error> {
        let wanted = range.end.min(length) - range.start;
        let found = self.store.part(name, range)?;
        match found.filter(|part| part.length == length && part.bytes.len() as u64 == wanted) {
            Some(part) => Ok(part.bytes),
            None => {
                let place = Location::file(self.shown(name));
                Err(UNREADABLE.at(
                    place,
                    "an unchanged object",
                    "an object that changed while it was read",
                ))
            }
        }
    }
}

/// The beginning of an object, fetched as it is read.
struct Ahead<'a> {
    model: &'a Model<'a>,
    name: &'a str,
    part: ObjectPart,
    /// How much of it was read.
    at: usize,
    /// Why no more could be fetched.
    refused: Option<Error>,
}

impl Read for Ahead<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let have = self.part.bytes.len() as u64;
        if self.at as u64 == have && have < self.part.length && !into.is_empty() {
            let end = have + have.min(MOST);
            match self.model.next(self.name, have..end, self.part.length) {
                Ok(bytes) => self.part.bytes.extend(bytes),
                Err(error) => {
                    self.refused = Some(error);
                    return Err(io::ErrorKind::Other.into());
                }
            }
        }
        let mut rest = &self.part.bytes[self.at..];
        let read = rest.read(into)?;
        self.at += read;
        Ok(read)
    }
}

/// Writes a file of `length` bytes of which the first are these, and the others are not stored.
fn write(path: &Path, bytes: &[u8], length: u64) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.set_len(length)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use tempfile::TempDir;

    use super::*;

    fn stored() -> (TempDir, Store) {
        let temporary = tempfile::tempdir().unwrap();
        let store = Store::open(temporary.path().join("store").to_str().unwrap()).unwrap();
        (temporary, store)
    }

    /// A checkpoint of `tensors` tensors of 1 MiB each.
    fn safetensors(tensors: u64) -> (Vec<u8>, u64) {
        let size = 1_u64 << 20;
        let entry = |at: u64| {
            let (from, to) = (at * size, (at + 1) * size);
            format!(
                r#""layers.{at}.weight":{{"dtype":"F32","shape":[{}],"data_offsets":[{from},{to}]}}"#,
                size / 4
            )
        };
        let header = format!("{{{}}}", (0..tensors).map(entry).collect::<Vec<_>>().join(","));
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        let length = bytes.len() as u64 + tensors * size;
        (bytes, length)
    }

    fn put(store: &Store, temporary: &TempDir, name: &str, (head, length): (Vec<u8>, u64)) {
        store.create(name, &head).unwrap();
        let file =
            File::options().write(true).open(temporary.path().join("store").join(name)).unwrap();
        file.set_len(length).unwrap();
    }

    #[test]
    fn a_header_is_fetched_and_its_tensors_are_not() {
        for tensors in [1, 500, 5_000] {
            let (temporary, store) = stored();
            let model = safetensors(tensors);
            put(&store, &temporary, "m.safetensors", model.clone());
            store.create(CONFIG, b"{}").unwrap();
            let into = tempfile::tempdir().unwrap();
            let path = fetch_head(&store, "m.safetensors", into.path()).unwrap();
            let copied = fs::metadata(&path).unwrap();
            assert_eq!(copied.len(), model.1);
            let mut begins = vec![0; model.0.len()];
            File::open(&path).unwrap().read_exact(&mut begins).unwrap();
            assert_eq!(begins, model.0);
            let header = Header::load(&path, "m.safetensors").unwrap();
            assert_eq!(header.tensors.len() as u64, tensors);
            assert!(into.path().join(CONFIG).exists());
        }
    }

    /// A GGUF file of tensors of 32 float32 numbers each, without its tensors.
    fn gguf(tensors: u64) -> (Vec<u8>, u64) {
        let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(
            [text("general.architecture"), 8_u32.to_le_bytes().to_vec(), text("llama")].concat(),
        );
        for at in 0..tensors {
            bytes.extend(text(&format!("blk.{at}.ffn_up.weight")));
            bytes.extend(1_u32.to_le_bytes());
            bytes.extend(32_u64.to_le_bytes());
            bytes.extend(0_u32.to_le_bytes());
            bytes.extend((at * 128).to_le_bytes());
        }
        let length = (bytes.len() as u64).next_multiple_of(32) + tensors * 128;
        (bytes, length)
    }

    #[test]
    fn a_header_whose_length_nobody_says_is_fetched_as_it_is_read() {
        for tensors in [1, 5_000] {
            let (temporary, store) = stored();
            let model = gguf(tensors);
            put(&store, &temporary, "m.gguf", model.clone());
            let into = tempfile::tempdir().unwrap();
            let path = fetch_head(&store, "m.gguf", into.path()).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().len(), model.1);
            let read = |path: &Path| GgufHeader::load(path, "m.gguf").unwrap();
            assert_eq!(read(&path), read(&temporary.path().join("store/m.gguf")));
        }
    }

    #[test]
    fn the_files_of_one_model_come_together() {
        let (temporary, store) = stored();
        for at in [1, 2] {
            put(&store, &temporary, &format!("m-0000{at}-of-00003.safetensors"), safetensors(1));
            put(&store, &temporary, &format!("g-0000{at}-of-00002.gguf"), gguf(1));
        }
        let index = r#"{"weight_map":{"a":"m-00001-of-00003.safetensors","b":"m-00002-of-00003.safetensors",
            "c":"m-00003-of-00003.safetensors","d":"../out.safetensors"}}"#;
        store.create("m.safetensors.index.json", index.as_bytes()).unwrap();
        store.create("x.pkl", b"").unwrap();
        let into = tempfile::tempdir().unwrap();
        let fetch = |name: &str| fetch_head(&store, name, into.path());
        fetch("m.safetensors.index.json").unwrap();
        fetch("g-00001-of-00002.gguf").unwrap();
        let mut names: Vec<_> = fs::read_dir(into.path())
            .unwrap()
            .map(|one| one.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "g-00001-of-00002.gguf",
                "g-00002-of-00002.gguf",
                "m-00001-of-00003.safetensors",
                "m-00002-of-00003.safetensors",
                "m.safetensors.index.json",
            ]
        );
        assert_eq!(fetch("x.pkl").unwrap_err().code.id, "checkpoint::foreign-format");
        assert_eq!(fetch("none.json").unwrap_err().code.id, "storage::unreadable");
    }

    #[test]
    fn hostile_headers_are_told_and_cost_nothing() {
        let (temporary, store) = stored();
        let into = tempfile::tempdir().unwrap();
        let huge = (u64::MAX / 2).to_le_bytes().to_vec();
        put(&store, &temporary, "huge.safetensors", (huge, 1 << 30));
        put(&store, &temporary, "pickle.safetensors", (b"PK\x03\x04........".to_vec(), 1 << 30));
        let mut endless = gguf(1).0;
        endless[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        put(&store, &temporary, "endless.gguf", (endless, 1 << 30));
        for name in ["huge.safetensors", "pickle.safetensors", "endless.gguf"] {
            let error = fetch_head(&store, name, into.path()).unwrap_err();
            assert_eq!(error.place.file, format!("{}/{name}", store.shown()), "{error}");
        }
    }
}
