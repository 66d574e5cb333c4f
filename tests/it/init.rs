//! `repro init`: a project that verifies at once, wherever it is made, and nothing of what was there changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::attacks::corpus::forge::fifo;
use crate::program::{git, repro};

/// What a command that has to succeed prints.
fn told(folder: &Path, arguments: &[&str]) -> String {
    let ran = repro(folder, arguments);
    let printed = String::from_utf8(ran.stdout).unwrap();
    let complaint = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{arguments:?}: {printed}{complaint}");
    printed
}

/// The complaint of a command that has to be refused.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let ran = repro(folder, arguments);
    assert_eq!(ran.status.code(), Some(2), "{arguments:?}: {ran:?}");
    String::from_utf8(ran.stderr).unwrap()
}

/// Every file below a folder with its bytes, without git's own.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            _ if path.ends_with(".git") => {}
            _ if path.is_symlink() => {
                let to = fs::read_link(&path).unwrap();
                found.insert(path, to.into_os_string().into_encoded_bytes());
            }
            true => found.extend(files(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The logs of the tutorial.
fn logs() -> String {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/tutorial/runs");
    logs.display().to_string()
}

fn verifies(root: &Path) {
    told(root, &["verify", "--post", "first", "--all-bound"]);
    told(root, &["verify", "--post", "all", "--locked"]);
}

fn snapshot(name: &str, drawn: &str) {
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(format!("init_{name}"), drawn);
    });
}

#[test]
fn an_empty_folder_becomes_a_project() {
    let folder = folder();
    let root = folder.path();
    snapshot("example", &told(root, &["init"]));
    let written = files(root);
    verifies(root);
    snapshot("post", &fs::read_to_string(root.join("repro/first.toml")).unwrap());
    assert!(fs::read_to_string(root.join("repro/first.md")).unwrap().contains("are invented"));
    snapshot("again", &told(root, &["init"]));
    assert_eq!(files(root), written, "a second run changes nothing");
}

#[test]
fn logs_of_a_caller_are_what_the_first_post_is_about() {
    let folder = folder();
    let root = folder.path();
    let printed = told(root, &["init", "new", "--log", &logs()]);
    assert!(printed.contains("wrote  new/receipts/adamw-1 and 5 more\n"), "{printed}");
    assert!(printed.contains("\n  cd new\n"), "{printed}");
    let text = fs::read_to_string(root.join("new/repro/first.md")).unwrap();
    assert!(text.ends_with("The run `adamw-1` ends with a `val_loss` of 3.4048.\n"), "{text}");
    assert!(!root.join("new/example").exists());
    verifies(&root.join("new"));
    let written = files(root);
    told(root, &["init", "new", "--log", &logs()]);
    told(root, &["--root", "new", "init"]);
    assert_eq!(files(root), written);
    // Bundles below the folder of the logs are no logs.
    fs::create_dir(root.join("runs")).unwrap();
    fs::write(root.join("runs/a.csv"), "step,loss\n0,4\n100,3.5\n").unwrap();
    told(root, &["init", ".", "--log", "."]);
    let written = files(root);
    assert!(told(root, &["init", ".", "--log", "."]).contains("nothing to do"));
    assert_eq!(files(root), written);
}

