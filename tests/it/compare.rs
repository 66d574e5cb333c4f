//! `repro diff`: what changed between two commits, projects or reports, and why.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{git, repro};
use crate::schemas::Schema;

/// A project with one post about the last validation loss of a run, as two commits: nothing, and the post.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/tutorial/runs");
    let made = repro(folder.path(), &["init", "--log", logs.to_str().unwrap()]);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "-m", "the post"]);
    git(folder.path(), &["tag", "before"]);
    folder
}

/// Writes `new` for `old` in the post and in its text.
fn rewrite(root: &Path, old: &str, new: &str) {
    for name in ["repro/first.toml", "repro/first.md"] {
        let text = fs::read_to_string(root.join(name)).unwrap();
        fs::write(root.join(name), text.replace(old, new)).unwrap();
    }
}

/// The answer as JSON, which its schema describes, and the exit status.
fn compared(root: &Path, arguments: &[&str]) -> (Value, Option<i32>) {
    let ran = repro(root, &[&["diff"], arguments, &["--format", "json"]].concat());
    let json = serde_json::from_slice(&ran.stdout);
    let json: Value = json.unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(Schema::closed("compare").fault(&json), None, "{json:#}");
    assert_eq!(json["exit_code"].as_i64(), ran.status.code().map(i64::from));
    (json, ran.status.code())
}

fn snapshot(name: &str, root: &Path, arguments: &[&str]) {
    let ran = repro(root, &[&["diff"], arguments].concat());
    let drawn = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.stderr.is_empty(), "{drawn}{}", String::from_utf8_lossy(&ran.stderr));
    let drawn = drawn.replace(&named(root, "before")[..10], "COMMIT");
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(format!("compare_{name}"), drawn);
    });
}

/// The full name of a commit.
fn named(root: &Path, commit: &str) -> String {
    let ran = Command::new("git").current_dir(root).args(["rev-parse", commit]).output().unwrap();
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// What changed of each claim, by name.
fn changes(json: &Value) -> Vec<(&str, &str)> {
    let all = json["changes"].as_array().unwrap().iter();
    all.map(|one| (one["claim"].as_str().unwrap(), one["change"].as_str().unwrap())).collect()
}

/// What the first change rests on that is another.
fn causes(json: &Value) -> Vec<&str> {
    let causes = json["changes"][0]["because"].as_array().unwrap().iter();
    causes.map(|one| one["what"].as_str().unwrap()).collect()
}

#[test]
fn nothing_changed() {
    let project = project();
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!((changes(&json), status), (vec![], Some(0)));
    assert_eq!(json["posts"], Value::Array(vec![]));
    let (json, status) = compared(project.path(), &["before", "."]);
    assert_eq!((changes(&json), status), (vec![], Some(0)));
}

#[test]
fn another_number_is_refuted_and_told_as_the_cause() {
    let project = project();
    rewrite(project.path(), "3.4048", "3.3048");
    let (json, status) = compared(project.path(), &["before"]);
    let [(_, change)] = changes(&json)[..] else { panic!("{json:#}") };
    assert_eq!((change, status), ("now_refuted", Some(1)));
    assert!(causes(&json).contains(&"number"), "{json:#}");
    assert!(!causes(&json).contains(&"result"), "{json:#}");
    snapshot("another_number", project.path(), &["before"]);
    snapshot("another_number_as_markdown", project.path(), &["before", "--format", "markdown"]);
    // The other way round it is mended.
    git(project.path(), &["commit", "--quiet", "-am", "worse"]);
    let (json, status) = compared(project.path(), &["HEAD", "before"]);
    let [(_, change)] = changes(&json)[..] else { panic!("{json:#}") };
    assert_eq!((change, status), ("stronger", Some(0)));
}

#[test]
fn a_text_elsewhere_in_the_project_is_compared_too() {
    let project = project();
    let root = project.path();
    let post = root.join("repro/first.toml");
    let elsewhere = |text: &str| text.replace("\"first.md\"", "\"../docs/[a] text.md\"");
    fs::write(&post, elsewhere(&fs::read_to_string(&post).unwrap())).unwrap();
    fs::create_dir(root.join("docs")).unwrap();
    let text = root.join("docs/[a] text.md");
    fs::rename(root.join("repro/first.md"), &text).unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "the text elsewhere"]);
    git(root, &["tag", "--force", "before"]);
    let (json, status) = compared(root, &["before"]);
    assert_eq!((changes(&json), status), (vec![], Some(0)), "{json:#}");
    let whole = fs::read_to_string(&text).unwrap();
    fs::write(&text, whole.replace("3.4048", "3.4047")).unwrap();
    let (json, status) = compared(root, &["before"]);
    assert_eq!(status, Some(3), "{json:#}");
    assert_eq!(changes(&json)[0].1, "weaker", "{json:#}");
    // Numbers that it gains are named, and a text that goes takes the verdicts with it.
    fs::write(&text, whole + "\nIt began with 9.8765.\n").unwrap();
    let (json, status) = compared(root, &["before"]);
    assert!(status == Some(3) && json.to_string().contains("9.8765"), "{json:#}");
    fs::remove_file(&text).unwrap();
    let (json, status) = compared(root, &["before"]);
    assert!(status == Some(2) && changes(&json)[0].1 == "gone", "{json:#}");
}

