//! Tests of signatures; `scripts/interop.sh` tests them with other tools.

use std::path::Path;

use super::PinnedBy;
use super::timestamp::{SHA256, SHA384, SHA512, verifies};
use super::*;
use crate::bundle::{BundleWriter, Origin, Receipt, Run, add_signature};
use der::Decode;
use repro_core::Verdict;
use repro_core::digest::Digest;
use serde_json::{Value as Json, json};
use x509_cert::spki::SubjectPublicKeyInfoOwned;

/// A small bundle called `name` with one file.
fn bundle(root: &Path, name: &str, text: &str) -> Bundle {
    let folder = root.join(name);
    let mut writer = BundleWriter::create(&folder).unwrap();
    writer.file("data/log.txt", text.as_bytes()).unwrap();
    let run = Run { id: name.into(), study: None, arm: None, plan_commit: None, finished: None };
    writer.finish(&Receipt { run: Some(run), ..Receipt::new(Origin::Emitted) }).unwrap();
    load(root, name)
}

fn load(root: &Path, name: &str) -> Bundle {
    Bundle::load_folder(&root.join(name), &format!("receipts/{name}"), None, 1).unwrap()
}

/// The bundle with `text` as its signature.
fn with_signature(root: &Path, name: &str, text: &str) -> Bundle {
    let _ = std::fs::remove_file(root.join(name).join(SIGNATURE));
    add_signature(&root.join(name), name, text.as_bytes()).unwrap();
    load(root, name)
}

/// The code of what is wrong with the signature for `key`, or `verified`.
fn judged(bundle: &Bundle, key: &PrivateKey) -> &'static str {
    match judge(bundle, std::slice::from_ref(key.public()), None) {
        Ok(Some(report)) => report.verdict.word(),
        Ok(None) => "nothing",
        Err(error) => {
            assert!(error.place.file.starts_with("receipts/b/receipt.sig"), "{error}");
            assert!(!error.expected.is_empty() && !error.found.is_empty(), "{error}");
            error.code.id
        }
    }
}

/// The signature file with another payload, signed again by `key`.
fn resigned(text: &str, key: &PrivateKey, change: impl Fn(&mut Json)) -> String {
    let envelope = Envelope::parse(Source::new("s", text.into()).unwrap()).unwrap();
    let mut payload: Json = serde_json::from_slice(&envelope.payload).unwrap();
    change(&mut payload);
    let payload = payload.to_string();
    let signature = key.sign(&pre_authentication_encoding(payload.as_bytes()));
    envelope::write(payload.as_bytes(), &signature, key.public().id()).unwrap()
}

#[test]
fn a_signature_is_the_same_each_time_and_verifies() {
    let temporary = tempfile::tempdir().unwrap();
    let unsigned = bundle(temporary.path(), "b", "1\n");
    let (key, other) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
    assert_eq!(judged(&unsigned, &key), "signature::unsigned");
    assert_eq!(judge(&unsigned, &[], None), Ok(None));
    let text = sign(&unsigned, &key).unwrap();
    assert_eq!(text, sign(&unsigned, &key).unwrap());
    let signed = with_signature(temporary.path(), "b", &text);
    assert_eq!(signed.digest(), unsigned.digest());
    assert_eq!(judged(&signed, &key), "verified");
    assert_eq!(judged(&signed, &other), "signature::different-key");
    let both = [other.public().clone(), key.public().clone()];
    let report = judge(&signed, &both, None).unwrap().unwrap();
    assert_eq!(
        (report.key, report.pinned_by),
        (Some(key.public().id().prefixed()), Some(PinnedBy::Caller))
    );
    let report = judge(&signed, &[], Some(key.public())).unwrap().unwrap();
    assert_eq!((report.verdict, report.pinned_by), (Verdict::Verified, Some(PinnedBy::Author)));
    assert!(judge(&signed, &both, Some(other.public())).is_err());
    let report = judge(&signed, &[], None).unwrap().unwrap();
    assert_eq!((report.verdict, report.code), (Verdict::Unchecked, Some(&UNPINNED)));
}

