//! Texts and their documents.
//!
//! Each document ends with a line feed: one is added where it lacks, so that documents in a row do not
//! run into each other. Documents of white space alone are left out.

use std::io::Read;
use std::path::Path;

use super::{TOO_LARGE, UNKNOWN_VALUE};
use repro_core::source::{self, Error, Location, Node, Source};

/// The largest text that is read.
pub(super) const TEXT_CAP: u64 = 4 << 30;

/// How a text is cut into documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut<'a> {
    /// At each line that is this one; the line is left out.
    separator: Option<&'a str>,
    /// After the first blank line at which a document has this many bytes.
    bytes: Option<usize>,
}

impl Cut<'_> {
    fn is_separator(self, line: &str) -> bool {
        self.separator == Some(line)
    }

    fn ends(self, line: &str, document: &str) -> bool {
        line.trim().is_empty() && self.bytes.is_some_and(|bytes| document.len() >= bytes)
    }
}

/// The bytes of the file at `path`, called `name` in messages, if they are no more than `cap`.
pub(super) fn read(path: &Path, name: &str, cap: u64) -> Result<Vec<u8>, Error> {
    let unreadable = |error: std::io::Error| {
        source::UNREADABLE.at(Location::file(name), "a readable file", error.to_string())
    };
    let file = source::open_plain(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // One byte more than is allowed tells a file that is too large, whatever its length claims to be.
    file.take(cap + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > cap {
        let expected = format!("at most {cap} bytes");
        return Err(TOO_LARGE.at(Location::file(name), expected, "more"));
    }
    Ok(bytes)
}

/// The bytes as text.
fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let found = format!("an invalid byte at offset {}", error.valid_up_to());
        source::NOT_UTF8.at(Location::file(name), "UTF-8", found)
    })
}

/// The documents of a text file, as the field `documents` of the table `data` says.
pub(super) fn of_text(data: Node, name: &str, bytes_of_file: &[u8]) -> Result<Vec<String>, Error> {
    let node = data.required("documents")?;
    node.only(&["separator", "bytes"])?;
    let separator = node.get("separator").map(Node::text).transpose()?;
    let bytes = node.get("bytes").map(Node::integer).transpose()?;
    let bytes = bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    if separator.is_none() && bytes.is_none() {
        let expected = "`separator`, `bytes` or both";
        return Err(UNKNOWN_VALUE.at(node.place(), expected, "neither"));
    }
    Ok(documents(text(name, bytes_of_file)?, Cut { separator, bytes }))
}

fn documents(text: &str, cut: Cut) -> Vec<String> {
    let (mut documents, mut document) = (Vec::new(), String::new());
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        let is_separator = cut.is_separator(bare);
        if !is_separator {
            document.push_str(line);
        }
        if is_separator || cut.ends(bare, &document) {
            finish(std::mem::take(&mut document), &mut documents);
        }
    }
    finish(document, &mut documents);
    documents
}

/// Adds a document that holds more than white space.
fn finish(mut document: String, documents: &mut Vec<String>) {
    if !document.trim().is_empty() {
        if !document.ends_with('\n') {
            document.push('\n');
        }
        documents.push(document);
    }
}

/// The documents of a file of JSON lines: the field `field` (of the table `data`) of each line.
pub(super) fn of_lines(data: Node, name: &str, bytes: &[u8]) -> Result<Vec<String>, Error> {
    let field = data.required("field")?.text()?;
    let mut documents = Vec::new();
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let of_line = |line: &[u8]| {
            let document = source::Document::parse_json(Source::new(name, line.to_vec())?)?;
            Ok::<_, Error>(document.root().required(field)?.text()?.to_owned())
        };
        let document = of_line(line).map_err(|error: Error| {
            // The place counts lines within the line that was parsed.
            let place = Location {
                line: number + 1,
                column: error.place.column.max(1),
                ..error.place.clone()
            };
            error.moved(place)
        })?;
        finish(document, &mut documents);
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    fn data(text: &str) -> Document {
        Document::parse_toml(Source::new("study.toml", text.into()).unwrap()).unwrap()
    }

    #[test]
    fn a_separator_line_ends_a_document() {
        let table = data("documents = { separator = \"%%\" }");
        let found = of_text(table.root(), "t", b"%%\none\n\ntwo\n%%\n \n%%\r\nthree %%\n").unwrap();
        assert_eq!(found, ["one\n\ntwo\n", "three %%\n"]);
    }

    #[test]
    fn blank_lines_end_a_document_that_is_long_enough() {
        let table = data("documents = { bytes = 6 }");
        let found = of_text(table.root(), "t", b"one\n\ntwo\n\nthree\nand\n\nfour").unwrap();
        assert_eq!(found, ["one\n\ntwo\n\n", "three\nand\n\n", "four\n"]);
        let each = data("documents = { bytes = 0 }");
        assert_eq!(of_text(each.root(), "t", b"a\n\n\nb\n").unwrap(), ["a\n\n", "b\n"]);
    }

    #[test]
    fn long_documents_between_separators_are_cut_too() {
        let table = data("documents = { separator = \"%%\", bytes = 5 }");
        let found = of_text(table.root(), "t", b"one\n\ntwo\n\n%%\na\n%%\nb\n\nc\n").unwrap();
        assert_eq!(found, ["one\n\n", "two\n\n", "a\n", "b\n\nc\n"]);
    }

    #[test]
    fn nothing_of_a_text_is_lost() {
        let table = data("documents = { bytes = 40 }");
        let text: String =
            (0..200).map(|n| format!("line {n}\n{}", if n % 3 == 0 { "\n" } else { "" })).collect();
        assert_eq!(of_text(table.root(), "t", text.as_bytes()).unwrap().concat(), text);
    }

    #[test]
    fn lines_of_json_give_their_field() {
        let table = data("field = \"text\"");
        let lines =
            b"{\"text\":\"one\"}\n\n{\"id\":3,\"text\":\"two\\nlines\\n\"}\n{\"text\":\" \"}\n";
        assert_eq!(of_lines(table.root(), "t.jsonl", lines).unwrap(), ["one\n", "two\nlines\n"]);
        let found =
            of_lines(table.root(), "t.jsonl", b"{\"text\":\"a\"}\n{\"body\":1}\n").unwrap_err();
        assert_eq!((found.code.id, found.place.line), ("source::missing-field", 2));
        let found = of_lines(table.root(), "t.jsonl", b"{\"text\":\"a\"}\n{\"text\":").unwrap_err();
        assert_eq!((found.code.id, found.place.line), ("source::syntax", 2));
    }

    #[test]
    fn bad_texts_are_refused() {
        let table = data("documents = {}");
        let found = of_text(table.root(), "t", b"a").unwrap_err();
        assert_eq!(
            (found.code.id, found.place.pointer.as_str()),
            ("data::unknown-value", "/documents")
        );
        let table = data("documents = { bytes = 3 }");
        let found = of_text(table.root(), "t", b"ab\xff").unwrap_err();
        assert_eq!(
            (found.code.id, found.found.as_str()),
            ("source::not-utf8", "an invalid byte at offset 2")
        );
        let folder = tempfile::tempdir().unwrap();
        let found = read(&folder.path().join("no"), "no", 10).unwrap_err();
        assert_eq!((found.code.id, found.place.file.as_str()), ("source::unreadable", "no"));
        std::fs::write(folder.path().join("long"), b"12345678901").unwrap();
        assert_eq!(
            read(&folder.path().join("long"), "long", 10).unwrap_err().code.id,
            "data::too-large"
        );
        assert_eq!(read(&folder.path().join("long"), "long", 11).unwrap().len(), 11);
    }
}
