//! Races: somebody changes a bundle while it is read. What comes out is an honest bundle or a refusal, never
//! bytes of another place, never a mixture, and never a wait without end.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use repro_bundle::bundle::Bundle;
use repro_core::digest::Digest;

use crate::attacks::corpus::forge::{
    CONFIG, EVALUATION, Forge, METRICS, RECEIPT, TASKS, WEIGHTS, emitted, fifo, safetensors,
};

/// How long each race goes on.
const LENGTH: Duration = Duration::from_millis(1200);
/// A read that takes longer waits for something.
const PATIENCE: Duration = Duration::from_secs(10);

/// A bundle whose every file says `version`, in the same number of bytes for each.
fn version(version: u8) -> Forge {
    let mut forge = emitted();
    let elements = 1 << 18;
    let header = format!(
        r#"{{"w":{{"dtype":"F32","shape":[{elements}],"data_offsets":[0,{}]}}}}"#,
        4 * elements
    );
    forge.put(WEIGHTS, safetensors(&header, &[version, 0, 0, 0].repeat(elements)));
    forge.put(CONFIG, format!("{{\"dim\":{version}}}\n"));
    forge.put(EVALUATION, format!("{{\"step\":{version}}}\n"));
    forge.put(TASKS, format!("task,accuracy\ncopa,0.{version}\n"));
    forge.predicate["model"]["params_total"] = elements.into();
    forge
}

/// Two versions of a bundle, written apart, and the folder that is read: `receipts/run-1` holds the first.
struct Ring {
    temporary: tempfile::TempDir,
    versions: [Forge; 2],
    digests: [Digest; 2],
}

impl Ring {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = |name: &str| temporary.path().join(name).join("run-1");
        let versions = [version(10), version(20)];
        let digests = [versions[0].write(&folder("first")), versions[1].write(&folder("second"))];
        versions[0].write(&folder("receipts"));
        versions[1].write(&folder("spare"));
        Self { temporary, versions, digests }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    /// The folder that is read.
    fn read(&self) -> PathBuf {
        self.path("receipts/run-1")
    }

    /// The file of one version.
    fn of(&self, which: usize, name: &str) -> PathBuf {
        self.path(["first/run-1", "second/run-1"][which]).join(name)
    }

    /// Puts the file of one version in the place of the one that is read, at one instant.
    fn replace(&self, which: usize, name: &str) {
        let beside = self.path("beside");
        fs::copy(self.of(which, name), &beside).unwrap();
        let _ = fs::rename(&beside, self.read().join(name));
    }
}

/// Lets `change` work on the ring while bundles are read, and judges each. Answers how many were accepted
/// and the codes of the others.
fn race(change: impl Fn(&Ring, usize) + Sync) -> (usize, BTreeSet<&'static str>) {
    let ring = Ring::new();
    let stop = AtomicBool::new(false);
    let (mut accepted, mut codes) = (0, BTreeSet::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                change(&ring, round);
            }
        });
        let start = Instant::now();
        let mut last = start;
        while start.elapsed() < LENGTH {
            match read(&ring) {
                Ok(()) => accepted += 1,
                Err(code) => drop(codes.insert(code)),
            }
            assert!(last.elapsed() < PATIENCE, "a read took {:?}", last.elapsed());
            last = Instant::now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    for code in &codes {
        assert!(code.starts_with("bundle::") || code.starts_with("source::"), "{code}");
    }
    (accepted, codes)
}

/// Reads the bundle, and its files again: each is of the version whose digest was answered.
fn read(ring: &Ring) -> Result<(), &'static str> {
    let bundle = Bundle::load_folder(&ring.read(), "receipts/run-1", None, 2);
    let bundle = bundle.map_err(|error| error.code.id)?;
    let which = ring.digests.iter().position(|digest| *digest == bundle.digest());
    let which = which.expect("a bundle that nobody wrote");
    let says = [10, 20][which];
    for (file, pointer) in [(CONFIG, "/dim"), (EVALUATION, "/step")] {
        if let Ok(document) = bundle.document(file) {
            assert_eq!(document.root().at(pointer).unwrap().integer().unwrap(), says, "{file}");
        }
    }
    if let Ok(table) = bundle.document(TASKS) {
        let cell = table.root().at("/task=copa/accuracy").unwrap().text().unwrap().to_owned();
        assert_eq!(cell, format!("0.{says}"));
    }
    for file in [WEIGHTS, METRICS] {
        if let Ok(bytes) = bundle.tensors(file) {
            assert!(bytes == ring.versions[which].payload[file], "{file}");
        }
    }
    Ok(())
}

