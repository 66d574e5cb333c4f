//! Parameter counts of published models: those written anew in `tests/corpus/params`, and all
//! configs of the shared data.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use repro_core::source::{Document, Source};
use repro_model::params::{
    Convention, CountScope, ParameterCount, Part, load, recompute, recompute_in, tensors,
};
use serde_json::{Value, json};

fn document(path: &Path) -> Document {
    Document::parse(Source::load(path, path.file_name().unwrap().to_string_lossy()).unwrap())
        .unwrap()
}

#[test]
fn every_shared_config_counts_as_the_reference_does() {
    let Some(shared) = crate::shared::folder("params") else { return };
    let folder = shared.join("model_configs");
    let text = std::fs::read_to_string(folder.join("counts.json")).unwrap();
    let counts: Value = serde_json::from_str(&text).unwrap();
    let counts = counts["counts"].as_object().unwrap();
    assert_eq!(counts.len(), 26);
    for (name, expected) in counts {
        let counts = recompute(&document(&folder.join(format!("{name}.json"))))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = [
            counts.total(),
            counts.active(),
            counts.breakdown.part(Part::Embedding).total,
            counts.breakdown.part(Part::Head).total,
        ];
        let wanted = ["total", "active", "embedding", "lm_head"];
        assert_eq!(found, wanted.map(|key| expected[key].as_u64().unwrap()), "{name}");
        assert_eq!(counts.tied, expected["tied_embeddings"].as_bool().unwrap(), "{name}");
    }
}

