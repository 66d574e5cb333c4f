//! Signing and verifying as people do it: keys in files, bundles signed by commands, keys pinned by a
//! caller or by the author of a post.

use std::path::Path;
use std::process::{Command, Output};

use repro_bundle::signature::{Envelope, Material};
use repro_core::source::Source;
use serde_json::Value as Json;

use crate::sealed::sealed_into;
use crate::shared;

/// A bundle of the project that a post could depend on.
const BUNDLE: &str = "smoke-moe-short-s1";

fn repro(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_repro")).args(arguments).current_dir(root).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The report of `verify` in JSON and its exit status.
fn verified(root: &Path, arguments: &[&str]) -> (i32, Json) {
    let output = repro(root, &[&["verify", "--format", "json"], arguments].concat());
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code().unwrap(), report)
}

/// The codes of what was refused.
fn refused(report: &Json) -> Vec<&str> {
    report["failures"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect()
}

/// A project with one bundle, two keys and a post that pins the bundle.
fn project() -> tempfile::TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    sealed_into(&format!("replay/{BUNDLE}"), &root.join("receipts").join(BUNDLE));
    std::fs::create_dir(root.join("repro")).unwrap();
    for name in ["author", "other"] {
        let made = repro(root, &["bundle", "keygen", "--out", name]);
        assert!(made.status.success(), "{made:?}");
        assert!(!text(&made.stdout).contains("PRIVATE") && !text(&made.stderr).contains("BEGIN"));
    }
    temporary
}

/// The post, which names the bundle and, if asked, a key.
fn write_post(root: &Path, key: Option<&str>) {
    let folder = root.join("receipts").join(BUNDLE);
    let key = key.map(|key| {
        let pem = std::fs::read_to_string(root.join(format!("{key}.pub"))).unwrap();
        format!("[keys]\n{BUNDLE} = \"\"\"\n{pem}\"\"\"\n")
    });
    let post = format!(
        "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"One run\"\n\
         [texts.post]\nwhat = \"text\"\n[names]\nrun = \"{BUNDLE}\"\n{}\
         [[sentence]]\nplace = \"1\"\nquote = \"PARAMETERS\"\nis = \"total(run)\"\n",
        key.unwrap_or_default(),
    );
    let config = folder.join("data/config.json");
    let counted = repro(root, &["params", "--format", "json", config.to_str().unwrap()]);
    let counted: Json = serde_json::from_slice(&counted.stdout).unwrap();
    let total = counted["models"][0]["total"].to_string();
    std::fs::write(root.join("repro/p.toml"), post.replace("PARAMETERS", &total)).unwrap();
}

#[test]
fn a_bundle_alone_needs_no_project() {
    let project = project();
    let bundles = project.path().join("receipts");
    std::fs::remove_dir_all(project.path().join("repro")).unwrap();
    let (status, report) = verified(&bundles, &[BUNDLE]);
    assert_eq!((status, refused(&report).len()), (0, 0));
    for (asked, code) in [
        ("--locked", "cli::bad-usage"),
        ("--write-lock", "cli::bad-usage"),
        ("--root=.", "cli::no-root"),
    ] {
        let output = repro(&bundles, &["verify", BUNDLE, asked]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(code), "{output:?}");
    }
    let (status, report) = verified(&bundles, &[BUNDLE, "--min-origin", "signed"]);
    assert_eq!((status, refused(&report).len()), (3, 0));
    assert!(!report["below_minimum"].as_array().unwrap().is_empty(), "{report}");
}

