//! Gemma-2: Gemma with norms before and after each block.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "gemma2",
    model_types: &["gemma2"],
    architectures: &["Gemma2ForCausalLM"],
    inert: &[
        "attn_logit_softcapping",
        "cache_implementation",
        "final_logit_softcapping",
        "hidden_activation",
        "query_pre_attn_scalar",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 256_000, hidden: 2304, width: 9216, layers: 26, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 8, Some(4), HeadSize::Fixed(256))?;
    let bias = fields.flag("attention_bias", false)?;
    Ok(Decoder { norms: NORMS, ..Decoder::new(dims, Grouped::new(heads).biased(bias)) }.finish())
}

/// Norms before and after attention, before and after the feed-forward block.
pub const NORMS: &[&str] = &[
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
];