#[test]
fn another_run_is_told_as_what_the_name_stands_for() {
    let project = project();
    rewrite(project.path(), "last = \"adamw-1:", "last = \"adamw-2:");
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!(status, Some(1), "{json:#}");
    for cause in ["meaning", "bundle", "evidence", "result"] {
        assert!(causes(&json).contains(&cause), "{cause}: {json:#}");
    }
}

#[test]
fn a_claim_that_is_gone_leaves_its_number_unbound() {
    let project = project();
    let post = project.path().join("repro/first.toml");
    let text = fs::read_to_string(&post).unwrap();
    let (head, _) = text.split_once("[[sentence]]").unwrap();
    fs::write(&post, head).unwrap();
    let (json, status) = compared(project.path(), &["before"]);
    let [(_, change)] = changes(&json)[..] else { panic!("{json:#}") };
    assert_eq!((change, status), ("gone", Some(3)));
    let whole = json["posts"][0]["changes"].as_array().unwrap();
    assert!(whole.iter().any(|one| one["what"] == "unbound"), "{json:#}");
}

#[test]
fn a_post_that_is_gone_or_broken_is_counted() {
    let project = project();
    let post = project.path().join("repro/first.toml");
    let text = fs::read_to_string(&post).unwrap();
    fs::write(&post, text.replace("[names]", "[names")).unwrap();
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!((json["broken"].as_array().unwrap().len(), status), (1, Some(2)));
    snapshot("a_broken_post", project.path(), &["before"]);
    fs::remove_file(&post).unwrap();
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!((json["broken"].as_array().unwrap().len(), status), (0, Some(3)));
}

#[test]
fn the_bytes_of_a_commit_are_judged_without_filters_and_links() {
    let project = project();
    let root = project.path();
    // What would change the bytes in a checkout, or run a program, changes and runs nothing.
    fs::write(root.join(".gitattributes"), "* text eol=crlf filter=loud\n").unwrap();
    git(root, &["config", "filter.loud.smudge", "touch smudged"]);
    git(root, &["config", "core.autocrlf", "true"]);
    let (json, status) = compared(root, &["before"]);
    assert_eq!((changes(&json), status), (vec![], Some(0)));
    assert!(!root.join("smudged").exists());
}