#[test]
fn the_published_nmoe_runs_count_as_their_receipts_say() {
    let Some(shared) = crate::shared::folder("params") else { return };
    for (name, total, active, width) in [
        ("small_dense_sdpa", 190_532_352, 190_532_352, 3072),
        ("small_moe", 755_534_592, 191_073_024, 3072),
        ("small_moe_ultra", 2_836_482_816, 192_891_648, 3072),
    ] {
        let counts = recompute(&document(&shared.join(format!("nmoe/{name}.toml")))).unwrap();
        let found = (counts.total(), counts.active(), counts.active_ffn_width);
        assert_eq!(found, (total, active, width), "{name}");
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/params")
}

#[test]
fn every_family_counts_as_its_publishers_say() {
    let counts = std::fs::read_to_string(corpus().join("counts.csv")).unwrap();
    let mut families = BTreeSet::new();
    let mut rows = 0;
    for row in counts.lines().skip(1) {
        let [file, total, active] = row.split(',').collect::<Vec<_>>().try_into().unwrap();
        let model = load(&corpus().join(file), file).unwrap();
        let found = (model.total.to_string(), model.active.unwrap().to_string());
        assert_eq!(found, (total.to_owned(), active.to_owned()), "{file}");
        let counts = model.counts.unwrap();
        let shapes_nothing =
            ["step", "route_scale", "score_func", "layernorm_full_attention_alpha"];
        let ignored = counts.ignored.iter();
        let others: Vec<_> =
            ignored.filter(|one| !shapes_nothing.contains(&one.as_str())).collect();
        assert!(others.is_empty(), "{file}: {others:?}");
        families.insert(counts.family);
        rows += 1;
    }
    assert_eq!(rows, std::fs::read_dir(corpus()).unwrap().count() - 2);
    assert_eq!(families.len(), 91, "a family without a config: {families:?}");
}

/// Configs as `tests/corpus/params` has them: of multimodal models whose whole is counted, and of one of which only the language model is.
#[test]
fn a_count_says_what_of_the_model_it_covers() {
    let scopes = |file: &str| {
        let document = document(&corpus().join(file));
        let of =
            |scope| recompute_in(&document, scope).map(|counts| (counts.scope, counts.total()));
        (of(CountScope::Whole).map_err(|e| e.code.id), of(CountScope::LanguageModel).unwrap())
    };
    let (whole, language) = (CountScope::Whole, CountScope::LanguageModel);
    let pair = |file: &str| scopes(file);
    assert_eq!(pair("gemma3-27b.json"), (Ok((whole, 27_363_846_272)), (language, 27_009_346_304)));
    assert_eq!(pair("llama4.json"), (Ok((whole, 108_225_039_360)), (language, 107_769_861_120)));
    // A model without encoders is its language model.
    assert_eq!(pair("llama.json"), (Ok((whole, 70_553_706_496)), (whole, 70_553_706_496)));
    assert_eq!(
        pair("mistral3.json"),
        (Err("params::language-model-only"), (language, 23_572_403_200))
    );
    let model = load(&corpus().join("mistral3.json"), "mistral3.json").unwrap();
    assert!(model.is_part && model.notes[0].contains("only the language model is counted"));
    let model = load(&corpus().join("gemma3-27b.json"), "gemma3-27b.json").unwrap();
    let json = serde_json::to_value(&model).unwrap();
    assert_eq!((&json["scope"], model.is_part), (&json!("whole"), false));
    assert_eq!(json["breakdown"]["projector"]["total"], 1152 * (5376 + 1));
}

#[test]
fn towers_that_no_config_decides_leave_the_language_model() {
    let scope = |changes: Value| {
        let document = changed("qwen3_vl.json", &changes);
        recompute(&document).map(|counts| counts.scope).map_err(|error| error.code.id)
    };
    assert_eq!(scope(json!({})), Ok(CountScope::Whole));
    for changes in [
        json!({"model_type": "unknown_vl"}),
        json!({"architectures": ["Qwen3VLForSequenceClassification"]}),
        json!({"vision_config": {"depth": 4, "num_register_tokens": 4}}),
        json!({"vision_config": {"depth": 4, "model_type": "siglip_vision_model"}}),
        json!({"vision_config": {"depth": 4, "hidden_size": 1150}}),
        json!({"num_extra_experts": 4}),
        json!({"tie_word_embeddings": true, "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 3584, "tie_word_embeddings": false}}),
        json!({"vision_config": {"depth": 1_u64 << 40}}),
    ] {
        assert_eq!(scope(changes.clone()), Ok(CountScope::LanguageModel), "{changes}");
    }
}

#[test]
fn the_shared_multimodal_models_are_counted_whole() {
    let Some(shared) = crate::shared::folder("params") else { return };
    for (name, total) in [
        ("vl2b", 2_127_532_032),
        ("vl235", 235_670_022_896),
        ("gemma27", 27_432_406_640),
        ("scout", 108_225_039_360),
    ] {
        let counts = recompute(&document(&shared.join(format!("multimodal/{name}.json")))).unwrap();
        assert_eq!((counts.scope, counts.total()), (CountScope::Whole, total), "{name}");
    }
    let document = document(&shared.join("multimodal/vl2b.json"));
    let language = recompute_in(&document, CountScope::LanguageModel).unwrap();
    assert_eq!((language.scope, language.total()), (CountScope::LanguageModel, 1_720_574_976));
}

#[test]
fn the_named_list_is_what_is_counted() {
    for entry in std::fs::read_dir(corpus()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json" && ending != "toml") {
            continue;
        }
        let document = document(&path);
        let (counts, mut names, mut sum) = (recompute(&document).unwrap(), BTreeSet::new(), 0);
        for tensor in tensors(&document).unwrap().iter() {
            sum += tensor.shape.iter().product::<u64>();
            assert!(names.insert(tensor.name.clone()), "{} twice", tensor.name);
        }
        assert_eq!(sum, counts.total(), "{}", path.display());
    }
}

#[test]
fn the_largest_mixture_is_counted_in_no_time() {
    let document = document(&corpus().join("deepseek_v3.json"));
    let start = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(recompute(&document).unwrap().total(), 671_026_404_352);
    }
    assert!(start.elapsed() < std::time::Duration::from_millis(500), "{:?}", start.elapsed());
}

#[test]
fn checkpoints_go_by_the_names_of_their_family() {
    for (file, name, shape) in [
        ("gpt2.json", "transformer.h.47.attn.c_attn.weight", &[1600, 4800][..]),
        ("gpt_neox.json", "gpt_neox.layers.0.attention.query_key_value.bias", &[6144]),
        ("gptj.json", "lm_head.bias", &[50_400]),
        ("llama.json", "model.layers.79.self_attn.k_proj.weight", &[1024, 8192]),
        ("mixtral.json", "model.layers.55.block_sparse_moe.experts.7.w2.weight", &[6144, 16_384]),
        ("qwen3.json", "model.layers.0.self_attn.q_norm.weight", &[128]),
        ("qwen2_moe.json", "model.layers.0.mlp.shared_expert_gate.weight", &[1, 3584]),
        ("deepseek_v3.json", "model.layers.60.mlp.experts.255.down_proj.weight", &[7168, 2048]),
        ("deepseek_v3.json", "model.layers.0.mlp.down_proj.weight", &[7168, 18_432]),
        ("deepseek_v2.json", "model.layers.0.self_attn.kv_a_proj_with_mqa.weight", &[576, 2048]),
        ("gpt_oss.json", "model.layers.0.mlp.experts.gate_up_proj_bias", &[128, 5760]),
        ("granitemoe.json", "model.layers.0.block_sparse_moe.router.layer.weight", &[40, 1536]),
        ("stablelm.json", "model.layers.39.self_attn.k_layernorm.norms.7.weight", &[160]),
        ("phi3.json", "model.layers.0.self_attn.qkv_proj.weight", &[7680, 5120]),
        ("nmoe.toml", "blocks.2.ffn.W2", &[16, 64, 96]),
        ("nanochat.json", "transformer.h.19.mlp.c_fc.weight", &[5120, 1280]),
    ] {
        let list = tensors(&document(&corpus().join(file))).unwrap();
        let tensor = list.iter().find(|tensor| tensor.name == name);
        assert_eq!(tensor.unwrap_or_else(|| panic!("{file} lacks {name}")).shape, shape, "{file}");
    }
}

/// The config with `changes` laid over it; the value `absent` removes a field.
fn changed(file: &str, changes: &Value) -> Document {
    let text = std::fs::read_to_string(corpus().join(file)).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::String(text) if text == "absent" => {
                config.as_object_mut().unwrap().remove(key);
            }
            value => config[key] = value.clone(),
        }
    }
    Document::parse_json(Source::new(file, config.to_string().into_bytes()).unwrap()).unwrap()
}

