//! Phi-3: Llama with queries, keys and values in one matrix, and gate and up in one.

use repro_core::source::Error;

use crate::params::blocks::PRE_NORMS;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::params::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "phi3",
    model_types: &["phi3"],
    architectures: &["Phi3ForCausalLM"],
    inert: &["embd_pdrop", "original_max_position_embeddings", "resid_pdrop"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 32_064, hidden: 3072, width: 8192, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, None, HeadSize::Derived)?;
    fields.off("attention_bias")?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, false);
    let layer = "model.layers.{layer}";
    tensors.linear(Part::Attention, &format!("{layer}.self_attn.qkv_proj"), a + g * 2, h, false);
    tensors.linear(Part::Attention, &format!("{layer}.self_attn.o_proj"), h, a, false);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.gate_up_proj"), i * 2, h, false);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.down_proj"), h, i, false);
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * h * (a + g) * 2),
        (Part::DenseFfn, l * h * i * 3),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}
