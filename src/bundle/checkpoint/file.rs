//! Opens files that a caller passes: regular files only, never waiting for a pipe.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::{NOT_A_FILE, NOT_FETCHED};
use repro_core::source::{DOCUMENT_CAP, Document, Error, Location, Source, UNREADABLE};

/// Opens a regular file and tells its length. Links are followed: caches of models are made of them.
pub fn open(path: &Path, name: &str) -> Result<(File, u64), Error> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let descriptor = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|error| unreadable(name, &error.into()))?;
    let file = File::from(descriptor);
    let metadata = file.metadata().map_err(|error| unreadable(name, &error))?;
    if !metadata.is_file() {
        let found = if metadata.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
        return Err(NOT_A_FILE.at(Location::file(name), "a regular file", found));
    }
    Ok((file, metadata.len()))
}

/// Reads a whole JSON or TOML document.
pub fn read_document(path: &Path, name: &str) -> Result<Document, Error> {
    Document::parse(Source::new(name, read_at_most(DOCUMENT_CAP, path, name)?)?)
}

/// Reads the config of a model as programs of others write it: with `Infinity`, integers of any size, a byte order mark.
pub fn read_config(path: &Path, name: &str) -> Result<Document, Error> {
    if !name.to_ascii_lowercase().ends_with(".json") {
        return read_document(path, name);
    }
    let bytes = read_at_most(DOCUMENT_CAP, path, name)?;
    Document::parse_loose_json(Source::without_mark(name, bytes)?)
}

/// The most bytes of an index: one that names all experts of all layers is longer than any document.
const INDEX_CAP: usize = 64 << 20;

/// Reads the index of a checkpoint of many shards.
pub fn read_index(path: &Path, name: &str) -> Result<Document, Error> {
    let bytes = read_at_most(INDEX_CAP, path, name)?;
    Document::parse_loose_json(Source::of_at_most(INDEX_CAP, name, bytes)?)
}

/// All bytes of a file; of one that is longer than `cap`, one more than these.
fn read_at_most(cap: usize, path: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let (file, _) = open(path, name)?;
    let mut bytes = Vec::new();
    let read = file.take(cap as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, &error))?;
    Ok(bytes)
}

/// A refusal for a file that the system does not let us read.
pub fn unreadable(name: &str, error: &std::io::Error) -> Error {
    UNREADABLE.at(Location::file(name), "a readable file", error.to_string())
}

/// The first bytes of a Git LFS pointer, which stands in for a large file.
pub const LFS_POINTER: &[u8; 8] = b"version ";

/// A refusal for what Git LFS left in the place of a file.
pub fn lfs_pointer(name: &str) -> Error {
    NOT_FETCHED.at(Location::file(name), "the file itself", "its Git LFS pointer")
}
