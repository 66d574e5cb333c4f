//! What hashing costs without anything around it, each in a process of its own so that the system counts its time:
//! `hashing floor BYTES` hashes one small buffer over and over, which is all the processor can do;
//! `hashing stream THREADS FILE...` hashes files as bundles are hashed;
//! `hashing each THREADS FOLDER` opens, reads and hashes every file below a folder, and does nothing else.
//! `scripts/bench.py hashing` calls it.

use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use repro_core::digest::{Digest, Hasher, Stream, hash_streams};
use repro_core::parallel;

/// Fits into the first cache.
const BUFFER: usize = 16 << 10;

fn floor(bytes: usize) -> Digest {
    let (buffer, mut hasher) = (vec![7; BUFFER], Hasher::default());
    for _ in 0..bytes / BUFFER {
        hasher.update(black_box(&buffer));
    }
    hasher.finish()
}

/// A file that nobody looks at.
struct Plain {
    file: File,
    length: u64,
}

impl Plain {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self { length: file.metadata()?.len(), file })
    }
}

impl Stream for Plain {
    type Error = io::Error;

    fn length(&self) -> u64 {
        self.length
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.file.read(room)
    }

    fn look(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

fn stream(threads: usize, files: &[PathBuf]) -> io::Result<()> {
    parallel::first_error(
        files,
        threads,
        |_| 1,
        |group, spare| {
            let failed = |error| (group[0].0, error);
            let opened: io::Result<Vec<_>> =
                group.iter().map(|(_, path)| Plain::open(path)).collect();
            for hashed in hash_streams(&mut opened.map_err(failed)?, || spare.take()) {
                black_box(hashed.map_err(failed)?);
            }
            Ok(())
        },
    )
}

fn below(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            below(&entry.path(), into)?
        } else {
            into.push(entry.path())
        }
    }
    Ok(())
}

fn each(threads: usize, folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    below(folder, &mut files)?;
    files.sort();
    let hash = |path: &PathBuf| fs::read(path).map(|bytes| black_box(Digest::of(&bytes)));
    parallel::map(&files, threads, hash).into_iter().try_for_each(|digest| digest.map(drop))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["floor", bytes] => drop(black_box(floor(bytes.parse()?))),
        ["stream", threads, files @ ..] => {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            stream(threads.parse()?, &files)?;
        }
        ["each", threads, folder] => each(threads.parse()?, Path::new(folder))?,
        // `cargo test --benches` runs this without arguments: then there is nothing to time.
        _ => writeln!(io::stdout(), "floor BYTES | stream THREADS FILE... | each THREADS FOLDER")?,
    }
    Ok(())
}
