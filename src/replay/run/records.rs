//! The chained files of a run that may go on after it was killed: `metrics.jsonl` and `states.jsonl`.
//!
//! The records of an earlier attempt are never cut off: lines that stand there after the saved state must
//! come out again, byte for byte, when their steps are executed again. A torn end is dropped: a last
//! line without its line feed, or what follows a hole that a loss of power has left. Wall-clock times go
//! into `timing.jsonl` beside the records, where nothing is compared.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use crate::{BUSY, DIFFERS, LOST_RECORDS};
use repro_bundle::bundle::record::record;
use repro_bundle::bundle::{
    BundleWriter, CANNOT_WRITE, Chain, METRICS, STATES, Unfinished, WholeLines, whole_lines,
};
use repro_core::digest::{Digest, canonical};
use repro_core::disk::unlinked;
use repro_core::source::{Document, Error, Location, Source, UNREADABLE};

/// The file of wall-clock times.
pub const TIMING: &str = "data/timing.jsonl";

record! {
    /// How far a chained file had come when a state was saved.
    Reached {
        /// Whole lines.
        lines: u64,
        /// The chain of the last of them.
        chain: Option<Digest>,
    }
}

impl Reached {
    /// Before the first line.
    pub const NOTHING: Self = Self { lines: 0, chain: None };
}

/// A chained file of one run.
#[derive(Debug)]
struct ChainedLog {
    name: &'static str,
    path: PathBuf,
    chain: Chain,
    lines: u64,
    /// Lines that an earlier attempt wrote and that have to come out again.
    ahead: VecDeque<String>,
}

/// The records of one run, and the states that it commits itself to.
#[derive(Debug)]
pub struct Records {
    metrics: ChainedLog,
    states: ChainedLog,
    /// Held as long as the run is trained.
    _lock: File,
}

/// The findings about an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierAttempt {
    /// Records whose steps are executed again.
    pub again: usize,
    /// Bytes of a torn record that were dropped.
    pub torn: usize,
}

impl ChainedLog {
    /// Opens a file of the run in `folder` that goes on from `reached`, of which so much was `seen`.
    fn open(
        writer: &mut BundleWriter,
        folder: &Path,
        name: &'static str,
        reached: &Reached,
        seen: WholeLines,
    ) -> Result<Self, Error> {
        let path = folder.join(name);
        let bytes = read(&path)?;
        // Chained lines are ASCII; lines with anything else have failed their chain.
        let text = String::from_utf8_lossy(whole_lines(&bytes));
        let mut lines = text.split_inclusive('\n');
        let before = reached.lines as usize;
        let last = before.checked_sub(1).and_then(|last| lines.nth(last));
        if before > seen.lines || chain_of(last, &path)? != reached.chain {
            let expected = format!("the {before} lines that `state.json` refers to");
            let place =
                Location { line: before.max(1), ..Location::file(path.display().to_string()) };
            return Err(LOST_RECORDS.at(
                place,
                expected,
                format!("{} different lines", seen.lines),
            ));
        }
        let ahead = lines.map(str::to_owned).collect();
        cut(writer, name, &bytes)?;
        let chain = Chain::after(reached.chain);
        Ok(Self { name, path, chain, lines: reached.lines, ahead })
    }

    /// Adds the line of `step`; answers whether nobody wrote it before.
    fn add(
        &mut self,
        writer: &mut BundleWriter,
        step: u64,
        line: Map<String, Json>,
    ) -> Result<bool, Error> {
        let line = self.chain.extend(line).map_err(|error| self.unwritable(&error))?;
        self.lines += 1;
        let Some(before) = self.ahead.pop_front() else {
            writer.append(self.name, line.as_bytes())?;
            return Ok(true);
        };
        if before == line {
            return Ok(false);
        }
        let expected = format!("the line of step {step} from the earlier attempt");
        Err(DIFFERS.at(self.place(self.lines), expected, difference(&before, &line)))
    }

    fn place(&self, line: u64) -> Location {
        Location { line: line as usize, ..Location::file(self.path.display().to_string()) }
    }

    fn unwritable(&self, error: &repro_core::digest::NotCanonical) -> Error {
        let place = Location::file(self.path.display().to_string());
        let expected = "a line that canonical JSON allows";
        repro_bundle::bundle::UNWRITABLE.at(place, expected, error.to_string())
    }

    fn reached(&self, writer: &mut BundleWriter) -> Result<Reached, Error> {
        writer.sync(self.name)?;
        Ok(Reached { lines: self.lines, chain: self.chain.last() })
    }

    fn check_end(&self) -> Result<(), Error> {
        match self.ahead.len() {
            0 => Ok(()),
            more => {
                let (place, found) = (self.place(self.lines + 1), format!("{more} more lines"));
                Err(DIFFERS.at(place, "the end of the file", found))
            }
        }
    }
}

