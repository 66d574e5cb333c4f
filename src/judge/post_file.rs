//! Post files of either form.

use std::path::Path;

use repro_receipt::source::Error;

use crate::page::PostPage;
use crate::post::{self, Post};

/// A post file in either of its two forms.
#[derive(Debug)]
pub enum PostFile {
    /// With claims by kind.
    Kinds(Post),
    /// In the language of claims.
    Language(PostPage),
}

impl PostFile {
    /// Reads `repro/<id>.toml` below `root`.
    pub fn load(root: &Path, id: &str) -> Result<Self, Error> {
        let document = post::open(root, id)?;
        match PostPage::is_one(&document) {
            true => PostPage::parse(document).map(Self::Language),
            false => Post::of_document(document).map(Self::Kinds),
        }
    }
}
