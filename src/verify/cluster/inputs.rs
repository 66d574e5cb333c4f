//! Compares the inputs that lie here with those that results say they judged. What does not lie here cannot be compared.

use std::path::Path;

use crate::page::PostPage;
use crate::texts;
use repro_bundle::bundle::{Bundle, ReadOptions};
use repro_core::digest::Digest;
use repro_core::source::{Error, Source};
use repro_report::outcome::PostReport;

use crate::cluster::execute::is_planned;

/// Rejects a bundle that is not the judged one any more. All of its files are read: an edit without a new manifest leaves
/// the digest of the bundle as it was.
pub fn check_bundle(path: &Path, shown: &str, judged: Option<Digest>) -> Result<(), Error> {
    if !path.exists() {
        return Ok(());
    }
    let found = Bundle::load_folder(path, shown, None, ReadOptions::from(1))?;
    is_planned(judged, found.digest(), shown)
}

/// Rejects a post, or a text of it, that is not the judged one any more.
pub fn check_post(root: &Path, id: &str, post: &PostReport) -> Result<(), Error> {
    if !root.join(format!("repro/{id}.toml")).exists() {
        return Ok(());
    }
    let page = PostPage::load(root, id)?;
    is_planned(Digest::parse_prefixed(&post.digest), page.digest(), page.file())?;
    for text in &page.texts {
        let judged = post.texts.iter().find(|judged| judged.id == text.id);
        let judged = judged.and_then(|judged| Digest::parse_prefixed(judged.digest.as_deref()?));
        let Some(file) = text.file.as_deref().and_then(texts::inside) else { continue };
        let path = root.join(&file);
        if judged.is_some() && path.exists() {
            let found = Source::load_plain(&path, &*file)?;
            is_planned(judged, Digest::of(found.text().as_bytes()), &file)?;
        }
    }
    Ok(())
}
