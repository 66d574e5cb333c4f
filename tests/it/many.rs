//! Reports of more bundles than anybody reads one by one: groups and the worst as text, a line of JSON for each, and the same
//! bytes for any number of threads.

use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::attacks::corpus::forge::{EVALUATION, Forge, emitted};
use crate::program::repro;
use crate::schemas::Schema;
use crate::sealed::{new_folder, sealed_into};

/// More than are told one by one, and the names of their folders.
const BUNDLES: usize = 210;
/// What their names begin with.
const TEAMS: [&str; 3] = ["ash", "birch", "cedar"];

/// A leaderboard: most bundles hold, every 23rd contradicts itself, every 31st declares a count that nobody can check, every
/// 41st was changed after it was sealed, and one is missing.
struct Board {
    folder: TempDir,
    runs: Vec<String>,
}

impl Board {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let name = |at: usize| format!("runs/{}-{at:03}", TEAMS[at % TEAMS.len()]);
        let runs: Vec<String> = (0..BUNDLES).map(name).collect();
        for (at, run) in runs.iter().enumerate().skip(1) {
            bundle(at, run).write(&folder.path().join(run));
        }
        Self { folder, runs }
    }

    /// One for all tests, which only read it.
    fn shared() -> &'static Self {
        static BOARD: OnceLock<Board> = OnceLock::new();
        BOARD.get_or_init(Self::new)
    }

    fn verify(&self, arguments: &[&str]) -> (String, Option<i32>) {
        self.verify_some(BUNDLES, arguments)
    }

    fn verify_some(&self, count: usize, arguments: &[&str]) -> (String, Option<i32>) {
        let runs = self.runs.iter().take(count).map(String::as_str);
        let all: Vec<&str> =
            ["verify"].into_iter().chain(runs).chain(arguments.iter().copied()).collect();
        let ran = repro(self.folder.path(), &all);
        // A machine that is slow says how far it is.
        let said = String::from_utf8(ran.stderr).unwrap();
        assert!(said.lines().all(|line| line.starts_with("verify: ")), "{said}");
        (String::from_utf8(ran.stdout).unwrap(), ran.status.code())
    }
}

fn bundle(at: usize, run: &str) -> Forge {
    let mut forge = emitted();
    let id = Path::new(run).file_name().unwrap().to_str().unwrap();
    forge.predicate["run"]["id"] = id.into();
    if !at.is_multiple_of(31) {
        forge.predicate.as_object_mut().unwrap().remove("model");
    }
    if at.is_multiple_of(23) {
        let broken = "{\"bpb\":1,\"bytes\":100,\"loss\":1,\"nats\":100,\"step\":10}\n";
        forge.put(EVALUATION, broken);
    }
    if at.is_multiple_of(41) {
        forge.disk = |folder| std::fs::write(folder.join(EVALUATION), "{\"step\":11}\n").unwrap();
    }
    forge
}

fn lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_text_of_many_bundles_tells_groups_and_the_worst() {
    let (text, status) = Board::shared().verify(&[]);
    assert_eq!(status, Some(2));
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("many_text", text);
    });
    let (quiet, _) = Board::shared().verify(&["--quiet"]);
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("many_quiet", quiet);
    });
}

#[test]
fn few_bundles_are_told_one_by_one_and_many_where_all_is_asked_for() {
    let board = Board::shared();
    let told = |text: &str| {
        let ids = board.runs.iter().filter_map(|run| run.rsplit('/').next());
        ids.filter(|id| text.contains(*id)).count()
    };
    let (few, _) = board.verify_some(200, &[]);
    let (all, _) = board.verify(&["--verbose"]);
    assert_eq!((told(&few), told(&all)), (200, BUNDLES));
    assert!(told(&board.verify(&[]).0) < 30);
}

#[test]
fn a_report_of_many_bundles_is_the_same_for_any_number_of_threads() {
    let board = Board::shared();
    let one =
        |threads: &str, format: &str| board.verify(&["--threads", threads, "--format", format]);
    for format in ["text", "jsonl"] {
        let alone = one("1", format);
        for threads in ["2", "7"] {
            assert_eq!(one(threads, format), alone, "{threads} threads, {format}");
        }
    }
}

