//! Qwen3-MoE: Qwen3 with experts in the layers that the config picks and no shared expert.

use repro_core::source::Error;

use super::qwen2_moe::sparse_layers;
use crate::params::attention::Grouped;
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "qwen3_moe",
    model_types: &["qwen3_moe", "qwen3_vl_moe_text"],
    architectures: &["Qwen3MoeForCausalLM"],
    inert: &["norm_topk_prob", "use_qk_norm"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let sparse = sparse_layers(fields)?;
    let vision = fields.is_of("qwen3_vl_moe");
    let width = if vision { 5632 } else { 6144 };
    let defaults = Defaults { vocabulary: 151_936, hidden: 2048, width, layers: 24, tied: false };
    let dims = fields.dims(defaults, sparse)?;
    let (count, key_value) = if vision { (16, 16) } else { (32, 4) };
    // If the field is absent, the reference uses 128 in image configs, and divides otherwise.
    let size = if vision { HeadSize::Fixed(128) } else { HeadSize::Derived };
    let heads = fields.heads(dims.h, count, Some(key_value), size)?;
    let [all, used, width] = if vision { [60, 4, 1408] } else { [128, 8, 768] };
    let all = ("num_experts|num_local_experts", all);
    let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", used))?;
    let width = fields.width("moe_intermediate_size", width, dims.layers.sparse())?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?).normed();
    let mixture = Some(ExpertParts::new(experts, width));
    Ok(Decoder { mixture, ..Decoder::new(dims, attention) }.finish())
}
