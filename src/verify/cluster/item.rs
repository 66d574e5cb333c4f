//! One piece of work, and the key that stands for all that its result depends on.

use repro_core::digest::{Digest, canonical};
use repro_model::replay::Extent;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::cluster::program::Program;

/// The task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkTask {
    /// Steps of a run are replayed.
    Replay,
    /// A bundle is read and checked on its own.
    Inspect,
    /// A post is judged.
    Judge,
}

impl WorkTask {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Inspect => "inspect",
            Self::Judge => "judge",
        }
    }
}

/// The class of device that can execute an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The task.
    #[serde(rename = "do")]
    pub task: WorkTask,
    /// The folder of a bundle as messages name it, or the name of a post.
    pub at: String,
    /// Whether that folder is in `receipts/` of the project, and not where the command runs.
    pub in_project: bool,
    /// The digest of the bundle, or of what a post is judged by; none of what cannot be read.
    pub inputs: Option<Digest>,
    /// The steps to be executed.
    pub extent: Option<Extent>,
    /// The arithmetic of the run, as its receipt names it, where steps are executed.
    pub arithmetic: Option<String>,
    /// The class of device that can execute it.
    pub class: DeviceClass,
    /// How long one core takes, estimated, in milliseconds.
    pub cost_ms: u64,
    /// The digest of everything else that its result depends on.
    pub ground: Digest,
    /// The digest of what lies beside the inputs and counts too: what the history of the project holds of plans, and files that a
    /// receipt names and its bundle does not hold. None if there is nothing of the kind.
    pub beside: Option<Digest>,
    /// The key that its result is stored under.
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

    /// Its name for people.
    pub fn told(&self) -> String {
        let what = match (self.task, self.extent) {
            (WorkTask::Replay, Some(extent)) => format!("replay of `{}`, {extent}", self.at),
            (task, _) => format!("{} `{}`", task.word(), self.at),
        };
        format!("{what} ({})", self.key)
    }

    /// Its task, independent of the contents of its inputs: two plans of the same thing have items with equal tasks.
    pub fn asked(&self) -> AskedWork<'_> {
        (self.task, &self.at, self.in_project, self.extent)
    }
}

/// A task, the folder or post, whether that is in the project, and steps.
pub type AskedWork<'a> = (WorkTask, &'a str, bool, Option<Extent>);

/// Anything here as JSON: structures of texts and numbers, which always can be written.
pub fn written(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// A value in canonical JSON; steps so far out that canonical JSON has no number for them are written with all their digits.
pub fn line(value: &Json) -> String {
    canonical(value).unwrap_or_else(|_| value.to_string())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn program() -> Program {
        Program { version: "1".to_owned(), source: "a".repeat(64), trains: true }
    }

    pub fn item(at: u64, cost_ms: u64) -> WorkItem {
        let item = WorkItem {
            task: WorkTask::Replay,
            at: format!("runs/{at}"),
            in_project: false,
            inputs: Some(Digest::of(&at.to_le_bytes())),
            extent: Some(Extent::Steps { from: at, to: at + 3 }),
            arithmetic: Some("portable-f32/1".to_owned()),
            class: DeviceClass::Any,
            cost_ms,
            ground: Digest::of(b"ground"),
            beside: None,
            key: Digest::of(b""),
        };
        item.keyed(&program())
    }

    #[test]
    fn numbers_that_canonical_json_has_not_are_written_too() {
        let far = [1 << 54, (1 << 54) + 1].map(|to| {
            let extent = Some(Extent::Steps { from: 0, to });
            WorkItem { extent, ..item(1, 2) }.keyed(&program())
        });
        assert_ne!(far[0].key, far[1].key);
        assert!(far[0].line().contains("18014398509481984"), "{}", far[0].line());
    }

    #[test]
    fn a_key_stands_for_all_of_an_item_and_the_program() {
        let own = item(1, 2);
        assert_eq!(own.key, own.clone().keyed(&program()).key);
        let others = [
            WorkItem { task: WorkTask::Inspect, ..own.clone() },
            WorkItem { at: "runs/2".to_owned(), ..own.clone() },
            WorkItem { in_project: true, ..own.clone() },
            WorkItem { inputs: None, ..own.clone() },
            WorkItem { extent: Some(Extent::States { from: 1, to: 4 }), ..own.clone() },
            WorkItem { arithmetic: None, ..own.clone() },
            WorkItem { class: DeviceClass::Processor, ..own.clone() },
            WorkItem { cost_ms: 3, ..own.clone() },
            WorkItem { ground: Digest::of(b"other"), ..own.clone() },
            WorkItem { beside: Some(Digest::of(b"history")), ..own.clone() },
        ];
        for other in others {
            assert_ne!(other.own_key(&program()), own.key, "{other:?}");
        }
        for other in [
            Program { version: "2".to_owned(), ..program() },
            Program { source: "b".repeat(64), ..program() },
            Program { trains: false, ..program() },
        ] {
            assert_ne!(own.own_key(&other), own.key, "{other:?}");
        }
    }
}
