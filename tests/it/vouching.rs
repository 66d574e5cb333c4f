//! Who vouches for evidence: builders that attest it, names that were signed, and verdicts that are signed in turn.

use std::fs;
use std::path::Path;

use base64ct::{Base64, Encoding};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::attacks::corpus::forge::transcribed;
use crate::sealed::sealed_into;
use crate::train::{code, repro, text};

const BUNDLE: &str = "smoke-moe-short-s1";

fn project() -> TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    for bundle in [BUNDLE, "torch-moe"] {
        let from =
            if bundle == BUNDLE { format!("replay/{BUNDLE}") } else { format!("replay/{bundle}") };
        sealed_into(&from, &root.join("receipts").join(bundle));
    }
    for key in ["builder", "other"] {
        assert_eq!(code(&repro(root, &["bundle", "keygen", "--out", key])), 0);
    }
    let arguments = [
        "bundle",
        "attest",
        &path(BUNDLE),
        "--key",
        "builder",
        "--builder",
        "https://ci.example/1",
    ];
    let attested = repro(root, &arguments);
    assert_eq!(code(&attested), 0, "{}", text(&attested.stderr));
    fs::write(root.join("attestation.json"), attested.stdout).unwrap();
    temporary
}

fn path(bundle: &str) -> String {
    format!("receipts/{bundle}")
}

fn verified(root: &Path, bundle: &str, arguments: &[&str]) -> (i32, Json) {
    let bundle = path(bundle);
    let all = [&["verify", bundle.as_str(), "--format", "json"], arguments].concat();
    let output = repro(root, &all);
    let report = serde_json::from_slice(&output.stdout);
    (code(&output), report.unwrap_or_else(|_| panic!("{}", text(&output.stderr))))
}

const ATTESTED: [&str; 4] = ["--attestation", "attestation.json", "--builder-key", "builder.pub"];

#[test]
fn a_builder_attests_exactly_the_files_of_a_bundle() {
    let temporary = project();
    let root = temporary.path();
    let minimum = ["--min-origin", "attested"];
    let (status, report) = verified(root, BUNDLE, &[&ATTESTED[..], &minimum].concat());
    assert_eq!(status, 0, "{report:#}");
    let bundle = &report["posts"][0]["bundles"][0];
    assert_eq!(
        (&bundle["origin"], &bundle["attested_by"]),
        (&json!("attested"), &json!("https://ci.example/1"))
    );
    assert_eq!(verified(root, BUNDLE, &minimum).0, 3, "an intact bundle is declared");
    let refused = |bundle: &str, arguments: &[&str], wanted: &str| {
        let output = repro(root, &[&["verify", path(bundle).as_str()], arguments].concat());
        let complaint = [&output.stdout[..], &output.stderr].concat();
        assert_eq!(code(&output), 2, "{}", text(&complaint));
        assert!(text(&complaint).contains(wanted), "{}", text(&complaint));
    };
    refused("torch-moe", &ATTESTED, "signature::other-files");
    let other = ["--attestation", "attestation.json", "--builder-key", "other.pub"];
    refused(BUNDLE, &other, "signature::different-key");
    // An envelope alone names no key, so that both are tried.
    let whole: Json =
        serde_json::from_slice(&fs::read(root.join("attestation.json")).unwrap()).unwrap();
    let alone = whole["dsseEnvelope"].clone();
    fs::write(root.join("alone.json"), alone.to_string()).unwrap();
    let keys = ["--attestation", "alone.json", "--builder-key", "other.pub"];
    refused(BUNDLE, &keys, "signature::forged");
    let keys = [&keys[..], &["--builder-key", "builder.pub"], &minimum].concat();
    assert_eq!(verified(root, BUNDLE, &keys).0, 0);
    // A byte of what is said, and a file of the bundle.
    let payload = Base64::decode_vec(alone["payload"].as_str().unwrap()).unwrap();
    let said = String::from_utf8(payload).unwrap().replace("ci.example", "cj.example");
    let mut edited = alone.clone();
    edited["payload"] = Base64::encode_string(said.as_bytes()).into();
    fs::write(root.join("edited.json"), edited.to_string()).unwrap();
    refused(
        BUNDLE,
        &["--attestation", "edited.json", "--builder-key", "builder.pub"],
        "signature::forged",
    );
    let timing = root.join(path(BUNDLE)).join("data/timing.jsonl");
    let line = fs::read_to_string(&timing).unwrap();
    fs::write(&timing, line.replacen("\"seconds\":", "\"seconds\":1", 1)).unwrap();
    assert_eq!(code(&repro(root, &["bundle", "seal", &path(BUNDLE)])), 0);
    refused(BUNDLE, &ATTESTED, "signature::other-files");
}

