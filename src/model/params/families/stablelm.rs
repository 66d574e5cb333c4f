//! StableLM-2: layer norms with biases, optional biases on queries, keys and values, an optional norm without a bias per
//! head, and one norm per layer if attention and feed-forward block are parallel.

use repro_core::source::Error;

use crate::params::blocks::PRE_NORMS;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::params::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "stablelm",
    model_types: &["stablelm"],
    architectures: &["StableLmForCausalLM"],
    inert: &["hidden_dropout", "rope_pct"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 50_304, hidden: 2560, width: 6912, layers: 32, tied: false };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let heads = fields.heads(h, 32, Some(32), HeadSize::Derived)?;
    if heads.queries() != h {
        return Err(fields.impossible("head_dim", "the width divided by the number of heads"));
    }
    let bias = fields.flag("use_qkv_bias", false)?;
    let head_norms = fields.flag("qk_layernorm", false)?;
    let parallel = fields.flag("use_parallel_residual", false)?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());

    let mut tensors = TensorList::new(layers);
    tensors.ends(v, h, tied, true);
    tensors.attention(h, heads, bias, false);
    if head_norms {
        for (name, copies) in [("q", heads.count), ("k", heads.key_value)] {
            let name =
                format!("model.layers.{{layer}}.self_attn.{name}_layernorm.norms.{{copy}}.weight");
            tensors.copied(Part::Norms, &name, copies, &[heads.size]);
        }
    }
    tensors.gated(Part::DenseFfn, "mlp", h, i, false);
    let names = if parallel { &PRE_NORMS[..1] } else { PRE_NORMS };
    tensors.layer_norms(h, names, true);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * (a + g) * 2 + (a + g * 2) * bias)),
        (Part::DenseFfn, l * h * i * 3),
        (Part::Norms, (l + l * !parallel + 1) * h * 2 + l * (a + g) * head_norms),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}
