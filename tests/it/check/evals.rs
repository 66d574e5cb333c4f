//! Results of evaluation harnesses: files and folders that agree with themselves, the same with one passage changed, and those of strangers.

use std::fs;
use std::path::Path;

use repro_claim::relation::Weight;
use repro_formats::check::CheckReport;
use serde_json::json;

use super::{ShortFinding, check, check_text, corpus, drawn, edits, snapshot};
use crate::shared;

const RESULTS: &str = "results_2026-09-01T10-00-00.000001.json";
const SAMPLES: &str = "samples_gsm8k_2026-09-01T10-00-00.000001.jsonl";
const HELM: &str = "helm/colours-model=acme_tiny";
const OBJECT: &str = "datastore/flat/objects/0b/1c/0b1c2d3e-0000-4000-8000-000000000001.json";

/// Copies a folder with all that is below it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => fs::write(&to, fs::read(entry.path()).unwrap()).unwrap(),
        }
    }
}

/// Changes one passage of one file of a folder that agrees with itself, and expects a finding of that code.
fn folder_edits(snapshot_name: &str, folder: &str, edits: &[(&str, &str, &str, &str)]) {
    assert_eq!(ShortFinding::all(&check(&[corpus(folder)])), [], "{folder}");
    let mut told = String::new();
    for (file, from, to, code) in edits {
        let copied = tempfile::tempdir().unwrap();
        let own = copied.path().join(Path::new(folder).file_name().unwrap());
        copy(&corpus(folder), &own);
        let text = fs::read_to_string(own.join(file)).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs::write(own.join(file), text.replacen(from, to, 1)).unwrap();
        let found = ShortFinding::all(&check(&[own]));
        assert!(found.iter().any(|one| one.code == *code), "{from} -> {to}: {found:#?}");
        told.push_str(&format!("{file}: {} -> {}\n", from.escape_debug(), to.escape_debug()));
        found.iter().for_each(|one| told.push_str(&format!("  {}\n", one.told())));
    }
    snapshot(snapshot_name, &told);
}

#[test]
fn results_of_old_harnesses_with_one_change() {
    let changes = [
        ("0.3792087542087542", "0.3792187542087542", "lm-eval::stderr"),
        ("0.3792087542087542", "0.3792087552087542", "lm-eval::fractional-count"),
        ("0.009955891668865676", "0.009953796285216823", "lm-eval::stderr"),
        ("0.009955891668865676", "-0.009955891668865676", "lm-eval::negative-stderr"),
        ("0.015410011955494015", "0.0154121", "lm-eval::no-likely-item-count"),
        ("\"mc2_stderr\": 0.013671", "\"mc2_stderr\": 0.18", "lm-eval::stderr-bound"),
        ("\"mc2\": 0.3871215", "\"mc2\": 1.3871215", "lm-eval::range"),
        ("\"ppl\": 14.71", "\"ppl\": 0.71", "lm-eval::perplexity"),
        ("0.9270371687202947", "0.6425731980195", "lm-eval::bits-per-byte"),
        ("0.5043478260869565", "0.5130434782608696", "lm-eval::whole-set-value"),
        ("0.04682752006203914", "0.04662391", "lm-eval::whole-set-stderr"),
        ("\"limit\": 6000", "\"limit\": null", "lm-eval::implied-set-size"),
        ("\"num_fewshot\": 5", "\"num_fewshot\": 0", "lm-eval::shots-in-file-name"),
        ("\"iteration\": 700", "\"iteration\": 600", "lm-eval::step-in-file-name"),
        ("\"train_batch_size\": 64", "\"train_batch_size\": 32", "lm-eval::neox-batch-size"),
        ("\"num_layers\": 3", "\"num_layers\": 4", "lm-eval::neox-attention-types"),
        ("\"hidden_size\": 48", "\"hidden_size\": 50", "lm-eval::neox-heads"),
        (
            "\"padded_vocab_size\": 50304",
            "\"padded_vocab_size\": 50257",
            "lm-eval::neox-padded-vocabulary",
        ),
        ("narrow", "narrow\\n  \\\"train-iters\\\": 9", "lm-eval::neox-setting"),
    ];
    // The last one adds to the file and to the arguments.
    edits("lm_eval_old_edits", "lm-eval/old_5shot_step700.json", &changes[..changes.len() - 1]);
    let text = fs::read_to_string(corpus("lm-eval/old_5shot_step700.json")).unwrap();
    let text = text.replace("\\\"num-layers\\\": 3", "\\\"num-layers\\\": 5");
    let found = ShortFinding::all(&check_text("old_5shot_step700.json", &text));
    assert_eq!(found.iter().map(|one| one.code).collect::<Vec<_>>(), ["lm-eval::neox-setting"]);
}

