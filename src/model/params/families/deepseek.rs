//! DeepSeek-V2 and V3, Kimi K2, Moonlight: latent attention (queries through `q_lora_rank` unless it is null, keys and
//! values through `kv_lora_rank`), `first_k_dense_replace` dense layers, then routed and shared experts, and layers for
//! multi-token prediction.
//!
//! V3's `e_score_correction_bias` is a buffer that no gradient reaches: it is not counted.

use repro_core::source::{Error, Node};

use crate::params::attention::Latent;
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, Dims};
use crate::params::{Layers, Size};

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

/// DeepSeek-V3 and R1, Kimi K2, Moonlight.
pub static V3: Family = Family {
    id: "deepseek_v3",
    model_types: &["deepseek_v3", "kimi_k2"],
    architectures: &["DeepseekV3ForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let defaults =
            Defaults { vocabulary: 129_280, hidden: 7168, width: 18_432, layers: 61, tied: false };
        read(fields, defaults, V3_RELEASE)
    },
};

const V3_RELEASE: Release =
    Release { first: 3, heads: 128, experts: (256, 8), shared: 1, width: 2048, mlp_bias: false };

/// GLM-4.7-Flash, which is DeepSeek-V3 with other defaults.
pub static GLM_LITE: Family = Family {
    id: "glm4_moe_lite",
    model_types: &["glm4_moe_lite"],
    architectures: &["Glm4MoeLiteForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let defaults =
            Defaults { vocabulary: 154_880, hidden: 2048, width: 10_240, layers: 47, tied: false };
        fields.exactly("first_k_dense_replace", 1)?;
        if fields.given("mlp_layer_types")? {
            return Err(fields.unsupported("mlp_layer_types", "only the first layer dense"));
        }
        let names = ["qk_nope_head_dim", "v_head_dim", "q_lora_rank"];
        for name in names {
            if !fields.given(name)? {
                return Err(fields.unsupported(name, "a config with this field"));
            }
        }
        let (experts, width) = ((64, 4), 1536);
        let release = Release { first: 1, heads: 20, experts, shared: 1, width, mlp_bias: false };
        read(fields, defaults, release)
    },
};

/// The same models in the config format of DeepSeek's inference code.
pub static INFERENCE: Family = Family {
    id: "deepseek-inference",
    model_types: &["deepseek-inference"],
    architectures: &[],
    inert: &["n_expert_groups", "n_limited_groups"],
    looks_like: |root: Node<'_>| {
        let has = |key: &&str| root.get(key).is_some();
        ["dim", "inter_dim", "kv_lora_rank", "route_scale"].iter().all(has) && !has(&"attn")
    },
    read: read_inference,
};

/// The differences between releases: defaults, and a switch that only V2 has.
struct Release {
    first: u64,
    heads: u64,
    experts: (u64, u64),
    shared: u64,
    width: u64,
    mlp_bias: bool,
}

fn read(
    fields: &ConfigFields<'_>,
    defaults: Defaults,
    release: Release,
) -> Result<Blueprint, Error> {
    fields.exactly("moe_layer_freq", 1)?;
    let experts = fields.count_or_none("n_routed_experts", release.experts.0)?;
    let first = fields.count_or_none("first_k_dense_replace", release.first)?.value().unwrap_or(0);
    let dims = fields.dims(defaults, |layer| experts != Size::ZERO && layer >= first)?;
    let names = Names {
        routed: "n_routed_experts|num_experts|num_local_experts",
        used: "num_experts_per_tok",
        shared: "n_shared_experts",
        width: "moe_intermediate_size",
    };
    let mixture = mixture(fields, &dims.layers, &names, &release)?;
    let mlp_bias = release.mlp_bias;
    if mlp_bias && dims.layers.sparse() != Size::ZERO {
        return Err(fields.unsupported("mlp_bias", "`mlp_bias` off in a model with experts"));
    }
    let latent = Latent::read(fields, release.heads, 1536)?;
    let mtp = fields.mtp(0)?;
    let mixture = Some(mixture);
    Ok(Decoder { mlp_bias, mixture, mtp, ..Decoder::new(dims, latent) }.finish())
}

fn read_inference(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let first = fields.count("n_dense_layers", 1)?.value().unwrap_or(0);
    let layers = fields.layers("n_layers", 27, |layer| layer >= first)?;
    let dims = Dims {
        v: fields.size("vocab_size", 102_400)?,
        h: fields.size("dim", 2048)?,
        i: fields.width("inter_dim", 10_944, layers.dense())?,
        layers,
        tied: false,
    };
    let names = Names {
        routed: "n_routed_experts",
        used: "n_activated_experts",
        shared: "n_shared_experts",
        width: "moe_inter_dim",
    };
    let release = Release { experts: (64, 6), shared: 2, width: 1408, ..V3_RELEASE };
    let mixture = Some(mixture(fields, &dims.layers, &names, &release)?);
    let latent = Latent::read(fields, 16, 0)?;
    Ok(Decoder { mixture, ..Decoder::new(dims, latent) }.finish())
}

/// The field names of experts.
struct Names {
    routed: &'static str,
    used: &'static str,
    shared: &'static str,
    width: &'static str,
}

fn mixture(
    fields: &ConfigFields<'_>,
    layers: &Layers,
    names: &Names,
    release: &Release,
) -> Result<ExpertParts, Error> {
    let (all, used) = release.experts;
    let experts = fields.experts_of(layers, (names.routed, all), (names.used, used))?;
    let width = fields.width(names.width, release.width, layers.sparse())?;
    let shared = fields.count_or_none(names.shared, release.shared)?;
    Ok(ExpertParts::new(experts, width).sharing(shared, shared * width))
}
