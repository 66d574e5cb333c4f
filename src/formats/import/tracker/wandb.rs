//! The file `run-ID.wandb` that W&B writes for a run: protocol buffer records in LevelDB's log format with a different
//! checksum, after a custom header.

use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value as Json};

use super::protobuf::{FieldValue, Malformed, WireFields};
use super::settings::{flat_numbers, kept};
use crate::import::log::{Identity, Tally, open, unreadable};
use crate::import::points::{Points, Reading};
use crate::import::run::{LogNumber, LoggedRun};
use crate::import::{BAD_RECORD, CUT, DAMAGED, UNFINISHED};
use repro_core::source::{Error, Location};

/// `:W&B`, a magic number and the version.
const HEADER: &[u8] = b":W&B\xe1\xbe\x00";
/// Records lie in blocks of this size; each piece has a checksum, a length and a type.
const BLOCK: usize = 32 << 10;
const PIECE_HEADER: usize = 7;
/// The maximum record length.
const RECORD_CAP: usize = 64 << 20;
/// The types of pieces.
const FULL: u8 = 1;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// Whether a file starts like a W&B file.
pub fn has_header(head: &[u8]) -> bool {
    head.starts_with(HEADER)
}

/// Reads one file.
pub fn parse(path: &Path, name: &str, hashed: bool, every: u64) -> Result<LoggedRun, Error> {
    read(Tally::new(open(path, name)?, hashed), name, every)
}

/// Reads a run from a reader.
pub fn read<R: Read>(reader: Tally<R>, name: &str, every: u64) -> Result<LoggedRun, Error> {
    let mut records = WandbRecords { reader, offset: 0, block: Vec::new(), at: 0 };
    let mut story = Story { points: Points::new(every), ..Story::default() };
    let failed = |error: io::Error| unreadable(name, &error);
    let place = || Location::file(name);
    let mut count = 0_u64;
    let ending = loop {
        match records.next_record().map_err(failed)? {
            Next::Record(record) => {
                count += 1;
                story.record(&record).map_err(|Malformed| {
                    let found = format!("record {count}, which is invalid");
                    BAD_RECORD.at(place(), "W&B records", found)
                })?;
            }
            other => break other,
        }
    };
    let identity = records.reader.finish().map_err(failed)?;
    let after = |at: u64| format!("{count} records up to byte {at} of {}", identity.bytes);
    let finding = match ending {
        Next::Foreign => {
            let expected = "a file that begins with `:W&B` and version 0";
            let found = if identity.bytes == 0 { "an empty file" } else { "a different file" };
            return Err(BAD_RECORD.at(place(), expected, found));
        }
        Next::Cut(at) => Some(CUT.at(place(), "a complete last record", after(at))),
        Next::Damaged(at) => Some(DAMAGED.at(place(), "the checksum of each record", after(at))),
        Next::End | Next::Record(_) => None,
    };
    let mut run = story.into_run(name, identity)?;
    finding.into_iter().for_each(|finding| run.note(finding));
    Ok(run)
}

/// The next item in a file.
enum Next {
    Record(Vec<u8>),
    End,
    /// No W&B header.
    Foreign,
    /// The record that starts at this byte is truncated.
    Cut(u64),
    /// The piece at this byte is corrupt.
    Damaged(u64),
}

/// The records of a file.
struct WandbRecords<R> {
    reader: Tally<R>,
    /// The offset of the current block in the file.
    offset: u64,
    block: Vec<u8>,
    at: usize,
}

/// A piece of a record.
enum Piece {
    Data(u8, Vec<u8>),
    End,
    Cut,
    Damaged,
}

impl<R: Read> WandbRecords<R> {
    fn next_record(&mut self) -> io::Result<Next> {
        if self.offset == 0 && self.block.is_empty() {
            self.reader.fill(&mut self.block, BLOCK)?;
            if !self.block.starts_with(HEADER) {
                return Ok(Next::Foreign);
            }
            self.at = HEADER.len();
        }
        let mut record = Vec::new();
        let mut begin = None;
        loop {
            self.next_block()?;
            let here = self.offset + self.at as u64;
            let start = begin.unwrap_or(here);
            let (kind, data) = match self.piece() {
                Piece::Data(kind, data) => (kind, data),
                Piece::End if begin.is_none() => return Ok(Next::End),
                Piece::End | Piece::Cut => return Ok(Next::Cut(start)),
                Piece::Damaged => return Ok(Next::Damaged(here)),
            };
            let goes_on = begin.is_some();
            if goes_on != matches!(kind, MIDDLE | LAST) || record.len() + data.len() > RECORD_CAP {
                return Ok(Next::Damaged(here));
            }
            record.extend(data);
            if matches!(kind, FULL | LAST) {
                return Ok(Next::Record(record));
            }
            begin = Some(start);
        }
    }

