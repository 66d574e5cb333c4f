//! GLM-4: biases on queries, keys and values, gate and up in one matrix, norms before and after each block.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::{Decoder, Feed};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "glm4",
    model_types: &["glm4", "glm4v_text"],
    architectures: &["Glm4ForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 151_552, hidden: 4096, width: 13_696, layers: 40, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 32, Some(2), HeadSize::Fixed(128))?;
    let input_bias = fields.flag("attention_bias", true)?;
    let attention = Grouped { input_bias, ..Grouped::new(heads) };
    let norms = &[
        "input_layernorm",
        "post_attention_layernorm",
        "post_self_attn_layernorm",
        "post_mlp_layernorm",
    ];
    let feed = Feed::Joined("gate_up_proj");
    Ok(Decoder { norms, feed, ..Decoder::new(dims, attention) }.finish())
}
