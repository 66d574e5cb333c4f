//! MiniMax-Text-01 and M1: lightning attention, every eighth layer attention with a softmax instead, experts in every
//! layer.

use repro_core::source::Error;

use super::mixtral::mixture;
use crate::params::attention::{Grouped, Lightning, Mixer};
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};
use crate::params::{LayerSet, Layers, Size};

/// The family.
pub static FAMILY: Family = Family {
    id: "minimax",
    model_types: &["minimax", "minimax_text_01", "minimax_m1"],
    architectures: &["MiniMaxForCausalLM", "MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM"],
    inert: &[
        "block_size",
        "full_attn_alpha_factor",
        "full_attn_beta_factor",
        "linear_attn_alpha_factor",
        "linear_attn_beta_factor",
        "mlp_alpha_factor",
        "mlp_beta_factor",
        "postnorm",
        "shared_moe_mode",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_000, hidden: 4096, width: 14_336, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let heads = fields.heads(dims.h, 32, Some(8), HeadSize::Derived)?;
    if fields.count_or_none("shared_intermediate_size", 0)? != Size::ZERO {
        return Err(fields.unsupported("shared_intermediate_size", "no shared expert"));
    }
    let softmax = softmax_layers(fields, &dims.layers)?;
    let experts =
        fields.experts(("num_local_experts|num_experts", 8), ("num_experts_per_tok", 2))?;
    let width = fields.nonzero("intermediate_size", dims.i)?;
    let lightning = Lightning { width: heads.queries() };
    let mixers: Vec<(_, Box<dyn Mixer>)> =
        vec![(softmax.others(), Box::new(lightning)), (softmax, Box::new(Grouped::new(heads)))];
    let mixture = Some(mixture(experts, width));
    Ok(Decoder { mixture, ..Decoder::mixed(dims, mixers) }.finish())
}

/// By `attn_type_list` (1: softmax) of the releases, else by `layer_types`, else every first of two.
fn softmax_layers(fields: &ConfigFields<'_>, layers: &Layers) -> Result<LayerSet, Error> {
    let kinds = fields.list("attn_type_list")?;
    if kinds.is_empty() {
        let known = ["linear_attention", "full_attention"];
        return fields.layer_kinds(layers, known, |layer| layer.is_multiple_of(2));
    }
    if layers.all() != Size::from(kinds.len() as u64) || kinds.iter().any(|kind| *kind > 1) {
        let expected = "0 or 1 for each layer";
        return Err(fields.impossible("attn_type_list", expected));
    }
    Ok(layers.set(|layer| kinds.get(layer as usize) == Some(&1)))
}
