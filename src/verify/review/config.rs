//! `repro/config.toml`: what a project asks of reviews, and whose count.

use std::collections::BTreeSet;
use std::path::Path;

use repro_bundle::signature::PublicKey;
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Node, Source, codes};
use repro_report::outcome::ReadBy;

use super::record::MOST_NAME;

codes! {
    BAD_CONFIG = "config::bad-value", "unknown value in `repro/config.toml`", "see `docs/reference/formats/config.md`";
}

/// The name of the file.
pub const FILE: &str = "repro/config.toml";

/// A reviewer whose signature counts.
#[derive(Debug, Clone)]
pub struct ListedReviewer {
    /// The name for reports.
    pub name: String,
    /// The key.
    pub key: PublicKey,
}

/// A project's requirements for reviews.
#[derive(Debug, Clone, Default)]
pub struct ReviewPolicy {
    /// The identities of the authors' keys: their approval shows no more than the post does.
    pub authors: BTreeSet<Digest>,
    /// Whose signatures count.
    pub reviewers: Vec<ListedReviewer>,
    /// Whether what a listed reviewer had a model judge counts.
    pub counts_models: bool,
    /// The weakest reading that counts as verified, where the caller asks for none.
    pub min_reading: Option<ReadBy>,
}

impl ReviewPolicy {
    /// The policy of a project; one without the file has none.
    pub fn load(root: &Path) -> Result<Self, Error> {
        let path = root.join(FILE);
        if path.symlink_metadata().is_err() {
            return Ok(Self::default());
        }
        Self::parse(&Document::parse_toml(Source::load_plain(&path, FILE)?)?)
    }

    /// Reads the file.
    pub fn parse(document: &Document) -> Result<Self, Error> {
        let root = document.root();
        root.only(&["review"])?;
        let Some(review) = root.get("review") else { return Ok(Self::default()) };
        review.only(&["authors", "reviewers", "models", "min_reading"])?;
        let mut policy = Self::default();
        for node in entries(review, "authors")? {
            policy.authors.insert(identity(node)?);
        }
        for node in entries(review, "reviewers")? {
            policy.reviewers.push(reviewer(node)?);
        }
        if let Some(models) = review.get("models") {
            models.only(&["count"])?;
            policy.counts_models = models.required("count")?.truth()?;
        }
        policy.min_reading = review.get("min_reading").map(reading).transpose()?;
        Ok(policy)
    }

    /// The listed reviewer with a key of this identity.
    pub fn reviewer(&self, key: Digest) -> Option<&ListedReviewer> {
        self.reviewers.iter().find(|one| one.key.id() == key)
    }
}

/// The entries of a list of keys.
fn entries<'a>(review: Node<'a>, list: &str) -> Result<Vec<Node<'a>>, Error> {
    review.get(list).map_or(Ok(Vec::new()), |list| Ok(list.items()?.collect()))
}

fn reviewer(node: Node) -> Result<ListedReviewer, Error> {
    node.only(&["name", "key"])?;
    let name = node.required("name")?;
    let length = name.text()?.chars().count();
    if length == 0 || length > MOST_NAME {
        let expected = format!("a name of 1 to {MOST_NAME} characters");
        return Err(BAD_CONFIG.at(name.place(), expected, format!("{length}")));
    }
    let key = node.required("key")?;
    let key = PublicKey::parse(key.text()?, key.place())?;
    Ok(ListedReviewer { name: name.text()?.to_owned(), key })
}

/// The identity of a key: of the PEM, or written as `sha256:…`.
fn identity(node: Node) -> Result<Digest, Error> {
    match Digest::parse_prefixed(node.text()?) {
        Some(identity) => Ok(identity),
        None => Ok(PublicKey::parse(node.text()?, node.place())?.id()),
    }
}

fn reading(node: Node) -> Result<ReadBy, Error> {
    let word = node.text()?;
    serde_json::from_value(word.into()).map_err(|_| {
        let expected = "`drafted`, `author` or `reviewed`";
        BAD_CONFIG.at(node.place(), expected, format!("`{word}`"))
    })
}
