//! Results of lm-evaluation-harness with invented tasks: what is honest and looks odd, and what may not pass without a word.

use std::fs;

use serde_json::{Value, json};

use super::{ShortFinding, check, check_text, corpus};

const RUN: &str = "lm-eval/run";
const RESULTS: &str = "results_2026-09-01T10-00-00.000001.json";
const SAMPLES: &str = "samples_gsm8k_2026-09-01T10-00-00.000001.jsonl";

/// Results of one task with its configuration; `items` were scored.
fn results(task: &str, scores: Value, config: Value, items: u32) -> Value {
    let mut config = config;
    config["task"] = json!(task);
    config["num_fewshot"] = json!(0);
    json!({
        "results": {task: scores}, "group_subtasks": {task: []}, "configs": {task: config},
        "versions": {task: 1.0}, "n-shot": {task: 0},
        "n-samples": {task: {"original": items, "effective": items}},
        "config": {"model": "hf", "model_args": "pretrained=acme/tiny-7", "limit": null}
    })
}

/// A configuration that leaves it to the harness to score `metric`.
fn plain(metric: &str, output: &str) -> Value {
    json!({
        "output_type": output, "repeats": 1,
        "metric_list": [{"metric": metric, "aggregation": "mean", "higher_is_better": true}]
    })
}

/// The codes of all findings, with whether each rules something out.
fn found(results: &Value) -> Vec<(&'static str, bool)> {
    let report = check_text("results.json", &results.to_string());
    ShortFinding::all(&report).iter().map(|one| (one.code, one.rules_out)).collect()
}

/// CoQA leaves out one reference after the other, so that an item of it may be a third; half of 500 is no count of right answers.
#[test]
fn matches_of_coqa_are_fractions() {
    let mut config = plain("em", "generate_until");
    config["process_results"] = json!("def process_results(doc, results): ...");
    let of = |value: f64, stderr: f64| {
        let scores = json!({"em,none": value, "em_stderr,none": stderr});
        found(&results("coqa", scores, config.clone(), 500))
    };
    assert_eq!(of(0.5, 0.0189271), []);
    assert_eq!(of(0.6123456789012345, 0.0189271), []);
    // More than numbers from 0 to 1 can have.
    assert_eq!(of(0.5, 0.0289271), [("lm-eval::stderr-bound", true)]);
}

#[test]
fn a_task_that_asks_several_times_has_other_scores() {
    let scores = json!({"exact_match,none": 0.3375, "exact_match_stderr,none": 0.0712345});
    let mut config = plain("exact_match", "generate_until");
    let share = [("lm-eval::fractional-count", true), ("lm-eval::stderr", true)];
    assert_eq!(found(&results("gsm8k", scores.clone(), config.clone(), 33)), share);
    config["repeats"] = json!(8);
    assert_eq!(found(&results("gsm8k", scores, config, 33)), []);
}

/// What a class does to an item need not stand in the configuration.
#[test]
fn a_task_of_another_name_may_give_partial_credit() {
    let scores = |value: f64| json!({"acc,none": value, "acc_stderr,none": 0.0412345});
    let of =
        |task, value| found(&results(task, scores(value), plain("acc", "multiple_choice"), 77));
    assert_eq!(of("acme_graded", 0.612345), [("lm-eval::likely-fractional-count", false)]);
    assert_eq!(
        of("copa", 0.612345),
        [("lm-eval::fractional-count", true), ("lm-eval::stderr", true)]
    );
    assert_eq!(of("acme_graded", 61.2345), [("lm-eval::likely-range", false)]);
    // Where so many right answers are possible, their error is looked at.
    assert_eq!(of("acme_graded", 33.0 / 77.0), [("lm-eval::likely-stderr", false)]);
    // A known name whose configuration scores otherwise is another task.
    for (key, value) in [
        ("metric_list", json!([{"metric": "graded", "aggregation": "mean"}])),
        ("metric_list", json!([{"metric": "acc", "aggregation": "median"}])),
        ("process_results", json!("def process_results(doc, results): ...")),
        ("output_type", json!("loglikelihood_rolling")),
    ] {
        let mut config = plain("acc", "multiple_choice");
        config[key] = value.clone();
        assert_eq!(found(&results("copa", scores(0.612345), config, 77)), [], "{key}: {value}");
    }
}

