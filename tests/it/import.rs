//! `repro import` as a user runs it: every format over logs written anew in `tests/corpus/import`, bad
//! input, what is written and what is not, and the published logs of the shared data.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use repro_bundle::bundle::Bundle;
use repro_formats::import::ImportOptions;
use serde_json::{Value, json};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/import")
}

/// Standard output, standard error and the exit status of `repro import` in `folder`.
fn import_in(folder: &Path, arguments: &[&str]) -> (String, String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
    let output = command.current_dir(folder).arg("import").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

fn import(arguments: &[&str]) -> (String, String, i32) {
    import_in(&corpus(), arguments)
}

fn parsed(arguments: &[&str]) -> Value {
    let arguments: Vec<_> = arguments.iter().copied().chain(["--format", "json"]).collect();
    serde_json::from_str(&import(&arguments).0).unwrap()
}

fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("import_{name}"), drawn));
}

/// Output, complaints and exit status in one text.
fn drawn(arguments: &[&str]) -> String {
    let (stdout, stderr, code) = import(arguments);
    let complaints =
        if stderr.is_empty() { String::new() } else { format!("\n--- stderr\n{stderr}") };
    format!("{stdout}{complaints}\n--- exit {code}\n")
}

/// Every file below `root` with its bytes.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

const JSONL_MAP: &str = "step=iter,loss=train/loss,val_loss=val/loss,lr=learning_rate,time=elapsed";

#[test]
fn each_format_as_people_and_programs_see_it() {
    for (name, arguments) in [
        ("speedrun", &["speedrun", "speedrun", "--target", "3.28"][..]),
        ("mlperf", &["mlperf", "mlperf", "--rcp", "mlperf/rcps.json"]),
        ("jsonl", &["jsonl", "jsonl/wandb.jsonl", "--map", JSONL_MAP]),
        ("csv", &["csv", "csv/table.csv", "--map", "step=iteration,loss=train_loss"]),
        ("hf_trainer", &["hf-trainer", "hf-trainer", "--target", "2.25", "-v"]),
    ] {
        let arguments = [arguments, &["--dry-run"]].concat();
        snapshot(name, &drawn(&arguments));
        let json = [arguments, vec!["--format", "json"]].concat();
        snapshot(&format!("{name}_json"), &drawn(&json));
    }
    snapshot("help", &import(&["--help"]).0);
    snapshot("quiet", &drawn(&["speedrun", "speedrun", "--dry-run", "-q"]));
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let log = "step:0/10 val_loss:10.8258 train_time:0ms step_avg:nanms\n\
               step:10/10 val_loss:3.2790 train_time:330ms step_avg:33.00ms\n";
    write("speedrun/empty.txt", "");
    write("speedrun/none.txt", "a log of something else\n");
    write("speedrun/twice.txt", &format!("{log}{log}"));
    write("speedrun/tail.txt", &log.replace("step:0/", "step:5/"));
    write("speedrun/beyond.txt", &log.replace("10/10", "11/10"));
    write("speedrun/plan.txt", &log.replace("10/10", "10/12"));
    write("speedrun/mixed.txt", &format!("{log}s:11 tel:3.25\n"));
    write("jsonl/step.jsonl", "{\"step\":0,\"loss\":1}\n{\"loss\":2}\n");
    write("jsonl/syntax.jsonl", "{\"step\":0,\"loss\":1}\n{\"step\":1,\"loss\":}\n");
    write("jsonl/number.jsonl", "{\"step\":0,\"loss\":\"low\"}\n");
    write("jsonl/back.jsonl", "{\"step\":5,\"loss\":1}\n{\"step\":4,\"loss\":1}\n");
    write("jsonl/twice.jsonl", "{\"step\":5,\"loss\":1}\n{\"step\":5,\"loss\":2}\n");
    write("jsonl/long.jsonl", &format!("{{\"step\":0,\"x\":\"{}\"}}\n", "y".repeat(70_000)));
    write("csv/names.csv", "steps,train loss\n0,10.5\n");
    write("csv/cells.csv", "step,loss\n0,10.5,7\n");
    write("hf/a/trainer_state.json", "{\"log_history\": [{\"loss\": 1.0}], \"global_step\": 1}");
    write("hf/b/trainer_state.json", "{\"log_history\": ");
    let mllog = |key: &str, value: &str, time: u32| {
        format!(
            ":::MLLOG {{\"time_ms\": {time}, \"key\": \"{key}\", \"value\": {value}, \"metadata\": {{\"status\": \"success\", \"samples_count\": 8}}}}\n"
        )
    };
    let result = |batch: u32| {
        [
            mllog("submission_benchmark", "\"bert\"", 1),
            mllog("global_batch_size", &batch.to_string(), 2),
            mllog("run_start", "null", 3),
            mllog("eval_accuracy", "0.75", 4),
            mllog("run_stop", "null", 5),
        ]
        .concat()
    };
    write("mlperf/result_0.txt", &result(8));
    write("mlperf/result_1.txt", &result(4));
    write("mlperf/result_2.txt", ":::MLLOG {\"time_ms\": 1, \"key\": \"seed\", \"value\": NaN,}\n");
    write("mlperf/result_3.txt", &(result(8) + &mllog("run_stop", "null", 6)));
    write("mlperf/result_4.txt", &mllog("submission_benchmark", "\"bert\"", 1));
    write("scaling.json", "{\"scaling_factor\": 0}");
    write("rcps.json", "{\"a\": {\"Benchmark\": \"bert\", \"BS\": 8}}");
    let mut text = String::new();
    for arguments in [
        &["speedrun", "speedrun"][..],
        &["jsonl", "jsonl"],
        &["csv", "csv"],
        &["hf-trainer", "hf"],
        &["mlperf", "mlperf"],
        &["mlperf", "mlperf", "--scaling", "scaling.json"],
        &["mlperf", "mlperf", "--rcp", "rcps.json"],
        &["jsonl", "jsonl/back.jsonl", "--map", "los=x"],
        &["jsonl", "jsonl/back.jsonl", "--map", "loss"],
        &["speedrun", "speedrun", "--map", "loss=x"],
        &["speedrun", "speedrun", "--target", "low"],
        &["speedrun", "csv", "absent.txt"],
    ] {
        let arguments = [arguments, &["--dry-run"]].concat();
        let (stdout, stderr, code) = import_in(folder.path(), &arguments);
        assert_eq!(code, 2, "{arguments:?}");
        text.push_str(&format!("$ repro import {}\n{stdout}{stderr}\n", arguments.join(" ")));
    }
    snapshot("refused", &text);
}

