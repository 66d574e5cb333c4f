//! Llama and models with its architecture: SmolLM, TinyLlama, Granite. RMS norms, rotary positions, grouped heads, a gated
//! feed-forward block, and biases only if the config enables them.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::blocks::GRANITE_FACTORS;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "llama",
    model_types: &["llama", "granite"],
    architectures: &["LlamaForCausalLM", "LLaMAForCausalLM", "GraniteForCausalLM"],
    inert: GRANITE_FACTORS,
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_000, hidden: 4096, width: 11_008, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 32, None, HeadSize::Derived)?;
    let mlp_bias = fields.flag("mlp_bias", false)?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?);
    Ok(Decoder { mlp_bias, ..Decoder::new(dims, attention) }.finish())
}