#[test]
fn absent_fields_take_the_defaults_of_the_reference() {
    let absent = json!("absent");
    for (file, changes, total) in [
        // Tied unless the config says otherwise.
        ("gemma.json", json!({"head_dim": absent}), 8_537_680_896),
        ("gpt2.json", json!({"tie_word_embeddings": false}), 1_557_611_200 + 50_257 * 1600),
        ("starcoder2.json", json!({"tie_word_embeddings": false}), 3_030_371_328 + 49_152 * 3072),
        // Untied unless the config says otherwise.
        ("llama.json", json!({"tie_word_embeddings": true}), 70_553_706_496 - 128_256 * 8192),
        ("qwen3-32b.json", json!({"tie_word_embeddings": true}), 32_762_123_264 - 151_936 * 5120),
        // Grouped heads: the default of the class, or the number of heads.
        ("mistral.json", json!({"num_key_value_heads": absent}), 7_248_023_552),
        ("llama-2-13b.json", json!({"num_key_value_heads": 40}), 13_015_864_320),
        ("llama.json", json!({"num_key_value_heads": null}), 70_553_706_496 + 80 * 2 * 8192 * 7168),
        (
            "mistral.json",
            json!({"num_key_value_heads": null}),
            7_248_023_552 + 32 * 2 * 4096 * 3072,
        ),
        // Head sizes: a fixed default against width over heads.
        ("qwen3.json", json!({"head_dim": absent}), 4_022_468_096),
        ("llama.json", json!({"head_dim": 128}), 70_553_706_496),
        ("mistral-nemo.json", json!({"head_dim": null}), 12_247_782_400 + 40 * 5120 * 2 * 40 * 32),
        // Biases by their switches.
        ("llama.json", json!({"attention_bias": true}), 70_553_706_496 + 80 * (8192 + 2048 + 8192)),
        ("llama.json", json!({"mlp_bias": true}), 70_553_706_496 + 80 * (2 * 28_672 + 8192)),
        ("starcoder2.json", json!({"use_bias": absent}), 3_030_371_328),
        // A width of nothing adds nothing.
        ("qwen3_moe.json", json!({"shared_expert_intermediate_size": 0}), 235_093_634_560),
        // Blocks.
        ("gpt2.json", json!({"n_inner": 6400}), 1_557_611_200),
        (
            "qwen3_moe.json",
            json!({"decoder_sparse_step": 95}),
            94 * 3 * 4096 * 12_288
                + 94 * (2 * 4096 * 8704 + 2 * 4096 + 256)
                + 4096
                + 2 * 151_936 * 4096,
        ),
        (
            "qwen3_moe.json",
            json!({"mlp_only_layers": [0]}),
            235_093_634_560 - 128 * 4096 - 128 * 3 * 4096 * 1536 + 3 * 4096 * 12_288,
        ),
        (
            "deepseek_v2.json",
            json!({"n_shared_experts": null}),
            15_706_484_224 - 26 * 3 * 2048 * 2816,
        ),
        (
            "deepseek_v2.json",
            json!({"q_lora_rank": absent}),
            15_706_484_224 - 27 * 2048 * 3072 + 27 * (2048 * 1536 + 1536 + 1536 * 3072),
        ),
        (
            "deepseek_v3.json",
            json!({"first_k_dense_replace": 3, "v_head_dim": 128}),
            671_026_404_352,
        ),
    ] {
        let counts = recompute(&changed(file, &changes));
        let counts = counts.unwrap_or_else(|error| panic!("{file} {changes}: {error}"));
        assert_eq!(counts.total(), total, "{file} {changes}");
    }
}