#[test]
fn results_with_samples_with_one_change() {
    let one = |from, to, code| (RESULTS, from, to, code);
    let line = |from, to, code| (SAMPLES, from, to, code);
    folder_edits(
        "lm_eval_samples_edits",
        "lm-eval/run",
        &[
            one("0.21081851067789195", "0.19245008972987526", "lm-eval::stderr"),
            one("0.6666666666666666", "0.5", "lm-eval::mean-of-samples"),
            one("\"acc,none\": 0.55", "\"acc,none\": 0.56", "lm-eval::likely-group"),
            one("0.034439505592481226", "0.035266223", "lm-eval::group-stderr"),
            one("\"logic_b\": 2.0", "\"logic_b\": 1.0", "lm-eval::config-version"),
            one("\"logic_a\": 0,", "\"logic_a\": 5,", "lm-eval::shots"),
            one("\"acc\": true", "\"acc\": false", "lm-eval::direction"),
            one("\"original\": 400", "\"original\": 100", "lm-eval::excess-items"),
            one("\"limit\": 160", "\"limit\": 200", "lm-eval::limit"),
            one("\"limit\": 160", "\"limit\": 0.5", "lm-eval::fractional-limit"),
            one("\"limit\": 160", "\"limit\": null", "lm-eval::unscored-items"),
            one(
                "\"model_name\": \"acme/tiny-7\"",
                "\"model_name\": \"acme/tiny-8\"",
                "lm-eval::model-name",
            ),
            one("acme__tiny-7", "acme_tiny-7", "lm-eval::sanitized-model-name"),
            one("61.875", "62.875", "lm-eval::duration"),
            one("\"gsm8k\": \"", "\"gsm8k\": \"0", "lm-eval::task-hash"),
            line("\"exact_match\": 1.0", "\"exact_match\": 0.0", "lm-eval::mean-of-samples"),
            line("\"target\": \"3\"", "\"target\": \"4\"", "lm-eval::target-hash"),
            line("\"arg_0\": \"Question", "\"arg_0\": \"Q", "lm-eval::prompt-hash"),
            line("\"h\": [0.5,", "\"h\": [1.5,", "lm-eval::doc-hash"),
            line("\"doc_id\": 1,", "\"doc_id\": 0,", "lm-eval::repeated-samples"),
        ],
    );
}

#[test]
fn samples_that_are_missing_leave_bounds() {
    let folder = tempfile::tempdir().unwrap();
    copy(&corpus("lm-eval/run"), folder.path());
    let path = folder.path().join(SAMPLES);
    let text = fs::read_to_string(&path).unwrap();
    let first: String = text.split_inclusive('\n').take(2).collect();
    fs::write(&path, &first).unwrap();
    let codes = |report: &CheckReport| -> Vec<_> {
        ShortFinding::all(report).iter().map(|one| one.code).collect()
    };
    assert_eq!(codes(&check(&[folder.path().to_owned()])), ["lm-eval::partial-samples"]);
    // None of the two lines is right, and all four others cannot come to five.
    fs::write(&path, first.replace("\"exact_match\": 1.0", "\"exact_match\": 0.0")).unwrap();
    let results = folder.path().join(RESULTS);
    let stated = fs::read_to_string(&results).unwrap();
    let stated = stated.replace("0.6666666666666666", "0.8333333333333334");
    fs::write(&results, stated.replace("0.21081851067789195", "0.16666666666666666")).unwrap();
    let found = codes(&check(&[folder.path().to_owned()]));
    assert_eq!(found, ["lm-eval::upper-bound", "lm-eval::partial-samples"]);
}

