//! Recognises results as people publish them, and recomputes everything in them that follows from anything else.
//!
//! Owns the kinds of documents (a file each in `kinds`: how it is recognised and what must hold in it), finding them below paths, and
//! the report of what does not hold. Formulas are left to `relation`, parameter counts to `params`, bundles to `verify`.

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
    NOTHING_KNOWN = "check::nothing-known", "no file of a known kind was found", "see `repro explain check` for the supported kinds";
    NOTHING_ASKED = "check::nothing-asked", "the document contains nothing to check against", "add the config beside the results";
    INTACT = "check::bundle", "a bundle matches its manifests and receipt", "nothing to do";
    TOO_MANY = "check::too-many-files", "a folder contains too many files", "pass the subfolders one by one";
    TOO_DEEP = "check::too-deep", "a folder is nested too deeply", "pass an inner folder";
}

/// What is to be checked, and how.
#[derive(Debug, Default)]
pub struct CheckOptions {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// Whether they are files that somebody changed, of which few need be of a kind that is known.
    pub is_change: bool,
    /// How many files are read at a time; the answer does not depend on it.
    pub threads: usize,
}

/// Recognises what lies at the paths and holds it against itself.
pub fn check(options: &CheckOptions) -> CheckReport {
    let found = match options.is_change {
        true => find::find_changed(&options.paths),
        false => find::find(&options.paths),
    };
    read::read(found, options)
}

/// The same of folders whose files the caller has named one by one: not to know one is a failure.
pub fn check_named(options: &CheckOptions) -> CheckReport {
    let mut found = find::find(&options.paths);
    for file in &mut found.files {
        file.is_named = true;
    }
    read::read(found, options)
}

/// All kinds and their relations, for people.
pub fn listed() -> String {
    let mut text = String::new();
    for kind in KINDS {
        text.push_str(&format!("{}: {}\n", kind.id, kind.what));
        let twins = kind.twins.as_ref().map_or(&[][..], |twins| twins.relations.all());
        for relation in kind.relations.all().iter().chain(twins) {
            text.push_str(&format!("  {}\n    {}\n", relation.code.id, relation.says));
            if !relation.when.is_empty() {
                text.push_str(&format!("    where {}\n", relation.when.join(" and ")));
            }
            text.push_str(&format!("    from {}\n", relation.source));
        }
        text.push('\n');
    }
    text
}

/// The codes of all kinds. Kinds of one family share relations: each code is there once.
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