#[test]
fn what_cannot_be_counted_is_refused_with_its_place() {
    let unknown = "params::unknown-shape-field";
    let (shape, layout) = ("params::impossible-shape", "params::unsupported");
    for (file, changes, code, pointer) in [
        ("llama.json", json!({"model_type": "xlstm"}), "params::unknown-family", "/model_type"),
        (
            "llama.json",
            json!({"model_type": "absent", "architectures": ["X"]}),
            "params::unknown-family",
            "/architectures",
        ),
        (
            "llama.json",
            json!({"model_type": "absent", "architectures": "absent"}),
            "params::unknown-family",
            "",
        ),
        (
            "llama.json",
            json!({"architectures": ["LlamaForSequenceClassification"]}),
            layout,
            "/architectures",
        ),
        ("llama.json", json!({"is_encoder_decoder": true}), layout, "/is_encoder_decoder"),
        ("llama.json", json!({"adapter_dim": 4}), unknown, "/adapter_dim"),
        ("llama.json", json!({"num_memory_heads": 4}), unknown, "/num_memory_heads"),
        ("llama.json", json!({"use_gate_bias": true}), unknown, "/use_gate_bias"),
        ("llama.json", json!({"n_extra_layers": 1}), unknown, "/n_extra_layers"),
        ("llama.json", json!({"num_local_experts": 8}), unknown, "/num_local_experts"),
        ("llama.json", json!({"lora_rank": 8}), unknown, "/lora_rank"),
        (
            "llama.json",
            json!({"num_attention_heads": 63, "num_key_value_heads": 63}),
            shape,
            "/num_attention_heads",
        ),
        ("llama.json", json!({"num_key_value_heads": 7}), shape, "/num_key_value_heads"),
        ("llama.json", json!({"vocab_size": 0}), shape, "/vocab_size"),
        ("llama.json", json!({"num_hidden_layers": 1_000_000_000}), shape, "/num_hidden_layers"),
        (
            "llama.json",
            json!({"hidden_size": 1_u64 << 52, "vocab_size": 1_u64 << 52}),
            "params::overflow",
            "",
        ),
        ("llama.json", json!({"hidden_size": "wide"}), "source::wrong-type", "/hidden_size"),
        ("llama.json", json!({"hidden_size": -1}), "source::wrong-type", "/hidden_size"),
        ("llama.json", json!({"vocab_size": null}), "source::wrong-type", "/vocab_size"),
        ("mixtral.json", json!({"num_experts_per_tok": 9}), shape, "/num_experts_per_tok"),
        ("mixtral.json", json!({"num_experts": 9}), shape, "/num_experts"),
        ("qwen3_moe.json", json!({"decoder_sparse_step": 0}), shape, "/decoder_sparse_step"),
        ("olmoe.json", json!({"head_dim": 64}), shape, "/head_dim"),
        ("gpt2.json", json!({"add_cross_attention": true}), layout, "/add_cross_attention"),
        ("deepseek_v2.json", json!({"moe_layer_freq": 2}), layout, "/moe_layer_freq"),
        ("deepseek_v2.json", json!({"num_experts_per_tok": "absent"}), "source::missing-field", ""),
        ("starcoder2.json", json!({"mlp_type": "gated"}), layout, "/mlp_type"),
        (
            "qwen3_moe.json",
            json!({"shared_expert_intermediate_size": 64}),
            unknown,
            "/shared_expert_intermediate_size",
        ),
        ("t5.json", json!({"tie_word_embeddings": false}), layout, "/tie_word_embeddings"),
        (
            "nemotron_h.json",
            json!({"hybrid_override_pattern": "MX"}),
            shape,
            "/hybrid_override_pattern",
        ),
        (
            "vit.json",
            json!({"architectures": ["ViTForMaskedImageModeling"]}),
            layout,
            "/architectures",
        ),
        ("bert.json", json!({"architectures": "absent"}), layout, ""),
        (
            "lfm2.json",
            json!({"block_ffn_dim_multiplier": 1.5}),
            layout,
            "/block_ffn_dim_multiplier",
        ),
        ("repro-llama.json", json!({"intermediate_size": "absent"}), "source::missing-field", ""),
        ("repro-llama.json", json!({"num_experts": 4}), unknown, "/num_experts"),
        ("repro-llama-moe.json", json!({"num_dense_layers": 3}), shape, "/num_dense_layers"),
    ] {
        let error = recompute(&changed(file, &changes)).expect_err(file);
        let found = (error.code.id, error.place.pointer.as_str());
        assert_eq!(found, (code, pointer), "{file} {changes}: {error}");
        assert!(error.place.line == 1, "{error}");
    }
}

#[test]
fn other_attention_of_nmoe_is_refused_by_name() {
    let text = std::fs::read_to_string(corpus().join("nmoe.toml")).unwrap();
    let refuse = |text: String| {
        let source = Source::new("nmoe.toml", text.into_bytes()).unwrap();
        recompute(&Document::parse_toml(source).unwrap()).unwrap_err()
    };
    let error = refuse(text.replace("sdpa", "mla"));
    let found = (error.code.id, error.place.line, error.found.as_str());
    assert_eq!(found, ("params::unsupported", 12, "\"mla\""));
    assert_eq!(refuse(text.replace("attn =", "other =")).found, "\"mla\"");
    assert_eq!(refuse(format!("{text}tie_embeddings = true\n")).place.pointer, "/tie_embeddings");
    assert_eq!(refuse(text.replace("n_dense_layers = 2", "n_dense_layers = 7")).place.line, 7);
}

