//! Counting the model in a file: a config, a checkpoint, or the index of a sharded one.

use std::collections::BTreeMap;
use std::path::Path;

use repro_receipt::checkpoint::{
    FOREIGN_FORMAT, Header, HeaderSummary, Shards, read_document, read_index,
};
use repro_receipt::source::{Document, Error, Location};

use crate::model::{ActiveByHeader, ModelCounts, stored};
use crate::{gguf, recompute};

/// Counts the model in the file at `path`, called `name` in every message.
pub fn load(path: &Path, name: &str) -> Result<ModelCounts, Error> {
    let ending = name.rsplit('.').next().unwrap_or_default();
    match ending {
        "safetensors" => {
            let header = Header::load(path, name)?;
            let mut seen = HeaderSummary::default();
            header.tensors.iter().for_each(|tensor| seen.add(tensor));
            let others = shard_of(name).filter(|(_, count)| *count > 1);
            let note = others.map(|(_, count)| {
                format!("one shard of {count}: load the index to count the model")
            });
            let is_part = note.is_some();
            let notes = note.into_iter().collect();
            let counts = stored(path, name, &seen, notes, ActiveByHeader::NotSaid);
            Ok(ModelCounts { is_part: is_part || counts.is_part, ..counts })
        }
        "gguf" => gguf::load(path, name),
        "pt" | "pth" | "bin" | "ckpt" | "pkl" | "pickle" | "zip" | "tar" | "npz" => {
            let expected = "`.json`, `.toml`, `.safetensors` or `.gguf`";
            Err(FOREIGN_FORMAT.at(Location::file(name), expected, format!("`.{ending}`")))
        }
        _ if name.ends_with(".index.json") => index(path, name, &read_index(path, name)?),
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
    let is_part = !shards.missing.is_empty();
    if is_part {
        let missing = shards.missing.join("`, `");
        notes.push(format!("not counted, because the shards are missing: `{missing}`"));
    }
    let counts = stored(path, name, &shards.seen, notes, ActiveByHeader::NotSaid);
    Ok(ModelCounts { is_part: is_part || counts.is_part, ..counts })
}

/// Counts shards that lie together without an index, by how many there should be; `folder` is told as `shown`.
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
        let mut seen = HeaderSummary::default();
        for name in &names {
            let header = Header::load(&folder.join(name), &format!("{shown}/{name}"))?;
            header.tensors.iter().for_each(|tensor| seen.add(tensor));
        }
        let first = names.first().copied().unwrap_or_default();
        let held = names.len();
        let notes = vec![format!("{held} of {count} shards, without an index")];
        let (path, shown) = (folder.join(first), format!("{shown}/{first}"));
        let counts = stored(&path, &shown, &seen, notes, ActiveByHeader::NotSaid);
        Ok(ModelCounts { is_part: held as u64 != count || counts.is_part, ..counts })
    };
    let named = |form: (u64, Vec<&str>)| {
        let name = form.1.first().copied().unwrap_or_default().to_owned();
        (name, counted(form))
    };
    forms.into_iter().map(named).collect()
}

/// What shards of one checkpoint are called before their numbers, and how many there are, where a name ends in
/// `-00001-of-00002.safetensors` or `.gguf`.
pub fn shard_of(name: &str) -> Option<(&str, u64)> {
    let stem = name.strip_suffix(".safetensors").or_else(|| name.strip_suffix(".gguf"))?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    number.parse::<u64>().ok()?;
    Some((stem, count.parse().ok()?))
}
