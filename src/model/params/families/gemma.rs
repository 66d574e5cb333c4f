//! Gemma: Llama with a fixed head size and a head tied to the embedding.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "gemma",
    model_types: &["gemma"],
    architectures: &["GemmaForCausalLM"],
    inert: &["hidden_activation"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 256_000, hidden: 3072, width: 24_576, layers: 28, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 16, Some(16), HeadSize::Fixed(256))?;
    let bias = fields.flag("attention_bias", false)?;
    Ok(Decoder::new(dims, Grouped::new(heads).biased(bias)).finish())
}