/// A folder of results and samples, of which one item is half right.
#[test]
fn samples_that_are_fractions_make_their_mean_one() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(corpus(RUN).join(SAMPLES)).unwrap();
    let text = text.replacen("\"exact_match\": 1.0", "\"exact_match\": 0.5", 1);
    fs::write(folder.path().join(SAMPLES), text).unwrap();
    let text = fs::read_to_string(corpus(RUN).join(RESULTS)).unwrap();
    let text = text.replace("0.6666666666666666", "0.5833333333333334");
    fs::write(
        folder.path().join(RESULTS),
        text.replace("0.21081851067789195", "0.2006932429798716"),
    )
    .unwrap();
    assert_eq!(ShortFinding::all(&check(&[folder.path().to_owned()])), []);
}

#[test]
fn a_set_of_another_size_than_the_published_one_is_found() {
    let scores = json!({"acc,none": 0.25, "acc_stderr,none": 0.008885});
    let of = |original: u32, effective: u32, limit: Value| {
        let mut results =
            results("arc_easy", scores.clone(), plain("acc", "multiple_choice"), original);
        results["n-samples"]["arc_easy"]["effective"] = json!(effective);
        results["config"]["limit"] = limit;
        found(&results)
            .into_iter()
            .filter(|(code, _)| *code == "lm-eval::evaluation-set-size")
            .count()
    };
    assert_eq!(of(2376, 2376, Value::Null), 0);
    assert_eq!(of(2376, 100, json!(100)), 0);
    assert_eq!(of(2300, 2300, Value::Null), 1);
}

#[test]
fn scores_in_quotes_are_numbers_and_others_are_told() {
    let of = |value: Value, stderr: Value| {
        let scores = json!({"alias": " - 7 choices", "acc,none": value, "acc_stderr,none": stderr});
        found(&results("copa", scores, plain("acc", "multiple_choice"), 100))
    };
    let right = json!(0.04351941398892446);
    assert_eq!(of(json!(0.75), right.clone()), []);
    assert_eq!(of(json!("0.75"), right.clone()), []);
    assert_eq!(of(json!(0.75), json!("N/A")), []);
    assert_eq!(
        of(json!("0.7551234567890123"), json!("N/A")),
        [("lm-eval::fractional-count", true)]
    );
    for (value, stderr) in [
        (Value::Null, right.clone()),
        (json!("75 %"), right.clone()),
        (json!(true), right.clone()),
        (json!(0.75), Value::Null),
    ] {
        assert_eq!(of(value.clone(), stderr), [("lm-eval::not-a-number", false)], "{value}");
    }
}

#[test]
fn a_group_that_is_told_twice_is_told_the_same() {
    let text = fs::read_to_string(corpus(RUN).join(RESULTS)).unwrap();
    let of = |from: &str, to: &str| {
        let (before, groups) = text.split_once("\"groups\"").unwrap();
        assert!(groups.contains(from), "{from}");
        let text = format!("{before}\"groups\"{}", groups.replacen(from, to, 1));
        let found = ShortFinding::all(&check_text("r.json", &text));
        found.iter().map(|one| (one.code, one.rules_out)).collect::<Vec<_>>()
    };
    assert_eq!(of("0.55", "0.65"), [("lm-eval::group-mismatch", true)]);
    assert_eq!(of("0.034439505592481226", "0.05"), [("lm-eval::group-mismatch", true)]);
    assert_eq!(of("0.55", "\"0.55\""), []);
    // The number of a group itself.
    let missing = text.replacen("\"acc,none\": 0.55", "\"acc,none\": null", 1);
    let found = ShortFinding::all(&check_text("r.json", &missing));
    let codes: Vec<_> = found.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["lm-eval::group-not-a-number"]);
    // The same key twice is refused: two readers would take two numbers.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json");
    let twice = text.replacen("\"acc,none\": 0.55", "\"acc,none\": 0.65, \"acc,none\": 0.55", 1);
    fs::write(&path, twice).unwrap();
    let report = check(&[path]);
    let codes: Vec<_> = report.failures.iter().map(|error| error.code.id).collect();
    assert_eq!((codes, report.status().code()), (vec!["source::duplicate-key"], 2));
}

#[test]
fn results_without_a_version_are_found() {
    let mut results =
        results("copa", json!({"acc,none": 0.75}), plain("acc", "multiple_choice"), 100);
    results["versions"] = json!({});
    assert_eq!(found(&results), [("lm-eval::missing-version", false)]);
}