#[test]
fn unknown_fields_are_listed_and_quantisation_is_noted() {
    let extra =
        json!({"favourite_colour": "red", "gate_bias": false, "quantization_config": {"bits": 4}});
    let counts = recompute(&changed("llama.json", &extra)).unwrap();
    assert_eq!(counts.ignored, ["favourite_colour", "gate_bias"]);
    assert_eq!(counts.notes, ["`quantization_config`: counted as the unquantized model"]);
}

#[test]
fn the_report_has_the_fields_of_its_schema() {
    let model = load(&corpus().join("repro-llama-moe.json"), "repro-llama-moe.json").unwrap();
    let json = serde_json::to_value(&model).unwrap();
    assert_eq!(json["family"], "repro-llama-moe");
    assert_eq!((&json["total"], &json["active"]), (&json!(252_352), &json!(160_192)));
    assert_eq!(json["breakdown"]["routed_experts"], json!({"total": 122_880, "active": 30_720}));
    assert_eq!(json["conventions"]["no_router"], json!({"total": 251_328, "active": 159_168}));
    assert_eq!(json["conventions"]["head_only"]["active"], 160_192 - 16_384);
    assert_eq!(json["conventions"]["non_embedding"]["total"], 252_352 - 32_768);
    assert_eq!(json["active_ffn_width"], 120);
    assert_eq!(json["shape"]["moe_layers"], 2);
    let counts = model.counts.unwrap();
    assert_eq!(counts.count(ParameterCount::Active, Convention::NoEmbeddings), 143_808);
}

/// A small model in the words of every family: any that has a meaning for a family shapes it.
fn small(seed: &[u64]) -> Value {
    let at = |index: usize| seed[index];
    let (kv, heads, size) = (at(0), at(0) * at(1), at(2) * 2);
    let (hidden, layers, experts) = (heads * size, at(3), at(4) + at(5));
    json!({
        "hidden_size": hidden, "n_embd": hidden, "num_hidden_layers": layers, "n_layer": layers,
        "num_attention_heads": heads, "n_head": heads, "num_key_value_heads": kv,
        "head_dim": size, "vocab_size": at(6) * 7, "intermediate_size": at(7) * 3,
        "n_inner": at(7) * 3, "n_positions": at(8), "num_local_experts": experts,
        "num_experts": experts, "n_routed_experts": experts, "num_experts_per_tok": at(4),
        "moe_topk": at(4), "moe_k": at(4), "n_activated_experts": at(4), "moe_num_experts": experts,
        "moe_intermediate_size": at(8), "shared_expert_intermediate_size": at(5),
        "n_shared_experts": at(0) - 1, "num_shared_experts": at(0) - 1,
        "first_k_dense_replace": at(8) % 3, "num_dense_layers": at(8) % layers,
        "decoder_sparse_step": at(1), "mlp_only_layers": [at(8) % 2], "q_lora_rank": at(7),
        "kv_lora_rank": at(5), "qk_nope_head_dim": at(1), "qk_rope_head_dim": at(2),
        "v_head_dim": at(3), "attention_bias": at(0) % 2 == 0, "mlp_bias": at(1) % 2 == 0,
        "use_bias": at(2) % 2 == 0, "use_qkv_bias": at(3) % 2 == 0, "qkv_bias": at(4) % 2 == 0,
        "qk_layernorm": at(5) % 2 == 0, "use_parallel_residual": at(6) % 2 == 0,
        "tie_word_embeddings": at(7) % 2 == 0,
    })
}

/// Lays over `config` what it has itself, and what is optional in its family.
fn resized(mut config: Value, small: &Value) -> Value {
    let optional = [
        ("llama", "attention_bias"),
        ("llama", "mlp_bias"),
        ("llama", "head_dim"),
        ("qwen3", "attention_bias"),
        ("qwen3_moe", "attention_bias"),
        ("qwen3_moe", "mlp_only_layers"),
        ("qwen3_moe", "decoder_sparse_step"),
        ("qwen2_moe", "qkv_bias"),
        ("olmo2", "attention_bias"),
        ("olmoe", "attention_bias"),
        ("deepseek_v2", "attention_bias"),
        ("deepseek_v3", "q_lora_rank"),
        ("gpt_oss", "attention_bias"),
        ("gemma", "attention_bias"),
        ("gemma2", "attention_bias"),
        ("starcoder2", "use_bias"),
        ("granitemoe", "attention_bias"),
        ("gpt_neox", "attention_bias"),
        ("gpt2", "n_inner"),
        ("gptj", "n_inner"),
        ("repro-llama", "num_key_value_heads"),
        ("repro-llama-moe", "num_key_value_heads"),
    ];
    let kind = config["model_type"].as_str().unwrap_or_default().to_owned();
    let layers = config.get("num_hidden_layers").cloned();
    let untied = ["repro-llama", "gpt2", "gptj", "llama", "stablelm", "phi3", "olmo2", "mixtral"];
    for (key, value) in small.as_object().unwrap() {
        let wanted = optional.contains(&(kind.as_str(), key)) || config.get(key).is_some();
        let tie = key == "tie_word_embeddings" && untied.contains(&kind.as_str());
        if wanted || tie || (kind == "deepseek_v3" && small_of_v3(key)) {
            config[key] = value.clone();
        }
    }
    // A list with an item for each layer has one for each layer of the small model.
    let of_layers = layers.and_then(|layers| layers.as_u64());
    let now = config.get("num_hidden_layers").and_then(Value::as_u64);
    for (_, value) in config.as_object_mut().unwrap() {
        if let (Some(items), Some(now)) = (value.as_array_mut(), now)
            && Some(items.len() as u64) == of_layers
        {
            *items = items.iter().cycle().take(now as usize).cloned().collect();
        }
    }
    config
}