#[test]
fn typed_files_stay_typed_whoever_vouches() {
    let temporary = project();
    let root = temporary.path();
    transcribed().write(&root.join("receipts/typed"));
    let made =
        repro(root, &["bundle", "attest", "receipts/typed", "--key", "builder", "--builder", "b"]);
    fs::write(root.join("typed.json"), made.stdout).unwrap();
    let arguments = ["--attestation", "typed.json", "--builder-key", "builder.pub"];
    let (_, report) = verified(root, "typed", &arguments);
    assert_eq!(report["posts"][0]["bundles"][0]["origin"], "transcribed");
    // Typed evidence has no name of its own but that of the folder: a signature is of both.
    assert_eq!(code(&repro(root, &["bundle", "sign", "--key", "builder", "receipts/typed"])), 0);
    assert_eq!(verified(root, "typed", &["--pubkey", "builder.pub"]).0, 0);
    fs::rename(root.join("receipts/typed"), root.join("receipts/other")).unwrap();
    let (status, report) = verified(root, "other", &["--pubkey", "builder.pub"]);
    assert_eq!((status, &report["failures"][0]["code"]), (2, &json!("signature::other-name")));
}

#[test]
fn a_verdict_is_a_statement_that_can_be_signed() {
    let temporary = project();
    let root = temporary.path();
    assert_eq!(verified(root, BUNDLE, &["--output", "intoto=verdict.json"]).0, 0);
    let said = fs::read_to_string(root.join("verdict.json")).unwrap();
    let statement: Json = serde_json::from_str(&said).unwrap();
    let tags = fs::read(root.join(path(BUNDLE)).join("tagmanifest-sha256.txt")).unwrap();
    let digest = repro_core::digest::Digest::of(&tags).to_string();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(
        statement["subject"],
        json!([{"name": format!("{BUNDLE}/tagmanifest-sha256.txt"), "digest": {"sha256": digest}}])
    );
    let predicate = &statement["predicate"];
    assert_eq!((&predicate["exit_code"], &predicate["summary"]["refuted"]), (&json!(0), &json!(0)));
    assert_eq!(predicate["posts"][0]["claims"][0]["id"], "intact");
    assert_eq!(code(&repro(root, &["bundle", "sign", "--key", "builder", "verdict.json"])), 0);
    let signed: Json =
        serde_json::from_slice(&fs::read(root.join("verdict.json.sig")).unwrap()).unwrap();
    let payload = Base64::decode_vec(signed["dsseEnvelope"]["payload"].as_str().unwrap()).unwrap();
    assert_eq!(payload, said.trim_end().as_bytes());
    // Nothing is overwritten, and nothing else is signed.
    assert_eq!(code(&repro(root, &["bundle", "sign", "--key", "builder", "verdict.json"])), 2);
    fs::write(root.join("other.json"), "{\"_type\":\"x\"}").unwrap();
    let refused = repro(root, &["bundle", "sign", "--key", "builder", "other.json"]);
    assert!(text(&refused.stderr).contains("cli::not-a-statement"));
}

#[test]
fn an_authority_says_when_a_bundle_existed() {
    let temporary = project();
    let root = temporary.path();
    let stamps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/timestamps");
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("receipts/tiny-moe-moe-active12-s1");
    let (stamp, ca) = (stamps.join("rsa.tsr"), stamps.join("rsa-ca.pem"));
    let arguments = ["--timestamp", stamp.to_str().unwrap(), "--authority", ca.to_str().unwrap()];
    let all = [&["verify", bundle.to_str().unwrap(), "--format", "json"], &arguments[..]].concat();
    let output = repro(root, &all);
    let report: Json = serde_json::from_slice(&output.stdout).unwrap();
    let claims = report["posts"][0]["claims"].as_array().unwrap();
    let claim = claims.iter().find(|claim| claim["id"] == "stamped-bundle").unwrap();
    assert_eq!((code(&output), &claim["verdict"]), (0, &json!("verified")));
    assert!(claim["recomputed"].as_str().unwrap().ends_with("by CN=Signer of tests"));
    // Of another bundle it says nothing.
    let (status, report) = verified(root, BUNDLE, &arguments);
    assert_eq!((status, &report["failures"][0]["code"]), (2, &json!("signature::other-timestamp")));
    // What is asked for is what was asked for then; nothing is overwritten.
    let ask =
        ["bundle", "stamp", bundle.to_str().unwrap(), "--of", "bundle", "--out", "request.tsq"];
    assert_eq!(code(&repro(root, &ask)), 0);
    let asked = fs::read(root.join("request.tsq")).unwrap();
    assert_eq!(asked, fs::read(stamps.join("request.tsq")).unwrap());
    assert_eq!(code(&repro(root, &ask)), 2);
    let none =
        ["bundle", "stamp", bundle.to_str().unwrap(), "--of", "states", "--out", "states.tsq"];
    assert!(text(&repro(root, &none).stderr).contains("cli::nothing-to-timestamp"));
}
