//! Tests of writers: each step fails in every way, and the power fails at any step.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Disk;
pub use super::faults::DiskFault;
use super::faults::FaultyDisk;
use super::power::{Dice, PowerDisk};

/// The names and bytes of files.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A writer, and the invariants wherever it is interrupted.
pub struct Trial<'a> {
    /// The faults to try.
    pub faults: &'a [DiskFault],
    /// Prepares an empty folder.
    pub prepare: &'a dyn Fn(&Path),
    /// Works in the folder, continuing after any interruption.
    pub work: &'a dyn Fn(&dyn Disk, &Path) -> Result<(), String>,
    /// Panics if the folder is in a forbidden state.
    pub check: &'a dyn Fn(&Path),
    /// The final contents, which must not depend on interruptions.
    pub outcome: &'a dyn Fn(&Path) -> Files,
}

impl Trial<'_> {
    /// Does the work without faults; returns the disk and the outcome.
    fn undisturbed(&self) -> (FaultyDisk, Files) {
        let temporary = folder();
        let disk = FaultyDisk::sound();
        (self.prepare)(temporary.path());
        (self.work)(&disk, temporary.path()).unwrap();
        (self.check)(temporary.path());
        (disk, (self.outcome)(temporary.path()))
    }

    /// Makes each step fail in every way, and finishes the work on a sound disk. Returns the number of trials.
    pub fn faults(&self) -> usize {
        let (disk, whole) = self.undisturbed();
        let mut trials = 0;
        for (at, writes) in disk.steps().into_iter().enumerate() {
            for fault in self.faults.iter().copied().filter(|fault| fault.suits(writes)) {
                let temporary = folder();
                let root = temporary.path();
                let disk = FaultyDisk::new(at, fault);
                (self.prepare)(root);
                let worked = (self.work)(&disk, root);
                let said = format!("{fault:?} at step {at}: {worked:?}");
                (self.check)(root);
                for (path, bytes) in disk.flushed() {
                    let found = fs::read(&path).unwrap_or_default();
                    assert!(found.starts_with(&bytes), "{said}: lost lines of {}", path.display());
                }
                let again = (self.work)(&FaultyDisk::sound(), root);
                assert_eq!(again, Ok(()), "after {said}");
                (self.check)(root);
                assert!((self.outcome)(root) == whole, "after {said}");
                trials += 1;
            }
        }
        trials
    }

    /// Cuts the power again and again until the work is done, once for each seed. Returns the number of power failures.
    pub fn power(&self, seeds: u64) -> usize {
        let (disk, whole) = self.undisturbed();
        let steps = disk.steps().len();
        let mut falls = 0;
        for seed in 0..seeds {
            let temporary = folder();
            let root = temporary.path().join("disk");
            fs::create_dir(&root).unwrap();
            (self.prepare)(&root);
            let mut dice = Dice(seed);
            loop {
                let disk = PowerDisk::new(&root, dice.throw(steps + 8));
                let worked = (self.work)(&disk, &root);
                disk.fall(&mut dice);
                falls += 1;
                (self.check)(&root);
                if worked.is_ok() {
                    // Acknowledged work is durable.
                    assert!((self.outcome)(&root) == whole, "seed {seed}, fall {falls}");
                    break;
                }
                assert!(falls < 1000 * (seed as usize + 1), "seed {seed}: {worked:?}");
            }
        }
        falls
    }
}

/// An empty folder, in memory if the system supports it, because nothing here is really synced.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// The names and bytes of all files below a folder; only the name for an empty folder.
pub fn tree(folder: &Path) -> Files {
    fn collect(folder: &Path, below: &str, into: &mut Files) {
        let before = into.len();
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                collect(&entry.path(), &format!("{name}/"), into);
            } else {
                into.insert(name, fs::read(entry.path()).unwrap());
            }
        }
        if into.len() == before {
            into.insert(below.to_owned(), Vec::new());
        }
    }
    let mut files = Files::new();
    collect(folder, "", &mut files);
    files
}
