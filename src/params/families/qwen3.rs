//! Qwen3: Llama with a norm for the queries and one for the keys, each as wide as one head.

use repro_receipt::source::Error;

use crate::blocks::PRE_NORMS;
use crate::family::{Blueprint, Family, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "qwen3",
    model_types: &["qwen3"],
    architectures: &["Qwen3ForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 151_936, hidden: 4096, width: 22_016, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, Some(32), HeadSize::Fixed(128))?;
    let bias = fields.flag("attention_bias", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    tensors.head_norms(heads.size, heads.size);
    tensors.gated(Part::DenseFfn, "mlp", h, i, false);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::DenseFfn, l * h * i * 3),
        (Part::Norms, (l * 2 + 1) * h + l * heads.size * 2),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed })
}
