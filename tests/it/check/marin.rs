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
    // Levanter's definitions, worked out by hand: see `src/formats/check/kinds/marin/levanter.rs`.
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

/// A run of the old schema with invented numbers that agree, on 64 chips of TPU v4 for as long as 500 of its 6000 steps take.
fn old_result() -> Value {
    let new = result();
    let info = &new["runs"][0]["run_info"];
    let (size, tokens) = (info["model_size"].as_f64().unwrap() - 64.0, 6000.0 * 8.0 * 32.0);
    let per_token = info["model_flops"].as_f64().unwrap() / (10.0 * 8.0 * 32.0);
    let needed = per_token * tokens;
    let seconds = needed / 4.0 / (64.0 * 275e12);
    json!({"runs": [{
        "run_related_info": {
            "model_config": info["model_config"], "num_parameters": size, "total_tokens": tokens,
            "train_config": {"num_train_steps": 6000, "train_batch_size": 8, "optimizer_config": {"adam_lr": 0.02, "learning_rate": 0.01}},
            "hardware_config": {"device_type": "v4-128", "num_devices": 64, "device_flops": 275e12},
            "wandb_run_link": "https://w/runs/a-1"
        },
        "run_stats": {
            "pre_run_flops_estimate": 6.0 * size * tokens, "training_time_in_minutes": seconds / 60.0,
            "total_training_flops": seconds * 64.0 * 275e12, "eval/paloma/c4_en/bpb": 1.25
        }
    }]})
}

fn codes(results: &Value) -> Vec<&'static str> {
    let found = ShortFinding::all(&check_text("speedrun_results.json", &results.to_string()));
    found.iter().map(|one| one.code).collect()
}

/// The likely causes of a finding.
fn causes(results: &Value, code: &str) -> Vec<&'static str> {
    let report = check_text("speedrun_results.json", &results.to_string());
    let broken = report.asked().filter(|(asked, _)| asked.code.id == code);
    broken.flat_map(|(asked, _)| asked.broken.iter().flat_map(|one| one.causes.clone())).collect()
}

#[test]
fn each_number_of_the_old_schema_that_is_another_is_found() {
    let run = |pointer: &str| format!("/runs/0/{pointer}");
    for (pointer, value, code) in [
        ("run_related_info/num_parameters", json!(16_000_000), "marin::num-parameters"),
        ("run_stats/pre_run_flops_estimate", json!(1.5e14), "marin::estimated-flops"),
        ("run_related_info/hardware_config/num_devices", json!(32), "marin::devices"),
        ("run_related_info/hardware_config/device_flops", json!(276e12), "marin::device-peak"),
        ("run_stats/training_time_in_minutes", json!(60.0), "marin::time-in-minutes"),
        (
            "run_related_info/wandb_run_link",
            json!("https://w/runs/x_adam_lr_0.03_b"),
            "marin::learning-rate-in-name",
        ),
        (
            "run_related_info/wandb_run_link",
            json!("https://w/runs/muonh_4096_lr_0.03"),
            "marin::muon-rate-in-name",
        ),
    ] {
        let mut edited = old_result();
        *edited.pointer_mut(&run(pointer)).unwrap() = value;
        let found = codes(&edited);
        assert!(!codes(&old_result()).contains(&code), "{code}");
        assert!(found.contains(&code), "{pointer}: {found:?}");
    }
}

#[test]
fn what_a_run_says_of_its_hardware_is_held_against_it() {
    let mut stated = result();
    let info = &mut stated["runs"][0]["run_info"];
    info["num_chips"] = json!(16);
    info["device_flops"] = json!(459e12);
    info["model_flops_per_token"] = json!(info["model_flops"].as_f64().unwrap() / 3.0 / 2560.0);
    assert_eq!(codes(&stated), [] as [&str; 0]);
    for (name, value, code) in [
        ("num_chips", json!(32), "marin::chips"),
        ("num_chips", json!(32), "marin::stated-flops"),
        ("device_flops", json!(275e12), "marin::chip-peak"),
        ("model_flops_per_token", json!(1.5e7), "marin::flops-per-token"),
    ] {
        let mut edited = stated.clone();
        edited["runs"][0]["run_info"][name] = value;
        assert!(codes(&edited).contains(&code), "{name}: {:?}", codes(&edited));
    }
}

/// A GPU of a name with the peak that somebody takes for it.
fn on_gpu(name: &str, peak: f64) -> Value {
    let mut edited = result();
    let info = &mut edited["runs"][0]["run_info"];
    info["resources"] = json!({"accelerator_type": name, "gpu_count": 8});
    info["training_hardware_flops"] = json!(2.5 * 8.0 * peak);
    info["num_chips"] = json!(8);
    info["device_flops"] = json!(peak);
    edited
}

