//! Folders: of models, and bundles; what cannot be read, what is not known.

use std::fs;
use std::path::{Path, PathBuf};

use super::{check, corpus, snapshot};
use crate::schemas::Schema;
use crate::shared;
use repro_report::ReportOptions;
use repro_report::outcome::ExitStatus;

/// A folder with a config of the corpus and a card.
fn model(config: &str, card: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    fs::create_dir(&model).unwrap();
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/params");
    fs::copy(configs.join(config), model.join("config.json")).unwrap();
    fs::write(model.join("README.md"), card).unwrap();
    folder
}

#[test]
fn what_a_card_says_is_held_against_every_way_of_counting() {
    let card = "# A model\n\nIt has 671B total parameters with 37B activated, trained on 14.8T tokens of parameters.\n\nOr 500B parameters.\n";
    let folder = model("deepseek_v3.json", card);
    let report = check(&[folder.path().join("model")]);
    let text = repro_formats::check::text(&report, &ReportOptions::default());
    let text = text.replace(&format!("{}", folder.path().display()), "FOLDER");
    snapshot("model_folder", &text);
    assert_eq!(report.status(), ExitStatus::Undecided);
}

#[test]
fn a_bundle_is_held_against_its_own_relations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let report = check(&[root.join("receipts/tiny-moe-moe-active12-s1")]);
    assert_eq!(report.status(), ExitStatus::Verified);
    assert!(report.counts().consistent > 0);
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("cut.json", b"{\"runs\": [{\"run_info\": {\"model_size\": 12");
    write("empty.json", b"");
    write("binary.json", &[0xff, 0xfe, 0, 1]);
    write("other.json", b"{\"a\": 1}");
    write("picture.png", &[0x89, b'P']);
    fs::copy(corpus("nanochat-report/report.md"), folder.path().join("report.md")).ok();
    let report = check(&[folder.path().to_owned()]);
    let mut codes: Vec<_> = report.failures.iter().map(|error| error.code.id).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["source::not-utf8", "source::syntax", "source::syntax"]);
    assert_eq!(report.unknown.len(), 2);
    assert_eq!(report.status(), ExitStatus::Refused);
    let named = check(&[folder.path().join("other.json"), folder.path().join("nowhere")]);
    let codes: Vec<_> = named.failures.iter().map(|error| error.code.id).collect();
    assert_eq!(codes, ["source::unreadable", "check::no-known-file"]);
}

#[test]
fn a_change_fails_by_what_it_breaks() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let unknown = write("package.json", "{\"name\": \"x\"}");
    let settings = write("tsconfig.json", "{\n  // for the compiler\n  \"strict\": true\n}");
    let comma = write("settings.json", "{\"a\": [1, 2,\n], \"b\": 1}");
    let broken = write("state.json", "{\"global_step\": 5, \"log_history\": [{\"loss\": 1.0}, {");
    let of = |paths: &[&PathBuf]| {
        let paths = paths.iter().map(|path| (*path).clone()).collect();
        repro_formats::check::check(&repro_formats::check::CheckOptions {
            paths,
            is_change: true,
            threads: 1,
        })
    };
    let nothing = of(&[&unknown, &settings, &comma]);
    assert_eq!((nothing.unknown.len(), nothing.passed_over.len()), (1, 2));
    assert_eq!(nothing.status(), ExitStatus::Verified);
    assert_eq!(nothing.as_report().exit_status(), ExitStatus::Verified);
    let text = repro_formats::check::text(&nothing, &repro_report::ReportOptions::default());
    assert!(text.contains("no document of a known kind changed"), "{text}");
    assert!(text.contains("2 × ignored: unreadable and of no known kind"), "{text}");
    assert!(text.contains("tsconfig.json: the document has a syntax error"), "{text}");
    let value = serde_json::from_str(&repro_formats::check::json(&nothing)).unwrap();
    assert_eq!(Schema::closed("check").fault(&value), None);
    let markdown = repro_report::github_summary(&nothing.as_report());
    assert!(
        markdown.contains("Skipped 2 files that cannot be read and show no known kind"),
        "{markdown}"
    );
    let truncated = of(&[&unknown, &broken]);
    assert_eq!(truncated.failures.len(), 1);
    assert_eq!(truncated.status(), ExitStatus::Refused);
    // what is odd is told, and does not fail a change; the card stands for its folder
    let odd = of(&[&write("README.md", &SCORES.replace("**61.4**", "**64.1**"))]);
    assert_eq!((odd.documents[0].kind, odd.counts().inconclusive), ("model-folder", 1));
    assert_eq!(odd.status(), ExitStatus::Verified);
    assert_eq!(odd.as_report().exit_status(), ExitStatus::Verified);
    let report = fs::read_to_string(corpus("nanochat-report/report.md")).unwrap();
    let wrong = write("report.md", &report.replace("(approx): 86,419", "(approx): 86,420"));
    assert_eq!(of(&[&unknown, &wrong]).status(), ExitStatus::Refuted);
}

