//! Models of other programs whose config is read as it is: those of Hugging Face's `transformers` 5, nanoGPT's, nanochat's.
//!
//! Each field of such a config is read here, or is known to be off, or is refused by name: a model that is only nearly the
//! one of a run would be called another one.

use super::angles::Angles;
use super::config::{Balancing, Config, MixtureConfig};
use super::fields::{Fields, IMPOSSIBLE, UNSUPPORTED};
use super::variations::{Biases, NormPlace, Structure, Variations};
use crate::ops::{NormKind, Normed};
use crate::recipe::Precision;
use repro_core::source::{Error, Kind, Node};
use repro_kernels::portable::Activation;
use repro_kernels::portable::router::Gate;

/// A family of models.
#[derive(Debug)]
pub struct ModelFamily {
    /// The name in its configs.
    pub model_type: &'static str,
    dialect: Dialect,
}

/// How the config of a family is written.
#[derive(Debug)]
enum Dialect {
    /// As Llama's, with these traits.
    Llama(Traits),
    /// As that of GPT-2 in `transformers`.
    Gpt2,
    /// As nanoGPT's.
    NanoGpt,
    /// As nanochat's own, or as that of `transformers`.
    Nanochat,
}

/// In what families with configs like Llama's differ.
#[derive(Debug)]
struct Traits {
    /// Whether queries, keys and values have biases whatever a field says.
    biased: bool,
    normed: Normed,
    norm: NormKind,
    placed: NormPlace,
    mixture: Option<Experts>,
    window: Window,
    /// Whether the rows of tokens are multiplied by the root of their width, and logits and scores may be capped.
    is_gemma: bool,
}

/// Whether blocks may see a window of tokens alone.
#[derive(Debug, PartialEq)]
enum Window {
    Never,
    /// Where there is a window at all.
    All,
    /// Every second block from the first, where no field says it.
    EverySecond,
    /// The blocks from one on, where no field says it.
    Later,
}

/// How the experts of a family are described.
#[derive(Debug, Clone, Copy)]
struct Experts {
    /// The field with their inner width.
    width: &'static str,
    /// Whether the gates of a token add up to one; none where a field says it.
    normalized: Option<bool>,
}

const LLAMA: Traits = Traits {
    biased: false,
    normed: Normed::Not,
    norm: NormKind::Rms,
    placed: NormPlace::Before,
    mixture: None,
    window: Window::Never,
    is_gemma: false,
};
const GEMMA: Traits = Traits { norm: NormKind::RmsFromOne, is_gemma: true, ..LLAMA };
const MIXTRAL: Experts = Experts { width: "intermediate_size", normalized: Some(true) };
const OLMOE: Experts = Experts { width: "intermediate_size", normalized: None };
const QWEN: Experts = Experts { width: "moe_intermediate_size", normalized: None };

const FAMILIES: &[ModelFamily] = &[
    of_llama("llama", LLAMA),
    of_llama("mistral", Traits { window: Window::All, ..LLAMA }),
    of_llama("qwen2", Traits { biased: true, window: Window::Later, ..LLAMA }),
    of_llama("qwen3", Traits { normed: Normed::Heads, window: Window::Later, ..LLAMA }),
    of_llama("olmo2", Traits { normed: Normed::Rows, placed: NormPlace::After, ..LLAMA }),
    of_llama(
        "olmo3",
        Traits { normed: Normed::Rows, placed: NormPlace::After, window: Window::All, ..LLAMA },
    ),
    of_llama("gemma", GEMMA),
    of_llama("gemma2", Traits { placed: NormPlace::Both, window: Window::EverySecond, ..GEMMA }),
    of_llama(
        "gemma3_text",
        Traits {
            placed: NormPlace::Both,
            window: Window::All,
            normed: Normed::HeadsFromOne,
            ..GEMMA
        },
    ),
    of_llama("mixtral", Traits { mixture: Some(MIXTRAL), window: Window::All, ..LLAMA }),
    of_llama("olmoe", Traits { normed: Normed::Rows, mixture: Some(OLMOE), ..LLAMA }),
    of_llama(
        "qwen3_moe",
        Traits { normed: Normed::Heads, mixture: Some(QWEN), window: Window::Later, ..LLAMA },
    ),
    ModelFamily { model_type: "gpt2", dialect: Dialect::Gpt2 },
    ModelFamily { model_type: "nanogpt", dialect: Dialect::NanoGpt },
    ModelFamily { model_type: "nanochat", dialect: Dialect::Nanochat },
];

