//! Compares the receipt with the files next to it: subjects, sizes, names and origins must agree.
//!
//! Declared parameter counts are not compared with configs and tensor shapes here: that needs
//! `params`, and its caller has both.

use std::collections::BTreeMap;

use itertools::EitherOrBoth::{Both, Left, Right};
use itertools::Itertools;

use super::logged::Holdings;
use super::receipt::{ListedFile, Origin, RECEIPT, Receipt, Statement};
use super::{
    BAD_WEIGHTS, DUPLICATE_NAME, FACTS, File, PayloadFiles, STATES, UNDECLARED_SIZE, UNKNOWN_FILE,
    UNTRACED_DOCUMENT, WRONG_COUNT, WRONG_DIGEST, WRONG_FIELD_FOR_ORIGIN, WRONG_NAME, WRONG_SIZE,
    WRONG_SUBJECTS, name,
};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Location, Node};

/// The payload files that a receipt is about.
fn others(files: &PayloadFiles) -> impl Iterator<Item = (&str, &File)> {
    files.iter().map(|(name, file)| (name.as_str(), file)).filter(|(name, _)| *name != RECEIPT)
}

/// Subjects and declared sizes against the files; all of it before any of them is hashed.
pub fn declared(
    document: &Document,
    statement: &Statement,
    files: &PayloadFiles,
) -> Result<(), Error> {
    let subjects = document.root().at("/subject")?;
    let stated = statement.subjects.iter().map(|(name, digest)| (name.as_str(), digest));
    for pair in others(files).merge_join_by(stated, |file, stated| file.0.cmp(stated.0)) {
        let (expected, found) = match pair {
            Both((_, file), (_, digest)) if file.digest == *digest => continue,
            Both((name, File { digest, .. }), (_, stated)) => {
                let expected = format!("sha256 {digest} for `{name}`, as in the manifest");
                (expected, stated.to_string())
            }
            Left((name, _)) => (format!("a subject for `{name}`"), "none".to_owned()),
            Right((name, _)) => {
                let found = format!("a subject `{}`", name.escape_debug());
                ("the other payload files".to_owned(), found)
            }
        };
        return Err(WRONG_SUBJECTS.at(subjects.place(), expected, found));
    }
    sizes(document, statement, files)
}

fn sizes(document: &Document, statement: &Statement, files: &PayloadFiles) -> Result<(), Error> {
    let predicate = document.root().at("/predicate")?;
    let nodes = predicate.get("files").map(|files| files.items()).transpose()?;
    let mut declared = Vec::with_capacity(statement.receipt.files.len());
    for (listed, node) in statement.receipt.files.iter().zip(nodes.into_iter().flatten()) {
        name::check(&listed.name, || node.place())?;
        if listed.is_external() {
            node.required("sha256")?;
            if listed.name.starts_with("data/") {
                let expected = "external files outside `data/`";
                let found = format!("`{}`", listed.name);
                return Err(UNDECLARED_SIZE.at(node.place(), expected, found));
            }
        }
        declared.push((listed.name.as_str(), (listed, node)));
    }
    let declared = name::distinct(declared).or_else(|at| {
        let node = document.root().at(&format!("/predicate/files/{at}"))?;
        let found = format!("{} again", name::shown(node.required("name")?.text()?));
        Err(DUPLICATE_NAME.at(node.place(), "each file once", found))
    })?;
    let mut undeclared = None;
    let inside = declared.iter().filter(|(_, (listed, _))| !listed.is_external());
    for pair in inside.merge_join_by(others(files), |listed, file| (*listed.0).cmp(file.0)) {
        match pair {
            Both((_, (listed, node)), (_, file)) => same_file(listed, *node, file)?,
            Left((name, (_, node))) => {
                let found = format!("`{name}`");
                return Err(UNDECLARED_SIZE.at(node.place(), "a payload file", found));
            }
            Right((name, _)) => undeclared = undeclared.or(Some(name)),
        }
    }
    undeclared.map_or(Ok(()), |name| {
        let expected = format!("the size of `{name}` in `files`");
        Err(UNDECLARED_SIZE.at(predicate.place(), expected, "none"))
    })
}

/// Compares the receipt's entry for a file, at `node`, with the file.
fn same_file(listed: &ListedFile, node: Node<'_>, file: &File) -> Result<(), Error> {
    let File { bytes, digest, .. } = file;
    if *bytes != listed.bytes {
        let expected = format!("{} bytes in `{}`", listed.bytes, listed.name);
        return Err(WRONG_SIZE.at(node.place(), expected, format!("{bytes} bytes")));
    }
    if listed.sha256.is_some_and(|stated| stated != *digest) {
        let expected = format!("sha256 {digest} for `{}`", listed.name);
        return Err(WRONG_DIGEST.at(node.place(), expected, "a different digest"));
    }
    Ok(())
}

