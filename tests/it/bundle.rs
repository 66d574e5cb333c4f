//! Hostile bundles: each rule of the bundle format against several ways to break it.
//!
//! The forge writes bundles on its own, without the writer under test, so that a forged bundle is right
//! in everything but its one fault.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use repro::bundle::{Bundle, Chain, Origin};
use repro::digest::Digest;
use repro::source::Refusal;
use serde_json::{Value as Json, json};

const CONFIG: &str = "data/config.json";
const METRICS: &str = "data/metrics.jsonl";
const EVALUATION: &str = "data/evaluation/step-10.json";
const TASKS: &str = "data/evaluation/step-10.tasks.csv";
const WEIGHTS: &str = "data/checkpoints/step-10.safetensors";
const RECEIPT: &str = "data/receipt.json";

/// A bundle in memory. Digests, subjects and sizes are worked out when it is written, unless an attack
/// has put something else there.
struct Forge {
    payload: BTreeMap<String, Vec<u8>>,
    predicate: Json,
    /// Changes the statement when subjects and sizes are in place.
    statement: fn(&mut Json),
    /// Changes the text of the receipt.
    receipt_text: fn(String) -> String,
    /// Changes the text of a manifest, named first.
    manifest: fn(&str, String) -> String,
    declaration: &'static str,
    info: &'static str,
    /// Changes the folder when all is written.
    disk: fn(&Path),
}

fn weights(values: [f32; 4]) -> Vec<u8> {
    let header = br#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [&(header.len() as u64).to_le_bytes()[..], header, &data].concat()
}

fn metrics() -> String {
    let mut chain = Chain::default();
    (0..3)
        .map(|step| {
            let record = json!({"step": step, "loss": 0.5}).as_object().cloned().unwrap();
            chain.extend(record).unwrap()
        })
        .collect()
}

fn emitted() -> Forge {
    let payload = [
        (CONFIG, b"{\"dim\":64}\n".to_vec()),
        (METRICS, metrics().into_bytes()),
        (EVALUATION, b"{\"step\":10}\n".to_vec()),
        (TASKS, b"task,accuracy\ncopa,0.70\n".to_vec()),
        (WEIGHTS, weights([0.5, -1.0, 3e38, 0.0])),
    ];
    Forge {
        payload: payload.map(|(name, bytes)| (name.to_owned(), bytes)).into(),
        predicate: json!({
            "schema": "repro.receipt/1", "origin": "emitted", "run": {"id": "run-1"}, "model": {"params_total": 4},
            "checkpoints": [{"step": 10, "evaluation": EVALUATION, "weights": WEIGHTS}],
        }),
        statement: |_| {},
        receipt_text: |text| text,
        manifest: |_, text| text,
        declaration: "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        info: "",
        disk: |_| {},
    }
}

fn transcribed() -> Forge {
    let facts = "{\"facts\":[{\"at\":{\"place\":\"table 1\",\"quote\":\"loss 2.310\",\"source\":\"post\"},\
                 \"id\":\"loss\",\"value\":\"2.310\"}]}\n";
    let payload = [("data/facts.json", facts), ("data/configs/a.toml", "dim = 6_4\n")];
    Forge {
        payload: payload.map(|(name, text)| (name.to_owned(), text.into())).into(),
        predicate: json!({
            "schema": "repro.receipt/1", "origin": "transcribed",
            "extra": {"documents": {"data/configs/a.toml": "config-a"}},
        }),
        ..emitted()
    }
}

impl Forge {
    fn put(&mut self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.payload.insert(name.to_owned(), bytes.into());
    }

