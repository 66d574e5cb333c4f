//! The only way in which evidence is written to disk: a few steps, each of which may fail or be the last.
//!
//! Bundles, records and states of runs, imports and lock files are written only through [`Disk`], so tests can make every
//! step fail in turn. Everything beneath a folder that a user names is written through [`HeldPath`], except private
//! temporary folders and the file in `GITHUB_STEP_SUMMARY`. Owns durability: a file is durable once it was synced, and its
//! name once its folder was synced. Reading is left to other modules.

use std::collections::hash_map::RandomState;
use std::fmt::Debug;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

#[cfg(any(test, feature = "trial"))]
mod faults;
#[cfg(any(test, feature = "trial"))]
mod power;
#[cfg(any(test, feature = "trial"))]
pub mod trial;

/// The extension of partially written files.
pub const PARTIAL: &str = ".partial";

/// The steps that change a disk.
pub trait Disk: Debug + Sync {
    /// Makes one folder.
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }
    /// Writes a new file with exactly these bytes. An existing entry with this name is removed (a link itself, not its
    /// target); if somebody else creates a link in the meantime, the write fails.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes),
        }
    }
    /// Appends bytes to a file, which is created if absent; a link is not followed.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        unlinked(fs::OpenOptions::new().create(true).append(true)).open(path)?.write_all(bytes)
    }
    /// Truncates a file to `length` bytes; a link is not followed.
    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        unlinked(fs::OpenOptions::new().write(true)).open(path)?.set_len(length)
    }
    /// Makes the bytes of a file, or the names in a folder, durable.
    fn sync(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
    /// Renames a file or a folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
    /// Renames a file to a new name; if the name exists, nothing changes and the error reports it. On file systems without
    /// this operation, such as NFS, a hard link is created and the first name is removed.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                fs::hard_link(from, to)?;
                fs::remove_file(from)
            }
            renamed => Ok(renamed?),
        }
    }
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    /// The path through which something beneath `root` is written; see [`HeldPath::beneath`].
    fn hold(&self, root: &Path, path: &Path) -> io::Result<HeldPath> {
        HeldPath::beneath(root, path)
    }

    /// Creates a folder beneath `root` and its parents, with durable names.
    fn make_folders(&self, root: &Path, path: &Path) -> io::Result<()> {
        beneath(root, path)?;
        let is_missing = |above: &&Path| !above.as_os_str().is_empty() && !above.is_dir();
        let missing: Vec<_> = path.ancestors().take_while(is_missing).collect();
        for folder in missing.into_iter().rev() {
            match self.make_folder(&self.hold(root, folder)?) {
                // Somebody else created it first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
                made => made?,
            }
            self.sync(&folder_of(folder))?;
        }
        Ok(())
    }

    /// Writes a file under a different name, makes its bytes durable, and only then renames it: the file has all of `bytes`
    /// or is unchanged. The name becomes durable when the folder is synced.
    fn replace(&self, path: &Path, partial: &Path, bytes: &[u8]) -> io::Result<()> {
        let written = self
            .write(partial, bytes)
            .and_then(|()| self.sync(partial))
            .and_then(|()| self.rename(partial, path));
        if written.is_err() {
            // Half of a file is useless.
            let _ = self.remove(partial);
        }
        written
    }

    /// Removes a folder with all of its contents.
    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.remove_tree(&entry.path())?;
            } else {
                self.remove(&entry.path())?;
            }
        }
        self.remove_folder(path)
    }
}

/// The real disk.
#[derive(Debug)]
pub struct LocalDisk;

impl Disk for LocalDisk {}

/// The same options, but without following a link at the last name and without waiting for the reader of a pipe.
pub fn unlinked(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
}

/// Rejects a path with a link beneath `root`, through which a write would leave the folder that the user named. The empty
/// root is the working directory; of an absolute path, which is not beneath it, only the last name is checked.
pub fn beneath(root: &Path, path: &Path) -> io::Result<()> {
    let (mut way, below) = base_and_below(root, path);
    for part in below {
        way.push(part);
        if way.is_symlink() {
            let link = format!(
                "`{}` is a symbolic link, which is not followed; use the folder that it leads to",
                way.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, link));
        }
    }
    Ok(())
}

