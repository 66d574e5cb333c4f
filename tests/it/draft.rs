//! `repro draft`: numbers of a text bound by their digits and words, what stays open, and what an update keeps.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::repro;
use crate::shared::say_skipped;

pub const TEXT: &str = "\
# A mixture against a dense model

We trained both arms for 200 steps with three seeds each, and print the mean and the standard deviation.

## Results

| arm | val loss | accuracy |
|---|---|---|
| dense | 2.0200 ± 0.0100 | 0.300 |
| moe | 1.9100 ± 0.0100 | 0.400 |

The mixture reaches a validation loss of 1.9100, against 2.0200 for the dense model: a gap of 0.1100, or 5.4% lower.
The best dense seed ends at 2.0100. It cost 731 dollars.
";

/// A project with the logs of two arms of three seeds as bundles, and a text.
pub fn project(text: &str) -> tempfile::TempDir {
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
fn the_published_text_is_the_one_that_is_read() {
    let folder = project(TEXT);
    repro(folder.path(), &["draft", "mine.md"]);
    let verify = || repro(folder.path(), &["verify", "--post", "mine"]).status.code();
    assert_eq!(verify(), Some(0));
    fs::write(folder.path().join("mine.md"), TEXT.replace("1.9100", "1.1900")).unwrap();
    assert_ne!(verify(), Some(0), "the text was changed");
    // A copy beside the post has to be one.
    let text = "[texts.own]\nwhat = 'mine'\nfile = 'copy.md'\ncopy_of = '../mine.md'\n";
    fs::write(folder.path().join("repro/copy.md"), TEXT).unwrap();
    let copied = post(folder.path()).replace("text = \"../mine.md\"\n", "");
    let (before, behind) = copied.split_once("[names]").unwrap();
    let own = format!("{before}{text}[names]{behind}");
    fs::write(folder.path().join("repro/mine.toml"), own).unwrap();
    let verified = repro(folder.path(), &["verify", "--post", "mine"]);
    let told = String::from_utf8_lossy(&verified.stdout).into_owned()
        + &String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.code() == Some(2) && told.contains("text::changed-copy"), "{told}");
    fs::write(folder.path().join("mine.md"), TEXT).unwrap();
    assert_eq!(verify(), Some(0));
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

/// How many numbers of a text stay open, and the post.
fn opened(text: &str) -> (usize, String) {
    let folder = project(&format!("# T\n\n{text}\n"));
    repro(folder.path(), &["draft", "mine.md"]);
    let post = post(folder.path());
    (post.matches("# open: ").count(), post)
}

#[track_caller]
fn assert_opened(cases: &[(&str, usize)]) {
    for (text, count) in cases {
        let (open, post) = opened(text);
        assert_eq!(open, *count, "{text}: {post}");
    }
}

#[test]
fn a_number_is_of_the_arm_whose_words_own_it() {
    assert_opened(&[
        ("The dense model ends at a validation loss of 2.0200, moe at 1.9100.", 0),
        ("The dense model ends at a validation loss of 1.9100, moe at 2.0200.", 2),
        ("Validation losses are 2.0200 (dense) and 1.9100 (moe).", 0),
        ("Validation losses are 1.9100 (dense) and 2.0200 (moe).", 2),
        ("dense and moe have validation losses of 2.0200 and 1.9100, respectively.", 0),
        ("dense and moe have validation losses of 1.9100 and 2.0200, respectively.", 2),
        ("moe beats dense: 1.9100 against 2.0200 validation loss.", 0),
        ("moe beats dense: 2.0200 against 1.9100 validation loss.", 2),
        ("dense beats moe: 2.0200 against 1.9100 validation loss.", 2),
        ("Validation loss fell from 2.0200 with dense to 1.9100 with moe.", 0),
        ("Validation loss rose from 2.0200 with dense to 1.9100 with moe.", 2),
        ("dense and moe both reach a validation loss of 1.9100.", 1),
        ("Without moe, the validation loss is 1.9100.", 1),
        ("## moe\n\nThe validation loss ends at 1.9100.", 0),
        ("## dense\n\nThe validation loss ends at 1.9100.", 1),
    ]);
}

#[test]
fn a_number_is_of_what_the_noun_beside_it_names() {
    assert_opened(&[
        ("Each run has 200 steps.", 0),
        ("Each run has 200 tokens.", 1),
        ("Each run has 200 epochs.", 1),
        ("moe reaches a validation loss of 1.9100 with a batch size of 200.", 1),
        ("moe reaches a validation loss of 1.9100 after 200 warmup steps.", 1),
        ("The gradient norm of moe is 1.9100.", 1),
        ("On the test set moe reaches a loss of 1.9100.", 1),
        ("moe reaches a validation loss of 1.9100 ± 0.0100.", 0),
        ("moe reaches a validation loss of 1.9100 ± 0.0100, with the standard error.", 1),
        ("moe trained 1.9100 times as long as dense.", 1),
    ]);
}

#[test]
fn a_number_is_read_at_the_step_that_the_words_name() {
    assert_opened(&[
        ("After 100 steps moe has a validation loss of 2.4100.", 0),
        ("After 100 steps moe has a validation loss of 1.9100.", 1),
        ("moe reaches a validation loss of 2.4100 after 200 steps.", 1),
        ("At step 100 moe is at 2.4100, at step 200 at 1.9100 validation loss.", 0),
        ("At step 100 moe is at 1.9100, at step 200 at 2.4100 validation loss.", 2),
    ]);
}

#[test]
fn a_difference_goes_the_way_that_the_words_say() {
    assert_opened(&[
        ("moe lowers validation loss by 0.1100 compared with dense.", 0),
        ("moe increases validation loss by 0.1100 compared with dense.", 1),
        ("dense lowers validation loss by 0.1100 compared with moe.", 1),
        ("Compared with dense, moe lowers validation loss by 0.1100.", 0),
        ("moe improves accuracy by 10.0 percentage points over dense.", 0),
        ("dense improves accuracy by 10.0 percentage points over moe.", 1),
        ("moe improves accuracy by 10.0% relative over dense.", 1),
        ("The validation loss of moe rises from 4.1910 to 1.9100.", 2),
    ]);
}

#[test]
fn a_column_is_what_its_head_says() {
    let column = |head: &str, dense: &str, moe: &str| {
        let text = format!("| arm | {head} |\n|---|---|\n| dense | {dense} |\n| moe | {moe} |\n");
        opened(&text)
    };
    for (head, dense, moe, is) in [
        ("val loss", "2.0200", "1.9100", "mean(runs.loss)"),
        ("acc", "30.0", "40.0", "100 * mean(runs.val_accuracy)"),
        ("acc (%)", "30.0", "40.0", "mean(runs.val_accuracy)"),
        ("val loss | std", "2.0200 | 0.0100", "1.9100 | 0.0100", "\"std\" = \"sd(runs.loss)\""),
    ] {
        let (_, post) = match head.contains('|') {
            true => opened(&format!(
                "| arm | {head} |\n|---|---|---|\n| dense | {dense} |\n| moe | {moe} |\n"
            )),
            false => column(head, dense, moe),
        };
        assert!(post.contains(is), "{head}: {post}");
    }
    for head in ["test loss", "train loss", "error rate", "parameters"] {
        let (open, post) = column(head, "2.0200", "1.9100");
        assert_eq!(open, 2, "{head}: {post}");
    }
    let (open, post) = column("val loss", "2.5200", "2.4100");
    assert_eq!(open, 2, "of another step: {post}");
    let (_, post) =
        opened("| arm | val loss |\n|---|---|\n| dense | 2.0200 |\n| without moe | 1.9100 |\n");
    assert!(!post.contains("\"moe\"}") && !post.contains("\"without moe\""), "{post}");
}

#[test]
fn a_post_has_the_name_of_its_text_in_letters_of_an_id() {
    let folder = project(TEXT);
    for (text, id) in [("README.md", "readme"), ("Paper.md", "paper"), ("my notes.md", "my-notes")]
    {
        fs::write(folder.path().join(text), TEXT).unwrap();
        let drafted = repro(folder.path(), &["draft", text]);
        assert_eq!(drafted.status.code(), Some(3), "{text}: {drafted:?}");
        assert!(folder.path().join(format!("repro/{id}.toml")).is_file(), "{text}");
    }
}

/// The corpus with its receipts, and the draft of one of its texts; none without Python.
fn drafted_study(text: &str) -> Option<(tempfile::TempDir, String)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/draft");
    let folder = tempfile::tempdir().unwrap();
    let written = Command::new("python3")
        .arg(corpus.join("project.py"))
        .arg(folder.path())
        .arg(text)
        .output();
    let Ok(written) = written else {
        assert!(std::env::var_os("REPRO_REQUIRE_SHARED").is_none(), "python3 is required");
        say_skipped("draft", "there is no python3");
        return None;
    };
    assert!(written.status.success(), "{written:?}");
    fs::create_dir(folder.path().join("repro")).unwrap();
    fs::copy(corpus.join(text), folder.path().join("mine.md")).unwrap();
    let drafted = repro(folder.path(), &["draft", "mine.md"]);
    assert_eq!(drafted.status.code(), Some(3), "{drafted:?}");
    let told = String::from_utf8(drafted.stdout).unwrap();
    Some((folder, told))
}

