//! The hostile corpus against the real program: each case in a process of its own, which must refuse it with
//! its code, soon, in bounded memory and without touching the folder.
//!
//! `tests/corpus/attacks/outcomes.md` lists every outcome; `INSTA_UPDATE=always cargo test --test it attacks` writes it.
//! `docs/explanation/attacks.md` sums them up and states how many attacks there are on each rule.

#[path = "../corpus/attacks/mod.rs"]
pub mod corpus;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corpus::forge::{Forge, emitted};
use corpus::{Case, RULES, heavy};
use serde_json::{Value as Json, json};

/// A process that runs longer is stopped, and counts as hung; the machine may be busy.
const LIMIT: Duration = Duration::from_secs(60);
/// The most time that a process may compute.
const WORK: Duration = Duration::from_secs(10);
/// The most memory that a process may take at its peak.
const MEMORY_KIB: u64 = 200 << 10;
/// More threads than the machines of most people have: memory must not grow with them.
const THREADS: &str = "8";
/// The fewest cases of a rule.
const FEWEST: usize = 10;
/// The request to [`measuring`], in the environment.
const REQUEST: &str = "REPRO_TEST_MEASURE";

/// What a run of the program came to.
#[derive(Debug)]
pub struct Ran {
    /// The exit status; none where it was stopped.
    pub status: Option<i64>,
    pub peak_kib: u64,
    pub worked: Duration,
    report: Json,
    stderr: String,
}

/// The part of this program that starts the one under test. It is a process of its own, because the
/// system counts the memory of whoever starts a process as that process's own, and a test program is large.
#[test]
fn measuring() {
    let Some(request) = std::env::var_os(REQUEST) else { return };
    let request: Json = serde_json::from_str(request.to_str().unwrap()).unwrap();
    let text = |field: &str| request[field].as_str().unwrap().to_owned();
    let arguments = request["arguments"].as_array().unwrap();
    let into = |name: &str| std::fs::File::create(Path::new(&text("answers")).join(name)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_repro"))
        .args(arguments.iter().map(|argument| argument.as_str().unwrap()))
        .current_dir(text("folder"))
        .stdin(match request["stdin"].as_str() {
            Some(file) => std::fs::File::open(file).unwrap().into(),
            None => Stdio::null(),
        })
        .stdout(into("stdout"))
        .stderr(into("stderr"))
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code().map_or(json!(-1), |code| json!(code)),
            None if start.elapsed() > LIMIT => {
                child.kill().unwrap();
                child.wait().unwrap();
                break Json::Null;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let usage =
        nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).unwrap();
    let unit = if cfg!(target_os = "macos") { 1 << 10 } else { 1 };
    let worked = [usage.user_time(), usage.system_time()]
        .map(|time| 1000 * time.tv_sec() + time.tv_usec() / 1000);
    let answer = json!({
        "status": status, "peak_kib": usage.max_rss() / unit, "milliseconds": worked.iter().sum::<i64>(),
    });
    std::fs::write(Path::new(&text("answers")).join("answer.json"), answer.to_string()).unwrap();
}

/// Runs `repro` with these arguments in `folder`, in a process of its own that measures it.
pub fn run(folder: &Path, arguments: &[&str]) -> Ran {
    run_reading(folder, arguments, None)
}

/// The same with a file as its standard input.
pub fn run_reading(folder: &Path, arguments: &[&str], stdin: Option<&Path>) -> Ran {
    let answers = tempfile::tempdir().unwrap();
    let request = json!({
        "arguments": arguments, "folder": folder, "answers": answers.path(), "stdin": stdin,
    });
    let measured = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "attacks::measuring"])
        .env(REQUEST, request.to_string())
        .output()
        .unwrap();
    assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stdout));
    let read = |name: &str| std::fs::read_to_string(answers.path().join(name)).unwrap();
    let answer: Json = serde_json::from_str(&read("answer.json")).unwrap();
    Ran {
        status: answer["status"].as_i64(),
        peak_kib: answer["peak_kib"].as_u64().unwrap(),
        worked: Duration::from_millis(answer["milliseconds"].as_u64().unwrap()),
        report: serde_json::from_str(&read("stdout")).unwrap_or(Json::Null),
        stderr: read("stderr"),
    }
}

/// Every name below `folder` with what a write would change.
fn listing(folder: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let about = path.symlink_metadata().unwrap();
        all.insert(path.clone(), (about.len(), about.mtime_nsec(), about.ctime_nsec()));
        if about.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    all
}

