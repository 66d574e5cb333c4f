//! `repro diff` as a user runs it: comparisons and horizons over small configs, refusals, bundles,
//! and the published nmoe runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use repro_bundle::bundle::{BundleWriter, Checkpoint, Contract, Data, Origin, Receipt, Run, Seeds};
use serde_json::{Value, json};

/// Standard output, standard error and the exit status of `repro diff` in `folder`.
fn diff_in(folder: &Path, arguments: &[&str]) -> (String, String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
    let output = command.current_dir(folder).arg("diff").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

fn diff(arguments: &[&str]) -> (String, String, i32) {
    diff_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/diff"), arguments)
}

/// What a comparison that succeeds prints.
fn printed(arguments: &[&str]) -> String {
    let (stdout, stderr, code) = diff(arguments);
    assert_eq!((stderr.as_str(), code), ("", 0), "{arguments:?}");
    stdout
}

fn parsed(arguments: &[&str]) -> Value {
    let arguments: Vec<_> = arguments.iter().copied().chain(["--format", "json"]).collect();
    serde_json::from_str(&printed(&arguments)).unwrap()
}

/// The entry of a list whose `name` is this.
fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut found = list.as_array().unwrap().iter().filter(|entry| entry["name"] == name);
    let entry = found.next().unwrap_or_else(|| panic!("no `{name}` in {list:#}"));
    assert_eq!(found.next(), None);
    entry
}

/// Keeps the snapshots beside those of the other tests.
fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("diff_{name}"), drawn));
}

#[test]
fn two_runs_as_people_see_them() {
    let pair = ["dense.toml@160", "moe.toml@160"];
    snapshot("text", &printed(&pair));
    snapshot("verbose", &printed(&[pair[0], pair[1], "-v"]));
    snapshot("quiet", &printed(&[pair[0], pair[1], "-q"]));
    snapshot("models", &printed(&["two_heads.json", "four_heads.json"]));
    snapshot("hostile", &printed(&["four_heads.json", "hostile.json"]));
}

#[test]
fn two_runs_as_programs_see_them() {
    let document = parsed(&["dense.toml@160", "moe.toml@160"]);
    snapshot("json", &format!("{document:#}\n"));
    assert_eq!(document["schema"], "repro.diff/1");
    // 2 x 256 x 64 ends, 2 x 4 x 64^2 attention, 2 x 3 x 64 x 128 feed-forward, 5 x 64 norms
    let total = 32_768 + 32_768 + 49_152 + 320;
    assert_eq!(named(&document["match"], "total")["values"][0], total.to_string());
    assert_eq!(named(&document["match"], "active_ffn_width")["holds"], true);
    assert_eq!(named(&document["horizon"], "equal_tokens")["holds"], true);
    assert_eq!(named(&document["horizon"], "equal_tokens")["values"], json!(["40960", "40960"]));
    assert_eq!(named(&document["horizon"], "total_dn")["holds"], false);
    let phases = &named(&document["differs"], "learning-rate phase")["values"];
    assert_eq!(*phases, json!(["20% into the decay", "at the peak rate"]));
    // 40,960 x 1 / 4
    let experts = &named(&document["differs"], "tokens per routed expert")["values"];
    assert_eq!(*experts, json!(["no experts", "10240"]));
    // One writes 1e-3 and the other 0.0010.
    assert_eq!(named(&document["held_fixed"], "peak rate (dense)")["value"], "0.001");
    assert_eq!(named(&document["held_fixed"], "validation tokens")["value"], "1024");
    assert_eq!(named(&document["not_stated"], "seeds")["missing"], json!(["dense", "moe"]));
    let rate = named(&document["not_stated"], "router bias rate");
    assert_eq!((&rate["missing"], &rate["values"]), (&json!(["dense"]), &json!([null, "0.0001"])));
}

#[test]
fn a_step_that_is_not_named_is_the_last_one() {
    let document = parsed(&["dense.toml", "moe.toml"]);
    let runs = &document["runs"];
    assert_eq!((&runs[0]["step"], &runs[0]["step_from"]), (&json!("200"), &json!("config")));
    let phase = named(&document["held_fixed"], "learning-rate phase");
    assert_eq!(phase["value"], "at the end of the schedule");
    let late = parsed(&["dense.toml@201", "moe.toml"]);
    let note = "step 201 is past the 200 planned steps";
    assert_eq!(late["runs"][0]["notes"], json!([note]));
}