/// Two of six samples, one of them right: the mean is a sixth at least.
#[test]
fn samples_that_are_there_leave_a_least_value() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(corpus(RUN).join(SAMPLES)).unwrap();
    let first: String = text.split_inclusive('\n').take(2).collect();
    fs::write(folder.path().join(SAMPLES), first).unwrap();
    let text = fs::read_to_string(corpus(RUN).join(RESULTS)).unwrap();
    let text = text.replace("0.6666666666666666", "0.0").replace("0.21081851067789195", "0.0");
    fs::write(folder.path().join(RESULTS), text).unwrap();
    let found = ShortFinding::all(&check(&[folder.path().to_owned()]));
    let codes: Vec<_> = found.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["lm-eval::lower-bound", "lm-eval::partial-samples"]);
}

/// The standard error of a share of items.
fn error_of(value: f64, items: f64) -> f64 {
    (value * (1.0 - value) / (items - 1.0)).sqrt()
}

/// Two tasks of 50 and 150 items and their group, as 0.4.12 writes them.
fn grouped() -> Value {
    let mut all = json!({
        "results": {}, "versions": {"ink": 1.0, "oak": 1.0}, "n-shot": {"ink": 0, "oak": 0}, "configs": {}, "n-samples": {},
        "group_subtasks": {"ink": [], "oak": [], "shelf": ["ink", "oak"]}, "config": {"limit": null}, "lm_eval_version": "0.4.12"
    });
    for (task, value, items) in [("ink", 0.6, 50), ("oak", 0.3, 150)] {
        all["configs"][task] = plain("acc", "multiple_choice");
        all["n-samples"][task] = json!({"original": items, "effective": items});
        all["results"][task] = json!({"name": task, "alias": task, "sample_len": items,
            "acc,none": value, "acc_stderr,none": error_of(value, f64::from(items))});
    }
    let squares = |value: f64, items: f64| (items - 1.0) * items * error_of(value, items).powi(2);
    let stderr = ((squares(0.6, 50.0) + squares(0.3, 150.0)) / 198.0 / 200.0).sqrt();
    let group = json!({"name": "shelf", "alias": "shelf", "sample_len": 200, "acc,none": 0.375,
        "acc_stderr,none": stderr, "sample_count": {"acc,none": 200}});
    all["groups"] = json!({"shelf": group});
    all["results"]["shelf"] = group;
    all
}

#[test]
fn counts_among_the_results_are_no_scores() {
    let mut all = grouped();
    assert_eq!(found(&all), []);
    all["results"]["shelf"]["acc,none"] = json!(0.395);
    all["groups"]["shelf"]["acc,none"] = json!(0.395);
    assert_eq!(found(&all), [("lm-eval::group", true)]);
}

/// Up to 0.4.11 a group may have a function of its own, as a difference of two tasks, of which the results say nothing.
#[test]
fn a_group_may_have_its_own_function() {
    let mut all = grouped();
    for name in ["ink", "oak", "shelf"] {
        let of_task = all["results"][name].as_object_mut().unwrap();
        for key in ["name", "sample_len", "sample_count"] {
            of_task.remove(key);
        }
    }
    all["results"]["shelf"]["acc,none"] = json!(0.3);
    all.as_object_mut().unwrap().remove("groups");
    assert_eq!(found(&all), [("lm-eval::likely-group", false)]);
    let known = all.to_string().replace("shelf", "mmlu_stem");
    assert_eq!(found(&serde_json::from_str(&known).unwrap()), [("lm-eval::group", true)]);
}

/// 0.4.12 counts the items of the metric that comes last, here one for some of the items.
#[test]
fn the_last_metric_may_count_the_items() {
    let of = |last: &str, version: bool| {
        let mut scores = json!({"acc,none": 0.45, "acc_stderr,none": error_of(0.45, 80.0)});
        scores[format!("{last},none")] = json!(0.5);
        if version {
            scores["sample_len"] = json!(40);
        }
        let mut all = results("copa", scores, plain("acc", "multiple_choice"), 80);
        all["n-samples"]["copa"]["effective"] = json!(40);
        all["config"]["limit"] = json!(80);
        found(&all)
    };
    assert_eq!(of("acc_dusk", true), []);
    let limited = ("lm-eval::limit", true);
    for found in [of("acc_dusk", false), of("acc_norm", true)] {
        assert!(found.contains(&limited), "{found:?}");
    }
}

/// Shots in the prompt itself are the task's up to 0.4.11, and later none.
#[test]
fn shots_in_the_prompt_count_or_not() {
    let of = |shots: u32| {
        let mut config = plain("acc", "multiple_choice");
        config["metadata"] = json!({"version": 1.0, "num_fewshot": 7});
        let mut all = results("copa", json!({"acc,none": 0.5}), config, 100);
        all["n-shot"]["copa"] = json!(shots);
        found(&all)
    };
    assert_eq!((of(0), of(7)), (vec![], vec![]));
    assert_eq!(of(3), [("lm-eval::shots", true)]);
}

