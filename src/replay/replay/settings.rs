//! The settings of a config that a replay knows: those that it reads, those that change no step, and those that change
//! none as long as they are off. A run that has any other cannot be replayed: what nobody reads would be passed over.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{Angles, ModelFamily, OWN_MODELS, family_of};
use repro_core::source::{Error, Kind, Node};
use repro_model::replay::UNKNOWN_SETTINGS;

/// The settings that decide the steps of any run, and are read.
const OF_RUN: &[&str] =
    &["arithmetic", "batch_size", "dtype", "seed_data", "seed_init", "seq_len", "steps"];

/// The settings that decide how tensors are moved, and are read if slices do not state it.
const DECLARED: &[&str] = &[
    "adam_beta1",
    "adam_beta2",
    "adam_eps",
    "decay_floor",
    "decay_tokens",
    "grad_clip",
    "hold_tokens",
    "lr",
    "schedule",
    "schedule_steps",
    "warmup_steps",
    "weight_decay",
];

/// The settings that shape our models, and are read.
const OF_MODEL: &[&str] = &[
    "aux_loss_alpha",
    "balancing",
    "gate",
    "head_dim",
    "hidden_size",
    "intermediate_size",
    "model_type",
    "moe_intermediate_size",
    "norm_eps",
    "norm_topk_prob",
    "num_attention_heads",
    "num_dense_layers",
    "num_experts",
    "num_experts_per_tok",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_shared_experts",
    "rope_theta",
    "router_bias_update_rate",
    "router_z_loss",
    "tie_word_embeddings",
    "vocab_size",
];

/// The settings that change no step: a slice contains the data that it reads, and the rest is about what is written down.
const WITHOUT_EFFECT: &[&str] = &[
    "_attn_implementation",
    "_name_or_path",
    "_sliding_window_pattern",
    "architectures",
    "attn_implementation",
    "bos_token_id",
    "checkpoints",
    "chunk_size_feed_forward",
    "data",
    "dataset",
    "device",
    "eos_token_id",
    "eval_every",
    "eval_steps",
    "eval_strategy",
    "evaluation",
    "gradient_checkpointing",
    "id2label",
    "initializer_range",
    "is_encoder_decoder",
    "kept_checkpoints",
    "label2id",
    "log_every",
    "logging_dir",
    "logging_steps",
    "max_epochs",
    "max_position_embeddings",
    "max_window_layers",
    "n_ctx",
    "name",
    "notes",
    "num_train_epochs",
    "num_workers",
    "output_attentions",
    "output_dir",
    "output_hidden_states",
    "pad_token_id",
    "per_device_train_batch_size",
    "problem_type",
    "report_to",
    "return_dict",
    "reuse",
    "run_name",
    "save_every",
    "save_steps",
    "save_strategy",
    "seed",
    "slices",
    "state_every",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "tasks",
    "threads",
    "tokenizer",
    "torch_compile",
    "transformers_version",
    "unique_tokens",
    "use_cache",
    "use_reentrant",
];

/// The settings of updates, which only describe a run whose slices state them.
const OF_UPDATES: &[&str] = &[
    "accumulate_grad_batches",
    "adam_beta1",
    "adam_beta2",
    "adam_eps",
    "adam_epsilon",
    "adjust_lr_fn",
    "amsgrad",
    "beta1",
    "beta2",
    "betas",
    "clip",
    "cooldown_steps",
    "dampening",
    "decay_floor",
    "decay_lr",
    "decay_steps",
    "decay_tokens",
    "embedding_lr",
    "eps",
    "epsilon",
    "grad_accum",
    "grad_accum_steps",
    "grad_clip",
    "gradient_accumulation_steps",
    "gradient_clip",
    "gradient_clip_val",
    "hold_steps",
    "hold_tokens",
    "learning_rate",
    "lr",
    "lr_decay_iters",
    "lr_decay_steps",
    "lr_end",
    "lr_min",
    "lr_schedule",
    "lr_scheduler",
    "lr_scheduler_kwargs",
    "lr_scheduler_type",
    "matrix_lr",
    "max_grad_norm",
    "max_lr",
    "max_norm",
    "maximize",
    "min_lr",
    "momentum",
    "muon_lr",
    "muon_momentum",
    "muon_weight_decay",
    "nesterov",
    "no_decay",
    "ns_coefficients",
    "ns_steps",
    "optim",
    "optim_args",
    "optimizer",
    "schedule",
    "schedule_steps",
    "scheduler",
    "unembedding_lr",
    "warmdown_iters",
    "warmdown_ratio",
    "warmup",
    "warmup_iters",
    "warmup_ratio",
    "warmup_steps",
    "weight_decay",
];

