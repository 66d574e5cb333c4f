//! The one file that may be added to a finished bundle: its signature.

use std::path::Path;

use super::CANNOT_WRITE;
use super::manifest::SIGNATURE;
use super::write::{Disk, LocalDisk};
use crate::source::{Place, Refusal};

/// Puts the signature `bytes` into the bundle in the folder at `path`, which has none yet. Whatever instant
/// this stops at, the bundle has no signature or the whole one, and no file that does not belong to it.
pub fn add_signature(path: &Path, shown: &str, bytes: &[u8]) -> Result<(), Refusal> {
    add_signature_on(LocalDisk, path, shown, bytes)
}

/// [`add_signature`] on another disk.
pub(super) fn add_signature_on<D: Disk>(
    mut disk: D,
    path: &Path,
    shown: &str,
    bytes: &[u8],
) -> Result<(), Refusal> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Beside the bundle, not in it: a half-written file inside would make the bundle refused.
    let partial = path.with_file_name(format!(".{name}.{SIGNATURE}.partial"));
    let written = disk.create(&partial).and_then(|mut file| {
        disk.write(&mut file, bytes)?;
        disk.sync(&partial)?;
        disk.rename(&partial, &path.join(SIGNATURE))?;
        disk.sync(path)
    });
    written.map_err(|error| {
        let place = Place::file(format!("{shown}/{SIGNATURE}"));
        CANNOT_WRITE.at(place, "a file that can be written", error.to_string())
    })
}
