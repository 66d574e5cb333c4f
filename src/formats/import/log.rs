//! Reads untrusted logs once: lines are returned with their numbers while the bytes are hashed.
//!
//! A log may have any length, contain any bytes, and end in the middle of a line. The formats interpret the lines.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::{memchr, memchr_iter, memmem, memrchr};

use super::{LONG_LINE, NOT_A_FILE};
use repro_core::digest::{Digest, Hasher};
use repro_core::source::{DOCUMENT_CAP, Error, Location, Source, TOO_LARGE, UNREADABLE};

/// The number of bytes per read.
const READ_SIZE: usize = 256 << 10;
/// The longest line passed to a format (64 KiB); longer lines are truncated to this length.
const LINE_CAP: usize = 64 << 10;
/// The length of a line excerpt in messages.
const EXCERPT_CAP: usize = 400;

/// The identity of the bytes a run was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Their digest, if requested.
    pub sha256: Option<Digest>,
    /// The number of bytes.
    pub bytes: u64,
}

/// The error for an unreadable file.
pub fn unreadable(name: &str, error: &io::Error) -> Error {
    UNREADABLE.at(Location::file(name), "a readable file", error.to_string())
}

/// Opens the regular file at `path`; messages call it `name`.
pub fn open(path: &Path, name: &str) -> Result<File, Error> {
    let failed = |error: io::Error| unreadable(name, &error);
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(NOT_A_FILE.at(Location::file(name), "a regular file", "something else"));
    }
    File::open(path).map_err(failed)
}

/// A reader that counts and hashes its bytes.
pub struct Tally<R> {
    reader: R,
    hasher: Option<Hasher>,
    bytes: u64,
}

impl<R: Read> Tally<R> {
    /// Wraps `reader`, hashing its bytes if requested.
    pub fn new(reader: R, hashed: bool) -> Self {
        Self { reader, hasher: hashed.then(Hasher::default), bytes: 0 }
    }

    /// Reads up to `count` bytes after those in `into`; fewer only at the end.
    pub fn fill(&mut self, into: &mut Vec<u8>, count: usize) -> io::Result<usize> {
        let held = into.len();
        into.reserve(count);
        let read = self.reader.by_ref().take(count as u64).read_to_end(into)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(into.get(held..).unwrap_or_default());
        }
        self.bytes += read as u64;
        Ok(read)
    }

    /// Reads to the end and returns the identity of all bytes.
    pub fn finish(mut self) -> io::Result<Identity> {
        let mut rest = Vec::new();
        while self.fill(&mut rest, READ_SIZE)? > 0 {
            rest.clear();
        }
        Ok(self.identity())
    }

    /// The identity of the bytes read so far.
    fn identity(&mut self) -> Identity {
        Identity { sha256: self.hasher.take().map(Hasher::finish), bytes: self.bytes }
    }
}

/// One line, without its end.
#[derive(Debug, Clone, Copy)]
pub struct LogLine<'a> {
    /// Its bytes, or the first [`LINE_CAP`] of them.
    pub bytes: &'a [u8],
    /// Its number, from 1.
    pub number: usize,
    /// Whether a line feed ends it; the last line of a file may lack one.
    pub ended: bool,
    /// Whether it exceeded the line limit.
    pub cut: bool,
}

impl LogLine<'_> {
    /// The location of the whole line in the log `name`.
    pub fn place(&self, name: &str) -> Location {
        let shown = self.bytes.get(..EXCERPT_CAP).unwrap_or(self.bytes);
        let excerpt = String::from_utf8_lossy(shown).trim_end_matches('\r').to_owned();
        let length = excerpt.chars().count().max(1);
        Location { line: self.number, column: 1, length, excerpt, ..Location::file(name) }
    }
}

/// A log that is being read.
pub struct Log<R = File> {
    name: String,
    reader: Tally<R>,
    /// The start of the bytes that were read but not yet consumed.
    buffer: Vec<u8>,
    start: usize,
    exhausted: bool,
    line: usize,
}

impl Log {
    /// Opens the regular file at `path`, called `name` in messages; computes its digest if `hashed` is set.
    pub fn open(path: &Path, name: &str, hashed: bool) -> Result<Self, Error> {
        Ok(Self::new(open(path, name)?, name, hashed))
    }
}

