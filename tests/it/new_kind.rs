//! `scripts/new_claim_kind.sh` on a copy of the tree. That the stub compiles is seen when it is used.

use std::path::Path;
use std::process::{Command, Output};

use repro_judge::post::Post;
use repro_receipt::source::Source;

/// A copy of what the script reads.
fn tree() -> tempfile::TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in
        ["scripts/new_claim_kind.sh", "src/judge/claims/mod.rs", "src/judge/claims/identity.rs"]
    {
        let target = temporary.path().join(file);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(here.join(file), target).unwrap();
    }
    temporary
}

fn run(tree: &Path, arguments: &[&str]) -> Output {
    Command::new("sh")
        .arg("scripts/new_claim_kind.sh")
        .args(arguments)
        .current_dir(tree)
        .output()
        .unwrap()
}

#[test]
fn a_kind_begins_with_its_file_two_lines_and_two_projects() {
    let tree = tree();
    let read = |file: &str| std::fs::read_to_string(tree.path().join(file)).unwrap();
    let before = read("src/judge/claims/mod.rs");
    for name in ["loss_gap", "aaa", "zzz2"] {
        let output = run(tree.path(), &[name]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let steps = String::from_utf8(output.stdout).unwrap();
        assert!(
            steps.contains(&format!("src/judge/claims/{name}.rs"))
                && steps.contains("cargo run -- seal")
        );
    }
    let after = read("src/judge/claims/mod.rs");
    let added: Vec<_> =
        after.lines().filter(|line| !before.lines().any(|old| old == *line)).collect();
    let lines = [
        "mod aaa;",
        "mod loss_gap;",
        "mod zzz2;",
        "    &aaa::KIND,",
        "    &loss_gap::KIND,",
        "    &zzz2::KIND,",
    ];
    assert_eq!(added, lines);
    for start in ["mod ", "    &"] {
        let run = after.lines().skip_while(|line| !line.starts_with(start));
        let run: Vec<_> = run.take_while(|line| line.starts_with(start)).collect();
        assert!(run.is_sorted() && run.len() > 3, "{run:?}");
    }
    let stub = read("src/judge/claims/loss_gap.rs");
    assert!(stub.contains("\"loss_gap::no-rule\"") && stub.contains("Outcome::unchecked("));
    assert!(!stub.contains("todo!") && !stub.contains("\\`"));
    for (root, value) in [("good", "\"1.5\""), ("bad", "\"1.6\"")] {
        let folder = format!("tests/corpus/loss_gap/{root}");
        assert!(read(&format!("{folder}/receipts/evidence/data/facts.json")).contains(value));
        // All that is missing is the digest.
        let text = read(&format!("{folder}/repro/loss_gap.toml"));
        let sealed = text.replace("the digest that `repro seal` prints", &"0".repeat(64));
        assert_ne!(text, sealed);
        let source = Source::new("repro/loss_gap.toml", sealed.into_bytes()).unwrap();
        let post = Post::parse(source).unwrap();
        assert_eq!(post.claims().next().unwrap().unwrap().kind, "loss_gap");
    }
}

#[test]
fn bad_names_are_refused_and_nothing_is_written() {
    let tree = tree();
    let names = [
        "identity",
        "Loss",
        "loss-gap",
        "9x",
        "a__b",
        "a_",
        "../x",
        "match",
        "mod",
        "tolerance",
        "",
    ];
    for arguments in names.iter().map(|name| vec![*name]).chain([vec![], vec!["a", "b"]]) {
        let output = run(tree.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{arguments:?}");
        assert!(output.stdout.is_empty());
    }
    assert!(!tree.path().join("tests").exists());
    let registry = |root: &Path| std::fs::read(root.join("src/judge/claims/mod.rs")).unwrap();
    assert_eq!(registry(tree.path()), registry(Path::new(env!("CARGO_MANIFEST_DIR"))));
}
