//! Counting the model in a file: a config, a checkpoint, or the index of a sharded one.

use std::collections::BTreeMap;
use std::path::Path;

use repro_bundle::checkpoint::{
    FOREIGN_FORMAT, Header, HeaderSummary, Shards, read_config, read_index,
};
use repro_core::source::{Document, Error, Location};

use crate::params::model::{ActiveByHeader, ModelCounts, SeenWeights};
use crate::params::{gguf, recompute};

/// Counts the model in the file at `path`, called `name` in every message.
pub fn load(path: &Path, name: &str) -> Result<ModelCounts, Error> {
    let ending = name.rsplit('.').next().unwrap_or_default();
    match ending {
        "safetensors" => {
            let mut tensors = HeaderSummary::default();
            tensors.add_all(&Header::load(path, name)?);
            let others = shard_of(name).filter(|(_, count)| *count > 1);
            let note = others.map(|(_, count)| {
                format!("one shard of {count}: load the index to count the model")
            });
            let (is_part, notes) = (note.is_some(), note.into_iter().collect());
            let active = ActiveByHeader::NotSaid;
            Ok(SeenWeights { tensors, notes, active, is_part }.counted(path, name))
        }
        "gguf" => gguf::load(path, name),
        "pt" | "pth" | "bin" | "ckpt" | "pkl" | "pickle" | "zip" | "tar" | "npz" => {
            let expected = "`.json`, `.toml`, `.safetensors` or `.gguf`";
            Err(FOREIGN_FORMAT.at(Location::file(name), expected, format!("`.{ending}`")))
        }
        _ if name.ends_with(".index.json") => load_index(path, name, &read_index(path, name)?),
        _ => {
            let document = read_config(path, name)?;
            if document.root().get("weight_map").is_none() {
                return recompute(&document).map(|counts| ModelCounts::of(name, counts));
            }
            load_index(path, name, &document)
        }
    }
}

/// Whether `load` reads files other than the one at `path`: the shards of an index, or a config next to weights.
pub fn reads_others(path: &Path, name: &str) -> bool {
    let is_weights = [".safetensors", ".gguf", ".index.json"].iter().any(|end| name.ends_with(end));
    let is_index = |config: Document| config.root().get("weight_map").is_some();
    is_weights || read_config(path, name).is_ok_and(is_index)
}

/// Counts the shards next to the index at `path`, which was parsed as `document`.
pub fn load_index(path: &Path, name: &str, document: &Document) -> Result<ModelCounts, Error> {
    let beside = path.parent().unwrap_or(Path::new(""));
    let folder = name.rfind('/').map_or("", |at| &name[..=at]);
    let shards = Shards::load(document, beside, folder)?;
    let mut notes = Vec::new();
    let is_part = !shards.missing.is_empty();
    if is_part {
        let missing = shards.missing.join("`, `");
        notes.push(format!("not counted, because these shards are missing: `{missing}`"));
    }
    if let Some(said) = shards.other_size {
        let held = shards.bytes;
        notes.push(format!("the index states {said} bytes for its shards, and they have {held}"));
    }
    let (tensors, active) = (shards.seen, ActiveByHeader::NotSaid);
    Ok(SeenWeights { tensors, notes, active, is_part }.counted(path, name))
}

/// Counts shards without an index, given their expected number; messages show `folder` as `shown`.
pub fn load_shards(
    folder: &Path,
    shown: &str,
    names: &[&str],
) -> Vec<(String, Result<ModelCounts, Error>)> {
    let mut forms: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for name in names {
        let count = shard_of(name).map_or(0, |(_, count)| count);
        forms.entry(count).or_default().push(name);
    }
    let counted = |(count, names): (u64, Vec<&str>)| {
        let mut tensors = HeaderSummary::default();
        for name in &names {
            tensors.add_all(&Header::load(&folder.join(name), &format!("{shown}/{name}"))?);
        }
        let first = names.first().copied().unwrap_or_default();
        let held = names.len();
        let notes = vec![format!("{held} of {count} shards, without an index")];
        let (active, is_part) = (ActiveByHeader::NotSaid, held as u64 != count);
        let seen = SeenWeights { tensors, notes, active, is_part };
        Ok(seen.counted(&folder.join(first), &format!("{shown}/{first}")))
    };
    let named = |form: (u64, Vec<&str>)| {
        let name = form.1.first().copied().unwrap_or_default().to_owned();
        (name, counted(form))
    };
    forms.into_iter().map(named).collect()
}

/// The name prefix of a checkpoint's shards and their number, if a name ends in `-00001-of-00002.safetensors` or `.gguf`.
pub fn shard_of(name: &str) -> Option<(&str, u64)> {
    let stem = name.strip_suffix(".safetensors").or_else(|| name.strip_suffix(".gguf"))?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    number.parse::<u64>().ok()?;
    Some((stem, count.parse().ok()?))
}
