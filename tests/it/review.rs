//! `repro review`: what is recorded of a post, which records count, what voids them, and what `repro verify` makes of them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::program::repro;

const TEXT: &str = "\
# A mixture against a dense model

## Results

| arm | val loss | accuracy |
|---|---|---|
| dense | 2.0200 ± 0.0100 | 0.300 |
| moe | 1.9100 ± 0.0100 | 0.400 |

The mixture reaches a validation loss of 1.9100.
It is lower by 0.1100. Spreads are standard deviations.
";

const POST: &str = r##"schema = "repro.post/2"
id = "mine"
title = "A mixture against a dense model"
text = "mine.md"

[names]
dense = "dense-{1..3}"
moe = "moe-{1..3}"

[formulas]
gap = "mean(dense.loss) - mean(moe.loss)"

[[table]]
id = "results"
place = "Results"
head = "| arm | val loss | accuracy |"
[table.rows]
"dense" = { runs = "dense" }
"moe" = { runs = "moe" }
[table.columns]
"val loss" = ["mean(runs.loss)", "sd(runs.loss)"]
"accuracy" = "mean(runs.val_accuracy)"

[[sentence]]
id = "loss"
place = "Results"
quote = "a validation loss of 1.9100"
is = "mean(moe.loss)"

[[sentence]]
id = "gap"
quote = "It is lower by 0.1100"
is = "gap"
"##;

/// The claims of the post.
const CLAIMS: usize = 8;

/// A project with two arms of three runs, a text and its post.
pub struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        fs::create_dir(project.path().join("repro")).unwrap();
        project.write("mine.md", TEXT);
        project.write("mine.toml", POST);
        project.train(1.90);
        project
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The runs, whose mixture ends at this loss; runs that are there are made again.
    fn train(&self, moe: f64) {
        for folder in ["runs", "receipts"] {
            let _ = fs::remove_dir_all(self.path().join(folder));
        }
        for (arm, last, accuracy) in [("dense", 2.01, 0.3), ("moe", moe, 0.4)] {
            for seed in 1..=3 {
                let own = self.path().join("runs").join(arm).join(seed.to_string());
                fs::create_dir_all(&own).unwrap();
                let loss = last + 0.01 * f64::from(seed - 1);
                let rows = [(0, 4.0 + 0.1 * loss), (100, loss + 0.5), (200, loss)];
                let lines =
                    rows.map(|(step, loss)| format!("{step},{loss:.4},{accuracy:.4},0.001\n"));
                let head = "step,val_loss,val_accuracy,lr\n".to_owned();
                fs::write(own.join("metrics.csv"), head + &lines.concat()).unwrap();
            }
        }
        let imported = self.run(&["import", "runs", "--out", "receipts"]);
        assert!(imported.status.success(), "{imported:?}");
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join("repro").join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join("repro").join(name)).unwrap()
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from}");
        self.write(name, &text.replacen(from, to, 1));
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        repro(self.path(), arguments)
    }

    /// A key pair; the public key.
    fn key(&self, name: &str) -> String {
        assert!(self.run(&["bundle", "keygen", "--out", name]).status.success());
        fs::read_to_string(self.path().join(format!("{name}.pub"))).unwrap()
    }

    /// A project whose configuration lists Ada's key.
    pub fn with_ada() -> Self {
        let project = Self::new();
        let key = project.key("ada.key");
        let listed = format!("[[review.reviewers]]\nname = \"Ada\"\nkey = \"\"\"\n{key}\"\"\"\n");
        project.write("config.toml", &listed);
        project
    }

    /// What a session with these answers prints, and its exit status.
    fn review(&self, options: &[&str], answers: &str) -> (i32, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_repro"))
            .current_dir(self.path())
            .args(["review", "mine"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A session that refuses its arguments reads nothing.
        let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    }

    /// Has Ada approve everything.
    pub fn approved(self) -> Self {
        let (code, text) = self.review(&["--key", "ada.key", "--seed", QUIET], &approvals());
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("8 approved, 0 disputed, signed"), "{text}");
        self
    }

    fn verify(&self, options: &[&str]) -> (i32, Json) {
        let output =
            self.run(&[&["verify", "--post", "mine", "--format", "json"], options].concat());
        let report = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code().unwrap(), report)
    }

    fn claim(&self, id: &str) -> Json {
        let (_, report) = self.verify(&[]);
        let claims = report["posts"][0]["claims"].as_array().unwrap();
        let found = claims.iter().find(|claim| claim["id"] == id);
        found.unwrap_or_else(|| panic!("no {id} in {report:#}")).clone()
    }

    fn codes(&self) -> Vec<String> {
        let (_, report) = self.verify(&[]);
        let findings = report["posts"][0]["findings"].as_array().unwrap();
        findings.iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect()
    }

    fn list(&self) -> String {
        self.review(&["--list"], "").1
    }

    fn text(&self) -> (i32, String) {
        let output = self.run(&["verify", "--post", "mine"]);
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }
}