#[test]
fn what_is_signed_is_every_file_and_nothing_else() {
    let temporary = tempfile::tempdir().unwrap();
    let key = PrivateKey::generate().unwrap();
    let first = bundle(temporary.path(), "a", "1\n");
    let text = sign(&bundle(temporary.path(), "b", "2\n"), &key).unwrap();
    let names: Vec<_> = first.signed_files().into_keys().collect();
    assert_eq!(
        names,
        [
            "bag-info.txt",
            "bagit.txt",
            "data/log.txt",
            "data/receipt.json",
            "manifest-sha256.txt",
            "tagmanifest-sha256.txt"
        ]
    );
    let replayed = with_signature(temporary.path(), "b", &sign(&first, &key).unwrap());
    assert_eq!(judged(&replayed, &key), "signature::other-files");
    let named = judge(&replayed, &[], None).unwrap().unwrap();
    assert_eq!((named.verdict, named.code), (Verdict::Refuted, Some(&OTHER_FILES)));
    type Change = fn(&mut Json);
    let changes: [(&str, Change); 16] = [
        ("signature::other-files", |p| {
            p["predicate"]["resources"].as_array_mut().unwrap().pop();
        }),
        ("signature::other-files", |p| {
            p["predicate"]["resources"].as_array_mut().unwrap().swap(0, 1)
        }),
        ("signature::other-files", |p| {
            let again = p["predicate"]["resources"][5].clone();
            p["predicate"]["resources"].as_array_mut().unwrap().push(again);
        }),
        ("signature::other-files", |p| p["predicate"]["resources"][0]["name"] = json!("data/../x")),
        ("signature::other-files", |p| p["subject"][0]["digest"]["sha256"] = json!("0".repeat(64))),
        ("signature::other-serialization", |p| {
            p["predicate"]["serialization"]["method"] = json!("shards");
        }),
        ("signature::other-serialization", |p| {
            p["predicate"]["serialization"]["hash_type"] = json!("blake2b");
        }),
        ("signature::other-serialization", |p| {
            p["predicate"]["serialization"]["allow_symlinks"] = json!(true);
        }),
        ("signature::other-serialization", |p| {
            p["predicate"]["serialization"]["ignore_paths"] = json!(["receipt.sig", "data"]);
        }),
        ("signature::other-serialization", |p| {
            p["predicate"]["resources"][0]["algorithm"] = json!("blake3");
        }),
        ("signature::unsupported-format", |p| {
            p["_type"] = json!("https://in-toto.io/Statement/v0.1")
        }),
        ("signature::unsupported-format", |p| {
            p["predicateType"] = json!("https://model_signing/Digests/v0.1");
        }),
        ("signature::unsupported-format", |p| p["subject"] = json!([])),
        ("source::unknown-field", |p| p["predicate"]["notes"] = json!("")),
        ("source::missing-field", |p| {
            p["predicate"].as_object_mut().unwrap().remove("serialization");
        }),
        ("bundle::bad-digest", |p| p["predicate"]["resources"][0]["digest"] = json!("00")),
    ];
    for (code, change) in changes {
        let changed = resigned(&text, &key, change);
        let bundle = with_signature(temporary.path(), "b", &changed);
        assert_eq!(judged(&bundle, &key), code, "{changed}");
        assert_eq!(judge(&bundle, &[], None).unwrap().unwrap().verdict, Verdict::Refuted);
    }
    let reference = resigned(&text, &key, |p| {
        let ignored = [".gitattributes", ".gitignore", ".git", "receipt.sig", ".github"];
        p["predicate"]["serialization"]["ignore_paths"] = json!(ignored);
    });
    assert_eq!(judged(&with_signature(temporary.path(), "b", &reference), &key), "verified");
}

