//! What is written where: nothing through a link, nothing into a bundle, and nothing of what failed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::attacks::corpus::forge::{RECEIPT, emitted, fifo, transcribed};
use crate::train::{code, command, repro, text};

fn project() -> TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    fs::create_dir_all(root.join("repro")).unwrap();
    transcribed().write(&root.join("receipts/typed"));
    emitted().write(&root.join("receipts/run-1"));
    fs::write(root.join("victim"), "mine\n").unwrap();
    temporary
}

fn untouched(root: &Path) {
    assert_eq!(fs::read_to_string(root.join("victim")).unwrap(), "mine\n");
}

#[test]
fn no_write_follows_a_link_that_somebody_planted() {
    let temporary = project();
    let root = temporary.path();
    let victim = root.join("victim");
    for name in ["data/receipt.json.partial", "bagit.txt.partial", "manifest-sha256.txt.partial"] {
        let planted = root.join("receipts/typed").join(name);
        symlink(&victim, &planted).unwrap();
        // A link makes the folder no bundle; where it is only in the way of a name, it goes.
        let _ = repro(root, &["bundle", "seal", "receipts/typed"]);
        untouched(root);
        let _ = fs::remove_file(&planted);
    }
    assert_eq!(code(&repro(root, &["bundle", "seal", "receipts/typed"])), 0);
    symlink(&victim, root.join("receipts/.typed.receipt.sig.partial")).unwrap();
    assert_eq!(code(&repro(root, &["bundle", "keygen", "--out", "key"])), 0);
    assert_eq!(code(&repro(root, &["bundle", "sign", "--key", "key", "receipts/typed"])), 0);
    untouched(root);
    // A folder that is a link leads elsewhere.
    let elsewhere = root.join("elsewhere");
    fs::create_dir_all(elsewhere.join("data")).unwrap();
    fs::create_dir(root.join("receipts/linked")).unwrap();
    symlink(elsewhere.join("data"), root.join("receipts/linked/data")).unwrap();
    fs::write(elsewhere.join("data/receipt.json"), "{}").unwrap();
    assert_eq!(code(&repro(root, &["bundle", "seal", "receipts/linked"])), 2);
    assert_eq!(fs::read_to_string(elsewhere.join("data/receipt.json")).unwrap(), "{}");
}

#[test]
fn reports_go_where_nothing_is_lost() {
    let temporary = project();
    let root = temporary.path();
    let verify = |arguments: &[&str]| {
        let output = repro(root, &[&["verify", "receipts/run-1"], arguments].concat());
        (code(&output), text(&output.stderr).to_owned())
    };
    let plain = verify(&[]).0;
    assert_eq!(verify(&["--output", "json=report.json"]).0, plain);
    for (arguments, why) in [
        (&["--output", "json=receipts/run-1/report.json"][..], "a file outside bundles"),
        (&["--output", "json=receipts/run-1/data/receipt.json"], "a file outside bundles"),
        (&["--output", "json=a", "--output", "text=a"], "a different file for each `--output`"),
        (&["--output", "json=/dev/full"], "cli::cannot-write"),
        (&["--output", "json=link"], "cli::cannot-write"),
    ] {
        let _ = symlink(root.join("victim"), root.join("link"));
        let (status, complaint) = verify(arguments);
        assert_eq!(status, 2, "{arguments:?}");
        assert!(complaint.contains(why), "{arguments:?}: {complaint}");
        untouched(root);
    }
    assert_eq!(verify(&[]).0, plain, "the bundle is as it was");
    // Whatever a command prints to, a full device is told.
    for arguments in
        [&["verify", "receipts/run-1"][..], &["explain", "--list", "codes"], &["explain", "scope"]]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(root, arguments).stdout(full).output().unwrap();
        assert_eq!(code(&output), 2, "{arguments:?}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_post_or_lock_stops_nobody() {
    let temporary = project();
    let root = temporary.path();
    fifo(&root.join("repro/pipe.toml"));
    fs::write(
        root.join("repro/p.toml"),
        "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"t\"\n[names]\nrun = \"run-1\"\n",
    )
    .unwrap();
    fifo(&root.join("repro/p.lock"));
    for arguments in [&["--post", "pipe"][..], &["--post", "p", "--locked"]] {
        let began = Instant::now();
        let output = repro(root, &[&["verify"], arguments].concat());
        assert_eq!(code(&output), 2, "{}", text(&output.stdout));
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn a_sealing_that_fails_leaves_what_was_there() {
    let temporary = project();
    let root = temporary.path();
    let bundle = root.join("receipts/typed");
    let before = tree(&bundle);
    // Unread keys, which a reader refuses, in a layout that sealing rewrites.
    fs::write(bundle.join("data/more.json"), "{\n  \"b\": 1\n}\n").unwrap();
    let with = tree(&bundle);
    let failed = repro(root, &["bundle", "seal", "receipts/typed"]);
    assert_eq!(code(&failed), 2, "an untraced document");
    assert_eq!(tree(&bundle), with);
    fs::remove_file(bundle.join("data/more.json")).unwrap();
    assert_eq!(tree(&bundle), before);
    assert_eq!(code(&repro(root, &["verify", "receipts/typed"])), 0);
    // A new folder is told what it needs.
    fs::create_dir_all(root.join("receipts/new/data")).unwrap();
    fs::write(root.join("receipts/new/data/config.json"), "{}").unwrap();
    let asked = repro(root, &["bundle", "seal", "receipts/new"]);
    assert_eq!(code(&asked), 2);
    let complaint = text(&asked.stderr);
    assert!(
        complaint.contains("bundle::no-receipt") && complaint.contains("\"origin\":\"emitted\""),
        "{complaint}"
    );
}

#[test]
fn files_outside_of_a_bundle_are_named_and_checked_where_they_are() {
    let temporary = project();
    let root = temporary.path();
    let bundle = root.join("receipts/run-1");
    let receipt = fs::read_to_string(bundle.join(RECEIPT)).unwrap();
    let mut receipt: serde_json::Value = serde_json::from_str(&receipt).unwrap();
    let digest = repro_core::digest::Digest::of(b"weights").to_string();
    receipt["predicate"]["files"].as_array_mut().unwrap().push(serde_json::json!(
        {"name": "big.safetensors", "bytes": 7, "sha256": digest, "external": true}
    ));
    fs::write(bundle.join(RECEIPT), receipt.to_string()).unwrap();
    let sealed = repro(root, &["bundle", "seal", "receipts/run-1"]);
    assert_eq!(code(&sealed), 0, "{}", text(&sealed.stderr));
    let judged = |arguments: &[&str]| {
        let all = [&["verify", "receipts/run-1", "--format", "json"], arguments].concat();
        let output = repro(root, &all);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let claims = report["posts"][0]["claims"].as_array().unwrap();
        let claim = claims.iter().find(|claim| claim["id"] == "artifact-big.safetensors");
        claim.map(|claim| claim["verdict"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert_eq!(judged(&[]), "unchecked");
    fs::create_dir(root.join("store")).unwrap();
    assert_eq!(judged(&["--artifacts", "store"]), "unchecked");
    fs::write(root.join("store/big.safetensors"), "weights").unwrap();
    assert_eq!(judged(&["--artifacts", "store"]), "verified");
    fs::write(root.join("store/big.safetensors"), "weightz").unwrap();
    assert_eq!(judged(&["--artifacts", "store"]), "refuted");
}

/// All files of a folder with their bytes.
fn tree(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path),
                false => drop(files.insert(path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    files
}