/// Data sheets differ in the last digit, and people round it.
#[test]
fn peaks_of_data_sheets_are_no_errors() {
    for name in ["H100", "NVIDIA H100 80GB HBM3", "H200"] {
        for peak in [989e12, 989.4e12, 989.5e12, 990e12] {
            assert_eq!(codes(&on_gpu(name, peak)), [] as [&str; 0], "{name} {peak}");
            // The same where it is not stated.
            let mut edited = on_gpu(name, peak);
            edited["runs"][0]["run_info"].as_object_mut().unwrap().remove("device_flops");
            assert_eq!(codes(&edited), [] as [&str; 0], "{name} {peak}");
        }
        assert!(codes(&on_gpu(name, 1979e12)).contains(&"marin::chip-peak"), "with sparsity");
    }
    assert_eq!(codes(&on_gpu("A100", 312e12)), [] as [&str; 0]);
    assert!(codes(&on_gpu("A100", 19.5e12)).contains(&"marin::chip-peak"));
}

/// Cards of these names have peaks of their own, and what nobody knows here is not asked.
#[test]
fn cards_with_lower_clocks_are_not_held_against_faster_ones() {
    for (name, peak) in
        [("H100 NVL", 835.5e12), ("H200 NVL", 835.5e12), ("H100 PCIe", 756e12), ("B200", 2250e12)]
    {
        assert_eq!(codes(&on_gpu(name, peak)), [] as [&str; 0], "{name}");
    }
}

/// The history of a run has 500 steps unless it is scanned: told only where that can be why the hardware was too slow.
#[test]
fn a_sampled_history_is_a_cause_only_where_it_can_be_one() {
    let code = "marin::utilization";
    assert_eq!(causes(&old_result(), code).len(), 1, "{:?}", codes(&old_result()));
    let with = |change: fn(&mut Value)| {
        let mut edited = old_result();
        change(&mut edited["runs"][0]);
        assert!(codes(&edited).contains(&code), "{:?}", codes(&edited));
        causes(&edited, code)
    };
    // FLOPs that are none of the stated time,
    assert!(with(|run| run["run_stats"]["training_time_in_minutes"] = json!(60.0)).is_empty());
    // a run that has no more steps,
    let few = with(|run| run["run_related_info"]["train_config"]["num_train_steps"] = json!(500));
    assert!(few.is_empty());
    // and one with so many that the hardware would have been idle for most of the time.
    let many =
        with(|run| run["run_related_info"]["train_config"]["num_train_steps"] = json!(60_000));
    assert!(many.is_empty());
}

#[test]
fn two_documents_that_tell_of_one_run_tell_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, results: &Value| {
        std::fs::write(folder.path().join(name), results.to_string()).unwrap();
    };
    let with_score = |mut results: Value| {
        results["runs"][0]["run_info"]["eval/paloma/c4_en/bpb"] = json!(1.25);
        results
    };
    for (first, pointer, value, code) in [
        (result(), "run_info/total_tokens", json!(2561), "marin::token-mismatch"),
        (result(), "run_info/training_time", json!(2.6), "marin::time-mismatch"),
        (
            result(),
            "run_info/training_hardware_flops",
            json!(1e16),
            "marin::hardware-flops-mismatch",
        ),
        (result(), "run_info/model_flops", json!(1.5e11), "marin::model-flops-mismatch"),
        (result(), "run_info/model_size", json!(16_000_000), "marin::model-size-mismatch"),
        (result(), "run_info/model_config/hybrid_norm", json!(true), "marin::hybrid-norm-mismatch"),
        (result(), "run_info/eval~1paloma~1c4_en~1bpb", json!(1.5), "marin::bpb-mismatch"),
        (
            old_result(),
            "run_related_info/num_parameters",
            json!(16_000_000),
            "marin::parameter-mismatch",
        ),
    ] {
        let first =
            if first["runs"][0].get("run_info").is_some() { with_score(first) } else { first };
        of("1.json", &first);
        let mut second = first;
        *second.pointer_mut(&format!("/runs/0/{pointer}")).unwrap() = value;
        of("2.json", &second);
        let report = check(&[folder.path().to_owned()]);
        let broken = report.together.iter().filter(|asked| !asked.broken.is_empty());
        assert_eq!(broken.map(|asked| asked.code.id).collect::<Vec<_>>(), [code], "{pointer}");
    }
}

#[test]
fn norms_of_queries_and_keys_count_where_a_class_has_them() {
    let mut olmo = result();
    let run = &mut olmo["runs"][0]["run_info"];
    let size = run["model_size"].as_u64().unwrap();
    let config = run["model_config"].as_object_mut().unwrap();
    config.remove("hybrid_norm");
    config.insert("attention_bias".into(), json!(false));
    // Over all queries and all keys of two layers.
    run["model_size"] = json!(size + 2 * (64 + 32));
    assert_eq!(codes(&olmo), [""; 0]);
    // The number that the other setting of `hybrid_norm` would give is no cause where there is no such setting.
    olmo["runs"][0]["run_info"]["model_size"] = json!(size + 2 * (64 + 32) + 2 * 2 * 64);
    assert_eq!(causes(&olmo, "marin::model-size"), [""; 0]);
}
