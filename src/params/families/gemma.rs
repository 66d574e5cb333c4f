//! Gemma: heads of a size of their own, a wide gated feed-forward block, tied by default.

use repro_receipt::source::Error;

use crate::blocks::PRE_NORMS;
use crate::family::{Blueprint, Family, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "gemma",
    model_types: &["gemma"],
    architectures: &["GemmaForCausalLM"],
    inert: &["hidden_activation"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 256_000, hidden: 3072, width: 24_576, layers: 28, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 16, Some(16), HeadSize::Fixed(256))?;
    let bias = fields.flag("attention_bias", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    tensors.gated(Part::DenseFfn, "mlp", h, i, false);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::DenseFfn, l * h * i * 3),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed })
}
