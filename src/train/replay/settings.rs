//! The settings of a config that a replay knows: those that it reads, those that change no step, and those that change
//! none as long as they are off. A run that has any other cannot be replayed: what nobody reads would be passed over.

use repro_receipt::source::{Error, Kind, Node};
use repro_runs::replay::UNKNOWN_SETTINGS;

/// What decides the steps, and is read.
const READ: &[&str] = &[
    "adam_beta1",
    "adam_beta2",
    "adam_eps",
    "arithmetic",
    "aux_loss_alpha",
    "balancing",
    "batch_size",
    "decay_floor",
    "decay_tokens",
    "dtype",
    "gate",
    "grad_clip",
    "head_dim",
    "hidden_size",
    "hold_tokens",
    "intermediate_size",
    "lr",
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
    "schedule",
    "schedule_steps",
    "seed_data",
    "seed_init",
    "seq_len",
    "steps",
    "tie_word_embeddings",
    "vocab_size",
    "warmup_steps",
    "weight_decay",
];

/// What changes no step: what is read of the data lies in a slice, and the rest is about what is written down.
const WITHOUT_EFFECT: &[&str] = &[
    "_name_or_path",
    "architectures",
    "bos_token_id",
    "checkpoints",
    "data",
    "device",
    "eos_token_id",
    "eval_every",
    "eval_steps",
    "eval_strategy",
    "evaluation",
    "initializer_range",
    "kept_checkpoints",
    "log_every",
    "logging_dir",
    "logging_steps",
    "max_epochs",
    "max_position_embeddings",
    "name",
    "notes",
    "num_workers",
    "output_dir",
    "report_to",
    "reuse",
    "run_name",
    "save_every",
    "save_steps",
    "save_strategy",
    "slices",
    "state_every",
    "tasks",
    "threads",
    "tokenizer",
    "torch_compile",
    "transformers_version",
    "use_cache",
];

/// What a setting is that changes nothing.
enum Harmless {
    /// Null, false, 0, an empty text or list.
    Off,
    /// One of these words.
    Words(&'static [&'static str]),
    /// The number of another setting.
    Same(&'static str),
    /// 1.
    One,
}

const HARMLESS: &[(&str, Harmless)] = &[
    ("activation", Harmless::Words(&["silu", "swish", "swiglu"])),
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

/// So many settings are named.
const NAMED: usize = 12;

/// Refuses a config with settings that would be passed over, all of them at once.
pub fn check(config: Node<'_>) -> Result<(), Error> {
    let mut unknown = Vec::new();
    for (name, node) in config.members()? {
        if !READ.contains(&name)
            && !WITHOUT_EFFECT.contains(&name)
            && !is_harmless(config, name, node)
        {
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
    let expected = "settings of which it is known what they do to a step";
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
        Some(Harmless::Words(words)) => node.text().is_ok_and(|word| words.contains(&word)),
        Some(Harmless::Same(other)) => {
            number(node).is_some() && number(node) == config.get(other).and_then(number)
        }
        Some(Harmless::One) => number(node) == Some(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_receipt::source::{Document, Source};
    use serde_json::{Value as Json, json};

    fn refused(config: Json) -> Option<String> {
        let source = Source::new("config.json", config.to_string().into_bytes()).unwrap();
        let document = Document::parse_json(source).unwrap();
        check(document.root()).err().map(|error| error.found.clone())
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
        let all = refused(json!({"a": 1, "b": "x", "lr": 0.1, "c": [1]})).unwrap();
        assert_eq!(all, "`a` = 1, `b` = x, `c`");
        assert!(READ.is_sorted() && WITHOUT_EFFECT.is_sorted());
    }
}