/// V3's fixture stands on its defaults, so everything that shapes it is laid over.
fn small_of_v3(key: &str) -> bool {
    let common = ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"];
    let own = ["intermediate_size", "n_routed_experts", "num_experts_per_tok"];
    let rest = ["moe_intermediate_size", "first_k_dense_replace", "n_shared_experts"];
    common.iter().chain(&own).chain(&rest).any(|known| *known == key)
}

proptest::proptest! {
    /// For any small shape, in every family: the closed form equals the sum over the listed tensors.
    #[test]
    fn both_ways_of_counting_agree(seed in proptest::collection::vec(1_u64..6, 9)) {
        let small = small(&seed);
        let mut compared = 0;
        for entry in std::fs::read_dir(corpus()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let text = resized(config, &small).to_string();
            let source = Source::new("small.json", text.clone().into_bytes()).unwrap();
            let document = Document::parse_json(source).unwrap();
            let counts = match recompute(&document) {
                Ok(counts) => counts,
                // Some classes have no biases, or no shared experts; of some the small shape fits no field that it leaves.
                Err(error)
                    if ["params::unsupported", "params::impossible-shape"].contains(&error.code.id) =>
                {
                    continue;
                }
                Err(error) => panic!("{text}: {error}"),
            };
            let (mut total, mut routed) = (0, 0);
            for tensor in tensors(&document).unwrap().iter() {
                let elements = tensor.shape.iter().product::<u64>();
                total += elements;
                routed += elements * u64::from(tensor.part == Part::RoutedExperts);
            }
            proptest::prop_assert_eq!(counts.total(), total, "{}", &text);
            let shape = counts.shape;
            let idle = routed / shape.experts.max(1) * (shape.experts - shape.experts_per_token);
            proptest::prop_assert_eq!(counts.active(), total - idle, "{}", &text);
            compared += 1;
        }
        proptest::prop_assert!(compared > 100, "{} of the families", compared);
    }
}

/// Writes a checkpoint whose data are never written: the file is as long as they would be.
fn write_checkpoint(path: &Path, tensors: &[(&str, &str, Vec<u64>)]) {
    let (mut header, mut end) = (serde_json::Map::new(), 0);
    for (name, dtype, shape) in tensors {
        let width = if *dtype == "BF16" { 2 } else { 1 };
        let bytes = shape.iter().product::<u64>() * width;
        let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [end, end + bytes]});
        header.insert((*name).to_owned(), entry);
        end += bytes;
    }
    let text = Value::Object(header).to_string();
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&(text.len() as u64).to_le_bytes()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_len(8 + text.len() as u64 + end).unwrap();
}

#[test]
fn a_checkpoint_of_300_gigabytes_is_counted_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.safetensors");
    write_checkpoint(&path, &[("a.weight", "BF16", vec![150_000, 1_000_000])]);
    let start = std::time::Instant::now();
    let model = load(&path, "huge.safetensors").unwrap();
    assert!(start.elapsed() < std::time::Duration::from_secs(1));
    assert_eq!((model.total, model.active), (150_000_000_000, None));
    assert!(model.notes[0].contains("config.json"), "{:?}", model.notes);
}

/// The tensors of a config, as a checkpoint stores them.
fn stored(document: &Document) -> Vec<(String, Vec<u64>)> {
    tensors(document).unwrap().iter().map(|tensor| (tensor.name, tensor.shape)).collect()
}

#[test]
fn a_config_beside_a_checkpoint_says_what_is_active() {
    let folder = tempfile::tempdir().unwrap();
    let config = std::fs::read(corpus().join("repro-llama-moe.json")).unwrap();
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let list = stored(&document(&folder.path().join("config.json")));
    let mut rows: Vec<_> = list.iter().map(|(n, s)| (n.as_str(), "BF16", s.clone())).collect();
    rows.push(("optimizer.m.model.norm.weight", "BF16", vec![64]));
    let path = folder.path().join("model.safetensors");
    write_checkpoint(&path, &rows);
    let model = load(&path, "x/model.safetensors").unwrap();
    assert_eq!((model.total, model.active), (252_352, Some(160_192)));
    assert!(model.notes[0].contains("optimizer"), "{:?}", model.notes);

    rows.push(("extra.weight", "BF16", vec![5]));
    rows.push(("packed.qweight", "U8", vec![5]));
    write_checkpoint(&path, &rows);
    let model = load(&path, "x/model.safetensors").unwrap();
    assert_eq!((model.total, model.active), (252_357, None));
    assert!(model.notes.iter().any(|note| note.contains("`packed.qweight`, are packed")));
    assert!(model.notes.last().unwrap().contains("252352 parameters, not 252357"));
}