    fn write(&self, folder: &Path) {
        let others: Vec<_> = self.payload.iter().collect();
        let subjects: Vec<_> = others
            .iter()
            .map(|(name, bytes)| {
                json!({"name": name, "digest": {"sha256": Digest::of(bytes).to_string()}})
            })
            .collect();
        let mut predicate = self.predicate.clone();
        predicate["files"] =
            others.iter().map(|(n, bytes)| json!({"name": n, "bytes": bytes.len()})).collect();
        let mut statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "https://repro.example/receipt/v1",
            "subject": subjects, "predicate": predicate,
        });
        (self.statement)(&mut statement);
        let receipt = (self.receipt_text)(repro::digest::canonical(&statement).unwrap() + "\n");
        let mut manifest = String::new();
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
            format!("{}  {name}\n", Digest::of(bytes))
        };
        for (name, bytes) in &self.payload {
            manifest += &put(name, bytes);
        }
        manifest += &put(RECEIPT, receipt.as_bytes());
        let manifest = (self.manifest)("manifest-sha256.txt", manifest);
        let tags = put("bag-info.txt", self.info.as_bytes())
            + &put("bagit.txt", self.declaration.as_bytes())
            + &put("manifest-sha256.txt", manifest.as_bytes());
        put("tagmanifest-sha256.txt", (self.manifest)("tagmanifest-sha256.txt", tags).as_bytes());
        (self.disk)(folder);
    }

    fn load(&self) -> Result<Bundle, Refusal> {
        let temporary = tempfile::tempdir().unwrap();
        self.write(&temporary.path().join("receipts/run-1"));
        Bundle::load(temporary.path(), "run-1", None, 2)
    }
}

/// A rule, what is tried, the code that must come, and how to try it.
type Attack = (u8, &'static str, &'static str, fn(&mut Forge));

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn replace_by_fifo(path: &Path) {
    fs::remove_file(path).unwrap();
    fifo(path);
}

const LAYOUT: &[Attack] = &[
    (3, "CRLF in the declaration", "bundle::bad-tag-file", |f| {
        f.declaration = "BagIt-Version: 1.0\r\nTag-File-Character-Encoding: UTF-8\r\n";
    }),
    (3, "another BagIt version", "bundle::bad-tag-file", |f| {
        f.declaration = "BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n";
    }),
    (3, "a payload sum that is not so", "bundle::bad-tag-file", |f| f.info = "Payload-Oxum: 1.1\n"),
    (3, "a CRLF tag manifest", "bundle::bad-name", |f| {
        f.manifest = |n, t| if n.starts_with("tag") { t.replace('\n', "\r\n") } else { t };
    }),
    (3, "upper-case digests", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if n.starts_with("tag") { t } else { t.to_uppercase() };
    }),
    (3, "a duplicate manifest line", "bundle::duplicate-name", |f| {
        f.manifest = |_, t| {
            let first = t.lines().next().unwrap().to_owned();
            format!("{t}{first}\n")
        };
    }),
    (3, "a tag manifest without the manifest", "bundle::missing-file", |f| {
        f.manifest = |n, t| {
            let keep = |l: &&str| !n.starts_with("tag") || !l.ends_with("manifest-sha256.txt");
            t.lines().filter(keep).map(|l| format!("{l}\n")).collect()
        };
    }),
    (3, "a signature in the tag manifest", "bundle::extra-file", |f| {
        f.manifest = |n, t| {
            let line = format!("{}  receipt.sig\n", Digest::of(b""));
            if n.starts_with("tag") { t + &line } else { t }
        };
        f.disk = |p| fs::write(p.join("receipt.sig"), "").unwrap();
    }),
    (3, "a huge signature", "source::too-large", |f| {
        f.disk = |p| fs::write(p.join("receipt.sig"), vec![b' '; (16 << 20) + 1]).unwrap();
    }),
    (3, "no tag manifest", "bundle::missing-file", |f| {
        f.disk = |p| fs::remove_file(p.join("tagmanifest-sha256.txt")).unwrap();
    }),
    (3, "a changed tag file", "bundle::wrong-digest", |f| {
        f.disk = |p| fs::write(p.join("bag-info.txt"), "Contact-Name: x\n").unwrap();
    }),
    (4, "`..` in the manifest", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data/../data/config.json");
    }),
    (4, "an absolute name", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "/etc/passwd");
    }),
    (4, "an empty component", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data//config.json");
    }),
    (4, "a percent sign", "bundle::bad-name", |f| f.put("data/a%0Ab.txt", "")),
    (4, "a space", "bundle::bad-name", |f| f.put("data/a b.txt", "")),
    (4, "letters beyond ASCII", "bundle::bad-name", |f| f.put("data/é.txt", "")),
    (4, "a very deep name", "bundle::bad-name", |f| f.put("data/1/2/3/4/5/6/7/8/x.txt", "")),
    (4, "a very long name", "bundle::bad-name", |f| {
        f.put(&format!("data/{}", "x".repeat(220)), "");
    }),
    (4, "names that differ in case", "bundle::case-clash", |f| f.put("data/Config.json", "{}\n")),
    (4, "folders that differ in case", "bundle::case-clash", |f| {
        f.put("data/Evaluation/x.txt", "");
    }),
    (4, "a file beside a folder of its stem", "bundle::ambiguous-order", |f| {
        f.put("data/evaluation.json", "{}\n");
    }),
    (4, "a name on disk that is not UTF-8", "bundle::bad-name", |f| {
        f.disk = |p| {
            use std::os::unix::ffi::OsStrExt;
            fs::write(p.join(std::ffi::OsStr::from_bytes(b"data/\xff")), "").unwrap();
        };
    }),
];

