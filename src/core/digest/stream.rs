//! Hashing of streams in reads of one size: one stream alone, two in parallel, or with one more thread.

use std::io;
use std::ops::Range;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use super::{Digest, Hasher};
use crate::sha256::update_both;

/// The size of one read, whatever the size of the file.
const READ_SIZE: usize = 128 << 10;
/// The number of buffers shared by two threads.
const BUFFERS: usize = 4;
/// Buffers start at a page boundary, because copies from the page cache are slower elsewhere.
const PAGE: usize = 4096;

/// A byte stream that is read once, in pieces that are both hashed and inspected.
pub trait Stream {
    /// The reason why a stream is not read to its end.
    type Error: From<io::Error>;

    /// Its approximate length in bytes.
    fn length(&self) -> u64;

    /// Reads the next bytes into `room`; returns 0 at the end.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize>;

    /// Inspects the bytes that were read, or stops.
    fn look(&mut self, piece: &[u8]) -> Result<(), Self::Error>;
}

/// Hashes a stream and returns its digest and length. As soon as `helper` provides a thread, that thread hashes while this
/// one reads and inspects.
pub fn hash_stream<S: Stream, H>(
    stream: &mut S,
    helper: impl Fn() -> Option<H>,
) -> Result<(Digest, u64), S::Error> {
    Lane::of(stream).finish(helper)
}

/// Hashes each stream like [`hash_stream`], but two at a time, which is faster than one after the other.
pub fn hash_streams<S: Stream, H>(
    streams: &mut [S],
    helper: impl Fn() -> Option<H>,
) -> Vec<Result<(Digest, u64), S::Error>> {
    let mut hashed = Vec::with_capacity(streams.len());
    for pair in streams.chunks_mut(2) {
        match pair {
            [first, second] => hashed.extend(hash_both([first, second], &helper)),
            alone => hashed.extend(alone.iter_mut().map(|stream| hash_stream(stream, &helper))),
        }
    }
    hashed
}

/// Hashes two streams in parallel.
fn hash_both<S: Stream, H>(
    streams: [&mut S; 2],
    helper: impl Fn() -> Option<H>,
) -> [Result<(Digest, u64), S::Error>; 2] {
    let [mut first, mut second] = streams.map(Lane::of);
    while first.ended.is_none() && second.ended.is_none() {
        first.fill();
        second.fill();
        let pieces = [first.buffer.filled(), second.buffer.filled()];
        update_both([&mut first.hasher.0, &mut second.hasher.0], pieces);
        first.look();
        second.look();
    }
    [first, second].map(|lane| lane.finish(&helper))
}

/// A stream that is being hashed.
struct Lane<'s, S: Stream> {
    stream: &'s mut S,
    buffer: Buffer,
    hasher: Hasher,
    read: u64,
    /// Whether it has ended, and whether too early.
    ended: Option<Result<(), S::Error>>,
}

impl<'s, S: Stream> Lane<'s, S> {
    fn of(stream: &'s mut S) -> Self {
        let size = usize::try_from(stream.length()).unwrap_or(READ_SIZE).clamp(1, READ_SIZE);
        let (buffer, hasher) = (Buffer::new(size), Hasher::default());
        Self { stream, buffer, hasher, read: 0, ended: None }
    }

    /// Reads the next piece.
    fn fill(&mut self) {
        match self.buffer.fill(self.stream) {
            Ok(true) => self.read += self.buffer.filled().len() as u64,
            Ok(false) => self.ended = Some(Ok(())),
            Err(error) => self.ended = Some(Err(error.into())),
        }
    }

    /// Inspects the piece, if there is one.
    fn look(&mut self) {
        if self.ended.is_none() {
            self.ended = self.stream.look(self.buffer.filled()).err().map(Err);
        }
    }

    /// Whether the rest is long enough for a second thread.
    fn is_long(&self) -> bool {
        self.stream.length().saturating_sub(self.read) > (BUFFERS * READ_SIZE) as u64
    }

    /// Hashes the rest.
    fn finish<H>(mut self, helper: impl Fn() -> Option<H>) -> Result<(Digest, u64), S::Error> {
        let ended = loop {
            if let Some(ended) = self.ended {
                break ended;
            }
            if self.is_long()
                && let Some(_lent) = helper()
            {
                self.finish_beside()?;
                break Ok(());
            }
            self.fill();
            self.hasher.update(self.buffer.filled());
            self.look();
        };
        ended.map(|()| (self.hasher.finish(), self.read))
    }

    /// Hashes the rest in a second thread, a few buffers behind the reading thread.
    fn finish_beside(&mut self) -> Result<(), S::Error> {
        let (stream, hasher) = (&mut *self.stream, &mut self.hasher);
        thread::scope(|scope| {
            let (full, arriving) = sync_channel::<Buffer>(BUFFERS);
            let (empty, returned) = channel();
            for _ in 0..BUFFERS {
                // The receiving end is open here.
                let _ = empty.send(Buffer::new(READ_SIZE));
            }
            scope.spawn(move || {
                for buffer in arriving {
                    hasher.update(buffer.filled());
                    // Nobody waits for the last buffers.
                    let _ = empty.send(buffer);
                }
            });
            // Stopping early drops `full`, which ends the other thread.
            for mut buffer in returned {
                if !buffer.fill(stream)? {
                    break;
                }
                self.read += buffer.filled().len() as u64;
                stream.look(buffer.filled())?;
                if full.send(buffer).is_err() {
                    break;
                }
            }
            Ok(())
        })
    }
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

