//! The bundles of a study in a folder, whatever their names are and whoever pins them.

use std::path::Path;

use repro_bundle::bundle::{self, record::RecordValue};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, UNREADABLE};

/// A folder whose receipt refers to a study.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Present {
    /// The name of the folder.
    pub bundle: String,
    /// The study that its receipt names.
    pub study: String,
    /// The attempt of its start, if starts were logged.
    pub attempt: Option<Digest>,
}

/// The bundles below `root` whose receipts name a study, sorted. Only the receipt is read: whether a
/// bundle is intact is for those who depend on it.
pub fn present(root: &Path) -> Result<Vec<Present>, Error> {
    let folder = root.join("receipts");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = |error: std::io::Error| {
        UNREADABLE.at(Location::file("receipts"), "a folder of bundles", error.to_string())
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        // A folder without a readable receipt is not a bundle and belongs to no study.
        let Ok(document) = bundle::read_receipt(&path, &format!("receipts/{name}")) else {
            continue;
        };
        let study = document.root().at("/predicate/run/study");
        if let Ok(study) = study.and_then(|node| node.text().map(str::to_owned)) {
            let attempt = document.root().at("/predicate/start/attempt").and_then(Digest::read);
            found.push(Present { bundle: name.to_owned(), study, attempt: attempt.ok() });
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_of_studies_are_found_by_their_receipts() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(present(root.path()).unwrap(), []);
        let bundle = |name: &str, receipt: &str| {
            let folder = root.path().join("receipts").join(name).join("data");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("receipt.json"), receipt).unwrap();
        };
        bundle("b", r#"{"predicate":{"run":{"id":"b","study":"small"}}}"#);
        bundle("a", r#"{"predicate":{"run":{"id":"a","study":"other"}}}"#);
        bundle("c", r#"{"predicate":{"run":{"id":"c"}}}"#);
        bundle("d", "not a receipt");
        std::fs::create_dir_all(root.path().join("receipts/e")).unwrap();
        // Reading does not wait for a pipe without a writer.
        std::fs::create_dir_all(root.path().join("receipts/f/data")).unwrap();
        let pipe = root.path().join("receipts/f/data/receipt.json");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        let found: Vec<_> =
            present(root.path()).unwrap().into_iter().map(|p| (p.bundle, p.study)).collect();
        let wanted = [("a", "other"), ("b", "small")];
        assert_eq!(found, wanted.map(|(bundle, study)| (bundle.to_owned(), study.to_owned())));
    }
}
