//! Folders: of models, and bundles; what cannot be read, what is not known.

use std::fs;
use std::path::Path;

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
    let text = repro_check::text(&report, &ReportOptions::default());
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
    assert_eq!(codes, ["source::unreadable", "check::nothing-known"]);
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let Some(data) = shared::folder("check threads") else { return };
    let data = data.join("strangers");
    let of = |threads: usize| {
        let options = repro_check::CheckOptions { paths: vec![data.clone()], threads };
        repro_check::json(&repro_check::check(&options))
    };
    assert_eq!(of(1), of(7));
    let value = serde_json::from_str(&of(2)).unwrap();
    assert_eq!(Schema::closed("check").fault(&value), None);
}
