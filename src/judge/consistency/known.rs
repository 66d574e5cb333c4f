//! The relations that hold in every bundle in which they can be asked: `relations.toml`, read once.

use std::sync::OnceLock;

use repro_receipt::source::{Code, Node};

use super::ReadRelation;
use super::rows::Over;
use crate::data::DataFile;

/// What a person can do about each of them.
const HELP: &str = "correct the one that is wrong where it was written";

/// What holds of every bundle that has its numbers.
#[derive(Debug)]
pub struct BundleRelation {
    /// The finding where it does not hold.
    pub code: Code,
    /// The rows that it is about.
    pub over: Over,
    /// What must hold for it to be asked.
    pub when: Vec<&'static str>,
    /// What it says.
    pub says: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its sentences, read where a bundle has rows of its kind.
    pub read: OnceLock<Option<ReadRelation>>,
}

/// What `relations.toml` holds.
#[derive(Debug, Default)]
pub struct KnownRelations {
    /// The relations.
    pub relations: Vec<BundleRelation>,
    /// Formulas that they call with one argument, `it`.
    pub formulas: Vec<(&'static str, &'static str)>,
}

static FILE: DataFile = DataFile::new("relations.toml", include_str!("relations.toml"));

/// All relations, in their order.
pub fn known_relations() -> &'static KnownRelations {
    static KNOWN: OnceLock<KnownRelations> = OnceLock::new();
    KNOWN.get_or_init(|| FILE.root().and_then(KnownRelations::read).unwrap_or_default())
}

impl KnownRelations {
    fn read(root: Node<'static>) -> Option<Self> {
        let text = |node: Node<'static>, key: &str| node.get(key)?.text().ok();
        let ours = text(root, "ours")?;
        let mut known = Self::default();
        for (name, formula) in root.get("formulas")?.members().ok()? {
            known.formulas.push((name, formula.text().ok()?));
        }
        for (id, node) in root.members().ok()?.filter(|(id, _)| id.starts_with("relation::")) {
            let own = node.get("when").and_then(|when| when.items().ok()).into_iter().flatten();
            let own: Vec<_> = own.map(|one| one.text().ok()).collect::<Option<_>>()?;
            let ours = node.get("is_ours").map(|_| ours);
            known.relations.push(BundleRelation {
                code: Code { id, meaning: text(node, "meaning")?, help: HELP },
                over: Over::named(text(node, "over")?)?,
                when: ours.into_iter().chain(own).collect(),
                says: text(node, "says")?,
                source: text(node, "source")?,
                read: OnceLock::new(),
            });
        }
        Some(known)
    }
}
