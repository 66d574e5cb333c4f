//! Qwen3-MoE: Qwen3 with experts in the layers that the config picks and no shared expert.

use repro_receipt::source::Error;

use super::qwen2_moe::sparse_layers;
use crate::blocks::{MLP_EXPERTS, PRE_NORMS};
use crate::family::{Blueprint, Family, MixtureShape, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "qwen3_moe",
    model_types: &["qwen3_moe"],
    architectures: &["Qwen3MoeForCausalLM"],
    inert: &["norm_topk_prob"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let sparse = sparse_layers(fields)?;
    let defaults =
        Defaults { vocabulary: 151_936, hidden: 2048, width: 6144, layers: 24, tied: false };
    let dims = fields.dims(defaults, sparse)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, Some(4), HeadSize::Derived)?;
    let experts =
        fields.experts(("num_experts|num_local_experts", 128), ("num_experts_per_tok", 8))?;
    let (e, k) = (experts.count, experts.per_token);
    let d = fields.size("moe_intermediate_size", 768)?;
    let bias = fields.flag("attention_bias", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());
    let (ld, lm) = (layers.dense(), layers.sparse());

    let mut tensors = TensorList::new(layers).with_experts(e, k);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    tensors.head_norms(heads.size, heads.size);
    tensors.gated(Part::DenseFfn, "mlp", h, i, false);
    tensors.expert_layer(h, d, experts, "mlp.gate", MLP_EXPERTS);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::DenseFfn, ld * h * i * 3),
        (Part::Router, lm * h * e),
        (Part::Norms, (l * 2 + 1) * h + l * heads.size * 2),
        (Part::Head, v * h * !tied),
    ])
    .routed(lm * h * d * 3, e, k);
    let mixture = MixtureShape { experts, width: d, shared: Size::ZERO, shared_width: Size::ZERO };
    Ok(Blueprint { dims, mixture: Some(mixture), tensors, closed })
}
