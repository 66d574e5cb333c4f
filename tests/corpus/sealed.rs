//! Fixtures as bundles. The tag files of a bundle follow from its payload, so the repository does not hold them:
//! a copy is sealed, as `repro bundle seal` does.

use std::fs;
use std::path::{Path, PathBuf};

use repro_bundle::bundle::seal;
use tempfile::TempDir;

/// The folder of the fixtures, from the project or from the crate of the fuzzers.
pub fn corpus() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/corpus", "../corpus"].map(|folder| crate_folder.join(folder));
    folders.into_iter().find(|folder| folder.is_dir()).expect("the corpus")
}

/// An empty folder, on the memory file system where there is one.
pub fn new_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    folder.expect("a folder for the files of the input")
}

/// A copy of these folders of the corpus, under their names, with every bundle in them sealed.
pub fn sealed(names: &[&str]) -> TempDir {
    let copy = new_folder();
    for name in names {
        sealed_into(name, &copy.path().join(name));
    }
    copy
}

/// Copies one folder of the corpus to `to`, and seals every bundle in it.
pub fn sealed_into(name: &str, to: &Path) {
    copy_and_seal(&corpus().join(name), to);
}

fn copy_and_seal(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the fixture") {
        let entry = entry.expect("a file of the fixture");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy_and_seal(&from, &to),
            false => drop(fs::copy(from, to).expect("a copy")),
        }
    }
    if to.join("data/receipt.json").is_file() {
        seal(to, &from.display().to_string(), None).expect("a fixture is a bundle");
    }
}