#[test]
fn bundles_are_whole_and_say_where_they_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("receipts");
    let shown = out.to_str().unwrap();
    for arguments in [
        &["speedrun", "speedrun"][..],
        &["mlperf", "mlperf"],
        &["jsonl", "jsonl/wandb.jsonl", "--map", JSONL_MAP],
        &["csv", "csv/table.csv", "--map", "step=iteration,loss=train_loss"],
        &["hf-trainer", "hf-trainer"],
    ] {
        let arguments = [arguments, &["--out", shown]].concat();
        let (_, stderr, code) = import(&arguments);
        assert_eq!((stderr.as_str(), code), ("", 0), "{arguments:?}");
    }
    let names: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 16 + 20 + 1 + 1 + 2);
    for name in &names {
        let bundle = Bundle::load_folder(&out.join(name), name, None, 1).unwrap();
        let extra = &bundle.receipt().extra;
        assert_eq!(extra["importer"]["name"], "repro", "{name}");
        assert!(!bundle.files().contains_key("data/source.log"));
        let mut check = Command::new("sha256sum");
        check.current_dir(out.join(name)).args([
            "-c",
            "--strict",
            "--quiet",
            "tagmanifest-sha256.txt",
            "manifest-sha256.txt",
        ]);
        assert!(check.status().unwrap().success(), "{name}");
    }
    let arguments: Vec<_> = names.iter().map(|name| out.join(name).display().to_string()).collect();
    let verify =
        Command::new(env!("CARGO_BIN_EXE_repro")).arg("verify").args(arguments).output().unwrap();
    assert_eq!(verify.status.code(), Some(0));

    let read = |bundle: &str, file: &str| fs::read_to_string(out.join(bundle).join(file)).unwrap();
    assert_eq!(
        read("steady-run-1", "data/evaluation/step-000060.json"),
        "{\"loss\":3.279,\"step\":60}\n"
    );
    assert!(
        read("steady-run-1", "data/printed/validation.csv").ends_with("60,3.2790,1981,33.02\n")
    );
    assert_eq!(read("steady-run-1", "data/config.json"), "{\"planned_steps\":60}\n");
    assert_eq!(
        read("odd-07-diverged", "data/evaluation/step-000060.json"),
        "{\"nonfinite\":\"nan\",\"step\":60}\n"
    );
    let bundle = Bundle::load_folder(&out.join("steady-run-1"), "steady-run-1", None, 1).unwrap();
    let printed = bundle.document("data/printed/validation.csv").unwrap();
    assert_eq!(printed.root().at("step=60/val_loss").unwrap().text().unwrap(), "3.2790");
    let receipt = bundle.receipt();
    assert_eq!(
        (receipt.extra["group"].clone(), receipt.run.as_ref().unwrap().finished),
        (json!("steady"), Some(true))
    );
    let log = fs::read(corpus().join("speedrun/steady/run-1.txt")).unwrap();
    assert_eq!(
        receipt.extra["source"],
        json!({"bytes": log.len(), "name": "run-1.txt", "sha256": repro_core::digest::Digest::of(&log).to_string()})
    );
    assert_eq!(
        receipt.checkpoints.last().unwrap().evaluation.as_deref(),
        Some("data/evaluation/step-000060.json")
    );
    // Nothing of the machine that imported it is in a bundle.
    for (path, bytes) in files(&out) {
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains("corpus/import"), "{}", path.display());
    }
    assert!(
        read("jsonl-wandb", "data/metrics.jsonl").contains("\"nonfinite\":\"nan\",\"step\":50")
    );
    assert_eq!(
        read("sweep-seed-1", "data/evaluation/step-000040.json").matches("\"loss\":2.1875").count(),
        1
    );
    assert!(
        read("good-result_0", "data/evaluation/step-000192.json")
            .contains("\"eval_accuracy\":0.9241")
    );
}

