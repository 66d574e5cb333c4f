//! Granite-MoE with a shared expert next to the routed ones, which a width of 0 turns off.

use repro_core::source::Error;

use crate::params::Size;
use crate::params::attention::Grouped;
use crate::params::blocks::GRANITE_FACTORS;
use crate::params::decoder::{Decoder, ExpertParts, StoredAs};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "granitemoeshared",
    model_types: &["granitemoeshared"],
    architectures: &["GraniteMoeSharedForCausalLM"],
    inert: GRANITE_FACTORS,
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_000, hidden: 4096, width: 11_008, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let heads = fields.heads(dims.h, 32, None, HeadSize::Derived)?;
    let experts = fields.experts(("num_local_experts", 8), ("num_experts_per_tok", 2))?;
    let width = fields.nonzero("intermediate_size", dims.i)?;
    let shared = fields.count_or_none("shared_intermediate_size", 0)?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?);
    let mixture = ExpertParts {
        router: "block_sparse_moe.router.layer",
        stored: StoredAs::Stacked("block_sparse_moe.experts"),
        shared_name: "shared_mlp",
        ..ExpertParts::new(experts, width).sharing(Size::from(shared != Size::ZERO), shared)
    };
    Ok(Decoder { mixture: Some(mixture), ..Decoder::new(dims, attention) }.finish())
}
