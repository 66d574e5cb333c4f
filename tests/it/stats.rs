//! `repro stats` as a user runs it: text, JSON, files, and input that is refused.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Standard output, standard error and the exit status of `repro stats` in the corpus.
fn stats(arguments: &[&str]) -> (String, String, i32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/stats");
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
    let output = command.current_dir(folder).arg("stats").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

fn printed(arguments: &[&str]) -> String {
    let (stdout, stderr, code) = stats(arguments);
    assert_eq!((stderr.as_str(), code), ("", 0), "{arguments:?}");
    let wide = |line: &str| line.chars().count() > 100;
    assert!(arguments.contains(&"json") || !stdout.lines().any(wide), "{stdout}");
    stdout
}

fn results(arguments: &[&str]) -> Value {
    let arguments: Vec<_> = arguments.iter().copied().chain(["--format", "json"]).collect();
    let document: Value = serde_json::from_str(&printed(&arguments)).unwrap();
    assert_eq!(document["schema"], "repro.stats/1");
    document["results"].clone()
}

fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("stats_{name}"), drawn));
}

const TARGET: &[&str] = &[
    "--a",
    "3.2782,3.2769,3.2801,3.2775,3.2793,3.2788,3.2779,3.2796,3.2771,3.2785,3.279,3.2767",
    "--target",
    "3.28",
    "--level",
    "0.99",
];

#[test]
fn lists_as_people_see_them() {
    snapshot("pairs", &printed(&["pairs.json", "--margin", "-0.05..0.05"]));
    snapshot("unequal", &printed(&["unequal.csv"]));
    snapshot("target", &printed(TARGET));
    snapshot("one_value", &printed(&["--a", "2.5"]));
    snapshot("no_spread", &printed(&["--a", "1.3,1.2,1.1", "--b", "1.2,1.1,1.0"]));
    snapshot(
        "summaries",
        &printed(&["--summary-a", "1.6545,0.0012,3", "--summary-b", "1.5788,0.002,3"]),
    );
    snapshot("scores", &printed(&["--scores", "scores.csv", "--p-values", "0.01,0.04,0.03"]));
    snapshot("counts", &printed(&["--counts", "12/121,19/121", "--paired-counts", "4,11"]));
    let loads = ["--categories", "130,95,101,84", "--expected", "2,1,1,1"];
    snapshot("groups", &printed(&[&["--groups", "scores.csv"], &loads[..]].concat()));
}

#[test]
fn lists_as_programs_see_them() {
    let all = ["pairs.json", "--margin", "-0.05..0.05", "--target", "2.45", "--counts", "1/9,8/9"];
    let document = printed(&[&all[..], &["--paired-counts", "0,0", "--format", "json"]].concat());
    snapshot("json", &document);
}

#[test]
fn what_decides_nothing_says_so() {
    let three = results(&["--a", "1,2,4", "--b", "1.5,2,3"]);
    assert_eq!(three["welch"]["evidence"], true);
    for key in ["bootstrap_percentile", "bootstrap_bca", "bootstrap_unpaired_bca", "sign_flip"] {
        assert_eq!(three[key]["evidence"], false, "{key}");
        assert!(three[key]["why"].as_str().unwrap().len() > 20, "{key}");
    }
    assert_eq!(three["one_sample_t"], json!({"refused": "no target was given"}));
    let two = results(&["--a", "1.5,2", "--b", "1.5,2.5"]);
    assert_eq!(
        (&two["welch"]["evidence"], &two["paired_t"]["evidence"]),
        (&json!(false), &json!(false))
    );
    let eight = results(&["--a", "1,2,4,3,5,2,1,6"]);
    assert_eq!(eight["bootstrap_bca"]["evidence"], true);
    assert_eq!(eight["sign_flip"]["evidence"], true);
    // 0.05 can be reached by six differences, 0.01 not.
    let six = ["--a", "1,2,4,3,5,2"];
    assert_eq!(results(&six)["sign_flip"]["evidence"], true);
    let strict = results(&[&six[..], &["--level", "0.99"]].concat());
    assert_eq!(strict["sign_flip"]["evidence"], false);
    let counts = results(&["--counts", "1/9,8/9"]);
    assert_eq!(counts["two_proportions"]["evidence"], false, "expected counts of 4.5");
    assert_eq!(three["mann_whitney"]["evidence"], false, "few values with a tie");
    assert_eq!(three["kolmogorov_smirnov"]["evidence"], true, "ties: no least p is known");
    let categories = |counts: &str| results(&["--categories", counts])["chi_squared"].clone();
    assert_eq!(categories("1,2,3")["evidence"], false, "2 are expected of each");
    assert_eq!(categories("0,0"), json!({"refused": "no trials"}));
    let whole = "a count is not a non-negative whole number";
    assert_eq!(
        (categories("1.5,2"), categories("-1,2")),
        (json!({"refused": whole}), json!({"refused": whole}))
    );
    assert_eq!(categories("3"), json!({"refused": "1 groups; it needs at least 2"}));
    let unequal = results(&["unequal.csv"]);
    let refused = json!({"refused": "3 and 5 values do not form pairs"});
    assert_eq!((&unequal["paired_t"], &unequal["sign_flip"]), (&refused, &refused));
    assert!(unequal["welch"]["t"].is_number());
}

