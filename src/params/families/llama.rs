//! Llama, and what shares its architecture: SmolLM, TinyLlama. RMS norms, rotary positions, grouped heads,
//! a gated feed-forward block, biases only where the config switches them on.

use repro_receipt::source::Error;

use crate::blocks::PRE_NORMS;
use crate::family::{Blueprint, Family, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "llama",
    model_types: &["llama"],
    architectures: &["LlamaForCausalLM", "LLaMAForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_000, hidden: 4096, width: 11_008, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, None, HeadSize::Derived)?;
    let bias = fields.flag("attention_bias", false)?;
    let mlp_bias = fields.flag("mlp_bias", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    tensors.gated(Part::DenseFfn, "mlp", h, i, mlp_bias);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::DenseFfn, l * (h * i * 3 + (i * 2 + h) * mlp_bias)),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed })
}