impl<R: Read> Log<R> {
    /// Reads a log from `reader`.
    pub fn new(reader: R, name: &str, hashed: bool) -> Self {
        Self {
            name: name.to_owned(),
            reader: Tally::new(reader, hashed),
            buffer: Vec::new(),
            start: 0,
            exhausted: false,
            line: 0,
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next line, or none at the end; a line over the limit is rejected before it is read completely.
    pub fn next_short_line(&mut self) -> Result<Option<LogLine<'_>>, Error> {
        while !self.exhausted && self.buffer.len() - self.start <= LINE_CAP {
            let unread = self.buffer.get(self.start..).unwrap_or_default();
            if memchr(b'\n', unread).is_some() {
                break;
            }
            self.fill()?;
        }
        let unread = self.buffer.get(self.start..).unwrap_or_default();
        let length = memchr(b'\n', unread).unwrap_or(unread.len());
        if length > LINE_CAP {
            let place = Location { line: self.line + 1, column: 1, ..Location::file(&*self.name) };
            let expected = format!("a line of at most {} KiB", LINE_CAP >> 10);
            return Err(LONG_LINE.at(place, expected, format!("{length} bytes or more")));
        }
        self.next_line()
    }

    /// The next line, or none at the end.
    pub fn next_line(&mut self) -> Result<Option<LogLine<'_>>, Error> {
        let mut searched = self.start;
        loop {
            let unread = self.buffer.get(searched..).unwrap_or_default();
            if let Some(at) = memchr(b'\n', unread) {
                let end = searched + at;
                return Ok(Some(self.take(end, end + 1, true)));
            }
            let end = self.buffer.len();
            if self.exhausted {
                let rest = end > self.start;
                return Ok(rest.then(|| self.take(end, end, false)));
            }
            if end - self.start > LINE_CAP {
                return self.long_line().map(Some);
            }
            searched = end - self.start;
            self.fill()?;
        }
    }

    /// The next line that starts with one of two bytes; other lines are only counted.
    pub fn next_line_from(&mut self, starts: &LineStarts) -> Result<Option<LogLine<'_>>, Error> {
        loop {
            match self.buffer.get(self.start) {
                Some(first) if starts.bytes.contains(first) => return self.next_line(),
                Some(_) => {
                    let unread = self.buffer.get(self.start..).unwrap_or_default();
                    if let Some(at) = starts.find(unread) {
                        let passed = unread.get(..=at).unwrap_or_default();
                        self.line += memchr_iter(b'\n', passed).count();
                        self.start += at + 1;
                    } else {
                        // A line that does not end here may have any length.
                        let whole = memrchr(b'\n', unread).map_or(0, |at| at + 1);
                        let passed = unread.get(..whole).unwrap_or_default();
                        self.line += memchr_iter(b'\n', passed).count();
                        self.start += whole;
                        if self.start < self.buffer.len() {
                            self.next_line()?;
                        }
                    }
                }
                None if self.exhausted => return Ok(None),
                None => self.fill()?,
            }
        }
    }

    /// Reads to the end and returns the identity of all bytes.
    pub fn finish(mut self) -> Result<Identity, Error> {
        while !self.exhausted {
            self.start = self.buffer.len();
            self.fill()?;
        }
        Ok(self.reader.identity())
    }

    /// The whole log as a document's source, with its identity.
    pub fn into_source(mut self) -> Result<(Source, Identity), Error> {
        while !self.exhausted {
            self.fill()?;
            if self.buffer.len() > DOCUMENT_CAP {
                let expected = format!("at most {DOCUMENT_CAP} bytes");
                return Err(TOO_LARGE.at(Location::file(self.name), expected, "more"));
            }
        }
        let identity = self.reader.identity();
        Ok((Source::new(self.name, self.buffer)?, identity))
    }

    /// The bytes up to `end` as a line; the next one starts at `next`.
    fn take(&mut self, end: usize, next: usize, ended: bool) -> LogLine<'_> {
        let bytes = self.buffer.get(self.start..end).unwrap_or_default();
        self.start = next;
        self.line += 1;
        let cut = bytes.len() > LINE_CAP;
        LogLine { bytes: bytes.get(..LINE_CAP).unwrap_or(bytes), number: self.line, ended, cut }
    }

    /// Skips the rest of a line over the limit, keeping its first bytes.
    fn long_line(&mut self) -> Result<LogLine<'_>, Error> {
        let mut kept = self.buffer.get(self.start..).unwrap_or_default().to_vec();
        kept.truncate(LINE_CAP);
        let ended = loop {
            self.start = self.buffer.len();
            self.fill()?;
            if let Some(at) = memchr(b'\n', &self.buffer) {
                self.start = at + 1;
                break true;
            }
            if self.exhausted {
                self.start = self.buffer.len();
                break false;
            }
        };
        // The kept bytes are moved before the following ones, so that the line can be borrowed.
        self.buffer.splice(..self.start, kept);
        self.start = LINE_CAP;
        self.line += 1;
        let bytes = self.buffer.get(..LINE_CAP).unwrap_or_default();
        Ok(LogLine { bytes, number: self.line, ended, cut: true })
    }

    /// Drops consumed bytes and reads more.
    fn fill(&mut self) -> Result<(), Error> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let failed = |error: io::Error| unreadable(&self.name, &error);
        let count = self.reader.fill(&mut self.buffer, READ_SIZE).map_err(failed)?;
        self.exhausted = count < READ_SIZE;
        Ok(())
    }
}