/// A seed by which none of the first eight facts is a decoy.
const QUIET: &str = "1";

/// Approvals of everything, decoys included.
fn approvals() -> String {
    "approve\n".repeat(2 * CLAIMS)
}

#[test]
fn what_another_key_approves_is_reviewed() {
    let project = Project::with_ada();
    let (code, report) = project.verify(&["--min-reading", "reviewed"]);
    assert_eq!((code, report["below_minimum"].as_array().unwrap().len()), (3, CLAIMS));
    assert_eq!(project.verify(&[]).0, 0);
    let project = project.approved();
    let (code, report) = project.verify(&["--min-reading", "reviewed"]);
    assert_eq!(code, 0, "{report:#}");
    let claim = project.claim("gap");
    assert_eq!(
        (&claim["read_by"], &claim["review"]["approved_by"][0]),
        (&"reviewed".into(), &"Ada".into())
    );
    assert_eq!(claim["expanded"], "(mean(`dense-{1..3}`.\"loss\") - mean(`moe-{1..3}`.\"loss\"))");
    assert!(project.text().1.contains("reviewed by Ada"), "{}", project.text().1);
    assert!(project.list().contains("0 of 8 claims are open"), "{}", project.list());
    // The same judgement again changes nothing, and nothing is asked.
    let before = project.read("mine.reviews.toml");
    assert_eq!(project.review(&["--key", "ada.key"], "").0, 0);
    assert_eq!(project.read("mine.reviews.toml"), before);
}

#[test]
fn new_evidence_leaves_a_review_standing() {
    let project = Project::with_ada().approved();
    project.train(1.8);
    let claim = project.claim("loss");
    assert_eq!((&claim["verdict"], &claim["read_by"]), (&"refuted".into(), &"reviewed".into()));
    assert_eq!(claim["review"]["evidence_changed"], true);
    let (code, text) = project.text();
    assert_eq!(code, 1);
    assert!(text.contains("reviewed by Ada, evidence changed since"), "{text}");
    assert!(project.list().contains("\nloss: the evidence changed after approval"));
}

