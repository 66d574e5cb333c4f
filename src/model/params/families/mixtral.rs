//! Mixtral: Mistral with E experts in every layer, of which a token uses K.

use repro_core::source::Error;

use crate::params::Size;
use crate::params::attention::Grouped;
use crate::params::blocks::ExpertCounts;
use crate::params::decoder::{Decoder, ExpertParts, StoredAs};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "mixtral",
    model_types: &["mixtral"],
    architectures: &["MixtralForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_000, hidden: 4096, width: 14_336, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let heads = fields.heads(dims.h, 32, Some(8), HeadSize::Derived)?;
    let experts =
        fields.experts(("num_local_experts|num_experts", 8), ("num_experts_per_tok", 2))?;
    let width = fields.nonzero("intermediate_size", dims.i)?;
    let mixture = Some(mixture(experts, width));
    Ok(Decoder { mixture, ..Decoder::new(dims, Grouped::new(heads)) }.finish())
}

/// Experts under Mixtral's names.
pub fn mixture(experts: ExpertCounts, width: Size) -> ExpertParts {
    let stored = StoredAs::Each("block_sparse_moe.experts", ["w1", "w3", "w2"]);
    ExpertParts { router: "block_sparse_moe.gate", stored, ..ExpertParts::new(experts, width) }
}
