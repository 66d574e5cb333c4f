//! Checks a payload file of any length in one pass, while it is hashed.

use super::File;
use super::lines::{LineKind, LinesReader};
use super::logged::PassedTensors;
use super::opaque;
use super::opened::{OpenFile, wrong_digest};
use super::training::TrainingRecords;
use super::weights::WeightsReader;
use repro_core::digest::Digest;
use repro_core::parallel::Allowance;
use repro_core::source::{Error, Location};

/// A file that is judged while it passes by in pieces.
pub struct PayloadCheck<'a> {
    place: Location,
    judge: Judge,
    /// The parsing budget of all threads together.
    parsing: &'a Allowance,
    /// How many bytes of it will be held at a time.
    held: usize,
    begun: bool,
    /// All of it, where it is kept.
    bytes: Option<Vec<u8>>,
    fault: Option<Error>,
    tail: opaque::FileTail,
}

impl<'a> PayloadCheck<'a> {
    /// The check of `file`, which is called `name` and listed like this.
    pub fn of(name: &str, listed: &File, file: &OpenFile<'_>, parsing: &'a Allowance) -> Self {
        let (place, length) = (file.place(), file.length());
        let judge = match name.rsplit('.').next() {
            Some("safetensors") => {
                Judge::Weights(WeightsReader::new(place.clone(), length, listed.room))
            }
            Some("jsonl") => {
                let kind = LineKind::of(name, listed.root);
                Judge::Lines(LinesReader::new(place.clone(), kind))
            }
            _ => Judge::Opaque,
        };
        let held = match judge {
            Judge::Weights(_) => file.start().map_or(0, WeightsReader::header_length),
            Judge::Lines(_) | Judge::Opaque => 0,
        };
        let tail = opaque::FileTail::of(length);
        let bytes = listed.is_kept.then(|| Vec::with_capacity(length as usize));
        Self { place, judge, parsing, held, begun: false, bytes, fault: None, tail }
    }

    /// About how many bytes of the file will be held at a time, because they are judged together.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), Error> {
        if !std::mem::replace(&mut self.begun, true) && !self.judge.knows(piece) {
            opaque::refuse_start(|| self.place.clone(), piece)?;
        }
        // A changed byte is a wrong digest, whatever else it breaks: the whole file is hashed first.
        if self.fault.is_none() {
            let _turn = self.parsing.take(self.judge.parsed_with(piece));
            self.fault = self.judge.feed(piece).err();
        }
        self.tail.feed(piece);
        self.bytes.iter_mut().for_each(|bytes| bytes.extend_from_slice(piece));
        Ok(())
    }

    /// Says that the file has ended, with the digest `found`; answers what is kept of it, and its bytes where they are.
    pub fn finish(
        self,
        wanted: Digest,
        found: Digest,
    ) -> Result<(KeptParts, Option<Vec<u8>>), Error> {
        if found != wanted {
            return Err(wrong_digest(self.place, wanted, found));
        }
        self.tail.finish(|| self.place.clone())?;
        let parts = self.fault.map_or_else(|| self.judge.finish(), Err)?;
        Ok((parts, self.bytes))
    }
}

/// The kept contents of a file that has passed by.
pub enum KeptParts {
    /// Nothing.
    Nothing,
    /// Of tensors.
    Tensors(PassedTensors),
    /// The training records in its lines.
    Records(TrainingRecords),
}

/// Who judges a file.
enum Judge {
    Weights(WeightsReader),
    Lines(LinesReader),
    Opaque,
}

impl Judge {
    fn feed(&mut self, piece: &[u8]) -> Result<(), Error> {
        match self {
            Self::Weights(reader) => reader.feed(piece),
            Self::Lines(reader) => reader.feed(piece),
            Self::Opaque => Ok(()),
        }
    }

    /// Whether a file that starts so can be nothing else: the length of a safetensors header may begin with
    /// the bytes of a pickle, and the brace after it tells.
    fn knows(&self, start: &[u8]) -> bool {
        matches!((self, start), (Self::Weights(_), [_, _, _, _, 0, 0, 0, 0, b'{', ..]))
    }

    /// How many bytes may be parsed at once when `piece` has come.
    fn parsed_with(&self, piece: &[u8]) -> usize {
        match self {
            Self::Weights(reader) => reader.held_header().map_or(0, |held| held + piece.len()),
            Self::Lines(reader) => reader.torn_bytes() + piece.len(),
            Self::Opaque => 0,
        }
    }

    fn finish(self) -> Result<KeptParts, Error> {
        match self {
            Self::Weights(reader) => reader.finish().map(KeptParts::Tensors),
            Self::Lines(reader) => {
                Ok(reader.finish()?.map_or(KeptParts::Nothing, KeptParts::Records))
            }
            Self::Opaque => Ok(KeptParts::Nothing),
        }
    }
}
