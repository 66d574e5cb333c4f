//! What README.md and the pages of `tests/docs` say is what the program does, and their links lead somewhere.

use std::path::{Path, PathBuf};

use repro_judge::verify::{Demands, verify};
use repro_report::{Format, ReportOptions, render};

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
    let drawn = render(&report, Format::Text, &ReportOptions::default());
    let readme = readme();
    let excerpt =
        block(&readme, "<!-- excerpt of verify --post 0004 -->", "<!-- end of excerpt -->");
    assert!(excerpt.len() > 10);
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
    assert!(readme.lines().count() <= 170);
}

/// Every page that people read: the README, the guides, and a README beside the code that it is about.
fn pages(root: &Path) -> Vec<PathBuf> {
    fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, into);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                into.push(path);
            }
        }
    }
    let mut pages = vec![root.join("README.md"), root.join("CHANGELOG.md")];
    for folder in ["src", "tests/docs"] {
        collect(&root.join(folder), &mut pages);
    }
    pages.push(root.join("repro/studies/README.md"));
    pages
}

#[test]
fn links_between_pages_lead_to_files() {
    let mut lost = Vec::new();
    for page in pages(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        let text = std::fs::read_to_string(&page).unwrap();
        for (_, link) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
            let link = link.split(')').next().unwrap_or_default();
            let file = link.split('#').next().unwrap_or_default();
            let outside =
                link.contains("://") || file.is_empty() || file.contains(char::is_whitespace);
            if !outside && !page.parent().unwrap().join(file).exists() {
                lost.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn every_crate_has_a_page() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let architecture = std::fs::read_to_string(src.join("README.md")).unwrap();
    for entry in std::fs::read_dir(&src).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if folder.join("Cargo.toml").is_file() {
            assert!(folder.join("README.md").is_file(), "src/{name} has no README.md");
            assert!(architecture.contains(&format!("({name}/README.md)")), "{name}");
        }
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
        "gate",
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