const DISK: &[Attack] = &[
    (5, "an extra file", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("data/extra.txt"), "").unwrap();
    }),
    (5, "an extra file at the top", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("README"), "").unwrap();
    }),
    (5, "a hidden file", "bundle::hidden-file", |f| {
        f.disk = |p| fs::write(p.join("data/.hidden"), "").unwrap();
    }),
    (5, "a hidden folder", "bundle::hidden-file", |f| {
        f.disk = |p| fs::create_dir(p.join(".git")).unwrap();
    }),
    (5, "a hidden file that the manifest lists", "bundle::hidden-file", |f| f.put("data/.x", "")),
    (5, "an empty folder", "bundle::empty-folder", |f| {
        f.disk = |p| fs::create_dir_all(p.join("data/empty")).unwrap();
    }),
    (5, "a missing file", "bundle::missing-file", |f| {
        f.disk = |p| fs::remove_file(p.join(CONFIG)).unwrap();
    }),
    (5, "a manifest of files outside `data/`", "bundle::extra-file", |f| {
        f.manifest = |n, t| {
            let line = format!("{}  bag-info.txt\n", Digest::of(b""));
            if n.starts_with("tag") { t } else { t + &line }
        };
    }),
    (5, "a pipe for a payload file", "bundle::not-regular", |f| {
        f.disk = |p| replace_by_fifo(&p.join(CONFIG));
    }),
    (5, "a pipe for a tag file", "bundle::not-regular", |f| {
        f.disk = |p| replace_by_fifo(&p.join("tagmanifest-sha256.txt"));
    }),
    (5, "a pipe for the declaration", "bundle::not-regular", |f| {
        f.disk = |p| replace_by_fifo(&p.join("bagit.txt"));
    }),
    (5, "an extra pipe", "bundle::not-regular", |f| f.disk = |p| fifo(&p.join("data/pipe"))),
    (5, "a socket", "bundle::not-regular", |f| {
        f.disk = |p| drop(std::os::unix::net::UnixListener::bind(p.join("data/s")).unwrap());
    }),
    (5, "a link to a file", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::rename(p.join(CONFIG), p.join("../config.json")).unwrap();
            symlink("../../config.json", p.join(CONFIG)).unwrap();
        };
    }),
    (5, "a link to a device", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::remove_file(p.join(CONFIG)).unwrap();
            symlink("/dev/zero", p.join(CONFIG)).unwrap();
        };
    }),
    (5, "a link to a folder", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::rename(p.join("data/evaluation"), p.join("../evaluation")).unwrap();
            symlink("../../evaluation", p.join("data/evaluation")).unwrap();
        };
    }),
    (5, "a link for the whole bundle", "bundle::not-a-folder", |f| {
        f.disk = |p| {
            fs::rename(p, p.with_file_name("other")).unwrap();
            symlink("other", p).unwrap();
        };
    }),
    (5, "a hard link", "bundle::hard-link", |f| {
        f.disk = |p| fs::hard_link(p.join(CONFIG), p.join("../other.json")).unwrap();
    }),
    (5, "a file that is shorter", "bundle::wrong-size", |f| {
        f.disk = |p| fs::write(p.join(CONFIG), "{}\n").unwrap();
    }),
    (5, "a file that is longer", "bundle::wrong-size", |f| {
        f.disk = |p| fs::write(p.join(WEIGHTS), vec![0; 1 << 20]).unwrap();
    }),
    (5, "a sparse giant declared small", "bundle::sparse", |f| {
        f.disk = |p| sparse(&p.join(WEIGHTS), 1 << 40);
    }),
    (5, "a sparse giant declared as it is", "bundle::sparse", |f| {
        f.statement = |s| s["predicate"]["files"][0]["bytes"] = json!(1_u64 << 40);
        f.disk = |p| sparse(&p.join(WEIGHTS), 1 << 40);
    }),
    (5, "a sparse receipt below the limit for holes", "source::too-large", |f| {
        f.disk = |p| sparse(&p.join(RECEIPT), 60 << 20);
    }),
    (5, "a changed byte", "bundle::wrong-digest", |f| {
        f.disk = |p| fs::write(p.join(CONFIG), "{\"dim\":65}\n").unwrap();
    }),
    (5, "a changed byte in the weights", "bundle::wrong-digest", |f| {
        f.disk = |p| fs::write(p.join(WEIGHTS), weights([f32::NAN, -1.0, 3e38, 0.0])).unwrap();
    }),
    (5, "a changed receipt", "bundle::wrong-digest", |f| {
        f.disk = |p| {
            let text = fs::read_to_string(p.join(RECEIPT)).unwrap();
            fs::write(p.join(RECEIPT), text.replace("run-1", "run-2")).unwrap();
        };
    }),
    (5, "a file without a declared size", "bundle::undeclared-size", |f| {
        f.statement = |s| drop(s["predicate"]["files"].as_array_mut().unwrap().pop());
    }),
];

