//! An untrusted folder: listed and opened without following links or waiting on pipes.
//!
//! Every access starts from one descriptor of the folder. Listing checks kinds and sizes before
//! any file is opened. On Linux the kernel itself keeps each path beneath the folder (`openat2`);
//! elsewhere, and on old kernels, each component is opened on its own and no link is followed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::opened::OpenFile;
use super::{
    ABSENT, BAD_NAME, EMPTY_FOLDER, HARD_LINK, NOT_A_FOLDER, NOT_REGULAR, OTHER_DEVICE, SPARSE,
    TOO_MANY_FILES, name,
};
use repro_core::digest::Digest;
use repro_core::parallel;
use repro_core::source::{Error, Location, UNREADABLE};

/// The most files and folders in one bundle.
pub const ENTRY_CAP: usize = 100_000;
/// From this length on a file must be made of bytes and not of holes.
const SPARSE_FROM: u64 = 64 << 20;
/// The part of a large file that must be on disk.
const SPARSE_SHARE: u64 = 16;
/// How often a file may be replaced by another while it is opened.
const REPLACEMENTS: usize = 8;

/// An open folder and the name that messages give it.
#[derive(Debug)]
pub struct Folder {
    root: OwnedFd,
    shown: String,
    /// Where a file was opened last: the next one mostly lies there too.
    last: Mutex<Option<Arc<Inner>>>,
}

/// An open folder inside a [`Folder`].
#[derive(Debug)]
struct Inner {
    name: String,
    descriptor: OwnedFd,
}

/// The files beneath a folder with their lengths, by name.
pub type Listing = BTreeMap<String, u64>;

impl Folder {
    /// Opens the folder at `path`, which may not itself be a link.
    pub fn open(path: &Path, shown: &str) -> Result<Self, Error> {
        // A trailing slash would make the system follow a link in the last component.
        let path: PathBuf = path.components().collect();
        let place = || Location::file(shown);
        let root =
            rustix::fs::open(&path, folder_flags(), Mode::empty()).map_err(
                |error| match error {
                    Errno::NOENT => ABSENT.at(place(), "a receipt bundle", "nothing"),
                    Errno::NOTDIR | Errno::LOOP => {
                        NOT_A_FOLDER.at(place(), "a folder", "a file or a link")
                    }
                    other => UNREADABLE.at(place(), "a readable folder", other.to_string()),
                },
            )?;
        Ok(Self { root, shown: shown.to_owned(), last: Mutex::default() })
    }

    /// The place of the file called `name`.
    pub fn place(&self, name: &str) -> Location {
        Location::file(format!("{}/{name}", self.shown))
    }

    /// The folder's own place.
    pub fn own_place(&self) -> Location {
        Location::file(self.shown.as_str())
    }

