//! Nemotron-H: layers of one block each, after one norm: a state space, attention, a feed-forward block, or experts without gates.

use repro_core::source::Error;

use crate::params::Layers;
use crate::params::attention::{Grouped, Mamba2, Mixer};
use crate::params::blocks::Heads;
use crate::params::decoder::{Block, Decoder, ExpertParts, Feed, SizedFeed, StoredAs};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Size};

/// The family.
pub static FAMILY: Family = Family {
    id: "nemotron_h",
    model_types: &["nemotron_h"],
    architectures: &["NemotronHForCausalLM"],
    inert: &[
        "chunk_size",
        "expand",
        "hidden_dropout",
        "mamba_hidden_act",
        "mamba_proj_bias",
        "mamba_ssm_cache_dtype",
        "moe_shared_expert_overlap",
        "mtp_hybrid_override_pattern",
        "mtp_layers_block_type",
        "n_group",
        "norm_topk_prob",
        "rescale_prenorm_residual",
        "residual_in_fp32",
        "routed_scaling_factor",
        "time_step_floor",
        "time_step_limit",
        "time_step_max",
        "time_step_min",
        "time_step_rank",
        "topk_group",
        "use_mamba_kernels",
        // Layers for multi-token prediction have a pattern of their own and are not counted.
        "num_nextn_predict_layers",
    ],
    looks_like: never,
    read,
};

/// The block of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    State,
    Attention,
    Dense,
    Experts,
}

impl Kind {
    fn of_letter(letter: char) -> Option<Self> {
        match letter {
            'M' => Some(Kind::State),
            '*' => Some(Kind::Attention),
            '-' => Some(Kind::Dense),
            'E' => Some(Kind::Experts),
            _ => None,
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        match word {
            "mamba" | "linear_attention" => Some(Kind::State),
            "attention" | "full_attention" => Some(Kind::Attention),
            "mlp" => Some(Kind::Dense),
            "moe" => Some(Kind::Experts),
            _ => None,
        }
    }
}

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let kinds = kinds(fields)?;
    let is = |kind: Kind| {
        let kinds = &kinds;
        move |layer: u64| kinds.get(layer as usize) == Some(&kind)
    };
    let layers = Layers::new(kinds.len() as u64, is(Kind::Experts));
    if layers.all() != fields.size_or("num_hidden_layers", layers.all(), layers.all())? {
        return Err(fields.impossible("num_hidden_layers", "the length of the layer pattern"));
    }
    let h = fields.size("hidden_size", 4096)?;
    let dense = layers.set(is(Kind::Dense));
    let width = fields.width("intermediate_size", 21_504, dense.count())?;
    let v = fields.size("vocab_size", 131_072)?;
    // The reference never ties the two.
    fields.off("tie_word_embeddings")?;
    let bias = fields.flag("mlp_bias", false)?;
    if bias && layers.sparse() != Size::ZERO {
        return Err(fields.unsupported("mlp_bias", "`mlp_bias` off in a model with experts"));
    }
    fields.off("attention_bias")?;
    let mixers: Vec<(_, Box<dyn Mixer>)> = vec![
        (layers.set(is(Kind::State)), Box::new(mamba(fields)?)),
        (layers.set(is(Kind::Attention)), Box::new(attention(fields)?)),
    ];
    let mixture = mixture(fields, &layers)?;
    let feed = SizedFeed { part: Part::DenseFfn, below: "mixer", width, is_gated: false, bias };
    let blocks: Vec<(_, Box<dyn Block>)> = vec![(dense, Box::new(feed))];
    // There is no common width of layers without experts, most of which have no feed-forward block.
    let dims = Dims { v, h, i: width, layers, tied: false };
    let decoder = Decoder {
        norms: &["norm"],
        last_norm: "model.norm_f",
        feed: Feed::None,
        blocks,
        mixture,
        ..Decoder::mixed(dims, mixers)
    };
    Ok(decoder.finish())
}

fn kinds(fields: &ConfigFields<'_>) -> Result<Vec<Kind>, Error> {
    let names = "hybrid_override_pattern";
    if let Some(pattern) = fields.word_of(names)? {
        let kinds: Option<Vec<_>> = pattern.chars().map(Kind::of_letter).collect();
        let known = kinds.filter(|kinds| !kinds.is_empty() && kinds.len() <= 1 << 16);
        return known.ok_or_else(|| fields.impossible(names, "a letter of `M*-E` for each layer"));
    }
    let names = "layers_block_type|layer_types";
    let Some(words) = fields.words(names)? else {
        return Err(fields.unsupported(names, "`hybrid_override_pattern` or `layers_block_type`"));
    };
    let kinds: Option<Vec<_>> = words.into_iter().map(Kind::of_word).collect();
    let known = kinds.filter(|kinds| !kinds.is_empty());
    known.ok_or_else(|| fields.unsupported(names, "layers of a known kind"))
}

fn mamba(fields: &ConfigFields<'_>) -> Result<Mamba2, Error> {
    let heads = fields.size("mamba_num_heads", 128)?;
    Ok(Mamba2 {
        heads,
        inner: heads * fields.size("mamba_head_dim", 64)?,
        groups: fields.size("n_groups", 8)?,
        state: fields.size("ssm_state_size", 128)?,
        kernel: fields.size("conv_kernel", 4)?,
        conv_bias: fields.flag("use_conv_bias", true)?,
        bias: fields.flag("use_bias", false)?,
        normed: true,
    })
}

fn attention(fields: &ConfigFields<'_>) -> Result<Grouped, Error> {
    let count = fields.size("num_attention_heads", 32)?;
    let key_value = fields.size("num_key_value_heads", 8)?;
    // The first releases call it otherwise, and the reference does not read that name.
    let size = fields.size("head_dim|attention_head_dim", 128)?;
    if !fields.given("head_dim")? && size != Size::from(128) {
        return Err(fields.unsupported("attention_head_dim", "`head_dim`, or 128"));
    }
    Ok(Grouped::new(Heads { count, key_value, size }))
}

fn mixture(fields: &ConfigFields<'_>, layers: &Layers) -> Result<Option<ExpertParts>, Error> {
    let all = ("n_routed_experts|num_local_experts", 8);
    let experts = fields.experts_of(layers, all, ("num_experts_per_tok", 2))?;
    let width = fields.width("moe_intermediate_size", 7688, layers.sparse())?;
    let name = "moe_shared_expert_intermediate_size";
    let shared = fields.width(name, 7688, layers.sparse())?;
    fields.count_or_none("n_shared_experts", 1)?;
    let latent = fields.size_if_any("moe_latent_size")?;
    let parts = ExpertParts {
        router: "mixer.gate",
        stored: StoredAs::Stacked("mixer.experts"),
        shared_name: "mixer.shared_experts",
        is_gated: false,
        latent,
        ..ExpertParts::new(experts, width).sharing(1.into(), shared)
    };
    Ok((layers.sparse() != Size::ZERO).then_some(parts))
}