#[test]
fn differences_of_large_numbers_are_exact() {
    let listed =
        |values: [u64; 6]| values.map(|one| (1_000_000_000_000_000 + one).to_string()).join(",");
    // Differences of -7, 4, -3, 1, 0 and -1.
    let (a, b) = (listed([1, 9, 2, 8, 3, 6]), listed([8, 5, 5, 7, 3, 7]));
    let paired = &results(&["--a", &a, "--b", &b])["paired_t"];
    let near = |field: &str, wanted: f64| (paired[field].as_f64().unwrap() - wanted).abs() < 1e-9;
    assert!(near("mean", -1.0) && near("t", -0.654_653_670_707_977_1), "{paired}");
    // Digits that no float keeps count as they are written.
    let fine = results(&[
        "--a",
        "1000000000.00000000001,1000000000.00000000003",
        "--b",
        "1000000000.00000000002,1000000000.00000000005",
    ]);
    assert_eq!(fine["welch"]["diff"], -1.5e-11, "{}", fine["welch"]);
    assert_eq!(
        (&fine["paired_t"]["mean"], &fine["correlation"]["r"]),
        (&json!(-1.5e-11), &json!(1.0))
    );
    let (_, stderr, code) = stats(&["--a", "1e400,2"]);
    assert!(code == 2 && stderr.contains("within the range of floating point"), "{stderr}");
}

#[test]
fn files_are_read_by_their_columns() {
    let named = results(&["arms.jsonl", "--column", "muon", "--column", "adam"]);
    let typed = results(&["--a", "3.2791,3.2776,3.2803", "--b", "3.2884,3.2869,3.2901"]);
    assert_eq!(named, typed);
    assert_eq!(named["paired_t"]["mean"], -0.009466666667);
    let one = results(&["names.json", "--column", "moe"]);
    assert_eq!((&one["a"]["mean"], &one["b"]), (&json!(0.71), &Value::Null));
}

#[test]
fn a_seed_is_what_changes_draws() {
    let values: Vec<_> = (0..22).map(|i| format!("{}", (i * 37) % 23)).collect();
    let values = values.join(",");
    let ends =
        |seed: &str| results(&["--a", &values, "--seed", seed])["bootstrap_bca"]["ci"].clone();
    assert_eq!(ends("7"), ends("7"));
    assert_ne!(ends("7"), ends("8"));
    let few =
        |seed: &str| results(&["--a", "1.5,2,4", "--seed", seed])["bootstrap_bca"]["ci"].clone();
    assert_eq!(few("7"), few("8"), "what is enumerated needs no seed");
}

#[test]
fn bad_input_is_refused_where_it_stands() {
    let mut drawn = String::new();
    for arguments in [
        &["--a", "1,65,1,66"][..],
        &["--a", "1.65,,1.66"],
        &["--a", "1.65,1.66,"],
        &["--a", ""],
        &["--a", "1.65;1.66"],
        &["--a", "1.5,nan"],
        &["--a", "1.5,inf"],
        &["--a", "1e999"],
        &["--a", "1_000,2_000"],
        &["--a", "0x1p3"],
        &["--b", "1.5"],
        &[],
        &["--target", "3.28"],
        &["--a", "1.5,2", "--target", "x"],
        &["--a", "1.5,2", "--level", "95"],
        &["--a", "1.5,2", "--level", "-0.5"],
        &["--a", "1.5,2", "--power", "0.01"],
        &["--a", "1.5,2", "--resamples", "5"],
        &["--a", "1.5,2", "--margin", "0.1"],
        &["--a", "1.5,2", "--margin", "0.1..-0.1"],
        &["--summary-a", "1.5,0.1"],
        &["--summary-a", "1.5,-0.1,3"],
        &["--summary-a", "1.5,0.1,1"],
        &["--counts", "5"],
        &["--counts", "5/4"],
        &["--counts", "-5/4"],
        &["--counts", "1/4,2/4,3/4"],
        &["--paired-counts", "-1,4"],
        &["--paired-counts", "1,99999999999999999999"],
        &["--p-values", "0.5,1.5"],
        &["hole.csv"],
        &["text.json"],
        &["names.json"],
        &["names.json", "--column", "qwen"],
        &["names.json", "--column", "moe", "--column", "moe", "--column", "moe"],
        &["decimal_comma.csv"],
        &["nan.csv"],
        &["empty.csv"],
        &["absent.csv"],
        &["--scores", "arms.jsonl", "--format", "junit"],
        &["--categories", "12,x"],
        &["--categories", ""],
        &["--expected", "1,2"],
        &["--groups", "hole.csv"],
    ] {
        let (stdout, stderr, code) = stats(arguments);
        assert_eq!((stdout.as_str(), code), ("", 2), "{arguments:?}");
        drawn += &format!("## repro stats {}\n{}\n\n", arguments.join(" "), stderr.trim_end());
    }
    snapshot("refused", drawn.trim_end());
}
