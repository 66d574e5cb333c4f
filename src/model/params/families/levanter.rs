//! The models of Levanter and Marin's speedruns, as recorded in `model_config`: Llama, Llama with parallel blocks, OLMo-2,
//! Qwen2, Qwen3, Mixtral, and the hackable transformer with its sinks, gates and delta networks.
//!
//! A record does not contain its class name, so the class is recognized by fields that only it has. Everything that the
//! class builds is counted, including parameters that the class's own estimate omits.

use repro_core::source::{Error, Node};

use crate::params::attention::{DeltaNet, Grouped, HeadNorms, Mixer, OutputGate};
use crate::params::blocks::Heads;
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{LayerSet, Size, UNSUPPORTED};

/// Fields that do not affect shapes in any of these classes.
const INERT: &[&str] = &[
    "activation_function",
    "attention_dropout",
    "attn_backend",
    "cross_entropy_block_size",
    "flash_attention_block_size",
    "gdn_chunk_size",
    "gdn_segment_size",
    "gradient_checkpointing",
    "layer_norm_epsilon",
    "lbl_coef",
    "max_seq_len",
    "max_window_layers",
    "reference_checkpoint",
    "rope",
    "rzl_coef",
    "scan_layers",
    "seq_len",
    "tokenizer",
    "upcast_attn",
    "use_flash_attention",
];

/// Whether a dict has the fields that all classes share.
fn any(root: Node<'_>) -> bool {
    let fields = ["hidden_dim", "intermediate_dim", "num_layers", "num_heads"];
    fields.iter().all(|key| root.get(key).is_some())
}

/// Whether one of the fields is present; null counts, because records include disabled options.
fn names(root: Node<'_>, fields: &[&str]) -> bool {
    root.members().is_ok_and(|mut members| members.any(|(key, _)| fields.contains(&key)))
}