    /// Reads once; returns whether anything was left. After a failure, the buffer is empty.
    fn fill(&mut self, stream: &mut impl Stream) -> io::Result<bool> {
        self.filled = 0;
        let room = self.bytes.get_mut(self.room.clone()).unwrap_or_default();
        self.filled = loop {
            match stream.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count?,
            }
        };
        Ok(self.filled > 0)
    }

    fn filled(&self) -> &[u8] {
        self.bytes.get(self.room.start..self.room.start + self.filled).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Bytes that are read a few at a time, and inspected until one piece is rejected.
    struct Bytes<'b> {
        rest: &'b [u8],
        said: u64,
        step: usize,
        looks: usize,
        seen: Vec<u8>,
    }

    impl<'b> Bytes<'b> {
        fn new(bytes: &'b [u8]) -> Self {
            let said = bytes.len() as u64;
            Self { rest: bytes, said, step: usize::MAX, looks: usize::MAX, seen: Vec::new() }
        }
    }

    impl Stream for Bytes<'_> {
        type Error = io::Error;

        fn length(&self) -> u64 {
            self.said
        }

        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let (now, rest) = self.rest.split_at(self.rest.len().min(room.len()).min(self.step));
            room[..now.len()].copy_from_slice(now);
            self.rest = rest;
            Ok(now.len())
        }

        fn look(&mut self, piece: &[u8]) -> io::Result<()> {
            assert!(piece.len() <= READ_SIZE);
            self.seen.extend_from_slice(piece);
            self.looks = self.looks.checked_sub(1).ok_or_else(|| io::Error::other("refused"))?;
            Ok(())
        }
    }

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    /// A helper that provides a thread from the call number `from` on.
    fn helper(from: Option<usize>) -> impl Fn() -> Option<()> {
        let asked = Cell::new(0);
        move || (asked.replace(asked.get() + 1) == from?).then_some(())
    }

    const HELPED: [Option<usize>; 5] = [None, Some(0), Some(1), Some(7), Some(17)];

    #[test]
    fn a_stream_has_the_digest_of_its_bytes_on_one_thread_and_on_two() {
        for length in [0, 1, 4095, 131_072, 400_001, 3_000_000] {
            let whole = bytes(length);
            for from in HELPED {
                let mut stream = Bytes::new(&whole);
                let found = hash_stream(&mut stream, helper(from)).unwrap();
                assert_eq!(found, (Digest::of(&whole), length as u64), "{length} {from:?}");
                assert_eq!(stream.seen, whole, "{length} {from:?}");
            }
        }
    }

    #[test]
    fn two_streams_have_their_own_digests() {
        let lengths = [0, 1, 63, 4096, 131_072, 400_001, 3_000_000];
        for (first, second) in lengths.iter().flat_map(|a| lengths.iter().map(move |b| (*a, *b))) {
            for (step, from) in [(usize::MAX, None), (50_001, None), (70_000, Some(3))] {
                let (a, b) = (bytes(first), vec![9; second]);
                let (mut one, mut other) = (Bytes::new(&a), Bytes::new(&b));
                other.step = step;
                let found = hash_both([&mut one, &mut other], helper(from)).map(Result::unwrap);
                let wanted = [(Digest::of(&a), first as u64), (Digest::of(&b), second as u64)];
                assert_eq!(found, wanted, "{first} {second} {step}");
                assert_eq!((one.seen, other.seen), (a, b), "{first} {second} {step}");
            }
        }
    }

    #[test]
    fn a_stream_that_is_stopped_ends_both_threads() {
        let whole = vec![7; 3_000_000];
        for from in HELPED {
            for looks in [0, 1, 5, 22] {
                let mut stream = Bytes { looks, ..Bytes::new(&whole) };
                assert!(hash_stream(&mut stream, helper(from)).is_err(), "{from:?} {looks}");
            }
        }
    }

    #[test]
    fn a_stream_that_is_stopped_does_not_stop_the_one_beside_it() {
        let whole = bytes(3_000_000);
        let wanted = (Digest::of(&whole), 3_000_000);
        for from in HELPED {
            for looks in [0, 1, 5, 22] {
                for stopped_first in [true, false] {
                    let stopped = Bytes { looks, ..Bytes::new(&whole) };
                    let mut streams = [stopped, Bytes::new(&whole)];
                    if !stopped_first {
                        streams.reverse();
                    }
                    let mut found = hash_both(streams.each_mut(), helper(from));
                    if !stopped_first {
                        found.reverse();
                    }
                    let [stopped, read] = found;
                    assert!(stopped.is_err(), "{from:?} {looks}");
                    assert_eq!(read.unwrap(), wanted, "{from:?} {looks}");
                }
            }
        }
    }

    #[test]
    fn a_stream_that_is_longer_or_shorter_than_said_is_hashed_to_its_end() {
        let whole = vec![7; 1_000_000];
        for said in [0, 10, 999_999, 5_000_000, u64::MAX] {
            for lent in [None, Some(())] {
                let mut stream = Bytes { said, ..Bytes::new(&whole) };
                let found = hash_stream(&mut stream, || lent).unwrap();
                assert_eq!(found, (Digest::of(&whole), 1_000_000), "{said} {lent:?}");
            }
        }
    }
}
