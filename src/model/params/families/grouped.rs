//! Families that differ from Llama only in values: defaults, biases, norm positions, and whether the feed-forward block has
//! a gate. Each is a row.

use repro_core::source::Error;

use crate::params::attention::{Grouped, HeadNorms};
use crate::params::decoder::{Decoder, Feed};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// Whether something is there.
enum Switch {
    Always,
    Never,
    /// From a field, with its default.
    Field(&'static str, bool),
}

/// Norms over queries and keys.
enum Inner {
    None,
    /// Per head.
    Head,
    /// Over all heads, if the field is on.
    AllIf(&'static str),
}

/// One row per family.
struct Row {
    defaults: Defaults,
    heads: u64,
    key_value: Option<u64>,
    size: HeadSize,
    /// Biases of queries, keys and values.
    input_bias: Switch,
    output_bias: Switch,
    inner: Inner,
    norms: &'static [&'static str],
    norm_bias: bool,
    last_norm: &'static str,
    feed: Feed,
    mlp_bias: Switch,
    head_bias: bool,
}

const LLAMA: Row = Row {
    defaults: defaults(32_000, 4096, 11_008, 32),
    heads: 32,
    key_value: None,
    size: HeadSize::Derived,
    input_bias: BIAS,
    output_bias: BIAS,
    inner: Inner::None,
    norms: crate::params::blocks::PRE_NORMS,
    norm_bias: false,
    last_norm: "model.norm",
    feed: Feed::Gated(["gate_proj", "up_proj", "down_proj"]),
    mlp_bias: Switch::Field("mlp_bias", false),
    head_bias: false,
};
const BIAS: Switch = Switch::Field("attention_bias", false);
const POST_NORMS: &[&str] = &["post_attention_layernorm", "post_feedforward_layernorm"];

const fn defaults(vocabulary: u64, hidden: u64, width: u64, layers: u64) -> Defaults {
    Defaults { vocabulary, hidden, width, layers, tied: false }
}

const fn tied(vocabulary: u64, hidden: u64, width: u64, layers: u64) -> Defaults {
    Defaults { vocabulary, hidden, width, layers, tied: true }
}

impl Switch {
    fn read(&self, fields: &ConfigFields<'_>) -> Result<bool, Error> {
        match self {
            Switch::Always => Ok(true),
            Switch::Never => Ok(false),
            Switch::Field(name, default) => fields.flag(name, *default),
        }
    }
}

impl Row {
    fn read(self, fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
        let dims = fields.dims(self.defaults, |_| false)?;
        let heads = fields.heads(dims.h, self.heads, self.key_value, self.size)?;
        let norms = match self.inner {
            Inner::None => None,
            Inner::Head => Some(HeadNorms::of_a_head(heads)),
            Inner::AllIf(name) => fields.flag(name, false)?.then(|| HeadNorms::of_all_heads(heads)),
        };
        let attention = Grouped {
            input_bias: self.input_bias.read(fields)?,
            output_bias: self.output_bias.read(fields)?,
            norms,
            ..Grouped::new(heads)
        };
        let mlp_bias = self.mlp_bias.read(fields)?;
        let Row { norms, norm_bias, last_norm, feed, head_bias, .. } = self;
        let decoder = Decoder::new(dims, attention);
        Ok(Decoder { norms, norm_bias, last_norm, feed, mlp_bias, head_bias, ..decoder }.finish())
    }
}

/// Families by their rows.
macro_rules! rows {
    ($($name:ident = $types:expr, $architectures:expr, $inert:expr, $row:expr;)*) => {
        $(static $name: Family = Family {
            id: { const TYPES: &[&str] = $types; TYPES[0] },
            model_types: $types,
            architectures: $architectures,
            inert: $inert,
            looks_like: never,
            read: |fields| $row.read(fields),
        };)*
        /// Every row.
        pub static FAMILIES: &[&Family] = &[$(&$name),*];
    };
}

rows! {
    SEED_OSS = &["seed_oss"], &["SeedOssForCausalLM"], &["residual_dropout"], Row {
        defaults: defaults(155_136, 4096, 27_648, 64),
        heads: 80,
        key_value: Some(8),
        size: HeadSize::Fixed(128),
        input_bias: Switch::Field("attention_bias", true),
        output_bias: Switch::Field("attention_out_bias", false),
        ..LLAMA
    };
    ARCEE = &["arcee"], &["ArceeForCausalLM"], &[], Row {
        defaults: defaults(32_000, 2560, 18_432, 32),
        feed: Feed::Plain(["up_proj", "down_proj"]),
        ..LLAMA
    };
    EXAONE4 = &["exaone4"], &["Exaone4ForCausalLM"], &["sliding_window_pattern"], Row {
        defaults: defaults(102_400, 4096, 16_384, 32),
        key_value: Some(32),
        input_bias: Switch::Never,
        output_bias: Switch::Never,
        mlp_bias: Switch::Never,
        inner: Inner::Head,
        norms: POST_NORMS,
        ..LLAMA
    };
    // Norms without weights.
    OLMO = &["olmo"], &["OlmoForCausalLM"], &["clip_qkv"], Row {
        defaults: defaults(50_304, 4096, 11_008, 32),
        mlp_bias: Switch::Never,
        norms: &[],
        last_norm: "",
        ..LLAMA
    };
    NEMOTRON = &["nemotron"], &["NemotronForCausalLM"], &["norm_eps"], Row {
        defaults: defaults(256_000, 6144, 24_576, 32),
        heads: 48,
        norm_bias: true,
        feed: Feed::Plain(["up_proj", "down_proj"]),
        ..LLAMA
    };
    // Attention and feed-forward block in parallel, after one norm.
    COHERE = &["cohere"], &["CohereForCausalLM"], &["logit_scale"], Row {
        defaults: tied(256_000, 8192, 22_528, 40),
        heads: 64,
        mlp_bias: Switch::Never,
        inner: Inner::AllIf("use_qk_norm"),
        norms: &["input_layernorm"],
        ..LLAMA
    };
    COHERE2 = &["cohere2"], &["Cohere2ForCausalLM"], COHERE2_INERT, Row {
        defaults: tied(256_000, 8192, 22_528, 40),
        heads: 64,
        mlp_bias: Switch::Never,
        norms: &["input_layernorm"],
        ..LLAMA
    };
    PHI = &["phi"], &["PhiForCausalLM"], &["embd_pdrop", "resid_pdrop"], Row {
        defaults: defaults(51_200, 2048, 8192, 24),
        input_bias: Switch::Always,
        output_bias: Switch::Always,
        mlp_bias: Switch::Always,
        norms: &["input_layernorm"],
        norm_bias: true,
        last_norm: "model.final_layernorm",
        feed: Feed::Plain(["fc1", "fc2"]),
        head_bias: true,
        ..LLAMA
    };
    GLM = &["glm"], &["GlmForCausalLM"], &[], Row {
        defaults: defaults(151_552, 4096, 13_696, 40),
        key_value: Some(2),
        size: HeadSize::Fixed(128),
        input_bias: Switch::Field("attention_bias", true),
        output_bias: Switch::Never,
        mlp_bias: Switch::Never,
        feed: Feed::Joined("gate_up_proj"),
        ..LLAMA
    };
    CWM = &["cwm"], &["CwmForCausalLM"], &[], Row {
        defaults: defaults(128_256, 6144, 21_504, 64),
        heads: 48,
        key_value: Some(8),
        size: HeadSize::Fixed(128),
        input_bias: Switch::Never,
        output_bias: Switch::Never,
        ..LLAMA
    };
    VAULTGEMMA = &["vaultgemma"], &["VaultGemmaForCausalLM"], VAULTGEMMA_INERT, Row {
        defaults: tied(256_000, 2304, 9216, 26),
        heads: 8,
        key_value: Some(4),
        size: HeadSize::Fixed(256),
        mlp_bias: Switch::Never,
        norms: &["input_layernorm", "pre_feedforward_layernorm"],
        ..LLAMA
    };
    // The name of the first release of a model whose port is Llama.
    MINICPM = &["minicpm"], &["MiniCPMForCausalLM"], MINICPM_INERT, Row {
        defaults: tied(32_000, 4096, 11_008, 32),
        ..LLAMA
    };
    BAICHUAN = &["baichuan"], &["BaichuanForCausalLM", "BaiChuanForCausalLM"], BAICHUAN_INERT, Row {
        defaults: defaults(125_696, 4096, 11_008, 32),
        input_bias: Switch::Never,
        output_bias: Switch::Never,
        mlp_bias: Switch::Never,
        ..LLAMA
    };
    INTERNLM2 = &["internlm2"], &["InternLM2ForCausalLM"], &["attn_implementation"], Row {
        defaults: defaults(103_168, 4096, 11_008, 32),
        input_bias: Switch::Field("bias", true),
        output_bias: Switch::Field("bias", true),
        mlp_bias: Switch::Never,
        ..LLAMA
    };
}

const COHERE2_INERT: &[&str] = &[
    "cache_implementation",
    "logit_scale",
    "order_of_interleaved_layers",
    "position_embedding_type",
    "rotary_pct",
    "sliding_window_pattern",
    "use_embedding_sharing",
    "use_gated_activation",
    "use_parallel_block",
    "use_parallel_embedding",
];
const VAULTGEMMA_INERT: &[&str] = &[
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "hidden_activation",
    "query_pre_attn_scalar",
];
const MINICPM_INERT: &[&str] = &["dim_model_base", "scale_depth", "scale_emb"];
const BAICHUAN_INERT: &[&str] = &["gradient_checkpointing", "model_max_length", "z_loss_weight"];
