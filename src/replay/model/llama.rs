//! The decoder of Llama (H. Touvron et al., 2023): tokens, blocks of attention and a gated feed-forward network, a norm,
//! logits. By [`Variations`] it is also Mistral's, Qwen's, OLMo's and Gemma's. Where a block is sparse (A. Jiang et al.,
//! 2024), a router sends each token to the best few of many gated networks, and adds their outputs by weight.
//!
//! Deviations from the references (`modeling_llama.py` and `modeling_mixtral.py` of Hugging Face's `transformers`): no
//! dropout, which released models have none of either; one table of angles for all blocks; training only, without a cache
//! of keys and values; the matrices of experts have the names of Llama's networks. Beyond them, models of ours have
//! networks that every token passes through, dense blocks at the start, sigmoid scores and a bias that evens the load
//! without a loss (DeepSeek-AI, 2024), and take the balance loss over each block by itself. No token is dropped.
//!
//! [`Variations`]: super::Variations

use super::builder::{Builder, MatrixKind, MatrixRows};
use super::graph::RowsAt;
use super::variations::{Biases, NormPlace};
use crate::backend::Backend;
use crate::recipe::Precision;
use repro_kernels::portable::Activation;

/// Builds the decoder.
pub(super) fn decoder<B: Backend>(b: &mut Builder<'_, B>) {
    let mut x = b.embedding("model.embed_tokens.weight"); // (B T, D)
    b.part("embedding".to_owned(), x);
    for layer in 0..b.config.num_hidden_layers {
        let name = format!("model.layers.{layer}");
        let [before_network, behind_network] = match b.config.variations.placed {
            NormPlace::Before => ["post_attention_layernorm", ""],
            NormPlace::After => ["", "post_feedforward_layernorm"],
            NormPlace::Both => ["pre_feedforward_layernorm", "post_feedforward_layernorm"],
        };
        let norms = ["input_layernorm", "post_attention_layernorm"];
        x = sublayer(b, x, &name, norms, |b, h, residual| {
            attention(b, layer, &format!("{name}.self_attn"), h, residual)
        });
        b.part(format!("attention of layer {layer}"), x);
        x = sublayer(b, x, &name, [before_network, behind_network], |b, h, residual| {
            let name = format!("{name}.mlp");
            match b.config.mixture_of(layer) {
                Some(mixture) => b.mixture((layer, mixture), &name, h, residual),
                None => network(b, &name, h, residual),
            }
        });
        b.part(format!("network of layer {layer}"), x);
    }
    let h = b.norm("model.norm", x);
    b.head("lm_head.weight", h);
}

/// MatrixRows plus what a part of a block makes of them, with its norms before and behind it, where they have these places.
fn sublayer<B: Backend>(
    b: &mut Builder<'_, B>,
    x: RowsAt,
    block: &str,
    [before, behind]: [&str; 2],
    part: impl FnOnce(&mut Builder<'_, B>, RowsAt, Option<RowsAt>) -> RowsAt,
) -> RowsAt {
    let placed = b.config.variations.placed;
    let h = match placed {
        NormPlace::After => x,
        NormPlace::Before | NormPlace::Both => b.norm(&format!("{block}.{before}"), x),
    };
    match placed {
        NormPlace::Before => part(b, h, Some(x)),
        NormPlace::After | NormPlace::Both => {
            let y = part(b, h, None);
            b.norm_onto(&format!("{block}.{behind}"), y, Some(x))
        }
    }
}

/// o attend(q h, k h, v h)
fn attention<B: Backend>(
    b: &mut Builder<'_, B>,
    layer: usize,
    name: &str,
    h: RowsAt,
    residual: Option<RowsAt>,
) -> RowsAt {
    let config = b.config;
    let (queries, keys) = (config.num_attention_heads, config.num_key_value_heads);
    let Biases { vectors, output, .. } = config.variations.biased;
    let [q, k, v, o, q_norm, k_norm] = ["q_proj", "k_proj", "v_proj", "o_proj", "q_norm", "k_norm"]
        .map(|of| format!("{name}.{of}"));
    let [wide, narrow] = [queries, keys].map(|heads| heads * config.head_dim);
    let matrices = [MatrixRows(&q, wide), MatrixRows(&k, narrow), MatrixRows(&v, narrow)]; // (H Dh, D)
    let kind = MatrixKind { biased: vectors, ..MatrixKind::default() };
    let vectors = b.linear(h, &matrices, kind, None);
    let attended = b.attention(layer, vectors, [&q_norm, &k_norm]);
    let kind = MatrixKind { biased: output, is_output: true, ..MatrixKind::default() };
    b.linear(attended, &[MatrixRows(&o, config.hidden_size)], kind, residual) // (D, H Dh)
}

/// down(f(gate h) * up h)
fn network<B: Backend>(
    b: &mut Builder<'_, B>,
    name: &str,
    h: RowsAt,
    residual: Option<RowsAt>,
) -> RowsAt {
    let (config, biased) = (b.config, b.config.variations.biased.network);
    let is_full = config.precision == Precision::Full;
    if config.variations.activation == Activation::Silu && !biased && is_full {
        return b.feed_forward(name, h, residual);
    }
    let [gate, up, down] = ["gate_proj", "up_proj", "down_proj"].map(|of| format!("{name}.{of}"));
    let inner = config.intermediate_size;
    let kind = MatrixKind { biased, ..MatrixKind::default() };
    let gate_up = b.linear(h, &[MatrixRows(&gate, inner), MatrixRows(&up, inner)], kind, None); // (2 F, D)
    let s = b.activate(gate_up, true);
    b.linear(
        s,
        &[MatrixRows(&down, config.hidden_size)],
        MatrixKind { is_output: true, ..kind },
        residual,
    )
}
