//! OLMoE: experts in every layer, norms over all queries and all keys.

use repro_receipt::source::Error;

use crate::blocks::{MLP_EXPERTS, PRE_NORMS};
use crate::family::{Blueprint, Family, MixtureShape, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "olmoe",
    model_types: &["olmoe"],
    architectures: &["OlmoeForCausalLM"],
    inert: &["clip_qkv", "norm_topk_prob"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 50_304, hidden: 2048, width: 2048, layers: 16, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 16, None, HeadSize::Derived)?;
    if heads.queries() != h {
        return Err(fields.impossible("head_dim", "the width divided by the number of heads"));
    }
    let experts =
        fields.experts(("num_experts|num_local_experts", 64), ("num_experts_per_tok", 8))?;
    let (e, k) = (experts.count, experts.per_token);
    let bias = fields.flag("attention_bias", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers).with_experts(e, k);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    tensors.head_norms(a, g);
    tensors.expert_layer(h, i, experts, "mlp.gate", MLP_EXPERTS);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::Router, l * h * e),
        (Part::Norms, (l * 2 + 1) * h + l * (a + g)),
        (Part::Head, v * h * !tied),
    ])
    .routed(l * h * i * 3, e, k);
    let mixture = MixtureShape { experts, width: i, shared: Size::ZERO, shared_width: Size::ZERO };
    Ok(Blueprint { dims, mixture: Some(mixture), tensors, closed })
}
