//! SmolLM3: Llama in which some layers have no positions; head and embedding are one.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "smollm3",
    model_types: &["smollm3"],
    architectures: &["SmolLM3ForCausalLM"],
    inert: &["no_rope_layers", "no_rope_layer_interval"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 128_256, hidden: 2048, width: 11_008, layers: 36, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 16, Some(4), HeadSize::Derived)?;
    let mlp_bias = fields.flag("mlp_bias", false)?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?);
    Ok(Decoder { mlp_bias, ..Decoder::new(dims, attention) }.finish())
}
