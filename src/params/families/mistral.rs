//! Mistral: Llama with grouped heads and no biases.

use repro_receipt::source::Error;

use crate::blocks::PRE_NORMS;
use crate::family::{Blueprint, Family, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "mistral",
    model_types: &["mistral"],
    architectures: &["MistralForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_000, hidden: 4096, width: 14_336, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, Some(8), HeadSize::Derived)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, false, false);
    tensors.gated(Part::DenseFfn, "mlp", h, i, false);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * h * (a + g) * 2),
        (Part::DenseFfn, l * h * i * 3),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed })
}
