//! What must hold in documents of a kind, as data: a TOML file beside the kind, read once.

use std::sync::OnceLock;

use repro_claim::relation::Weight;
use repro_core::source::{Code, DataFile, Node};

/// What a person can do about each of them.
const HELP: &str =
    "recompute both values from the raw results and fix the wrong one; if both are right, document how they were counted";

/// What holds of every row of a table that has the numbers.
#[derive(Debug)]
pub struct CheckRelation {
    /// The finding where it does not hold.
    pub code: Code,
    /// The table whose rows it is about.
    pub over: &'static str,
    /// What must hold for it to be asked.
    pub when: Vec<&'static str>,
    /// What it says.
    pub says: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What would hold instead, where it does not.
    pub perhaps: Vec<OtherReading>,
    /// What its failure shows.
    pub weight: Weight,
}

/// A formula that people use in place of another, and what that would mean.
#[derive(Debug)]
pub struct OtherReading {
    pub says: &'static str,
    pub means: &'static str,
}

/// The relations of a kind.
#[derive(Debug)]
pub struct RelationTable {
    file: DataFile,
    relations: OnceLock<Vec<CheckRelation>>,
}

/// For kinds in which nothing is a relation.
pub static NO_RELATIONS: RelationTable = RelationTable::new("none.toml", "");

impl RelationTable {
    /// The table with this text, a part of the program.
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { file: DataFile::new(name, text), relations: OnceLock::new() }
    }

    /// Its relations, in the order of the file. A test reads every file: none is shipped that cannot be read.
    pub fn all(&'static self) -> &'static [CheckRelation] {
        self.relations.get_or_init(|| {
            let root = self.file.root();
            root.and_then(CheckRelation::read_all).unwrap_or_default()
        })
    }
}

#[cfg(test)]
impl RelationTable {
    /// How many relations the file has, counted by their heads.
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
