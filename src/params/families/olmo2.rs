//! OLMo-2 and OLMo-3, which differ in what their blocks see: norms after attention and after the feed-forward block, and norms over all queries and all keys.

use repro_receipt::source::Error;

use crate::family::{Blueprint, Family, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "olmo2",
    model_types: &["olmo2", "olmo3"],
    architectures: &["Olmo2ForCausalLM", "Olmo3ForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 50_304, hidden: 4096, width: 11_008, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, None, HeadSize::Derived)?;
    let bias = fields.flag("attention_bias", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    tensors.head_norms(a, g);
    tensors.gated(Part::DenseFfn, "mlp", h, i, false);
    tensors.layer_norms(h, &["post_attention_layernorm", "post_feedforward_layernorm"], false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::DenseFfn, l * h * i * 3),
        (Part::Norms, (l * 2 + 1) * h + l * (a + g)),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed })
}
