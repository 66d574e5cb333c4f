//! Folders of MLPerf results and summaries of their scores.

use std::fs;
use std::path::Path;

use super::{ShortFinding, check, corpus, drawn, snapshot};
use crate::shared;

fn results(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/import/mlperf").join(name)
}

#[test]
fn a_summary_has_the_score_of_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let summary = folder.path().join("summary.json");
    let text = fs::read_to_string(corpus("mlperf/summary.json")).unwrap();
    for (score, codes) in
        [("20.5250750000", &[][..]), ("20.5250760000", &["mlperf::score-mismatch"]), ("null", &[])]
    {
        fs::write(&summary, text.replace("20.5250750000", score)).unwrap();
        let report = check(&[results("good"), summary.clone()]);
        let found: Vec<_> = ShortFinding::all(&report).iter().map(|one| one.code).collect();
        assert_eq!(found, codes, "{score}");
    }
}

#[test]
fn runs_that_miss_their_target_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(results("good")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let is_first = path.ends_with("result_0.txt");
        let text = if is_first { text.replace("0.9241", "0.9351") } else { text };
        fs::write(folder.path().join(path.file_name().unwrap()), text).unwrap();
    }
    let found = ShortFinding::all(&check(&[folder.path().to_owned()]));
    assert!(
        found.iter().any(|one| one.code == "import::target-missed" && one.rules_out),
        "{found:?}"
    );
}

#[test]
fn folders_of_results_as_people_see_them() {
    let report = check(&[results("good"), results("fast"), corpus("mlperf")]);
    snapshot("mlperf", &drawn(&report));
}

#[test]
fn a_published_summary_has_the_score_of_its_results() {
    let test = "check::mlperf::a_published_summary_has_the_score_of_its_results";
    let Some(folder) = shared::folder(test) else { return };
    let report = check(&[folder.join("mlperf")]);
    assert_eq!(ShortFinding::all(&report), []);
    assert_eq!(report.together.iter().map(|asked| asked.times).sum::<usize>(), 1);
}