#[test]
fn what_carries_meaning_voids_a_review() {
    type Edit = (&'static str, &'static str, &'static str);
    let edits: [(Edit, &str, &str); 6] = [
        (
            ("mine.md", "It is lower", "Not significantly. It is lower"),
            "loss",
            "its paragraph or row",
        ),
        (("mine.toml", "\"It is lower by 0.1100\"", "\"lower by 0.1100\""), "gap", "the quote"),
        (
            ("mine.toml", "is = \"mean(moe.loss)\"", "is = \"mean(moe.loss @ 200)\""),
            "loss",
            "what it is bound to",
        ),
        (
            ("mine.toml", "gap = \"mean(dense.loss) - ", "gap = \"median(dense.loss) - "),
            "gap",
            "what it is bound to",
        ),
        (
            ("mine.toml", "moe = \"moe-{1..3}\"", "moe = \"moe-{1..2}\""),
            "loss",
            "what it is bound to",
        ),
        (
            ("mine.toml", "is = \"gap\"", "is = \"gap\"\npremise = \"the same data\""),
            "gap",
            "the premise",
        ),
    ];
    let project = Project::with_ada().approved();
    for ((file, from, to), id, change) in edits {
        let before = project.read(file);
        project.edit(file, from, to);
        let claim = project.claim(id);
        assert_eq!(claim["read_by"], "author", "{to}: {claim:#}");
        let since = claim["review"]["void_since"].as_str().unwrap_or_default().to_owned();
        assert!(since.contains(change) && since.contains("since Ada approved it"), "{to}: {since}");
        assert!(project.list().contains(change), "{}", project.list());
        assert!(project.codes().contains(&"review::outdated".to_owned()));
        project.write(file, &before);
        assert_eq!(project.claim(id)["read_by"], "reviewed");
    }
    // A paragraph elsewhere says nothing about these words.
    project.edit("mine.md", "## Results", "Some words.\n\n## Results");
    assert_eq!(project.claim("gap")["read_by"], "reviewed");
}

#[test]
fn only_keys_that_are_listed_and_no_authors_count() {
    let project = Project::with_ada();
    let noted = |project: &Project| {
        project.claim("gap")["review"]["noted"][0].as_str().unwrap_or_default().to_owned()
    };
    // Nobody signs.
    let (_, text) = project.review(&["--as", "Bob", "--seed", QUIET], &approvals());
    assert!(text.contains("unsigned, so recorded only as notes"), "{text}");
    assert_eq!(noted(&project), "approve by Bob: not signed");
    assert_eq!(project.claim("gap")["read_by"], "author");
    // Somebody signs whom nobody knows.
    fs::remove_file(project.path().join("repro/mine.reviews.toml")).unwrap();
    project.key("eve.key");
    project.review(&["--as", "Eve", "--key", "eve.key", "--seed", QUIET], &approvals());
    assert!(noted(&project).contains("repro/config.toml does not list"), "{}", noted(&project));
    // The author's own key shows no more than the post.
    fs::remove_file(project.path().join("repro/mine.reviews.toml")).unwrap();
    let project = project.approved();
    assert_eq!(project.claim("gap")["read_by"], "reviewed");
    let key = fs::read_to_string(project.path().join("ada.key.pub")).unwrap();
    let config = project.read("config.toml");
    project.write("config.toml", &format!("[review]\nauthors = [\"\"\"\n{key}\"\"\"]\n{config}"));
    assert_eq!(project.claim("gap")["read_by"], "author");
    assert_eq!(noted(&project), "approve by Ada: signed by an author's key");
    // A name in a record is what was signed, and nothing else.
    project.write("config.toml", &config);
    project.edit("mine.reviews.toml", "date = \"2", "date = \"1");
    assert!(project.codes().contains(&"review::forged".to_owned()), "{:?}", project.codes());
}

#[test]
fn a_model_counts_where_the_policy_says_so() {
    let project = Project::with_ada();
    fs::write(project.path().join("prompt.md"), "Judge the claims.\n").unwrap();
    let model = ["--model", "judge-9b", "--model-version", "1.2", "--prompt", "prompt.md"];
    let options = [&["--key", "ada.key", "--seed", QUIET], &model[..]].concat();
    assert_eq!(project.review(&options, &approvals()).0, 0);
    assert!(project.read("mine.reviews.toml").contains("name = \"judge-9b\", version = \"1.2\""));
    assert_eq!(project.claim("gap")["read_by"], "author");
    let config = project.read("config.toml");
    project.write("config.toml", &format!("{config}\n[review.models]\ncount = true\n"));
    let claim = project.claim("gap");
    assert_eq!(claim["review"]["approved_by"][0], "judge-9b 1.2 (run by Ada)");
    let refused = project.review(&["--as", "Ada", "--model", "judge-9b"], "");
    assert_eq!(refused.0, 2, "a model has a version and a prompt");
}

#[test]
fn whoever_approves_a_decoy_has_not_looked() {
    let project = Project::with_ada();
    let reviews = project.path().join("repro/mine.reviews.toml");
    let session = |seed: &str, answers: &str| {
        let _ = fs::remove_file(&reviews);
        project.review(&["--key", "ada.key", "--seed", seed], answers).1
    };
    let seeds = (2..40).map(|seed| seed.to_string());
    let (seed, text) = seeds
        .map(|seed| (seed.clone(), session(&seed, &approvals())))
        .find(|(_, text)| text.contains("1 of them decoys"))
        .unwrap();
    assert!(text.contains("missed: this was a decoy") && text.contains("0 caught"), "{text}");
    assert_eq!(project.read("mine.reviews.toml").matches("caught = 0").count(), CLAIMS);
    let gap = project.claim("gap");
    assert_eq!(gap["review"]["approved_by"][0], "Ada (caught 0 of 1 decoy)");
    // Who looks disputes it, and nothing of that is recorded.
    let before = text.split("missed: this was a decoy").next().unwrap();
    let place = before.matches("approve, dispute REASON").count();
    let looked = "approve\n".repeat(place - 1) + "dispute the fact is another\n" + &approvals();
    let text = session(&seed, &looked);
    assert!(text.contains("caught: this was a decoy") && text.contains("1 caught"), "{text}");
    assert!(!project.read("mine.reviews.toml").contains("\"dispute\""));
    assert_eq!(project.claim("gap")["review"]["approved_by"][0], "Ada (caught 1 of 1 decoy)");
    // One seed gives one session.
    assert_eq!(session(&seed, &looked), text);
}

#[test]
fn a_dispute_leaves_a_claim_open_and_refutes_nothing() {
    let project = Project::with_ada();
    let answers = "skip\n".repeat(6) + "dispute the text means the best run\napprove\n";
    assert_eq!(project.review(&["--as", "Bob", "--seed", QUIET], &answers).0, 3);
    let (code, report) = project.verify(&[]);
    assert_eq!((code, &report["summary"]["verified"]), (3, &CLAIMS.into()));
    assert!(project.codes().contains(&"review::disputed".to_owned()));
    let (_, text) = project.text();
    assert!(text.contains("\n  \"a validation loss of 1.9100\""), "{text}");
    assert!(text.contains("disputed by Bob: the text means the best run"), "{text}");
    // The mean of the same runs in the table is another claim.
    assert!(!project.codes().contains(&"review::outdated".to_owned()));
    for (format, mark) in [
        ("html", "class=\"n questioned\""),
        ("markdown", "! verified, but questioned"),
        ("junit", "verified, disputed: disputed by Bob"),
        ("sarif", "review::disputed"),
        ("github", "disputed by Bob: the text means the best run"),
        ("badge", "1 disputed"),
    ] {
        let output = project.run(&["verify", "--post", "mine", "--verbose", "--format", format]);
        assert_eq!(output.status.code(), Some(3));
        let drawn = String::from_utf8(output.stdout).unwrap();
        assert!(drawn.contains(mark), "{format}: {drawn}");
    }
    // As recorded it passes, as everything does that was recorded.
    assert_eq!(project.run(&["verify", "--post", "mine", "--write-lock"]).status.code(), Some(0));
    assert_eq!(project.run(&["verify", "--post", "mine", "--locked"]).status.code(), Some(0));
    // Whoever disputed may approve.
    let answers = "skip\n".repeat(6) + "approve\n";
    project.review(&["--as", "Bob", "--seed", QUIET], &answers);
    assert_eq!(project.verify(&[]).0, 0);
}

#[test]
fn a_column_is_approved_at_once_and_nothing_more() {
    let project = Project::with_ada();
    let (_, text) = project.review(
        &["--key", "ada.key", "--seed", QUIET],
        "column\napprove except 2\naccept all\nall\nskip\n",
    );
    assert!(text.contains("column results / val loss"), "{text}");
    assert!(text.contains("3 approved, 0 disputed"), "{text}");
    let read_by = |id: &str| project.claim(id)["read_by"].as_str().unwrap().to_owned();
    assert_eq!(read_by("results.moe.val-loss.1"), "reviewed");
    assert_eq!(read_by("results.dense.val-loss.2"), "author");
    assert_eq!(read_by("results.moe.accuracy"), "author");
}

#[test]
fn records_never_stop_a_verification() {
    let project = Project::with_ada().approved();
    let whole = project.read("mine.reviews.toml");
    let broken = whole.replacen("verdict = \"approve\"", "verdict = \"maybe\"", 1);
    project.write("mine.reviews.toml", &broken);
    let (code, report) = project.verify(&[]);
    assert_eq!(code, 0, "{report:#}");
    assert!(project.codes().contains(&"review::unusable-record".to_owned()));
    let (code, text) = project.review(&["--key", "ada.key"], "");
    assert_eq!(code, 2, "what cannot be read is not written over: {text}");
    assert!(text.contains("repro/mine.reviews.toml") && text.contains("`maybe`"), "{text}");
    for text in ["no TOML", "schema = \"repro.reviews/9\"\n", ""] {
        project.write("mine.reviews.toml", text);
        let (code, report) = project.verify(&[]);
        assert_eq!((code, &report["summary"]["verified"]), (0, &CLAIMS.into()));
        assert_eq!(project.claim("gap")["read_by"], "author");
        assert!(project.codes().contains(&"review::unusable-record".to_owned()));
    }
    // Two records of one reviewer, as a merge may leave them: the dispute counts.
    let first = whole.split("\n[[review]]\n").nth(1).unwrap();
    let dispute = first.replace("\"approve\"", "\"dispute\"").replace("signature", "reason");
    project.write("mine.reviews.toml", &format!("{whole}\n[[review]]\n{dispute}"));
    let (code, report) = project.verify(&[]);
    assert_eq!(code, 3, "{report:#}");
    // No post has the name of the files beside posts.
    let posts = project.run(&["explain", "--list", "posts"]);
    let posts = String::from_utf8(posts.stdout).unwrap();
    assert!(posts.starts_with("mine") && posts.lines().count() == 1, "{posts}");
}

#[test]
fn a_policy_is_read_strictly() {
    let project = Project::with_ada();
    for (text, code) in [
        ("[reviews]\n", 2),
        ("[review]\nmin_reading = \"everybody\"\n", 2),
        ("[review]\nauthors = [\"Ada\"]\n", 2),
        ("[review.models]\ncount = \"yes\"\n", 2),
        ("[review]\nmin_reading = \"reviewed\"\n", 3),
        ("[review]\nmin_reading = \"author\"\n", 0),
    ] {
        project.write("config.toml", text);
        let verified = project.run(&["verify", "--post", "mine"]);
        assert_eq!(verified.status.code(), Some(code), "{text}");
    }
}

#[test]
fn exemptions_ask_for_reviews_of_new_claims_only() {
    let project = Project::with_ada();
    let (code, text) = project.review(&["--as", "Ada", "--exempt"], "");
    assert_eq!((code, text.contains("exempted  8")), (0, true), "{text}");
    assert_eq!(project.verify(&["--min-reading", "reviewed"]).0, 0);
    let claim = project.claim("gap");
    assert_eq!(
        (&claim["read_by"], &claim["review"]["is_exempted"]),
        (&"author".into(), &true.into())
    );
    let text = project.text().1;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("by author, exempt from review"), "{text}");
    // What changes its meaning is exempted no longer.
    project.edit("mine.toml", "is = \"gap\"", "is = \"mean(dense.loss) - mean(moe.loss)\"");
    assert_eq!(
        project.claim("gap")["review"]["is_exempted"],
        true,
        "the same evidence and computation"
    );
    project.edit("mine.toml", "is = \"mean(dense.loss) - ", "is = \"median(dense.loss) - ");
    let (code, report) = project.verify(&["--min-reading", "reviewed"]);
    assert_eq!((code, report["below_minimum"][0].as_str()), (3, Some("mine/gap")));
}

