//! The local place of a path or a URL that somebody passes, and its name in messages.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::bundle::ReadOptions;
use repro_core::source::{Error, Location};

use crate::storage::NOT_WRITTEN;
use crate::storage::address::local_path;
use crate::storage::bundle::fetch_bundle;
use crate::storage::head::fetch_head;
use crate::storage::store::Store;

/// A file or a folder of this machine. One that was fetched goes away with it.
#[derive(Debug)]
pub struct Located {
    /// Where it is.
    pub path: PathBuf,
    /// Its name in messages: its path as passed, or its URL.
    pub shown: String,
    fetched: Option<TempDir>,
}

impl Located {
    /// A bundle, of which all is fetched.
    pub fn bundle(named: &Path) -> Result<Self, Error> {
        Self::of(named, fetch_bundle)
    }

    /// A file of a model, of which what is fetched tells what the model is, and not its weights.
    pub fn model(named: &Path) -> Result<Self, Error> {
        Self::of(named, fetch_head)
    }

    fn of(
        named: &Path,
        fetch: impl Fn(&Store, &str, &Path) -> Result<PathBuf, Error>,
    ) -> Result<Self, Error> {
        // A path that is no text is no URL.
        let here = named.to_str().map_or_else(|| Ok(Some(named.to_owned())), local_path)?;
        if let Some(path) = here {
            let shown = path.display().to_string();
            return Ok(Self { path, shown, fetched: None });
        }
        let (store, name) = Store::of_object(&named.to_string_lossy())?;
        let folder = temporary()?;
        let path = fetch(&store, &name, folder.path())?;
        Ok(Self { path, shown: format!("{}/{name}", store.shown()), fetched: Some(folder) })
    }

    /// Whether it was fetched, and so is as it was there.
    pub fn is_fetched(&self) -> bool {
        self.fetched.is_some()
    }

    /// How it is read if it is a bundle. What was fetched is not remembered: its files are new each time.
    pub fn reading<'a>(&'a self, reading: ReadOptions<'a>) -> ReadOptions<'a> {
        let cache = if self.fetched.is_some() { None } else { reading.cache };
        ReadOptions { cache, named: Some(&self.shown), ..reading }
    }
}

/// Whether what somebody names is another thing than the path that it is: a URL, or one that is refused.
pub fn is_url(named: &Path) -> bool {
    named.to_str().is_some_and(|text| local_path(text) != Ok(Some(named.to_owned())))
}

/// A folder that belongs to this process alone.
fn temporary() -> Result<TempDir, Error> {
    tempfile::Builder::new().prefix("repro-").tempdir().map_err(|error| {
        let place = Location::file("temporary folder");
        NOT_WRITTEN.at(place, "a new temporary folder", error.to_string())
    })
}