    /// Skips to the next block if no header fits into this one.
    fn next_block(&mut self) -> io::Result<()> {
        if self.block.len() == BLOCK && BLOCK - self.at < PIECE_HEADER {
            self.offset += BLOCK as u64;
            self.block.clear();
            self.at = 0;
            self.reader.fill(&mut self.block, BLOCK)?;
        }
        Ok(())
    }

    fn piece(&mut self) -> Piece {
        let rest = self.block.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Piece::End;
        }
        let Some(([a, b, c, d, low, high, kind], data)) = rest.split_first_chunk::<PIECE_HEADER>()
        else {
            return Piece::Cut;
        };
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        if !(FULL..=LAST).contains(kind) || length > BLOCK - self.at - PIECE_HEADER {
            return Piece::Damaged;
        }
        let Some(data) = data.get(..length) else { return Piece::Cut };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&[*kind]);
        hasher.update(data);
        if hasher.finalize() != u32::from_le_bytes([*a, *b, *c, *d]) {
            return Piece::Damaged;
        }
        self.at += PIECE_HEADER + length;
        Piece::Data(*kind, data.to_vec())
    }
}

/// The contents of a run's records.
struct Story {
    points: Points,
    config: Map<String, Json>,
    summary: Map<String, Json>,
    id: Option<String>,
    group: Option<String>,
    display_name: Option<String>,
    exit: Option<i64>,
    /// The step of the last history row, and whether there was one.
    histories: u64,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            points: Points::new(1),
            config: Map::new(),
            summary: Map::new(),
            id: None,
            group: None,
            display_name: None,
            exit: None,
            histories: 0,
        }
    }
}