fn sparse(path: &Path, length: u64) {
    fs::File::create(path).unwrap().set_len(length).unwrap();
}

const JSON: &[Attack] = &[
    (6, "a duplicate key", "source::duplicate-key", |f| f.put(CONFIG, "{\"a\":1,\"a\":2}\n")),
    (6, "an escaped duplicate key", "source::duplicate-key", |f| {
        f.put(CONFIG, "{\"a\":1,\"\\u0061\":2}\n");
    }),
    (6, "a duplicate key in the receipt", "source::duplicate-key", |f| {
        f.receipt_text = |t| {
            t.replace("\"origin\":\"emitted\"", "\"origin\":\"emitted\",\"origin\":\"emitted\"")
        };
    }),
    (6, "NaN", "source::syntax", |f| f.put(CONFIG, "{\"a\":NaN}\n")),
    (6, "Infinity", "source::syntax", |f| f.put(CONFIG, "{\"a\":-Infinity}\n")),
    (6, "1e999", "source::not-finite", |f| f.put(CONFIG, "{\"a\":1e999}\n")),
    (6, "2^53 + 1", "source::inexact-integer", |f| f.put(CONFIG, "{\"a\":9007199254740993}\n")),
    (6, "deep nesting", "source::too-deep", |f| {
        f.put(CONFIG, format!("{}{}\n", "[".repeat(70), "]".repeat(70)));
    }),
    (6, "very deep nesting", "source::syntax", |f| f.put(CONFIG, "[".repeat(1 << 20))),
    (6, "a byte order mark", "source::not-utf8", |f| f.put(CONFIG, "\u{feff}{}\n")),
    (6, "UTF-16", "source::not-utf8", |f| f.put(CONFIG, *b"\xff\xfe{\0}\0\n\0")),
    (6, "bad UTF-8", "source::not-utf8", |f| f.put(CONFIG, *b"{\"a\":\"\xc0\x80\"}\n")),
    (6, "a lone surrogate", "source::syntax", |f| f.put(CONFIG, "{\"a\":\"\\ud800\"}\n")),
    (6, "a second document", "source::syntax", |f| f.put(CONFIG, "{}\n{}\n")),
    (6, "a document beyond the cap", "source::too-large", |f| {
        f.put(CONFIG, vec![b' '; (16 << 20) + 1]);
    }),
    (6, "spaces", "bundle::not-canonical", |f| f.put(CONFIG, "{\"a\": 1}\n")),
    (6, "keys out of order", "bundle::not-canonical", |f| f.put(CONFIG, "{\"b\":1,\"a\":1}\n")),
    (6, "no line feed", "bundle::not-canonical", |f| f.put(CONFIG, "{}")),
    (6, "a long number", "bundle::not-canonical", |f| f.put(CONFIG, "{\"a\":1e-07}\n")),
    (6, "a negative zero", "bundle::not-canonical", |f| f.put(CONFIG, "{\"a\":-0}\n")),
    (6, "a receipt with spaces", "bundle::not-canonical", |f| {
        f.receipt_text = |t| t.replace("\"origin\":", "\"origin\": ");
    }),
    (6, "a line with spaces", "bundle::not-canonical", |f| {
        f.put("data/timing.jsonl", "{\"a\":1}\n{\"a\": 2}\n");
    }),
    (6, "a torn line", "source::syntax", |f| f.put("data/timing.jsonl", "{\"a\":1}\n{\"a\":2}")),
    (6, "an edited record", "bundle::broken-chain", |f| {
        f.put(METRICS, metrics().replace("0.5", "0.4"));
    }),
    (6, "a missing record", "bundle::broken-chain", |f| {
        let lines: Vec<_> = metrics().lines().map(|l| format!("{l}\n")).collect();
        f.put(METRICS, [lines[0].as_str(), &lines[2]].concat());
    }),
    (6, "a ragged table", "source::syntax", |f| f.put(TASKS, "a,b\n1\n")),
    (6, "a duplicate key in TOML", "source::duplicate-key", |f| {
        f.put("data/a.toml", "a = 1\na = 2\n")
    }),
    (6, "an unknown field", "source::unknown-field", |f| f.predicate["runs"] = json!(1)),
    (6, "an unknown field inside", "source::unknown-field", |f| {
        f.predicate["checkpoints"][0]["weight"] = json!(WEIGHTS);
    }),
    (6, "another schema", "bundle::wrong-schema", |f| {
        f.predicate["schema"] = json!("repro.receipt/2");
    }),
    (6, "another statement type", "bundle::wrong-schema", |f| {
        f.statement = |s| s["_type"] = json!("https://in-toto.io/Statement/v0.1");
    }),
    (6, "another predicate type", "bundle::wrong-schema", |f| {
        f.statement = |s| s["predicateType"] = json!("https://slsa.dev/provenance/v1");
    }),
];

