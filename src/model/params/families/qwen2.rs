//! Qwen2 and Qwen2.5: Llama with biases on queries, keys and values.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "qwen2",
    model_types: &["qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_vl_text", "qwen2_5_vl_text"],
    architectures: &[
        "Qwen2ForCausalLM",
        "Qwen2VLForConditionalGeneration",
        "Qwen2_5_VLForConditionalGeneration",
    ],
    inert: &["vision_config", "use_mrope"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let plain =
        Defaults { vocabulary: 151_936, hidden: 4096, width: 22_016, layers: 32, tied: false };
    let (defaults, heads) = match fields.is_of("qwen2_vl") || fields.is_of("qwen2_5_vl") {
        true => {
            let (vocabulary, hidden, width) = (152_064, 8192, 29_568);
            (Defaults { vocabulary, hidden, width, layers: 80, ..plain }, (64, 8))
        }
        false => (plain, (32, 32)),
    };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, heads.0, Some(heads.1), HeadSize::Derived)?;
    let attention = Grouped { input_bias: true, ..Grouped::new(heads) };
    Ok(Decoder::new(dims, attention).finish())
}