#[test]
fn a_tied_head_that_is_stored_twice_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let config = std::fs::read(corpus().join("repro-llama.json")).unwrap();
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let list = stored(&document(&folder.path().join("config.json")));
    let mut rows: Vec<_> = list.iter().map(|(n, s)| (n.as_str(), "BF16", s.clone())).collect();
    rows.push(("lm_head.weight", "BF16", vec![256, 64]));
    let path = folder.path().join("model.safetensors");
    write_checkpoint(&path, &rows);
    let model = load(&path, "model.safetensors").unwrap();
    assert_eq!((model.total, model.active), (145_856, Some(145_856)));
}

#[test]
fn shards_are_counted_as_far_as_they_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let shard = |name: &str, tensor: &str| {
        write_checkpoint(&folder.path().join(name), &[(tensor, "BF16", vec![3, 4])]);
    };
    let index = folder.path().join("model.safetensors.index.json");
    let write = |map: &Value, size: u64| {
        let text = json!({"metadata": {"total_size": size}, "weight_map": map}).to_string();
        std::fs::write(&index, text).unwrap();
    };
    let name = "m/model.safetensors.index.json";
    let map = json!({"a": "one.safetensors", "b": "two.safetensors"});
    write(&map, 48);
    assert_eq!(load(&index, name).unwrap_err().code.id, "checkpoint::shards-disagree");
    shard("one.safetensors", "a");
    let partial = load(&index, name).unwrap();
    assert_eq!(partial.total, 12);
    assert!(partial.notes[0].contains("`two.safetensors`"), "{:?}", partial.notes);
    shard("two.safetensors", "b");
    assert_eq!(load(&index, name).unwrap().total, 24);
    write(&map, 47);
    let other = load(&index, name).unwrap();
    assert_eq!(
        (other.total, other.notes[0].contains("47 bytes for its shards, and they have 48")),
        (24, true)
    );
    for map in [
        json!({"a": "one.safetensors", "c": "two.safetensors", "b": "two.safetensors"}),
        json!({"a": "one.safetensors"}),
        json!({"b": "one.safetensors", "a": "two.safetensors"}),
        json!({"a": "../one.safetensors"}),
        json!({"a": "/one.safetensors"}),
        json!({"a": "one.bin"}),
    ] {
        write(&map, 24);
        let refused = load(&index, name).map(|model| model.total).map_err(|r| r.code.id);
        let expected = match map == json!({"a": "one.safetensors"}) {
            true => Ok(12),
            false => Err("checkpoint::shards-disagree"),
        };
        assert_eq!(refused, expected, "{map}");
    }
}

#[test]
fn what_is_no_regular_file_is_never_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.safetensors");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    for name in ["pipe.safetensors", "pipe.json", "pipe.toml"] {
        assert_eq!(load(&pipe, name).unwrap_err().code.id, "checkpoint::not-a-file");
    }
    assert_eq!(load(folder.path(), "x.json").unwrap_err().code.id, "checkpoint::not-a-file");
    assert_eq!(load(&pipe, "model.gguf").unwrap_err().code.id, "checkpoint::not-a-file");
    for name in ["model.pt", "model.bin"] {
        assert_eq!(load(&pipe, name).unwrap_err().code.id, "checkpoint::foreign-format");
    }
    let absent = folder.path().join("absent.json");
    assert_eq!(load(&absent, "absent.json").unwrap_err().code.id, "source::unreadable");
}

/// Writes a GGUF file with candle: Mixtral's names, two layers of four experts of which two are used.
fn mixture(path: &Path, tensors: &[(&str, &[usize])], more: &[(&str, u32)]) {
    use candle_core::quantized::{GgmlDType, QTensor, gguf_file};
    use candle_core::{DType, Device, Tensor};
    let quantized = |(name, shape): &(&str, &[usize])| {
        let tensor = Tensor::zeros(*shape, DType::F32, &Device::Cpu).unwrap();
        let is_wide = shape.last().is_some_and(|row| row.is_multiple_of(32)) && shape.len() > 1;
        let kind = if is_wide { GgmlDType::Q8_0 } else { GgmlDType::F32 };
        ((*name).to_owned(), QTensor::quantize(&tensor, kind).unwrap())
    };
    let tensors: Vec<_> = tensors.iter().map(quantized).collect();
    let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let text = |text: &str| gguf_file::Value::String(text.into());
    let words = gguf_file::Value::Array(vec![text("a"), text("b")]);
    let mut keys = vec![
        ("general.architecture", text("llama")),
        ("general.size_label", text("4x10K")),
        ("tokenizer.ggml.tokens", words),
    ];
    keys.extend(more.iter().map(|(key, value)| (*key, gguf_file::Value::U32(*value))));
    let keys: Vec<_> = keys.iter().map(|(key, value)| (*key, value)).collect();
    let mut file = std::fs::File::create(path).unwrap();
    gguf_file::write(&mut file, &keys, &tensors).unwrap();
}

