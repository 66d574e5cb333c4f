//! Posts that go: deleted with their locks, moved away, renamed. What is left in the folder agrees with itself, and fails.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{git, repro};

/// Two posts with locks, as a commit that is tagged `before`.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/tutorial/runs");
    assert_eq!(status(root, &["init", "--log", logs.to_str().unwrap()]), Some(0));
    let post = fs::read_to_string(root.join("repro/first.toml")).unwrap();
    let title = post.lines().find(|line| line.starts_with("title = ")).unwrap().to_owned();
    let other = post.replace(&title, "title = \"Another\"").replace("first", "other");
    fs::write(root.join("repro/other.toml"), other).unwrap();
    fs::copy(root.join("repro/first.md"), root.join("repro/other.md")).unwrap();
    assert_eq!(status(root, &["verify", "--write-lock"]), Some(0));
    git(root, &["init", "--quiet"]);
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "two posts"]);
    git(root, &["tag", "before"]);
    folder
}

fn status(root: &Path, arguments: &[&str]) -> Option<i32> {
    repro(root, arguments).status.code()
}

fn printed(root: &Path, arguments: &[&str]) -> String {
    let ran = repro(root, arguments);
    String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
}

fn compared(root: &Path) -> Value {
    let ran = repro(root, &["diff", "before", "--format", "json"]);
    serde_json::from_slice(&ran.stdout).unwrap()
}

