//! `repro cluster plan`, `repro cluster work`, `repro cluster merge`: the report of one machine, whoever works, and what is refused of results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use repro_bundle::bundle::seal;
use repro_core::digest::{Digest, canonical};
use serde_json::Value as Json;
use tempfile::TempDir;

#[cfg(feature = "train")]
use crate::program::git;
use crate::program::repro;
use crate::schemas::Schema;
use crate::sealed::sealed;

const MOE: &str = "replay/smoke-moe-short-s1";
const TYPED: [&str; 2] = ["receipts/nmoe-0002", "receipts/nmoe-0004"];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A folder to work in, and a plan in it of what was asked for where the command runs.
struct Planned {
    folder: TempDir,
    at: PathBuf,
    asked: Vec<String>,
}

impl Planned {
    fn of(at: &Path, asked: &[&str]) -> Self {
        let own = Self {
            folder: tempfile::tempdir().unwrap(),
            at: at.to_owned(),
            asked: asked.iter().map(|text| (*text).to_owned()).collect(),
        };
        own.plan("plan.jsonl");
        own
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        repro(&self.at, arguments)
    }

    fn plan(&self, name: &str) {
        let asked: Vec<_> = self.asked.iter().map(String::as_str).collect();
        let planned =
            self.run(&[&["cluster", "plan", "--out", &self.path(name)], &asked[..]].concat());
        assert_eq!(code(&planned), 0, "{}", said(&planned));
    }

    /// The items of a plan.
    fn items(&self, name: &str) -> Vec<Json> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn work(&self, store: &str, more: &[&str]) -> Output {
        let (plan, store) = (self.path("plan.jsonl"), self.path(store));
        self.run(
            &[&["cluster", "work", &plan, "--results", &store, "--format", "json"], more].concat(),
        )
    }

    /// How many items were executed, and how many had a result, where all have one now.
    fn worked(&self, store: &str, more: &[&str]) -> (u64, u64) {
        let output = self.work(store, more);
        assert_eq!(code(&output), 0, "{}", said(&output));
        let done: Json = serde_json::from_slice(&output.stdout).unwrap();
        (done["executed"].as_u64().unwrap(), done["there"].as_u64().unwrap())
    }

    fn merge(&self, stores: &[&str], more: &[&str]) -> Output {
        let plan = self.path("plan.jsonl");
        let mut arguments = vec!["cluster".to_owned(), "merge".to_owned(), plan];
        for store in stores {
            arguments.extend(["--results".to_owned(), self.path(store)]);
        }
        arguments.extend(more.iter().map(|text| (*text).to_owned()));
        self.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Merges in every format that is asked for, and holds each against the report of one machine.
    fn equals_one_machine(&self, stores: &[&str], formats: &[&str]) {
        let asked: Vec<_> = self.asked.iter().map(String::as_str).collect();
        for format in formats {
            let alone = self.run(&[&["verify", "--format", format], &asked[..]].concat());
            let merged = self.merge(stores, &["--format", format]);
            assert_eq!(merged.status, alone.status, "{format}: {}", said(&merged));
            assert!(!alone.stdout.is_empty() && merged.stdout == alone.stdout, "{format}");
        }
    }

    /// The files of a store, in order.
    fn results(&self, store: &str) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.path(store)).unwrap();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }

    /// The codes of a merge that is refused.
    fn refused(&self, stores: &[&str], more: &[&str]) -> String {
        let output = self.merge(stores, more);
        assert_eq!((code(&output), output.stdout.len()), (2, 0), "{}", said(&output));
        said(&output)
    }
}

fn two_of_three(of: &Path) -> Planned {
    Planned::of(of, &[TYPED[0], TYPED[1], "--min-origin", "transcribed"])
}

