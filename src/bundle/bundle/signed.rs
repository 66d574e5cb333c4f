//! The one file that may be added to a finished bundle: its signature.

use std::path::Path;

use super::CANNOT_WRITE;
use super::manifest::SIGNATURE;
use repro_core::disk::{Disk, LocalDisk, root_of};
use repro_core::source::{Error, Location};

/// Puts the signature `bytes` into the bundle in the folder at `path`, which has none yet. Whatever instant
/// this stops at, the bundle has no signature or the whole one, and no file that does not belong to it.
pub fn add_signature(path: &Path, shown: &str, bytes: &[u8]) -> Result<(), Error> {
    add_signature_on(&LocalDisk, path, shown, bytes)
}

/// [`add_signature`] on another disk.
fn add_signature_on(disk: &dyn Disk, path: &Path, shown: &str, bytes: &[u8]) -> Result<(), Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let root = root_of(path);
    let write = || {
        let (own, bundle) = (disk.hold(&root, &path.join(SIGNATURE))?, disk.hold(&root, path)?);
        // Beside the bundle, not in it: a half-written file inside would make the bundle refused. Whatever is in the way
        // of its name goes, a link too.
        let partial = bundle.with_file_name(format!(".{name}.{SIGNATURE}.partial"));
        disk.replace(&own, &partial, bytes)?;
        disk.sync(path)
    };
    write().map_err(|error| {
        let place = Location::file(format!("{shown}/{SIGNATURE}"));
        CANNOT_WRITE.at(place, "a writable file", error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{Bundle, BundleWriter, Origin, Receipt, Run};
    use repro_core::disk::trial::{DiskFault, Files, Trial};

    const TEXT: &[u8] = b"{\"signed\":\"by somebody\"}\n";

    fn load(root: &Path) -> Bundle {
        Bundle::load_folder(&root.join("b"), "b", None, 1).unwrap()
    }

    #[test]
    fn a_bundle_that_is_being_signed_stays_a_bundle() {
        let trial = Trial {
            faults: &DiskFault::ALL,
            prepare: &|root| {
                let mut writer = BundleWriter::create(&root.join("b")).unwrap();
                writer.file("data/log.txt", b"one\n").unwrap();
                let (id, none) = ("b".to_owned(), None);
                let run = Run {
                    id,
                    study: none.clone(),
                    arm: none.clone(),
                    plan_commit: none,
                    finished: None,
                };
                let receipt = Receipt { run: Some(run), ..Receipt::new(Origin::Emitted) };
                writer.finish(&receipt).unwrap();
            },
            work: &|disk, root| match load(root).signature() {
                Some(_) => Ok(()),
                None => add_signature_on(disk, &root.join("b"), "b", TEXT)
                    .map_err(|error| error.to_string()),
            },
            check: &|root| assert!(load(root).signature().is_none_or(|found| found == TEXT)),
            outcome: &|root| {
                let signature = load(root).signature().unwrap_or_default().to_vec();
                Files::from([(SIGNATURE.to_owned(), signature)])
            },
        };
        assert!(trial.faults() >= 8);
        assert!(trial.power(8) >= 8);
    }
}
