//! Checks lines in one pass: while a `.jsonl` file is hashed, each line is checked and released, so that the
//! length of a log is not limited by memory.

use super::chain::{Chain, METRICS, STATES};
use super::training::TrainingRecords;
use super::{BROKEN_CHAIN, canonical, glance};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Location, SYNTAX, Source, TOO_LARGE};

/// The longest line that is read (1 MiB): a record, not a document.
const LINE_CAP: usize = 1 << 20;

/// The kind of lines in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Lines without a chain.
    Plain,
    /// Training records.
    Records,
    /// States of a run; the chain of the last one, where it is known.
    States(Option<Digest>),
}

impl LineKind {
    /// The kind of lines in the file `name`, whose chain ends in `root` by the receipt.
    pub fn of(name: &str, root: Option<Digest>) -> Self {
        match name {
            METRICS => Self::Records,
            STATES => Self::States(root),
            _ => Self::Plain,
        }
    }
}

/// A `.jsonl` file that passes by in pieces: each line is strict, canonical JSON and a line feed.
pub struct LinesReader {
    place: Location,
    kind: LineKind,
    line: usize,
    held: Vec<u8>,
    chain: Chain,
    records: TrainingRecords,
}

impl LinesReader {
    /// A reader of the file at `place`.
    pub fn new(place: Location, kind: LineKind) -> Self {
        let (held, records) = (Vec::new(), TrainingRecords::default());
        Self { place, kind, line: 0, held, chain: Chain::default(), records }
    }

