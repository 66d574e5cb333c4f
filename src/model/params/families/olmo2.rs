//! OLMo-2 and OLMo-3, which differ in their attention spans: norms after attention and after the feed-forward block, and
//! norms over all queries and all keys.

use repro_core::source::Error;

use crate::params::attention::{Grouped, HeadNorms};
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "olmo2",
    model_types: &["olmo2", "olmo3"],
    architectures: &["Olmo2ForCausalLM", "Olmo3ForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 50_304, hidden: 4096, width: 11_008, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 32, None, HeadSize::Derived)?;
    let bias = fields.flag("attention_bias", false)?;
    let norms = Some(HeadNorms::of_all_heads(heads));
    let attention = Grouped { norms, ..Grouped::new(heads).biased(bias) };
    let norms = &["post_attention_layernorm", "post_feedforward_layernorm"];
    Ok(Decoder { norms, ..Decoder::new(dims, attention) }.finish())
}
