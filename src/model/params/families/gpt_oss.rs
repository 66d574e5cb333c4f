//! gpt-oss: biases on attention, router and experts, an attention sink for each head, experts stacked
//! with gate and up in one tensor.

use repro_core::source::Error;

use crate::params::blocks::PRE_NORMS;
use crate::params::family::{Blueprint, Family, MixtureShape, never};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::params::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "gpt_oss",
    model_types: &["gpt_oss"],
    architectures: &["GptOssForCausalLM"],
    inert: &["initial_context_length", "swiglu_limit", "swiglu_alpha"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 201_088, hidden: 2880, width: 2880, layers: 36, tied: false };
    let dims = fields.dims(defaults, |_| true)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 64, Some(8), HeadSize::Fixed(64))?;
    let experts = fields.experts(
        ("num_local_experts|num_experts", 128),
        ("num_experts_per_tok|experts_per_token", 4),
    )?;
    let (e, k) = (experts.count, experts.per_token);
    let bias = fields.flag("attention_bias", true)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers).with_experts(e, k);
    tensors.ends(v, h, tied, false);
    tensors.attention(h, heads, bias, bias);
    let layer = "model.layers.{layer}";
    tensors.tensor(Part::Attention, &format!("{layer}.self_attn.sinks"), &[heads.count]);
    tensors.linear(Part::Router, &format!("{layer}.mlp.router"), e, h, true);
    for (name, input, output) in [("gate_up_proj", h, i * 2), ("down_proj", i, h)] {
        let name = format!("{layer}.mlp.experts.{name}");
        tensors.tensor(Part::RoutedExperts, &name, &[e, input, output]);
        tensors.tensor(Part::RoutedExperts, &format!("{name}_bias"), &[e, output]);
    }
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2 + h) * bias + heads.count)),
        (Part::Router, l * e * (h + 1)),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ])
    .routed(l * (h * i * 3 + i * 2 + h), e, k);
    let mixture = MixtureShape { experts, width: i, shared: Size::ZERO, shared_width: Size::ZERO };
    Ok(Blueprint { dims, mixture: Some(mixture), tensors, closed, mtp: None })
}