#[test]
fn results_of_several_workers_are_the_report_of_one_machine() {
    let planned = Planned::of(repository(), &[TYPED[0], TYPED[1], "receipts/tiny-dense-vs-sparse"]);
    assert_eq!(planned.items("plan.jsonl").len(), 3);
    let counts: Vec<_> = [("one", "1/2"), ("two", "2/2")]
        .map(|(store, part)| planned.worked(store, &["--partition", part]).0)
        .into();
    assert!(counts.iter().all(|count| *count > 0) && counts.iter().sum::<u64>() == 3, "{counts:?}");
    let formats = ["json", "text", "markdown", "junit", "html", "sarif"];
    planned.equals_one_machine(&["one", "two"], &formats);
    let schema = Schema::closed("plan");
    for line in fs::read_to_string(planned.path("plan.jsonl")).unwrap().lines() {
        let line = serde_json::from_str(line).unwrap();
        assert_eq!(schema.fault(&line), None, "{line:#}");
    }
    // The same plan is made again, and nothing of it is done twice.
    planned.plan("again.jsonl");
    let [first, again] =
        ["plan.jsonl", "again.jsonl"].map(|name| fs::read(planned.path(name)).unwrap());
    assert!(first == again);
    assert_eq!(planned.worked("one", &["--partition", "1/2"]).0, 0);
    // Who has done another's work as well has done no harm.
    assert_eq!(planned.worked("one", &[]), (counts[1], counts[0]));
    planned.equals_one_machine(&["one", "two"], &["json"]);
    planned.equals_one_machine(&["one"], &["json"]);
}

#[test]
fn posts_are_judged_by_workers() {
    let planned = Planned::of(repository(), &["--post", "0004", "--post", "0002", TYPED[0]]);
    assert_eq!(planned.worked("results", &["--class", "processor"]).0, 3);
    planned.equals_one_machine(&["results"], &["json", "html", "text"]);
}

#[test]
#[cfg(feature = "train")]
fn steps_are_executed_by_workers() {
    let corpus = sealed(&[MOE, "replay/torch-dense"]);
    let at = corpus.path();
    let with_slash = format!("./{MOE}/");
    let planned = Planned::of(at, &[&with_slash, "replay/torch-dense", "--replay", "all"]);
    let items = planned.items("plan.jsonl");
    let replays: Vec<_> = items.iter().filter(|item| item["do"] == "replay").collect();
    let schema = Schema::closed("plan");
    assert!(items.iter().all(|item| schema.fault(item).is_none()), "{items:#?}");
    assert!(replays.len() >= 2 && replays.iter().all(|item| item["class"] == "any"), "{items:?}");
    // The longest come first, and each item can be named alone.
    let key = replays[0]["key"].as_str().unwrap();
    assert_eq!(planned.worked("results", &["--item", key]), (1, 0));
    assert_eq!(planned.worked("results", &["--class", "any"]).1, 1);
    let missing = planned.refused(&["results"], &[]);
    assert!(
        missing.contains("cluster::missing-results") && missing.contains("2 items have none"),
        "{missing}"
    );
    assert_eq!(planned.worked("results", &["--threads", "1"]).0, 2);
    planned.equals_one_machine(&["results"], &["json", "text", "html"]);
    // One who verifies alone, and keeps what is done, does none of it again.
    let store = planned.path("results");
    let resume = ["--replay", "all", "--resume", &store];
    let arguments = [&["verify", &with_slash, "replay/torch-dense"][..], &resume].concat();
    let resumed = repro(at, &[&arguments[..], &["--format", "json"]].concat());
    let merged = planned.merge(&["results"], &["--format", "json"]);
    assert!(resumed.stdout == merged.stdout, "{}", said(&resumed));
    assert!(!said(&resumed).contains("about"), "{}", said(&resumed));
}

#[test]
#[cfg(feature = "train")]
fn a_run_of_any_stated_size_is_planned_and_leaves_the_others_their_items() {
    let corpus = sealed(&[MOE, "replay/torch-dense"]);
    let absurd = corpus.path().join("replay/torch-dense");
    let config = absurd.join("data/config.json");
    let text = fs::read_to_string(&config).unwrap();
    let wide = text.replace("\"intermediate_size\":48", "\"intermediate_size\":4503599627370496");
    let wide = wide.replace("\"batch_size\":4", "\"batch_size\":1048576");
    assert_ne!(wide, text);
    fs::write(&config, wide).unwrap();
    seal(&absurd, "replay/torch-dense", None).unwrap();
    let planned = Planned::of(corpus.path(), &[MOE, "replay/torch-dense", "--replay", "all"]);
    let items = planned.items("plan.jsonl");
    let replays =
        |of: &str| items.iter().filter(|item| item["at"] == of && item["do"] == "replay").count();
    assert_eq!((replays(MOE), replays("replay/torch-dense")), (2, 2), "{items:#?}");
    assert_eq!(planned.worked("results", &[]).0, items.len() as u64);
    planned.equals_one_machine(&["results"], &["json"]);
}

