//! Seals a folder with a transcribed payload.

use std::path::Path;

use super::canonical::to_json;
use super::folder::{Folder, Listing};
use super::manifest;
use super::receipt::{Origin, RECEIPT, Receipt};
use super::write::BundleWriter;
use super::{Bundle, NO_RECEIPT, PUBLISHED, UNWRITABLE};
use repro_core::digest::canonical;
use repro_core::disk::{Disk, LocalDisk};
use repro_core::source::{DOCUMENT_CAP, Document, Error, Location, Source};

/// Makes the folder at `path` a bundle and answers it; a bundle is sealed again after an edit.
///
/// `data/receipt.json` holds either the receipt alone, as it is typed, or a whole statement from an earlier
/// sealing. JSON may be laid out for people: it is rewritten in canonical form, but for the documents of others below
/// [`PUBLISHED`]. Sizes and digests are filled in. The same payload gives the same bytes. The result is loaded, so whatever a reader would
/// refuse is refused here, and what was there before is put back.
pub fn seal(path: &Path, shown: &str, date: Option<&str>) -> Result<Bundle, Error> {
    seal_on(&LocalDisk, path, shown, date)
}

/// [`seal`] on any disk.
fn seal_on(disk: &dyn Disk, path: &Path, shown: &str, date: Option<&str>) -> Result<Bundle, Error> {
    let folder = Folder::open(path, shown)?;
    let listing = folder.list(1)?;
    let receipt = typed_receipt(&folder, &listing)?;
    let json = |name: &str| name.ends_with(".json") || name.ends_with(".jsonl");
    let is_published =
        |name: &str| receipt.origin == Origin::Transcribed && name.starts_with(PUBLISHED);
    let is_typed = |name: &str| name.starts_with("data/") && name != RECEIPT && !is_published(name);
    let mut changed = Vec::new();
    for name in listing.keys().filter(|name| is_typed(name) && json(name)) {
        let document = document(&folder, name)?;
        let text = rewritten(&document, name.ends_with(".jsonl"), folder.place(name))?;
        if text != document.source.text() {
            changed.push((name.as_str(), text));
        }
    }
    let rewritten = changed.iter().map(|(name, _)| *name);
    let before = Before::of(&folder, &listing, rewritten.chain(SEALED))?;
    let sealed = (|| {
        let mut writer = BundleWriter::reopen(disk, path)?;
        for (name, text) in &changed {
            writer.file(name, text.as_bytes())?;
        }
        if let Some(date) = date {
            writer = writer.dated(date);
        }
        let digest = writer.finish(&receipt)?;
        Bundle::load_folder(path, shown, Some(&digest), 1)
    })();
    if sealed.is_err() {
        before.put_back(disk, path)?;
    }
    sealed
}

/// The files that sealing writes, the declaration last.
const SEALED: [&str; 5] =
    [RECEIPT, manifest::INFO, manifest::PAYLOAD, manifest::TAGS, manifest::DECLARATION];

/// The files that a sealing changes, as they were.
struct Before<'n>(Vec<(&'n str, Option<Vec<u8>>)>);

impl<'n> Before<'n> {
    fn of(
        folder: &Folder,
        listing: &Listing,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Self, Error> {
        let read = |name: &'n str| {
            let bytes = listing.contains_key(name).then(|| folder.file(name)?.read(DOCUMENT_CAP));
            Ok((name, bytes.transpose()?))
        };
        names.map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Puts them back, so that a bundle is the bundle that it was, and another folder none.
    fn put_back(self, disk: &dyn Disk, path: &Path) -> Result<(), Error> {
        let mut writer = BundleWriter::reopen(disk, path)?;
        for (name, bytes) in self.0 {
            match bytes {
                Some(bytes) => writer.put(name, &bytes)?,
                None if writer.path(name).exists() => writer.remove(name)?,
                None => {}
            }
        }
        writer.sync_names()
    }
}

fn document(folder: &Folder, name: &str) -> Result<Document, Error> {
    let bytes = folder.file(name)?.read(DOCUMENT_CAP)?;
    Document::parse(Source::new(folder.place(name).file, bytes)?)
}

fn typed_receipt(folder: &Folder, listing: &Listing) -> Result<Receipt, Error> {
    if !listing.contains_key(RECEIPT) {
        let found = format!("{} other files", listing.len());
        return Err(NO_RECEIPT.at(folder.place(RECEIPT), "a receipt", found));
    }
    let document = document(folder, RECEIPT)?;
    let root = document.root();
    match root.get("predicate") {
        Some(predicate) => Receipt::parse(predicate),
        None => Receipt::parse(root),
    }
}

/// The canonical text of a document, or of each of its lines.
fn rewritten(document: &Document, lines: bool, place: Location) -> Result<String, Error> {
    let line = |value| {
        canonical(&to_json(value)).map(|text| text + "\n").map_err(|error| {
            UNWRITABLE.at(place.clone(), "values that canonical JSON allows", error.to_string())
        })
    };
    if lines {
        return document.root().items()?.map(|node| line(node.value())).collect();
    }
    line(&document.root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::disk::trial::{DiskFault, Trial, tree};
    use std::fs;

    const FACTS: &str = r#"{
      "facts": [{"id": "loss", "value": "2.310", "at": {"source": "post", "place": "table 1"}}]
    }"#;
    const RECEIPT_TEXT: &str = r#"{"schema": "repro.receipt/1", "origin": "transcribed",
      "extra": {"documents": {"data/configs/moe64.toml": "config-moe64"}}}"#;

