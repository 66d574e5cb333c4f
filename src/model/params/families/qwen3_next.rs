//! Qwen3-Next: gated delta networks, every fourth layer gated attention instead, many small experts and a shared one.

use repro_core::source::Error;

use super::qwen2_moe::{MixtureDefaults, mixture, sparse_layers};
use crate::params::attention::{DeltaNet, Grouped, OutputGate};
use crate::params::decoder::{Decoder, Mixers};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "qwen3_next",
    model_types: &["qwen3_next"],
    architectures: &["Qwen3NextForCausalLM"],
    inert: &["attn_output_gate", "norm_topk_prob"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let sparse = sparse_layers(fields)?;
    let defaults =
        Defaults { vocabulary: 151_936, hidden: 2048, width: 5632, layers: 48, tied: false };
    let dims = fields.dims(defaults, sparse)?;
    let mixers = mixers(fields, &dims, 2, false)?;
    let mixture = Some(mixture(
        fields,
        &dims.layers,
        MixtureDefaults { experts: 512, used: 10, width: 512, shared: 512 },
    )?);
    let mtp = fields.mtp(0)?;
    Ok(Decoder { mixture, mtp, ..Decoder::mixed(dims, mixers) }.finish())
}

/// A gated delta network in every layer except each fourth, or as in `layer_types`; the others have full attention.
pub(super) fn mixers(
    fields: &ConfigFields<'_>,
    dims: &Dims,
    key_value: u64,
    is_split: bool,
) -> Result<Mixers, Error> {
    let heads = fields.heads(dims.h, 16, Some(key_value), HeadSize::Fixed(256))?;
    let every = fields.size("full_attention_interval", 4)?.value().unwrap_or(1);
    let full =
        fields.layer_kinds(&dims.layers, ["linear_attention", "full_attention"], |layer| {
            (layer + 1).is_multiple_of(every)
        })?;
    let delta = DeltaNet {
        key_heads: fields.size("linear_num_key_heads", 16)?,
        value_heads: fields.size("linear_num_value_heads", 32)?,
        key: fields.size("linear_key_head_dim", 128)?,
        value: fields.size("linear_value_head_dim", 128)?,
        kernel: fields.size("linear_conv_kernel_dim", 4)?,
        is_split,
    };
    let bias = fields.flag("attention_bias", false)?;
    let attention =
        Grouped { gate: OutputGate::InQueries, ..Grouped::new(heads).biased(bias).normed() };
    Ok(vec![(full.others(), Box::new(delta)), (full, Box::new(attention))])
}