#[test]
fn the_same_logs_make_the_same_bundles() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    for (out, threads) in [(&one, "1"), (&two, "4")] {
        let arguments = [
            "speedrun",
            "speedrun",
            "--keep-source",
            "--threads",
            threads,
            "--out",
            out.to_str().unwrap(),
        ];
        assert_eq!(import(&arguments).2, 0);
    }
    let relative = |root: &Path| -> BTreeMap<_, _> {
        let own = |(path, bytes): (PathBuf, Vec<u8>)| {
            (path.strip_prefix(root).unwrap().to_owned(), bytes)
        };
        files(root).into_iter().map(own).collect()
    };
    assert_eq!(relative(&one), relative(&two));
    let kept = fs::read(one.join("odd-03-renamed/data/source.log")).unwrap();
    assert_eq!(kept, fs::read(corpus().join("speedrun/odd/03-renamed.txt")).unwrap());
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_half_done() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("receipts");
    let shown = out.to_str().unwrap();
    let again = |paths: &[&str]| import(&[&["speedrun"], paths, &["--out", shown]].concat());
    assert_eq!(again(&["speedrun/steady/run-1.txt"]).2, 0);
    let before = files(&out);
    // One of the bundles is there, so none is written.
    let (stdout, stderr, code) = again(&["speedrun/steady"]);
    assert_eq!(code, 2);
    assert!(
        stdout.contains("written  nothing") && stderr.contains("import::existing-bundle"),
        "{stdout}{stderr}"
    );
    assert_eq!(files(&out), before);
    // One log is refused, so none is written.
    let (_, stderr, code) = again(&["speedrun/steady/run-2.txt", "csv/table.csv"]);
    assert_eq!(code, 2, "{stderr}");
    assert_eq!(files(&out), before);
    let other = fs::File::open(&out).unwrap();
    other.lock().unwrap();
    let (_, stderr, code) = again(&["speedrun/short"]);
    assert_eq!((code, stderr.contains("import::concurrent-import")), (2, true));
    drop(other);
    // What a killed import left is taken away.
    fs::create_dir_all(out.join(".import/half/data")).unwrap();
    assert_eq!(again(&["speedrun/short"]).2, 0);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 3);
    // A folder that cannot be made leaves no trace.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let (_, stderr, code) =
        import(&["speedrun", "speedrun/short", "--out", file.join("x").to_str().unwrap()]);
    assert_eq!((code, stderr.contains("bundle::cannot-write")), (2, true), "{stderr}");
}

