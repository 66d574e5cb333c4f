//! The tables of results, which have one member per task. Lookup is by name because there may be thousands of tasks.

use std::collections::BTreeMap;

use repro_core::source::{Kind as NodeKind, Node};

use crate::check::kinds::scores;

/// Table members by table name and member name.
#[derive(Debug)]
pub struct ResultTables<'n> {
    /// The whole document.
    pub root: Node<'n>,
    tables: BTreeMap<&'static str, BTreeMap<&'n str, Node<'n>>>,
}

/// The tables used for lookup.
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
    /// The tables of a document.
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

    /// Whether the results with this name belong to a group.
    pub fn is_group(&self, name: &str) -> bool {
        self.get("configs", name).is_none() && self.names_tasks(name)
    }

    /// Whether a name covers several tasks.
    pub fn names_tasks(&self, name: &str) -> bool {
        self.subtasks(name).next().is_some()
    }

    /// The tasks that a group lists.
    pub fn subtasks(&self, group: &str) -> impl Iterator<Item = &'n str> {
        let listed = self.get("group_subtasks", group);
        scores::elements(listed, "").filter_map(|(name, _)| name.text().ok())
    }
}
