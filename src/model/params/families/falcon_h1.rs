//! Falcon-H1: in every layer attention and a state space in parallel, after one norm.

use repro_core::source::Error;

use crate::params::attention::{Grouped, Mamba2, Mixer};
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "falcon_h1",
    model_types: &["falcon_h1"],
    architectures: &["FalconH1ForCausalLM"],
    inert: &[
        "attention_in_multiplier",
        "attention_out_multiplier",
        "attn_layer_indices",
        "embedding_multiplier",
        "key_multiplier",
        "lm_head_multiplier",
        "mamba_chunk_size",
        "mamba_norm_before_gate",
        "mamba_use_mlp",
        "mlp_expansion_factor",
        "mlp_multipliers",
        "ssm_in_multiplier",
        "ssm_multipliers",
        "ssm_out_multiplier",
        "time_step_floor",
        "time_step_limit",
        "time_step_max",
        "time_step_min",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 128_000, hidden: 4096, width: 14_336, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 32, Some(8), HeadSize::Derived)?;
    let width = fields.size_unless_null("mamba_d_ssm", 1024)?;
    let normed = fields.flag("mamba_rms_norm", false)?;
    let mut mamba = Mamba2::read(fields, dims.h, width, normed)?;
    // The output projection has its own switch, which the reference names after all projectors.
    if fields.flag("projectors_bias", false)? != mamba.bias {
        return Err(fields.unsupported("projectors_bias", "the same as `mamba_proj_bias`"));
    }
    mamba.normed = normed;
    let mlp_bias = fields.flag("mlp_bias", false)?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?);
    let all = dims.layers.set(|_| true);
    let mixers: Vec<(_, Box<dyn Mixer>)> =
        vec![(all.clone(), Box::new(mamba)), (all, Box::new(attention))];
    let decoder = Decoder {
        norms: &["input_layernorm", "pre_ff_layernorm"],
        last_norm: "model.final_layernorm",
        mlp: "feed_forward",
        mlp_bias,
        ..Decoder::mixed(dims, mixers)
    };
    Ok(decoder.finish())
}
