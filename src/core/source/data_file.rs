//! Data files that are compiled into the program: TOML files of the source tree, each parsed once.

use std::sync::OnceLock;

use super::{Document, Node, Source};

/// A file of the source tree. Tests of the modules that use a file read all of it, so no build contains one that cannot be
/// read.
#[derive(Debug)]
pub struct DataFile {
    name: &'static str,
    text: &'static str,
    document: OnceLock<Option<Document>>,
}

impl DataFile {
    /// A file with this text.
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text, document: OnceLock::new() }
    }

    /// Its text.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Its tables.
    pub fn root(&'static self) -> Option<Node<'static>> {
        let read = || {
            let source = Source::new(self.name, self.text.as_bytes().to_vec()).ok()?;
            Document::parse_toml(source).ok()
        };
        self.document.get_or_init(read).as_ref().map(Document::root)
    }
}