const fn of_llama(model_type: &'static str, traits: Traits) -> ModelFamily {
    ModelFamily { model_type, dialect: Dialect::Llama(traits) }
}

/// The fields read from all configs like Llama's.
const OF_LLAMA: &[&str] = &[
    "attention_bias",
    "head_dim",
    "hidden_size",
    "intermediate_size",
    "model_type",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "tie_word_embeddings",
    "vocab_size",
];
/// And of those without experts, which have SiLU, with experts, with windows, of Llama itself, of Gemma.
const OF_DENSE: &[&str] = &["hidden_act"];
const OF_EXPERTS: &[&str] = &[
    "moe_intermediate_size",
    "norm_topk_prob",
    "num_experts",
    "num_experts_per_tok",
    "num_local_experts",
    "output_router_logits",
    "router_aux_loss_coef",
];
const OF_WINDOWS: &[&str] =
    &["layer_types", "max_window_layers", "sliding_window", "use_sliding_window"];
const OF_NETWORKS: &[&str] = &["mlp_bias"];
const OF_GEMMA: &[&str] = &[
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "hidden_activation",
    "query_pre_attn_scalar",
];
const OF_GPT2: &[&str] = &[
    "activation_function",
    "layer_norm_epsilon",
    "model_type",
    "n_embd",
    "n_head",
    "n_inner",
    "n_layer",
    "n_positions",
    "tie_word_embeddings",
    "vocab_size",
];
const OF_NANOGPT: &[&str] =
    &["bias", "block_size", "model_type", "n_embd", "n_head", "n_layer", "vocab_size"];
const OF_NANOCHAT: &[&str] = &[
    "final_logit_softcapping",
    "head_dim",
    "hidden_act",
    "hidden_size",
    "intermediate_size",
    "model_type",
    "n_embd",
    "n_head",
    "n_kv_head",
    "n_layer",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "rms_norm_eps",
    "rope_parameters",
    "rope_theta",
    // Positions that tables reach: more than are used change nothing.
    "sequence_len",
    "tie_word_embeddings",
    "vocab_size",
];

impl ModelFamily {
    /// All of them.
    pub fn all() -> &'static [Self] {
        FAMILIES
    }

    /// The fields of its configs that are read.
    pub fn fields(&self) -> impl Iterator<Item = &'static str> {
        let lists: Vec<&[&str]> = match &self.dialect {
            Dialect::Llama(traits) => {
                let lists = [
                    (true, OF_LLAMA),
                    (traits.mixture.is_none(), OF_DENSE),
                    (traits.mixture.is_some(), OF_EXPERTS),
                    (traits.window != Window::Never, OF_WINDOWS),
                    (self.model_type == "llama", OF_NETWORKS),
                    (traits.is_gemma, OF_GEMMA),
                ];
                lists.into_iter().filter(|(has, _)| *has).map(|(_, list)| list).collect()
            }
            Dialect::Gpt2 => vec![OF_GPT2],
            Dialect::NanoGpt => vec![OF_NANOGPT],
            Dialect::Nanochat => vec![OF_NANOCHAT],
        };
        lists.into_iter().flatten().copied()
    }

    /// Whether a field of its configs is read.
    pub fn reads(&self, field: &str) -> bool {
        self.fields().any(|own| own == field)
    }
}

