//! nmoe: the TOML configs of the nmoe trainer with plain attention. The head size is the width divided by the number of
//! heads, nothing is tied, nothing has a bias, and the first `n_dense_layers` layers have no experts.

use repro_core::source::Error;

use crate::params::blocks::ExpertCounts;
use crate::params::family::{Blueprint, Family, MixtureShape};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Size, Sums, TensorList};

/// The family; its other kinds of attention are rejected by name.
pub static FAMILY: Family = Family {
    id: "nmoe",
    model_types: &["nmoe"],
    architectures: &[],
    inert: &[
        "aux_loss_alpha",
        "batch_size",
        "kv_lora_rank",
        "n_gpus",
        "q_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "rl_group_size",
        "router_bias_update_rate",
        "v_head_dim",
    ],
    looks_like: |root| ["dim", "n_layers", "n_heads"].iter().all(|key| root.get(key).is_some()),
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    fields.word("attn", "mla", "sdpa")?;
    fields.word("activation", "swiglu", "swiglu")?;
    fields.exactly("attn_global_every", 1)?;
    let v = fields.size("vocab_size", 201_088)?;
    let h = fields.required("dim")?;
    fields.head_size("n_heads", h, fields.required("n_heads")?)?;
    let first = fields.count("n_dense_layers", 1)?.value().unwrap_or(0);
    let layers = fields.required_layers("n_layers", |layer| layer >= first)?;
    let (l, ld, lm) = (layers.all(), layers.dense(), layers.sparse());
    if (l - first).value().is_none() {
        return Err(fields.impossible("n_dense_layers", "at most `n_layers`"));
    }
    let shared = fields.count("n_shared_experts", 2)?;
    let mixture = mixture(fields, lm != Size::ZERO, shared)?;
    let i = match ld == Size::ZERO {
        true => fields.size_if_any("inter_dim")?.unwrap_or(Size::ZERO),
        false => fields.required("inter_dim")?,
    };

    let mut tensors = TensorList::new(&layers);
    tensors.tensor(Part::Embedding, "embedding.weight", &[v, h]);
    for name in ["wq", "wk", "wv", "wo"] {
        let name = format!("blocks.{{layer}}.attn.{name}");
        tensors.linear(Part::Attention, &name, h, h, false);
    }
    tensors.norm("blocks.{layer}.attn_norm", h, false);
    tensors.norm("blocks.{layer}.ffn_norm", h, false);
    gated(&mut tensors, Part::DenseFfn, "blocks.{layer}.ffn", h, i);
    let mut closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * 4 * h * h),
        (Part::DenseFfn, ld * 3 * h * i),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h),
    ]);
    if let Some(MixtureShape {
        experts: ExpertCounts { count: e, per_token: k }, width: d, ..
    }) = mixture
    {
        tensors = tensors.with_experts(e, k);
        tensors.linear(Part::Router, "blocks.{layer}.ffn.router.gate", e, h, false);
        for (name, shape) in [("W1", [e, h, d]), ("W3", [e, h, d]), ("W2", [e, d, h])] {
            let name = format!("blocks.{{layer}}.ffn.{name}");
            tensors.tensor(Part::RoutedExperts, &name, &shape);
        }
        if shared != Size::ZERO {
            gated(&mut tensors, Part::SharedExperts, "blocks.{layer}.ffn._shared", h, shared * d);
        }
        closed = closed
            .plus(Part::Router, lm * h * e, lm * h * e)
            .routed(lm * 3 * h * d, e, k)
            .plus(Part::SharedExperts, lm * 3 * shared * h * d, lm * 3 * shared * h * d);
    }
    tensors.norm("norm", h, false);
    tensors.tensor(Part::Head, "lm_head.weight", &[v, h]);
    Ok(Blueprint {
        dims: Dims { v, h, i, layers, tied: false },
        mixture,
        tensors,
        closed,
        mtp: None,
    })
}

/// The experts, which a config must name only if some layer has them.
fn mixture(
    fields: &ConfigFields<'_>,
    needed: bool,
    shared: Size,
) -> Result<Option<MixtureShape>, Error> {
    let names = ["n_routed_experts", "n_activated_experts", "moe_inter_dim"];
    if !needed {
        for name in names {
            fields.size_if_any(name)?;
        }
        return Ok(None);
    }
    for name in names {
        fields.required(name)?;
    }
    let width = fields.required("moe_inter_dim")?;
    let experts = fields.experts(("n_routed_experts", 0), ("n_activated_experts", 0))?;
    Ok(Some(MixtureShape { experts, width, shared, shared_width: shared * width }))
}

fn gated(tensors: &mut TensorList, part: Part, below: &str, hidden: Size, width: Size) {
    tensors.linear(part, &format!("{below}.w1"), width, hidden, false);
    tensors.linear(part, &format!("{below}.w3"), width, hidden, false);
    tensors.linear(part, &format!("{below}.w2"), hidden, width, false);
}
