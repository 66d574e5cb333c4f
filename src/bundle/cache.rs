//! What earlier readings have shown: files of a bundle that were read and found right, and are not read
//! again while nothing about them has changed (`repro verify --cache`).
//!
//! Spared is the reading of payload files, and nothing else: names, kinds, lengths, manifests and receipt are
//! checked each time, what is parsed later is read and hashed again, and verdicts are never kept. A file is
//! known again by its name in a bundle of one digest, its device and inode, its length and both its times. The
//! time of the last change (`ctime`) is the system's own: programs cannot set it. So a file is remembered only
//! where that time is kept by this machine ([`Folder::keeps_times`]) and lay some seconds back when the program
//! began: what is written in the same instant as it is read has no other time afterwards.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::folder::{Folder, Stamp};
use super::manifest::DECLARATION;
use super::record::{Field, record};
use super::{CANNOT_WRITE, NOT_A_FOLDER, UNSAFE_CACHE};
use crate::digest::{Digest, Hasher, canonical};
use crate::source::{DOCUMENT_CAP, Document, Place, Refusal, Source};

/// The schema of what is kept about one bundle.
const SCHEMA: &str = "repro.cache/1";
/// How long before the program's start a file must have changed last, in seconds: more than the clocks of
/// file systems are coarse.
const SETTLED: i64 = 2;

/// The texts of all that judges files while they are read: a program that judges in another way does not
/// take this one's word for it.
const JUDGES: [&str; 11] = [
    include_str!("load.rs"),
    include_str!("lines.rs"),
    include_str!("chain.rs"),
    include_str!("canonical.rs"),
    include_str!("weights.rs"),
    include_str!("../params/checkpoint/header.rs"),
    include_str!("../source/mod.rs"),
    include_str!("../source/json.rs"),
    include_str!("../source/toml.rs"),
    include_str!("../source/csv.rs"),
    include_str!("../digest.rs"),
];

record! {
    /// What is kept about one bundle.
    Kept {
        /// The schema, [`SCHEMA`].
        schema: String,
        /// The program that read it.
        program: String,
        /// The digest of the bundle, which settles the digest of every file.
        bundle: Digest,
        /// The files that were found right, by name.
        files: BTreeMap<String, Seen>,
    }
}

record! {
    /// One file that was found right.
    Seen {
        /// Which file it was, and when it had changed last.
        stamp: String,
        /// The elements of a model's own tensors, where it holds weights.
        elements: Option<u64>,
    }
}

/// A folder in which readings are remembered.
#[derive(Debug)]
pub struct Cache {
    folder: Folder,
    program: String,
    began: i64,
    notes: Mutex<Vec<String>>,
    written: AtomicUsize,
}

