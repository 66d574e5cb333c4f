//! Llama 4: experts in the layers that the config picks, one shared expert as wide as a routed one, dense blocks of a
//! width of their own.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::{Decoder, ExpertParts, StoredAs};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "llama4_text",
    model_types: &["llama4_text"],
    architectures: &["Llama4ForCausalLM"],
    inert: &[
        "attention_chunk_size",
        "attn_scale",
        "attn_temperature_tuning",
        "floor_scale",
        "for_llm_compressor",
        "no_rope_layers",
        "no_rope_layer_interval",
        "use_qk_norm",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let every = fields.size("interleave_moe_layer_step", 1)?.value().unwrap_or(1);
    let picked = fields.list("moe_layers")?;
    let listed = fields.given("moe_layers")?;
    let sparse = |layer: u64| match listed {
        true => picked.contains(&layer),
        false => (layer + 1).is_multiple_of(every),
    };
    let layers = fields.layers("num_hidden_layers", 48, sparse)?;
    let dims = Dims {
        v: fields.size("vocab_size", 202_048)?,
        h: fields.size("hidden_size", 5120)?,
        i: fields.width("intermediate_size_mlp", 16_384, layers.dense())?,
        layers,
        tied: fields.flag("tie_word_embeddings", false)?,
    };
    let heads = fields.heads(dims.h, 40, Some(8), HeadSize::Fixed(128))?;
    let all = ("num_local_experts", 16);
    let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", 1))?;
    let width = fields.width("intermediate_size", 8192, dims.layers.sparse())?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?);
    let mixture = ExpertParts {
        router: "feed_forward.router",
        stored: StoredAs::Stacked("feed_forward.experts"),
        shared_name: "feed_forward.shared_expert",
        ..ExpertParts::new(experts, width).sharing(1.into(), width)
    };
    let (mlp, mixture) = ("feed_forward", Some(mixture));
    Ok(Decoder { mlp, mixture, ..Decoder::new(dims, attention) }.finish())
}
