//! Plans, and the log of the runs that were started under them: what is left out, changed or served again is named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use repro_bundle::bundle::{Chain, seal};
use repro_core::digest::Digest;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::relations::copy;
use crate::schemas::Schema;
use crate::states::Forgery;
use crate::train::{STUDY, code, repro, root, text, untuned};

const LOG: &str = "repro/studies/smoke.starts.jsonl";
const RUNS: [&str; 6] = [
    "smoke-dense-short-s1",
    "smoke-moe-short-s1",
    "smoke-dense-short-s2",
    "smoke-moe-short-s2",
    "smoke-dense-short-s3",
    "smoke-moe-short-s3",
];

/// The study with three seeds, and a log of its starts.
fn plan(study: String) -> String {
    let planned = RUNS.map(|run| format!("\"{run}\"")).join(", ");
    untuned(study, 1, "0.016").replacen("seeds = [1]", "seeds = [1, 2, 3]", 1).replacen(
        "\"smoke-dense-short-s1\", \"smoke-moe-short-s1\"",
        &planned,
        1,
    ) + "\n[starts]\nfile = \"smoke.starts.jsonl\"\n"
}

/// A project in which all six runs were trained, one after the other; its plan is committed.
fn trained() -> TempDir {
    let project = root(plan);
    git(project.path(), &["init", "--quiet"]);
    commit(project.path());
    let arguments = ["train", STUDY, "--out", "receipts", "--jobs", "1"];
    let trained = repro(project.path(), &arguments);
    assert_eq!(code(&trained), 0, "{}", text(&trained.stderr));
    project
}

fn git(root: &Path, arguments: &[&str]) {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
}

fn commit(root: &Path) {
    git(root, &["add", "."]);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    git(root, &[&identity[..], &["commit", "--quiet", "--message", "plan"]].concat());
}

fn bundle(root: &Path, run: &str) -> PathBuf {
    root.join("receipts").join(run)
}

/// The exit status of `repro verify`, the codes of its findings and failures, and its report.
fn verify(root: &Path, arguments: &[&str]) -> (i32, Vec<String>, Json) {
    let output = repro(root, &[&["verify", "--format", "json"], arguments].concat());
    let report: Json = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let posts = report["posts"].as_array().unwrap().iter();
    let findings = posts.flat_map(|post| post["findings"].as_array().unwrap());
    let all = findings.chain(report["failures"].as_array().unwrap());
    let codes = all.map(|one| one["code"].as_str().unwrap().to_owned());
    // A short run keeps one checkpoint, and says that nothing could be looked at between two.
    let mut codes: Vec<_> = codes.filter(|code| code != "weights::unchecked").collect();
    codes.dedup();
    (code(&output), codes, report)
}

fn of_bundle(root: &Path, run: &str) -> (i32, Vec<String>) {
    let (status, codes, _) = verify(root, &[&format!("receipts/{run}")]);
    (status, codes)
}

