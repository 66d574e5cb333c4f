//! Files that a receipt lists outside the bundle: if they are available, they are hashed like its own files.

use std::path::Path;

use super::folder::Folder;
use repro_core::digest::Digest;
use repro_core::parallel::Spare;
use repro_core::source::Error;

/// The length and the digest of the plain file `name` in a folder; none where there is no file of that name.
pub fn artifact(folder: &Path, name: &str) -> Result<Option<(u64, Digest)>, Error> {
    let held = Folder::open(folder, &folder.display().to_string())?;
    if std::fs::symlink_metadata(folder.join(name)).is_err() {
        return Ok(None);
    }
    let file = held.file(name)?;
    let length = file.length();
    Ok(Some((length, file.hash(&Spare::default(), |_| Ok(()))?)))
}
