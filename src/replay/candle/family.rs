//! The families of decoders that the engine knows, and how it reads their configs.

use serde_json::{Map, Value as Json};

use crate::candle::EngineError;
use crate::candle::architecture::{
    ActivationFormula, Architecture, BalanceRule, BlockStyle, ExpertPlan, NanochatNames,
    NormFormula, NormSites,
};
use crate::candle::fields::ConfigTable;
use crate::candle::rotary::{Rotary, RotaryAngles};

/// The most layers: the tape of autograd is walked recursively.
const MOST_LAYERS: usize = 256;

/// Which layers see a window, where `layer_types` does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WindowRule {
    Never,
    All,
    /// The first of two.
    Alternating,
    /// From `max_window_layers` on.
    Later,
}

/// The field of the experts' width, and whether gates are normalised whatever the config says.
#[derive(Debug, Clone, Copy)]
struct ExpertDialect {
    always_normalized: bool,
}

/// A family whose blocks are Llama's.
#[derive(Debug, Clone, Copy)]
struct LlamaFamily {
    model_type: &'static str,
    sites: NormSites,
    window: WindowRule,
    is_gemma: bool,
    experts: Option<ExpertDialect>,
}

const LLAMA: LlamaFamily = LlamaFamily {
    model_type: "llama",
    sites: NormSites::Before,
    window: WindowRule::Never,
    is_gemma: false,
    experts: None,
};
const GATED: Option<ExpertDialect> = Some(ExpertDialect { always_normalized: false });

const FAMILIES: &[LlamaFamily] = &[
    LLAMA,
    LlamaFamily { model_type: "mistral", window: WindowRule::All, ..LLAMA },
    LlamaFamily { model_type: "qwen2", window: WindowRule::Later, ..LLAMA },
    LlamaFamily { model_type: "qwen3", window: WindowRule::Later, ..LLAMA },
    LlamaFamily { model_type: "olmo2", sites: NormSites::After, ..LLAMA },
    LlamaFamily { model_type: "olmo3", sites: NormSites::After, window: WindowRule::All, ..LLAMA },
    LlamaFamily { model_type: "gemma", is_gemma: true, ..LLAMA },
    LlamaFamily {
        model_type: "gemma2",
        sites: NormSites::Both,
        window: WindowRule::Alternating,
        is_gemma: true,
        ..LLAMA
    },
    LlamaFamily {
        model_type: "gemma3_text",
        sites: NormSites::Both,
        window: WindowRule::All,
        is_gemma: true,
        ..LLAMA
    },
    LlamaFamily {
        model_type: "mixtral",
        window: WindowRule::All,
        experts: Some(ExpertDialect { always_normalized: true }),
        ..LLAMA
    },
    LlamaFamily { model_type: "olmoe", experts: GATED, ..LLAMA },
    LlamaFamily { model_type: "qwen3_moe", window: WindowRule::Later, experts: GATED, ..LLAMA },
];

const NANOCHAT: NanochatNames = NanochatNames {
    table: "transformer.wte",
    block: "transformer.h",
    vectors: ["attn.c_q", "attn.c_k", "attn.c_v"],
    output: "attn.c_proj",
    network: ["mlp.c_fc", "mlp.c_proj"],
};
const NANOCHAT_OF_TRANSFORMERS: NanochatNames = NanochatNames {
    table: "model.embed_tokens",
    block: "model.layers",
    vectors: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    output: "self_attn.o_proj",
    network: ["mlp.fc1", "mlp.fc2"],
};

impl Architecture {
    /// Reads a config.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] names the first field that the engine does not implement.
    pub fn read(config: &Map<String, Json>) -> Result<Self, EngineError> {
        let fields = ConfigTable(config);
        let name = fields.word_or("model_type", "")?;
        let family = FAMILIES.iter().find(|family| family.model_type == name);
        let plan = match (name, family) {
            (_, Some(family)) => llama(family, fields)?,
            ("repro-llama" | "repro-llama-moe", _) => own(fields, name == "repro-llama-moe")?,
            ("gpt2", _) => gpt2(fields)?,
            ("nanogpt", _) => nanogpt(fields)?,
            ("nanochat", _) if fields.get("n_embd").is_some() => nanochat(fields)?,
            ("nanochat", _) => nanochat_of_transformers(fields)?,
            _ => {
                let known: Vec<_> = FAMILIES.iter().map(|family| family.model_type).collect();
                let expected =
                    format!("{}, gpt2, nanogpt, nanochat or a model of repro", known.join(", "));
                return Err(fields.refuse("model_type", expected));
            }
        };
        plan.check(fields)
    }

