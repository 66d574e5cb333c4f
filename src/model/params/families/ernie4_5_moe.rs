//! ERNIE 4.5 with routed experts in the layers selected by the config, and shared ones.
//!
//! The `e_score_correction_bias` of a router is not set by a gradient, but the reference keeps it as a parameter, unlike
//! DeepSeek-V3: it is stored and counted.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::{Block, Decoder, ExpertParts, Vectors};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};
use crate::params::{Part, Size};

/// The family.
pub static FAMILY: Family = Family {
    id: "ernie4_5_moe",
    model_types: &["ernie4_5_moe"],
    architectures: &["Ernie4_5_MoeForCausalLM", "Ernie4_5_MoEForCausalLM"],
    inert: &["moe_capacity", "moe_gate", "moe_gate_act", "moe_norm_min", "moe_use_aux_free"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let (start, end) =
        (fields.count("moe_layer_start_index", 1)?, fields.last("moe_layer_end_index")?);
    let every = fields.size("moe_layer_interval", 1)?.value().unwrap_or(1);
    let (start, any) = (start.value().unwrap_or(0), fields.count_or_none("moe_num_experts", 64)?);
    let sparse = |layer: u64| {
        let within = layer >= start && end.is_none_or(|end| layer <= end);
        any != Size::ZERO && within && (layer + 1).is_multiple_of(every)
    };
    let defaults =
        Defaults { vocabulary: 103_424, hidden: 2560, width: 12_288, layers: 28, tied: true };
    let dims = fields.dims(defaults, sparse)?;
    let heads = fields.heads(dims.h, 20, Some(4), HeadSize::Derived)?;
    let bias = fields.flag("use_bias", false)?;
    let experts = fields.experts_of(&dims.layers, ("moe_num_experts", 64), ("moe_k", 6))?;
    let width = fields.width("moe_intermediate_size", 1536, dims.layers.sparse())?;
    let shared = fields.count_or_none("moe_num_shared_experts", 2)?;
    if bias {
        return Err(fields.unsupported("use_bias", "`use_bias` off in a model with experts"));
    }
    let mixture = Some(ExpertParts::new(experts, width).sharing(shared, shared * width));
    let mtp = fields.mtp(0)?;
    let names = &["mlp.moe_statics.e_score_correction_bias"];
    let correction = Vectors { part: Part::Router, names, width: experts.count };
    let blocks: Vec<(_, Box<dyn Block>)> = vec![(dims.layers.sparse_set(), Box::new(correction))];
    Ok(Decoder { mixture, mtp, blocks, ..Decoder::new(dims, Grouped::new(heads)) }.finish())
}