/// The family of a config, where it is one of another program.
pub fn of(config: Node<'_>) -> Option<&'static ModelFamily> {
    let named = config.get("model_type")?.text().ok()?;
    FAMILIES.iter().find(|family| family.model_type == named)
}

impl Config {
    /// Reads the fields that shape a model, ours or that of another program; others are left alone.
    pub fn read(node: Node<'_>) -> Result<Self, Error> {
        let fields = Fields(node);
        let Some(family) = of(node) else { return Self::ours(node) };
        let config = match &family.dialect {
            Dialect::Llama(traits) => llama(traits, fields)?,
            Dialect::Gpt2 => gpt2(fields)?,
            Dialect::NanoGpt => nanogpt(fields)?,
            Dialect::Nanochat if given(fields, "n_embd") => nanochat(fields)?,
            Dialect::Nanochat => nanochat_of_transformers(fields)?,
        };
        config.check(fields)?;
        Ok(config)
    }
}

/// Whether a field is there and not null.
fn given(fields: Fields<'_>, name: &str) -> bool {
    fields.0.get(name).is_some_and(|node| !matches!(node.value().kind, Kind::Null))
}

/// A number above 0, where one is given.
fn some_positive(fields: Fields<'_>, name: &str) -> Result<Option<f64>, Error> {
    given(fields, name).then(|| fields.positive(name)).transpose()
}

/// The width of a head: a field, or as many of the row as there are heads.
fn head_dim(fields: Fields<'_>, width: usize, heads: usize) -> Result<usize, Error> {
    match given(fields, "head_dim") {
        true => fields.size("head_dim"),
        false => Ok(width / heads),
    }
}

/// A function by its name in `transformers`.
fn activation(fields: Fields<'_>, field: &str) -> Result<Activation, Error> {
    const NAMES: &[(&str, Activation)] = &[
        ("silu", Activation::Silu),
        ("swish", Activation::Silu),
        ("gelu", Activation::Gelu),
        ("gelu_new", Activation::GeluTanh),
        ("gelu_pytorch_tanh", Activation::GeluTanh),
        ("relu", Activation::Relu),
        ("relu2", Activation::ReluSquared),
    ];
    fields.word(field, NAMES)
}

/// The model of a config like Llama's.
fn llama(traits: &Traits, fields: Fields<'_>) -> Result<Config, Error> {
    let heads = fields.size("num_attention_heads")?;
    let hidden_size = fields.size("hidden_size")?;
    let head_dim = head_dim(fields, hidden_size, heads)?;
    let num_hidden_layers = fields.size("num_hidden_layers")?;
    let mixture = traits.mixture.map(|experts| mixture(fields, experts)).transpose()?;
    let is_biased = fields.flag_or("attention_bias", false)?;
    let function =
        if given(fields, "hidden_activation") { "hidden_activation" } else { "hidden_act" };
    let activation = match mixture {
        // Another function is a setting that no replay reads.
        Some(_) => Activation::Silu,
        None => activation(fields, function)?,
    };
    let windows = windows(&traits.window, fields, num_hidden_layers)?;
    let (angles, window_angles) = angles(fields, head_dim)?;
    let scale = match traits.is_gemma {
        true => some_positive(fields, "query_pre_attn_scalar")?.map(|of| 1.0 / of.sqrt()),
        false => None,
    };
    let cap = |name: &str| match traits.is_gemma {
        true => some_positive(fields, name),
        false => Ok(None),
    };
    let variations = Variations {
        structure: Structure::Llama,
        norm: traits.norm,
        placed: traits.placed,
        normed: traits.normed,
        biased: Biases {
            vectors: traits.biased || is_biased,
            output: is_biased,
            network: fields.flag_or("mlp_bias", false)?,
        },
        activation,
        scale,
        scores_cap: cap("attn_logit_softcapping")?,
        logits_cap: cap("final_logit_softcapping")?,
        // The root is taken in float64 and rounded once, there as here.
        embedding_scale: traits.is_gemma.then(|| libm::sqrt(hidden_size as f64)),
        windows,
        window_angles,
    };
    Ok(Config {
        vocab_size: fields.size("vocab_size")?,
        hidden_size,
        num_hidden_layers,
        num_attention_heads: heads,
        num_key_value_heads: fields.size_or("num_key_value_heads", heads)?,
        head_dim,
        intermediate_size: if mixture.is_none() { fields.size("intermediate_size")? } else { 0 },
        tie_word_embeddings: fields.flag_or("tie_word_embeddings", traits.is_gemma)?,
        norm_eps: fields.positive("rms_norm_eps")?,
        angles: Some(angles),
        seq_len: fields.size("seq_len")?,
        mixture,
        variations,
        precision: Precision::default(),
        rounding_seed: None,
    })
}

/// The angles, and those of blocks with a window where they are others.
fn angles(fields: Fields<'_>, head_dim: usize) -> Result<(Angles, Option<Angles>), Error> {
    let parameters = fields.0.get("rope_parameters");
    let kind = |name: &str| parameters.and_then(|parameters| parameters.get(name));
    let Some((full, sliding)) = kind("full_attention").zip(kind("sliding_attention")) else {
        return Ok((Angles::read(fields, head_dim)?, None));
    };
    let of = |node: Node<'_>| {
        let inner = Fields(node);
        Angles::scaled(inner, inner.positive("rope_theta")?, head_dim)
    };
    Ok((of(full)?, Some(of(sliding)?)))
}