#[test]
#[cfg(feature = "train")]
fn posts_that_need_replays_are_judged_where_they_are_merged() {
    let corpus = sealed(&["replay/posts"]);
    let root = corpus.path().join("replay/posts");
    let asked = ["--post", "bad", "--post", "cases", "--post", "good", "--replay", "all"];
    let planned = Planned::of(&root, &asked);
    let items = planned.items("plan.jsonl");
    assert!(items.iter().all(|item| item["do"] == "replay"), "{items:?}");
    assert_eq!(planned.worked("results", &[]).0, items.len() as u64);
    planned.equals_one_machine(&["results"], &["json", "text", "html"]);
    // Another post than the one that was planned is not judged by these results.
    let post = root.join("repro/good.toml");
    let text = fs::read_to_string(&post).unwrap();
    fs::write(&post, format!("{text}\n# changed\n")).unwrap();
    assert!(planned.refused(&["results"], &[]).contains("cluster::changed"));
}

#[test]
fn what_is_not_a_result_of_the_plan_is_refused_by_name() {
    let planned = two_of_three(repository());
    planned.worked("all", &[]);
    let results = planned.results("all");
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let fresh = |name: &str| {
        let _ = fs::remove_dir_all(planned.path(name));
        crate::relations::copy(Path::new(&planned.path("all")), Path::new(&planned.path(name)));
        planned.results(name)
    };
    // Missing: the item is named, and what would make it.
    let one = fresh("one");
    fs::remove_file(&one[0]).unwrap();
    let told = planned.refused(&["one"], &[]);
    assert!(told.contains("cluster::missing-results") && told.contains(&name(&one[0])), "{told}");
    // A report of before does not stay as if it were of now.
    let report = planned.path("report.json");
    let output = ["--output", &format!("json={report}"), "--output", &format!("jsonl={report}l")];
    planned.merge(&["all"], &output);
    let before = fs::read(&report).unwrap();
    planned.refused(&["one"], &output);
    let now: Json = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert!(fs::read(&report).unwrap() != before && now["exit_code"] == 2, "{now:#}");
    let lines = fs::read_to_string(planned.path("report.jsonl")).unwrap();
    assert!(lines.contains("cluster::missing-results"), "{lines}");
    // Empty: a store that has nothing, a file of no bytes, one that was cut.
    fs::create_dir(planned.path("empty")).unwrap();
    let told = planned.refused(&["one", "empty"], &[]);
    assert!(
        told.contains("cluster::empty-store") && told.contains(&planned.path("empty")),
        "{told}"
    );
    // Who had nothing to do leaves nothing.
    assert_eq!(planned.worked("idle", &["--partition", "3/3"]), (0, 0));
    planned.equals_one_machine(&["all", "idle"], &["json"]);
    for length in [0, 20, fs::metadata(&one[1]).unwrap().len() - 1] {
        let cut = fresh("cut");
        let file = fs::File::options().write(true).open(&cut[1]).unwrap();
        file.set_len(length).unwrap();
        let told = planned.refused(&["cut"], &[]);
        assert!(told.contains("cluster::damaged") && told.contains(&name(&cut[1])), "{told}");
        // A worker mends it.
        assert_eq!(planned.worked("cut", &[]), (1, 1));
        planned.equals_one_machine(&["cut"], &["json"]);
    }
    // Doubled: two sound results of one item that differ.
    let other = fresh("other");
    fs::write(&other[0], forged(&fs::read(&other[0]).unwrap())).unwrap();
    let told = planned.refused(&["all", "other"], &[]);
    assert!(
        told.contains("cluster::conflicting-results") && told.contains(&name(&other[0])),
        "{told}"
    );
    // Foreign: of another plan, under another name, of nothing at all.
    let wider = Planned::of(
        repository(),
        &[TYPED[0], TYPED[1], "receipts/nmoe-0003", "--min-origin", "transcribed"],
    );
    wider.worked("all", &[]);
    let of_three = wider.path("all");
    let arguments = ["cluster", "merge", &planned.path("plan.jsonl"), "--results", &of_three];
    let strict = repro(repository(), &arguments);
    assert!(
        code(&strict) == 2 && said(&strict).contains("cluster::unrelated-results"),
        "{}",
        said(&strict)
    );
    assert!(said(&strict).contains("receipts/nmoe-0003"), "{}", said(&strict));
    // What is the same in both plans is used by both.
    let shared = repro(repository(), &[&arguments[..], &["--shared", "--format", "json"]].concat());
    assert_eq!(shared.stdout, planned.merge(&["all"], &["--format", "json"]).stdout);
    let moved = fresh("moved");
    fs::rename(&moved[0], moved[0].with_file_name("notes.txt")).unwrap();
    let told = planned.refused(&["moved"], &[]);
    assert!(told.contains("cluster::unrelated-results") && told.contains("notes.txt"), "{told}");
    let swapped = fresh("swapped");
    fs::copy(&swapped[1], &swapped[0]).unwrap();
    assert!(planned.refused(&["swapped"], &[]).contains("cluster::unrelated-results"));
    // Differently planned: the same bundles, asked otherwise.
    let otherwise = Planned::of(repository(), &[TYPED[0], TYPED[1], "--replay", "all"]);
    otherwise.worked("all", &[]);
    let told = repro(
        repository(),
        &["cluster", "merge", &planned.path("plan.jsonl"), "--results", &otherwise.path("all")],
    );
    assert!(code(&told) == 2 && said(&told).contains("cluster::different-plan"), "{}", said(&told));
    assert_eq!(results.len(), 2);
}

