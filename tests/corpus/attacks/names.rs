//! Rule 4: what a file may be called, so that every tool on every system means the same file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::json;

use super::Case;

fn on_disk(folder: &Path, name: &[u8]) {
    fs::write(folder.join(OsStr::from_bytes(name)), "").unwrap();
}

pub const CASES: &[Case] = &[
    ("`..` in the manifest", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data/../data/config.json");
    }),
    ("`..` twice over, to a file outside", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data/../../../etc/passwd");
    }),
    ("`..` as the last component", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data/..");
    }),
    ("`.` in the manifest", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "./data/config.json");
    }),
    ("an absolute name", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "/etc/passwd");
    }),
    ("an absolute name with two slashes", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "//server/share");
    }),
    ("a home folder", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "~/config.json");
    }),
    ("a drive letter", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "C:config.json");
    }),
    ("an address", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "file:///etc/passwd");
    }),
    ("an empty component", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data//config.json");
    }),
    ("a slash at the end", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data/config.json/");
    }),
    ("an empty name", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "")
    }),
    ("a NUL in the manifest", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data/config.json\0.txt");
    }),
    ("a backslash", "bundle::bad-name", |f| f.put("data/a\\b.txt", "")),
    ("`..` with backslashes", "bundle::bad-name", |f| f.put("data/..\\..\\x.txt", "")),
    ("a colon, as of a second stream", "bundle::bad-name", |f| f.put("data/a.txt:hidden", "")),
    ("a percent sign", "bundle::bad-name", |f| f.put("data/a%0Ab.txt", "")),
    ("`..` in percent signs", "bundle::bad-name", |f| f.put("data/%2e%2e", "")),
    ("a space", "bundle::bad-name", |f| f.put("data/a b.txt", "")),
    ("a space at the end", "bundle::bad-name", |f| f.put("data/a.txt ", "")),
    ("a dot at the end", "bundle::bad-name", |f| f.put("data/model.pt.", "")),
    ("three dots", "bundle::hidden-file", |f| f.put("data/.../x.txt", "")),
    ("a device on Windows", "bundle::bad-name", |f| f.put("data/nul", "")),
    ("a device on Windows with an ending", "bundle::bad-name", |f| f.put("data/AUX.txt", "")),
    ("a numbered device for a folder", "bundle::bad-name", |f| f.put("data/com1/x.txt", "")),
    ("a line feed", "bundle::bad-name", |f| f.disk = |p| on_disk(p, b"data/a\nb.txt")),
    ("a carriage return", "bundle::bad-name", |f| f.disk = |p| on_disk(p, b"data/a\r.txt")),
    ("an escape sequence", "bundle::bad-name", |f| f.disk = |p| on_disk(p, b"data/\x1b[2J.txt")),
    ("a delete character", "bundle::bad-name", |f| f.disk = |p| on_disk(p, b"data/a\x7f.txt")),
    ("a mark that turns the direction of text", "bundle::bad-name", |f| {
        f.put("data/a\u{202e}nosj.txt", "");
    }),
    ("a character without width", "bundle::bad-name", |f| f.put("data/a\u{200b}.txt", "")),
    ("letters beyond ASCII", "bundle::bad-name", |f| f.put("data/é.txt", "")),
    ("a letter that looks like another", "bundle::bad-name", |f| f.put("data/rес.txt", "")),
    ("a slash that is none", "bundle::bad-name", |f| f.put("data/a\u{2215}b.txt", "")),
    ("a wildcard", "bundle::bad-name", |f| f.put("data/*.txt", "")),
    ("a command in quotes", "bundle::bad-name", |f| f.put("data/$(id).txt", "")),
    ("a quote", "bundle::bad-name", |f| f.put("data/a'b.txt", "")),
    ("a very deep name", "bundle::bad-name", |f| f.put("data/1/2/3/4/5/6/7/8/x.txt", "")),
    ("a thousand folders in one another", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", &format!("data/{}x", "a/".repeat(1000)));
    }),
    ("a very long name", "bundle::bad-name", |f| f.put(&format!("data/{}", "x".repeat(220)), "")),
    ("a name of a megabyte in the manifest", "bundle::bad-name", |f| {
        f.manifest = |_, t| t.replace("data/config.json", &"x".repeat(1 << 20));
    }),
    ("names that differ in case", "bundle::case-clash", |f| f.put("data/Config.json", "{}\n")),
    ("folders that differ in case", "bundle::case-clash", |f| f.put("data/Evaluation/x.txt", "")),
    ("a folder and a file that differ in case", "bundle::case-clash", |f| {
        f.put("data/EVALUATION", "")
    }),
    ("a tag file in capitals beside its own", "bundle::case-clash", |f| {
        f.disk = |p| fs::write(p.join("BAGIT.TXT"), "").unwrap();
    }),
    ("a file beside a folder of its stem", "bundle::ambiguous-order", |f| {
        f.put("data/evaluation.json", "{}\n");
    }),
    ("a file that sorts before the folder of its stem", "bundle::ambiguous-order", |f| {
        f.put("data/evaluation-all.csv", "a\n1\n");
    }),
    ("a name on disk that is not UTF-8", "bundle::bad-name", |f| {
        f.disk = |p| on_disk(p, b"data/\xff")
    }),
    ("a document whose ending is in capitals", "bundle::bad-name", |f| {
        f.put("data/a.JSON", "{\"a\":1,\"a\":2}")
    }),
    ("weights whose ending is in capitals", "bundle::bad-name", |f| {
        f.put("data/a.SAFETENSORS", "")
    }),
    ("an external file with `..`", "bundle::bad-name", |f| {
        f.statement = |s| {
            let digest = "0".repeat(64);
            let external = json!({"name": "../../w.safetensors", "bytes": 1, "external": true, "sha256": digest});
            s["predicate"]["files"].as_array_mut().unwrap().push(external);
        };
    }),
];