const WEIGHT_FILES: &[Attack] = &[
    (7, "a NaN", "bundle::not-finite-weight", |f| {
        f.put(WEIGHTS, weights([1.0, f32::NAN, 0.0, 0.0]))
    }),
    (7, "an infinity at the end", "bundle::not-finite-weight", |f| {
        f.put(WEIGHTS, weights([1.0, 0.0, 0.0, f32::NEG_INFINITY]));
    }),
    (7, "a trailing byte", "checkpoint::length", |f| {
        f.put(WEIGHTS, [&weights([0.0; 4])[..], b"x"].concat())
    }),
    (7, "a missing byte", "checkpoint::length", |f| f.put(WEIGHTS, &weights([0.0; 4])[..70])),
    (7, "a header beyond the file", "bundle::bad-weights", |f| f.put(WEIGHTS, [0xff; 64])),
    (7, "an empty file", "bundle::bad-weights", |f| f.put(WEIGHTS, "")),
    (7, "a tensor twice", "source::duplicate-key", |f| {
        let text = r#"{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
        f.put(WEIGHTS, [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat());
    }),
    (8, "a pickle by name", "bundle::opaque-format", |f| f.put("data/model.pt", "")),
    (8, "a pickle by a shouted name", "bundle::opaque-format", |f| f.put("data/model.PKL", "")),
    (8, "an archive by name", "bundle::opaque-format", |f| f.put("data/logs.tar.gz", "")),
    (8, "a pickle by content", "bundle::opaque-format", |f| {
        f.put("data/model.dat", *b"\x80\x04\x95\x0b\0\0\0\0\0\0\0.");
    }),
    (8, "a ZIP by content", "bundle::opaque-format", |f| {
        f.put("data/model.dat", *b"PK\x03\x04rest")
    }),
    (8, "a ZIP that is called weights", "bundle::opaque-format", |f| {
        f.put(WEIGHTS, *b"PK\x03\x04rest of it")
    }),
    (8, "a pickle that is called weights", "bundle::opaque-format", |f| {
        f.put(WEIGHTS, *b"\x80\x02}q\x00X\x01\0\0\0a.");
    }),
    (8, "a gzip that is called JSON lines", "bundle::opaque-format", |f| {
        f.put("data/timing.jsonl", *b"\x1f\x8b\x08\0\0\0\0\0");
    }),
    (8, "a tar by content", "bundle::opaque-format", |f| {
        let mut block = vec![0; 512];
        block[257..262].copy_from_slice(b"ustar");
        f.put("data/model.dat", block);
    }),
    (8, "a 7z, XZ or Zstandard by content", "bundle::opaque-format", |f| {
        f.put("data/model.dat", *b"7z\xbc\xaf\x27\x1c\0\0");
    }),
];

const AGREEMENT: &[Attack] = &[
    (9, "a subject is missing", "bundle::wrong-subjects", |f| {
        f.statement = |s| drop(s["subject"].as_array_mut().unwrap().remove(1));
    }),
    (9, "a subject too many", "bundle::wrong-subjects", |f| {
        f.statement = |s| {
            let mut extra = s["subject"][0].clone();
            extra["name"] = json!("data/other.json");
            s["subject"].as_array_mut().unwrap().push(extra);
        };
    }),
    (9, "the receipt as its own subject", "bundle::wrong-subjects", |f| {
        f.statement = |s| {
            let mut extra = s["subject"][0].clone();
            extra["name"] = json!(RECEIPT);
            s["subject"].as_array_mut().unwrap().push(extra);
        };
    }),
    (9, "a subject twice", "bundle::duplicate-name", |f| {
        f.statement = |s| {
            let again = s["subject"][0].clone();
            s["subject"].as_array_mut().unwrap().push(again);
        };
    }),
    (9, "the digest of another config", "bundle::wrong-subjects", |f| {
        f.statement = |s| {
            let subjects = s["subject"].as_array_mut().unwrap();
            let config = subjects.iter_mut().find(|subject| subject["name"] == CONFIG).unwrap();
            config["digest"]["sha256"] = json!(Digest::of(b"{\"dim\":65}\n").to_string());
        };
    }),
    (9, "a subject digest in capitals", "bundle::bad-digest", |f| {
        f.statement = |s| s["subject"][0]["digest"]["sha256"] = json!("A".repeat(64));
    }),
    (9, "a wrong declared size", "bundle::wrong-size", |f| {
        f.statement = |s| s["predicate"]["files"][1]["bytes"] = json!(1);
    }),
    (9, "a size of a file that is not there", "bundle::undeclared-size", |f| {
        f.statement = |s| {
            let files = s["predicate"]["files"].as_array_mut().unwrap();
            files.push(json!({"name": "data/other.json", "bytes": 1}));
        };
    }),
    (9, "a size twice", "bundle::duplicate-name", |f| {
        f.statement = |s| {
            let again = s["predicate"]["files"][0].clone();
            s["predicate"]["files"].as_array_mut().unwrap().push(again);
        };
    }),
    (9, "an external file without a digest", "source::missing-field", |f| {
        f.statement = |s| {
            let files = s["predicate"]["files"].as_array_mut().unwrap();
            files.push(json!({"name": "w.safetensors", "bytes": 1, "external": true}));
        };
    }),
    (9, "the receipt of another run", "bundle::wrong-name", |f| {
        f.predicate["run"]["id"] = json!("run-2")
    }),
    (9, "a parameter count that the tensors do not have", "bundle::wrong-count", |f| {
        f.predicate["model"] = json!({"params_total": 5});
    }),
    (9, "an evaluation that is not there", "bundle::unknown-file", |f| {
        f.predicate["checkpoints"][0]["evaluation"] = json!("data/evaluation/step-20.json");
    }),
    (9, "weights that are not there", "bundle::unknown-file", |f| {
        f.predicate["checkpoints"][0]["weights"] = json!("../step-10.safetensors");
    }),
    (9, "the digest of other weights", "bundle::wrong-digest", |f| {
        f.predicate["checkpoints"][0]["weights_sha256"] = json!(Digest::of(b"").to_string());
    }),
    (9, "a slice that is not there", "bundle::unknown-file", |f| {
        f.predicate["slices"] =
            json!([{"from_step": 0, "steps": 1, "file": "data/slices/0.safetensors"}]);
    }),
    (9, "typed facts in an emitted bundle", "bundle::wrong-field-for-origin", |f| {
        f.put("data/facts.json", "{\"facts\":[]}\n");
    }),
    (9, "a trainer in a transcribed bundle", "bundle::wrong-field-for-origin", |f| {
        *f = transcribed();
        f.predicate["trainer"] = json!({"name": "repro"});
    }),
    (9, "a typed file without its document", "bundle::untraced-document", |f| {
        *f = transcribed();
        f.put("data/configs/b.toml", "dim = 1\n");
    }),
    (9, "two facts with one id", "bundle::duplicate-fact", |f| {
        *f = transcribed();
        let fact = "{\"at\":{\"place\":\"p\",\"source\":\"s\"},\"id\":\"a\",\"value\":\"1\"}";
        f.put("data/facts.json", format!("{{\"facts\":[{fact},{fact}]}}\n"));
    }),
];

#[test]
fn good_bundles_load() {
    let bundle = emitted().load().unwrap();
    assert_eq!(
        (bundle.name(), bundle.origin(), bundle.files().len()),
        ("run-1", Origin::Emitted, 6)
    );
    assert_eq!(bundle.receipt().checkpoints[0].step, 10);
    let signed = Forge { disk: |p| fs::write(p.join("receipt.sig"), "{}").unwrap(), ..emitted() };
    assert_eq!(signed.load().unwrap().digest(), bundle.digest());
    let typed = transcribed().load().unwrap();
    assert_eq!((typed.origin(), typed.facts()[0].value.as_str()), (Origin::Transcribed, "2.310"));
    assert_eq!(typed.typed_from("data/configs/a.toml"), Some("config-a"));
}

#[test]
fn every_attack_is_refused_at_once_with_its_code() {
    let mut tried = BTreeMap::new();
    for (rule, what, code, attack) in [LAYOUT, DISK, JSON, WEIGHT_FILES, AGREEMENT].concat() {
        let mut forge = emitted();
        attack(&mut forge);
        let temporary = tempfile::tempdir().unwrap();
        forge.write(&temporary.path().join("receipts/run-1"));
        let start = Instant::now();
        let refusal = Bundle::load(temporary.path(), "run-1", None, 1).expect_err(what);
        // Milliseconds on an idle machine; the limit leaves room for a busy one.
        assert!(start.elapsed() < Duration::from_secs(2), "{what}: {:?}", start.elapsed());
        assert_eq!(refusal.code.id, code, "rule {rule}, {what}: {refusal}");
        assert!(refusal.place.file.starts_with("receipts/run-1"), "{what}: {refusal}");
        assert!(!refusal.expected.is_empty() && !refusal.found.is_empty(), "{what}: {refusal}");
        assert!(refusal.to_string().chars().count() < 1000, "{what}: {refusal}");
        *tried.entry(rule).or_insert(0) += 1;
    }
    for rule in 3..=9 {
        assert!(tried.get(&rule).is_some_and(|count| *count >= 5), "rule {rule}: {tried:?}");
    }
}

#[test]
fn another_bundle_than_the_pinned_one_is_refused_with_both_digests() {
    let temporary = tempfile::tempdir().unwrap();
    emitted().write(&temporary.path().join("receipts/run-1"));
    let digest = Bundle::load(temporary.path(), "run-1", None, 1).unwrap().digest();
    assert!(Bundle::load(temporary.path(), "run-1", Some(&digest), 1).is_ok());
    let pin = Digest::of(b"");
    let refusal = Bundle::load(temporary.path(), "run-1", Some(&pin), 1).unwrap_err();
    assert_eq!(refusal.code.id, "bundle::wrong-bundle");
    assert_eq!(
        (refusal.expected.clone(), refusal.found.clone()),
        (pin.prefixed(), digest.prefixed())
    );
    for name in ["../run-1", "run-1/data", ".", "..", "", "/etc"] {
        let refusal = Bundle::load(temporary.path(), name, None, 1).unwrap_err();
        assert_eq!(refusal.code.id, "bundle::bad-bundle-name", "{name}");
    }
    assert_eq!(
        Bundle::load(temporary.path(), "run-2", None, 1).unwrap_err().code.id,
        "bundle::absent"
    );
}

#[test]
fn a_document_that_changes_after_the_check_is_not_parsed() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("receipts/run-1");
    emitted().write(&folder);
    let bundle = Bundle::load(temporary.path(), "run-1", None, 1).unwrap();
    let accuracy = bundle.document(TASKS).unwrap().root().at("task=copa/accuracy").unwrap();
    assert_eq!((accuracy.text().unwrap(), accuracy.place().line), ("0.70", 2));
    fs::write(folder.join(CONFIG), "{\"dim\":65}\n").unwrap();
    assert_eq!(bundle.document(CONFIG).unwrap_err().code.id, "bundle::wrong-digest");
    assert_eq!(bundle.document("data/none.json").unwrap_err().code.id, "bundle::unknown-file");
}

#[test]
fn the_number_of_threads_changes_neither_answer_nor_refusal() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("receipts/run-1");
    let mut forge = emitted();
    for index in 0..20 {
        forge.put(&format!("data/notes/{index:02}.json"), if index < 7 { "{}\n" } else { "{} \n" });
    }
    forge.write(&folder);
    for threads in [0, 1, 2, 8] {
        let refusal = Bundle::load(temporary.path(), "run-1", None, threads).unwrap_err();
        assert_eq!(refusal.place.file, "receipts/run-1/data/notes/07.json");
    }
}
