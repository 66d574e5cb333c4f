//! Unreadable changed files. Few of them are results, so a file fails only if something shows that it was meant to be
//! of a known kind.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use repro_core::source::{DOCUMENT_CAP, Document, Error, Source};

use crate::check::kinds;

/// The number of bytes examined. Each byte of invalid UTF-8 can take three bytes as text.
const LOOK: usize = DOCUMENT_CAP / 4;
/// The first bytes of the pointer that Git LFS leaves for a file that was not fetched.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Whether a change may contain this unreadable file: it is an LFS pointer, or nothing shows its kind.
pub fn is_passed_over(path: &Path) -> bool {
    is_pointer(path) || !(is_named_as_known(path) || is_begun_as_known(path))
}

/// Whether a file is a Git LFS pointer.
pub fn is_pointer(path: &Path) -> bool {
    start_of(path, POINTER.len()).is_some_and(|start| start == POINTER)
}

fn is_named_as_known(path: &Path) -> bool {
    path.file_name().is_some_and(|name| kinds::is_unmistakable(&name.to_string_lossy()))
}

/// Whether the part before the first error is of a known kind.
fn is_begun_as_known(path: &Path) -> bool {
    let Some(bytes) = start_of(path, LOOK) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let first_line = || text.lines().find(|line| !line.trim().is_empty());
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl")) {
        let line = first_line().and_then(document);
        return line.is_some_and(|line| kinds::is_line_of_known(line.root()));
    }
    document(text).is_some_and(|document| kinds::is_start_of_known(document.root()))
}

/// Reads the first bytes of a regular file; never blocks on a pipe.
fn start_of(path: &Path, length: usize) -> Option<Vec<u8>> {
    path.metadata().ok().filter(|about| about.is_file())?;
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(length as u64).read_to_end(&mut bytes)).ok()?;
    Some(bytes)
}

/// Parses a text as JSON as far as possible.
fn document(text: &str) -> Option<Document> {
    let parsed =
        |text: String| Source::new("start", text.into_bytes()).and_then(Document::parse_loose_json);
    parsed(text.to_owned()).or_else(|fault| parsed(closed(before(text, &fault)))).ok()
}

/// The part of a text before an error.
fn before<'t>(text: &'t str, fault: &Error) -> &'t str {
    let lines = text.split_inclusive('\n');
    let above: usize = lines.take(fault.place.line.saturating_sub(1)).map(str::len).sum();
    let (above, line) = text.split_at_checked(above).unwrap_or((text, ""));
    let within = line.char_indices().nth(fault.place.column.saturating_sub(1));
    let end = within.map_or(text.len(), |(at, _)| above.len() + at);
    text.get(..end).unwrap_or(text)
}

/// The start of a JSON text up to its last complete value, with all open brackets closed.
fn closed(start: &str) -> String {
    let whole = Brackets::of(start).whole;
    let mut text = start.get(..whole).unwrap_or_default().to_owned();
    let open = Brackets::of(&text).open;
    text.extend(open.iter().rev());
    text
}

/// The brackets at the start of a JSON text.
#[derive(Default)]
struct Brackets {
    /// The closers of the open brackets.
    open: Vec<char>,
    /// The last offset at which closing them gives valid JSON: after a bracket, or before a comma.
    whole: usize,
}

impl Brackets {
    fn of(text: &str) -> Self {
        let mut brackets = Self::default();
        let (mut is_string, mut is_escaped) = (false, false);
        for (at, next) in text.char_indices() {
            match next {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = is_string,
                '"' => is_string = !is_string,
                _ if is_string => {}
                '{' | '[' => {
                    brackets.open.push(if next == '{' { '}' } else { ']' });
                    brackets.whole = at + 1;
                }
                '}' | ']' => {
                    brackets.open.pop();
                    brackets.whole = at + 1;
                }
                ',' => brackets.whole = at,
                _ => {}
            }
        }
        brackets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_text_is_closed_at_its_last_whole_value() {
        for (start, whole) in [
            ("", ""),
            ("{\"a\": 1, \"b\": [2, {\"c\": \"x,}", "{\"a\": 1, \"b\": [2, {}]}"),
            ("{\"a\": {\"b\": 1}, \"c\": 2", "{\"a\": {\"b\": 1}}"),
            ("{\"a\": \"\\\"}\", \"b", "{\"a\": \"\\\"}\"}"),
            ("[1] ", "[1]"),
        ] {
            assert_eq!(closed(start), whole);
        }
    }

    /// Whether a file with this name and content may be part of a change.
    fn is_passed(name: &str, content: &[u8]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        is_passed_over(&path)
    }

    #[test]
    fn what_shows_no_kind_is_passed_over() {
        let pointer = [POINTER, b"v1\noid sha256:00\nsize 1\n"].concat();
        let deep = "[".repeat(100);
        for (name, content) in [
            ("a.json", &*pointer),
            ("trainer_state.json", &pointer),
            ("a.jsonl", &pointer),
            ("a.json", b""),
            ("a.json", b"{\"a\": 1}\n{\"a\": 2}\n"),
            ("a.json", b"{\"a\": {{ x | jsonify }}}"),
            ("a.json", b"{\"\xe9\": 1, \"\xe9\": 2}"),
            ("a.json", b"\xff\xfe{\0}\0"),
            ("a.json", b"{\"a\": 1e999}"),
            ("a.json", deep.as_bytes()),
            ("config.json", b"{\n  // a comment\n  \"a\": 1\n}"),
        ] {
            assert!(is_passed(name, content), "{name}: {}", String::from_utf8_lossy(content));
        }
    }

    #[test]
    fn what_shows_its_kind_is_not() {
        let state = b"{\"global_step\": 5, \"log_history\": [{\"loss\": 1.0}, {\"loss\": ";
        let sample = b"\n{\"doc_id\": 0, \"resps\": [], \"doc_hash\": \"\xe9\", \"x\": 1e999}\n";
        for (name, content) in [
            ("trainer_state.json", &b"{"[..]),
            ("state.json", state),
            ("state.json", b"\xef\xbb\xbf{\"global_step\": 5, \"log_history\": [], \"\xe9\": 1, \"x\": 1, \"x\": 2}"),
            ("config.json", b"{\"architectures\": [\"X\"], // a comment\n"),
            ("some.jsonl", sample),
            ("a.json", b"{\"results\": {\"sums\": {\"alias\": \"sums\", \"acc,none\": 0.5}, \"x\": {\"al"),
            ("a.json", b"{\"config_general\": {\"lighteval_sha\": \"0\", \"x\": "),
            ("a.json", b"{\"schema_version\": 1, \"evaluation_id\": \"a\", \"model_info\": {\"n"),
        ] {
            assert!(!is_passed(name, content), "{name}: {}", String::from_utf8_lossy(content));
        }
    }
}
