//! Qwen2-MoE: Qwen2 with experts and one shared expert in the layers that the config picks.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};
use crate::params::{Layers, Size};

/// The family.
pub static FAMILY: Family = Family {
    id: "qwen2_moe",
    model_types: &["qwen2_moe"],
    architectures: &["Qwen2MoeForCausalLM"],
    inert: &["norm_topk_prob"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let sparse = sparse_layers(fields)?;
    let defaults =
        Defaults { vocabulary: 151_936, hidden: 2048, width: 5632, layers: 24, tied: false };
    let dims = fields.dims(defaults, sparse)?;
    let heads = fields.heads(dims.h, 16, Some(16), HeadSize::Derived)?;
    let input_bias = fields.flag("qkv_bias", true)?;
    let mixture = Some(mixture(
        fields,
        &dims.layers,
        MixtureDefaults { experts: 60, used: 4, width: 1408, shared: 5632 },
    )?);
    let attention = Grouped { input_bias, ..Grouped::new(heads) };
    Ok(Decoder { mixture, ..Decoder::new(dims, attention) }.finish())
}

/// The different defaults of the releases.
pub struct MixtureDefaults {
    /// E.
    pub experts: u64,
    /// K.
    pub used: u64,
    /// Width of an expert.
    pub width: u64,
    /// Width of the shared one.
    pub shared: u64,
}

/// Routed experts and a gated shared one, which a width of 0 turns off.
pub fn mixture(
    fields: &ConfigFields<'_>,
    layers: &Layers,
    defaults: MixtureDefaults,
) -> Result<ExpertParts, Error> {
    let all = ("num_experts|num_local_experts", defaults.experts);
    let experts = fields.experts_of(layers, all, ("num_experts_per_tok", defaults.used))?;
    let width = fields.width("moe_intermediate_size", defaults.width, layers.sparse())?;
    let shared = fields.count_or_none("shared_expert_intermediate_size", defaults.shared)?;
    let count = Size::from(shared != Size::ZERO);
    let mixture = ExpertParts::new(experts, width).sharing(count, shared);
    Ok(ExpertParts { shared_gate: true, shared_name: "mlp.shared_expert", ..mixture })
}

/// The layers with experts: every `decoder_sparse_step`-th except those in `mlp_only_layers`, and none without experts.
pub fn sparse_layers(fields: &ConfigFields<'_>) -> Result<impl Fn(u64) -> bool, Error> {
    let any = fields.count_or_none("num_experts|num_local_experts", 1)? != Size::ZERO;
    let step = fields.size("decoder_sparse_step", 1)?.value().unwrap_or(1);
    let dense = fields.list("mlp_only_layers")?;
    Ok(move |layer: u64| any && !dense.contains(&layer) && (layer + 1).is_multiple_of(step))
}
