//! A folder as a store, on this machine or mounted from another.
//!
//! An object is written under a unique random name, synced, and only then renamed, so two writers never see
//! each other's partial files, even on two NFS hosts. The sync detects a full disk: network file
//! systems accept bytes and reject them later. The folder is not synced: after a power failure an object is whole or absent,
//! and absent ones are written again.

use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use repro_core::disk::{Disk, LocalDisk, drawn_beside, folder_of, root_of};
use repro_core::source::{Code, Error, Location};
use rustix::fs::OFlags;

use crate::storage::created::Created;
use crate::storage::part::ObjectPart;
use crate::storage::{NOT_A_FOLDER, NOT_AN_OBJECT, NOT_WRITTEN, TOO_LARGE, UNREADABLE};

/// So many bytes are read at a time.
const PIECE: usize = 256 << 10;

/// Objects below a folder.
#[derive(Debug)]
pub struct LocalStore {
    root: PathBuf,
    shown: String,
}

impl LocalStore {
    /// The folder at `root`, which may be absent: the first object makes it.
    pub fn open(root: PathBuf, shown: &str) -> Result<Self, Error> {
        let shown = shown.to_owned();
        match fs::metadata(&root) {
            Ok(found) if !found.is_dir() => {
                Err(NOT_A_FOLDER.at(Location::file(shown), "a folder", "something else"))
            }
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(UNREADABLE.at(Location::file(shown), "a folder", error.to_string()))
            }
            _ => Ok(Self { root, shown }),
        }
    }

    /// All bytes of an object of at most `cap`.
    pub fn get(&self, name: &str, cap: usize) -> Result<Option<Vec<u8>>, Error> {
        let Some(file) = self.file(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        // A file may grow while it is read.
        let mut read = file.take((cap as u64).saturating_add(1));
        read.read_to_end(&mut bytes).map_err(|error| self.unreadable(name, &error))?;
        if bytes.len() > cap {
            return Err(TOO_LARGE.at(self.place(name), format!("at most {cap} bytes"), "more"));
        }
        Ok(Some(bytes))
    }

    /// The bytes of an object in a range.
    pub fn part(&self, name: &str, range: Range<u64>) -> Result<Option<ObjectPart>, Error> {
        let unreadable = |error| self.unreadable(name, &error);
        let Some(mut file) = self.file(name)? else { return Ok(None) };
        let length = file.metadata().map_err(unreadable)?.len();
        file.seek(SeekFrom::Start(range.start)).map_err(unreadable)?;
        let mut bytes = Vec::new();
        let mut read = file.take(range.end.saturating_sub(range.start));
        read.read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Some(ObjectPart { bytes, length }))
    }

    /// Has all bytes of an object pass by; answers how many there were.
    pub fn pass(
        &self,
        name: &str,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Option<u64>, Error> {
        let Some(mut file) = self.file(name)? else { return Ok(None) };
        let (mut piece, mut length) = (vec![0; PIECE], 0);
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(Some(length)),
                Ok(read) => {
                    length += read as u64;
                    sink(&piece[..read])?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unreadable(name, &error)),
            }
        }
    }

    /// The plain file of an object, opened, where there is something of that name. Neither a link is followed nor a pipe
    /// waited for.
    fn file(&self, name: &str) -> Result<Option<File>, Error> {
        let unreadable = |error| self.unreadable(name, &error);
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let mut options = File::options();
        options.read(true).custom_flags(flags.bits() as i32);
        let file = match options.open(self.path(name)) {
            Err(error) if is_absent(&error) => return Ok(None),
            opened => opened.map_err(unreadable)?,
        };
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(self.no_object(name));
        }
        Ok(Some(file))
    }

    /// Writes an object, if there is nothing of its name.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, Error> {
        self.create_on(&LocalDisk, name, bytes)
    }

    fn create_on(&self, disk: &dyn Disk, name: &str, bytes: &[u8]) -> Result<Created, Error> {
        let path = self.path(name);
        if fs::symlink_metadata(&path).is_ok() {
            return Ok(Created::Exists);
        }
        let created = self.written(disk, &path, bytes, |partial, path| {
            match disk.rename_new(partial, path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Created::Exists),
                renamed => renamed.map(|()| Created::New),
            }
        });
        created.map_err(|error| self.not_written(name, &error))
    }

    /// Writes an object in the place of another, or of none.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.replace_on(&LocalDisk, name, bytes)
    }

    fn replace_on(&self, disk: &dyn Disk, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path(name);
        let replaced = self.written(disk, &path, bytes, |partial, path| disk.rename(partial, path));
        replaced.map_err(|error| self.not_written(name, &error))
    }

    /// The names of all objects below a folder, in order, with their lengths. Names that begin with a dot are no objects:
    /// writers that were killed leave such, and so do file systems of a network.
    pub fn list(&self, below: &str) -> Result<Vec<(String, u64)>, Error> {
        let mut objects = Vec::new();
        let mut folders = vec![below.to_owned()];
        while let Some(folder) = folders.pop() {
            self.list_folder(&folder, &mut objects, &mut folders)?;
        }
        objects.sort_unstable();
        Ok(objects)
    }

    fn list_folder(
        &self,
        folder: &str,
        objects: &mut Vec<(String, u64)>,
        folders: &mut Vec<String>,
    ) -> Result<(), Error> {
        let failed = |error| self.failed(&UNREADABLE, folder, "a readable folder", &error);
        let entries = match fs::read_dir(self.path(folder)) {
            Err(error) if is_absent(&error) => return Ok(()),
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let Some(name) = self.name_of(folder, &entry)? else { continue };
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                folders.push(name);
            } else if kind.is_file() {
                // Gone since it was seen: somebody took it away.
                match entry.metadata() {
                    Err(error) if is_absent(&error) => {}
                    found => objects.push((name, found.map_err(failed)?.len())),
                }
            } else {
                return Err(self.no_object(&name));
            }
        }
        Ok(())
    }

    /// The name of an entry of a folder in this store, or none where it is no object's.
    fn name_of(&self, folder: &str, entry: &DirEntry) -> Result<Option<String>, Error> {
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            let found = format!("`{}`", name.display());
            return Err(NOT_AN_OBJECT.at(self.place(folder), "names in UTF-8", found));
        };
        let is_own = !name.starts_with('.');
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Ok(is_own.then(|| format!("{below}{name}")))
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }

    fn place(&self, name: &str) -> Location {
        let shown = &self.shown;
        Location::file(if name.is_empty() { shown.clone() } else { format!("{shown}/{name}") })
    }

    /// Writes a file beside `path` that `named` gives its name, both as they are held. What is left of it is taken away.
    fn written<T>(
        &self,
        disk: &dyn Disk,
        path: &Path,
        bytes: &[u8],
        named: impl FnOnce(&Path, &Path) -> io::Result<T>,
    ) -> io::Result<T> {
        let root = root_of(&self.root);
        disk.make_folders(&root, &folder_of(path))?;
        let path = disk.hold(&root, path)?;
        let partial = drawn_beside(&path);
        let written = disk.write(&partial, bytes).and_then(|()| disk.sync(&partial));
        let written = written.and_then(|()| named(&partial, &path));
        // Once it has its name, nothing is left.
        let _ = disk.remove(&partial);
        written
    }

    fn no_object(&self, name: &str) -> Error {
        let found = "a link, a folder, a pipe or a device";
        NOT_AN_OBJECT.at(self.place(name), "a plain file", found)
    }

    fn unreadable(&self, name: &str, error: &io::Error) -> Error {
        self.failed(&UNREADABLE, name, "a readable object", error)
    }

    fn not_written(&self, name: &str, error: &io::Error) -> Error {
        self.failed(&NOT_WRITTEN, name, "an object written completely", error)
    }

    fn failed(&self, code: &'static Code, name: &str, expected: &str, error: &io::Error) -> Error {
        code.at(self.place(name), expected, error.to_string())
    }
}

