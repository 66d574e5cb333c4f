//! The program, machine and plan recorded in a receipt: read from the build, the system and git.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use crate::cli::git::git;
use crate::cli::output::folder_of;
use repro_bundle::bundle::{ARITHMETIC, Environment, Trainer};
use repro_core::digest::Digest;
use repro_replay::backend::Place;
use repro_replay::data::Tokenizer;

/// The lock file that this program was built with.
const LOCK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"));
/// The libraries whose versions receipts name: those that compute, or decide what is computed on.
const LIBRARIES: &[&str] = &["chacha20", "libm", "rayon", "tokenizers"];

/// This program; the build script finds the revision, if there is one.
pub fn trainer() -> Trainer {
    Trainer {
        name: "repro".to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        source_revision: option_env!("REPRO_SOURCE_REVISION").map(str::to_owned),
        dirty: option_env!("REPRO_SOURCE_DIRTY").map(|dirty| dirty == "true"),
        lockfile_sha256: Some(Digest::of(LOCK.as_bytes())),
        arithmetic: Some(ARITHMETIC.to_owned()),
    }
}

/// This machine, with the device and the instructions in use; the threads are for each run to say.
pub fn environment(place: &Place) -> Environment {
    let device = place.device.as_ref();
    Environment {
        cpu: processor(),
        features: vec![place.isa.name().to_owned()],
        threads: None,
        device: Some(device.map_or("cpu".to_owned(), |own| format!("{} {}", own.id(), own.name()))),
        os: Some(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        libraries: libraries(LOCK),
        memory_bytes: line_of("/proc/meminfo", "MemTotal").and_then(|text| {
            let kilobytes: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
            kilobytes.checked_mul(1024)
        }),
    }
}

/// The name of the CPU.
pub fn processor() -> Option<String> {
    line_of("/proc/cpuinfo", "model name")
}

/// The commit that last changed the study file, where the file is as it was committed.
pub fn plan_commit(study: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let mut command = git(folder_of(study))?;
        command.args(arguments).arg(study.file_name()?);
        let answer = command.stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(answer.stdout).ok()?;
        answer.status.success().then(|| text.trim().to_owned())
    };
    let changed = git(&["status", "--porcelain", "--ignored", "--"])?;
    if !changed.is_empty() {
        return None;
    }
    git(&["log", "-1", "--format=%H", "--"]).filter(|commit| !commit.is_empty())
}

/// The text after `name` and a colon in the first such line of a system file.
fn line_of(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let value = |line: &str| {
        line.strip_prefix(name)?.trim_start().strip_prefix(':').map(str::trim).map(str::to_owned)
    };
    text.lines().find_map(value)
}

/// The versions of the libraries in a lock file.
fn libraries(lock: &str) -> BTreeMap<String, String> {
    let quoted = |line: &str, key: &str| {
        Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
    };
    let lines = || lock.lines().zip(lock.lines().skip(1));
    let versions = lines()
        .filter_map(|(name, version)| Some((quoted(name, "name")?, quoted(version, "version")?)));
    let built_in = |name: &str| Tokenizer::READS_FILES || name != "tokenizers";
    let named = |name: &str| LIBRARIES.contains(&name) && built_in(name);
    versions.filter(|(name, _)| named(name)).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_lock_file_names_every_library() {
        let found = libraries(LOCK);
        assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), LIBRARIES);
        assert!(found["libm"].starts_with("0."), "{found:?}");
    }

    #[test]
    fn only_a_committed_plan_has_a_commit() {
        let temporary = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.arg("-C").arg(temporary.path()).args(arguments).stdout(Stdio::null());
            command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        let study = temporary.path().join("s.toml");
        std::fs::write(&study, "a = 1\n").unwrap();
        assert_eq!(plan_commit(&study), None, "outside of a repository");
        if !git(&["init"]) {
            return;
        }
        assert_eq!(plan_commit(&study), None, "not committed");
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        assert!(git(&["add", "."]));
        assert!(git(&[&identity[..], &["commit", "-m", "plan"]].concat()));
        let commit = plan_commit(&study).unwrap();
        assert_eq!(commit.len(), 40);
        std::fs::write(temporary.path().join("other"), "b").unwrap();
        assert!(git(&["add", "."]));
        assert!(git(&[&identity[..], &["commit", "-m", "other"]].concat()));
        assert_eq!(plan_commit(&study), Some(commit), "other commits change nothing");
        std::fs::write(&study, "a = 2\n").unwrap();
        assert_eq!(plan_commit(&study), None, "changed");
    }
}