/// Another result of the same item: what is said of a bundle is changed, and its length and digest are made right.
fn forged(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let mut head: Json = serde_json::from_slice(&bytes[..end]).unwrap();
    let mut body = bytes[end + 1..].to_vec();
    let word = b"files, sizes, digests";
    let at = body.windows(word.len()).position(|part| part == word).unwrap();
    body[at] = b'F';
    head["sha256"] = Digest::of(&body).to_string().into();
    [head.to_string().into_bytes(), b"\n".to_vec(), body].concat()
}

/// A result that says verified of each claim that was refuted, with its length and digest made right.
fn acquitted(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let mut head: Json = serde_json::from_slice(&bytes[..end]).unwrap();
    // Texts of MessagePack: their length is in the low bits of the byte before.
    let (refuted, verified) = (b"\xa7refuted", b"\xa8verified");
    let mut body = bytes[end + 1..].to_vec();
    while let Some(at) = body.windows(refuted.len()).position(|part| part == refuted) {
        body.splice(at..at + refuted.len(), *verified);
    }
    assert_ne!(body.len(), bytes.len() - end - 1);
    head["bytes"] = body.len().into();
    head["sha256"] = Digest::of(&body).to_string().into();
    [head.to_string().into_bytes(), b"\n".to_vec(), body].concat()
}

/// The plan of a post with a refuted claim and of a sound one.
fn one_refuted(corpus: &Path) -> Planned {
    let root = corpus.join("small");
    let text = root.join("repro/small.md");
    let edited = fs::read_to_string(&text).unwrap().replace("2.5 times", "2.9 times");
    fs::write(&text, edited).unwrap();
    let post = root.join("repro/small.toml");
    let edited = fs::read_to_string(&post).unwrap().replace("2.5 times", "2.9 times");
    fs::write(&post, edited).unwrap();
    Planned::of(&root, &["--post", "small", "--post", "fine"])
}

