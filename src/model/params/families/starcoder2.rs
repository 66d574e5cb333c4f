//! StarCoder2: layer norms with biases, a plain feed-forward block, biases by one switch, tied by default.

use repro_core::source::Error;

use crate::params::blocks::PRE_NORMS;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::params::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "starcoder2",
    model_types: &["starcoder2"],
    architectures: &["Starcoder2ForCausalLM"],
    inert: &[
        "embedding_dropout",
        "residual_dropout",
        "norm_epsilon",
        "activation_function",
        "scale_attention_softmax_in_fp32",
        "attention_softmax_in_fp32",
        "scale_attn_weights",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 49_152, hidden: 3072, width: 12_288, layers: 30, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 24, Some(2), HeadSize::Derived)?;
    let bias = fields.flag("use_bias", true)?;
    fields.word("mlp_type", "default", "default")?;
    fields.word("norm_type", "layer_norm", "layer_norm")?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, true);
    tensors.attention(h, heads, bias, bias);
    tensors.linear(Part::DenseFfn, "model.layers.{layer}.mlp.c_fc", i, h, bias);
    tensors.linear(Part::DenseFfn, "model.layers.{layer}.mlp.c_proj", h, i, bias);
    tensors.layer_norms(h, PRE_NORMS, true);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::DenseFfn, l * (h * i * 2 + (i + h) * bias)),
        (Part::Norms, (l * 2 + 1) * h * 2),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}