#[test]
fn results_of_lighteval_with_one_change() {
    edits(
        "lighteval_edits",
        "lighteval/results.json",
        &[
            ("\"acc\": 0.42", "\"acc\": 0.43", "lighteval::fractional-count"),
            ("\"acc\": 0.42", "\"acc\": 1.42", "lighteval::range"),
            ("0.07050835816716038", "0.06979972636", "lighteval::stderr"),
            ("0.07050835816716038", "NaN", "lighteval::stderr"),
            ("0.07050835816716038", "NaN", "lighteval::skipped-task"),
            ("0.07050835816716038", "-0.07050835816716038", "lighteval::negative-stderr"),
            ("\"acc\": 0.485", "\"acc\": 0.4909090909090909", "lighteval::average"),
            ("0.5733333333333334", "0.5512500000000001", "lighteval::average"),
            ("\"acc\": 0.42,", "\"acc\": 0.42, \"style\": 1.5,", "lighteval::undeclared-metric"),
            ("\"acc\": 0.42,", "\"acc\": 0.42, \"style\": 1.5,", "lighteval::missing-average"),
            (
                "\"effective_num_docs\": 50",
                "\"effective_num_docs\": 40",
                "lighteval::unscored-items",
            ),
            ("\"max_samples\": null", "\"max_samples\": 20", "lighteval::limited-items"),
            ("\"non_truncated\": 49", "\"non_truncated\": 39", "lighteval::prompt-count"),
            ("\"padded\": 200", "\"padded\": 100", "lighteval::total"),
            ("\"hash_examples\": \"", "\"hash_examples\": \"0", "lighteval::combined-hash"),
            ("\"128.25\"", "\"129.25\"", "lighteval::duration"),
            ("\"num_fewshots\": 2", "\"num_fewshots\": 5", "lighteval::shots"),
            ("\"logic:one|2\": 0", "\"logic:one|2\": 1", "lighteval::version"),
        ],
    );
}

#[test]
fn logs_of_inspect_with_one_change() {
    edits(
        "inspect_edits",
        "inspect/log.json",
        &[
            ("\"completed_samples\": 5", "\"completed_samples\": 6", "inspect::completed-samples"),
            ("    5\n   ]", "    5,\n    6\n   ]", "inspect::total-samples"),
            ("\"epochs\": 1", "\"epochs\": 2", "inspect::total-samples"),
            ("\"unscored_samples\": 0", "\"unscored_samples\": 1", "inspect::scored-samples"),
            ("\"value\": 0.7", "\"value\": 0.8", "inspect::likely-mean"),
            ("\"value\": 0.6", "\"value\": 0.65", "inspect::fractional-count"),
            ("\"value\": 0.6", "\"value\": 0.65", "inspect::mean-of-scores"),
            (
                "\"completed_samples\": 5",
                "\"completed_samples\": 4",
                "inspect::samples-without-error",
            ),
            ("0.2449489742783178", "0.2190890230020664", "inspect::stderr"),
            ("\"value\": 0.2,", "\"value\": 0.1,", "inspect::graded-stderr"),
            ("\"value\": \"I\"", "\"value\": \"C\"", "inspect::likely-mean"),
            ("\"answer\": \"B\"", "\"answer\": \"A\"", "inspect::choice-grade"),
            ("\"total_tokens\": 85", "\"total_tokens\": 84", "inspect::token-total"),
            ("\"total_tokens\": 85", "\"total_tokens\": 84", "inspect::sample-tokens"),
            ("10:00:31Z", "09:00:31Z", "inspect::end-before-start"),
            ("12:00:01+02:00", "12:00:01+03:00", "inspect::start-before-creation"),
            ("\"working_time\": 2.25", "\"working_time\": 22.5", "inspect::working-time"),
            (
                "\"id\": 5,\n   \"epoch\": 1",
                "\"id\": 9,\n   \"epoch\": 1",
                "inspect::unknown-sample",
            ),
            (
                "\"id\": 5,\n   \"epoch\": 1",
                "\"id\": 5,\n   \"epoch\": 3",
                "inspect::epoch-out-of-range",
            ),
            (
                "\"id\": 5,\n   \"epoch\": 1",
                "\"id\": 4,\n   \"epoch\": 1",
                "inspect::duplicate-sample",
            ),
        ],
    );
    edits(
        "inspect_header_edits",
        "inspect/header.json",
        &[
            ("\"limit\": 20", "\"limit\": 30", "inspect::limited-samples"),
            ("\"samples\": 40", "\"samples\": 10", "inspect::excess-samples"),
            ("0.09511073878158527", "0.0961", "inspect::graded-stderr"),
            ("0.10942433098048311", "0.1066536450385077", "inspect::likely-stderr"),
            ("\"value\": 0.35", "\"value\": 0.36", "inspect::likely-fractional-count"),
            ("0.4893604849295929", "0.4769696007084728", "inspect::stderr-from-deviation"),
            ("0.2394736842105263", "0.2275", "inspect::variance"),
            ("\"total_tokens\": 720", "\"total_tokens\": 721", "inspect::token-total"),
        ],
    );
}