#[test]
fn a_contradiction_in_an_audit_differs_until_somebody_else_approves() {
    let project = Project::with_ada();
    project.edit("mine.md", "loss of 1.9100", "loss of 1.9300");
    project.edit("mine.toml", "loss of 1.9100", "loss of 1.9300");
    assert!(project.text().1.contains("✗ CONTRADICTED"));
    project.edit("mine.toml", "text = ", "role = \"audit\"\ntext = ");
    const DIFFERS: &str = "DIFFERS FROM THE EVIDENCE   provisional: linked to evidence by one transcriber, not reviewed";
    let (code, text) = project.text();
    assert_eq!(code, 1);
    assert!(text.contains(DIFFERS) && !text.contains("refuted") && !text.contains('✗'), "{text}");
    assert_eq!(project.claim("loss")["verdict"], "refuted");
    for format in ["html", "markdown", "junit", "sarif", "github"] {
        let output = project.run(&["verify", "--post", "mine", "--format", format]);
        assert_eq!(output.status.code(), Some(1));
        let drawn = String::from_utf8(output.stdout).unwrap();
        let drawn = drawn.replace("%2C", ",");
        assert!(drawn.contains("the transcriber, not reviewed"), "{format}: {drawn}");
    }
    let project = project.approved();
    let (code, text) = project.text();
    assert_eq!(code, 1);
    assert!(text.contains("refuted") && !text.contains("differs ("), "{text}");
    project.edit("mine.toml", "role = \"audit\"", "role = \"critic\"");
    assert_eq!(project.verify(&[]).0, 2);
}

