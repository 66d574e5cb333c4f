//! Bamba: state spaces, with attention instead in the layers that the config names, and dense feed-forward blocks.

use repro_core::source::Error;

use crate::params::attention::{Grouped, Mamba2, Mixer};
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "bamba",
    model_types: &["bamba"],
    architectures: &["BambaForCausalLM"],
    inert: &["attn_rotary_emb", "mamba_chunk_size", "z_loss_coefficient", "time_step_limit"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 128_000, hidden: 4096, width: 14_336, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 32, Some(8), HeadSize::Derived)?;
    let full = fields.list("attn_layer_indices")?;
    let full = dims.layers.set(|layer| full.contains(&layer));
    let mamba = Mamba2::read(fields, dims.h, None, true)?;
    let mlp_bias = fields.flag("mlp_bias", false)?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?);
    let mixers: Vec<(_, Box<dyn Mixer>)> =
        vec![(full.others(), Box::new(mamba)), (full, Box::new(attention))];
    let decoder = Decoder {
        norms: &["input_layernorm", "pre_ff_layernorm"],
        last_norm: "model.final_layernorm",
        mlp: "feed_forward",
        mlp_bias,
        ..Decoder::mixed(dims, mixers)
    };
    Ok(decoder.finish())
}
