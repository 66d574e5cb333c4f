//! Granite 4: state space layers with some attention layers, or only attention, and in every layer a shared block next to
//! routed experts, or alone if there are none.

use repro_core::source::Error;

use crate::params::Size;
use crate::params::attention::{Grouped, Mamba2, Mixer};
use crate::params::decoder::{Decoder, ExpertParts, Feed, StoredAs};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "granitemoehybrid",
    model_types: &["granitemoehybrid"],
    architectures: &["GraniteMoeHybridForCausalLM"],
    inert: &[
        "attention_multiplier",
        "embedding_multiplier",
        "init_method",
        "logits_scaling",
        "mamba_chunk_size",
        "normalization_function",
        "position_embedding_type",
        "residual_multiplier",
        "shared_expert_overlap",
        "time_step_limit",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let any = fields.count_or_none("num_local_experts|num_experts", 8)? != Size::ZERO;
    let layers = fields.layers("num_hidden_layers", 32, |_| any)?;
    let shared = fields.size("shared_intermediate_size", 1024)?;
    let width = fields.width("intermediate_size", 11_008, layers.sparse())?;
    let dims = Dims {
        v: fields.size("vocab_size", 32_000)?,
        h: fields.size("hidden_size", 4096)?,
        // Without routed experts the shared block is the dense one.
        i: shared,
        layers,
        tied: fields.flag("tie_word_embeddings", false)?,
    };
    let heads = fields.heads(dims.h, 32, None, HeadSize::Derived)?;
    let all = ("num_local_experts|num_experts", 8);
    let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", 2))?;
    let kinds = ["mamba|linear_attention", "attention|full_attention"];
    let full = fields.layer_kinds(&dims.layers, kinds, |_| false)?;
    let mamba = Mamba2::read(fields, dims.h, None, true)?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?);
    let mixture = any.then(|| ExpertParts {
        router: "block_sparse_moe.router",
        stored: StoredAs::Stacked("block_sparse_moe.experts"),
        shared_name: "shared_mlp",
        ..ExpertParts::new(experts, width).sharing(1.into(), shared)
    });
    let mixers: Vec<(_, Box<dyn Mixer>)> =
        vec![(full.others(), Box::new(mamba)), (full, Box::new(attention))];
    let feed = Feed::Joined("input_linear");
    Ok(Decoder { mlp: "shared_mlp", feed, mixture, ..Decoder::mixed(dims, mixers) }.finish())
}
