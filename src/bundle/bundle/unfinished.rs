//! The folder of a run that is still training or has stopped.

use std::path::Path;

use super::chain::{METRICS, STATES};
use super::folder::Folder;
use super::lines::{LineKind, LinesReader};
use super::manifest::{DECLARATION, STATE};
use super::{Bundle, FINISHED, NOT_A_BAG};
use repro_core::digest::Digest;
use repro_core::parallel::Spare;
use repro_core::source::Error;

/// The state of a chained file of an unfinished run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WholeLines {
    /// How many whole lines there are; their chain holds.
    pub lines: usize,
    /// The chain of the last of them.
    pub last_chain: Option<Digest>,
    /// How many bytes at its end are dropped: a torn last line, or what follows a hole.
    pub torn_bytes: usize,
}

/// The state of the records of an unfinished run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Whether the folder holds the state from which the run can go on.
    pub resumable: bool,
    /// Its records.
    pub records: WholeLines,
    /// The states that it has committed itself to.
    pub states: WholeLines,
}

impl WholeLines {
    /// Reads a chained file up to its last whole line.
    fn load(folder: &Folder, name: &'static str) -> Result<Self, Error> {
        if !folder.holds(name) {
            return Ok(Self::default());
        }
        let mut reader = LinesReader::new(folder.place(name), LineKind::of(name, None));
        let mut lost = 0;
        folder.file(name)?.hash(&Spare::default(), |piece| {
            let kept = if lost > 0 { &[] } else { before_hole(piece) };
            lost += piece.len() - kept.len();
            reader.feed(kept)
        })?;
        let (lines, torn_bytes) = (reader.whole_lines(), reader.torn_bytes() + lost);
        Ok(Self { lines, last_chain: reader.chain().last(), torn_bytes })
    }
}

impl Unfinished {
    /// Reads the folder of an unfinished run and checks its chains up to their last whole lines.
    pub fn load(path: &Path, shown: &str) -> Result<Self, Error> {
        let folder = Folder::open(path, shown)?;
        if folder.holds(DECLARATION) {
            let place = folder.place(DECLARATION);
            return Err(FINISHED.at(place, "a run that is still training", "a finished bundle"));
        }
        if !folder.holds("data") {
            return Err(NOT_A_BAG.at(folder.own_place(), "`data/` or a whole bundle", "neither"));
        }
        Ok(Self {
            resumable: folder.holds(STATE),
            records: WholeLines::load(&folder, METRICS)?,
            states: WholeLines::load(&folder, STATES)?,
        })
    }
}

/// The whole lines that a `.jsonl` file of a run that stopped begins with.
pub fn whole_lines(bytes: &[u8]) -> &[u8] {
    let text = before_hole(bytes);
    let whole = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    text.get(..whole).unwrap_or_default()
}

/// The bytes before the first hole: where power was lost before bytes were on disk, a file may read as
/// zeros, which are no text.
fn before_hole(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or_default()
}

impl Bundle {
    /// The step at which the run of this bundle diverged: it did not finish, and its last record lacks a
    /// number that is finite.
    pub fn diverged_at(&self) -> Result<Option<u64>, Error> {
        if self.receipt().finished() != Some(false) || !self.files().contains_key(METRICS) {
            return Ok(None);
        }
        let last = self.document(METRICS)?.root().items()?.last();
        let last = last.filter(|record| record.get("nonfinite").is_some());
        last.map(|record| record.required("step")?.integer()).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Chain;
    use serde_json::json;

    #[test]
    fn whole_lines_are_checked_and_a_torn_one_is_reported() {
        let temporary = tempfile::tempdir().unwrap();
        let metrics = temporary.path().join(METRICS);
        let load = || Unfinished::load(temporary.path(), "run");
        assert_eq!(load().unwrap_err().code.id, "bundle::not-a-bag");
        std::fs::create_dir(temporary.path().join("data")).unwrap();
        assert_eq!((load().unwrap().records.lines, load().unwrap().resumable), (0, false));
        std::fs::write(temporary.path().join(STATE), "{}").unwrap();

        let mut chain = Chain::default();
        let mut text = String::new();
        for step in 0..3 {
            let record = json!({ "step": step, "note": "é" }).as_object().cloned().unwrap();
            text.push_str(&chain.extend(record).unwrap());
        }
        for torn in 0..text.len() / 3 {
            let cut = text.len() - torn;
            std::fs::write(&metrics, &text.as_bytes()[..cut]).unwrap();
            let seen = load().unwrap();
            let wanted = if torn == 0 { (3, 0) } else { (2, text.len() / 3 - torn) };
            assert_eq!(
                (seen.records.lines, seen.records.torn_bytes, seen.resumable),
                (wanted.0, wanted.1, true)
            );
        }
        // A hole, and lines after it: what was written there never got to the disk.
        let hole =
            [&text.as_bytes()[..text.len() / 3 + 5], &[0; 9], b"}\n\n{\"step\":2}\n"].concat();
        std::fs::write(&metrics, &hole).unwrap();
        let seen = load().unwrap();
        assert_eq!((seen.records.lines, seen.records.torn_bytes), (1, hole.len() - text.len() / 3));
        assert_eq!(whole_lines(&hole), &text.as_bytes()[..text.len() / 3]);
        std::fs::write(&metrics, text.replacen("\"step\":1", "\"step\":7", 1)).unwrap();
        assert_eq!(load().unwrap_err().code.id, "bundle::broken-chain");
        std::fs::write(temporary.path().join(DECLARATION), "").unwrap();
        assert_eq!(load().unwrap_err().code.id, "bundle::finished");
    }
}