#[test]
fn mixed_groups_have_no_mean() {
    let group = &parsed(&[
        "speedrun",
        "speedrun/steady",
        "speedrun/short",
        "--group",
        "all",
        "--dry-run",
        "--target",
        "3.28",
    ])["groups"][0];
    let why = "the runs have different lengths: 2 runs of 39 steps, 4 runs of 60 steps";
    assert_eq!(group["figures"]["mean"]["refused"], why);
    assert_eq!(group["figures"]["one_sample_t"]["refused"], why);
    assert_eq!(group["counted"], 6);
}

#[test]
fn a_log_of_any_size_is_read_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = vec![b'x'; 64 << 20];
    text.extend_from_slice(b"\nstep:0/1 val_loss:10.5 train_time:0ms step_avg:nanms\nstep:1/1 val_loss:3.5 train_time:9ms step_avg:9.00ms\n");
    fs::write(folder.path().join("huge.txt"), text).unwrap();
    let (stdout, _, code) =
        import_in(folder.path(), &["speedrun", "huge.txt", "--dry-run", "--format", "json"]);
    let read: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &read["groups"][0]["runs"][0]["final_loss"]), (0, &json!("3.5")));
}

#[test]
fn the_published_speedrun_logs_give_the_published_figures() {
    let Some(shared) = crate::shared::folder("import speedrun") else { return };
    let logs = shared.join("speedrun_logs");
    let read = parsed(&["speedrun", logs.to_str().unwrap(), "--dry-run", "--target", "3.28"]);
    let groups: BTreeMap<&str, &Value> = read["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["name"].as_str().unwrap(), group))
        .collect();
    // Name, runs, mean, standard deviation, and p of scipy.stats.ttest_1samp(..., alternative="less").
    for (name, n, mean, sd, p) in [
        ("fp8-down-baseline", 13, 3.278_246_153_8, 0.002_016_438_9, 0.004_298),
        ("fp8-down-candidate", 13, 3.278_369_230_8, 0.001_415_618_0, 0.000_669),
        ("mudd-baseline-s1430", 10, 3.28674, 0.001_430_772_9, 1.0),
        ("mudd-baseline-s1480", 10, 3.27875, 0.001_143_338_2, 0.003_596),
        ("unet-2024-12-08", 20, 3.278_135, 0.001_440_495_2, 0.000_007),
    ] {
        let figures = &groups[name]["figures"];
        assert_eq!(
            (&figures["n"], &figures["mean"], &figures["sd"]),
            (&json!(n), &json!(mean), &json!(sd)),
            "{name}"
        );
        let found = figures["one_sample_t"]["p_less"].as_f64().unwrap();
        assert!((found - p).abs() < 1e-6, "{name}: {found}");
        assert!(
            groups[name]["runs"].as_array().unwrap().iter().all(|run| run["findings"] == json!([])),
            "{name}"
        );
    }
    let anchor = &groups["adamw-2024-06-06"];
    assert_eq!(
        (&anchor["runs"][0]["final_loss"], &anchor["runs"][0]["last_step"]),
        (&json!("3.275959"), &json!(9536))
    );
    assert_eq!(anchor["figures"]["sd"]["refused"], "one value; it needs at least 2");
    assert_eq!((groups.len(), read["failures"].as_array().unwrap().len()), (6, 0));
}

#[test]
fn the_published_mlperf_score_is_reproduced() {
    let Some(shared) = crate::shared::folder("import mlperf") else { return };
    let folder = shared.join("mlperf");
    let rcp = folder.join("rcps_llama2_70b_lora.json");
    let logs = folder.join("quanta-llama2_70b_lora");
    let read =
        parsed(&["mlperf", logs.to_str().unwrap(), "--dry-run", "--rcp", rcp.to_str().unwrap()]);
    let group = &read["groups"][0];
    let figures = &group["figures"];
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("quanta_summary.json")).unwrap())
            .unwrap();
    let published =
        summary.as_array().unwrap().iter().find(|entry| entry["system"] == "D75T-7U").unwrap();
    assert_eq!(figures["score"], published["llama2_70b_lora"]);
    assert_eq!(
        (figures["score"].to_string().as_str(), &figures["n"]),
        ("21.6307171586", &json!(8))
    );
    assert_eq!(figures["olympic_mean_minutes"], json!(20.904_854_166_7));
    let convergence = &figures["convergence"];
    assert_eq!(
        (&convergence["verdict"], &convergence["submission"]["mean"]),
        (&json!("passes, scaled"), &json!(3072.0))
    );
    // The factor of the review committee is the one that the reference gives.
    assert_eq!((&convergence["factor"], &group["findings"]), (&json!(1.034_722_222), &json!([])));
    let seeds: std::collections::BTreeSet<_> =
        group["runs"].as_array().unwrap().iter().map(|run| run["seed"].as_str().unwrap()).collect();
    assert_eq!(seeds.len(), 10);
}