#[test]
fn configs_without_a_run_are_compared_as_models() {
    let document = parsed(&["two_heads.json", "four_heads.json"]);
    assert_eq!(document["runs"][0]["step"], Value::Null);
    assert_eq!(named(&document["horizon"], "equal_tokens")["holds"], Value::Null);
    assert_eq!(named(&document["differs"], "num_key_value_heads")["ratio"], "2");
    assert_eq!(named(&document["not_stated"], "rope_theta")["missing"], json!(["two_heads"]));
}

#[test]
fn inputs_that_cannot_be_used_are_refused_each_with_its_help() {
    let horizon = ["--horizon", "total_dn", "--coefficient"];
    let unsized_step = [&["two_heads.json"], &horizon[..], &["20"]].concat();
    let vague = [&["dense.toml"], &horizon[..], &["~5"]].concat();
    for (arguments, code) in [
        (&["dense.toml@late", "moe.toml"][..], "contract::bad-step"),
        (&["dense.toml", "absent.toml"], "source::unreadable"),
        (&["no_family.json", "dense.toml"], "params::unknown-family"),
        (&["no_tokens.toml", "dense.toml"], "contract::unknown-step-size"),
        (&["torn_batch.toml", "dense.toml"], "source::wrong-type"),
        (&["dense.toml"], "cli::bad-usage"),
        (&vague, "cli::bad-usage"),
        (&unsized_step, "contract::unknown-step-size"),
    ] {
        let (stdout, stderr, status) = diff(arguments);
        assert_eq!((stdout.as_str(), status), ("", 2), "{arguments:?}");
        assert!(stderr.starts_with(&format!("error[{code}]")), "{arguments:?}: {stderr}");
        assert!(stderr.contains("= help: "), "{stderr}");
    }
    let (_, stderr, _) = diff(&["dense.toml@late", "absent.toml"]);
    assert_eq!(stderr.matches("error[").count(), 2, "each input is complained about");
}

#[test]
fn horizons_for_any_models() {
    let total = ["dense.toml", "moe.toml", "--horizon", "total_dn", "--coefficient", "20"];
    snapshot("horizon", &printed(&total));
    let declared: Vec<_> = total.into_iter().chain(["--rounding", "up"]).collect();
    snapshot("horizon_declared", &printed(&declared));
    // 20 x 115,008 / 256 tokens a step
    let models = &parsed(&total)["plan"]["models"];
    assert_eq!((&models[0]["tokens"], &models[0]["steps"]), (&json!("2300160"), &json!("8985")));
    let tokens = ["two_heads.json", "--horizon", "equal_tokens", "--coefficient", "1,000"];
    let part = ["--tokens-per-step", "16", "--fraction", "10%", "--rounding", "nearest"];
    let tokens = parsed(&[&tokens[..], &part[..]].concat());
    let model = &tokens["plan"]["models"][0];
    assert_eq!((&model["tokens"], &model["steps"]), (&json!("100"), &json!("6.25")));
    assert_eq!(model["rounded"], json!({"nearest": "6"}));
}

