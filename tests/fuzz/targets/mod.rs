//! What each reader of strangers' bytes must keep, whatever the bytes are. A target is a function that takes
//! bytes and panics where a promise is broken; the fuzzers, the replay for coverage and the short run of
//! `cargo test` call the same functions.

pub mod bundle;
pub mod decimal;
pub mod envelope;
pub mod header;
pub mod import;
pub mod json;
pub mod post;
pub mod tables;
mod tree;

use std::path::{Path, PathBuf};

use repro::source::Refusal;
use tempfile::TempDir;

/// A reader under test.
pub struct Target {
    /// Its name: of the fuzzer, of the folder of seeds and of the dictionary.
    pub name: &'static str,
    /// Reads the bytes and panics where a promise is broken.
    pub check: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "bundle", check: bundle::check },
    Target { name: "decimal", check: decimal::check },
    Target { name: "envelope", check: envelope::check },
    Target { name: "header", check: header::check },
    Target { name: "import", check: import::check },
    Target { name: "json", check: json::check },
    Target { name: "post", check: post::check },
    Target { name: "tables", check: tables::check },
];

/// A refusal says what was expected and found, where, and what to do; the place lies in `text`, where the
/// refusal is about a text.
fn refused(refusal: &Refusal, text: Option<&[u8]>) {
    assert!(!refusal.expected.is_empty() && !refusal.found.is_empty(), "{refusal:?}");
    assert!(!refusal.way_out.is_empty() && !refusal.place.file.is_empty(), "{refusal:?}");
    assert!(refusal.to_string().contains(refusal.code.id));
    if let Some(text) = text {
        let lines = text.split(|&byte| byte == b'\n').count();
        assert!(refusal.place.line <= lines, "{refusal:?} beyond {lines} lines");
    }
}

/// An empty folder, on the memory file system where there is one.
fn new_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    folder.expect("a folder for the files of the input")
}

/// The folder of the fixtures, from the project or from the crate of the fuzzers.
fn corpus() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/corpus", "../corpus"].map(|folder| crate_folder.join(folder));
    folders.into_iter().find(|folder| folder.is_dir()).expect("the fixtures of the kinds")
}