#[test]
fn what_a_run_before_left_undone_is_done() {
    let whole = folder();
    told(whole.path(), &["init", "--log", &logs()]);
    let names = |path: &PathBuf| path.strip_prefix(whole.path()).unwrap().to_owned();
    let wanted: Vec<_> = files(whole.path()).keys().map(names).collect();
    let later = [
        "repro/first.lock",
        ".github/workflows/repro.yml",
        ".gitattributes",
        "repro/first.toml",
        "repro/first.md",
    ];
    let mut gone = Vec::new();
    for name in later {
        gone.push(name);
        // With all that is written behind it, and alone; the text is written before its post.
        let alone = [name];
        for gone in [&gone[..], &alone].into_iter().filter(|gone| **gone != ["repro/first.md"]) {
            let half = folder();
            told(half.path(), &["init", "--log", &logs()]);
            let before = files(half.path());
            gone.iter().for_each(|name| fs::remove_file(half.path().join(name)).unwrap());
            if gone.contains(&"repro/first.toml") {
                fs::remove_dir_all(half.path().join("receipts/muon-2")).unwrap();
            }
            told(half.path(), &["init", "--log", &logs()]);
            assert_eq!(files(half.path()), before, "{gone:?}");
        }
    }
    assert!(wanted.len() > 100);
    // An import that was killed before its bundles had their names.
    let receipts = whole.path().join("receipts");
    let before = files(whole.path());
    fs::create_dir(receipts.join(".imported")).unwrap();
    for name in ["adamw-2", "muon-1"] {
        fs::rename(receipts.join(name), receipts.join(".imported").join(name)).unwrap();
    }
    told(whole.path(), &["init", "--log", &logs()]);
    assert_eq!(files(whole.path()), before);
}

#[test]
fn what_stands_in_the_way_is_named_and_left() {
    let folder = folder();
    let root = folder.path();
    let elsewhere = root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(root.join("victim"), "mine\n").unwrap();
    type Plant<'a> = Box<dyn Fn(&Path) + 'a>;
    let file = |name: &'static str| -> Plant<'_> {
        Box::new(move |root| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "mine\n").unwrap();
        })
    };
    let link = |name: &'static str, to: &str| -> Plant<'_> {
        let to = root.join(to);
        Box::new(move |root| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(&to, path).unwrap();
        })
    };
    let cases: Vec<(&str, &str, Plant<'_>)> = vec![
        ("repro", "found a file", file("repro")),
        ("receipts", "found a file", file("receipts")),
        (".github", "found a file", file(".github")),
        ("repro/first.md", "init::text-conflict", file("repro/first.md")),
        ("repro", "found a symbolic link", link("repro", "elsewhere")),
        ("receipts", "found a symbolic link", link("receipts", "elsewhere")),
        (".github/workflows", "found a symbolic link", link(".github/workflows", "elsewhere")),
        (
            ".github/workflows/repro.yml",
            "found a symbolic link",
            link(".github/workflows/repro.yml", "none"),
        ),
        (".gitattributes", "found a symbolic link", link(".gitattributes", "victim")),
        ("repro/first.toml", "found a symbolic link", link("repro/first.toml", "victim")),
        ("repro/first.lock", "found a symbolic link", link("repro/first.lock", "none")),
    ];
    for (number, (place, said, plant)) in cases.iter().enumerate() {
        let project = root.join(number.to_string());
        fs::create_dir(&project).unwrap();
        plant(&project);
        let before = files(&project);
        let complaint = refused(&project, &["init"]);
        assert!(complaint.contains(&format!("--> {place}\n")), "{place}: {complaint}");
        assert!(complaint.contains(said), "{place}: {complaint}");
        assert_eq!(complaint.matches("error[").count(), 1, "{complaint}");
        assert_eq!(files(&project), before, "{place}");
    }
    // Links that lie where files are while they are written go, and what they lead to stays.
    for name in ["repro/first.toml.partial", ".gitattributes.partial"] {
        link(name, "victim")(&root.join("partial"));
    }
    told(root, &["init", "partial"]);
    assert_eq!(fs::read_to_string(root.join("victim")).unwrap(), "mine\n");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert!(!root.join("none").exists());
    assert!(refused(root, &["init", "victim"]).contains("init::path-conflict"));
}

