//! Signatures of forged bundles, made with `p256` alone and not by the code under test.

use std::collections::BTreeMap;

use base64ct::{Base64, Encoding};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::{EncodePublicKey, LineEnding};
use repro_core::digest::{Digest, canonical};
use serde_json::{Value as Json, json};

use super::forge::{Forge, PinnedPost, post};

/// Digests of all files of a bundle by name.
pub type Files = BTreeMap<String, Digest>;

/// The key that is asked for, and one of somebody else.
pub const OWN: u8 = 1;
pub const OTHER: u8 = 2;

pub fn key(seed: u8) -> SigningKey {
    SigningKey::from_slice(&[seed; 32]).unwrap()
}

/// The public key as PEM.
pub fn pem(seed: u8) -> String {
    key(seed).verifying_key().to_public_key_pem(LineEnding::LF).unwrap()
}

pub fn hint(seed: u8) -> String {
    Digest::of(pem(seed).as_bytes()).to_string()
}

/// What is signed: every file with its digest.
pub fn statement(files: &Files) -> Json {
    let resource = |(name, digest): (&String, &Digest)| json!({"name": name, "algorithm": "sha256", "digest": digest.to_string()});
    let all: Vec<u8> = files.values().flat_map(|digest| *digest.bytes()).collect();
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "run-1", "digest": {"sha256": Digest::of(&all).to_string()}}],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {
            "serialization": {
                "method": "files", "hash_type": "sha256", "allow_symlinks": false, "ignore_paths": ["receipt.sig"],
            },
            "resources": files.iter().map(resource).collect::<Vec<_>>(),
        },
    })
}

pub fn encoded(payload: &[u8], kind: &str) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

pub const KIND: &str = "application/vnd.in-toto+json";

pub fn der(message: &[u8], seed: u8) -> Vec<u8> {
    let signature: Signature = key(seed).sign(message);
    signature.to_der().as_bytes().to_vec()
}

/// The file around a payload and a signature.
pub fn envelope(payload: &[u8], signature: &[u8], seed: u8) -> Json {
    json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"publicKey": {"hint": hint(seed)}, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": Base64::encode_string(payload), "payloadType": KIND,
            "signatures": [{"keyid": "", "sig": Base64::encode_string(signature)}],
        },
    })
}

pub fn signed_bytes(payload: &[u8], seed: u8) -> Json {
    envelope(payload, &der(&encoded(payload, KIND), seed), seed)
}

pub fn text(value: &Json) -> String {
    canonical(value).unwrap() + "\n"
}

/// A good signature by this key.
pub fn signed(files: &Files, seed: u8) -> Json {
    signed_bytes(canonical(&statement(files)).unwrap().as_bytes(), seed)
}

/// A signature by the own key over a changed statement.
pub fn stating(files: &Files, change: fn(&mut Json)) -> String {
    let mut statement = statement(files);
    change(&mut statement);
    text(&signed_bytes(canonical(&statement).unwrap().as_bytes(), OWN))
}

/// A good signature in a changed envelope.
pub fn enveloped(files: &Files, change: fn(&mut Json)) -> String {
    let mut envelope = signed(files, OWN);
    change(&mut envelope);
    text(&envelope)
}

/// Lets the bundle carry this signature, and asks for the own key.
pub fn sign(f: &mut Forge, sign: fn(&Files) -> String) {
    f.sign = Some(sign);
    f.pubkey = Some(OWN);
}

/// A post that pins the bundle and its author's key.
pub fn pinned(digest: &str) -> PinnedPost {
    let mut pinned = post("run-1", digest);
    pinned.post += &format!("\n[keys]\nrun-1 = \"\"\"\n{}\"\"\"\n", pem(OWN));
    pinned
}

/// A signature that verifies as well as the one it was made from, with another hash.
pub fn high(files: &Files) -> Json {
    let payload = canonical(&statement(files)).unwrap();
    let signature: Signature = key(OWN).sign(&encoded(payload.as_bytes(), KIND));
    let (r, s) = signature.split_scalars();
    let turned = Signature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
    envelope(payload.as_bytes(), turned.to_der().as_bytes(), OWN)
}
