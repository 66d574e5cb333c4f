//! Mamba, Falcon-Mamba and Mamba-2: layers that consist of one state space model after a norm.

use repro_core::source::Error;

use crate::params::Size;
use crate::params::attention::{Mamba, Mamba2, Mixer};
use crate::params::decoder::{Decoder, Feed};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};

const INERT: &[&str] = &[
    "chunk_size",
    "fused_add_norm",
    "mixer_rms_eps",
    "norm_before_gate",
    "rescale_prenorm_residual",
    "residual_in_fp32",
    "rms_norm",
    "time_step_floor",
    "time_step_init_scheme",
    "time_step_limit",
    "time_step_max",
    "time_step_min",
    "time_step_scale",
    "use_associative_scan",
    "use_falcon_mambapy",
    "use_mambapy",
    "ssm_cfg",
];

/// The first, and Falcon-Mamba, whose norms inside have no weights.
pub static FIRST: Family = Family {
    id: "mamba",
    model_types: &["mamba", "falcon_mamba"],
    architectures: &["MambaForCausalLM", "FalconMambaForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let dims = dims(fields, (50_280, 768, 32), true)?;
        let automatic = dims.h.value().map_or(0, |hidden| hidden.div_ceil(16));
        let rank = match fields.says("time_step_rank", "auto") {
            true => automatic.into(),
            false => fields.size("time_step_rank", automatic)?,
        };
        let inner = dims.h * fields.size("expand", 2)?;
        if fields.size_or("intermediate_size", inner, inner)? != inner
            || fields.size_or("d_inner", inner, inner)? != inner
        {
            return Err(fields.impossible("intermediate_size|d_inner", "`expand` times the width"));
        }
        let mamba = Mamba {
            inner,
            state: fields.size("state_size", 16)?,
            kernel: fields.size("conv_kernel", 4)?,
            rank,
            conv_bias: fields.flag("use_conv_bias", true)?,
            bias: fields.flag("use_bias", false)?,
            normed: false,
        };
        known_names(fields)?;
        Ok(layers(dims, mamba))
    },
};

/// The second.
pub static SECOND: Family = Family {
    id: "mamba2",
    model_types: &["mamba2"],
    architectures: &["Mamba2ForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let dims = dims(fields, (32_768, 4096, 64), false)?;
        let inner = dims.h * fields.size("expand", 2)?;
        let heads = fields.size("num_heads", 128)?;
        if heads * fields.size("head_dim", 64)? != inner {
            return Err(
                fields.impossible("num_heads", "`expand` times the width divided by `head_dim`")
            );
        }
        let mamba = Mamba2 {
            heads,
            inner,
            groups: fields.size("n_groups", 8)?,
            state: fields.size("state_size", 128)?,
            kernel: fields.size("conv_kernel", 4)?,
            conv_bias: fields.flag("use_conv_bias", true)?,
            bias: fields.flag("use_bias", false)?,
            normed: true,
        };
        if !fields.says("time_step_rank", "auto") {
            fields.count_or_none("time_step_rank", 0)?;
        }
        known_names(fields)?;
        Ok(layers(dims, mamba))
    },
};

fn dims(
    fields: &ConfigFields<'_>,
    (vocabulary, hidden, layers): (u64, u64, u64),
    tied: bool,
) -> Result<Dims, Error> {
    Ok(Dims {
        v: fields.size("vocab_size", vocabulary)?,
        h: fields.size("hidden_size", hidden)?,
        i: Size::ZERO,
        layers: fields.layers("num_hidden_layers", layers, |_| false)?,
        tied: fields.flag("tie_word_embeddings", tied)?,
    })
}

/// Field names of the first releases, which must agree with the current ones.
fn known_names(fields: &ConfigFields<'_>) -> Result<(), Error> {
    fields.count_or_none("hidden_size|d_model", 0)?;
    fields.count_or_none("num_hidden_layers|n_layer", 0)?;
    if !fields.is_multiple_of("vocab_size", "pad_vocab_size_multiple")? {
        return Err(fields.unsupported("pad_vocab_size_multiple", "a padded `vocab_size`"));
    }
    Ok(())
}

fn layers(dims: Dims, mixer: impl Mixer + 'static) -> Blueprint {
    let decoder = Decoder {
        norms: &["norm"],
        last_norm: "model.norm_f",
        feed: Feed::None,
        ..Decoder::new(dims, mixer)
    };
    decoder.finish()
}