#[test]
fn a_log_that_was_cut_is_told_as_such() {
    let text = fs::read_to_string(corpus("inspect/log.json")).unwrap();
    let at = text.find("  {\n   \"id\": 5").unwrap();
    let end = at + text[at..].find("\n  }\n ],").unwrap() + "\n  }".len();
    let cut = format!("{}{}", text[..at].trim_end().trim_end_matches(','), &text[end..]);
    let found = ShortFinding::all(&check_text("log.json", &cut));
    assert_eq!(found.iter().map(|one| one.code).collect::<Vec<_>>(), ["inspect::missing-samples"]);
}

#[test]
fn runs_of_helm_with_one_change() {
    let stats = |from, to, code| ("stats.json", from, to, code);
    let state = |from, to, code| ("scenario_state.json", from, to, code);
    let instances = |from, to, code| ("per_instance_stats.json", from, to, code);
    folder_edits(
        "helm_edits",
        HELM,
        &[
            stats("\"mean\": 0.4583333333333333", "\"mean\": 0.4683333333333333", "helm::mean"),
            stats("0.02430555555555558", "0.036458333333333", "helm::variance"),
            stats("\"stddev\": 0.15590", "\"stddev\": 0.16590", "helm::stddev"),
            stats("\"max\": 0.625", "\"max\": 0.425", "helm::mean-above-maximum"),
            stats(
                "\"min\": 0.25,\n  \"max\": 0.625",
                "\"min\": 0.5,\n  \"max\": 0.625",
                "helm::mean-below-minimum",
            ),
            stats(
                "\"count\": 0,\n  \"sum\": 0",
                "\"count\": 0,\n  \"sum\": 1",
                "helm::empty-statistic",
            ),
            stats("\"mean\": 0.75", "\"mean\": 0.5", "helm::mean-of-instances"),
            stats("\"mean\": 1.957904952942918", "\"mean\": 1.857904952942918", "helm::perplexity"),
            stats(
                "\"mean\": 0.26739606361304064",
                "\"mean\": 0.1853448275862069",
                "helm::bits-per-byte",
            ),
            stats(
                "\"mean\": -0.1853448275862069",
                "\"mean\": -0.1953448275862069",
                "helm::logprob-per-byte",
            ),
            stats("\"mean\": 4.0", "\"mean\": 5.0", "helm::instance-count"),
            instances("\"mean\": 3.0", "\"mean\": 2.0", "helm::reference-count"),
            (
                "run_spec.json",
                "\"max_eval_instances\": 4",
                "\"max_eval_instances\": 3",
                "helm::excess-instances",
            ),
            state("\"num_train_trials\": 1", "\"num_train_trials\": 2", "helm::request-setting"),
            state(
                "\"temperature\": 0.0,\n  \"max",
                "\"temperature\": 0.5,\n  \"max",
                "helm::request-temperature",
            ),
            state(
                "\"max_tokens\": 8,\n    \"echo",
                "\"max_tokens\": 9,\n    \"echo",
                "helm::request-token-limit",
            ),
            state(
                "\"model\": \"acme/tiny\",\n    \"prompt",
                "\"model\": \"acme/small\",\n    \"prompt",
                "helm::request-model",
            ),
            state("\"num_train_instances\": 2", "\"num_train_instances\": 3", "helm::excess-shots"),
            state("\"num_train_instances\": 2", "\"num_train_instances\": 1", "helm::stated-shots"),
            state(
                "\"prompt_truncated\": false",
                "\"prompt_truncated\": true",
                "helm::prompt-truncation",
            ),
            state("\"request_time\": 0.5", "\"request_time\": 0.75", "helm::request-runtime"),
            state("\"logprob\": -0.5\n", "\"logprob\": -0.625\n", "helm::answer-logprob"),
            state("\"text\": \" r\"", "\"text\": \" \u{159}\"", "helm::answer-bytes"),
            state("\"text\": \"Red\"", "\"text\": \"red\"", "helm::exact-match"),
            state("\"text\": \"Red\"", "\"text\": \"rose\"", "helm::quasi-exact-match"),
            state(
                "\"text\": \" green tea\"",
                "\"text\": \" a green tea\"",
                "helm::prefix-exact-match",
            ),
            ("run_spec.json", "colours:model", "colors:model", "helm::folder-name"),
            state(
                "\"model_deployment\": \"acme/tiny\",\n    \"model\"",
                "\"model_deployment\": \"bcme/tiny\",\n    \"model\"",
                "helm::request-deployment",
            ),
            (
                "run_spec.json",
                "\"num_train_trials\": 1",
                "\"num_train_trials\": 2",
                "helm::missing-requests",
            ),
            instances(
                "\"prefix_exact_match\"",
                "\"quasi_prefix_exact_match\"",
                "helm::quasi-prefix-exact-match",
            ),
        ],
    );
}