/// A class that has one of the fields `$only`, which those listed before it lack.
const fn class(
    id: &'static str,
    model_types: &'static [&'static str],
    looks_like: fn(Node<'_>) -> bool,
    read: fn(&ConfigFields<'_>) -> Result<Blueprint, Error>,
) -> Family {
    Family { id, model_types, architectures: &[], inert: INERT, looks_like, read }
}

/// Mixtral.
pub static MIXTRAL: Family = class(
    "levanter-mixtral",
    &["levanter-mixtral"],
    |root| any(root) && names(root, &["n_routed_experts"]),
    |fields| Ok(Class::read(fields, true)?.decoder(fields)?.finish()),
);

/// Llama with attention and feed-forward block in parallel, after one norm.
pub static PARALLEL: Family = class(
    "levanter-parallel-llama",
    &["levanter-parallel-llama"],
    |root| any(root) && names(root, &["use_parallel_blocks"]),
    |fields| {
        // Off, the blocks follow each other but still share the norm.
        fields.flag("use_parallel_blocks", true)?;
        let class = Class::read(fields, false)?;
        Ok(Decoder { norms: &["input_layernorm"], ..class.decoder(fields)? }.finish())
    },
);

/// The hackable transformer, with the variants of its sinks, gates and delta networks.
pub static HACKABLE: Family = class(
    "levanter-hackable",
    &["levanter-hackable"],
    |root| any(root) && names(root, HACKABLE_FIELDS),
    |fields| {
        let mut class = Class::read(fields, false)?;
        if fields.given("qk_norm")? {
            class.attention = class.attention.normed();
        }
        class.attention.sinks = fields.flag("use_attention_sink", false)?;
        class.attention.gate = gate(fields, class.attention.heads)?;
        class.delta = delta(fields, &class)?;
        Ok(class.decoder(fields)?.finish())
    },
);

const HACKABLE_FIELDS: &[&str] =
    &["qk_norm", "use_attention_sink", "use_gated_attention", "use_gated_deltanet"];

/// Qwen2, with biases on queries, keys and values regardless of the config.
pub static QWEN2: Family = class(
    "levanter-qwen2",
    &["levanter-qwen2"],
    |root| any(root) && names(root, &["max_window_layers"]),
    |fields| {
        let mut class = Class::read(fields, false)?;
        class.attention.input_bias = true;
        class.attention.output_bias = false;
        Ok(class.decoder(fields)?.finish())
    },
);

/// Qwen3, with norms on queries and keys regardless of `use_qk_norm`.
pub static QWEN3: Family = class(
    "levanter-qwen3",
    &["levanter-qwen3"],
    |root| any(root) && names(root, &["use_sliding_window"]),
    |fields| {
        let mut class = Class::read(fields, false)?;
        fields.flag("use_qk_norm", true)?;
        class.attention = class.attention.normed();
        Ok(class.decoder(fields)?.finish())
    },
);

/// OLMo-2, with norms over all queries and all keys, and after each half of a layer.
pub static OLMO2: Family = class(
    "levanter-olmo2",
    &["levanter-olmo2"],
    |root| any(root) && names(root, &["attention_bias"]),
    |fields| {
        let mut class = Class::read(fields, false)?;
        let norms = Some(HeadNorms::of_all_heads(class.attention.heads));
        let bias = fields.flag("attention_bias", false)?;
        class.attention = Grouped { norms, ..class.attention.biased(bias) };
        let norms = &["post_attention_layernorm", "post_feedforward_layernorm"];
        Ok(Decoder { norms, ..class.decoder(fields)? }.finish())
    },
);

/// Llama.
pub static LLAMA: Family = class("levanter-llama", &["levanter-llama"], any, |fields| {
    let mut class = Class::read(fields, false)?;
    if fields.flag("use_qk_norm", false)? {
        class.attention = class.attention.normed();
    }
    Ok(class.decoder(fields)?.finish())
});

/// The fields that all classes have.
struct Class {
    dims: Dims,
    attention: Grouped,
    /// Delta networks, and their layers.
    delta: Option<(LayerSet, DeltaNet)>,
    bias: bool,
    sparse: bool,
}

impl Class {
    fn read(fields: &ConfigFields<'_>, sparse: bool) -> Result<Self, Error> {
        let h = fields.required("hidden_dim")?;
        let count = fields.required("num_heads")?;
        let key_value = fields.size_or("num_kv_heads", count, count)?;
        if count.split(key_value).is_none() {
            let expected = "a divisor of the number of query heads";
            return Err(fields.impossible("num_kv_heads", expected));
        }
        let size = match fields.size_if_any("head_dim")? {
            Some(size) => size,
            None => fields.head_size("num_heads", h, count)?,
        };
        let dims = Dims {
            v: fields.required("vocab_size")?,
            h,
            i: fields.required("intermediate_dim")?,
            layers: fields.required_layers("num_layers", |_| sparse)?,
            tied: fields.flag("tie_word_embeddings", false)?,
        };
        if !fields.flag("use_layer_norm_weight", true)? {
            return Err(fields.unsupported("use_layer_norm_weight", "norms with weights"));
        }
        let bias = fields.flag("use_bias", false)?;
        let attention = Grouped::new(Heads { count, key_value, size }).biased(bias);
        Ok(Self { dims, attention, delta: None, bias, sparse })
    }

    fn decoder(self, fields: &ConfigFields<'_>) -> Result<Decoder, Error> {
        let norms: &[&str] = match fields.flag("hybrid_norm", false)? {
            true => HYBRID,
            false => crate::params::blocks::PRE_NORMS,
        };
        if self.bias && (self.sparse || self.attention.norms.is_some()) {
            return Err(fields.unsupported("use_bias", "`use_bias` off in this class"));
        }
        let mixture = match self.sparse {
            true => Some(mixture(fields, self.dims.i)?),
            false => None,
        };
        let embedding_norm = fields.flag("input_embedding_norm", false)?;
        let all = self.dims.layers.set(|_| true);
        let mixers: Vec<(_, Box<dyn Mixer>)> = match self.delta {
            None => vec![(all, Box::new(self.attention))],
            Some((set, delta)) => {
                vec![(set.others(), Box::new(self.attention)), (set, Box::new(delta))]
            }
        };
        let bias = self.bias;
        let decoder = Decoder::mixed(self.dims, mixers);
        Ok(Decoder { norms, norm_bias: bias, embedding_norm, mlp_bias: bias, mixture, ..decoder })
    }
}

/// Norms before and after each block.
const HYBRID: &[&str] =
    &["input_layernorm", "post_attention_layernorm", "post_attn_layernorm", "post_mlp_layernorm"];

/// The experts; a config may speak of shared ones, which the class estimates and never builds.
fn mixture(fields: &ConfigFields<'_>, width: Size) -> Result<ExpertParts, Error> {
    let experts = fields.experts(("n_routed_experts", 8), ("num_experts_per_tok", 2))?;
    if fields.count_or_none("n_shared_experts", 0)? != Size::ZERO {
        return Err(fields.unsupported("n_shared_experts", "no shared experts"));
    }
    Ok(ExpertParts::new(experts, width))
}

/// The gate of attention: per element, as with the switch of the first version, or per head.
fn gate(fields: &ConfigFields<'_>, heads: Heads) -> Result<OutputGate, Error> {
    let word = match fields.word_of("use_gated_attention")? {
        Some(word) => word,
        None if fields.flag("use_gated_attention", false)? => "elementwise",
        None => "none",
    };
    match word {
        "none" => Ok(OutputGate::None),
        "headwise" => Ok(OutputGate::Own(heads.count)),
        "elementwise" => Ok(OutputGate::Own(heads.queries())),
        other => Err(UNSUPPORTED.at(
            fields.place("use_gated_attention"),
            "\"none\", \"headwise\" or \"elementwise\"",
            format!("\"{other}\""),
        )),
    }
}

/// Delta networks: the first layers of each block of layers.
fn delta(fields: &ConfigFields<'_>, class: &Class) -> Result<Option<(LayerSet, DeltaNet)>, Error> {
    let block = fields.count("gdn_block_size", 4)?.value().unwrap_or(0);
    let within = fields.count("gdn_layers_per_block", 3)?.value().unwrap_or(0);
    let kernel = fields.size("gdn_conv_kernel_size", 4)?;
    if !fields.flag("use_gated_deltanet", false)? || block == 0 || within == 0 {
        return Ok(None);
    }
    let set = class.dims.layers.set(|layer| layer % block < within);
    let Heads { count, key_value, size } = class.attention.heads;
    let delta = DeltaNet {
        key_heads: key_value,
        value_heads: count,
        key: size,
        value: size,
        kernel,
        is_split: false,
    };
    Ok(Some((set, delta)))
}
