//! LFM2, dense and with experts: short convolutions with some layers of attention. The width of a dense block is adjusted before it is used.

use repro_core::source::Error;

use crate::params::Size;
use crate::params::attention::{Grouped, HeadNorms, Mixer, ShortConv};
use crate::params::decoder::{Decoder, ExpertParts, Feed, StoredAs};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};

const INERT: &[&str] = &[
    "block_dim",
    "block_mlp_init_scale",
    "block_norm_eps",
    "block_out_init_scale",
    "block_use_swiglu",
    "block_use_xavier_init",
    "conv_dim",
    "conv_dim_out",
    "conv_use_xavier_init",
    "norm_eps",
    "norm_topk_prob",
    "num_heads",
    "theta",
    "use_pos_enc",
    "routed_scaling_factor",
];

/// Dense.
pub static DENSE: Family = Family {
    id: "lfm2",
    model_types: &["lfm2"],
    architectures: &["Lfm2ForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let defaults =
            Defaults { vocabulary: 65_536, hidden: 2560, width: 12_288, layers: 32, tied: true };
        let Dims { i, .. } = dims(fields, defaults, |_| false)?;
        let named = fields.size_or("block_ff_dim", i, i)?;
        let dims = Dims { i: width(fields, named)?, ..dims(fields, defaults, |_| false)? };
        read(fields, dims, None)
    },
};

/// With experts after the first layers.
pub static MIXTURE: Family = Family {
    id: "lfm2_moe",
    model_types: &["lfm2_moe"],
    architectures: &["Lfm2MoeForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: |fields| {
        let defaults =
            Defaults { vocabulary: 65_536, hidden: 2048, width: 7168, layers: 32, tied: true };
        let first = fields.count("num_dense_layers", 2)?.value().unwrap_or(0);
        let dims = dims(fields, defaults, |layer| layer >= first)?;
        let all = ("num_experts|num_local_experts", 32);
        let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", 4))?;
        let width = fields.width("moe_intermediate_size", 1792, dims.layers.sparse())?;
        // A buffer, which is not counted.
        fields.flag("use_expert_bias", true)?;
        let mixture = ExpertParts {
            router: "feed_forward.gate",
            stored: StoredAs::Each("feed_forward.experts", FEED),
            ..ExpertParts::new(experts, width)
        };
        read(fields, dims, Some(mixture))
    },
};

const FEED: [&str; 3] = ["w1", "w3", "w2"];

/// The releases have two names for the field that ties the head.
fn dims(
    fields: &ConfigFields<'_>,
    defaults: Defaults,
    sparse: impl Fn(u64) -> bool,
) -> Result<Dims, Error> {
    let tied = fields.flag("tie_embedding|tie_word_embeddings", defaults.tied)?;
    Ok(Dims { tied, ..fields.dims(defaults, sparse)? })
}

/// Two thirds of the named width, times a factor, up to a round number; a factor other than 1 is not counted here.
fn width(fields: &ConfigFields<'_>, named: Size) -> Result<Size, Error> {
    let round = fields.size("block_multiple_of", 256)?;
    if !fields.is_one("block_ffn_dim_multiplier")? {
        return Err(fields.unsupported("block_ffn_dim_multiplier", "1"));
    }
    if !fields.flag("block_auto_adjust_ff_dim", true)? {
        return Ok(named);
    }
    let (Some(named), Some(round)) = (named.value(), round.value()) else { return Ok(named) };
    let part = u128::from(named) * 2 / 3;
    let rounded = part.div_ceil(u128::from(round)) * u128::from(round);
    // An overflowing width is rejected where it is used.
    Ok(u64::try_from(rounded).map_or(Size::from(u64::MAX) + 1, Size::from))
}

fn read(
    fields: &ConfigFields<'_>,
    dims: Dims,
    mixture: Option<ExpertParts>,
) -> Result<Blueprint, Error> {
    let heads = fields.heads(dims.h, 32, Some(8), HeadSize::Derived)?;
    let listed = fields.list("full_attn_idxs")?;
    let all = !fields.given("full_attn_idxs")?;
    let full = fields.layer_kinds(&dims.layers, ["conv", "full_attention"], |layer| {
        all || listed.contains(&layer)
    })?;
    let kernel = fields.size("conv_L_cache", 3)?;
    let conv = ShortConv { kernel, bias: fields.flag("conv_bias", false)? };
    let names = ["q_layernorm", "k_layernorm"];
    let norms = Some(HeadNorms { names, ..HeadNorms::of_a_head(heads) });
    let attention = Grouped { norms, ..Grouped::new(heads) };
    let mixers: Vec<(_, Box<dyn Mixer>)> =
        vec![(full.others(), Box::new(conv)), (full, Box::new(attention))];
    let decoder = Decoder {
        norms: &["operator_norm", "ffn_norm"],
        last_norm: "model.embedding_norm",
        mlp: "feed_forward",
        feed: Feed::Gated(FEED),
        mixture,
        ..Decoder::mixed(dims, mixers)
    };
    Ok(decoder.finish())
}
