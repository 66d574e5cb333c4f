//! The consistency checks of a kind as data: a TOML file beside the kind, read once.

use std::sync::OnceLock;

use repro_claim::relation::Weight;
use repro_core::source::{Code, DataFile, Node};

/// The help for every check.
const HELP: &str = "recompute both values from the raw results and fix the wrong one; if both are right, document how they were counted";

/// A check that applies to every row of a table with the required values.
#[derive(Debug)]
pub struct CheckRelation {
    /// The finding when it fails.
    pub code: Code,
    /// The table whose rows it checks.
    pub over: &'static str,
    /// The conditions under which it applies.
    pub when: Vec<&'static str>,
    /// Its formula.
    pub says: &'static str,
    /// The source of the formula.
    pub source: &'static str,
    /// Alternative formulas that may hold if it fails.
    pub perhaps: Vec<OtherReading>,
    /// The meaning of a failure.
    pub weight: Weight,
}

/// A formula that people use instead, and what it would mean.
#[derive(Debug)]
pub struct OtherReading {
    pub says: &'static str,
    pub means: &'static str,
}

/// The checks of a kind.
#[derive(Debug)]
pub struct RelationTable {
    file: DataFile,
    relations: OnceLock<Vec<CheckRelation>>,
}

/// For kinds without checks.
pub static NO_RELATIONS: RelationTable = RelationTable::new("none.toml", "");

impl RelationTable {
    /// The table with this text, which is part of the program.
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { file: DataFile::new(name, text), relations: OnceLock::new() }
    }

    /// Its checks, in file order. A test parses every file, so no unreadable file is shipped.
    pub fn all(&'static self) -> &'static [CheckRelation] {
        self.relations.get_or_init(|| {
            let root = self.file.root();
            root.and_then(CheckRelation::read_all).unwrap_or_default()
        })
    }
}

#[cfg(test)]
impl RelationTable {
    /// The number of checks in the file, counted by their headers.
    pub fn written(&self) -> usize {
        self.file.text().lines().filter(|line| line.starts_with("[\"")).count()
    }
}

impl CheckRelation {
    fn read_all(root: Node<'static>) -> Option<Vec<Self>> {
        root.members().ok()?.map(|(id, node)| Self::read(id, node)).collect()
    }

    fn read(id: &'static str, node: Node<'static>) -> Option<Self> {
        let text = |key: &str| node.get(key)?.text().ok();
        let list =
            |key: &str| node.get(key).and_then(|list| list.items().ok()).into_iter().flatten();
        let other = |one: Node<'static>| {
            let text = |key: &str| one.get(key)?.text().ok();
            Some(OtherReading { says: text("says")?, means: text("means")? })
        };
        let is_doubt = node.get("doubt").is_some();
        Some(Self {
            code: Code { id, meaning: text("meaning")?, help: HELP },
            over: text("over")?,
            when: list("when").map(|one| one.text().ok()).collect::<Option<_>>()?,
            says: text("says")?,
            source: text("source")?,
            perhaps: list("perhaps").map(other).collect::<Option<_>>()?,
            weight: if is_doubt { Weight::Doubt } else { Weight::Contradiction },
        })
    }
}
