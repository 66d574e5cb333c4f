//! Qwen3-MoE: Qwen3 with experts in the layers that the config picks and no shared expert.

use repro_receipt::source::Error;

use super::qwen2_moe::sparse_layers;
use crate::attention::Grouped;
use crate::decoder::{Decoder, ExpertParts};
use crate::family::{Blueprint, Family, never};
use crate::fields::{ConfigFields, Defaults, HeadSize};

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
    let defaults =
        Defaults { vocabulary: 151_936, hidden: 2048, width: 6144, layers: 24, tied: false };
    let dims = fields.dims(defaults, sparse)?;
    let heads = fields.heads(dims.h, 32, Some(4), HeadSize::Derived)?;
    let all = ("num_experts|num_local_experts", 128);
    let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", 8))?;
    let width = fields.width("moe_intermediate_size", 768, dims.layers.sparse())?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?).normed();
    let mixture = Some(ExpertParts::new(experts, width));
    Ok(Decoder { mixture, ..Decoder::new(dims, attention) }.finish())
}
