//! The tables of results, of which each has a member for each task: looked up by name, as there may be thousands of tasks.

use std::collections::BTreeMap;

use repro_core::source::{Kind as NodeKind, Node};

use crate::check::kinds::scores;

/// The members of tables by the table's name and their own.
#[derive(Debug)]
pub struct ResultTables<'n> {
    /// The whole document.
    pub root: Node<'n>,
    tables: BTreeMap<&'static str, BTreeMap<&'n str, Node<'n>>>,
}

/// The tables that are looked up.
const TABLES: &[&str] = &[
    "configs",
    "group_subtasks",
    "higher_is_better",
    "n-samples",
    "n-shot",
    "results",
    "task_hashes",
    "versions",
];

impl<'n> ResultTables<'n> {
    /// Those of a document.
    pub fn of(root: Node<'n>) -> Self {
        let is_there =
            |(_, node, _): &(&str, Node<'_>, String)| node.value().kind != NodeKind::Null;
        let members = |table: &&'static str| {
            let all = scores::members(root.get(table), "").filter(is_there);
            (*table, all.map(|(name, node, _)| (name, node)).collect())
        };
        Self { root, tables: TABLES.iter().map(members).collect() }
    }

    /// A member that is not `null`.
    pub fn get(&self, table: &str, name: &str) -> Option<Node<'n>> {
        self.tables.get(table)?.get(name).copied()
    }

    /// Whether results of this name are those of a group.
    pub fn is_group(&self, name: &str) -> bool {
        self.get("configs", name).is_none() && self.names_tasks(name)
    }

    /// Whether a name is that of several tasks.
    pub fn names_tasks(&self, name: &str) -> bool {
        self.subtasks(name).next().is_some()
    }

    /// The tasks that a group names.
    pub fn subtasks(&self, group: &str) -> impl Iterator<Item = &'n str> {
        let listed = self.get("group_subtasks", group);
        scores::elements(listed, "").filter_map(|(name, _)| name.text().ok())
    }
}