fn log_lines(root: &Path) -> Vec<Json> {
    let text = fs::read_to_string(root.join(LOG)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A post about the two arms.
fn post(root: &Path) -> (i32, Vec<String>, Json) {
    let post = "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"Two arms\"\ntext = \"p.md\"\nplan = \"smoke\"\n\
        [names]\ndense = \"smoke-dense-short-s{1..3}\"\nmoe = \"smoke-moe-short-s{1..3}\"\n\
        [[sentence]]\nid = \"all\"\nquote = \"All runs are here\"\nsays = \"complete()\"\n\
        [[sentence]]\nid = \"gap\"\nquote = \"the gap between the arms is not significant\"\nsays = \"not significant(p(dense.loss, moe.loss))\"\n";
    let named: Vec<_> = RUNS.iter().filter(|run| bundle(root, run).is_dir()).collect();
    // What was dropped is not named either.
    let seeds = if named.len() == RUNS.len() { "s{1..3}" } else { "s{1..2}" };
    let post = post.replace("s{1..3}", seeds);
    fs::write(root.join("repro/p.toml"), post).unwrap();
    fs::write(
        root.join("repro/p.md"),
        "All runs are here, and the gap between the arms is not significant.\n",
    )
    .unwrap();
    verify(root, &["--post", "p"])
}

#[test]
fn each_start_is_logged_and_each_run_is_chained_to_its_own() {
    let project = trained();
    let root = project.path();
    let lines = log_lines(root);
    assert_eq!(lines.iter().map(|line| line["run"].as_str().unwrap()).collect::<Vec<_>>(), RUNS);
    let (of_starts, of_states) = (Schema::closed("starts"), Schema::closed("states"));
    assert_eq!(lines.iter().find_map(|line| of_starts.fault(line)), None);
    let plan = Digest::of(&fs::read(root.join(STUDY)).unwrap()).to_string();
    for (run, line) in RUNS.iter().zip(&lines) {
        let folder = bundle(root, run).join("data");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let receipt: Json = serde_json::from_str(&read("receipt.json")).unwrap();
        let start = &receipt["predicate"]["start"];
        assert_eq!((&start["attempt"], &start["chain"]), (&line["attempt"], &line["chain"]));
        let states = read("states.jsonl");
        let states = states.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        let states: Vec<_> = states.collect();
        assert_eq!(states.iter().find_map(|state| of_states.fault(state)), None);
        let first = &states[0];
        assert_eq!((&first["plan_sha256"], &first["start"]), (&json!(plan), &line["chain"]));
        assert_eq!(line["config_sha256"], Digest::of(read("config.json").as_bytes()).to_string());
        assert_eq!(of_bundle(root, run), (0, Vec::new()));
    }
    let (status, codes, report) = post(root);
    assert_eq!((status, codes), (0, Vec::new()), "{report:#}");
    // Runs that are there are not started again.
    let again = repro(root, &["train", STUDY, "--out", "receipts"]);
    assert_eq!((code(&again), log_lines(root).len()), (0, RUNS.len()));
}

#[test]
fn a_dropped_seed_is_named() {
    let project = trained();
    let root = project.path();
    fs::remove_dir_all(bundle(root, RUNS[1])).unwrap();
    let (status, codes, report) = verify(root, &[&format!("receipts/{}", RUNS[3])]);
    assert_eq!((status, codes), (0, vec!["starts::not-reported".to_owned()]));
    let finding = &report["posts"][0]["findings"][0];
    assert!(finding["message"].as_str().unwrap().contains(RUNS[1]), "{finding}");
    assert_eq!((&finding["place"]["file"], &finding["place"]["line"]), (&json!(LOG), &json!(2)));
    // Without its line, what was started later has another chain.
    let lines = fs::read_to_string(root.join(LOG)).unwrap();
    let kept: Vec<_> = lines.split_inclusive('\n').enumerate().filter(|(at, _)| *at != 1).collect();
    let without: String = kept.into_iter().map(|(_, line)| line).collect();
    fs::write(root.join(LOG), without).unwrap();
    assert_eq!(of_bundle(root, RUNS[3]), (2, vec!["bundle::broken-chain".to_owned()]));
    // So it has where the chain is made right again.
    let mut chain = Chain::default();
    let entries = lines.lines().enumerate().filter(|(at, _)| *at != 1);
    let entries = entries.map(|(_, line)| serde_json::from_str::<Json>(line).unwrap());
    let again = entries.map(|line| chain.extend(line.as_object().unwrap().clone()).unwrap());
    fs::write(root.join(LOG), again.collect::<String>()).unwrap();
    assert_eq!(of_bundle(root, RUNS[0]).0, 0);
    assert_eq!(of_bundle(root, RUNS[3]), (1, vec!["starts::not-logged".to_owned()]));
    // Where there is none, it is open what stood there.
    fs::remove_file(root.join(LOG)).unwrap();
    assert_eq!(of_bundle(root, RUNS[3]), (3, vec!["starts::not-logged".to_owned()]));
}

#[test]
fn what_checkouts_and_editors_do_to_ends_of_lines_changes_nothing() {
    let project = trained();
    let root = project.path();
    let (plan, log) = (root.join(STUDY), root.join(LOG));
    for path in [&plan, &log] {
        let lines = fs::read_to_string(path).unwrap();
        fs::write(path, lines.replace('\n', "\r\n")).unwrap();
    }
    assert_eq!(of_bundle(root, RUNS[5]), (0, Vec::new()));
    let (status, codes, report) = post(root);
    assert_eq!((status, codes), (0, Vec::new()), "{report:#}");
    let lines = fs::read_to_string(&log).unwrap().replace("\r\n", "\n");
    fs::write(&log, lines.trim_end()).unwrap();
    assert_eq!(of_bundle(root, RUNS[5]), (0, Vec::new()));
    // What is added begins a line of its own.
    fs::remove_dir_all(bundle(root, RUNS[1])).unwrap();
    let again = repro(root, &["train", STUDY, "--out", "receipts", "--only", RUNS[1]]);
    assert_eq!(code(&again), 0, "{}", text(&again.stderr));
    assert_eq!(log_lines(root).len(), RUNS.len() + 1);
}

#[test]
fn a_repository_of_a_stranger_runs_nothing() {
    let project = trained();
    let root = project.path();
    let ran = root.join("ran");
    let program = root.join("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, executable).unwrap();
    let program = program.to_str().unwrap();
    for (name, value) in [
        ("core.repositoryformatversion", "1".to_owned()),
        ("extensions.partialClone", "origin".to_owned()),
        ("remote.origin.promisor", "true".to_owned()),
        ("remote.origin.url", format!("ext::{program}")),
        ("protocol.ext.allow", "always".to_owned()),
        ("core.sshCommand", program.to_owned()),
        ("core.fsmonitor", program.to_owned()),
    ] {
        git(root, &["config", name, &value]);
    }
    fs::remove_file(&ran).ok();
    let run = bundle(root, RUNS[0]);
    let folder = crate::sealed::new_folder();
    let path = folder.path().join(RUNS[0]);
    copy(&run, &path);
    let forged = Forgery::new(folder, path);
    forged.json("receipt.json", |receipt| {
        receipt["predicate"]["run"]["plan_commit"] = "1".repeat(40).into();
    });
    seal(&forged.path, RUNS[0], None).unwrap();
    verify(root, &[forged.path.to_str().unwrap()]);
    assert!(!ran.exists(), "a program of the repository was run");
}

#[test]
fn a_start_that_is_not_reported_decides_nothing() {
    let project = trained();
    let root = project.path();
    // The run was made once more, and that attempt was thrown away: the same configuration, the same bits.
    fs::remove_dir_all(bundle(root, RUNS[1])).unwrap();
    let again = repro(root, &["train", STUDY, "--out", "receipts", "--only", RUNS[1]]);
    assert_eq!(code(&again), 0, "{}", text(&again.stderr));
    assert_eq!(of_bundle(root, RUNS[1]), (0, vec!["starts::restarted".to_owned()]));
    assert_eq!(of_bundle(root, RUNS[0]), (0, Vec::new()));
    let (status, codes, report) = post(root);
    assert_eq!((status, codes), (0, Vec::new()), "{report:#}");
    // A start of an arm of which there is no bundle stays open, whatever the post names.
    fs::rename(bundle(root, RUNS[4]), root.join("elsewhere")).unwrap();
    fs::rename(bundle(root, RUNS[5]), root.join("elsewhere too")).unwrap();
    let (status, codes, report) = post(root);
    assert_eq!(status, 1, "{report:#}");
    for code in ["complete::not-run", "test::departs-from-plan", "starts::not-reported"] {
        assert!(codes.iter().any(|one| one == code), "{code}: {codes:?}");
    }
}

#[test]
fn a_changed_plan_is_named_and_a_shortened_one_is_refused() {
    let project = trained();
    let root = project.path();
    let committed = fs::read_to_string(root.join(STUDY)).unwrap();
    let reworded = committed.replacen("no run is left out", "No run is left out", 1);
    fs::write(root.join(STUDY), &reworded).unwrap();
    assert_eq!(of_bundle(root, RUNS[0]), (0, vec!["plan::changed".to_owned()]));
    // Committed or not, the seed is gone.
    let shortened = committed.replacen("seeds = [1, 2, 3]", "seeds = [1, 2]", 1).replacen(
        ", \"smoke-dense-short-s3\", \"smoke-moe-short-s3\"",
        "",
        1,
    );
    for committed in [false, true] {
        fs::write(root.join(STUDY), &shortened).unwrap();
        if committed {
            git(root, &["add", STUDY]);
            commit(root);
        }
        assert_eq!(of_bundle(root, RUNS[0]), (1, vec!["plan::shortened".to_owned()]));
    }
    let (status, codes, report) = post(root);
    assert_eq!(status, 1, "{report:#}");
    assert!(codes.iter().any(|one| one == "plan::shortened"), "{codes:?}");
}

#[test]
fn an_old_run_is_not_served_again_under_a_new_plan() {
    let project = trained();
    let root = project.path();
    // A new plan goes on with the log of the old one, or nothing begins.
    let old_plan = fs::read_to_string(root.join(STUDY)).unwrap();
    let new_plan = old_plan.replacen("no run is left out", "nothing is left out", 1);
    fs::write(root.join(STUDY), &new_plan).unwrap();
    let train = || repro(root, &["train", STUDY, "--out", "again", "--only", RUNS[0]]);
    let refused = train();
    assert_eq!(code(&refused), 2);
    assert!(text(&refused.stderr).contains("starts::pin-mismatch"), "{}", text(&refused.stderr));
    let last = log_lines(root)[5]["chain"].as_str().unwrap().to_owned();
    let pinned = new_plan + &format!("after = \"{last}\"\n");
    fs::write(root.join(STUDY), &pinned).unwrap();
    let trained = train();
    assert_eq!(code(&trained), 0, "{}", text(&trained.stderr));
    assert_eq!(log_lines(root).len(), 7);
    // The old run under the new plan: what it committed itself to still names the old one.
    let folder = crate::sealed::new_folder();
    let path = folder.path().join(RUNS[2]);
    copy(&bundle(root, RUNS[2]), &path);
    let served = Forgery::new(folder, path);
    let plan = Digest::of(pinned.as_bytes()).to_string();
    let relabelled = |receipt: &mut Json| {
        receipt["predicate"]["extra"]["plan_sha256"] = plan.as_str().into();
        receipt["predicate"]["run"].as_object_mut().unwrap().remove("plan_commit");
    };
    served.json("receipt.json", relabelled);
    seal(&served.path, RUNS[2], None).unwrap();
    let found = |served: &Forgery| {
        let (status, codes, _) = verify(root, &[served.path.to_str().unwrap()]);
        (status, codes)
    };
    let (status, codes) = found(&served);
    assert_eq!(status, 1);
    for code in ["states::plan", "starts::not-logged"] {
        assert!(codes.iter().any(|one| one == code), "{code}: {codes:?}");
    }
    // With that made right as well, its start is still that of the old plan; and one of its own is in no log.
    let root_of = served.lines("states.jsonl", |lines| {
        lines[0]["plan_sha256"] = plan.as_str().into();
    });
    served.json("receipt.json", |receipt| {
        receipt["predicate"]["states"]["root"] = root_of.to_string().into();
    });
    seal(&served.path, RUNS[2], None).unwrap();
    assert_eq!(found(&served), (1, vec!["starts::not-logged".to_owned()]));
    served.json("receipt.json", |receipt| {
        receipt["predicate"].as_object_mut().unwrap().remove("start");
    });
    seal(&served.path, RUNS[2], None).unwrap();
    let codes = ["starts::not-logged", "states::receipt-start-missing"].map(str::to_owned);
    assert_eq!(found(&served), (1, codes.to_vec()));
}

#[test]
fn a_receipt_that_describes_another_run_than_its_plan_is_refuted() {
    let project = trained();
    let root = project.path();
    type Change = fn(&mut Json);
    let changes: [(&str, Change); 7] = [
        ("the study is", |receipt| receipt["run"]["study"] = "another".into()),
        ("contract", |receipt| receipt["contract"]["coefficient"] = 20.into()),
        ("contract", |receipt| receipt["contract"]["mismatch"] = 0.5.into()),
        ("contract", |receipt| receipt["contract"]["match"] = "none".into()),
        ("arm", |receipt| receipt["run"]["arm"] = "moe".into()),
        ("extra.kind", |receipt| receipt["extra"]["kind"] = "tuning".into()),
        ("extra.horizon_of", |receipt| receipt["extra"]["horizon_of"] = "dense".into()),
    ];
    for (what, change) in changes {
        let folder = crate::sealed::new_folder();
        let path = folder.path().join(RUNS[0]);
        copy(&bundle(root, RUNS[0]), &path);
        let forged = Forgery::new(folder, path);
        forged.json("receipt.json", |receipt| change(&mut receipt["predicate"]));
        seal(&forged.path, RUNS[0], None).unwrap();
        let (status, codes, report) = verify(root, &[forged.path.to_str().unwrap()]);
        assert!(status == 1 && codes.iter().any(|code| code == "plan::not-followed"), "{codes:?}");
        assert!(report.to_string().contains(what), "{what}");
    }
}

#[test]
fn the_log_is_one_file_beside_its_plan() {
    for (wrong, code_of) in [
        ("file = \"../starts.jsonl\"", "starts::bad-name"),
        ("file = \"/elsewhere/starts.jsonl\"", "starts::bad-name"),
        ("file = \"starts.toml\"", "starts::bad-name"),
        ("file = \".starts.jsonl\"", "starts::bad-name"),
        ("name = \"starts.jsonl\"", "source::unknown-field"),
        ("file = \"s.jsonl\"\nafter = \"x\"", "bundle::bad-digest"),
    ] {
        let project = root(|study| plan(study).replacen("file = \"smoke.starts.jsonl\"", wrong, 1));
        let refused = repro(project.path(), &["train", STUDY, "--list"]);
        assert_eq!(code(&refused), 2);
        assert!(text(&refused.stderr).contains(code_of), "{wrong}: {}", text(&refused.stderr));
    }
    let project = root(plan);
    let log = project.path().join(LOG);
    let train = || {
        let trained =
            repro(project.path(), &["train", STUDY, "--out", "receipts", "--only", RUNS[0]]);
        (code(&trained), text(&trained.stderr).to_owned())
    };
    // Neither a link nor a pipe is written to.
    fs::write(project.path().join("other"), "").unwrap();
    std::os::unix::fs::symlink("../../other", &log).unwrap();
    let (status, told) = train();
    assert!(status != 0 && told.contains("source::unreadable"), "{told}");
    fs::remove_file(&log).unwrap();
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let (status, told) = train();
    assert!(status != 0 && told.contains("source::unreadable"), "{told}");
    fs::remove_file(&log).unwrap();
    // A line that a killed process began is dropped; the attempt that was saved is no second start.
    fs::write(&log, "{\"attempt\":\"0").unwrap();
    let (status, told) = train();
    assert_eq!((status, log_lines(project.path()).len()), (0, 1), "{told}");
}
