//! Phi-3.5-MoE: Mixtral with biases on attention, norms and head if the config enables them.

use repro_core::source::Error;

use super::mixtral::mixture;
use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "phimoe",
    model_types: &["phimoe"],
    architectures: &["PhimoeForCausalLM", "PhiMoEForCausalLM"],
    inert: &["input_jitter_noise", "original_max_position_embeddings"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_064, hidden: 4096, width: 6400, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let heads = fields.heads(dims.h, 32, Some(8), HeadSize::Derived)?;
    let experts =
        fields.experts(("num_local_experts|num_experts", 16), ("num_experts_per_tok", 2))?;
    let width = fields.nonzero("intermediate_size", dims.i)?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?);
    let head_bias = fields.flag("lm_head_bias", false)?;
    let mixture = Some(mixture(experts, width));
    // Its norms have biases.
    let decoder = Decoder { norm_bias: true, head_bias, mixture, ..Decoder::new(dims, attention) };
    Ok(decoder.finish())
}
