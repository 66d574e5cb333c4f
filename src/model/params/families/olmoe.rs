//! OLMoE: experts in every layer, norms over all queries and all keys.

use repro_core::source::Error;

use crate::params::attention::{Grouped, HeadNorms};
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "olmoe",
    model_types: &["olmoe"],
    architectures: &["OlmoeForCausalLM"],
    inert: &["clip_qkv", "norm_topk_prob"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 50_304, hidden: 2048, width: 2048, layers: 16, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let heads = fields.heads(dims.h, 16, None, HeadSize::Derived)?;
    if heads.queries() != dims.h {
        return Err(fields.impossible("head_dim", "the width divided by the number of heads"));
    }
    let experts =
        fields.experts(("num_experts|num_local_experts", 64), ("num_experts_per_tok", 8))?;
    let bias = fields.flag("attention_bias", false)?;
    let norms = Some(HeadNorms::of_all_heads(heads));
    let attention = Grouped { norms, ..Grouped::new(heads).biased(bias) };
    let width = fields.nonzero("intermediate_size", dims.i)?;
    let mixture = Some(ExpertParts::new(experts, width));
    Ok(Decoder { mixture, ..Decoder::new(dims, attention) }.finish())
}
