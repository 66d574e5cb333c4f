//! The dense decoder (H. Touvron et al., 2023): tokens, blocks of attention and a gated feed-forward
//! network, a norm, logits.
//!
//! Deviations from the reference (`modeling_llama.py` of Hugging Face's `transformers`): no biases and no
//! dropout, which its released models have none of either; one table of angles for all blocks; training
//! only, without a cache of keys and values.

use super::config::Config;
use super::tensors::{Start, Tensors};
use crate::portable::{Attention as Heads, Isa};
use crate::train::ops::{Attention, Element, FeedForward};

/// The table of tokens: (V, D).
pub(super) fn embedding(config: &Config, tensors: &mut Tensors) -> usize {
    let at = tensors.variable();
    let shape = [config.vocab_size, config.hidden_size];
    tensors.matrix("model.embed_tokens.weight".to_owned(), shape, Start::Normal);
    at
}

/// The attention of a block: x + o attend(q h, k h, v h), h = norm(x).
pub(super) fn attention<T: Element>(
    config: &Config,
    isa: Isa,
    layer: usize,
    tensors: &mut Tensors,
) -> (Attention<T>, usize) {
    let &Config { hidden_size: d, head_dim, .. } = config;
    let (queries, keys) = (config.num_attention_heads, config.num_key_value_heads);
    let at = tensors.variable();
    tensors.norm(format!("model.layers.{layer}.input_layernorm.weight"), d);
    let name = |part| format!("model.layers.{layer}.self_attn.{part}_proj.weight");
    for (part, heads) in [("q", queries), ("k", keys), ("v", keys)] {
        tensors.matrix(name(part), [heads * head_dim, d], Start::Normal); // (H Dh, D)
    }
    tensors.matrix(name("o"), [d, queries * head_dim], output(config)); // (D, H Dh)
    let heads = Heads::new(queries, keys, head_dim, config.seq_len, config.rope_theta);
    (Attention { isa, width: d, epsilon: config.norm_eps, heads }, at)
}

/// The feed-forward network of a dense block: x + down(silu(gate h) * up h), h = norm(x).
pub(super) fn feed_forward(
    config: &Config,
    isa: Isa,
    layer: usize,
    tensors: &mut Tensors,
) -> (FeedForward, usize) {
    let &Config { hidden_size: d, intermediate_size: inner, .. } = config;
    let at = tensors.variable();
    tensors.norm(format!("model.layers.{layer}.post_attention_layernorm.weight"), d);
    gated(config, &format!("model.layers.{layer}.mlp"), inner, tensors);
    (FeedForward { isa, width: d, inner, epsilon: config.norm_eps }, at)
}

/// The matrices of a gated network.
pub(super) fn gated(config: &Config, name: &str, inner: usize, tensors: &mut Tensors) {
    let d = config.hidden_size;
    for part in ["gate", "up"] {
        tensors.matrix(format!("{name}.{part}_proj.weight"), [inner, d], Start::Normal); // (F, D)
    }
    tensors.matrix(format!("{name}.down_proj.weight"), [d, inner], output(config)); // (D, F)
}

/// The last norm, and the matrix of the logits: its own variable, or that of the tokens.
pub(super) fn head(config: &Config, embedding: usize, tensors: &mut Tensors) -> [usize; 2] {
    let norm = tensors.variable();
    tensors.norm("model.norm.weight".to_owned(), config.hidden_size);
    if config.tie_word_embeddings {
        return [norm, embedding];
    }
    let matrix = tensors.variable();
    let shape = [config.vocab_size, config.hidden_size]; // (V, D)
    tensors.matrix("lm_head.weight".to_owned(), shape, Start::Normal);
    [norm, matrix]
}

/// The start of a matrix that writes to the rows.
fn output(config: &Config) -> Start {
    Start::Output { layers: config.num_hidden_layers }
}