/// The first bytes of the lines that a format examines.
pub struct LineStarts {
    bytes: [u8; 2],
    finders: [memmem::Finder<'static>; 2],
}

impl LineStarts {
    /// Lines that start with one of two bytes.
    pub fn new(bytes: [u8; 2]) -> Self {
        let finder = |byte| memmem::Finder::new(&[b'\n', byte]).into_owned();
        Self { bytes, finders: bytes.map(finder) }
    }

    /// The line end before the first such line after the first line of `bytes`.
    fn find(&self, bytes: &[u8]) -> Option<usize> {
        let [one, other] = &self.finders;
        let first = one.find(bytes);
        // The second byte matters only before the first match.
        let before = first.map_or(bytes, |at| bytes.get(..at).unwrap_or_default());
        other.find(before).or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    type Seen = Vec<(Vec<u8>, usize, bool, bool)>;

    fn lines(bytes: &[u8], step: usize) -> (Seen, Identity) {
        let mut log = Log::new(Slow(bytes, step), "l", true);
        let mut seen = Vec::new();
        while let Some(line) = log.next_line().unwrap() {
            seen.push((line.bytes.to_vec(), line.number, line.ended, line.cut));
        }
        (seen, log.finish().unwrap())
    }

    #[test]
    fn lines_pass_by_with_their_numbers() {
        let (seen, identity) = lines(b"one\r\n\n\xff\xfe\ntorn", 3);
        let wanted: [(&[u8], usize, bool, bool); 4] = [
            (b"one\r", 1, true, false),
            (b"", 2, true, false),
            (b"\xff\xfe", 3, true, false),
            (b"torn", 4, false, false),
        ];
        let seen: Vec<_> = seen.iter().map(|(b, n, e, c)| (b.as_slice(), *n, *e, *c)).collect();
        assert_eq!(seen, wanted);
        assert_eq!(identity.bytes, 13);
        assert_eq!(identity.sha256.unwrap(), Digest::of(b"one\r\n\n\xff\xfe\ntorn"));
        assert_eq!(lines(b"", 1).0, []);
    }

    #[test]
    fn long_lines_are_cut_and_what_follows_is_whole() {
        let mut text = vec![b'x'; 3 * READ_SIZE];
        text.extend_from_slice(b"\nstep:0\n");
        text.extend(vec![b'y'; LINE_CAP + 1]);
        text.extend_from_slice(b"\nlast");
        let whole = lines(&text, usize::MAX);
        assert_eq!(whole.1.sha256, Some(Digest::of(&text)));
        let short: Vec<_> = whole.0.iter().map(|(b, n, e, c)| (b.len(), *n, *e, *c)).collect();
        let wanted = [
            (LINE_CAP, 1, true, true),
            (6, 2, true, false),
            (LINE_CAP, 3, true, true),
            (4, 4, false, false),
        ];
        assert_eq!(short, wanted);
        assert_eq!(whole.0[1].0, b"step:0");
        for step in [1000, 65_536, 70_001] {
            assert_eq!(lines(&text, step), whole, "{step}");
        }
        let mut log = Log::new(Slow(&text, 5000), "l", false);
        log.next_line().unwrap();
        assert!(log.buffer.capacity() < 4 * READ_SIZE);
        let endless = vec![b'x'; 4 * READ_SIZE];
        assert_eq!(lines(&endless, usize::MAX).0.len(), 1);
    }

    proptest::proptest! {
        /// Other lines are skipped without changing the line numbers.
        #[test]
        fn lines_are_found_by_their_first_byte(text in "[s=x\n]{0,60}", step in 1..9_usize) {
            let starts = LineStarts::new([b's', b'=']);
            let mut log = Log::new(Slow(text.as_bytes(), step), "l", true);
            let mut found = Vec::new();
            while let Some(line) = log.next_line_from(&starts).unwrap() {
                found.push((String::from_utf8(line.bytes.to_vec()).unwrap(), line.number));
            }
            let numbered = text.split('\n').map(str::to_owned).zip(1..);
            let wanted: Vec<_> = numbered.filter(|(line, _)| line.starts_with(['s', '='])).collect();
            proptest::prop_assert_eq!(found, wanted);
            proptest::prop_assert_eq!(log.finish().unwrap().sha256, Some(Digest::of(text.as_bytes())));
        }

        /// However the bytes arrive, the lines match the text and nothing is lost.
        #[test]
        fn lines_are_those_of_the_text(bytes in proptest::collection::vec(0..=255_u8, 0..200), step in 1..9_usize) {
            let (seen, identity) = lines(&bytes, step);
            let mut joined = Vec::new();
            for (line, _, ended, _) in &seen {
                joined.extend_from_slice(line);
                joined.extend(ended.then_some(b'\n'));
            }
            proptest::prop_assert_eq!(&joined, &bytes);
            proptest::prop_assert_eq!(identity, Identity { sha256: Some(Digest::of(&bytes)), bytes: bytes.len() as u64 });
        }
    }
}