#[test]
fn horizons_of_equal_resources() {
    let runs = ["dense.toml", "moe.toml"];
    let plan = |rule, coefficient| {
        let own = ["--horizon", rule, "--coefficient", coefficient, "--rounding", "nearest"];
        [&runs[..], &own[..]].concat()
    };
    snapshot("strict_reuse", &printed(&plan("strict_reuse", "1M")));
    snapshot("relaxed_reuse", &printed(&plan("relaxed_reuse", "1M")));
    snapshot("iso_flop", &printed(&plan("iso_flop", "1e12")));
    let models = |rule, coefficient| parsed(&plan(rule, coefficient))["plan"]["models"].clone();
    let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let iso = models("iso_flop", "1e12");
    for model in iso.as_array().unwrap() {
        let compute = 6.0 * number(&model["params"]) * number(&model["tokens"]);
        assert!((compute / 1e12 - 1.0).abs() < 1e-9, "{compute}");
        assert_eq!(model["epochs"], Value::Null);
    }
    let (strict, relaxed) = (models("strict_reuse", "1M"), models("relaxed_reuse", "1M"));
    assert_eq!((&strict[0]["epochs"], &relaxed[0]["epochs"]), (&json!("1"), &json!("2")));
    assert_eq!(
        (&strict[1]["unique_tokens"], &relaxed[1]["epochs"]),
        (&json!("1000000"), &json!("2"))
    );
    let cost = number(&strict[0]["params"]) / number(&strict[1]["params"]);
    assert!((number(&strict[1]["epochs"]) / cost - 1.0).abs() < 1e-9);
    assert_eq!(strict[1]["tokens"], relaxed[1]["tokens"]);
}

#[test]
fn weights_without_a_config_have_no_active_horizon() {
    let folder = tempfile::tempdir().unwrap();
    let header = br#"{"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}"#;
    let file = [&(header.len() as u64).to_le_bytes()[..], &header[..], &[0; 12]].concat();
    std::fs::write(folder.path().join("w.safetensors"), file).unwrap();
    let plan = |rule| {
        let size = ["--coefficient", "20", "--tokens-per-step", "6", "--format", "json"];
        diff_in(folder.path(), &[&["w.safetensors", "--horizon", rule], &size[..]].concat())
    };
    let document: Value = serde_json::from_str(&plan("total_dn").0).unwrap();
    assert_eq!(document["plan"]["models"][0]["steps"], "10");
    let (stdout, stderr, code) = plan("active_dn");
    assert_eq!((stdout.as_str(), code), ("", 2));
    assert!(stderr.starts_with("error[contract::unknown-active]"), "{stderr}");
}

/// Writes an emitted bundle of a tiny run whose last checkpoint is at step 40.
fn bundle(folder: &Path, id: &str, seed: &str, unique: u64) {
    let mut writer = BundleWriter::create(&folder.join(id)).unwrap();
    let config = json!({"model": {"model_type": "repro-llama", "vocab_size": 10, "hidden_size": 4,
        "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}});
    writer.json("data/config.json", &config).unwrap();
    let receipt = Receipt {
        data: Some(Data {
            name: None,
            sha256: None,
            unique_tokens: Some(unique),
            unique_bytes: None,
            tokenizer: None,
            order: None,
            validation_sha256: None,
            epochs: None,
        }),
        run: Some(Run {
            id: id.to_owned(),
            study: None,
            arm: None,
            plan_commit: None,
            finished: Some(true),
        }),
        contract: Some(Contract {
            matched: Some("total".to_owned()),
            match_target: None,
            mismatch: None,
            horizon: Some("total_dn".to_owned()),
            coefficient: Some(20.0),
            tokens: Some(5040),
            tokens_per_step: Some(16),
            fraction: None,
        }),
        seeds: Some(Seeds { init: Some(seed.to_owned()), data: Some("1".to_owned()) }),
        checkpoints: vec![Checkpoint {
            step: 40,
            tokens_seen: Some(640),
            evaluation: None,
            weights: None,
            weights_sha256: None,
            tensors_sha256: None,
        }],
        ..Receipt::new(Origin::Emitted)
    };
    writer.finish(&receipt).unwrap();
}

#[test]
fn bundles_state_seeds_and_contracts() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path(), "tiny-s1", "1", 640);
    bundle(folder.path(), "tiny-s2", "2", 200);
    let (stdout, stderr, _) = diff_in(folder.path(), &["tiny-s1", "tiny-s2", "--format", "json"]);
    assert_eq!(stderr, "");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let run = &document["runs"][0];
    assert_eq!((&run["origin"], &run["step"]), (&json!("declared"), &json!("40")));
    assert_eq!(run["step_from"], "checkpoint");
    assert!(run["digest"].as_str().unwrap().starts_with("sha256:"));
    let seeds = &named(&document["differs"], "seeds")["values"];
    assert_eq!(*seeds, json!(["data 1, init 1", "data 1, init 2"]));
    assert_eq!(document["differs"].as_array().unwrap().len(), 3);
    assert_eq!(named(&document["held_fixed"], "tokens seen")["value"], "640");
    // 640 tokens of 640, and of 200
    let epochs = named(&document["differs"], "epochs");
    assert_eq!((&epochs["values"], &epochs["ratio"]), (&json!(["1", "3.2"]), &json!("3.2")));
    assert_eq!(named(&document["held_fixed"], "receipt: contract.horizon")["value"], "total_dn");
}

#[test]
fn a_bundle_with_several_configs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({"model_type": "gpt2"});
    for (id, configs) in [("none", 0), ("one", 1), ("two", 2)] {
        let mut writer = BundleWriter::create(&folder.path().join(id)).unwrap();
        writer.json("data/note.json", &json!({"rows": 1})).unwrap();
        let mut names = vec!["data/note.json".to_owned()];
        for number in 0..configs {
            let name = format!("data/configs/{number}.json");
            writer.json(&name, &config).unwrap();
            names.push(name);
        }
        let documents = names.into_iter().map(|name| (name, json!("post"))).collect();
        let mut receipt = Receipt::new(Origin::Transcribed);
        receipt.extra.insert("documents".to_owned(), Value::Object(documents));
        writer.finish(&receipt).unwrap();
    }
    let (_, stderr, code) = diff_in(folder.path(), &["none", "one", "two"]);
    assert_eq!(code, 2);
    assert_eq!(stderr.matches("error[contract::ambiguous-config]").count(), 2, "{stderr}");
    let same = diff_in(folder.path(), &["one", "one/data/configs/0.json", "--format", "json"]);
    let document: Value = serde_json::from_str(&same.0).unwrap();
    assert_eq!(document["differs"], json!([]));
}