/// What came of one case.
struct Outcome {
    case: &'static Case,
    ran: Ran,
    /// What is wrong with it.
    faults: Vec<String>,
}

fn attempt(case: &'static Case) -> Outcome {
    let mut forge: Forge = emitted();
    (case.2)(&mut forge);
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let (digest, asked) = forge.project(root);
    drop(forge);
    let before = listing(root);
    let arguments = [&["verify", "--format", "json", "--threads", THREADS][..], &asked].concat();
    let ran = run(root, &arguments);
    let mut faults = match case.1.is_empty() {
        true => accepted(&digest.prefixed(), &ran),
        false => refused(case.1, &ran),
    };
    let mut expect = |holds: bool, what: String| faults.extend((!holds).then_some(what));
    expect(listing(root) == before, "something was written".to_owned());
    expect(ran.peak_kib < MEMORY_KIB, format!("{} MiB at the peak", ran.peak_kib >> 10));
    expect(ran.worked < WORK, format!("{:?} of work", ran.worked));
    Outcome { case, ran, faults }
}

/// What is wrong with a run that should have refused with `code`.
fn refused(code: &str, ran: &Ran) -> Vec<String> {
    let failures = ran.report["failures"].as_array().map_or(&[][..], Vec::as_slice);
    let mut faults = Vec::new();
    let mut expect = |holds: bool, what: String| faults.extend((!holds).then_some(what));
    expect(ran.status == Some(2), format!("status {:?}: {}", ran.status, ran.stderr));
    expect(failures.len() == 1, format!("{} failures", failures.len()));
    let failure = failures.first().unwrap_or(&Json::Null);
    let text = |field: &str| failure[field].as_str().unwrap_or_default();
    expect(text("code") == code, format!("found {failure:#}"));
    for field in ["message", "expected", "found", "help"] {
        let length = text(field).chars().count();
        expect((1..=1001).contains(&length), format!("{field} of {length} characters"));
    }
    let file = failure["place"]["file"].as_str().unwrap_or_default();
    let own = file.starts_with("receipts/run-1")
        || file == "repro/p.toml"
        || file == "repro/p.lock"
        || file.starts_with("receipts/");
    expect(own, format!("place in `{file}`"));
    faults
}

/// What is wrong with a run that should have accepted the bundle with this digest.
fn accepted(digest: &str, ran: &Ran) -> Vec<String> {
    let own = &ran.report["posts"][0]["bundles"][0]["digest"];
    let clean =
        ran.report["failures"].as_array().is_some_and(Vec::is_empty) && ran.status != Some(2);
    match clean && own == digest {
        true => Vec::new(),
        false => {
            vec![format!("{:?} {own} {:#} {}", ran.status, ran.report["failures"], ran.stderr)]
        }
    }
}

