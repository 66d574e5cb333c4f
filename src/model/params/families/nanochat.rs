//! nanochat GPT: grouped heads, squared-ReLU feed-forward blocks of four times the width, norms without weights, an untied
//! head.
//!
//! Configs with `window_pattern` belong to later revisions of the trainer, whose value embeddings and per-layer scalars
//! follow from its source and not from the config. They are rejected.

use repro_core::source::Error;

use crate::params::blocks::Heads;
use crate::params::family::{Blueprint, Family};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Sums, TensorList, UNSUPPORTED};

/// The family, as the `model_config` of a checkpoint's metadata.
pub static FAMILY: Family = Family {
    id: "nanochat",
    model_types: &["nanochat"],
    architectures: &["NanoChatForCausalLM"],
    inert: &["sequence_len", "final_logit_softcapping"],
    looks_like: |root| {
        let config = root.get("model_config").unwrap_or(root);
        ["sequence_len", "n_kv_head"].iter().all(|key| config.get(key).is_some())
    },
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    if fields.given("window_pattern")? {
        return Err(UNSUPPORTED.at(
            fields.place("window_pattern"),
            "a config of the first release, without `window_pattern`",
            "a later revision with parameters that are not in the config",
        ));
    }
    for name in ["attention_bias", "tie_word_embeddings"] {
        fields.off(name)?;
    }
    let v = fields.size("vocab_size", 50_304)?;
    let h = fields.size("n_embd|hidden_size", 768)?;
    let layers = fields.layers("n_layer|num_hidden_layers", 12, |_| false)?;
    let count = fields.size("n_head|num_attention_heads", 6)?;
    let key_value = fields.size_or("n_kv_head|num_key_value_heads", count, count)?;
    let size = fields.head_size("n_head|num_attention_heads", h, count)?;
    if count.split(key_value).is_none() {
        let expected = "a divisor of the number of query heads";
        return Err(fields.impossible("n_kv_head|num_key_value_heads", expected));
    }
    let heads = Heads { count, key_value, size };
    let i = fields.size_or("intermediate_size", h * 4, h * 4)?;
    let (l, g) = (layers.all(), heads.keys());

    let mut tensors = TensorList::new(&layers);
    tensors.tensor(Part::Embedding, "transformer.wte.weight", &[v, h]);
    for (name, width) in [("c_q", h), ("c_k", g), ("c_v", g), ("c_proj", h)] {
        let name = format!("transformer.h.{{layer}}.attn.{name}");
        tensors.linear(Part::Attention, &name, width, h, false);
    }
    tensors.linear(Part::DenseFfn, "transformer.h.{layer}.mlp.c_fc", i, h, false);
    tensors.linear(Part::DenseFfn, "transformer.h.{layer}.mlp.c_proj", h, i, false);
    tensors.tensor(Part::Head, "lm_head.weight", &[v, h]);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * 2 * h * (h + g)),
        (Part::DenseFfn, l * 2 * h * i),
        (Part::Head, v * h),
    ]);
    Ok(Blueprint {
        dims: Dims { v, h, i, layers, tied: false },
        mixture: None,
        tensors,
        closed,
        mtp: None,
    })
}
