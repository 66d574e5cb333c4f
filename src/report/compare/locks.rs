//! Changed files of a project besides verdicts: removed posts and changed locks.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::compare::judged::JudgedReport;

/// The lock that lists all posts.
const INDEX: &str = "repro/index.lock";

/// A lock that is another. Whoever changes a lock and what it records in one change leaves nothing that would fail, so it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockChange<'r> {
    /// The name of its file, `repro/ID.lock`.
    pub lock: &'r str,
    /// "written", "changed" or "deleted".
    pub how: &'static str,
    /// The posts that it records and whose files, texts or bundles changed with it, in words.
    pub with: Vec<String>,
    /// Whether it is gone and what it recorded is still there: nothing compares that any more.
    #[serde(skip)]
    pub leaves_unlocked: bool,
}

/// The locks that differ between the two sides; `changed` has, by post, what else changed of it as a whole, in words, and `moved` the old
/// names of posts by their new ones.
pub fn changed_locks<'r>(
    was: &'r JudgedReport,
    now: &'r JudgedReport,
    changed: &BTreeMap<&str, Vec<String>>,
    moved: &BTreeMap<&str, &str>,
) -> Vec<LockChange<'r>> {
    let names: BTreeSet<&String> = was.files.keys().chain(now.files.keys()).collect();
    let differs = |name: &str| was.files.get(name) != now.files.get(name);
    let is_lock = |name: &&&String| name.ends_with(".lock") && differs(name);
    let posts = names.iter().filter(|name| name.ends_with(".toml") && differs(name));
    let posts: Vec<&str> = posts.map(|name| name.as_str()).collect();
    let change = |lock: &'r String| {
        let stem = lock.strip_suffix(".lock").unwrap_or(lock);
        let is_on_both = |name: &str| was.files.contains_key(name) && now.files.contains_key(name);
        // The index records which posts there are; any other lock records its own.
        let of = |post: &&&str| match lock.as_str() {
            INDEX => !is_on_both(post),
            _ => post.strip_suffix(".toml") == Some(stem),
        };
        let id = stem.rsplit('/').next().unwrap_or(stem);
        let files = posts.iter().filter(of).map(|post| format!("`{post}`"));
        let others = changed.get(id).into_iter().flatten().cloned();
        let how = match (was.files.contains_key(lock), now.files.contains_key(lock)) {
            (false, _) => "written",
            (_, false) => "deleted",
            _ => "changed",
        };
        let leaves_unlocked = how == "deleted" && leaves_unlocked(lock, id, now, moved);
        LockChange { lock, how, with: files.chain(others).collect(), leaves_unlocked }
    };
    names.iter().filter(is_lock).map(|lock| change(lock)).collect()
}

/// Whether a lock that was deleted leaves a post without one. The post may have another name by now, and a lock of that name. Without
/// the index nobody notices a post that is deleted.
fn leaves_unlocked(lock: &str, id: &str, now: &JudgedReport, moved: &BTreeMap<&str, &str>) -> bool {
    let new_name = moved.iter().find(|(_, old)| **old == id).map_or(id, |(new, _)| *new);
    let has = |ending: &str| now.files.contains_key(&format!("repro/{new_name}.{ending}"));
    lock == INDEX || has("toml") && !has("lock")
}

impl LockChange<'_> {
    /// The change in one line.
    pub fn told(&self) -> String {
        let mut told = format!("`{}` was {}", self.lock, self.how);
        if !self.with.is_empty() {
            told.push_str(&format!(" together with {}", self.with.join(", ")));
        }
        if self.leaves_unlocked {
            told.push_str(": its entries are no longer locked");
        }
        told
    }
}

/// Posts that could not be judged at first and are no longer there: a verdict of theirs is not known to be gone.
pub fn unjudged_gone<'r>(was: &'r JudgedReport, now: &JudgedReport) -> Vec<&'r str> {
    let id = |name: &'r String| name.strip_prefix("repro/")?.strip_suffix(".toml");
    let gone = was.files.keys().filter(|name| !now.files.contains_key(*name)).filter_map(id);
    gone.filter(|id| !was.parts.contains_key(*id)).collect()
}