#[test]
fn a_signature_counts_for_the_caller_whose_key_it_is() {
    let temporary = project();
    let root = temporary.path();
    let bundle = format!("receipts/{BUNDLE}");
    let (status, report) = verified(root, &[&bundle]);
    assert_eq!((status, &report["posts"][0]["bundles"][0]["signature"]), (0, &Json::Null));
    let (status, report) = verified(root, &[&bundle, "--pubkey", "author.pub"]);
    assert_eq!((status, refused(&report)), (2, vec!["signature::unsigned"]));

    let signed = repro(root, &["bundle", "sign", "--key", "author", &bundle]);
    assert!(signed.status.success(), "{signed:?}");
    let signature = std::fs::read(root.join(&bundle).join("receipt.sig")).unwrap();
    assert!(repro(root, &["bundle", "sign", "--key", "author", &bundle]).status.success());
    assert_eq!(std::fs::read(root.join(&bundle).join("receipt.sig")).unwrap(), signature);
    let again = repro(root, &["bundle", "sign", "--key", "other", &bundle]);
    assert!(text(&again.stderr).contains("signature::already-signed"), "{again:?}");

    let (status, report) = verified(root, &[&bundle]);
    let known = &report["posts"][0]["bundles"][0];
    assert_eq!((status, &known["signature"]["verdict"]), (0, &"unchecked".into()));
    assert_eq!(
        (&known["origin"], &known["signature"]["pinned_by"]),
        (&"declared".into(), &Json::Null)
    );
    let (status, report) =
        verified(root, &[&bundle, "--pubkey", "author.pub", "--min-origin", "signed"]);
    let known = &report["posts"][0]["bundles"][0];
    assert_eq!((status, &known["signature"]["pinned_by"]), (0, &"caller".into()));
    assert_eq!((&known["origin"], &known["signature"]["code"]), (&"signed".into(), &Json::Null));
    let (status, report) = verified(root, &[&bundle, "--pubkey", "other.pub"]);
    assert_eq!((status, refused(&report)), (2, vec!["signature::different-key"]));
    let either = [&*bundle, "--pubkey", "other.pub", "--pubkey", "author.pub"];
    assert_eq!(verified(root, &either).0, 0);
}

#[test]
fn a_key_of_the_author_is_shown_as_such_and_raises_nothing() {
    let temporary = project();
    let root = temporary.path();
    let bundle = format!("receipts/{BUNDLE}");
    write_post(root, Some("author"));
    let (status, report) = verified(root, &["--post", "p"]);
    assert_eq!((status, refused(&report)), (2, vec!["signature::unsigned"]));
    assert!(repro(root, &["bundle", "sign", "--key", "author", &bundle]).status.success());
    let (status, report) = verified(root, &["--post", "p"]);
    let (known, claim) = (&report["posts"][0]["bundles"][0], &report["posts"][0]["claims"][0]);
    assert_eq!((status, &known["signature"]["pinned_by"]), (0, &"author".into()));
    assert_eq!((&known["origin"], &claim["origin"]), (&"declared".into(), &"declared".into()));
    let shown = text(&repro(root, &["verify", "--post", "p"]).stdout);
    assert!(shown.contains("pinned by the author"), "{shown}");
    let asked = ["--post", "p", "--min-origin", "signed"];
    assert_eq!(verified(root, &asked).0, 3);
    let (status, report) = verified(root, &[&asked[..], &["--pubkey", "author.pub"]].concat());
    let claim = &report["posts"][0]["claims"][0];
    assert_eq!((status, &claim["origin"]), (0, &"signed".into()));

    write_post(root, Some("other"));
    let (status, report) = verified(root, &["--post", "p"]);
    assert_eq!((status, refused(&report)), (2, vec!["signature::different-key"]));
    let (status, report) = verified(root, &["--post", "p", "--pubkey", "author.pub"]);
    assert_eq!((status, refused(&report)), (2, vec!["signature::different-key"]));
}