/// How many tokens each block sees; an empty list where all see all.
fn windows(
    window: &Window,
    fields: Fields<'_>,
    layers: usize,
) -> Result<Vec<Option<usize>>, Error> {
    let is_off =
        given(fields, "use_sliding_window") && !fields.flag_or("use_sliding_window", true)?;
    if *window == Window::Never || is_off || !given(fields, "sliding_window") {
        return Ok(Vec::new());
    }
    let size = fields.size("sliding_window")?;
    if given(fields, "layer_types") {
        let types = fields.0.required("layer_types")?.items()?;
        let is_windowed = |node: Node<'_>| match node.text()? {
            "sliding_attention" => Ok(Some(size)),
            "full_attention" => Ok(None),
            _ => {
                let expected = "`full_attention` or `sliding_attention`";
                Err(UNSUPPORTED.at(node.place(), expected, node.printed()?))
            }
        };
        let all: Vec<_> = types.map(is_windowed).collect::<Result<_, Error>>()?;
        return match all.len() == layers {
            true => Ok(all),
            false => {
                let expected = format!("one for each of {layers} layers");
                Err(fields.refuse(&IMPOSSIBLE, "layer_types", expected))
            }
        };
    }
    let first = match window {
        Window::Later => fields.count_or("max_window_layers", 0)?,
        _ => 0,
    };
    let is_windowed = |layer: usize| match window {
        Window::EverySecond => layer.is_multiple_of(2),
        _ => layer >= first,
    };
    Ok((0..layers).map(|layer| is_windowed(layer).then_some(size)).collect())
}

/// The experts of such a config.
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
            let expected = "together with `router_aux_loss_coef`";
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

/// The common fields of GPT-2, nanoGPT and nanochat configs: a model of one width.
fn of_width(fields: Fields<'_>, variations: Variations) -> Result<Config, Error> {
    let (hidden_size, heads) = (fields.size("n_embd")?, fields.size("n_head")?);
    if !hidden_size.is_multiple_of(heads) {
        let expected = format!("a multiple of `n_head`, {heads}");
        return Err(fields.refuse(&IMPOSSIBLE, "n_embd", expected));
    }
    Ok(Config {
        vocab_size: fields.size("vocab_size")?,
        hidden_size,
        num_hidden_layers: fields.size("n_layer")?,
        num_attention_heads: heads,
        num_key_value_heads: heads,
        head_dim: hidden_size / heads,
        intermediate_size: 4 * hidden_size,
        tie_word_embeddings: true,
        norm_eps: 1e-5,
        angles: None,
        seq_len: fields.size("seq_len")?,
        mixture: None,
        variations,
        precision: Precision::default(),
        rounding_seed: None,
    })
}

