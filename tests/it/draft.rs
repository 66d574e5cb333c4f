//! `repro draft`: numbers of a text bound by their digits and words, what stays open, and what an update keeps.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const TEXT: &str = "\
# A mixture against a dense model

We trained both arms for 200 steps with three seeds each.

## Results

| arm | val loss | accuracy |
|---|---|---|
| dense | 2.0200 ± 0.0100 | 0.300 |
| moe | 1.9100 ± 0.0100 | 0.400 |

The mixture reaches a validation loss of 1.9100, against 2.0200 for the dense model: a gap of 0.1100, or 5.4% lower.
The best dense seed ends at 2.0100. It cost 731 dollars.
";

/// A project with the logs of two arms of three seeds as bundles, and a text.
fn project(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (arm, last, accuracy) in [("dense", 2.01, 0.3), ("moe", 1.90, 0.4)] {
        for seed in 1..=3 {
            let own = folder.path().join("runs").join(arm).join(seed.to_string());
            fs::create_dir_all(&own).unwrap();
            let loss = last + 0.01 * f64::from(seed - 1);
            let rows = [(0, 4.0 + 0.1 * loss), (100, loss + 0.5), (200, loss)];
            let lines = rows.map(|(step, loss)| format!("{step},{loss:.4},{accuracy:.4},0.001\n"));
            fs::write(
                own.join("metrics.csv"),
                "step,val_loss,val_accuracy,lr\n".to_owned() + &lines.concat(),
            )
            .unwrap();
        }
    }
    fs::create_dir(folder.path().join("repro")).unwrap();
    fs::write(folder.path().join("mine.md"), text).unwrap();
    let imported = repro(folder.path(), &["import", "runs", "--out", "receipts"]);
    assert!(imported.status.success(), "{imported:?}");
    folder
}

fn repro(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_repro")).current_dir(folder).args(arguments).output().unwrap()
}

fn post(folder: &Path) -> String {
    fs::read_to_string(folder.join("repro/mine.toml")).unwrap()
}

#[test]
fn each_number_is_bound_to_what_gives_its_digits() {
    let folder = project(TEXT);
    let drafted = repro(folder.path(), &["draft", "mine.md"]);
    assert_eq!(drafted.status.code(), Some(3), "one number is open: {drafted:?}");
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("draft", String::from_utf8(drafted.stdout).unwrap());
        insta::assert_snapshot!("draft_post", post(folder.path()));
    });
    let verified = repro(folder.path(), &["verify", "--post", "mine"]);
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
    let again = repro(folder.path(), &["draft", "mine.md"]);
    assert_eq!(again.status.code(), Some(2), "a post is not overwritten");
}

#[test]
fn what_is_confirmed_stays_where_text_and_evidence_change() {
    let folder = project(TEXT);
    repro(folder.path(), &["draft", "mine.md"]);
    let drafted = post(folder.path());
    let (before, behind) = drafted.split_once("# drafted\n").unwrap();
    let confirmed = behind.split_once("\n\n").unwrap().0.to_owned() + "\nnote = \"mine\"";
    let edited = format!("{before}{confirmed}\n\n{}", behind.split_once("\n\n").unwrap().1);
    fs::write(folder.path().join("repro/mine.toml"), edited).unwrap();
    let text =
        TEXT.replace("It cost 731 dollars", "Halfway, at step 100, the dense model is at 2.5200");
    fs::write(folder.path().join("repro/mine.md"), &text).unwrap();
    let updated = repro(folder.path(), &["draft", "repro/mine.md", "--update"]);
    assert_eq!(updated.status.code(), Some(0), "{updated:?}");
    let post = post(folder.path());
    assert!(post.contains("note = \"mine\""), "{post}");
    assert!(post.contains("mean(dense.loss @ 100)"), "{post}");
    let (head, _) = post.split_once("# drafted\n").unwrap();
    assert!(head.contains("note = \"mine\""), "what is confirmed has no mark: {post}");
}

#[test]
fn a_number_that_nothing_gives_is_open() {
    let folder =
        project("# T\n\nThe dense model has a mean validation loss of 2.0300 over 7 seeds.\n");
    let drafted = repro(folder.path(), &["draft", "mine.md"]);
    assert_eq!(drafted.status.code(), Some(3));
    let post = post(folder.path());
    assert!(post.contains("# open: 2.0300 (line 3); nearest: mean(dense.loss) is 2.02"), "{post}");
    assert!(post.contains("# open: 7 (line 3)"), "{post}");
    assert!(!post.contains("[[sentence]]"), "{post}");
}

/// The digits are there, and the words say that they are another's: each number stays open.
#[test]
fn a_number_is_not_bound_against_the_words_around_it() {
    for (text, number) in [
        // An accuracy is no loss,
        ("The dense model has a loss of 0.300.", "0.300"),
        ("The dense model gets 2.0200 reward.", "2.0200"),
        // the loss of one arm not that of the other,
        ("The mixture reaches a validation loss of 2.0200.", "2.0200"),
        // what an evaluation gives is not that of the training,
        ("The dense model has a training accuracy of 0.300.", "0.300"),
        // and so many steps are no step.
        ("We warmed up for 100 steps.", "100"),
    ] {
        let folder = project(&format!("# T\n\n{text}\n"));
        repro(folder.path(), &["draft", "mine.md"]);
        let post = post(folder.path());
        assert!(post.contains(&format!("# open: {number} (line 3)")), "{text}: {post}");
    }
    // The same digits in words that mean them.
    for (text, expression) in [
        ("The dense model has a validation loss of 2.0200.", "mean(dense.loss)"),
        ("The dense model has a validation accuracy of 0.300.", "mean(dense.val_accuracy"),
        ("The dense model is at step 100 of its schedule.", "one.dense.step @ 100"),
    ] {
        let folder = project(&format!("# T\n\n{text}\n"));
        repro(folder.path(), &["draft", "mine.md"]);
        let post = post(folder.path());
        assert!(post.contains(expression), "{text}: {post}");
    }
}

#[test]
fn what_cannot_be_drafted_is_said() {
    let folder = project("# No numbers here\n");
    for (arguments, code) in [
        (&["draft", "mine.md"][..], "draft::no-numbers"),
        (&["draft", "nowhere.md"], "source::unreadable"),
        (&["draft", "mine.md", "--update"], "draft::no-post"),
        (&["draft", "mine.md", "--evidence", "runs"], "draft::no-evidence"),
    ] {
        if code == "draft::no-evidence" {
            fs::write(folder.path().join("mine.md"), "It has 3 parts.\n").unwrap();
        }
        let refused = repro(folder.path(), arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(code), "{arguments:?}: {said}");
    }
    assert!(!folder.path().join("repro/mine.toml").exists());
}

#[test]
fn a_winner_that_the_numbers_do_not_give_is_not_bound() {
    let opened = |sentence: &str| {
        let folder = project(&format!("# T\n\n{sentence}\n"));
        repro(folder.path(), &["draft", "mine.md"]);
        post(folder.path()).matches("# open: ").count()
    };
    assert_eq!(opened("The moe model beats the dense model by 0.1100 in validation loss."), 0);
    assert_eq!(opened("The dense model beats the moe model by 0.1100 in validation loss."), 1);
    assert_eq!(opened("The dense model is not better than moe, by 0.1100 in validation loss."), 0);
    assert_eq!(opened("In accuracy moe wins over dense by 0.1000."), 0);
    assert_eq!(opened("In accuracy dense wins over moe by 0.1000."), 1);
}