#[test]
fn reports_of_both_commands_are_compared_and_not_with_each_other() {
    let project = project();
    let root = project.path();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/check/hf-trainer");
    let results = fs::read_to_string(corpus.join("eval_results.json")).unwrap();
    for (folder, printed) in [("v1", "29.267"), ("v2", "99.9")] {
        fs::create_dir(root.join(folder)).unwrap();
        fs::write(root.join(folder).join("eval_results.json"), results.replace("29.267", printed))
            .unwrap();
        repro(root, &["check", folder, "--output", &format!("json={folder}.json")]);
    }
    // Two versions of one folder lie in two places.
    let (json, status) = compared(root, &["v1.json", "v2.json"]);
    let told = changes(&json);
    assert!(told.contains(&("hf-trainer::evaluation-sample-count", "now_refuted")), "{told:?}");
    assert!(told.contains(&("hf-trainer::stated-samples", "weaker")), "{told:?}");
    assert_eq!((causes(&json), status), (vec!["broken"], Some(1)));
    // One number is mended, another of the same relation breaks.
    let broken = |name: &str, at: usize| {
        let report = fs::read_to_string(root.join("v2.json")).unwrap();
        let mut report: Value = serde_json::from_str(&report).unwrap();
        report["findings"][0]["row"] = format!("row {at}").into();
        report["findings"][0]["printed"] = format!("99.{at}").into();
        fs::write(root.join(name), report.to_string()).unwrap();
    };
    broken("v3.json", 1);
    broken("v4.json", 2);
    assert_eq!(compared(root, &["v3.json", "v4.json"]).1, Some(1));
    let (json, status) = compared(root, &["v1.json", "v1.json"]);
    assert_eq!((changes(&json), status), (vec![], Some(0)));
    let verified = repro(root, &["verify", "--post", "first", "--output", "json=c.json"]);
    assert_eq!(verified.status.code(), Some(0));
    let ran = repro(root, &["diff", "v1.json", "c.json"]);
    let complaint = String::from_utf8(ran.stderr).unwrap();
    assert!(complaint.contains("[compare::different-commands]"), "{complaint}");
    assert_eq!(ran.status.code(), Some(2));
}

#[test]
fn what_is_no_side_is_refused() {
    let project = project();
    let root = project.path();
    fs::write(root.join("no.json"), "{\"schema\": \"repro.report/1\"}").unwrap();
    for (arguments, code) in [
        (["diff", "nothing", "before"], "compare::unknown-side"),
        (["diff", "no.json", "before"], "compare::not-a-report"),
    ] {
        let ran = repro(root, &arguments);
        let complaint = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(code), "{arguments:?}: {complaint}");
    }
}

/// Writes the post anew: a text, and sentences about it as `id`, quote and what is said of it, all of the last loss, 3.4048.
fn write(root: &Path, text: &str, sentences: &[(&str, &str, &str)]) {
    let mut post = "schema = \"repro.post/2\"\nid = \"first\"\ntitle = \"T\"\ntext = \"first.md\"\n\n[names]\n\
                    last = \"adamw-1:data/printed/validation.csv#step=2000.val_loss\"\n"
        .to_owned();
    for (id, quote, more) in sentences {
        post += &format!("\n[[sentence]]\nid = \"{id}\"\nquote = \"{quote}\"\n{more}\n");
    }
    fs::write(root.join("repro/first.toml"), post).unwrap();
    fs::write(root.join("repro/first.md"), text).unwrap();
}

/// A project whose first commit has this post.
fn project_of(text: &str, sentences: &[(&str, &str, &str)]) -> TempDir {
    let folder = project();
    write(folder.path(), text, sentences);
    git(folder.path(), &["commit", "--quiet", "-am", "another post"]);
    git(folder.path(), &["tag", "--force", "before"]);
    folder
}

const LAST: &str = "is = \"last\"";

#[test]
fn a_name_that_passes_to_another_statement_hides_no_refutation() {
    let text = "# T\n\nThe loss is 3.5 here. And also 3.4048 there.\n";
    let project = project_of(
        text,
        &[("x", "The loss is 3.5 here", LAST), ("y", "And also 3.4048 there", LAST)],
    );
    let text = "# T\n\nThe loss is 3.4 here. And also 3.4148 there.\n";
    write(
        project.path(),
        text,
        &[("y", "The loss is 3.4 here", LAST), ("x", "And also 3.4148 there", LAST)],
    );
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!(status, Some(1), "{json:#}");
}

