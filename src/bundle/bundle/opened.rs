//! One opened file of a bundle: everything about it comes from one descriptor, and a file that changes
//! while it is read is rejected.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{Stat, fstat};

use super::folder::{Folder, device};
use super::{CHANGED_WHILE_READ, WRONG_DIGEST};
use repro_core::digest::{Digest, Stream, hash_stream, hash_streams};
use repro_core::parallel::Spare;
use repro_core::source::{Error, Location, TOO_LARGE, UNREADABLE};

/// Which file it is, and what changes when somebody writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    #[allow(clippy::unnecessary_cast, reason = "the types of the fields differ between systems")]
    fn of(stat: &Stat) -> Self {
        Self {
            device: device(stat),
            inode: stat.st_ino as u64,
            length: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    /// The second in which it was changed last, as the system noted it.
    pub fn changed_second(&self) -> i64 {
        self.changed.0
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, inode, length, modified, changed } = self;
        let (modified, nanos) = modified;
        write!(f, "{device:x} {inode:x} {length} {modified}.{nanos:09} ")?;
        write!(f, "{}.{:09}", changed.0, changed.1)
    }
}

/// One file of a bundle, opened once; all that is known about it comes from this descriptor.
#[derive(Debug)]
pub struct OpenFile<'a> {
    folder: &'a Folder,
    name: &'a str,
    file: File,
    stamp: Stamp,
}

impl<'a> OpenFile<'a> {
    /// The file `name` of `folder`, which was found to be a plain file.
    pub(super) fn new(
        folder: &'a Folder,
        name: &'a str,
        descriptor: OwnedFd,
        found: &Stat,
    ) -> Self {
        Self { folder, name, file: File::from(descriptor), stamp: Stamp::of(found) }
    }

    /// Its length when it was opened.
    pub fn length(&self) -> u64 {
        self.stamp.length
    }

    /// Which file it was when it was opened.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Its place.
    pub fn place(&self) -> Location {
        self.folder.place(self.name)
    }

    /// Its first bytes, where it has so many; what is read later may be others.
    pub fn start<const N: usize>(&self) -> Option<[u8; N]> {
        let mut start = [0; N];
        let read = rustix::io::pread(&self.file, &mut start, 0);
        read.is_ok_and(|read| read == N).then_some(start)
    }

    /// Hashes it, showing each piece to `watch`, with a thread that is `spare`; refuses a file that changes
    /// meanwhile.
    pub fn hash(
        self,
        spare: &Spare,
        watch: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Digest, Error> {
        let mut watched = Watched::new(self, watch);
        let hashed = hash_stream(&mut watched, || spare.take());
        watched.digest(hashed)
    }

    /// Reads it whole; refuses more than `cap` bytes before reading, and a file that changes meanwhile.
    pub fn read(mut self, cap: usize) -> Result<Vec<u8>, Error> {
        let bytes = self.bytes(cap)?;
        self.unchanged(bytes.len() as u64)?;
        Ok(bytes)
    }

    /// Reads it whole, at most `cap` bytes with the digest `wanted`. Bytes that have it are those that were
    /// meant, whatever happens to the file meanwhile; only where they differ is it asked why.
    pub fn read_as(mut self, wanted: Digest, cap: usize) -> Result<Vec<u8>, Error> {
        let bytes = self.bytes(cap)?;
        let found = Digest::of(&bytes);
        if found != wanted {
            self.unchanged(bytes.len() as u64)?;
            return Err(wrong_digest(self.place(), wanted, found));
        }
        Ok(bytes)
    }

    fn bytes(&mut self, cap: usize) -> Result<Vec<u8>, Error> {
        let length = self.length();
        if length > cap as u64 {
            let (expected, found) = (format!("at most {cap} bytes"), format!("{length} bytes"));
            return Err(TOO_LARGE.at(self.place(), expected, found));
        }
        let mut bytes = Vec::with_capacity(length as usize);
        let read = (&mut self.file).take(length).read_to_end(&mut bytes);
        read.map_err(|error| self.unreadable(&error))?;
        Ok(bytes)
    }

    fn unchanged(&self, read: u64) -> Result<(), Error> {
        let stat = fstat(&self.file).map_err(|error| self.unreadable(&error.into()))?;
        if read == self.stamp.length && Stamp::of(&stat) == self.stamp {
            return Ok(());
        }
        let expected = format!("{} bytes, unchanged while read", self.stamp.length);
        Err(CHANGED_WHILE_READ.at(self.place(), expected, "a file that another program is writing"))
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        UNREADABLE.at(self.place(), "a readable file", error.to_string())
    }
}

/// The refusal of a file whose bytes are not the wanted ones.
pub fn wrong_digest(place: Location, wanted: Digest, found: Digest) -> Error {
    WRONG_DIGEST.at(place, format!("sha256 {wanted}"), found.to_string())
}

/// Hashes files as [`OpenFile::hash`] does each, two of them side by side.
pub fn hash_files<'a, W: FnMut(&[u8]) -> Result<(), Error>>(
    files: impl Iterator<Item = (OpenFile<'a>, W)>,
    spare: &Spare,
) -> Vec<Result<Digest, Error>> {
    let mut watched: Vec<_> = files.map(|(file, watch)| Watched::new(file, watch)).collect();
    let hashed = hash_streams(&mut watched, || spare.take());
    watched.into_iter().zip(hashed).map(|(watched, hashed)| watched.digest(hashed)).collect()
}

/// A file of which each piece is shown to somebody while it is hashed.
struct Watched<'a, W> {
    file: OpenFile<'a>,
    watch: W,
    /// How much is still read: without a limit a file that grows might never end. That it grew is seen
    /// afterwards.
    left: u64,
}

impl<'a, W: FnMut(&[u8]) -> Result<(), Error>> Watched<'a, W> {
    fn new(file: OpenFile<'a>, watch: W) -> Self {
        Self { left: file.length(), file, watch }
    }

    /// The digest of what was read, where the file is still the same.
    fn digest(self, hashed: Result<(Digest, u64), Stop>) -> Result<Digest, Error> {
        let (digest, length) = hashed.map_err(|stop| match stop {
            Stop::Refused(error) => error,
            Stop::Failed(error) => self.file.unreadable(&error),
        })?;
        self.file.unchanged(length)?;
        Ok(digest)
    }
}

impl<W: FnMut(&[u8]) -> Result<(), Error>> Stream for Watched<'_, W> {
    type Error = Stop;

    fn length(&self) -> u64 {
        self.file.length()
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = (&mut self.file.file).take(self.left).read(room)?;
        self.left -= read as u64;
        Ok(read)
    }

    fn look(&mut self, piece: &[u8]) -> Result<(), Stop> {
        (self.watch)(piece).map_err(Stop::Refused)
    }
}

/// Why hashing stopped.
enum Stop {
    Refused(Error),
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_while_it_is_hashed_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("x");
        std::fs::write(&path, vec![0; 300_000]).unwrap();
        let folder = Folder::open(temporary.path(), "b").unwrap();
        let grown = folder.file("x").unwrap().hash(&Spare::default(), |_| {
            std::fs::write(&path, vec![1; 300_001]).unwrap();
            Ok(())
        });
        assert_eq!(grown.unwrap_err().code.id, "bundle::changed-while-read");
    }
}
