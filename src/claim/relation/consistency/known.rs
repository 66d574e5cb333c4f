//! The relations that hold in every bundle in which they can be asked: `relations.toml`, read once.

use std::sync::OnceLock;

use repro_core::source::{Code, DataFile, Node};

use super::columns::Name;
use super::rows::Over;
use crate::relation::Formula;

/// What a person can do about each of them.
const HELP: &str = "correct the one that is wrong where it was written";

/// What holds of every bundle that has its numbers.
#[derive(Debug)]
pub struct BundleRelation {
    /// The finding where it does not hold.
    pub code: Code,
    /// The rows that it is about.
    pub over: Over,
    /// What must hold for it to be asked, as it is written.
    pub conditions: Vec<&'static str>,
    /// What it says, as it is written.
    pub text: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The names in its sentences.
    pub names: Vec<Name>,
    /// The conditions that are the same in every row,
    pub first: Vec<Formula>,
    /// and the others.
    pub when: Vec<Formula>,
    /// What it says.
    pub says: Formula,
    /// Whether there are honest runs of which it does not hold: then it is told, and refutes nothing.
    pub is_doubt: bool,
}

static FILE: DataFile = DataFile::new("relations.toml", include_str!("relations.toml"));

/// All relations, in their order.
pub fn known_relations() -> &'static [BundleRelation] {
    static KNOWN: OnceLock<Vec<BundleRelation>> = OnceLock::new();
    KNOWN.get_or_init(|| FILE.root().and_then(read).unwrap_or_default())
}

fn read(root: Node<'static>) -> Option<Vec<BundleRelation>> {
    let ours = root.get("ours")?.text().ok()?;
    let formulas = root.get("formulas")?.members().ok()?;
    let formulas = formulas.map(|(name, formula)| Some((name, formula.text().ok()?)));
    let formulas: Vec<_> = formulas.collect::<Option<_>>()?;
    let relations = root.members().ok()?.filter(|(id, _)| id.starts_with("relation::"));
    relations.map(|(id, node)| BundleRelation::read(id, node, ours, &formulas)).collect()
}

impl BundleRelation {
    /// Of a table of the file; `ours` stands before the conditions of runs in our arithmetic, and `formulas` are those
    /// that it may call with one argument, `it`.
    fn read(
        id: &'static str,
        node: Node<'static>,
        ours: &'static str,
        formulas: &[(&'static str, &'static str)],
    ) -> Option<Self> {
        let text = |key: &str| node.get(key)?.text().ok();
        let own = node.get("when").and_then(|when| when.items().ok()).into_iter().flatten();
        let own: Vec<_> = own.map(|one| one.text().ok()).collect::<Option<_>>()?;
        let ours = node.get("is_ours").map(|_| ours);
        let conditions: Vec<_> = ours.into_iter().chain(own).collect();
        let mut names = Vec::new();
        let mut formula = |text: &str| Formula::read(text, formulas, &mut names);
        let when: Vec<_> = conditions.iter().map(|text| formula(text)).collect::<Option<_>>()?;
        let says = formula(text("says")?)?;
        let names: Vec<_> = names.into_iter().map(Name::read).collect();
        let is_constant = |formula: &Formula| {
            formula.names.iter().all(|at| names.get(*at).is_some_and(Name::is_constant))
        };
        let (first, when) = when.into_iter().partition(is_constant);
        Some(Self {
            code: Code { id, meaning: text("meaning")?, help: HELP },
            over: Over::named(text("over")?)?,
            conditions,
            text: text("says")?,
            source: text("source")?,
            names,
            first,
            when,
            says,
            is_doubt: node.get("is_doubt").is_some(),
        })
    }
}
