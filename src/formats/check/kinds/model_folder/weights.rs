//! The weight files in a model folder: shards with or without an index, single files, and llama.cpp files.

use std::collections::BTreeMap;

use repro_bundle::checkpoint::read_index;
use repro_core::source::{Document, Error};
use repro_model::params::{ModelCounts, load, load_index, load_shards, shard_of};

use crate::check::kind::FolderListing;
use crate::check::stated::{Digits, StatedRow};

const INDEX: &str = "model.safetensors.index.json";
/// The maximum number of single files counted, because a folder may contain one model in many precisions.
const FILES: usize = 32;

/// Whether a file with this name contains weights or their index.
pub fn is(name: &str) -> bool {
    // Adapters for a model stored elsewhere do not count.
    if name.starts_with("adapter_") {
        return false;
    }
    name.ends_with(".safetensors") || name.ends_with(".gguf") || name == INDEX
}

/// The index of the shards, if there is one.
pub fn index(folder: &FolderListing) -> Option<Result<Document, Error>> {
    folder.has(INDEX).then(|| read_index(&folder.file(INDEX), &folder.told(INDEX)))
}

/// The totals that an index states for all shards; newer ones include the number of parameters.
pub fn said_of_all(index: &Document) -> StatedRow {
    let mut row = StatedRow::new(INDEX);
    if let Some(metadata) = index.root().get("metadata") {
        row.state_all(metadata, "/metadata", Digits::Full);
    }
    row
}

/// Each form of the weights with its count; shards are grouped by their `index` if it is readable.
pub fn load_all(
    folder: &FolderListing,
    index: Option<&Document>,
) -> Vec<(String, Result<ModelCounts, Error>)> {
    let weights = || folder.names.iter().filter(|name| is(name));
    let one = |name: &str| (name.to_owned(), load(&folder.file(name), &folder.told(name)));
    let mut forms = Vec::new();
    let mut split: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in weights().filter(|name| *name != INDEX) {
        match shard_of(name) {
            Some((stem, _)) => split.entry(stem).or_default().push(name),
            // A consolidated copy and single files may also lie beside shards.
            None if forms.len() < FILES => forms.push(one(name)),
            None => {}
        }
    }
    let is_shard = |name: &&str| name.ends_with(".safetensors");
    if folder.has(INDEX) {
        // An index without its shards counts nothing and is not an error.
        let has_shards = weights().any(|name| is_shard(&name.as_str()));
        if let Some(index) = index.filter(|_| has_shards) {
            let counts = load_index(&folder.file(INDEX), &folder.told(INDEX), index);
            forms.push((INDEX.to_owned(), counts));
        }
        split.retain(|_, parts| !parts.iter().any(is_shard));
    }
    for parts in split.into_values().take(FILES) {
        // The header of the first llama.cpp part lists the other parts.
        match parts.as_slice() {
            [first, ..] if first.ends_with(".gguf") => forms.push(one(first)),
            parts => forms.extend(load_shards(&folder.path, &folder.shown, parts)),
        }
    }
    forms
}
