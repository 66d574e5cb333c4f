//! The results of earlier readings: files of a bundle that were read and found right, and are not read
//! again while nothing about them has changed (`repro verify --cache`).
//!
//! The cache only saves reading payload files: names, kinds, lengths, manifests and the receipt are
//! checked each time, files that are parsed later are read and hashed again, and verdicts are never cached. A file is
//! identified by its name in a bundle with this digest, its device and inode, its length and both its times. The
//! change time (`ctime`) is set by the system: programs cannot set it. A file is cached only
//! if this machine keeps that time ([`Folder::keeps_times`]) and it was some seconds old when the program
//! started, because a file written in the same instant as it is read keeps the same time.
//!
//! `docs/explanation/hashing.md` has measurements of the time that it saves.

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

use super::folder::Folder;
use super::logged::Holdings;
use super::manifest::DECLARATION;
use super::opened::Stamp;
use super::record::{RecordValue, record};
use super::{CANNOT_WRITE, CHANGED_WHILE_READ, NOT_A_FOLDER, UNSAFE_CACHE};
use repro_core::READERS;
use repro_core::digest::{Digest, Hasher, canonical};
use repro_core::source::{DOCUMENT_CAP, Document, Error, Location, Source};

/// The schema of what is kept about one bundle.
const SCHEMA: &str = "repro.cache/1";
/// How long before the program's start a file must have changed last, in seconds: more than the clocks of
/// file systems are coarse.
const SETTLED: i64 = 2;

/// The texts of all that judges files while they are read: a program that judges in another way does not
/// take this one's word for it.
const JUDGES: [&str; 10] = [
    include_str!("load.rs"),
    include_str!("passage.rs"),
    include_str!("opaque.rs"),
    include_str!("lines.rs"),
    include_str!("chain.rs"),
    include_str!("canonical.rs"),
    include_str!("glance.rs"),
    include_str!("weights.rs"),
    include_str!("logged.rs"),
    include_str!("../checkpoint/header.rs"),
];

record! {
    /// The cached record of one bundle.
    KeptBundle {
        /// The schema, [`SCHEMA`].
        schema: String,
        /// The program that read it.
        program: String,
        /// The digest of the bundle, which settles the digest of every file.
        bundle: Digest,
        /// The files that were found right, by name.
        files: BTreeMap<String, JudgedFile>,
    }
}

record! {
    /// One file that was found right.
    JudgedFile {
        /// Which file it was, and when it had changed last.
        stamp: String,
        /// Its counts of a model, if it contains weights.
        holdings: Option<Holdings>,
    }
}

/// A folder in which readings are remembered.
#[derive(Debug)]
pub struct Cache {
    folder: Folder,
    program: String,
    began: i64,
    notes: Mutex<Vec<String>>,
}

