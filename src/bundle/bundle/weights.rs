//! Checks weights in one pass: while a `.safetensors` file is hashed, its header is checked and its floats
//! are searched for non-finite values. The header's free text and the small tensors with a slice's
//! results are kept.

use std::ops::Range;

use super::logged::{LoggedReader, PassedTensors};
use super::{BAD_WEIGHTS, NOT_FINITE_WEIGHT};
use crate::checkpoint::{Header, Stored};
use repro_core::source::{DOCUMENT_CAP, Error, Location};

/// The bytes before the header, which say how long it is.
const PREFIX: usize = 8;

/// A number format whose bits can say "not a number" or "infinite": where all bits of `exponent` are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Float {
    width: usize,
    exponent: u64,
}

impl Float {
    /// The float format called `name` in a header; other types hold no such values.
    pub fn named(name: &str) -> Option<Self> {
        let (width, exponent) = match name {
            "F64" => (8, 0x7ff0_0000_0000_0000),
            // A complex number is two floats in a row.
            "F32" | "C64" => (4, 0x7f80_0000),
            "F16" => (2, 0x7c00),
            "BF16" => (2, 0x7f80),
            "F8_E5M2" => (1, 0x7c),
            // These two have no infinity, and one NaN; the second is an exponent alone.
            "F8_E4M3" => (1, 0x7f),
            "F8_E8M0" => (1, 0xff),
            _ => return None,
        };
        Some(Self { width, exponent })
    }

    /// The first element of `bytes`, a row of whole elements, that is not finite.
    fn first_not_finite(self, bytes: &[u8]) -> Option<usize> {
        // Each width compares in its own type, so that the compiler does many elements at once.
        match self.width {
            1 => {
                let exponent = self.exponent as u8;
                first::<1>(bytes, |e| u8::from_le_bytes(e) & exponent == exponent)
            }
            2 => {
                let exponent = self.exponent as u16;
                first::<2>(bytes, |e| u16::from_le_bytes(e) & exponent == exponent)
            }
            4 => {
                let exponent = self.exponent as u32;
                first::<4>(bytes, |e| u32::from_le_bytes(e) & exponent == exponent)
            }
            _ => first::<8>(bytes, |e| u64::from_le_bytes(e) & self.exponent == self.exponent),
        }
    }
}

/// The first element that is `wrong`. Blocks are judged without a branch inside: nearly all are right.
fn first<const N: usize>(bytes: &[u8], wrong: impl Fn([u8; N]) -> bool) -> Option<usize> {
    const BLOCK: usize = 1024;
    let (elements, _) = bytes.as_chunks::<N>();
    elements.chunks(BLOCK).enumerate().find_map(|(at, block)| {
        let any = block.iter().fold(false, |any, &element| any | wrong(element));
        let inside = || block.iter().position(|&element| wrong(element));
        any.then(inside).flatten().map(|index| at * BLOCK + index)
    })
}

/// One tensor as its header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorBytes {
    /// Its name.
    pub name: String,
    /// Its format, where it is a float.
    pub float: Option<Float>,
    /// Where its bytes are, counted from the end of the header.
    pub range: Range<u64>,
}

/// The tensors of a header, in the order of their bytes.
fn in_order(header: Header) -> Vec<TensorBytes> {
    let tensor = |stored: Stored| TensorBytes {
        name: stored.name,
        float: Float::named(stored.dtype.name),
        range: stored.offsets,
    };
    let mut tensors: Vec<_> = header.tensors.into_iter().map(tensor).collect();
    tensors.sort_by_key(|tensor| (tensor.range.start, tensor.range.end));
    tensors
}

/// A `.safetensors` file that passes by in pieces.
pub struct WeightsReader {
    place: Location,
    length: u64,
    stage: Stage,
    /// So many numbers may be kept of its logged tensors.
    room: u64,
}

enum Stage {
    /// The length of the header is not known yet, or its text is not complete.
    Header(Vec<u8>),
    Data(Box<DataReaders>),
}

/// Those who look at the data behind a header.
struct DataReaders {
    scan: FiniteScan,
    logged: LoggedReader,
}

impl DataReaders {
    fn feed(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.logged.feed(piece);
        self.scan.feed(piece)
    }
}

impl WeightsReader {
    /// A reader of the file at `place`, which is `length` bytes long; of its logged tensors `room` numbers may be kept.
    pub fn new(place: Location, length: u64, room: u64) -> Self {
        Self { place, length, stage: Stage::Header(Vec::new()), room }
    }

