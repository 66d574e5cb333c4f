//! The consistency checks of bundles: `relations.toml`, parsed once.

use std::sync::OnceLock;

use repro_core::source::{Code, DataFile, Node};

use super::columns::Name;
use super::rows::Over;
use crate::relation::Formula;

/// The help line of every consistency check.
const HELP: &str =
    "fix the wrong or missing value in the program that wrote it, and write the bundle again";

/// A consistency check, which runs in every bundle that has its numbers.
#[derive(Debug)]
pub struct BundleRelation {
    /// The finding if it does not hold.
    pub code: Code,
    /// The rows that it checks.
    pub over: Over,
    /// The text of the conditions under which it runs.
    pub conditions: Vec<&'static str>,
    /// The text of the relation.
    pub text: &'static str,
    /// The reason why it holds.
    pub source: &'static str,
    /// The names in its formulas.
    pub names: Vec<Name>,
    /// The conditions that are the same in every row.
    pub first: Vec<Formula>,
    /// The conditions that depend on the row.
    pub when: Vec<Formula>,
    /// The relation, parsed.
    pub says: Formula,
    /// Whether honest runs can fail it: a failure is then reported as a warning and refutes nothing.
    pub is_doubt: bool,
}

static FILE: DataFile = DataFile::new("relations.toml", include_str!("relations.toml"));

/// All consistency checks, in the order of the file.
pub fn known_relations() -> &'static [BundleRelation] {
    static KNOWN: OnceLock<Vec<BundleRelation>> = OnceLock::new();
    KNOWN.get_or_init(|| FILE.root().and_then(read).unwrap_or_default())
}

fn read(root: Node<'static>) -> Option<Vec<BundleRelation>> {
    let ours = root.get("ours")?.text().ok()?;
    let formulas = root.get("formulas")?.members().ok()?;
    let formulas = formulas.map(|(name, formula)| Some((name, formula.text().ok()?)));
    let formulas: Vec<_> = formulas.collect::<Option<_>>()?;
    let relations = root.members().ok()?.filter(|(id, _)| id.contains("::"));
    relations.map(|(id, node)| BundleRelation::read(id, node, ours, &formulas)).collect()
}

impl BundleRelation {
    /// Parses a table of the file. `ours` is the additional condition of checks with `is_ours`; `formulas` are the formulas
    /// that a check may call with one argument, `it`.
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
