//! Granite-MoE: experts in every layer, stacked in two tensors with gate and up in one.

use repro_core::source::Error;

use crate::params::blocks::{GRANITE_FACTORS, PRE_NORMS};
use crate::params::family::{Blueprint, Family, MixtureShape, never};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::params::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "granitemoe",
    model_types: &["granitemoe"],
    architectures: &["GraniteMoeForCausalLM"],
    inert: GRANITE_FACTORS,
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_000, hidden: 4096, width: 11_008, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, None, HeadSize::Derived)?;
    let experts = fields.experts(("num_local_experts", 8), ("num_experts_per_tok", 2))?;
    let (e, k) = (experts.count, experts.per_token);
    let bias = fields.flag("attention_bias", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers).with_experts(e, k);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    let below = "model.layers.{layer}.block_sparse_moe";
    tensors.linear(Part::Router, &format!("{below}.router.layer"), e, h, false);
    for (name, shape) in [("input_linear", [e, i * 2, h]), ("output_linear", [e, h, i])] {
        let name = format!("{below}.{name}.weight");
        tensors.tensor(Part::RoutedExperts, &name, &shape);
    }
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias)),
        (Part::Router, l * h * e),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ])
    .routed(l * h * i * 3, e, k);
    let mixture = MixtureShape { experts, width: i, shared: Size::ZERO, shared_width: Size::ZERO };
    Ok(Blueprint { dims, mixture: Some(mixture), tensors, closed, mtp: None })
}
