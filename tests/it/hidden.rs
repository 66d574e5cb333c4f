//! What readers of a text do not see is no part of it, and no text that a stranger wrote is a command of a CI system.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::repro;

const TEXT: &str =
    "# ::error::x\n\nSee [^a] of it. A loss of 3.5 is seen.\n\n<!-- a comment of 1.5 -->
$\\phantom{a phantom of 2.5}$ ![an image of 4.5](x.png)\n
<details><summary>more</summary>\n\nA fold of 5.5 here.\n\n</details>\n
<span style=\"color:white\">white of 6.5</span>\n\n[^b]: a note of 7.5\n\n[^a]: seen note of 8.5\n";

/// The quotes of the post, and what they stand in where readers do not see them.
const QUOTES: [(&str, &str); 8] = [
    ("a comment of 1.5", "a comment"),
    ("a phantom of 2.5", "a TeX command"),
    ("loss of 3.5", ""),
    ("an image of 4.5", "the alternative text of an image"),
    ("A fold of 5.5", ""),
    ("white of 6.5", "an element that is not shown"),
    ("a note of 7.5", "a footnote without a reference"),
    ("seen note of 8.5", ""),
];

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("repro")).unwrap();
    fs::write(folder.path().join("repro/p.md"), TEXT).unwrap();
    let title = "a\\n::error::pwned\\n ##[error]pwned";
    let mut post =
        format!("schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"{title}\"\ntext = \"p.md\"\n");
    for (quote, _) in QUOTES {
        let number = quote.rsplit(' ').next().unwrap();
        post += &format!("[[sentence]]\nquote = \"{quote}\"\nis = \"{number}\"\n");
    }
    fs::write(folder.path().join("repro/p.toml"), post).unwrap();
    folder
}

#[test]
fn what_readers_do_not_see_is_not_quoted() {
    let project = project();
    let ran = repro(project.path(), &["verify", "--post", "p", "--format", "json"]);
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let post = &report["posts"][0];
    let claims = post["claims"].as_array().unwrap();
    assert_eq!(claims.len(), QUOTES.len());
    for (claim, (quote, part)) in std::iter::zip(claims, QUOTES) {
        let told = claim.to_string();
        assert_eq!(told.contains("sentence::missing-quote"), !part.is_empty(), "{quote}: {told}");
        assert!(told.contains(part), "{quote}: {told}");
    }
    let findings = post["findings"].to_string();
    for part in ["text::hidden", "line 5 (a comment)", "line 8 (folded by"] {
        assert!(findings.contains(part), "{findings}");
    }
    // Of the numbers, only those that readers see are counted.
    let listed = repro(project.path(), &["review", "--coverage", "p", "--text", "repro/p.md"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("3.5") && !listed.contains(" 1.5 "), "{listed}");
}

#[test]
fn no_line_of_a_report_is_a_command() {
    let project = project();
    for format in
        ["text", "json", "jsonl", "junit", "markdown", "html", "sarif", "badge", "shields"]
    {
        let ran =
            repro(project.path(), &["verify", "--post", "p", "--verbose", "--format", format]);
        for stream in [ran.stdout, ran.stderr] {
            let shown = String::from_utf8(stream).unwrap();
            let is_command =
                |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
            assert_eq!(shown.lines().find(is_command), None, "{format}");
        }
    }
    let ran = repro(project.path(), &["verify", "--post", "p", "--format", "github"]);
    let shown = String::from_utf8(ran.stdout).unwrap();
    let is_own = |line: &str| {
        ["error ", "warning ", "notice "]
            .iter()
            .any(|level| line.starts_with(&format!("::{level}")))
    };
    assert!(shown.lines().all(is_own), "{shown}");
    let listed = repro(project.path(), &["explain", "--list", "posts"]);
    assert!(!String::from_utf8(listed.stdout).unwrap().contains("\n::"));
}
