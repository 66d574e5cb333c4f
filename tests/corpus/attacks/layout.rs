//! Rule 3, as far as it is about the tag files: one algorithm, unique names, and a digest over everything
//! but the signature. The signature itself is in a file of its own.

use std::fs;

use repro_core::digest::Digest;

use super::Case;
use super::forge::{CONFIG, RECEIPT};

fn is_tags(name: &str) -> bool {
    name.starts_with("tag")
}

pub const CASES: &[Case] = &[
    ("CRLF in the declaration", "bundle::bad-tag-file", |f| {
        f.declaration = "BagIt-Version: 1.0\r\nTag-File-Character-Encoding: UTF-8\r\n";
    }),
    ("another BagIt version", "bundle::bad-tag-file", |f| {
        f.declaration = "BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n";
    }),
    ("another encoding of tag files", "bundle::bad-tag-file", |f| {
        f.declaration = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-16\n";
    }),
    ("a declaration with a third line", "bundle::bad-tag-file", |f| {
        f.declaration = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\nX: y\n";
    }),
    ("a declaration with a byte order mark", "source::not-utf8", |f| {
        f.declaration = "\u{feff}BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";
    }),
    ("an empty declaration", "bundle::bad-tag-file", |f| f.declaration = ""),
    ("a declaration without its last line feed", "bundle::bad-tag-file", |f| {
        f.declaration = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8";
    }),
    ("a payload sum that is not so", "bundle::bad-tag-file", |f| {
        f.info = "Payload-Oxum: 1.1\n".into()
    }),
    ("a payload sum in other letters that is not so", "bundle::bad-tag-file", |f| {
        f.info = "payload-oxum: 1.1\n".into();
    }),
    ("facts about the bag that are no lines of label and value", "bundle::bad-tag-file", |f| {
        f.info = "no label here\n".into();
    }),
    ("an escape sequence in the facts about the bag", "bundle::bad-tag-file", |f| {
        f.info = "Contact-Name: \u{1b}]0;owned\u{7}\n".into();
    }),
    ("a CRLF tag manifest", "bundle::bad-name", |f| {
        f.manifest = |n, t| if is_tags(n) { t.replace('\n', "\r\n") } else { t };
    }),
    ("a CRLF manifest", "bundle::bad-name", |f| {
        f.manifest = |n, t| if is_tags(n) { t } else { t.replace('\n', "\r\n") };
    }),
    ("digests in capitals", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if is_tags(n) { t } else { t.to_uppercase() };
    }),
    ("short digests, as of SHA-1", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| {
            let short = |l: &str| format!("{}  {}\n", &l[..40], &l[66..]);
            if is_tags(n) { t } else { t.lines().map(short).collect() }
        };
    }),
    ("one space in place of two", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if is_tags(n) { t } else { t.replace("  ", " ") };
    }),
    ("the star of binary mode before a name", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if is_tags(n) { t } else { t.replace("  ", " *") };
    }),
    ("the backslash of an escaped name before a digest", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if is_tags(n) { t } else { format!("\\{t}") };
    }),
    ("an empty line", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if is_tags(n) { t } else { format!("\n{t}") };
    }),
    ("a comment", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if is_tags(n) { t + "# all files\n" } else { t };
    }),
    ("a last line without a line feed", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if is_tags(n) { t.trim_end().to_owned() } else { t };
    }),
    ("a duplicate manifest line", "bundle::duplicate-name", |f| {
        f.manifest = |_, t| {
            let first = t.lines().next().unwrap().to_owned();
            format!("{t}{first}\n")
        };
    }),
    ("a name twice with two digests", "bundle::duplicate-name", |f| {
        f.manifest = |n, t| match is_tags(n) {
            true => t,
            false => format!("{t}{}  {CONFIG}\n", Digest::of(b"")),
        };
    }),
    ("an empty manifest", "bundle::extra-file", |f| {
        f.manifest = |n, t| if is_tags(n) { t } else { String::new() };
    }),
    ("an empty tag manifest", "bundle::missing-file", |f| {
        f.manifest = |n, t| if is_tags(n) { String::new() } else { t };
    }),
    ("a tag manifest without the manifest", "bundle::missing-file", |f| {
        f.manifest = |n, t| {
            let keep = |l: &&str| !is_tags(n) || !l.ends_with("manifest-sha256.txt");
            t.lines().filter(keep).map(|l| format!("{l}\n")).collect()
        };
    }),
    ("a tag manifest without the declaration", "bundle::missing-file", |f| {
        f.manifest = |n, t| {
            let keep = |l: &&str| !is_tags(n) || !l.ends_with("bagit.txt");
            t.lines().filter(keep).map(|l| format!("{l}\n")).collect()
        };
    }),
    ("a tag manifest that lists itself", "bundle::extra-file", |f| {
        f.manifest = |n, t| match is_tags(n) {
            true => format!("{t}{}  tagmanifest-sha256.txt\n", Digest::of(b"")),
            false => t,
        };
    }),
    ("a tag manifest that lists a payload file", "bundle::extra-file", |f| {
        f.manifest = |n, t| match is_tags(n) {
            true => format!("{t}{}  {CONFIG}\n", Digest::of(b"{\"dim\":64}\n")),
            false => t,
        };
    }),
    ("a manifest that lists the manifest", "bundle::extra-file", |f| {
        f.manifest = |n, t| match is_tags(n) {
            true => t,
            false => format!("{t}{}  manifest-sha256.txt\n", Digest::of(b"")),
        };
    }),
    ("a manifest without the receipt", "bundle::extra-file", |f| {
        f.manifest = |n, t| {
            let keep = |l: &&str| is_tags(n) || !l.ends_with(RECEIPT);
            t.lines().filter(keep).map(|l| format!("{l}\n")).collect()
        };
    }),
    ("a signature in the tag manifest", "bundle::extra-file", |f| {
        f.manifest = |n, t| {
            let line = format!("{}  receipt.sig\n", Digest::of(b""));
            if is_tags(n) { t + &line } else { t }
        };
        f.disk = |p| fs::write(p.join("receipt.sig"), "").unwrap();
    }),
    ("no tag manifest", "bundle::missing-file", |f| {
        f.disk = |p| fs::remove_file(p.join("tagmanifest-sha256.txt")).unwrap();
    }),
    ("no manifest", "bundle::missing-file", |f| {
        f.disk = |p| fs::remove_file(p.join("manifest-sha256.txt")).unwrap();
    }),
    ("a changed tag file", "bundle::wrong-digest", |f| {
        f.disk = |p| fs::write(p.join("bag-info.txt"), "Contact-Name: x\n").unwrap();
    }),
    ("a manifest that was changed and not sealed", "bundle::wrong-digest", |f| {
        f.disk = |p| {
            let path = p.join("manifest-sha256.txt");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text.replace("config.json", "config.toml")).unwrap();
        };
    }),
    ("a manifest of bytes that are no text", "source::not-utf8", |f| {
        f.disk = |p| fs::write(p.join("tagmanifest-sha256.txt"), b"\xff\xfe\0\0").unwrap();
    }),
];
