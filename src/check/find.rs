//! What lies below paths: folders that are one thing, and single files.

use std::path::{Path, PathBuf};

use repro_receipt::source::{Error, Location, UNREADABLE};

use crate::kind::{DocumentKind, FolderListing, FoldersBelow, Reads};
use crate::kinds::KINDS;
use crate::{TOO_DEEP, TOO_MANY};

/// The most files below all paths.
const FILE_CAP: usize = 200_000;
/// The deepest folder below a path.
const DEPTH: usize = 32;
/// Folders that hold no results.
pub const PASSED_OVER: &[&str] =
    &["node_modules", "target", "__pycache__", "venv", "site-packages"];

/// A file that no folder has taken.
#[derive(Debug)]
pub struct FoundFile {
    pub path: PathBuf,
    /// As it is told.
    pub shown: String,
    /// Whether the caller named it, so that not to know it is an answer.
    pub is_named: bool,
}

/// What there is to read.
#[derive(Debug, Default)]
pub struct FoundDocuments {
    pub folders: Vec<(&'static DocumentKind, FolderListing)>,
    pub files: Vec<FoundFile>,
    pub failures: Vec<Error>,
}

/// Looks below all paths.
pub fn find(paths: &[PathBuf]) -> FoundDocuments {
    let mut found = FoundDocuments::default();
    for path in paths {
        let shown = path.display().to_string();
        match std::fs::metadata(path) {
            Ok(data) if data.is_dir() => found.walk(path, shown, 0),
            Ok(_) => found.files.push(FoundFile { path: path.clone(), shown, is_named: true }),
            Err(error) => found.unreadable(&shown, &error),
        }
    }
    found
}

impl FoundDocuments {
    fn unreadable(&mut self, shown: &str, error: &std::io::Error) {
        let place = Location::file(shown);
        self.failures.push(UNREADABLE.at(place, "a file or a folder", error.to_string()));
    }

    fn walk(&mut self, path: &Path, shown: String, depth: usize) {
        if depth > DEPTH {
            let place = Location::file(shown);
            return self.failures.push(TOO_DEEP.at(
                place,
                format!("at most {DEPTH} levels"),
                "more",
            ));
        }
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(&shown, &error),
        };
        let (mut names, mut folders) = (Vec::new(), Vec::new());
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link may lead out of the folder, or around in it: a snapshot of a hub links its files, which may be taken.
            let Ok(kind) = std::fs::metadata(entry.path()) else { continue };
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if kind.is_file() {
                names.push(name);
            } else if kind.is_dir()
                && !is_link
                && !name.starts_with('.')
                && !PASSED_OVER.contains(&&*name)
            {
                folders.push(name);
            }
        }
        names.sort_unstable();
        folders.sort_unstable();
        let listing = FolderListing { path: path.to_owned(), shown: shown.clone(), names };
        match self.take(listing) {
            None | Some(FoldersBelow::None) => {}
            Some(FoldersBelow::AllBut(others)) => {
                for other in others.iter().filter(|other| path.join(other).is_dir()) {
                    let shown = Path::new(&shown).join(other).display().to_string();
                    self.walk(&path.join(other), shown, depth + 1);
                }
                return;
            }
        }
        for name in folders {
            if self.files.len() > FILE_CAP {
                let place = Location::file(shown);
                return self.failures.push(TOO_MANY.at(
                    place,
                    format!("at most {FILE_CAP} files"),
                    "more",
                ));
            }
            self.walk(
                &path.join(&name),
                Path::new(&shown).join(&name).display().to_string(),
                depth + 1,
            );
        }
    }

    /// Takes the files of a folder; answers what else belongs to it, where it is of a kind.
    fn take(&mut self, mut listing: FolderListing) -> Option<FoldersBelow> {
        let mut takes_below = None;
        for kind in KINDS {
            let Reads::Folder { is, takes, below, .. } = kind.reads else { continue };
            if !is(&listing) {
                continue;
            }
            let (taken, left) = listing.names.iter().cloned().partition(|name| takes(name));
            takes_below = takes_below.filter(|known| *known != FoldersBelow::None).or(Some(below));
            let FolderListing { path, shown, .. } = &listing;
            let part = FolderListing { path: path.clone(), shown: shown.clone(), names: taken };
            self.folders.push((kind, part));
            listing.names = left;
        }
        let FolderListing { path, shown, names } = listing;
        self.files.extend(names.into_iter().map(|name| FoundFile {
            path: path.join(&name),
            shown: Path::new(&shown).join(&name).display().to_string(),
            is_named: false,
        }));
        takes_below
    }
}
