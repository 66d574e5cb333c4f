//! Formats that are never opened: pickles, which run code when they are read, and archives, which hide
//! files. They are recognized by their first bytes, and archives that are read from their end by their last ones.

use super::OPAQUE_FORMAT;
use repro_core::source::{Error, Location};

/// How formats begin.
const STARTS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"PK\x07\x08", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x1f\x9d", "a compress archive"),
    (b"\x1f\xa0", "a compress archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\xfd7zXZ\0", "an XZ archive"),
    (b"\x5d\0\0\x80\0", "an LZMA archive"),
    (b"\x04\x22\x4d\x18", "an LZ4 archive"),
    (b"\x02\x21\x4c\x18", "an LZ4 archive"),
    (b"LZIP", "an lzip archive"),
    (b"\x89LZO\0\r\n\x1a\n", "an lzop archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"MSCF\0\0\0\0", "a cabinet archive"),
    (b"!<arch>\n", "an ar archive"),
    (b"070701", "a cpio archive"),
    (b"070702", "a cpio archive"),
    (b"070707", "a cpio archive"),
    (b"\xc7\x71", "a cpio archive"),
    (b"xar!", "a xar archive"),
    (b"hsqs", "a SquashFS archive"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, which may contain code"),
];

/// The end record of a ZIP archive, without its comment.
const ZIP_END: usize = 22;
/// The part of a file that can hold the end record: a comment has at most 65 535 bytes.
const ZIP_TAIL: usize = ZIP_END + u16::MAX as usize;

/// Refuses a file that begins as pickles and archives do, whatever it is called.
pub fn refuse_start(place: impl Fn() -> Location, start: &[u8]) -> Result<(), Error> {
    let known = STARTS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, what)| *what);
    let what = match known {
        Some(what) => what,
        None if matches!(start, [0x80, 1..=5, ..]) || is_old_pickle(start) => "a pickle",
        None if is_bzip2(start) => "a bzip2 archive",
        None if is_tar(start) => "a tar archive",
        None => return Ok(()),
    };
    Err(error(place(), what))
}

fn error(place: Location, what: &str) -> Error {
    OPAQUE_FORMAT.at(place, "not a pickle or an archive", what)
}

fn is_bzip2(start: &[u8]) -> bool {
    let block = |rest: &[u8]| {
        rest.starts_with(b"\x31\x41\x59\x26\x53\x59") || rest.starts_with(b"\x17\x72\x45\x38")
    };
    matches!(start, [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] if block(rest))
}

/// A tar archive by its magic, or, as the oldest have none, by the sum of its first header.
fn is_tar(start: &[u8]) -> bool {
    const SUM: std::ops::Range<usize> = 148..156;
    let Some(header) = start.get(..512) else { return false };
    if header.get(257..262) == Some(b"ustar") {
        return true;
    }
    let stated = header.get(SUM).and_then(|field| std::str::from_utf8(field).ok());
    let stated = stated.map(|field| field.trim_matches([' ', '\0']));
    let Some(stated) = stated.and_then(|digits| u32::from_str_radix(digits, 8).ok()) else {
        return false;
    };
    let byte = |(at, byte): (usize, &u8)| u32::from(if SUM.contains(&at) { b' ' } else { *byte });
    header.iter().enumerate().map(byte).sum::<u32>() == stated
}

/// The most operations of a pickle that are looked at: by then it is one.
const ENOUGH: usize = 64;

/// Whether the bytes are the operations of a pickle without a header (protocols 0 and 1), up to its end or
/// further than chance goes. Text may begin with an operation or two, and is none.
fn is_old_pickle(start: &[u8]) -> bool {
    let (mut rest, mut height, mut structure) = (start, 0_usize, false);
    for _ in 0..ENOUGH {
        let Some((&operation, after)) = rest.split_first() else { return false };
        let Some((taken, effect)) = operation_of(operation, after) else { return false };
        structure |= b"(cilodtR]}Pb".contains(&operation);
        height = match height.checked_add_signed(effect) {
            Some(height) if height > 0 || operation == b'.' => height,
            _ => return false,
        };
        if operation == b'.' {
            return structure;
        }
        rest = after.get(taken..).unwrap_or_default();
    }
    structure
}

/// The bytes of an operation's argument and what the operation does to the height of the stack. Those that
/// take all down to a mark count as taking one thing: less than they do is no harm here.
fn operation_of(operation: u8, after: &[u8]) -> Option<(usize, isize)> {
    let line = |after: &[u8]| after.iter().take(1 << 12).position(|&b| b == b'\n').map(|at| at + 1);
    let lines = |after: &[u8]| {
        let first = line(after)?;
        Some(first + line(after.get(first..)?)?)
    };
    let counted = |width: usize| {
        let bytes = after.get(..width)?;
        let length = bytes.iter().rev().fold(0_usize, |sum, b| sum << 8 | usize::from(*b));
        (length < 1 << 16).then_some(width + length)
    };
    let word = |after: &[u8]| {
        let end = after.iter().position(|&b| b == b'\n')?;
        let plain = |b: &u8| b.is_ascii_alphanumeric() || b"._+-".contains(b);
        after
            .get(..end)
            .is_some_and(|text| !text.is_empty() && text.iter().all(plain))
            .then_some(end + 1)
    };
    let words = |after: &[u8]| {
        let first = word(after)?;
        Some(first + word(after.get(first..)?)?)
    };
    Some(match operation {
        b'(' | b'N' | b']' | b'}' | b')' => (0, 1),
        b'.' => (0, -1),
        b'0' => (0, -1),
        b'2' => (0, 1),
        b'R' | b'a' | b'b' | b'1' => (0, -1),
        b'e' | b'u' | b'o' => (0, -1),
        b't' | b'l' | b'd' | b'Q' => (0, 0),
        b's' => (0, -2),
        b'c' => (words(after)?, 1),
        b'i' => (lines(after)?, 0),
        b'I' | b'F' | b'L' => (word(after)?, 1),
        b'S' | b'V' | b'P' => (line(after)?, 1),
        b'g' => (word(after)?, 1),
        b'p' => (word(after)?, 0),
        b'q' => (1, 0),
        b'r' => (4, 0),
        b'h' | b'K' => (1, 1),
        b'j' | b'J' => (4, 1),
        b'M' => (2, 1),
        b'G' => (8, 1),
        b'U' => (counted(1)?, 1),
        b'T' | b'X' => (counted(4)?, 1),
        _ => return None,
    })
}

