//! One piece of work, and the key that stands for all that its result depends on.

use repro_receipt::digest::{Digest, canonical};
use repro_runs::replay::Extent;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::program::Program;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Steps of a run are executed again.
    Replay,
    /// A bundle is read and checked on its own.
    Inspect,
    /// A post is judged.
    Judge,
}

impl Task {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Inspect => "inspect",
            Self::Judge => "judge",
        }
    }
}

/// What an item can be executed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceClass {
    /// A processor or a GPU: both give the same result.
    Any,
    /// A processor alone: there is nothing that a GPU could do.
    Processor,
}

/// One piece of work. Its result is the same wherever and however often it is executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkItem {
    /// What is to be done.
    #[serde(rename = "do")]
    pub task: Task,
    /// The folder of a bundle as messages name it, or the name of a post.
    pub at: String,
    /// Whether that folder is in `receipts/` of the project, and not where the command runs.
    pub in_project: bool,
    /// The digest of the bundle; none of one that cannot be read, and of posts.
    pub bundle: Option<Digest>,
    /// The steps to be executed.
    pub extent: Option<Extent>,
    /// The arithmetic of the run, as its receipt names it, where steps are executed.
    pub arithmetic: Option<String>,
    /// What it can be executed on.
    pub class: DeviceClass,
    /// How long one core takes, estimated, in milliseconds.
    pub cost_ms: u64,
    /// The digest of everything else that its result depends on.
    pub ground: Digest,
    /// What its result is kept under.
    pub key: Digest,
}

impl WorkItem {
    /// The same item with the key that this program gives it: the digest of all of the item and of the program.
    pub fn keyed(mut self, program: &Program) -> Self {
        self.key = self.own_key(program);
        self
    }

    /// The key that a program gives an item.
    pub fn own_key(&self, program: &Program) -> Digest {
        let mut all = written(self);
        if let Json::Object(members) = &mut all {
            members.shift_remove("key");
            members.insert("program".to_owned(), written(program));
        }
        Digest::of(line(&all).as_bytes())
    }

    /// The item in canonical JSON.
    pub fn line(&self) -> String {
        line(&written(self))
    }

    /// What a person calls it.
    pub fn told(&self) -> String {
        let what = match (self.task, self.extent) {
            (Task::Replay, Some(extent)) => format!("replay of `{}`, {extent}", self.at),
            (task, _) => format!("{} `{}`", task.word(), self.at),
        };
        format!("{what} ({})", self.key)
    }

    /// Whether another item asks the same of the same, whatever it is asked of holds.
    pub fn asks_as(&self, other: &Self) -> bool {
        let asked = |item: &Self| (item.task, item.at.clone(), item.in_project, item.extent);
        asked(self) == asked(other)
    }
}

/// Anything here as JSON: structures of texts and numbers, which always can be written.
pub fn written(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// A value in canonical JSON. Integers here are far below those that readers round.
pub fn line(value: &Json) -> String {
    canonical(value).unwrap_or_default()
}
