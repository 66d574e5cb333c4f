//! The BagIt 1.0 tag files, read strictly and written in one form.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{BAD_MANIFEST, BAD_TAG_FILE, DUPLICATE_NAME, EXTRA_FILE, name};
use repro_core::digest::Digest;
use repro_core::source::{Error, Source};

/// The declaration; its presence makes a folder a bag.
pub const DECLARATION: &str = "bagit.txt";
/// All that the declaration may say.
pub const DECLARATION_TEXT: &str = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";
/// Facts about the bag.
pub const INFO: &str = "bag-info.txt";
/// The digests of all payload files.
pub const PAYLOAD: &str = "manifest-sha256.txt";
/// The digests of the tag files.
pub const TAGS: &str = "tagmanifest-sha256.txt";
/// The files at the top of every bundle, by which one is known whose declaration is gone.
pub const TAG_FILES: &[&str] = &[DECLARATION, INFO, PAYLOAD, TAGS];
/// The optional signature.
pub const SIGNATURE: &str = "receipt.sig";
/// The state of a run that still trains.
pub const STATE: &str = "state.json";
/// The tag files that the tag manifest lists, in order.
pub const LISTED_TAGS: [&str; 3] = [INFO, DECLARATION, PAYLOAD];

/// How many digits a digest has.
const DIGITS: usize = 64;

/// Digests by file name.
pub type Manifest = BTreeMap<String, Digest>;

/// Parses a manifest: `digest`, two spaces, name, line feed.
pub fn parse(source: &Source) -> Result<Manifest, Error> {
    let lines = || source.text().split_inclusive('\n');
    let mut entries = Vec::with_capacity(lines().count());
    let mut start = 0;
    for line in lines() {
        let place = || source.place(start..start + line.len());
        let entry =
            line.strip_suffix('\n').and_then(|line| line.split_at_checked(DIGITS)).and_then(
                |(digest, name)| Some((Digest::parse_hex(digest)?, name.strip_prefix("  ")?)),
            );
        let Some((digest, name)) = entry else {
            let expected = "64 lowercase hexadecimal digits, two spaces, a name, a line feed";
            let found: String = line.chars().take(100).collect();
            return Err(BAD_MANIFEST.at(place(), expected, format!("`{}`", found.escape_debug())));
        };
        name::check(name, place)?;
        entries.push((name.to_owned(), digest));
        start += line.len();
    }
    name::distinct(entries).map_err(|at| {
        let start = lines().take(at).map(str::len).sum();
        let line = lines().nth(at).unwrap_or_default();
        let name = line.get(DIGITS..).unwrap_or_default().trim();
        let place = source.place(start..start + line.len());
        DUPLICATE_NAME.at(place, "each name once", format!("`{name}` again"))
    })
}

/// Writes a manifest, sorted by name.
pub fn write(manifest: &Manifest) -> String {
    manifest.iter().fold(String::new(), |mut text, (name, digest)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{digest}  {name}");
        text
    })
}

/// Checks the declaration, byte for byte.
pub fn check_declaration(source: &Source) -> Result<(), Error> {
    if source.text() == DECLARATION_TEXT {
        return Ok(());
    }
    let found: String = source.text().chars().take(100).collect();
    let expected = format!("exactly `{}`", DECLARATION_TEXT.escape_debug());
    Err(BAD_TAG_FILE.at(source.place(0..0), expected, format!("`{}`", found.escape_debug())))
}

/// How much payload a bag says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oxum {
    /// The sum of all lengths.
    pub bytes: u64,
    /// How many files.
    pub files: usize,
}

/// Writes `bag-info.txt`.
pub fn write_info(oxum: Oxum, date: Option<&str>) -> String {
    let date = date.map(|date| format!("Bagging-Date: {date}\n")).unwrap_or_default();
    format!("{date}Payload-Oxum: {}.{}\n", oxum.bytes, oxum.files)
}

/// The payload counts stated in the tag files of a bundle, before any of it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatedPayload {
    /// The digest of each file, by its name below the bundle; each begins with `data/`.
    pub files: BTreeMap<String, Digest>,
    /// How many bytes they have together.
    pub bytes: u64,
}

