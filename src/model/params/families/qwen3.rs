//! Qwen3: Llama with norms of queries and keys per head.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "qwen3",
    model_types: &["qwen3", "qwen3_vl_text"],
    architectures: &["Qwen3ForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 151_936, hidden: 4096, width: 22_016, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 32, Some(32), HeadSize::Fixed(128))?;
    let bias = fields.flag("attention_bias", false)?;
    Ok(Decoder::new(dims, Grouped::new(heads).biased(bias).normed()).finish())
}
