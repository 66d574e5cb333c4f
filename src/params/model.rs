//! The report on one file: a config, a checkpoint, or the index of a sharded one.

use std::path::Path;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Convention, ParameterCounts, recompute};
use repro_receipt::checkpoint::{FOREIGN_FORMAT, Header, HeaderSummary, Shards, read_document};
use repro_receipt::source::{Document, Error, Location};

/// One entry of `models` in `repro.params/1`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCounts {
    /// The file, by the name the caller gave it.
    pub file: String,
    /// Everything stored, under the default convention.
    pub total: u64,
    /// What one token touches, where that is known; the notes say why it is not.
    pub active: Option<u64>,
    /// The parameter counts of the config, where there is one and the file agrees with it.
    pub counts: Option<ParameterCounts>,
    /// What the count leaves out or could not see.
    pub notes: Vec<String>,
}

impl ModelCounts {
    fn of(file: &str, mut counts: ParameterCounts) -> Self {
        Self {
            file: file.to_owned(),
            total: counts.total(),
            active: Some(counts.active()),
            notes: std::mem::take(&mut counts.notes),
            counts: Some(counts),
        }
    }
}

impl Serialize for ModelCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = self.counts.as_ref();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", &self.file)?;
        map.serialize_entry("family", counts.map_or("unknown", |counts| counts.family))?;
        map.serialize_entry("total", &self.total)?;
        map.serialize_entry("active", &self.active)?;
        map.serialize_entry("breakdown", &Parts(counts))?;
        map.serialize_entry("conventions", &Conventions(counts))?;
        map.serialize_entry("tied", &counts.map(|counts| counts.tied))?;
        map.serialize_entry("shape", &counts.map(|counts| counts.shape))?;
        map.serialize_entry("active_ffn_width", &counts.map(|counts| counts.active_ffn_width))?;
        map.serialize_entry("ignored", counts.map_or(&[][..], |counts| &counts.ignored))?;
        map.serialize_entry("notes", &self.notes)?;
        map.end()
    }
}

/// Both objects by part, or an empty table where only a header was seen.
struct Parts<'a>(Option<&'a ParameterCounts>);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.0.into_iter().flat_map(|counts| counts.breakdown.parts());
        serializer.collect_map(parts.map(|(part, count)| (part.name(), count)))
    }
}

/// The counts under every convention, or an empty table.
struct Conventions<'a>(Option<&'a ParameterCounts>);

impl Serialize for Conventions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = |counts: &ParameterCounts| {
            Convention::ALL.map(|convention| (convention.name(), counts.both(convention)))
        };
        serializer.collect_map(self.0.map(counts).into_iter().flatten())
    }
}

/// Counts the model in the file at `path`, called `name` in every message.
pub fn load(path: &Path, name: &str) -> Result<ModelCounts, Error> {
    let ending = name.rsplit('.').next().unwrap_or_default();
    match ending {
        "safetensors" => {
            let header = Header::load(path, name)?;
            let mut seen = HeaderSummary::default();
            header.tensors.iter().for_each(|tensor| seen.add(tensor));
            let mut notes = Vec::new();
            if let Some(count) = shard_count(name) {
                notes.push(format!("one shard of {count}: load the index to count the model"));
            }
            Ok(stored(path, name, &seen, notes))
        }
        "pt" | "pth" | "bin" | "ckpt" | "pkl" | "pickle" | "zip" | "tar" | "npz" | "gguf" => {
            let expected = "`.json`, `.toml` or `.safetensors`";
            Err(FOREIGN_FORMAT.at(Location::file(name), expected, format!("`.{ending}`")))
        }
        _ => {
            let document = read_document(path, name)?;
            if document.root().get("weight_map").is_none() {
                return recompute(&document).map(|counts| ModelCounts::of(name, counts));
            }
            index(path, name, &document)
        }
    }
}

/// Counts the shards that lie beside an index.
fn index(path: &Path, name: &str, document: &Document) -> Result<ModelCounts, Error> {
    let beside = path.parent().unwrap_or(Path::new(""));
    let folder = name.rfind('/').map_or("", |at| &name[..=at]);
    let shards = Shards::load(document, beside, folder)?;
    let mut notes = Vec::new();
    if !shards.missing.is_empty() {
        let missing = shards.missing.join("`, `");
        notes.push(format!("not counted, because the shards are missing: `{missing}`"));
    }
    Ok(stored(path, name, &shards.seen, notes))
}

/// The report on what headers show, joined with the config beside them if there is one.
fn stored(path: &Path, name: &str, seen: &HeaderSummary, mut notes: Vec<String>) -> ModelCounts {
    notes.extend(seen.notes());
    let mut total = seen.parameters();
    let config = path.with_file_name("config.json");
    let folder = name.rfind('/').map_or("", |at| &name[..=at]);
    let counts = match config.exists() {
        true => read_document(&config, &format!("{folder}config.json"))
            .and_then(|document| recompute(&document))
            .map_err(|error| format!("the config next to the file cannot be used: {error}")),
        false => Err("no `config.json` next to the file gives the experts per token".into()),
    };
    let counts = counts.and_then(|counts| {
        if counts.tied && total.saturating_sub(seen.head()) == counts.total() {
            total = counts.total();
        }
        match total == counts.total() {
            true => Ok(counts),
            false => Err(format!(
                "the config next to the file describes {} parameters, not {total}",
                counts.total()
            )),
        }
    });
    match counts {
        Ok(counts) => {
            let mut model = ModelCounts::of(name, counts);
            model.notes.extend(notes);
            model
        }
        Err(why) => {
            notes.push(format!("the active count is unknown: {why}"));
            ModelCounts { file: name.to_owned(), total, active: None, counts: None, notes }
        }
    }
}

/// How many shards a checkpoint has whose name ends in `-00001-of-00002.safetensors`.
fn shard_count(name: &str) -> Option<u64> {
    let (rest, count) = name.strip_suffix(".safetensors")?.rsplit_once("-of-")?;
    let number = rest.rsplit_once('-')?.1;
    number.parse::<u64>().ok()?;
    count.parse().ok()
}