/// All cases, two at a time, in their order.
fn attempts(cases: &[&'static Case]) -> Vec<Outcome> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(at) else { break };
                    let outcome = attempt(case);
                    done.lock().unwrap().insert(at, outcome);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().collect()
}

/// A cell of a table.
fn cell(text: &str) -> String {
    let cut: String = text.chars().take(90).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!(
        "{}{more}",
        cut.escape_debug()
            .to_string()
            .replace("\\\"", "\"")
            .replace("\\'", "'")
            .replace('|', "\\|")
    )
}

/// Where a case was refused.
fn place(ran: &Ran) -> String {
    let place = &ran.report["failures"][0]["place"];
    let file = place["file"].as_str().unwrap_or_default();
    let (line, pointer) =
        (place["line"].as_u64().unwrap_or_default(), place["pointer"].as_str().unwrap_or_default());
    let line = if line > 0 { format!(":{line}:{}", place["column"]) } else { String::new() };
    let pointer = if pointer.is_empty() { String::new() } else { format!(" {pointer}") };
    format!("{}{line}{pointer}", file.strip_prefix("receipts/").unwrap_or(file))
}

/// How many attacks there are and what came of them.
fn head<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> String {
    let attacks: Vec<_> = outcomes.filter(|outcome| !outcome.case.1.is_empty()).collect();
    let count = |what: fn(&Ran) -> bool| attacks.iter().filter(|o| what(&o.ran)).count();
    format!(
        "{} attacks: accepted {}, hung {}, above 200 MiB {}.",
        attacks.len(),
        count(|ran| ran.status == Some(0)),
        count(|ran| ran.status.is_none()),
        count(|ran| ran.peak_kib >= MEMORY_KIB)
    )
}

/// The table, of outcomes without faults.
fn table(outcomes: &[Outcome], heavy: &[Outcome]) -> String {
    let mut text = String::from(
        "<!-- Written by `INSTA_UPDATE=always cargo test --test it attacks`. -->\n# Hostile bundles\n\n",
    );
    let _ = writeln!(text, "{}\n", head(outcomes.iter()));
    text += "Each case is a bundle that is right in everything but one thing, made by `tests/corpus/attacks/` and given\n\
             to `repro verify` in a process of its own. Refused means: exit status 2, one failure with this code at\n\
             this place, what was expected and what was found, nothing written.\n";
    let mut rest = outcomes.iter();
    for (rule, about, lists) in RULES {
        let count = lists.iter().map(|list| list.len()).sum();
        let own: Vec<_> = rest.by_ref().take(count).collect();
        let _ = writeln!(text, "\n## Rule {rule}: {about}\n\n{}\n", head(own.iter().copied()));
        text += "| case | code | place | result |\n| --- | --- | --- | --- |\n";
        for outcome in own {
            let what = cell(outcome.case.0);
            let _ = match outcome.case.1 {
                "" => writeln!(text, "| {what} | | | accepted, as it must be |"),
                code => {
                    let place = cell(&place(&outcome.ran));
                    writeln!(text, "| {what} | `{code}` | `{place}` | refused |")
                }
            };
        }
    }
    let large = heavy.iter().filter(|o| o.ran.peak_kib >= MEMORY_KIB).count();
    let hung = heavy.iter().filter(|o| o.ran.status.is_none()).count();
    let _ = writeln!(
        text,
        "\n## Honest bundles just below the caps\n\n{} bundles: hung {hung}, above 200 MiB {large}.\n",
        heavy.len()
    );
    text += "| bundle | result |\n| --- | --- |\n";
    for outcome in heavy {
        let _ = writeln!(text, "| {} | accepted |", cell(outcome.case.0));
    }
    text
}

#[test]
fn every_attack_is_refused_and_the_table_says_so() {
    let cases: Vec<&'static Case> =
        RULES.iter().flat_map(|(_, _, lists)| lists.iter().copied().flatten()).collect();
    for (rule, _, lists) in RULES {
        let count: usize = lists.iter().map(|list| list.len()).sum();
        assert!(count >= FEWEST, "rule {rule} has {count} cases");
        let names: BTreeSet<_> = lists.iter().copied().flatten().map(|case| case.0).collect();
        assert_eq!(names.len(), count, "two cases of rule {rule} have one name");
    }
    let outcomes = attempts(&cases);
    let heavy = attempts(&heavy::CASES.iter().collect::<Vec<_>>());
    let mut all: Vec<_> = outcomes.iter().chain(&heavy).collect();
    let faults: Vec<_> = all
        .iter()
        .filter(|outcome| !outcome.faults.is_empty())
        .map(|outcome| format!("{}: {}", outcome.case.0, outcome.faults.join("; ")))
        .collect();
    if std::env::var_os("REPRO_TEST_TIMES").is_some() {
        all.sort_by_key(|outcome| {
            std::cmp::Reverse(outcome.ran.peak_kib.max(outcome.ran.worked.as_millis() as u64 * 50))
        });
        let lines = all.iter().take(60).map(|o| {
            format!(
                "{:5} MiB {:6} ms  {}\n",
                o.ran.peak_kib >> 10,
                o.ran.worked.as_millis(),
                o.case.0
            )
        });
        std::fs::write(std::env::temp_dir().join("attacks-times.txt"), lines.collect::<String>())
            .unwrap();
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), all.len(), faults.join("\n"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("tests/corpus/attacks/outcomes.md");
    let wanted = table(&outcomes, &heavy);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "tests/corpus/attacks/outcomes.md is not up to date: INSTA_UPDATE=always cargo test --test it attacks"
    );
    let page = std::fs::read_to_string(root.join("docs/explanation/attacks.md")).unwrap();
    let mut rows = Vec::new();
    let mut total = 0;
    for (rule, _, lists) in RULES {
        let own = lists.iter().copied().flatten().filter(|case| !case.1.is_empty()).count();
        rows.push(format!("| {rule} | {own} | "));
        total += own;
    }
    rows.push(format!(" {total} attacks"));
    rows.push(format!(" {} bundles just below", heavy.len()));
    for row in rows {
        assert!(page.contains(&row), "docs/explanation/attacks.md lacks `{row}`");
    }
}