    fn check(self, fields: ConfigTable<'_>) -> Result<Self, EngineError> {
        if self.layers > MOST_LAYERS {
            let name =
                if fields.get("n_layer").is_some() { "n_layer" } else { "num_hidden_layers" };
            return Err(fields.refuse(name, format!("at most {MOST_LAYERS}")));
        }
        if !self.heads.is_multiple_of(self.shared_heads) {
            let expected = format!("a divisor of {} heads", self.heads);
            return Err(fields.refuse("num_key_value_heads", expected));
        }
        if self.head_size == 0 || self.rotary.is_some() && !self.head_size.is_multiple_of(2) {
            return Err(fields.refuse("head_dim", "an even head width"));
        }
        if let Some(experts) = &self.experts
            && experts.per_token > experts.count
        {
            return Err(fields.refuse("num_experts_per_tok", "at most the number of experts"));
        }
        Ok(self)
    }
}

/// The parts that most families have in common.
fn base(
    fields: ConfigTable<'_>,
    style: BlockStyle,
    names: [&str; 4],
) -> Result<Architecture, EngineError> {
    let [width, layers, heads, head_size] = names;
    let (width, heads) = (fields.size(width)?, fields.size(heads)?);
    let head_size = fields.size_or(head_size, width / heads)?;
    Ok(Architecture {
        style,
        vocabulary: fields.size("vocab_size")?,
        width,
        inner: 4 * width,
        layers: fields.size(layers)?,
        heads,
        shared_heads: heads,
        head_size,
        epsilon: 1e-5,
        is_tied: false,
        norm: NormFormula::Rms,
        activation: ActivationFormula::Silu,
        score_factor: 1.0 / (head_size as f64).sqrt(),
        score_limit: None,
        logit_limit: None,
        embedding_factor: None,
        windows: Vec::new(),
        rotary: None,
        window_rotary: None,
        experts: None,
    })
}

const OF_LLAMA: [&str; 4] = ["hidden_size", "num_hidden_layers", "num_attention_heads", "head_dim"];
const OF_GPT: [&str; 4] = ["n_embd", "n_layer", "n_head", "head_dim"];

fn llama(family: &LlamaFamily, fields: ConfigTable<'_>) -> Result<Architecture, EngineError> {
    let mut plan = base(fields, BlockStyle::Llama(family.sites), OF_LLAMA)?;
    plan.shared_heads = fields.size_or("num_key_value_heads", plan.heads)?;
    plan.epsilon = fields.positive("rms_norm_eps")?;
    plan.is_tied = fields.flag_or("tie_word_embeddings", family.is_gemma)?;
    plan.windows = windows(family.window, fields, plan.layers)?;
    (plan.rotary, plan.window_rotary) = rotary(fields, plan.head_size)?;
    plan.activation = activation(fields, &["hidden_activation", "hidden_act"])?;
    match family.experts {
        None => plan.inner = fields.size("intermediate_size")?,
        Some(dialect) => plan.experts = Some(experts(fields, dialect)?),
    }
    if plan.experts.is_some() && plan.activation != ActivationFormula::Silu {
        return Err(fields.refuse("hidden_act", "`silu` in experts"));
    }
    if family.is_gemma {
        plan.norm = NormFormula::RmsPlusOne;
        plan.embedding_factor = Some(f64::from((plan.width as f64).sqrt() as f32));
        plan.score_limit = fields.some_positive("attn_logit_softcapping")?;
        plan.logit_limit = fields.some_positive("final_logit_softcapping")?;
        if let Some(scalar) = fields.some_positive("query_pre_attn_scalar")? {
            plan.score_factor = 1.0 / scalar.sqrt();
        }
    }
    Ok(plan)
}