#[test]
fn claims_rest_on_imported_bundles() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("receipts");
    let read = parsed(&["speedrun", "speedrun/steady", "--out", out.to_str().unwrap()]);
    assert!(read["groups"][0]["runs"][0]["digest"].is_string(), "{read}");
    let post = |claimed: &str| {
        format!(
            "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"A record\"\n\
             [texts.post]\nwhat = \"the post\"\n\
             [names]\nloss = \"steady-run-1:data/printed/validation.csv#step=60.val_loss\"\n\
             [[sentence]]\nplace = \"table 1\"\nquote = \"{claimed}\"\nis = \"loss\"\n"
        )
    };
    fs::create_dir(folder.path().join("repro")).unwrap();
    for (claimed, verdict) in [("3.2790", "verified"), ("3.279", "verified"), ("3.2791", "refuted")]
    {
        fs::write(folder.path().join("repro/p.toml"), post(claimed)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
        let output = command
            .args(["verify", "--post", "p", "--format", "json", "--root"])
            .arg(folder.path())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let claim = &report["posts"][0]["claims"][0];
        assert_eq!(
            (&claim["verdict"], &claim["origin"]),
            (&json!(verdict), &json!("declared")),
            "{claimed}: {claim}"
        );
    }
}

#[test]
fn a_submission_with_a_copy_lacks_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let read = |at: usize| {
        fs::read_to_string(corpus().join(format!("mlperf/good/result_{at}.txt"))).unwrap()
    };
    for at in 0..8 {
        fs::write(folder.path().join(format!("result_{at}.txt")), read(at)).unwrap();
    }
    fs::write(folder.path().join("result_8.txt"), read(0)).unwrap();
    let seeded = read(9).replace("\"value\": 110,", "\"value\": 101,");
    fs::write(folder.path().join("result_9.txt"), seeded).unwrap();
    let read = parsed(&["mlperf", folder.path().to_str().unwrap(), "--dry-run"]);
    let group = &read["groups"][0];
    let code = |at: usize| group["runs"][at]["findings"][0]["code"].clone();
    assert_eq!((code(8), code(9)), (json!("import::same-bytes"), json!("import::same-seed")));
    assert_eq!(
        (&group["findings"][0]["code"], &group["findings"][0]["found"]),
        (&json!("import::wrong-run-count"), &json!("8"))
    );
    assert_eq!(
        (&group["figures"]["n"], &group["figures"]["score"]),
        (&json!(6), &group["figures"]["olympic_mean_minutes"])
    );
}

/// A post whose one sentence is `quote`, about the evidence `locator`.
fn judged(folder: &Path, locator: &str, quote: &str) -> Value {
    let post = format!(
        "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"A post\"\n[texts.post]\nwhat = \"the post\"\n\
         [names]\nx = '''{locator}'''\n[[sentence]]\nplace = \"table 1\"\nquote = \"{quote}\"\nis = \"x\"\n"
    );
    fs::create_dir_all(folder.join("repro")).unwrap();
    fs::write(folder.join("repro/p.toml"), post).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
    let arguments = ["verify", "--post", "p", "--format", "json", "--root"];
    let output = command.args(arguments).arg(folder).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["posts"][0]["claims"][0].clone()
}

