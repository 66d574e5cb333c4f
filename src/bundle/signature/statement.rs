//! The in-toto statement that is signed: every file of the bundle with its digest, and a root digest
//! over all of them.

use std::collections::BTreeMap;

use serde_json::json;

use super::{OTHER_FILES, OTHER_FORMAT, OTHER_NAME, OTHER_SERIALIZATION};
use crate::bundle::record::RecordValue;
use crate::bundle::{SIGNATURE, STATEMENT, shown};
use repro_core::digest::{Digest, Hasher, NotCanonical, canonical};
use repro_core::source::{Document, Error, Node, Source};

/// The type of what the statement says.
const PREDICATE: &str = "https://model_signing/signature/v1.0";
/// The only paths that a signer may have left out: the signature itself, and what the reference signer
/// always names. A bundle with any of the others is refused before.
const IGNORED: [&str; 5] = [SIGNATURE, ".git", ".github", ".gitattributes", ".gitignore"];

/// Refuses a statement that is not about exactly `files` of the bundle called `name`.
pub fn check(source: Source, name: &str, files: &BTreeMap<&str, Digest>) -> Result<(), Error> {
    let document = Document::parse_json(source)?;
    let root = document.root();
    root.only(&["_type", "subject", "predicateType", "predicate"])?;
    for (field, wanted) in [("_type", STATEMENT), ("predicateType", PREDICATE)] {
        let node = root.required(field)?;
        if node.text()? != wanted {
            return Err(OTHER_FORMAT.at(node.place(), format!("`{wanted}`"), shown(node.text()?)));
        }
    }
    let predicate = root.required("predicate")?;
    predicate.only(&["resources", "serialization"])?;
    check_serialization(predicate.required("serialization")?)?;
    let resources = predicate.required("resources")?;
    check_resources(resources, files)?;
    check_root(root.required("subject")?, name, files)
}

/// The files were listed whole, by SHA-256, without links, and only what may be was left out.
fn check_serialization(node: Node<'_>) -> Result<(), Error> {
    node.only(&["method", "hash_type", "allow_symlinks", "ignore_paths"])?;
    for (field, wanted) in [("method", "files"), ("hash_type", "sha256")] {
        let found = node.required(field)?;
        if found.text()? != wanted {
            let expected = format!("`{wanted}`");
            return Err(OTHER_SERIALIZATION.at(found.place(), expected, shown(found.text()?)));
        }
    }
    let links = node.required("allow_symlinks")?;
    if links.truth()? {
        return Err(OTHER_SERIALIZATION.at(links.place(), "`false`", "`true`"));
    }
    let Some(ignored) = node.get("ignore_paths") else { return Ok(()) };
    for path in ignored.items()? {
        if !IGNORED.contains(&path.text()?) {
            let expected = format!("only {}", IGNORED.map(|name| format!("`{name}`")).join(", "));
            return Err(OTHER_SERIALIZATION.at(path.place(), expected, shown(path.text()?)));
        }
    }
    Ok(())
}

/// The listed files are those of the bundle, in their order, each once and with its digest.
fn check_resources(list: Node<'_>, files: &BTreeMap<&str, Digest>) -> Result<(), Error> {
    let mut wanted = files.iter();
    for node in list.items()? {
        node.only(&["name", "algorithm", "digest"])?;
        let algorithm = node.required("algorithm")?;
        if algorithm.text()? != "sha256" {
            let found = shown(algorithm.text()?);
            return Err(OTHER_SERIALIZATION.at(algorithm.place(), "`sha256`", found));
        }
        let (name, digest) = (node.required("name")?, node.required("digest")?);
        let Some((file, known)) = wanted.next() else {
            return Err(OTHER_FILES.at(name.place(), "no further files", shown(name.text()?)));
        };
        if name.text()? != *file {
            return Err(OTHER_FILES.at(name.place(), shown(file), shown(name.text()?)));
        }
        let stated = Digest::read(digest)?;
        if stated != *known {
            let expected = format!("sha256 {known} for `{file}`");
            return Err(OTHER_FILES.at(digest.place(), expected, stated.to_string()));
        }
    }
    match wanted.next() {
        None => Ok(()),
        Some((file, _)) => Err(OTHER_FILES.at(list.place(), shown(file), "the end of the list")),
    }
}

/// The one subject is the bundle and has the root digest of the files: files under another name are other evidence.
fn check_root(list: Node<'_>, name: &str, files: &BTreeMap<&str, Digest>) -> Result<(), Error> {
    let mut subjects = list.items()?;
    let (Some(subject), None) = (subjects.next(), subjects.next()) else {
        let found = format!("{}", list.items()?.len());
        return Err(OTHER_FORMAT.at(list.place(), "one subject", found));
    };
    subject.only(&["name", "digest"])?;
    let named = subject.required("name")?;
    if named.text()? != name {
        let expected = format!("`{name}`, the name of the folder");
        return Err(OTHER_NAME.at(named.place(), expected, shown(named.text()?)));
    }

    let digests = subject.required("digest")?;
    digests.only(&["sha256"])?;
    let stated = digests.required("sha256")?;
    let (wanted, found) = (root_digest(files), Digest::read(stated)?);
    if wanted == found {
        return Ok(());
    }
    let expected = format!("{wanted}, the SHA-256 of the concatenated digests of all files");
    Err(OTHER_FILES.at(stated.place(), expected, found.to_string()))
}

/// The text of the statement about `files`, which belong to the bundle `name`.
pub fn write(name: &str, files: &BTreeMap<&str, Digest>) -> Result<String, NotCanonical> {
    let resources: Vec<_> = files
        .iter()
        .map(|(name, digest)| json!({"name": name, "algorithm": "sha256", "digest": digest.to_string()}))
        .collect();
    canonical(&json!({
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": root_digest(files).to_string()}}],
        "predicateType": PREDICATE,
        "predicate": {
            "serialization": {
                "method": "files", "hash_type": "sha256", "allow_symlinks": false,
                "ignore_paths": [SIGNATURE],
            },
            "resources": resources,
        },
    }))
}

/// The SHA-256 of the raw digests of all files, one after the other in the order of their names.
fn root_digest(files: &BTreeMap<&str, Digest>) -> Digest {
    let mut hasher = Hasher::default();
    for digest in files.values() {
        hasher.update(digest.bytes());
    }
    hasher.finish()
}