#[test]
fn a_wrong_signature_is_named_where_no_key_is_pinned_and_refused_where_one_is() {
    let temporary = project();
    let root = temporary.path();
    let bundle = format!("receipts/{BUNDLE}");
    write_post(root, None);
    assert!(repro(root, &["bundle", "sign", "--key", "author", &bundle]).status.success());
    let path = root.join(&bundle).join("receipt.sig");
    let good = std::fs::read_to_string(&path).unwrap();
    let doubled = {
        let mut signature: Json = serde_json::from_str(&good).unwrap();
        let one = signature["dsseEnvelope"]["signatures"][0].clone();
        signature["dsseEnvelope"]["signatures"].as_array_mut().unwrap().push(one);
        signature.to_string()
    };
    for (code, signature) in [
        ("signature::wrong-signature-count", doubled.as_str()),
        ("signature::unsupported-format", &good.replace("bundle.v0.3", "bundle.v0.1")),
        ("source::syntax", ""),
    ] {
        std::fs::write(&path, signature).unwrap();
        for asked in [["--post", "p"].as_slice(), &[&bundle]] {
            let (status, report) = verified(root, asked);
            let (post, known) = (&report["posts"][0], &report["posts"][0]["bundles"][0]);
            assert_eq!((status, &known["signature"]["verdict"]), (1, &"refuted".into()), "{code}");
            assert_eq!(known["signature"]["code"], code);
            assert_eq!(post["summary"]["refuted"], 0);
            let findings = post["findings"].as_array().unwrap();
            assert!(findings.iter().any(|finding| finding["code"] == code), "{findings:?}");
            let (status, report) = verified(root, &[asked, &["--pubkey", "author.pub"]].concat());
            assert_eq!((status, refused(&report)), (2, vec![code]));
            for form in [["--quiet"].as_slice(), &[], &["--verbose"]] {
                let read = text(&repro(root, &[&["verify"], asked, form].concat()).stdout);
                assert_eq!(read.matches(&format!("[{code}]")).count(), 1, "{read}");
            }
        }
        let gate = repro(root, &["verify", "--post", "p", "--locked"]);
        assert_eq!(gate.status.code(), Some(2), "there is no lock file");
        assert!(repro(root, &["verify", "--post", "all", "--write-lock"]).status.success());
        let gate = repro(root, &["verify", "--post", "p", "--locked"]);
        assert_eq!(gate.status.code(), Some(1), "{gate:?}");
        assert!(text(&gate.stdout).contains("refuted"), "{gate:?}");
        std::fs::remove_file(root.join("repro/p.lock")).unwrap();
    }
}

#[test]
fn sealing_says_that_an_earlier_signature_no_longer_fits() {
    let temporary = project();
    let root = temporary.path();
    let bundle = format!("receipts/{BUNDLE}");
    let said = |arguments: &[&str]| {
        let output = repro(root, arguments);
        assert!(output.status.success(), "{output:?}");
        text(&output.stderr)
    };
    said(&["bundle", "sign", "--key", "author", &bundle]);
    assert_eq!(said(&["bundle", "seal", &bundle]), "");
    std::fs::write(root.join(&bundle).join("data/note.txt"), "one more file\n").unwrap();
    let note = format!("`{bundle}/receipt.sig` signs different files: remove it, and sign again\n");
    assert_eq!(said(&["bundle", "seal", &bundle]), note);
    std::fs::remove_file(root.join(&bundle).join("receipt.sig")).unwrap();
    said(&["bundle", "sign", "--key", "author", &bundle]);
    assert_eq!(said(&["bundle", "seal", &bundle]), "");
}

#[test]
fn the_vectors_of_the_format_behave_as_labelled() {
    let Some(shared) = shared::folder("the_vectors_of_the_format_behave_as_labelled") else {
        return;
    };
    let vectors = shared.join("oms/test-vectors/v1.0");
    let parse = |name: &str| {
        let bytes = std::fs::read(vectors.join(format!("{name}.bundle.json"))).unwrap();
        Envelope::parse(Source::new(name, bytes).unwrap())
    };
    let hint = "e8450dec4eb99dae995da9af1bc2cc9f76ed669ee2e744f57abba763df3e3f8e";
    let hint = repro_core::digest::Digest::parse_hex(hint);
    assert_eq!(parse("valid/key").unwrap().material, Material::Key { hint });
    for name in ["valid/certificate", "valid/sigstore"] {
        assert_eq!(parse(name).unwrap().material, Material::Certificate, "{name}");
    }
    for (name, code) in [
        ("invalid/empty", "source::syntax"),
        ("invalid/missing-envelope", "source::missing-field"),
        ("invalid/missing-tlog-entries", "signature::unsupported-format"),
        ("invalid/missing-verification-material", "source::missing-field"),
    ] {
        assert_eq!(parse(name).unwrap_err().code.id, code, "{name}");
    }
    // The last one is a good envelope around a statement of another type.
    let payload = parse("invalid-payload/wrong-predicate").unwrap().payload;
    let files = std::collections::BTreeMap::new();
    let statement = repro_bundle::signature::check_statement(
        Source::new("payload", payload).unwrap(),
        "b",
        &files,
    );
    assert_eq!(statement.unwrap_err().code.id, "signature::unsupported-format");
    let count = |folder: &str| std::fs::read_dir(vectors.join(folder)).unwrap().count();
    assert_eq!((count("valid"), count("invalid"), count("invalid-payload")), (3, 4, 1));
}
