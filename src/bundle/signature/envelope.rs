//! The sigstore bundle v0.3 in `receipt.sig`, and the DSSE envelope in it. Everything here is read
//! strictly: anything that two verifiers could read differently is rejected.

use base64ct::{Base64, Encoding};
use serde_json::json;

use super::{BAD_ENCODING, NOT_ONE, OTHER_FORMAT};
use crate::bundle::record::RecordValue;
use repro_core::digest::{Digest, NotCanonical, canonical};
use repro_core::source::{Document, Error, Node, Source};

/// The type of the file.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The type of what is signed.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The signer's material in a signature file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Material {
    /// A key, by its identity where that is given.
    Key {
        /// The SHA-256 of the PEM text of the public key.
        hint: Option<Digest>,
    },
    /// A certificate or a chain of them; this program does not judge certificates.
    Certificate,
}

/// The signed payload, and the signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The signed payload; not yet parsed.
    pub payload: Vec<u8>,
    /// The signature, in DER where it is ECDSA's.
    pub signature: Vec<u8>,
    /// Who says to have signed.
    pub material: Material,
}

impl Envelope {
    /// Reads a signature file.
    pub fn parse(source: Source) -> Result<Self, Error> {
        Self::of_bundle(Document::parse_json(source)?.root())
    }

    /// Reads a signature file, or an envelope alone, which does not say who signed.
    pub fn parse_any(source: Source) -> Result<Self, Error> {
        let document = Document::parse_json(source)?;
        match document.root().get("dsseEnvelope") {
            Some(_) => Self::of_bundle(document.root()),
            None => Self::of_envelope(document.root(), Material::Key { hint: None }),
        }
    }

    fn of_bundle(root: Node<'_>) -> Result<Self, Error> {
        root.only(&["mediaType", "verificationMaterial", "dsseEnvelope"])?;
        exactly(root.required("mediaType")?, MEDIA_TYPE)?;
        let material = material(root.required("verificationMaterial")?)?;
        Self::of_envelope(root.required("dsseEnvelope")?, material)
    }

    fn of_envelope(envelope: Node<'_>, material: Material) -> Result<Self, Error> {
        envelope.only(&["payload", "payloadType", "signatures"])?;
        exactly(envelope.required("payloadType")?, PAYLOAD_TYPE)?;
        let signatures = envelope.required("signatures")?;
        let mut each = signatures.items()?;
        let (Some(signature), None) = (each.next(), each.next()) else {
            let found = format!("{}", signatures.items()?.len());
            return Err(NOT_ONE.at(signatures.place(), "exactly one signature", found));
        };
        signature.only(&["sig", "keyid"])?;
        signature.get("keyid").map(Node::text).transpose()?;
        Ok(Self {
            payload: decoded(envelope.required("payload")?)?,
            signature: decoded(signature.required("sig")?)?,
            material,
        })
    }
}

/// Who signed: exactly one of a key, a certificate in a transparency log, or a chain of certificates.
fn material(node: Node<'_>) -> Result<Material, Error> {
    let kinds = ["publicKey", "certificate", "x509CertificateChain"];
    let [key, certificate, chain] = kinds;
    node.only(&[key, certificate, chain, "tlogEntries", "timestampVerificationData"])?;
    let logged = node.get("tlogEntries").map(Node::items).transpose()?.map_or(0, |list| list.len());
    let held: Vec<_> = kinds.iter().filter(|kind| node.get(kind).is_some()).collect();
    let [kind] = held.as_slice() else {
        let expected = "exactly one of a public key, a certificate and a chain of certificates";
        return Err(OTHER_FORMAT.at(node.place(), expected, format!("{}", held.len())));
    };
    let said = node.required(kind)?;
    if **kind == key {
        said.only(&["hint"])?;
        let hint = said.get("hint").filter(|hint| hint.text() != Ok(""));
        let hint = hint.map(Digest::read).transpose()?;
        return Ok(Material::Key { hint });
    }
    if **kind == certificate && logged == 0 {
        let expected = "a transparency-log entry with the certificate";
        return Err(OTHER_FORMAT.at(node.place(), expected, "none"));
    }
    said.members().map(drop)?;
    Ok(Material::Certificate)
}

fn exactly(node: Node<'_>, wanted: &str) -> Result<(), Error> {
    if node.text()? == wanted {
        return Ok(());
    }
    let found: String = node.text()?.chars().take(80).collect();
    Err(OTHER_FORMAT.at(node.place(), format!("`{wanted}`"), format!("`{found}`")))
}

/// The bytes of standard base64 with padding, in its one spelling.
fn decoded(node: Node<'_>) -> Result<Vec<u8>, Error> {
    let text = node.text()?;
    match Base64::decode_vec(text) {
        Ok(bytes) if !bytes.is_empty() && Base64::encode_string(&bytes) == text => Ok(bytes),
        _ => {
            let found: String = text.chars().take(40).collect();
            let expected = "standard base64 with padding, not empty";
            Err(BAD_ENCODING.at(node.place(), expected, format!("`{}`", found.escape_debug())))
        }
    }
}

/// The text of a signature file.
pub fn write(payload: &[u8], signature: &[u8], key: Digest) -> Result<String, NotCanonical> {
    let text = canonical(&json!({
        "mediaType": MEDIA_TYPE,
        "verificationMaterial": {"publicKey": {"hint": key.to_string()}, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": Base64::encode_string(payload),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"keyid": "", "sig": Base64::encode_string(signature)}],
        },
    }))?;
    Ok(text + "\n")
}

/// The bytes that are signed, by DSSE: the version, and type and payload each behind its length.
pub fn pre_authentication_encoding(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