/// What Git LFS leaves in the place of a file.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";

#[test]
fn a_change_of_a_model_whose_weights_were_not_fetched_passes_and_a_damaged_one_fails() {
    let folder = model("deepseek_v3.json", "# A model\n");
    let model = folder.path().join("model");
    let of = |name: &str, text: &str| {
        fs::write(model.join(name), text).unwrap();
        let paths = vec![model.join("README.md")];
        repro_formats::check::check(&repro_formats::check::CheckOptions {
            paths,
            is_change: true,
            threads: 1,
        })
    };
    let pointer = of("model.safetensors", POINTER);
    assert_eq!((pointer.failures.len(), pointer.passed_over.len()), (0, 1));
    assert_eq!(
        check(std::slice::from_ref(&model)).status(),
        ExitStatus::Refused,
        "named, it is no weights"
    );
    assert_eq!(of("model.safetensors", "no weights").status(), ExitStatus::Refused);
    of("model.safetensors", POINTER);
    let index = of("model.safetensors.index.json", "{\"metadata\": {");
    assert_eq!(index.status(), ExitStatus::Refused);
    of("model.safetensors.index.json", POINTER);
    assert_eq!(of("config.json", "{\n  // settings\n  \"a\": 1\n}").status(), ExitStatus::Verified);
    let named = of("config.json", "{\"architectures\": [\"X\"], // which\n  \"a\": 1\n}");
    assert_eq!(named.status(), ExitStatus::Refused);
}

#[test]
fn a_change_that_takes_a_part_of_a_bundle_is_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in ["bagit.txt", "manifest-sha256.txt", "data/metrics.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("bundle");
        crate::relations::copy(&root.join("receipts/tiny-moe-moe-active12-s1"), &bundle);
        fs::remove_file(bundle.join(part)).unwrap();
        let paths = vec![bundle.join(part)];
        let options = repro_formats::check::CheckOptions { paths, is_change: true, threads: 1 };
        assert_eq!(repro_formats::check::check(&options).status(), ExitStatus::Refused, "{part}");
    }
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let Some(data) = shared::folder("check threads") else { return };
    let data = data.join("strangers");
    let of = |threads: usize| {
        let options = repro_formats::check::CheckOptions {
            paths: vec![data.clone()],
            is_change: false,
            threads,
        };
        repro_formats::check::json(&repro_formats::check::check(&options))
    };
    assert_eq!(of(1), of(7));
    let value = serde_json::from_str(&of(2)).unwrap();
    assert_eq!(Schema::closed("check").fault(&value), None);
}