    /// How many bytes the header has in a file that starts so, as far as they are held.
    pub fn header_length(start: [u8; PREFIX]) -> usize {
        usize::try_from(u64::from_le_bytes(start)).unwrap_or(usize::MAX).min(DOCUMENT_CAP)
    }

    /// Takes the next piece of the file.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), Error> {
        let held = match &mut self.stage {
            Stage::Data(readers) => return readers.feed(piece),
            Stage::Header(held) => held,
        };
        held.extend_from_slice(piece);
        let Some((prefix, rest)) = held.split_first_chunk::<PREFIX>() else { return Ok(()) };
        let header_length = u64::from_le_bytes(*prefix);
        let cap = self.length.saturating_sub(PREFIX as u64).min(DOCUMENT_CAP as u64);
        if header_length > cap {
            let expected = format!("a header of at most {cap} bytes");
            let found = format!("{header_length} bytes");
            return Err(BAD_WEIGHTS.at(self.place.clone(), expected, found));
        }
        let end = PREFIX + header_length as usize;
        if rest.len() + PREFIX < end {
            held.reserve_exact(end + piece.len() - held.len());
            return Ok(());
        }
        let data = held.split_off(end);
        let mut header = std::mem::take(held);
        header.drain(..PREFIX);
        let header = Header::parse(&self.place.file, self.length, header)?;
        let logged = LoggedReader::new(&header, self.room);
        let scan = FiniteScan::new(self.place.clone(), in_order(header));
        let mut readers = Box::new(DataReaders { scan, logged });
        let result = readers.feed(&data);
        self.stage = Stage::Data(readers);
        result
    }

    /// The bytes of a header that is not complete yet; nothing once it is read.
    pub fn held_header(&self) -> Option<usize> {
        match &self.stage {
            Stage::Header(held) => Some(held.len()),
            Stage::Data(_) => None,
        }
    }

    /// Says that the file has ended, and answers what is kept of it.
    pub fn finish(self) -> Result<PassedTensors, Error> {
        match self.stage {
            Stage::Data(readers) => Ok(readers.logged.finish()),
            Stage::Header(held) => {
                let found = format!("{} bytes", held.len());
                Err(BAD_WEIGHTS.at(self.place, "a safetensors header", found))
            }
        }
    }
}

/// The search for floats that are not finite, in bytes that pass by in pieces of any size.
pub struct FiniteScan {
    place: Location,
    tensors: std::iter::Peekable<std::vec::IntoIter<TensorBytes>>,
    /// How many bytes have passed.
    at: u64,
    /// The bytes of an element that was cut by the end of a piece.
    cut: Vec<u8>,
}

impl FiniteScan {
    /// A search through `tensors`, which are in the order of their bytes and do not overlap.
    pub fn new(place: Location, tensors: Vec<TensorBytes>) -> Self {
        Self { place, tensors: tensors.into_iter().peekable(), at: 0, cut: Vec::new() }
    }

    /// Takes the next piece of the data.
    pub fn feed(&mut self, mut piece: &[u8]) -> Result<(), Error> {
        while !piece.is_empty() {
            while self.tensors.next_if(|tensor| tensor.range.end <= self.at).is_some() {}
            let Some(tensor) = self.tensors.peek() else { return Ok(()) };
            let (bytes, inside) = match tensor.range.start.checked_sub(self.at) {
                Some(gap) if gap > 0 => (gap, false),
                _ => (tensor.range.end - self.at, true),
            };
            let here = usize::try_from(bytes).map_or(piece.len(), |bytes| bytes.min(piece.len()));
            let (part, rest) = piece.split_at(here);
            if let (true, Some(float)) = (inside, tensor.float) {
                let tensor = tensor.clone();
                self.elements(&tensor, float, part)?;
            }
            self.at += here as u64;
            piece = rest;
        }
        Ok(())
    }

    /// Looks at the elements in `part`, which starts at `self.at` inside `tensor`.
    fn elements(
        &mut self,
        tensor: &TensorBytes,
        float: Float,
        mut part: &[u8],
    ) -> Result<(), Error> {
        let mut at = self.at;
        if !self.cut.is_empty() {
            let missing = (float.width - self.cut.len()).min(part.len());
            let (head, rest) = part.split_at(missing);
            self.cut.extend_from_slice(head);
            at += missing as u64;
            part = rest;
            if self.cut.len() < float.width {
                return Ok(());
            }
            let whole = std::mem::take(&mut self.cut);
            if float.first_not_finite(&whole).is_some() {
                return Err(self.refuse(tensor, float, at - float.width as u64));
            }
        }
        let (whole, cut) = part.split_at(part.len() - part.len() % float.width);
        if let Some(index) = float.first_not_finite(whole) {
            return Err(self.refuse(tensor, float, at + (index * float.width) as u64));
        }
        self.cut.extend_from_slice(cut);
        if at + part.len() as u64 >= tensor.range.end {
            self.cut.clear();
        }
        Ok(())
    }

