//! The models of this project's studies: Llama-style decoders with grouped heads, dense (`repro-llama`) or with a mixture
//! of experts (`repro-llama-moe`).
//!
//! The config is a JSON or TOML table. Both kinds have `model_type`, `vocab_size`, `hidden_size`, `num_hidden_layers`,
//! `num_attention_heads`, `intermediate_size` (dense blocks; not needed if every layer has experts) and may have
//! `num_key_value_heads` (default: the number of heads), `head_dim` (default: width divided by the number of heads) and
//! `tie_word_embeddings` (default: false). A mixture adds `num_experts` (E), `num_experts_per_tok` (K),
//! `moe_intermediate_size` (inner width of one expert), and may have `num_shared_experts` (S, default 0, each as wide as a
//! routed one) and `num_dense_layers` (the first layers without experts, default 0). There are no biases: if `balancing` is
//! `bias`, the `e_score_correction_bias` of a router is a buffer without a gradient, and is not counted. Nothing else
//! affects shapes; a missing required field is an error and never guessed.

use repro_core::source::Error;

use crate::params::blocks::{Heads, MLP_EXPERTS, PRE_NORMS};
use crate::params::family::{Blueprint, Family, MixtureShape, never};
use crate::params::fields::{ConfigFields, Dims, HeadSize};
use crate::params::{Part, Size, Sums, TensorList};

/// The dense kind.
pub static DENSE: Family = Family {
    id: "repro-llama",
    model_types: &["repro-llama"],
    architectures: &[],
    inert: &["norm_eps"],
    looks_like: never,
    read: |fields| {
        let mut common = Common::read(fields, |_| false)?;
        common.dims.i = fields.required("intermediate_size")?;
        let tensors = common.tensors(TensorList::new(&common.dims.layers));
        let closed = common.closed();
        Ok(Blueprint { dims: common.dims, mixture: None, tensors, closed, mtp: None })
    },
};

/// The kind with experts.
pub static MIXTURE: Family = Family {
    id: "repro-llama-moe",
    model_types: &["repro-llama-moe"],
    architectures: &[],
    inert: &["norm_eps", "norm_topk_prob"],
    looks_like: never,
    read: read_mixture,
};

/// The fields that both kinds have; each reads the width of dense blocks itself.
struct Common {
    dims: Dims,
    heads: Heads,
}

impl Common {
    fn read(fields: &ConfigFields<'_>, sparse: impl Fn(u64) -> bool) -> Result<Self, Error> {
        let h = fields.required("hidden_size")?;
        fields.required("num_attention_heads")?;
        let v = fields.required("vocab_size")?;
        let layers = fields.required_layers("num_hidden_layers", sparse)?;
        let heads = fields.heads(h, 0, None, HeadSize::Derived)?;
        let tied = fields.flag("tie_word_embeddings", false)?;
        Ok(Self { dims: Dims { v, h, i: Size::ZERO, layers, tied }, heads })
    }

    fn tensors(&self, mut tensors: TensorList) -> TensorList {
        let Dims { v, h, i, tied, .. } = self.dims;
        tensors.ends(v, h, tied, false);
        tensors.attention(h, self.heads, false, false);
        tensors.gated(Part::DenseFfn, "mlp", h, i, false);
        tensors.layer_norms(h, PRE_NORMS, false);
        tensors
    }

    fn closed(&self) -> Sums {
        let Dims { v, h, i, ref layers, tied } = self.dims;
        let (l, a, g) = (layers.all(), self.heads.queries(), self.heads.keys());
        Sums::of([
            (Part::Embedding, v * h),
            (Part::Attention, l * h * (a + g) * 2),
            (Part::DenseFfn, layers.dense() * h * i * 3),
            (Part::Norms, (l * 2 + 1) * h),
            (Part::Head, v * h * !tied),
        ])
    }
}

fn read_mixture(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let first = fields.count("num_dense_layers", 0)?;
    let mut common =
        Common::read(fields, |layer| first.value().is_some_and(|first| layer >= first))?;
    let (h, lm) = (common.dims.h, common.dims.layers.sparse());
    if lm == Size::ZERO {
        return Err(fields.impossible("num_dense_layers", "fewer than `num_hidden_layers`"));
    }
    common.dims.i = match first == Size::ZERO {
        true => fields.size_if_any("intermediate_size")?.unwrap_or(Size::ZERO),
        false => fields.required("intermediate_size")?,
    };
    fields.required("num_experts")?;
    fields.required("num_experts_per_tok")?;
    let experts = fields.experts(("num_experts", 0), ("num_experts_per_tok", 0))?;
    let (e, k) = (experts.count, experts.per_token);
    let d = fields.required("moe_intermediate_size")?;
    let shared = fields.count("num_shared_experts", 0)?;

    let mut tensors = common.tensors(TensorList::new(&common.dims.layers).with_experts(e, k));
    tensors.expert_layer(h, d, experts, "mlp.gate", MLP_EXPERTS);
    if shared != Size::ZERO {
        tensors.gated(Part::SharedExperts, "mlp.shared_experts", h, shared * d, false);
    }
    let closed = common
        .closed()
        .plus(Part::Router, lm * h * e, lm * h * e)
        .routed(lm * h * d * 3, e, k)
        .plus(Part::SharedExperts, lm * h * shared * d * 3, lm * h * shared * d * 3);
    let mixture = MixtureShape { experts, width: d, shared, shared_width: shared * d };
    Ok(Blueprint { dims: common.dims, mixture: Some(mixture), tensors, closed, mtp: None })
}
