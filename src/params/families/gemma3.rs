//! Gemma-3 for text: Gemma-2 with a norm for the queries and one for the keys, each as wide as one head.

use repro_receipt::source::Error;

use crate::blocks::PRE_NORMS;
use crate::family::{Blueprint, Family, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "gemma3_text",
    model_types: &["gemma3_text"],
    architectures: &["Gemma3ForCausalLM"],
    inert: &[
        "_sliding_window_pattern",
        "attn_logit_softcapping",
        "cache_implementation",
        "final_logit_softcapping",
        "hidden_activation",
        "query_pre_attn_scalar",
        "rope_local_base_freq",
        "sliding_window_pattern",
        "use_bidirectional_attention",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 262_208, hidden: 2304, width: 9216, layers: 26, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 8, Some(4), HeadSize::Fixed(256))?;
    let bias = fields.flag("attention_bias", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    tensors.head_norms(heads.size, heads.size);
    tensors.gated(Part::DenseFfn, "mlp", h, i, false);
    tensors.layer_norms(h, PRE_NORMS, false);
    tensors.layer_norms(h, &["pre_feedforward_layernorm", "post_feedforward_layernorm"], false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::DenseFfn, l * h * i * 3),
        (Part::Norms, (l * 4 + 1) * h + l * heads.size * 2),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed })
}