#[test]
fn a_config_of_any_name_is_counted() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/params");
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| fs::copy(configs.join(from), folder.path().join(to)).unwrap();
    copy("dbrx.json", "dbrx.config.json");
    copy("grok-published.json", "grok.json");
    fs::write(folder.path().join("new.json"), r#"{"model_type": "of-next-year"}"#).unwrap();
    fs::write(folder.path().join("other.json"), r#"{"hidden_size": 8, "lr": 0.1}"#).unwrap();
    let report = check(&[folder.path().to_owned()]);
    let told: Vec<_> = report
        .documents
        .iter()
        .map(|one| (one.kind, one.counts[0].cell("total").unwrap().printed.as_str()))
        .collect();
    let kind = "model-config";
    assert_eq!(told, [(kind, "131,596,523,520"), (kind, "315,684,820,992"), (kind, "unknown")]);
    assert_eq!(report.unknown.len(), 1);
    assert_eq!(report.status(), ExitStatus::Undecided);
}

/// A `.safetensors` file of float32 tensors, all zero.
fn weights(tensors: &[(&str, &[usize])]) -> Vec<u8> {
    let zeros = vec![0; 1 << 16];
    let view = |(name, shape): &(&str, &[usize])| {
        let bytes = shape.iter().product::<usize>() * 4;
        let view = safetensors::tensor::TensorView::new(
            safetensors::Dtype::F32,
            shape.to_vec(),
            &zeros[..bytes],
        );
        ((*name).to_owned(), view.unwrap())
    };
    safetensors::serialize(tensors.iter().map(view), None).unwrap()
}

#[test]
fn weights_of_an_unknown_architecture_are_counted_by_their_headers() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    fs::create_dir(&model).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(model.join(name), bytes).unwrap();
    write("config.json", br#"{"model_type": "of-next-year", "hidden_size": 8}"#);
    write("README.md", b"It has 304 parameters; the larger one has 1.5B parameters, or 0.3K.\n");
    write("model-00001-of-00002.safetensors", &weights(&[("a.weight", &[8, 30])]));
    write("model-00002-of-00002.safetensors", &weights(&[("b.weight", &[8, 8])]));
    let report = check(&[model]);
    let text = repro_formats::check::text(&report, &ReportOptions::default());
    snapshot(
        "model_folder_unknown",
        &text.replace(&format!("{}", folder.path().display()), "FOLDER"),
    );
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

#[test]
fn what_an_index_says_alone_is_held_against_the_config() {
    let folder = model("deepseek_v3.json", "# A model\n");
    let index = |count: u64| {
        let text = format!(
            r#"{{"metadata": {{"total_parameters": {count}, "total_size": {}}}, "weight_map": {{}}}}"#,
            2 * count
        );
        fs::write(folder.path().join("model/model.safetensors.index.json"), text).unwrap();
        let report = check(&[folder.path().join("model")]);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        let text = repro_formats::check::text(&report, &ReportOptions::default());
        (report.counts().consistent, text)
    };
    assert_eq!(index(671_026_404_352).0, 1);
    // With the layers for multi-token prediction, without them, and with copies of embeddings and head.
    assert_eq!([682_636_472_320, 684_489_830_400].map(|count| index(count).0), [1, 1]);
    assert!(index(684_489_830_401).1.contains("model::index-parameter-count"));
}

#[test]
fn a_part_of_the_shards_refutes_nothing() {
    let folder = model("deepseek_v3.json", "# A model\n");
    let shard = folder.path().join("model/model-00001-of-00060.safetensors");
    fs::write(&shard, weights(&[("a.weight", &[8, 30])])).unwrap();
    let report = check(&[folder.path().join("model")]);
    let text = repro_formats::check::text(&report, &ReportOptions::default());
    assert!(
        text.contains("1 of 60 shards") && !text.contains("model::stored-parameter-count"),
        "{text}"
    );
    // What Git leaves of a large file names the way to it.
    fs::write(&shard, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
        .unwrap();
    let report = check(&[folder.path().join("model")]);
    assert!(format!("{:?}", report.failures).contains("git lfs pull"));
}

/// A folder with this card and other files; the codes of what is doubted, each with its row, and what the report says.
fn card(
    folder: &str,
    card: &str,
    others: &[(&str, &str)],
) -> (Vec<(&'static str, String)>, String) {
    let root = tempfile::tempdir().unwrap();
    let model = root.path().join(folder);
    fs::create_dir_all(model.join(".eval_results")).unwrap();
    fs::write(model.join("README.md"), card).unwrap();
    for (name, text) in others {
        fs::write(model.join(name), text).unwrap();
    }
    let report = check(&[model]);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(report.counts().refuted, 0);
    let of_asked = |asked: &repro_formats::check::AskedRelation| {
        let id = asked.code.id;
        asked.broken.iter().map(move |broken| (id, broken.label.clone())).collect::<Vec<_>>()
    };
    let doubts = report.asked().flat_map(|(asked, _)| of_asked(asked)).collect();
    let text =
        repro_formats::check::text(&report, &ReportOptions { verbose: true, ..Default::default() });
    (doubts, text)
}

const SCORES: &str = "---
license: mit
model-index:
- name: Tern-8B
  results:
  - task: {type: text-classification}
    dataset: {type: owner/birds, name: Birds, split: validation}
    metrics:
    - type: accuracy
      name: Accuracy
      value: 0.8602941176470589
    - type: f1
      name: F1
      value: 0.9041
  - task: {type: text-generation}
    dataset: {type: owner/sums, name: Sums}
    metrics:
    - {type: exact_match, value: 61.4}
---
It achieves the following results on the evaluation set:
- Loss: 0.6581
- Accuracy: 0.8603
- F1: 0.9041

| Benchmark | Other-7B | **[Tern-8B](https://example.org)** |
|---|---|---|
| [Sums](x) | 70.0 | **61.4** |
| Birds | 1.0 | 2.0 |
";

#[test]
fn scores_for_programs_agree_with_the_card_and_with_each_other() {
    let hub = "- dataset: {id: Owner/Sums}\n  value: 0.614\n- dataset: {id: other/set, task_id: a}\n  value: 3\n";
    let files = [
        (".eval_results/sums.yaml", hub),
        ("all_results.json", "{\"eval_loss\": 0.65812, \"eval_accuracy\": 0.86029}"),
    ];
    let (doubts, text) = card("tern", SCORES, &files);
    assert_eq!(doubts, []);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (code, rows) in [
        ("card-table", ""),
        ("eval-results", ""),
        ("card-list", " (2 rows)"),
        ("results-file", " (2 rows)"),
    ] {
        assert!(text.contains(&format!("model::{code}-score{rows}")), "{code} {text}");
    }
    assert!(text.contains("scores: 3 in model-index, 2 in .eval_results"), "{text}");
}

#[test]
fn scores_that_differ_are_doubted_and_refute_nothing() {
    let doubts = |from: &str, to: &str, files: &[(&str, &str)]| {
        assert_eq!(SCORES.matches(from).count(), 1, "{from}");
        card("tern", &SCORES.replace(from, to), files).0
    };
    assert_eq!(
        doubts("**61.4**", "**64.1**", &[]),
        [("model::card-table-score", "Sums exact_match".into())]
    );
    assert_eq!(
        doubts("- F1: 0.9041", "- F1: 0.9141", &[]),
        [("model::card-list-score", "Birds F1".into())]
    );
    let hub = [(".eval_results/a.yaml", "- dataset: {id: owner/sums}\n  value: 64.1\n")];
    assert_eq!(
        doubts("license: mit", "license: mit", &hub),
        [("model::eval-results-score", "owner/sums".into())]
    );
    let results = [("eval_results.json", "{\"eval_f1\": 0.8}")];
    assert_eq!(
        doubts("license: mit", "license: mit", &results),
        [("model::results-file-score", "eval_f1".into())]
    );
    let again = "    - {type: exact_match, value: 61.4}\n    - {type: exact_match, value: 63}";
    let told = doubts("    - {type: exact_match, value: 61.4}", again, &[]);
    assert_eq!(told, [("model::duplicate-score", "Sums exact_match".into())]);
    let two = "- name: Tern-8B-old\n  results:\n  - task: {type: text-generation}\n    dataset: {type: owner/sums, name: Sums}\n    metrics:\n    - {type: exact_match, value: 12}\n- name: Tern-8B";
    assert_eq!(doubts("- name: Tern-8B", two, &[]), []);
    // Of several settings, metrics or models nothing is known to be the same.
    for (from, to) in [
        ("| Birds | 1.0 | 2.0 |", "| Sums | 70.0 | 64.1 |"),
        ("| [Sums](x) | 70.0 | **61.4** |", "| Sums (5-shot) | 70.0 | **64.1** |"),
        ("**61.4**", "64.1 (5-shot)"),
        ("**[Tern-8B](https://example.org)**", "Tern-9B"),
        ("| Benchmark |", "| Benchmark (5-shot) |"),
        ("value: 61.4}", "value: 61.44}"),
    ] {
        assert_eq!(doubts(from, to, &[]), [], "{to}");
    }
    let hub = [(
        ".eval_results/a.yaml",
        "- dataset: {id: owner/sums}\n  value: 64.1\n  notes: no tools\n",
    )];
    assert_eq!(doubts("license: mit", "license: mit", &hub), []);
}

#[test]
fn a_size_that_a_table_has_for_this_model_is_doubted() {
    let asked = |size: &str| {
        let card = format!(
            "| Model | #Total Params | Context |\n|---|---|---|\n| Other | 9B | 1K |\n| **Model** | {size} | 128K |\n"
        );
        let folder = model("deepseek_v3.json", &card);
        let report = check(&[folder.path().join("model")]);
        let asked = report.asked().find(|(asked, _)| asked.code.id == "model::card-size");
        (asked.map(|(asked, _)| (asked.times, asked.broken.len())), report.counts().refuted)
    };
    assert_eq!(asked("671B"), (Some((1, 0)), 0));
    assert_eq!(asked("685B"), (Some((1, 1)), 0));
    // 682,636,472,320 with multi-token prediction, cut off: no number that rounding gives, and no doubt.
    assert_eq!(asked("682B"), (None, 0));
    assert_eq!(asked("many"), (None, 0));
}

#[test]
fn metadata_that_cannot_be_read_are_told() {
    let folder = model("deepseek_v3.json", "---\nmodel-index: [a\n---\nIt has 671B parameters.\n");
    let report = check(&[folder.path().join("model")]);
    let codes: Vec<_> = report.failures.iter().map(|error| error.code.id).collect();
    assert_eq!((codes, report.status()), (vec!["source::syntax"], ExitStatus::Refused));
    assert!(report.documents[0].counts.iter().any(|row| row.label == "stated 671B"));
}

#[test]
fn configs_of_others_are_read_as_they_are_written() {
    let folder = model("llama.json", "# A model\n");
    let config = folder.path().join("model/config.json");
    let text = fs::read_to_string(&config).unwrap();
    let more = "{\"time_step_limit\": [0.0, Infinity], \"max_length\": 1000000000000000000000, ";
    fs::write(&config, format!("\u{feff}{}", text.replacen('{', more, 1))).unwrap();
    let report = check(&[folder.path().join("model")]);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_ne!(report.documents[0].counts[0].cell("total").unwrap().printed, "unknown");
}

#[test]
fn packed_weights_are_no_other_number_of_parameters() {
    let folder = model("llama.json", "# A model\n");
    let config = folder.path().join("model/config.json");
    let index = folder.path().join("model/model.safetensors.index.json");
    fs::write(index, r#"{"metadata": {"total_parameters": 128320}, "weight_map": {}}"#).unwrap();
    let doubts = || check(&[folder.path().join("model")]).counts().inconclusive;
    assert_eq!(doubts(), 1);
    let text = fs::read_to_string(&config).unwrap();
    let packed = text.replacen('{', r#"{"quantization_config": {"bits": 4}, "#, 1);
    fs::write(&config, packed).unwrap();
    assert_eq!(doubts(), 0);
}

#[test]
fn the_model_of_a_heading_is_that_of_the_folder() {
    let card = "# Tern\n\n| Model | Params |\n|---|---|\n| Tern | 7B |\n";
    let folder = model("deepseek_v3.json", card);
    assert_eq!(check(&[folder.path().join("model")]).counts().inconclusive, 1);
}