/// The end of a file that passes by, kept because a ZIP archive is found from its end: whatever stands
/// before it, some programs open such a file as an archive.
pub struct FileTail {
    /// Where the part begins that is kept.
    from: u64,
    at: u64,
    held: Vec<u8>,
}

impl FileTail {
    /// The end of a file of `length` bytes.
    pub fn of(length: u64) -> Self {
        Self { from: length.saturating_sub(ZIP_TAIL as u64), at: 0, held: Vec::new() }
    }

    /// Takes the next piece of the file.
    pub fn feed(&mut self, piece: &[u8]) {
        let skipped = self.from.saturating_sub(self.at);
        let skipped = usize::try_from(skipped).map_or(piece.len(), |skip| skip.min(piece.len()));
        self.held.extend_from_slice(piece.get(skipped..).unwrap_or_default());
        self.at += piece.len() as u64;
    }

    /// Refuses a file that ends as a ZIP archive does.
    pub fn finish(&self, place: impl Fn() -> Location) -> Result<(), Error> {
        let ends = |(at, record): (usize, &[u8])| {
            let comment = record.get(20..).map(|field| field.iter().rev());
            let comment = comment.map(|field| field.fold(0, |sum, b| sum << 8 | usize::from(*b)));
            record.starts_with(b"PK\x05\x06")
                && comment.is_some_and(|length| at + ZIP_END + length == self.held.len())
        };
        match self.held.windows(ZIP_END).enumerate().any(ends) {
            true => Err(error(place(), "a ZIP archive behind other bytes")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8]) -> String {
        let place = || Location::file("x.dat");
        refuse_start(place, bytes).map_or_else(|error| error.found.clone(), |()| String::new())
    }

    #[test]
    fn pickles_without_a_header_are_known_by_their_operations() {
        for pickle in [
            &b"cos\nsystem\n(S'true'\ntR."[..],
            b"cposix\nsystem\np0\n(S'true'\np1\ntp2\nRp3\n.",
            b"(lp0\nI1\naI2\na.",
            b"(dp0\nS'a'\np1\nI1\ns.",
            b"]q\x00(K\x01K\x02e.",
            b"}q\x00X\x01\0\0\0aK\x01s.rest",
            b"(cos\nsystem\nS'true'\no.",
            b"(S'true'\nios\nsystem\n.",
            b"(I1\nI2\ntp0\n.",
        ] {
            assert_eq!(found(pickle), "a pickle", "{}", String::from_utf8_lossy(pickle));
        }
        let long = [&b"(lp0\n"[..], &b"I1\na".repeat(1000)].concat();
        assert_eq!(found(&long), "a pickle");
    }

    #[test]
    fn text_is_no_pickle() {
        for text in [
            "",
            ".",
            "(",
            "N. Bourbaki\n",
            "I1\n.",
            "config\nvalues\n",
            "(see table 1)\n",
            "]\n",
            "0.5\n",
            "a,b\n1,2\n",
            "# Notes\n",
            "cell one\ntwo\n.",
            "(a) first\n(b) second\n",
            "{}\n",
            "[1,2]\n",
            "Results\n\nLoss 2.31.\n",
            "(1.0, 2.0)\n",
            "}\n.",
            "step 1\nstep 2\n",
        ] {
            assert_eq!(found(text.as_bytes()), "", "{text:?}");
        }
    }

    #[test]
    fn archives_are_known_with_and_without_magic() {
        let mut header = vec![0_u8; 512];
        header[..5].copy_from_slice(b"a.txt");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
        header[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
        header[154] = 0;
        assert_eq!(found(&header), "a tar archive");
        header[0] = b'b';
        assert_eq!(found(&header), "");
        assert_eq!(found(&[0; 512]), "");
        assert_eq!(found(b"BZh91AY&SYrest"), "a bzip2 archive");
        assert_eq!(found(b"BZh9 notes"), "");
    }

    #[test]
    fn an_archive_behind_other_bytes_is_found_from_its_end() {
        let mut archive = b"PK\x05\x06".to_vec();
        archive.resize(ZIP_END, 0);
        let read = |bytes: &[u8], step: usize| {
            let mut tail = FileTail::of(bytes.len() as u64);
            bytes.chunks(step).for_each(|piece| tail.feed(piece));
            tail.finish(|| Location::file("x.dat")).is_err()
        };
        for before in [0, 1, 5, 200_000] {
            let hidden = [&vec![b'x'; before][..], &archive].concat();
            for step in [1, 7, 4096] {
                assert!(read(&hidden, step), "{before} {step}");
            }
            let mut commented = hidden.clone();
            commented[before + 20] = 3;
            assert!(!read(&commented, 4096), "a record that does not reach the end");
            commented.extend_from_slice(b"abc");
            assert!(read(&commented, 4096));
        }
        assert!(!read(b"notes on PK\x05\x06 and what follows it in a file", 5));
        assert!(!read(b"", 5));
    }
}
