//! The families, a file each, and how a config finds its own.

mod bamba;
mod bert;
mod dbrx;
mod deepseek;
mod deepseek_v32;
mod dots1;
mod ernie4_5;
mod ernie4_5_moe;
mod falcon;
mod falcon_h1;
mod gemma;
mod gemma2;
mod gemma3;
mod gemma4;
mod glm4;
mod glm4_moe;
mod gpt2;
mod gpt_neox;
mod gpt_oss;
mod gptj;
mod gpts;
mod granite_moe;
mod granitemoehybrid;
mod granitemoeshared;
mod grok;
mod grouped;
mod hunyuan;
mod jamba;
mod levanter;
mod lfm2;
mod llama;
mod llama4;
mod mamba;
mod minimax;
mod minimax_m2;
mod mistral;
mod mixtral;
mod modernbert;
mod nanochat;
mod nanogpt;
mod nemotron_h;
mod nmoe;
mod olmo2;
mod olmoe;
mod phi3;
mod phimoe;
mod qwen2;
mod qwen2_moe;
mod qwen3;
mod qwen3_5;
mod qwen3_moe;
mod qwen3_next;
mod repro_llama;
mod smollm3;
mod stablelm;
mod starcoder2;
mod t5;
mod vit;
mod whisper;

use repro_core::source::{Error, Node};

use crate::params::family::Family;
use crate::params::{UNKNOWN_FAMILY, UNSUPPORTED};
pub use gemma2::NORMS as SANDWICH;

/// Every family.
pub fn all() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().chain(grouped::FAMILIES).copied()
}

/// Those with a file of their own.
static FAMILIES: &[&Family] = &[
    &deepseek::INFERENCE,
    &nmoe::FAMILY,
    &nanochat::FAMILY,
    &nanogpt::FAMILY,
    &gpt2::FAMILY,
    &gpt_neox::FAMILY,
    &gptj::FAMILY,
    &llama::FAMILY,
    &mistral::FAMILY,
    &mixtral::FAMILY,
    &qwen2::FAMILY,
    &qwen3::FAMILY,
    &qwen2_moe::FAMILY,
    &qwen3_moe::FAMILY,
    &olmo2::FAMILY,
    &olmoe::FAMILY,
    &deepseek::V2,
    &deepseek::V3,
    &deepseek::GLM_LITE,
    &gpt_oss::FAMILY,
    &gemma::FAMILY,
    &gemma2::FAMILY,
    &gemma3::FAMILY,
    &phi3::FAMILY,
    &stablelm::FAMILY,
    &starcoder2::FAMILY,
    &granite_moe::FAMILY,
    &glm4::FAMILY,
    &glm4_moe::FAMILY,
    &qwen3_next::FAMILY,
    &llama4::FAMILY,
    &hunyuan::FAMILY,
    &dbrx::FAMILY,
    &grok::FAMILY,
    &jamba::FAMILY,
    &minimax::FAMILY,
    &minimax_m2::FAMILY,
    &phimoe::FAMILY,
    &granitemoeshared::FAMILY,
    &ernie4_5::FAMILY,
    &ernie4_5_moe::FAMILY,
    &smollm3::FAMILY,
    &qwen3_5::DENSE,
    &qwen3_5::MIXTURE,
    &dots1::FAMILY,
    &falcon_h1::FAMILY,
    &bamba::FAMILY,
    &granitemoehybrid::FAMILY,
    &lfm2::DENSE,
    &lfm2::MIXTURE,
    &mamba::FIRST,
    &gpts::BIGCODE,
    &gpts::OPT,
    &gpts::BLOOM,
    &gpts::MPT,
    &gpts::NEO,
    &bert::FAMILY,
    &falcon::FAMILY,
    &t5::FAMILY,
    &whisper::FAMILY,
    &vit::FAMILY,
    &modernbert::FAMILY,
    &nemotron_h::FAMILY,
    &gemma4::GEMMA3N,
    &gemma4::GEMMA4,
    &mamba::SECOND,
    &deepseek_v32::DEEPSEEK,
    &deepseek_v32::GLM,
    &repro_llama::DENSE,
    &repro_llama::MIXTURE,
    &levanter::MIXTRAL,
    &levanter::PARALLEL,
    &levanter::HACKABLE,
    &levanter::QWEN2,
    &levanter::QWEN3,
    &levanter::OLMO2,
    // The fallback: none of the fields that only other Levanter classes have.
    &levanter::LLAMA,
];