/// Cuts what follows the whole lines of a file.
fn cut(writer: &mut BundleWriter, name: &str, bytes: &[u8]) -> Result<(), Error> {
    match whole_lines(bytes).len() {
        whole if whole < bytes.len() => writer.cut(name, whole as u64),
        _ => Ok(()),
    }
}

impl Records {
    /// Opens the records and states of the run in `folder`, which go on from those `reached`. They are locked as long
    /// as they are open: two processes never train one run.
    pub fn open(
        writer: &mut BundleWriter,
        folder: &Path,
        (records, states): (&Reached, &Reached),
    ) -> Result<(Self, EarlierAttempt), Error> {
        for name in [METRICS, TIMING, STATES] {
            writer.append(name, b"")?;
        }
        let lock = lock(folder)?;
        let seen = Unfinished::load(folder, &folder.display().to_string())?;
        let metrics = ChainedLog::open(writer, folder, METRICS, records, seen.records)?;
        let states = ChainedLog::open(writer, folder, STATES, states, seen.states)?;
        cut(writer, TIMING, &read(&folder.join(TIMING))?)?;
        let (again, torn) = (metrics.ahead.len(), seen.records.torn_bytes);
        Ok((Self { metrics, states, _lock: lock }, EarlierAttempt { again, torn }))
    }

    /// Adds the record of `step`, and how long its steps took where nobody wrote the record before.
    pub fn add(
        &mut self,
        writer: &mut BundleWriter,
        step: u64,
        record: Map<String, Json>,
        timing: &Json,
    ) -> Result<(), Error> {
        let timing = canonical(timing).map_err(|error| self.metrics.unwritable(&error))? + "\n";
        match self.metrics.add(writer, step, record)? {
            true => writer.append(TIMING, timing.as_bytes()),
            false => Ok(()),
        }
    }

    /// Commits the run to its state after `step` steps.
    pub fn commit(
        &mut self,
        writer: &mut BundleWriter,
        step: u64,
        state: Map<String, Json>,
    ) -> Result<(), Error> {
        self.states.add(writer, step, state).map(drop)
    }

    /// Makes all lines durable, and answers how far records and states have come.
    pub fn reached(&self, writer: &mut BundleWriter) -> Result<(Reached, Reached), Error> {
        writer.sync(TIMING)?;
        Ok((self.metrics.reached(writer)?, self.states.reached(writer)?))
    }

    /// The chain of the last state; none before the first.
    pub fn root(&self) -> Option<Digest> {
        self.states.chain.last()
    }

    /// Refuses lines of an earlier attempt that have not come out again when the run is over.
    pub fn check_end(&self) -> Result<(), Error> {
        self.metrics.check_end()?;
        self.states.check_end()
    }
}

/// The first member in which two records differ.
fn difference(before: &str, now: &str) -> String {
    let read = |line: &str| serde_json::from_str::<Map<String, Json>>(line).unwrap_or_default();
    let (before, now) = (read(before), read(now));
    let shown = |value: Option<&Json>| value.map_or("nothing".to_owned(), Json::to_string);
    let keys = before.keys().chain(now.keys()).filter(|key| *key != "chain");
    let first = keys.into_iter().find(|key| before.get(*key) != now.get(*key));
    first.map_or_else(
        || "a different line".to_owned(),
        |key| format!("`{key}` {} instead of {}", shown(now.get(key)), shown(before.get(key))),
    )
}

/// Locks the records of the run in `folder`; the lock goes with the process that holds it.
pub fn lock(folder: &Path) -> Result<File, Error> {
    let open = unlinked(File::options().append(true)).open(folder.join(METRICS));
    let file = open.map_err(|error| {
        let place = Location::file(folder.join(METRICS).display().to_string());
        CANNOT_WRITE.at(place, "a writable file", error.to_string())
    })?;
    if file.try_lock().is_err() {
        let place = Location::file(folder.display().to_string());
        return Err(BUSY.at(place, "a run that no process is training", "another process"));
    }
    Ok(file)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    repro_core::source::read_plain(path).map_err(|error| {
        let place = Location::file(path.display().to_string());
        UNREADABLE.at(place, "the records of the run", error.to_string())
    })
}

fn chain_of(line: Option<&str>, path: &Path) -> Result<Option<Digest>, Error> {
    let Some(line) = line else { return Ok(None) };
    let source = Source::new(path.display().to_string(), line.trim_end().into())?;
    let document = Document::parse_json(source)?;
    Ok(Digest::parse_hex(document.root().required("chain")?.text()?))
}