/// 0.4.3 and 0.4.4 took what a share leaves of the first task as the limit of all.
#[test]
fn a_share_of_the_first_task_may_limit_all() {
    let of = |share: f64, left: [u32; 2], version: Option<&str>| {
        let mut all = grouped();
        all["config"]["limit"] = json!(share);
        all["results"] = json!({"ink": {"acc,none": 0.5}, "oak": {"acc,none": 0.5}});
        all.as_object_mut().unwrap().remove("groups");
        all["group_subtasks"] = json!({"ink": [], "oak": []});
        all["lm_eval_version"] = json!(version);
        for (task, left) in std::iter::zip(["ink", "oak"], left) {
            all["n-samples"][task]["effective"] = json!(left);
        }
        found(&all)
    };
    assert_eq!(of(0.1, [5, 15], None), []);
    assert_eq!(of(0.1, [5, 5], None), []);
    // The other one came first.
    assert_eq!(of(0.1, [15, 15], None), []);
    assert_eq!(of(0.1, [5, 5], Some("0.4.4.dev0")), []);
    assert_eq!(of(0.1, [5, 5], Some("0.4.9")), [("lm-eval::fractional-limit", true)]);
    assert_eq!(of(0.1, [5, 7], None), [("lm-eval::fractional-limit", true)]);
}

#[test]
fn an_item_without_a_finite_number_has_its_hash() {
    let digest = |text: &str| repro_core::digest::Digest::of(text.as_bytes()).to_string();
    let of = |hashed: &str| {
        let line = format!(
            r#"{{"doc_id": 0, "doc": {{"h": NaN}}, "resps": [], "filter": "none", "doc_hash": "{}"}}"#,
            digest(hashed)
        );
        let found = ShortFinding::all(&check_text("samples_t.jsonl", &(line + "\n")));
        found.iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert_eq!(of("{\n  \"h\": NaN\n}"), [] as [&str; 0]);
    assert_eq!(of("{\n  \"h\": 1\n}"), ["lm-eval::doc-hash"]);
}

/// Items that were chosen by their numbers are all that is scored.
#[test]
fn chosen_items_are_no_missing_ones() {
    let of = |effective: u32| {
        let mut all =
            results("copa", json!({"acc,none": 0.5}), plain("acc", "multiple_choice"), 100);
        all["n-samples"]["copa"]["effective"] = json!(effective);
        all["config"]["samples"] = json!({"copa": [3, 5, 8, 13]});
        found(&all)
    };
    assert_eq!(of(4), []);
    assert_eq!(of(2), [("lm-eval::chosen-items", false)]);
    // Nor is the set of another size, where counts are missing.
    let scores = json!({"acc,none": 0.3, "acc_stderr,none": error_of(0.3, 50.0)});
    let mut all = results("piqa", scores, plain("acc", "multiple_choice"), 50);
    all.as_object_mut().unwrap().remove("n-samples");
    assert_eq!(found(&all).first(), Some(&("lm-eval::implied-set-size", false)));
    all["config"]["samples"] = json!({"piqa": [0, 1, 2]});
    assert!(found(&all).iter().all(|(code, _)| *code != "lm-eval::implied-set-size"));
}

/// Each of many groups names all tasks, and the groups before it.
#[test]
fn many_tasks_in_many_groups_take_no_time() {
    let tasks: Vec<String> = (0..600).map(|at| format!("t{at}")).collect();
    let groups: Vec<String> = (0..300).map(|at| format!("g{at}")).collect();
    let (mut results, mut listed) = (json!({}), json!({}));
    for name in tasks.iter().chain(&groups) {
        results[name] = json!({"acc,none": 0.5});
    }
    for (at, group) in groups.iter().enumerate() {
        listed[group] = json!(tasks.iter().chain(&groups[..at]).collect::<Vec<_>>());
    }
    let counts: Value =
        tasks.iter().map(|task| (task.clone(), json!({"effective": 100}))).collect();
    let all = json!({"results": results, "group_subtasks": listed, "n-samples": counts,
        "versions": {}, "config": {}});
    let from = std::time::Instant::now();
    let report = check_text("results.json", &all.to_string());
    assert!(from.elapsed().as_secs() < 20, "{:?}", from.elapsed());
    assert_eq!(report.documents.len(), 1);
}
