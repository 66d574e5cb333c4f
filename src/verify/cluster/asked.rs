//! The request behind a plan: the arguments of `repro verify` that a report depends on.

use repro_core::digest::Digest;
use repro_model::challenge::Challenge;
use serde::{Deserialize, Serialize};

/// A file that an option names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedFile {
    /// The option: `--text`, `--pubkey`, ...
    pub option: String,
    /// The path, as it was written.
    pub path: String,
    /// The digest of its bytes.
    pub sha256: Digest,
}

/// A challenge, and the file that it was read from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedChallenge {
    /// The file.
    pub file: String,
    /// Its contents.
    pub challenge: Challenge,
}

/// The requested report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The posts, sorted.
    pub posts: Vec<String>,
    /// The folders of bundles, each once.
    pub bundles: Vec<String>,
    /// Whether the steps that posts and slices ask for are executed.
    pub replays: bool,
    /// Challenges of the bundles.
    pub challenges: Vec<AskedChallenge>,
    /// The files that options name.
    pub files: Vec<AskedFile>,
    /// A folder with files that receipts name and bundles do not hold.
    pub artifacts: Option<String>,
    /// The weakest origin that counts, by its word.
    pub min_origin: Option<String>,
    /// The weakest method that counts, by its word.
    pub min_method: Option<String>,
    /// The weakest reading that counts, by its word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_reading: Option<String>,
    /// Whether a number of a text that is bound to nothing fails.
    pub all_bound: bool,
}

impl Asked {
    /// The paths that an option names.
    pub fn paths<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.files.iter().filter(move |file| file.option == option);
        own.map(|file| file.path.as_str())
    }
}
