//! TFRecord files: records with their length and two checksums, one behind the other.

use std::io::{self, Read};

use crate::import::log::{Identity, Tally};

/// The longest record: what holds a graph or images may be long, and no number is in it.
const RECORD_CAP: u64 = 1 << 30;
/// How much one read asks for.
const READ_SIZE: usize = 1 << 20;
/// The bytes before a record, and behind it.
const HEAD: usize = 12;
const FOOT: usize = 4;

/// How a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Behind a record.
    Whole,
    /// In the middle of one, which begins at this byte.
    Cut(u64),
    /// With a record whose checksum is wrong; it begins at this byte.
    Damaged(u64),
}

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum NextRecord<'a> {
    /// A record that its checksums vouch for.
    Record(&'a [u8]),
    /// None.
    End(Ending),
}

/// The records of a file.
pub struct EventRecords<R> {
    reader: Tally<R>,
    buffer: Vec<u8>,
    /// What was read and not yet taken begins here; the byte of the file that it is.
    start: usize,
    offset: u64,
}

impl<R: Read> EventRecords<R> {
    /// The records of what `reader` gives.
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

    /// Reads on to the end and answers which bytes there were.
    pub fn finish(self) -> io::Result<Identity> {
        self.reader.finish()
    }

    /// The length of the next record, if its checksum vouches for it.
    fn length(&self) -> Option<usize> {
        let head = self.buffer.get(self.start..self.start + HEAD)?;
        let (length, sum) = head.split_first_chunk::<8>()?;
        let right = *sum == masked(length).to_le_bytes();
        let length = u64::from_le_bytes(*length);
        usize::try_from(length).ok().filter(|_| right && length <= RECORD_CAP)
    }

    /// Whether so many bytes follow, which are read if they do.
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

/// The checksum of `bytes` as these files store it: rotated, so that sums of sums are no special case.
pub fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A record as a writer makes it.
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
        // The head of a record of 24 bytes in any event file.
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
