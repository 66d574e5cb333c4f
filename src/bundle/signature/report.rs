//! The verdict on a signature. Data only.

use serde::{Deserialize, Serialize};

use repro_core::Verdict;
use repro_core::source::Code;

/// Who says that a key is an author's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinnedBy {
    /// Whoever runs the program.
    Caller,
    /// The author of the post, who may vouch for themselves only.
    Author,
}

/// The verdict on a bundle's signature. It is judged apart from the claims: it shows who vouches for the
/// files, and nothing about what follows from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureReport {
    /// Verified where a pinned key signed these files; unchecked where nobody pinned a key.
    pub verdict: Verdict,
    /// The identity of the key, `sha256:…`, as far as one is known.
    pub key: Option<String>,
    /// Who pinned it.
    pub pinned_by: Option<PinnedBy>,
    /// The kind of finding, where it is not verified.
    pub code: Option<&'static Code>,
    /// Why, where it is not verified.
    pub reason: String,
}
