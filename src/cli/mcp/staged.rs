//! Documents that a call holds itself: they are laid into its private folder, the only place where anything is written.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{BAD_ARGUMENTS, BAD_NAME, NO_ANSWER};
use repro_core::source::{Error, Location};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most documents of one call, and the longest name of one in bytes.
const MOST: usize = 64;
const LONGEST_NAME: usize = 200;

/// A document as a call holds it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlineDocument {
    pub name: String,
    pub text: String,
}

/// The private folder of a call.
#[derive(Debug)]
pub struct PrivateFolder<'f>(pub &'f Path);

impl PrivateFolder<'_> {
    /// Lays documents into a folder `inline` and makes this one the place where relative paths start, so that reports
    /// name the documents as the call does. Answers that folder.
    pub fn lay(&self, documents: &[InlineDocument]) -> Result<PathBuf, Error> {
        if documents.is_empty() || documents.len() > MOST {
            let expected = format!("1 to {MOST} documents");
            return Err(BAD_ARGUMENTS.at(
                Location::file("documents"),
                expected,
                documents.len().to_string(),
            ));
        }
        for document in documents {
            if !is_plain(&document.name) {
                let found = format!("`{}`", document.name);
                return Err(BAD_NAME.at(Location::file("documents"), "a plain file name", found));
            }
            let inside = Path::new("inline").join(&document.name);
            if self.0.join(&inside).exists() {
                let found = format!("`{}` twice", document.name);
                return Err(BAD_NAME.at(Location::file("documents"), "each name once", found));
            }
            self.write(&inside, &document.text)?;
        }
        std::env::set_current_dir(self.0).map_err(|error| lost(self.0, &error))?;
        Ok(PathBuf::from("inline"))
    }

    /// Writes a file, and the folders above it, into the private folder.
    pub fn write(&self, name: &Path, text: &str) -> Result<(), Error> {
        let path = self.0.join(name);
        let folder = path.parent().unwrap_or(self.0);
        may_write(true);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        may_write(false);
        written.map_err(|error| lost(name, &error))
    }
}

fn lost(path: &Path, error: &std::io::Error) -> Error {
    let place = Location::file(path.display().to_string());
    NO_ANSWER.at(place, "a private folder for the documents of the call", error.to_string())
}

/// Whether this process may write to files: where it may not, the system ends it when it tries.
pub fn may_write(may: bool) {
    let limit = getrlimit(Resource::Fsize);
    let current = if may { limit.maximum } else { Some(0) };
    // Lowering a limit, and raising it to what it was, is always allowed.
    let _ = setrlimit(Resource::Fsize, Rlimit { current, ..limit });
}

/// Whether a name is that of a file in a folder, and leads nowhere else.
fn is_plain(name: &str) -> bool {
    let is_sign = |c: char| c == '/' || c == '\\' || c.is_control();
    !name.starts_with('.')
        && !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.contains(is_sign)
}
