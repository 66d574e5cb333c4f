//! Models of other programs whose `config.json` is read as it is: those of Hugging Face's `transformers` 5.
//!
//! Each field of such a config is read here, or is known to be off, or is refused by name: a model that is only nearly the
//! one of a run would be called another one.

use super::config::{Balancing, Config, Fields, MixtureConfig, UNSUPPORTED};
use crate::ops::{Normed, Vectors};
use repro_portable::router::Gate;
use repro_receipt::source::{Error, Kind, Node};

/// A family of models.
#[derive(Debug, Clone, Copy)]
pub struct ModelFamily {
    model_type: &'static str,
    vectors: Vectors,
    mixture: Option<Experts>,
}

/// How the experts of a family are described.
#[derive(Debug, Clone, Copy)]
struct Experts {
    /// The field with their inner width.
    width: &'static str,
    /// Whether the gates of a token add up to one; none where a field says it.
    normalized: Option<bool>,
}

const PLAIN: Vectors = Vectors { biased: false, normed: Normed::Not };
const BIASED: Vectors = Vectors { biased: true, normed: Normed::Not };
const BY_HEADS: Vectors = Vectors { biased: false, normed: Normed::Heads };
const BY_ROWS: Vectors = Vectors { biased: false, normed: Normed::Rows };
const MIXTRAL: Experts = Experts { width: "intermediate_size", normalized: Some(true) };
const OLMOE: Experts = Experts { width: "intermediate_size", normalized: None };
const QWEN: Experts = Experts { width: "moe_intermediate_size", normalized: None };

const FAMILIES: &[ModelFamily] = &[
    ModelFamily { model_type: "llama", vectors: PLAIN, mixture: None },
    ModelFamily { model_type: "mistral", vectors: PLAIN, mixture: None },
    ModelFamily { model_type: "qwen2", vectors: BIASED, mixture: None },
    ModelFamily { model_type: "qwen3", vectors: BY_HEADS, mixture: None },
    ModelFamily { model_type: "mixtral", vectors: PLAIN, mixture: Some(MIXTRAL) },
    ModelFamily { model_type: "olmoe", vectors: BY_ROWS, mixture: Some(OLMOE) },
    ModelFamily { model_type: "qwen3_moe", vectors: BY_HEADS, mixture: Some(QWEN) },
];

/// The fields that are read of such a config.
pub const READ: &[&str] = &[
    "head_dim",
    "hidden_act",
    "hidden_size",
    "intermediate_size",
    "model_type",
    "moe_intermediate_size",
    "norm_topk_prob",
    "num_attention_heads",
    "num_experts",
    "num_experts_per_tok",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_local_experts",
    "output_router_logits",
    "rms_norm_eps",
    "rope_parameters",
    "rope_theta",
    "router_aux_loss_coef",
    "tie_word_embeddings",
    "vocab_size",
];

/// The family of a config, where it is one of another program.
pub fn of(config: Node<'_>) -> Option<&'static ModelFamily> {
    let named = config.get("model_type")?.text().ok()?;
    FAMILIES.iter().find(|family| family.model_type == named)
}

impl Config {
    /// Reads the fields that shape a model, ours or that of another program; others are left alone.
    pub fn read(node: Node<'_>) -> Result<Self, Error> {
        match of(node) {
            Some(family) => read(family, Fields(node)),
            None => Self::ours(node),
        }
    }
}

/// The model of a config.
fn read(family: &ModelFamily, fields: Fields<'_>) -> Result<Config, Error> {
    fields.word("hidden_act", &[("silu", ()), ("swish", ())])?;
    let heads = fields.size("num_attention_heads")?;
    let hidden_size = fields.size("hidden_size")?;
    let given =
        |field: &str| fields.0.get(field).filter(|node| !matches!(node.value().kind, Kind::Null));
    let head_dim = match given("head_dim") {
        Some(_) => fields.size("head_dim")?,
        None => hidden_size / heads,
    };
    let mixture = family.mixture.map(|experts| mixture(fields, experts)).transpose()?;
    let config = Config {
        vocab_size: fields.size("vocab_size")?,
        hidden_size,
        num_hidden_layers: fields.size("num_hidden_layers")?,
        num_attention_heads: heads,
        num_key_value_heads: fields.size_or("num_key_value_heads", heads)?,
        head_dim,
        intermediate_size: if mixture.is_none() { fields.size("intermediate_size")? } else { 0 },
        tie_word_embeddings: fields.flag_or("tie_word_embeddings", false)?,
        vectors: family.vectors,
        norm_eps: fields.positive("rms_norm_eps")?,
        rope_theta: theta(fields)?,
        seq_len: fields.size("seq_len")?,
        mixture,
    };
    config.check(fields)?;
    Ok(config)
}

/// The base of the rotary angles: a field of its own, or in `rope_parameters`, whose other kinds are not computed here.
fn theta(fields: Fields<'_>) -> Result<f64, Error> {
    let Some(parameters) = fields.0.get("rope_parameters") else {
        return fields.positive("rope_theta");
    };
    parameters.only(&["rope_theta", "rope_type"])?;
    let inner = Fields(parameters);
    if parameters.get("rope_type").is_some() {
        inner.word("rope_type", &[("default", ())])?;
    }
    inner.positive("rope_theta")
}

fn mixture(fields: Fields<'_>, experts: Experts) -> Result<MixtureConfig, Error> {
    let count = if fields.0.get("num_local_experts").is_some() {
        "num_local_experts"
    } else {
        "num_experts"
    };
    let is_balanced = fields.flag_or("output_router_logits", false)?;
    let balancing = match is_balanced && fields.0.get("router_aux_loss_coef").is_some() {
        true => match fields.coefficient_or("router_aux_loss_coef", 0.0)? {
            0.0 => Balancing::None,
            coefficient => Balancing::Joint(coefficient),
        },
        false if is_balanced => {
            let expected = "beside `router_aux_loss_coef`";
            return Err(fields.refuse(&UNSUPPORTED, "output_router_logits", expected));
        }
        false => Balancing::None,
    };
    let mixture = MixtureConfig {
        num_experts: fields.size(count)?,
        num_experts_per_tok: fields.size("num_experts_per_tok")?,
        moe_intermediate_size: fields.size(experts.width)?,
        num_shared_experts: 0,
        num_dense_layers: 0,
        gate: Gate::Softmax,
        norm_topk_prob: match experts.normalized {
            Some(normalized) => normalized,
            None => fields.0.required("norm_topk_prob")?.truth()?,
        },
        balancing,
        z_coefficient: 0.0,
    };
    if mixture.num_experts_per_tok > mixture.num_experts {
        let expected = format!("at most `{count}`, {}", mixture.num_experts);
        return Err(fields.refuse(&UNSUPPORTED, "num_experts_per_tok", expected));
    }
    Ok(mixture)
}
