//! Tells the program which revision of its own source it was built from, for receipts; and the digest of this source, for
//! results that only the same program may use again.
//!
//! The revision is the last commit that touched what is compiled. While there are changes beyond it the
//! program says so (`dirty`) and is built again after the next commit; where there is no git, it says
//! nothing.
#![allow(clippy::disallowed_macros, reason = "cargo reads what a build script prints")]

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// What the program is made of.
const PARTS: [&str; 4] = ["src", "Cargo.toml", "Cargo.lock", "scripts/build.rs"];

fn main() {
    for part in PARTS {
        println!("cargo::rerun-if-changed={part}");
    }
    println!("cargo::rustc-env=REPRO_SOURCE_SHA256={}", digest());
    let package = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let revision = git(&["log", "-1", "--format=%H", "--"]).filter(|text| !text.is_empty());
    let Some(revision) = revision else {
        println!("cargo::rustc-env=REPRO_VERSION={package}");
        return;
    };
    let short = revision.get(..12).unwrap_or(&revision);
    println!("cargo::rustc-env=REPRO_VERSION={package} ({short})");
    let Some(changes) = git(&["status", "--porcelain", "--"]) else { return };
    let dirty = !changes.is_empty();
    println!("cargo::rustc-env=REPRO_SOURCE_REVISION={revision}");
    println!("cargo::rustc-env=REPRO_SOURCE_DIRTY={dirty}");
    if dirty && let Some(log) = output(&["rev-parse", "--git-path", "logs/HEAD"]) {
        // A path that is not there would mean a new build every time.
        if Path::new(&log).exists() {
            println!("cargo::rerun-if-changed={log}");
        }
    }
}

/// The digest of all parts: of their names and contents in order, each after its length.
fn digest() -> String {
    let mut files = Vec::new();
    PARTS.iter().for_each(|part| collect(Path::new(part), &mut files));
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let content = std::fs::read(&file).unwrap_or_default();
        for bytes in [file.to_string_lossy().as_bytes(), &content] {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files in a folder, or a file.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else { return files.push(path.to_owned()) };
    for entry in entries.flatten() {
        collect(&entry.path(), files);
    }
}

/// What git says of the parts.
fn git(arguments: &[&str]) -> Option<String> {
    output(&[arguments, &PARTS].concat())
}

fn output(arguments: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    answer.status.success().then(|| text.trim().to_owned())
}
