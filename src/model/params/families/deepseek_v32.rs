//! DeepSeek-V3.2 and GLM-5: DeepSeek-V3 with an indexer that picks the positions each query attends to, in every layer or in some.

use repro_core::source::Error;

use crate::params::attention::{Indexer, Latent, Mixer};
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults};
use crate::params::{LayerSet, Layers, Size};

const INERT: &[&str] = &[
    "aux_loss_alpha",
    "ep_size",
    "head_dim",
    "index_topk",
    "indexer_rope_interleave",
    "index_share_for_mtp_iteration",
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

/// DeepSeek-V3.2.
pub static DEEPSEEK: Family = Family {
    id: "deepseek_v32",
    model_types: &["deepseek_v32"],
    architectures: &["DeepseekV32ForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let defaults =
            Defaults { vocabulary: 129_280, hidden: 7168, width: 18_432, layers: 61, tied: false };
        let latent = Latent::read(fields, 128, 1536)?;
        read(fields, defaults, latent, 64)
    },
};

/// GLM-5.
pub static GLM: Family = Family {
    id: "glm_moe_dsa",
    model_types: &["glm_moe_dsa"],
    architectures: &["GlmMoeDsaForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let defaults =
            Defaults { vocabulary: 154_880, hidden: 6144, width: 12_288, layers: 78, tied: false };
        let latent = Latent {
            plain: fields.size("qk_nope_head_dim", 192)?,
            value: fields.size("v_head_dim", 256)?,
            ..Latent::read(fields, 64, 2048)?
        };
        read(fields, defaults, latent, 32)
    },
};

fn read(
    fields: &ConfigFields<'_>,
    defaults: Defaults,
    plain: Latent,
    heads: u64,
) -> Result<Blueprint, Error> {
    if plain.query_rank.is_none() {
        return Err(fields.unsupported("q_lora_rank", "a rank, which the indexer needs"));
    }
    fields.exactly("moe_layer_freq", 1)?;
    fields.off("mlp_bias")?;
    let first = fields.count_or_none("first_k_dense_replace", 3)?.value().unwrap_or(0);
    let kinds = fields.words("mlp_layer_types")?;
    let is_sparse = |layer: u64| match &kinds {
        Some(kinds) => kinds.get(layer as usize) == Some(&"sparse"),
        None => layer >= first,
    };
    let dims = fields.dims(defaults, is_sparse)?;
    let is_kind = |kind: &&str| ["dense", "sparse"].contains(kind);
    if kinds.as_ref().is_some_and(|kinds| !fits(kinds, &dims.layers, is_kind)) {
        let expected = "\"dense\" or \"sparse\" for each layer";
        return Err(fields.impossible("mlp_layer_types", expected));
    }
    let all = ("n_routed_experts|num_experts|num_local_experts", 256);
    let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", 8))?;
    let width = fields.width("moe_intermediate_size", 2048, dims.layers.sparse())?;
    let shared = fields.count_or_none("n_shared_experts", 1)?;
    let indexer = Indexer {
        heads: fields.size("index_n_heads", heads)?,
        size: fields.size("index_head_dim", 128)?,
    };
    let own = indexed_layers(fields, &dims.layers)?;
    let mtp = fields.mtp(0)?;
    let mixture = Some(ExpertParts::new(experts, width).sharing(shared, shared * width));
    let indexed = Latent { indexer: Some(indexer), ..plain };
    let mixers: Vec<(_, Box<dyn Mixer>)> =
        vec![(own.others(), Box::new(plain)), (own, Box::new(indexed))];
    Ok(Decoder { mixture, mtp, ..Decoder::mixed(dims, mixers) }.finish())
}

fn fits(kinds: &[&str], layers: &Layers, is_kind: impl Fn(&&str) -> bool) -> bool {
    Size::from(kinds.len() as u64) == layers.all() && kinds.iter().all(is_kind)
}

/// Layers with an indexer of their own; the others use the choice of the one before.
fn indexed_layers(fields: &ConfigFields<'_>, layers: &Layers) -> Result<LayerSet, Error> {
    let every = fields.count_or_none("index_topk_freq", 1)?.value().unwrap_or(1).max(1);
    let offset = fields.count("index_skip_topk_offset", 2)?.value().unwrap_or(0);
    if fields.given("index_topk_pattern")? {
        return Err(fields.unsupported("index_topk_pattern", "`indexer_types` instead"));
    }
    if let Some(kinds) = fields.words("indexer_types")? {
        if !fits(&kinds, layers, |kind| ["full", "shared"].contains(kind)) {
            let expected = "\"full\" or \"shared\" for each layer";
            return Err(fields.impossible("indexer_types", expected));
        }
        return Ok(layers.set(|layer| kinds.get(layer as usize) == Some(&"full")));
    }
    Ok(layers.set(|layer| (layer + 1).saturating_sub(offset) % every == 0))
}