/// A model of repro's trainer.
fn own(fields: ConfigTable<'_>, is_sparse: bool) -> Result<Architecture, EngineError> {
    let mut plan = base(fields, BlockStyle::Llama(NormSites::Before), OF_LLAMA)?;
    plan.shared_heads = fields.size_or("num_key_value_heads", plan.heads)?;
    plan.epsilon = fields.positive("norm_eps")?;
    plan.is_tied = fields.flag_or("tie_word_embeddings", false)?;
    let base = fields.positive("rope_theta")?;
    let angles = RotaryAngles::Wide { base, pairs: plan.head_size / 2 };
    plan.rotary = Some(Rotary { angles, is_reversed: false });
    if !is_sparse {
        plan.inner = fields.size("intermediate_size")?;
        return Ok(plan);
    }
    let balance = match fields.word_or("balancing", "")? {
        "loss" => BalanceRule::Layer(fields.positive("aux_loss_alpha")?),
        "bias" => BalanceRule::Bias(fields.positive("router_bias_update_rate")?),
        "none" => BalanceRule::None,
        _ => return Err(fields.refuse("balancing", "`loss`, `bias` or `none`")),
    };
    let is_sigmoid = match fields.word_or("gate", "")? {
        "softmax" => false,
        "sigmoid" => true,
        _ => return Err(fields.refuse("gate", "`softmax` or `sigmoid`")),
    };
    plan.experts = Some(ExpertPlan {
        count: fields.size("num_experts")?,
        per_token: fields.size("num_experts_per_tok")?,
        is_sigmoid,
        is_normalized: fields.flag_or("norm_topk_prob", false)?,
        has_shared: fields.count_or("num_shared_experts", 0)? > 0,
        dense_layers: fields.count_or("num_dense_layers", 0)?,
        balance,
        z_loss: fields.coefficient("router_z_loss")?,
    });
    Ok(plan)
}

fn gpt2(fields: ConfigTable<'_>) -> Result<Architecture, EngineError> {
    let mut plan = base(fields, BlockStyle::Gpt2 { is_transposed: true }, OF_GPT)?;
    plan.epsilon = fields.positive("layer_norm_epsilon")?;
    plan.is_tied = fields.flag_or("tie_word_embeddings", true)?;
    plan.norm = NormFormula::Layer;
    plan.activation = activation(fields, &["activation_function"])?;
    Ok(plan)
}

fn nanogpt(fields: ConfigTable<'_>) -> Result<Architecture, EngineError> {
    let mut plan = base(fields, BlockStyle::Gpt2 { is_transposed: false }, OF_GPT)?;
    plan.is_tied = true;
    plan.norm = NormFormula::Layer;
    plan.activation = ActivationFormula::Gelu;
    Ok(plan)
}

/// nanochat's own config: the limit of logits and the base of angles stand in its program.
fn nanochat(fields: ConfigTable<'_>) -> Result<Architecture, EngineError> {
    let mut plan = base(fields, BlockStyle::Nanochat(&NANOCHAT), OF_GPT)?;
    plan.shared_heads = fields.size_or("n_kv_head", plan.heads)?;
    // `F.rms_norm` without an epsilon takes that of the type.
    plan.epsilon = f64::from(f32::EPSILON);
    plan.norm = NormFormula::RmsPlain;
    plan.activation = ActivationFormula::ReluSquared;
    plan.logit_limit = Some(15.0);
    let angles = RotaryAngles::plain(10_000.0, plan.head_size);
    plan.rotary = Some(Rotary { angles, is_reversed: true });
    Ok(plan)
}

fn nanochat_of_transformers(fields: ConfigTable<'_>) -> Result<Architecture, EngineError> {
    let mut plan = base(fields, BlockStyle::Nanochat(&NANOCHAT_OF_TRANSFORMERS), OF_LLAMA)?;
    plan.shared_heads = fields.size_or("num_key_value_heads", plan.heads)?;
    plan.epsilon = fields.positive("rms_norm_eps")?;
    plan.is_tied = fields.flag_or("tie_word_embeddings", false)?;
    plan.norm = NormFormula::RmsPlain;
    plan.activation = activation(fields, &["hidden_act"])?;
    plan.logit_limit = fields.some_positive("final_logit_softcapping")?;
    let angles = RotaryAngles::read(fields, plan.head_size)?;
    plan.rotary = Some(Rotary { angles, is_reversed: true });
    Ok(plan)
}

