//! Qwen2-MoE: experts in the layers that the config picks, beside them one shared expert with a gate
//! of its own.

use repro_receipt::source::Error;

use crate::blocks::{MLP_EXPERTS, PRE_NORMS};
use crate::family::{Blueprint, Family, MixtureShape, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "qwen2_moe",
    model_types: &["qwen2_moe"],
    architectures: &["Qwen2MoeForCausalLM"],
    inert: &["norm_topk_prob"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let sparse = sparse_layers(fields)?;
    let defaults =
        Defaults { vocabulary: 151_936, hidden: 2048, width: 5632, layers: 24, tied: false };
    let dims = fields.dims(defaults, sparse)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 16, Some(16), HeadSize::Derived)?;
    let experts = fields.experts(("num_experts", 60), ("num_experts_per_tok", 4))?;
    let (e, k) = (experts.count, experts.per_token);
    let d = fields.size("moe_intermediate_size", 1408)?;
    let s = fields.size("shared_expert_intermediate_size", 5632)?;
    let bias = fields.flag("qkv_bias", true)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());
    let (ld, lm) = (layers.dense(), layers.sparse());

    let mut tensors = TensorList::new(layers).with_experts(e, k);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, false);
    tensors.gated(Part::DenseFfn, "mlp", h, i, false);
    tensors.expert_layer(h, d, experts, "mlp.gate", MLP_EXPERTS);
    tensors.gated(Part::SharedExperts, "mlp.shared_expert", h, s, false);
    let name = "model.layers.{layer}.mlp.shared_expert_gate";
    tensors.linear(Part::SharedExperts, name, 1.into(), h, false);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2) * bias)),
        (Part::DenseFfn, ld * h * i * 3),
        (Part::Router, lm * h * e),
        (Part::SharedExperts, lm * (h * s * 3 + h)),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ])
    .routed(lm * h * d * 3, e, k);
    let mixture = MixtureShape { experts, width: d, shared: 1.into(), shared_width: s };
    Ok(Blueprint { dims, mixture: Some(mixture), tensors, closed })
}

/// Which layers have experts: every `decoder_sparse_step`-th but those in `mlp_only_layers`.
pub fn sparse_layers(fields: &ConfigFields<'_>) -> Result<impl Fn(u64) -> bool, Error> {
    let step = fields.size("decoder_sparse_step", 1)?.value().unwrap_or(1);
    let dense = fields.list("mlp_only_layers")?;
    Ok(move |layer: u64| !dense.contains(&layer) && (layer + 1).is_multiple_of(step))
}
