//! Strict sources: bytes with a name become a tree in which every value knows its place.
//!
//! Owns the JSON, TOML, CSV and YAML readers, the tree they share, pointers into it, and [`Error`],
//! the one shape of "this input cannot be used". What the values mean is left to the modules above.

mod code;
mod csv;
mod data_file;
mod json;
mod node;
mod pointer;
mod toml;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub use code::codes;
pub use code::{Code, Details, Error, Location};
pub use data_file::DataFile;
pub use node::Node;
pub use pointer::{Pointer, escape, unescape};

/// The maximum size of a JSON or TOML document in bytes (16 MiB); larger evidence is not a document.
pub const DOCUMENT_CAP: usize = 16 << 20;
/// The maximum number of values in one document: a value takes several times the memory of its text.
pub const VALUE_CAP: usize = 250_000;
/// The same limit for loosely parsed documents of other programs, few of which are in memory at a time.
pub const LOOSE_VALUE_CAP: usize = 1_000_000;
/// The approximate number of bytes of a line that are kept as an excerpt: a line may be a whole document with a place for
/// every number.
const EXCERPT: usize = 2_000;
/// The number of bytes that are counted again for each column.
const STRETCH: usize = 256;
/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// The deepest nesting that is read.
pub const DEPTH_CAP: usize = 64;

codes! {
    NOT_UTF8 = "source::not-utf8", "the file is not plain UTF-8", "save the file as UTF-8 without a byte order mark";
    TOO_LARGE = "source::too-large", "the document is too large", "split it into smaller ones";
    TOO_MANY_VALUES = "source::too-many-values", "the document has too many values", "split it into smaller ones";
    TOO_DEEP = "source::too-deep", "the document nests deeper than 64 levels", "flatten it";
    SYNTAX = "source::syntax", "the document has a syntax error", "correct the text at this position";
    DUPLICATE_KEY = "source::duplicate-key", "an object has the same key twice", "remove one of the two";
    NOT_FINITE = "source::not-finite", "a number is not finite", "write a finite number, or record `\"nonfinite\"` instead";
    INEXACT_INTEGER = "source::inexact-integer", "an integer beyond 2^53 is not read the same by all programs", "write it as a string";
    WRONG_TYPE = "source::wrong-type", "a value has the wrong type", "write the expected type";
    MISSING_FIELD = "source::missing-field", "a required field is missing", "add the field";
    UNKNOWN_FIELD = "source::unknown-field", "a field is unknown", "remove it, or correct its spelling";
    NO_SUCH_PLACE = "source::unresolved-pointer", "a pointer leads to nothing", "correct the pointer";
    BAD_POINTER = "source::bad-pointer", "a pointer is malformed", "write `/key/0/name=value`";
    UNREADABLE = "source::unreadable", "a file cannot be read", "check that it exists and that you have permission to read it";
}

/// A named text.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    /// The starting offset of each line, computed on first use. A text may consist of line feeds, so the offsets are as
    /// small as [`DOCUMENT_CAP`] allows.
    lines: OnceLock<Vec<u32>>,
    /// The number of characters before each block of [`STRETCH`] bytes: a text may consist of one line.
    characters: OnceLock<Vec<u32>>,
}

fn unreadable(name: &str, error: &std::io::Error) -> Error {
    UNREADABLE.at(Location::file(name), "a readable file", error.to_string())
}

/// The description of anything other than a plain file.
const NOT_PLAIN: &str = "a folder, pipe, socket or device";

/// Opens a plain file, not a folder, pipe, socket or device. Does not wait for the writer of a pipe.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_PLAIN)),
    }
}

/// All bytes of such a file.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file from the command line, which may also be standard input or the pipe that a shell passes for `<(command)`:
/// such a pipe has no name of its own, so it has a writer. A pipe in a folder may never have one.
pub fn open_named(path: &Path) -> io::Result<File> {
    match is_nameless_pipe(path) {
        true => File::open(path),
        false => open_plain(path),
    }
}

fn is_nameless_pipe(path: &Path) -> bool {
    let number = path.strip_prefix("/dev/fd").or_else(|_| path.strip_prefix("/proc/self/fd"));
    let number = match number {
        Ok(number) => number,
        Err(_) if path == Path::new("/dev/stdin") => Path::new("0"),
        Err(_) => return false,
    };
    let is_pipe = std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo());
    // On Linux, the target of the link shows it; elsewhere, opening a descriptor again does not wait.
    let target = std::fs::read_link(Path::new("/proc/self/fd").join(number));
    is_pipe
        && target.is_ok_and(|to| to.to_string_lossy().starts_with("pipe:"))
            == cfg!(target_os = "linux")
}

fn plain_file(path: &Path, name: &str) -> Result<File, Error> {
    open_plain(path).map_err(|error| unreadable(name, &error))
}