    fn refuse(&self, tensor: &TensorBytes, float: Float, at: u64) -> Error {
        let element = (at - tensor.range.start) / float.width as u64;
        let found = format!("NaN or an infinity in element {element} of `{}`", tensor.name);
        NOT_FINITE_WEIGHT.at(self.place.clone(), "finite weights", found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(tensors: &[(&str, &str, &[u8])]) -> Vec<u8> {
        let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
        for (name, dtype, bytes) in tensors {
            let start = data.len();
            data.extend_from_slice(bytes);
            let width = match *dtype {
                "F64" | "C64" => 8,
                "F32" | "I32" => 4,
                "F16" | "BF16" => 2,
                _ => 1,
            };
            let (shape, offsets) = ([bytes.len() / width], [start, data.len()]);
            let entry =
                serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
            header.insert((*name).to_owned(), entry);
        }
        let header = serde_json::Value::Object(header).to_string();
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
    }

    fn read(bytes: &[u8], step: usize) -> Result<(), Error> {
        let place = Location::file("w.safetensors");
        let mut reader = WeightsReader::new(place, bytes.len() as u64, 0);
        for piece in bytes.chunks(step) {
            reader.feed(piece)?;
        }
        reader.finish().map(drop)
    }

    #[test]
    fn every_format_and_every_cut_is_searched() {
        let bad: [(&str, &[u8], &[u8]); 12] = [
            ("F32", &1.5_f32.to_le_bytes(), &f32::NAN.to_le_bytes()),
            ("F32", &f32::MAX.to_le_bytes(), &f32::NEG_INFINITY.to_le_bytes()),
            ("F64", &f64::MIN.to_le_bytes(), &f64::INFINITY.to_le_bytes()),
            ("F64", &0.1_f64.to_le_bytes(), &f64::NAN.to_le_bytes()),
            ("F16", &[0xff, 0x7b], &[0x00, 0x7c]),
            ("BF16", &[0x7f, 0x7f], &[0xc0, 0xff]),
            ("C64", &1.5_f32.to_le_bytes(), &f32::NAN.to_le_bytes()),
            ("F8_E5M2", &[0xfb], &[0x7c]),
            ("F8_E5M2", &[0x7b], &[0xff]),
            ("F8_E4M3", &[0x7e], &[0x7f]),
            ("F8_E4M3", &[0xfe], &[0xff]),
            ("F8_E8M0", &[0x7f], &[0xff]),
        ];
        for (dtype, finite, wrong) in bad {
            let good = [finite; 6].concat();
            let mut broken = good.clone();
            broken.splice(3 * wrong.len()..4 * wrong.len(), wrong.iter().copied());
            for step in [1, 2, 3, 5, 7, 4096] {
                read(&file(&[("i", "I8", b"abc"), ("w", dtype, &good)]), step).unwrap();
                let error =
                    read(&file(&[("i", "I8", b"abc"), ("w", dtype, &broken)]), step).unwrap_err();
                assert_eq!(error.code.id, "bundle::non-finite-weight");
                assert!(error.found.contains("element 3 of `w`"), "{dtype} {step} {error}");
            }
        }
        let integers = [0xff; 16];
        read(&file(&[("a", "I32", &integers), ("b", "U8", &integers)]), 3).unwrap();
    }

    #[test]
    fn headers_that_do_not_cover_the_file_are_refused() {
        let good = file(&[("w", "F32", &[0; 8])]);
        let longer = [&good[..], b"x"].concat();
        let huge = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
        for (bytes, code) in [
            (&longer[..], "checkpoint::wrong-length"),
            (&good[..good.len() - 1], "checkpoint::wrong-length"),
            (&good[..20], "bundle::bad-weights"),
            (&good[..4], "bundle::bad-weights"),
            (&[], "bundle::bad-weights"),
            (&huge[..], "bundle::bad-weights"),
            (&file(&[])[..], "checkpoint::bad-tensor"),
        ] {
            assert_eq!(read(bytes, 64).unwrap_err().code.id, code, "{bytes:?}");
        }
    }
}
