//! Attestations: statements of builders about the files that they made, in the form of in-toto and SLSA.
//!
//! An attestation is a file outside the bundle; the caller passes it and the builder's key. It contains one DSSE envelope,
//! alone or in a sigstore bundle v0.3, around an in-toto statement v1 with the predicate of SLSA provenance v1. Its
//! subjects must be exactly the files of a bundle, except `receipt.sig`, each with its digest.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::envelope::{self, Envelope, Material, pre_authentication_encoding};
use super::{FORGED, OTHER_FILES, OTHER_FORMAT, OTHER_KEY, OTHER_MATERIAL, PrivateKey, PublicKey};
use crate::bundle::record::RecordValue;
use crate::bundle::{Bundle, STATEMENT, UNWRITABLE, shown};
use repro_core::digest::{Digest, canonical};
use repro_core::source::{Document, Error, Location, Node, Source};

/// The type of what is said.
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
/// How a bundle was made, where this program attests it.
const BUILD_TYPE: &str = "https://repro.example/build/train/v1";

/// An attestation whose signature was checked.
#[derive(Debug)]
pub struct Attestation {
    place: Location,
    /// Who made the files, as the builder calls itself.
    pub builder: String,
    /// The identity of the key that signed.
    pub key: String,
    subjects: BTreeMap<String, Digest>,
    is_used: AtomicBool,
}

/// The attestations that a caller has named.
#[derive(Debug, Default)]
pub struct Attestations(Vec<Attestation>);

impl Attestation {
    /// Reads a file, which one of `keys` must have signed.
    fn load(path: &Path, keys: &[PublicKey]) -> Result<Self, Error> {
        let place = Location::file(path.display().to_string());
        let source = Source::load(path, place.file.as_str())?;
        let envelope = Envelope::parse_any(source)?;
        let expected = || {
            let ids: Vec<_> = keys.iter().map(|key| key.id().prefixed()).collect();
            format!("a signature by {}", ids.join(" or "))
        };
        let Material::Key { hint } = &envelope.material else {
            return Err(OTHER_MATERIAL.at(place, expected(), "a signature with a certificate"));
        };
        let named = keys.iter().filter(|key| hint.is_none_or(|hint| hint == key.id()));
        let named: Vec<_> = named.collect();
        if named.is_empty() {
            let found = hint.map_or("a different key".to_owned(), |hint| hint.prefixed());
            return Err(OTHER_KEY.at(place, expected(), found));
        }
        let message = pre_authentication_encoding(&envelope.payload);
        let signer = named.iter().find(|key| key.verifies(&message, &envelope.signature));
        let Some(signer) = signer else {
            return Err(FORGED.at(place, expected(), "a signature that the key does not verify"));
        };
        let payload = Source::new(format!("{}, payload", place.file), envelope.payload)?;
        let (builder, subjects) = statement(payload)?;
        let (key, is_used) = (signer.id().prefixed(), AtomicBool::new(false));
        Ok(Self { place, builder, key, subjects, is_used })
    }
}

/// Who made the files that a statement is about, and these files.
fn statement(source: Source) -> Result<(String, BTreeMap<String, Digest>), Error> {
    let document = Document::parse_json(source)?;
    let root = document.root();
    for (field, wanted) in [("_type", STATEMENT), ("predicateType", PROVENANCE)] {
        let node = root.required(field)?;
        if node.text()? != wanted {
            return Err(OTHER_FORMAT.at(node.place(), format!("`{wanted}`"), shown(node.text()?)));
        }
    }
    let mut subjects = BTreeMap::new();
    for subject in root.required("subject")?.items()? {
        let name = subject.required("name")?;
        let digest = Digest::read(subject.required("digest")?.required("sha256")?)?;
        if subjects.insert(name.text()?.to_owned(), digest).is_some() {
            return Err(OTHER_FILES.at(name.place(), "each file once", shown(name.text()?)));
        }
    }
    let inner = |node: Node<'_>, field: &str| -> Result<Option<String>, Error> {
        Ok(Some(node.required("builder")?.required(field)?.text()?.to_owned()))
    };
    let details = root.required("predicate")?.required("runDetails")?;
    let builder = inner(details, "id")?.unwrap_or_default();
    Ok((builder, subjects))
}

impl Attestations {
    /// Reads files, each of which one of `keys` must have signed.
    pub fn load(files: &[impl AsRef<Path>], keys: &[PublicKey]) -> Result<Self, Error> {
        files
            .iter()
            .map(|file| Attestation::load(file.as_ref(), keys))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The attestation of exactly the files of a bundle, where there is one.
    pub fn of(&self, bundle: &Bundle) -> Option<&Attestation> {
        let files = bundle.signed_files();
        let is_of = |one: &&Attestation| {
            let subjects = one.subjects.iter().map(|(name, digest)| (name.as_str(), *digest));
            subjects.eq(files.iter().map(|(name, digest)| (*name, *digest)))
        };
        let found = self.0.iter().find(is_of)?;
        found.is_used.store(true, Ordering::Relaxed);
        Some(found)
    }

    /// The refusals of those that are of no bundle that was asked for.
    pub fn unused(&self) -> Vec<Error> {
        let unused = self.0.iter().filter(|one| !one.is_used.load(Ordering::Relaxed));
        let refuse = |one: &Attestation| {
            let expected = "exactly the files of a bundle that this command verifies";
            let found = format!("{} files with different names or digests", one.subjects.len());
            OTHER_FILES.at(one.place.clone(), expected, found)
        };
        unused.map(refuse).collect()
    }
}

/// The text of an attestation by which `key` says that `builder` made the files of a bundle.
pub fn attest(bundle: &Bundle, builder: &str, key: &PrivateKey) -> Result<String, Error> {
    let files = bundle.signed_files();
    let subjects: Vec<_> = files
        .iter()
        .map(|(name, digest)| json!({"name": name, "digest": {"sha256": digest.to_string()}}))
        .collect();
    let run = bundle.receipt().run.as_ref().map(|run| run.id.as_str());
    sign_statement(
        &canonical(&json!({
            "_type": STATEMENT,
            "subject": subjects,
            "predicateType": PROVENANCE,
            "predicate": {
                "buildDefinition": {
                    "buildType": BUILD_TYPE,
                    "externalParameters": {"bundle": bundle.digest().prefixed(), "run": run},
                },
                "runDetails": {"builder": {"id": builder}},
            },
        }))
        .map_err(|error| unwritable(&error))?,
        key,
    )
}

/// The sigstore bundle in which `key` signs an in-toto statement.
pub fn sign_statement(statement: &str, key: &PrivateKey) -> Result<String, Error> {
    let signature = key.sign(&pre_authentication_encoding(statement.as_bytes()));
    let text = envelope::write(statement.as_bytes(), &signature, key.public().id());
    text.map_err(|error| unwritable(&error))
}

fn unwritable(error: &repro_core::digest::NotCanonical) -> Error {
    let place = Location::file("attestation");
    UNWRITABLE.at(place, "names that canonical JSON allows", error.to_string())
}