/// A mean of statistics, which stands behind its name.
#[test]
fn means_of_helm_that_are_others_are_found() {
    for (file, metric, mean, code) in [
        ("per_instance_stats.json", "num_completion_tokens", "7.0", "helm::completion-tokens"),
        ("per_instance_stats.json", "num_perplexity_tokens", "7.0", "helm::answer-tokens"),
        ("stats.json", "logprob", "0.0", "helm::unmeasured-logprob"),
    ] {
        let copied = tempfile::tempdir().unwrap();
        let own = copied.path().join("colours-model=acme_tiny");
        copy(&corpus(HELM), &own);
        let text = fs::read_to_string(own.join(file)).unwrap();
        let at = text.find(&format!("\"name\": \"{metric}\"")).unwrap();
        let start = at + text[at..].find("\"mean\": ").unwrap() + "\"mean\": ".len();
        let end = start + text[start..].find(',').unwrap();
        fs::write(own.join(file), format!("{}{mean}{}", &text[..start], &text[end..])).unwrap();
        let found = ShortFinding::all(&check(&[own]));
        assert!(found.iter().any(|one| one.code == code), "{code}: {found:#?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    copy(&corpus(HELM), folder.path());
    let path = folder.path().join("scenario_state.json");
    fs::write(&path, " ".repeat((16 << 20) + 1)).unwrap();
    let report = check(&[folder.path().to_owned()]);
    let codes: Vec<_> = report.failures.iter().map(|error| error.code.id).collect();
    assert_eq!(codes, ["source::too-large"]);
    let held: usize = report.asked().map(|(asked, _)| asked.times - asked.broken.len()).sum();
    assert!(held > 200, "{held}");
}

#[test]
fn records_of_every_eval_ever_with_one_change() {
    edits(
        "every_eval_ever_instances_edits",
        "every-eval-ever/sums/sums_samples.jsonl",
        &[
            ("\"total_tokens\": 12", "\"total_tokens\": 11", "every-eval-ever::token-total"),
            ("\"num_turns\": 2", "\"num_turns\": 3", "every-eval-ever::turn-count"),
            (
                "\"tool_calls_count\": 1",
                "\"tool_calls_count\": 2",
                "every-eval-ever::tool-call-count",
            ),
            ("\"is_correct\": true", "\"is_correct\": false", "every-eval-ever::correctness-flag"),
        ],
    );
    let record = |from, to, code| ("sums/sums.json", from, to, code);
    let object = |from, to, code| (OBJECT, from, to, code);
    let index = |from, to, code| ("aggregate.jsonl", from, to, code);
    folder_edits(
        "every_eval_ever_edits",
        "every-eval-ever",
        &[
            record("\"score\": 0.75", "\"score\": 1.75", "every-eval-ever::score-above-maximum"),
            record("\"score\": 0.75", "\"score\": -0.75", "every-eval-ever::score-below-minimum"),
            record("\"score\": 0.75", "\"score\": 0.12", "every-eval-ever::interval"),
            record("\"score\": 0.75", "\"score\": 0.80", "every-eval-ever::mean-of-instances"),
            record("\"score\": 1\n", "\"score\": 2\n", "every-eval-ever::score-level"),
            record(
                "\"max_score\": 1.0",
                "\"max_score\": 100.0",
                "every-eval-ever::proportion-maximum",
            ),
            record("\"value\": 0.25", "\"value\": 0.50", "every-eval-ever::stderr"),
            record("\"value\": 0.25", "\"value\": -0.25", "every-eval-ever::negative-stderr"),
            record(
                "\"num_samples\": 4",
                "\"num_samples\": 9",
                "every-eval-ever::stated-fractional-count",
            ),
            record(
                "1790000000.25\",\n \"retr",
                "1790000009.25\",\n \"retr",
                "every-eval-ever::timestamp",
            ),
            record(
                "\"developer\": \"acme\"",
                "\"developer\": \"bcme\"",
                "every-eval-ever::developer",
            ),
            record("\"sums/level\"", "\"sums/acc\"", "every-eval-ever::duplicate-result-id"),
            record("\"total_rows\": 4", "\"total_rows\": 5", "every-eval-ever::row-count"),
            record("\"checksum\": \"", "\"checksum\": \"0", "every-eval-ever::checksum"),
            object("\"score\": 0.4355", "\"score\": 0.4365", "every-eval-ever::overall-score"),
            object("\"score\": 0.4355", "\"score\": 0.4365", "every-eval-ever::object-sha256"),
            object("\"score\": 0.4355", "\"score\": 0.435", "every-eval-ever::object-size"),
            record(
                "\"metric_unit\": \"proportion\",\n    \"score_type\": \"continuous\",\n    \"min_score\": 0.0,\n    \"max_score\": 1.0",
                "\"metric_unit\": \"percent\",\n    \"score_type\": \"continuous\",\n    \"min_score\": 0.0,\n    \"max_score\": 1000.0",
                "every-eval-ever::percent-maximum",
            ),
            object("\"score\": 0.2999", "\"score\": 0.2990", "every-eval-ever::fractional-count"),
            object("\"12032\"", "\"12000\"", "every-eval-ever::question-count"),
            object(
                "\"schema_version\": \"0.2.2\"",
                "\"schema_version\": \"0.3.0\"",
                "every-eval-ever::schema-version",
            ),
            index("flat/objects/0b/1c", "flat/objects/0b/1d", "every-eval-ever::object-path"),
            index("acme/tiny/0b1c2d3e", "acme/tiny/0b1c2d3f", "every-eval-ever::legacy-path"),
        ],
    );
}

#[test]
fn paths_of_an_index_stay_below_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret.json"), "{}").unwrap();
    let store = folder.path().join("store");
    copy(&corpus("every-eval-ever"), &store);
    let index = store.join("aggregate.jsonl");
    let text = fs::read_to_string(&index).unwrap();
    let path = OBJECT.trim_start_matches("datastore/");
    fs::write(&index, text.replace(path, "../secret.json")).unwrap();
    let found = ShortFinding::all(&check(&[index]));
    let codes: Vec<_> = found.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["every-eval-ever::object-path"]);
}

