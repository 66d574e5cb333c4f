//! The receipt against the files beside it: subjects, sizes, names and origins must agree.
//!
//! Declared parameter counts against configs and tensor shapes are not judged here: that takes
//! `params`, and its caller has both.

use std::collections::BTreeMap;

use super::folder::Listing;
use super::manifest::Manifest;
use super::receipt::{Origin, RECEIPT, Receipt, Statement};
use super::weights::Holdings;
use super::{
    BAD_WEIGHTS, DUPLICATE_NAME, FACTS, UNDECLARED_SIZE, UNKNOWN_FILE, UNTRACED_DOCUMENT,
    WRONG_COUNT, WRONG_DIGEST, WRONG_FIELD_FOR_ORIGIN, WRONG_NAME, WRONG_SIZE, WRONG_SUBJECTS,
    name,
};
use crate::digest::Digest;
use crate::source::{Document, Node, Place, Refusal};

/// The payload files that a receipt is about.
fn others(manifest: &Manifest) -> impl Iterator<Item = (&str, &Digest)> {
    manifest.iter().map(|(name, digest)| (name.as_str(), digest)).filter(|(n, _)| *n != RECEIPT)
}

/// Subjects and declared sizes against the files; all of it before any of them is hashed.
pub fn declared(
    document: &Document,
    statement: &Statement,
    manifest: &Manifest,
    listing: &Listing,
) -> Result<(), Refusal> {
    let subjects = document.root().at("/subject")?;
    for (name, digest) in others(manifest) {
        match statement.subjects.get(name) {
            None => {
                let expected = format!("a subject for `{name}`");
                return Err(WRONG_SUBJECTS.at(subjects.place(), expected, "none"));
            }
            Some(stated) if stated != digest => {
                let expected = format!("sha256 {digest} for `{name}`, as in the manifest");
                return Err(WRONG_SUBJECTS.at(subjects.place(), expected, stated.to_string()));
            }
            Some(_) => {}
        }
    }
    let file = |name: &str| name != RECEIPT && manifest.contains_key(name);
    if let Some(name) = statement.subjects.keys().find(|name| !file(name)) {
        let found = format!("a subject `{}`", name.escape_debug());
        return Err(WRONG_SUBJECTS.at(subjects.place(), "the other payload files", found));
    }
    sizes(document, statement, manifest, listing)
}

fn sizes(
    document: &Document,
    statement: &Statement,
    manifest: &Manifest,
    listing: &Listing,
) -> Result<(), Refusal> {
    let predicate = document.root().at("/predicate")?;
    let nodes: Vec<Node<'_>> = predicate
        .get("files")
        .map(|files| files.items())
        .transpose()?
        .into_iter()
        .flatten()
        .collect();
    let mut declared = BTreeMap::new();
    for (listed, node) in statement.receipt.files.iter().zip(nodes) {
        let place = || node.place();
        name::check(&listed.name, place)?;
        if declared.insert(listed.name.as_str(), ()).is_some() {
            let found = format!("`{}` again", listed.name);
            return Err(DUPLICATE_NAME.at(place(), "each file once", found));
        }
        if listed.is_external() {
            node.required("sha256")?;
            if listed.name.starts_with("data/") {
                let expected = "external files outside `data/`";
                return Err(UNDECLARED_SIZE.at(place(), expected, format!("`{}`", listed.name)));
            }
            continue;
        }
        let known = manifest.get(&listed.name).filter(|_| listed.name != RECEIPT);
        let (Some(digest), Some(&length)) = (known, listing.get(&listed.name)) else {
            let found = format!("`{}`", listed.name);
            return Err(UNDECLARED_SIZE.at(place(), "another payload file", found));
        };
        if length != listed.bytes {
            let expected = format!("{} bytes in `{}`", listed.bytes, listed.name);
            return Err(WRONG_SIZE.at(place(), expected, format!("{length} bytes")));
        }
        if listed.sha256.is_some_and(|stated| stated != *digest) {
            let expected = format!("sha256 {digest} for `{}`", listed.name);
            return Err(WRONG_DIGEST.at(place(), expected, "another digest"));
        }
    }
    match others(manifest).find(|(name, _)| !declared.contains_key(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let expected = format!("the size of `{name}` in `files`");
            Err(UNDECLARED_SIZE.at(predicate.place(), expected, "none"))
        }
    }
}