    /// The folder itself, for what is done inside it.
    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.root
    }

    /// Which folder it is on this machine, in words that can be part of a name.
    pub(super) fn identity(&self) -> Result<String, Error> {
        let stat = fstat(&self.root).map_err(|e| self.unreadable(&self.own_place(), e))?;
        Ok(format!("{:x}-{:x}", device(&stat), stat.st_ino))
    }

    /// Whether the folder belongs to the user of this program and nobody else may write to it.
    pub(super) fn is_mine(&self) -> Result<bool, Error> {
        let stat = fstat(&self.root).map_err(|e| self.unreadable(&self.own_place(), e))?;
        let others = Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH);
        Ok(stat.st_uid == rustix::process::geteuid().as_raw() && !others)
    }

    /// Whether this machine itself notes when a file was changed, and nobody else can set that time: so on
    /// the usual file systems of Linux, and not across a network or where a program plays the disk.
    pub(super) fn keeps_times(&self) -> bool {
        own_times(&self.root)
    }

    /// Whether something called `name` stands at the top of the folder.
    pub fn holds(&self, name: &str) -> bool {
        statat(&self.root, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Lists every file beneath, with so many threads, refusing all that is not a plain file in a plain folder.
    /// Folders are gone through level by level, and names in their order, so that the same folder is always
    /// refused for the same reason.
    pub fn list(&self, threads: usize) -> Result<Listing, Error> {
        let unreadable = |error: Errno| self.unreadable(&self.own_place(), error);
        let device = device(&fstat(&self.root).map_err(unreadable)?);
        let walk = Walk { folder: self, device, entries: AtomicUsize::new(0) };
        let (mut files, mut level) = (Vec::new(), vec![String::new()]);
        while !level.is_empty() {
            let found = parallel::map(&level, threads, |folder| walk.enter(folder));
            // Which thread counts one too many is chance.
            walk.few_enough()?;
            level.clear();
            for found in found {
                let found = found?;
                files.extend(found.files);
                level.extend(found.folders);
            }
        }
        Ok(files.into_iter().collect())
    }

    /// The bytes of the file `name`, where these are `length` bytes with the digest `wanted`. They are what was
    /// meant then, whatever else there is to say about the file; where they are not, [`Folder::file`] says why.
    pub fn bytes(&self, name: &str, length: usize, wanted: Digest) -> Option<Vec<u8>> {
        let descriptor = self.descriptor_of(name).ok()?;
        // With room for one byte more, a file that has grown is seen.
        let mut bytes = Vec::with_capacity(length + 1);
        rustix::io::read(&descriptor, rustix::buffer::spare_capacity(&mut bytes)).ok()?;
        (bytes.len() == length && Digest::of(&bytes) == wanted).then_some(bytes)
    }

    /// Opens one file for reading and checks that what was opened is a plain file.
    pub fn file<'a>(&'a self, name: &'a str) -> Result<OpenFile<'a>, Error> {
        let mut opened = self.opened(name)?;
        // Without a name it was replaced by another file since it was opened: that one is meant.
        for _ in 0..REPLACEMENTS {
            if opened.1.st_nlink > 0 {
                break;
            }
            opened = self.opened(name)?;
        }
        let (descriptor, stat) = opened;
        plain(&stat, || self.place(name))?;
        Ok(OpenFile::new(self, name, descriptor, &stat))
    }

    fn opened(&self, name: &str) -> Result<(OwnedFd, Stat), Error> {
        let place = || self.place(name);
        let descriptor = self.descriptor_of(name).map_err(|error| match error {
            Errno::LOOP => NOT_REGULAR.at(place(), "a plain file", "a symbolic link"),
            Errno::NOTDIR => {
                let found = "a file or a link, not a folder";
                NOT_REGULAR.at(place(), "a plain file in plain folders", found)
            }
            Errno::XDEV => mounted(place()),
            Errno::NXIO => NOT_REGULAR.at(place(), "a plain file", "a pipe, socket or device"),
            other => self.unreadable(&place(), other),
        })?;
        let stat = fstat(&descriptor).map_err(|error| self.unreadable(&place(), error))?;
        Ok((descriptor, stat))
    }

    fn descriptor_of(&self, name: &str) -> Result<OwnedFd, Errno> {
        let Some((inner, file)) = name.rsplit_once('/') else {
            return open_beneath(&self.root, name, file_flags());
        };
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last().as_ref().filter(|last| last.name == inner).cloned();
        let inner = match known {
            Some(known) => known,
            None => {
                let descriptor = open_beneath(&self.root, inner, folder_flags())?;
                let opened = Arc::new(Inner { name: inner.to_owned(), descriptor });
                *last() = Some(opened.clone());
                opened
            }
        };
        open_beneath(&inner.descriptor, file, file_flags())
    }

    fn unreadable(&self, place: &Location, error: Errno) -> Error {
        UNREADABLE.at(place.clone(), "a readable file", error.to_string())
    }
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC
}

fn file_flags() -> OFlags {
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

#[cfg(target_os = "linux")]
fn open_beneath(root: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    match openat2(root, name, flags, Mode::empty(), resolve) {
        // Old kernels do not know the call; sandboxes forbid it.
        Err(Errno::NOSYS | Errno::PERM) => open_by_component(root, name, flags),
        answer => answer,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_by_component(root, name, flags)
}

#[cfg(target_os = "linux")]
fn own_times(folder: &OwnedFd) -> bool {
    /// ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, overlays of these.
    const KINDS: [u32; 8] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
        0x0102_1994,
        0x794c_7630,
    ];
    // The type of the number differs between processors.
    rustix::fs::fstatfs(folder).is_ok_and(|stat| KINDS.contains(&(stat.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn own_times(_: &OwnedFd) -> bool {
    false
}

/// Opens `name`, which has no `..`, one component after the other. A mount inside the folder is not
/// seen here; the listing sees it.
fn open_by_component(root: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    match name.split_once('/') {
        None => openat(root, name, flags, Mode::empty()),
        Some((first, rest)) => {
            let inner = openat(root, first, folder_flags(), Mode::empty())?;
            open_by_component(&inner, rest, flags)
        }
    }
}

/// Refuses what is not a plain file with one name.
fn plain(stat: &Stat, place: impl Fn() -> Location) -> Result<(), Error> {
    let found = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink == 1 => return Ok(()),
        FileType::RegularFile => {
            let found = format!("{} links", stat.st_nlink);
            return Err(HARD_LINK.at(place(), "a file with one hard link", found));
        }
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Directory => "a folder",
        FileType::Unknown => "something else",
    };
    Err(NOT_REGULAR.at(place(), "a plain file", found))
}

/// The refusal of what is not on the bundle's own file system, or is another part of it in this place.
fn mounted(place: Location) -> Error {
    OTHER_DEVICE.at(place, "one file system for the whole bundle", "a mount point")
}

/// A listing in the making.
struct Walk<'a> {
    folder: &'a Folder,
    device: u64,
    entries: AtomicUsize,
}

/// The contents of one folder: the names of folders in it, which end in a slash, and files with their lengths.
#[derive(Default)]
struct Held {
    folders: Vec<String>,
    files: Vec<(String, u64)>,
}

impl Walk<'_> {
    fn few_enough(&self) -> Result<(), Error> {
        if self.entries.load(Ordering::Relaxed) <= ENTRY_CAP {
            return Ok(());
        }
        let expected = format!("at most {ENTRY_CAP} files and folders");
        Err(TOO_MANY_FILES.at(self.folder.own_place(), expected, "more"))
    }

    /// Looks at what the folder `prefix` holds; the folder itself has none.
    fn enter(&self, prefix: &str) -> Result<Held, Error> {
        let place = || self.folder.place(prefix.trim_end_matches('/'));
        let unreadable = |error| match error {
            Errno::XDEV => mounted(place()),
            other => self.folder.unreadable(&place(), other),
        };
        let path = prefix.strip_suffix('/').unwrap_or(".");
        let folder = open_beneath(&self.folder.root, path, folder_flags()).map_err(unreadable)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                self.entries.fetch_add(1, Ordering::Relaxed);
                self.few_enough()?;
                let name = name.to_string_lossy();
                // Bytes that are no text were replaced.
                let is_text = matches!(name, Cow::Borrowed(_));
                names.push((name.into_owned(), is_text));
            }
        }
        if names.is_empty() && !prefix.is_empty() {
            return Err(EMPTY_FOLDER.at(place(), "a folder with files", "an empty folder"));
        }
        names.sort_unstable();
        let mut held = Held::default();
        for (name, is_text) in &names {
            let full = [prefix, name].concat();
            if !is_text {
                let (place, found) = (self.folder.place(&full), "bytes that are not UTF-8");
                return Err(BAD_NAME.at(place, "a name in ASCII", found));
            }
            self.entry(&folder, name, full, &mut held)?;
        }
        Ok(held)
    }

    /// Looks at `file` in `folder`, whose name from the top on is `full`.
    fn entry(
        &self,
        folder: &OwnedFd,
        file: &str,
        full: String,
        held: &mut Held,
    ) -> Result<(), Error> {
        let place = || self.folder.place(&full);
        name::check(&full, place)?;
        let stat = statat(folder, file, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| self.folder.unreadable(&place(), error))?;
        if device(&stat) != self.device {
            return Err(mounted(place()));
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            held.folders.push(full + "/");
            return Ok(());
        }
        plain(&stat, place)?;
        let length = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        let on_disk = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
        if length >= SPARSE_FROM && on_disk < length / SPARSE_SHARE {
            let found = format!("{length} bytes, {on_disk} of them stored");
            return Err(SPARSE.at(place(), "a file without large holes", found));
        }
        held.files.push((full, length));
        Ok(())
    }
}

/// The device of a file; its type differs between systems.
pub(super) fn device(stat: &Stat) -> u64 {
    #[allow(clippy::unnecessary_cast, reason = "macOS has a signed 32-bit number here")]
    {
        stat.st_dev as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_opening_refuse_links_on_the_way() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/x"), "1").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        std::os::unix::fs::symlink("x", root.join("real/y")).unwrap();
        let folder = Folder::open(root, "b").unwrap();
        for open in [open_beneath, open_by_component] {
            assert!(open(&folder.root, "real/x", file_flags()).is_ok());
            for linked in ["link/x", "real/y"] {
                assert!(open(&folder.root, linked, file_flags()).is_err(), "{linked}");
            }
        }
        assert_eq!(folder.file("link/x").unwrap_err().code.id, "bundle::not-regular");
        assert_eq!(folder.file("real/y").unwrap_err().code.id, "bundle::not-regular");
        assert_eq!(folder.file("real/x").unwrap().read(1).unwrap(), b"1");
        assert_eq!(
            folder.file("real/x").unwrap().read(0).unwrap_err().code.id,
            "source::too-large"
        );
    }
}