#[test]
fn a_bundle_that_nobody_changes_is_read() {
    let (accepted, codes) = race(|_, _| std::thread::sleep(Duration::from_millis(1)));
    assert!(accepted > 0 && codes.is_empty(), "{accepted} {codes:?}");
}

#[test]
fn files_replaced_one_after_the_other() {
    let names = [
        CONFIG,
        EVALUATION,
        TASKS,
        WEIGHTS,
        RECEIPT,
        "manifest-sha256.txt",
        "tagmanifest-sha256.txt",
    ];
    let (_, codes) = race(|ring, round| {
        let at = round % (2 * names.len());
        ring.replace(1 - at / names.len(), names[at % names.len()]);
    });
    assert!(!codes.is_empty());
}

#[test]
fn a_file_rewritten_in_place_by_parts() {
    race(|ring, round| {
        let file = fs::OpenOptions::new().write(true).open(ring.read().join(WEIGHTS)).unwrap();
        let bytes = fs::read(ring.of(round % 2, WEIGHTS)).unwrap();
        for (at, piece) in bytes.chunks(64 << 10).enumerate() {
            file.write_all_at(piece, (at * (64 << 10)) as u64).unwrap();
        }
    });
}

#[test]
fn a_file_that_grows_and_shrinks_and_is_emptied() {
    for name in [WEIGHTS, CONFIG, RECEIPT, "manifest-sha256.txt"] {
        race(|ring, round| {
            let path = ring.read().join(name);
            let honest = fs::read(ring.of(0, name)).unwrap();
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            match round % 4 {
                0 => file.set_len(0).unwrap(),
                1 => file.set_len(honest.len() as u64 * 2).unwrap(),
                2 => file.set_len(honest.len() as u64 / 2).unwrap(),
                _ => fs::write(&path, &honest).unwrap(),
            }
        });
    }
}

#[test]
fn a_folder_that_turns_into_a_link_to_another() {
    for (folder, outside) in
        [("data/evaluation", "second/run-1/data/evaluation"), ("data", "second/run-1/data")]
    {
        race(|ring, _| {
            let (own, away) = (ring.read().join(folder), ring.path("away"));
            fs::rename(&own, &away).unwrap();
            symlink(ring.path(outside), &own).unwrap();
            std::thread::yield_now();
            fs::remove_file(&own).unwrap();
            fs::rename(&away, &own).unwrap();
        });
    }
}

#[test]
fn a_folder_that_turns_into_another_folder() {
    race(|ring, round| {
        let own = ring.read().join("data/evaluation");
        let (from, to) =
            (ring.path(&format!("e{}", round % 2)), ring.path(&format!("e{}", (round + 1) % 2)));
        if !from.exists() {
            fs::create_dir(&from).unwrap();
            for name in [EVALUATION, TASKS] {
                let file = Path::new(name).file_name().unwrap();
                fs::copy(ring.of(1, name), from.join(file)).unwrap();
            }
        }
        fs::rename(&own, &to).unwrap();
        fs::rename(&from, &own).unwrap();
    });
}

#[test]
fn a_file_that_turns_into_a_pipe_or_a_link() {
    for name in [CONFIG, WEIGHTS, "bagit.txt", "tagmanifest-sha256.txt"] {
        let link = name == WEIGHTS;
        race(|ring, _| {
            let (own, away) = (ring.read().join(name), ring.path("away"));
            fs::rename(&own, &away).unwrap();
            match link {
                true => symlink(ring.of(1, name), &own).unwrap(),
                false => fifo(&own),
            }
            std::thread::yield_now();
            fs::rename(&away, &own).unwrap();
        });
    }
}

#[test]
fn a_bundle_that_is_removed_and_comes_back() {
    let (_, codes) = race(|ring, _| {
        fs::remove_dir_all(ring.read()).unwrap();
        std::thread::yield_now();
        ring.versions[0].write(&ring.read());
    });
    assert!(!codes.is_empty());
}

#[test]
fn a_bundle_that_turns_into_another_bundle() {
    let (accepted, _) = race(|ring, _| {
        let (spare, away) = (ring.path("spare/run-1"), ring.path("away"));
        fs::rename(ring.read(), &away).unwrap();
        fs::rename(&spare, ring.read()).unwrap();
        fs::rename(&away, &spare).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    });
    // Everything is reached from the one folder that was opened, wherever it is moved.
    assert!(accepted > 0);
}