#[test]
fn a_draft_that_nobody_confirmed_only_differs() {
    let project = Project::with_ada();
    project.edit("mine.md", "loss of 1.9100", "loss of 1.9300");
    project.edit("mine.toml", "loss of 1.9100", "loss of 1.9300");
    project.edit(
        "mine.toml",
        "[[sentence]]\nid = \"loss\"",
        "# drafted\n[[sentence]]\nid = \"loss\"",
    );
    let (code, text) = project.text();
    assert_eq!(code, 3, "{text}");
    assert!(
        text.contains(
            "DIFFERS FROM THE EVIDENCE   provisional: drafted by the program, not confirmed"
        ),
        "{text}"
    );
    let claim = project.claim("loss");
    assert_eq!((&claim["verdict"], &claim["read_by"]), (&"refuted".into(), &"drafted".into()));
    assert_eq!(project.claim("gap")["read_by"], "author");
    // A second reader may confirm it.
    assert_eq!(project.approved().text().0, 1);
}

#[test]
fn a_lock_notices_a_review_that_is_lost() {
    let locked = ["verify", "--post", "mine", "--locked"];
    let project = Project::with_ada();
    assert!(project.run(&["verify", "--post", "mine", "--write-lock"]).status.success());
    let project = project.approved();
    assert_eq!(project.run(&locked).status.code(), Some(0), "reviews are added all the time");
    assert!(project.run(&["verify", "--post", "mine", "--write-lock"]).status.success());
    assert!(project.read("mine.lock").contains("verified declared recomputed reviewed"));
    fs::remove_file(project.path().join("repro/mine.reviews.toml")).unwrap();
    assert_eq!(project.run(&locked).status.code(), Some(1));
}