/// A float as a record holds it: the number, or the word for what is none.
pub fn put_number(record: &mut Map<String, Json>, field: &str, value: f32) {
    let word = match value {
        value if value.is_nan() => "nan",
        f32::INFINITY => "inf",
        f32::NEG_INFINITY => "-inf",
        value => {
            record.insert(field.to_owned(), json!(f64::from(value)));
            return;
        }
    };
    record.entry("nonfinite").or_insert_with(|| word.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::disk::LocalDisk;

    fn record(step: u64, loss: f32) -> Map<String, Json> {
        let mut record = Map::from_iter([("step".to_owned(), json!(step))]);
        put_number(&mut record, "loss", loss);
        record
    }

    fn writer(folder: &Path) -> BundleWriter<'_> {
        BundleWriter::resume_on(&LocalDisk, folder).unwrap()
    }

    fn open(folder: &Path, reached: &Reached) -> Result<(Records, EarlierAttempt), Error> {
        Records::open(&mut writer(folder), folder, (reached, &Reached::NOTHING))
    }

    const NOTHING: Reached = Reached::NOTHING;

    fn written(folder: &Path) -> (Reached, String) {
        let (mut records, _) = open(folder, &NOTHING).unwrap();
        let mut writer = writer(folder);
        let timing = json!({"seconds": 1});
        let mut two = NOTHING;
        for step in 1..=4 {
            records.add(&mut writer, step, record(step, 0.5 / step as f32), &timing).unwrap();
            if step == 2 {
                (two, _) = records.reached(&mut writer).unwrap();
            }
        }
        records.check_end().unwrap();
        (two, std::fs::read_to_string(folder.join(METRICS)).unwrap())
    }

    #[test]
    fn steps_that_are_executed_again_give_the_same_lines_or_an_error() {
        let temporary = tempfile::tempdir().unwrap();
        let (two, text) = written(temporary.path());
        let mut writer = writer(temporary.path());
        assert_eq!(two.lines, 2);
        let timing = || std::fs::read_to_string(temporary.path().join(TIMING)).unwrap();
        let times = timing();
        // Torn in the fourth line: the third must come out again, the fourth is written anew.
        std::fs::write(temporary.path().join(METRICS), &text[..text.len() - 9]).unwrap();
        let (mut records, found) = open(temporary.path(), &two).unwrap();
        assert_eq!((found.again, found.torn > 0), (1, true));
        for step in 3..=4 {
            let timing = json!({"seconds": 2});
            records.add(&mut writer, step, record(step, 0.5 / step as f32), &timing).unwrap();
        }
        records.check_end().unwrap();
        drop(records);
        assert_eq!(std::fs::read_to_string(temporary.path().join(METRICS)).unwrap(), text);
        assert_eq!(timing(), times + "{\"seconds\":2}\n");

        let (mut records, found) = open(temporary.path(), &two).unwrap();
        assert_eq!((found.again, found.torn), (2, 0));
        let other = records.add(&mut writer, 3, record(3, 0.25), &json!({})).unwrap_err();
        assert_eq!((other.code.id, other.place.line), ("train::step-differs", 3));
        assert!(other.found.starts_with("`loss` 0.25 instead of 0.1666"), "{other}");
        drop(records);
        let (records, _) = open(temporary.path(), &two).unwrap();
        assert_eq!(records.check_end().unwrap_err().code.id, "train::step-differs");
        assert_eq!(std::fs::read_to_string(temporary.path().join(METRICS)).unwrap(), text);
    }

    #[test]
    fn records_that_the_state_does_not_know_are_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let (two, text) = written(temporary.path());
        for wrong in [
            Reached { lines: 5, ..two.clone() },
            Reached { lines: 1, ..two.clone() },
            Reached { lines: 0, ..two.clone() },
            Reached { chain: None, ..two.clone() },
        ] {
            let error = open(temporary.path(), &wrong).unwrap_err();
            assert_eq!(error.code.id, "train::lost-records", "{wrong:?}");
        }
        let (held, _) = open(temporary.path(), &two).unwrap();
        assert_eq!(open(temporary.path(), &two).unwrap_err().code.id, "train::busy");
        drop(held);
        let edited = text.replacen("0.25", "0.26", 1);
        std::fs::write(temporary.path().join(METRICS), edited).unwrap();
        let error = open(temporary.path(), &two).unwrap_err();
        assert_eq!(error.code.id, "bundle::broken-chain");
    }

    #[test]
    fn what_is_no_number_is_a_word() {
        for (value, word) in [(f32::NAN, "nan"), (f32::INFINITY, "inf"), (-f32::INFINITY, "-inf")] {
            assert_eq!(Json::Object(record(1, value)), json!({"step": 1, "nonfinite": word}));
        }
        assert_eq!(record(1, 0.1)["loss"], json!(f64::from(0.1_f32)));
    }
}
