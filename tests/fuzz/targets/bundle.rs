//! Bundles, from a text that lists files: `== NAME` opens a file, what follows are its bytes.
//!
//! The first byte says how the rest is written to disk. `r`: as it stands. `m`: with manifests that are right, and
//! the receipt in canonical form. `s`: with sizes and subjects that are right as well, so that what is behind them
//! is reached; then `data/receipt.json` holds the predicate of the receipt, or anything else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use repro_bundle::bundle::{Bundle, Origin};
use repro_core::digest::{Digest, canonical};
use serde_json::{Map, Value as Json, json};

use super::{new_folder, refused, tree};

/// The most files that one input makes.
const FILES_CAP: usize = 24;
const RECEIPT: &str = "data/receipt.json";
const DECLARATION: &str = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";

/// What is accepted has the digest of its tag manifest, is the same on a second reading and with its digest
/// pinned, and answers for every one of its files.
pub fn check(bytes: &[u8]) {
    let Some((how, listing)) = bytes.split_first() else { return };
    let mut files = parse(listing);
    match how {
        b'r' => {}
        b'm' => {
            let receipt = files.get_mut(RECEIPT);
            let canonical = receipt.as_ref().and_then(|text| {
                let statement: Json = serde_json::from_slice(text).ok()?;
                canonical(&statement).ok()
            });
            if let (Some(receipt), Some(text)) = (receipt, canonical) {
                *receipt = (text + "\n").into_bytes();
            }
            seal(&mut files);
        }
        b's' => {
            declare(&mut files);
            seal(&mut files);
        }
        _ => return,
    }
    let parent = new_folder();
    let folder = parent.path().join("run-1");
    if put(&files, &folder) {
        load(&folder);
    }
}

/// The files of a listing, by name.
pub(super) fn parse(listing: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut name = None;
    let mut content = Vec::new();
    for line in listing.split_inclusive(|&byte| byte == b'\n') {
        match line
            .strip_prefix(b"== ")
            .and_then(|name| std::str::from_utf8(name.trim_ascii_end()).ok())
        {
            Some(next) => {
                let whole = std::mem::take(&mut content);
                files.extend(name.replace(next.to_owned()).map(|name| (name, whole)));
            }
            None => content.extend_from_slice(line),
        }
        if files.len() >= FILES_CAP {
            return files;
        }
    }
    files.extend(name.map(|name| (name, content)));
    files
}

/// Makes a receipt of the predicate that is there, with the sizes and digests of all other files.
fn declare(files: &mut BTreeMap<String, Vec<u8>>) {
    let predicate = files.remove(RECEIPT).and_then(|text| serde_json::from_slice(&text).ok());
    let payload = || files.iter().filter(|(name, _)| name.starts_with("data/"));
    let subjects: Vec<_> = payload()
        .map(|(name, bytes)| json!({"name": name, "digest": {"sha256": Digest::of(bytes).to_string()}}))
        .collect();
    let sizes: Vec<_> =
        payload().map(|(name, bytes)| json!({"name": name, "bytes": bytes.len()})).collect();
    let mut predicate: Map<String, Json> = predicate.unwrap_or_default();
    predicate.insert("files".to_owned(), sizes.into());
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": "https://repro.example/receipt/v1",
        "subject": subjects, "predicate": predicate,
    });
    let receipt = canonical(&statement).unwrap_or_default() + "\n";
    files.insert(RECEIPT.to_owned(), receipt.into_bytes());
}

/// Writes the manifests, and the tag files that are absent.
fn seal(files: &mut BTreeMap<String, Vec<u8>>) {
    let lines = |files: &BTreeMap<String, Vec<u8>>, of: &dyn Fn(&str) -> bool| -> String {
        let of = files.iter().filter(|(name, _)| of(name));
        of.map(|(name, bytes)| format!("{}  {name}\n", Digest::of(bytes))).collect()
    };
    let tags = ["bag-info.txt", "bagit.txt", "manifest-sha256.txt"];
    let manifest = lines(files, &|name| name.starts_with("data/"));
    files.insert("manifest-sha256.txt".to_owned(), manifest.into_bytes());
    files.entry("bagit.txt".to_owned()).or_insert_with(|| DECLARATION.into());
    files.entry("bag-info.txt".to_owned()).or_default();
    let manifest = lines(files, &|name| tags.contains(&name));
    files.insert("tagmanifest-sha256.txt".to_owned(), manifest.into_bytes());
}

/// Writes the files into `folder`, which is made; never outside of it. A name that the file system refuses
/// ends the case.
pub(super) fn put(files: &BTreeMap<String, Vec<u8>>, folder: &Path) -> bool {
    fs::create_dir(folder).expect("a folder for the bundle");
    files.iter().all(|(name, bytes)| {
        let plain = |part: Component| matches!(part, Component::Normal(_));
        let path = folder.join(name);
        !name.is_empty()
            && Path::new(name).components().all(plain)
            && path.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok())
            && fs::write(path, bytes).is_ok()
    })
}

fn load(folder: &Path) {
    let read =
        |pin: Option<&Digest>, threads| Bundle::load_folder(folder, "receipts/run-1", pin, threads);
    let bundle = match read(None, 1) {
        Ok(bundle) => bundle,
        Err(error) => {
            refused(&error, None);
            let again = read(None, 2).expect_err("refused once, so refused twice");
            assert_eq!(again.to_string(), error.to_string());
            return;
        }
    };
    let tags = fs::read(folder.join("tagmanifest-sha256.txt")).expect("a tag manifest");
    assert_eq!(bundle.digest(), Digest::of(&tags));
    assert_eq!(read(Some(&bundle.digest()), 2).expect("the same bundle").digest(), bundle.digest());
    read(Some(&Digest::of(b"another")), 1).expect_err("another digest is pinned");
    for (name, file) in bundle.files() {
        let bytes = bundle.bytes(name).expect("the bytes that were hashed");
        assert_eq!((bytes.len() as u64, Digest::of(&bytes)), (file.bytes, file.digest), "{name}");
    }
    for name in bundle.documents() {
        let document = bundle.document(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        tree::check(document);
    }
    tree::check(bundle.receipt_document());
    for fact in bundle.facts() {
        let found = bundle.fact(&fact.id).expect("a fact by its id").1;
        assert_eq!(found, fact);
        assert_eq!(bundle.origin(), Origin::Transcribed);
    }
}
