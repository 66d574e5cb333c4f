//! Bundles as the library loads them. What must be refused is in `tests/corpus/attacks`.

use std::fs;
use std::process::Command;

use repro_bundle::bundle::{Bundle, Origin};
use repro_core::digest::Digest;
use repro_core::source::Error;

use crate::attacks::corpus::forge::{CONFIG, Forge, TASKS, emitted, transcribed};
use crate::shared::say_skipped;

fn load(forge: &Forge) -> Result<Bundle, Error> {
    let temporary = tempfile::tempdir().unwrap();
    forge.write(&temporary.path().join("receipts/run-1"));
    Bundle::load(temporary.path(), "run-1", None, 2)
}

#[test]
fn good_bundles_load() {
    let bundle = load(&emitted()).unwrap();
    assert_eq!(
        (bundle.name(), bundle.origin(), bundle.files().len()),
        ("run-1", Origin::Emitted, 6)
    );
    assert_eq!(bundle.receipt().checkpoints[0].step, 10);
    let signed = Forge { disk: |p| fs::write(p.join("receipt.sig"), "{}").unwrap(), ..emitted() };
    assert_eq!(load(&signed).unwrap().digest(), bundle.digest());
    let typed = load(&transcribed()).unwrap();
    assert_eq!((typed.origin(), typed.facts()[0].value.as_str()), (Origin::Transcribed, "2.310"));
    assert_eq!(typed.typed_from("data/configs/a.toml"), Some("config-a"));
}

#[test]
fn another_bundle_than_the_pinned_one_is_refused_with_both_digests() {
    let temporary = tempfile::tempdir().unwrap();
    emitted().write(&temporary.path().join("receipts/run-1"));
    let digest = Bundle::load(temporary.path(), "run-1", None, 1).unwrap().digest();
    assert!(Bundle::load(temporary.path(), "run-1", Some(&digest), 1).is_ok());
    let pin = Digest::of(b"");
    let error = Bundle::load(temporary.path(), "run-1", Some(&pin), 1).unwrap_err();
    assert_eq!(error.code.id, "bundle::wrong-bundle");
    assert_eq!((error.expected.clone(), error.found.clone()), (pin.prefixed(), digest.prefixed()));
    for name in ["../run-1", "run-1/data", ".", "..", "", "/etc"] {
        let error = Bundle::load(temporary.path(), name, None, 1).unwrap_err();
        assert_eq!(error.code.id, "bundle::bad-bundle-name", "{name}");
    }
    assert_eq!(
        Bundle::load(temporary.path(), "run-2", None, 1).unwrap_err().code.id,
        "bundle::not-found"
    );
}

#[test]
fn only_the_bytes_of_a_document_that_were_checked_are_parsed() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("receipts/run-1");
    let long = format!("[{}]\n", vec!["1"; 1 << 16].join(","));
    let mut forge = emitted();
    forge.put("data/notes/long.json", long.as_str());
    forge.write(&folder);
    let bundle = Bundle::load(temporary.path(), "run-1", None, 1).unwrap();
    let accuracy = bundle.document(TASKS).unwrap().root().at("task=copa/accuracy").unwrap();
    assert_eq!((accuracy.text().unwrap(), accuracy.place().line), ("0.70", 2));
    // A small one was kept, a long one is read and hashed again.
    fs::write(folder.join(CONFIG), "{\"dim\":65}\n").unwrap();
    let width = bundle.document(CONFIG).unwrap().root().at("/dim").unwrap();
    assert_eq!(width.integer().unwrap(), 64);
    fs::write(folder.join("data/notes/long.json"), long.replacen('1', "2", 1)).unwrap();
    let error = bundle.document("data/notes/long.json").unwrap_err();
    assert_eq!(error.code.id, "bundle::wrong-digest");
    assert_eq!(bundle.document("data/none.json").unwrap_err().code.id, "bundle::unknown-file");
}

#[test]
fn the_number_of_threads_changes_neither_answer_nor_refusal() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("receipts/run-1");
    let mut forge = emitted();
    for index in 0..20 {
        forge.put(&format!("data/notes/{index:02}.json"), if index < 7 { "{}\n" } else { "{} \n" });
    }
    forge.write(&folder);
    for threads in [0, 1, 2, 8] {
        let error = Bundle::load(temporary.path(), "run-1", None, threads).unwrap_err();
        assert_eq!(error.place.file, "receipts/run-1/data/notes/07.json");
    }
}

#[test]
fn long_files_are_read_side_by_side_and_the_first_wrong_one_is_told() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("receipts/run-1");
    // Longest first is another order than that of the names.
    let lengths = [1_200_000, 3_000_001, 1_048_576, 2_500_000, 1_300_063];
    let name = |at: usize| format!("data/long/{at}.txt");
    let mut forge = emitted();
    for (at, length) in lengths.into_iter().enumerate() {
        forge.put(&name(at), ["some words\n", "other words\n"][at % 2].repeat(length / 11));
    }
    forge.write(&folder);
    let texts = [0, 1, 2, 3, 4].map(|at| fs::read(folder.join(name(at))).unwrap());
    for damaged in 0..1_usize << lengths.len() {
        let is_damaged = |at: usize| damaged >> at & 1 == 1;
        for (at, text) in texts.iter().enumerate() {
            let mut text = text.clone();
            match at % 3 {
                _ if !is_damaged(at) => {}
                0 => text[0] ^= 1,
                1 => *text.last_mut().unwrap() ^= 1,
                _ => text[..4].copy_from_slice(b"PK\x03\x04"),
            }
            fs::write(folder.join(name(at)), text).unwrap();
        }
        for threads in [0, 1, 2, 3, 8] {
            let found = Bundle::load(temporary.path(), "run-1", None, threads);
            let told = found.err().map(|error| error.place.file.clone());
            let first = (0..lengths.len()).find(|at| is_damaged(*at));
            let wanted = first.map(|at| format!("receipts/run-1/{}", name(at)));
            assert_eq!(told, wanted, "{damaged:b} {threads}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_may_be_mounted_inside_a_bundle() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    fs::create_dir(root.join("repro")).unwrap();
    emitted().write(&root.join("run-1"));
    emitted().write(&root.join("other"));
    let under = |mount: &str| {
        let script = format!("{mount} || exit 99; exec \"$0\" verify run-1");
        let arguments = ["--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_repro")];
        let output = Command::new("unshare").args(arguments).current_dir(root).output().ok()?;
        Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
            .filter(|(code, _)| *code != Some(99))
    };
    let Some((code, said)) = under("mount -t tmpfs none /mnt") else {
        return say_skipped("mount points", "nothing can be mounted here");
    };
    assert!(code != Some(2) && !said.contains("bundle::different-file-system"), "{said}");
    for (mount, place) in [
        ("mount -t tmpfs none run-1/data", "run-1/data"),
        ("mount --bind other/data run-1/data", "run-1/data"),
        ("mount --bind other/data/receipt.json run-1/data/receipt.json", RECEIPT_PLACE),
        ("mount --bind /proc/version run-1/data/receipt.json", RECEIPT_PLACE),
    ] {
        let (code, said) = under(mount).unwrap();
        assert_eq!(code, Some(2), "{mount}: {said}");
        assert!(
            said.contains("bundle::different-file-system") && said.contains(place),
            "{mount}: {said}"
        );
    }
}

/// Where the receipt of the bundle lies.
const RECEIPT_PLACE: &str = "run-1/data/receipt.json";