impl Cache {
    /// Opens the folder at `path`, or makes it. It must be the caller's own, because whoever writes to it
    /// decides what is not read; `now` is when the program began.
    pub fn open(path: &Path, now: SystemTime) -> Result<Self, Error> {
        let path: PathBuf = path.components().collect();
        let shown = path.display().to_string();
        let place = || Location::file(shown.as_str());
        outside_bundles(&path)?;
        match rustix::fs::mkdir(&path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => {
                return Err(CANNOT_WRITE.at(place(), "a cache folder", error.to_string()));
            }
        }
        let folder = Folder::open(&path, &shown)?;
        if !folder.is_mine()? {
            let expected = "a folder that you own and only you can write to";
            return Err(UNSAFE_CACHE.at(place(), expected, "another owner, or other writers"));
        }
        let mut judges = Hasher::default();
        JUDGES.iter().chain(READERS).for_each(|text| judges.update(text.as_bytes()));
        let began = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self {
            folder,
            program: format!("{} {}", env!("CARGO_PKG_VERSION"), judges.finish()),
            began: i64::try_from(began).unwrap_or(i64::MAX),
            notes: Mutex::default(),
        })
    }

    /// Warnings about this use of the cache, for people.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks up the cached record of the bundle with this digest in this folder.
    pub(super) fn recall(&self, bundle: Digest, folder: &Folder) -> Result<Recalled<'_>, Error> {
        let name = format!("{bundle}-{}.json", folder.identity()?);
        let earlier = self.earlier(&name, bundle).unwrap_or_else(|error| {
            // Another program is writing it: what it found is read anew here, and nobody need know.
            if error.code.id != CHANGED_WHILE_READ.id {
                self.note(format!("cache entry `{name}` is ignored: {error}"));
            }
            BTreeMap::new()
        });
        let lasting = folder.keeps_times();
        if !lasting {
            let place = folder.own_place();
            self.note(format!(
                "`{}` is on a file system that the cache does not support",
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

    /// The cached bytes under `name`; nothing if another program or nobody stored them.
    fn earlier(&self, name: &str, bundle: Digest) -> Result<BTreeMap<String, JudgedFile>, Error> {
        if !self.folder.holds(name) {
            return Ok(BTreeMap::new());
        }
        let place = self.folder.place(name);
        let bytes = self.folder.file(name)?.read(DOCUMENT_CAP)?;
        let damaged =
            || UNSAFE_CACHE.at(place.clone(), "the bytes that were written", "different bytes");
        let (sum, text) = bytes.split_at_checked(SUM).ok_or_else(damaged)?;
        if format!("{}\n", Digest::of(text)).as_bytes() != sum {
            return Err(damaged());
        }
        let document = Document::parse_json(Source::new(place.file.as_str(), text.to_vec())?)?;
        let kept = KeptBundle::read(document.root())?;
        let ours = kept.schema == SCHEMA && kept.program == self.program && kept.bundle == bundle;
        Ok(if ours { kept.files } else { BTreeMap::new() })
    }

    /// Replaces what is kept under `name` in one step: another program finds the old text or the new one.
    fn keep(&self, name: &str, kept: &KeptBundle) -> Result<(), Error> {
        let place = self.folder.place(name);
        let cannot =
            |found: &dyn Display| CANNOT_WRITE.at(place.clone(), "a file", found.to_string());
        let value = kept.write().map_err(|error| cannot(&error))?.unwrap_or_default();
        let text = canonical(&value).map_err(|error| cannot(&error))?;
        if text.len() + SUM > DOCUMENT_CAP {
            return Err(cannot(&format!("more than {DOCUMENT_CAP} bytes")));
        }
        static WRITTEN: AtomicUsize = AtomicUsize::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
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
fn outside_bundles(path: &Path) -> Result<(), Error> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let place = || Location::file(path.display().to_string());
    let real = parent.canonicalize().map_err(|error| {
        NOT_A_FOLDER.at(place(), "a folder whose parent folder exists", error.to_string())
    })?;
    let inside = real.ancestors().any(|above| above.join(DECLARATION).exists());
    if inside || path.join(DECLARATION).exists() {
        return Err(UNSAFE_CACHE.at(place(), "a folder outside bundles", "a bundle"));
    }
    Ok(())
}

/// The cached record of one bundle while it is read again.
#[derive(Debug)]
pub(super) struct Recalled<'a> {
    cache: &'a Cache,
    name: String,
    bundle: Digest,
    earlier: BTreeMap<String, JudgedFile>,
    lasting: bool,
    found: Mutex<BTreeMap<String, JudgedFile>>,
    spared: AtomicUsize,
}

impl Recalled<'_> {
    /// The earlier result for the file `name`, if the file is unchanged.
    pub(super) fn seen(&self, name: &str, stamp: &Stamp) -> Option<Option<Holdings>> {
        let seen = self.earlier.get(name).filter(|seen| seen.stamp == stamp.to_string())?;
        self.spared.fetch_add(1, Ordering::Relaxed);
        self.found().insert(name.to_owned(), seen.clone());
        Some(seen.holdings.clone())
    }

    /// Notes that the file `name` was read and found right.
    pub(super) fn add(&self, name: &str, stamp: &Stamp, holdings: Option<Holdings>) {
        if self.lasting && stamp.changed_second().saturating_add(SETTLED) < self.cache.began {
            let seen = JudgedFile { stamp: stamp.to_string(), holdings };
            self.found().insert(name.to_owned(), seen);
        }
    }

    /// Keeps what was found for the next time, and answers how many files were not read. A cache that cannot
    /// be written is no reason to refuse a bundle.
    pub(super) fn keep(self) -> usize {
        let files = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        if files != self.earlier {
            let (schema, program) = (SCHEMA.to_owned(), self.cache.program.clone());
            let kept = KeptBundle { schema, program, bundle: self.bundle, files };
            if let Err(error) = self.cache.keep(&self.name, &kept) {
                self.cache.note(format!("nothing is cached: {error}"));
            }
        }
        self.spared.into_inner()
    }

    fn found(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, JudgedFile>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{Bundle, BundleWriter, ReadOptions, Receipt, seal};
    use repro_core::disk::LocalDisk;
    use std::fs;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
    use std::time::Duration;

    const FILES: usize = 4;

    /// A bundle with weights, lines, a document and a text beside its receipt.
    fn bundle(path: &Path, parameters: u64) {
        fs::create_dir_all(path.join("data")).unwrap();
        let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        let weights = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
        fs::write(path.join("data/w.safetensors"), weights).unwrap();
        fs::write(path.join("data/timing.jsonl"), "{\"step\":1}\n").unwrap();
        fs::write(path.join("data/config.json"), "{}\n").unwrap();
        fs::write(path.join("data/notes.txt"), "some notes\n").unwrap();
        let receipt = format!(
            r#"{{"schema":"repro.receipt/1","origin":"emitted","run":{{"id":"b"}},
                "model":{{"params_total":{parameters}}},
                "checkpoints":[{{"step":1,"weights":"data/w.safetensors"}}]}}"#
        );
        fs::write(path.join("data/receipt.json"), receipt).unwrap();
    }

    struct Fixture {
        temporary: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let place = Self { temporary: tempfile::tempdir().unwrap() };
            bundle(&place.bundle(), 2);
            seal(&place.bundle(), "b", None).unwrap();
            place
        }

        fn bundle(&self) -> PathBuf {
            self.temporary.path().join("b")
        }

        fn folder(&self) -> PathBuf {
            self.temporary.path().join("cache")
        }

        /// A cache for a program that begins so many seconds from now.
        fn cache(&self, later: u64) -> Cache {
            Cache::open(&self.folder(), SystemTime::now() + Duration::from_secs(later)).unwrap()
        }

        /// Reads the bundle long after it was written; answers how many files were not read.
        fn read(&self) -> Result<usize, Error> {
            let cache = self.cache(60);
            read(&self.bundle(), &cache).inspect(|_| assert_eq!(cache.notes(), [""; 0]))
        }

        /// The one file of the cache.
        fn kept(&self) -> PathBuf {
            let mut kept = fs::read_dir(self.folder()).unwrap();
            let path = kept.next().unwrap().unwrap().path();
            assert!(kept.next().is_none());
            path
        }
    }

    fn read(path: &Path, cache: &Cache) -> Result<usize, Error> {
        let reading = ReadOptions { cache: Some(cache), ..ReadOptions::from(2) };
        Bundle::load_folder(path, "b", None, reading).map(|bundle| bundle.spared())
    }

    /// The second in which the first of the files below a folder was changed.
    fn first_change(folder: &Path) -> i64 {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let change = |path: PathBuf| match path.is_dir() {
            true => first_change(&path),
            false => fs::metadata(&path).unwrap().ctime(),
        };
        entries.map(change).min().unwrap_or(i64::MAX)
    }

    /// Lets the system's clock of changes tick.
    fn tick() {
        std::thread::sleep(Duration::from_millis(30));
    }

    /// Gives a file the times that another one has.
    fn same_times(from: &fs::Metadata, path: &Path) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(from.modified().unwrap()).unwrap();
    }

    #[test]
    fn what_has_not_changed_is_not_read_again() {
        let place = Fixture::new();
        assert_eq!(place.read(), Ok(0));
        assert_eq!(place.read(), Ok(FILES));
        assert_eq!(fs::metadata(place.folder()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(place.kept()).unwrap().mode() & 0o777, 0o600);
        // A file that was merely touched is read, and the others are not.
        tick();
        let file = fs::File::options().write(true).open(place.bundle().join("data/notes.txt"));
        file.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(place.read(), Ok(FILES - 1));
        assert_eq!(place.read(), Ok(FILES));
    }

    #[test]
    fn a_change_is_found_whatever_length_and_time_say() {
        let edits: [fn(&Path, &[u8]); 3] = [
            |path, bytes| fs::write(path, bytes).unwrap(),
            |path, bytes| {
                fs::write(path.with_extension("new"), bytes).unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            },
            |path, bytes| {
                fs::remove_file(path).unwrap();
                fs::write(path, bytes).unwrap();
            },
        ];
        for edit in edits {
            for name in ["notes.txt", "w.safetensors", "timing.jsonl", "config.json"] {
                let place = Fixture::new();
                assert_eq!(place.read(), Ok(0));
                let path = place.bundle().join("data").join(name);
                let before = fs::metadata(&path).unwrap();
                let mut bytes = fs::read(&path).unwrap();
                *bytes.last_mut().unwrap() ^= 1;
                tick();
                edit(&path, &bytes);
                same_times(&before, &path);
                let after = fs::metadata(&path).unwrap();
                assert_eq!((before.len(), before.mtime_nsec()), (after.len(), after.mtime_nsec()));
                assert_eq!(place.read().unwrap_err().code.id, "bundle::wrong-digest", "{name}");
            }
        }
    }

    #[test]
    fn what_is_written_in_the_same_instant_is_not_remembered() {
        let place = Fixture::new();
        // A slow machine takes seconds between writing and reading.
        let written = UNIX_EPOCH + Duration::from_secs(first_change(&place.bundle()) as u64);
        for later in [0, 1, 2].map(Duration::from_secs) {
            let cache = Cache::open(&place.folder(), written + later).unwrap();
            assert_eq!(read(&place.bundle(), &cache), Ok(0), "{later:?}");
        }
        let early = Cache::open(&place.folder(), UNIX_EPOCH - Duration::from_secs(1)).unwrap();
        assert_eq!(read(&place.bundle(), &early), Ok(0));
        assert_eq!(place.read(), Ok(0));
        assert_eq!(place.read(), Ok(FILES));
    }

    #[test]
    fn all_but_the_reading_is_checked_each_time() {
        type Change = fn(&Path);
        let changes: [(Change, &str); 5] = [
            (|path| fs::write(path.join("data/x"), "").unwrap(), "bundle::bad-tag-file"),
            (|path| fs::remove_file(path.join("data/notes.txt")).unwrap(), "bundle::bad-tag-file"),
            (|path| fs::write(path.join("more.txt"), "").unwrap(), "bundle::extra-file"),
            (
                |path| fs::hard_link(path.join("data/notes.txt"), path.join("../n")).unwrap(),
                "bundle::hard-link",
            ),
            (
                |path| fs::write(path.join("data/receipt.json"), "{}\n").unwrap(),
                "bundle::bad-tag-file",
            ),
        ];
        for (change, code) in changes {
            let place = Fixture::new();
            assert_eq!(place.read(), Ok(0));
            change(&place.bundle());
            assert_eq!(place.read().unwrap_err().code.id, code);
        }
        // What weights hold is remembered with them, and judged again.
        let place = Fixture::new();
        bundle(&place.bundle(), 3);
        assert_eq!(seal(&place.bundle(), "b", None).unwrap_err().code.id, "bundle::wrong-count");
        // Sealing put everything back, because no reader would take the bundle.
        let text = fs::read(place.bundle().join("data/receipt.json")).unwrap();
        let document = Document::parse_json(Source::new("receipt.json", text).unwrap()).unwrap();
        let receipt = Receipt::parse(document.root()).unwrap();
        let writer = BundleWriter::reopen(&LocalDisk, &place.bundle()).unwrap();
        writer.finish(&receipt).unwrap();
        for _ in 0..2 {
            assert_eq!(place.read().unwrap_err().code.id, "bundle::wrong-count");
        }
        assert!(fs::read_to_string(place.kept()).unwrap().contains("\"elements\":2"));
    }

    #[test]
    fn a_copy_of_a_bundle_is_read() {
        let place = Fixture::new();
        assert_eq!(place.read(), Ok(0));
        let copy = place.temporary.path().join("copy");
        bundle(&copy, 2);
        seal(&copy, "b", None).unwrap();
        let cache = place.cache(60);
        assert_eq!(read(&copy, &cache), Ok(0));
        assert_eq!(read(&copy, &cache), Ok(FILES));
        assert_eq!(read(&place.bundle(), &cache), Ok(FILES));
    }

    #[test]
    fn a_cache_that_was_damaged_is_not_used() {
        let place = Fixture::new();
        assert_eq!(place.read(), Ok(0));
        let path = place.kept();
        let good = fs::read(&path).unwrap();
        let summed = |text: &str| format!("{}\n{text}", Digest::of(text.as_bytes())).into_bytes();
        let flipped = (0..good.len()).step_by(7).map(|at| {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            bytes
        });
        let hostile = ["", "{}", "[]", "{\"files\":{}}", "\u{0}", &"[".repeat(100_000)].map(summed);
        let cut = (0..good.len()).step_by(11).map(|end| good[..end].to_vec());
        for bytes in flipped.chain(cut).chain(hostile).chain([good.repeat(2), vec![b'x'; 17 << 20]])
        {
            fs::write(&path, &bytes).unwrap();
            let cache = place.cache(60);
            assert_eq!(read(&place.bundle(), &cache), Ok(0));
            assert_eq!(cache.notes().len(), 1, "{}", String::from_utf8_lossy(&bytes));
        }
        assert_eq!(place.read(), Ok(FILES));
        let text = String::from_utf8(good[SUM..].to_vec()).unwrap();
        for (old, new) in [(SCHEMA, "repro.cache/2"), (env!("CARGO_PKG_VERSION"), "0.0.9")] {
            fs::write(&path, summed(&text.replacen(old, new, 1))).unwrap();
            assert_eq!(place.read(), Ok(0), "{new}");
        }
    }

    #[test]
    fn what_is_no_plain_file_in_the_cache_is_not_read() {
        let place = Fixture::new();
        assert_eq!(place.read(), Ok(0));
        let path = place.kept();
        let elsewhere = place.temporary.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let cache = place.cache(60);
        assert_eq!((read(&place.bundle(), &cache), cache.notes().len()), (Ok(0), 1));
        // The link was replaced and not followed.
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        fs::remove_file(&path).unwrap();
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
        let cache = place.cache(60);
        assert_eq!((read(&place.bundle(), &cache), cache.notes().len()), (Ok(0), 2));
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let place = Fixture::new();
        let open = |path: &Path| Cache::open(path, SystemTime::now()).map(drop);
        let code = |path: &Path| open(path).unwrap_err().code.id;
        let folder = place.folder();
        for mode in [0o777, 0o1777, 0o770, 0o702] {
            let _ = fs::create_dir(&folder);
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(code(&folder), "bundle::unsafe-cache", "{mode:o}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        open(&folder).unwrap();
        let link = place.temporary.path().join("link");
        symlink(&folder, &link).unwrap();
        assert_eq!(code(&link), "bundle::not-a-folder");
        assert_eq!(code(&link.join("")), "bundle::not-a-folder");
        assert_eq!(code(&place.bundle().join("bagit.txt")), "bundle::unsafe-cache");
        for inside in ["", "cache", "data/cache", "data/../data/cache"] {
            assert_eq!(code(&place.bundle().join(inside)), "bundle::unsafe-cache", "{inside}");
        }
        assert_eq!(code(&place.temporary.path().join("not/there")), "bundle::not-a-folder");
    }

    #[test]
    fn two_programs_may_use_one_cache() {
        let place = Fixture::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        place.read().unwrap();
                    }
                });
            }
        });
        assert_eq!(place.read(), Ok(FILES));
    }
}
