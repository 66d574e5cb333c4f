//! Runs spread over several files, and small files that are read completely.

use std::path::Path;

use crate::import::log::{Identity, Log};
use crate::import::run::LogPart;
use repro_core::digest::Hasher;
use repro_core::source::{Error, Source};

/// The combined identity of several files. A single file keeps its own digest; for more, the digest covers one line per
/// file with its digest and its name without folders.
pub fn one_identity(identities: Vec<(String, Identity)>) -> (Identity, Vec<LogPart>) {
    if let [(_, identity)] = identities.as_slice() {
        return (*identity, Vec::new());
    }
    let mut hasher = Hasher::default();
    for (file, identity) in &identities {
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        let digest = identity.sha256.map(|digest| digest.to_string()).unwrap_or_default();
        hasher.update(format!("{digest}  {name}\n").as_bytes());
    }
    let bytes = identities.iter().map(|(_, identity)| identity.bytes).sum();
    let parts = identities.into_iter().map(|(file, identity)| LogPart { file, identity }).collect();
    (Identity { sha256: Some(hasher.finish()), bytes }, parts)
}

/// Reads a small text file.
pub fn text(path: &Path) -> Result<(Source, Identity), Error> {
    let name = path.display().to_string();
    Log::open(path, &name, true)?.into_source()
}