/// All bytes of a file, at most `cap`.
fn bytes_of(cap: usize, file: File, name: &str) -> Result<Vec<u8>, Error> {
    let length = file.metadata().map_err(|error| unreadable(name, &error))?.len();
    if length > cap as u64 {
        let expected = format!("at most {cap} bytes");
        let found = format!("{length} bytes");
        return Err(TOO_LARGE.at(Location::file(name), expected, found));
    }
    // A pipe has no length, and a file may grow; neither may exhaust the memory.
    let mut bytes = Vec::new();
    let mut read = file.take(cap as u64 + 1);
    read.read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    Ok(bytes)
}

impl Source {
    /// Takes the bytes of the file called `name`; rejects text that is not UTF-8, a byte order mark, and documents beyond
    /// [`DOCUMENT_CAP`].
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::of_at_most(DOCUMENT_CAP, name, bytes)
    }

    /// The same with a different limit of `cap` bytes.
    pub fn of_at_most(cap: usize, name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Error> {
        let name = name.into();
        if bytes.len() > cap {
            let found = format!("{} bytes", bytes.len());
            return Err(TOO_LARGE.at(Location::file(name), format!("at most {cap} bytes"), found));
        }
        if bytes.starts_with(MARK) {
            return Err(NOT_UTF8.at(Location::file(name), "text", "a byte order mark"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::of_text(name, text)),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                Err(not_utf8(name, error.as_bytes(), at))
            }
        }
    }

    fn of_text(name: String, text: String) -> Self {
        Self { name, text, lines: OnceLock::new(), characters: OnceLock::new() }
    }

    /// Reads the file at `path`, called `name` in every message; accepts a pipe only from a shell ([`open_named`]).
    pub fn load(path: &Path, name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let file = open_named(path).map_err(|error| unreadable(&name, &error))?;
        Self::of_file(file, name)
    }

    /// Reads the plain file at `path` in a project, without waiting for a pipe.
    pub fn load_plain(path: &Path, name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let file = plain_file(path, &name)?;
        Self::of_file(file, name)
    }

    /// The same with a different limit of `cap` bytes.
    pub fn load_at_most(cap: usize, path: &Path, name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let bytes = bytes_of(cap, plain_file(path, &name)?, &name)?;
        Self::of_at_most(cap, name, bytes)
    }

    /// The same for a file of another program that is only read and never hashed. Editors on Windows write a byte order
    /// mark before the text, which is skipped; places are counted after it, as in editors.
    pub fn load_loose(path: &Path, name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let bytes = bytes_of(DOCUMENT_CAP, plain_file(path, &name)?, &name)?;
        Self::without_mark(name, bytes)
    }

    /// Takes the bytes of another program's file, without a byte order mark.
    pub fn without_mark(name: impl Into<String>, mut bytes: Vec<u8>) -> Result<Self, Error> {
        if bytes.starts_with(MARK) {
            bytes.drain(..MARK.len());
        }
        Self::new(name, bytes)
    }

    fn of_file(file: File, name: String) -> Result<Self, Error> {
        let bytes = bytes_of(DOCUMENT_CAP, file, &name)?;
        Self::new(name, bytes)
    }

    /// The name it goes by in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column (both from 1, columns in characters) of a byte offset.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = floor_boundary(&self.text, offset);
        let (line, start) = self.line_of(offset);
        (line, self.characters_before(offset) - self.characters_before(start) + 1)
    }

    /// The number of characters before a byte offset.
    fn characters_before(&self, offset: usize) -> usize {
        let count = |bytes: &[u8]| bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count();
        let before = self.characters.get_or_init(|| {
            let mut all = 0;
            let stretches = self.text.as_bytes().chunks(STRETCH);
            let before = stretches.map(|stretch| {
                all += count(stretch) as u32;
                all
            });
            std::iter::once(0).chain(before).collect()
        });
        let stretch = offset / STRETCH;
        before[stretch] as usize + count(&self.text.as_bytes()[stretch * STRETCH..offset])
    }

    /// The place of a byte range, without a pointer.
    pub fn place(&self, span: Range<usize>) -> Location {
        let (line, column) = self.line_column(span.start);
        let at = floor_boundary(&self.text, span.start);
        let (_, line_start) = self.line_of(at);
        let from = floor_boundary(&self.text, at.saturating_sub(EXCERPT / 2)).max(line_start);
        let most = floor_boundary(&self.text, at + EXCERPT / 2);
        let end = self.text[at..most].find('\n').map_or(most, |found| at + found);
        let start = if from - line_start < EXCERPT / 2 { line_start } else { from };
        let excerpt = self.text[start..end].trim_end_matches('\r').to_owned();
        let skipped = self.characters_before(start) - self.characters_before(line_start);
        let length = self.text.get(span.start..span.end.min(end).max(span.start));
        let length = length.map_or(1, |marked| marked.chars().count().max(1));
        let file = self.name.clone();
        Location { file, pointer: String::new(), line, column, length, excerpt, skipped }
    }

    /// The number of the line that holds `offset`, and the offset at which it begins.
    fn line_of(&self, offset: usize) -> (usize, usize) {
        let starts = self.lines.get_or_init(|| {
            let breaks = || self.text.bytes().zip(1_u32..).filter(|&(byte, _)| byte == b'\n');
            let mut starts = Vec::with_capacity(1 + breaks().count());
            starts.push(0);
            starts.extend(breaks().map(|(_, next)| next));
            starts
        });
        let line = starts.partition_point(|&start| start as usize <= offset);
        (line, starts[line - 1] as usize)
    }
}