/// Learned positions, at least as many as a sequence has tokens.
fn positions(fields: Fields<'_>, name: &str) -> Result<usize, Error> {
    let (count, length) = (fields.size(name)?, fields.size("seq_len")?);
    match count >= length {
        true => Ok(count),
        false => {
            let expected = format!("at least `seq_len`, {length}");
            Err(fields.refuse(&IMPOSSIBLE, name, expected))
        }
    }
}

const ALL_BIASED: Biases = Biases { vectors: true, output: true, network: true };

fn gpt2(fields: Fields<'_>) -> Result<Config, Error> {
    let variations = Variations {
        structure: Structure::Gpt2 { turned: true, positions: positions(fields, "n_positions")? },
        norm: NormKind::LayerBiased,
        biased: ALL_BIASED,
        activation: activation(fields, "activation_function")?,
        ..Variations::default()
    };
    let config = of_width(fields, variations)?;
    let intermediate_size = match given(fields, "n_inner") {
        true => fields.size("n_inner")?,
        false => config.intermediate_size,
    };
    Ok(Config {
        intermediate_size,
        tie_word_embeddings: fields.flag_or("tie_word_embeddings", true)?,
        norm_eps: fields.positive("layer_norm_epsilon")?,
        ..config
    })
}

fn nanogpt(fields: Fields<'_>) -> Result<Config, Error> {
    let is_biased = fields.0.required("bias")?.truth()?;
    let variations = Variations {
        structure: Structure::Gpt2 { turned: false, positions: positions(fields, "block_size")? },
        norm: if is_biased { NormKind::LayerBiased } else { NormKind::Layer },
        biased: if is_biased { ALL_BIASED } else { Biases::default() },
        activation: Activation::Gelu,
        ..Variations::default()
    };
    of_width(fields, variations)
}

/// The common fields of both dialects of nanochat.
fn of_nanochat(is_original: bool, cap: Option<f64>) -> Variations {
    Variations {
        structure: Structure::Nanochat { is_original },
        norm: NormKind::RmsAlone,
        normed: Normed::HeadsAlone,
        activation: Activation::ReluSquared,
        logits_cap: cap,
        ..Variations::default()
    }
}

fn nanochat(fields: Fields<'_>) -> Result<Config, Error> {
    let config = of_width(fields, of_nanochat(true, Some(15.0)))?;
    Ok(Config {
        num_key_value_heads: fields.size_or("n_kv_head", config.num_attention_heads)?,
        tie_word_embeddings: false,
        // What PyTorch takes where a norm has no epsilon.
        norm_eps: f64::from(f32::EPSILON),
        angles: Some(Angles::narrow(10_000.0, config.head_dim).turned()),
        ..config
    })
}

fn nanochat_of_transformers(fields: Fields<'_>) -> Result<Config, Error> {
    let hidden_size = fields.size("hidden_size")?;
    let heads = fields.size("num_attention_heads")?;
    let head_dim = head_dim(fields, hidden_size, heads)?;
    let cap = some_positive(fields, "final_logit_softcapping")?;
    let function = activation(fields, "hidden_act")?;
    Ok(Config {
        vocab_size: fields.size("vocab_size")?,
        hidden_size,
        num_hidden_layers: fields.size("num_hidden_layers")?,
        num_attention_heads: heads,
        num_key_value_heads: fields.size_or("num_key_value_heads", heads)?,
        head_dim,
        intermediate_size: fields.size("intermediate_size")?,
        tie_word_embeddings: fields.flag_or("tie_word_embeddings", false)?,
        norm_eps: fields.positive("rms_norm_eps")?,
        angles: Some(Angles::read(fields, head_dim)?.turned()),
        seq_len: fields.size("seq_len")?,
        mixture: None,
        variations: Variations { activation: function, ..of_nanochat(false, cap) },
        precision: Precision::default(),
        rounding_seed: None,
    })
}