/// The run's name against the folder's, and every file that the receipt names against the payload.
pub fn named_files(
    document: &Document,
    receipt: &Receipt,
    manifest: &Manifest,
    bundle: &str,
) -> Result<(), Refusal> {
    let externals: BTreeMap<&str, Option<Digest>> = receipt
        .files
        .iter()
        .filter(|file| file.is_external())
        .map(|file| (file.name.as_str(), file.sha256))
        .collect();
    // A place is searched in the whole document, so it is looked for only where it is needed.
    let at = |pointer: String| document.root().at(&pointer).map(|node| node.place());
    if let Some(run) = &receipt.run
        && run.id != bundle
    {
        let found = format!("`{}`", run.id.chars().take(80).collect::<String>());
        let place = at("/predicate/run/id".to_owned())?;
        return Err(WRONG_NAME.at(place, format!("`{bundle}`, the name of the folder"), found));
    }
    for (index, checkpoint) in receipt.checkpoints.iter().enumerate() {
        let pointer = |field: &str| format!("/predicate/checkpoints/{index}/{field}");
        if let Some(evaluation) = &checkpoint.evaluation {
            held(manifest, evaluation, || at(pointer("evaluation")))?;
        }
        let Some(weights) = &checkpoint.weights else { continue };
        let digest = match externals.get(weights.as_str()).copied().flatten() {
            Some(digest) => digest,
            None => tensors(manifest, weights, || at(pointer("weights")))?,
        };
        if let Some(stated) = checkpoint.weights_sha256.filter(|stated| *stated != digest) {
            let expected = format!("sha256 {digest} for `{weights}`");
            let place = at(pointer("weights_sha256"))?;
            return Err(WRONG_DIGEST.at(place, expected, stated.to_string()));
        }
    }
    for (index, slice) in receipt.slices.iter().enumerate() {
        tensors(manifest, &slice.file, || at(format!("/predicate/slices/{index}/file")))?;
    }
    Ok(())
}

/// The declared counts of parameters and tensors against those of each checkpoint in the bundle.
pub fn declared_counts(
    document: &Document,
    receipt: &Receipt,
    holdings: &BTreeMap<String, Holdings>,
) -> Result<(), Refusal> {
    let Some(model) = &receipt.model else { return Ok(()) };
    for weights in receipt.checkpoints.iter().filter_map(|point| point.weights.as_ref()) {
        let Some(held) = holdings.get(weights) else { continue };
        for (field, declared, found, what) in [
            (
                "params_total",
                model.params_total,
                held.elements,
                "the elements of the model's tensors",
            ),
            ("tensors", model.tensors, held.tensors, "the tensors of the model"),
        ] {
            if let Some(declared) = declared.filter(|declared| *declared != found) {
                let place = document.root().at(&format!("/predicate/model/{field}"))?.place();
                let expected = format!("{found}, {what} in `{weights}`");
                return Err(WRONG_COUNT.at(place, expected, declared.to_string()));
            }
        }
    }
    Ok(())
}

/// The digest of a payload file that the receipt names at `place`.
fn held(
    manifest: &Manifest,
    file: &str,
    place: impl FnOnce() -> Result<Place, Refusal>,
) -> Result<Digest, Refusal> {
    match manifest.get(file) {
        Some(digest) => Ok(*digest),
        None => Err(UNKNOWN_FILE.at(place()?, "a payload file", shown(file))),
    }
}

/// The same for a file of tensors. Under another ending its header and its numbers would not be read.
fn tensors(
    manifest: &Manifest,
    file: &str,
    place: impl FnOnce() -> Result<Place, Refusal>,
) -> Result<Digest, Refusal> {
    if manifest.contains_key(file) && !file.ends_with(".safetensors") {
        return Err(BAD_WEIGHTS.at(place()?, "a `.safetensors` file", shown(file)));
    }
    held(manifest, file, place)
}

fn shown(file: &str) -> String {
    format!("`{}`", file.chars().take(80).collect::<String>())
}

/// Which document each file of a transcribed bundle was typed from (`extra.documents`). Facts name
/// their documents themselves, and only typed evidence holds facts.
pub fn origins(
    document: &Document,
    receipt: &Receipt,
    manifest: &Manifest,
) -> Result<BTreeMap<String, String>, Refusal> {
    let predicate = document.root().at("/predicate")?;
    if receipt.origin == Origin::Emitted {
        if manifest.contains_key(FACTS) {
            let expected = format!("no `{FACTS}` beside an emitted receipt");
            let place = predicate.required("origin")?.place();
            return Err(WRONG_FIELD_FOR_ORIGIN.at(place, expected, "one"));
        }
        return Ok(BTreeMap::new());
    }
    let mut origins = BTreeMap::new();
    if let Some(documents) = predicate.get("extra").and_then(|extra| extra.get("documents")) {
        for (file, source) in documents.members()? {
            held(manifest, file, || Ok(source.place()))?;
            if source.text()?.trim().is_empty() {
                let expected = "the id of a document";
                return Err(UNTRACED_DOCUMENT.at(source.place(), expected, "an empty string"));
            }
            origins.insert(file.to_owned(), source.text()?.to_owned());
        }
    }
    match others(manifest).find(|(name, _)| *name != FACTS && !origins.contains_key(*name)) {
        None => Ok(origins),
        Some((name, _)) => {
            let expected = format!("the document of `{name}` in `extra.documents`");
            Err(UNTRACED_DOCUMENT.at(predicate.place(), expected, "none"))
        }
    }
}
