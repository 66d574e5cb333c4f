//! TFRecord files: consecutive records with a length and two checksums.

use std::io::{self, Read};

use crate::import::log::{Identity, Tally};

/// The maximum record length. Graphs and images may be long, but they contain no metrics.
const RECORD_CAP: u64 = 1 << 30;
/// The number of bytes per read.
const READ_SIZE: usize = 1 << 20;
/// The number of bytes before and after a record.
const HEAD: usize = 12;
const FOOT: usize = 4;

/// How a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// After a record.
    Whole,
    /// In the middle of a record, which starts at this byte.
    Cut(u64),
    /// With a record whose checksum is wrong; it starts at this byte.
    Damaged(u64),
}

/// The next item in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum NextRecord<'a> {
    /// A record with valid checksums.
    Record(&'a [u8]),
    /// None.
    End(Ending),
}

/// The records of a file.
pub struct EventRecords<R> {
    reader: Tally<R>,
    buffer: Vec<u8>,
    /// The start of the bytes that were read but not yet consumed, and its offset in the file.
    start: usize,
    offset: u64,
}

impl<R: Read> EventRecords<R> {
    /// Reads records from `reader`.
    pub fn new(reader: Tally<R>) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, offset: 0 }
    }

    /// The next record.
    pub fn next_record(&mut self) -> io::Result<NextRecord<'_>> {
        if !self.holds(HEAD)? {
            let rest = self.buffer.len() > self.start;
            let ending = if rest { Ending::Cut(self.offset) } else { Ending::Whole };
            return Ok(NextRecord::End(ending));
        }
        let Some(length) = self.length() else {
            return Ok(NextRecord::End(Ending::Damaged(self.offset)));
        };
        let whole = HEAD + length + FOOT;
        if !self.holds(whole)? {
            return Ok(NextRecord::End(Ending::Cut(self.offset)));
        }
        let begin = self.start;
        let record = self.buffer.get(begin + HEAD..begin + HEAD + length).unwrap_or_default();
        let foot = self.buffer.get(begin + HEAD + length..begin + whole);
        if foot != Some(&masked(record).to_le_bytes()) {
            return Ok(NextRecord::End(Ending::Damaged(self.offset)));
        }
        self.start += whole;
        self.offset += whole as u64;
        Ok(NextRecord::Record(record))
    }

    /// Reads to the end and returns the identity of all bytes.
    pub fn finish(self) -> io::Result<Identity> {
        self.reader.finish()
    }

    /// The length of the next record, if its checksum is valid.
    fn length(&self) -> Option<usize> {
        let head = self.buffer.get(self.start..self.start + HEAD)?;
        let (length, sum) = head.split_first_chunk::<8>()?;
        let right = *sum == masked(length).to_le_bytes();
        let length = u64::from_le_bytes(*length);
        usize::try_from(length).ok().filter(|_| right && length <= RECORD_CAP)
    }

    /// Whether this many bytes follow, reading them if they do.
    fn holds(&mut self, count: usize) -> io::Result<bool> {
        while self.buffer.len() - self.start < count {
            if self.start > 0 {
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            if self.reader.fill(&mut self.buffer, READ_SIZE)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The masked checksum of `bytes`, as these files store it: rotated, to avoid checksums of checksums.
pub fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A record as a writer encodes it.
    pub fn record(bytes: &[u8]) -> Vec<u8> {
        let length = (bytes.len() as u64).to_le_bytes();
        let head = masked(&length).to_le_bytes();
        [&length[..], &head, bytes, &masked(bytes).to_le_bytes()].concat()
    }

    fn records(file: &[u8]) -> (Vec<Vec<u8>>, Ending) {
        let mut records = EventRecords::new(Tally::new(file, false));
        let mut all = Vec::new();
        loop {
            match records.next_record().unwrap() {
                NextRecord::Record(record) => all.push(record.to_vec()),
                NextRecord::End(ending) => return (all, ending),
            }
        }
    }

    #[test]
    fn checksums_are_those_of_the_format() {
        // The first 12 bytes of a 24-byte record in any event file.
        assert_eq!(masked(&24_u64.to_le_bytes()).to_le_bytes(), [0xa3, 0x7f, 0x4b, 0x22]);
    }

    #[test]
    fn a_file_is_read_up_to_its_cut_at_every_byte() {
        let parts = [record(b"one"), record(b""), record(&[7; 300])];
        let file = parts.concat();
        let ends: Vec<usize> = parts
            .iter()
            .scan(0, |sum, part| {
                *sum += part.len();
                Some(*sum)
            })
            .collect();
        for length in 0..=file.len() {
            let (all, ending) = records(&file[..length]);
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(all.len(), whole, "{length}");
            let begin = if whole == 0 { 0 } else { ends[whole - 1] };
            let wanted = if begin == length { Ending::Whole } else { Ending::Cut(begin as u64) };
            assert_eq!(ending, wanted, "{length}");
        }
    }

    #[test]
    fn a_changed_byte_ends_the_file_there() {
        let file = [record(b"one"), record(b"two")].concat();
        for at in 0..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 1;
            let (all, ending) = records(&changed);
            let begin = if at < 19 { 0 } else { 19 };
            assert_eq!((all.len(), ending), (begin / 19, Ending::Damaged(begin as u64)), "{at}");
        }
    }
}
