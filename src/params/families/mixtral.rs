//! Mixtral: Mistral in which every layer has E experts, of which a token uses K.

use repro_receipt::source::Error;

use crate::blocks::PRE_NORMS;
use crate::family::{Blueprint, Family, MixtureShape, never};
use crate::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "mixtral",
    model_types: &["mixtral"],
    architectures: &["MixtralForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_000, hidden: 4096, width: 14_336, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, Some(8), HeadSize::Derived)?;
    let experts =
        fields.experts(("num_local_experts|num_experts", 8), ("num_experts_per_tok", 2))?;
    let (e, k) = (experts.count, experts.per_token);
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers).with_experts(e, k);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, false, false);
    let below = ("block_sparse_moe.experts", ["w1", "w3", "w2"]);
    tensors.expert_layer(h, i, experts, "block_sparse_moe.gate", below);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * h * (a + g) * 2),
        (Part::Router, l * h * e),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ])
    .routed(l * h * i * 3, e, k);
    let mixture = MixtureShape { experts, width: i, shared: Size::ZERO, shared_width: Size::ZERO };
    Ok(Blueprint { dims, mixture: Some(mixture), tensors, closed })
}
