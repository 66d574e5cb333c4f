//! Qwen3.5, dense and with experts: Qwen3-Next with matrices of their own in its delta networks.

use repro_core::source::Error;

use super::qwen2_moe::{MixtureDefaults, mixture};
use super::qwen3_next::mixers;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults};

const INERT: &[&str] =
    &["attn_output_gate", "mamba_ssm_dtype", "mlp_only_layers", "norm_topk_prob"];

/// Dense.
pub static DENSE: Family = Family {
    id: "qwen3_5_text",
    model_types: &["qwen3_5_text"],
    architectures: &["Qwen3_5ForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let (hidden, width) = (4096, 12_288);
        read(fields, Defaults { vocabulary: 248_320, hidden, width, layers: 32, tied: false }, None)
    },
};

/// With experts in every layer.
pub static MIXTURE: Family = Family {
    id: "qwen3_5_moe_text",
    model_types: &["qwen3_5_moe_text"],
    architectures: &["Qwen3_5MoeForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let (hidden, width) = (2048, 0);
        let experts = MixtureDefaults { experts: 256, used: 8, width: 512, shared: 512 };
        let defaults = Defaults { vocabulary: 248_320, hidden, width, layers: 40, tied: false };
        read(fields, defaults, Some(experts))
    },
};

fn read(
    fields: &ConfigFields<'_>,
    defaults: Defaults,
    experts: Option<MixtureDefaults>,
) -> Result<Blueprint, Error> {
    let sparse = experts.is_some();
    let dims = fields.dims(defaults, |_| sparse)?;
    let key_value = if sparse { 2 } else { 4 };
    let mixers = mixers(fields, &dims, key_value, true)?;
    let mixture = experts.map(|defaults| mixture(fields, &dims.layers, defaults)).transpose()?;
    let mtp = fields.mtp(0)?;
    fields.off("mtp_use_dedicated_embeddings")?;
    Ok(Decoder { mixture, mtp, ..Decoder::mixed(dims, mixers) }.finish())
}
