//! The weights of a model in the forms that lie in its folder: shards with an index or without, single files, files of llama.cpp.

use std::collections::BTreeMap;

use repro_bundle::checkpoint::read_index;
use repro_core::source::{Document, Error};
use repro_model::params::{ModelCounts, load, load_index, load_shards, shard_of};

use crate::check::kind::FolderListing;
use crate::check::stated::{Digits, StatedRow};

const INDEX: &str = "model.safetensors.index.json";
/// So many single files are counted: a folder may hold one model in many precisions.
const FILES: usize = 32;

/// Whether a file of this name holds weights, or says where they are.
pub fn is(name: &str) -> bool {
    // What is added to a model that lies elsewhere is none.
    if name.starts_with("adapter_") {
        return false;
    }
    name.ends_with(".safetensors") || name.ends_with(".gguf") || name == INDEX
}

/// The index of the shards, where there is one.
pub fn index(folder: &FolderListing) -> Option<Result<Document, Error>> {
    folder.has(INDEX).then(|| read_index(&folder.file(INDEX), &folder.told(INDEX)))
}

/// What an index says of all shards: newer ones name the number of parameters.
pub fn said_of_all(index: &Document) -> StatedRow {
    let mut row = StatedRow::new(INDEX);
    if let Some(metadata) = index.root().get("metadata") {
        row.state_all(metadata, "/metadata", Digits::Full);
    }
    row
}

/// Each form of the weights with its count; of shards by their `index`, where it can be read.
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
            // A consolidated copy and single files lie beside shards, too.
            None if forms.len() < FILES => forms.push(one(name)),
            None => {}
        }
    }
    let is_shard = |name: &&str| name.ends_with(".safetensors");
    if folder.has(INDEX) {
        // An index that was fetched alone counts nothing, and is no fault.
        let has_shards = weights().any(|name| is_shard(&name.as_str()));
        if let Some(index) = index.filter(|_| has_shards) {
            let counts = load_index(&folder.file(INDEX), &folder.told(INDEX), index);
            forms.push((INDEX.to_owned(), counts));
        }
        split.retain(|_, parts| !parts.iter().any(is_shard));
    }
    for parts in split.into_values().take(FILES) {
        // The header of a first part of llama.cpp names the others.
        match parts.as_slice() {
            [first, ..] if first.ends_with(".gguf") => forms.push(one(first)),
            parts => forms.extend(load_shards(&folder.path, &folder.shown, parts)),
        }
    }
    forms
}
