//! Recognizes published results and recomputes every number that can be derived from others.
//!
//! Owns the document kinds (one file each in `kinds`, with recognition and checks), finding documents below paths, and
//! the report of failed checks. `relation` evaluates formulas, `params` counts parameters, `verify` checks bundles.

mod asked;
mod damaged;
mod drawn;
mod find;
mod kind;
mod kinds;
mod outcome;
mod read;
mod stated;
mod table;
mod words;

use std::path::PathBuf;

use repro_core::source::{Code, codes};

pub use asked::{AskedRelation, Broken, UsedValue};
pub use drawn::{json, text};
pub use kind::{DocumentKind, EVAL_RESULTS, PASSED_OVER};
pub use kinds::KINDS;
pub use outcome::{CheckReport, CheckedDocument};

codes! {
    NOTHING_KNOWN = "check::no-known-file", "no file of a known kind was found", "see `repro explain check` for the supported kinds";
    NOTHING_ASKED = "check::nothing-to-check", "the document contains nothing to check against", "add the config beside the results";
    INTACT = "check::intact-bundle", "a bundle matches its manifests and receipt", "nothing to do";
    TOO_MANY = "check::too-many-files", "a folder contains too many files", "pass the subfolders one by one";
    TOO_DEEP = "check::too-deep", "a folder is nested too deeply", "pass an inner folder";
}

/// The inputs of a check.
#[derive(Debug, Default)]
pub struct CheckOptions {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// Whether the paths are changed files, of which few need to be of a known kind.
    pub is_change: bool,
    /// The number of files to read in parallel; the answer does not depend on it.
    pub threads: usize,
}

/// Recognizes the documents at the paths and checks each for contradictions.
pub fn check(options: &CheckOptions) -> CheckReport {
    let found = match options.is_change {
        true => find::find_changed(&options.paths),
        false => find::find(&options.paths),
    };
    read::read(found, options)
}

/// Like [`check`], for files that the caller selected one by one: an unknown kind is a failure.
pub fn check_named(options: &CheckOptions) -> CheckReport {
    let mut found = find::find(&options.paths);
    for file in &mut found.files {
        file.is_named = true;
    }
    read::read(found, options)
}

/// All kinds and their checks, as text.
pub fn listed() -> String {
    let mut text = String::new();
    for kind in KINDS {
        text.push_str(&format!("{}: {}\n", kind.id, kind.what));
        let twins = kind.twins.as_ref().map_or(&[][..], |twins| twins.relations.all());
        for relation in kind.relations.all().iter().chain(twins) {
            text.push_str(&format!("  {}\n    {}\n", relation.code.id, relation.says));
            if !relation.when.is_empty() {
                text.push_str(&format!("    if {}\n", relation.when.join(" and ")));
            }
            text.push_str(&format!("    source: {}\n", relation.source));
        }
        text.push('\n');
    }
    text
}

/// The codes of all kinds. Kinds in one family share checks, so each code appears once.
pub fn codes() -> Vec<&'static Code> {
    let mut all = CODES.to_vec();
    for kind in KINDS {
        let twins = kind.twins.iter().flat_map(|twins| twins.relations.all());
        for relation in kind.relations.all().iter().chain(twins) {
            if !all.iter().any(|known| known.id == relation.code.id) {
                all.push(&relation.code);
            }
        }
    }
    all
}
