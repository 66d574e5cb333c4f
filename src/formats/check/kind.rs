//! What a kind of document is: how it is recognised, read, and what must hold in it.

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
    /// What one of them is, in words.
    pub what: &'static str,
    /// How it is recognised and read.
    pub reads: Reads,
    /// What must hold in it.
    pub relations: &'static RelationTable,
    /// The table whose rows may be told again in another document, the name of what makes two rows one, and what must hold
    /// between them.
    pub twins: Option<Twins>,
}

/// Rows of several documents that tell of one thing; kinds with the same relations tell of the same things.
#[derive(Debug)]
pub struct Twins {
    pub table: &'static str,
    pub identity: &'static str,
    pub relations: &'static RelationTable,
}

/// How a kind of document is recognised and read.
#[derive(Debug)]
pub enum Reads {
    /// A JSON document.
    Json { is: fn(Node<'_>) -> bool, read: fn(&Document) -> StatedRow },
    /// JSON lines, recognised by the first of them.
    Lines { is: fn(Node<'_>) -> bool, read: fn(&Document) -> StatedRow },
    /// A text, recognised by its name and by what it says.
    Text { is: fn(&str, &str) -> bool, read: fn(&Arc<Source>) -> StatedRow },
    /// A folder, recognised by the names of its files; it takes those that the second function picks.
    Folder {
        is: fn(&FolderListing) -> bool,
        takes: fn(&str) -> bool,
        below: FoldersBelow,
        read: fn(&FolderListing) -> Result<FolderAnswer, Error>,
    },
}

/// What of the folders in a folder that was recognised belongs to it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldersBelow {
    /// None: each is looked at for itself.
    None,
    /// All but those at these paths in it, where there are such.
    AllBut(&'static [&'static str]),
}

impl FoldersBelow {
    /// Whether a file in a folder below belongs to the folder that was recognised.
    pub fn holds(self, folder: &Path, file: &Path) -> bool {
        match self {
            Self::None => false,
            Self::AllBut(others) => {
                !others.iter().any(|other| file.starts_with(folder.join(other)))
            }
        }
    }
}

/// What was read from a folder.
#[derive(Debug, Default)]
pub struct FolderAnswer {
    pub row: StatedRow,
    /// What was asked of it by other means than relations of its kind.
    pub asked: Vec<AskedRelation>,
    /// What tells its run from others, where it is one.
    pub trace: Option<TracedBundle>,
    /// Files of it that cannot be read; the others are checked.
    pub failures: Vec<Error>,
}

impl From<StatedRow> for FolderAnswer {
    fn from(row: StatedRow) -> Self {
        Self { row, ..Self::default() }
    }
}

/// The hidden folder of a model in which the hub keeps results.
pub const EVAL_RESULTS: &str = ".eval_results";
/// Folders that hold no results.
pub const PASSED_OVER: &[&str] =
    &["node_modules", "target", "__pycache__", "venv", "site-packages"];

/// A path below one that is told, which is left out where it says nothing.
pub fn told_below(shown: &str, name: &str) -> String {
    let shown = if shown == "." { Path::new("") } else { Path::new(shown) };
    shown.join(name).display().to_string()
}

/// A folder and the names of its plain files, in order.
#[derive(Debug, Clone)]
pub struct FolderListing {
    pub path: PathBuf,
    /// As it is told.
    pub shown: String,
    pub names: Vec<String>,
}

impl FolderListing {
    /// Whether it has a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The same with those of its files that are taken.
    pub fn part(&self, takes: impl Fn(&str) -> bool) -> Self {
        let names = self.names.iter().filter(|name| takes(name)).cloned().collect();
        Self { path: self.path.clone(), shown: self.shown.clone(), names }
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// How one of its files is told.
    pub fn told(&self, name: &str) -> String {
        told_below(&self.shown, name)
    }
}
