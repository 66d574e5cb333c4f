//! The forge: bundles that are right in everything but their one fault. It writes them on its own,
//! without the writer under test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use repro_bundle::bundle::Chain;
use repro_core::digest::{Digest, canonical};
use serde_json::{Value as Json, json};

use super::signing::{Files, pem};

pub const CONFIG: &str = "data/config.json";
pub const METRICS: &str = "data/metrics.jsonl";
pub const EVALUATION: &str = "data/evaluation/step-10.json";
pub const TASKS: &str = "data/evaluation/step-10.tasks.csv";
pub const WEIGHTS: &str = "data/checkpoints/step-10.safetensors";
pub const RECEIPT: &str = "data/receipt.json";

/// A bundle in memory. Digests, subjects and sizes are worked out when it is written, unless a case has
/// put something else there.
pub struct Forge {
    pub payload: BTreeMap<String, Vec<u8>>,
    pub predicate: Json,
    /// Changes the statement when subjects and sizes are in place.
    pub statement: fn(&mut Json),
    /// Changes the text of the receipt.
    pub receipt_text: fn(String) -> String,
    /// Changes the text of a manifest, named first.
    pub manifest: fn(&str, String) -> String,
    pub declaration: &'static str,
    pub info: String,
    /// Changes the folder when all is written.
    pub disk: fn(&Path),
    /// The post through which it is asked for, made from the digest of the bundle; without one the bundle
    /// itself is asked for.
    pub post: Option<fn(&str) -> PinnedPost>,
    /// The text of its signature, made from the digests of all its files.
    pub sign: Option<fn(&Files) -> String>,
    /// The key that the caller asks for.
    pub pubkey: Option<u8>,
}

/// A `.safetensors` file of this header and this data.
pub fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

pub fn weights(values: [f32; 4]) -> Vec<u8> {
    let header = r#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    safetensors(header, &data)
}

pub fn metrics() -> String {
    let mut chain = Chain::default();
    (0..3)
        .map(|step| {
            let record = json!({"step": step, "loss": 0.5}).as_object().cloned().unwrap();
            chain.extend(record).unwrap()
        })
        .collect()
}

/// A bundle as a trainer writes it.
pub fn emitted() -> Forge {
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
        info: String::new(),
        disk: |_| {},
        post: None,
        sign: None,
        pubkey: None,
    }
}

/// A bundle as a person types it from a publication.
pub fn transcribed() -> Forge {
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
    /// Puts a payload file there, or another text into one.
    pub fn put(&mut self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.payload.insert(name.to_owned(), bytes.into());
    }

    /// Writes the bundle and answers its digest before anything was done to the folder.
    pub fn write(&self, folder: &Path) -> Digest {
        let digests: Vec<_> = self
            .payload
            .iter()
            .map(|(name, bytes)| (name, bytes.len(), Digest::of(bytes)))
            .collect();
        let subject = |(name, _, digest): &(&String, usize, Digest)| json!({"name": name, "digest": {"sha256": digest.to_string()}});
        let size =
            |(name, length, _): &(&String, usize, Digest)| json!({"name": name, "bytes": length});
        let mut predicate = self.predicate.clone();
        predicate["files"] = digests.iter().map(size).collect();
        let mut statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "https://repro.example/receipt/v1",
            "subject": digests.iter().map(subject).collect::<Vec<_>>(), "predicate": predicate,
        });
        (self.statement)(&mut statement);
        let receipt = (self.receipt_text)(canonical(&statement).unwrap() + "\n");
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        let line = |name: &str, digest: Digest| format!("{digest}  {name}\n");
        let mut manifest = String::new();
        for (name, _, digest) in &digests {
            put(name, &self.payload[*name]);
            manifest += &line(name, *digest);
        }
        put(RECEIPT, receipt.as_bytes());
        manifest += &line(RECEIPT, Digest::of(receipt.as_bytes()));
        let manifest = (self.manifest)("manifest-sha256.txt", manifest);
        let mut tags = String::new();
        for (name, text) in [
            ("bag-info.txt", self.info.as_str()),
            ("bagit.txt", self.declaration),
            ("manifest-sha256.txt", &manifest),
        ] {
            put(name, text.as_bytes());
            tags += &line(name, Digest::of(text.as_bytes()));
        }
        let tags = (self.manifest)("tagmanifest-sha256.txt", tags);
        put("tagmanifest-sha256.txt", tags.as_bytes());
        if let Some(sign) = self.sign {
            let mut files: Files =
                digests.iter().map(|(name, _, digest)| ((*name).clone(), *digest)).collect();
            for (name, text) in [
                (RECEIPT, receipt.as_str()),
                ("bag-info.txt", self.info.as_str()),
                ("bagit.txt", self.declaration),
                ("manifest-sha256.txt", &manifest),
                ("tagmanifest-sha256.txt", &tags),
            ] {
                files.insert(name.to_owned(), Digest::of(text.as_bytes()));
            }
            put("receipt.sig", sign(&files).as_bytes());
        }
        (self.disk)(folder);
        Digest::of(tags.as_bytes())
    }

    /// Writes a project at `root` whose one bundle is this, and answers its digest and what to ask `repro
    /// verify` for.
    pub fn project(&self, root: &Path) -> (Digest, Vec<&'static str>) {
        fs::create_dir_all(root.join("repro")).unwrap();
        let digest = self.write(&root.join("receipts/run-1"));
        let mut asked = match self.post {
            None => vec!["receipts/run-1"],
            Some(post) => {
                let asking = post(&digest.prefixed());
                fs::write(root.join("repro/p.toml"), asking.post).unwrap();
                fs::write(root.join("repro/p.lock"), asking.lock).unwrap();
                vec!["--post", "p"]
            }
        };
        if let Some(seed) = self.pubkey {
            fs::write(root.join("key.pub"), pem(seed)).unwrap();
            asked.extend(["--pubkey", "key.pub"]);
        }
        (digest, asked)
    }
}

/// A post and its lock.
pub struct PinnedPost {
    /// The text of the post.
    pub post: String,
    /// The text of the lock, which holds the digests of bundles.
    pub lock: String,
}

/// A post that names the bundle `name`, with a lock that pins it to this digest.
pub fn post(name: &str, digest: &str) -> PinnedPost {
    let post = format!(
        "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"A post\"\n\n[texts.s]\n\
         what = \"a page\"\n\n[names]\nrun = \"{name}\"\n"
    );
    let of_post = Digest::of(post.as_bytes()).prefixed();
    let lock = format!(
        "schema = \"repro.lock/4\"\npost = \"{of_post}\"\n\n[texts]\n\n[bundles]\n\
         \"{name}\" = \"{digest}\"\n\n[claims]\n"
    );
    PinnedPost { post, lock }
}

/// A pipe that nobody writes to.
pub fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The same in place of what stands there.
pub fn fifo_for(path: &Path) {
    match path.is_dir() {
        true => fs::remove_dir_all(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    }
    fifo(path);
}

/// A device that never ends, or a link to one where this user may make none.
pub fn device_for(path: &Path) {
    fs::remove_file(path).unwrap();
    let made = Command::new("mknod")
        .arg(path)
        .args(["c", "1", "5"])
        .stderr(std::process::Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    }
}

/// A file of this length that takes no place.
pub fn sparse(path: &Path, length: u64) {
    fs::File::create(path).unwrap().set_len(length).unwrap();
}
