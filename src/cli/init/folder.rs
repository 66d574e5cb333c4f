//! A folder that gets files: what stands where they belong, and how they are written without touching it.

use std::path::{Path, PathBuf};

use super::super::CANNOT_WRITE;
use super::super::output::write_file;
use super::IN_THE_WAY;
use repro_core::disk::{Disk, HeldPath, LocalDisk};
use repro_core::source::{Error, Location};

/// A folder, and how messages call it.
#[derive(Debug, Clone)]
pub struct ShownFolder {
    pub path: PathBuf,
    /// Empty for the folder that the program runs in.
    pub shown: PathBuf,
}

/// The kind of entry that a name may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
}

/// The outcome of writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFate {
    Wrote,
    /// A line was added behind what was there.
    Added,
    Kept,
}

impl ShownFolder {
    /// A folder, which is made where it is absent.
    pub fn made(folder: &Path) -> Result<Self, Error> {
        let shown = if folder == Path::new(".") { Path::new("") } else { folder };
        let place = || Location::file(folder.display().to_string());
        if folder.exists() && !folder.is_dir() {
            return Err(IN_THE_WAY.at(place(), "a folder, or no such path", "a file"));
        }
        let cannot = |error: std::io::Error| {
            CANNOT_WRITE.at(place(), "a folder that can be created", error.to_string())
        };
        LocalDisk.make_folders(Path::new(""), folder).map_err(cannot)?;
        let path = folder.canonicalize().map_err(cannot)?;
        Ok(Self { path, shown: shown.to_owned() })
    }

    /// The top of the repository that it lies in, and the way from there; itself where it lies in none.
    pub fn top(&self) -> (Self, PathBuf) {
        let top = self.path.ancestors().find(|above| above.join(".git").exists());
        let below = top.and_then(|top| self.path.strip_prefix(top).ok()).unwrap_or(Path::new(""));
        // The folders of the way up that are named go; the others are above the one that the program runs in.
        let mut shown = self.shown.clone();
        let is_named = |shown: &Path| shown.file_name().is_some();
        for _ in below {
            if !(is_named(&shown) && shown.pop()) {
                shown.push("..");
            }
        }
        (Self { path: top.unwrap_or(&self.path).to_owned(), shown }, below.to_owned())
    }

    /// How messages call a file of it.
    pub fn told(&self, name: &str) -> String {
        self.shown.join(name).display().to_string()
    }

    /// Whether something of the wanted sort has this name. On the way to it are folders or nothing: a link leads elsewhere.
    pub fn has(&self, name: &str, wanted: EntryKind) -> Result<bool, Error> {
        let mut way = PathBuf::new();
        let mut parts = Path::new(name).iter().peekable();
        while let Some(part) = parts.next() {
            way.push(part);
            let Ok(about) = self.path.join(&way).symlink_metadata() else { return Ok(false) };
            let wanted = if parts.peek().is_some() { EntryKind::Folder } else { wanted };
            let (fits, expected) = match wanted {
                EntryKind::File => (about.is_file(), "a file, or no such path"),
                EntryKind::Folder => (about.is_dir(), "a folder, or no such path"),
            };
            if !fits {
                let found = match () {
                    () if about.is_symlink() => "a symbolic link",
                    () if about.is_dir() => "a folder",
                    () if about.is_file() => "a file",
                    () => "a special file",
                };
                let place = Location::file(self.told(&way.to_string_lossy()));
                return Err(IN_THE_WAY.at(place, expected, found));
            }
        }
        Ok(true)
    }

    /// Writes a file that is not there yet, and leaves one that is.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<FileFate, Error> {
        if self.has(name, EntryKind::File)? {
            return Ok(FileFate::Kept);
        }
        write_file(&self.path, name, &self.told(name), bytes)?;
        Ok(FileFate::Wrote)
    }

    /// Adds the lines that a file lacks, behind what is there.
    pub fn lines(&self, name: &str, lines: &[&str]) -> Result<FileFate, Error> {
        let joined =
            |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        if !self.has(name, EntryKind::File)? {
            return self.file(name, joined(lines).as_bytes());
        }
        let cannot = |error: std::io::Error| {
            let place = Location::file(self.told(name));
            CANNOT_WRITE.at(place, "a writable file", error.to_string())
        };
        let path = HeldPath::beneath(&self.path, &self.path.join(name)).map_err(cannot)?;
        let before = std::fs::read(&*path).map_err(cannot)?;
        let text = String::from_utf8_lossy(&before);
        let is_there = |line: &str| {
            text.lines().any(|known| known.split_whitespace().eq(line.split_whitespace()))
        };
        let lacked: Vec<_> = lines.iter().copied().filter(|line| !is_there(line)).collect();
        if lacked.is_empty() {
            return Ok(FileFate::Kept);
        }
        let end = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
        let added = LocalDisk.append(&path, format!("{end}{}", joined(&lacked)).as_bytes());
        added.and_then(|()| LocalDisk.sync(&path)).map_err(cannot)?;
        Ok(FileFate::Added)
    }
}
