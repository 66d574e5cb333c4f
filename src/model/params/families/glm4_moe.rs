//! GLM-4.5 and its successors: grouped heads with biases, the first layers dense, then routed and shared experts, and
//! layers for multi-token prediction.

use repro_core::source::Error;

use crate::params::attention::{Grouped, HeadNorms};
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "glm4_moe",
    model_types: &["glm4_moe", "glm4v_moe_text"],
    architectures: &["Glm4MoeForCausalLM"],
    inert: &["n_group", "norm_topk_prob", "routed_scaling_factor", "topk_group"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let first = fields.count_or_none("first_k_dense_replace", 1)?.value().unwrap_or(0);
    let vision = fields.is_of("glm4v_moe");
    let vocabulary = if vision { 151_424 } else { 151_552 };
    let defaults = Defaults { vocabulary, hidden: 4096, width: 10_944, layers: 46, tied: false };
    let dims = fields.dims(defaults, |layer| layer >= first)?;
    let heads = fields.heads(dims.h, 96, Some(8), HeadSize::Derived)?;
    let all = ("n_routed_experts|num_local_experts", 128);
    let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", 8))?;
    let width = fields.width("moe_intermediate_size", 1408, dims.layers.sparse())?;
    let shared = fields.count_or_none("n_shared_experts", 1)?;
    let norms = fields.flag("use_qk_norm", false)?.then(|| HeadNorms::of_a_head(heads));
    let input_bias = fields.flag("attention_bias", vision)?;
    let attention = Grouped { input_bias, norms, ..Grouped::new(heads) };
    let mixture = Some(ExpertParts::new(experts, width).sharing(shared, shared * width));
    let mtp = fields.mtp(1)?;
    Ok(Decoder { mixture, mtp, ..Decoder::new(dims, attention) }.finish())
}
