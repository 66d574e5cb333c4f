//! A disk on which one step fails, for tests. Nothing is really synced, so many runs are fast.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use super::{Disk, HeldPath, LocalDisk, beneath};

/// The way in which a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// It has no effect.
    Before,
    /// It succeeds but reports a failure.
    After,
    /// Half of the bytes are written.
    Half,
    /// Like [`DiskFault::Half`], and no later step has any effect: the machine has crashed.
    Dead,
    /// Like [`DiskFault::Half`], and later steps that need space fail as well: the disk is full.
    Full,
}

impl DiskFault {
    /// All ways of failing.
    pub const ALL: [Self; 5] = [Self::Before, Self::After, Self::Half, Self::Dead, Self::Full];

    /// Whether this fault is distinct at a step that writes, or does not: a step without data cannot be done by half.
    pub fn suits(self, writes: bool) -> bool {
        match self {
            Self::Before | Self::After | Self::Dead => true,
            Self::Half | Self::Full => writes,
        }
    }
}

/// A disk that fails at one of its steps.
#[derive(Debug)]
pub struct FaultyDisk {
    at: usize,
    fault: DiskFault,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Whether each step needs space.
    steps: Vec<bool>,
    flushed: BTreeMap<PathBuf, Vec<u8>>,
}

impl FaultyDisk {
    /// A disk that fails at the step after `at` others.
    pub fn new(at: usize, fault: DiskFault) -> Self {
        Self { at, fault, seen: Mutex::default() }
    }

    /// A disk that never fails.
    pub fn sound() -> Self {
        Self::new(usize::MAX, DiskFault::Before)
    }

    /// The steps so far, and whether each one writes.
    pub fn steps(&self) -> Vec<bool> {
        self.seen().steps.clone()
    }

    /// The acknowledged bytes that were appended to files.
    pub fn flushed(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.seen().flushed.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Performs a step, which needs space if it writes a `half`.
    fn step(
        &self,
        half: Option<&dyn Fn() -> io::Result<()>>,
        whole: impl Fn() -> io::Result<()>,
    ) -> io::Result<()> {
        let step = self.seen().steps.len();
        self.seen().steps.push(half.is_some());
        let now = step == self.at;
        let fails = match self.fault {
            DiskFault::Dead => step >= self.at,
            DiskFault::Full => step >= self.at && half.is_some(),
            DiskFault::Before | DiskFault::Half | DiskFault::After => now,
        };
        if !fails {
            return whole();
        }
        match (self.fault, half) {
            (DiskFault::After, _) => whole()?,
            (DiskFault::Dead, Some(half)) if now => half()?,
            (DiskFault::Half | DiskFault::Full, Some(half)) => half()?,
            _ => {}
        }
        Err(match self.fault {
            DiskFault::Full => io::ErrorKind::StorageFull.into(),
            _ => io::Error::other("the disk failed"),
        })
    }
}

fn half(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() / 2]
}

impl Disk for FaultyDisk {
    /// The plain path, which identifies these steps.
    fn hold(&self, root: &Path, path: &Path) -> io::Result<HeldPath> {
        beneath(root, path).map(|()| HeldPath::plain(path))
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.step(Some(&|| Ok(())), || LocalDisk.make_folder(path))
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step(Some(&|| LocalDisk.write(path, half(bytes))), || LocalDisk.write(path, bytes))
    }
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step(Some(&|| LocalDisk.append(path, half(bytes))), || LocalDisk.append(path, bytes))?;
        self.seen().flushed.entry(path.to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }
    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        self.step(None, || LocalDisk.cut(path, length))
    }
    fn sync(&self, path: &Path) -> io::Result<()> {
        self.step(None, || fs::metadata(path).map(drop))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(None, || LocalDisk.rename(from, to))
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(None, || LocalDisk.rename_new(from, to))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(None, || LocalDisk.remove(path))
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.step(None, || LocalDisk.remove_folder(path))
    }
}
