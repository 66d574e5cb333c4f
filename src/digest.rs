//! SHA-256 digests and RFC 8785 text, the two things that make bytes comparable.
//!
//! Owns the [`Digest`] type, hashing in reads of one size, and the writing of canonical JSON. Which
//! bytes are hashed, and what a wrong digest means, is left to the modules above.

#![forbid(unsafe_code)]

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The most bytes that one read asks for, whatever the size of the file.
pub const READ_SIZE: usize = 128 << 10;
/// How many buffers go round between two threads that share a stream.
const BUFFERS: usize = 4;
/// Buffers begin where a page does: copies from the system's cache are slower anywhere else.
const PAGE: usize = 4096;

/// Every integer up to this one is the same in every reader of JSON.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;
/// From here on canonical JSON writes an exponent, so a number no longer looks like an integer.
const EXPONENT_FROM: f64 = 1e21;

/// A SHA-256 digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Parses 64 lower-case hexadecimal digits.
    pub fn parse_hex(text: &str) -> Option<Self> {
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        let mut wrong = 0;
        for (byte, [high, low]) in bytes.iter_mut().zip(digits.as_chunks().0) {
            let (high, low) = (nibble(*high), nibble(*low));
            wrong |= high | low;
            *byte = high << 4 | low & 0xf;
        }
        (wrong < 0x10).then_some(Self(bytes))
    }

    /// Parses the form with its algorithm, `sha256:` and 64 digits.
    pub fn parse_prefixed(text: &str) -> Option<Self> {
        Self::parse_hex(text.strip_prefix("sha256:")?)
    }

    /// The form with its algorithm, `sha256:` and 64 digits.
    pub fn prefixed(&self) -> String {
        format!("sha256:{self}")
    }

    /// The 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first four bytes as a number, the first one highest.
    pub fn head(&self) -> u32 {
        self.0.first_chunk().map_or(0, |head| u32::from_be_bytes(*head))
    }
}

