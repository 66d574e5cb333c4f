//! The dense decoder (H. Touvron et al., 2023): tokens, blocks of attention and a gated feed-forward
//! network, a norm, logits.
//!
//! Deviations from the reference (`modeling_llama.py` of Hugging Face's `transformers`): no biases and no
//! dropout, which its released models have none of either; one table of angles for all blocks; training
//! only, without a cache of keys and values.

use super::config::Config;
use super::tensors::{FlatTensors, Initializer};
use crate::ops::{Attention, Embedding, FeedForward, Head, Normed, Prepared};
use repro_portable::{AttentionShape, Isa, Kernels};

/// The table of tokens: (V, D).
pub(super) fn embedding(config: &Config, tensors: &mut FlatTensors) -> Embedding {
    let (width, tied) = (config.hidden_size, config.tie_word_embeddings);
    tensors.variable();
    let shape = [config.vocab_size, width];
    tensors.matrix("model.embed_tokens.weight".to_owned(), shape, Initializer::Normal);
    Embedding { width, tied, tokens: Vec::new() }
}

/// The attention of a block: x + o attend(q h, k h, v h), h = norm(x).
pub(super) fn attention<T: Kernels>(
    config: &Config,
    isa: Isa,
    layer: usize,
    tensors: &mut FlatTensors,
) -> Attention<T> {
    let &Config { hidden_size: d, head_dim, .. } = config;
    let (queries, keys) = (config.num_attention_heads, config.num_key_value_heads);
    tensors.variable();
    tensors.norm(format!("model.layers.{layer}.input_layernorm.weight"), d);
    let name = |part| format!("model.layers.{layer}.self_attn.{part}_proj.weight");
    for (part, heads) in [("q", queries), ("k", keys), ("v", keys)] {
        tensors.matrix(name(part), [heads * head_dim, d], Initializer::Normal); // (H Dh, D)
    }
    tensors.matrix(name("o"), [d, queries * head_dim], output(config)); // (D, H Dh)
    if config.vectors.biased {
        for (part, heads) in [("q", queries), ("k", keys), ("v", keys)] {
            let name = format!("model.layers.{layer}.self_attn.{part}_proj.bias");
            tensors.bias(name, heads * head_dim);
        }
    }
    for (part, heads) in [("q", queries), ("k", keys)] {
        let name = format!("model.layers.{layer}.self_attn.{part}_norm.weight");
        match config.vectors.normed {
            Normed::Not => {}
            Normed::Heads => tensors.norm(name, head_dim),
            Normed::Rows => tensors.norm(name, heads * head_dim),
        }
    }
    let heads = AttentionShape::new(queries, keys, head_dim, config.seq_len, config.rope_theta);
    let prepared = Prepared::new(config.vectors, [queries, keys], head_dim);
    let epsilon = config.norm_eps;
    Attention { isa, width: d, epsilon, heads, prepared, saved: Default::default() }
}

/// The feed-forward network of a dense block: x + down(silu(gate h) * up h), h = norm(x).
pub(super) fn feed_forward<T: Kernels>(
    config: &Config,
    isa: Isa,
    layer: usize,
    tensors: &mut FlatTensors,
) -> FeedForward<T> {
    let &Config { hidden_size: d, intermediate_size: inner, .. } = config;
    tensors.variable();
    tensors.norm(format!("model.layers.{layer}.post_attention_layernorm.weight"), d);
    gated(config, &format!("model.layers.{layer}.mlp"), inner, tensors);
    FeedForward { isa, width: d, inner, epsilon: config.norm_eps, saved: Default::default() }
}

/// The matrices of a gated network.
pub(super) fn gated(config: &Config, name: &str, inner: usize, tensors: &mut FlatTensors) {
    let d = config.hidden_size;
    for part in ["gate", "up"] {
        tensors.matrix(format!("{name}.{part}_proj.weight"), [inner, d], Initializer::Normal); // (F, D)
    }
    tensors.matrix(format!("{name}.down_proj.weight"), [d, inner], output(config)); // (D, F)
}

/// The last norm, and the matrix of the logits where it is not the table of tokens.
pub(super) fn head<T: Kernels>(config: &Config, isa: Isa, tensors: &mut FlatTensors) -> Head<T> {
    let width = config.hidden_size;
    tensors.variable();
    tensors.norm("model.norm.weight".to_owned(), width);
    if !config.tie_word_embeddings {
        tensors.variable();
        let shape = [config.vocab_size, width]; // (V, D)
        tensors.matrix("lm_head.weight".to_owned(), shape, Initializer::Normal);
    }
    Head { isa, width, epsilon: config.norm_eps, saved: Default::default() }
}

/// The start of a matrix that writes to the rows.
fn output(config: &Config) -> Initializer {
    Initializer::Output { layers: config.num_hidden_layers }
}