/// The run's name against the folder's, and every file that the receipt names against the payload.
pub fn named_files(
    document: &Document,
    receipt: &Receipt,
    files: &PayloadFiles,
    bundle: &str,
) -> Result<(), Error> {
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
        let found = name::shown(&run.id);
        let place = at("/predicate/run/id".to_owned())?;
        return Err(WRONG_NAME.at(place, format!("`{bundle}`, the name of the folder"), found));
    }
    for (index, checkpoint) in receipt.checkpoints.iter().enumerate() {
        let pointer = |field: &str| format!("/predicate/checkpoints/{index}/{field}");
        if let Some(evaluation) = &checkpoint.evaluation {
            held(files, evaluation, || at(pointer("evaluation")))?;
        }
        let Some(weights) = &checkpoint.weights else { continue };
        let digest = match externals.get(weights.as_str()).copied().flatten() {
            Some(digest) => digest,
            None => tensors(files, weights, || at(pointer("weights")))?,
        };
        if let Some(stated) = checkpoint.weights_sha256.filter(|stated| *stated != digest) {
            let expected = format!("sha256 {digest} for `{weights}`");
            let place = at(pointer("weights_sha256"))?;
            return Err(WRONG_DIGEST.at(place, expected, stated.to_string()));
        }
    }
    if let Some(states) = &receipt.states {
        let place = || at("/predicate/states/file".to_owned());
        if states.file != STATES {
            return Err(UNKNOWN_FILE.at(
                place()?,
                format!("`{STATES}`"),
                name::shown(&states.file),
            ));
        }
        held(files, &states.file, place)?;
    }
    for (index, slice) in receipt.slices.iter().enumerate() {
        tensors(files, &slice.file, || at(format!("/predicate/slices/{index}/file")))?;
    }
    Ok(())
}

/// The declared counts of parameters and tensors against those of each checkpoint in the bundle.
pub fn declared_counts(
    document: &Document,
    receipt: &Receipt,
    holdings: &BTreeMap<String, Holdings>,
) -> Result<(), Error> {
    let Some(model) = &receipt.model else { return Ok(()) };
    for weights in receipt.checkpoints.iter().filter_map(|point| point.weights.as_ref()) {
        let Some(held) = holdings.get(weights) else { continue };
        // A tied head may be written beside the table that it is.
        let tied = u64::from(held.twice > 0);
        for (field, declared, found, twice, what) in [
            (
                "params_total",
                model.params_total,
                held.elements,
                held.twice,
                "the number of elements in the model's tensors",
            ),
            ("tensors", model.tensors, held.tensors, tied, "the number of tensors in the model"),
        ] {
            let fits = |declared: &u64| *declared == found || *declared == found - twice;
            if let Some(declared) = declared.filter(|declared| !fits(declared)) {
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
    files: &PayloadFiles,
    file: &str,
    place: impl FnOnce() -> Result<Location, Error>,
) -> Result<Digest, Error> {
    match files.get(file) {
        Some(held) => Ok(held.digest),
        None => Err(UNKNOWN_FILE.at(place()?, "a payload file", name::shown(file))),
    }
}

/// The same for a file of tensors. Under another ending its header and its numbers would not be read.
fn tensors(
    files: &PayloadFiles,
    file: &str,
    place: impl FnOnce() -> Result<Location, Error>,
) -> Result<Digest, Error> {
    if files.contains_key(file) && !file.ends_with(".safetensors") {
        return Err(BAD_WEIGHTS.at(place()?, "a `.safetensors` file", name::shown(file)));
    }
    held(files, file, place)
}

/// Which document each file of a transcribed bundle was typed from (`extra.documents`). Facts name
/// their documents themselves, and only typed evidence holds facts.
pub fn origins(
    document: &Document,
    receipt: &Receipt,
    files: &PayloadFiles,
) -> Result<BTreeMap<String, String>, Error> {
    let predicate = document.root().at("/predicate")?;
    if receipt.origin == Origin::Emitted {
        if files.contains_key(FACTS) {
            let expected = format!("no `{FACTS}` with an emitted receipt");
            let place = predicate.required("origin")?.place();
            return Err(WRONG_FIELD_FOR_ORIGIN.at(place, expected, "one"));
        }
        return Ok(BTreeMap::new());
    }
    let mut origins = BTreeMap::new();
    if let Some(documents) = predicate.get("extra").and_then(|extra| extra.get("documents")) {
        for (file, source) in documents.members()? {
            held(files, file, || Ok(source.place()))?;
            if source.text()?.trim().is_empty() {
                let expected = "a document id";
                return Err(UNTRACED_DOCUMENT.at(source.place(), expected, "an empty string"));
            }
            origins.insert(file.to_owned(), source.text()?.to_owned());
        }
    }
    match others(files).find(|(name, _)| *name != FACTS && !origins.contains_key(*name)) {
        None => Ok(origins),
        Some((name, _)) => {
            let expected = format!("the document of `{name}` in `extra.documents`");
            Err(UNTRACED_DOCUMENT.at(predicate.place(), expected, "none"))
        }
    }
}