type Way = (&'static str, fn(&Path));

const WAYS: [Way; 4] = [
    ("deleted", |root| {
        fs::remove_file(root.join("other.toml")).unwrap();
        fs::remove_file(root.join("other.lock")).unwrap();
    }),
    ("moved", |root| {
        fs::create_dir(root.join("old")).unwrap();
        for name in ["other.toml", "other.lock"] {
            fs::rename(root.join(name), root.join("old").join(name)).unwrap();
        }
    }),
    ("renamed", |root| {
        fs::rename(root.join("other.toml"), root.join("other.toml.off")).unwrap();
        fs::rename(root.join("other.lock"), root.join("other.lock.off")).unwrap();
    }),
    ("renamed to what is no post", |root| {
        fs::rename(root.join("other.toml"), root.join("other.reviews.toml")).unwrap();
        fs::remove_file(root.join("other.lock")).unwrap();
    }),
];

#[test]
fn a_post_that_goes_with_its_lock_fails_by_itself_and_against_the_base() {
    for (way, go) in WAYS {
        let project = project();
        let root = project.path();
        assert_eq!(status(root, &["verify", "--locked"]), Some(0), "{way}");
        go(&root.join("repro"));
        let said = printed(root, &["verify", "--post", "all", "--locked"]);
        assert_eq!(
            status(root, &["verify", "--post", "all", "--locked"]),
            Some(2),
            "{way}: {said}"
        );
        assert!(
            said.contains("repro/other.toml") && said.contains("restore the post and its lock"),
            "{said}"
        );
        assert!(said.contains("--write-lock"), "{said}");
        // The way out, by which the base alone has the post.
        let wrote = printed(root, &["verify", "--post", "all", "--write-lock"]);
        assert!(wrote.contains("removed the missing post `other`"), "{wrote}");
        assert_eq!(status(root, &["verify", "--post", "all", "--locked"]), Some(0), "{way}");
        let json = compared(root);
        assert!(json["lost"].as_u64() > Some(0) && json["exit_code"] == 3, "{json:#}");
        let locks = json["locks"].as_array().unwrap();
        let index = locks.iter().find(|one| one["lock"] == "repro/index.lock").unwrap();
        assert_eq!(index["with"], serde_json::json!(["`repro/other.toml`"]), "{json:#}");
    }
}

#[test]
fn the_index_itself_may_neither_go_nor_forget_a_post() {
    let project = project();
    let root = project.path();
    let index = root.join("repro/index.lock");
    let text = fs::read_to_string(&index).unwrap();
    let said = |expected: &str| {
        let said = printed(root, &["verify", "--locked"]);
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(status(root, &["verify", "--locked"]), Some(2), "{expected}");
    };
    fs::remove_file(&index).unwrap();
    said("index::missing");
    fs::write(&index, text.replace("\"other\" = 1\n", "")).unwrap();
    said("index::not-listed");
    fs::write(&index, text.replace("\"other\" = 1\n", "\"other\" = 2\n")).unwrap();
    said("index::claim-count-differs");
    fs::write(&index, text.replace("repro.index/1", "repro.index/9")).unwrap();
    said("index::wrong-schema");
    fs::remove_file(&index).unwrap();
    std::os::unix::fs::symlink("first.lock", &index).unwrap();
    assert_eq!(status(root, &["verify", "--locked"]), Some(2));
    fs::remove_file(&index).unwrap();
    assert_eq!(status(root, &["verify", "--write-lock"]), Some(0));
    assert_eq!(fs::read_to_string(&index).unwrap(), text);
    // One post is recorded, and the other stays listed.
    assert_eq!(status(root, &["verify", "--post", "first", "--write-lock"]), Some(0));
    assert_eq!(fs::read_to_string(&index).unwrap(), text);
    // A post by the name of the index would have no lock of its own.
    fs::copy(root.join("repro/other.toml"), root.join("repro/index.toml")).unwrap();
    let refused = printed(root, &["verify", "--locked"]);
    assert!(refused.contains("which is reserved for the index of all posts"), "{refused}");
}

#[test]
fn a_claim_that_goes_with_its_line_of_the_lock_is_counted() {
    let project = project();
    let root = project.path();
    let [post, lock] = ["other.toml", "other.lock"].map(|name| root.join("repro").join(name));
    let written = fs::read_to_string(&lock).unwrap();
    let text = fs::read_to_string(&post).unwrap();
    let (head, _) = text.split_once("[[sentence]]").unwrap();
    fs::write(&post, head).unwrap();
    // Everything in the lock that would tell is made right by hand.
    let digest = repro_core::digest::Digest::of(head.as_bytes()).prefixed();
    let old = repro_core::digest::Digest::of(text.as_bytes()).prefixed();
    let (kept, _) = written.split_once("[claims]\n").unwrap();
    fs::write(&lock, format!("{}[claims]\n", kept.replace(&old, &digest))).unwrap();
    let said = printed(root, &["verify", "--locked"]);
    assert!(said.contains("index::claim-count-differs"), "{said}");
}

#[test]
fn a_lock_that_changes_with_what_it_judges_is_told_by_name() {
    let project = project();
    let root = project.path();
    let post = root.join("repro/other.toml");
    let text = fs::read_to_string(&post).unwrap();
    fs::write(&post, format!("{text}\n# a remark\n")).unwrap();
    assert_eq!(status(root, &["verify", "--write-lock"]), Some(0));
    let json = compared(root);
    let expected = serde_json::json!([{"lock": "repro/other.lock", "how": "changed", "with": ["`repro/other.toml`"]}]);
    assert_eq!(
        (&json["locks"], &json["lost"], &json["exit_code"]),
        (&expected, &0.into(), &0.into())
    );
    for format in ["text", "markdown"] {
        let told = printed(root, &["diff", "before", "--format", format]);
        assert!(told.contains("was changed together with"), "{told}");
    }
}

#[test]
fn a_refuted_claim_that_is_refuted_for_another_reason_is_not_as_recorded() {
    let project = project();
    let root = project.path();
    let [post, lock] = ["first.toml", "first.lock"].map(|name| root.join("repro").join(name));
    // The last digit of the printed number is another, in post and text.
    for name in ["first.toml", "first.md"] {
        let path = root.join("repro").join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("3.4048", "3.4148")).unwrap();
    }
    assert!(fs::read_to_string(&post).unwrap().contains("3.4148"));
    assert_eq!(status(root, &["verify", "--write-lock"]), Some(0));
    assert_eq!(status(root, &["verify", "--locked"]), Some(0));
    let written = fs::read_to_string(&lock).unwrap();
    let code = written.lines().find(|line| line.contains("refuted")).unwrap().rsplit('"').nth(1);
    let code = code.unwrap();
    assert!(code.contains("::"), "{written}");
    fs::write(&lock, written.replace(code, "order::wrong-direction")).unwrap();
    let said = printed(root, &["verify", "--locked"]);
    assert!(said.contains("order::wrong-direction") && said.contains(code), "{said}");
    assert_eq!(status(root, &["verify", "--locked"]), Some(1));
}
