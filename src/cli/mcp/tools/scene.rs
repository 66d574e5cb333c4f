//! Where a call is answered: what it may read, and its private folder.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::super::BAD_ARGUMENTS;
use super::super::roots::ReadableRoots;
use super::super::staged::{InlineDocument, PrivateFolder};
use repro_core::source::{Error, Location};

/// The columns of reports in answers.
pub const WIDTH: usize = 100;

/// The context of a tool.
pub struct ToolScene<'s> {
    pub roots: &'s ReadableRoots,
    pub folder: PrivateFolder<'s>,
}

impl ToolScene<'_> {
    /// The paths that are to be read: as named, where they are confined, or of documents that the call holds itself.
    pub fn inputs(
        &self,
        paths: Vec<PathBuf>,
        documents: &[InlineDocument],
        confine: impl FnOnce(&ReadableRoots, &[PathBuf]) -> Result<(), Vec<Error>>,
    ) -> Result<Vec<PathBuf>, Vec<Error>> {
        match (paths.is_empty(), documents.is_empty()) {
            (false, true) => {
                confine(self.roots, &paths)?;
                Ok(paths)
            }
            (true, false) => {
                let folder = self.folder.lay(documents).map_err(|error| vec![error])?;
                Ok(vec![folder])
            }
            (true, true) => Err(odd("either `paths` or `documents`", "neither")),
            (false, false) => Err(odd("either `paths` or `documents`", "both")),
        }
    }
}

/// The arguments of a tool, read strictly: a list holds something, or is left out.
pub fn arguments<T: DeserializeOwned>(arguments: Json) -> Result<T, Vec<Error>> {
    let is_empty = |value: &Json| value.as_array().is_some_and(Vec::is_empty);
    let mut given = arguments.as_object().into_iter().flatten();
    if let Some((name, _)) = given.find(|(_, value)| is_empty(value)) {
        return Err(odd("non-empty lists", format!("an empty `{name}`")));
    }
    serde_json::from_value(arguments)
        .map_err(|error| odd("the arguments in the input schema", error.to_string()))
}

/// Rejects arguments that do not go together.
pub fn odd(expected: &str, found: impl Into<String>) -> Vec<Error> {
    vec![BAD_ARGUMENTS.at(Location::file("arguments"), expected, found)]
}