impl Story {
    fn record(&mut self, record: &[u8]) -> Result<(), Malformed> {
        for field in WireFields::of(record) {
            match field? {
                (2, FieldValue::Bytes(history)) => self.history(history)?,
                (3, FieldValue::Bytes(summary)) => update(&mut self.summary, summary)?,
                (5, FieldValue::Bytes(config)) => update(&mut self.config, config)?,
                (17, FieldValue::Bytes(run)) => self.run(run)?,
                // Zero is not encoded.
                (18, FieldValue::Bytes(exit)) => {
                    let code = WireFields::of(exit).last(1)?.and_then(FieldValue::signed);
                    self.exit = Some(code.unwrap_or_default());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn run(&mut self, run: &[u8]) -> Result<(), Malformed> {
        for field in WireFields::of(run) {
            match field? {
                (1, id) => self.id = id.text().map(str::to_owned),
                (4, FieldValue::Bytes(config)) => update(&mut self.config, config)?,
                (5, FieldValue::Bytes(summary)) => update(&mut self.summary, summary)?,
                (6, group) => self.group = group.text().map(str::to_owned),
                (8, name) => self.display_name = name.text().map(str::to_owned),
                _ => {}
            }
        }
        Ok(())
    }

    /// One row of numbers. Its step is the `_step` item, or else a separate field.
    fn history(&mut self, history: &[u8]) -> Result<(), Malformed> {
        let (mut items, mut step) = (Vec::new(), None);
        for field in WireFields::of(history) {
            match field? {
                (1, FieldValue::Bytes(bytes)) => items.push(item(bytes)?),
                (2, FieldValue::Bytes(bytes)) => {
                    let number = WireFields::of(bytes).last(1)?.and_then(FieldValue::signed);
                    step = Some(number.unwrap_or_default());
                }
                _ => {}
            }
        }
        let said = items.iter().find(|(key, _)| key == "_step");
        let said = said.and_then(|(_, text)| text.trim().parse().ok());
        let step = said.or(step).unwrap_or(self.histories.cast_signed());
        self.histories += 1;
        for (key, text) in items {
            match LogNumber::parse(text.trim().as_bytes()) {
                _ if key == "_step" => {}
                Some(number) => self.points.add_signed(&key, step, Reading::Printed(number)),
                None => {
                    for (key, number) in flat_numbers(&key, text) {
                        self.points.add_signed(&key, step, Reading::Printed(number));
                    }
                }
            }
        }
        Ok(())
    }

    fn into_run(mut self, name: &str, identity: Identity) -> Result<LoggedRun, Error> {
        // Facts that W&B records about itself and the machine.
        self.config.remove("_wandb");
        self.summary.remove("_wandb");
        let mut run = match self.points.is_empty() {
            // A run that logged nothing, or only its summary, still counts.
            true => LoggedRun::new(
                name,
                identity,
                crate::import::tracker::settings::digest(&self.summary),
            ),
            false => self.points.into_run(name, identity)?,
        };
        run.group = self.group.filter(|group| !group.is_empty());
        run.name =
            self.display_name.filter(|name| !name.is_empty()).or(self.id).unwrap_or_default();
        let numbers = self.summary.iter().flat_map(|(key, value)| sums(key, value));
        run.sum_up(numbers.filter(|(name, _)| name != "_step" && !name.starts_with("_wandb")));
        run.seed = self.config.get("seed").filter(|seed| seed.is_u64()).map(Json::to_string);
        run.config = kept(self.config);
        run.ended = Some(self.exit == Some(0));
        match self.exit {
            Some(code) => drop(run.extra.insert("exit_code".to_owned(), code.into())),
            None => {
                let found = "none: the run was killed or is still running";
                run.note(UNFINISHED.at(Location::file(name), "an exit record", found));
            }
        }
        Ok(run)
    }
}

/// The name of an item, with dots if nested, and its JSON value.
fn item(bytes: &[u8]) -> Result<(String, &str), Malformed> {
    let (mut key, mut nested, mut json) = (String::new(), Vec::new(), "");
    for field in WireFields::of(bytes) {
        match field? {
            (1, value) => key = value.text().ok_or(Malformed)?.to_owned(),
            (2, value) => nested.push(value.text().ok_or(Malformed)?),
            (16, value) => json = value.text().ok_or(Malformed)?,
            _ => {}
        }
    }
    if !nested.is_empty() {
        key = nested.join(".");
    }
    Ok((key, json))
}

/// The numbers in a summary member; non-finite values are words.
fn sums(key: &str, value: &Json) -> Vec<(String, LogNumber)> {
    let mut numbers = flat_numbers(key, value.as_str().unwrap_or(&value.to_string()));
    numbers.retain(|(_, number)| !value.is_string() || number.value().is_none());
    numbers
}

/// Applies the changes in a record.
fn update(values: &mut Map<String, Json>, record: &[u8]) -> Result<(), Malformed> {
    for field in WireFields::of(record) {
        match field? {
            (1, FieldValue::Bytes(bytes)) => {
                let (key, text) = item(bytes)?;
                // Non-finite values are not JSON, and stay words.
                let value = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text));
                values.insert(key, value);
            }
            (2, FieldValue::Bytes(bytes)) => drop(values.remove(&item(bytes)?.0)),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of four history rows with 40,000 bytes of output, so that a record spans two blocks.
    const FILE: &[u8] = include_bytes!(
        "../../../../tests/corpus/import/mixed/asr/wandb/offline-run-20250101_000000-a1b2/run-a1b2.wandb"
    );

    fn run(file: &[u8]) -> Result<LoggedRun, Error> {
        read(Tally::new(file, true), "run.wandb", 1)
    }

    fn codes(run: &LoggedRun) -> Vec<&str> {
        run.findings.iter().map(|finding| finding.error.code.id).collect()
    }

    #[test]
    fn a_run_is_read_with_its_config_and_summary() {
        let run = run(FILE).unwrap();
        assert_eq!(
            (run.name.as_str(), run.seed.as_deref(), run.ended),
            ("small-s7", Some("7"), Some(true))
        );
        assert_eq!((run.training.len(), run.evaluations.len()), (4, 4));
        assert_eq!(Json::Object(run.config), serde_json::json!({"seed": 7, "lr": 0.001}));
        assert_eq!((&*run.summary[0].0, run.summary[0].1.text()), ("best.min", "0.47"));
        assert!(run.findings.is_empty(), "{:?}", run.findings);
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_read_up_to_there() {
        let mut whole = 0;
        for length in (HEADER.len()..900).chain((900..FILE.len()).step_by(1009)) {
            let run = run(&FILE[..length]).unwrap();
            assert!(run.training.len() >= whole && run.training.len() <= 4, "{length}");
            whole = run.training.len();
            assert!(codes(&run).contains(&"import::unfinished"), "{length}");
        }
        assert_eq!(whole, 4);
        for length in 0..HEADER.len() {
            assert_eq!(run(&FILE[..length]).unwrap_err().code.id, "import::bad-record");
        }
        // The output crosses the end of a block.
        assert!(codes(&run(&FILE[..33_000]).unwrap()).contains(&"import::truncated-file"));
    }

    #[test]
    fn a_changed_byte_ends_the_file_there() {
        for at in (HEADER.len()..600).chain((600..FILE.len()).step_by(1013)) {
            let mut changed = FILE.to_vec();
            changed[at] ^= 4;
            let run = run(&changed).unwrap();
            let told = codes(&run);
            assert!(
                told.contains(&"import::corrupt-record")
                    || told.contains(&"import::truncated-file"),
                "{at}: {told:?}"
            );
        }
    }
}
