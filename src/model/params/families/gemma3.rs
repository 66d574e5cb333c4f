//! Gemma-3 for text: Gemma-2 with norms of queries and keys per head.

use repro_core::source::Error;

use super::gemma2::NORMS;
use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "gemma3_text",
    model_types: &["gemma3_text"],
    architectures: &["Gemma3ForCausalLM"],
    inert: &[
        "_sliding_window_pattern",
        "attn_logit_softcapping",
        "cache_implementation",
        "final_logit_softcapping",
        "hidden_activation",
        "query_pre_attn_scalar",
        "rope_local_base_freq",
        "sliding_window_pattern",
        "use_bidirectional_attention",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 262_208, hidden: 2304, width: 9216, layers: 26, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 8, Some(4), HeadSize::Fixed(256))?;
    let attention = Grouped::new(heads).biased(fields.flag("attention_bias", false)?).normed();
    Ok(Decoder { norms: NORMS, ..Decoder::new(dims, attention) }.finish())
}
