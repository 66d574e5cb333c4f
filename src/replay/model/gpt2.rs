//! The decoder of GPT-2 (A. Radford et al., 2019): learned positions, norms around the mean, plain networks, the table of
//! tokens as the matrix of the logits. That of nanoGPT differs in that its matrices are not kept as their transposes, and
//! that it may have no biases.
//!
//! References: `modeling_gpt2.py` of Hugging Face's `transformers` 5, `model.py` of nanoGPT. Dropout is refused.

use super::builder::{Builder, MatrixKind, MatrixRows};
use crate::backend::Backend;

/// Builds the decoder, whose matrices are kept as their transposes or not.
pub(super) fn decoder<B: Backend>(b: &mut Builder<'_, B>, turned: bool, positions: usize) {
    let (d, inner) = (b.config.hidden_size, b.config.intermediate_size);
    let biased = b.config.variations.biased.vectors;
    let kind = MatrixKind { biased, turned, is_output: false };
    let output = MatrixKind { is_output: true, ..kind };
    let tokens = b.embedding("transformer.wte.weight"); // (B T, D)
    let mut x = b.positions("transformer.wpe.weight", positions, tokens);
    b.part("embedding".to_owned(), x);
    for layer in 0..b.config.num_hidden_layers {
        let [first, vectors, attended, second, up, down] =
            ["ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"]
                .map(|of| format!("transformer.h.{layer}.{of}"));
        let h = b.norm(&first, x);
        let rows = b.linear(h, &[MatrixRows(&vectors, 3 * d)], kind, None); // (B T, 3 D)
        let heads = b.attention(layer, rows, [""; 2]);
        x = b.linear(heads, &[MatrixRows(&attended, d)], output, Some(x));
        b.part(format!("attention of layer {layer}"), x);
        let h = b.norm(&second, x);
        let s = b.linear(h, &[MatrixRows(&up, inner)], kind, None); // (B T, F)
        let s = b.activate(s, false);
        x = b.linear(s, &[MatrixRows(&down, d)], output, Some(x));
        b.part(format!("network of layer {layer}"), x);
    }
    let h = b.norm("transformer.ln_f", x);
    b.head("lm_head.weight", h);
}