#[test]
fn each_bundle_has_a_line_with_what_the_whole_report_has_of_it() {
    let board = Board::shared();
    let (text, status) = board.verify(&["--format", "jsonl"]);
    let (whole, whole_status) = board.verify(&["--format", "json"]);
    assert_eq!(status, whole_status);
    let (lines, whole): (_, Json) = (lines(&text), serde_json::from_str(&whole).unwrap());
    let (last, lines) = lines.split_last().unwrap();
    let schema = Schema::closed("report-lines");
    for line in lines.iter().chain([last]) {
        assert_eq!(schema.fault(line), None, "{line}");
    }
    let names: Vec<_> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names, board.runs);
    let posts: Vec<_> =
        lines.iter().map(|line| &line["post"]).filter(|post| !post.is_null()).collect();
    assert_eq!(posts, whole["posts"].as_array().unwrap().iter().collect::<Vec<_>>());
    let failures = lines.iter().flat_map(|line| line["failures"].as_array().unwrap());
    let failures: Vec<_> = failures.collect();
    assert_eq!(failures, whole["failures"].as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(last["event"], "ended");
    assert_eq!((&last["lines"], &last["failures"]), (&BUNDLES.into(), &failures.len().into()));
    assert_eq!((&last["summary"], &last["exit_code"]), (&whole["summary"], &whole["exit_code"]));
}

#[test]
fn lines_go_to_a_file_too_and_replace_those_of_an_earlier_run_that_was_cut() {
    let board = Board::shared();
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("report.jsonl");
    let output = format!("jsonl={}", path.display());
    let (text, _) = board.verify(&[]);
    assert_eq!(board.verify(&["--output", &output]).0, text);
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written, board.verify(&["--format", "jsonl"]).0);
    std::fs::write(&path, &written[..100]).unwrap();
    board.verify(&["--output", &output]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
    // What is no report stays, and nothing is judged before that is told.
    std::fs::write(&path, "{\"schema\":\"mine\"}\n").unwrap();
    let ran = repro(board.folder.path(), &["verify", &board.runs[1], "--output", &output]);
    assert_eq!((ran.status.code(), ran.stdout.len()), (Some(2), 0));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"schema\":\"mine\"}\n");
}

#[test]
fn many_bundles_and_a_post_are_one_report() {
    let project = new_folder();
    sealed_into("small", project.path());
    let receipts = project.path().join("runs");
    let names: Vec<String> = (1..=BUNDLES).map(|at| format!("runs/oak-{at:03}")).collect();
    for (at, name) in names.iter().enumerate() {
        bundle(at + 1, name).write(&receipts.join(name.strip_prefix("runs/").unwrap()));
    }
    let asked = ["verify", "--post", "fine", "--format"];
    let run = |format: &str| {
        let bundles = names.iter().map(String::as_str);
        let all: Vec<&str> = asked.into_iter().chain([format]).chain(bundles).collect();
        String::from_utf8(repro(project.path(), &all).stdout).unwrap()
    };
    let text = run("text");
    assert!(text.contains("✓ its claim follows") && text.contains("Of 210 bundles, "), "{text}");
    let badge: Json = serde_json::from_str(&run("shields")).unwrap();
    assert!(badge["message"].as_str().unwrap().ends_with(" refused"), "{badge}");
    let lines = lines(&run("jsonl"));
    assert_eq!((&lines[0]["kind"], &lines[0]["name"]), (&"post".into(), &"fine".into()));
    assert_eq!(lines.len(), BUNDLES + 2);
}

/// The definitions that two schemas share are the same.
#[test]
fn the_schema_of_lines_has_the_posts_of_the_whole_report() {
    let read = |name: &str| -> Json {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/formats/schemas");
        serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
    };
    let (lines, whole) = (read("report-lines.json"), read("report.json"));
    assert_eq!(lines["$defs"]["post"], whole["properties"]["posts"]["items"]);
    for (name, definition) in whole["$defs"].as_object().unwrap() {
        assert_eq!(&lines["$defs"][name], definition, "{name}");
    }
}
