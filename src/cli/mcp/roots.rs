//! Which files a call may read: those below the project and the folders that the command line names, and no link that
//! leads out of them.

use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::path::{Component, Path, PathBuf};

use super::super::NO_ROOT;
use super::{NO_FOLDER, OUTSIDE, TOO_MANY_FILES};
use repro_core::source::{Error, Location, UNREADABLE};

/// The most files and folders below the paths of one call, and how deep they may lie.
const MOST_FILES: usize = 50_000;
const DEEPEST: usize = 40;

/// The folders whose files may be read.
#[derive(Debug)]
pub struct ReadableRoots {
    /// The project, from which paths of calls start,
    pub project: PathBuf,
    /// and what else may be read, all without links.
    pub others: Vec<PathBuf>,
}

impl ReadableRoots {
    /// The project is the folder named, else the nearest that holds `repro/`, else the current folder.
    pub fn of(project: Option<&Path>, allowed: &[PathBuf]) -> Result<Self, Vec<Error>> {
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let nearest = || here.ancestors().find(|folder| folder.join("repro").is_dir());
        let project = project.or_else(nearest).unwrap_or(&here);
        let real = |folder: &Path| match folder.canonicalize() {
            Ok(real) if real.is_dir() => Ok(real),
            _ => Err(vec![NO_FOLDER.at(file(folder), "a folder", "none")]),
        };
        let others = allowed.iter().map(|folder| real(folder)).collect::<Result<_, _>>()?;
        Ok(Self { project: real(project)?, others })
    }

    /// Rejects paths that lead out, or below which a link does, or too many files lie. Relative ones start at the project.
    pub fn confine(&self, paths: &[PathBuf]) -> Result<(), Vec<Error>> {
        let mut walk = ConfinedWalk { roots: self, left: MOST_FILES, seen: BTreeSet::new() };
        let errors: Vec<_> = paths.iter().filter_map(|path| walk.path(path).err()).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// The same where a file is read without what is next to it.
    pub fn confine_alone(&self, paths: &[PathBuf]) -> Result<(), Vec<Error>> {
        let real = |path: &PathBuf| self.real(path).map_err(|error| vec![error]);
        let is_folder = |path: &&PathBuf| self.project.join(path).is_dir();
        paths.iter().try_for_each(|path| real(path).map(drop))?;
        self.confine(&paths.iter().filter(is_folder).cloned().collect::<Vec<_>>())
    }

    /// Refuses to go on where the project is none, or its posts and bundles lead out of it.
    pub fn confine_project(&self) -> Result<&Path, Vec<Error>> {
        let [posts, bundles] = ["repro", "receipts"].map(|name| self.project.join(name));
        if !posts.is_dir() {
            let expected = "a folder that contains `repro/`";
            return Err(vec![NO_ROOT.at(file(&self.project), expected, "none")]);
        }
        self.confine(&[posts])?;
        if bundles.exists() {
            self.confine(&[bundles])?;
        }
        Ok(&self.project)
    }

    /// The path without links. Nothing is said of what lies outside, not even whether it is there.
    fn real(&self, path: &Path) -> Result<PathBuf, Error> {
        let whole = self.project.join(path);
        match whole.canonicalize() {
            Ok(real) if self.holds(&real) => Ok(real),
            Err(error) if self.holds(&without_dots(&whole)) => {
                Err(UNREADABLE.at(file(path), "a file or a folder", error.to_string()))
            }
            _ => Err(OUTSIDE.at(file(path), self.told(), "a folder outside the project")),
        }
    }

    fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.project) || self.others.iter().any(|other| path.starts_with(other))
    }

    fn told(&self) -> String {
        let all = std::iter::once(&self.project).chain(&self.others);
        let all: Vec<_> = all.map(|root| format!("`{}`", root.display())).collect();
        format!("a path below {}", all.join(" or "))
    }
}

/// A walk below the paths of one call.
struct ConfinedWalk<'r> {
    roots: &'r ReadableRoots,
    /// How many files may still be met.
    left: usize,
    /// The folders that were walked: links may lead around.
    seen: BTreeSet<PathBuf>,
}

impl ConfinedWalk<'_> {
    fn path(&mut self, path: &Path) -> Result<(), Error> {
        let real = self.roots.real(path)?;
        if real.is_dir() {
            return self.folder(real, path, 0);
        }
        // What an index of a store lists may lie in folders next to it.
        let is_lines = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl"));
        if let (true, Some(folder)) = (is_lines, real.parent()) {
            return self.folder(folder.to_owned(), path, 0);
        }
        // What is next to a file may be read with it: the shards of an index, the config of weights.
        let beside = real.parent().map(std::fs::read_dir);
        for entry in beside.into_iter().flatten().flatten().flatten().take(MOST_FILES) {
            self.target(&entry, path)?;
        }
        Ok(())
    }

    fn folder(&mut self, folder: PathBuf, shown: &Path, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            let expected = format!("folders at most {DEEPEST} levels deep");
            return Err(TOO_MANY_FILES.at(file(shown), expected, "deeper folders"));
        }
        let entries = std::fs::read_dir(&folder)
            .map_err(|error| UNREADABLE.at(file(shown), "a folder", error.to_string()))?;
        if !self.seen.insert(folder) {
            return Ok(());
        }
        for entry in entries.flatten() {
            let more = || TOO_MANY_FILES.at(file(shown), format!("at most {MOST_FILES}"), "more");
            self.left = self.left.checked_sub(1).ok_or_else(more)?;
            let shown = shown.join(entry.file_name());
            let Some(real) = self.target(&entry, &shown)? else { continue };
            if real.is_dir() && !is_passed_over(&entry) {
                self.folder(real, &shown, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The target of a folder entry after resolving links; none for a dangling link. A link that leads outside is rejected.
    fn target(&self, entry: &DirEntry, shown: &Path) -> Result<Option<PathBuf>, Error> {
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            return Ok(Some(entry.path()));
        }
        match entry.path().canonicalize() {
            Ok(real) if !self.roots.holds(&real) => {
                let found = format!("the link `{}`", entry.file_name().to_string_lossy());
                Err(OUTSIDE.at(file(shown), self.roots.told(), found))
            }
            real => Ok(real.ok()),
        }
    }
}

/// Folders into which `check` does not look either.
fn is_passed_over(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.starts_with('.') && name != repro_formats::check::EVAL_RESULTS
        || repro_formats::check::PASSED_OVER.contains(&&*name)
}

/// A path with `.` and `..` taken away by its words.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

fn file(path: &Path) -> Location {
    Location::file(path.display().to_string())
}