/// A function by its name in transformers, from the first field that is there.
fn activation(fields: ConfigTable<'_>, names: &[&str]) -> Result<ActivationFormula, EngineError> {
    let given = names.iter().find(|name| fields.get(name).is_some());
    let Some(name) = given else { return Ok(ActivationFormula::Silu) };
    match fields.word_or(name, "")? {
        "silu" | "swish" => Ok(ActivationFormula::Silu),
        "gelu" => Ok(ActivationFormula::Gelu),
        "gelu_new" | "gelu_pytorch_tanh" => Ok(ActivationFormula::GeluTanh),
        "relu" => Ok(ActivationFormula::Relu),
        "relu2" => Ok(ActivationFormula::ReluSquared),
        _ => Err(fields.refuse(name, "`silu`, `gelu`, `gelu_new`, `relu` or `relu2`")),
    }
}

fn windows(
    rule: WindowRule,
    fields: ConfigTable<'_>,
    layers: usize,
) -> Result<Vec<Option<usize>>, EngineError> {
    let is_used = fields.flag_or("use_sliding_window", true)?;
    if rule == WindowRule::Never || !is_used || fields.get("sliding_window").is_none() {
        return Ok(Vec::new());
    }
    let size = fields.size("sliding_window")?;
    if let Some(types) = fields.get("layer_types").and_then(Json::as_array) {
        let of_type = |name: &Json| match name.as_str() {
            Some("sliding_attention") => Ok(Some(size)),
            Some("full_attention") => Ok(None),
            _ => Err(fields.refuse("layer_types", "`full_attention` or `sliding_attention`")),
        };
        return types.iter().map(of_type).collect();
    }
    let first = fields.count_or("max_window_layers", 0)?;
    let is_windowed = |layer: usize| match rule {
        WindowRule::Never => false,
        WindowRule::All => true,
        WindowRule::Alternating => layer.is_multiple_of(2),
        WindowRule::Later => layer >= first,
    };
    Ok((0..layers).map(|layer| is_windowed(layer).then_some(size)).collect())
}

/// The rotary embeddings, and those of layers with a window where they are others.
fn rotary(
    fields: ConfigTable<'_>,
    size: usize,
) -> Result<(Option<Rotary>, Option<Rotary>), EngineError> {
    let of = |angles| Some(Rotary { angles, is_reversed: false });
    let parameters = fields.table("rope_parameters");
    let kind = |name: &str| parameters.and_then(|parameters| parameters.table(name));
    let Some((full, sliding)) = kind("full_attention").zip(kind("sliding_attention")) else {
        return Ok((of(RotaryAngles::read(fields, size)?), None));
    };
    let read = |own: ConfigTable<'_>| RotaryAngles::scaled(own, own.positive("rope_theta")?, size);
    Ok((of(read(full)?), of(read(sliding)?)))
}

fn experts(fields: ConfigTable<'_>, dialect: ExpertDialect) -> Result<ExpertPlan, EngineError> {
    let has_local = fields.get("num_local_experts").is_some();
    let balance = if fields.flag_or("output_router_logits", false)? {
        BalanceRule::Joint(fields.coefficient("router_aux_loss_coef")?)
    } else {
        BalanceRule::None
    };
    if !dialect.always_normalized && fields.get("norm_topk_prob").is_none() {
        return Err(fields.refuse("norm_topk_prob", "true or false"));
    }
    Ok(ExpertPlan {
        count: fields.size(if has_local { "num_local_experts" } else { "num_experts" })?,
        per_token: fields.size("num_experts_per_tok")?,
        is_sigmoid: false,
        is_normalized: dialect.always_normalized || fields.flag_or("norm_topk_prob", false)?,
        has_shared: false,
        dense_layers: 0,
        balance,
        z_loss: 0.0,
    })
}