/// The error for bytes that are not text from `at` on, with the line that contains `at`.
fn not_utf8(name: String, bytes: &[u8], at: usize) -> Error {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return NOT_UTF8.at(Location::file(name), "UTF-8", "UTF-16, by its byte order mark");
    }
    let (before, after) = bytes.split_at(at);
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    let end = after.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |found| at + found);
    let excerpt = String::from_utf8_lossy(&bytes[start..end]).trim_end_matches('\r').to_owned();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let place = Location {
        file: name,
        pointer: String::new(),
        line,
        column,
        length: 1,
        excerpt,
        skipped: 0,
    };
    let byte = after.first().copied().unwrap_or_default();
    NOT_UTF8.at(place, "UTF-8", format!("the byte 0x{byte:02X}, which does not start a character"))
}

/// The largest character boundary at or below `offset`.
fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Its content.
    pub kind: Kind,
    /// The bytes of the source it was read from.
    pub span: Range<usize>,
}

/// The content of a value. Numbers keep their text, because printed digits show the rounding.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// JSON `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A finite number, as written.
    Number(Box<str>),
    /// A string, unescaped.
    Text(Box<str>),
    /// A list.
    Array(Vec<Value>),
    /// A mapping with unique keys, in the order of the text.
    Object(Vec<Member>),
}

impl Kind {
    /// The word for this type in messages.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a string",
            Kind::Array(_) => "a list",
            Kind::Object(_) => "a table",
        }
    }
}

/// One entry of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key, unescaped; the rows of a table share the names of its columns.
    pub key: Arc<str>,
    /// The place of the key.
    pub key_span: Range<usize>,
    /// Its value.
    pub value: Value,
}

/// A source and the tree read from it.
#[derive(Debug, Clone)]
pub struct Document {
    /// The source of the tree.
    pub source: Arc<Source>,
    /// The tree.
    pub root: Arc<Value>,
}

impl Document {
    /// Parses strict JSON: one document, unique keys, finite numbers, integers within 2^53.
    pub fn parse_json(source: Source) -> Result<Self, Error> {
        let root = json::parse(&source, 0..source.text().len())?;
        Ok(Self { source: Arc::new(source), root: Arc::new(root) })
    }

    /// Parses a document with at most `cap` values.
    pub fn parse_long_json(source: Source, cap: usize) -> Result<Self, Error> {
        let root = json::parse_long(&source, cap)?;
        Ok(Self { source: Arc::new(source), root: Arc::new(root) })
    }

    /// Parses JSON as other programs write it: integers of any size, and Python's words for non-finite numbers, as strings.
    /// For documents that are only read, never hashed or signed.
    pub fn parse_loose_json(source: Source) -> Result<Self, Error> {
        let Source { name, text, .. } = source;
        let source = Source::of_text(name, json::without_bare_words(text));
        let root = json::parse_loose(&source)?;
        Ok(Self { source: Arc::new(source), root: Arc::new(root) })
    }

    /// The same for JSON lines; the last line may lack a line feed.
    pub fn parse_loose_json_lines(source: Source) -> Result<Self, Error> {
        let Source { name, text, .. } = source;
        let source = Source::of_text(name, json::without_bare_words(text));
        let root = json::parse_loose_lines(&source)?;
        Ok(Self { source: Arc::new(source), root: Arc::new(root) })
    }

    /// Parses JSON lines into a list with one element per line; a last line without a line feed is an error.
    pub fn parse_json_lines(source: Source) -> Result<Self, Error> {
        let root = json::parse_lines(&source)?;
        Ok(Self { source: Arc::new(source), root: Arc::new(root) })
    }

    /// Parses TOML into the same tree; numbers must be finite.
    pub fn parse_toml(source: Source) -> Result<Self, Error> {
        let root = toml::parse(&source)?;
        Ok(Self { source: Arc::new(source), root: Arc::new(root) })
    }

    /// Parses CSV into a list with one dict per row, keyed by the header; every cell is a string.
    pub fn parse_csv(source: Source) -> Result<Self, Error> {
        let root = csv::parse(&source)?;
        Ok(Self { source: Arc::new(source), root: Arc::new(root) })
    }

    /// Parses by the ending of the name: `.toml`, `.jsonl`, `.csv`, else JSON.
    pub fn parse(source: Source) -> Result<Self, Error> {
        match source.name().rsplit('.').next() {
            Some("toml") => Self::parse_toml(source),
            Some("jsonl") => Self::parse_json_lines(source),
            Some("csv") => Self::parse_csv(source),
            _ => Self::parse_json(source),
        }
    }

    /// The root as a [`Node`].
    pub fn root(&self) -> Node<'_> {
        Node::new(self, &self.root)
    }
}
