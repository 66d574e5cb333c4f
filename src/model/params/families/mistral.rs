//! Mistral and Ministral: Llama with grouped heads and no biases.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "mistral",
    model_types: &["mistral", "ministral", "ministral3"],
    architectures: &["MistralForCausalLM", "MinistralForCausalLM", "Ministral3ForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    // The third Ministral has defaults of its own.
    let ministral = matches!(fields.model_type(), Some("ministral3"));
    let (vocabulary, layers) = if ministral { (131_072, 34) } else { (32_000, 32) };
    let size = if ministral { HeadSize::Fixed(128) } else { HeadSize::Derived };
    let defaults = Defaults { vocabulary, hidden: 4096, width: 14_336, layers, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 32, Some(8), size)?;
    Ok(Decoder::new(dims, Grouped::new(heads)).finish())
}
