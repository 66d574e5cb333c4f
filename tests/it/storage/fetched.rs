//! Bundles and models by URL, as users name them.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};

use super::proxy::{Fault, Proxy};
use super::server::{BUCKET, S3Server, variables};

/// A bundle of the repository.
const BUNDLE: &str = "tiny-moe-moe-active12-s1";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the program does, with these variables and a temporary folder of its own, which it leaves empty.
pub fn repro(variables: Vec<(String, String)>, arguments: &[&str]) -> Output {
    let temporary = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_repro"))
        .current_dir(root())
        .envs(variables)
        .env("TMPDIR", temporary.path())
        .args(arguments)
        .output()
        .unwrap();
    let left: Vec<_> = fs::read_dir(temporary.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!all(&output).contains("CANARY"), "{output:?}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What the program says, wherever it says it.
fn all(output: &Output) -> String {
    text(&[&output.stdout[..], &output.stderr].concat())
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A server with the bundle in `runs/`.
pub fn with_bundle(test: &str) -> Option<S3Server> {
    let server = S3Server::start(test)?;
    copy(&root().join("receipts").join(BUNDLE), &server.bucket().join("runs").join(BUNDLE));
    Some(server)
}

#[test]
fn a_bundle_by_url_is_judged_as_in_a_folder() {
    let Some(server) = with_bundle("a_bundle_by_url_is_judged_as_in_a_folder") else { return };
    let url = format!("s3://{BUCKET}/runs/{BUNDLE}");
    let by_url = repro(variables(server.address), &["verify", &url]);
    let path = format!("receipts/{BUNDLE}");
    let here = repro(Vec::new(), &["verify", &path]);
    assert_eq!(by_url.status.code(), here.status.code(), "{by_url:?}");
    assert_eq!(text(&by_url.stdout).replace(&url, &path), text(&here.stdout));
    let as_file = format!("file://{}/{path}", root().display());
    let as_file = repro(Vec::new(), &["verify", &as_file]);
    assert_eq!(as_file.status.code(), here.status.code(), "{as_file:?}");
}

#[test]
fn what_is_wrong_with_a_bundle_is_told_at_its_url() {
    let Some(server) = with_bundle("what_is_wrong_with_a_bundle_is_told_at_its_url") else {
        return;
    };
    let url = format!("s3://{BUCKET}/runs/{BUNDLE}");
    let told = |variables: Vec<(String, String)>, url: &str, code: &str, words: &str| {
        let output = repro(variables, &["verify", url]);
        let told = all(&output);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(told.contains(code) && told.contains(words), "{code} {words}: {told}");
    };
    let settings = || variables(server.address);
    told(settings(), "s3://bucket/runs/none", "bundle::not-a-bag", "s3://bucket/runs/none");
    told(Vec::new(), &url, "storage::no-credentials", "AWS_ACCESS_KEY_ID");
    told(settings(), "s3://key:CANARY@bucket/runs/a", "storage::bad-address", "s3://…");
    let other: Vec<_> = settings()
        .into_iter()
        .map(|(name, value)| {
            if name == "AWS_SECRET_ACCESS_KEY" {
                (name, "CANARY".to_owned())
            } else {
                (name, value)
            }
        })
        .collect();
    told(other, &url, "storage::access-refused", "403");
    let notes = server.bucket().join("runs").join(BUNDLE).join("data/config.json");
    let config = fs::read_to_string(&notes).unwrap();
    fs::write(&notes, config.replacen(':', ";", 1)).unwrap();
    told(settings(), &url, "bundle::wrong-digest", &format!("{url}/data/config.json"));
    fs::write(&notes, config).unwrap();
    fs::write(server.bucket().join("runs").join(BUNDLE).join("data/more.json"), "{}").unwrap();
    told(settings(), &url, "bundle::extra-file", &format!("{url}/data/more.json"));
}

#[test]
fn a_bundle_whose_bytes_are_cut_on_the_way_is_not_believed() {
    let Some(server) = with_bundle("a_bundle_whose_bytes_are_cut_on_the_way") else { return };
    let proxy = Proxy::before(server.address, |_, head| {
        if head.contains("config.json") { Fault::HalfAsWhole } else { Fault::None }
    });
    let output =
        repro(variables(proxy.address), &["verify", &format!("s3://{BUCKET}/runs/{BUNDLE}")]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(all(&output).contains("bundle::wrong-digest"), "{output:?}");
}

/// A server of files by name, as by HTTPS, that sends parts.
fn files(folder: &Path) -> Proxy {
    let folder = folder.to_owned();
    Proxy::alone(move |_, head| {
        let path = head.split(' ').nth(1).unwrap().trim_start_matches('/');
        let lower = head.to_ascii_lowercase();
        let range = lower.lines().find_map(|line| line.strip_prefix("range: bytes="));
        let range = range.and_then(|range| {
            let (from, to) = range.split_once('-')?;
            Some((from.parse().ok()?, to.parse().ok()?))
        });
        match fs::read(folder.join(path)) {
            Ok(bytes) => Fault::Sends(bytes, range),
            Err(_) => Fault::Status(404, String::new()),
        }
    })
}

#[test]
fn a_bundle_by_https_needs_no_list() {
    let server = files(&root().join("receipts"));
    let url = format!("http://{}/{BUNDLE}", server.address);
    let output = repro(Vec::new(), &["verify", &url]);
    let here = repro(Vec::new(), &["verify", &format!("receipts/{BUNDLE}")]);
    assert_eq!(output.status.code(), here.status.code(), "{output:?}");
    assert_eq!(text(&output.stdout), text(&here.stdout));
}

/// A checkpoint of 16 MiB (the server hashes all of a file for each part that it sends) in 4,096 tensors, of which the last is all of it but a little; and how long its header is.
fn checkpoint(path: &Path) -> u64 {
    let large = (16_u64 << 20) - 4_095 * 4;
    let mut header = BTreeMap::new();
    for at in 0..4_096_u64 {
        let (from, size) = (at * 4, if at == 4_095 { large } else { 4 });
        let tensor = serde_json::json!({"dtype": "F32", "shape": [size / 4], "data_offsets": [from, from + size]});
        header.insert(format!("model.layers.{at:04}.weight"), tensor);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let length = header.len() as u64;
    fs::write(path, [&length.to_le_bytes()[..], &header].concat()).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(8 + length + (16 << 20)).unwrap();
    8 + length
}

#[test]
fn of_a_model_the_header_is_read_and_no_more() {
    let Some(server) = S3Server::start("of_a_model_the_header_is_read") else { return };
    let path = server.bucket().join("model.safetensors");
    let header = checkpoint(&path);
    let proxy = Proxy::before(server.address, |_, _| Fault::None);
    let params = |address: SocketAddr| {
        repro(
            variables(address),
            &["params", &format!("s3://{BUCKET}/model.safetensors"), "--format", "json"],
        )
    };
    let output = params(proxy.address);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let here = repro(Vec::new(), &["params", path.to_str().unwrap(), "--format", "json"]);
    let url = format!("s3://{BUCKET}/model.safetensors");
    assert_eq!(text(&output.stdout).replace(&url, path.to_str().unwrap()), text(&here.stdout));
    let sent: u64 = proxy.asked().iter().map(|asked| asked.sent as u64).sum();
    assert!(header > 300_000, "{header}");
    assert!(sent < header + 1_000, "{sent} bytes of {header}, of a file of 16 MiB");
}

#[test]
fn a_model_by_https() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    fs::copy(root().join("receipts/model-cards/data/models/deepseek-v3/config.json"), &path)
        .unwrap();
    let server = files(folder.path());
    let url = format!("http://{}/config.json", server.address);
    let output = repro(Vec::new(), &["params", &url]);
    let here = repro(Vec::new(), &["params", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stdout).replace(&url, path.to_str().unwrap()), text(&here.stdout));
    let refused = repro(Vec::new(), &["params", "http://example.org/config.json"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let none = repro(Vec::new(), &["params", &format!("http://{}/none.json", server.address)]);
    assert!(all(&none).contains("storage::unreadable"), "{none:?}");
}