impl StatedPayload {
    /// Reads `bag-info.txt` and `manifest-sha256.txt`, which have to agree.
    pub fn parse(info: &Source, manifest: &Source) -> Result<Self, Error> {
        let files = parse(manifest)?;
        name::check_set(files.keys().map(String::as_str), |_| manifest.place(0..0))?;
        if let Some(name) = files.keys().find(|name| !name.starts_with("data/")) {
            let expected = "names that begin with `data/`";
            return Err(EXTRA_FILE.at(manifest.place(0..0), expected, format!("`{name}`")));
        }
        let labels = info.text().lines().filter_map(|line| line.split_once(": "));
        let mut stated = labels.filter(|(label, _)| label.eq_ignore_ascii_case("Payload-Oxum"));
        let value = stated.next().map(|(_, value)| value).unwrap_or_default();
        let oxum = value.split_once('.').and_then(|(bytes, count)| {
            Some(Oxum { bytes: bytes.parse().ok()?, files: count.parse().ok()? })
        });
        // Its lines are checked once the payload is there; this is how much of it may come.
        match oxum.filter(|oxum| oxum.files == files.len()) {
            Some(oxum) => Ok(Self { files, bytes: oxum.bytes }),
            None => {
                let expected = format!("`Payload-Oxum: BYTES.{}`", files.len());
                Err(BAD_TAG_FILE.at(info.place(0..0), expected, name::shown(value)))
            }
        }
    }
}

/// Checks `bag-info.txt`: lines of `Label: value`, and a payload of the size it states.
pub fn check_info(source: &Source, payload: Oxum) -> Result<(), Error> {
    let mut start = 0;
    let mut stated = false;
    for line in source.text().split_inclusive('\n') {
        let place = || source.place(start..start + line.len());
        let entry = line.strip_suffix('\n').and_then(|line| line.split_once(": "));
        let Some((label, value)) = entry.filter(|(label, value)| {
            label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !label.is_empty()
                && !value.contains(char::is_control)
        }) else {
            return Err(BAD_TAG_FILE.at(
                place(),
                "`Label: value` and a line feed",
                "a different line",
            ));
        };
        if label.eq_ignore_ascii_case("Payload-Oxum") {
            let expected = format!("{}.{}", payload.bytes, payload.files);
            if stated || value != expected {
                let expected = format!("`Payload-Oxum: {expected}`, once");
                return Err(BAD_TAG_FILE.at(place(), expected, format!("`{}`", line.trim_end())));
            }
            stated = true;
        }
        start += line.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("m.txt", text.into()).unwrap()
    }

    #[test]
    fn a_manifest_survives_writing_and_reading() {
        let manifest: Manifest = ["data/b", "data/a"]
            .iter()
            .map(|n| ((*n).to_owned(), Digest::of(n.as_bytes())))
            .collect();
        let text = write(&manifest);
        assert!(text.starts_with(&format!("{}  data/a\n", Digest::of(b"data/a"))));
        assert_eq!(parse(&source(&text)).unwrap(), manifest);
    }

    #[test]
    fn only_one_spelling_of_a_line_is_read() {
        let digest = Digest::of(b"").to_string();
        for (text, code) in [
            (format!("{digest}  a\r\n"), "bundle::bad-name"),
            (format!("{digest}  a"), "bundle::bad-manifest"),
            (format!("{digest} a\n"), "bundle::bad-manifest"),
            (format!("{digest} *a\n"), "bundle::bad-manifest"),
            (format!("\\{digest}  a\n"), "bundle::bad-manifest"),
            (format!("{}  a\n", digest.to_uppercase()), "bundle::bad-manifest"),
            (format!("{digest}  a\n\n"), "bundle::bad-manifest"),
            (format!("{digest}   a\n"), "bundle::bad-name"),
            (format!("{digest}  a\n{digest}  a\n"), "bundle::duplicate-name"),
            ("# comment\n".to_owned(), "bundle::bad-manifest"),
        ] {
            assert_eq!(parse(&source(&text)).unwrap_err().code.id, code, "{text:?}");
        }
    }

    #[test]
    fn the_stated_payload_must_be_there() {
        let oxum = Oxum { bytes: 12, files: 3 };
        let text = write_info(oxum, Some("2026-03-14"));
        assert_eq!(text, "Bagging-Date: 2026-03-14\nPayload-Oxum: 12.3\n");
        check_info(&source(&text), oxum).unwrap();
        check_info(&source(""), oxum).unwrap();
        for wrong in ["Payload-Oxum: 12.4\n", "Payload-Oxum: 12.3", " folded\n", "A: b\r\n"] {
            assert_eq!(
                check_info(&source(wrong), oxum).unwrap_err().code.id,
                "bundle::bad-tag-file",
                "{wrong:?}"
            );
        }
    }
}
