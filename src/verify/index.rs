//! `repro/index.lock`: which posts a project has, each with its number of claims.
//!
//! A lock guards its post and nothing guards the lock: deleting both, or moving them away, would leave nothing that fails. The
//! index has one sorted line a post, so that a post or a claim cannot go without a second file that says so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use repro_core::source::{Document, Error, Location, Source, codes};
use repro_report::outcome::PostReport;

use crate::{lock, post};

codes! {
    NO_INDEX = "index::missing", "the project has locks but no index of its posts", "write it with `repro verify --post all --write-lock`";
    NOT_LISTED = "index::not-listed", "a post has a lock but is not in the index", "add it with `repro verify --post ID --write-lock`";
    OTHER_COUNT = "index::claim-count-differs", "the number of claims in a post differs from the index", "restore the claims, or record the post again: `repro verify --post ID --write-lock`";
    WRONG_SCHEMA = "index::wrong-schema", "the index of posts has a different schema", "rewrite it with `repro verify --post all --write-lock`";
}

/// The schema id that the index opens with.
pub const SCHEMA: &str = "repro.index/1";

/// The posts of a project, and how many claims each has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostIndex {
    posts: BTreeMap<String, u64>,
}

/// The name of the index.
pub fn file() -> String {
    lock::file(post::INDEX)
}

impl PostIndex {
    /// The index of the project at `root`, if it has one.
    pub fn read(root: &Path) -> Result<Option<Self>, Error> {
        let path = root.join(file());
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        Self::parse(&Document::parse_toml(Source::load_plain(&path, file())?)?).map(Some)
    }

    fn parse(document: &Document) -> Result<Self, Error> {
        let root = document.root();
        root.only(&["schema", "posts"])?;
        let schema = root.required("schema")?;
        if schema.text()? != SCHEMA {
            let found = format!("`{}`", schema.text()?);
            return Err(WRONG_SCHEMA.at(schema.place(), format!("`{SCHEMA}`"), found));
        }
        let mut posts = BTreeMap::new();
        for (id, claims) in root.required("posts")?.members()? {
            posts.insert(id.to_owned(), claims.integer()?);
        }
        Ok(Self { posts })
    }

    /// Records a post as it was judged.
    pub fn record(&mut self, post: &PostReport) {
        self.posts.insert(post.id.clone(), post.claims.len() as u64);
    }

    /// Drops every post but these, and answers the names of those that were dropped.
    pub fn keep_only(&mut self, posts: &[PostReport]) -> Vec<String> {
        let is_gone = |id: &&String| posts.iter().all(|post| post.id != **id);
        let gone: Vec<String> = self.posts.keys().filter(is_gone).cloned().collect();
        self.posts.retain(|id, _| !gone.contains(id));
        gone
    }

    /// The text of the index, one line a post.
    pub fn render(&self) -> String {
        let line = |(id, claims): (&String, &u64)| {
            format!("{} = {claims}\n", serde_json::Value::from(id.as_str()))
        };
        let posts: String = self.posts.iter().map(line).collect();
        format!(
            "# Written by `repro verify --write-lock`: the posts, each with its number of claims.\nschema = \"{SCHEMA}\"\n\n[posts]\n{posts}"
        )
    }

    /// Rejects a judged post that is not listed, or has another number of claims.
    pub fn check(&self, post: &PostReport) -> Result<(), Error> {
        let found = post.claims.len() as u64;
        match self.posts.get(&post.id) {
            None => {
                let expected = format!("an entry for the post `{}`", post.id);
                Err(NOT_LISTED.at(Location::file(file()), expected, "none"))
            }
            Some(recorded) if *recorded != found => {
                let place = Location::file(format!("repro/{}.toml", post.id));
                let expected = format!("{recorded} claims, as recorded in `{}`", file());
                Err(OTHER_COUNT.at(place, expected, found.to_string()))
            }
            Some(_) => Ok(()),
        }
    }
}

/// Errors in the set of posts at `root`, of which `ids` are there: posts that the index lists or that have a lock and
/// are gone, and an index that is gone itself while there are locks.
pub fn gone(root: &Path, ids: &[String], index: Option<&PostIndex>) -> Vec<Error> {
    let entries = std::fs::read_dir(root.join("repro")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let locked = names.filter_map(|name| Some(name.strip_suffix(".lock")?.to_owned()));
    let locked: BTreeSet<String> = locked.filter(|id| id != post::INDEX).collect();
    let listed = index.iter().flat_map(|index| index.posts.keys().cloned());
    let known: BTreeSet<String> = locked.iter().cloned().chain(listed).collect();
    let is_absent = index.is_none() && !locked.is_empty();
    let absent = is_absent.then(|| {
        NO_INDEX.at(Location::file(file()), "the list of posts with locks", "no such file")
    });
    let missing = |id: &String| {
        let place = Location::file(format!("repro/{id}.toml"));
        let known_by = if locked.contains(id) { lock::file(id) } else { file() };
        let expected = format!("the post for `{known_by}`");
        let help = format!(
            "restore the post and its lock; to remove it on purpose, delete `{}` and run `repro verify --post all --write-lock`",
            lock::file(id)
        );
        post::NO_SUCH_POST.at(place, expected, "none").help(help)
    };
    let missing = known.iter().filter(|id| !ids.contains(id)).map(missing);
    absent.into_iter().chain(missing).collect()
}