#[test]
fn a_folder_of_trackers_is_recognized() {
    snapshot("mixed", &drawn(&["auto", "mixed", "--dry-run"]));
    // The word may be left out.
    assert_eq!(import(&["mixed", "--dry-run"]), import(&["auto", "mixed", "--dry-run"]));
    let (_, stderr, code) = import(&["tensorbord", "mixed", "--dry-run"]);
    assert!(code == 2 && stderr.contains("tensorboard"), "{stderr}");
}

#[test]
fn metrics_of_any_name_are_claimed_by_the_pointer_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("receipts");
    let read = parsed(&["auto", "mixed", "--keep-source", "--out", out.to_str().unwrap()]);
    let groups = read["groups"].as_array().unwrap();
    let mut names = Vec::new();
    for group in groups {
        for metric in group["metrics"].as_array().unwrap() {
            let [value] = metric["values"].as_array().unwrap().as_slice() else { continue };
            let (name, value) = (metric["name"].as_str().unwrap(), value.as_str().unwrap());
            if value == "nan" || name == "lr" {
                continue;
            }
            let claim = judged(folder.path(), metric["pointer"].as_str().unwrap(), value);
            assert_eq!(claim["verdict"], json!("verified"), "{metric}: {claim}");
            names.push(name.to_owned());
        }
    }
    for name in
        ["metrics/mAP50(B)", "lm loss", "eval_wer", "eval/wer", "best.min", "eval/paloma/c4_en/bpb"]
    {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    let bundles: Vec<_> =
        groups.iter().flat_map(|group| group["runs"].as_array().unwrap()).collect();
    let verify = Command::new(env!("CARGO_BIN_EXE_repro"))
        .arg("verify")
        .args(bundles.iter().map(|run| out.join(run["bundle"].as_str().unwrap())))
        .output();
    assert_eq!(verify.unwrap().status.code(), Some(0));
    let kept = fs::read(out.join("asr-small-s7/data/source.log")).unwrap();
    let file = "mixed/asr/wandb/offline-run-20250101_000000-a1b2/run-a1b2.wandb";
    assert_eq!(kept, fs::read(corpus().join(file)).unwrap());
    // Of a run that several files tell, each is kept.
    assert_eq!(fs::read_dir(out.join("forest-tree-s1/data/source")).unwrap().count(), 2);
}

#[test]
fn arms_and_seeds_are_read_from_paths() {
    let table = |loss: f64| format!("step,val_loss\n0,4.5\n10,{loss:.2}\n");
    let layouts: [fn(&str, u32) -> String; 5] = [
        |arm, seed| format!("{arm}/{seed}/metrics.csv"),
        |arm, seed| format!("{arm}-s{seed}.csv"),
        |arm, seed| format!("{arm}_seed{seed}.csv"),
        |arm, seed| format!("seed_{seed}/{arm}/metrics.csv"),
        |arm, seed| format!("{arm}/seed={seed}/lightning_logs/version_0/metrics.csv"),
    ];
    for layout in layouts {
        let folder = tempfile::tempdir().unwrap();
        for (arm, loss) in [("dense", 3.5), ("moe", 3.25)] {
            for seed in 1..=3 {
                let path = folder.path().join("runs").join(layout(arm, seed));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, table(loss + f64::from(seed) / 100.0)).unwrap();
            }
        }
        let (stdout, _, code) =
            import_in(folder.path(), &["auto", "runs", "--dry-run", "--format", "json"]);
        let read: Value = serde_json::from_str(&stdout).unwrap();
        let groups: Vec<_> = read["groups"].as_array().unwrap().iter().collect();
        let told = |group: &Value| {
            let runs = group["runs"].as_array().unwrap();
            let seeds: Vec<_> = runs.iter().map(|run| run["seed"].clone()).collect();
            (group["name"].clone(), group["figures"]["mean"].clone(), seeds)
        };
        let seeds = || vec![json!("1"), json!("2"), json!("3")];
        let wanted = [(json!("dense"), json!(3.52), seeds()), (json!("moe"), json!(3.27), seeds())];
        let found: Vec<_> = groups.into_iter().map(told).collect();
        assert_eq!((code, found.as_slice()), (0, &wanted[..]), "{}", layout("ARM", 1));
    }
}

