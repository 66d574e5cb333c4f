//! The decoder of nanochat's first releases (October 2025 to January 2026): norms without weights, one of them behind the
//! embedding, queries and keys normalised after they are rotated, plain networks with a squared rectifier, logits with a
//! soft limit.
//!
//! References: `gpt.py` of nanochat, `modeling_nanochat.py` of Hugging Face's `transformers` 5. Deviation: queries and keys
//! are normalised before they are rotated, which changes nothing, for a rotation keeps lengths.

use super::builder::{Builder, MatrixKind, MatrixRows};
use crate::backend::Backend;

/// The names of a model.
struct Names {
    tokens: &'static str,
    block: &'static str,
    /// Of queries, keys, values, behind attention, up, down.
    parts: [&'static str; 6],
}

const ORIGINAL: Names = Names {
    tokens: "transformer.wte.weight",
    block: "transformer.h",
    parts: ["attn.c_q", "attn.c_k", "attn.c_v", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"],
};
const OF_TRANSFORMERS: Names = Names {
    tokens: "model.embed_tokens.weight",
    block: "model.layers",
    parts: [
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
        "mlp.fc1",
        "mlp.fc2",
    ],
};

/// Builds the decoder, with its own names or those of `transformers`.
pub(super) fn decoder<B: Backend>(b: &mut Builder<'_, B>, is_original: bool) {
    let names = if is_original { ORIGINAL } else { OF_TRANSFORMERS };
    let config = b.config;
    let (d, inner) = (config.hidden_size, config.intermediate_size);
    let [wide, narrow] = [config.num_attention_heads, config.num_key_value_heads]
        .map(|heads| heads * config.head_dim);
    let (kind, output) =
        (MatrixKind::default(), MatrixKind { is_output: true, ..MatrixKind::default() });
    let tokens = b.embedding(names.tokens); // (B T, D)
    let mut x = b.norm("", tokens);
    b.part("embedding".to_owned(), x);
    for layer in 0..config.num_hidden_layers {
        let [q, k, v, o, up, down] =
            names.parts.map(|part| format!("{}.{layer}.{part}", names.block));
        let h = b.norm("", x);
        let vectors = [MatrixRows(&q, wide), MatrixRows(&k, narrow), MatrixRows(&v, narrow)]; // (H Dh, D)
        let vectors = b.linear(h, &vectors, kind, None);
        let heads = b.attention(layer, vectors, [""; 2]);
        x = b.linear(heads, &[MatrixRows(&o, d)], output, Some(x));
        b.part(format!("attention of layer {layer}"), x);
        let h = b.norm("", x);
        let s = b.linear(h, &[MatrixRows(&up, inner)], kind, None); // (B T, F)
        let s = b.activate(s, false);
        x = b.linear(s, &[MatrixRows(&down, d)], output, Some(x));
        b.part(format!("network of layer {layer}"), x);
    }
    let h = b.norm("", x);
    b.head("lm_head.weight", h);
}
