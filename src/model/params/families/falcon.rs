//! Falcon: queries, keys and values in one matrix, one head of keys for all, for groups or for each, and norms by the architecture: one or two
//! before both halves in parallel, or one before each.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "falcon",
    model_types: &["falcon", "RefinedWeb", "RefinedWebModel"],
    architectures: &["FalconForCausalLM", "RWForCausalLM"],
    inert: &["activation", "alibi", "apply_residual_connection_post_layernorm", "hidden_dropout"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let v = fields.size("vocab_size", 65_024)?;
    let h = fields.size("hidden_size", 4544)?;
    let layers = fields.layers("num_hidden_layers|n_layer", 32, |_| false)?;
    let names = "num_attention_heads|n_head";
    let heads = fields.size(names, 71)?;
    let size = fields.head_size(names, h, heads)?;
    let i = fields.size_or("ffn_hidden_size", h * 4, h * 4)?;
    let tied = fields.flag("tie_word_embeddings", true)?;
    let bias = fields.flag("bias", false)?;
    // The first releases used a different class for it, recognizable by the model type.
    let named = fields.model_type() == Some("RefinedWeb");
    let newer = fields.flag("new_decoder_architecture", named)?;
    let several = !fields.flag("multi_query", true)?;
    let parallel = fields.flag("parallel_attn", true)?;
    let grouped = fields.size_or("num_kv_heads|n_head_kv", heads, heads)?;
    let key_value = match (newer, several) {
        (true, _) => grouped,
        (false, true) => heads,
        (false, false) => 1.into(),
    };
    let normed = fields.size_or("num_ln_in_parallel_attn", 0.into(), 0.into())?.value();
    let names: &[&str] = match (newer, normed) {
        (true, Some(0 | 2)) => &["ln_attn", "ln_mlp"],
        (true, _) => &["input_layernorm"],
        (false, _) if parallel => &["input_layernorm"],
        (false, _) => &["input_layernorm", "post_attention_layernorm"],
    };
    if newer && !parallel {
        return Err(fields.unsupported("parallel_attn", "`parallel_attn` on"));
    }
    let wide = (heads + key_value * 2) * size;
    let l = layers.all();

    let mut tensors = TensorList::new(&layers);
    let layer = "transformer.h.{layer}";
    tensors.tensor(Part::Embedding, "transformer.word_embeddings.weight", &[v, h]);
    let name = format!("{layer}.self_attention.query_key_value");
    tensors.linear(Part::Attention, &name, wide, h, bias);
    tensors.linear(Part::Attention, &format!("{layer}.self_attention.dense"), h, h, bias);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.dense_h_to_4h"), i, h, bias);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.dense_4h_to_h"), h, i, bias);
    for name in names {
        tensors.norm(&format!("{layer}.{name}"), h, true);
    }
    tensors.norm("transformer.ln_f", h, true);
    if !tied {
        tensors.tensor(Part::Head, "lm_head.weight", &[v, h]);
    }
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (wide + h) + (wide + h) * bias)),
        (Part::DenseFfn, l * (h * i * 2 + (i + h) * bias)),
        (Part::Norms, (l * names.len() as u64 + 1) * h * 2),
        (Part::Head, v * h * !tied),
    ]);
    let dims = Dims { v, h, i, layers, tied };
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}