/// Replaces the result that holds a refuted claim, and answers its name.
fn acquit(planned: &Planned, store: &str) -> String {
    let results = planned.results(store);
    let is_refuted =
        |path: &&PathBuf| fs::read(path).unwrap().windows(8).any(|part| part == b"\xa7refuted");
    let path = results.iter().find(is_refuted).unwrap();
    fs::write(path, acquitted(&fs::read(path).unwrap())).unwrap();
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_result_that_was_acquitted_is_caught_by_its_signature_and_by_an_audit() {
    let corpus = sealed(&["small"]);
    let planned = one_refuted(corpus.path());
    for name in ["worker.key", "other.key"] {
        let made = planned.run(&["bundle", "keygen", "--out", &planned.path(name)]);
        assert_eq!(code(&made), 0, "{}", said(&made));
    }
    let [key, other] = ["worker.key", "other.key"].map(|name| planned.path(name));
    let [public, of_other] = [&key, &other].map(|key| format!("{key}.pub"));
    assert_eq!(planned.worked("results", &["--sign", &key]), (2, 0));
    planned.equals_one_machine(&["results"], &["json"]);
    let honest = planned.merge(&["results"], &["--pubkey", &public, "--audit", "9"]);
    assert_eq!(code(&honest), 1, "{}", said(&honest));
    assert!(said(&honest).contains("audit: 2 of 2 items recomputed here"), "{}", said(&honest));
    assert!(planned.refused(&["results"], &["--pubkey", &of_other]).contains("not-signed"));
    let either = planned.merge(&["results"], &["--pubkey", &public, "--pubkey", &of_other]);
    assert_eq!(code(&either), 1, "{}", said(&either));
    // What was signed stays signed for whoever does not sign, and is made again by another key.
    assert_eq!(planned.worked("results", &[]), (0, 2));
    assert_eq!(planned.worked("results", &["--sign", &key]), (0, 2));
    assert_eq!(planned.worked("results", &["--sign", &other]), (2, 0));
    assert_eq!(code(&planned.merge(&["results"], &["--pubkey", &of_other])), 1);
    // Signed by two workers, or by none, the same result is no second one.
    assert_eq!(planned.worked("plain", &[]), (2, 0));
    planned.equals_one_machine(&["results", "plain"], &["json"]);
    let told = planned.refused(&["results", "plain"], &["--pubkey", &of_other]);
    assert!(told.contains("cluster::not-signed"), "{told}");

    let name = acquit(&planned, "results");
    let told = planned.refused(&["results"], &["--pubkey", &of_other]);
    assert!(told.contains("cluster::not-signed") && told.contains(&name), "{told}");
    let told = planned.refused(&["results"], &["--audit", "2"]);
    assert!(told.contains("cluster::conflicting-results") && told.contains(&name), "{told}");
    // One of two is drawn anew each time: forty draws that all miss it are one in 10^12.
    let audits = || planned.merge(&["results"], &["--audit", "1"]);
    assert!((0..40).any(|_| code(&audits()) == 2));
    // Nothing else shows it, and a worker who signs makes it again.
    assert_eq!(code(&planned.merge(&["results"], &[])), 0);
    assert_eq!(planned.worked("results", &["--sign", &other]), (1, 1));
    assert_eq!(code(&planned.merge(&["results"], &["--pubkey", &of_other, "--audit", "2"])), 1);
    // A signature of another result does not help.
    let forged = acquit(&planned, "results");
    let path = planned.results("results").into_iter().find(|path| path.ends_with(&forged)).unwrap();
    let text = fs::read(&path).unwrap();
    assert!(text.windows(11).any(|part| part == b"\"signature\""));
    assert!(planned.refused(&["results"], &["--pubkey", &of_other]).contains(&forged));
}

#[test]
fn what_is_another_by_now_is_noticed_where_it_lies() {
    let corpus = sealed(&["small"]);
    let root = corpus.path().join("small");
    let receipt = root.join("receipts/evidence/data/facts.json");
    let asked = ["--post", "small", "--post", "fine", "receipts/evidence"];
    let planned = Planned::of(&root, &asked);
    let alone = Planned::of(&root, &asked[4..]);
    planned.worked("results", &[]);
    alone.worked("results", &[]);
    let refused = |of: &Planned, named: &str| {
        let told = of.refused(&["results"], &["--shared"]);
        assert!(told.contains(named), "{named}: {told}");
    };
    let whole = fs::read_to_string(&receipt).unwrap();
    let edits = |name: &str, from: &str, to: &str| {
        let path = root.join(name);
        let before = fs::read_to_string(&path).unwrap();
        assert!(before.contains(from), "{name}");
        fs::write(&path, before.replacen(from, to, 1)).unwrap();
        before
    };
    // Forged again with its manifests, or edited under the old ones.
    edits("receipts/evidence/data/facts.json", "100.0", "200.0");
    for of in [&planned, &alone] {
        refused(of, "receipts/evidence/data/facts.json");
    }
    let sealing = || drop(seal(&root.join("receipts/evidence"), "evidence", None).unwrap());
    sealing();
    for of in [&planned, &alone] {
        refused(of, "cluster::changed");
        refused(of, "receipts/evidence");
    }
    fs::write(&receipt, whole).unwrap();
    sealing();
    planned.equals_one_machine(&["results"], &["json"]);
    // The same of the post and its text, and nothing of what does not lie here.
    for (name, from, to) in
        [("repro/small.md", "2.5 times", "2.6 times"), ("repro/small.toml", "0.1720", "0.1730")]
    {
        let before = edits(name, from, to);
        refused(&planned, name);
        fs::write(root.join(name), before).unwrap();
    }
    planned.equals_one_machine(&["results"], &["json"]);
    let report = planned.merge(&["results"], &["--format", "json"]);
    fs::remove_dir_all(root.join("receipts/evidence")).unwrap();
    let without = planned.merge(&["results"], &["--format", "json"]);
    assert!(report.stdout == without.stdout, "{}", said(&without));
    let audit = planned.refused(&["results"], &["--audit", "3"]);
    assert!(audit.contains("cluster::conflicting-results"), "{audit}");
}

#[test]
fn a_plan_that_was_touched_is_refused() {
    let planned = two_of_three(repository());
    planned.worked("results", &[]);
    let text = fs::read_to_string(planned.path("plan.jsonl")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let cases = [
        (String::new(), "cluster::bad-plan"),
        (lines[0].to_owned() + "\n", "cluster::bad-plan"),
        (lines[..2].join("\n") + "\n", "cluster::bad-plan"),
        (text.trim_end().to_owned(), "cluster::bad-plan"),
        (format!("{text}{}\n", lines[1]), "cluster::bad-plan"),
        ([lines[0], lines[2], lines[1], ""].join("\n"), "cluster::bad-plan"),
        (text.replace("nmoe-0002", "nmoe-0003"), "cluster::bad-plan"),
        (text.replacen("\"cost_ms\":", "\"cost_ms\": ", 1), "cluster::bad-plan"),
        (text.replacen("\"trains\":", "\"trains\":0,\"trains\":", 1), "cluster::bad-plan"),
        (text.replacen("\"version\":\"0", "\"version\":\"9", 1), "cluster::different-build"),
        (text.replacen("repro.plan/1", "repro.plan/2", 1), "cluster::bad-plan"),
    ];
    for (touched, expected) in cases {
        assert_ne!(touched, text, "{expected}");
        fs::write(planned.path("plan.jsonl"), touched).unwrap();
        assert!(planned.refused(&["results"], &[]).contains(expected));
        let work = planned.work("results", &[]);
        assert!(code(&work) == 2 && said(&work).contains(expected), "{}", said(&work));
    }
    fs::write(planned.path("plan.jsonl"), text).unwrap();
    for wrong in ["0/2", "3/2", "1", "a/b", "+1/2", "1/0"] {
        let work = planned.work("results", &["--partition", wrong]);
        assert!(code(&work) == 2 && said(&work).contains("cli::bad-usage"), "{wrong}");
    }
    let work = planned.work("results", &["--item", &"0".repeat(64)]);
    assert!(code(&work) == 2 && said(&work).contains("work::unknown-item"), "{}", said(&work));
}

#[test]
fn what_was_refused_is_tried_again_and_what_changed_is_not_taken_for_the_same() {
    let corpus = sealed(&[MOE]);
    let bundle = corpus.path().join(MOE);
    let planned = Planned::of(corpus.path(), &[MOE]);
    // A copy that is damaged is refused, and told like on one machine.
    let config = bundle.join("data/config.json");
    let whole = fs::read(&config).unwrap();
    fs::write(&config, b"{}\n").unwrap();
    assert_eq!(planned.worked("results", &[]), (1, 0));
    planned.equals_one_machine(&["results"], &["json", "text"]);
    assert_eq!(code(&planned.merge(&["results"], &[])), 2);
    fs::write(&config, whole).unwrap();
    assert_eq!(planned.worked("results", &[]), (1, 0));
    planned.equals_one_machine(&["results"], &["json", "text"]);
    assert_eq!(planned.worked("results", &[]), (0, 1));
    // What is planned after a file was touched is looked at again, though its digest is the same.
    fs::write(&config, fs::read(&config).unwrap()).unwrap();
    planned.plan("later.jsonl");
    let keys = |name: &str| planned.items(name)[0]["key"].clone();
    assert_ne!(keys("plan.jsonl"), keys("later.jsonl"));
    // Another bundle in its place is not worked on.
    let receipt = bundle.join("data/receipt.json");
    let mut document: Json = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    document["predicate"]["extra"]["told"] = "later".into();
    fs::write(&receipt, canonical(&document).unwrap() + "\n").unwrap();
    seal(&bundle, bundle.file_name().unwrap().to_str().unwrap(), None).unwrap();
    let anew = planned.work("anew", &[]);
    assert!(code(&anew) == 2 && said(&anew).contains("cluster::changed"), "{}", said(&anew));
    assert!(planned.refused(&["anew"], &[]).contains("cluster::empty-store"));
}

#[test]
fn files_that_options_name_have_to_be_those_that_were_planned() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("a.pem");
    let made = repro(folder.path(), &["bundle", "keygen", "--out", "a.pem"]);
    assert_eq!(code(&made), 0, "{}", said(&made));
    let public = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let public = public.into_iter().find(|path| *path != keys).unwrap();
    let planned = Planned::of(repository(), &[TYPED[0], "--pubkey", public.to_str().unwrap()]);
    planned.worked("results", &[]);
    planned.equals_one_machine(&["results"], &["json"]);
    let text = fs::read_to_string(&public).unwrap();
    fs::write(&public, format!("{text}\n")).unwrap();
    assert!(planned.refused(&["results"], &[]).contains("cluster::changed"));
    assert_eq!(code(&planned.work("results", &[])), 2);
}

#[test]
fn nothing_is_written_over_a_post_or_into_a_bundle() {
    let corpus = sealed(&[MOE, "replay/posts"]);
    let at = corpus.path();
    let post = at.join("replay/posts/repro/good.toml");
    let before = fs::read(&post).unwrap();
    let over = repro(at, &["cluster", "plan", MOE, "--out", post.to_str().unwrap()]);
    assert!(code(&over) == 2 && said(&over).contains("cli::bad-usage"), "{}", said(&over));
    assert_eq!(fs::read(&post).unwrap(), before);
    let planned = Planned::of(at, &[MOE]);
    let inside = at.join(MOE).join("deep/results");
    let plan = planned.path("plan.jsonl");
    let own = inside.to_str().unwrap();
    for arguments in [
        &["cluster", "work", &plan, "--results", own][..],
        &["verify", MOE, "--resume", own],
        &["cluster", "plan", MOE, "--out", own],
    ] {
        let refused = repro(at, arguments);
        assert!(
            code(&refused) == 2 && said(&refused).contains("cli::bad-usage"),
            "{}",
            said(&refused)
        );
        assert!(!at.join(MOE).join("deep").exists());
    }
    // What is no plain file is neither waited for nor replaced.
    let pipe = planned.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(code(&repro(at, &["cluster", "plan", MOE, "--out", &pipe])), 2);
    assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
    // A project whose folder leads to itself is looked at all the same.
    let root = at.join("replay/posts");
    std::os::unix::fs::symlink(".", root.join("repro/again")).unwrap();
    std::os::unix::fs::symlink("..", root.join("repro/above")).unwrap();
    let judged = Planned::of(&root, &["--post", "good"]);
    judged.worked("results", &[]);
    judged.equals_one_machine(&["results"], &["json"]);
}

#[test]
fn a_post_is_judged_by_what_was_planned_alone() {
    let corpus = sealed(&["replay/posts"]);
    let root = corpus.path().join("replay/posts");
    let planned = Planned::of(&root, &["--post", "good"]);
    let bundle = root.join("receipts/trained");
    let kept = corpus.path().join("kept");
    crate::relations::copy(&bundle, &kept);
    // A worker who has another bundle in its place.
    let receipt = bundle.join("data/receipt.json");
    let mut document: Json = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    document["predicate"]["extra"]["told"] = "later".into();
    fs::write(&receipt, canonical(&document).unwrap() + "\n").unwrap();
    seal(&bundle, "trained", None).unwrap();
    let other = planned.work("results", &[]);
    assert!(code(&other) == 2 && said(&other).contains("cluster::changed"), "{}", said(&other));
    fs::remove_dir_all(&bundle).unwrap();
    crate::relations::copy(&kept, &bundle);
    assert_eq!(planned.worked("results", &[]), (1, 0));
    planned.equals_one_machine(&["results"], &["json"]);
    // Files of the project that it does not depend on may come and go.
    fs::write(root.join("repro/notes.txt"), "x").unwrap();
    planned.equals_one_machine(&["results"], &["json"]);
    // A lock is one beside its post alone.
    let [lock, plan] = ["repro/other.lock", "repro/studies/other.lock"].map(|name| root.join(name));
    fs::write(&lock, "").unwrap();
    let locked = Planned::of(&root, &["--post", "good"]);
    fs::create_dir_all(plan.parent().unwrap()).unwrap();
    fs::rename(&lock, &plan).unwrap();
    let moved = locked.work("results", &[]);
    assert!(code(&moved) == 2 && said(&moved).contains("cluster::changed"), "{}", said(&moved));
}

#[test]
fn a_plan_has_items_for_all_that_was_asked() {
    let planned = two_of_three(repository());
    planned.worked("results", &[]);
    let text = fs::read_to_string(planned.path("plan.jsonl")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let with = |items: &[&str]| {
        let items: String = items.iter().map(|line| format!("{line}\n")).collect();
        let mut head: Json = serde_json::from_str(lines[0]).unwrap();
        head["items"] = items.lines().count().into();
        head["items_sha256"] = Digest::of(items.as_bytes()).to_string().into();
        fs::write(planned.path("plan.jsonl"), format!("{}\n{items}", canonical(&head).unwrap()))
            .unwrap();
    };
    for items in [&lines[1..2], &lines[2..3], &[], &[lines[2], lines[1]]] {
        with(items);
        let told = planned.refused(&["results"], &["--shared"]);
        assert!(told.contains("cluster::bad-plan"), "{told}");
    }
    with(&lines[1..]);
    planned.equals_one_machine(&["results"], &["json"]);
}

#[test]
#[cfg(feature = "train")]
fn a_worker_without_the_history_of_the_plan_is_told() {
    let project = crate::train::root(|study| crate::train::untuned(study, 1, "0.016"));
    let at = project.path();
    git(at, &["init", "--quiet"]);
    git(at, &["add", "."]);
    git(at, &["commit", "--quiet", "--message", "plan"]);
    let run = "smoke-moe-short-s1";
    let train = ["train", crate::train::STUDY, "--out", "receipts", "--only", run];
    assert_eq!(code(&repro(at, &train)), 0);
    let planned = Planned::of(at, &[&format!("receipts/{run}")]);
    let [history, away] = [".git", "away"].map(|name| at.join(name));
    fs::rename(&history, &away).unwrap();
    let without = planned.work("results", &[]);
    assert!(
        code(&without) == 2 && said(&without).contains("cluster::changed"),
        "{}",
        said(&without)
    );
    fs::rename(&away, &history).unwrap();
    assert_eq!(planned.worked("results", &[]), (1, 0));
    planned.equals_one_machine(&["results"], &["json"]);
    let merged = planned.merge(&["results"], &["--format", "json"]);
    assert!(said(&merged).contains("plan-commit"), "{}", said(&merged));
}
