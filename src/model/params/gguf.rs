//! Counts the parameters of a `.gguf` file from its header, which has the experts of each layer and the number per token,
//! so the active count needs no config.

use std::path::{Path, PathBuf};

use repro_bundle::checkpoint::{BlockTensor, GgufHeader, HeaderSummary, Role};
use repro_core::source::Error;

use crate::params::model::{ActiveByHeader, ModelCounts, SeenWeights};

/// The maximum number of parts of a split file.
const PARTS: u64 = 1_000;

/// Counts the model in the file at `path`, including the other parts of a split file.
pub fn load(path: &Path, name: &str) -> Result<ModelCounts, Error> {
    let first = GgufHeader::load(path, name)?;
    let mut notes: Vec<String> =
        first.text("general.size_label").map(says_size).into_iter().collect();
    let mut headers = Vec::new();
    let mut missing = Vec::new();
    for (path, part) in other_parts(path, name, &first) {
        if path.exists() {
            headers.push(GgufHeader::load(&path, &part)?);
        } else {
            missing.push(part);
        }
    }
    // The first part has the metadata for all parts.
    let begins = |one: &&GgufHeader| one.count("split.no").unwrap_or(0) == 0;
    let said = headers.iter().chain([&first]).find(begins).unwrap_or(&first);
    let listed = || headers.iter().chain([&first]).flat_map(|one| &one.tensors);
    let mut seen = HeaderSummary::default();
    listed().for_each(|tensor| seen.add_as(tensor.role(), &tensor.name, tensor.elements));
    let active = match missing.as_slice() {
        [] => active(said, listed, &mut notes),
        missing => {
            let missing = missing.join("`, `");
            notes.push(format!("not counted, because these parts are missing: `{missing}`"));
            ActiveByHeader::Unknown("parts of the file are missing".into())
        }
    };
    let is_part = !missing.is_empty();
    Ok(SeenWeights { tensors: seen, notes, active, is_part }.counted(path, name))
}

fn says_size(label: &str) -> String {
    format!("the size label of the file is {label:?}")
}

/// The other parts of a split file, such as `name-00002-of-00003.gguf`.
fn other_parts(path: &Path, name: &str, header: &GgufHeader) -> Vec<(PathBuf, String)> {
    let count = header.count("split.count").unwrap_or(1).min(PARTS);
    let own = header.count("split.no").unwrap_or(0);
    let ending = format!("-{:05}-of-{count:05}.gguf", own + 1);
    let (Some(stem), true) = (name.strip_suffix(&ending), count > 1) else { return Vec::new() };
    let other = |at: u64| {
        let name = format!("{stem}-{:05}-of-{count:05}.gguf", at + 1);
        let file = name.rsplit('/').next().unwrap_or(&name).to_owned();
        (path.with_file_name(file), name)
    };
    (0..count).filter(|at| *at != own).map(other).collect()
}

/// The active parameters: of stacked experts, as many as a token uses; without multi-token prediction layers.
fn active<'a, I: Iterator<Item = &'a BlockTensor>>(
    said: &GgufHeader,
    tensors: impl Fn() -> I,
    notes: &mut Vec<String>,
) -> ActiveByHeader {
    let experts = said.of_architecture("expert_count").unwrap_or(0);
    let used = said.of_architecture("expert_used_count").unwrap_or(0);
    let blocks = said.of_architecture("block_count").unwrap_or(u64::MAX);
    let own_blocks =
        blocks.saturating_sub(said.of_architecture("nextn_predict_layers").unwrap_or(0));
    let sum = |is: &dyn Fn(&BlockTensor) -> bool| {
        let learned = tensors().filter(|tensor| tensor.role() == Role::Parameter && is(tensor));
        learned.fold(0_u64, |sum, tensor| sum.saturating_add(tensor.elements))
    };
    let is_own = |tensor: &BlockTensor| tensor.block().is_none_or(|block| block < own_blocks);
    let is_named = |tensor: &BlockTensor| tensor.name.contains("_exps.");
    let routed = sum(&|tensor| is_own(tensor) && tensor.is_of_experts(experts));
    let ahead = sum(&|tensor| !is_own(tensor));
    let always = sum(&|tensor| is_own(tensor)) - routed;
    let unknown = |why: &str| ActiveByHeader::Unknown(why.into());
    if experts == 0 && tensors().any(is_named) {
        return unknown("the file has experts but no number of experts");
    }
    if tensors().any(|tensor| is_named(tensor) && !tensor.is_of_experts(experts)) {
        return unknown("a stack of experts does not have the stated number of experts");
    }
    if experts > 0 && (routed == 0 || used == 0 || used > experts) {
        return unknown(
            "the file has experts, but does not state their tensors or the number of experts per token",
        );
    }
    if ahead > 0 {
        notes.push(format!(
            "{ahead} parameters belong to multi-token prediction layers, which are not active"
        ));
    }
    let part = routed.checked_div(experts).unwrap_or(0);
    ActiveByHeader::Is(always + part * used)
}