/// The value of a digit, 16 or more for what is none. It has no branches: a bundle has many digits.
fn nibble(digit: u8) -> u8 {
    let (decimal, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
    if decimal < 10 {
        decimal
    } else if letter < 6 {
        letter + 10
    } else {
        0x10
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A digest in the making.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything added.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Hashes all that `reader` gives, about `length` bytes, showing each piece to `watch`; answers the digest
/// and the length. As soon as `helper` has a thread to lend, that one hashes while this one reads and
/// watches.
pub fn hash_stream<E: From<io::Error>, H>(
    reader: &mut impl Read,
    length: u64,
    mut watch: impl FnMut(&[u8]) -> Result<(), E>,
    helper: impl Fn() -> Option<H>,
) -> Result<(Digest, u64), E> {
    let size = usize::try_from(length).map_or(READ_SIZE, |length| length.clamp(1, READ_SIZE));
    let mut buffer = Buffer::new(size);
    let (mut hasher, mut read) = (Hasher::default(), 0);
    loop {
        if length - read.min(length) > (BUFFERS * READ_SIZE) as u64
            && let Some(_lent) = helper()
        {
            let (digest, rest) = hash_beside(reader, hasher, watch)?;
            return Ok((digest, read + rest));
        }
        let piece = buffer.fill(reader)?;
        if piece.is_empty() {
            return Ok((hasher.finish(), read));
        }
        hasher.update(piece);
        read += piece.len() as u64;
        watch(piece)?;
    }
}

/// The rest of a stream: one more thread hashes, a few buffers behind the reading and watching of this one.
fn hash_beside<E: From<io::Error>>(
    reader: &mut impl Read,
    mut hasher: Hasher,
    mut watch: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(Digest, u64), E> {
    thread::scope(|scope| {
        let (full, arriving) = sync_channel::<Buffer>(BUFFERS);
        let (empty, returned) = channel();
        for _ in 0..BUFFERS {
            // The other end is held here.
            let _ = empty.send(Buffer::new(READ_SIZE));
        }
        let hashing = scope.spawn(move || {
            for buffer in arriving {
                hasher.update(buffer.filled());
                // Nobody waits for the last buffers.
                let _ = empty.send(buffer);
            }
            hasher
        });
        let mut read = 0;
        // Whoever stops early drops `full`, which ends the other thread.
        for mut buffer in returned {
            let piece = buffer.fill(reader)?;
            if piece.is_empty() {
                break;
            }
            read += piece.len() as u64;
            watch(piece)?;
            if full.send(buffer).is_err() {
                break;
            }
        }
        drop(full);
        match hashing.join() {
            Ok(hasher) => Ok((hasher.finish(), read)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Room for one read.
struct Buffer {
    bytes: Vec<u8>,
    room: Range<usize>,
    filled: usize,
}

impl Buffer {
    fn new(size: usize) -> Self {
        let bytes = vec![0; size + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        Self { bytes, room: start..start + size, filled: 0 }
    }

    /// Reads once; answers nothing at the end of the stream.
    fn fill(&mut self, reader: &mut impl Read) -> io::Result<&[u8]> {
        let room = self.bytes.get_mut(self.room.clone()).unwrap_or_default();
        self.filled = loop {
            match reader.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count?,
            }
        };
        Ok(self.filled())
    }

    fn filled(&self) -> &[u8] {
        self.bytes.get(self.room.start..self.room.start + self.filled).unwrap_or_default()
    }
}

/// Why a value has no canonical text.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotCanonical {
    /// The canonical text would be an integer that readers round differently.
    #[error("the number {0} prints as an integer beyond 2^53; write it as a string")]
    InexactInteger(String),
    /// The canonical writer refused.
    #[error("no canonical text: {0}")]
    Unwritable(String),
}

/// The RFC 8785 text of `value`, without a line feed.
pub fn canonical(value: &Value) -> Result<String, NotCanonical> {
    exact_numbers(value)?;
    serde_json_canonicalizer::to_string(value)
        .map_err(|error| NotCanonical::Unwritable(error.to_string()))
}

/// The canonicalizer rounds 2^53 + 1 to its even neighbour without a word, so such numbers stop here.
fn exact_numbers(value: &Value) -> Result<(), NotCanonical> {
    match value {
        Value::Number(number) => {
            let integer = number.is_i64() || number.is_u64();
            let size = number.as_f64().map_or(f64::INFINITY, f64::abs);
            let rounded_up = number.as_u64().is_some_and(|n| n > 1 << 53)
                || number.as_i64().is_some_and(|n| n < -(1 << 53));
            if rounded_up || (size > EXACT_INTEGERS && (integer || size < EXPONENT_FROM)) {
                return Err(NotCanonical::InexactInteger(number.to_string()));
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(exact_numbers),
        Value::Object(members) => members.values().try_for_each(exact_numbers),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::cell::Cell;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn digests_are_read_and_written() {
        let abc = Digest::of(b"abc");
        assert_eq!(abc.to_string(), ABC);
        assert_eq!(Digest::parse_hex(ABC), Some(abc));
        assert_eq!(Digest::parse_prefixed(&abc.prefixed()), Some(abc));
        for wrong in [&ABC[1..], &ABC.to_uppercase(), &ABC.replace('a', "g"), "", "sha256:"] {
            assert_eq!(Digest::parse_hex(wrong), None, "{wrong}");
        }
        assert_eq!(Digest::parse_prefixed(ABC), None);
    }

    /// Hashes `bytes` in a stream, with a second thread from the piece `from` on.
    fn streamed(mut bytes: &[u8], from: Option<usize>, stop: usize) -> Option<(Digest, u64)> {
        let (asked, pieces) = (Cell::new(0), Cell::new(0));
        let helper = || (asked.replace(asked.get() + 1) == from?).then_some(());
        let (whole, mut seen) = (bytes, Vec::new());
        let watch = |piece: &[u8]| {
            assert!(piece.len() <= READ_SIZE);
            seen.extend_from_slice(piece);
            let stopped = pieces.replace(pieces.get() + 1) == stop;
            if stopped { Err(io::Error::other("stopped")) } else { Ok(()) }
        };
        let answer = hash_stream(&mut bytes, whole.len() as u64, watch, helper).ok()?;
        assert_eq!(seen, whole);
        Some(answer)
    }

    #[test]
    fn a_stream_has_the_digest_of_its_bytes_on_one_thread_and_on_two() {
        for length in [0_u32, 1, 4095, 131_072, 400_001, 3_000_000] {
            let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let wanted = Some((Digest::of(&bytes), u64::from(length)));
            for from in [None, Some(0), Some(1), Some(7), Some(17)] {
                assert_eq!(streamed(&bytes, from, usize::MAX), wanted, "{length} {from:?}");
            }
        }
    }

    #[test]
    fn a_stream_that_is_stopped_ends_both_threads() {
        let bytes = vec![7; 3_000_000];
        for from in [None, Some(0), Some(3)] {
            for stop in [0, 1, 5, 22] {
                assert_eq!(streamed(&bytes, from, stop), None, "{from:?} {stop}");
            }
        }
    }

    #[test]
    fn a_stream_that_is_longer_or_shorter_than_said_is_hashed_to_its_end() {
        let bytes = vec![7; 1_000_000];
        for said in [0, 10, 999_999, 5_000_000, u64::MAX] {
            for lent in [None, Some(())] {
                let found = hash_stream::<io::Error, _>(&mut &bytes[..], said, |_| Ok(()), || lent);
                assert_eq!(found.unwrap(), (Digest::of(&bytes), 1_000_000), "{said} {lent:?}");
            }
        }
    }

    #[test]
    fn numbers_are_written_as_the_standard_says() {
        for (value, text) in [
            (json!(1e-7), "1e-7"),
            (json!(0.000001), "0.000001"),
            (json!(-0.0), "0"),
            (json!(1.0), "1"),
            (json!(1e21), "1e+21"),
            (json!(9007199254740992_u64), "9007199254740992"),
            (json!(0.1_f32 as f64), "0.10000000149011612"),
            (json!({"b": 1, "a": {"é": "\u{1f}\"/"}}), "{\"a\":{\"é\":\"\\u001f\\\"/\"},\"b\":1}"),
            (json!({"\u{fb33}": 1, "\u{1f600}": 2}), "{\"\u{1f600}\":2,\"\u{fb33}\":1}"),
        ] {
            assert_eq!(canonical(&value).unwrap(), text);
        }
    }

    #[test]
    fn numbers_that_readers_round_are_refused() {
        for value in [
            json!(9007199254740993_u64),
            json!(-9007199254740993_i64),
            json!(u64::MAX),
            json!([{"a": 1e16}]),
            json!(-1e20),
        ] {
            assert!(matches!(canonical(&value), Err(NotCanonical::InexactInteger(_))), "{value}");
        }
    }
}