#[test]
fn envelopes_have_one_spelling() {
    let temporary = tempfile::tempdir().unwrap();
    let key = PrivateKey::generate().unwrap();
    let text = sign(&bundle(temporary.path(), "b", "1\n"), &key).unwrap();
    let good: Json = serde_json::from_str(&text).unwrap();
    let signature = good["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap();
    let changed = |pointer: &str, value: Json| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed.to_string()
    };
    let sig = "/dsseEnvelope/signatures/0/sig";
    let material = "/verificationMaterial";
    let hint = json!({"hint": key.public().id().to_string()});
    for (code, text) in [
        ("source::syntax", String::new()),
        ("source::syntax", format!("{text}{text}")),
        ("source::duplicate-key", text.replacen('{', "{\"mediaType\":\"a\",", 1)),
        ("source::unknown-field", text.replacen('{', "{\"a\":1,", 1)),
        (
            "signature::unsupported-format",
            changed("/mediaType", json!("application/vnd.dev.sigstore.bundle.v0.2+json")),
        ),
        (
            "signature::unsupported-format",
            changed("/mediaType", json!("application/vnd.dev.sigstore.bundle+json;version=0.3")),
        ),
        (
            "signature::unsupported-format",
            changed("/dsseEnvelope/payloadType", json!("application/json")),
        ),
        ("signature::wrong-signature-count", changed("/dsseEnvelope/signatures", json!([]))),
        (
            "signature::wrong-signature-count",
            changed("/dsseEnvelope/signatures", json!([{"sig": signature}, {"sig": signature}])),
        ),
        ("signature::bad-encoding", changed(sig, json!(format!("{signature}\n")))),
        ("signature::bad-encoding", changed(sig, json!(format!(" {signature}")))),
        ("signature::bad-encoding", changed(sig, json!(format!("{signature}=")))),
        ("signature::bad-encoding", changed(sig, json!(""))),
        ("signature::bad-encoding", changed("/dsseEnvelope/payload", json!("e31="))),
        ("signature::forged", changed(sig, json!("AAAA"))),
        ("signature::forged", changed("/dsseEnvelope/payload", json!("e30="))),
        (
            "signature::different-key",
            changed("/verificationMaterial/publicKey/hint", json!("0".repeat(64))),
        ),
        ("bundle::bad-digest", changed("/verificationMaterial/publicKey/hint", json!("mine"))),
        ("signature::unsupported-format", changed(material, json!({"tlogEntries": []}))),
        (
            "signature::unsupported-format",
            changed(material, json!({"publicKey": hint, "certificate": {}, "tlogEntries": [{}]})),
        ),
        (
            "signature::unsupported-format",
            changed(material, json!({"certificate": {"rawBytes": "AA=="}, "tlogEntries": []})),
        ),
        (
            "signature::signed-with-certificate",
            changed(material, json!({"certificate": {"rawBytes": "AA=="}, "tlogEntries": [{}]})),
        ),
        ("source::wrong-type", changed("/dsseEnvelope/signatures/0/keyid", json!(7))),
    ] {
        let bundle = with_signature(temporary.path(), "b", &text);
        assert_eq!(judged(&bundle, &key), code, "{text}");
    }
    for keyid in [Json::Null, json!(""), json!("mine")] {
        let text = changed("/dsseEnvelope/signatures/0/keyid", keyid);
        assert_eq!(judged(&with_signature(temporary.path(), "b", &text), &key), "verified");
    }
}

#[test]
fn a_signature_has_no_identity() {
    // The order of the curve minus s is the other signature that verifies: nothing may depend on the file.
    let temporary = tempfile::tempdir().unwrap();
    let key = PrivateKey::generate().unwrap();
    let text = sign(&bundle(temporary.path(), "b", "1\n"), &key).unwrap();
    let envelope = Envelope::parse(Source::new("s", text.into_bytes()).unwrap()).unwrap();
    let low = p256::ecdsa::Signature::from_der(&envelope.signature).unwrap();
    let (r, s) = low.split_scalars();
    let high = p256::ecdsa::Signature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
    assert_ne!(low, high);
    let high = high.to_der().as_bytes().to_vec();
    let text = envelope::write(&envelope.payload, &high, key.public().id()).unwrap();
    assert_eq!(judged(&with_signature(temporary.path(), "b", &text), &key), "verified");
}

