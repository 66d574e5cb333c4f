//! Every code of a kind of document is raised by a test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What no document can break.
const UNBREAKABLE: &[(&str, &str)] =
    &[("lm-eval::plain-group", "it is asked where it holds, and counts what was recomputed")];

/// The files of these tests, and the snapshots of what single changes break.
fn told() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = |folder: &str| {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let tests = files("it/check").into_iter().filter(|path| name(path) != "codes.rs");
    let edits = files("snapshots")
        .into_iter()
        .filter(|path| name(path).starts_with("check_") && !name(path).contains("strangers"));
    tests.chain(edits).map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn every_code_is_raised_by_a_test() {
    let told = told();
    let words: BTreeSet<&str> =
        told.split(|letter: char| !(letter.is_alphanumeric() || "-:_".contains(letter))).collect();
    let all = repro_formats::check::codes().into_iter().map(|code| code.id);
    let all = all.filter(|code| !code.starts_with("check::"));
    let missing: Vec<_> = all
        .filter(|code| !words.contains(code))
        .filter(|code| UNBREAKABLE.iter().all(|(known, _)| known != code))
        .collect();
    assert_eq!(missing, <Vec<&str>>::new());
    // What is broken after all needs no reason.
    let broken = UNBREAKABLE.iter().filter(|(code, _)| words.contains(code));
    assert_eq!(broken.count(), 0);
}
