//! An index and the shards next to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Header, HeaderSummary, SHARDS};
use repro_core::source::{Document, Error, Node};

/// The contents of an index's shards.
#[derive(Debug)]
pub struct Shards {
    /// The tensors of the shards that are there.
    pub seen: HeaderSummary,
    /// Shards that are not there.
    pub missing: Vec<String>,
    /// Tensors of the shards that are there.
    pub tensors: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The total size by the index, if all shards are there and have a different one: exporters count what is stored once and
    /// used twice in different ways.
    pub other_size: Option<u64>,
}

impl Shards {
    /// Reads the headers of the shards that `index` names, in the folder `beside`; `name` is what
    /// the folder goes by in messages, with a slash at its end, or nothing.
    pub fn load(index: &Document, beside: &Path, name: &str) -> Result<Self, Error> {
        let root = index.root();
        let mut shards = Self {
            seen: HeaderSummary::default(),
            missing: Vec::new(),
            tensors: 0,
            bytes: 0,
            other_size: None,
        };
        for (shard, names) in by_shard(root.required("weight_map")?)? {
            let path = beside.join(shard);
            if !path.exists() {
                shards.missing.push(shard.to_owned());
                continue;
            }
            let header = Header::load(&path, &format!("{name}{shard}"))?;
            agree(root, shard, &names, &header)?;
            for tensor in &header.tensors {
                shards.seen.add(tensor);
                shards.tensors += 1;
                let length = tensor.offsets.end - tensor.offsets.start;
                shards.bytes = shards.bytes.saturating_add(length);
            }
        }
        if shards.tensors == 0 {
            let expected = "at least one of its shards next to the index";
            return Err(SHARDS.at(root.place(), expected, "no shard"));
        }
        let total = root.get("metadata").and_then(|metadata| metadata.get("total_size"));
        let said =
            total.filter(|_| shards.missing.is_empty()).and_then(|total| total.integer().ok());
        shards.other_size = said.filter(|said| *said != shards.bytes);
        Ok(shards)
    }
}

/// The tensors that an index expects in each shard.
fn by_shard<'a>(map: Node<'a>) -> Result<BTreeMap<&'a str, BTreeSet<&'a str>>, Error> {
    let mut shards: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (tensor, node) in map.members()? {
        let shard = node.text()?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if !shard.ends_with(".safetensors") || shard.starts_with('.') || !shard.bytes().all(plain) {
            let expected = "the name of a `.safetensors` file next to the index";
            return Err(SHARDS.at(node.place(), expected, format!("{shard:?}")));
        }
        shards.entry(shard).or_default().insert(tensor);
    }
    Ok(shards)
}

/// Refuses a shard that holds other tensors than the index says.
fn agree(
    root: Node<'_>,
    shard: &str,
    expected: &BTreeSet<&str>,
    header: &Header,
) -> Result<(), Error> {
    let found: BTreeSet<&str> = header.tensors.iter().map(|t| t.name.as_str()).collect();
    let refuse = |tensor: &str, expected: String, found: &str| {
        let place = root.place().with_pointer("/weight_map");
        Err(SHARDS.at(place, expected, format!("`{tensor}` {found}")))
    };
    if let Some(lacking) = expected.difference(&found).next() {
        return refuse(
            lacking,
            format!("all tensors of the index in `{shard}`"),
            "is missing from it",
        );
    }
    if let Some(extra) = found.difference(expected).next() {
        return refuse(extra, format!("only tensors of the index in `{shard}`"), "is also in it");
    }
    Ok(())
}