#[test]
fn evaluations_as_people_see_them() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(corpus("lighteval/results.json")).unwrap();
    let text = text.replacen("0.07050835816716038", "NaN", 1);
    // As if it were the mean of the one that is a number.
    let text = text.replacen("0.06763826180270816", "0.06476816543825592", 1);
    fs::write(folder.path().join("results.json"), text).unwrap();
    fs::copy(corpus("inspect/log.json"), folder.path().join("log.json")).unwrap();
    let report = check(&[folder.path().to_owned()]);
    let shown = drawn(&report).replace(&folder.path().display().to_string(), "FOLDER");
    snapshot("evals", &shown);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    /// Results with values put in the place of others end in a report.
    #[test]
    fn any_results_are_read(
        of in 0..5_usize,
        at in proptest::collection::vec((0..100_000_usize, 0..9_usize), 1..12),
    ) {
        const VALUES: [&str; 9] =
            ["null", "NaN", "-1", "1e308", "0", "\"x\"", "[]", "{}", "9007199254740993"];
        let names = [
            "lm-eval/old_5shot_step700.json",
            "lighteval/results.json",
            "inspect/log.json",
            "inspect/header.json",
            "every-eval-ever/sums/sums.json",
        ];
        let text = fs::read_to_string(corpus(names[of])).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (line, value) in at {
            let line = line % lines.len();
            if let Some((key, old)) = lines[line].clone().split_once("\": ") && !old.ends_with(['{', '[']) {
                let comma = if old.ends_with(',') { "," } else { "" };
                lines[line] = format!("{key}\": {}{comma}", VALUES[value]);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.json"), lines.join("\n")).unwrap();
        let report = check(&[folder.path().to_owned()]);
        proptest::prop_assert_eq!(report.documents.len() + report.unknown.len() + report.failures.len(), 1);
        drawn(&report);
    }
}

#[test]
fn results_of_strangers_have_exactly_the_findings_that_were_audited() {
    let test = "check::evals::results_of_strangers_have_exactly_the_findings_that_were_audited";
    let Some(folder) = shared::folder(test) else { return };
    let folder = folder.join("strangers/evals");
    let report = check(std::slice::from_ref(&folder));
    assert_eq!(report.failures, []);
    assert_eq!(report.unknown, <Vec<String>>::new());
    let counts = |weight| -> usize {
        let asked = report.asked().filter(|(asked, _)| asked.weight == weight);
        asked.map(|(asked, _)| asked.broken.len()).sum()
    };
    assert_eq!((counts(Weight::Contradiction), counts(Weight::Doubt)), (7, 26));
    let told: Vec<_> = report
        .asked()
        .flat_map(|(asked, _)| asked.broken.iter().map(move |broken| (asked, broken)))
        .map(|(asked, broken)| {
            let printed = broken.printed.as_ref().unwrap();
            let place = printed.place.as_ref().unwrap();
            let file = Path::new(&place.file).strip_prefix(&folder).unwrap().display();
            let (code, recomputed) = (asked.code.id, &broken.recomputed);
            format!(
                "{code} {file} {} printed {}, recomputed {recomputed}",
                place.pointer, printed.value
            )
        })
        .collect();
    snapshot("evals_strangers", &told.join("\n"));
}

/// Two groups of two tasks below one group; the error of the whole is `pooled` from the tasks' and the groups' errors with their sizes.
fn nested(pooled: impl Fn(&[(f64, f64)], &[(f64, f64)]) -> f64) -> serde_json::Value {
    let tasks = [("a", 60.0, 100.0), ("b", 20.0, 50.0), ("c", 70.0, 80.0), ("d", 4.0, 20.0)];
    let error = |right: f64, items: f64| {
        let share = right / items;
        (share * (1.0 - share) / (items - 1.0)).sqrt()
    };
    let errors: Vec<_> = tasks.iter().map(|(_, k, n)| (error(*k, *n), *n)).collect();
    let mean = |parts: &[(&str, f64, f64)]| {
        parts.iter().map(|(_, k, _)| k).sum::<f64>() / parts.iter().map(|(.., n)| n).sum::<f64>()
    };
    let groups = [(pool(&errors[..2]), 150.0), (pool(&errors[2..]), 100.0)];
    let mut results = serde_json::Map::new();
    let mut samples = serde_json::Map::new();
    let mut add = |name: &str, value: f64, error: f64| {
        results.insert(name.into(), json!({"acc,none": value, "acc_stderr,none": error}));
    };
    for ((name, k, n), (error, _)) in std::iter::zip(tasks, &errors) {
        add(name, k / n, *error);
        samples.insert(name.into(), json!({"original": n, "effective": n}));
    }
    add("left", mean(&tasks[..2]), groups[0].0);
    add("right", mean(&tasks[2..]), groups[1].0);
    add("mmlu", mean(&tasks), pooled(&errors, &groups));
    json!({
        "results": results, "n-samples": samples, "config": {},
        "versions": {"a": 1, "b": 1, "c": 1, "d": 1},
        "group_subtasks": {"left": ["a", "b"], "right": ["c", "d"], "mmlu": ["left", "right"]}
    })
}

/// The pooled standard error of parts, by their errors and sizes.
fn pool(parts: &[(f64, f64)]) -> f64 {
    let all: f64 = parts.iter().map(|(_, n)| n).sum();
    let squares: f64 = parts.iter().map(|(e, n)| (n - 1.0) * n * e * e).sum();
    (squares / (all - parts.len() as f64) / all).sqrt()
}

#[test]
fn errors_of_groups_in_groups_are_pooled_either_way() {
    let codes = |results: &serde_json::Value| {
        let report = check_text("results_mmlu.json", &results.to_string());
        ShortFinding::all(&report).into_iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&nested(|tasks, _| pool(tasks))), [""; 0]);
    assert_eq!(codes(&nested(|_, groups| pool(groups))), [""; 0]);
    let near = |groups: &[(f64, f64)]| pool(groups) * (1.0 + 1e-7);
    assert_eq!(codes(&nested(|_, groups| near(groups))), ["lm-eval::nested-stderr"]);
    assert_eq!(codes(&nested(|tasks, _| pool(tasks) * (1.0 + 1e-7))), ["lm-eval::group-stderr"]);
}