impl Cache {
    /// Opens the folder at `path`, or makes it. It must be the caller's own, because whoever writes to it
    /// decides what is not read; `now` is when the program began.
    pub fn open(path: &Path, now: SystemTime) -> Result<Self, Refusal> {
        let path: PathBuf = path.components().collect();
        let shown = path.display().to_string();
        let place = || Place::file(shown.as_str());
        outside_bundles(&path)?;
        match rustix::fs::mkdir(&path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => {
                return Err(CANNOT_WRITE.at(place(), "a folder for the cache", error.to_string()));
            }
        }
        let folder = Folder::open(&path, &shown)?;
        if !folder.is_mine()? {
            let expected = "a folder that is yours and that nobody else may write to";
            return Err(UNSAFE_CACHE.at(place(), expected, "another owner, or other writers"));
        }
        let mut judges = Hasher::default();
        JUDGES.iter().for_each(|text| judges.update(text.as_bytes()));
        let began = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self {
            folder,
            program: format!("{} {}", env!("CARGO_PKG_VERSION"), judges.finish()),
            began: i64::try_from(began).unwrap_or(i64::MAX),
            notes: Mutex::default(),
            written: AtomicUsize::new(0),
        })
    }

    /// What a person should know about this use of the cache.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is remembered of the bundle with this digest in this folder.
    pub(super) fn recall(&self, bundle: Digest, folder: &Folder) -> Result<Recalled<'_>, Refusal> {
        let name = format!("{bundle}-{}.json", folder.identity()?);
        let earlier = self.earlier(&name, bundle).unwrap_or_else(|refusal| {
            self.note(format!("`{name}` in the cache is not used: {refusal}"));
            BTreeMap::new()
        });
        let lasting = folder.keeps_times();
        if !lasting {
            let place = folder.own_place();
            self.note(format!(
                "`{}` is on a file system of which nothing is remembered",
                place.file
            ));
        }
        Ok(Recalled {
            cache: self,
            name,
            bundle,
            earlier: if lasting { earlier } else { BTreeMap::new() },
            lasting,
            found: Mutex::default(),
            spared: AtomicUsize::new(0),
        })
    }

    /// What is kept under `name`: nothing where another program or nobody kept it.
    fn earlier(&self, name: &str, bundle: Digest) -> Result<BTreeMap<String, Seen>, Refusal> {
        if !self.folder.holds(name) {
            return Ok(BTreeMap::new());
        }
        let place = self.folder.place(name);
        let bytes = self.folder.file(name)?.read(DOCUMENT_CAP)?;
        let damaged = || UNSAFE_CACHE.at(place.clone(), "what was written", "other bytes");
        let (sum, text) = bytes.split_at_checked(SUM).ok_or_else(damaged)?;
        if format!("{}\n", Digest::of(text)).as_bytes() != sum {
            return Err(damaged());
        }
        let document = Document::parse_json(Source::new(place.file.as_str(), text.to_vec())?)?;
        let kept = Kept::read(document.root())?;
        let ours = kept.schema == SCHEMA && kept.program == self.program && kept.bundle == bundle;
        Ok(if ours { kept.files } else { BTreeMap::new() })
    }

    /// Replaces what is kept under `name` in one step: another program finds the old text or the new one.
    fn keep(&self, name: &str, kept: &Kept) -> Result<(), Refusal> {
        let place = self.folder.place(name);
        let cannot =
            |found: &dyn Display| CANNOT_WRITE.at(place.clone(), "a file", found.to_string());
        let value = kept.write().map_err(|error| cannot(&error))?.unwrap_or_default();
        let text = canonical(&value).map_err(|error| cannot(&error))?;
        if text.len() + SUM > DOCUMENT_CAP {
            return Err(cannot(&format!("more than {DOCUMENT_CAP} bytes")));
        }
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let partial = format!("{}-{number}.partial", std::process::id());
        let folder = self.folder.descriptor();
        // What a process of the same number left behind when it was killed.
        let _ = unlinkat(folder, &partial, AtFlags::empty());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let written = openat(folder, &partial, flags, Mode::RUSR | Mode::WUSR)
            .map_err(std::io::Error::from)
            .and_then(|descriptor| {
                let mut file = File::from(descriptor);
                file.write_all(format!("{}\n{text}", Digest::of(text.as_bytes())).as_bytes())?;
                file.sync_all()?;
                Ok(renameat(folder, &partial, folder, name)?)
            });
        written.map_err(|error| {
            let _ = unlinkat(folder, &partial, AtFlags::empty());
            cannot(&error)
        })
    }

    fn note(&self, text: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

/// The bytes before the text: its digest and a line feed.
const SUM: usize = 65;

/// Refuses a cache inside a bundle: it would be somebody else's word, and a file that no manifest lists.
fn outside_bundles(path: &Path) -> Result<(), Refusal> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let place = || Place::file(path.display().to_string());
    let real = parent.canonicalize().map_err(|error| {
        NOT_A_FOLDER.at(place(), "a folder in a folder that exists", error.to_string())
    })?;
    let inside = real.ancestors().any(|above| above.join(DECLARATION).exists());
    if inside || path.join(DECLARATION).exists() {
        return Err(UNSAFE_CACHE.at(place(), "a folder outside of bundles", "a bundle"));
    }
    Ok(())
}

/// What is remembered of one bundle while it is read again.
#[derive(Debug)]
pub(super) struct Recalled<'a> {
    cache: &'a Cache,
    name: String,
    bundle: Digest,
    earlier: BTreeMap<String, Seen>,
    lasting: bool,
    found: Mutex<BTreeMap<String, Seen>>,
    spared: AtomicUsize,
}

impl Recalled<'_> {
    /// What an earlier reading found in the file `name`, where it is the same and unchanged.
    pub(super) fn seen(&self, name: &str, stamp: &Stamp) -> Option<Option<u64>> {
        let seen = self.earlier.get(name).filter(|seen| seen.stamp == stamp.to_string())?;
        self.spared.fetch_add(1, Ordering::Relaxed);
        self.found().insert(name.to_owned(), seen.clone());
        Some(seen.elements)
    }

    /// Notes that the file `name` was read and found right.
    pub(super) fn add(&self, name: &str, stamp: &Stamp, elements: Option<u64>) {
        if self.lasting && stamp.changed_second().saturating_add(SETTLED) < self.cache.began {
            let seen = Seen { stamp: stamp.to_string(), elements };
            self.found().insert(name.to_owned(), seen);
        }
    }

    /// Keeps what was found for the next time, and answers how many files were not read. A cache that cannot
    /// be written is no reason to refuse a bundle.
    pub(super) fn keep(self) -> usize {
        let files = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        if files != self.earlier {
            let (schema, program) = (SCHEMA.to_owned(), self.cache.program.clone());
            let kept = Kept { schema, program, bundle: self.bundle, files };
            if let Err(refusal) = self.cache.keep(&self.name, &kept) {
                self.cache.note(format!("nothing is remembered: {refusal}"));
            }
        }
        self.spared.into_inner()
    }

    fn found(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Seen>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