const BLOCK: [(&str, &[usize]); 7] = [
    ("token_embd.weight", &[96, 64]),
    ("output_norm.weight", &[64]),
    ("blk.0.attn_q.weight", &[64, 64]),
    ("blk.0.ffn_gate_inp.weight", &[4, 64]),
    ("blk.0.ffn_up_exps.weight", &[4, 32, 64]),
    ("blk.0.ffn_down_exps.weight", &[4, 64, 32]),
    ("rope_freqs.weight", &[32]),
];
const ALWAYS: u64 = 96 * 64 + 64 + 64 * 64 + 4 * 64;
const EXPERT: u64 = 2 * 64 * 32;

#[test]
fn a_gguf_header_says_what_is_active() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let counted = |keys: &[(&str, u32)]| {
        mixture(&path, &BLOCK, keys);
        let counts = load(&path, "m.gguf").unwrap();
        (counts.total, counts.active, counts.notes.join("\n"))
    };
    let total = ALWAYS + 4 * EXPERT;
    let experts =
        [("llama.expert_count", 4), ("llama.expert_used_count", 2), ("llama.block_count", 1)];
    let (stored, active, notes) = counted(&experts);
    assert_eq!((stored, active), (total, Some(ALWAYS + 2 * EXPERT)));
    assert!(notes.contains("\"4x10K\"") && notes.contains("rope_freqs.weight"), "{notes}");
    for unknown in
        [&experts[..1], &[], &[("llama.expert_count", 8), ("llama.expert_used_count", 2)]]
    {
        let (stored, active, notes) = counted(unknown);
        assert_eq!((stored, active), (total, None));
        assert!(notes.contains("the active count is unknown"), "{notes}");
    }
}

#[test]
fn layers_for_prediction_ahead_are_stored_and_not_active() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let own: [(&str, &[usize]); 3] = [
        ("token_embd.weight", &[96, 64]),
        ("blk.0.attn_q.weight", &[64, 64]),
        ("blk.1.nextn.eh_proj.weight", &[64, 128]),
    ];
    mixture(&path, &own, &[("llama.block_count", 2), ("llama.nextn_predict_layers", 1)]);
    let counts = load(&path, "m.gguf").unwrap();
    let always = 96 * 64 + 64 * 64;
    assert_eq!((counts.total, counts.active), (always + 64 * 128, Some(always)));
    assert!(counts.notes.join(" ").contains("multi-token prediction"));
}

#[test]
fn parts_of_a_gguf_file_are_counted_together() {
    let folder = tempfile::tempdir().unwrap();
    let part = |at: usize| folder.path().join(format!("m-{at:05}-of-00002.gguf"));
    let split = |at: u32| [("split.count", 2), ("split.no", at)];
    let keys =
        [&split(0)[..], &[("llama.expert_count", 4), ("llama.expert_used_count", 1)]].concat();
    mixture(&part(1), &BLOCK[..4], &keys);
    let alone = load(&part(1), "m-00001-of-00002.gguf").unwrap();
    assert_eq!((alone.total, alone.active, alone.is_part), (ALWAYS, None, true));
    mixture(&part(2), &BLOCK[4..], &split(1));
    for at in [1, 2] {
        let counts = load(&part(at), &format!("m-{at:05}-of-00002.gguf")).unwrap();
        assert_eq!((counts.total, counts.active), (ALWAYS + 4 * EXPERT, Some(ALWAYS + EXPERT)));
        assert!(!counts.is_part);
    }
}

#[test]
fn an_index_may_be_longer_than_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let header = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let shard = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
    std::fs::write(folder.path().join("model-00001-of-00002.safetensors"), shard).unwrap();
    let long = |at: usize| format!("\"experts.{at:0180}\":\"model-00002-of-00002.safetensors\"");
    let others: Vec<_> = (0..90_000).map(long).collect();
    let index = format!(
        "{{\"weight_map\":{{\"a\":\"model-00001-of-00002.safetensors\",{}}}}}",
        others.join(",")
    );
    assert!(index.len() > 16 << 20);
    let path = folder.path().join("model.safetensors.index.json");
    std::fs::write(&path, index).unwrap();
    let counts = load(&path, "model.safetensors.index.json").unwrap();
    assert_eq!((counts.total, counts.is_part), (2, true));
}