#[test]
fn a_refuted_statement_that_only_moved_is_known() {
    let text = "# T\n\nThe loss is 3.5 here.\n";
    let project = project_of(text, &[("x", "The loss is 3.5 here", LAST)]);
    write(
        project.path(),
        "# T\n\nNow,\nThe loss is 3.5\nhere.\n",
        &[("z", "The loss is 3.5 here", LAST)],
    );
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!(status, Some(0), "{json:#}");
}

#[test]
fn a_claim_that_moves_to_other_words_leaves_its_number_behind() {
    let text = "# T\n\nThe loss is 3.4 here. Another is 3.4 too.\n";
    let project = project_of(text, &[("x", "The loss is 3.4 here", LAST)]);
    write(project.path(), text, &[("x", "Another is 3.4 too", LAST)]);
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!(status, Some(3), "{json:#}");
}

#[test]
fn a_refuted_number_that_is_excused_lost_its_claim() {
    let text = "# T\n\nThe loss is 3.5 here.\n";
    let project = project_of(text, &[("x", "The loss is 3.5 here", LAST)]);
    write(project.path(), text, &[("x", "The loss is 3.5 here", "is = \"_ as we like\"")]);
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!(status, Some(3), "{json:#}");
}

#[test]
fn what_the_report_does_not_tell_of_a_claim_is_told_of_its_post() {
    let text = "# T\n\nThe loss is 3.5 here.\n";
    let project = project_of(text, &[("x", "The loss is 3.5 here", LAST)]);
    write(
        project.path(),
        text,
        &[("x", "The loss is 3.5 here", "is = \"last\"\npremise = \"if it were\"")],
    );
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!((causes(&json), status), (vec!["post"], Some(0)), "{json:#}");
}

#[test]
fn a_path_with_the_name_of_a_commit_is_no_answer() {
    let project = project();
    let root = project.path();
    git(root, &["branch", "main2", "before"]);
    fs::create_dir_all(root.join("main2/repro")).unwrap();
    let ran = repro(root, &["diff", "main2"]);
    let complaint = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("`main2^0` for the commit"), "{complaint}");
    assert_eq!(compared(root, &["main2^0"]).1, Some(0));
}

#[test]
fn objects_in_the_place_of_others_are_not_looked_at() {
    let project = project();
    let root = project.path();
    rewrite(root, "3.4048", "3.3048");
    git(root, &["commit", "--quiet", "-am", "worse"]);
    git(root, &["replace", "HEAD", "before"]);
    assert_eq!(compared(root, &["before", "HEAD"]).1, Some(1));
}

#[test]
fn a_post_that_is_a_link_in_a_commit_is_not_passed_over() {
    let project = project();
    let root = project.path();
    fs::create_dir(root.join("elsewhere")).unwrap();
    fs::rename(root.join("repro/first.toml"), root.join("elsewhere/first.toml")).unwrap();
    std::os::unix::fs::symlink("../elsewhere/first.toml", root.join("repro/first.toml")).unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "a link"]);
    let ran = repro(root, &["diff", "before", "HEAD"]);
    let complaint = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("git worktree add"), "{complaint}");
}

#[test]
fn a_post_of_neither_side_is_refused() {
    let project = project();
    let ran = repro(project.path(), &["diff", "before", "--post", "frist"]);
    let complaint = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("repro/frist.toml"), "{complaint}");
}

#[test]
fn a_report_that_counts_other_claims_than_it_has_is_refused() {
    let project = project();
    let root = project.path();
    repro(root, &["verify", "--post", "first", "--output", "json=a.json"]);
    let report = fs::read_to_string(root.join("a.json")).unwrap();
    let edited = report.replace("\"verdict\": \"verified\"", "\"verdict\": \"refuted\"");
    fs::write(root.join("b.json"), edited).unwrap();
    let ran = repro(root, &["diff", "a.json", "b.json"]);
    let complaint = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("compare::not-a-report"), "{complaint}");
}

