//! dots.llm1 and models of the same form: grouped heads with their own norms, dense first layers, then routed and shared
//! experts.

use repro_core::source::Error;

use crate::params::attention::{Grouped, HeadNorms};
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "dots1",
    model_types: &["dots1"],
    architectures: &["Dots1ForCausalLM"],
    inert: &[
        "ep_size",
        "n_group",
        "norm_topk_prob",
        "routed_scaling_factor",
        "scoring_func",
        "topk_group",
        "topk_method",
        "aux_loss_alpha",
        "seq_aux",
        "num_nextn_predict_layers",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    fields.exactly("moe_layer_freq", 1)?;
    let first = fields.count_or_none("first_k_dense_replace", 0)?.value().unwrap_or(0);
    let any = fields.several("n_routed_experts", 0)?;
    let defaults =
        Defaults { vocabulary: 152_064, hidden: 4608, width: 10_944, layers: 62, tied: false };
    let dims = fields.dims(defaults, |layer| any && layer >= first)?;
    let heads = fields.heads(dims.h, 32, Some(32), HeadSize::Derived)?;
    let all = ("n_routed_experts|num_local_experts", 1);
    let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", 1))?;
    let width = fields.width("moe_intermediate_size", 1408, dims.layers.sparse())?;
    let shared = fields.count_or_none("n_shared_experts", 0)?;
    let bias = fields.flag("attention_bias", false)?;
    let norms = Some(HeadNorms::of_a_head(heads));
    let attention = Grouped { norms, ..Grouped::new(heads).biased(bias) };
    let mixture = Some(ExpertParts::new(experts, width).sharing(shared, shared * width));
    Ok(Decoder { mixture, ..Decoder::new(dims, attention) }.finish())
}