#[test]
fn what_can_be_read_is_written_where_something_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("good.csv", b"step,val_loss\n0,4.5\n10,3.5\n");
    write("back.csv", b"step,val_loss\n10,4.5\n0,3.5\n");
    write("cut.jsonl", b"{\"step\":1,\"val_loss\":2.5}\n{\"step\":2,\"val_");
    write("noise.log", &[0xff, 0, 0xfe, b'\n'].repeat(100));
    write("empty.jsonl", b"");
    write("half.db", b"SQLite format 3\0run_uuid");
    let arguments = ["auto", ".", "--out", "receipts"];
    let (stdout, _, code) = import_in(folder.path(), &arguments);
    assert!(code == 2 && stdout.contains("written  nothing"), "{stdout}");
    let (stdout, stderr, code) =
        import_in(folder.path(), &[&arguments[..], &["--keep-going"]].concat());
    assert!(code == 2 && stdout.contains("written  2 bundles"), "{stdout}");
    let refused = ["import::decreasing-step", "import::bad-database"];
    assert!(refused.iter().all(|code| stderr.contains(code)), "{stderr}");
    assert!(
        stdout.contains("import::truncated-line") && stdout.contains("skipped  2 files"),
        "{stdout}"
    );
    // A file that is named is not passed over.
    let (_, stderr, code) =
        import_in(folder.path(), &["auto", "noise.log", "empty.jsonl", "--dry-run"]);
    assert!(code == 2 && stderr.matches("import::unknown-format").count() == 2, "{stderr}");
}

#[test]
fn files_of_trackers_as_published_are_read() {
    let Some(shared) = crate::shared::folder("import trackers") else { return };
    let folder = shared.join("strangers/trackers");
    let read = parsed(&["auto", folder.to_str().unwrap(), "--dry-run"]);
    let groups = read["groups"].as_array().unwrap();
    let group = |name: &str| groups.iter().find(|group| group["name"] == name).unwrap();
    assert_eq!(read["failures"], json!([]));
    // A configuration and its rerun are two runs of one group.
    for (name, step) in [("190M-1xC", 7272), ("760M-1xC", 11580)] {
        assert_eq!(group(name)["counted"], 2);
        let metrics = group(name)["metrics"].as_array().unwrap();
        assert_eq!(metrics.len(), 96);
        assert!(metrics.iter().all(
            |metric| metric["values"].as_array().unwrap().len() == 2 && metric["step"] == step
        ));
    }
    assert_eq!(group("megatron")["counted"], 3);
    assert_eq!(group("torchtitan")["runs"][0]["last_step"], 100);
    let events = group("wandb")["metrics"].as_array().unwrap();
    let accuracy = events.iter().find(|metric| metric["name"] == "epoch_val_acc").unwrap();
    assert_eq!((&accuracy["step"], &accuracy["values"]), (&json!(16), &json!(["1.0"])));
    assert_eq!(group("wandb_tests")["format"], "wandb");
}

#[test]
fn a_published_database_gives_its_expected_values() {
    let Some(shared) = crate::shared::folder("import mlflow") else { return };
    let folder = shared.join("strangers/trackers/mlflow/db");
    let database = folder.join("db_version_7ac759974ad8_with_metrics.sql");
    let expected = folder.join("db_version_7ac759974ad8_with_metrics_expected_values.json");
    let expected: BTreeMap<String, BTreeMap<String, f64>> =
        serde_json::from_str(&fs::read_to_string(expected).unwrap()).unwrap();
    let options = ImportOptions { hashed: true, threads: 1, ..ImportOptions::default() };
    let import = repro_formats::import::read(None, &[database], &options);
    assert!(import.failures.is_empty(), "{:?}", import.failures);
    let found: BTreeMap<String, BTreeMap<String, f64>> = import
        .runs()
        .map(|(_, run)| {
            let rows = run.training.iter().chain(&run.evaluations);
            let cells = rows.flat_map(|row| &row.cells);
            // The last one of a metric stands last.
            let last =
                cells.map(|(metric, number)| (metric.name().to_owned(), number.value().unwrap()));
            (run.extra["run"].as_str().unwrap().to_owned(), last.collect())
        })
        .collect();
    assert_eq!(found, expected);
}
