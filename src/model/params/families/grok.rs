//! Grok-1: four norms in a layer, experts in every layer, a head tied to the embedding. Configs of the ports name a model
//! type; the words of the program that xAI published are known, too.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::blocks::Heads;
use crate::params::decoder::{Decoder, ExpertParts, StoredAs};
use crate::params::family::{Blueprint, Family};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "grok-1",
    model_types: &["grok-1", "grok"],
    architectures: &["GrokForCausalLM", "Grok1ModelForCausalLM", "Grok1ForCausalLM"],
    inert: &[
        "attn_output_multiplier",
        "embedding_multiplier_scale",
        "max_attn_value",
        "output_multiplier_scale",
    ],
    looks_like: |root| ["emb_size", "num_q_heads"].iter().all(|key| root.get(key).is_some()),
    read,
};

const NORMS: &[&str] = &["pre_attn_norm", "post_attn_norm", "pre_moe_norm", "post_moe_norm"];

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let (dims, heads) = match fields.given("emb_size")? {
        true => published(fields)?,
        false => {
            let defaults = Defaults {
                vocabulary: 131_072,
                hidden: 6144,
                width: 32_768,
                layers: 64,
                tied: true,
            };
            let dims = fields.dims(defaults, |_| true)?;
            let heads = fields.heads(dims.h, 48, Some(8), HeadSize::Derived)?;
            (dims, heads)
        }
    };
    let experts =
        fields.experts(("num_experts", 8), ("num_experts_per_tok|num_selected_experts", 2))?;
    let width = fields.nonzero("intermediate_size", dims.i)?;
    let stored = StoredAs::Each("moe_block.experts", ["linear_v", "linear", "linear_1"]);
    let mixture =
        ExpertParts { router: "moe_block.gate", stored, ..ExpertParts::new(experts, width) };
    let (norms, mixture) = (NORMS, Some(mixture));
    Ok(Decoder { norms, mixture, ..Decoder::new(dims, Grouped::new(heads)) }.finish())
}

/// The fields of the published program: the inner width is two thirds of a factor times the width, rounded up to a
/// multiple of 8.
fn published(fields: &ConfigFields<'_>) -> Result<(Dims, Heads), Error> {
    let h = fields.required("emb_size")?;
    let factor = fields.size("widening_factor", 4)?;
    let narrow = (h * factor * 2).value().unwrap_or(0) / 3;
    let dims = Dims {
        v: fields.required("vocab_size")?,
        h,
        i: narrow.next_multiple_of(8).into(),
        layers: fields.required_layers("num_layers", |_| true)?,
        tied: true,
    };
    let count = fields.required("num_q_heads")?;
    let heads = Heads {
        count,
        key_value: fields.size_or("num_kv_heads", count, count)?,
        size: fields.required("key_size")?,
    };
    Ok((dims, heads))
}