#[test]
fn renamed_posts_and_folders_are_followed() {
    let text = "# T\n\nThe loss is 3.5 here.\n";
    let project = project_of(text, &[("x", "The loss is 3.5 here", LAST)]);
    let root = project.path();
    for ending in ["toml", "md"] {
        let old = root.join(format!("repro/first.{ending}"));
        let content = fs::read_to_string(&old).unwrap();
        fs::write(root.join(format!("repro/ours.{ending}")), content.replace("first", "ours"))
            .unwrap();
        fs::remove_file(old).unwrap();
    }
    // The lock of the old name goes, and the post has none of its new name yet.
    fs::remove_file(root.join("repro/first.lock")).unwrap();
    assert_eq!(compared(root, &["before"]).1, Some(3));
    repro(root, &["verify", "--post", "all", "--write-lock"]);
    let (json, status) = compared(root, &["before"]);
    assert_eq!((changes(&json), status), (vec![], Some(0)), "{json:#}");
    let whole = json["posts"][0]["changes"].as_array().unwrap();
    assert!(whole.iter().any(|one| one["what"] == "name" && one["was"] == "first"), "{json:#}");
    // What changes in it is told as a change, and not as a post that is judged for the first time.
    let text = fs::read_to_string(root.join("repro/ours.toml")).unwrap();
    fs::write(root.join("repro/ours.toml"), text.replace("is = \"last\"", "is = \"last * 1\""))
        .unwrap();
    let told = String::from_utf8(repro(root, &["diff", "before"]).stdout).unwrap();
    assert!(told.contains("expression: last → last * 1"), "{told}");
    assert!(!told.contains("for the first time"), "{told}");
}

#[test]
fn a_post_that_lost_its_lock_is_weaker() {
    let project = project();
    let root = project.path();
    assert_eq!(compared(root, &["before"]).1, Some(0));
    for lock in ["repro/first.lock", "repro/index.lock"] {
        let held = fs::read(root.join(lock)).unwrap();
        fs::remove_file(root.join(lock)).unwrap();
        let (json, status) = compared(root, &["before"]);
        assert_eq!((changes(&json), status), (vec![], Some(3)), "{json:#}");
        assert_eq!((&json["locks"][0]["how"], &json["lost"]), (&"deleted".into(), &1.into()));
        let told = String::from_utf8(repro(root, &["diff", "before"]).stdout).unwrap();
        assert!(told.contains("1 no longer locked"), "{told}");
        fs::write(root.join(lock), held).unwrap();
    }
}

#[test]
fn what_is_not_asked_any_more_is_not_mended() {
    let root = tempfile::tempdir().unwrap();
    let report = |name: &str, asked: usize, is_broken: bool| {
        let finding = serde_json::json!({"code": "a::b", "verdict": "refuted", "meaning": "m", "document": "d.json",
            "row": "2", "printed": "1", "recomputed": "2", "reason": ""});
        let findings = if is_broken { vec![finding] } else { vec![] };
        let document = serde_json::json!({"path": "d.json", "kind": "k", "counts": [],
            "relations": [{"code": "a::b", "says": "x = y", "asked": asked, "broken": findings.len()}]});
        let report = serde_json::json!({"schema": "repro.check/1", "documents": [document], "findings": findings,
            "unknown": [], "failures": [], "summary": {}, "exit_code": 0});
        fs::write(root.path().join(name), report.to_string()).unwrap();
    };
    report("a.json", 2, true);
    report("b.json", 1, false);
    report("c.json", 2, false);
    let (json, status) = compared(root.path(), &["a.json", "b.json"]);
    assert_eq!((changes(&json), status), (vec![("a::b", "no_longer_refuted")], Some(0)));
    let (json, status) = compared(root.path(), &["c.json", "b.json"]);
    assert_eq!((changes(&json), status), (vec![("a::b", "weaker")], Some(3)));
    let (json, status) = compared(root.path(), &["a.json", "c.json"]);
    assert_eq!((changes(&json), status), (vec![("a::b", "stronger")], Some(0)));
}

