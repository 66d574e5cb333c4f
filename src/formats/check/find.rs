//! Finds documents below paths: folders that form one document, and single files. Also maps changed files to their
//! documents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use repro_bundle::bundle::TAG_FILES;
use repro_core::source::{Error, Location, UNREADABLE};

use crate::check::kind::{
    DocumentKind, FolderListing, FoldersBelow, PASSED_OVER, Reads, told_below,
};
use crate::check::kinds::{BUNDLE, KINDS};
use crate::check::{TOO_DEEP, TOO_MANY};

/// The maximum number of files below all paths.
const FILE_CAP: usize = 200_000;
/// The data folder of a bundle.
const DATA: &str = "data";
/// The maximum folder depth below a path.
const DEPTH: usize = 32;

/// A file that belongs to no recognized folder.
#[derive(Debug)]
pub struct FoundFile {
    pub path: PathBuf,
    /// The path for messages.
    pub shown: String,
    /// Whether the caller named it, so that an unknown kind must be reported.
    pub is_named: bool,
}

/// The documents to read.
#[derive(Debug, Default)]
pub struct FoundDocuments {
    pub folders: Vec<(&'static DocumentKind, FolderListing)>,
    pub files: Vec<FoundFile>,
    pub failures: Vec<Error>,
}

/// Searches below all paths.
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

/// Finds the document that each changed file belongs to: a recognized folder, or the file itself.
pub fn find_changed(paths: &[PathBuf]) -> FoundDocuments {
    let mut found = FoundDocuments::default();
    let mut folders = RecognisedFolders::after(paths);
    let (mut known, mut alone) = (BTreeSet::new(), BTreeSet::new());
    for path in paths {
        let owners = folders.owners(path);
        // A changed link does not change its target, and a changed folder belongs to a different repository.
        let is_file = std::fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
        if owners.is_empty() && is_file && alone.insert(path) {
            let shown = path.display().to_string();
            found.files.push(FoundFile { path: path.clone(), shown, is_named: false });
        }
        for (kind, part) in owners {
            if known.insert((kind.id, part.path.clone())) {
                found.folders.push((kind, part));
            }
        }
    }
    found
}

/// A folder's kind, and its listing.
type RecognisedFolder = (FolderKind, FolderListing);

/// The kinds of folders; each folder is examined once.
#[derive(Default)]
struct RecognisedFolders {
    known: BTreeMap<PathBuf, Vec<RecognisedFolder>>,
    /// Folders from which the change removed files that every bundle has.
    taken_from: BTreeSet<PathBuf>,
}

impl RecognisedFolders {
    /// The folders that a change of these paths may affect.
    fn after(paths: &[PathBuf]) -> Self {
        let is_taken = |path: &&PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            TAG_FILES.contains(&&*name) && std::fs::symlink_metadata(path).is_err()
        };
        let folder = |path: &PathBuf| path.parent().map(Path::to_owned);
        let taken_from = paths.iter().filter(is_taken).filter_map(folder).collect();
        Self { taken_from, ..Self::default() }
    }

    /// The recognized folder that a file belongs to, even if the file was deleted: the nearest one, with all its kinds.
    fn owners(&mut self, file: &Path) -> Vec<(&'static DocumentKind, FolderListing)> {
        let Some(name) = file.file_name().map(|name| name.to_string_lossy()) else {
            return Vec::new();
        };
        for (up, folder) in file.ancestors().skip(1).take(DEPTH).enumerate() {
            let owns = |kind: &FolderKind| match up {
                0 => (kind.takes)(&name),
                _ => kind.below.holds(folder, file),
            };
            let recognised = self.of(folder).iter().filter(|(kind, _)| owns(kind));
            let owners: Vec<_> =
                recognised.map(|(kind, all)| (kind.kind, all.part(kind.takes))).collect();
            if !owners.is_empty() {
                return owners;
            }
        }
        Vec::new()
    }

    /// The kind of a folder; none if it no longer exists.
    fn of(&mut self, folder: &Path) -> &[RecognisedFolder] {
        let was_bundle = self.taken_from.contains(folder);
        self.known.entry(folder.to_owned()).or_insert_with(|| {
            let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let Ok((listing, below)) = entries(path, path.display().to_string()) else {
                return Vec::new();
            };
            // A bundle without its declaration is still a bundle as long as part of it is left.
            let is_left = |name: &String| TAG_FILES.contains(&name.as_str());
            let is_rest = was_bundle
                && (listing.names.iter().any(is_left) || below.iter().any(|name| name == DATA));
            let is =
                |kind: &FolderKind| (kind.is)(&listing) || is_rest && kind.kind.id == BUNDLE.id;
            let kinds = folder_kinds().filter(is);
            kinds.map(|kind| (kind, listing.clone())).collect()
        })
    }
}

/// A kind that is a folder.
#[derive(Clone, Copy)]
struct FolderKind {
    kind: &'static DocumentKind,
    is: fn(&FolderListing) -> bool,
    takes: fn(&str) -> bool,
    below: FoldersBelow,
}