/// The root for a path from the command line: the working directory for a relative path, the containing folder for an
/// absolute one.
pub fn root_of(path: &Path) -> PathBuf {
    if path.is_relative() { PathBuf::new() } else { folder_of(path) }
}

/// Writes a new file, completely or not at all, with the permissions in `mode`.
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let held = HeldPath::beneath(Path::new(""), path)?;
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(&*held)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
        let _ = fs::remove_file(&*held);
    })
}

/// The trusted part of a path, and the part below it that is checked.
fn base_and_below<'a>(root: &Path, path: &'a Path) -> (PathBuf, &'a Path) {
    match path.strip_prefix(root) {
        Ok(below) if below.is_relative() => (root.to_owned(), below),
        _ => (folder_of(path), path.file_name().map_or(path, Path::new)),
    }
}

/// A path with an open handle of its folder, so a link planted later cannot redirect a write.
#[derive(Debug)]
pub struct HeldPath {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl HeldPath {
    /// Opens the folder of `path`, and rejects the same paths as [`beneath`]. Systems without `openat2` or `/proc` (macOS,
    /// Linux before 5.6, some sandboxes) only check the names before the write.
    pub fn beneath(root: &Path, path: &Path) -> io::Result<Self> {
        beneath(root, path)?;
        let held = hold_folder(root, path)?.zip(path.file_name());
        Ok(match held {
            Some((folder, name)) => {
                let of_process = format!("/proc/self/fd/{}", folder.as_raw_fd());
                Self { path: Path::new(&of_process).join(name), _folder: Some(folder) }
            }
            None => Self::plain(path),
        })
    }

    fn plain(path: &Path) -> Self {
        Self { path: path.to_owned(), _folder: None }
    }
}

impl Deref for HeldPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

#[cfg(target_os = "linux")]
fn hold_folder(root: &Path, path: &Path) -> io::Result<Option<OwnedFd>> {
    use rustix::fs::{Mode, ResolveFlags, openat, openat2};
    // A root that is created is trusted, like a root that exists.
    let root = if path == root { &folder_of(path) } else { root };
    let (base, below) = base_and_below(root, path);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let base = openat(CWD, Path::new(".").join(base), flags, Mode::empty())?;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(base, folder_of(below), flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => Ok(None),
        folder => Ok(Some(folder?).filter(|_| Path::new("/proc/self/fd").is_dir())),
    }
}

#[cfg(not(target_os = "linux"))]
fn hold_folder(_: &Path, _: &Path) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}

/// The folder that contains a path.
pub fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(above) if above.as_os_str().is_empty() => PathBuf::from("."),
        Some(above) => above.to_owned(),
        None => path.to_owned(),
    }
}

/// A temporary path next to `path` with 128 random bits in its name, so no other process or host picks the same one.
pub fn drawn_beside(path: &Path) -> PathBuf {
    let draw = || RandomState::new().build_hasher().finish();
    folder_of(path).join(format!(".{:016x}{:016x}{PARTIAL}", draw(), draw()))
}

/// The temporary name of a file while it is written, in a folder with a single writer.
pub fn partial_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(PARTIAL);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_planted_after_the_look_leads_nowhere() {
        let temporary = tempfile::tempdir().unwrap();
        let (root, outside) = (temporary.path().join("in"), temporary.path().join("out"));
        fs::create_dir_all(root.join("repro")).unwrap();
        fs::create_dir(&outside).unwrap();
        let path = root.join("repro/first.lock");
        let held = HeldPath::beneath(&root, &path).unwrap();
        fs::rename(root.join("repro"), root.join("moved")).unwrap();
        symlink(&outside, root.join("repro")).unwrap();
        let written = LocalDisk.replace(&held, &drawn_beside(&held), b"1\n");
        written.and_then(|()| LocalDisk.sync(&folder_of(&held))).unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(fs::read(root.join("moved/first.lock")).unwrap(), b"1\n");
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        }
        assert!(HeldPath::beneath(&root, &path).is_err());
        // The root is trusted, even if it is a link.
        symlink(root.join("moved"), temporary.path().join("link")).unwrap();
        let through = temporary.path().join("link/second.lock");
        HeldPath::beneath(&temporary.path().join("link"), &through).unwrap();
    }
}
