//! Document kinds: how each is recognized and read, and its consistency checks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use repro_core::source::{Document, Error, Node, Source};
use repro_verify::verify::TracedBundle;

use crate::check::asked::AskedRelation;
use crate::check::stated::StatedRow;
pub use crate::check::table::{NO_RELATIONS, RelationTable};

/// A kind of document.
#[derive(Debug)]
pub struct DocumentKind {
    /// Its name in reports and options.
    pub id: &'static str,
    /// A description of one document.
    pub what: &'static str,
    /// How it is recognized and read.
    pub reads: Reads,
    /// Its consistency checks.
    pub relations: &'static RelationTable,
    /// Checks between documents: the table whose rows can appear again in a different document, the key that identifies
    /// a row, and the checks between the copies.
    pub twins: Option<Twins>,
}

/// Rows in several documents about one subject. Kinds with the same checks share their subjects.
#[derive(Debug)]
pub struct Twins {
    pub table: &'static str,
    pub identity: &'static str,
    pub relations: &'static RelationTable,
}

/// How a kind of document is recognized and read.
#[derive(Debug)]
pub enum Reads {
    /// A JSON document.
    Json { is: fn(Node<'_>) -> bool, read: fn(&Document) -> StatedRow },
    /// JSON lines, recognized by the first line.
    Lines { is: fn(Node<'_>) -> bool, read: fn(&Document) -> StatedRow },
    /// A text, recognized by its name and content.
    Text { is: fn(&str, &str) -> bool, read: fn(&Arc<Source>) -> StatedRow },
    /// A folder, recognized by its file names; it takes the files that the second function selects.
    Folder {
        is: fn(&FolderListing) -> bool,
        takes: fn(&str) -> bool,
        below: FoldersBelow,
        read: fn(&FolderListing) -> Result<FolderAnswer, Error>,
    },
}

/// The subfolders that belong to a recognized folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldersBelow {
    /// None: each subfolder is examined separately.
    None,
    /// All except these paths below it.
    AllBut(&'static [&'static str]),
}

impl FoldersBelow {
    /// Whether a file in a subfolder belongs to the recognized folder.
    pub fn holds(self, folder: &Path, file: &Path) -> bool {
        match self {
            Self::None => false,
            Self::AllBut(others) => {
                !others.iter().any(|other| file.starts_with(folder.join(other)))
            }
        }
    }
}

/// The contents of a folder.
#[derive(Debug, Default)]
pub struct FolderAnswer {
    pub row: StatedRow,
    /// Results of checks that are not formulas.
    pub asked: Vec<AskedRelation>,
    /// The fingerprint of its run, if it is one.
    pub trace: Option<TracedBundle>,
    /// Files in it that cannot be read; the others are checked.
    pub failures: Vec<Error>,
}

impl From<StatedRow> for FolderAnswer {
    fn from(row: StatedRow) -> Self {
        Self { row, ..Self::default() }
    }
}

/// The hidden folder of a model in which the Hugging Face Hub keeps results.
pub const EVAL_RESULTS: &str = ".eval_results";
/// Folders that contain no results.
pub const PASSED_OVER: &[&str] =
    &["node_modules", "target", "__pycache__", "venv", "site-packages"];

/// A path for messages, without a leading `.`.
pub fn told_below(shown: &str, name: &str) -> String {
    let shown = if shown == "." { Path::new("") } else { Path::new(shown) };
    shown.join(name).display().to_string()
}

/// A folder and the sorted names of its regular files.
#[derive(Debug, Clone)]
pub struct FolderListing {
    pub path: PathBuf,
    /// The path for messages.
    pub shown: String,
    pub names: Vec<String>,
}

impl FolderListing {
    /// Whether it has a file with this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// A copy restricted to the selected files.
    pub fn part(&self, takes: impl Fn(&str) -> bool) -> Self {
        let names = self.names.iter().filter(|name| takes(name)).cloned().collect();
        Self { path: self.path.clone(), shown: self.shown.clone(), names }
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path of one of its files for messages.
    pub fn told(&self, name: &str) -> String {
        told_below(&self.shown, name)
    }
}
