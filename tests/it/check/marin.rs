//! Marin's speedrun results: what is found in the shared ones, and what single edits break.

use serde_json::{Value, json};

use super::{ShortFinding, check, check_text, snapshot};
use crate::shared;

/// A run of the new schema with invented numbers that agree.
fn result() -> Value {
    let config = json!({
        "hidden_dim": 64, "intermediate_dim": 128, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2,
        "seq_len": 32, "tie_word_embeddings": false, "hybrid_norm": false, "input_embedding_norm": false
    });
    // Levanter's definitions, worked out by hand: see `src/check/kinds/marin/levanter.rs`.
    let layer = 2 * 64 * 16 * (4 + 2) + 3 * 64 * 128 + 2 * 64;
    let size = 2 * layer + 64 + 2 * 128_256 * 64;
    let layer = 6 * 64 * 128 + 2 * 64 * (64 + 2 * 2 * 16) + 2 * 64 * 64 + 4 * 32 * 64 + 3 * 32 * 4;
    let per_token = 2 * layer + 2 * 64 * 128_256;
    let tokens = 10 * 8 * 32;
    json!({"runs": [{"run_info": {
        "description": "A 16M model", "model_config": config, "model_size": size, "total_tokens": tokens,
        "model_flops": 3.0 * f64::from(per_token) * f64::from(tokens), "training_time": 2.5,
        "training_hardware_flops": 2.5 * 16.0 * 459e12, "resources": {"tpu_type": "v5p-32", "slice_count": 1},
        "train_config": {"num_train_steps": 10, "train_batch_size": 8}, "wandb_run_link": "https://w/runs/a-1"
    }}]})
}

#[test]
fn a_result_that_agrees_has_no_finding() {
    let report = check_text("speedrun_results.json", &result().to_string());
    assert_eq!(ShortFinding::all(&report), []);
    assert!(report.counts().consistent >= 6);
}

#[test]
fn each_number_that_is_another_is_found() {
    for (pointer, value, code) in [
        ("model_size", json!(16_000_000), "marin::model-size"),
        ("total_tokens", json!(2561), "marin::tokens"),
        ("model_flops", json!(1.5e11), "marin::model-flops"),
        ("training_hardware_flops", json!(2.5 * 32.0 * 459e12), "marin::hardware-flops"),
        ("training_time", json!(2.6), "marin::hardware-flops"),
        ("description", json!("A 40M model"), "marin::description"),
    ] {
        let mut edited = result();
        edited["runs"][0]["run_info"][pointer] = value;
        let report = check_text("speedrun_results.json", &edited.to_string());
        let found = ShortFinding::all(&report);
        assert!(found.iter().any(|one| one.code == code), "{pointer}: {found:?}");
    }
}

#[test]
fn the_shared_results_have_these_findings() {
    let Some(data) = shared::folder("check of Marin results") else { return };
    let data = data.join("strangers/marin_speedrun");
    let found = ShortFinding::all(&check(&[data]));
    let told = found.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join("\n");
    snapshot("marin_strangers", &told);
}

#[test]
fn settings_that_no_model_has_are_read_all_the_same() {
    for (key, value) in [
        ("gdn_block_size", json!(-4)),
        ("gdn_block_size", json!(0)),
        ("gdn_layers_per_block", json!(-1)),
        ("num_layers", json!(-2)),
        ("num_heads", json!(0)),
        ("hidden_dim", json!(1e300)),
    ] {
        let mut edited = result();
        let config = &mut edited["runs"][0]["run_info"]["model_config"];
        config["use_gated_deltanet"] = json!(true);
        config["gdn_layers_per_block"] = json!(3);
        config["gdn_block_size"] = json!(4);
        config[key] = value;
        check_text("speedrun_results.json", &edited.to_string());
    }
}