    fn typed(path: &Path) {
        fs::create_dir_all(path.join("data/configs")).unwrap();
        fs::write(path.join("data/facts.json"), FACTS).unwrap();
        fs::write(path.join("data/configs/moe64.toml"), "dim = 64 # as printed\n").unwrap();
        fs::write(path.join(RECEIPT), RECEIPT_TEXT).unwrap();
    }

    #[test]
    fn sealing_twice_gives_the_same_bytes() {
        let temporary = tempfile::tempdir().unwrap();
        let (one, two) = (temporary.path().join("one/t"), temporary.path().join("two/t"));
        typed(&one);
        typed(&two);
        let digest = seal(&one, "receipts/t", None).unwrap().digest();
        assert_eq!(seal(&one, "receipts/t", None).unwrap().digest(), digest);
        assert_eq!(seal(&two, "receipts/t", None).unwrap().digest(), digest);
        let bundle = Bundle::load_folder(&one, "receipts/t", None, 1).unwrap();
        assert_eq!(bundle.facts()[0].value, "2.310");
        for pointer in ["/facts/0/value", "/facts/id=loss/value"] {
            assert_eq!(bundle.fact_at("data/facts.json", pointer), bundle.facts().first());
            assert_eq!(bundle.fact_at("data/other.json", pointer), None);
        }
        assert_eq!(bundle.typed_from("data/configs/moe64.toml"), Some("config-moe64"));
        let config = bundle.document("data/configs/moe64.toml").unwrap();
        assert_eq!(config.root().at("/dim").unwrap().integer().unwrap(), 64);
        assert_ne!(seal(&one, "receipts/t", Some("2026-03-14")).unwrap().digest(), digest);
    }

    #[test]
    fn what_a_reader_would_refuse_is_not_sealed() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("t");
        typed(&path);
        fs::write(path.join("data/notes.md"), "typed\n").unwrap();
        let error = seal(&path, "receipts/t", None).unwrap_err();
        assert_eq!(error.code.id, "bundle::untraced-document");
        assert!(!path.join("bagit.txt").exists());
        fs::remove_file(path.join("data/notes.md")).unwrap();
        fs::write(path.join("data/facts.json"), "{\"facts\": [{}]}").unwrap();
        assert_eq!(seal(&path, "receipts/t", None).unwrap_err().code.id, "source::missing-field");
    }

    #[test]
    fn documents_of_others_stay_as_they_were_published() {
        const RESULTS: &str = "{\n  \"tokens\": 1.50e+09\n}";
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("t");
        typed(&path);
        let document = path.join("data/published/results.json");
        fs::create_dir_all(path.join("data/published")).unwrap();
        fs::write(&document, RESULTS).unwrap();
        let named = RECEIPT_TEXT.replace(
            "\"config-moe64\"",
            "\"config-moe64\", \"data/published/results.json\": \"results\"",
        );
        fs::write(path.join(RECEIPT), &named).unwrap();
        let bundle = seal(&path, "receipts/t", None).unwrap();
        assert_eq!(fs::read_to_string(&document).unwrap(), RESULTS);
        let tokens = bundle.document("data/published/results.json").unwrap().root().at("/tokens");
        assert_eq!(tokens.unwrap().float().unwrap(), 1.5e9);
        // Strict all the same: what two readers could read differently is refused.
        fs::write(&document, "{\"tokens\": 1, \"tokens\": 2}").unwrap();
        let error = seal(&path, "receipts/t", None).unwrap_err();
        assert_eq!(error.code.id, "source::duplicate-key");
        // What a trainer says that it wrote has one spelling.
        fs::write(&document, RESULTS).unwrap();
        fs::remove_file(path.join("data/facts.json")).unwrap();
        let emitted = r#"{"schema": "repro.receipt/1", "origin": "emitted", "run": {"id": "t"}}"#;
        fs::write(path.join(RECEIPT), emitted).unwrap();
        seal(&path, "receipts/t", None).unwrap();
        assert_ne!(fs::read_to_string(&document).unwrap(), RESULTS);
    }

    #[test]
    fn whatever_stops_a_sealing_the_next_one_ends_it() {
        let edited = |root: &Path| {
            typed(&root.join("t"));
            seal(&root.join("t"), "receipts/t", None).unwrap();
            fs::write(root.join("t/data/facts.json"), FACTS.replace("2.310", "2.320")).unwrap();
        };
        for prepare in [&|root: &Path| typed(&root.join("t")), &edited as &dyn Fn(&Path)] {
            let trial = Trial {
                faults: &DiskFault::ALL,
                prepare,
                work: &|disk, root| {
                    let sealed = seal_on(disk, &root.join("t"), "receipts/t", None);
                    sealed.map(drop).map_err(|error| error.to_string())
                },
                check: &|root| {
                    let bag = root.join("t/bagit.txt").exists();
                    let loaded = Bundle::load_folder(&root.join("t"), "receipts/t", None, 1);
                    let facts = fs::read_to_string(root.join("t/data/facts.json")).unwrap();
                    // Nothing is sealed of what was edited before the declaration is gone.
                    let untouched = facts.starts_with("{\n");
                    assert!(loaded.is_ok() == bag || untouched, "{:?}", loaded.err());
                },
                outcome: &tree,
            };
            let (trials, falls) = (trial.faults(), trial.power(20));
            assert!(trials > 80 && falls > 30, "{trials} {falls}");
        }
    }
}