/// Settings, records and results of a study that the Python package wrote: what is open is what no receipt shows, and nothing is
/// bound to runs that the text never names, though these have its digits.
#[test]
fn settings_and_results_of_a_study_are_bound_in_sentences_and_tables() {
    for (text, total, open) in [
        ("prose.md", 40, &["43", "12", "500", "0.004"][..]),
        ("table.md", 40, &["8", "0.004", "1.4"]),
        // Runs that the text names by their learning rates.
        ("rates.md", 42, &["1e-3", "2e-3"]),
    ] {
        let Some((folder, told)) = drafted_study(text) else { return };
        let post = post(folder.path());
        let opened: Vec<&str> = post
            .lines()
            .filter_map(|line| line.strip_prefix("# open: ")?.split(" (line").next())
            .collect();
        assert_eq!(opened, open, "{text}: {told}");
        let said = format!("{} of {total} numbers are covered", total - open.len());
        assert!(told.starts_with(&said), "{text}: {told}");
        assert!(!post.contains("long-s") && !post.contains("debug-s"), "{text}: {post}");
        insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(format!("draft_{}", text.trim_end_matches(".md")), told);
        });
        let verified = repro(folder.path(), &["verify", "--post", "mine"]);
        let verified = String::from_utf8(verified.stdout).unwrap();
        assert!(!verified.contains("refuted"), "{text}: {verified}");
    }
}

/// A comment that begins with the words of the mark is none, and the head of a draft has no such line.
#[test]
fn the_mark_of_a_draft_is_a_whole_line() {
    let folder = project(TEXT);
    repro(folder.path(), &["draft", "mine.md"]);
    let drafted = post(folder.path());
    let (head, _) = drafted.split_once("[[").unwrap();
    assert!(
        !head.lines().any(|line| line.starts_with("# drafted") && line != "# drafted"),
        "{head}"
    );
    let warned = |post: &str| {
        fs::write(folder.path().join("repro/mine.toml"), post).unwrap();
        let verified = repro(folder.path(), &["verify", "--post", "mine"]);
        let text = String::from_utf8(verified.stdout).unwrap();
        let line = text.lines().find(|line| line.contains("have `# drafted` above"));
        line.map(|line| line.trim_start_matches([' ', '!']).to_owned())
    };
    let statements = drafted.lines().filter(|line| line.starts_with("[[")).count();
    let told = warned(&drafted).unwrap_or_default();
    assert!(told.starts_with(&format!("{statements} of its statements")), "{told}");
    assert_eq!(warned(&drafted.replace("# drafted\n", "# drafted by hand, and read\n")), None);
}