    /// Takes the next piece of the file.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), Error> {
        for part in piece.split_inclusive(|&byte| byte == b'\n') {
            if self.held.len() + part.len() > LINE_CAP {
                let place = self.place_of_line(self.line + 1);
                return Err(TOO_LARGE.at(
                    place,
                    format!("a line of at most {LINE_CAP} bytes"),
                    "more",
                ));
            }
            self.held.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.line += 1;
                let mut line = std::mem::take(&mut self.held);
                line.pop();
                self.judge(line).map_err(|error| self.in_line(error))?;
            }
        }
        Ok(())
    }

    /// The chain up to the last whole line.
    pub fn chain(&self) -> Chain {
        self.chain
    }

    /// How many whole lines have passed.
    pub fn whole_lines(&self) -> usize {
        self.line
    }

    /// How many bytes of a line have passed that has not ended.
    pub fn torn_bytes(&self) -> usize {
        self.held.len()
    }

    /// Says that the file has ended, and answers the records of a log; a finished file ends in a whole line.
    pub fn finish(self) -> Result<Option<TrainingRecords>, Error> {
        if !self.held.is_empty() {
            let place = self.place_of_line(self.line + 1);
            return Err(SYNTAX.at(
                place,
                "a line feed at the end of the last line",
                "a truncated line",
            ));
        }
        if let LineKind::States(Some(root)) = self.kind
            && self.chain.last() != Some(root)
        {
            let expected = format!("a last line with the chain {root}, the receipt's root");
            let found = self.chain.last().map_or("none".to_owned(), |last| last.to_string());
            return Err(BROKEN_CHAIN.at(self.place_of_line(self.line.max(1)), expected, found));
        }
        Ok((self.kind == LineKind::Records).then_some(self.records))
    }

    fn judge(&mut self, line: Vec<u8>) -> Result<(), Error> {
        if self.kind == LineKind::Plain && glance::is_canonical_line(&line) {
            return Ok(());
        }
        let document = Document::parse_json(Source::new(self.place.file.as_str(), line)?)?;
        canonical::check_line(&document)?;
        match self.kind {
            LineKind::Plain => return Ok(()),
            LineKind::Records | LineKind::States(_) => self.chain.check_line(document.root())?,
        }
        if self.kind == LineKind::Records {
            self.records.add(document.root());
        }
        Ok(())
    }

    fn place_of_line(&self, line: usize) -> Location {
        Location { line, column: 1, pointer: format!("/{}", line - 1), ..self.place.clone() }
    }

    /// A refusal about the line alone, said about its place in the file.
    fn in_line(&self, error: Error) -> Error {
        let inside = error.place.clone();
        let pointer = format!("/{}{}", self.line - 1, inside.pointer);
        let column = inside.column.max(1);
        error.moved(Location { line: self.line, column, pointer, ..inside })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(bytes: &[u8], step: usize, chained: bool) -> Result<usize, Error> {
        let kind = if chained { LineKind::Records } else { LineKind::Plain };
        let mut reader = LinesReader::new(Location::file("m.jsonl"), kind);
        for piece in bytes.chunks(step) {
            reader.feed(piece)?;
        }
        Ok(reader.finish()?.map_or(0, |records| records.kept.len()))
    }

    fn chained(count: usize) -> Vec<String> {
        let mut chain = Chain::default();
        let record = |step| json!({"loss": 0.5, "step": step}).as_object().unwrap().clone();
        (0..count).map(|step| chain.extend(record(step)).unwrap()).collect()
    }

    #[test]
    fn every_cut_gives_the_same_answer() {
        let good = chained(4);
        let edited = [&good[..2], &[good[2].replace("0.5", "0.4")], &good[3..]].concat().concat();
        let good = good.concat();
        let spaced = good.replacen("{\"chain\"", "{ \"chain\"", 1);
        let long = format!("\"{}\"\n", "a".repeat(LINE_CAP));
        for step in [1, 2, 7, 4096] {
            assert_eq!(read(good.as_bytes(), step, true).unwrap(), 4);
            let torn = read(&good.as_bytes()[..good.len() - 1], step, true).unwrap_err();
            assert_eq!((torn.code.id, torn.place.line), ("source::syntax", 4));
            let edited = read(edited.as_bytes(), step, true).unwrap_err();
            assert_eq!((edited.code.id, edited.place.line), ("bundle::broken-chain", 3));
            assert_eq!(edited.place.pointer, "/2/chain");
            read(good.replace("0.5", "0.4").as_bytes(), step, false).unwrap();
            let spaced = read(spaced.as_bytes(), step, true).unwrap_err();
            assert_eq!((spaced.code.id, spaced.place.column), ("bundle::not-canonical", 2));
            let long = read(long.as_bytes(), step.max(7), false).unwrap_err();
            assert_eq!(long.code.id, "source::too-large");
        }
    }

    #[test]
    fn states_end_in_their_root() {
        let lines = chained(3);
        let read = |lines: &[String], root| {
            let place = Location::file("s.jsonl");
            let mut reader = LinesReader::new(place, LineKind::States(root));
            lines.iter().try_for_each(|line| reader.feed(line.as_bytes()))?;
            let root = reader.chain().last();
            reader.finish().map(|_| root)
        };
        let root = read(&lines, None).unwrap();
        assert_eq!(read(&lines, root).unwrap(), root);
        let cut = read(&lines[..2], root).unwrap_err();
        assert_eq!((cut.code.id, cut.place.line), ("bundle::broken-chain", 2));
        assert_eq!(read(&[], root).unwrap_err().code.id, "bundle::broken-chain");
    }

    #[test]
    fn a_line_that_is_no_json_is_faulted_inside_it() {
        for (text, code, column) in [
            (&b"1\n{\"a\":1\n"[..], "source::syntax", 6),
            (b"1\n\xff\n", "source::not-utf8", 1),
            (b"1\n\n", "source::syntax", 1),
        ] {
            let place = read(text, 3, false).unwrap_err();
            assert_eq!((place.code.id, place.place.line), (code, 2), "{place}");
            assert_eq!(place.place.column, column, "{place}");
        }
    }

    #[test]
    fn a_fault_deep_in_a_long_log_is_found_with_its_line() {
        let mut lines = chained(100_000);
        read(lines.concat().as_bytes(), 128 << 10, true).unwrap();
        lines[77_776] = lines[77_776].replace("0.5", "0.25");
        let error = read(lines.concat().as_bytes(), 128 << 10, true).unwrap_err();
        assert_eq!((error.code.id, error.place.line), ("bundle::broken-chain", 77_777));
    }
}
