//! MiniMax-M2: experts in every layer, a fixed head size, norms over all queries and all keys.

use repro_core::source::Error;

use super::mixtral::mixture;
use crate::params::attention::{Grouped, HeadNorms};
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "minimax_m2",
    model_types: &["minimax_m2"],
    architectures: &["MiniMaxM2ForCausalLM"],
    inert: &[
        "attn_type_list",
        "mtp_transformer_layers",
        "num_mtp_modules",
        "qk_norm_type",
        "rotary_dim",
        "scoring_func",
        "use_mtp",
        "use_routing_bias",
        "shared_intermediate_size",
        "layernorm_full_attention_beta",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    fields.count_or_none("num_mtp_modules", 0)?;
    let defaults =
        Defaults { vocabulary: 200_064, hidden: 3072, width: 1536, layers: 62, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let heads = fields.heads(dims.h, 48, Some(8), HeadSize::Fixed(128))?;
    let experts =
        fields.experts(("num_local_experts|num_experts", 256), ("num_experts_per_tok", 8))?;
    let width = fields.nonzero("intermediate_size", dims.i)?;
    let norms = fields.flag("use_qk_norm", true)?.then(|| HeadNorms::of_all_heads(heads));
    let mixture = Some(mixture(experts, width));
    let attention = Grouped { norms, ..Grouped::new(heads) };
    Ok(Decoder { mixture, ..Decoder::new(dims, attention) }.finish())
}