#[test]
fn keys_are_written_for_their_owner_and_read_again() {
    use std::os::unix::fs::PermissionsExt;
    let temporary = tempfile::tempdir().unwrap();
    let (private, public) = (temporary.path().join("key"), temporary.path().join("key.pub"));
    let key = PrivateKey::generate().unwrap();
    write_pair(&key, &private, &public).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&private), 0o600);
    assert_eq!(PublicKey::load(&public).unwrap(), *key.public());
    assert_eq!(PrivateKey::load(&private).unwrap().public(), key.public());
    let pem = std::fs::read(&public).unwrap();
    assert_eq!(key.public().id(), Digest::of(&pem));
    let crlf = String::from_utf8(pem).unwrap().replace('\n', "\r\n");
    assert_eq!(PublicKey::parse(&crlf, Location::file("k")).unwrap(), *key.public());
    assert!(!format!("{key:?}").contains("SigningKey"));
    for (code, result) in [
        ("signature::key-exists", write_pair(&key, &private, &temporary.path().join("new"))),
        ("signature::key-exists", write_pair(&key, &temporary.path().join("new"), &public)),
        ("signature::bad-key", PublicKey::load(&private).map(drop)),
        ("signature::bad-key", PrivateKey::load(&public).map(drop)),
        ("source::unreadable", PublicKey::load(&temporary.path().join("none")).map(drop)),
        ("signature::bad-key", PublicKey::parse("", Location::file("k")).map(drop)),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.code.id, code, "{error}");
        assert!(!error.to_string().contains("BEGIN"), "{error}");
    }
    assert!(!temporary.path().join("new").exists());
}

/// The vectors of Project Wycheproof, each by the key and the hash of its file; keys on P-256 as those of bundles, too.
#[test]
fn signatures_are_judged_as_wycheproof_does() {
    let bytes = |hex: &Json| {
        let hex = hex.as_str().unwrap().as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        hex.map(byte).collect::<Vec<u8>>()
    };
    let files = [
        ("ecdsa_secp256r1_sha256", SHA256, 484),
        ("ecdsa_secp384r1_sha384", SHA384, 504),
        ("rsa_signature_2048_sha256", SHA256, 259),
        ("rsa_signature_3072_sha384", SHA384, 259),
        ("rsa_signature_4096_sha512", SHA512, 259),
    ];
    for (name, hash, count) in files {
        let path =
            format!("{}/../../tests/corpus/wycheproof/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let vectors: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let mut judged = 0;
        for group in vectors["groups"].as_array().unwrap() {
            let key = SubjectPublicKeyInfoOwned::from_der(&bytes(&group["key"])).unwrap();
            let of_bundles = name.contains("secp256r1").then(|| {
                use der::EncodePem as _;
                let pem = key.to_pem(der::pem::LineEnding::LF).unwrap();
                PublicKey::parse(&pem, Location::file("key")).unwrap()
            });
            for test in group["tests"].as_array().unwrap() {
                let (message, signature) = (bytes(&test["msg"]), bytes(&test["sig"]));
                // Signatures without the NULL of PKCS #1 are `acceptable`, and not accepted here.
                let expected = test["result"] == "valid";
                let is_valid = verifies(&key, (key.algorithm.oid, hash), &message, &signature);
                assert_eq!(is_valid, expected, "{name} {test}");
                let by_bundle = of_bundles.as_ref().map(|key| key.verifies(&message, &signature));
                assert!(by_bundle.is_none_or(|is| is == expected), "{name} {test}");
                judged += 1;
            }
        }
        assert_eq!(judged, count, "{name}");
    }
}
