//! What each reader of strangers' bytes must keep, whatever the bytes are. A target is a function that takes
//! bytes and panics where a promise is broken; the fuzzers and the short run of `cargo test` call the same
//! functions.

pub mod bundle;
pub mod decimal;
pub mod document;
pub mod envelope;
pub mod gguf;
pub mod header;
pub mod import;
pub mod json;
pub mod post;
pub mod project;
#[path = "../../corpus/sealed.rs"]
pub mod sealed;
pub mod tables;
pub mod timestamp;
mod tree;
pub mod work;

use repro_core::source::Error;
use sealed::{new_folder, sealed, sealed_into};

/// A reader under test.
pub struct Target {
    /// Its name: of the fuzzer, of the folder of seeds and of the dictionary.
    pub name: &'static str,
    /// Reads the bytes and panics where a promise is broken.
    pub check: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "bundle", check: bundle::check },
    Target { name: "decimal", check: decimal::check },
    Target { name: "document", check: document::check },
    Target { name: "envelope", check: envelope::check },
    Target { name: "gguf", check: gguf::check },
    Target { name: "header", check: header::check },
    Target { name: "import", check: import::check },
    Target { name: "json", check: json::check },
    Target { name: "post", check: post::check },
    Target { name: "project", check: project::check },
    Target { name: "tables", check: tables::check },
    Target { name: "timestamp", check: timestamp::check },
    Target { name: "work", check: work::check },
];

/// A refusal says what was expected and found, where, and what to do; the place lies in `text`, where the
/// refusal is about a text.
fn refused(error: &Error, text: Option<&[u8]>) {
    assert!(!error.expected.is_empty() && !error.found.is_empty(), "{error:?}");
    assert!(!error.help.is_empty() && !error.place.file.is_empty(), "{error:?}");
    assert!(error.to_string().contains(error.code.id));
    if let Some(text) = text {
        let lines = text.split(|&byte| byte == b'\n').count();
        assert!(error.place.line <= lines, "{error:?} beyond {lines} lines");
    }
}
