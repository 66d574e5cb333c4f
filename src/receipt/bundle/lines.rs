//! Lines pass by once: while a `.jsonl` file is hashed, each line is judged and let go of, so that a
//! log may be as long as a run.

use super::chain::Chain;
use super::training::TrainingRecords;
use super::{canonical, glance};
use crate::source::{Document, Error, Location, SYNTAX, Source, TOO_LARGE};

/// The longest line that is read (1 MiB): a record, not a document.
const LINE_CAP: usize = 1 << 20;

/// A `.jsonl` file that passes by in pieces: each line is strict, canonical JSON and a line feed.
pub struct LinesReader {
    place: Location,
    line: usize,
    held: Vec<u8>,
    chain: Option<Chain>,
    records: TrainingRecords,
}

impl LinesReader {
    /// A reader of the file at `place`; `chained` says that a chain runs through its lines.
    pub fn new(place: Location, chained: bool) -> Self {
        let (held, records) = (Vec::new(), TrainingRecords::default());
        Self { place, line: 0, held, chain: chained.then(Chain::default), records }
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
        self.chain.unwrap_or_default()
    }

    /// How many whole lines have passed.
    pub fn whole_lines(&self) -> usize {
        self.line
    }

    /// How many bytes of a line have passed that has not ended.
    pub fn torn_bytes(&self) -> usize {
        self.held.len()
    }

    /// Says that the file has ended, and answers the records of a chained log; a finished log ends in a whole line.
    pub fn finish(self) -> Result<Option<TrainingRecords>, Error> {
        if self.held.is_empty() {
            return Ok(self.chain.map(|_| self.records));
        }
        let place = self.place_of_line(self.line + 1);
        Err(SYNTAX.at(place, "a line feed at the end of the last line", "a truncated line"))
    }

    fn judge(&mut self, line: Vec<u8>) -> Result<(), Error> {
        if self.chain.is_none() && glance::is_canonical_line(&line) {
            return Ok(());
        }
        let document = Document::parse_json(Source::new(self.place.file.as_str(), line)?)?;
        canonical::check_line(&document)?;
        let Some(chain) = &mut self.chain else { return Ok(()) };
        chain.check_line(document.root())?;
        self.records.add(document.root());
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
        let mut reader = LinesReader::new(Location::file("m.jsonl"), chained);
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
