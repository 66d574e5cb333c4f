//! Baseline files: the random baseline of each task. There are several versions, so each is identified by the hash of its
//! file.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::Signed;

use super::cell::column;
use super::{BAD_BASELINE, Cell, NO_BASELINES, REPEATED_TASK, Scale, TASK_CAP};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Kind, Node};

/// Common column names, in lower case.
const TASK: &[&str] = &["eval task", "task", "name"];
const CATEGORY: &[&str] = &["task category", "category"];
const BASELINE: &[&str] = &["random baseline", "baseline"];
/// The prefix of the columns if one file has several versions.
const VERSIONS: &str = "baseline_";

/// One version of the random baselines.
#[derive(Debug, Clone)]
pub struct Baselines {
    /// The name of its file, and of the column if the file has several.
    pub name: String,
    /// The digest of the file.
    pub sha256: Digest,
    tasks: BTreeMap<String, Baseline>,
}

/// The known values of one task.
#[derive(Debug, Clone)]
struct Baseline {
    value: BigRational,
    category: Option<String>,
}

impl Baselines {
    /// The versions in `document`: one, or one per column `baseline_…`.
    pub fn read(document: &Document) -> Result<Vec<Self>, Error> {
        let root = document.root();
        let file = document.source.name();
        let name = file.rsplit('/').next().unwrap_or(file);
        let sha256 = Digest::of(document.source.text().as_bytes());
        let list = match &root.value().kind {
            Kind::Object(_) => root.get("tasks").or_else(|| root.get("baselines")).unwrap_or(root),
            _ => root,
        };
        if matches!(list.value().kind, Kind::Object(_)) {
            let entries: Vec<_> = list.members()?.map(|(task, node)| (task, node, None)).collect();
            return Ok(vec![Self::of(name.to_owned(), sha256, &entries, root)?]);
        }
        let rows: Vec<_> = list.items()?.collect();
        let versions = columns(root, &rows)?;
        let mut read = Vec::new();
        for version in &versions {
            let mut entries = Vec::new();
            for row in &rows {
                let needed = |names: &[&str]| {
                    let none = || no_baselines(*row, &format!("a row without `{}`", names[0]));
                    column(*row, names)?.ok_or_else(none)
                };
                let category = column(*row, CATEGORY)?.map(Node::text).transpose()?;
                entries.push((needed(TASK)?.text()?.trim(), needed(&[version])?, category));
            }
            let name = match versions.len() {
                1 => name.to_owned(),
                _ => format!("{name} ({version})"),
            };
            read.push(Self::of(name, sha256, &entries, root)?);
        }
        Ok(read)
    }

    fn of(
        name: String,
        sha256: Digest,
        entries: &[(&str, Node, Option<&str>)],
        root: Node,
    ) -> Result<Self, Error> {
        if entries.is_empty() || entries.len() > TASK_CAP {
            return Err(no_baselines(root, &format!("{} tasks", entries.len())));
        }
        let cells =
            entries.iter().map(|(_, node, _)| Cell::read(*node)).collect::<Result<Vec<_>, _>>()?;
        let scale = Scale::detect(cells.iter().map(|cell| (cell, false)))?;
        let mut tasks = BTreeMap::new();
        for ((task, node, category), cell) in entries.iter().zip(&cells) {
            let value = cell.value(scale);
            if value.is_negative() || value >= BigRational::from_integer(1.into()) {
                let found = format!("`{}`", cell.printed.text());
                let expected = format!("a {} from 0 to below {}", scale.word(), scale.per_one());
                return Err(BAD_BASELINE.at(node.place(), expected, found));
            }
            let category = category.map(str::to_owned);
            if tasks.insert((*task).to_owned(), Baseline { value, category }).is_some() {
                let found = format!("`{task}` again");
                return Err(REPEATED_TASK.at(node.place(), "each task once", found));
            }
        }
        Ok(Self { name, sha256, tasks })
    }

    /// The baseline of a task, as a fraction.
    pub fn of_task(&self, task: &str) -> Option<&BigRational> {
        self.tasks.get(task).map(|baseline| &baseline.value)
    }

    /// The category that the file puts a task in.
    pub fn category(&self, task: &str) -> Option<&str> {
        self.tasks.get(task)?.category.as_deref()
    }
}

/// The columns of baselines, by name in lower case.
fn columns(root: Node, rows: &[Node]) -> Result<Vec<String>, Error> {
    let first = rows.first().ok_or_else(|| no_baselines(root, "no task"))?;
    let keys: Vec<_> = first.members()?.map(|(key, _)| key.trim().to_lowercase()).collect();
    let plain = keys.iter().find(|key| BASELINE.contains(&key.as_str()));
    let versions = keys.iter().filter(|key| key.starts_with(VERSIONS));
    let mut columns: Vec<_> = plain.into_iter().chain(versions).cloned().collect();
    columns.sort();
    if columns.is_empty() {
        return Err(no_baselines(*first, "a row without `Random baseline` or `baseline`"));
    }
    Ok(columns)
}

fn no_baselines(node: Node, found: &str) -> Error {
    NO_BASELINES.at(node.place(), "a table of tasks and their random baselines", found)
}
