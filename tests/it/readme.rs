//! What README.md says is what the program does.

use std::path::Path;

use repro::report::{Format, Options, render};
use repro::verify::{Demands, verify};

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The lines of the code block between two marks.
fn block<'a>(text: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let start = text.find(from).unwrap() + from.len();
    let end = start + text[start..].find(to).unwrap();
    text[start..end].lines().filter(|line| !line.starts_with("```") && !line.is_empty()).collect()
}

#[test]
fn the_excerpt_is_of_the_report() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let report = verify(root, &["0004".to_owned()], &Demands::default(), 1);
    let drawn = render(&report, Format::Text, &Options::default());
    let readme = readme();
    let excerpt =
        block(&readme, "<!-- excerpt of verify --post 0004 -->", "<!-- end of excerpt -->");
    assert!(excerpt.len() > 20);
    let mut rest = drawn.lines();
    for line in excerpt.into_iter().filter(|line| *line != "...") {
        assert!(rest.any(|drawn| drawn == line), "the report has no line, in this order:\n{line}");
    }
}

#[test]
fn the_two_commands_stand_first() {
    let readme = readme();
    let (before, _) = readme.split_once("\n## ").unwrap();
    for command in ["cargo run --release -- verify --post 0004", "cargo test"] {
        assert!(before.lines().any(|line| line.starts_with(command)), "{command}");
    }
}

#[test]
fn every_command_and_exit_status_is_listed() {
    let readme = readme();
    for command in [
        "verify",
        "coverage",
        "mutate",
        "params",
        "diff",
        "stats",
        "core",
        "import",
        "train",
        "replay",
        "calibrate",
        "list",
        "explain",
        "seal",
        "keygen",
        "sign",
    ] {
        assert!(readme.contains(&format!("`repro {command}")), "{command}");
    }
    for status in 0..=4 {
        assert!(readme.lines().any(|line| line.starts_with(&format!("| {status} |"))), "{status}");
    }
}
