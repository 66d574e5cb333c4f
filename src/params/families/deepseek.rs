//! DeepSeek-V2 and V3: latent attention (queries through `q_lora_rank` unless it is null, keys and
//! values through `kv_lora_rank`), `first_k_dense_replace` dense layers, then routed and shared
//! experts.
//!
//! V3's `e_score_correction_bias` is a buffer that no gradient reaches, and the layers for
//! multi-token prediction are no part of the reference model: neither is counted.

use repro_receipt::source::Error;

use crate::blocks::{MLP_EXPERTS, PRE_NORMS};
use crate::family::{Blueprint, Family, MixtureShape, never};
use crate::fields::{ConfigFields, Defaults, Dims};
use crate::{Part, Size, Sums, TensorList};

const INERT: &[&str] = &[
    "aux_loss_alpha",
    "ep_size",
    "head_dim",
    "n_group",
    "norm_topk_prob",
    "num_key_value_heads",
    "qk_head_dim",
    "routed_scaling_factor",
    "scoring_func",
    "seq_aux",
    "topk_group",
    "topk_method",
];

/// DeepSeek-V2 and V2-Lite.
pub static V2: Family = Family {
    id: "deepseek_v2",
    model_types: &["deepseek_v2"],
    architectures: &["DeepseekV2ForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let defaults =
            Defaults { vocabulary: 102_400, hidden: 4096, width: 11_008, layers: 32, tied: false };
        let mlp_bias = fields.flag("mlp_bias", false)?;
        let used = fields.required("num_experts_per_tok")?.value().unwrap_or(0);
        let release =
            Release { first: 0, heads: 32, experts: (64, used), shared: 2, width: 1407, mlp_bias };
        read(fields, defaults, release)
    },
};

/// DeepSeek-V3 and R1.
pub static V3: Family = Family {
    id: "deepseek_v3",
    model_types: &["deepseek_v3"],
    architectures: &["DeepseekV3ForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let defaults =
            Defaults { vocabulary: 129_280, hidden: 7168, width: 18_432, layers: 61, tied: false };
        if fields.count("num_nextn_predict_layers|num_mtp_layers", 0)? != Size::ZERO {
            fields.note(
                "`num_nextn_predict_layers`: layers for multi-token prediction are not counted",
            );
        }
        let release = Release {
            first: 3,
            heads: 128,
            experts: (256, 8),
            shared: 1,
            width: 2048,
            mlp_bias: false,
        };
        read(fields, defaults, release)
    },
};

/// Where the releases differ: defaults, and a switch that only V2 has.
struct Release {
    first: u64,
    heads: u64,
    experts: (u64, u64),
    shared: u64,
    width: u64,
    mlp_bias: bool,
}

/// Latent attention.
struct Latent {
    heads: Size,
    /// Rank of the queries; nothing where they are projected in one step.
    query_rank: Option<Size>,
    rank: Size,
    /// Parts of a query or key head without and with positions.
    plain: Size,
    rotary: Size,
    value: Size,
    bias: bool,
}

impl Latent {
    fn read(fields: &ConfigFields<'_>, heads: u64) -> Result<Self, Error> {
        Ok(Self {
            heads: fields.size("num_attention_heads", heads)?,
            query_rank: fields.size_unless_null("q_lora_rank", 1536)?,
            rank: fields.size("kv_lora_rank", 512)?,
            plain: fields.size("qk_nope_head_dim", 128)?,
            rotary: fields.size("qk_rope_head_dim", 64)?,
            value: fields.size("v_head_dim", 128)?,
            bias: fields.flag("attention_bias", false)?,
        })
    }

    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.self_attn.{name}");
        let queries = self.heads * (self.plain + self.rotary);
        let mut linear = |part: &str, output, input, bias| {
            tensors.linear(Part::Attention, &name(part), output, input, bias);
        };
        match self.query_rank {
            Some(rank) => {
                linear("q_a_proj", rank, hidden, self.bias);
                linear("q_b_proj", queries, rank, false);
            }
            None => linear("q_proj", queries, hidden, false),
        }
        linear("kv_a_proj_with_mqa", self.rank + self.rotary, hidden, self.bias);
        linear("kv_b_proj", self.heads * (self.plain + self.value), self.rank, false);
        linear("o_proj", hidden, self.heads * self.value, self.bias);
        if let Some(rank) = self.query_rank {
            tensors.norm(&name("q_a_layernorm"), rank, false);
        }
        tensors.norm(&name("kv_a_layernorm"), self.rank, false);
    }

    /// Projections of one layer in closed form.
    fn projections(&self, h: Size) -> Size {
        let Self { heads: n, rank: c, plain: p, rotary: r, value: u, bias, .. } = *self;
        let queries = match self.query_rank {
            Some(q) => h * q + q * bias + q * n * (p + r),
            None => h * n * (p + r),
        };
        queries + (h + bias) * (c + r) + c * n * (p + u) + n * u * h + h * bias
    }

    /// Norms of one layer inside attention in closed form.
    fn norms(&self) -> Size {
        self.rank + self.query_rank.unwrap_or(Size::ZERO)
    }
}

fn read(
    fields: &ConfigFields<'_>,
    defaults: Defaults,
    release: Release,
) -> Result<Blueprint, Error> {
    fields.exactly("moe_layer_freq", 1)?;
    let first = fields.count("first_k_dense_replace", release.first)?.value().unwrap_or(0);
    let dims = fields.dims(defaults, |layer| layer >= first)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    let latent = Latent::read(fields, release.heads)?;
    let experts = fields.experts(
        ("n_routed_experts|num_experts|num_local_experts", release.experts.0),
        ("num_experts_per_tok", release.experts.1),
    )?;
    let (e, k) = (experts.count, experts.per_token);
    let d = fields.size("moe_intermediate_size", release.width)?;
    let shared = fields.count_or_none("n_shared_experts", release.shared)?;
    let (s, bias) = (shared * d, release.mlp_bias);
    let (l, ld, lm) = (layers.all(), layers.dense(), layers.sparse());
    if bias && lm != Size::ZERO {
        return Err(fields.unsupported("mlp_bias", "`mlp_bias` off in a model with experts"));
    }

    let mut tensors = TensorList::new(layers).with_experts(e, k);
    tensors.ends(v, h, tied, false);
    latent.list(&mut tensors, h);
    tensors.gated(Part::DenseFfn, "mlp", h, i, bias);
    tensors.expert_layer(h, d, experts, "mlp.gate", MLP_EXPERTS);
    if shared != Size::ZERO {
        tensors.gated(Part::SharedExperts, "mlp.shared_experts", h, s, bias);
    }
    tensors.layer_norms(h, PRE_NORMS, false);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * latent.projections(h)),
        (Part::DenseFfn, ld * (h * i * 3 + (i * 2 + h) * bias)),
        (Part::Router, lm * h * e),
        (Part::SharedExperts, lm * h * s * 3),
        (Part::Norms, (l * 2 + 1) * h + l * latent.norms()),
        (Part::Head, v * h * !tied),
    ])
    .routed(lm * h * d * 3, e, k);
    let mixture = MixtureShape { experts, width: d, shared, shared_width: s };
    Ok(Blueprint { dims, mixture: Some(mixture), tensors, closed })
}
