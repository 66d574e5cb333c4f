//! T5, mT5 and UMT5: an encoder and a decoder that share the embedding, RMS norms, relative positions as biases of the first layer, or in UMT5
//! of every layer.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Layers, Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "t5",
    model_types: &["t5", "mt5", "umt5"],
    architectures: &[
        "T5ForConditionalGeneration",
        "T5WithLMHeadModel",
        "MT5ForConditionalGeneration",
        "UMT5ForConditionalGeneration",
    ],
    inert: &[
        "decoder_start_token_id",
        "dense_act_fn",
        "dropout_rate",
        "initializer_factor",
        "is_gated_act",
        "n_positions",
        "output_past",
        "relative_attention_max_distance",
        "scalable_attention",
        "task_specific_params",
    ],
    looks_like: never,
    read,
};

/// One of the two stacks.
struct Stack {
    name: &'static str,
    layers: Size,
    /// Attention in a layer: to itself, and in the decoder to the encoder.
    attentions: &'static [&'static str],
}

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    fields.flag("is_encoder_decoder", true)?;
    // Releases of the reference either keep a head of its own then, as checkpoints do, or tie it all the same.
    if !fields.flag("tie_word_embeddings", true)? {
        return Err(fields.unsupported("tie_word_embeddings", "a head tied to the embedding"));
    }
    let kind = fields.model_type().unwrap_or("t5");
    let newer = kind != "t5";
    let v = fields.size("vocab_size", if newer { 250_112 } else { 32_128 })?;
    let h = fields.size("d_model", 512)?;
    let i = fields.size("d_ff", if newer { 1024 } else { 2048 })?;
    let heads = fields.size("num_heads", if newer { 6 } else { 8 })?;
    let a = heads * fields.size("d_kv", 64)?;
    let layers = fields.layers("num_layers", if newer { 8 } else { 6 }, |_| false)?;
    let decoder = match fields.given("num_decoder_layers")? {
        true => fields.depth("num_decoder_layers", 0)?,
        false => layers.all(),
    };
    let buckets = fields.size("relative_attention_num_buckets", 32)?;
    let gated = match fields.word_of("feed_forward_proj")? {
        None => newer,
        Some("relu" | "gelu") => false,
        Some("gated-gelu" | "gated-silu") => true,
        Some(_) => return Err(fields.unsupported("feed_forward_proj", "`relu` or `gated-gelu`")),
    };
    let stacks = [
        Stack { name: "encoder", layers: layers.all(), attentions: &["SelfAttention"] },
        Stack {
            name: "decoder",
            layers: decoder,
            attentions: &["SelfAttention", "EncDecAttention"],
        },
    ];
    let everywhere = kind == "umt5";

    let mut tensors = TensorList::new(&Layers::new(0, |_| false));
    tensors.tensor(Part::Embedding, "shared.weight", &[v, h]);
    for Stack { name, layers, attentions } in &stacks {
        let below = format!("{name}.block.{{copy}}");
        for (at, attention) in attentions.iter().enumerate() {
            let below = format!("{below}.layer.{at}");
            for one in ["q", "k", "v"] {
                let name = format!("{below}.{attention}.{one}");
                tensors.copied_linear(Part::Attention, &name, *layers, (a, h), false);
            }
            let out = format!("{below}.{attention}.o");
            tensors.copied_linear(Part::Attention, &out, *layers, (h, a), false);
            let norm = format!("{below}.layer_norm.weight");
            tensors.copied(Part::Norms, &norm, *layers, &[h]);
        }
        let copies = if everywhere { *layers } else { Size::from(1) };
        let bias = format!("{below}.layer.0.SelfAttention.relative_attention_bias");
        tensors.copied_linear(Part::Positions, &bias, copies, (buckets, heads), false);
        let below = format!("{below}.layer.{}", attentions.len());
        let ways: &[&str] = if gated { &["wi_0", "wi_1"] } else { &["wi"] };
        for one in ways {
            let name = format!("{below}.DenseReluDense.{one}");
            tensors.copied_linear(Part::DenseFfn, &name, *layers, (i, h), false);
        }
        let out = format!("{below}.DenseReluDense.wo");
        tensors.copied_linear(Part::DenseFfn, &out, *layers, (h, i), false);
        tensors.copied(Part::Norms, &format!("{below}.layer_norm.weight"), *layers, &[h]);
        tensors.norm(&format!("{name}.final_layer_norm"), h, false);
    }
    let (l, d) = (layers.all(), decoder);
    let biased = if everywhere { l + d } else { Size::from(2) };
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Positions, biased * buckets * heads),
        (Part::Attention, (l + d * 2) * h * a * 4),
        (Part::DenseFfn, (l + d) * h * i * (Size::from(2) + gated)),
        (Part::Norms, (l * 2 + d * 3 + 2) * h),
    ]);
    let dims = Dims { v, h, i, layers, tied: true };
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}