fn folder_kinds() -> impl Iterator<Item = FolderKind> {
    KINDS.iter().filter_map(|kind| match kind.reads {
        Reads::Folder { is, takes, below, .. } => Some(FolderKind { kind, is, takes, below }),
        _ => None,
    })
}

/// The regular files of a folder, including links to files, and its subfolders that may contain results; both sorted.
fn entries(path: &Path, shown: String) -> std::io::Result<(FolderListing, Vec<String>)> {
    let (mut names, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(path)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // A link may leave the folder or form a cycle. Hub snapshots link their files, so links to files are accepted.
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
    Ok((FolderListing { path: path.to_owned(), shown, names }, folders))
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
        let (listing, folders) = match entries(path, shown.clone()) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(&shown, &error),
        };
        match self.take(listing) {
            None | Some(FoldersBelow::None) => {}
            Some(FoldersBelow::AllBut(others)) => {
                for other in others.iter().filter(|other| path.join(other).is_dir()) {
                    let shown = told_below(&shown, other);
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
            self.walk(&path.join(&name), told_below(&shown, &name), depth + 1);
        }
    }

    /// Takes the files of a folder; returns its remaining contents if it is of a known kind.
    fn take(&mut self, mut listing: FolderListing) -> Option<FoldersBelow> {
        let mut takes_below = None;
        for FolderKind { kind, is, takes, below } in folder_kinds() {
            if !is(&listing) {
                continue;
            }
            takes_below = takes_below.filter(|known| *known != FoldersBelow::None).or(Some(below));
            self.folders.push((kind, listing.part(takes)));
            listing.names.retain(|name| !takes(name));
        }
        let FolderListing { path, shown, names } = listing;
        self.files.extend(names.into_iter().map(|name| FoundFile {
            path: path.join(&name),
            shown: told_below(&shown, &name),
            is_named: false,
        }));
        takes_below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("receipts/run/bagit.txt", ""),
            ("receipts/run/data/logs/train.jsonl", "{}"),
            ("receipts/run/data/models/small/config.json", "{}"),
            ("model/config.json", "{\"model_type\": \"llama\"}"),
            ("model/README.md", "# A card"),
            ("model/notes.txt", "notes"),
            ("results.json", "{}"),
            ("rest/data/log.csv", ""),
            ("other/log.csv", ""),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("results.json", folder.path().join("link.json")).unwrap();
        folder
    }

    /// The documents of the named files, relative to the project.
    fn changed(names: &[&str]) -> (Vec<(&'static str, String)>, Vec<String>) {
        let folder = project();
        let paths: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
        let found = find_changed(&paths);
        let short = |path: &Path| path.strip_prefix(folder.path()).unwrap().display().to_string();
        assert!(found.failures.is_empty());
        assert!(found.files.iter().all(|file| !file.is_named));
        let folders = found.folders.iter().map(|(kind, part)| (kind.id, short(&part.path)));
        (folders.collect(), found.files.iter().map(|file| short(&file.path)).collect())
    }

    #[test]
    fn a_changed_file_is_checked_with_what_it_belongs_to() {
        let (folders, files) =
            changed(&["receipts/run/data/logs/train.jsonl", "model/README.md", "results.json"]);
        assert_eq!(folders, [("bundle", "receipts/run".into()), ("model-folder", "model".into())]);
        assert_eq!(files, ["results.json"]);
    }

    #[test]
    fn a_file_that_is_gone_still_belongs_to_its_folder() {
        let (folders, files) =
            changed(&["receipts/run/data/gone.csv", "model/model.safetensors", "gone.json"]);
        assert_eq!(folders, [("bundle", "receipts/run".into()), ("model-folder", "model".into())]);
        assert!(files.is_empty());
    }

    #[test]
    fn a_bundle_whose_declaration_is_deleted_is_one_as_long_as_something_is_left() {
        let (folders, files) = changed(&["rest/bagit.txt", "rest/data/log.csv"]);
        assert_eq!(folders, [("bundle", "rest".into())]);
        assert!(files.is_empty());
        let (folders, files) = changed(&["other/bagit.txt", "other/log.csv"]);
        assert!(folders.is_empty());
        assert_eq!(files, ["other/log.csv"]);
        // A folder that lost nothing keeps its kind.
        let (folders, _) = changed(&["rest/data/log.csv"]);
        assert!(folders.is_empty());
    }

    #[test]
    fn what_a_folder_leaves_is_for_itself() {
        let (folders, files) =
            changed(&["model/notes.txt", "receipts/run/data/models/small/config.json"]);
        assert!(folders.is_empty(), "{folders:?}");
        assert_eq!(files, ["model/notes.txt", "receipts/run/data/models/small/config.json"]);
    }

    #[test]
    fn links_and_folders_are_passed_over_and_each_thing_is_looked_at_once() {
        let (folders, files) = changed(&["link.json", "model", "results.json", "results.json"]);
        assert!(folders.is_empty());
        assert_eq!(files, ["results.json"]);
        let (folders, _) = changed(&["model/README.md", "model/config.json"]);
        assert_eq!(folders.len(), 1);
    }
}
