//! Signature files: the sigstore bundle, the envelope in it and the statement in that.
//!
//! The first byte says what the rest is: `e`, a signature file; `p`, a payload, for which an envelope with a
//! signature by nobody is made.

use std::cell::OnceCell;
use std::fs;

use repro_bundle::bundle::Bundle;
use repro_bundle::signature::{Envelope, PublicKey, Signature, pre_authentication_encoding};
use repro_core::source::{Location, Source};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::{new_folder, refused, sealed_into};

/// The key that signed the seed; its private part was never kept.
const KEY: &str = include_str!("../signer.pub");
/// What was signed with it.
const SIGNED: &str = include_str!("../seeds/envelope/signed");

/// What is accepted is read alike by the reference reader and is encoded in one way; no statement is accepted
/// but one about exactly the files of the bundle, and no signature but the one that was made.
pub fn check(bytes: &[u8]) {
    let Some((sort, rest)) = bytes.split_first() else { return };
    let file = match sort {
        b'e' => rest.to_vec(),
        b'p' => wrapped(rest),
        _ => return,
    };
    match Source::new("receipt.sig", file.clone()).and_then(Envelope::parse) {
        Ok(envelope) => accepted(&envelope, &file),
        Err(error) => return refused(&error, Some(&file)),
    }
    let bundle = bundle_with(&file);
    let signature = Signature::of(&bundle).expect("read before").expect("there is one");
    match signature.check_files() {
        Ok(()) => about(&file, &bundle),
        Err(error) => refused(&error, None),
    }
    let keys = [PublicKey::parse(KEY, Location::file("signer.pub")).expect("a key")];
    match signature.check(&keys) {
        Ok(_) => assert_eq!(payload(&file), payload(&SIGNED.as_bytes()[1..]), "forged"),
        Err(error) => refused(&error, None),
    }
}

fn accepted(envelope: &Envelope, file: &[u8]) {
    let json: Json = serde_json::from_slice(file).expect("what is accepted is JSON");
    let dsse = &json["dsseEnvelope"];
    assert_eq!(dsse["payload"], base64(&envelope.payload).as_str());
    assert_eq!(dsse["signatures"][0]["sig"], base64(&envelope.signature).as_str());
    assert_eq!(dsse["signatures"].as_array().map(Vec::len), Some(1));
    let kind = "application/vnd.in-toto+json";
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), envelope.payload.len());
    let encoded = pre_authentication_encoding(&envelope.payload);
    assert_eq!(encoded, [head.as_bytes(), &envelope.payload].concat());
}

/// A statement that passed lists exactly the files of the bundle.
fn about(file: &[u8], bundle: &Bundle) {
    let statement: Json = serde_json::from_str(&payload(file)).expect("a statement is JSON");
    let resources = statement["predicate"]["resources"].as_array().expect("a list");
    let text = |resource: &Json, key: &str| resource[key].as_str().map(str::to_owned);
    let listed =
        resources.iter().map(|resource| (text(resource, "name"), text(resource, "digest")));
    let files = bundle.signed_files();
    let wanted =
        files.iter().map(|(name, digest)| (Some((*name).to_owned()), Some(digest.to_string())));
    assert!(listed.eq(wanted), "other files are signed");
}

/// The text of the payload of a signature file that was accepted.
fn payload(file: &[u8]) -> String {
    let source = Source::new("receipt.sig", file.to_vec()).expect("read before");
    let envelope = Envelope::parse(source).expect("read before");
    String::from_utf8_lossy(&envelope.payload).into_owned()
}

fn wrapped(payload: &[u8]) -> Vec<u8> {
    let file = json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"publicKey": {"hint": ""}},
        "dsseEnvelope": {
            "payload": base64(payload),
            "payloadType": "application/vnd.in-toto+json",
            "signatures": [{"keyid": "", "sig": base64(&[0x30, 6, 2, 1, 1, 2, 1, 1])}],
        },
    });
    file.to_string().into_bytes()
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*group.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() { char::from(sign) } else { '=' });
        }
    }
    text
}

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// A fixture with this signature beside it.
fn bundle_with(signature: &[u8]) -> Bundle {
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| {
            let folder = new_folder();
            sealed_into("envelope/receipts/evidence", folder.path());
            folder
        });
        fs::write(folder.path().join("receipt.sig"), signature)
            .expect("the signature can be written");
        Bundle::load_folder(folder.path(), "receipts/evidence", None, 1)
            .expect("a fixture is a bundle")
    })
}