/// The published configs, where the shared data is.
fn published() -> Option<PathBuf> {
    Some(crate::shared::folder("diff of the published runs")?.join("nmoe"))
}

#[test]
fn the_published_runs_match_in_active_parameters_and_in_no_horizon() {
    let Some(folder) = published() else { return };
    let runs = ["small_dense_sdpa.toml@8320", "small_moe.toml@5760", "small_moe_ultra.toml@4864"];
    let (stdout, _, code) = diff_in(&folder, &[&runs[..], &["--format", "json"]].concat());
    assert_eq!(code, 0);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let holds = |list: &str, name: &str| named(&document[list], name)["holds"].as_bool();
    assert_eq!(holds("match", "active"), Some(true));
    assert_eq!(holds("match", "active_ffn_width"), Some(true));
    assert_eq!(holds("match", "total"), Some(false));
    for horizon in ["equal_tokens", "total_dn", "active_dn", "steps", "iso_flop"] {
        assert_eq!(holds("horizon", horizon), Some(false), "{horizon}");
    }
    let phases = &named(&document["differs"], "learning-rate phase")["values"];
    assert_eq!(*phases, json!(["41% into the decay", "at the peak rate", "at the peak rate"]));
    let dtypes = &named(&document["differs"], "dtype")["values"];
    assert_eq!(*dtypes, json!(["bf16", "nvfp4", "bf16"]));
}

#[test]
fn the_published_horizons_follow() {
    let Some(folder) = published() else { return };
    let steps = |more: &[&str], rule: &str| -> Vec<String> {
        let runs = ["small_dense_sdpa.toml", "small_moe.toml", "small_moe_ultra.toml"];
        let horizon = ["--horizon", "total_dn", "--coefficient", "4,999,610,368/190,532,352"];
        let how = ["--tokens-per-step", "524,288", "--format", "json", "--rounding", rule];
        let (stdout, stderr, _) =
            diff_in(&folder, &[&runs[..], &horizon[..], &how[..], more].concat());
        assert_eq!(stderr, "");
        let document: Value = serde_json::from_str(&stdout).unwrap();
        let models = document["plan"]["models"].as_array().unwrap();
        models.iter().map(|model| model["rounded"][rule].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(steps(&[], "down"), ["9536", "37813", "141963"]);
    assert_eq!(steps(&["--fraction", "20%"], "nearest"), ["1907", "7563", "28393"]);
}