/// The kinds of settings that change nothing.
enum Harmless {
    /// Null, false, 0, an empty text or list.
    Off,
    /// One of these words.
    Words(&'static [&'static str]),
    /// The number of another setting.
    Same(&'static str),
    /// True.
    On,
    /// 1.
    One,
    /// Anything, as long as another setting is off.
    Unless(&'static str),
}

const HARMLESS: &[(&str, Harmless)] = &[
    ("activation", Harmless::Words(&["silu", "swish", "swiglu"])),
    ("add_cross_attention", Harmless::Off),
    ("amsgrad", Harmless::Off),
    ("attention_bias", Harmless::Off),
    ("attention_dropout", Harmless::Off),
    ("attn_logit_softcapping", Harmless::Off),
    ("attn_pdrop", Harmless::Off),
    ("bf16", Harmless::Off),
    ("bias", Harmless::Off),
    ("clip_qkv", Harmless::Off),
    ("dropout", Harmless::Off),
    ("embd_pdrop", Harmless::Off),
    ("ema_decay", Harmless::Off),
    ("final_logit_softcapping", Harmless::Off),
    ("fp16", Harmless::Off),
    ("grad_accum", Harmless::One),
    ("gradient_accumulation_steps", Harmless::One),
    ("hidden_act", Harmless::Words(&["silu", "swish"])),
    ("hidden_dropout", Harmless::Off),
    ("label_smoothing", Harmless::Off),
    ("layer_types", Harmless::Words(&["full_attention"])),
    ("decoder_sparse_step", Harmless::One),
    ("mlp_only_layers", Harmless::Off),
    ("pretraining_tp", Harmless::One),
    ("reorder_and_upcast_attn", Harmless::Off),
    ("scale_attn_by_inverse_layer_idx", Harmless::Off),
    ("scale_attn_weights", Harmless::On),
    ("use_bidirectional_attention", Harmless::Off),
    ("router_aux_loss_coef", Harmless::Unless("output_router_logits")),
    ("label_smoothing_factor", Harmless::Off),
    ("logit_softcap", Harmless::Off),
    ("maximize", Harmless::Off),
    ("mlp_bias", Harmless::Off),
    ("nesterov", Harmless::Off),
    ("optim", Harmless::Words(&["adamw", "adamw_torch", "adamw_torch_fused"])),
    ("optimizer", Harmless::Words(&["adamw", "AdamW", "adamw_torch", "adamw_torch_fused"])),
    ("qk_norm", Harmless::Off),
    ("qkv_bias", Harmless::Off),
    ("resid_pdrop", Harmless::Off),
    ("rms_norm_eps", Harmless::Same("norm_eps")),
    ("rope_scaling", Harmless::Off),
    ("router_jitter_noise", Harmless::Off),
    ("sliding_window", Harmless::Off),
    ("tf32", Harmless::Off),
    ("torch_dtype", Harmless::Words(&["float32"])),
    ("use_sliding_window", Harmless::Off),
    ("z_loss", Harmless::Off),
];

impl Harmless {
    /// The kind in a word, and the words or the setting that belong to it.
    fn parts(&self) -> (&'static str, Vec<&'static str>) {
        match self {
            Self::Off => ("off", Vec::new()),
            Self::On => ("on", Vec::new()),
            Self::One => ("one", Vec::new()),
            Self::Words(words) => ("words", words.to_vec()),
            Self::Same(other) => ("same", vec![other]),
            Self::Unless(other) => ("unless", vec![other]),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Off => "only off (null, false, 0 or empty)".to_owned(),
            Self::On => "only true".to_owned(),
            Self::One => "only 1".to_owned(),
            Self::Words(words) => format!("only {}", words.join(", ")),
            Self::Same(other) => format!("only the value of `{other}`"),
            Self::Unless(other) => format!("without effect unless `{other}` is on"),
        }
    }
}

/// The setting that is a table of angles, and what is read of each such table.
const ANGLES: &str = "rope_parameters";
const OF_ANGLES: &[&str] =
    &["rope_parameters.rope_theta", "rope_parameters.rope_type", "rope_parameters.type"];

/// A setting of a config that a replay knows, and what it makes of it.
#[derive(Debug)]
pub struct Setting {
    pub name: Cow<'static, str>,
    /// The models of which it is read whatever its value.
    pub models: Vec<&'static str>,
    /// Its role in all models: `read`, `without-effect`, or `of-updates` where slices state updates themselves.
    pub role: Option<&'static str>,
    /// At which value it changes nothing, in models that do not read it: a kind, and its words or another setting.
    pub harmless: Option<(&'static str, Vec<&'static str>)>,
    /// The kinds of angles for which it is read, of what lies in a table of angles.
    pub kinds: Vec<&'static str>,
    /// All of this in words.
    pub what: String,
}

/// Every setting that a replay knows, by name.
pub fn settings() -> Vec<Setting> {
    let lists = [OF_RUN, DECLARED, OF_MODEL, WITHOUT_EFFECT, OF_UPDATES];
    let mut names: Vec<_> = lists.iter().copied().flatten().copied().collect();
    names.extend(HARMLESS.iter().map(|(name, _)| *name));
    names.extend(ModelFamily::all().iter().flat_map(ModelFamily::fields));
    names.sort_unstable();
    names.dedup();
    let mut all: Vec<_> = names.into_iter().map(setting).collect();
    all.extend(angles());
    all
}

/// The fields of a table of angles: fields of every kind of them, and of some.
fn angles() -> Vec<Setting> {
    let models: Vec<_> = ModelFamily::all()
        .iter()
        .filter(|family| family.reads(ANGLES))
        .map(|family| family.model_type)
        .collect();
    let mut kinds: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for (kind, fields) in Angles::scalings() {
        let own = fields.iter().map(|field| format!("{ANGLES}.{field}"));
        for field in OF_ANGLES.iter().map(|field| (*field).to_owned()).chain(own) {
            kinds.entry(field).or_default().push(kind);
        }
    }
    let one = |(name, kinds): (String, Vec<&'static str>)| Setting {
        what: format!("read for angles of type {}", kinds.join(", ")),
        name: Cow::Owned(name),
        models: models.clone(),
        role: None,
        harmless: None,
        kinds,
    };
    kinds.into_iter().map(one).collect()
}

fn setting(name: &'static str) -> Setting {
    let mut models: Vec<_> = ModelFamily::all()
        .iter()
        .filter(|family| family.reads(name))
        .map(|family| family.model_type)
        .collect();
    if OF_MODEL.contains(&name) {
        models.extend(OWN_MODELS);
    }
    let roles = [
        (OF_RUN, "read", "read"),
        (DECLARED, "read", "read, unless slices state their updates"),
        (WITHOUT_EFFECT, "without-effect", "without effect on steps"),
        (OF_UPDATES, "of-updates", "describes updates, which slices state themselves"),
    ];
    let role = roles.iter().find(|(list, ..)| list.contains(&name));
    let harmless = HARMLESS.iter().find(|(known, _)| *known == name).map(|(_, harmless)| harmless);
    let read_of = (!models.is_empty()).then(|| format!("read for {}", models.join(", ")));
    let words = role.map(|(_, _, words)| (*words).to_owned());
    let parts = read_of.into_iter().chain(words).chain(harmless.map(Harmless::text));
    Setting {
        name: Cow::Borrowed(name),
        kinds: Vec::new(),
        what: parts.collect::<Vec<_>>().join("; otherwise "),
        models,
        role: role.map(|(_, role, _)| *role),
        harmless: harmless.map(Harmless::parts),
    }
}

/// So many settings are named.
const NAMED: usize = 12;

/// Refuses a config with settings that would be passed over, all of them at once. Where slices state their updates
/// themselves, settings of updates only describe them.
pub fn check(config: Node<'_>, is_stated: bool) -> Result<(), Error> {
    let mut unknown = Vec::new();
    let family = family_of(config);
    for (name, node) in config.members()? {
        let is_of_model = match family {
            Some(family) => family.reads(name),
            None => OF_MODEL.contains(&name),
        };
        let described = if is_stated { OF_UPDATES } else { &[] };
        let known = [OF_RUN, DECLARED, WITHOUT_EFFECT, described];
        let is_known = is_of_model || known.iter().any(|list| list.contains(&name));
        if !is_known && !is_harmless(config, name, node) {
            unknown.push((name, node));
        }
    }
    let Some((_, first)) = unknown.first() else { return Ok(()) };
    let told = |(name, node): &(&str, Node<'_>)| match node.printed() {
        Ok(value) => format!("`{name}` = {}", value.chars().take(40).collect::<String>()),
        Err(_) => format!("`{name}`"),
    };
    let mut found: Vec<_> = unknown.iter().take(NAMED).map(told).collect();
    if unknown.len() > NAMED {
        found.push(format!("{} more", unknown.len() - NAMED));
    }
    let expected = "settings with a known effect on a step";
    Err(UNKNOWN_SETTINGS.at(first.place(), expected, found.join(", ")))
}

fn is_harmless(config: Node<'_>, name: &str, node: Node<'_>) -> bool {
    let known = HARMLESS.iter().find(|(known, _)| *known == name);
    let number = |node: Node<'_>| node.printed().ok().and_then(|_| node.float().ok());
    match known.map(|(_, harmless)| harmless) {
        None => false,
        Some(Harmless::Off) => match &node.value().kind {
            Kind::Null | Kind::Bool(false) => true,
            Kind::Text(text) => text.is_empty(),
            Kind::Array(items) => items.is_empty(),
            _ => number(node) == Some(0.0),
        },
        Some(Harmless::Words(words)) => match node.items() {
            Ok(mut all) => all.all(|node| node.text().is_ok_and(|word| words.contains(&word))),
            Err(_) => node.text().is_ok_and(|word| words.contains(&word)),
        },
        Some(Harmless::Same(other)) => {
            number(node).is_some() && number(node) == config.get(other).and_then(number)
        }
        Some(Harmless::On) => matches!(node.value().kind, Kind::Bool(true)),
        Some(Harmless::One) => number(node) == Some(1.0),
        Some(Harmless::Unless(other)) => {
            config.get(other).is_none_or(|other| matches!(other.value().kind, Kind::Bool(false)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};
    use serde_json::{Value as Json, json};

    fn refused(config: Json) -> Option<String> {
        refused_of(config, false)
    }

    fn refused_of(config: Json, is_stated: bool) -> Option<String> {
        let source = Source::new("config.json", config.to_string().into_bytes()).unwrap();
        let document = Document::parse_json(source).unwrap();
        check(document.root(), is_stated).err().map(|error| error.found.clone())
    }

    #[test]
    fn what_nobody_reads_is_refused_by_name() {
        let harmless = json!({"lr": 0.1, "norm_eps": 1e-5, "rms_norm_eps": 0.00001, "dropout": 0.0, "hidden_act": "silu",
            "sliding_window": null, "optimizer": "adamw", "gradient_accumulation_steps": 1, "log_every": 10,
            "notes": {"author": "me"}, "rope_scaling": null, "amsgrad": false});
        assert_eq!(refused(harmless), None);
        for (name, value) in [
            ("hidden_act", json!("gelu")),
            ("optimizer", json!("lion")),
            ("sliding_window", json!(4)),
            ("rms_norm_eps", json!(0.1)),
            ("rope_scaling", json!({"factor": 2})),
            ("dropout", json!(0.5)),
            ("amsgrad", json!(true)),
            ("gradient_accumulation_steps", json!(4)),
            ("my_trick", json!(1)),
        ] {
            let found = refused(json!({"norm_eps": 1e-5, name: value})).unwrap();
            assert!(found.starts_with(&format!("`{name}`")), "{found}");
        }
        let of_updates =
            json!({"optimizer": "lion", "max_grad_norm": 1, "lr_scheduler_type": "linear"});
        assert_eq!(refused_of(of_updates.clone(), true), None);
        assert!(refused(of_updates).is_some());
        let all = refused(json!({"a": 1, "b": "x", "lr": 0.1, "c": [1]})).unwrap();
        assert_eq!(all, "`a` = 1, `b` = x, `c`");
        for list in [OF_RUN, DECLARED, OF_MODEL, WITHOUT_EFFECT, OF_UPDATES] {
            assert!(list.is_sorted());
        }
    }
}