#[test]
fn what_is_there_is_kept() {
    let folder = folder();
    let root = folder.path();
    fs::write(root.join(".gitattributes"), "* text=auto").unwrap();
    fs::create_dir_all(root.join("receipts/notes")).unwrap();
    fs::write(root.join("receipts/notes/a.txt"), "mine").unwrap();
    fs::create_dir_all(root.join(".github/workflows")).unwrap();
    fs::write(root.join(".github/workflows/repro.yml"), "on: push\n").unwrap();
    let printed = told(root, &["init"]);
    assert!(printed.contains("kept   .github/workflows/repro.yml\n"), "{printed}");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert_eq!(read(".gitattributes"), "* text=auto\nreceipts/** -text\nrepro/** -text\n");
    assert_eq!(read(".github/workflows/repro.yml"), "on: push\n");
    assert_eq!(read("receipts/notes/a.txt"), "mine");
    verifies(root);
    // What the author makes of the post is the author's, and so is a project with other posts.
    let post = read("repro/first.toml").replace("2.4713", "2.4712");
    fs::write(root.join("repro/first.toml"), &post).unwrap();
    fs::write(root.join("repro/first.md"), read("repro/first.md").replace("2.4713", "2.4712"))
        .unwrap();
    let before = files(root);
    let again = |root: &Path| {
        let output = repro(root, &["init"]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (status, printed) = again(root);
    assert!(status == Some(1) && printed.contains("1 refuted"), "{printed}");
    assert_eq!(files(root), before);
    let lock = fs::read(root.join("repro/first.lock")).unwrap();
    fs::remove_file(root.join("repro/first.lock")).unwrap();
    let (status, printed) = again(root);
    assert!(status == Some(1) && printed.contains("not written  repro/first.lock"), "{printed}");
    assert!(!printed.contains("nothing to do"));
    fs::write(root.join("repro/first.lock"), lock).unwrap();
    // What the post names is the author's to put back.
    let text = fs::read(root.join("repro/first.md")).unwrap();
    fs::remove_file(root.join("repro/first.md")).unwrap();
    let (status, printed) = again(root);
    assert!(status == Some(2) && printed.contains("text::missing"), "{printed}");
    assert!(!printed.contains("nothing to do"));
    fs::write(root.join("repro/first.md"), text).unwrap();
    assert_eq!(files(root), before);
    let others = root.join("others");
    fs::create_dir_all(others.join("repro")).unwrap();
    fs::write(others.join("repro/mine.toml"), "mine").unwrap();
    let printed = told(root, &["init", "others"]);
    assert!(printed.contains("kept   others/repro/mine.toml\n"), "{printed}");
    assert!(!others.join("repro/first.toml").exists() && others.join(".gitattributes").exists());
}

#[test]
fn a_bundle_of_another_log_is_not_taken_for_this_ones() {
    let folder = folder();
    let root = folder.path();
    told(root, &["init"]);
    for name in ["repro/first.toml", "repro/first.md", "repro/first.lock"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    let log = root.join("example/invented-numbers.csv");
    fs::write(&log, fs::read_to_string(&log).unwrap().replace("2.4713", "2.4712")).unwrap();
    assert!(refused(root, &["init"]).contains("init::bundle-conflict"));
    assert!(!root.join("repro/first.toml").exists());
}

#[test]
fn odd_logs_make_a_project_or_say_why_not() {
    for (name, log, wanted) in [
        ("a.csv", "step,loss\n0,4\n100,3.5\n", Ok("`runs-a` ends with a `loss` of 3.5.")),
        (
            "a.csv",
            "step,val_loss,lr\n0,4,0.1\n9,nan,0.2\n",
            Ok("`runs-a` ends with a `lr` of 0.2."),
        ),
        ("a.csv", "step,val_loss\n0,4\n9,nan\n", Err("init::no-number")),
        ("a.csv", "", Err("import::unknown-format")),
        ("a.csv", "a,b\nx,y\n", Err("import::unknown-format")),
        (
            "2024-11-05.csv",
            "step,metrics/mAP50(B)\n1,0.5\n",
            Ok("ends with a `metrics/mAP50(B)` of 0.5."),
        ),
        (
            "a.jsonl",
            "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"lo",
            Ok("`runs-a` ends with a `loss` of 2.5."),
        ),
        ("a.csv", "step,\"it's \"\"x\"\"\"\n1,0.5\n", Err("init::no-number")),
    ] {
        let folder = folder();
        let root = folder.path();
        fs::create_dir(root.join("runs")).unwrap();
        let path = format!("runs/{name}");
        fs::write(root.join(&path), log).unwrap();
        match wanted {
            Ok(words) => {
                told(root, &["init", "p", "--log", &path]);
                let text = fs::read_to_string(root.join("p/repro/first.md")).unwrap();
                assert!(text.contains(words), "{log}: {text}");
                verifies(&root.join("p"));
            }
            Err(code) => {
                let complaint = refused(root, &["init", "p", "--log", &path]);
                assert!(complaint.contains(code), "{log}: {complaint}");
                assert!(!root.join("p").exists(), "nothing is left of it");
            }
        }
    }
    let folder = folder();
    // A pipe is no log, and nobody waits for it.
    fifo(&folder.path().join("pipe"));
    assert!(refused(folder.path(), &["init", "--log", "pipe"]).contains("import::unknown-format"));
    let events = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/import/mixed/rl");
    told(folder.path(), &["init", "--log", &events.display().to_string()]);
    verifies(folder.path());
}

#[test]
fn a_clone_of_the_repository_verifies() {
    let folder = folder();
    let root = folder.path();
    git(root, &["init", "-q", "whole"]);
    let whole = root.join("whole");
    fs::write(whole.join(".gitignore"), "data/\n*.lock\n").unwrap();
    fs::write(whole.join(".gitattributes"), "* text eol=crlf\n").unwrap();
    // A project below the top of its repository: the workflow is where GitHub looks for it.
    let printed = told(&whole, &["init", "papers/ein erster"]);
    assert!(
        printed.contains("wrote  .github/workflows/repro-papers-ein-erster.yml\n"),
        "{printed}"
    );
    assert!(printed.contains("git ignores `receipts/example"), "{printed}");
    assert!(printed.contains("  cd 'papers/ein erster'\n"), "{printed}");
    let workflow = whole.join(".github/workflows/repro-papers-ein-erster.yml");
    let workflow = fs::read_to_string(workflow).unwrap();
    assert!(workflow.contains("working-directory: \"papers/ein erster\"\n"), "{workflow}");
    let project = whole.join("papers/ein erster");
    fs::write(project.join(".gitignore"), "!/receipts/**\n!/repro/**\n").unwrap();
    let printed = told(&project, &["init"]);
    assert!(!printed.contains("git ignores"), "{printed}");
    assert!(printed.contains("kept   ../../.github/workflows/repro-"), "{printed}");
    git(&whole, &["add", "-A"]);
    git(&whole, &["commit", "-qm", "a post"]);
    git(root, &["clone", "-q", "whole", "clone"]);
    let clone = root.join("clone/papers/ein erster");
    assert!(fs::read(clone.join("example/invented-numbers.csv")).unwrap().contains(&b'\r'));
    told(&clone, &["verify", "receipts/example-invented-numbers"]);
}

#[test]
fn what_needs_no_project_runs_without_one() {
    let (made, folder) = (folder(), folder());
    told(made.path(), &["init"]);
    let root = folder.path();
    let bundle = made.path().join("receipts/example-invented-numbers").display().to_string();
    told(root, &["verify", &bundle]);
    told(root, &["check", &bundle]);
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/params");
    let config = fs::read_dir(config).unwrap().map(|entry| entry.unwrap().path());
    let config =
        config.filter(|path| path.extension().is_some_and(|ending| ending == "json")).min();
    told(root, &["params", &config.unwrap().display().to_string()]);
    assert_eq!(fs::read_dir(root).unwrap().count(), 0);
    // The others say what they look for.
    assert!(refused(root, &["verify", "--post", "first"]).contains("cli::no-root"));
}

/// The workflow takes a released program by its digest, and its last step replays the posts that ask for it: here there are none.
#[test]
fn the_workflow_installs_a_release_by_its_digest() {
    let folder = folder();
    let root = folder.path();
    told(root, &["init", "--log", &logs()]);
    let workflow = fs::read_to_string(root.join(".github/workflows/repro.yml")).unwrap();
    assert!(workflow.contains("sha256sum --check --strict\n"), "{workflow}");
    assert!(workflow.contains("- run: repro verify --post all --locked"), "{workflow}");
    assert!(!workflow.contains("cargo"), "{workflow}");
    let (_, replay) = workflow.rsplit_once("run: |\n").unwrap();
    assert!(replay.contains("--replay auto"), "{replay}");
    assert!(in_shell(root, replay, &[]).success());
}

/// Runs a step of the workflow as GitHub does.
fn in_shell(root: &Path, step: &str, environment: &[(&str, &str)]) -> std::process::ExitStatus {
    let program = Path::new(env!("CARGO_BIN_EXE_repro")).parent().unwrap();
    let paths = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut bash = std::process::Command::new("bash");
    bash.args(["-eo", "pipefail", "-c", step]).current_dir(root).env("PATH", paths);
    bash.envs(environment.iter().copied()).status().unwrap()
}

/// The program has to be attested by the release workflow of its repository, from the tag that its address names.
#[test]
fn the_workflow_asks_who_built_the_release() {
    let folder = folder();
    let root = folder.path();
    told(root, &["init", "--log", &logs()]);
    let workflow = fs::read_to_string(root.join(".github/workflows/repro.yml")).unwrap();
    let step = workflow.split("          # Whoever can replace the file").nth(1).unwrap();
    let step = step.split_once('\n').unwrap().1.split("          mkdir repro").next().unwrap();
    // `gh` of a folder of our own says what it was asked.
    fs::write(root.join("gh"), "#!/bin/sh\necho \"$@\" > asked\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(root.join("gh"), executable).unwrap();
    let step = format!("PATH=\"$PWD:$PATH\"\n{step}");
    let url = "https://github.com/a/b/releases/download/v1.2.3/repro.tar.gz";
    assert!(in_shell(root, &step, &[("REPRO_URL", url)]).success());
    let asked = fs::read_to_string(root.join("asked")).unwrap();
    let workflow = "--signer-workflow a/b/.github/workflows/release.yml";
    let expected = format!(
        "attestation verify repro.tar.gz --repo a/b {workflow} --source-ref refs/tags/v1.2.3 --deny-self-hosted-runners\n"
    );
    assert_eq!(asked, expected);
    fs::remove_file(root.join("asked")).unwrap();
    let elsewhere = "https://example.org/a/b/releases/download/v1.2.3/repro.tar.gz";
    assert!(!in_shell(root, &step, &[("REPRO_URL", elsewhere)]).success());
    assert!(!root.join("asked").exists());
}

/// A pull request that deletes a post with its lock leaves nothing that `--locked` could see.
#[test]
fn the_workflow_holds_a_pull_request_against_its_base() {
    let folder = folder();
    let root = folder.path();
    git(root, &["init", "--quiet"]);
    git(root, &["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
    told(root, &["init", "--log", &logs()]);
    let workflow = fs::read_to_string(root.join(".github/workflows/repro.yml")).unwrap();
    assert!(workflow.contains("fetch-depth: 2\n"), "{workflow}");
    let step = workflow.split("if: github.event_name == 'pull_request'\n").nth(1).unwrap();
    let step = step.trim_start().strip_prefix("run: ").unwrap().lines().next().unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "a post"]);
    assert!(in_shell(root, step, &[]).success());
    for name in ["repro/first.toml", "repro/first.md", "repro/first.lock", "repro/index.lock"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "none"]);
    assert!(!in_shell(root, step, &[]).success());
}