#[test]
fn a_claim_on_other_words_does_not_hide_one_that_is_gone() {
    let text = "# T\n\nAnd also 3.4048 there, or 3.4 too.\n";
    let project = project_of(text, &[("x", "And also 3.4048 there", LAST)]);
    let text = "# T\n\nAnd also 3.4148 there, or 3.4 too.\n";
    write(
        project.path(),
        text,
        &[("y", "or 3.4 too", LAST), ("z", "And also 3.4148 there", "is = \"_ as we like\"")],
    );
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!(status, Some(3), "{json:#}");
}

#[test]
fn a_report_is_not_written_over_what_it_compares() {
    let project = project();
    let root = project.path();
    repro(
        root,
        &["verify", "--post", "first", "--output", "json=a.json", "--output", "json=b.json"],
    );
    let before = fs::read(root.join("a.json")).unwrap();
    let ran = repro(root, &["diff", "a.json", "b.json", "--output", "json=a.json"]);
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    assert_eq!(fs::read(root.join("a.json")).unwrap(), before);
}

#[test]
fn before_there_was_a_project_there_were_no_posts() {
    let project = project();
    let (json, status) = compared(project.path(), &["before~1"]);
    assert_eq!(status, Some(0), "{json:#}");
    let [(_, change)] = changes(&json)[..] else { panic!("{json:#}") };
    assert_eq!(change, "new");
}

#[test]
fn what_can_be_used_on_neither_side_is_named() {
    let project = project();
    let root = project.path();
    fs::write(root.join("repro/first.toml"), "schema = \"x\"\n").unwrap();
    git(root, &["commit", "--quiet", "-am", "broken"]);
    let (json, status) = compared(root, &["HEAD"]);
    assert_eq!((json["unknown"].as_array().unwrap().len(), status), (1, Some(2)), "{json:#}");
}

#[test]
fn a_name_that_is_given_to_another_sentence_hides_no_claim_that_is_gone() {
    let text = "# T\n\nAnd also 3.4048 there, or it is 3.4 too.\n";
    let project = project_of(text, &[("x", "And also 3.4048 there", LAST)]);
    let text = "# T\n\nAnd also 3.4148 there, or it is 3.4 too.\n";
    let claims = [("x", "or it is 3.4 too", LAST), ("z", "And also 3.4148 there", "is = \"_ so\"")];
    write(project.path(), text, &claims);
    let (json, status) = compared(project.path(), &["before"]);
    assert_eq!(status, Some(3), "{json:#}");
}

/// A pull request may leave every verdict as it was and make each mean less.
#[test]
fn the_same_verdict_by_less_is_weaker() {
    let text = "# T\n\nThe loss is 3.4048 here.\n";
    let project = project_of(text, &[("x", "The loss is 3.4048 here", LAST)]);
    let root = project.path();
    let changed = |text: &str, is: &str| {
        let words = text.lines().last().unwrap().trim_end_matches('.');
        write(root, text, &[("x", words, is)]);
        compared(root, &["before"])
    };
    // A limit that no word says, and a number of the post itself.
    let lower = text.replace("3.4048", "3.2");
    for (text, is) in [
        (lower.as_str(), "is = { value = \"last\", as = \"above\" }"),
        (lower.as_str(), "is = \"last - 0.2048\""),
    ] {
        let (json, status) = changed(text, is);
        assert!(status == Some(3) && changes(&json)[0].1 == "weaker", "{is}: {json:#}");
    }
    // Another file is judged than the one that is read.
    write(root, text, &[("x", "The loss is 3.4048 here", LAST)]);
    fs::copy(root.join("repro/first.md"), root.join("repro/other.md")).unwrap();
    let post = root.join("repro/first.toml");
    let swapped = fs::read_to_string(&post).unwrap().replace("first.md", "other.md");
    fs::write(post, swapped).unwrap();
    let (json, status) = compared(root, &["before"]);
    assert!(status == Some(3) && json.to_string().contains("text_file"), "{json:#}");
}