/// The text models of image-text configs whose `text_config` has no model type.
const TEXT_MODELS: &[(&str, &str)] = &[
    ("gemma3", "gemma3_text"),
    ("gemma3n", "gemma3n_text"),
    ("gemma4", "gemma4_text"),
    ("glm4v", "glm4v_text"),
    ("glm4v_moe", "glm4v_moe_text"),
    ("idefics3", "llama"),
    ("internvl", "qwen2"),
    ("kimi_k25", "kimi_k2"),
    ("llama4", "llama4_text"),
    ("llava", "llama"),
    ("llava_next", "llama"),
    ("llava_onevision", "qwen2"),
    ("mistral3", "mistral"),
    ("paligemma", "gemma"),
    ("qwen2_5_vl", "qwen2_5_vl_text"),
    ("qwen2_vl", "qwen2_vl_text"),
    ("qwen3_5", "qwen3_5_text"),
    ("qwen3_5_moe", "qwen3_5_moe_text"),
    ("qwen3_vl", "qwen3_vl_text"),
    ("qwen3_vl_moe", "qwen3_vl_moe_text"),
    ("smolvlm", "llama"),
];

/// The family of the text model within a config for images or sound and text.
pub fn find_text(root: Node<'_>, text: Node<'_>) -> Result<&'static Family, Error> {
    let outer = root.get("model_type").and_then(|node| node.text().ok());
    let known = TEXT_MODELS.iter().find(|(name, _)| Some(*name) == outer);
    match (text.get("model_type"), known) {
        (None, Some((_, model_type))) => {
            let named = |family: &&Family| family.model_types.contains(model_type);
            let family = all().find(named);
            family.ok_or_else(|| UNKNOWN_FAMILY.at(text.place(), "a known family", *model_type))
        }
        _ => find(text),
    }
}

/// The family of a config by its model type, its architecture or its looks.
pub fn find(root: Node<'_>) -> Result<&'static Family, Error> {
    let architecture = match root.get("architectures") {
        Some(list) => list.items()?.next().map(Node::text).transpose()?,
        None => None,
    };
    let known = |family: &&Family| architecture.is_none_or(|a| family.architectures.contains(&a));
    let unknown = |found: String| {
        let names: Vec<_> = all().map(|family| family.id).collect();
        let place = ["model_type", "architectures"]
            .iter()
            .find_map(|key| root.get(key))
            .map_or_else(|| root.place(), Node::place);
        UNKNOWN_FAMILY.at(place, format!("one of {}", names.join(", ")), found)
    };
    let Some(model_type) = root.get("model_type") else {
        let named = |family: &&Family| architecture.is_some() && known(family);
        let alike = |family: &&Family| architecture.is_none() && (family.looks_like)(root);
        let found = all().find(|family| named(family) || alike(family));
        return found.ok_or_else(|| match architecture {
            Some(architecture) => unknown(format!("the architecture `{architecture}`")),
            None => {
                unknown("a config without `model_type` that resembles no known family".to_owned())
            }
        });
    };
    let model_type = model_type.text()?;
    let family = all()
        .find(|family| family.model_types.contains(&model_type))
        .ok_or_else(|| unknown(format!("`model_type` = \"{model_type}\"")))?;
    if !known(&family) {
        return Err(UNSUPPORTED.at(
            root.required("architectures")?.place(),
            format!("`{}`", family.architectures.join("` or `")),
            format!("`{}`", architecture.unwrap_or_default()),
        ));
    }
    Ok(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_families_share_a_name() {
        let mut names: Vec<_> = all().flat_map(|f| f.model_types).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(all().all(|family| family.model_types[0] == family.id));
    }
}