/// Whether nothing has the name: no file, or no folder for it to lie in.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use repro_core::disk::Disk;
    use repro_core::disk::trial::{DiskFault, Files, Trial, tree};

    use super::{LocalStore, drawn_beside};
    use crate::storage::created::Created;

    fn folder(root: &Path) -> LocalStore {
        LocalStore::open(root.join("results"), "results").unwrap()
    }

    #[test]
    fn an_object_is_written_once_and_replaced_on_demand() {
        let temporary = tempfile::tempdir().unwrap();
        let store = folder(temporary.path());
        assert_eq!(store.list(""), Ok(vec![]));
        assert_eq!(store.get("ab/one", 9), Ok(None));
        assert_eq!(store.create("ab/one", b"first"), Ok(Created::New));
        assert_eq!(store.create("ab/one", b"second"), Ok(Created::Exists));
        assert_eq!(store.get("ab/one", 5), Ok(Some(b"first".to_vec())));
        assert_eq!(store.replace("ab/one", b"third"), Ok(()));
        assert_eq!(store.get("ab/one", 9), Ok(Some(b"third".to_vec())));
        assert_eq!(store.replace("ac/two", b""), Ok(()));
        assert_eq!(store.get("ab/one/deeper", 9), Ok(None));
        let listed = |below| store.list(below).unwrap();
        assert_eq!(listed(""), [("ab/one".to_owned(), 5), ("ac/two".to_owned(), 0)]);
        assert_eq!(listed("ab"), [("ab/one".to_owned(), 5)]);
        assert_eq!(listed("ad"), []);
        let left = fs::read_dir(temporary.path().join("results/ab")).unwrap().count();
        assert_eq!(left, 1, "nothing of the writing is left");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().join("results");
        let store = folder(temporary.path());
        store.create("a/one", b"12345").unwrap();
        assert_eq!(store.get("a/one", 4).unwrap_err().code.id, "storage::too-large");
        assert_eq!(store.get("a", 9).unwrap_err().code.id, "storage::not-an-object");
        fs::write(root.join("a/.0123.partial"), b"half").unwrap();
        assert_eq!(store.list("").unwrap().len(), 1, "what a killed writer left is no object");
        symlink("/etc/passwd", root.join("a/link")).unwrap();
        assert_eq!(store.get("a/link", 9).unwrap_err().code.id, "storage::unreadable");
        assert_eq!(store.create("a/link", b""), Ok(Created::Exists));
        let error = store.list("").unwrap_err();
        assert_eq!(
            (error.code.id, error.place.file.as_str()),
            ("storage::not-an-object", "results/a/link")
        );
        let error = LocalStore::open(root.join("a/one"), "results/a/one").unwrap_err();
        assert_eq!(error.code.id, "storage::not-a-folder");
    }

    #[test]
    fn of_many_writers_one_is_first_and_no_half_is_seen() {
        let temporary = tempfile::tempdir().unwrap();
        let store = folder(temporary.path());
        let news = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for writer in 0..8_u8 {
                let (store, news) = (&store, &news);
                scope.spawn(move || {
                    for object in 0..50 {
                        let name = format!("ab/{object}");
                        let created = store.create(&name, &[writer; 5_000]).unwrap();
                        news.fetch_add(usize::from(created == Created::New), Ordering::Relaxed);
                        let bytes = store.get(&name, 5_000).unwrap().unwrap();
                        assert!(bytes.len() == 5_000 && bytes.iter().all(|byte| *byte == bytes[0]));
                    }
                });
            }
        });
        assert_eq!(news.into_inner(), 50);
    }

    /// The objects of a store, without what killed writers left.
    fn objects(root: &Path) -> Files {
        let is_object = |name: &String| !name.contains("/.") && !name.ends_with('/');
        tree(root).into_iter().filter(|(name, _)| is_object(name)).collect()
    }

    fn write(disk: &dyn Disk, root: &Path) -> Result<(), String> {
        let store = folder(root);
        let told = |error: repro_core::source::Error| error.to_string();
        store.replace_on(disk, "ab/damaged", b"sound again").map_err(told)?;
        store.create_on(disk, "ab/one", b"the first object").map_err(told)?;
        store.create_on(disk, "cd/two", b"the second object").map_err(told)?;
        // Names last when their folders are synced, which writers leave to the system.
        ["results", "results/ab", "results/cd"]
            .iter()
            .try_for_each(|folder| disk.sync(&root.join(folder)).map_err(|error| error.to_string()))
    }

    #[test]
    fn wherever_writing_stops_an_object_is_whole_or_absent() {
        let trial = Trial {
            faults: &DiskFault::ALL,
            prepare: &|root| {
                fs::create_dir_all(root.join("results/ab")).unwrap();
                fs::write(root.join("results/ab/damaged"), b"dam").unwrap();
            },
            work: &write,
            check: &|root| {
                for (name, bytes) in objects(root) {
                    let whole: &[&[u8]] = match name.as_str() {
                        "results/ab/damaged" => &[b"dam", b"sound again"],
                        "results/ab/one" => &[b"the first object"],
                        _ => &[b"the second object"],
                    };
                    assert!(whole.contains(&bytes.as_slice()), "{name}: {bytes:?}");
                }
            },
            outcome: &objects,
        };
        assert!(trial.faults() > 50);
        assert!(trial.power(100) > 100);
    }

    #[test]
    fn no_name_is_drawn_twice() {
        let names: BTreeSet<_> = (0..1_000).map(|_| drawn_beside(Path::new("r/report"))).collect();
        assert_eq!(names.len(), 1_000);
    }
}
